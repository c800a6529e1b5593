"""The kernel of numbers and categories against products of matrices and indicators."""

import numpy as np
import pytest
from bsvdd.models.landmarks import Landmarks, choose

from bsvdd import kernels

RNG = np.random.default_rng(3)


def table(n, rng=RNG):
    """Numbers in columns 0 and 2, categories in 1 and 3."""
    rows = rng.normal(size=(n, 4))
    rows[:, 1], rows[:, 3] = rng.integers(0, 3, n), rng.integers(0, 5, n) - 0.5
    return rows


X, Y = table(40), table(25)
INNER = [
    kernels.RBF(1.3),
    kernels.Laplacian(0.8),
    kernels.Linear(),
    kernels.Standardized(kernels.RBF("mean")),
]


def mixed(inner, rho=0.3):
    return kernels.Mixed(inner, rho=rho, categorical=(1, 3)).resolve(X)


@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_it_is_the_product_of_its_kernels(inner):
    kernel, of_numbers = mixed(inner), inner.resolve(X[:, [0, 2]])
    expected = of_numbers(X[:, [0, 2]], Y[:, [0, 2]])
    for c in (1, 3):
        expected = expected * np.where(X[:, [c]] == Y[:, c], 1.0, 0.3)
    np.testing.assert_allclose(kernel(X, Y), expected, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), kernel(X, X), rtol=1e-12, atol=1e-13)
    np.testing.assert_array_equal(kernel(X), kernel(X).T)
    np.testing.assert_allclose(kernel.diag(X), of_numbers.diag(X[:, [0, 2]]), rtol=1e-14)
    np.testing.assert_allclose(kernel.summed(X, Y), kernel(X, Y).sum(axis=0), rtol=1e-12)


def test_a_factor_is_the_dot_product_of_indicators():
    """rho 1 1' + (1 - rho) [same] = F F' with F = [sqrt(rho), sqrt(1 - rho) indicators]."""
    rho = 0.3
    expected = kernels.RBF(1.3)(X[:, [0, 2]])
    for c in (1, 3):
        indicators = (X[:, [c]] == np.unique(X[:, c])).astype(float)
        F = np.hstack([np.full((len(X), 1), rho**0.5), (1 - rho) ** 0.5 * indicators])
        expected = expected * (F @ F.T)
    np.testing.assert_allclose(mixed(kernels.RBF(1.3), rho)(X), expected, rtol=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_random_tables_have_positive_definite_matrices(seed):
    rng = np.random.default_rng(seed)
    rows = table(60, rng)
    kernel = kernels.Mixed(kernels.RBF(3.0), rho=rng.uniform(0.01, 0.99), categorical=(1, 3))
    assert np.linalg.eigvalsh(kernel.resolve(rows)(rows)).min() > 0


@pytest.mark.parametrize(
    "inner", [kernels.RBF(1.3), kernels.Laplacian(0.8), kernels.Standardized()]
)
def test_logarithm_and_its_columns(inner):
    kernel = mixed(inner)
    np.testing.assert_allclose(kernel.log(X, Y), np.log(kernel(X, Y)), rtol=1e-10, atol=1e-12)
    costs = [cost.copy() for cost in kernel.by_column(X, Y)]
    assert len(costs) == 4
    np.testing.assert_allclose(-sum(costs), kernel.log(X, Y), rtol=1e-12)
    np.testing.assert_allclose(costs[1], -np.log(0.3) * (X[:, [1]] != Y[:, 1]))


def test_an_unseen_category_differs_from_all():
    kernel, z = mixed(kernels.RBF(1.3)), X[:1].copy()
    z[0, 1] = 77.0
    np.testing.assert_allclose(
        kernel(z, X),
        kernels.RBF(1.3)(z[:, [0, 2]], X[:, [0, 2]])
        * 0.3
        * np.where(z[:, [3]] == X[:, 3], 1.0, 0.3),
    )
    assert kernel.diag(z) == 1.0


def test_bandwidth_and_scaling_see_the_numbers_only():
    inner = kernels.Standardized(kernels.RBF("mean"))
    coded = X.copy()
    coded[:, 1], coded[:, 3] = 1e6 * X[:, 1], -X[:, 3]  # other names of the same categories
    expected = inner.resolve(X[:, [0, 2]])
    for rows in (X, coded):
        assert kernels.Mixed(inner, categorical=(1, 3)).resolve(rows).kernel == expected


def test_inputs_have_indicators_of_the_categories_at_sqrt_2():
    kernel = mixed(kernels.Standardized(kernels.Linear()))
    inputs = kernel.inputs(X)
    assert inputs.shape == (40, 2 + (3 + 1) + (5 + 1))
    z = X[[0, 0, 0]].copy()
    z[1, 1], z[2, 1] = (X[0, 1] + 1) % 3, 99.0
    a, b, unseen = kernel.inputs(z)
    distances = [np.linalg.norm(u - v) for u, v in ((a, b), (a, unseen), (b, unseen))]
    np.testing.assert_allclose(distances, np.sqrt(2.0))


def test_the_rarest_categories_share_an_indicator():
    rows = np.column_stack([RNG.normal(size=300), np.repeat(np.arange(150.0), 2)])
    kernel = kernels.Mixed(kernels.RBF(1.0), categorical=(1,)).resolve(rows)
    assert kernel.inputs(rows).shape == (300, 1 + 100 + 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: kernels.Mixed(rho=0.0), "rho must lie between 0 and 1"),
        (lambda: kernels.Mixed(rho=1.0), "rho must lie between 0 and 1"),
        (lambda: kernels.Mixed(categorical=("a",)), "get_loc"),
        (lambda: kernels.Mixed(categorical=-1), "whole numbers of at least 0"),
        (lambda: kernels.Mixed(kernels.Precomputed()), "no columns"),
        (lambda: kernels.Mixed(kernels.Mixed()), "needs a kernel of numbers"),
        (lambda: kernels.Standardized(kernels.Mixed()), "put it inside: kernels.Mixed"),
        (lambda: kernels.Mixed().resolve(X), "name their positions, kernels.Mixed"),
        (lambda: kernels.Mixed(categorical=9).resolve(X), "9 is no column of X, which has 4"),
        (lambda: kernels.Mixed(categorical=range(4)).resolve(X), "all columns of X are categ"),
        (lambda: kernels.Mixed(categorical=1).inputs(X), "call kernel.resolve"),
        (lambda: choose(mixed(kernels.RBF(1.0)), X, Landmarks(5, "kmeans"), 0), "'leverage'"),
    ],
)
def test_what_it_refuses(make, message):
    with pytest.raises(ValueError, match=message):
        make()
