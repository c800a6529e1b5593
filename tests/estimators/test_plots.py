"""The plots show the numbers of the estimator."""

import io
from itertools import combinations, pairwise, product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from bsvdd.comparison.scenarios import datasets
from bsvdd.estimators.plots.common import label_rows, surprise_axis
from bsvdd.estimators.plots.rows import draw_outliers
from bsvdd.estimators.questions.stand_out import StandOut
from matplotlib.text import Text
from matplotlib.transforms import Bbox

import bsvdd
from bsvdd import BDD, BSVDD, SVDD, Cutoff, Views, kernels, plots
from tests.scores import scores_left_out

DATA = datasets.moon(n0=40, n1=6)
Y = DATA.minority.astype(int)


@pytest.fixture(scope="module")
def two():
    kernel = kernels.RBF(0.4)
    return {
        "SVDD": SVDD(kernel=kernel).fit(DATA.X, Y),
        "BDD": BDD(kernel=kernel, draws=2000).fit(DATA.X, Y),
    }


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def texts(labels):
    return [label.get_text() for label in labels]


def has_line(ax, axis, value):
    return any(np.allclose(getattr(line, f"get_{axis}data")(), value) for line in ax.lines)


def test_boundary_has_a_panel_a_model_with_its_probabilities(two):
    figure = plots.plot_boundary(two, DATA.X, Y, resolution=11)
    panels = [ax for ax in figure.axes if ax.get_title()]
    assert [ax.get_title() for ax in panels] == ["SVDD", "BDD"]
    for ax, est in zip(panels, two.values(), strict=True):
        (image,) = ax.get_images()
        left, right, bottom, top = image.get_extent()
        middle = (np.arange(11) + 0.5) / 11  # of the pixels
        x, y = left + (right - left) * middle, bottom + (top - bottom) * middle
        grid = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        p = est.probability_normal(grid).reshape(11, 11)
        np.testing.assert_allclose(image.get_array(), p, atol=0.001)
        # majority and minority
        assert sorted({len(c.get_offsets()) for c in ax.collections} & {40, 6}) == [6, 40]


@pytest.mark.parametrize(
    "name", ["BDD", "SVDD", "printed", "printed, narrow", "far", "views", "training"]
)
def test_the_area_right_of_0_is_the_probability(two, name):
    """Of each histogram of margins, exactly; and the margins are D_opt - d_z where d has digits."""
    est, rows = two["SVDD" if name == "SVDD" else "BDD"], DATA.X[:5]
    if name.startswith("printed"):
        est = est if name == "printed" else BSVDD(kernel=kernels.RBF(0.1), draws=400).fit(DATA.X, Y)
        est = est.with_cutoff(Cutoff(uncertain=False))
    if name == "far":  # of no distance that a double could tell from another
        est, rows = BSVDD(kernel=kernels.RBF(0.02), draws=400).fit(DATA.X), DATA.X[:5] + 0.3
    if name == "views":
        est = Views(estimator=BDD(simplex=True)).fit(DATA.X)
    if name == "training":
        figure, p = plots.plot_margin(est, rows=range(5)), est.decision()["probability_normal"][:5]
    else:
        figure, p = plots.plot_margin(est, rows, list("abcde")), est.probability_normal(rows)
    axes = [ax for ax in figure.axes if ax.get_visible()]
    for ax, probability in zip(axes, p, strict=True):
        heights, edges, _ = ax.patches[0].get_data()
        area = (heights * np.diff(edges))[edges[:-1] >= 0.0].sum()
        assert area == pytest.approx(probability, abs=1e-9)
        assert 0.0 in edges and has_line(ax, "x", 0.0)
        assert ax.get_title().endswith(f"P(normal) = {probability:.2f}")
    if name.startswith("printed"):
        d = est.distance(rows).values.reshape(-1, 5)
        found = est.fit_.margins(est.fit_.asked(rows))
        np.testing.assert_allclose(found, est.cutoff_ - d, atol=1e-6)


def test_surprises_with_the_cutoff_at_0(two):
    (ax,) = plots.plot_distances(two["BDD"]).axes
    intervals, majority = ax.collections[:2]
    found = two["BDD"].decision()[Y == 0]  # the rows are left out
    np.testing.assert_allclose(majority.get_offsets()[:, 1], found["surprise"])
    ends = np.array(intervals.get_segments())[:, :, 1]
    np.testing.assert_allclose(ends, found[["surprise_low", "surprise_high"]])
    assert has_line(ax, "y", 0.0)
    (ax,) = plots.plot_distances(two["BDD"], DATA.X, Y).axes
    assert ax.get_title().startswith("BDD")
    for labels, said in (Y, ["majority", "minority"]), (None, ["rows without labels"]):
        figure = plots.plot_distances(two["BDD"], DATA.X, labels)
        assert [text.get_text() for text in figure.legends[0].get_texts()] == said


def test_far_rows_leave_room_for_the_others():
    """The axis is linear among most rows, and logarithmic above them."""
    X = np.concatenate([DATA.X, [[40.0, 40.0]]])
    (ax,) = plots.plot_distances(BDD(kernel=kernels.RBF(0.4)).fit(X)).axes
    assert ax.get_yscale() == "linear"  # differences of similarities are never far off
    est = BSVDD(kernel=kernels.RBF(0.4), draws=200, tune=200).fit(X)
    (ax,) = plots.plot_distances(est).axes
    surprise = est.decision()["surprise"]
    quantiles = ax.transData.transform([[0.0, v] for v in np.quantile(surprise, [0.05, 0.95])])
    low, high = ax.transAxes.inverted().transform(quantiles)[:, 1]
    assert high - low > 0.2 and ax.get_ylim()[1] > surprise.max()
    left, words = plots.plot_outliers(est, most=3).axes
    assert ax.get_yscale() == left.get_yscale() == "symlog"
    assert 1.6 * surprise.max() >= ax.get_yticks().max() > surprise.max() / 2
    assert words.texts[0].get_text().startswith(f"1  {len(X) - 1}, p = ")


@pytest.mark.parametrize("one_table", [True, False])
def test_outliers_have_the_texts_of_categories(one_table):
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(120, 2)), columns=["a", "b"], index=np.arange(120) + 500)
    X["colour"] = np.where(X["a"] > 0, "red", "blue")
    X.loc[507, "colour"] = "green"
    est = BSVDD(draws=200, tune=200)
    est = est if one_table else est.fit(X)
    if one_table:
        est.fit_predict(X)
    said = " ".join(texts(plots.plot_outliers(est, X).axes[1].texts))
    assert "507" in said and "colour = green" in said
    assert "green" not in " ".join(texts(plots.plot_outliers(est).axes[1].texts))
    with pytest.raises(ValueError, match="must be the table that the estimator was fitted to"):
        plots.plot_outliers(est, X[::-1])
    with pytest.raises(TypeError, match="X must be the data frame .*leave ndarray out"):
        plots.plot_outliers(est, X.to_numpy())


def require_layout(figure):
    """No text leaves the figure, and no text lies on another, before or after it is saved."""
    figure.savefig(io.BytesIO(), dpi=120)
    figure.draw_without_rendering()
    hidden = [t for ax in figure.axes if not ax.get_visible() for t in ax.findobj(Text)]
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        low, high = sorted(axis.get_view_interval())
        hidden += [] if axis.axes.axison else axis.findobj(Text)
        hidden += [t.label1 for t in axis.get_major_ticks() if not low <= t.get_loc() <= high]
    shown = [t for t in figure.findobj(Text) if t.get_text() and t.get_visible()]
    shown = [t for t in shown if t not in hidden]
    turned = [t for t in shown if t.get_rotation() not in (0.0, 90.0)]  # their boxes may overlap
    level = [t for t in shown if t not in turned]
    page, boxes = figure.bbox, {t: t.get_window_extent() for t in shown}
    for text, box in boxes.items():
        assert box.x0 >= -1 and box.x1 <= page.x1 + 1, text
        assert box.y0 >= -1 and box.y1 <= page.y1 + 1, text
    for a, b in [*combinations(level, 2), *product(turned, level)]:
        either = Bbox.intersection(boxes[a], boxes[b])
        assert either is None or min(either.width, either.height) < 1, (a, b)
    for a, b in pairwise(turned):
        assert boxes[b].x1 - boxes[a].x1 > a.get_fontsize(), (a, b)
    for ax in figure.axes:
        assert ax.bbox.width > 0.2 * page.width and ax.bbox.height > 0.3 * page.height


@pytest.mark.parametrize(
    ("length", "listed"), [(5, 40), (10, 2), (14, 40), (20, 2), (20, 0), (34, 0), (34, 40), (60, 2)]
)
def test_texts_of_outliers_have_room(length, listed):
    """Also of near points, of a group, of long reasons, and of many lines."""
    n = 200
    names = np.array([f"{i:05d}{'-abcdefghijklmnopqrstuvwxyz' * 3}"[:length] for i in range(n)])
    surprise = np.linspace(1.0, 5.0, n)[::-1].copy()
    surprise[:listed] += 4.0
    first = np.arange(n) < listed
    group = np.where(first & (np.arange(n) < 25), 0, -1) if listed == 40 else np.full(n, -1)
    odd = np.where(first, 0.97, 0.012)
    found = StandOut(odd, surprise, first, group, max(listed - 1, 0), 0.123, 0.1, names)
    lines = found.lines(1000 if listed == 40 else 6)
    why = f"{'W' * 90} = {'wide ' * 40} (37%; rows like it: 80.22 to 437.43)"
    figure = draw_outliers(found, names, lines, [why] * len(lines), "BSVDD")
    require_layout(figure)
    left, words = figure.axes
    said = texts(words.texts)
    assert len(said) == 2 * min(len(lines), 50)
    assert all("P(odd) = 0." in text for text in said[::2])
    assert ("(25 rows)" in said[0]) == (listed == 40)
    shown = [int(text) for text in texts(left.texts)]
    assert shown[0] == 1 and shown == sorted(set(shown))


def test_long_names_of_rows_have_room():
    names = [f"{i:05d}{'-abcdefghijklmnopqrstuvwxyz' * 3}"[:60] for i in range(60)]
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"), index=names)
    table["kind"] = [f"{'a very long name of a category ' * 2}{i % 3}" for i in range(60)]
    est = BDD(simplex=True, draws=300).fit(table)
    for figure in (
        plots.plot_outliers(est),
        plots.plot_distances(est),
        plots.plot_weights(est),
        plots.plot_margin(est),
        plots.plot_explanation(est, table.iloc[[0]]).figure,
    ):
        require_layout(figure)


def test_weights_shows_the_largest(two):
    (ax,) = plots.plot_weights(two["BDD"], most=5).axes
    w = np.abs(two["BDD"].idata_["posterior"]["w"]).mean(("chain", "draw")).values
    shown = {int(text.removeprefix("row ")) for text in texts(ax.get_xticklabels())}
    assert shown == set(np.flatnonzero(Y == 0)[np.argsort(-w)[:5]])  # the row of each point


BAD = [
    (plots.plot_boundary, "both", [np.zeros((4, 3))], "two columns, got X of shape"),
    (plots.plot_margin, "BDD", [DATA.X, ["a"]], "one entry for each of 46"),
]


@pytest.mark.parametrize(("plot", "of", "arguments", "message"), BAD, ids=range(len(BAD)))
def test_bad_input_is_named(two, plot, of, arguments, message):
    given = {
        **two,
        "both": two,
    }
    with pytest.raises((ValueError, TypeError), match=message):
        plot(given[of], *arguments)


@pytest.mark.parametrize("name", [r"_a_$_b_$ \frac", r"a\$b"])
def test_names_are_drawn_as_they_are(name, two, tmp_path):
    est, X = two["BDD"], DATA.X
    frame = pd.DataFrame(X, columns=["a", name], index=[f"{name}{i}" for i in range(len(X))])
    named = BDD(draws=2000).fit(frame, Y)
    figures = {
        "boundary": plots.plot_boundary({name: est}, X, resolution=10),
        "posterior": plots.plot_margin(est, X[:1], [name]),
        "roc": plots.plot_roc({name: est, "other": est}),
        "distances": plots.plot_distances(named),
        "weights": plots.plot_weights(named),
    }
    with plt.rc_context({"svg.fonttype": "none"}):  # texts as texts
        for kind, figure in figures.items():
            figure.savefig(tmp_path / "x.svg")
            if kind == "roc":
                assert name in (tmp_path / "x.svg").read_text(encoding="utf-8"), kind
    page = bsvdd.report(named, tmp_path / "page.html")
    assert name in page.read_text(encoding="utf-8")


def test_a_pixel_of_p_normal_is_centred_on_its_grid_point():
    p = np.arange(12.0).reshape(3, 4) / 12
    ax = plt.figure().gca()
    image = plots.show_probability(ax, p, (0.0, 6.0, 10.0, 14.0))
    left, right, bottom, top = image.get_extent()
    width, height = (right - left) / 4, (top - bottom) / 3
    np.testing.assert_allclose(left + width * (np.arange(4) + 0.5), [0, 2, 4, 6])
    np.testing.assert_allclose(bottom + height * (np.arange(3) + 0.5), [10, 12, 14])
    assert (ax.get_xlim(), ax.get_ylim()) == ((0, 6), (10, 14))


@pytest.mark.parametrize("n", [9, 600])
def test_long_names_of_rows_end_at_their_ticks_and_each_tick_has_one(n):
    names = np.array([f"SN-2024-{i:06d}-of-the-north" for i in range(n)])
    _, ax = plt.subplots()
    ax.scatter(range(n), range(n))
    label_rows(ax, names)
    labels = ax.get_xticklabels()
    assert all(0 <= place < n for place in ax.get_xticks()) and len(labels) <= 13
    for place, label in zip(ax.get_xticks(), labels, strict=True):
        assert label.get_text() == f"{names[int(place)][:8]}…{names[int(place)][-7:]}"
        assert (label.get_ha(), label.get_rotation_mode()) == ("right", "anchor")
    plt.close("all")


@pytest.mark.parametrize(
    ("usual", "far"), [(-3.0, 300.0), (-300.0, 5e4), (5.0, 86.0), (0.1, 1e12), (-40.0, 900.0)]
)
def test_an_axis_of_surprises_has_few_ticks_also_beside_the_far_rows(usual, far):
    surprise = np.append(np.linspace(1.5 * usual, usual, 50), far)
    low = surprise - np.abs(usual)
    _, ax = plt.subplots()
    surprise_axis(ax, surprise, low)
    ticks = ax.get_yticks()
    assert 4 <= len(ticks) <= 16 and len({t.get_text() for t in ax.get_yticklabels()}) == len(ticks)
    assert (ticks > 0.1 * far).any() and (np.diff(ticks) > 0.0).all()
    bottom, top = ax.get_ylim()
    assert bottom <= low.min() and top >= far
    plt.close("all")


def test_pictures_of_a_row_have_room_for_long_names_and_small_margins():
    rng = np.random.default_rng(0)
    names = [f"measurement {i} of the sensor in the hall of the north" for i in range(3)]
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=names).assign(price=1722.79)
    table["price"] += rng.normal(size=60).round(2)
    est = BDD(simplex=True).fit(table)
    labels = texts(plots.plot_explanation(est, row=0).get_yticklabels())
    assert max(map(len, labels)) <= 60 and f"price = {table['price'][0]:.6g}" in labels
    far = table.iloc[[0]] * 1.000001
    for ax in plots.plot_margin(est, far).axes:
        assert not ax.xaxis.get_major_formatter().get_offset()
    plt.close("all")


def test_roc_counts_pairs_and_marks_the_cutoff(fitted, table):
    est, (X, y) = fitted("SVDD"), table
    scores, minority = scores_left_out(est), y == 1
    pairs = scores[minority][:, None] - scores[~minority]
    auc = ((pairs < 0) + 0.5 * (pairs == 0)).mean()
    roc, pr = plots.plot_roc(est).axes
    label, random_ranks = (text.get_text() for text in roc.get_legend().get_texts())
    assert label == f"SVDD: AUC {auc:.3f}" and random_ranks.endswith("0.5")
    ((x, y_),) = roc.lines[1].get_xydata()
    below = scores < est.offset_
    assert (x, y_) == (below[~minority].mean(), below[minority].mean())
    assert pr.get_legend().get_texts()[1].get_text() == "base rate 0.2"
    with pytest.raises(ValueError, match="needs the labels y"):
        plots.plot_roc(est, X)
    with pytest.raises(ValueError, match="majority and minority rows, got 30 and 0"):
        plots.plot_roc(SVDD(kernel=kernels.RBF(1.5)).fit(X))
