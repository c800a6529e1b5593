"""Hamiltonian Monte Carlo: its trajectories, and its draws beside another way."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.inference import hmc, sampling
from bsvdd.models import bdd_m, bsvdd, bsvdd_m
from bsvdd.models.kernels import RBF
from numpy.testing import assert_allclose, assert_array_equal

from bsvdd import priors
from tests.models.helpers import (
    covariance,
    gram_of,
    hierarchical,
    rbf,
    softmax,
    student,
)

ROWS = np.random.default_rng(80).normal(size=(12, 2))
Y = np.arange(12) >= 9


TWICE = 1.0 + (np.arange(12) == 11)  # the last row
GRAM, BOTH = gram_of(RBF(1.0), ROWS, None, TWICE), gram_of(RBF(1.0), ROWS, Y, TWICE)
ALONE = gram_of(RBF(1.0), ROWS)
CORRELATED = priors.Normal(sigma=covariance(1, 12))
STANDARD = priors.StandardizedRowSum()
MODELS = {
    "skewed": bsvdd.BSVDD(GRAM, STANDARD, 20.0),
    "correlated": bsvdd.BSVDD(ALONE, CORRELATED, 20.0),
    "far apart": bsvdd.BSVDD(ALONE, priors.Normal(m=np.linspace(0.0, 40.0, 12)), 20.0),
    "narrow": bsvdd.BSVDD(GRAM, STANDARD, 3000.0),
    "both": bsvdd_m.BSVDDM(BOTH, STANDARD, 20.0, priors.Beta(2, 3)),
    "on a cube": bdd_m.BDDM(BOTH, STANDARD, 2.0, priors.TruncatedNormal(0.3)),
    "of the user": bsvdd.BSVDD(GRAM, student, 2.0),
}


@pytest.mark.parametrize("name", MODELS)
def test_the_error_of_the_energy_is_of_second_order(name, monkeypatch):
    """A wrong force or kick would leave an error of any step."""
    monkeypatch.setattr(hmc, "QUARTERS", (0.5, 0.5))
    f = sampling.density(MODELS[name])
    walk = hmc.Walk(
        f, np.random.default_rng(1), np.full(f.size, 0.1), np.full(f.size, 0.9)
    )
    z, _ = hmc.hmc(f, f.size, 2, 60, 8, np.random.default_rng(0))
    state, errors = walk.state(walk.standard(z[:, -1])), []
    for steps in (128, 256, 512):
        moving = replace(
            walk, rng=np.random.default_rng(4)
        )  # the same velocity and length
        angle = np.pi / 4.0 / steps * (1 + 1e-12)
        _, stats = moving.moved(state, angle, steps)
        errors.append(-np.log(stats["acceptance_rate"]).min())
    assert 1e-9 < errors[-1] < 0.02
    assert min(errors[0] / errors[1], errors[1] / errors[2]) > 3.0


def nothing(z):
    """A density that is 1, and its gradient."""
    return np.zeros(len(z)), np.zeros_like(z)


def test_a_trajectory_turns_by_the_angle_that_was_drawn(monkeypatch):
    """A quarter of a turn brings the velocity into the place of the state."""
    monkeypatch.setattr(hmc, "QUARTERS", (1.0, 1.0))
    walk = hmc.Walk(nothing, np.random.default_rng(3), np.zeros(4), np.ones(4))
    start = walk.state(np.full((5, 4), 2.0))
    (y, _, _), stats = walk.moved(start, 1.2, 64)
    v = np.random.default_rng(3).standard_normal((5, 4))
    assert_allclose(y, v, atol=1e-12)
    assert_allclose(stats["acceptance_rate"], 1.0)
    # the energy is that of the start, and stays
    assert_allclose(stats["energy"], (2.0**2 * 4 + np.vecdot(v, v)) / 2.0)
    assert not stats["diverging"].any()
    assert_allclose(stats["n_steps"] * stats["step_size"], np.pi / 2.0)


def test_trajectories_that_leave_the_density_are_rejected():
    def half(z):
        with np.errstate(invalid="ignore"):
            return np.where(z[:, 0] > 0.0, 0.0, -np.inf), np.where(z > 0.0, 0.0, np.nan)

    walk = hmc.Walk(half, np.random.default_rng(0), np.zeros(2), np.ones(2))
    start = walk.state(np.full((50, 2), 0.5))
    (y, log_p, force), stats = walk.moved(start, 0.3, 64)
    stays = (y == 0.5).all(axis=1)
    assert 5 < stays.sum() < 45 and (stats["acceptance_rate"][~stays] > 0.0).all()
    assert stats["diverging"][stays].all() and not stats["diverging"][~stays].any()
    assert (
        (y[:, 0] > 0.0).all() and np.isfinite(log_p).all() and np.isfinite(force).all()
    )


def test_a_state_whose_parameters_pymc_refuses_has_density_0():
    """The scale e^-999 of a hierarchical prior is 0 to a computer; others stay."""
    f = sampling.density(bsvdd.BSVDD(GRAM, hierarchical, 2.0))
    z = np.zeros((2, f.size))
    (scale,) = np.flatnonzero(f.prior(f.start[None], np.zeros((1, f.size - 1)))[1][0])
    z[1, scale] = -999.0
    (kept, refused), gradient = f(z)
    assert np.isneginf(refused) and (gradient[1] == z[1]).all()
    assert_allclose(kept, f(z[:1])[0][0])


def test_without_a_likelihood_draws_are_standard_normal(worst_z):
    z, stats = hmc.hmc(nothing, 3, 1500, 100, 2, np.random.default_rng(0))
    assert z.shape == (2, 1500, 3) and {v.shape for v in stats.values()} == {(2, 1500)}
    # z'z + v'v is chi-squared of 6 degrees of freedom
    assert worst_z(stats["energy"], 3.0) < 4.5
    assert worst_z(z, np.zeros(3)) < 4.5 and worst_z(z**2, np.ones(3)) < 4.5
    assert worst_z(z[..., 0] * z[..., 1], 0.0) < 4.5
    again, _ = hmc.hmc(nothing, 3, 10, 100, 2, np.random.default_rng(0))
    assert_array_equal(again, z[:, :10])


# small posteriors by draws of the prior, weighted by the likelihood written out


SMALL = np.array([0, 1, 2, 9, 10])
SMALL_Y = SMALL >= 9
T = np.array([1.0, 1.0, 1.0, 1.0, 2.0])


def of_prior(name, rng, n):
    """Return weights of the rows (n, 5): three of the majority, two of the minority."""
    if name == "BSVDD, user":
        return np.hstack([softmax(rng.standard_t(4, size=(n, 3))), np.zeros((n, 2))])
    if name == "BSVDD-M":
        alpha1 = T[3:] * rng.beta(2.0, 3.0, size=(n, 2)) * 0.5
        tau = rng.normal(size=(n, 3)) * 1.3
        return np.hstack(
            [(1 + alpha1.sum(axis=1, keepdims=True)) * softmax(tau), -alpha1]
        )
    alpha1 = T[3:] * rng.uniform(size=(n, 2))
    x = rng.normal(size=(n, 3)) * 0.7
    rest = 1 + alpha1.sum(axis=1, keepdims=True) - x.sum(axis=1, keepdims=True)
    return np.hstack([x + rest / 3.0, -alpha1])


def small(name):
    rows, scale = ROWS[SMALL], 3.0
    if name == "BSVDD, user":
        return bsvdd.BSVDD(gram_of(RBF(1.0), rows[:3]), student, scale)
    gram = gram_of(RBF(1.0), rows, SMALL_Y, T)
    if name == "BSVDD-M":
        return bsvdd_m.BSVDDM(
            gram, priors.Flat(1.3), scale, priors.Beta(2, 3, total=1.0)
        )
    return bdd_m.BDDM(gram, priors.Flat(0.7), scale, priors.Beta())


@pytest.mark.parametrize("name", ["BSVDD, user", "BSVDD-M", "BDD-M"])
def test_draws_are_of_the_prior_times_the_likelihood(name, worst_z):
    rng, rows, model = np.random.default_rng(2), ROWS[SMALL], small(name)
    K = rbf(rows, rows)
    w = of_prior(name, rng, 600_000)
    squares = (
        3.0 - 2.0 * w @ K[:, :3].sum(axis=1) + 3.0 * np.einsum("ni,ij,nj->n", w, K, w)
    )
    log_L = -3.0 / 2.0 * squares
    L = np.exp(log_L - log_L.max())
    assert L.sum() ** 2 / (L**2).sum() > 20_000  # draws in effect
    drawn = sampling.draw(model, draws=800, tune=150, seed=5).by_chain[
        ..., model.gram.of_row
    ]
    w = w[:, : drawn.shape[2]]
    for moment in (lambda v: v, np.square, lambda v: v[..., :1] * v[..., 1:]):
        assert worst_z(moment(drawn), L @ moment(w) / L.sum()) < 4.5
