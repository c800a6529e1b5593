"""BSVDD with three rows and BSVDD-M with two and one, against numerical quadrature.

The reference is a grid over all parameters in plain NumPy: prior times the likelihood of
distances written out, no Gram statistics, none of the package's formulas.
"""

import numpy as np
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bsvdd, bsvdd_m
from scipy import stats

from bsvdd import kernels, priors

MAJORITY = np.array([[0.0, 0.0], [0.6, 0.3], [2.0, -1.0]])
MINORITY = np.array([[0.9, 1.1]])
Z = np.array([[0.2, 0.1], [2.5, 1.5]])
S = 1.1
SCALE = 5.0  # lambda; at 1 the posterior of so few rows is nearly the prior
SD = 1.4


def k(a, b):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * S**2))


def distances(w, points, rows):
    """Distance of each row from each centre, (grid, rows)."""
    norm = np.einsum("gi,ij,gj->g", w, k(points, points), w)
    return np.sqrt(1.0 - 2.0 * w @ k(points, rows) + norm[:, None])


def softmax(b):
    e = np.exp(b - b.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def moments(w, log_prior, points, majority):
    """Mean and variance of w and of d_z, under the posterior and under the prior."""
    log_likelihood = -SCALE / 2 * (distances(w, points, majority) ** 2).sum(axis=1)
    values = np.column_stack([w, distances(w, points, Z)])
    found = []
    for log_p in (log_prior + log_likelihood, log_prior):
        p = np.exp(log_p - log_p.max())
        p /= p.sum()
        mean = p @ values
        found.append((mean, p @ (values - mean) ** 2))
    return found


def grid(*axes):
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def normal_axis(m, n=91):
    return m + SD * np.linspace(-6.5, 6.5, n)


def quadrature_bsvdd():
    row_sums = k(MAJORITY, MAJORITY).sum(axis=1)
    m = -np.sqrt(row_sums)
    beta = grid(*(normal_axis(value) for value in m))
    return moments(softmax(beta), stats.norm(m, SD).logpdf(beta).sum(axis=1), MAJORITY, MAJORITY)


def quadrature_bsvdd_m(a, b, total):
    """Over tau and the share v = Beta(a, b) at midpoints of (0, 1)."""
    two, n = MAJORITY[:2], 200
    m = -np.sqrt(k(two, two).sum(axis=1))
    points = grid(normal_axis(m[0]), normal_axis(m[1]), (np.arange(n) + 0.5) / n)
    tau, v = points[:, :2], points[:, 2:]
    alpha1 = v if total is None else total * v
    w = np.hstack([(1 + alpha1) * softmax(tau), -alpha1])
    log_prior = stats.norm(m, SD).logpdf(tau).sum(axis=1) + stats.beta(a, b).logpdf(v[:, 0])
    return moments(w, log_prior, np.vstack([two, MINORITY]), two)


CASES = {
    "bsvdd": (quadrature_bsvdd, None),
    "published": (lambda: quadrature_bsvdd_m(1, 1, None), priors.Beta()),
    "beta(2, 3)": (lambda: quadrature_bsvdd_m(2, 3, None), priors.Beta(2, 3)),
    "total": (lambda: quadrature_bsvdd_m(2, 3, 0.6), priors.Beta(2, 3, total=0.6)),
}
PRIOR = priors.RowSum(sd=SD, exponent=0.5)


def build(minority_prior):
    kernel = kernels.RBF(S)
    if minority_prior is None:
        return bsvdd.build(Gram.from_rows(kernel, MAJORITY), PRIOR, SCALE), MAJORITY
    gram = Gram.from_rows(kernel, MAJORITY[:2], MINORITY)
    points = np.vstack([MAJORITY[:2], MINORITY])
    return bsvdd_m.build(gram, PRIOR, minority_prior, SCALE), points


def drawn(tree, points):
    w = tree["posterior"]["w"].values
    d = distances(w.reshape(-1, w.shape[-1]), points, Z)
    return np.concatenate([w, d.reshape(*w.shape[:2], -1)], axis=2)


@pytest.mark.parametrize("sampler", ["auto", "nuts"])
@pytest.mark.parametrize("case", CASES)
def test_draws_have_the_moments_of_the_quadrature(case, sampler, worst_z):
    quadrature, minority_prior = CASES[case]
    (mean, variance), (prior_mean, _) = quadrature()
    model, points = build(minority_prior)
    values = drawn(sample(model, sampler, draws=4000, tune=1000, chains=2, seed=5), points)
    assert worst_z(values, mean) < 4.5
    assert worst_z((values - mean) ** 2, variance) < 4.5
    assert worst_z(values, prior_mean) > 15  # the likelihood has its say


@pytest.mark.parametrize("case", ["bsvdd", pytest.param("beta(2, 3)", marks=pytest.mark.long)])
def test_metropolis_has_the_moments_of_the_quadrature(case, worst_z):
    quadrature, minority_prior = CASES[case]
    (mean, variance), _ = quadrature()
    model, points = build(minority_prior)
    values = drawn(sample(model, "metropolis", draws=6000, tune=1500, chains=2, seed=6), points)
    assert worst_z(values, mean) < 4.5
    assert worst_z((values - mean) ** 2, variance) < 4.5
