"""BDD-M: its prior, BDD on the hyperplane, and rows that are left out.

Its draws are held against long runs of another program in test_published.py.
"""

import numpy as np
from bsvdd.inference.density import Density
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd_m

from bsvdd import kernels, priors
from tests.cases import covariance

from .helpers import moments_z

RBF = kernels.RBF(1.0)


def rows(seed, n0, n1):
    """Minority rows lie in the middle of the majority's."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8


def conditional(m1, S1):
    """Mean (as a + g s, of the sum s) and covariance of N(m1, S1) given its sum."""
    g = S1.sum(axis=1) / S1.sum()
    return m1 - g * m1.sum(), g, S1 - np.outer(S1.sum(axis=1), g)


def test_alpha0_is_normal_given_the_sum_that_alpha1_asks_for(worst_z):
    gram = Gram.from_rows(RBF, *rows(34, 5, 3))
    m1, S1 = np.random.default_rng(35).normal(size=5), covariance(36, 5)
    minority = priors.TruncatedNormal((0.1, 0.5, 1.2), 0.4)
    model = bdd_m.Model(priors.Normal(m=m1, sigma=S1), minority_prior=minority)
    w = Density(model, gram).prior.draw(4000, seed=4)["w"]
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    a, g, S = conditional(m1, S1)
    sums = w[:, :5].sum(axis=1, keepdims=True)
    assert sums.std() > 0.1
    rest = (w[:, :5] - g * sums).reshape(2, 2000, 5)
    assert moments_z(worst_z, rest, a, S) < 4.5


def test_without_minority_rows_it_is_bdd_on_the_hyperplane(worst_z):
    """BDD's normal posterior, conditioned on sum 1 by the textbook."""
    gram = Gram.from_rows(kernels.RBF(1.2), rows(31, 7, 0)[0])
    m1, S1 = 1.0 + np.random.default_rng(32).normal(size=7), covariance(33, 7)
    prior, scale = priors.Normal(m=m1, sigma=S1), 0.05  # far from sum 1, and of some weight
    C = np.linalg.inv(scale * 7 * gram.K + np.linalg.inv(S1))
    free = C @ (scale * gram.r + np.linalg.solve(S1, m1))
    a, g, S = conditional(free, C)
    assert abs(free.sum() - 1) > 0.1
    tree = sample(bdd_m.Model(prior, scale), gram, "hmc", 2000, 100, 2, seed=3)
    w = tree["posterior"]["w"].values
    np.testing.assert_allclose(w.sum(axis=2), 1.0, atol=1e-12)
    assert moments_z(worst_z, w, a + g, S) < 4.5
    assert worst_z(w, free) > 20  # of weights with a free sum
