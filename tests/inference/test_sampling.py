"""Sampling: what samplers return, seeds, threads, interruption, several modes."""

import sys

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import hmc, sampling
from bsvdd.models import bdd, bsvdd
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF
from bsvdd.models.rows import Rows

from bsvdd import BSVDD, priors
from tests.cases import run

ROWS = np.random.default_rng(85).normal(size=(12, 2))
GRAM = Dictionary.of(RBF(1.0), Rows.of(ROWS))
MODEL = bsvdd.BSVDD(GRAM, priors.StandardizedRowSum())
QUICK = dict(draws=30, tune=30, chains=2)


SEEDS = {"auto": (3, 3, 4), "metropolis": (3, 4), "nuts": (3, 3, 4)}


@pytest.mark.filterwarnings("ignore")  # of few draws
@pytest.mark.parametrize(
    "sampler", ["auto", "metropolis", pytest.param("nuts", marks=pytest.mark.long)]
)
def test_shapes_names_and_seeds(sampler):
    """Chains of one run differ; HMC says which transitions diverge."""
    draws = [
        sampling.draw(MODEL, sampler, seed=seed, **QUICK) for seed in SEEDS[sampler]
    ]
    first, other = draws[0].by_chain, draws[-1].by_chain
    assert first.shape == (2, 30, 12)
    if sampler != "metropolis":  # whose step PyMC compiles anew
        np.testing.assert_array_equal(first, draws[1].by_chain)
    assert not np.allclose(first, other) and not np.allclose(first[0], first[1])
    np.testing.assert_allclose(first.sum(axis=2), 1.0, atol=1e-12)
    assert draws[0].sampler == {"auto": "hmc"}.get(sampler, sampler)
    assert all(v.shape == (2, 30) for v in draws[0].stats.values()) and draws[0].stats
    assert ("diverging" in draws[0].stats) == (sampler != "metropolis")


def test_draws_of_a_normal_posterior_are_independent():
    drawn = sampling.draw(
        bdd.BDD(GRAM, priors.EqualWeights(), 20.0), draws=4000, chains=2, seed=1
    )
    assert (
        drawn.sampler == "exact"
        and drawn.stats == {}
        and drawn.by_chain.shape == (2, 4000, 12)
    )
    lag = [
        np.corrcoef(x[1:], x[:-1])[0, 1] for chain in drawn.by_chain for x in chain.T
    ]
    assert np.abs(lag).max() < 4.5 / np.sqrt(4000)
    with pytest.raises(
        ValueError, match=r"sampler must be one of \['auto', 'nuts', 'metrop"
    ):
        sampling.draw(MODEL, "hmc")


@pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")  # few draws
def test_an_interrupt_leaves_the_estimator_as_it_was(monkeypatch, table):
    """Draws of a part of the run are never returned."""
    est, new = BSVDD(**QUICK).fit(*table), BSVDD(**QUICK)
    before, calls, genuine = est.fit_, [], hmc.Walk.moved

    def failing(self, *args):
        calls.append(1)
        if len(calls) > 40:  # after the warm-up
            raise KeyboardInterrupt
        return genuine(self, *args)

    monkeypatch.setattr(hmc.Walk, "moved", failing)
    for each in (est, new):
        with pytest.raises(KeyboardInterrupt):
            each.fit(*table)
    assert est.fit_ is before and not hasattr(new, "fit_")


def test_nothing_is_compiled_for_the_parallel_chains():
    """Neither numba nor a C compiler is used; PyMC only for priors of the user."""
    code = """
import sys, warnings
import numpy as np
from bsvdd import BSVDD, BSVDDM
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(30, 2))
BSVDDM(draws=20, tune=20).fit(X, X[:, 0] > 1)
assert "pymc" not in sys.modules and "pytensor" not in sys.modules
import pymc as pm, pytensor
pytensor.config.cxx = ""
BSVDD(draws=20, tune=20, prior=lambda g, n, dims: pm.StudentT(n, 4, dims=dims)).fit(X)
assert "nutpie" not in sys.modules
assert not any(name.startswith("pytensor.link.numba.dispatch") for name in sys.modules)
"""
    run(sys.executable, "-c", code)


# several modes: walkers start in different ones, so that R-hat sees what a chain would
# miss


def near_modes(gram, name, dims):
    which = pm.NormalMixture(f"{name}_which", [0.5, 0.5], mu=[-1.3, 1.3], sigma=1.0)
    return pm.Deterministic(name, which * np.repeat([1.0, -1.0], 6), dims=dims)


def test_modes_between_which_chains_move(worst_z):
    """Without a likelihood, the draws have the moments of the mixture."""
    drawn = sampling.draw(
        bsvdd.BSVDD(GRAM, near_modes, 1e-9), draws=300, tune=150, seed=1
    ).by_chain
    which = (np.log(drawn[..., 0]) - np.log(drawn[..., -1])) / 2.0
    assert worst_z(which, 0.0) < 4.5
    assert worst_z(which**2, 1.0 + 1.3**2) < 4.5
