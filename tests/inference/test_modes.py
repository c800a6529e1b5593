"""Several modes: chains start in different ones, so that R-hat sees what a chain would miss."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.active_points import AllPoints
from bsvdd.inference.diagnostics import MAX_R_HAT, MIN_ESS_PER_CHAIN, mixing
from bsvdd.inference.draws import SamplerSettings
from bsvdd.inference.log_density import LogDensity
from bsvdd.inference.samplers import nuts
from bsvdd.inference.samplers.laplace import Laplace
from bsvdd.inference.sampling import sample
from bsvdd.inference.warning import DiagnosticWarning
from bsvdd.models import Gram, bsvdd

from benchmarks import modes
from bsvdd import BSVDD, kernels

ROWS = np.random.default_rng(85).normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
HALVES = np.repeat([1.0, -1.0], 6)
SETTINGS = dict(draws=300, tune=200, chains=2, seed=3)


def two_halves(gram, name, dims):
    """One number, about 0 or about 7, says whether the weights are even, or on the first half.

    PyMC starts at the mean, 2.1, from where the way goes to 0 only; .3 of the prior is about 7.
    """
    which = pm.NormalMixture(f"{name}_which", [0.7, 0.3], mu=[0.0, 7.0], sigma=0.3)
    return pm.Deterministic(name, which * pm.math.constant(HALVES), dims=dims)


def model():
    return bsvdd.build(GRAM, two_halves, 0.1)


def r_hat(tree):
    return mixing(tree["posterior"]["w"].values)[0]


@pytest.mark.parametrize("sampler", ["auto", "nuts"])
def test_chains_start_in_different_modes(sampler):
    tree = sample(model(), sampler, **SETTINGS)
    posterior = tree["posterior"]
    assert posterior.attrs["modes"] == 2
    assert "several modes" in posterior.attrs["why"]
    which = posterior["beta_which"].values
    assert np.abs(which[0].mean()) < 0.5
    assert which[1].mean() == pytest.approx(7.0, abs=0.5)
    assert r_hat(tree) > 1.5


def test_chains_that_all_start_at_one_point_see_one_mode(monkeypatch):
    """Why they must not: all is well by R-hat, and .3 of the prior is never seen."""
    near = np.random.default_rng(0).uniform(-1, 1, (2, 1)) + LogDensity(model())._center
    monkeypatch.setattr(Laplace, "starts", lambda *args: near)
    tree = sample(model(), "nuts", **SETTINGS)
    assert r_hat(tree) < 1.02
    assert np.abs(tree["posterior"]["beta_which"].values).max() < 3.0


@pytest.mark.parametrize("sampler", ["auto", "nuts"])
def test_fits_to_two_modes_warn(sampler):
    est = BSVDD(prior=two_halves, kernel=kernels.RBF(1.0), sampler=sampler, draws=300, tune=200)
    with pytest.warns(DiagnosticWarning) as caught:
        est.fit(ROWS)
    said = [str(each.message) for each in caught]
    assert any("disagree, because the posterior has several modes; use" in m for m in said)
    assert float(est.idata_["diagnostics"]["modes"]) == 2
    with pytest.warns(DiagnosticWarning) as caught:
        est.set_params(chains=1).fit(ROWS)
    said = [str(each.message) for each in caught]
    assert any("several modes (2 found), and one chain cannot show" in m for m in said)


def test_modes_take_turns_as_starts_and_are_dispersed():
    n = 40
    upper = np.linalg.cholesky(np.cov(np.random.default_rng(1).normal(size=(n, 200)))).T
    ends = np.stack([np.zeros(n), np.full(n, 9.0), np.full(n, 1e-3), np.full(n, -9.0)])
    q = Laplace(ends[0], upper, ends)
    np.testing.assert_array_equal(q.modes, ends[[0, 1, 3]])
    starts = q.starts(400, np.random.default_rng(2))
    for mode in range(3):
        z = (starts[mode::3] - q.modes[mode]) @ upper.T
        assert z.std() == pytest.approx(2.0, rel=0.05)
        np.testing.assert_allclose(z.mean(), 0.0, atol=0.1)
    one = Laplace(ends[0], upper, ends[[0, 2]])
    assert not one.several_modes
    assert one.largest_distance == pytest.approx(np.linalg.norm(upper @ ends[2]))
    lost = Laplace(ends[0], upper, np.full((2, n), np.nan))
    assert lost.several_modes


def test_each_chain_of_nutpie_starts_where_it_is_told(monkeypatch):
    density, asked = LogDensity(model()), []
    genuine = LogDensity._logp_and_gradient

    def noted(self, function, x):
        asked.append(float(x[0]))
        return genuine(self, function, x)

    monkeypatch.setattr(LogDensity, "_logp_and_gradient", noted)
    starts = np.array([[6.5], [0.5], [-0.5]])
    settings = SamplerSettings("nuts", draws=20, tune=20, chains=3, seed=1)
    draws = nuts.sample(AllPoints(density), starts, settings)
    assert asked[0] == 6.5
    first = [asked.index(start) for start in starts[:, 0]]
    assert first == sorted(first)  # chain after chain
    assert draws.shape == (3, 20)
    assert draws.statistics["diverging"].shape == (3, 20)


def test_chains_of_metropolis_start_apart(monkeypatch):
    """On the scale of the variables, which PyMC transforms."""

    class Started(Exception):
        pass

    def stopped(**settings):
        raise Started(settings["initvals"])

    monkeypatch.setattr(pm, "sample", stopped)
    with pytest.raises(Started) as caught:
        sample(model(), "metropolis", **SETTINGS)
    first, second = (each["beta_which"] for each in caught.value.args[0])
    apart = abs(second - first)
    assert 0.01 < apart <= 4.0


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "chosen", "mixes"),
    [
        ("abalone_9v18", "published", False),
        ("vehicle_van", "published", False),
        ("abalone_9v18", "default", True),
        ("vehicle_van", "default", True),
    ],
)
def test_published_priors_have_several_modes_and_default_ones_mix(name, chosen, mixes, monkeypatch):
    """The script benchmarks/modes.py takes six data sets."""
    monkeypatch.setattr(modes, "SETTINGS", dict(draws=600, tune=400, chains=4))
    found = modes.fit(name, "scale", chosen)
    assert found["warned"] is not mixes
    assert (found["modes"] == 1) is mixes
    assert (found["r_hat"] <= MAX_R_HAT) is mixes
    assert (found["ess"] > 4 * MIN_ESS_PER_CHAIN) is mixes
