"""The plots show the numbers of the estimator."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, SVM, Views, cutoffs, kernels, plots
from bsvdd.comparison import datasets
from bsvdd.plots.common import draw_surprises, figure_of, label_rows

DATA = datasets.moon(n0=40, n1=6)
Y = DATA.minority.astype(int)
RBF = kernels.RBF(0.4)
RNG = np.random.default_rng(0)


def test_cells_by_which_rows_are_odd_have_crosses_and_names():
    rng = np.random.default_rng(2)
    X = pd.DataFrame(rng.normal(size=(200, 3)), columns=["a", "b", "c"])
    X["d"] = np.where(X["a"] > 0.0, "plus", "minus")
    X.index = [f"row {i}" for i in range(200)]
    X.iloc[7, 1], X.iloc[8, 1], X.iloc[9, 2] = 900.0, -8.0, 12.0
    found = bsvdd.stand_out(SVDD(), X)
    axes = plots.plot_cells(found)
    assert [ax.get_title(loc="left") for ax in axes] == ["b", "c"]
    assert {text.get_text() for text in axes[0].texts} == {"row 7 = 900", "row 8 = -8"}
    crosses = axes[0].collections[1].get_offsets()
    assert crosses[:, 0].tolist() == [7, 8] and crosses[0, 1] < 10.0  # at the edge
    X["day"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(
        RNG.permutation(200) // 2, "D"
    )
    X.iloc[10, 4] = pd.Timestamp("1824-01-01")
    ax = plots.plot_cells(bsvdd.stand_out(SVDD(), X))[-1]
    assert ax.get_title(loc="left") == "day" and len(ax.get_yticks()) < 12
    clean = bsvdd.stand_out(SVDD(), X.iloc[20:].drop(columns="day"))
    with pytest.raises(ValueError, match="by one cell"):
        plots.plot_cells(clean)


@pytest.fixture(scope="module")
def two():
    made = {"SVDD": SVDD(kernel=RBF), "BDD": BDD(kernel=RBF, draws=2000)}
    return {name: est.fit(DATA.X, Y) for name, est in made.items()}


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(labels):
    return [label.get_text() for label in labels]


def inside(figure):
    """No text of a figure lies outside of it."""
    figure.draw_without_rendering()
    box = figure.bbox
    shown = [
        t for ax in figure.axes for t in ax.texts if t.get_text() and t.get_visible()
    ]
    return all(t.get_window_extent().x1 <= 1.02 * box.x1 for t in shown)


def test_boundary_has_a_panel_a_model_with_its_probabilities(two):
    axes = plots.plot_boundary(
        two | {"SVM": SVM(kernel=RBF).fit(DATA.X, Y)}, resolution=11
    )
    assert [ax.get_title() for ax in axes] == ["SVDD", "BDD", "SVM"]
    for ax, est in zip(axes[:2], two.values(), strict=True):
        mesh = ax.collections[0]
        grid = mesh.get_coordinates().reshape(-1, 2)
        np.testing.assert_allclose(
            np.ravel(mesh.get_array()), est.probability_normal(grid)
        )
        assert {40, 6} <= {len(c.get_offsets()) for c in ax.collections}


@pytest.mark.parametrize("rows", [None, [3, 41]])
@pytest.mark.parametrize("name", ["SVDD", "BDD"])
def test_the_area_right_of_0_is_the_probability(two, name, rows):
    est = two[name]
    axes = plots.plot_margin(est, rows=rows)
    P = est.decision()["probability_normal"].to_numpy()[
        [0, 1, 2] if rows is None else rows
    ]
    for ax, p in zip(axes, P, strict=True):
        heights, edges, _ = ax.patches[0].get_data()
        area = (heights * np.diff(edges)).sum()
        assert area == pytest.approx(p, abs=1e-9)
        assert f"P(normal) = {p:.2f}" in ax.get_title()


def test_surprises_with_the_cutoff_at_0(two):
    est = two["BDD"]
    ax = plots.plot_distances(est)
    surprise = est.decision()["surprise"].to_numpy()
    drawn = np.concatenate([c.get_offsets() for c in ax.collections[1:]])
    np.testing.assert_allclose(np.sort(drawn[:, 1]), np.sort(surprise))
    assert any(np.allclose(line.get_ydata(), 0.0) for line in ax.lines)
    new = plots.plot_distances(est, DATA.X[:5] + 0.01, names=list("vwxyz"))
    assert "rows without labels" in texts(new.get_legend().get_texts())
    assert texts(new.get_xticklabels()) == list("vwxyz")
    own = plt.figure().subplots()
    assert plots.plot_distances(est, ax=own) is own


@pytest.mark.filterwarnings("ignore:most of the 8 rows lie beyond")
@pytest.mark.parametrize("n", [8, 400])
def test_rows_that_change_their_decision_are_named(two, n):
    est = two["BDD"]
    after, own = est.with_cutoff(cutoffs.FalseAlarm(0.4)), plt.figure().subplots()
    Z = pd.DataFrame(RNG.uniform(-1.5, 1.5, (n, 2))).rename(
        index="a long $name$ of row {}".format
    )
    ax = plots.plot_decisions(est, after, Z, own)
    was, now = (e.predict(Z) == 1 for e in (est, after))
    p = np.column_stack([e.probability_normal(Z) for e in (est, after)])
    assert ax is own and ax.get_title(loc="left").startswith(
        f"{(was != now).sum()} of {n} rows"
    )
    for drawn, members in zip(
        ax.collections, (was == now, was & ~now, ~was & now), strict=True
    ):
        np.testing.assert_allclose(drawn.get_offsets(), p[members])
    named = {tuple(np.round(t.xy, 9)) for t in ax.texts}
    assert len(ax.texts) == min((was != now).sum(), 15) > 0
    assert named <= {tuple(row) for row in np.round(p[was != now], 9)} and inside(
        ax.figure
    )
    heights = np.sort([t.xyann[1] for t in ax.texts])
    assert heights[-1] <= 1.0 and np.diff(heights).min(initial=1.0) > 0.04
    same = plots.plot_decisions(est, est, Z)
    assert not same.texts and "0 of" in same.get_title(loc="left")


def test_weights_shows_the_largest(two):
    est = two["BDD"]
    ax = plots.plot_weights(est, most=7)
    w = np.abs(est.idata_["posterior"]["w"]).mean(["chain", "draw"]).to_numpy()
    rows = np.flatnonzero(est.gram_.of_row >= 0)
    assert_array_equal(est.gram_.of_row[rows], np.arange(len(w)))
    largest = {str(rows[j]) for j in np.argsort(-w)[:7]}
    assert set(texts(ax.get_xticklabels())) == largest


def test_roc_has_the_areas_of_left_out_and_of_new_rows(two):
    roc, pr = plots.plot_roc(two)
    assert [t.split(":")[0] for t in texts(roc.get_legend().get_texts())][:2] == [
        "SVDD",
        "BDD",
    ]
    assert texts(pr.get_legend().get_texts())[-1] == f"base rate {Y.mean():.3g}"
    machine = SVM(kernel=RBF).fit(DATA.X, Y)
    assert (
        "AUC 1.000"
        in texts(plots.plot_roc(machine, DATA.X, Y)[0].get_legend().get_texts())[0]
    )


@pytest.mark.parametrize(("n", "p", "long"), [(40, 2, False), (600, 20, True)])
def test_outliers_have_room_for_names_and_reasons(n, p, long):
    X = pd.DataFrame(
        RNG.normal(size=(n, p)), index=[f"customer {i} of Oslo" for i in range(n)]
    )
    X.columns = [f"{'a very long name of' * long} column {j}" for j in range(p)]
    X.iloc[:3] += 8.0
    found = bsvdd.stand_out(SVDD(), X)
    for ax in (plots.plot_outliers(found), plots.plot_outliers(SVDD().fit(X), most=60)):
        words = figure_of(ax).axes[1].texts
        assert (
            words[0].get_text().startswith("1  ") and "customer" in words[0].get_text()
        )
        assert len(words) == 2 * len(ax.texts) and len(ax.texts) <= 50
        assert inside(ax.figure)
    headline = figure_of(plots.plot_outliers(found)).axes[1].get_title(loc="left")
    assert " ".join(headline.split()) == found.headline


def test_explanation_has_a_bar_for_each_share_and_fits_long_names():
    X = pd.DataFrame(RNG.normal(size=(60, 3)), columns=["a", "b", "$x$"])
    est = SVDD().fit(X)
    z = pd.DataFrame({"a": [0.0], "b": [7.0], "$x$": [0.0]}, index=["odd"])
    why, ax = bsvdd.explain(est, z), plots.plot_explanation(est, z)
    np.testing.assert_allclose(
        sorted(bar.get_width() for bar in ax.patches), np.sort(why.shares.to_numpy()[0])
    )
    assert texts(ax.get_yticklabels())[0] == "b = 7" and inside(ax.figure)
    X = pd.DataFrame(RNG.normal(size=(80, 20))).add_prefix(
        "a very long name of column number "
    )
    z = X.iloc[[0]].assign(**{X.columns[3]: 9.0})
    est = SVDD().fit(X)
    ax, row = (
        plots.plot_explanation(est, z, most=12),
        plots.plot_explanation(est, row=3, most=2),
    )
    assert len(ax.patches) == 12 and len(ax.lines) == 11
    first = texts(ax.get_yticklabels())[0]
    assert (
        first.startswith("a very")
        and first.endswith("number 3 = 9")
        and len(first) < 60
    )
    assert ax.patches[0].get_width() == pytest.approx(
        bsvdd.explain(est, z).shares.max(axis=1)[0]
    )
    assert row.get_title(loc="left").startswith("3: ") and len(row.patches) == 2


@pytest.mark.parametrize("name", ["$x$", "a_b", "kg\nper m", "ü漢", "%"])
def test_names_are_drawn_as_they_are(name):
    X = pd.DataFrame(RNG.normal(size=(30, 2)), columns=[name, "b"])
    est = SVDD().fit(X.set_axis([f"{name}{i}" for i in range(30)]))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        for plot in (plots.plot_distances, plots.plot_outliers, plots.plot_weights):
            ax = plot(est)
            ax.figure.draw_without_rendering()
            shown = "".join(texts(ax.get_xticklabels())).replace("\\", "")
            assert " ".join(name.split()) in shown
        figure_of(plots.plot_explanation(est, X.iloc[[0]])).draw_without_rendering()


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")
@pytest.mark.parametrize(
    "est", [Views(SVDD()), BSVDD(draws=300, tune=300)], ids=["Views", "BSVDD"]
)
def test_views_and_draws_have_pictures_too(est):
    X = RNG.normal(size=(60, 3))
    X[5] = 6.0
    est.fit(X)
    drawn = plots.plot_distances(est).collections[1].get_offsets()
    assert len(drawn) == 60 and drawn[:, 1].argmax() == 5
    assert len(plots.plot_margin(est)) == 3
    if isinstance(est, Views):
        assert plots.plot_outliers(est).texts[0].xy[0] == 5
    else:
        assert len(plots.plot_weights(est).get_xticklabels()) == 25


def test_labels_and_axes_of_rows():
    for n in (3, 100, 5000):
        ax = plt.figure().subplots()
        label_rows(ax, [f"row {i}" for i in range(n)])
        assert len(texts(ax.get_xticklabels())) <= 13
    ax = plt.figure().subplots()
    draw_surprises(ax, np.array([0.0, 1.0, -1.0, np.inf]), {})
    assert ax.get_yscale() == "linear"
    draw_surprises(ax, np.array([*np.linspace(-1, 1, 20), 1e6]), {})
    assert ax.get_yscale() == "symlog"


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_missing_categories_move_no_row_and_dollars_are_letters():
    rng = np.random.default_rng(0)
    code = rng.choice(["1", "2", "3"], 300)
    kind = np.array(["US$#A$", "k$", "c$d$"])[code.astype(int) - 1].astype(object)
    X = pd.DataFrame({"code": code, "kind": kind, "x": rng.normal(size=300)})
    X.loc[297, ["code", "kind"]] = ["1", "k$"]
    X.loc[20:25, "kind"] = None
    X.index.name = "part $#A$"
    found = bsvdd.stand_out(SVDD(), X)
    found.cells.loc[297, ["finding", "column", "value", "expected"]] = [
        "breaks a relation",
        "kind",
        "k$",
        "US$#A$",
    ]
    ax = plots.plot_cells(found)[-1]
    ax.figure.canvas.draw()
    place = {
        t.get_text(): y
        for y, t in zip(ax.get_yticks(), ax.get_yticklabels(), strict=True)
    }
    crosses = ax.collections[1].get_offsets()
    at = crosses[crosses[:, 0] == 297]
    assert at[0, 1] == place[r"k\$"]
    plots.plot_outliers(found).figure.canvas.draw()


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning")
def test_numbers_with_a_unit_are_numbers_of_a_picture():
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(50.0, 1.0, (200, 2)), columns=["w", "b"])
    X.loc[7, "w"] = 90.0
    told = X.assign(w=[f"{x:.2f} kg" for x in X["w"]])
    found = bsvdd.stand_out(SVDD(), told)
    (ax,) = plots.plot_cells(found)
    y = ax.collections[0].get_offsets()[:, 1]
    np.testing.assert_allclose(np.delete(y, 7), np.delete(X["w"], 7), atol=0.01)
    assert [text.get_text() for text in ax.texts] == ["7 = 90.0 kg"]
    plots.plot_columns(SVDD().fit(told), ["w", "b"]).figure.canvas.draw()


def test_boundary_takes_labels_and_columns_as_the_fit_has_them():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal([0.0, 5.0], size=(60, 2)), columns=["a", "b"])
    X[50:] += 4.0
    y = np.where(np.arange(60) < 50, "ok", "bad")
    est = bsvdd.SVDDM(minor_label="bad").fit(X, y)
    ax = plots.plot_boundary(est, X[["b", "a"]], y, resolution=30)[0]
    assert len(ax.collections[-1].get_offsets()) == 10  # the minority
    assert ax.get_xlabel() == "b"
    P = np.asarray(ax.collections[0].get_array()).reshape(30, 30)
    i = 20
    b, a = ax.collections[0].get_coordinates()[i, i]
    assert P[i, i] == est.probability_normal(pd.DataFrame({"a": [a], "b": [b]}))[0]
    one = SVDD().fit(X.assign(a=1.0))
    x = plots.plot_boundary(one, resolution=20)[0].get_xlim()
    assert x[0] < 1.0 < x[1]
