"""Kernels against their formulas, written as double loops, and identities that all of them keep."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from bsvdd import kernels

from .helpers import by_loops

RNG = np.random.default_rng(1)
X = RNG.normal(size=(40, 4))
Y = RNG.normal(size=(25, 4))
for each in (X, Y):  # numbers in columns 0 and 2, and what can be categories in 1 and 3
    each[:, 1], each[:, 3] = RNG.integers(0, 3, len(each)), RNG.integers(0, 5, len(each)) - 0.5
MEAN, SD = X.mean(axis=0), X.std(axis=0)


def cauchy(A, B):
    """A kernel of the user's, 1 / (1 + d^2)."""
    return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))


def gauss(x, y, s=1.7):
    return math.exp(-sum((x - y) ** 2) / (2 * s**2))


def laplace(x, y):
    return math.exp(-sum(abs(x - y)) / 0.8)


def standardized(k):
    return lambda x, y: k((x - MEAN) / SD, (y - MEAN) / SD)


def normal_score(v, x, sd, steps=False):
    """The normal score of v in the ranks of x, with linear tails; in ``steps`` or on lines."""

    def of(value):
        return ndtri((((x < value).sum() + (x <= value).sum()) / 2 + 0.5) / (len(x) + 1))

    below, above = x[x <= v], x[x >= v]
    if not len(below):
        return of(above.min()) - (above.min() - v) / sd
    if not len(above):
        return of(below.max()) + (v - below.max()) / sd
    if steps:
        return of(v)
    a, b = below.max(), above.min()
    share = 0.0 if a == b else (v - a) / (b - a)
    return (1 - share) * of(a) + share * of(b)


SCORES = np.array([[normal_score(v, x, x.std()) for v in x] for x in X.T])


BOTH, STANDARDISED, NORMAL_SCORES = (0, 1), (0,), (1,)


def coordinates(v, f, scales):
    """The coordinates of a value v of column f."""
    x, scores = X[:, f], SCORES[f]
    of_ranks = (normal_score(v, x, x.std()) - scores.mean()) / scores.std()
    both = np.array([(v - x.mean()) / x.std(), of_ranks])
    return both[list(scales)] / math.sqrt(len(scales))


def tabular(k, categorical=(1, 3), scales=BOTH):
    numbers = [f for f in range(4) if f not in categorical]

    def product(x, y):
        u, v = (np.concatenate([coordinates(z[f], f, scales) for f in numbers]) for z in (x, y))
        return k(u, v) * 0.3 ** sum(x[c] != y[c] for c in categorical)

    return product


def of_columns(inner, **how):
    return kernels.Tabular(inner, rho=0.3, categorical=(1, 3), **how)


FORMULAS = [
    (kernels.RBF(1.7), gauss),
    (kernels.RBF.from_gamma(0.3), lambda x, y: math.exp(-0.3 * sum((x - y) ** 2))),
    (kernels.Laplacian(0.8), laplace),
    (kernels.Linear(), lambda x, y: sum(x * y)),
    (kernels.Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * sum(x * y) + 2.0) ** 3),
    (kernels.Polynomial(), lambda x, y: (sum(x * y) + 1.0) ** 2),
    (kernels.Polynomial(1, coef0=0.0), lambda x, y: sum(x * y)),
    (kernels.Custom(cauchy), lambda x, y: 1.0 / (1.0 + sum((x - y) ** 2))),
    (kernels.Standardized(kernels.RBF(1.7)), standardized(gauss)),
    (kernels.Standardized(kernels.Laplacian(0.8)), standardized(laplace)),
    (kernels.Standardized(cauchy), standardized(lambda x, y: 1 / (1 + sum((x - y) ** 2)))),
    (kernels.Standardized(kernels.Linear()), standardized(lambda x, y: sum(x * y))),
    (of_columns(kernels.RBF(1.7)), tabular(gauss)),
    (of_columns(kernels.Laplacian(0.8)), tabular(laplace)),
    (of_columns(kernels.Linear()), tabular(lambda x, y: sum(x * y))),
    (kernels.Tabular(kernels.RBF(1.7)), tabular(gauss, ())),
    (kernels.Tabular(kernels.Laplacian(0.8)), tabular(laplace, ())),
    (of_columns(kernels.RBF(1.7), scale="standardised"), tabular(gauss, scales=STANDARDISED)),
    (
        kernels.Tabular(kernels.Laplacian(0.8), scale="normal scores"),
        tabular(laplace, (), NORMAL_SCORES),
    ),
]
KERNELS = [kernel.resolve(X) for kernel, _ in FORMULAS]
all_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@pytest.mark.parametrize(
    ("kernel", "k"), [(kernel.resolve(X), k) for kernel, k in FORMULAS], ids=map(repr, KERNELS)
)
def test_matrix_and_diagonal_are_the_formula(kernel, k):
    np.testing.assert_allclose(kernel(X, Y), by_loops(k, X, Y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), by_loops(k, X, X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), [k(x, x) for x in X], rtol=1e-12)


@all_kernels
def test_identities_of_every_kernel(kernel, monkeypatch):
    """Symmetric, positive semi-definite, a value, and its own parts in sums and columns."""
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    values = np.linalg.eigvalsh(K)
    assert values.min() > -1e-10 * values.max()
    for part in (1, 30, 10**6):
        monkeypatch.setattr("bsvdd.models.kernels.base.BLOCK_VALUES", part)
        np.testing.assert_allclose(kernel.summed(Y, X), kernel(Y, X).sum(axis=0), rtol=1e-12)
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert (twin, hash(twin), repr(twin)) == (kernel, hash(kernel), repr(kernel))
        np.testing.assert_array_equal(twin(X), K)
        form = ("normalized", "separable", "euclidean", "takes_categories", "pairwise")
        assert all(getattr(twin, name) == getattr(kernel, name) for name in form)
    assert (
        kernel.normalized == kernel.separable == ("RBF" in repr(kernel) or "Lapl" in repr(kernel))
    )
    if kernel.normalized:
        np.testing.assert_allclose(kernel.log(X, Y), np.log(kernel(X, Y)), rtol=1e-10, atol=1e-12)
        costs = [cost.copy() for cost in kernel.by_column(X, Y)]
        assert len(costs) == 4
        np.testing.assert_allclose(-sum(costs), kernel.log(X, Y), rtol=1e-12)
        for f, cost in enumerate(costs):  # of rows that are equal in all other columns
            moved = np.repeat(X[:1], len(Y), axis=0)
            moved[:, f] = Y[:, f]
            expected = -kernel.log(X[:1], moved)[0]
            np.testing.assert_allclose(cost[0], expected, rtol=1e-9, atol=1e-12)
    else:
        with pytest.raises(NotImplementedError, match="has no logarithm"):
            kernel.log(X, Y)
        if not kernel.categorical_columns:
            with pytest.raises(NotImplementedError, match="no product over columns"):
                kernel.by_column(X, Y)
    assert kernel.euclidean == (repr(kernel) in ("Linear()", "Standardized(Linear())"))
    if kernel.euclidean:
        np.testing.assert_allclose(K, kernel.inputs(X) @ kernel.inputs(X).T, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", [k for k, _ in FORMULAS if not k.takes_categories], ids=repr)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e8])
def test_a_kernel_is_accepted_for_rows_of_any_scale_and_equal_rows(kernel, scale):
    rows = np.random.default_rng(2).normal(size=(150, 3)) * scale
    for these in (rows, rows[:1], np.repeat(rows[:3], 50, axis=0), rows + 1e3 * scale):
        kernel.resolve(these)


@pytest.mark.parametrize("cls", [kernels.RBF, kernels.Laplacian])
def test_a_bandwidth(cls):
    """A number, or the name of a criterion, which resolve turns into a number."""
    with pytest.raises(ValueError, match=r"'median' is not a number yet; call kernel\.resolve"):
        cls("median")(X)
    fitted = cls("median").resolve(X)
    assert fitted.criterion == "median"
    assert fitted.resolve(10 * X) == fitted  # a number stays
    for part in (f"{fitted.bandwidth:.6g}", "'median'", f"{fitted.gamma:.6g}"):
        assert part in repr(fitted)
    gamma = 0.125 if cls is kernels.RBF else 0.5
    assert repr(cls(2.0)) == f"{cls.__name__}(bandwidth=2, gamma={gamma})"
    assert cls(2.0).gamma == gamma
    for s in (0.3, 1.0, 7.0):
        assert kernels.RBF.from_gamma(kernels.RBF(s).gamma).bandwidth == pytest.approx(s, rel=1e-15)


@pytest.mark.parametrize("power", [1, 2])  # of the distance in the exponent
def test_the_logarithm_does_not_underflow(power):
    kernel = (kernels.Laplacian if power == 1 else kernels.RBF)(1.0)
    for each in (kernel, kernels.Standardized(kernel).resolve(X)):
        assert each(X[:2] + 1e5, X).max() == 0.0
        ratio = each.log(X[:2] + 2e5, X) / each.log(X[:2] + 1e5, X)
        np.testing.assert_allclose(ratio, 2.0**power, rtol=1e-2)


@pytest.mark.parametrize(
    ("s", "centres", "shift", "tolerance"),
    [
        (1.0, (0.0, 1e7), 1e6, 1e-10),
        (1.3, (-1e4, 1e4), 0.0, 1e-9),
        (1.3, (-1e8, 1e8), 0.0, 1e-9),
        *((1.3, (0.0, 3.0), shift, 1e-9) for shift in (0.0, 1e3, 1e8)),
    ],
)
def test_rbf_keeps_its_digits_for_rows_far_apart_for_their_bandwidth(s, centres, shift, tolerance):
    """Two clusters: beyond some distance the product form of the distances has no digit left."""
    steps = np.round(np.random.default_rng(8).normal(size=(24, 3)) * 1024) / 1024
    rows = steps + np.repeat(centres, 12)[:, None] + shift
    others, kernel = rows[::3] + 0.25, kernels.RBF(s)
    K, near = kernel(rows), by_loops(lambda x, y: gauss(x, y, s), rows, others)
    expected = by_loops(lambda x, y: gauss(x, y, s), rows, rows)
    np.testing.assert_allclose(K, expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(kernel(rows, others), near, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(kernel.summed(rows, others), near.sum(axis=0), rtol=tolerance)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), np.ones(24))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert 0.01 < K[0, 1:12].max() < 1  # rows of one cluster do see each other


# sums over rows, in blocks and in float32


def test_summed_beside_rows_and_points_far_away():
    kernel = kernels.RBF(1.3)
    rows = np.concatenate([X, [[1e9, 0, 0, 0], [1e200, 0, 0, 0]]])
    np.testing.assert_allclose(kernel.summed(rows, Y), kernel.summed(X, Y), rtol=1e-12)
    U = np.concatenate([Y[:5], [[1e6, 0, 0, 0]]])  # no digits left for the product form
    expected = np.exp(-kernel.gamma * cdist(X, U, "sqeuclidean")).sum(axis=0)
    np.testing.assert_allclose(kernel.summed(X, U), expected, rtol=1e-10)
    single = X.astype(np.float32)  # float32 has none for a point much nearer
    U = np.concatenate([Y[:5], [[300.0, 0, 0, 0]]])
    expected = kernel(single.astype(float), U).sum(axis=0)
    np.testing.assert_allclose(kernel.summed(single, U)[:5], expected[:5], rtol=1e-6)


# functions of the user's


def test_a_function_as_a_kernel(monkeypatch):
    assert kernels.as_kernel(cauchy) == kernels.Standardized(cauchy).kernel
    assert kernels.as_kernel(kernels.Linear()) == kernels.Linear()
    assert repr(kernels.Custom(cauchy)) == "Custom(function=cauchy)"
    for wrong in ("rbf", kernels.RBF, None, 1.0):
        with pytest.raises(TypeError, match="kernel (must be a kernel such|is the class RBF)"):
            kernels.as_kernel(wrong)
    monkeypatch.setattr("bsvdd.models.kernels.base.BLOCK", 3)
    poly = kernels.Custom(lambda A, B: (A @ B.T + 1.0) ** 2)
    np.testing.assert_allclose(poly.diag(X), [(x @ x + 1.0) ** 2 for x in X], rtol=1e-13)


# a matrix of the user's


def test_precomputed_rows_choose_their_entries():
    K, kernel = cauchy(X, X), kernels.Precomputed()
    rows = kernel.training_rows(K)
    np.testing.assert_array_equal(kernel(rows), K)
    np.testing.assert_array_equal(kernel(rows[[4, 1]], rows[[0, 6, 2]]), K[[4, 1]][:, [0, 6, 2]])
    np.testing.assert_array_equal(kernel.diag(rows[[3, 5]]), K[[3, 5], [3, 5]])
    given = kernel, np.column_stack([cauchy(Y, X), np.full(25, 0.5)])
    for known, values in (given, (kernels.Precomputed(diagonal=np.float32(0.5)), cauchy(Y, X))):
        new = known.new_rows(values, 40)
        np.testing.assert_array_equal(known(new, rows[2:4]), cauchy(Y, X)[:, 2:4])
        np.testing.assert_array_equal(known.diag(new), np.full(25, 0.5))
        np.testing.assert_array_equal(new[:, -1], np.full(25, -1.0))  # no training row
        assert pickle.loads(pickle.dumps(known)) == known


@pytest.mark.parametrize("size", [1e-6, 1e6])
@pytest.mark.parametrize(
    ("off", "error", "negative", "problem"),
    [
        (0.0, 0.0, 5e-9, None),
        (0.0, 0.0, 2e-8, "its smallest eigenvalue is "),
        (0.5, 4e-9, 0.0, None),
        (0.5, 1e-8, 0.0, r"must be symmetric, but K\[0, 2\] = .* and K\[2, 0\] ="),
        (0.0, 5e-11, 0.0, None),
        (0.0, 2e-10, 0.0, "symmetric"),
    ],
)
def test_precomputed_may_be_asymmetric_or_negative_by_rounding(size, off, error, negative, problem):
    """The smallest eigenvalue is in units of n times the largest entry."""
    K = np.diag([1.0, 1.0, 1.0, 1.0, -5 * negative if negative else 1.0])
    K[0, 2], K[2, 0] = off + error, off
    if problem is None:
        assert kernels.Precomputed().training_rows(size * K).shape == (5, 7)
        return
    with pytest.raises(ValueError, match=problem):
        kernels.Precomputed().training_rows(size * K)


# categories


def test_an_unseen_category_differs_from_all_and_names_do_not_matter():
    kernel, z = of_columns(kernels.RBF(1.7)).resolve(X), X[:1].copy()
    z[0, 1] = 77.0
    np.testing.assert_allclose(kernel(z, X), by_loops(tabular(gauss), z, X), rtol=1e-12)
    assert kernel.diag(z) == 1.0
    inner, coded = kernels.RBF("mean"), X.copy()
    coded[:, 1], coded[:, 3] = 1e6 * X[:, 1], -X[:, 3]  # other names of the same categories
    of_numbers = kernels.Tabular(inner).resolve(X[:, [0, 2]])
    for rows in (X, coded):
        assert of_columns(inner).resolve(rows).kernel == of_numbers.kernel


def test_inputs_have_indicators_of_the_categories_at_sqrt_2():
    kernel = of_columns(kernels.Linear()).resolve(X)
    assert kernel.inputs(X).shape == (40, 2 * 2 + (3 + 1) + (5 + 1))
    z = X[[0, 0, 0]].copy()
    z[1, 1], z[2, 1] = (X[0, 1] + 1) % 3, 99.0
    a, b, unseen = kernel.inputs(z)
    distances = [np.linalg.norm(u - v) for u, v in ((a, b), (a, unseen), (b, unseen))]
    np.testing.assert_allclose(distances, np.sqrt(2.0))
    rows = np.column_stack([RNG.normal(size=300), np.repeat(np.arange(150.0), 2)])
    kernel = kernels.Tabular(kernels.RBF(1.0), categorical=(1,)).resolve(rows)
    assert kernel.inputs(rows).shape == (300, 2 + 100 + 1)  # the rarest share an indicator


# columns of numbers


def columns_of(n, seed=3):
    """A skew column, one of ties, one of two values, one with a tie at each end, one constant."""
    rng = np.random.default_rng(seed)
    skew, normal = np.exp(2.0 * rng.normal(size=n)), rng.normal(size=n)
    return np.column_stack(
        [skew, rng.integers(0, 5, n), rng.integers(0, 2, n), np.clip(normal, -1, 1), np.full(n, 7)]
    )


@pytest.mark.parametrize("n", [3, 12, 200, 3000])
def test_a_left_out_row_leaves_mean_standard_deviation_and_ranks(n):
    """Against those of the other rows, from where these have their mean in both coordinates."""
    rows = columns_of(n)
    kernel = kernels.Tabular(kernels.RBF(0.7)).resolve(rows)
    tolerance = 1e-12 if n <= 1000 else 0.02  # not all values are kept
    chosen = [*range(min(n, 12)), *rows.argmax(axis=0), *rows.argmin(axis=0)]
    expected = kernel.columns(rows[chosen]).copy()
    for f, column in enumerate(kernel.numbers[:4]):
        for place, i in enumerate(chosen):
            left, of_all = np.delete(rows[:, f], i), kernel.columns(rows)[:, 2 * f : 2 * f + 2]
            if np.ptp(left) == 0.0:
                expected[place, 2 * f : 2 * f + 2] = 5.0 / math.sqrt(2)
                continue
            score = normal_score(rows[i, f], left, left.std(), steps=True)
            own = (
                (rows[i, f] - left.mean()) / left.std(),
                (score - column.mean_score) / column.sd_score,
            )
            others = np.delete(of_all, i, axis=0).mean(axis=0)
            expected[place, 2 * f : 2 * f + 2] = others + np.array(own) / math.sqrt(2)
    leaving = kernel.leaving_out
    np.testing.assert_allclose(leaving._first(rows[chosen]), expected, atol=tolerance)
    points = rows[::-1][:9] + 0.25
    coordinates = kernel.columns(points)
    k = kernels.RBF(0.7).log(leaving._first(rows[chosen]), coordinates)
    np.testing.assert_allclose(leaving.log(rows[chosen], points), k, rtol=1e-12)
    np.testing.assert_allclose(leaving(rows[chosen], points), np.exp(k), rtol=1e-9, atol=1e-300)
    costs = sum(cost.copy() for cost in leaving.by_column(rows[chosen], points))
    np.testing.assert_allclose(costs, -k, rtol=1e-12)
    assert kernels.RBF(1.0).leaving_out == kernels.RBF(1.0)


def test_a_unit_or_an_origin_changes_nothing():
    rows = columns_of(60)
    new = np.concatenate([rows[:5] * 1.1, rows.max(axis=0)[None] + [[5, 1, 1, 2, 0]]])
    expected = kernels.Tabular().resolve(rows)
    for scale, shift, tolerance in ((1e-150, 0.0, 1e-9), (1e150, 0.0, 1e-9), (1.0, 1e8, 1e-5)):
        kernel = kernels.Tabular().resolve(rows * scale + shift)
        assert kernel.kernel.bandwidth == pytest.approx(expected.kernel.bandwidth, rel=tolerance)
        found = kernel.columns(new * scale + shift)
        np.testing.assert_allclose(found, expected.columns(new), atol=tolerance)
        for k, known in ((kernel, expected), (kernel.leaving_out, expected.leaving_out)):
            log = k.log(rows * scale + shift, new * scale + shift)
            np.testing.assert_allclose(log, known.log(rows, new), rtol=1e-4, atol=1e-4)


def test_a_constant_column_is_kept():
    rows = np.column_stack([X[:, 0], np.full(40, 0.1), np.zeros(40)])
    kernel = kernels.Tabular().resolve(rows)
    assert kernel.dimensions == 1
    z = rows[[0, 0, 0, 0]]
    z[1, 1], z[2, 1], z[3, 2] = 0.1 * (1 + 1e-15), 0.1001, -1e-300
    found = kernel.columns(z)[:, 2:] * math.sqrt(2)
    np.testing.assert_allclose(found, [[0] * 4, [0] * 4, [5, 5, 0, 0], [0, 0, 5, 5]])
    np.testing.assert_allclose(kernel.log(z, z)[0, 2], -(5.0**2) * kernel.kernel.gamma)


def test_a_saved_column_is_small_and_loses_little():
    """At most 1,000 values are kept: the two at each end, and the others at equal steps."""
    x = np.exp(np.random.default_rng(0).normal(size=(20_000, 1)))
    x[:7000] = 1.0  # a third of the rows have one value
    kernel = kernels.Tabular(kernels.RBF(1.0)).resolve(x)
    (column,) = kernel.numbers
    assert 600 < len(column.values) <= 1000
    ends = np.unique(x)[[0, 1, -2, -1]]
    np.testing.assert_array_equal(np.array(column.values)[[0, 1, -2, -1]], ends)
    ranks = (np.searchsorted(np.sort(x[:, 0]), x[:, 0]) + 1.0) / 20_001
    exact = (ndtri(ranks) - column.mean_score) / column.sd_score / math.sqrt(2)
    away = x[:, 0] != 1.0
    np.testing.assert_allclose(kernel.columns(x)[away, 1], exact[away], atol=0.015)


def test_only_categories_vary():
    rows = np.column_stack([X[:, [1, 3]], np.ones(40)])
    for these, columns in ((rows, (0, 1)), (rows[:, :2], (0, 1))):
        kernel = kernels.Tabular(categorical=columns).resolve(these)
        differ = (these[:, None, :2] != these[:9, :2]).sum(axis=2)
        np.testing.assert_allclose(kernel(these, these[:9]), 0.01**differ, rtol=1e-12)
        np.testing.assert_allclose(kernel.log(these, these[:9]), np.log(0.01) * differ, rtol=1e-12)
        np.testing.assert_allclose(kernel(these), kernel(these, these), rtol=1e-12)


def test_more_columns_than_rows_are_not_decorrelated():
    """S is the identity then, and no matrix of all columns is made."""
    X = np.random.default_rng(0).normal(size=(40, 3000))
    kernel = kernels.Tabular(kernels.RBF(1.0), decorrelated=True).resolve(X)
    plain = kernels.Tabular(kernels.RBF(1.0)).resolve(X)
    assert kernel.adjustment is None
    np.testing.assert_array_equal(kernel.columns(X[:3]), plain.columns(X[:3]))
