"""BDD against inverses, a general solver and refits without each row."""

import numpy as np
import pytest
from bsvdd.models import Gram
from bsvdd.models.bdd import NormalPosterior
from scipy.stats import multivariate_normal

from bsvdd import kernels, priors
from tests.cases import covariance

from .helpers import moments_z, quadratic_program, without, z_of, z_of_moments

RNG = np.random.default_rng(5)
N = 12
ROWS = RNG.normal(size=(N, 2)) * [1.0, 1.6] + 0.4
RBF, QUADRATIC = kernels.RBF(1.1), kernels.Polynomial(2, gamma=0.5)
ROW_SUM = priors.RowSum(sd=0.7, exponent=0.5)  # whose mean is that of all rows
CORRELATED = priors.Normal(sd=0.8, m=RNG.normal(size=N), sigma=covariance(10, N))
CASES = [
    (RBF, priors.Flat(0.6), 1.0),
    (QUADRATIC, priors.Flat(2.0), 3.5),
    (kernels.Linear(), priors.Flat(0.6), 1.0),
    (RBF, ROW_SUM, 2.5),
    (RBF, CORRELATED, 0.05),
    (RBF, CORRELATED, 3.5),
]
each_case = pytest.mark.parametrize(
    ("kernel", "prior", "scale"), CASES, ids=lambda v: v if isinstance(v, float) else type(v)
)


@each_case
def test_posterior_is_the_normal_of_likelihood_and_prior(kernel, prior, scale, worst_z):
    """And its mode on the simplex is that of interior points."""
    gram = Gram.from_rows(kernel, ROWS)
    form, m, S = NormalPosterior(gram, prior, scale), prior.mean(gram), prior.covariance(gram)
    H = scale * N * gram.K + np.linalg.inv(S)
    b = scale * gram.K.sum(axis=1) + np.linalg.solve(S, m)
    np.testing.assert_allclose(form.mean, np.linalg.solve(H, b), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(form.upper.T @ form.upper, H, atol=1e-10)
    w = form.draw(2000, 2, np.random.default_rng(1))
    assert moments_z(worst_z, w, np.linalg.solve(H, b), np.linalg.inv(H)) < 4.5
    log_prior = prior.log_density(gram, w[:, :3])
    np.testing.assert_allclose(log_prior, multivariate_normal(m, S).logpdf(w[:, :3]), rtol=1e-9)
    mode, best = form.simplex_mode(), quadratic_program(H, -b, 0.0, np.inf)
    assert mode.sum() == pytest.approx(1.0, abs=1e-12) and mode.min() >= 0
    np.testing.assert_allclose(mode, best, atol=1e-4)


# without each row

DRAWS = 20_000


@each_case
def test_left_out_posterior_is_that_of_a_refit(kernel, prior, scale):
    """Mean and covariance of all rows at once, and moments of the draws of kernel sums.

    The prior has the mean and the covariance that it has with all rows.
    """
    gram = Gram.from_rows(kernel, ROWS)
    form, refitted = NormalPosterior(gram, prior, scale), []
    same = priors.Normal(m=prior.mean(gram), sigma=prior.covariance(gram))
    means, covariances = form.left_out()
    ones = (np.repeat(np.eye(N)[:, [k]], N, axis=1) for k in range(N))
    of_each = np.stack([covariances.times(Y) for Y in ones], axis=1)
    inside = form.draw(DRAWS, 1, np.random.default_rng(7))[0]
    found = form.leave_one_out(inside, np.random.default_rng(6))
    moved = []
    for j in range(N):
        others, rest = without(gram, j)
        refitted = NormalPosterior(others, same, scale)
        S, at = of_each[:, :, j], np.ix_(rest, rest)
        C = np.linalg.inv(refitted.upper.T @ refitted.upper)
        np.testing.assert_allclose(means[rest, j], refitted.mean, rtol=1e-8, atol=1e-9)
        np.testing.assert_allclose(S[at], C, rtol=1e-8, atol=1e-9)
        assert abs(means[j, j]) < 1e-9 and np.abs(S[j]).max() < 1e-9
        k = gram.K[rest, j]
        assert z_of_moments(found[:, j], refitted.mean @ k, k @ C @ k) < 4.5
        moved.append(z_of(inside @ gram.K[j], refitted.mean @ k))
        if prior is CORRELATED:  # given alpha_j = 0, which is another prior of the others
            given_zero = np.linalg.inv(scale * (N - 1) * gram.K[at] + prior.precision(gram)[at])
            assert np.abs(given_zero - C).max() > 1e-3 * np.abs(C).max()
    assert max(moved) > 12  # leaving a row out makes a difference


def test_left_out_draws_move_as_the_draws_of_the_fit():
    """Of many rows, one that goes hardly changes the noise of a draw."""
    gram = Gram.from_rows(RBF, np.random.default_rng(16).normal(size=(60, 2)))
    form = NormalPosterior(gram, priors.Flat())
    w, others = (form.draw(500, 1, np.random.default_rng(seed))[0] for seed in (14, 17))
    found = form.leave_one_out(w, np.random.default_rng(15))
    correlations = [np.corrcoef(f, s)[0, 1] for f, s in zip(found.T, gram.K @ w.T, strict=True)]
    assert np.median(correlations) > 0.9
    assert abs(np.corrcoef(found[:, 0], others @ gram.K[0])[0, 1]) < 0.2
