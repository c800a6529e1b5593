"""The explorer shows what its code gives, keeps the setting before in grey, and computes only
what has changed."""

import gc
import re
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from bsvdd.estimators.registry import REGISTRY
from bsvdd.estimators.rows.categories import code
from bsvdd.inference.warning import DataWarning, collected, warn
from bsvdd.models.gram import Gram
from ipywidgets import Widget
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, as_published, kernels, priors
from bsvdd.explorer import panels
from bsvdd.explorer.explorer import PENDING, Explorer, explore
from bsvdd.explorer.plane import GRID, Plane
from bsvdd.explorer.view import View
from bsvdd.explorer.worker import LatestWorker
from docs import example_model

NAMES = {c.__name__: c for c in (BDD, BDDM, BSVDD, BSVDDM, Cutoff)} | {
    "as_published": as_published,
    "kernels": kernels,
    "priors": priors,
}
SOON = 60.0
QUICK = {"draws": 100}  # and sd of at most 1.5: Laplace's proposals are good enough, no NUTS
PNG = b"\x89PNG\r\n"


@pytest.fixture(scope="module")
def shared(table):
    return explore(*table, **QUICK)


@pytest.fixture(scope="module")
def start(shared):
    """The values of the controls at the start."""
    return {name: getattr(shared.setting, name) for name in shared.controls}


@pytest.fixture
def explorer(shared, start):
    """An explorer on its first setting, whatever was before."""
    shared.change(**start)
    return shared.wait(SOON)


def text(html):
    return re.sub("<[^>]+>", " ", html)


def draws(est):
    return est.idata_["posterior"]["w"].values


def test_bsvdd_explore_is_the_explorer():
    assert bsvdd.explore is explore


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sd": 2.5},
        {"calibrated": False, "likelihood_scale": 3.0, "row": 27},
        {"prior": "InverseRowSum", "level": 0.3},
        {"bandwidth": 2.0, "criterion": "cost", "miss_cost": 20.0},
        {"model": "BDD", "sd": 0.5},
        {"model": "BSVDD-M", "bounded": True, "total": 2.0, "a": 2.0, "b": 3.0},
        {"model": "BDD-M", "sd": 2.0},
        {"model": "BDD", "published": True},  # one estimate: no prior draws, no R-hat
        {"model": "BDD-M", "published": True},
        # Metropolis twice; that the code is of the published model, test_explorer_state.py says
        pytest.param({"model": "BSVDD", "published": True}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_the_screen_is_what_the_code_gives(shared, start, table, changes):
    """However it was fitted: anew, with another prior, or with another cutoff only."""
    X, y = table
    shared.change(**start | {"sd": 0.7, "criterion": "f1"})  # the fit that can be reused
    shared.wait(SOON)
    shared.change(**changes)
    est = shared.wait(SOON).estimator
    for name, value in changes.items():
        assert getattr(shared.setting, name) == value
    fresh = eval(shared.code(), dict(NAMES))
    with collected():
        fresh.fit(X, y)
    assert est.get_params() == fresh.get_params()
    assert est.cutoff_ == fresh.cutoff_
    np.testing.assert_array_equal(est.probability_normal(X), fresh.probability_normal(X))
    assert f"{fresh.cutoff_:.5g}" in text(shared._widgets.numbers.value)
    p = fresh.probability_normal(X)[shared.setting.row]
    assert f"{p:.3f} (row {shared.setting.row}," in text(shared._widgets.numbers.value)


def test_a_change_of_a_slider_changes_the_picture_and_the_numbers(table):
    explorer = explore(*table, **QUICK)
    picture, numbers = explorer.picture, explorer._widgets.numbers.value
    assert picture.startswith(PNG) and explorer.before is None
    explorer.controls["sd"].value = 1.2
    explorer.wait(SOON)
    assert explorer.setting.sd == 1.2
    assert explorer.picture.startswith(PNG) and explorer.picture != picture
    assert explorer._widgets.numbers.value != numbers
    assert "This is the first setting." in numbers
    assert "prior sd 1.5 → 1.2" in explorer._widgets.numbers.value


def test_the_setting_before_stays_on_the_screen(explorer):
    first = explorer.estimator
    explorer.change(sd=1.2)
    explorer.wait(SOON)
    assert explorer.before.sd == 1.5
    grey = re.findall('class="bsvdd-before"[^>]*>([^<]*)<', explorer._widgets.numbers.value)
    assert f"{first.cutoff_:.5g}" in grey
    drawn = panels.draw(explorer._plane, explorer._view, explorer._before)
    assert drawn == explorer.picture
    assert drawn != panels.draw(explorer._plane, explorer._view, None)
    explorer.change(sd=0.8)
    explorer.wait(SOON)
    assert explorer.before.sd == 1.2
    explorer.change(sd=0.9)
    explorer.change(sd=0.8)  # back before anything else was seen
    explorer.wait(SOON)
    assert (explorer.setting.sd, explorer.before.sd) == (0.8, 1.2)


@pytest.mark.parametrize("pinned", [False, True])
def test_a_picture_does_not_depend_on_the_pictures_before(table, pinned):
    explorer = explore(*table, **QUICK)
    views = [explorer._view]
    for changes in ({"sd": 0.4}, {"bandwidth": 2.0, "row": 28}, {"model": "BSVDD-M"}):
        explorer.change(**changes)
        views.append(explorer.wait(SOON)._view)
    settings = [(views[0], None), *zip(views[1:], views, strict=False), (views[1], views[1])]
    new = []
    for view, before in settings:
        panels._canvas.cache_clear()
        new.append(panels.draw(explorer._plane, view, before, pinned))
    assert len(set(new)) == len(settings)
    again = [panels.draw(explorer._plane, *setting, pinned) for setting in settings]
    assert again == new


def test_numbers_of_prior_and_likelihood_keep_the_statistics(explorer):
    before = explorer.estimator
    for changes in (
        {"sd": 0.7},
        {"calibrated": False, "likelihood_scale": 5.0},
        {"prior": "RowSum"},
        {"sd": 2.0},
    ):
        explorer.change(**changes)
        explorer.wait(SOON)
        assert explorer.estimator.gram_ is before.gram_
    assert not np.shares_memory(draws(explorer.estimator), draws(before))


def test_a_cutoff_or_another_point_fits_nothing(explorer):
    before = explorer.estimator
    for changes in ({"criterion": "f1"}, {"level": 0.8}, {"row": 29}):
        explorer.change(**changes)
        explorer.wait(SOON)
        assert np.shares_memory(draws(explorer.estimator), draws(before))
    assert explorer.estimator.level_ == 0.8


def test_sliders_end_at_their_range(explorer):
    for name, limits in explorer.ranges.items():
        control = explorer.controls[name]
        for value, end in ((1e9, limits.high), (-1e9, limits.low)):
            control.value = int(value) if limits.whole else value
            assert control.value == pytest.approx(end)
            value = getattr(explorer._read_controls(), name)
            limits.check(name, value)  # rounding does not leave the range
    explorer.wait(SOON)


def test_change_refuses_what_a_control_cannot_reach(explorer):
    state = explorer._read_controls()
    with pytest.raises(ValueError, match="sd must lie between 0.1 and 10, got 11"):
        explorer.change(level=0.3, sd=11)
    with pytest.raises(ValueError, match="row must lie between 0 and 29, got 30"):
        explorer.change(row=30)
    with pytest.raises(TypeError, match="row must be a whole number, got 1.5"):
        explorer.change(row=1.5)
    with pytest.raises(ValueError, match="prior must be one of .*, got 'Other'"):
        explorer.change(prior="Other")
    with pytest.raises(ValueError, match=r"no controls \['exponents'\]; there are"):
        explorer.change(exponents=1)
    assert explorer._read_controls() == state


def test_only_what_matters_is_shown(explorer):
    def shown():
        return {n for n, c in explorer.controls.items() if c.layout.display != "none"}

    assert not shown() & {"exponent", "a", "b", "bounded", "total", "miss_cost"}
    explorer.change(prior="RowSum", model="BSVDD-M", bounded=True, criterion="cost")
    assert {"exponent", "a", "b", "bounded", "total", "miss_cost"} <= shown()
    explorer.change(published=True, model="BDD")
    assert shown() == {"model", "published", "bandwidth", "row"}
    explorer.wait(SOON)


def test_a_start_computes_one_gram_matrix(table, monkeypatch):
    from_rows, computed = Gram.from_rows, []

    def count(*rows):
        computed.append(rows)
        return from_rows(*rows)

    monkeypatch.setattr(Gram, "from_rows", count)
    explorer = explore(*table, **QUICK)
    assert len(computed) == 1
    resolved = kernels.Tabular(kernels.RBF("likelihood")).resolve(table[0][table[1] == 0])
    assert explorer.setting.bandwidth == float(f"{resolved.kernel.bandwidth:.3g}")


def test_a_model_that_a_user_registers_is_offered(table, monkeypatch):
    monkeypatch.setitem(REGISTRY, "SoftplusDD", None)  # the registry of other tests stays
    example_model.register()
    explorer = explore(*table, **QUICK)
    explorer.change(model="SoftplusDD", sd=0.5)
    est = explorer.wait(SOON).estimator
    assert type(est) is example_model.SoftplusDD and est.prior.sd == 0.5
    explorer._show_code()
    assert "from docs.example_model import SoftplusDD\n" in explorer._widgets.code.value


def test_a_data_frame_keeps_its_column_names(table):
    frame = pd.DataFrame(table[0][:, :2], columns=["length", "width"])
    explorer = explore(frame, pd.Series(table[1]), **QUICK)
    assert explorer._plane.names == ("column length (sd)", "column width (sd)")
    explorer.change(sd=0.8)
    assert explorer.wait(SOON).setting.sd == 0.8  # scikit-learn warns of an array without names


def test_a_closed_explorer_leaves_nothing_but_its_estimator(table):
    def living():
        gc.collect()
        return sum(issubclass(type(each), Widget) for each in gc.get_objects())

    before = living()
    explorer = explore(*table, **QUICK)
    explorer.change(sd=0.7)
    explorer.close()  # while it fits
    explorer.wait(SOON)
    assert explorer.setting.sd == 1.5
    assert explorer.estimator.predict(table[0]).shape == (30,)
    while threading.active_count() > 1 and any(
        isinstance(each, threading.Timer) for each in threading.enumerate()
    ):
        time.sleep(0.1)  # the clock of the fit
    del explorer
    assert living() <= before


@pytest.mark.parametrize("frame", [False, True], ids=["array", "frame"])
def test_later_fits_take_the_rows_and_labels_that_were_given(table, frame):
    X, y = (each.copy() for each in table)
    given = (pd.DataFrame(X, copy=True), pd.Series(y, copy=True)) if frame else (X, y)
    explorer = explore(*given, **QUICK)
    if frame:
        given[0].iloc[:, :] *= 10
        given[1][:] = 1 - y
    else:
        X *= 10
        y[:] = 1 - y
    explorer.change(bandwidth=2.0)  # the statistics are computed anew
    est = explorer.wait(SOON).estimator
    with collected():
        fresh = explorer.setting.estimator().fit(*table)
    np.testing.assert_array_equal(est.score_samples(table[0]), fresh.score_samples(table[0]))
    assert est.cutoff_ == fresh.cutoff_


def test_without_minority_rows_nothing_that_needs_them_is_offered(table):
    X, y = table
    explorer = explore(X[y == 0], **QUICK)
    assert explorer.controls["criterion"].options == ("false_alarm",)
    assert explorer.controls["model"].options == ("BSVDD", "BDD")
    assert explorer._view.counts[1].tolist() == [0, 0]
    assert "minority" not in text(explorer._widgets.numbers.value)
    with pytest.raises(ValueError, match="model must be one of"):
        explorer.change(model="BSVDD-M")


@pytest.mark.parametrize(
    "spoil",
    [
        lambda X, y: (np.where(np.arange(X.size).reshape(X.shape) == 4, np.nan, X), y),
        lambda X, y: (X, y[:-1]),
        lambda X, y: (X, np.ones_like(y)),
        lambda X, y: (X, np.arange(len(y))),
        lambda X, y: (X[0], y),
        lambda X, y: (X[:1], y[:1]),
        lambda X, y: (X.astype("datetime64[s]"), y),
    ],
)
def test_wrong_rows_and_labels_get_the_errors_of_fit_at_once(table, spoil):
    X, y = spoil(*table)
    with pytest.raises((ValueError, TypeError)) as ours:
        explore(X, y)
    with pytest.raises((ValueError, TypeError)) as of_fit:
        BSVDD(kernel=kernels.Tabular(kernels.RBF())).fit(X, y)
    assert str(ours.value) == str(of_fit.value)
    assert ours.type is of_fit.type


@pytest.mark.parametrize("missing", ["ipywidgets", "anywidget"])
def test_the_error_without_widgets_names_the_extra(missing, monkeypatch, table):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError, match=r"pip install 'bsvdd\[jupyter\]'"):
        explore(*table)


def test_an_error_is_in_the_panel_and_the_picture_stays(explorer, monkeypatch):
    picture, setting = explorer.picture, explorer.setting

    def fail(*_):
        raise RuntimeError("out of <ink>")

    with monkeypatch.context() as patch:
        patch.setattr(panels, "draw", fail)
        explorer.change(sd=0.8)
        explorer.wait(SOON)
    assert "RuntimeError: out of &lt;ink&gt;" in explorer._widgets.messages.value
    assert "bsvdd-failed" in explorer._widgets.status.value
    assert explorer.picture == picture and explorer.setting == setting
    assert PENDING in explorer.widget._dom_classes
    explorer.change(sd=0.9)
    explorer.wait(SOON)
    assert "bsvdd-error" not in explorer._widgets.messages.value
    assert "bsvdd-ready" in explorer._widgets.status.value
    assert PENDING not in explorer.widget._dom_classes
    assert explorer.before == setting


def test_warnings_of_the_fit_are_in_the_panel():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(60, 2)), np.ones(60)])
    explorer = explore(X, draws=200, standardize=False)
    assert "1 column(s) of X are constant" in text(explorer._widgets.messages.value)
    explorer.change(prior="RowSum", sd=0.1, bandwidth=explorer.ranges["bandwidth"].high)
    explorer.wait(SOON)
    explorer.change(level=0.4)  # nothing is fitted, and the warnings hold all the same
    explorer.wait(SOON)
    assert "the posterior is its prior" in text(explorer._widgets.messages.value)
    assert text(explorer._widgets.messages.value).count("constant") == 1


def test_an_older_request_does_not_block_the_newer_one(explorer, monkeypatch):
    begun, released = threading.Event(), threading.Event()
    of = View.of

    def slow(state, *rest):
        if state.sd == 1.2:
            begun.set()
            assert released.wait(SOON)
        return of(state, *rest)

    monkeypatch.setattr(View, "of", slow)
    deliver, delivered = explorer._worker._deliver, threading.Event()

    def show(screen):
        deliver(screen)
        delivered.set()

    monkeypatch.setattr(explorer._worker, "_deliver", show)
    explorer.change(sd=1.2)
    assert begun.wait(SOON)
    explorer.change(sd=0.8)
    assert delivered.wait(SOON)  # while the older one still runs
    assert explorer.setting.sd == 0.8
    released.set()
    explorer.wait(SOON)
    assert (explorer.setting.sd, explorer.before.sd) == (0.8, 1.5)


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "endless"), [("nuts", 100_000_000), ("metropolis", 1_000_000)])
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_a_superseded_run_of_a_sampler_stops(table, sampler, endless):
    X, y = table
    delivered = []
    worker = LatestWorker(delivered.append, delivered.append)
    kernel = kernels.RBF(1.5)
    BSVDD(kernel=kernel, sampler=sampler, draws=500).fit(X, y)  # compiles
    endless = BSVDD(kernel=kernel, sampler=sampler, draws=endless)
    worker.request(lambda: endless.fit(X, y))
    worker.request(lambda: "newer")
    worker.join(SOON)
    assert delivered == ["newer"]


def test_the_code_is_that_of_the_screen(explorer):
    explorer._show_code()
    lines = explorer._widgets.code.value.splitlines()
    assert lines[0] == "from bsvdd import BSVDD, Cutoff, kernels, priors"
    assert lines[-1] == "est.fit(X, y)"
    assert explorer.code() in explorer._widgets.code.value
    explorer.change(sd=0.8)
    explorer.wait(SOON)
    assert "sd=0.8" in explorer._widgets.code.value
    explorer.change(published=True, model="BDD")
    explorer.wait(SOON)
    assert explorer._widgets.code.value.startswith("from bsvdd import as_published, kernels\n")
    assert "est = as_published(\n    name='BDD',\n" in explorer._widgets.code.value
    assert "one estimate" in text(explorer._widgets.numbers.value)


def test_a_table_with_categories_has_its_numbers_on_the_plane_and_its_texts_in_the_row():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.lognormal(size=40), "c": 3.0})
    table.insert(1, "colour", ["red", "blue"] * 18 + ["red"] * 4)
    explorer = explore(table, **QUICK)
    assert not explorer._plane.axes[:, 1].any()
    grid = explorer._plane.grid()[2]
    assert set(grid[:, 1]) == {code("red")}  # the more frequent category
    assert np.ptp(grid[:, 0]) > 0 and "most frequent category" in explorer._plane.caption
    assert explorer._widgets.typed_row.value.splitlines()[1] == "colour = red"
    lines = explorer._widgets.typed_row.value.replace("= red", "= green")
    explorer._widgets.typed_row.value = lines
    explorer._show_typed()
    explorer.wait(SOON)
    new = table.iloc[[0]].assign(colour="green")
    assert explorer._view.decision.p_value == explorer.estimator.p_value(new)[0]
    assert explorer._widgets.typed_row.value.splitlines()[1] == "colour = green"


def test_the_plane_is_that_of_the_principal_components(fitted):
    est = BSVDD(kernel=kernels.Tabular(kernels.RBF()), **QUICK)
    X = np.random.default_rng(3).normal(size=(40, 5)) * [3.0, 2.0, 1.0, 1.0, 0.1]
    with collected():
        est.fit(X, X[:, 0] > 3)
    plane = Plane.of(est)
    scaler = StandardScaler().fit(X[X[:, 0] <= 3])
    pca = PCA(2).fit(scaler.transform(X))
    xy = pca.transform(scaler.transform(X))
    np.testing.assert_allclose(np.abs(plane.xy), np.abs(xy), atol=1e-10)
    assert plane.share == pytest.approx(pca.explained_variance_ratio_.sum())
    _, _, grid = plane.grid()
    on_plane = pca.inverse_transform(pca.transform(scaler.transform(grid)))
    np.testing.assert_allclose(scaler.transform(grid), on_plane, atol=1e-10)
    assert "first two principal components" in plane.caption


def test_a_row_far_away_leaves_the_picture_to_the_others(fitted):
    X = np.random.default_rng(3).normal(size=(60, 2))
    near = Plane.of(SVDD().fit(X))
    np.testing.assert_array_equal(near.shown_xy, near.xy)
    X[7] = [0.0, 900.0]
    plane = Plane.of(SVDD().fit(X))
    x1, x2, _ = plane.grid()
    assert x2[-1] - x2[0] < 30.0
    assert (plane.shown_xy != plane.xy).any(axis=1).nonzero()[0].tolist() == [7]
    assert plane.shown_xy[7, 1] == x2[-1]
    left, bottom, wide, tall = panels.BOXES["plane"]
    x = left + wide * (plane.xy[7, 0] - x1[0]) / (x1[-1] - x1[0])
    assert panels.row_at(plane, x, 1.0 - bottom - tall) == 7
    assert plane.caption.endswith("columns of X. Rows outside the picture, drawn on its edge: 1.")


@pytest.mark.parametrize("columns", [1, 2])
def test_one_or_two_columns_are_shown_themselves(table, columns):
    X, y = table
    explorer = explore(X[:, :columns], y, standardize=False, **QUICK)
    plane, view = explorer._plane, explorer._view
    np.testing.assert_array_equal(plane.xy[:, :columns], X[:, :columns])
    grid = plane.grid()[2]
    assert grid.shape == (GRID**2, columns)
    p = explorer.estimator.probability_normal(grid)
    np.testing.assert_array_equal(view.p.ravel(), p)
    inside = view.margin.ravel() >= 0
    np.testing.assert_array_equal(inside, explorer.estimator.predict(grid) == 1)
    assert plane.caption == "P(normal | data) over the columns of X."


def test_the_numbers_of_a_view(table):
    explorer = explore(*table, **QUICK)
    est, view, y = explorer.estimator, explorer._view, table[1]
    surprise = est.idata_["decision"]["left_out_surprise"].values
    assert view.counts.tolist() == [
        [((surprise <= 0) & (y == c)).sum(), ((surprise > 0) & (y == c)).sum()] for c in (0, 1)
    ]
    words = text(explorer._widgets.numbers.value).split()
    for i, name in enumerate(("majority", "minority")):
        assert words[words.index(name) :][:3] == [name, *map(str, view.counts[i])]
    w = est.idata_["posterior"]["w"].values.reshape(-1, 24)
    np.testing.assert_allclose(view.support, 1 / (w**2).sum(axis=1))
    np.testing.assert_allclose(view.weights[0], w.mean(axis=0))
    pd.testing.assert_series_equal(view.decision, est.decision(table[0][:1]).iloc[0])
    np.testing.assert_allclose(view.d, est.distance(table[0][:1]).values.ravel())
    shown, z = text(explorer._widgets.numbers.value), view.decision
    for number in (z.probability_normal, z.p_value):
        assert f"{number:.3g}" in shown
    assert f"{z.surprise:.2f} [{z.surprise_low:.2f}, {z.surprise_high:.2f}]" in shown
    assert f"{est.cutoff_:.5g}" in shown


def test_densities_have_mass_one_also_where_nothing_moves():
    x = np.linspace(-8, 8, 4001)
    for d in (np.random.default_rng(0).normal(size=3000), np.full(50, 0.3)):
        y = panels._density(d, x)
        assert np.trapezoid(y, x) == pytest.approx(1.0, abs=1e-6)
        assert (x * y).sum() / y.sum() == pytest.approx(
            d[:: max(1, len(d) // 1000)].mean(), abs=1e-6
        )


def test_warnings_are_collected_in_their_thread_only():
    shown = []

    def elsewhere():
        with pytest.warns(DataWarning) as record:
            warn("there", DataWarning)
        shown.extend(str(w.message) for w in record)

    with collected() as warnings:
        warn("here", DataWarning)
        other = threading.Thread(target=elsewhere)
        other.start()
        other.join()
    assert (warnings, shown) == ([("here", DataWarning)], ["there"])
    with pytest.warns(DataWarning, match="after"):
        warn("after", DataWarning)


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_left_out_rows_are_judged_by_the_cutoff_that_they_chose(fitted, table):
    est, minority = fitted("BSVDD"), table[1] == 1
    for policy in (Cutoff("f1"), Cutoff("cost", miss_cost=3), Cutoff("false_alarm")):
        new = est.with_cutoff(policy)
        scores = new.fit_.left_out
        chosen = scores >= -policy.choose(-scores, minority)
        np.testing.assert_array_equal(scores >= 0.0, chosen)
    assert "left_out" not in est.with_cutoff(0.9).idata_["decision"]


def test_a_pinned_setting_stays_beside_all_others(explorer):
    explorer._widgets.pin.value = True
    for sd in (1.2, 0.8):
        explorer.change(sd=sd)
        explorer.wait(SOON)
        assert explorer.before.sd == 1.5
    explorer._widgets.pin.value = False
    explorer.change(sd=0.9)
    explorer.wait(SOON)
    assert explorer.before.sd == 0.8


def held_fits(monkeypatch):
    """Return the events "a fit runs" and "it may go on"."""
    running, gone_on = threading.Event(), threading.Event()
    original = Explorer._compute

    def slow(self, *arguments):
        running.set()
        gone_on.wait(SOON)
        return original(self, *arguments)

    monkeypatch.setattr(Explorer, "_compute", slow)
    return running, gone_on


def test_a_cancelled_fit_changes_nothing(explorer, monkeypatch):
    running, gone_on = held_fits(monkeypatch)
    picture, numbers = explorer.picture, explorer._widgets.numbers.value
    assert explorer._widgets.cancel.disabled
    explorer.change(sd=1.2)
    running.wait(SOON)
    assert not explorer._widgets.cancel.disabled and "fitting" in explorer._widgets.status.value
    explorer.cancel()
    gone_on.set()
    explorer.wait(SOON)
    assert "cancelled" in explorer._widgets.status.value and explorer._widgets.cancel.disabled
    assert explorer.controls["sd"].value == explorer.setting.sd == 1.5
    assert (explorer.picture, explorer._widgets.numbers.value) == (picture, numbers)
    explorer.cancel()  # nothing runs
    monkeypatch.undo()
    explorer.change(sd=1.2)
    assert explorer.wait(SOON).setting.sd == 1.2


def test_a_cancelled_fit_keeps_the_new_row(explorer, monkeypatch):
    explorer.use_row([0.5, 0.5, 9.0])
    explorer.wait(SOON)
    running, gone_on = held_fits(monkeypatch)
    explorer.change(row=4)
    running.wait(SOON)
    explorer.cancel()
    gone_on.set()
    explorer.wait(SOON)
    assert explorer.setting.z == explorer._read_controls().z == (0.5, 0.5, 9.0)


def test_the_time_of_a_fit_is_shown(explorer, monkeypatch):
    original = Explorer._compute

    def slow(self, *arguments):
        time.sleep(2.5)
        return original(self, *arguments)

    monkeypatch.setattr(Explorer, "_compute", slow)
    explorer.change(sd=1.2)
    time.sleep(1.6)
    assert re.search("fitting … [12] s", explorer._widgets.status.value)
    explorer.wait(SOON)
    assert "up to date, in" in explorer._widgets.status.value


def test_a_prior_typed_in_a_cell(explorer):
    prior = priors.Flat(sd=0.3)
    explorer.use_prior(prior)
    assert explorer.wait(SOON).estimator.prior is prior
    assert "prior=my_prior" in explorer.code()
    assert explorer.controls["prior"].layout.display == "none"
    explorer.use_prior(None)
    assert explorer.wait(SOON).estimator.prior == priors.Flat(sd=1.5)


def test_what_is_stated_sets_the_slider(explorer):
    explorer.elicit(effective_support=15)
    est = explorer.wait(SOON).estimator
    assert explorer.setting.sd != 0.5 and est.prior.sd == explorer.setting.sd
    support = est.summary().loc["effective_support", "prior"]
    assert support == pytest.approx(15, rel=0.15)
    before = explorer.setting
    with pytest.raises(ValueError, match="the nearest has"):
        explorer.elicit(effective_support=500)
    assert explorer.setting == before


def test_the_reasons_of_the_chosen_row_are_shown(explorer, table):
    explorer.change(row=28)
    est = explorer.wait(SOON).estimator
    why = est.explain(table[0][[28]], top=3)
    shown = text(explorer._widgets.numbers.value)
    column, share = (why.top_columns(1)[name].iloc[0] for name in ("column_1", "share_1"))
    assert re.search(rf"column {column}\s+{share:.0%}", shown)
    assert f"training row {int(why.points['row'].values[0, 0])}" in shown
    draws = est.fit_.prior.draws.shape[1]
    assert explorer._view.prior_d.shape == (draws,)


# the point z: clicked or typed


def click(explorer, row, panel="plane", beside=(0.0, 0.0)):
    """Click on a row of the picture, or ``beside`` it by pixels, as the browser tells it."""
    pinned = explorer._pinned_is_shown
    boxes = panels.PINNED_BOXES if pinned else panels.BOXES
    size = np.array([panels.WIDTH, panels.PINNED_HEIGHT if pinned else panels.HEIGHT])
    left, bottom, wide, tall = boxes[panel]
    x1, x2, _ = explorer._plane.grid()
    share = (explorer._plane.xy[row] - [x1[0], x2[0]]) / [x1[-1] - x1[0], x2[-1] - x2[0]]
    x, y = np.array([left, bottom]) + share * [wide, tall] + np.array(beside) / size
    explorer._widgets.image._handle_custom_msg({"x": x, "y": 1.0 - y}, [])
    return explorer.wait(SOON)


def test_a_click_on_a_row_chooses_it(explorer, table):
    for row in (28, 3):
        click(explorer, row)
        assert explorer.setting.row == explorer.controls["row"].value == row
        p = explorer.estimator.probability_normal(table[0])[row]
        assert f"{p:.3f} (row {row}," in text(explorer._widgets.numbers.value)
        assert f"why row {row} is" in text(explorer._widgets.numbers.value)
        assert "few neighbours" in text(explorer._widgets.numbers.value)
    d = explorer.estimator.distance(table[0][[3]]).values
    assert f"{d.mean():.5g} [{np.quantile(d, 0.05):.5g}, " in text(explorer._widgets.numbers.value)


def test_every_row_is_where_its_mark_is_drawn(explorer, monkeypatch):
    """Matplotlib places the marks; the pixels of a click come back by its own transform."""
    drawn = {}
    original = panels._plane

    def spied(ax, plane, view, before, title):
        original(ax, plane, view, before, title)
        drawn[title] = ax

    monkeypatch.setattr(panels, "_plane", spied)
    for pinned in (False, True):
        drawn.clear()
        before = explorer._view if pinned else None
        panels.draw(explorer._plane, explorer._view, before, pinned)
        assert len(drawn) == 1 + pinned
        for ax in drawn.values():
            assert ax.get_xlim() == (explorer._plane.grid()[0][0], explorer._plane.grid()[0][-1])
            size = ax.figure.get_size_inches() * ax.figure.dpi
            for row, xy in enumerate(explorer._plane.xy):
                x, y = ax.transData.transform(xy) / size
                assert panels.row_at(explorer._plane, x, 1.0 - y, pinned) == row


def test_a_click_where_no_row_is_changes_nothing(explorer):
    setting = explorer.setting
    far = int(explorer._plane.xy[:, 0].argmax())
    click(explorer, far, beside=(1.5 * panels.NEAR, 0.0))
    explorer._widgets.image._handle_custom_msg({"x": 0.6, "y": 0.3}, [])  # another panel
    assert explorer.wait(SOON).setting == setting
    click(explorer, far, beside=(0.5 * panels.NEAR, 0.0))
    assert explorer.setting.row == far


def test_a_new_row_is_explained(explorer, table):
    draws_before = draws(explorer.estimator)
    new = [0.3, 8.0, -0.2]
    explorer.use_row(new)
    est = explorer.wait(SOON).estimator
    assert explorer.setting.z == tuple(new) and draws(est) is draws_before
    shown = text(explorer._widgets.numbers.value)
    assert "why the new row is abnormal" in shown
    assert f"{est.probability_normal([new])[0]:.3f} (the new row, class not known)" in shown
    d = est.distance([new]).values
    np.testing.assert_array_equal(explorer._view.d, d.ravel())
    why = est.explain([new], top=3)
    share = why.columns["share"].values[0, 1]
    assert re.search(rf"column 1\s+{share:.0%}", shown)
    picture = explorer.picture
    explorer.change(sd=0.8)  # the new row stays
    assert explorer.wait(SOON).setting.z == tuple(new)
    explorer.controls["row"].value = 7  # a row by the slider takes its place
    assert explorer.wait(SOON).setting.z is None and explorer.setting.row == 7
    explorer.use_row(new)
    explorer.wait(SOON)
    explorer.change(row=7)
    assert explorer.wait(SOON).setting.z is None
    explorer.use_row(new)
    explorer.use_row(None)
    assert explorer.wait(SOON).setting.z is None
    assert explorer.picture != picture


def test_a_row_is_typed(explorer, table):
    explorer.change(row=5)
    explorer.wait(SOON)
    lines = explorer._widgets.typed_row.value.splitlines()
    assert lines == [f"{i} = {v:.10g}" for i, v in enumerate(table[0][5])]
    explorer._widgets.typed_row.value = "\n".join(["0 = 7.5", *lines[1:]])
    explorer._widgets.show_row.click()
    explorer.wait(SOON)
    assert explorer.setting.z == pytest.approx([7.5, *table[0][5, 1:]])
    setting = explorer.setting
    for wrong, said in (
        ("0 = 1\n1 = 2", "a row has 3 lines, one for each column; got 2"),
        ("0 = 1\n1 = x\n2 = 3", "expected &#x27;1 = number&#x27;, got &#x27;1 = x&#x27;"),
        ("0 = 1\n2 = 1\n1 = 3", "expected &#x27;1 = number&#x27;, got &#x27;2 = 1&#x27;"),
        ("0 = 1\n1 = 2\n2 = nan", "NaN"),
    ):
        explorer._widgets.typed_row.value = wrong
        explorer._widgets.show_row.click()
        assert said in explorer._widgets.messages.value
        assert explorer.wait(SOON).setting == setting
        assert explorer._widgets.typed_row.value == wrong  # what was typed can be mended
    with pytest.raises(ValueError, match="features"):
        explorer.use_row([1.0, 2.0])


def test_a_new_row_and_names_of_the_users_table(table):
    frame = pd.DataFrame(table[0], columns=["a", "b", "c"], index=[f"no {i}" for i in range(30)])
    explorer = explore(frame, table[1], **QUICK)
    assert "row no 0, majority" in text(explorer._widgets.numbers.value)
    assert explorer.controls["row"].description == "point z: position"
    explorer.use_row({"a": 0.0, "b": 0.0, "c": 9.0})
    assert explorer.wait(SOON).setting.z == (0.0, 0.0, 9.0)
    assert "column c" in text(explorer._widgets.numbers.value)
    with pytest.raises(ValueError, match="X lacks column 'c'"):
        explorer.use_row(pd.Series({"a": 0.0, "b": 0.0, "d": 9.0}))


# a pinned setting


def test_a_pinned_setting_stands_left_of_all_others(explorer):
    first, picture = explorer.setting, explorer.picture
    explorer._widgets.pin.value = True
    explorer.wait(SOON)
    assert explorer.picture != picture and explorer.setting == first
    assert "This is the pinned setting." in text(explorer._widgets.numbers.value)
    view = explorer._view
    for sd in (0.8, 1.2):
        explorer.change(sd=sd)
        explorer.wait(SOON)
        assert explorer.before == first
        shown = text(explorer._widgets.numbers.value)
        assert f"prior sd 1.5 → {sd:g}. Grey is the pinned setting." in shown
        assert explorer.picture == panels.draw(explorer._plane, explorer._view, view, pinned=True)
    click(explorer, 28, panel="plane of the pinned setting")
    assert explorer.setting.row == 28
    explorer._widgets.pin.value = False
    explorer.wait(SOON)
    explorer.change(sd=0.9)
    explorer.wait(SOON)
    assert explorer.before.sd == 1.2
    assert explorer.picture == panels.draw(explorer._plane, explorer._view, explorer._before)


def test_the_setting_of_another_explorer_is_pinned_only_if_its_data_are_the_same(explorer, table):
    X, y = table
    other = explore(X, y, **QUICK)
    other.change(sd=1.2)
    other.wait(SOON)
    explorer.pin(other)
    assert explorer.wait(SOON).before == other.setting
    assert explorer._widgets.pin.value
    explorer.unpin()
    explorer.wait(SOON)
    picture = explorer.picture
    swapped = y.copy()
    swapped[[0, 29]] = 1, 0
    for wrong, said in (
        (explore(X[:-1], y[:-1], **QUICK), "has other rows, 29 x 3 and not 30 x 3"),
        (explore(X + 1e-9, y, **QUICK), "has other rows. Call"),
        (explore(X, swapped, **QUICK), "has other labels"),
        (explore(X, y, standardize=False, **QUICK), "has another standardize"),
    ):
        with pytest.raises(ValueError, match="only if they are of the same data") as error:
            explorer.pin(wrong)
        assert said in str(error.value)
        assert not explorer._widgets.pin.value and explorer.wait(SOON).picture == picture
