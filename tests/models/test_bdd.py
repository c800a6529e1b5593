"""BDD and BDD-M against inverses, a general solver and conditioned normals."""

import numpy as np
import pytest
from bsvdd.inference import sampling
from bsvdd.models import bdd, bdd_m
from bsvdd.models.kernels import RBF, Linear, Polynomial
from numpy.testing import assert_allclose
from scipy.linalg import block_diag

from bsvdd import priors

from .helpers import covariance, gram_of, moments_z, quadratic_program

RNG = np.random.default_rng(5)
N = 12
ROWS = RNG.normal(size=(N, 2)) * [1.0, 1.6] + 0.4
ROW_SUM = priors.RowSum(sd=0.7, exponent=0.5)  # whose mean is that of all rows
M1, S1 = RNG.normal(size=N), covariance(10, N)
CORRELATED = priors.Normal(sd=0.8, m=M1, sigma=S1)


def by_row(gram, values):
    """Return values of atoms (..., M) as those of rows."""
    return values[..., gram.of_row]


@pytest.mark.parametrize(
    ("kernel", "prior", "scale"),
    [
        (RBF(1.1), priors.Flat(0.6), 1.0),
        (Polynomial(2, gamma=0.5), priors.Flat(2.0), 3.5),
        (Linear(), priors.Flat(0.6), 1.0),
        (RBF(1.1), ROW_SUM, 2.5),
        (RBF(1.1), CORRELATED, 0.05),
        (RBF(1.1), CORRELATED, 3.5),
    ],
)
def test_posterior_is_the_normal_of_likelihood_and_prior(kernel, prior, scale, worst_z):
    """And its mode on the simplex is that of interior points."""
    K, gram = kernel(ROWS, ROWS), gram_of(kernel, ROWS)
    model = bdd.BDD(gram, prior, scale)
    S = 0.64 * S1 if prior is CORRELATED else prior.sd**2 * np.eye(N)
    m = {CORRELATED: M1, ROW_SUM: -np.sqrt(np.abs(K.sum(axis=1)))}.get(
        prior, np.zeros(N)
    )
    H = scale * N * K + np.linalg.inv(S)
    b = scale * K.sum(axis=1) + np.linalg.solve(S, m)
    assert_allclose(by_row(gram, model.mode()), np.linalg.solve(H, b), rtol=1e-7)
    precision, _ = model.posterior
    assert_allclose(
        precision[np.ix_(gram.of_row, gram.of_row)], H, rtol=1e-9, atol=1e-9
    )
    w = by_row(gram, sampling.draw(model, draws=2000, chains=2, seed=1).by_chain)
    assert moments_z(worst_z, w, np.linalg.solve(H, b), np.linalg.inv(H)) < 4.5
    mode = by_row(gram, model.simplex_mode())
    assert mode.sum() == pytest.approx(1.0, abs=1e-12) and mode.min() >= 0
    assert_allclose(mode, quadratic_program(H, -b, 0.0, np.inf), atol=1e-4)


def test_only_a_normal_prior_has_a_normal_posterior():
    model = bdd.BDD(gram_of(RBF(1.1), ROWS), lambda gram, name, dims: None)
    with pytest.raises(
        TypeError, match="posterior of BDD is normal for a normal prior only"
    ):
        model.draw(3, RNG)


# BDD-M


def rows_of_both(seed, n0, n1):
    """Minority rows lie in the middle of the majority's."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8])
    return rows, np.repeat([False, True], [n0, n1])


def conditional(m, S):
    """Mean (as a + g s, of the sum s) and covariance of N(m, S) given its sum."""
    g = S.sum(axis=1) / S.sum()
    return m - g * m.sum(), g, S - np.outer(S.sum(axis=1), g)


def test_alpha0_is_normal_given_the_sum_that_alpha1_asks_for(worst_z):
    rows, y = rows_of_both(34, 5, 3)
    m, S = np.random.default_rng(35).normal(size=5), covariance(36, 5)
    prior = priors.Normal(m=np.append(m, np.zeros(3)), sigma=block_diag(S, np.eye(3)))
    minority = priors.TruncatedNormal((0, 0, 0, 0, 0, 0.1, 0.5, 1.2), 0.4)
    gram = gram_of(RBF(1.0), rows, y)
    w = sampling.draw_prior(bdd_m.BDDM(gram, prior, minority_prior=minority), 4000, 4).w
    assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    w = by_row(gram, w)
    a, g, C = conditional(m, S)
    sums = w[:, :5].sum(axis=1, keepdims=True)
    assert sums.std() > 0.1 and (w[:, 5:] <= 0.0).all() and (w[:, 5:] >= -1.0).all()
    rest = (w[:, :5] - g * sums).reshape(2, 2000, 5)
    assert moments_z(worst_z, rest, a, C) < 4.5


def test_without_minority_rows_it_is_bdd_on_the_hyperplane(worst_z):
    """BDD's normal posterior, conditioned on sum 1 by the textbook."""
    rows, y = rows_of_both(31, 7, 0)
    m, S = 1.0 + np.random.default_rng(32).normal(size=7), covariance(33, 7)
    prior, scale, K = (
        priors.Normal(m=m, sigma=S),
        0.05,
        RBF(1.2)(rows, rows),
    )  # far from sum 1
    C = np.linalg.inv(scale * 7 * K + np.linalg.inv(S))
    free = C @ (scale * K.sum(axis=1) + np.linalg.solve(S, m))
    a, g, covariance_given = conditional(free, C)
    assert abs(free.sum() - 1) > 0.1
    gram = gram_of(RBF(1.2), rows, y)
    model = bdd_m.BDDM(gram, prior, scale, priors.Beta())
    w = by_row(
        gram, sampling.draw(model, draws=2000, tune=200, chains=2, seed=3).by_chain
    )
    assert_allclose(w.sum(axis=2), 1.0, atol=1e-12)
    assert moments_z(worst_z, w, a + g, covariance_given) < 4.5
    assert worst_z(w, free) > 20  # of weights with a free sum
