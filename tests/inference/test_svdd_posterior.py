"""The posterior under SVDD's loss, with the radius, against quadrature; and as lambda grows.

There is no simulation-based calibration as for the published likelihood. It needs rows that are
drawn given the centre, so a dictionary that is fixed beforehand; here the rows are the points, and
the centre would depend on the rows that it draws. The flat prior of R^2 has no draws either.
"""

import numpy as np
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bsvdd, bsvdd_m, svdd
from scipy import stats

from bsvdd import kernels, priors

MAJORITY = np.array([[0.0, 0.0], [0.6, 0.3], [2.0, -1.0]])
MINORITY = np.array([[0.9, 1.1]])
Z = np.array([[0.2, 0.1], [2.5, 1.5]])
S, SD = 1.1, 1.4  # bandwidth; sd of the prior
SCALE = 5.0  # lambda; at 1 the posterior of so few rows is nearly the prior
NU, MU = 0.45, 0.3
KERNEL = kernels.RBF(S)


def k(a, b):
    return np.exp(-((a[:, None] - b[None]) ** 2).sum(-1) / (2 * S**2))


def squared_distances(w, points, rows):
    """d^2 of each row from each centre, (grid, rows)."""
    norm = np.einsum("gi,ij,gj->g", w, k(points, points), w)
    return 1.0 - 2.0 * w @ k(points, rows) + norm[:, None]


def values(w, points, R2):
    """What is compared: the weights, d_z, R^2 and R."""
    d = np.sqrt(squared_distances(w, points, Z))
    return np.column_stack([w, d, R2, np.sqrt(R2)])


def moments(w, log_prior, points, n0):
    """Mean and variance of the values, by sums over a grid of w times a grid of R^2."""
    d2 = squared_distances(w, points, points)
    R2 = np.linspace(0.0, 5.0, 601)[1:] - 5 / 1200  # midpoints; beyond 5 the density is e^-25
    mass, first, second = 0.0, 0.0, 0.0
    for r in R2:
        slack = np.maximum(d2[:, :n0] - r, 0.0).mean(axis=1) / NU
        if len(points) > n0:
            slack = slack + np.maximum(r - d2[:, n0:], 0.0).mean(axis=1) / MU
        p = np.exp(log_prior - SCALE * n0 / 2 * (r + slack))
        found = values(w, points, np.full(len(w), r))
        mass, first, second = mass + p.sum(), first + p @ found, second + p @ found**2
    mean = first / mass
    return mean, second / mass - mean**2


def softmax(b):
    e = np.exp(b - b.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def grid(*axes):
    return np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)


def quadrature_bsvdd():
    """A shift of all beta leaves softmax unchanged, so two standard normal directions remain."""
    z = grid(*[np.linspace(-5.5, 5.5, 71)] * 2)
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    return moments(softmax(SD * z @ basis), stats.norm.logpdf(z).sum(axis=1), MAJORITY, 3)


def quadrature_bsvdd_m():
    """One direction of tau, and the minority weight from Beta(2, 3) at midpoints of (0, 1)."""
    z, v = grid(np.linspace(-5.5, 5.5, 81), (np.arange(80) + 0.5) / 80).T
    alpha0 = (1 + v[:, None]) * softmax(SD * z[:, None] * np.array([[1, -1]]) / np.sqrt(2))
    w = np.column_stack([alpha0, -v])
    log_prior = stats.norm.logpdf(z) + stats.beta(2, 3).logpdf(v)
    return moments(w, log_prior, np.vstack([MAJORITY[:2], MINORITY]), 2)


def bsvdd_case():
    gram = Gram.from_rows(KERNEL, MAJORITY)
    return bsvdd.build(gram, priors.Flat(SD), SCALE, NU), MAJORITY


def bsvdd_m_case():
    gram = Gram.from_rows(KERNEL, MAJORITY[:2], MINORITY)
    model = bsvdd_m.build(gram, priors.Flat(SD), priors.Beta(2, 3), SCALE, NU, MU)
    return model, np.vstack([MAJORITY[:2], MINORITY])


CASES = {"bsvdd": (quadrature_bsvdd, bsvdd_case), "bsvdd_m": (quadrature_bsvdd_m, bsvdd_m_case)}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_draws_have_the_moments_of_the_quadrature(case, worst_z):
    quadrature, build = CASES[case]
    mean, variance = quadrature()
    model, points = build()
    tree = sample(model, "auto", draws=4000, tune=1000, chains=2, seed=5)
    assert tree["posterior"].attrs["sampler"] == "hmc"
    p = tree["posterior"]
    flat = values(
        p["w"].values.reshape(-1, len(points)), points, p["squared_radius"].values.ravel()
    )
    found = flat.reshape(2, 4000, -1)
    assert worst_z(found, mean) < 4.5
    assert worst_z((found - mean) ** 2, variance) < 4.5
    np.testing.assert_allclose(p["radius"] ** 2, p["squared_radius"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draws", "tune"), [(60, 100), pytest.param(300, 300, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("minority", [False, True])
def test_as_lambda_grows_the_posterior_is_the_sphere_of_svdd(minority, draws, tune):
    rng = np.random.default_rng(7)
    rows, others = rng.normal(size=(10, 2)), np.array([[0.3, 0.8], [2.5, 0.0]])
    gram = Gram.from_rows(KERNEL, rows, others if minority else None)
    prior, scale = priors.Flat(3.0), 1000.0
    if minority:
        sphere = svdd.solve(gram, 1 / (10 * 0.35), 1 / (2 * 0.8))
        model = bsvdd_m.build(gram, prior, priors.Beta(), scale, 0.35, 0.8)
    else:
        sphere = svdd.solve(gram, 1 / (10 * 0.35))
        model = bsvdd.build(gram, prior, scale, 0.35)
    p = sample(model, "auto", draws=draws, tune=tune, chains=1, seed=8)["posterior"]
    w = p["w"].values.reshape(-1, gram.n_points)
    error = w - sphere.weights
    distance = np.sqrt(np.einsum("si,ij,sj->s", error, gram.K, error))  # of the two centres
    assert np.median(distance) < 0.08
    assert float(p["radius"].mean()) == pytest.approx(sphere.radius, abs=0.02)
