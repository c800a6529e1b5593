"""BDD against inverses, a general solver and refits without each row."""

import numpy as np
import pytest
from bsvdd.models import Gram
from bsvdd.models.bdd import NormalPosterior
from scipy.stats import multivariate_normal

from bsvdd import kernels, priors
from tests.cases import covariance

from .helpers import moments_z, quadratic_program

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
