"""Hamiltonian Monte Carlo around Laplace's approximation, many chains in step."""

import math
import re
from dataclasses import replace

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import sampling
from bsvdd.inference.active_points import ActivePoints, AllPoints
from bsvdd.inference.cancellation import SupersededError
from bsvdd.inference.draws import SamplerSettings
from bsvdd.inference.log_density import LogDensity
from bsvdd.inference.samplers import hmc
from bsvdd.inference.samplers.hmc import ChainsInStep
from bsvdd.inference.samplers.laplace import Laplace
from bsvdd.inference.samplers.whitening import Whitening
from bsvdd.inference.sampling import sample
from bsvdd.inference.warning import DiagnosticWarning
from bsvdd.models import Gram, bdd, bsvdd

from bsvdd import BSVDD, kernels, priors

ROWS = np.random.default_rng(80).normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
PRIOR = priors.StandardizedRowSum()


def far_from_normal():
    """Return a model whose posterior is far from normal: 12 rows that count for 20 each."""
    return bsvdd.build(GRAM, PRIOR, 20.0)


def rng():
    return np.random.default_rng(81)


def chains_in_step(model, n=4):
    density = LogDensity(model)
    q = Laplace.of(density, rng())
    whitening = Whitening.of(q.mode, q.curvature)
    return ChainsInStep(density, whitening, q.starts(n, rng()), rng())


def drawn(model, settings):
    density = LogDensity(model)
    q = Laplace.of(density, rng())
    starts = q.starts(settings.chains, rng())
    return hmc.sample(AllPoints(density), q, starts, settings, rng(), lambda named: named["w"])


@pytest.fixture(scope="module")
def skewed():
    return chains_in_step(far_from_normal())


def set_velocity(run):
    run._state[1] = rng().normal(size=run.x.shape)


def energy(run, logp):
    return np.vecdot(run._state[1], run._state[1]) / 2 - logp


def test_trajectories_can_be_followed_back(skewed):
    set_velocity(skewed)
    start = skewed._state.copy()
    skewed._follow(0.2, 7)
    end = skewed._state[0].copy()
    skewed._state[1] *= -1.0
    skewed._follow(0.2, 7)
    assert np.abs(end - start[0]).max() > 0.1
    np.testing.assert_allclose(skewed._state[0], start[0], atol=1e-9)
    np.testing.assert_allclose(skewed._state[1], -start[1], atol=1e-9)


def test_the_error_of_the_energy_is_of_second_order(skewed):
    """And it is not that of another density: a wrong force would leave an error of any step."""
    errors = []
    for steps in (32, 64, 128):
        set_velocity(skewed)
        skewed._logp = skewed._set_force(skewed._state)
        before = energy(skewed, skewed._logp)
        start = skewed._state.copy()
        errors.append(energy(skewed, skewed._follow(0.8 / steps, steps)) - before)
        skewed._state[...] = start
    errors = np.abs(errors).max(axis=1)
    assert errors[-1] < 0.01
    np.testing.assert_allclose(errors[:-1] / errors[1:], 4.0, rtol=0.2)


def test_a_normal_posterior_is_followed_exactly():
    """Whatever the angle, because the force is zero; the draws have its mean and covariance."""
    run = chains_in_step(bdd.build(GRAM, PRIOR, 2.0), 64)
    for angle in (0.1, 0.785):
        set_velocity(run)
        before = energy(run, run._logp)
        np.testing.assert_allclose(energy(run, run._follow(angle, 5)), before, rtol=1e-5)
        run._logp = run._set_force(run._state)
    mean, upper = bdd.posterior(GRAM, PRIOR, 2.0)
    assert run.warm_up(range(50)) == hmc.LARGEST_ANGLE
    x = []
    for _ in range(300):
        statistics = run.move(hmc.LARGEST_ANGLE)
        x.append(run.x)
        assert statistics["acceptance_rate"].min() > 0.999
    z = (np.concatenate(x) - mean) @ upper.T
    assert np.abs(z.mean(axis=0)).max() < 0.05  # of 19,200 draws
    np.testing.assert_allclose(z.T @ z / len(z), np.eye(12), atol=0.06)


@pytest.mark.parametrize("scale", [3.0, 40.0])
def test_draws_against_quadrature(worst_z, scale):
    """Of two points, with all mass of a normal prior on the difference of their parameters."""
    gram = Gram.from_rows(kernels.RBF(1.0), np.array([[0.0, 0.0], [1.5, 0.3]]))
    sd = 2.0
    model = bsvdd.build(gram, priors.Normal(m=[0.4, 0.0], sd=sd), scale)
    tree = sample(model, "hmc", draws=4000, tune=500, chains=4, seed=1)
    difference = np.linspace(-20.0, 20.0, 20_001)
    first = 1 / (1 + np.exp(-difference))
    w = np.column_stack([first, 1 - first])
    norm = np.einsum("di,ij,dj->d", w, gram.K, w)
    log_density = -scale / 2 * (gram.n0 * norm - 2 * w @ gram.r)
    log_density -= (difference - 0.4) ** 2 / (4 * sd**2)
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    mean = share @ first
    draws = tree["posterior"]["w"].values[..., :1]
    assert worst_z(draws, [mean]) < 4.5
    assert worst_z((draws - mean) ** 2, [share @ (first - mean) ** 2]) < 4.5
    assert worst_z(draws < 0.3, [share @ (first < 0.3)]) < 4.5
    assert worst_z(draws, [1 / (1 + np.exp(-0.4))]) > 4.5  # without the likelihood


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_divergences_are_those_of_all_monitored_draws(monkeypatch):
    monkeypatch.setattr(hmc, "DIVERGED", -np.inf)
    est = BSVDD(kernel=kernels.RBF(1.0), sampler="hmc", draws=5, chains=2, random_state=1).fit(ROWS)
    assert est.idata_["sample_stats"]["diverging"].sum() == 10
    n = 2 * 8 * math.ceil(hmc.MIN_STEPS / 8)
    assert est.idata_["posterior"].attrs["divergences"] == n
    assert est.idata_["diagnostics"]["divergences"] == n


def test_all_chains_take_part_in_the_angle(monkeypatch):
    """A mean of 32 would hardly notice that one does not move, a harmonic mean does."""

    def move(self, angle, max_steps):
        assert max_steps < hmc.MAX_STEPS  # steps of a small angle are not wasted on the warm-up
        return {"acceptance_rate": np.append(np.ones(31), np.exp(-((angle / 0.1) ** 2)))}

    run = chains_in_step(far_from_normal())
    monkeypatch.setattr(ChainsInStep, "move", move)
    # where 32 / (31 + 1/p) is the target, p being the last chain's
    expected = 0.1 * np.sqrt(np.log(32 / hmc.TARGET - 31))
    assert run.warm_up(range(400)) == pytest.approx(expected, rel=0.1)


def test_a_trajectory_that_diverges_is_rejected():
    run = chains_in_step(bsvdd.build(GRAM, PRIOR, 2.0), 3)
    before = run.x
    run._state[0, 0] = np.nan
    kept = run.x[1:]
    statistics = run.move(0.5)
    assert statistics["diverging"].tolist() == [True, False, False]
    assert np.isnan(run.x[0]).all()
    assert (run.x[1:] != kept).all() and np.isfinite(run.x[1:]).all()
    np.testing.assert_array_equal(kept, before[1:])


@pytest.mark.parametrize(
    ("draws", "chains", "in_step"),
    [(1000, 2, 8), (1001, 2, 8), (5, 1, 8), (600, 20, 3), (60, 70, 1)],
)
def test_number_of_chains_in_step(monkeypatch, draws, chains, in_step):
    """At most 64 at once; a few draws are a part of more, which are monitored."""
    made = []

    class Watched(ChainsInStep):
        def __init__(self, density, whitening, starts, rng):
            made.append(starts)
            super().__init__(density, whitening, starts, rng)

    monkeypatch.setattr(hmc, "ChainsInStep", Watched)
    tree = sample(bsvdd.build(GRAM, PRIOR, 2.0), "hmc", draws, 50, chains, seed=2)
    assert tree["posterior"]["w"].shape == (chains, draws, 12)
    (starts,) = made
    assert len(starts) == chains * in_step
    assert len(np.unique(starts, axis=0)) == chains  # those of a chain start at one point
    statistics = tree["sample_stats"]
    assert statistics["energy"].shape == statistics["diverging"].shape == (chains, draws)


def test_draws_are_joined_chain_by_chain(monkeypatch):
    """The draws of each chain in step follow one another, so autocorrelations are right."""

    def move(self, angle, max_steps=None):
        self._state[0, :, 0] += 1.0
        n = len(self.x)
        return {
            "energy": np.arange(n) + 0.0,
            "acceptance_rate": np.ones(n),
            "diverging": 0 * np.arange(n),
        }

    monkeypatch.setattr(ChainsInStep, "move", move)
    settings = SamplerSettings("hmc", draws=504, tune=1, chains=2, seed=3)
    named, statistics, _ = drawn(bdd.build(GRAM, PRIOR, 2.0), settings)
    steps = np.diff(named["w"][:, :63, 0], axis=1)
    assert steps[0, 0] > 0.1
    np.testing.assert_allclose(steps, steps[0, 0])
    expected = np.repeat(np.arange(16.0), 63).reshape(2, 504)
    np.testing.assert_array_equal(statistics["energy"], expected)


@pytest.mark.parametrize(("active", "to_a_draw"), [([0, 3, 7, 8, 11], 2), ([0, 3], 4)])
def test_trajectories_for_a_draw_of_active_points(monkeypatch, active, to_a_draw):
    """A draw and its statistics are those of the last of these."""
    moved = []
    genuine = ChainsInStep.move

    def move(self, *arguments):
        statistics = genuine(self, *arguments)
        moved.append((self.x, statistics["energy"]))
        return statistics

    monkeypatch.setattr(ChainsInStep, "move", move)

    def prior(gram, name, dims):
        mean = pm.Data(f"{name}_mean", np.where(np.isin(range(12), active), 0.0, -40.0), dims=dims)
        return pm.Normal(name, mean, pm.Data(f"{name}_sd", 2.0), dims=dims)

    density = LogDensity(bsvdd.build(GRAM, prior))
    q = Laplace.of(density, rng())
    part = ActivePoints.of(density, np.array(active))
    settings = SamplerSettings("hmc", draws=512, tune=50, chains=2, seed=3)
    starts = q.starts(2, rng())
    named, statistics, diagnostics = hmc.sample(part, q, starts, settings, rng(), lambda v: v["w"])
    assert diagnostics.safe and len(moved) == hmc.MIN_WARM_UP + 64 * to_a_draw
    ends = moved[-64 * to_a_draw :][to_a_draw - 1 :: to_a_draw]
    x, energy = (np.stack(each, axis=1) for each in zip(*ends, strict=True))
    np.testing.assert_array_equal(named["beta"][..., active], x.reshape(2, 512, -1))
    np.testing.assert_array_equal(statistics["energy"], energy.reshape(2, 512))


def test_auto_takes_it_where_laplace_is_not_safe(capsys):
    model = far_from_normal()
    settings = dict(draws=600, tune=300, chains=2, seed=12, progressbar=True)
    posterior = sample(model, "auto", **settings)["posterior"]
    assert posterior.attrs["sampler"] == "hmc"
    assert "Laplace's approximation is not safe: Pareto k" in posterior.attrs["why"]
    assert "the chains are safe: angle" in posterior.attrs["why"]
    said = capsys.readouterr().err
    assert "chains in step" in said and "safe: angle" in said
    assert posterior.attrs["r_hat"] <= 1.01 and posterior.attrs["ess"] >= 200


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"MIN_ANGLE": 9.0}, "needs steps of .* radian"),
        ({"DIVERGED": -9e9}, "not safe: angle .* R-hat 1.00., .* divergences 1200"),
    ],
)
def test_auto_takes_nuts_where_chains_in_step_are_not_safe(monkeypatch, changed, why):
    for name, value in changed.items():
        monkeypatch.setattr(hmc, name, value)
    model = far_from_normal()
    posterior = sample(model, "auto", draws=600, tune=300, chains=2, seed=12)["posterior"]
    assert posterior.attrs["sampler"] == "nuts"
    assert re.search(why, posterior.attrs["why"])


def far_modes(gram, name, dims):
    which = pm.NormalMixture(f"{name}_which", [0.7, 0.3], mu=[0.0, 7.0], sigma=0.3)
    return pm.Deterministic(name, which * np.repeat([1.0, -1.0], 6), dims=dims)


def test_modes_between_which_no_chain_moves(monkeypatch):
    """Chains start in different modes, so R-hat shows it, and ``auto`` takes NUTS."""
    model = bsvdd.build(GRAM, far_modes, 0.1)
    settings = dict(draws=100, tune=50, chains=2, seed=1)
    with pytest.warns(DiagnosticWarning, match=r"not safe here .* R-hat (1\.[2-9]|[2-9])"):
        posterior = sample(model, "hmc", **settings)["posterior"]
    assert posterior.attrs["modes"] == 2
    why = sample(model, "auto", **settings)["posterior"].attrs["why"]
    assert re.fullmatch("there are several modes, [12].* sd apart; .* 2 of the 2 modes", why)
    monkeypatch.setattr(sampling, "FAR", 1000.0)
    posterior = sample(model, "auto", **settings)["posterior"]
    assert posterior.attrs["sampler"] == "nuts"
    assert re.search("several modes.*the chains are not safe: .* R-hat", posterior.attrs["why"])


def near_modes(gram, name, dims):
    which = pm.NormalMixture(f"{name}_which", [0.5, 0.5], mu=[-1.3, 1.3], sigma=1.0)
    return pm.Deterministic(name, which * np.repeat([0.01, -0.01], 6), dims=dims)


def test_modes_between_which_chains_move(worst_z):
    """The draws have the mean and the variance of the mixture, whose data say nothing of it."""
    posterior = sample(
        bsvdd.build(GRAM, near_modes, 0.1), "auto", draws=2000, tune=500, chains=4, seed=1
    )["posterior"]
    assert posterior.attrs["sampler"] == "hmc" and posterior.attrs["modes"] > 1
    which = posterior["beta_which"].values[..., None]
    assert worst_z(which, [0.0]) < 4.5
    assert worst_z(which**2, [1.0 + 1.3**2]) < 4.5


def test_draws_that_are_not_safe_yet_are_continued(monkeypatch):
    """All draws are for R-hat, and every second one counts."""
    judged, moved = [], []

    def mixing(values):
        judged.append(values)
        return {1: (1.02, 500.0), 2: (1.001, 800.0), 3: (1.5, 900.0)}[len(judged)]

    genuine = ChainsInStep.move
    monkeypatch.setattr(hmc, "mixing", mixing)
    monkeypatch.setattr(ChainsInStep, "move", lambda *a: moved.append(genuine(*a)) or moved[-1])
    settings = SamplerSettings("hmc", draws=512, tune=50, chains=2, seed=3)
    named, statistics, diagnostics = drawn(bsvdd.build(GRAM, PRIOR, 2.0), settings)
    assert diagnostics.safe
    assert (diagnostics.r_hat, diagnostics.ess) == (1.001, 900.0)
    assert judged[1].shape == (2, 1024, 12)
    np.testing.assert_array_equal(judged[2], judged[1][:, 1::2])
    np.testing.assert_array_equal(named["w"], judged[2])
    of_trajectories = np.array([each["energy"] for each in moved[-128:]])
    first = of_trajectories[1::2, :8].T.ravel()  # the eight of the first chain
    np.testing.assert_array_equal(statistics["energy"][0], first)


@pytest.mark.parametrize("judged", [(1.5, 20.0), (1.001, 1000.0)])
def test_hopeless_or_safe_draws_are_not(monkeypatch, judged):
    asked = []
    monkeypatch.setattr(hmc, "mixing", lambda values: asked.append(values.shape) or judged)
    drawn(bsvdd.build(GRAM, PRIOR, 2.0), SamplerSettings("hmc", 512, 50, 2, 3))
    assert asked == [(2, 512, 12)]


def test_where_it_cannot_be_used():
    with pytest.raises(ValueError, match="sampler='hmc' cannot be used: .* has kinks"):
        BSVDD(outlier_fraction=0.3, sampler="hmc").fit(ROWS)


def test_a_newer_request_ends_it(monkeypatch):
    """As in the explorer: each gradient asks."""
    calls = []

    def checkpoint():
        calls.append(1)
        if len(calls) > 30:
            raise SupersededError

    model = bsvdd.build(GRAM, PRIOR, 2.0)
    settings = SamplerSettings("hmc", draws=500, tune=50, chains=1, seed=1)
    drawn(model, replace(settings, draws=5))  # compiles
    start = ChainsInStep.__init__

    def asked(*arguments):
        monkeypatch.setattr("bsvdd.inference.log_density.checkpoint", checkpoint)
        start(*arguments)

    monkeypatch.setattr(ChainsInStep, "__init__", asked)
    with pytest.raises(SupersededError):
        drawn(model, settings)
    assert len(calls) == 31
