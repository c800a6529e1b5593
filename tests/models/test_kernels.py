"""Kernels against their formulas, written as double loops, and identities that all of them keep."""

import copy
import math
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
from bsvdd.models.landmarks import Landmarks, choose
from scipy.spatial.distance import cdist

from bsvdd import SVDD, kernels

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


def mixed(k, mean=0.0, sd=1.0):
    def product(x, y):
        numbers = k((x[[0, 2]] - mean) / sd, (y[[0, 2]] - mean) / sd)
        return numbers * 0.3 ** sum(x[[1, 3]] != y[[1, 3]])

    return product


def of_columns(inner):
    return kernels.Mixed(inner, rho=0.3, categorical=(1, 3))


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
    (of_columns(kernels.RBF(1.7)), mixed(gauss)),
    (of_columns(kernels.Laplacian(0.8)), mixed(laplace)),
    (of_columns(kernels.Linear()), mixed(lambda x, y: sum(x * y))),
    (of_columns(kernels.Standardized(kernels.RBF(1.7))), mixed(gauss, MEAN[[0, 2]], SD[[0, 2]])),
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
        rates = kernel.gaussian_rates(4)
        assert (rates is None) == ("Mixed" in repr(kernel) or "Laplacian" in repr(kernel))
        if rates is not None:
            exponent = (rates * (X[:, None] - Y) ** 2).sum(axis=2)
            np.testing.assert_allclose(exponent, -kernel.log(X, Y), rtol=1e-12)
    else:
        with pytest.raises(NotImplementedError, match="has no logarithm"):
            kernel.log(X, Y)
        if not kernel.categorical_columns:
            with pytest.raises(NotImplementedError, match="no product over columns"):
                kernel.by_column(X, Y)
        assert kernel.gaussian_rates(4) is None
    assert kernel.euclidean == (repr(kernel) in ("Linear()", "Standardized(Linear())"))
    if kernel.euclidean:
        np.testing.assert_allclose(K, kernel.inputs(X) @ kernel.inputs(X).T, rtol=1e-12, atol=1e-14)


@all_kernels
def test_rows_must_be_tables_with_the_same_columns(kernel):
    with pytest.raises(ValueError, match=r"X must be a table \(rows, columns\), got 1"):
        kernel(X[0])
    with pytest.raises(ValueError, match=r"Y must be a table \(rows, columns\), got 1"):
        kernel(X, Y[0])
    with pytest.raises(ValueError, match="X must be a table"):
        kernel.diag(X[0])
    with pytest.raises(ValueError, match="same number of columns, got 4 and 2"):
        kernel(X, Y[:, :2])


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
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]
    assert fitted.bandwidth == pytest.approx(np.median(pairs), rel=1e-12)
    assert fitted.criterion == "median"
    assert fitted.resolve(10 * X) == fitted  # a number stays
    for part in (f"{fitted.bandwidth:.6g}", "'median'", f"{fitted.gamma:.6g}"):
        assert part in repr(fitted)
    gamma = 0.125 if cls is kernels.RBF else 0.5
    assert repr(cls(2.0)) == f"{cls.__name__}(bandwidth=2, gamma={gamma})"
    assert cls(2.0).gamma == gamma
    for s in (0.3, 1.0, 7.0):
        assert kernels.RBF.from_gamma(kernels.RBF(s).gamma).bandwidth == pytest.approx(s, rel=1e-15)


@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Laplacian(1.0)], ids=repr)
def test_translation_changes_no_distance_and_the_logarithm_does_not_underflow(kernel):
    # steps of 1/1024 are exact even beside 1e6, so that only the kernel can lose digits
    A, B = np.round(X * 1024) / 1024, np.round(Y * 1024) / 1024
    np.testing.assert_allclose(kernel(A + 1e6, B + 1e6), kernel(A, B), rtol=1e-12)
    np.testing.assert_allclose(kernel(A + 1e6), kernel(A), rtol=1e-12)
    for each in (kernel, kernels.Standardized(kernel).resolve(X)):
        far = X[:2] + 1e5
        assert each(far, X).max() == 0.0
        power = 2 if isinstance(kernel, kernels.RBF) else 1  # of the distance in the exponent
        ratio = each.log(X[:2] + 2e5, X) / each.log(far, X)
        np.testing.assert_allclose(ratio, 2.0**power, rtol=1e-2)


@pytest.mark.parametrize(
    ("s", "centres", "shift", "tolerance"),
    [(1.0, (0.0, 1e7), 0.0, 1e-10), (1.0, (0.0, 1e7), 1e6, 1e-10)]
    + [(1.3, (-spread, spread), 0.0, 1e-9) for spread in (1e2, 1e4, 1e6, 1e8)],
)
def test_rbf_keeps_its_digits_for_rows_far_apart_for_their_bandwidth(s, centres, shift, tolerance):
    """Two clusters: beyond some distance the product form of the distances has no digit left."""
    steps = np.round(np.random.default_rng(8).normal(size=(24, 3)) * 1024) / 1024
    rows = steps + np.repeat(centres, 12)[:, None] + shift
    others, kernel = rows[::3] + 0.25, kernels.RBF(s)
    K = kernel(rows)
    expected = by_loops(lambda x, y: gauss(x, y, s), rows, rows)
    np.testing.assert_allclose(K, expected, rtol=tolerance, atol=tolerance)
    expected = by_loops(lambda x, y: gauss(x, y, s), rows, others)
    np.testing.assert_allclose(kernel(rows, others), expected, rtol=tolerance, atol=tolerance)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), np.ones(24))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert 0.01 < K[0, 1:12].max() < 1  # rows of one cluster do see each other


# sums over rows, in blocks and in float32


@pytest.mark.parametrize("origin", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_summed_far_from_the_origin_keeps_its_digits(origin, scale):
    rows, kernel = X * scale + origin, kernels.RBF(1.3 * scale)
    expected = np.exp(-kernel.gamma * cdist(rows, rows[:9], "sqeuclidean")).sum(axis=0)
    np.testing.assert_allclose(kernel.summed(rows, rows[:9]), expected, rtol=1e-10)


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


@pytest.mark.parametrize("columns", [3, 20])
@pytest.mark.parametrize("outer", [lambda kernel: kernel, kernels.Standardized])
def test_float32_rows_lose_a_millionth(columns, outer):
    rows = np.random.default_rng(1).normal(5.0, 2.0, size=(20_000, columns)).astype(np.float32)
    kernel = outer(kernels.RBF("modified_mean")).resolve(rows.astype(float))
    U = rows[:50].astype(float)
    r, expected = kernel.summed(rows, U), kernel(rows, U).sum(axis=0)
    assert r.dtype == np.float64
    np.testing.assert_allclose(r, expected, rtol=1e-6)
    assert np.abs(r / expected - 1).max() > 1e-12  # it is float32 that is tested


# functions of the user's


def test_a_function_as_a_kernel(monkeypatch):
    assert kernels.as_kernel(cauchy) == kernels.Custom(cauchy)
    assert kernels.Standardized(cauchy).kernel == kernels.Custom(cauchy)
    assert kernels.as_kernel(kernels.Linear()) == kernels.Linear()
    assert repr(kernels.Custom(cauchy)) == "Custom(function=cauchy)"
    for wrong in ("rbf", kernels.RBF, None, 1.0):
        for make in (kernels.as_kernel, kernels.Standardized):
            with pytest.raises(TypeError, match="kernel must be a kernel such as kernels.RBF"):
                make(wrong)
    monkeypatch.setattr("bsvdd.models.kernels.callable.BLOCK", 3)
    poly = kernels.Custom(lambda A, B: (A @ B.T + 1.0) ** 2)
    np.testing.assert_allclose(poly.diag(X), [(x @ x + 1.0) ** 2 for x in X], rtol=1e-13)
    wrong = kernels.Custom(lambda A, B: np.ones(len(A)))
    with pytest.raises(ValueError, match=re.escape("return shape (40, 25), but returned (40,)")):
        wrong(X, Y)
    broken = kernels.Custom(lambda A, B: np.full((len(A), len(B)), np.nan))
    with pytest.raises(ValueError, match="returned values that are not finite"):
        broken(X, Y)


NO_KERNELS = {
    "complex": (lambda A, B: cauchy(A, B) * (1 + 1j), "must return real values, but returned comp"),
    "asymmetric": (
        lambda A, B: cauchy(A, 2.0 * B),
        r"must be symmetric, but k\(x, y\) and k\(y, x\) differ: [\d.]+ and [\d.]+",
    ),
    "of other rows": (
        lambda A, B: cauchy(A / np.abs(A).max(), B / np.abs(B).max()),
        "a function of two rows alone, but .* depends on the other rows.*kernels.Standardized",
    ),
    "distance": (
        lambda A, B: cdist(A, B, "sqeuclidean"),
        r"eigenvalue -\d.*as those of a distance; .* use lambda A, B: np",
    ),
    "tanh": (
        lambda A, B: np.tanh(A @ B.T - 1.0),
        r"positive semi-definite, but its matrix of 30 training rows has the eigenvalue -\d.*RBF",
    ),
    "negative": (lambda A, B: -cauchy(A, B), "must be positive semi-definite"),
}


@pytest.mark.parametrize("inside", [kernels.as_kernel, kernels.Standardized])
@pytest.mark.parametrize("name", NO_KERNELS)
def test_a_function_that_is_no_kernel_is_refused_by_every_fit(name, inside):
    function, message = NO_KERNELS[name]
    with pytest.raises(ValueError, match=message):
        SVDD(kernel=inside(function)).fit(np.random.default_rng(2).normal(size=(30, 3)))


def test_a_kernel_class_of_a_user_is_checked_too():
    @dataclass(frozen=True)
    class Halved(kernels.Linear):
        def _diag(self, X):
            return super()._diag(X) / 2

    with pytest.raises(ValueError, match=r"diagonal that is not k\(x, x\): [\d.]+ and [\d.]+"):
        Halved().resolve(X)


# a matrix of the user's


def test_precomputed_rows_choose_their_entries():
    K, kernel = cauchy(X, X), kernels.Precomputed()
    rows = kernel.training_rows(K)
    np.testing.assert_array_equal(kernel(rows), K)
    np.testing.assert_array_equal(kernel(rows[[4, 1]], rows[[0, 6, 2]]), K[[4, 1]][:, [0, 6, 2]])
    np.testing.assert_array_equal(kernel.diag(rows[[3, 5]]), K[[3, 5], [3, 5]])
    new = kernel.new_rows(np.column_stack([cauchy(Y, X), np.arange(25.0)]), 40)
    np.testing.assert_array_equal(kernel(new, rows[2:4]), cauchy(Y, X)[:, 2:4])
    np.testing.assert_array_equal(kernel.diag(new), np.arange(25.0))
    for diagonal in (0.0, 0.5, 1, np.float32(1), np.int64(1)):
        known = kernels.Precomputed(diagonal=diagonal)
        new = known.new_rows(cauchy(Y, X), 40)
        np.testing.assert_array_equal(known.diag(new), np.full(25, diagonal))
        np.testing.assert_array_equal(new[:, -1], np.full(25, -1.0))  # no training row
        assert pickle.loads(pickle.dumps(known)) == known


def test_what_precomputed_refuses():
    kernel, K = kernels.Precomputed(), cauchy(X, X)
    with pytest.raises(ValueError, match=r"rows of 41 columns.*then k\(z, z\), got 40 columns"):
        kernel.new_rows(cauchy(Y, X), 40)
    with pytest.raises(ValueError, match="rows of 41 columns"):
        kernels.Precomputed(diagonal=1.0).new_rows(cauchy(Y, X)[:, :5], 40)
    with pytest.raises(ValueError, match=r"square matrix, got \(40, 25\)"):
        kernel.training_rows(cauchy(X, Y))
    K[2, 5] += 0.25
    with pytest.raises(ValueError, match=r"must be symmetric, but K\[2, 5\] = .* and K\[5, 2\] ="):
        kernel.training_rows(K)
    for diagonal in (-1, -0.5, "a", np.nan, np.inf, True, [1.0]):
        message = re.escape(f"diagonal must be None or a number of at least 0, got {diagonal!r}")
        with pytest.raises(ValueError, match=message):
            kernels.Precomputed(diagonal=diagonal)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("off", "error", "negative", "problem"),
    [
        *((0.0, 0.0, share, None if share < 1e-8 else "") for share in (5e-9, 2e-8, 0.3)),
        *((0.5, e, 0.0, None if e < 5e-9 else "symmetric") for e in (4e-9, 1e-8)),
        *((0.0, e, 0.0, None if e < 1e-10 else "symmetric") for e in (5e-11, 2e-10)),
    ],
)
def test_precomputed_may_be_asymmetric_or_negative_by_rounding_only(
    size, off, error, negative, problem
):
    """The smallest eigenvalue is in units of n times the largest entry."""
    K = np.diag([1.0, 1.0, 1.0, 1.0, -5 * negative if negative else 1.0])
    K[0, 2], K[2, 0] = off + error, off
    K *= size
    if problem is None:
        kernels.Precomputed().training_rows(K)
        return
    message = problem or re.escape(f"its smallest eigenvalue is {K[4, 4]:.6g}")
    with pytest.raises(ValueError, match=message):
        kernels.Precomputed().training_rows(K)


# categories


def test_a_factor_is_the_dot_product_of_indicators():
    """rho 1 1' + (1 - rho) [same] = F F' with F = [sqrt(rho), sqrt(1 - rho) indicators]."""
    rho, expected = 0.3, kernels.RBF(1.3)(X[:, [0, 2]])
    for c in (1, 3):
        indicators = (X[:, [c]] == np.unique(X[:, c])).astype(float)
        F = np.hstack([np.full((len(X), 1), rho**0.5), (1 - rho) ** 0.5 * indicators])
        expected = expected * (F @ F.T)
    np.testing.assert_allclose(of_columns(kernels.RBF(1.3)).resolve(X)(X), expected, rtol=1e-10)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        kernel = kernels.Mixed(kernels.RBF(3.0), rho=rng.uniform(0.01, 0.99), categorical=(1, 3))
        rows = np.concatenate([rng.normal(size=(40, 1)), X[:, 1:]], axis=1)
        assert np.linalg.eigvalsh(kernel.resolve(rows)(rows)).min() > 0


def test_an_unseen_category_differs_from_all_and_names_do_not_matter():
    kernel, z = of_columns(kernels.RBF(1.7)).resolve(X), X[:1].copy()
    z[0, 1] = 77.0
    np.testing.assert_allclose(kernel(z, X), by_loops(mixed(gauss), z, X), rtol=1e-12)
    assert kernel.diag(z) == 1.0
    inner, coded = kernels.Standardized(kernels.RBF("mean")), X.copy()
    coded[:, 1], coded[:, 3] = 1e6 * X[:, 1], -X[:, 3]  # other names of the same categories
    for rows in (X, coded):
        assert of_columns(inner).resolve(rows).kernel == inner.resolve(X[:, [0, 2]])


def test_inputs_have_indicators_of_the_categories_at_sqrt_2():
    kernel = of_columns(kernels.Standardized(kernels.Linear())).resolve(X)
    assert kernel.inputs(X).shape == (40, 2 + (3 + 1) + (5 + 1))
    z = X[[0, 0, 0]].copy()
    z[1, 1], z[2, 1] = (X[0, 1] + 1) % 3, 99.0
    a, b, unseen = kernel.inputs(z)
    distances = [np.linalg.norm(u - v) for u, v in ((a, b), (a, unseen), (b, unseen))]
    np.testing.assert_allclose(distances, np.sqrt(2.0))
    rows = np.column_stack([RNG.normal(size=300), np.repeat(np.arange(150.0), 2)])
    kernel = kernels.Mixed(kernels.RBF(1.0), categorical=(1,)).resolve(rows)
    assert kernel.inputs(rows).shape == (300, 1 + 100 + 1)  # the rarest share an indicator


MIXED = of_columns(kernels.RBF(1.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kernels.Polynomial(1.5), "degree must be a whole number of at least 1, got 1.5"),
        (lambda: kernels.Polynomial(np.inf), "degree must be a whole number"),
        (lambda: kernels.Polynomial(gamma=0), "gamma must be positive and finite, got 0"),
        (lambda: kernels.Polynomial(gamma=np.inf), "gamma must be positive"),
        (lambda: kernels.Polynomial(coef0=-1), "coef0 must be at least 0 and finite, got -1"),
        (lambda: kernels.Polynomial(coef0=np.inf), "coef0 must be at least 0"),
        (lambda: kernels.Polynomial(coef0="1"), "coef0 must be at least 0"),
        *(
            (lambda gamma=gamma: kernels.RBF.from_gamma(gamma), "gamma must be positive and fin")
            for gamma in (0.0, -1.0, np.nan, np.inf)
        ),
        (lambda: kernels.Standardized(kernels.RBF("nearest")), "bandwidth must be a positive num"),
        (lambda: kernels.Standardized(kernels.Precomputed()), "Standardized needs rows; a precom"),
        (lambda: kernels.Standardized()(X), r"no mean and scale yet; call kernel\.resolve"),
        (lambda: kernels.Standardized(kernels.Mixed()), "put it inside: kernels.Mixed"),
        (lambda: kernels.Mixed(rho=0.0), "rho must lie between 0 and 1"),
        (lambda: kernels.Mixed(rho=1.0), "rho must lie between 0 and 1"),
        (lambda: kernels.Mixed(categorical=("a",)), "get_loc"),
        (lambda: kernels.Mixed(categorical=-1), "whole numbers of at least 0"),
        (lambda: kernels.Mixed(kernels.Precomputed()), "no columns"),
        (lambda: kernels.Mixed(kernels.Mixed()), "needs a kernel of numbers"),
        (lambda: kernels.Mixed().resolve(X), "name their positions, kernels.Mixed"),
        (lambda: kernels.Mixed(categorical=9).resolve(X), "9 is no column of X, which has 4"),
        (lambda: kernels.Mixed(categorical=range(4)).resolve(X), "all columns of X are categ"),
        (lambda: kernels.Mixed(categorical=1).inputs(X), "call kernel.resolve"),
        (lambda: choose(MIXED.resolve(X), X, Landmarks(5, "kmeans"), 0), "'leverage'"),
    ],
)
def test_what_kernels_refuse(make, message):
    with pytest.raises(ValueError, match=message):
        make()
