"""Several modes: chains start in different ones, so that R-hat sees what a chain would miss."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.diagnostics import Verdict
from bsvdd.inference.sampling import sample
from bsvdd.inference.warning import DiagnosticWarning
from bsvdd.models import Gram, bsvdd
from scipy.special import softmax

from bsvdd import BSVDD, kernels

ROWS = np.random.default_rng(85).normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
HALVES = np.repeat([1.0, -1.0], 6)
SETTINGS = dict(draws=300, tune=200, chains=2, seed=3)


def two_halves(gram, name, dims):
    """One number, about 0 or about 7, says whether the weights are even, or on the first half.

    PyMC starts at the mean, 2.1; .3 of the prior is about 7.
    """
    which = pm.NormalMixture(f"{name}_which", [0.7, 0.3], mu=[0.0, 7.0], sigma=0.3)
    return pm.Deterministic(name, which * pm.math.constant(HALVES), dims=dims)


def model():
    return bsvdd.build(GRAM, two_halves, 0.1)


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_fits_to_two_modes_warn():
    """Two chains of NUTS start in different modes; what a prior makes besides is in the draws."""
    settings = dict(draws=100, tune=100, chains=2, random_state=3)
    est = BSVDD(prior=two_halves, kernel=kernels.RBF(1.0), **settings)
    with pytest.warns(DiagnosticWarning, match="the chains disagree, as .* has several modes"):
        est.fit(ROWS)
    posterior = est.idata_["posterior"]
    assert posterior.attrs["sampler"] == "nuts"
    which = posterior["beta_which"].values
    np.testing.assert_allclose(np.sort(which.mean(axis=1)), [0.0, 7.0], atol=0.5)
    assert Verdict.of(posterior["w"].values).r_hat > 1.5
    beta = which[..., None] * HALVES
    np.testing.assert_allclose(posterior["beta"], beta)
    np.testing.assert_allclose(posterior["w"], softmax(beta, axis=-1), rtol=1e-10)


def near_modes(gram, name, dims):
    which = pm.NormalMixture(f"{name}_which", [0.5, 0.5], mu=[-1.3, 1.3], sigma=1.0)
    return pm.Deterministic(name, which * np.repeat([0.01, -0.01], 6), dims=dims)


def test_modes_between_which_chains_move(worst_z):
    """The draws have the mean and the variance of the mixture, whose data say nothing of it."""
    tree = sample(bsvdd.build(GRAM, near_modes, 0.1), "auto", draws=500, tune=300, chains=4, seed=1)
    posterior = tree["posterior"]
    assert posterior.attrs["sampler"] == "hmc"
    which = posterior["beta_which"].values[..., None]
    assert worst_z(which, [0.0]) < 4.5
    assert worst_z(which**2, [1.0 + 1.3**2]) < 4.5


def test_chains_of_metropolis_start_apart(monkeypatch):
    class Started(Exception):
        pass

    def stopped(**settings):
        raise Started(settings["initvals"])

    monkeypatch.setattr(pm, "sample", stopped)
    with pytest.raises(Started) as caught:
        sample(model(), "metropolis", **SETTINGS)
    first, second = (each["beta_which"] for each in caught.value.args[0])
    assert abs(second - first) > 0.01
