"""Hamiltonian Monte Carlo with parallel chains, and the coordinates that it uses."""

from dataclasses import replace

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import hmc, pymc_samplers, sampling
from bsvdd.inference.density import Density
from bsvdd.inference.diagnostics import Verdict
from bsvdd.inference.draws import SamplerSettings
from bsvdd.inference.hmc import Transition
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bsvdd, bsvdd_m

from bsvdd import kernels, priors
from tests import cases

ROWS = np.random.default_rng(80).normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
WITH_MINORITY = Gram.from_rows(kernels.RBF(1.0), ROWS[:9], ROWS[9:])
PRIOR = priors.StandardizedRowSum()
QUICK = dict(tune=50, chains=2, seed=3)


def rng(seed=81):
    return np.random.default_rng(seed)


def of(prior, scale, **own):
    return Density(bsvdd.Model(prior, scale, **own), GRAM)


def skewed():
    """A model whose posterior is far from normal: 12 rows that count for 20 each."""
    return of(PRIOR, 20.0)


def with_minority(prior, scale):
    return Density(bsvdd_m.Model(PRIOR, scale, minority_prior=prior), WITH_MINORITY)


MODELS = {
    "mapped": skewed,
    "mapped, with minority rows": lambda: with_minority(priors.Beta(2, 3), 20.0),
    "correlated": lambda: of(priors.Normal(sigma=cases.covariance(1, len(ROWS))), 20.0),
    "far apart": lambda: of(priors.Normal(m=np.linspace(0.0, 40.0, 12)), 20.0),
    "narrow": lambda: of(PRIOR, 3000.0),
    "narrow, correlated": lambda: of(priors.Normal(sigma=cases.covariance(1, len(ROWS))), 3e4),
    "narrow, with minority rows": lambda: with_minority(priors.Beta(2, 3), 3000.0),
    "on a cube": lambda: with_minority(priors.TruncatedNormal(0.3), 2.0),
    "user's": lambda: of(lambda g, n, d: pm.StudentT(n, 4, dims=d), 2.0),
}


def warm(density, chains=4):
    return hmc.warm_up(density, chains, 60, rng())


# trajectories


@pytest.mark.parametrize("name", MODELS)
def test_the_error_of_the_energy_is_of_second_order(name, monkeypatch):
    """And it is not that of another density: a wrong force would leave an error of any step."""
    monkeypatch.setattr(hmc, "SHORTEST", 0.5)
    monkeypatch.setattr(hmc, "LONGEST", 0.5)
    kernel, state = warm(MODELS[name]())
    errors = []
    for steps in (32, 64, 128):
        moving = kernel._replace(angle=hmc.QUARTER / 2 / steps * (1 + 1e-12), max_steps=steps)
        _, info = moving.step(state, rng(4))  # the same velocity and length
        assert info.n_steps[0] == steps
        errors.append(np.log(info.acceptance_rate).min())
    assert abs(errors[-1]) < 0.01
    few = np.abs(errors[:-1]) / np.maximum(np.abs(errors[1:]), 1e-9)
    assert (few[np.abs(errors[1:]) > 1e-6] > 3.0).all()


def test_a_trajectory_that_diverges_is_rejected():
    kernel, state = warm(skewed(), 3)
    wild = state._replace(force=state.force * np.array([[1e200], [1.0], [1.0]]))
    moved, info = kernel.step(wild, rng())
    assert info.diverging.tolist() == [True, False, False]
    np.testing.assert_array_equal(moved.y[0], state.y[0])
    assert np.isfinite(moved.y).all() and np.isfinite(moved.logp).all()


# draws


def test_draws_that_are_not_safe_yet_are_continued(monkeypatch):
    """Every second draw counts then, and every fourth."""
    judged, made = [], []
    genuine, step = Verdict.of_parallel, Transition.step

    def of_parallel(values, chains, divergences):
        judged.append(values)
        r_hat = [1.05, 1.02, 1.0][len(judged) - 1]
        return Verdict(r_hat, 900.0, chains, divergences)

    def counted(self, state, random):
        made.append(1)
        return step(self, state, random)

    monkeypatch.setattr(Verdict, "of_parallel", of_parallel)
    monkeypatch.setattr(Transition, "step", counted)
    tree = sample(bsvdd.Model(PRIOR, 20.0), GRAM, "hmc", draws=1000, **QUICK)
    assert tree["posterior"].attrs["r_hat"] == 1.0
    assert [v.shape for v in judged] == 3 * [(8, 250, 12)]
    assert len(made) == sampling.MIN_WARM_UP + 4 * 250
    assert genuine(judged[-1], 2, 0).safe
    judged[:] = [None, None]  # nothing more can be done
    monkeypatch.setattr(sampling, "MOST_THIN", 1)
    made.clear()
    sample(bsvdd.Model(PRIOR, 20.0), GRAM, "hmc", draws=1000, **QUICK)
    assert len(made) == sampling.MIN_WARM_UP + 250


def test_draws_that_are_not_safe_are_drawn_again_and_never_left_to_nuts(monkeypatch):
    """With a longer warm-up, then in the coordinates of the mode; the best run is taken."""
    warmed, verdicts = [], iter([1.5, 1.5, 1.3, 1.4])
    genuine = hmc.warm_up

    def watched(density, chains, trajectories, rng, at_mode):
        warmed.append((trajectories, at_mode))
        return genuine(density, chains, trajectories, rng, at_mode)

    monkeypatch.setattr(sampling, "MOST_THIN", 1)
    monkeypatch.setattr(hmc, "warm_up", watched)
    monkeypatch.setattr(Verdict, "of_parallel", lambda *a: Verdict(next(verdicts), 60.0, 2, 3))
    monkeypatch.setattr(pymc_samplers, "nuts", lambda *a: pytest.fail("nobody asked for it"))
    settings = SamplerSettings("hmc", 50, **QUICK)
    drawn = sampling.draw(skewed(), settings)
    assert "asked for; the chains are not safe: R-hat 1.5" in drawn.report.why
    n = warmed[0][0]
    found = sampling.draw(skewed(), replace(settings, sampler="auto"))
    assert warmed[1:] == [(n, False), (4 * n, False), (4 * n, True)]
    assert found.report.sampler == "hmc" and found.report.r_hat == 1.3
    assert found.report.why.startswith("the chains are not safe: R-hat 1.300, effective draws 60")
