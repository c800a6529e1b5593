"""Kernels against their formulas, written as double loops."""

import copy
import math
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest

from bsvdd import SVDD, kernels

RNG = np.random.default_rng(1)
X = RNG.normal(size=(7, 3))
Y = RNG.normal(size=(5, 3))
RNG_FAR = np.random.default_rng(8)


def custom(A, B):
    """A kernel of the user's: Cauchy, 1 / (1 + d^2)."""
    return 1.0 / (1.0 + ((A[:, None] - B[None]) ** 2).sum(axis=-1))


FORMULAS = [
    (kernels.RBF(1.7), lambda x, y: math.exp(-sum((x - y) ** 2) / (2 * 1.7**2))),
    (kernels.RBF.from_gamma(0.3), lambda x, y: math.exp(-0.3 * sum((x - y) ** 2))),
    (kernels.Laplacian(0.8), lambda x, y: math.exp(-sum(abs(x - y)) / 0.8)),
    (kernels.Linear(), lambda x, y: sum(x * y)),
    (kernels.Polynomial(3, gamma=0.5, coef0=2.0), lambda x, y: (0.5 * sum(x * y) + 2.0) ** 3),
    (kernels.Polynomial(), lambda x, y: (sum(x * y) + 1.0) ** 2),
    (kernels.Custom(custom), lambda x, y: 1.0 / (1.0 + sum((x - y) ** 2))),
]
KERNELS = [kernel for kernel, _ in FORMULAS]


def by_loops(k, A, B):
    return np.array([[k(a, b) for b in B] for a in A])


@pytest.mark.parametrize(("kernel", "k"), FORMULAS, ids=[repr(k) for k in KERNELS])
def test_matrix_and_diagonal_are_the_formula(kernel, k):
    np.testing.assert_allclose(kernel(X, Y), by_loops(k, X, Y), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), by_loops(k, X, X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(X), [k(x, x) for x in X], rtol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_matrix_of_one_set_is_exactly_symmetric_and_psd(kernel):
    K = kernel(np.random.default_rng(2).normal(size=(40, 3)))
    np.testing.assert_array_equal(K, K.T)
    values = np.linalg.eigvalsh(K)
    assert values.min() > -1e-10 * values.max()


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_rows_must_be_tables(kernel):
    with pytest.raises(ValueError, match=r"X must be a table \(rows, columns\), got 1"):
        kernel(X[0])
    with pytest.raises(ValueError, match=r"Y must be a table \(rows, columns\), got 1"):
        kernel(X, Y[0])
    with pytest.raises(ValueError, match="X must be a table"):
        kernel.diag(X[0])


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_columns_must_agree(kernel):
    with pytest.raises(ValueError, match="same number of columns, got 3 and 2"):
        kernel(X, Y[:, :2])


def test_gamma_and_bandwidth_convert():
    assert kernels.RBF(2.0).gamma == 1 / 8
    assert kernels.RBF.from_gamma(1 / 8).bandwidth == pytest.approx(2.0, rel=1e-15)
    assert kernels.RBF.from_gamma(0.37).gamma == pytest.approx(0.37, rel=1e-15)
    assert kernels.Laplacian(4.0).gamma == 0.25


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, np.inf])
def test_from_gamma_wants_a_positive_number(gamma):
    with pytest.raises(ValueError, match="gamma must be positive and finite, got"):
        kernels.RBF.from_gamma(gamma)


@pytest.mark.parametrize("kernel", [kernels.RBF(1.0), kernels.Laplacian(1.0)], ids=repr)
def test_translation_changes_no_distance(kernel):
    # steps of 1/1024 are exact even beside 1e6, so that only the kernel can lose digits
    A, B = np.round(X * 1024) / 1024, np.round(Y * 1024) / 1024
    np.testing.assert_allclose(kernel(A + 1e6, B + 1e6), kernel(A, B), rtol=1e-12)
    np.testing.assert_allclose(kernel(A + 1e6), kernel(A), rtol=1e-12)


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_rbf_of_rows_far_apart_for_their_bandwidth(shift):
    """Two clusters 1e7 apart, bandwidth 1: the product form of the distances has no digit left."""
    steps = np.round(RNG_FAR.normal(size=(24, 3)) * 1024) / 1024
    rows = steps + np.repeat([[0.0], [1e7]], 12, axis=0) + shift
    others = rows[::3] + 0.25
    kernel = kernels.RBF(1.0)

    def k(x, y):
        return math.exp(-sum((x - y) ** 2) / 2)

    K = kernel(rows)
    np.testing.assert_allclose(K, by_loops(k, rows, rows), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(kernel(rows, others), by_loops(k, rows, others), atol=1e-10)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), np.ones(24))
    assert np.linalg.eigvalsh(K).min() > -1e-10
    assert 0.01 < K[0, 1:12].max() < 1  # rows of one cluster do see each other


@pytest.mark.parametrize("spread", [1e2, 1e4, 1e6, 1e8])
def test_rbf_keeps_its_digits_on_both_sides_of_the_fallback(spread):
    steps = np.round(RNG_FAR.normal(size=(20, 2)) * 1024) / 1024
    rows = steps + np.repeat([[-spread], [spread]], 10, axis=0)

    def k(x, y):
        return math.exp(-sum((x - y) ** 2) / (2 * 1.3**2))

    kernel, more = kernels.RBF(1.3), rows[:7] + 0.125
    np.testing.assert_allclose(kernel(rows), by_loops(k, rows, rows), atol=1e-9)
    np.testing.assert_allclose(kernel(rows, more), by_loops(k, rows, more), atol=1e-9)


@pytest.mark.parametrize("bandwidth", ["nearest", 0, -1.0, np.nan, None], ids=repr)
def test_a_bad_bandwidth_is_refused_when_the_kernel_is_made(bandwidth):
    message = rf"bandwidth must be a positive number or one of \[.*\], got {bandwidth!r}$"
    for make in (kernels.RBF, kernels.Laplacian, lambda b: kernels.Standardized(kernels.RBF(b))):
        with pytest.raises(ValueError, match=message):
            make(bandwidth)


def test_standardized_needs_rows():
    with pytest.raises(ValueError, match="Standardized needs rows; a precomputed kernel has no"):
        kernels.Standardized(kernels.Precomputed())
    with pytest.raises(TypeError, match="kernel must be a kernel such as kernels.RBF"):
        kernels.Standardized("rbf")


@pytest.mark.parametrize("diagonal", [-1, -0.5, "a", np.nan, np.inf, True, [1.0]], ids=repr)
def test_diagonal_of_precomputed_is_a_squared_norm(diagonal):
    message = re.escape(f"diagonal must be None or a number of at least 0, got {diagonal!r}")
    with pytest.raises(ValueError, match=message):
        kernels.Precomputed(diagonal=diagonal)


@pytest.mark.parametrize("diagonal", [np.float32(1), np.int64(1), 1, 1.0], ids=repr)
def test_any_number_is_a_diagonal(diagonal):
    kernel = kernels.Precomputed(diagonal=diagonal)
    np.testing.assert_array_equal(kernel.diag(kernel.new_rows(custom(Y, X), 7)), np.ones(5))


@pytest.mark.parametrize("inner", [kernels.RBF("median"), kernels.Linear(), custom])
def test_standardized_is_the_kernel_of_standardized_columns(inner):
    rows = X * [1.0, 50.0, 1e-3] + [5.0, -2.0, 0.1]
    more = Y * [1.0, 50.0, 1e-3] + [5.0, -2.0, 0.1]
    mean, sd = rows.mean(axis=0), rows.std(axis=0)
    kernel = kernels.Standardized(inner).resolve(rows)
    Z, V = (rows - mean) / sd, (more - mean) / sd
    plain = kernels.as_kernel(inner).resolve(Z)
    np.testing.assert_allclose(kernel(rows), plain(Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(more, rows), plain(V, Z), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(more), plain.diag(V), rtol=1e-12)
    with pytest.raises(ValueError, match=r"no mean and scale yet; call kernel\.resolve"):
        kernels.Standardized(inner)(rows)


def test_unresolved_bandwidth_asks_for_resolve():
    with pytest.raises(ValueError, match=r"'median' is not a number yet; call kernel\.resolve"):
        kernels.RBF("median")(X)


@pytest.mark.parametrize("cls", [kernels.RBF, kernels.Laplacian])
def test_resolve_fills_in_the_number_and_remembers_its_criterion(cls):
    fitted = cls("median").resolve(X)
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]
    assert fitted.bandwidth == pytest.approx(np.median(pairs), rel=1e-12)
    assert fitted.criterion == "median"
    assert fitted.resolve(10 * X) == fitted  # a number stays
    for part in (f"{fitted.bandwidth:.6g}", "'median'", f"{fitted.gamma:.6g}"):
        assert part in repr(fitted)


def test_polynomial_checks_its_numbers():
    with pytest.raises(ValueError, match="degree must be a whole number of at least 1, got 1.5"):
        kernels.Polynomial(1.5)
    with pytest.raises(ValueError, match="gamma must be positive and finite, got 0"):
        kernels.Polynomial(gamma=0)
    with pytest.raises(ValueError, match="coef0 must be at least 0 and finite, got -1"):
        kernels.Polynomial(coef0=-1)
    for wrong in ({"degree": np.inf}, {"gamma": np.inf}, {"coef0": np.inf}, {"coef0": "1"}):
        with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
            kernels.Polynomial(**wrong)


def test_the_smallest_polynomial_is_linear():
    K = kernels.Polynomial(1, gamma=1.0, coef0=0.0)(X, Y)
    np.testing.assert_allclose(K, kernels.Linear()(X, Y), rtol=1e-14)


def test_reprs_say_type_and_numbers():
    assert repr(kernels.RBF(2.0)) == "RBF(bandwidth=2, gamma=0.125)"
    assert repr(kernels.Laplacian(2.0)) == "Laplacian(bandwidth=2, gamma=0.5)"
    assert repr(kernels.Custom(custom)) == "Custom(function=custom)"


@pytest.mark.parametrize("kernel", [*KERNELS, kernels.Precomputed(1.0)], ids=repr)
def test_a_kernel_is_a_value(kernel):
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        assert twin == kernel
        assert hash(twin) == hash(kernel)
        assert repr(twin) == repr(kernel)


def test_standardized_takes_a_function():
    assert kernels.Standardized(custom).kernel == kernels.Custom(custom)


def test_custom_must_return_the_matrix():
    wrong = kernels.Custom(lambda A, B: np.ones(len(A)))
    with pytest.raises(ValueError, match=re.escape("must return shape (7, 5), but returned (7,)")):
        wrong(X, Y)
    broken = kernels.Custom(lambda A, B: np.full((len(A), len(B)), np.nan))
    with pytest.raises(ValueError, match="returned values that are not finite"):
        broken(X, Y)


def squared_distance(A, B):
    return ((A[:, None] - B[None]) ** 2).sum(axis=-1)


NO_KERNELS = {
    "complex": (lambda A, B: custom(A, B) * (1 + 1j), "must return real values, but returned comp"),
    "asymmetric": (
        lambda A, B: custom(A, 2.0 * B),
        r"must be symmetric, but k\(x, y\) and k\(y, x\) differ: [\d.]+ and [\d.]+",
    ),
    "of other rows": (
        lambda A, B: custom(A / np.abs(A).max(), B / np.abs(B).max()),
        "a function of two rows alone, but .* depends on the other rows.*kernels.Standardized",
    ),
    "distance": (
        squared_distance,
        r"eigenvalue -\d.*as those of a distance; .* use lambda A, B: np",
    ),
    "tanh": (
        lambda A, B: np.tanh(A @ B.T - 1.0),
        r"positive semi-definite, but its matrix of 30 training rows has the eigenvalue -\d.*RBF",
    ),
    "negative": (lambda A, B: -custom(A, B), "must be positive semi-definite"),
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


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e8])
def test_a_kernel_is_accepted_for_rows_of_any_scale_and_equal_rows(kernel, scale):
    rows = np.random.default_rng(2).normal(size=(150, 3)) * scale
    for these in (rows, rows[:1], np.repeat(rows[:3], 50, axis=0), rows + 1e3 * scale):
        kernel.resolve(these)


def test_custom_diagonal_is_taken_in_blocks(monkeypatch):
    monkeypatch.setattr("bsvdd.models.kernels.callable.BLOCK", 3)
    poly = kernels.Custom(lambda A, B: (A @ B.T + 1.0) ** 2)
    np.testing.assert_allclose(poly.diag(X), [(x @ x + 1.0) ** 2 for x in X], rtol=1e-13)


def test_as_kernel():
    assert kernels.as_kernel(custom) == kernels.Custom(custom)
    assert kernels.as_kernel(kernels.Linear()) == kernels.Linear()
    for wrong in ("rbf", kernels.RBF, None, 1.0):
        with pytest.raises(TypeError, match="kernel must be a kernel such as kernels.RBF"):
            kernels.as_kernel(wrong)


def test_precomputed_rows_choose_their_entries():
    K = custom(X, X)
    rows = kernels.Precomputed().training_rows(K)
    kernel = kernels.Precomputed()
    np.testing.assert_array_equal(kernel(rows), K)
    np.testing.assert_array_equal(kernel(rows[[4, 1]], rows[[0, 6, 2]]), K[[4, 1]][:, [0, 6, 2]])
    np.testing.assert_array_equal(kernel.diag(rows[[3, 5]]), K[[3, 5], [3, 5]])


def test_precomputed_new_rows_bring_their_own_norm():
    kernel = kernels.Precomputed()
    rows = kernel.training_rows(custom(X, X))
    new = kernel.new_rows(np.column_stack([custom(Y, X), np.arange(5.0)]), 7)
    np.testing.assert_array_equal(kernel(new, rows[2:4]), custom(Y, X)[:, 2:4])
    np.testing.assert_array_equal(kernel.diag(new), np.arange(5.0))


def test_precomputed_needs_k_zz():
    with pytest.raises(ValueError, match=r"rows of 8 columns.*then k\(z, z\), got 7 columns"):
        kernels.Precomputed().new_rows(custom(Y, X), 7)
    for diagonal in (0.0, 0.5, 1.0):
        known = kernels.Precomputed(diagonal=diagonal)
        rows = known.new_rows(custom(Y, X), 7)
        np.testing.assert_array_equal(known.diag(rows), np.full(5, diagonal))
        np.testing.assert_array_equal(rows[:, -1], np.full(5, -1.0))  # no training row
    with pytest.raises(ValueError, match="rows of 8 columns"):
        known.new_rows(custom(Y, X)[:, :5], 7)


def test_precomputed_must_be_square_and_symmetric():
    with pytest.raises(ValueError, match=r"square matrix, got \(7, 5\)"):
        kernels.Precomputed().training_rows(custom(X, Y))
    K = custom(X, X)
    K[2, 5] += 0.25
    with pytest.raises(ValueError, match=r"must be symmetric, but K\[2, 5\] = .* and K\[5, 2\] ="):
        kernels.Precomputed().training_rows(K)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("share", "accepted"), [(5e-9, True), (2e-8, False), (0.3, False)])
def test_precomputed_may_be_negative_by_rounding_only(size, share, accepted):
    """The smallest eigenvalue in units of n times the largest entry."""
    K = size * np.diag([1.0, 1.0, 1.0, 1.0, -5 * share])
    if accepted:
        kernels.Precomputed().training_rows(K)
    else:
        message = re.escape(f"its smallest eigenvalue is {K[4, 4]:.6g}")
        with pytest.raises(ValueError, match=message):
            kernels.Precomputed().training_rows(K)


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(
    ("entry", "error", "accepted"),
    [(0.5, 4e-9, True), (0.5, 1e-8, False), (0.0, 5e-11, True), (0.0, 2e-10, False)],
)
def test_precomputed_may_be_asymmetric_by_rounding_only(size, entry, error, accepted):
    K = np.diag([1.0, 1.0, 1.0])
    K[0, 2] = K[2, 0] = entry
    K[0, 2] += error
    K *= size
    if accepted:
        kernels.Precomputed().training_rows(K)
    else:
        with pytest.raises(ValueError, match="must be symmetric"):
            kernels.Precomputed().training_rows(K)


@pytest.mark.parametrize(
    "kernel",
    [
        kernels.RBF(0.7),
        kernels.Laplacian(0.7),
        kernels.Standardized(kernels.RBF(0.7)),
        kernels.Standardized(kernels.Laplacian(0.7)),
    ],
    ids=repr,
)
def test_the_logarithm_is_that_of_the_kernel_and_does_not_underflow(kernel):
    rows = np.random.default_rng(95).normal(size=(9, 3)) * [1.0, 20.0, 0.1]
    kernel = kernel.resolve(rows)
    assert kernel.normalized
    near = rows[:4] + 0.05
    np.testing.assert_allclose(np.exp(kernel.log(near, rows)), kernel(near, rows), rtol=1e-9)
    far = rows[:2] + 1e5
    assert kernel(far, rows).max() == 0.0
    ratio = kernel.log(rows[:2] + 2e5, rows) / kernel.log(far, rows)
    power = 2 if "RBF" in repr(kernel) else 1  # of the distance in the exponent
    np.testing.assert_allclose(ratio, 2.0**power, rtol=1e-2)


@pytest.mark.parametrize("kernel", [kernels.Linear(), kernels.Polynomial(2)], ids=repr)
def test_a_kernel_of_products_has_no_logarithm(kernel):
    assert not kernel.normalized
    assert not kernels.Standardized(kernel).normalized
    with pytest.raises(NotImplementedError, match="has no logarithm"):
        kernel.log(np.ones((2, 2)), np.ones((2, 2)))


@pytest.mark.parametrize("kernel", [kernels.RBF(1.7), kernels.Laplacian(0.8)], ids=repr)
def test_the_costs_of_columns_are_those_of_one_column_and_add_up(kernel):
    for each in (kernel, kernels.Standardized(kernel).resolve(X)):
        assert each.separable
        costs = [cost.copy() for cost in each.by_column(X, Y)]
        np.testing.assert_allclose(sum(costs), -each.log(X, Y), rtol=1e-12)
        inside = kernel(each.inputs(X)[:, :1], each.inputs(Y)[:, :1])
        np.testing.assert_allclose(costs[0], -np.log(inside), rtol=1e-9, atol=1e-12)


def test_gaussian_rates_are_those_of_the_exponent():
    scaled = kernels.Standardized(kernels.RBF(1.7)).resolve(X * [1.0, 9.0, 0.1])
    for kernel in (kernels.RBF(1.7), scaled):
        rates = kernel.gaussian_rates(3)
        exponent = (rates * (X[:, None] - Y) ** 2).sum(axis=2)
        np.testing.assert_allclose(exponent, -kernel.log(X, Y), rtol=1e-12)
    assert kernels.Laplacian(1.0).gaussian_rates(3) is None
    assert kernels.Standardized(kernels.Linear()).resolve(X).gaussian_rates(3) is None


def test_other_kernels_are_no_products():
    for kernel in (kernels.Linear(), kernels.Polynomial(), kernels.Custom(custom)):
        assert not kernel.separable
        with pytest.raises(NotImplementedError, match="no product over columns"):
            kernel.by_column(X, Y)
        assert kernel.euclidean == isinstance(kernel, kernels.Linear)
    nested = kernels.Standardized(kernels.Standardized(kernels.Linear())).resolve(X)
    assert nested.euclidean
    np.testing.assert_allclose(nested(X, Y), nested.inputs(X) @ nested.inputs(Y).T, rtol=1e-12)
