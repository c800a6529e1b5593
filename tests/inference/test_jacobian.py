"""The derivatives of the weights as a diagonal and an outer product."""

import numpy as np
import pytest
from bsvdd.inference.jacobian import DiagonalAndOuter
from bsvdd.inference.log_density import LogDensity
from bsvdd.models import Gram, bsvdd, bsvdd_m
from scipy.special import softmax

from bsvdd import kernels, priors

RNG = np.random.default_rng(90)
ROWS = RNG.normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
GRAM_M = Gram.from_rows(kernels.RBF(1.0), ROWS, RNG.normal(1.5, 1.0, size=(4, 2)))


def products_of(J):
    return lambda u, v: (J @ v, J.T @ u)


def matrix(parts):
    return np.diag(parts.d) + np.outer(parts.u, parts.v)


@pytest.mark.parametrize("n", [3, 4, 30])
def test_the_parts_of_a_known_matrix(n):
    d, u, v = RNG.normal(size=(3, n))
    J = np.diag(d) + np.outer(u, v)
    np.testing.assert_allclose(matrix(DiagonalAndOuter.of(products_of(J), n)), J, atol=1e-11)


def test_a_softmax_has_this_form():
    w = softmax(RNG.normal(size=20) * 4)
    J = np.diag(w) - np.outer(w, w)
    np.testing.assert_allclose(matrix(DiagonalAndOuter.of(products_of(J), 20)), J, atol=1e-15)


def test_a_diagonal_has_this_form():
    found = DiagonalAndOuter.of(products_of(np.diag(np.arange(5.0))), 5)
    np.testing.assert_array_equal(matrix(found), np.diag(np.arange(5.0)))


@pytest.mark.parametrize("defect", [(0, 1), (7, 3), (11, 10)])
def test_one_other_entry_is_another_form(defect):
    w = softmax(RNG.normal(size=12))
    J = np.diag(w) - np.outer(w, w)
    J[defect] += 1e-8
    assert DiagonalAndOuter.of(products_of(J), 12) is None


@pytest.mark.parametrize("n", [1, 2])
def test_two_weights_do_not_determine_the_parts(n):
    assert DiagonalAndOuter.of(products_of(np.ones((n, n))), n) is None


def test_no_number_is_another_form():
    assert DiagonalAndOuter.of(products_of(np.full((5, 5), np.nan)), 5) is None


def test_a_congruence_is_that_of_the_whole_matrix(monkeypatch):
    monkeypatch.setattr("bsvdd.inference.jacobian.BLOCK", 5)
    d, u, v = RNG.normal(size=(3, 12))
    H = RNG.normal(size=(12, 12))
    J = np.diag(d) + np.outer(u, v)
    expected = H - 3.0 * J.T @ GRAM.K @ J
    DiagonalAndOuter(d, u, v).add_congruence(H, GRAM.K, -3.0)
    np.testing.assert_allclose(H, expected, rtol=1e-11, atol=1e-11)


MODELS = {
    "bsvdd": lambda: bsvdd.build(GRAM, priors.StandardizedRowSum(), 2.0),
    "correlated": lambda: bsvdd.build(GRAM, priors.Normal(sigma=np.eye(12) + 0.5), 2.0),
    "function": lambda: bsvdd.build(GRAM, student_t),
    "bsvdd_m": lambda: bsvdd_m.build(GRAM_M, priors.Flat(), priors.Beta(2, 3), 2.0),
    "bsvdd_m, a total": lambda: bsvdd_m.build(GRAM_M, priors.Flat(), priors.Beta(total=1), 9.0),
}


def student_t(gram, name, dims):
    import pymc as pm

    return pm.StudentT(name, nu=3, dims=dims)


@pytest.mark.parametrize("name", MODELS)
def test_second_derivatives_by_the_parts_are_those_by_products(name, monkeypatch):
    density = LogDensity(MODELS[name]())
    x = np.random.default_rng(91).normal(size=density.size)
    H, counted = density.hessian(x), density.products
    assert counted == 2
    monkeypatch.setattr(DiagonalAndOuter, "of", lambda products, n: None)
    expected = density.hessian(x)
    assert density.products == counted + density.size
    np.testing.assert_allclose(H, expected, rtol=1e-12, atol=1e-13 * np.abs(expected).max())


def test_parameters_beside_those_of_the_weights_take_products():
    """A scale of the prior that is a variable too: more parameters than weights."""
    import pymc as pm

    def hierarchical(gram, name, dims):
        sd = pm.HalfNormal(f"{name}_sd", 1.0)
        return pm.Normal(name, 0.0, sd, dims=dims)

    density = LogDensity(bsvdd.build(GRAM, hierarchical))
    x = np.random.default_rng(92).normal(size=13)
    H = density.hessian(x)
    assert density.products == 13
    slopes = [
        (density.logp_and_gradient(x + e)[1] - density.logp_and_gradient(x - e)[1]) / 2e-5
        for e in 1e-5 * np.eye(13)
    ]
    np.testing.assert_allclose(H, slopes, atol=1e-6 * np.abs(H).max())
