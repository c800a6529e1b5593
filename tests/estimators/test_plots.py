"""The plots show the numbers of the estimator."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets

from bsvdd import BDD, BSVDD, OCSVM, SVDD, kernels, plots

DATA = datasets.moon(n0=40, n1=6)
Y = DATA.minority.astype(int)


@pytest.fixture(scope="module")
def two():
    kernel = kernels.RBF(0.4)
    return {
        "SVDD": SVDD(kernel=kernel).fit(DATA.X, Y),
        "BDD": BDD(kernel=kernel, draws=1000).fit(DATA.X, Y),
    }


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def test_boundary_has_a_panel_a_model_with_its_probabilities(two):
    figure = plots.plot_boundary(two, DATA.X, Y, resolution=11)
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels] == ["SVDD", "BDD"]
    for ax, est in zip(panels, two.values(), strict=True):
        (image,) = ax.get_images()
        left, right, bottom, top = image.get_extent()
        corner = est.probability_normal([[left, bottom], [right, top]])
        shown = image.get_array()
        assert shown.shape == (11, 11)
        assert [shown[0, 0], shown[-1, -1]] == pytest.approx(corner.tolist())
        rows = [c for c in ax.collections if len(c.get_offsets()) in (40, 6)]
        assert len(rows) == 2  # majority and minority


def test_posterior_of_d_has_the_cutoff_as_a_line_and_the_probability_written_in(two):
    est = two["BDD"]
    figure = plots.plot_distance_posterior(est, DATA.X[:3], ["a", "b", "c"])
    p = est.probability_normal(DATA.X[:3])
    assert [ax.get_title() for ax in figure.axes] == [
        f"{name}: P(normal) = {q:.2f}" for name, q in zip("abc", p, strict=True)
    ]
    for ax in figure.axes:
        assert any(np.allclose(line.get_xdata(), est.cutoff_) for line in ax.lines)
    assert len({ax.get_xlim() for ax in figure.axes}) == 1


def test_surprises_with_the_cutoff_at_0(two):
    est = two["BDD"]
    (ax,) = plots.plot_distances(est).axes
    majority = ax.collections[1].get_offsets()
    found = est.training_decision()  # the rows are left out
    np.testing.assert_allclose(majority[:, 1], found["surprise"][Y == 0])
    low, high = found[["surprise_low", "surprise_high"]].to_numpy().T
    for line, *ends in zip(
        ax.collections[0].get_segments(), low[Y == 0], high[Y == 0], strict=True
    ):
        np.testing.assert_allclose(line[:, 1], ends)
    assert any(np.allclose(line.get_ydata(), 0.0) for line in ax.lines)
    (ax,) = plots.plot_distances(est, DATA.X, Y).axes
    assert ax.get_title().startswith("BDD")


def test_far_rows_leave_room_for_the_others():
    """The axis is linear among most rows, and logarithmic above them."""
    X = np.concatenate([DATA.X, [[40.0, 40.0]]])
    (ax,) = plots.plot_distances(BDD(kernel=kernels.RBF(0.4)).fit(X)).axes
    assert ax.get_yscale() == "linear"  # differences of similarities are never far off
    est = BSVDD(kernel=kernels.RBF(0.4), draws=200, tune=200).fit(X)
    (ax,) = plots.plot_distances(est).axes
    assert ax.get_yscale() == "symlog"
    surprise = est.training_decision()["surprise"]
    place = ax.transAxes.inverted().transform(
        ax.transData.transform([[0.0, v] for v in np.quantile(surprise, [0.05, 0.95])])
    )[:, 1]
    assert place[1] - place[0] > 0.2 and ax.get_ylim()[1] > surprise.max()
    figure = plots.plot_outliers(est, most=3)
    left, words = figure.axes
    assert left.get_yscale() == "symlog"
    assert words.texts[0].get_text().startswith(f"1  {len(X) - 1}, p = ")


def test_weights_shows_the_largest(two):
    est = two["BDD"]
    (ax,) = plots.plot_weights(est, most=5).axes
    w = np.abs(est.idata_["posterior"]["w"]).mean(("chain", "draw")).values
    shown = sorted(int(t.get_text().removeprefix("row ")) for t in ax.get_xticklabels())
    majority = np.flatnonzero(Y == 0)  # the row of each point
    assert shown == sorted(majority[np.argsort(-w)[:5]].tolist())


HYPERPLANE = OCSVM(kernel=kernels.RBF(0.4))
BAD = [
    (lambda e: plots.plot_boundary(e, np.zeros((4, 3))), "two columns, got X of shape"),
    (lambda e: plots.plot_distance_posterior(e["SVDD"], DATA.X), "one weight vector and no post"),
    (lambda e: plots.plot_distance_posterior(e["BDD"], DATA.X, ["a"]), "one entry for each of 46"),
    (lambda e: plots.plot_prior_check(e["SVDD"]), "one estimate of the weights and no posterior"),
    (lambda e: plots.plot_weights(HYPERPLANE), "OCSVM has a hyperplane and no distance from a"),
    (lambda e: plots.plot_distances(HYPERPLANE), "OCSVM has a hyperplane"),
    (lambda e: plots.plot_weights_pair(HYPERPLANE), "OCSVM has a hyperplane"),
    (lambda e: plots.plot_explanation(HYPERPLANE, DATA.X[0]), "OCSVM has a hyperplane"),
    (lambda e: plots.plot_weights_pair(e["SVDD"]), "no posterior to show"),
    (lambda e: plots.plot_weights_pair(e["BDD"], prob=0.4), "prob must lie between 0.5 and 1"),
    *(
        (lambda e, p=p: plots.plot_weights_pair(e["BDD"], p), "two different points from 0 to 39")
        for p in ((3, 3), (0, 40), (-1, 2), (1, 2, 3), (0.5, 1))
    ),
    (lambda e: plots.plot_explanation(e["BDD"], DATA.X[:2]), "x must be one row, got 2"),
    (lambda e: plots.plot_explanation(e["BDD"].explain(DATA.X[:1])), "must be a fitted estimator"),
]


@pytest.mark.parametrize(("plot", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_named(two, plot, message):
    with pytest.raises((ValueError, TypeError), match=message):
        plot(two)


def test_prior_check_has_a_density_of_both_for_each_quantity(two):
    figure = plots.plot_prior_check(two["BDD"])
    shown = {ax.get_title(): ax.lines for ax in figure.axes if ax.get_title()}
    names = [
        "effective number of support points",
        "largest weight",
        "squared norm of the centre",
        "median distance of the majority",
    ]
    assert list(shown) == names
    for lines in shown.values():
        areas = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in lines]
        assert areas == pytest.approx([1.0, 1.0], abs=0.05)
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["prior", "posterior"]


@pytest.mark.parametrize("name", [r"_hidden_$_per_$unit \frac", r"a\$b"])
def test_names_are_drawn_as_they_are(name, two, tmp_path):
    est, X = two["BDD"], DATA.X
    frame = pd.DataFrame(X, columns=["a", name], index=[f"{name}{i}" for i in range(len(X))])
    named = BDD(draws=2000).fit(frame, Y)
    figures = {
        "boundary": plots.plot_boundary({name: est}, X, resolution=10),
        "posterior": plots.plot_distance_posterior(est, X[:1], [name]),
        "roc": plots.plot_roc({name: est, "other": est}),
        "calibration": plots.plot_calibration({name: est}, X[Y == 0]),
        "distances": plots.plot_distances(named),
        "weights": plots.plot_weights(named),
        "pair": plots.plot_weights_pair(named, (0, 1)),
    }
    for kind, figure in figures.items():
        figure.savefig(tmp_path / f"{kind}.svg")
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        for kind in ("roc", "calibration", "pair"):
            figures[kind].savefig(tmp_path / f"{kind}.svg")
            assert name in (tmp_path / f"{kind}.svg").read_text(encoding="utf-8"), kind
    page = named.report(tmp_path / "page.html", calibration=False)
    assert name in page.read_text(encoding="utf-8")


def test_a_pair_of_weights_has_its_mode():
    """Against the normal posterior: mean, and the share of draws inside each line."""
    est = BDD(kernel=kernels.RBF(0.4), draws=2000).fit(DATA.X, Y)
    (ax,) = plots.plot_weights_pair(est, (3, 8), prob=0.8).axes
    rows = np.flatnonzero(Y == 0)[[3, 8]]
    assert [ax.get_xlabel(), ax.get_ylabel()] == [f"weight of row {row}" for row in rows]
    size = np.abs(est.idata_["posterior"]["w"]).mean(("chain", "draw")).values
    largest = np.flatnonzero(Y == 0)[np.sort(np.argsort(-size)[:2])]  # the default
    shown = plots.plot_weights_pair(est).axes[0]
    assert [shown.get_xlabel(), shown.get_ylabel()] == [f"weight of row {r}" for r in largest]
    (marker,) = ax.lines
    mode = np.concatenate(marker.get_xydata())
    w = est.idata_["posterior"]["w"].values.reshape(-1, 40)[:, [3, 8]]
    assert (np.abs(mode - est.map_weights_[[3, 8]]) < 0.35 * w.std(axis=0)).all()
    (lines,) = [c for c in ax.collections if hasattr(c, "levels")]
    inside = [path.contains_points(w).mean() for path in lines.get_paths()]
    assert inside == pytest.approx([0.8, 0.5], abs=0.03)


def test_explanation_has_the_terms_of_columns_and_the_training_rows(two):
    x = np.array([3.0, 0.0])
    figure = plots.plot_explanation(two["SVDD"], x)
    why = two["SVDD"].explain(x[None], top=10)
    columns, points = figure.axes
    shown = sorted(bar.get_width() for bar in columns.patches)
    np.testing.assert_allclose(shown, np.sort(why.columns["mean"].values[0]))
    labels = [t.get_text() for t in columns.get_yticklabels()]
    first = int(why.columns["mean"].values[0].argmax())
    value = why.changes["value"].values[0, first]
    assert labels[0] == f"{first} = {x[first]:.3g} → {value:.3g}"
    share = why.points["mean"].values[0]
    assert [b.get_width() for b in points.patches] == pytest.approx(share[share >= 0.005].tolist())
    rows = [t.get_text() for t in points.get_yticklabels()]
    assert rows[0] == f"row {why.points['row'].values[0, 0]}"
    assert "abnormal; surprise" in figure.get_suptitle()


def test_explanation_of_a_linear_kernel_and_of_landmarks():
    frame = pd.DataFrame(DATA.X, columns=["left", "$up"])
    est = BDD(kernel=kernels.Linear(), dictionary=DATA.X[:9] + 0.01).fit(frame)
    columns, points = plots.plot_explanation(est, DATA.X[0]).axes
    assert "d_z^2" in columns.get_xlabel()
    assert {t.get_text().partition(" ")[0] for t in columns.get_yticklabels()} == {"left", "$up"}
    assert points.get_yticklabels()[0].get_text().startswith("landmark ")
    columns.figure.canvas.draw()


def test_a_pixel_of_p_normal_is_centred_on_its_grid_point():
    p = np.arange(12.0).reshape(3, 4) / 12
    figure, ax = plt.subplots()
    image = plots.show_probability(ax, p, (0.0, 6.0, 10.0, 14.0))
    left, right, bottom, top = image.get_extent()
    width, height = (right - left) / 4, (top - bottom) / 3
    np.testing.assert_allclose(left + width * (np.arange(4) + 0.5), [0, 2, 4, 6])
    np.testing.assert_allclose(bottom + height * (np.arange(3) + 0.5), [10, 12, 14])
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 6), (10, 14))
    plt.close(figure)
