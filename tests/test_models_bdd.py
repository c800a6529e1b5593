"""BDD against its closed form and its optimality conditions."""

import numpy as np
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd
from scipy.optimize import minimize

from bsvdd import kernels, priors

SCALE = 2.5  # lambda
PRIOR = priors.RowSum(sd=0.7, exponent=0.5)


@pytest.fixture(scope="module")
def truth(toy_gram):
    """Mean and covariance of the posterior, by inverses."""
    precision = SCALE * toy_gram.n0 * toy_gram.K + np.eye(8) / 0.7**2
    covariance = np.linalg.inv(precision)
    m = -np.sqrt(toy_gram.K.sum(axis=1))
    return covariance @ (SCALE * toy_gram.r + m / 0.7**2), covariance


def test_map_solves_the_linear_system(toy_gram):
    mean, upper = bdd.posterior(toy_gram, PRIOR, SCALE)
    left = SCALE * toy_gram.n0 * toy_gram.K @ mean + mean / 0.7**2
    right = SCALE * toy_gram.r - np.sqrt(toy_gram.K.sum(axis=1)) / 0.7**2
    np.testing.assert_allclose(left, right, rtol=1e-8)
    np.testing.assert_allclose(upper.T @ upper, SCALE * 8 * toy_gram.K + np.eye(8) / 0.49)


def test_map_is_the_mode_of_prior_and_potential(toy_gram):
    """By a general optimiser on the log density as it is defined, not on its algebra."""
    m = -np.sqrt(toy_gram.K.sum(axis=1))

    def minus_log_density(a):
        d2 = np.diag(toy_gram.K) - 2 * a @ toy_gram.K + a @ toy_gram.K @ a
        return SCALE / 2 * d2.sum() + ((a - m) ** 2).sum() / (2 * 0.49)

    found = minimize(minus_log_density, np.zeros(8), tol=1e-10)
    np.testing.assert_allclose(bdd.posterior(toy_gram, PRIOR, SCALE)[0], found.x, atol=1e-4)


def test_sum_of_the_weights_is_free(toy_gram):
    mean, _ = bdd.posterior(toy_gram, priors.Flat())
    assert abs(mean.sum() - 1) > 1e-3


def test_exact_draws_have_the_moments(toy_gram, truth, worst_z):
    mean, covariance = truth
    rng = np.random.default_rng(1)
    draws = bdd.draw(*bdd.posterior(toy_gram, PRIOR, SCALE), 8000, rng).reshape(4, 2000, 8)
    error = draws - mean
    assert worst_z(draws, mean) < 4.5
    assert worst_z(error[..., :, None] * error[..., None, :], covariance) < 4.5


def test_nuts_draws_have_the_moments(toy_gram, truth, worst_z):
    mean, covariance = truth
    model = bdd.build(toy_gram, PRIOR, SCALE)
    tree = sample(model, "nuts", draws=2000, tune=500, chains=2, seed=2)
    draws = tree["posterior"]["w"].values
    error = draws - mean
    assert worst_z(draws, mean) < 4.5
    assert worst_z(error[..., :, None] * error[..., None, :], covariance) < 4.5


@pytest.mark.parametrize("scale", [0.1, 1.0, 25.0])
@pytest.mark.parametrize("prior", [PRIOR, priors.StandardizedRowSum(0.5)], ids=repr)
def test_simplex_mode_meets_its_optimality_conditions(prior, scale):
    """Gradient of minus the log density: one level on the support, not smaller off it."""
    rows = np.random.default_rng(3).normal(size=(30, 2))
    gram = Gram.from_rows(kernels.RBF(0.9), rows)
    w = bdd.simplex_map(gram, prior, scale)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert w.min() >= 0
    gradient = scale * (30 * gram.K @ w - gram.r) + (w - prior.mean(gram)) / prior.sd**2
    tolerance = 1e-7 * np.abs(scale * 30 * gram.K).max() + 1e-7 / prior.sd**2
    support = w > 1e-8
    level = gradient[support].mean()
    np.testing.assert_allclose(gradient[support], level, atol=tolerance)
    assert (gradient[~support] >= level - tolerance).all()
    assert support.sum() > 0


def test_closed_form_needs_a_normal_prior(toy_gram):
    with pytest.raises(TypeError, match=r"needs a normal prior .*; sample it with sampler='nuts'"):
        bdd.posterior(toy_gram, lambda gram, name, dims: None)
