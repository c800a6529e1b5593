"""The explorer shows what its code gives, keeps the setting before in grey, and computes only
what has changed; only its newest request is shown."""

import dataclasses
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
from bsvdd.explorer.explorer import LatestWorker, explore
from bsvdd.explorer.page import PENDING
from bsvdd.explorer.picture import Plane
from bsvdd.explorer.state import CONTROLS, ExplorerState, Range, View, models
from bsvdd.inference.threads import SupersededError, checkpoint, superseded
from bsvdd.inference.warning import DataWarning, collected, warn
from bsvdd.models.gram import Gram
from contourpy import contour_generator
from hypothesis import given
from hypothesis import strategies as st
from ipywidgets import Widget
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, Cutoff, as_published, cutoffs, kernels, priors
from bsvdd.explorer import picture as pictures

NAMES = {c.__name__: c for c in (BDD, BDDM, BSVDD, BSVDDM, Cutoff, as_published)} | {
    "cutoffs": cutoffs,
    "kernels": kernels,
    "priors": priors,
}
SOON = 60.0
QUICK = {"draws": 100}  # and sd of at most 1.5: Laplace's proposals are good enough, no NUTS
OTHERS = ("dictionary", "draws", "chains", "random_state", "minor_label")

# a state is an estimator and its code

states = st.builds(
    ExplorerState,
    bandwidth=st.floats(1e-3, 1e3),
    model=st.sampled_from(list(models())),
    standardize=st.booleans(),
    **{
        name: st.floats(a.low, a.high) if isinstance(a, Range) else st.sampled_from(a)
        for name, (_, a) in CONTROLS.items()
        if a
    },
    dictionary=st.none() | st.integers(1, 500),
    draws=st.sampled_from([500, 1000]),
    chains=st.sampled_from([2, 4]),
    random_state=st.integers(0, 3),
    minor_label=st.none() | st.sampled_from(["bad", 2]),
)


@given(states, states)
def test_a_state_is_an_estimator_and_its_code(state, other):
    est = state.estimator()
    same = eval(state.code(), dict(NAMES))
    assert type(same) is type(est) and same.get_params() == est.get_params()
    hidden = {name: getattr(other, name) for name in set(CONTROLS) - state.relevant}
    assert dataclasses.replace(state, **hidden).code() == state.code()
    rbf = kernels.RBF(bandwidth=state.bandwidth)
    assert est.kernel == (kernels.Tabular(kernel=rbf) if state.standardize else rbf)
    if state.published:
        expected = as_published(state.model, kernel=est.kernel, random_state=state.random_state)
        expected.set_params(minor_label=state.minor_label)
        assert type(est) is type(expected) and est.get_params() == expected.get_params()
        return
    family = getattr(priors, state.prior)
    numbers = {f.name for f in dataclasses.fields(family)} - {"kernel", "nugget"}
    assert est.prior == family(**{name: getattr(state, name) for name in numbers})
    choose = {
        "cost": cutoffs.Cost(state.miss_cost),
        "false_alarm": cutoffs.FalseAlarm(state.false_alarm_rate),
    }.get(state.criterion) or cutoffs.Best(state.criterion)
    assert est.cutoff == Cutoff(choose, level=state.level)
    calibrated = state.calibrated and state.model in ("BSVDD", "BDD")  # elsewhere a number
    assert est.likelihood_scale == ("calibrated" if calibrated else state.likelihood_scale)
    if state.model == "BSVDD-M":
        total = state.total if state.bounded else None
        assert est.minority_prior == priors.Beta(state.a, state.b, total)
    assert all(getattr(est, name) == getattr(state, name) for name in OTHERS)


def test_every_bayesian_model_is_offered_with_its_defaults(monkeypatch):
    """Other models share the prior of the controls, as a change of the model keeps it."""
    assert set(models()) == {name for name, record in REGISTRY.items() if record.bayesian}
    assert list(models())[:3] == ["BSVDD", "BSVDD-M", "BDD"]
    for model in models():
        est, defaults = ExplorerState(1.0, model=model).estimator(), REGISTRY[model].parameters
        names = {"minority_prior", "likelihood_scale", "draws", "chains"} & set(defaults)
        for name in names | ({"prior"} if model == "BSVDD" else set()):
            assert getattr(est, name) == defaults[name], (model, name)
    monkeypatch.setitem(REGISTRY, "Mine", dataclasses.replace(REGISTRY["BSVDD"], name="Mine"))
    mine = ExplorerState(1.0, model="Mine", published=True)  # a model without a source
    assert "published" not in mine.relevant and mine.code() == ExplorerState(1.0).code()


# only the newest request delivers; the tests wait for events and never sleep


class Gate:
    """A job that signals its start and ends when it is released."""

    def __init__(self, result=None, error=None):
        self.begun, self.released, self.superseded = threading.Event(), threading.Event(), False
        self.result, self.error = result, error

    def __call__(self):
        self.begun.set()
        assert self.released.wait(SOON)
        try:
            checkpoint()
        except SupersededError as stop:
            self.superseded = True
            raise self.error or stop from None
        return self.result


@pytest.fixture
def delivered():
    return []


@pytest.fixture
def worker(delivered):
    return LatestWorker(delivered.append, lambda e: delivered.append(str(e)))


@pytest.mark.parametrize("error", [None, ValueError("late")])
def test_an_older_request_stops_and_blocks_no_newer_one(worker, delivered, error):
    old, new = Gate("old", error), Gate("new")
    for gate in (old, new):
        worker.request(gate)
        assert gate.begun.wait(SOON)  # the new one while the old one runs
    new.released.set()
    with pytest.raises(TimeoutError, match="request"):
        worker.join(0.0)
    old.released.set()
    worker.join(SOON)
    assert delivered == ["new"] and old.superseded


def test_a_request_replaces_the_one_that_waits(worker, delivered):
    running = [Gate(), Gate()]
    for gate in running:
        worker.request(gate)
        assert gate.begun.wait(SOON)
    replaced, last = Gate("replaced"), Gate("last")
    for gate in (replaced, last):
        gate.released.set()
        worker.request(gate)
    assert not last.begun.is_set()  # two run already
    running[0].released.set()
    assert last.begun.wait(SOON)  # though the other old one still runs
    running[1].released.set()
    worker.join(SOON)
    assert not replaced.begun.is_set() and delivered == ["last"]


def test_errors_are_delivered_also_those_of_the_receiver(worker, delivered):
    worker.request(lambda: 1 / 0)
    worker.join(SOON)
    refusing = LatestWorker(lambda result: 1 / 0, lambda e: delivered.append(f"again, {e}"))
    refusing.request(superseded.get)
    refusing.join(SOON)
    assert delivered == ["division by zero", "again, division by zero"]
    assert superseded.get() is None  # outside of a request a checkpoint does nothing
    checkpoint()


@pytest.mark.slow
@pytest.mark.parametrize(("sampler", "endless"), [("nuts", 100_000_000), ("metropolis", 1_000_000)])
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_a_superseded_run_of_a_sampler_stops(table, worker, delivered, sampler, endless):
    kernel = kernels.RBF(1.5)
    BSVDD(kernel=kernel, sampler=sampler, draws=500).fit(*table)  # compiles
    worker.request(lambda: BSVDD(kernel=kernel, sampler=sampler, draws=endless).fit(*table))
    worker.request(lambda: "newer")
    worker.join(SOON)
    assert delivered == ["newer"]


def test_warnings_are_collected_in_their_thread_only(worker, delivered):
    with collected() as warnings:
        warn("here", DataWarning)
        with pytest.warns(DataWarning, match="there"):
            worker.request(lambda: warn("there", DataWarning))
            worker.join(SOON)
    assert warnings == [("here", DataWarning)]


# the screen


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
    return to(shared, **start)


def to(explorer, **changes):
    explorer.change(**changes)
    return explorer.wait(SOON)


def text(widget):
    return re.sub("<[^>]+>", " ", widget.value)


def numbers(explorer):
    return text(explorer._page.numbers)


def draws(est):
    return est.idata_["posterior"]["w"].values


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
        pytest.param({"model": "BSVDD", "published": True}, marks=pytest.mark.long),  # Metropolis
    ],
    ids=str,
)
def test_the_screen_is_what_the_code_gives(shared, start, table, changes):
    """However it was fitted: anew, with another prior, or with another cutoff only."""
    to(shared, **start | {"sd": 0.7, "criterion": "f1"})  # the fit that can be reused
    est = to(shared, **changes).estimator
    assert {name: getattr(shared.setting, name) for name in changes} == changes
    shared._show_code()
    cell = {"X": table[0], "y": table[1]}
    with collected():
        exec(shared._page.code.value, cell)
    fresh = cell["est"]
    assert est.get_params() == fresh.get_params() and est.cutoff_ == fresh.cutoff_
    p = fresh.probability_normal(table[0])
    np.testing.assert_array_equal(est.probability_normal(table[0]), p)
    assert f"{fresh.cutoff_:.5g}" in numbers(shared)
    assert f"{p[shared.setting.row]:.3f} (row {shared.setting.row}," in numbers(shared)


def test_the_numbers_of_a_view(explorer, table):
    est, view, (X, y) = explorer.estimator, explorer._screen.view, table
    surprise = est.idata_["decision"]["left_out_surprise"].values
    assert view.counts.tolist() == [
        [((surprise <= 0) & (y == c)).sum(), ((surprise > 0) & (y == c)).sum()] for c in (0, 1)
    ]
    w = draws(est).reshape(-1, 24)
    np.testing.assert_allclose(view.support, 1 / (w**2).sum(axis=1))
    np.testing.assert_allclose(view.weights[0], w.mean(axis=0))
    pd.testing.assert_series_equal(view.decision, est.decision(X[:1]).iloc[0])
    d, z = est.distance(X[:1]).values.ravel(), view.decision
    assert (view.margin >= 0.0).mean() == z.probability_normal
    _, axes = pictures._canvas(False)
    axes["distance"].clear()
    pictures._margin(axes["distance"], view, None)
    heights, edges, _ = axes["distance"].patches[0].get_data()
    area = (heights * np.diff(edges))[edges[:-1] >= 0.0].sum()
    assert area == pytest.approx(z.probability_normal, abs=1e-12)
    why = bsvdd.explain(est, X[:1], top=3)
    column, share = (why.top_columns(1)[name].iloc[0] for name in ("column_1", "share_1"))
    for shown in (
        r"majority\s+{}\b.*?{}\b.*minority\s+{}\b.*?{}\b".format(*view.counts.ravel()),
        f"{z.probability_normal:.3f} \\(row 0, majority",
        f"{z.p_value:.3g}",
        re.escape(f"{z.surprise:.2f} [{z.surprise_low:.2f}, {z.surprise_high:.2f}]"),
        re.escape(f"{d.mean():.5g} [{np.quantile(d, 0.05):.5g}, "),
        f"why row 0 is .*column {column}\\s+{share:.0%}.*few neighbours",
        f"training row {int(why.points['row'].values[0, 0])}",
    ):
        assert re.search(shown, numbers(explorer), re.DOTALL), shown


def test_the_setting_before_stays_in_grey(table):
    explorer = explore(*table, **QUICK)
    first, picture = explorer.estimator, explorer.picture
    assert picture.startswith(b"\x89PNG\r\n") and explorer.before is None
    assert "This is the first setting." in numbers(explorer)
    explorer.controls["sd"].value = 1.2
    explorer.wait(SOON)
    assert (explorer.setting.sd, explorer.before.sd) == (1.2, 1.5)
    assert "prior sd 1.5 → 1.2" in numbers(explorer) and explorer.picture != picture
    grey = re.findall('class="bsvdd-before"[^>]*>([^<]*)<', explorer._page.numbers.value)
    assert f"{first.cutoff_:.5g}" in grey
    assert to(explorer, sd=0.8).before.sd == 1.2
    explorer.change(sd=0.9)
    to(explorer, sd=0.8)  # back before anything else was seen
    assert (explorer.setting.sd, explorer.before.sd) == (0.8, 1.2)


def test_a_picture_does_not_depend_on_the_pictures_before(explorer):
    changes = ({"sd": 0.4}, {"bandwidth": 2.0, "row": 28}, {"model": "BSVDD-M"})
    views = [explorer._screen.view, *(to(explorer, **c)._screen.view for c in changes)]
    shown = explorer._screen
    settings = [(views[0], None, False), (views[1], views[0], True), (views[3], views[2], True)]
    settings += [(view, views[0], False) for view in views[1:]]
    new = []
    for setting in settings:
        pictures._canvas.cache_clear()
        new.append(pictures.draw(explorer._plane, *setting))
    assert len(set(new)) == len(settings)
    assert [pictures.draw(explorer._plane, *setting) for setting in settings] == new
    assert shown.picture == pictures.draw(explorer._plane, shown.view, shown.before)


def test_only_what_has_changed_is_computed(table, monkeypatch):
    from_points, computed = Gram.from_points, []
    monkeypatch.setattr(Gram, "from_points", lambda *a: computed.append(1) or from_points(*a))
    explorer = explore(*table, **QUICK)
    assert len(computed) == 1
    resolved = kernels.Tabular(kernels.RBF("likelihood")).resolve(table[0][table[1] == 0])
    assert explorer.setting.bandwidth == float(f"{resolved.kernel.bandwidth:.3g}")
    before = explorer.estimator
    before.set_params(prior=priors.Flat(sd=9.0), cutoff=0.1)  # of no fit that is shown
    for changes in ({"criterion": "f1"}, {"level": 0.8}, {"row": 29}):
        assert np.shares_memory(draws(to(explorer, **changes).estimator), draws(before))
    assert explorer.estimator.prior == priors.Flat(sd=1.5)
    for changes in ({"sd": 0.7}, {"calibrated": False, "likelihood_scale": 5.0}):
        est = to(explorer, **changes).estimator
        assert est.gram_ is before.gram_ and not np.shares_memory(draws(est), draws(before))
    assert len(computed) == 1 and to(explorer, bandwidth=2.0).estimator.gram_ is not before.gram_


def test_sliders_end_at_their_range_and_round(explorer):
    for name, limits in explorer.allowed.items():
        for value, end in ((1e9, "high"), (-1e9, "low")) if isinstance(limits, Range) else ():
            explorer.controls[name].value = int(value) if limits.whole else value
            limits.check(name, getattr(explorer._requested, name))
            assert getattr(explorer._requested, name) == pytest.approx(getattr(limits, end))
    assert to(explorer, sd=1.2345678).setting.sd == explorer.controls["sd"].value == 1.23


@pytest.mark.parametrize(
    ("changes", "error", "said"),
    [
        ({"level": 0.3, "sd": 11}, ValueError, "sd must lie between 0.1 and 10, got 11"),
        ({"sd": float("nan")}, ValueError, "sd must lie between"),
        ({"sd": True}, TypeError, "sd must be a number, got True"),
        ({"sd": "1"}, TypeError, "sd must be a number, got '1'"),
        ({"row": 30}, ValueError, "row must lie between 0 and 29, got 30"),
        ({"row": 1.5}, TypeError, "row must be a whole number, got 1.5"),
        ({"prior": "Other"}, ValueError, "prior must be one of .*, got 'Other'"),
        ({"exponents": 1}, ValueError, r"no controls \['exponents'\]; there are"),
    ],
)
def test_change_refuses_what_a_control_cannot_reach(explorer, changes, error, said):
    with pytest.raises(error, match=said):
        explorer.change(**changes)
    assert explorer._requested == explorer.setting


def test_only_what_matters_is_shown(explorer):
    def shown():
        return {n for n, c in explorer.controls.items() if c.layout.display != "none"}

    some = {"exponent", "a", "b", "bounded", "total", "miss_cost"}
    assert not shown() & some
    explorer.change(prior="RowSum", model="BSVDD-M", bounded=True, criterion="cost")
    assert some <= shown()
    explorer.change(published=True, model="BDD")
    assert shown() == {"model", "published", "bandwidth", "row"}


def test_a_closed_explorer_leaves_nothing_but_its_estimator(table):
    def living():
        gc.collect()
        return sum(issubclass(type(each), Widget) for each in gc.get_objects())

    before = living()
    explorer = explore(*table, **QUICK)
    explorer.change(sd=0.7)
    explorer.close()  # while it fits
    assert explorer.wait(SOON).setting.sd == 1.5
    assert explorer.estimator.predict(table[0]).shape == (30,)
    while any(isinstance(each, threading.Timer) for each in threading.enumerate()):
        time.sleep(0.1)  # the clock of the fit
    del explorer
    assert living() <= before


def test_later_fits_take_the_rows_and_labels_that_were_given(table):
    X, y = pd.DataFrame(table[0], copy=True), pd.Series(table[1], copy=True)
    explorer = explore(X, y, **QUICK)
    X[:], y[:] = 10 * X, 1 - y
    est = to(explorer, bandwidth=2.0).estimator  # the statistics are computed anew
    with collected():
        fresh = explorer.setting.estimator().fit(*table)
    np.testing.assert_array_equal(est.score_samples(table[0]), fresh.score_samples(table[0]))


def test_without_minority_rows_nothing_that_needs_them_is_offered(table):
    explorer = explore(table[0][table[1] == 0], **QUICK)
    assert explorer.controls["criterion"].options == ("false_alarm",)
    assert explorer.controls["model"].options == ("BSVDD", "BDD")
    assert "minority" not in numbers(explorer)
    with pytest.raises(ValueError, match="model must be one of"):
        explorer.change(model="BSVDD-M")


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda X, y: (np.where(X > 2.0, np.inf, X), y), "inf"),
        (lambda X, y: (X, y[:-1]), "one label for each row"),
        (lambda X, y: (X, np.arange(len(y))), "labels"),
        (lambda X, y: (X[:1], y[:1]), "minimum of 2"),
    ],
)
def test_wrong_rows_and_labels_are_an_error_at_once(table, spoil, said):
    with pytest.raises((ValueError, TypeError), match=said):
        explore(*spoil(*table))


@pytest.mark.parametrize("missing", ["ipywidgets", "anywidget"])
def test_the_error_without_widgets_names_the_extra(missing, monkeypatch, table):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "bsvdd.explorer.page")
    monkeypatch.delattr(bsvdd.explorer, "page")
    with pytest.raises(ImportError, match=r"pip install 'bsvdd\[jupyter\]'"):
        explore(*table)


def test_an_error_is_in_the_panel_and_the_picture_stays(explorer, monkeypatch):
    picture, setting, page = explorer.picture, explorer.setting, explorer._page

    def fail(*_):
        raise RuntimeError("out of <ink>")

    with monkeypatch.context() as patch:
        patch.setattr(pictures, "draw", fail)
        to(explorer, sd=0.8)
    assert "RuntimeError: out of &lt;ink&gt;" in page.messages.value
    assert "bsvdd-failed" in page.status.value and PENDING in explorer.widget._dom_classes
    assert explorer.picture == picture and explorer.setting == setting
    assert to(explorer, sd=0.9).before == setting
    assert "bsvdd-error" not in page.messages.value and "bsvdd-ready" in page.status.value
    assert PENDING not in explorer.widget._dom_classes


def test_warnings_of_the_fit_are_in_the_panel():
    X = np.column_stack([np.random.default_rng(1).normal(size=(60, 2)), np.ones(60)])
    explorer = explore(X, draws=200, standardize=False)
    to(explorer, prior="RowSum", sd=0.1, bandwidth=explorer.allowed["bandwidth"].high)
    to(explorer, level=0.4)  # nothing is fitted, and the warnings hold all the same
    said = text(explorer._page.messages)
    assert "weights have collapsed" in said and said.count("are constant") == 1


def test_a_cancelled_fit_changes_nothing_and_its_time_is_shown(explorer, monkeypatch):
    running, released, of, page = threading.Event(), threading.Event(), View.of, explorer._page

    def slow(state, *rest):
        if state.sd == 1.2:
            running.set()
            assert released.wait(SOON)
        return of(state, *rest)

    monkeypatch.setattr(View, "of", slow)
    screen = to(explorer, row=7)._screen
    assert page.cancel.disabled
    explorer.change(sd=1.2, row=4)
    assert running.wait(SOON)
    time.sleep(1.6)
    assert re.search("fitting … [12] s", page.status.value) and not page.cancel.disabled
    explorer.cancel()
    released.set()
    explorer.wait(SOON)
    assert "cancelled" in page.status.value and page.cancel.disabled
    assert explorer.controls["sd"].value == 1.5 and explorer.controls["row"].value == 7
    assert explorer._screen is screen and explorer._requested == screen.view.state
    explorer.cancel()  # nothing runs
    assert to(explorer, sd=1.2).setting.sd == 1.2 and "up to date, in" in page.status.value


def test_a_prior_is_typed_in_a_cell(explorer):
    prior = priors.Flat(sd=0.3)
    explorer.use_prior(prior)
    assert explorer.wait(SOON).estimator.prior is prior and "prior=my_prior" in explorer.code()
    assert explorer.controls["prior"].layout.display == "none"
    explorer.use_prior(None)
    assert explorer.wait(SOON).estimator.prior == priors.Flat(sd=1.5)


# the plane


def test_the_plane_is_that_of_the_principal_components():
    X = np.random.default_rng(3).normal(size=(40, 5)) * [3.0, 2.0, 1.0, 1.0, 0.1]
    with collected():
        plane = Plane.of(BSVDD(kernel=kernels.Tabular(), **QUICK).fit(X, X[:, 0] > 3))
    scaler = StandardScaler().fit(X[X[:, 0] <= 3])
    pca = PCA(2).fit(scaler.transform(X))
    np.testing.assert_allclose(plane.xy, pca.transform(scaler.transform(X)), atol=1e-10)
    Z = scaler.transform(plane.grid())
    np.testing.assert_allclose(Z, pca.inverse_transform(pca.transform(Z)), atol=1e-10)
    assert f"({pca.explained_variance_ratio_.sum():.0%} of the variance)" in plane.caption


@pytest.mark.filterwarnings("ignore:row 7 moves the scale")
def test_a_row_far_away_leaves_the_picture_to_the_others():
    X = np.random.default_rng(3).normal(size=(60, 2))
    X[7] = [0.0, 900.0]
    plane = Plane.of(SVDD().fit(X))
    assert plane.ticks[1, -1] - plane.ticks[1, 0] < 30.0 and plane.xy[7, 1] == plane.high[1]
    left, bottom, wide, tall = pictures.BOXES["plane"]
    x = left + wide * (plane.xy[7, 0] - plane.low[0]) / (plane.high - plane.low)[0]
    assert pictures.row_at(plane, x, 1.0 - bottom - tall) == 7
    assert plane.caption.endswith("columns of X. Rows outside the picture, drawn on its edge: 1.")


@pytest.mark.parametrize("columns", [1, 2])
def test_one_or_two_columns_are_shown_themselves(table, columns):
    explorer = explore(table[0][:, :columns], table[1], standardize=False, **QUICK)
    plane, view, est = explorer._plane, explorer._screen.view, explorer.estimator
    np.testing.assert_array_equal(plane.xy[:, :columns], table[0][:, :columns])
    grid = plane.grid()
    np.testing.assert_array_equal(view.p.ravel(), est.probability_normal(grid))
    lines = [
        contour_generator(z=score).lines(0.0)
        for score in (view.score, est.score_samples(grid).reshape(view.score.shape))
    ]
    assert len(lines[0]) == len(lines[1]) > 0
    for ours, theirs in zip(*lines, strict=True):
        np.testing.assert_allclose(ours, theirs)
    assert plane.caption == "P(normal | data) over the columns of X."


def test_a_table_with_names_and_categories():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.normal(size=40), "b": rng.lognormal(size=40), "c": 3.0})
    table.insert(1, "colour", ["red", "blue"] * 18 + ["red"] * 4)
    table.index = [f"no {i}" for i in range(40)]
    explorer = explore(table, **QUICK)
    assert "row no 0, majority" in numbers(explorer)
    assert explorer.controls["row"].description == "point z: position"
    grid = explorer._plane.grid()
    assert set(grid[:, 1]) == {code("red")}  # the more frequent category
    assert np.ptp(grid[:, 0]) > 0 and "most frequent category" in explorer._plane.caption
    two = explore(table[["a", "b"]], **QUICK)
    assert two._plane.names == ["column a (sd)", "column b (sd)"]


# the point z, clicked, and a pinned setting


def click(explorer, row, panel="plane", beside=(0.0, 0.0)):
    """Click on a row of the picture, or ``beside`` it by pixels, as the browser tells it."""
    pinned, plane = explorer._screen.pinned, explorer._plane
    boxes = pictures.PINNED_BOXES if pinned else pictures.BOXES
    size = np.array([pictures.WIDTH, pictures.PINNED_HEIGHT if pinned else pictures.HEIGHT])
    left, bottom, wide, tall = boxes[panel]
    share = (plane.xy[row] - plane.low) / (plane.high - plane.low)
    x, y = np.array([left, bottom]) + share * [wide, tall] + np.array(beside) / size
    explorer._page.image._handle_custom_msg({"x": x, "y": 1.0 - y}, [])
    return explorer.wait(SOON)


def test_a_click_chooses_the_nearest_row(explorer):
    for row in (28, 3):
        click(explorer, row)
        assert explorer.setting.row == explorer.controls["row"].value == row
        assert f"why row {row} is" in numbers(explorer)
    far = int(explorer._plane.xy[:, 0].argmax())
    assert click(explorer, far, beside=(1.5 * pictures.NEAR, 0.0)).setting.row == 3
    assert click(explorer, far, beside=(0.5 * pictures.NEAR, 0.0)).setting.row == far


@pytest.mark.parametrize("pinned", [False, True])
def test_every_row_is_where_its_mark_is_drawn(explorer, pinned):
    """Matplotlib places the marks; the pixels of a click come back by its own transform."""
    view, plane = explorer._screen.view, explorer._plane
    pictures.draw(plane, view, view, pinned)
    drawn = [ax for name, ax in pictures._canvas(pinned)[1].items() if "plane" in name]
    assert len(drawn) == 1 + pinned
    for ax in drawn:
        size = ax.figure.get_size_inches() * ax.figure.dpi
        places = ax.transData.transform(plane.xy) / size
        found = [pictures.row_at(plane, x, 1.0 - y, pinned) for x, y in places]
        assert found == list(range(30))


def test_a_pinned_setting_stands_left_of_all_others(explorer):
    first, picture, view = explorer.setting, explorer.picture, explorer._screen.view
    explorer._page.pin.value = True
    assert explorer.wait(SOON).picture != picture and explorer.setting == first
    assert "This is the pinned setting." in numbers(explorer)
    for sd in (0.8, 1.2):
        assert to(explorer, sd=sd).before == first
        assert f"prior sd 1.5 → {sd:g}. Grey is the pinned setting." in numbers(explorer)
    shown = explorer._screen.view
    assert explorer.picture == pictures.draw(explorer._plane, shown, view, pinned=True)
    assert click(explorer, 28, panel="pinned plane").setting.row == 28
    explorer._page.pin.value = False
    explorer.wait(SOON)
    assert to(explorer, sd=0.9).before.sd == 1.2 and not explorer._screen.pinned


def test_the_setting_of_another_explorer_is_pinned_only_if_its_data_are_the_same(explorer, table):
    X, y = table
    other = to(explore(X, y, **QUICK), sd=1.2)
    explorer.pin(other)
    assert explorer.wait(SOON).before == other.setting and explorer._page.pin.value
    explorer.unpin()
    picture, swapped = explorer.wait(SOON).picture, y.copy()
    swapped[[0, 29]] = 1, 0
    for wrong, said in (
        (explore(X[:-1], y[:-1], **QUICK), "differs in rows, labels"),
        (explore(X + 1e-9, y, **QUICK), "differs in rows. Call"),
        (explore(X, swapped, **QUICK), "differs in labels"),
        (explore(X, y, standardize=False, **QUICK), "differs in standardize"),
    ):
        with pytest.raises(ValueError, match=f"only if they are of the same data.*{said}"):
            explorer.pin(wrong)
        assert not explorer._page.pin.value and explorer.wait(SOON).picture == picture
