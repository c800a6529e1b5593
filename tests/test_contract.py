"""The contract of estimators: what changes no answer, and what equals a fresh fit."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pymc as pm
import pytest
from bsvdd.models.rows import CompleteRows
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import bsvdd
from bsvdd import (
    BDD,
    BDDM,
    BSVDD,
    BSVDDM,
    DSVM,
    IDLSSVM,
    LSSVM,
    OCSVM,
    SVDD,
    SVDDM,
    SVM,
    Views,
    cutoffs,
    kernels,
    priors,
)
from tests.cases import run
from tests.models.helpers import squared_distances

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]

RATE, FEW = cutoffs.FalseAlarm(0.2), {"draws": 200, "tune": 60, "chains": 2}
DESCRIPTIONS = {
    "SVDD": SVDD(cutoff=RATE),
    "SVDDM": SVDDM(cutoff=RATE),
    "BDD": BDD(cutoff=RATE, **FEW),
    "BDDM": BDDM(cutoff=RATE, **FEW),
    "BSVDD": BSVDD(cutoff=RATE, **FEW),
    "BSVDDM": BSVDDM(cutoff=RATE, minority_prior=priors.Beta(total=1), **FEW),
}
MACHINES = {
    "OCSVM": OCSVM(nu=0.27),
    "SVM": SVM(),
    "DSVM": DSVM(),
    "LSSVM": LSSVM(),
    "IDLSSVM": IDLSSVM(),
}
CLASSES = DESCRIPTIONS | MACHINES
SAMPLED = ["BDD", "BDDM", "BSVDD", "BSVDDM"]

# tables: training rows, labels (1 is abnormal), new rows


def array(rng):
    X = np.concatenate([rng.normal(size=(40, 3)), rng.normal(1.5, 0.8, size=(8, 3))])
    return X, rng.normal(size=(12, 3))


def frame(rng):
    """Numbers of two scales, a category and a date."""
    X, Z = array(rng)
    return [
        pd.DataFrame(rows, columns=["a", "b", "c"]).assign(
            b=lambda f: np.exp(2.0 * f["b"]),
            kind=rng.choice(["x", "y", "z"], len(rows)),
            day=pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 99, len(rows)), "D"),
        )
        for rows in (X, Z)
    ]


def gaps(rng):
    return [rows.mask(rng.uniform(size=rows.shape) < 0.06) for rows in frame(rng)]


def repeated(rng):
    """Counts: rows repeat, and many are as far from others."""
    X, Z = array(rng)
    return np.round(1.5 + X).clip(0), np.round(1.5 + Z).clip(0)


def wide(rng):
    """More columns than rows of the minority, and fewer rows than the others have."""
    X = rng.normal(size=(26, 9)) + np.repeat([0.0, 0.7], [18, 8])[:, None]
    return X, rng.normal(size=(12, 9))


TABLES = [array, frame, gaps, repeated, wide]
every_class = pytest.mark.parametrize("name", CLASSES)
every_description = pytest.mark.parametrize("name", DESCRIPTIONS)
every_table = pytest.mark.parametrize("table", TABLES, ids=lambda f: f.__name__)


def of(table):
    """Return X, y, Z of a table."""
    X, Z = table(np.random.default_rng(72))
    return X, np.repeat([0, 1], [len(X) - 8, 8]), Z


@cache
def fitted(name, table):
    """Return the fitted estimator of a case; no test changes it."""
    X, y, _ = of(table)
    return clone(CLASSES[name]).fit(X, y)


def answers(est, Z):
    """Return the numbers that an estimator gives for rows."""
    found = {
        "score": est.score_samples(Z),
        "decision function": est.decision_function(Z),
        "predict": est.predict(Z),
    }
    if type(est).__name__ in DESCRIPTIONS:
        found |= {
            "P(normal)": est.probability_normal(Z),
            "distance": est.distance(Z).values.reshape(-1, len(Z)).T,
            "p": bsvdd.p_value(est, Z),
            "surprise": est.decision(Z)["surprise"].to_numpy(),
        }
    return found


def own_answers(est):
    """Return what is said of the training rows and of the fit."""
    of_rows = est.decision()
    return {
        "left out": of_rows["surprise"].to_numpy(),
        "normal": of_rows["normal"].to_numpy(),
        "cutoff": np.array(est.cutoff_),
    }


def assert_equal(found, expected):
    assert found.keys() == expected.keys()
    for what, values in expected.items():
        assert_array_equal(found[what], values, err_msg=what)


def rows_of(Z, order):
    return Z.iloc[order] if isinstance(Z, pd.DataFrame) else Z[order]


# a row's answer is a function of the row


def check_row_alone(est, Z):
    """Alone, in blocks, among many and with the columns of a frame in another order."""
    whole, n = answers(est, Z), len(Z)
    blocks = [[0], [1], [2], [3], range(4, 7), range(7, n)]
    parts = [answers(est, rows_of(Z, list(block))) for block in blocks]
    for what, values in whole.items():
        joined = np.concatenate([part[what] for part in parts])
        assert_allclose(joined, values, rtol=1e-11, atol=1e-12, err_msg=what)
        if what in ("predict", "P(normal)", "p"):  # ties would be broken by rounding
            assert_array_equal(joined, values, err_msg=what)
    many = answers(est, rows_of(Z, np.tile(np.arange(n), 20)))
    assert_array_equal(many["predict"][-n:], whole["predict"])
    assert_allclose(many["score"][-n:], whole["score"], rtol=1e-11, atol=1e-12)
    if isinstance(Z, pd.DataFrame):
        assert_equal(answers(est, Z[Z.columns[::-1]]), whole)
    assert_array_equal(whole["predict"], np.where(whole["score"] >= 0, 1, -1))
    assert_array_equal(whole["decision function"], whole["score"])
    if "surprise" in whole:
        assert_array_equal(whole["surprise"], -whole["score"])
        assert_array_equal(whole["predict"] == 1, whole["P(normal)"] > 0.5)


@every_class
@pytest.mark.parametrize(
    "table",
    [
        pytest.param(t, marks=[pytest.mark.long] * (t not in (gaps, repeated)))
        for t in TABLES
    ],
    ids=lambda f: f.__name__,
)
def test_a_row_alone_and_in_a_block(name, table):
    check_row_alone(fitted(name, table), of(table)[2])


# the order of rows and columns, and the units of columns


def turned(X, y, Z, seed=1):
    """Return the table in another order of rows and columns, and in other units."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    units = np.resize([1e6, 1e-3, 1.0], X.shape[1])
    if isinstance(X, np.ndarray):
        return (X * units)[rows][:, columns], y[rows], (Z * units)[:, columns]

    def other(frame):
        numbers = frame.select_dtypes("number").columns
        changed = frame.assign(
            **{c: frame[c] * units[frame.columns.get_loc(c)] for c in numbers}
        )
        return changed.iloc[:, columns]

    return other(X).iloc[rows], y[rows], other(Z)


def check_turned(est, X, y, Z, **how):
    """Compare a fit with that to the turned table.

    A sampler sees the atoms in another order, so draws are others of the same
    posterior.
    """
    other_X, other_y, other_Z = turned(X, y, Z, **how)
    other = clone(est).fit(other_X, other_y if y.any() else None)
    if not hasattr(est, "distance"):
        one, two = (e.score_samples(rows) for e, rows in ((est, Z), (other, other_Z)))
        assert_allclose(one - one.mean(), two - two.mean(), atol=1e-5)
        return
    assert_same_posterior(est.distance(Z), other.distance(other_Z))
    P = [e.probability_normal(rows) for e, rows in ((est, Z), (other, other_Z))]
    assert np.abs(P[0] - P[1]).mean() <= 0.06


@pytest.mark.parametrize(
    ("name", "table"),
    [
        (name, table)
        for name in CLASSES
        for table in TABLES
        # where rows are as far from others, the order of rows says which is the k-th
        # neighbour
        if (name, table) not in (("DSVM", repeated), ("IDLSSVM", repeated))
    ],
    ids=lambda v: v if isinstance(v, str) else v.__name__,
)
def test_order_and_units_say_nothing(name, table):
    check_turned(fitted(name, table), *of(table))


def assert_same_posterior(one, two):
    """Check that distances are the same, or draws of the same distribution."""
    if one[..., 0].size == 1:
        assert_allclose(one, two, atol=1e-5)
        return
    error = np.sqrt(
        sum(d.values.var(axis=(0, 1)) for d in (one, two)) / 100
    )  # of 400 effective
    apart = np.abs(one.values.mean(axis=(0, 1)) - two.values.mean(axis=(0, 1)))
    assert (apart <= 4.5 * error + 1e-6).all()


COLUMNS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "long tail": lambda rng, n: rng.standard_t(2, size=n),
    "count": lambda rng, n: rng.poisson(4.0, size=n),
    "category": lambda rng, n: rng.choice(["u", "v", "w"], n),
}
drawn = st.tuples(
    st.lists(st.sampled_from(list(COLUMNS)), min_size=1, max_size=5),
    st.integers(15, 40),
    st.sampled_from([0.0, 0.1]),
    st.booleans(),
    st.integers(0, 2**20),
)


@pytest.mark.parametrize("name", [pytest.param("SVDD", marks=pytest.mark.long), "BDD"])
@settings(
    max_examples=6, phases=[Phase.explicit, Phase.generate]
)  # a fit is dear: no shrinking
@given(drawn)
def test_tables_that_are_drawn(name, case):
    """Columns of some kinds, rows of any number, with gaps, and each row twice."""
    kinds, n, share, twice, seed = case
    rng = np.random.default_rng(seed)
    X, Z = (
        pd.DataFrame({f"{k} {i}": COLUMNS[k](rng, size) for i, k in enumerate(kinds)})
        for size in (n, 9)
    )
    X = X.mask(rng.uniform(size=X.shape) < share * (np.arange(len(kinds)) > 0))
    if twice:
        X = pd.concat([X, X], ignore_index=True)
    est = clone(CLASSES[name]).fit(X)
    check_row_alone(est, Z)
    check_turned(est, X, np.zeros(len(X), dtype=bool), Z, seed=seed)


# a fit is a value


@every_class
def test_nothing_done_after_the_fit_changes_an_answer(name, tmp_path):
    """Not the arrays that it was given, nor parameters that are set."""
    X, y, Z = of(array)
    est = clone(CLASSES[name]).fit(X, y)
    ask = own_answers if name in DESCRIPTIONS else (lambda _: {})
    before = answers(est, Z) | ask(est)
    mine = est.get_params(deep=False)
    X *= 10.0
    y[:] = 1 - y
    for parameter in mine:
        setattr(est, parameter, "no value at all")
    assert_equal(answers(est, Z) | ask(est), before)
    if name in DESCRIPTIONS:
        again = est.with_cutoff(RATE)
        assert_array_equal(again.score_samples(Z), before["score"])
        est.save(tmp_path / "fit")
        assert_array_equal(bsvdd.load(tmp_path / "fit").predict(Z), before["predict"])
    est.set_params(**mine)
    if name in SAMPLED:
        est.with_prior(priors.Flat(0.5)).with_cutoff(cutoffs.Printed(0.9))
    assert_equal(answers(est, Z) | ask(est), before)


def test_a_refused_refit_leaves_the_fit_as_it_was():
    X, y, Z = of(frame)
    est = clone(CLASSES["SVDD"]).fit(X, y)
    before = answers(est, Z)
    with pytest.raises(ValueError, match="inf"):
        est.fit(X[X.columns[::-1]].assign(a=np.inf), y)
    with pytest.raises(TypeError, match="cutoff must be"):
        est.set_params(cutoff="nothing").fit(X[["a", "c"]], y)
    assert_equal(answers(est.set_params(cutoff=RATE), Z), before)
    assert list(est.feature_names_in_) == list(X.columns)


class Wide:
    """A kernel as an object, with an array that can be changed."""

    def __init__(self, scale):
        self.scale = scale

    def __call__(self, A, B):
        return np.exp(-np.square((A[:, None] - B) / self.scale).sum(axis=-1))


class Vague:
    """A prior as an object, with a dictionary that can be changed."""

    def __init__(self, numbers):
        self.numbers = numbers

    def __call__(self, gram, name, dims):
        return pm.Normal(name, 0.0, self.numbers["sd"], dims=dims)


def test_objects_and_arrays_within_parameters_are_the_fits_own():
    X, y, Z = of(array)
    scale, numbers, m, sigma = (
        np.ones(3),
        {"sd": 1.0},
        np.linspace(-1.0, 1.0, 40),
        np.eye(40),
    )
    of_arrays = BSVDD(prior=priors.Normal(m=m, sigma=sigma), **FEW).fit(X[:40])
    est = BSVDD(kernel=Wide(scale), prior=Vague(numbers), **FEW).fit(X, y)
    before = [answers(each, Z) for each in (est, of_arrays)]
    scale *= 3.0
    numbers["sd"] = 9.0
    m += 5.0
    sigma *= 9.0
    for each, expected in zip((est, of_arrays), before, strict=True):
        assert_equal(answers(each, Z), expected)
        assert_equal(
            answers(each.with_cutoff(None).with_cutoff(each.cutoff), Z), expected
        )
    logp = est.model_.compile_logp(mode="FAST_COMPILE")
    expected = (
        BSVDD(kernel=Wide(np.ones(3)), prior=Vague({"sd": 1.0}), **FEW).fit(X, y).model_
    )
    at = est.model_.initial_point()
    assert logp(at) == expected.compile_logp(mode="FAST_COMPILE")(at)


def test_the_tree_of_a_fit():
    """Its groups, dims and rows are ArviZ's; nobody can write into it."""
    X, y, _ = of(array)
    for name in DESCRIPTIONS:
        est = fitted(name, array)
        tree, w = est.idata_, est.idata_["posterior"]["w"]
        assert w.dims == ("chain", "draw", "point")
        assert w.shape[:2] == ((2, 200) if name in SAMPLED else (1, 1))
        assert {"posterior", "constant_data"} <= set(tree.children)
        assert_array_equal(tree["constant_data"]["X"], X)
        assert_array_equal(tree["constant_data"]["minority"], y == 1)
        assert est.distance(X).dims == ("chain", "draw", "obs")
        with pytest.raises(ValueError, match="read-only"):
            tree["constant_data"]["X"].values[0, 0] = 1.0
        with pytest.raises(AttributeError, match="idata_"):
            est.idata_ = None


# what is a fresh fit, bit for bit


def fresh(name, table):
    X, y, Z = of(table)
    return answers(clone(CLASSES[name]).fit(X, y), Z)


def test_clones_in_threads():
    """All classes at once, in eight threads; NumPy's own seed says nothing."""
    np.random.seed(7)  # noqa: NPY002
    cases = [(name, table) for name in CLASSES for table in (array, gaps)]
    with ThreadPoolExecutor(8) as pool:
        for case, found in zip(
            cases, pool.map(lambda case: fresh(*case), cases), strict=True
        ):
            assert_equal(found, answers(fitted(*case), of(case[1])[2]))


PROCESS = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from tests.test_contract import DESCRIPTIONS, frame, fresh
found = {n: fresh(n, frame) for n in DESCRIPTIONS}
np.savez(sys.argv[1], **{f"{n}/{k}": found[n][k] for n in found for k in found[n]})
"""


def test_another_process(tmp_path):
    run(sys.executable, "-c", PROCESS, tmp_path / "found.npz", PYTHONHASHSEED="3")
    with np.load(tmp_path / "found.npz") as found:
        for name in DESCRIPTIONS:
            for what, values in answers(fitted(name, frame), of(frame)[2]).items():
                assert_array_equal(found[f"{name}/{what}"], values, err_msg=name)


@every_description
@pytest.mark.parametrize("table", [frame, repeated], ids=lambda f: f.__name__)
def test_another_prior_and_another_cutoff(name, table):
    """Each alone and one after the other, and the first fit stays as it was."""
    X, y, Z = of(table)
    est = fitted(name, table)
    before = answers(est, Z) | own_answers(est)
    cutoff, changes = cutoffs.Best("g_mean"), {}
    if name in SAMPLED:
        changes["prior"] = priors.Flat(0.6)
    if name == "BSVDDM":
        changes["minority_prior"] = priors.Beta(2, 5, total=0.3)
    expected = clone(est).set_params(cutoff=cutoff, **changes).fit(X, y)
    expected = answers(expected, Z) | own_answers(expected)
    ways = [lambda e: e.with_cutoff(cutoff)]
    if changes:
        ways = [
            lambda e: e.with_prior(**changes).with_cutoff(cutoff),
            lambda e: e.with_cutoff(RATE).with_prior(**changes).with_cutoff(cutoff),
        ]
    for way in ways:
        found = way(est)
        assert type(found) is type(est)
        assert_equal(answers(found, Z) | own_answers(found), expected)
    if changes:
        other = est.with_prior(**changes)
        again = other.with_prior(**{p: getattr(est, p) for p in changes})
        assert_equal(answers(again, Z) | own_answers(again), before)
        assert not np.array_equal(other.distance(Z), est.distance(Z))
    assert_equal(answers(est, Z) | own_answers(est), before)


@every_description
@every_table
def test_a_saved_fit(name, table, tmp_path):
    """Decisions are the same; other numbers up to single precision of draws."""
    est, Z = fitted(name, table), of(table)[2]
    est.save(tmp_path / "fit")
    same = bsvdd.load(tmp_path / "fit")
    assert repr(same) == repr(est) and same.labels_ == est.labels_
    for ask in (lambda e: answers(e, Z), own_answers):
        found, expected = ask(same), ask(est)
        for what, values in expected.items():
            if values.dtype.kind == "f":
                assert_allclose(found[what], values, rtol=1e-4, atol=1e-4, err_msg=what)
            else:
                assert_array_equal(found[what], values, err_msg=what)
    same.save(tmp_path / "again")
    again = bsvdd.load(tmp_path / "again")
    assert_array_equal(again.score_samples(Z), same.score_samples(Z))


# left-out rows


def left_out_by_hand(est, X, y, j):
    """Return log s_A of row j in each draw without it: the others keep their sum.

    Equal rows of the majority are one atom, of whose weight each has its part.
    """
    w, atoms = weights_of(est).copy(), rows_of_atoms(est, X)
    place = est.idata_["constant_data"]["point_of_row"].values
    m, total = est.gram_.m, w.sum(axis=1)
    if place[j] >= 0:
        w[:, place[j]] *= 1.0 - 1.0 / (place == place[j]).sum()
        majority = total - w[:, m:].sum(axis=1)
        w[:, :m] *= (majority / w[:, :m].sum(axis=1))[:, None]
    return np.log(np.maximum(w[:, :m] @ est.kernel_(atoms[:m], X[[j]])[:, 0], 1e-300))


def weights_of(est):
    """Return the weights of all draws, (draws, atoms)."""
    return est.idata_["posterior"]["w"].values.reshape(-1, len(est.gram_.K))


def rows_of_atoms(est, X):
    """Return a training row of each atom: equal rows are one."""
    place = est.idata_["constant_data"]["point_of_row"].values
    return X[[np.flatnonzero(place == g)[0] for g in range(len(est.gram_.K))]]


@pytest.mark.parametrize("name", SAMPLED)  # SVDD, by refits: tests/inference
@pytest.mark.parametrize("table", [array, repeated], ids=lambda f: f.__name__)
def test_left_out_rows_by_brute_force(name, table):
    X, y, _ = of(table)
    est = clone(CLASSES[name]).set_params(kernel=kernels.RBF(1.5)).fit(X, y)
    found = est.log_similarity()
    for j in (0, 7, 23, 41, 46):
        # equal rows have one answer; those of the minority are atoms of their own
        copies = np.flatnonzero((X[j] == X).all(axis=1) & (y == y[j]))
        tried = [left_out_by_hand(est, X, y, i) for i in (copies if y[j] else [j])]
        expected = min(tried, key=lambda each: np.abs(each - found[:, j]).max())
        assert_allclose(np.maximum(found[:, j], np.log(1e-300)), expected, atol=1e-6)


# kernel matrices


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BSVDD", "BSVDDM"])
def test_a_kernel_matrix_has_the_answers_of_its_kernel(name):
    X, y, Z = of(array)
    for kernel, diagonal in (
        (kernels.RBF(1.5), 1.0),
        (kernels.Polynomial(2, 0.1), None),
    ):
        prior = {"prior": priors.StandardizedRowSum()} if name in SAMPLED else {}
        direct = clone(CLASSES[name]).set_params(kernel=kernel, **prior).fit(X, y)
        given = (
            clone(direct)
            .set_params(kernel=kernels.Precomputed(diagonal))
            .fit(kernel(X, X), y)
        )
        K = kernel(Z, X)
        K = K if diagonal else np.column_stack([K, kernel.diag(Z)])
        printed = cutoffs.Printed()
        by_matrix, by_kernel = (e.with_cutoff(printed) for e in (given, direct))
        assert_same_posterior(by_matrix.distance(K), by_kernel.distance(Z))
        # nobody knows of a matrix which row the sample has not shown, nor how many are
        # near; the draws are others
        plain = replace(direct.fit_.boundary, spread=None, centre=None)
        fit = direct.fit_
        margins = fit.ask(
            lambda parts, plain=plain: plain.margins(parts).T, CompleteRows.of(Z)
        )
        P = (margins >= 0.0).mean(axis=1)
        apart = np.abs(given.probability_normal(K) - P)
        assert apart.mean() <= 0.06 and (name in SAMPLED or apart.max() <= 0.08)


# tables at the edge


LINE = np.outer(np.linspace(1.0, 3.0, 20), [1.0, 2.0])
EDGES = {
    "three rows": (lambda rng: rng.normal(size=(3, 2)), None),
    "one column": (lambda rng: rng.normal(size=(15, 1)), None),
    "500 columns": (lambda rng: rng.normal(size=(15, 500)), None),
    "one row apart": (lambda rng: np.outer(np.arange(20) == 3, [1.0, 2.0]), None),
    "all equal": (lambda rng: np.ones((20, 2)), kernels.RBF(1.0)),
    "rank one": (lambda rng: LINE, kernels.Linear()),
    "a narrow kernel": (lambda rng: rng.normal(size=(20, 2)), kernels.RBF(1e-8)),
    "a wide kernel": (lambda rng: rng.normal(size=(20, 2)), kernels.RBF(1e8)),
}


@every_description
@pytest.mark.parametrize("edge", EDGES)
def test_tables_at_the_edge(name, edge):
    """Each has finite weights, and the distances of its weights by the formula."""
    rng = np.random.default_rng(70)
    make, kernel = EDGES[edge]
    X = make(rng)
    X, y = np.concatenate([X, X[:4] + 2.0]), np.repeat([0, 1], [len(X), len(X[:4])])
    changes = {"cutoff": cutoffs.Printed(1.0)} | (
        {} if kernel is None else {"kernel": kernel}
    )
    if name.startswith("BSVDD") and isinstance(kernel, kernels.Linear):
        changes["prior"] = priors.StandardizedRowSum()
    if name in SAMPLED:
        changes |= {"draws": 40, "tune": 40}
    est = clone(CLASSES[name]).set_params(**changes).fit(X, y)
    w = weights_of(est)
    assert np.isfinite(w).all()
    if name != "BDD":
        assert_allclose(w.sum(axis=1), 1.0, rtol=1e-8)
    rows, new = rows_of_atoms(est, X), X[::3] + 0.1
    rows, Z = (est.kernel_.inputs(each) for each in (rows, new))
    # rounding in a narrow kernel depends on the order of the rows
    i = est.gram_.by_value
    k, K = est.kernel_(Z, rows), est.kernel_(rows[i], rows[i])
    d2 = squared_distances(w[:, i], K, k.T[i], est.kernel_.diag(Z))
    d = est.distance(new).values.reshape(len(w), -1)
    atol = (
        1e-10 * max(1.0, np.abs(k).max()) * max(1.0, np.abs(w).sum(axis=1).max() ** 2)
    )
    assert_allclose(d**2, np.maximum(d2, 0.0), rtol=1e-7, atol=atol)
    p = est.probability_normal(new)
    assert ((p >= 0) & (p <= 1)).all()


# labels, and habits of scikit-learn


@every_description
def test_fit_predict_with_labels_leaves_each_row_out(name):
    X, y, _ = of(array)
    est = clone(CLASSES[name])
    found = est.fit_predict(X, y)
    assert_array_equal(found == 1, est.decision()["normal"])


@every_class
def test_the_minority_moves_the_weights_of_its_models_alone(name):
    X, y, Z = of(array)
    moved = X.copy()
    moved[y == 1] -= 1.0
    one, other = fitted(name, array), clone(CLASSES[name]).fit(moved, y)
    learns = name.endswith("M") and name != "OCSVM"
    if hasattr(one, "distance"):
        assert np.array_equal(one.distance(Z), other.distance(Z)) == (not learns)
    if learns:
        with pytest.raises(
            ValueError, match="learns from minority rows, but there is none"
        ):
            clone(CLASSES[name]).fit(X)
    else:
        alone = clone(CLASSES[name]).fit(X[y == 0])
        ask = "distance" if hasattr(one, "distance") else "score_samples"
        found, expected = (np.ravel(getattr(e, ask)(Z)) for e in (alone, one))
        assert_allclose(np.diff(found), np.diff(expected), atol=1e-9)


# scikit-learn's own checks


QUICK = {"draws": 20, "tune": 20, "chains": 1}
OF_FEW_MINORITY_ROWS = {"DSVM": {"neighbors": 2}, "IDLSSVM": {"neighbors": 2}}


def checked(names):
    for name in names:
        few = QUICK if name in SAMPLED else OF_FEW_MINORITY_ROWS.get(name, {})
        yield type(CLASSES[name])(minor_label=1, **few)


def not_kept(est):
    """Return the checks of scikit-learn that a description does not keep."""
    by_name = "columns of a data frame in another order are matched by their names"
    of_core = "fit_predict describes the core of one table, and predict is for new rows"
    weights = "two rows leave one by one, and a row of weight 2 leaves whole"
    as_new = {
        "check_outliers_train": "predict answers training rows as new: all are within"
    }
    filled = {"check_estimators_nan_inf": "gaps are filled, and no tag says so"}
    of_priors = {
        "check_parameters_default_constructible": "the default of a prior is a value"
    }
    checks = {
        "check_dataframe_column_names_consistency": by_name,
        "check_outliers_fit_predict": of_core,
        "check_sample_weight_equivalence_on_dense_data": weights,
    }
    if isinstance(est, SVDD | Views):
        checks |= as_new
    if est is VIEWS:
        checks |= filled
    if isinstance(est, BDD | BDDM | BSVDD | BSVDDM):
        checks |= of_priors
    return checks


GATE = [
    "SVDD",
    "BDD",
    "BSVDD",
    "BSVDDM",
    "OCSVM",
    "LSSVM",
]  # the others are much like these
VIEWS = Views(SVDD(kernel=kernels.RBF(), minor_label=1))


@parametrize_with_checks(list(checked(GATE)), expected_failed_checks=not_kept)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.long
@parametrize_with_checks(
    [
        *checked([n for n in CLASSES if n not in GATE]),
        BDD(simplex=True, minor_label=1),
        VIEWS,
    ],
    expected_failed_checks=not_kept,
)
def test_scikit_learn_checks_of_the_others(estimator, check):
    check(estimator)
