"""Draws of small posteriors against numerical quadrature.

The reference is a grid over all parameters in plain NumPy: prior times the likelihood of
distances written out, no Gram statistics, none of the package's formulas.

There is no simulation-based calibration under SVDD's loss as for the published likelihood. It needs
rows that are drawn given the centre, so a dictionary that is fixed beforehand; here the rows are
the points, and the centre would depend on the rows that it draws. The flat prior of R^2 has no
draws either.
"""

from typing import NamedTuple

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from bsvdd.models.model import Model
from scipy import stats

from bsvdd import kernels, priors

MAJORITY = np.array([[0.0, 0.0], [0.6, 0.3], [2.0, -1.0]])
TWO, MINORITY = MAJORITY[:2], np.array([[0.9, 1.1]])
PAIR = np.array([[0.0, 0.0], [1.5, 0.3]])
Z = np.array([[0.2, 0.1], [2.5, 1.5]])
S = 1.1
KERNEL = kernels.RBF(S)
SCALE = 5.0  # lambda; at 1 the posterior of so few rows is nearly the prior
SD = 1.4
NU, MU = 0.45, 0.3


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
    loss: bool = False  # SVDD's, with the radius

    def values(self, w, R2):
        """What is compared: the weights, d_z, and R^2 and R."""
        found = [w, np.sqrt(squared_distances(w, self.points, Z))]
        return np.column_stack([*found, R2, np.sqrt(R2)] if self.loss else found)

    def moments(self, scale):
        """Mean and variance of the values, by sums over the grid times one of R^2."""
        d2, n0 = squared_distances(self.w, self.points, self.points), self.n0
        # midpoints; beyond 5 the density is e^-25
        radii = np.linspace(0.0, 5.0, 301)[1:] - 5 / 600 if self.loss else [0.0]
        mass, first, second = 0.0, 0.0, 0.0
        for r in radii:
            loss = d2[:, :n0].mean(axis=1)
            if self.loss:
                loss = r + np.maximum(d2[:, :n0] - r, 0.0).mean(axis=1) / NU
                if n0 < len(self.points):
                    loss += np.maximum(r - d2[:, n0:], 0.0).mean(axis=1) / MU
            p = np.exp(self.log_prior - scale * n0 / 2 * loss)
            found = self.values(self.w, np.full(len(self.w), r))
            mass, first, second = mass + p.sum(), first + p @ found, second + p @ found**2
        return first / mass, second / mass - (first / mass) ** 2


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


def of_loss():
    """A shift of all beta leaves softmax unchanged, so two standard normal directions remain."""
    z = grid(*[np.linspace(-5.5, 5.5, 71)] * 2)
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    model = bsvdd.Model(priors.Flat(SD), SCALE, outlier_fraction=NU)
    gram = Gram.from_rows(KERNEL, MAJORITY)
    log_prior = stats.norm.logpdf(z).sum(axis=1)
    return Case(model, gram, MAJORITY, 3, softmax(SD * z @ basis), log_prior, loss=True)


def of_loss_m():
    """One direction of tau, and the minority weight from Beta(2, 3) at midpoints of (0, 1)."""
    z, v = grid(np.linspace(-5.5, 5.5, 81), (np.arange(80) + 0.5) / 80).T
    alpha0 = (1 + v[:, None]) * softmax(SD * z[:, None] * np.array([[1, -1]]) / np.sqrt(2))
    gram = Gram.from_rows(KERNEL, TWO, MINORITY)
    own = {"outlier_fraction": NU, "minority_fraction": MU}
    model = bsvdd_m.Model(priors.Flat(SD), SCALE, minority_prior=priors.Beta(2, 3), **own)
    log_prior = stats.norm.logpdf(z) + stats.beta(2, 3).logpdf(v)
    w = np.column_stack([alpha0, -v])
    return Case(model, gram, np.vstack([TWO, MINORITY]), 2, w, log_prior, loss=True)


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
    "loss": of_loss,
    "loss, minority": of_loss_m,
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
    R2 = p["squared_radius"].values.ravel() if case.loss else None
    found = case.values(p["w"].values.reshape(2 * draws, -1), R2).reshape(2, draws, -1)
    assert worst_z(found, mean) < 4.5
    assert worst_z((found - mean) ** 2, variance) < 4.5
    if case.loss:
        np.testing.assert_allclose(p["radius"] ** 2, p["squared_radius"])
    else:  # the likelihood has its say
        assert worst_z(found, case.moments(0.0)[0]) > (10 if name == "corners" else 15)
    if case.scale == 1.0:
        found = np.linalg.solve(case.gram.n0 * case.gram.K, case.gram.r)
        assert worst_z(p["w"], found) > 10  # and the prior
