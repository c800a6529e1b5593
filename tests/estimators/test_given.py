"""p-values of some columns given the others: against loops, refits and a kernel density."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.neighbors import KernelDensity
from sklearn.utils import check_random_state

import bsvdd
from bsvdd import BDD, BSVDD, OCSVM, SVDD, kernels, priors
from tests import scores

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(7)
X = RNG.normal(size=(40, 4))
X[:, 2] += 2.0 * X[:, 0]
X[:, 3] = RNG.integers(0, 3, 40)
NEW = np.concatenate([X[:9] + 0.3 * RNG.normal(size=(9, 4)), [[0.0, 0, 4, 1], [99, 0, 0, 2]]])
NEW[:, 3] = NEW[:, 3].round()
QUICK = {"draws": 100, "tune": 100, "chains": 2}
SEED = int(check_random_state(0).randint(2**31 - 1))  # of a fit with random_state=0
GIVEN, OTHERS = (0, 3), (1, 2)


def factor(kernel, columns, left_out, x, y):
    """The kernel of two rows without the factors of other columns, by its definition."""
    if isinstance(kernel, kernels.Standardized):
        x, y = ((v - kernel.mean) / np.array(kernel.scale) for v in (x, y))
        kernel = kernel.kernel
    if isinstance(kernel, kernels.Tabular):
        seen = kernel.leaving_out if left_out else kernel
        # the columns of numbers are 0, 1, 2, with two coordinates each
        u, v = seen._first(x[None])[0].reshape(3, 2), kernel.columns(y[None])[0].reshape(3, 2)
        kept = [c for c in columns if c != 3]
        same = x[3] == y[3] or 3 not in columns
        distance = np.square(u[kept] - v[kept]).sum()
        return np.exp(-kernel.kernel.gamma * distance) * (1.0 if same else kernel.rho)
    u, v = x[list(columns)], y[list(columns)]
    if isinstance(kernel, kernels.Laplacian):
        return np.exp(-np.abs(u - v).sum() / kernel.bandwidth)
    return np.exp(-np.square(u - v).sum() / (2 * kernel.bandwidth**2))


def epsilon(est, points, w):
    """The 1 % quantile of f(x) of left-out points by the mean weights, by loops."""
    of, mean, M = partial(factor, est.kernel_), w.mean(axis=0), range(len(points))
    f = [sum(mean[j] * of(GIVEN, False, points[i], points[j]) for j in M if j != i) for i in M]
    return sorted(f)[int(0.01 * (len(points) - 1))]


def log_ratio(est, points, w, eps, row, own=None):
    """Minus S(y | x) of one row in all draws, by loops over the points."""
    kept = [j for j in range(len(points)) if j != own]
    of = partial(factor, est.kernel_)
    xy, x, y = (
        w[:, kept] @ [of(columns, own is not None, row, points[j]) for j in kept]
        for columns in (range(4), GIVEN, OTHERS)
    )
    return np.log(xy + eps * y) - np.log(x + eps)


KERNELS = [
    kernels.RBF(1.1),
    kernels.Laplacian(2.0),
    kernels.Standardized(kernels.RBF(1.0)),
    kernels.Tabular(kernels.RBF(0.8), rho=0.1, categorical=[3]),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_it_is_by_the_kernel_without_the_factors_of_the_others(kernel):
    est = BSVDD(kernel=kernel, **QUICK).fit(X)
    w, near = scores.weights_of(est), NEW[:10]
    eps = epsilon(est, X, w)
    left_out = [scores.upper_median(-log_ratio(est, X, w, eps, X[j], j)) for j in range(40)]
    surprise = [scores.upper_median(-log_ratio(est, X, w, eps, z)) for z in near]
    expected = (1 + (np.array(left_out)[:, None] >= surprise).sum(axis=0)) / 41
    np.testing.assert_allclose(bsvdd.given(est, near, GIVEN), expected)
    assert len(np.unique(expected)) > 5


def test_with_equal_weights_it_is_a_conditional_kernel_density_of_scikit_learn():
    """Each left-out row by a density of the other rows: a refit."""
    prior = priors.Normal(sd=1e-4, m=(1 / 40,) * 40)
    est = BDD(kernel=kernels.RBF(0.9), simplex=True, prior=prior).fit(X)

    def density(train, rows, columns):
        fitted = KernelDensity(bandwidth=0.9).fit(train[:, columns])
        at_0 = (2 * np.pi * 0.9**2) ** (-len(columns) / 2)
        return np.exp(fitted.score_samples(rows[:, columns])) / at_0 * len(train) / 40

    eps = min(density(np.delete(X, j, axis=0), X[[j]], [0, 1])[0] for j in range(40))

    def conditional(train, rows):
        xy, x, y = (density(train, rows, c) for c in ([0, 1, 2, 3], [0, 1], [2, 3]))
        return np.log(xy + eps * y) - np.log(x + eps)

    left_out = [conditional(np.delete(X, j, axis=0), X[j : j + 1])[0] for j in range(40)]
    expected = (1 + (np.array(left_out)[:, None] <= conditional(X, NEW)).sum(axis=0)) / 41
    np.testing.assert_allclose(bsvdd.given(est, NEW, [0, 1]), expected)


@pytest.mark.parametrize("method", ["left-out", "split"])
def test_fits_without_rows_where_there_is_no_closed_form(method):
    """Folds as for the cutoff have the bandwidth of all rows; the half of a split has its own."""
    est = SVDD(kernel=kernels.RBF("median")).fit(X)
    parts, kernel = KFold(10, shuffle=True, random_state=SEED).split(X), est.kernel_
    if method == "split":
        order = np.random.default_rng(SEED).permutation(40)
        parts, kernel = [(np.sort(order[:20]), order[20:])], est.kernel
    left_out = []
    for train, test in parts:
        fold = clone(est).set_params(kernel=kernel, cutoff=1.0).fit(X[train])
        left_out += ratios(fold, X[test])
    judge = fold if method == "split" else est
    counted = (np.array(left_out)[:, None] <= ratios(judge, NEW[:10])).sum(axis=0)
    expected = (1 + counted) / (1 + len(left_out))
    np.testing.assert_allclose(bsvdd.given(est, NEW[:10], GIVEN, method), expected)


def ratios(est, rows):
    """Return the scores of rows in the only draw of an estimator."""
    w = scores.weights_of(est)
    eps = epsilon(est, est.gram_.points.rows, w)
    return [log_ratio(est, est.gram_.points.rows, w, eps, z)[0] for z in rows]


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(X[:, :3], columns=["a", "b", "c"], index=[f"r{i}" for i in range(40)])


@pytest.fixture(scope="module")
def est(frame):
    return BSVDD(**QUICK).fit(frame)


def test_ways_to_ask_are_the_same(est, frame, tmp_path):
    new = pd.DataFrame(NEW[:, :3], columns=["a", "b", "c"])
    expected = bsvdd.given(est, new, ["a"])
    for given in ("a", 0, [np.int64(0)], ["a", 0]):
        np.testing.assert_array_equal(bsvdd.given(est, new, given), expected)
    np.testing.assert_array_equal(bsvdd.given(est, new[["c", "a", "b"]], "a"), expected)
    est.save(tmp_path / "m.safetensors")
    loaded = bsvdd.load(tmp_path / "m.safetensors")
    np.testing.assert_allclose(bsvdd.given(loaded, new, "a"), expected, atol=1.1 / 41)


def test_a_value_is_odd_beside_the_others_only(est):
    """c is 2 a + noise; c = 2.5 and a = 0 are usual, and together they are not."""
    row = pd.DataFrame({"a": [0.0], "b": [0.0], "c": [2.5]})
    assert bsvdd.given(est, row, ["a", "b"])[0] < 0.1 < bsvdd.given(est, row, ["b"])[0]
    remote = pd.DataFrame({"a": [1e6], "b": [0.0], "c": [0.0]})  # no kernel value has a digit
    assert bsvdd.given(est, remote, ["b", "c"])[0] == 1 / 41
    assert bsvdd.given(est, remote, "a")[0] > 0.1  # no row tells what is usual beside this a


def test_minority_rows_and_groups():
    """Minority rows are new rows; rows leave their groups."""
    y = np.repeat([0, 1], [40, 11])
    with_some = SVDD().fit(np.concatenate([X, NEW]), y)
    of_training = bsvdd.explain(with_some, rows=range(40, 51), changes=False, given=0).rows[
        "p_given"
    ]
    np.testing.assert_array_equal(of_training, bsvdd.given(with_some, NEW, 0))
    few = BSVDD(dictionary=12, **QUICK).fit(X)
    p = bsvdd.explain(few, changes=False, given=[0]).rows["p_given"]
    assert sorted(np.round(40 * p)) == list(range(1, 41))  # each row has its rank


def test_explanations_have_a_line_and_name_the_other_columns(est, frame):
    new = pd.DataFrame({"a": [0.0], "b": [0.0], "c": [9.0]}, index=["odd"])
    why = bsvdd.explain(est, new, given=["a", "b"], changes=False)
    assert why.rows["p_given"].tolist() == bsvdd.given(est, new, ["a", "b"]).tolist()
    assert why.top_columns()["column_1"].tolist() == ["c"]
    assert "Columns: c " in str(why) and " Given a, b: p = 0.0244." in str(why)
    assert "Given" not in str(bsvdd.explain(est, new, changes=False))
    p = bsvdd.explain(est, given="a", changes=False).rows["p_given"]
    assert sorted(np.round(40 * p)) == list(range(1, 41))
    np.testing.assert_array_equal(
        bsvdd.explain(est, rows=[3], given="a").rows["p_given"], p.iloc[[3]]
    )


DRAWN = BSVDD(**QUICK)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (DRAWN, "d", r"given: 'd' is no column of the fit, which has columns 'a', 'b'"),
        (DRAWN, 3, "given: 3 is no column"),
        (DRAWN, [True], "given: columns are named, or numbered from 0; got True"),
        (DRAWN, True, "given: columns are named, or numbered from 0; got True"),
        (DRAWN, ["a", "b", 2], "given names 3 of 3 columns; name at least one"),
        (DRAWN, [], "given names 0 of 3 columns"),
        (BSVDD(kernel=kernels.Linear(), **QUICK), "a", r"product over columns: kernels.Tabular, "),
        (BDD(**QUICK), "a", r"weights of at least 0 \(BSVDD, SVDD, BDD\(simplex=True\)\)"),
        (OCSVM(), "a", "got OCSVM with"),
    ],
    ids=range(9),
)
def test_what_cannot_be_given(frame, model, given, message):
    est = clone(model).fit(frame)
    for ask in (bsvdd.given, lambda est, X, given: bsvdd.select(est, X, given=given)):
        with pytest.raises(ValueError, match=message):
            ask(est, frame, given)
