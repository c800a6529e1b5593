"""Draws of small posteriors against numerical quadrature.

The reference is a grid over all parameters in plain NumPy: prior times the likelihood of
distances written out, no Gram statistics, none of the package's formulas.
"""

from typing import NamedTuple

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bsvdd
from bsvdd.models.model import Model
from scipy import stats

from bsvdd import kernels, priors

MAJORITY = np.array([[0.0, 0.0], [0.6, 0.3], [2.0, -1.0]])
TWO = MAJORITY[:2]
PAIR = np.array([[0.0, 0.0], [1.5, 0.3]])
Z = np.array([[0.2, 0.1], [2.5, 1.5]])
S = 1.1
KERNEL = kernels.RBF(S)
SCALE = 5.0  # lambda; at 1 the posterior of so few rows is nearly the prior
SD = 1.4


def k(a, b):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * S**2))


def squared_distances(w, points, rows):
    """d^2 of each row from each centre, (grid, rows)."""
    norm = np.einsum("gi,ij,gj->g", w, k(points, points), w)
    return 1.0 - 2.0 * w @ k(points, rows) + norm[:, None]


class Case(NamedTuple):
    """A model, its rows, and a grid of weights with the log prior density of each."""

    model: Model
    gram: Gram
    points: np.ndarray
    n0: int
    w: np.ndarray
    log_prior: np.ndarray
    scale: float = SCALE

    def values(self, w):
        """What is compared: the weights and d_z."""
        return np.column_stack([w, np.sqrt(squared_distances(w, self.points, Z))])

    def moments(self, scale):
        """Mean and variance of the values, by sums over the grid."""
        d2 = squared_distances(self.w, self.points, self.points[: self.n0])
        p = np.exp(self.log_prior - scale / 2 * d2.sum(axis=1))
        found = self.values(self.w)
        mean = p @ found / p.sum()
        return mean, p @ found**2 / p.sum() - mean**2


def softmax(b):
    e = np.exp(b - b.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def grid(*axes):
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def of_bsvdd():
    m = -np.sqrt(k(MAJORITY, MAJORITY).sum(axis=1))
    b = grid(*(value + SD * np.linspace(-6.5, 6.5, 61) for value in m))
    prior = priors.RowSum(sd=SD, exponent=0.5)
    model, gram = bsvdd.Model(prior, SCALE), Gram.from_rows(KERNEL, MAJORITY)
    return Case(model, gram, MAJORITY, 3, softmax(b), stats.norm(m, SD).logpdf(b).sum(axis=1))


def of_narrow():
    """The data say 1000 times what the prior says: coordinates of the mode."""
    z = np.linspace(-5.5, 5.5, 40_001)[:, None]
    w = softmax(SD * z * np.array([[1, -1]]) / np.sqrt(2))
    scale = 2000.0 / SD**2
    model, gram = bsvdd.Model(priors.Flat(SD), scale), Gram.from_rows(KERNEL, TWO)
    return Case(model, gram, TWO, 2, w, stats.norm.logpdf(z[:, 0]), scale)


def of_corners(width=0.3):
    """A Laplace prior of the weights of BDD, on a grid with its corners."""
    w = grid(*[np.linspace(-5.0, 5.0, 501)] * 2)

    def prior(gram, name, dims):
        return pm.Laplace(name, 0.0, width, dims=dims)

    gram = Gram.from_rows(KERNEL, PAIR)
    return Case(bdd.Model(prior), gram, PAIR, 2, w, -np.abs(w).sum(axis=1) / width, 1.0)


CASES = {
    "bsvdd": of_bsvdd,
    "narrow": of_narrow,
    "corners": of_corners,
}


@pytest.mark.parametrize(
    ("name", "sampler"),
    [*((name, "auto") for name in list(CASES)[1:]), ("bsvdd", "nuts"), ("bsvdd", "metropolis")],
)
def test_draws_have_the_moments_of_the_quadrature(name, sampler, worst_z):
    case = CASES[name]()
    mean, variance = case.moments(case.scale)
    draws, tune = (4000, 500) if sampler == "nuts" else (4000, 1000)
    how = dict(draws=draws, tune=tune, chains=2, seed=5)
    p = sample(case.model, case.gram, sampler, **how)["posterior"]
    assert p.attrs["sampler"] == ("hmc" if sampler == "auto" else sampler)
    found = case.values(p["w"].values.reshape(2 * draws, -1)).reshape(2, draws, -1)
    assert worst_z(found, mean) < 4.5
    assert worst_z((found - mean) ** 2, variance) < 4.5
    # the likelihood has its say
    assert worst_z(found, case.moments(0.0)[0]) > (10 if name == "corners" else 15)
    if case.scale == 1.0:
        found = np.linalg.solve(case.gram.n0 * case.gram.K, case.gram.r)
        assert worst_z(p["w"], found) > 10  # and the prior
