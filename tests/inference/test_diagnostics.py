"""Diagnostics: R-hat and ESS beside ArviZ; spread, pull, variances by hand."""

from dataclasses import replace
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from bsvdd.inference import diagnostics
from bsvdd.inference.diagnostics import convergence, effective_support
from bsvdd.inference.draws import Draws
from bsvdd.models.bsvdd import BSVDD
from bsvdd.models.dictionary import Dictionary
from bsvdd.models.kernels import RBF
from bsvdd.models.rows import Rows

from bsvdd import priors
from bsvdd.base import warning
from bsvdd.base.warning import DiagnosticWarning
from tests.cases import GROUPS, T, X, close
from tests.models.helpers import left_out, near_cutoff, without_group


@pytest.mark.parametrize("shape", [(2, 200, 3), (4, 101, 2), (3, 8, 2)])
def test_mixing_is_that_of_arviz(shape):
    """Also with ties, chains apart, and spreads that only folded values show."""
    rng = np.random.default_rng(90)
    values = np.round(rng.normal(size=shape).cumsum(axis=1) / 5, 1)
    values[0] *= 3.0
    data = xr.Dataset({"x": (("chain", "draw", "i"), values)})
    both = az.rhat(data)["x"].max(), az.ess(data)["x"].min()
    close(convergence(values), both, 1e-12)
    ess = az.ess(data.isel(chain=[0]))["x"].min()
    close(convergence(values[:1]), [np.nan, ess], 1e-12)


@pytest.mark.parametrize("fault", ["none", "stuck", "wide", "drift"])
def test_chains_that_disagree_are_seen(fault):
    values = np.random.default_rng(1).normal(size=(4, 500, 5))
    if fault == "stuck":
        values[3] = 0.01 * values[3] + 1.0
    elif fault == "wide":
        values[3] *= 4.0
    elif fault == "drift":
        values += np.linspace(-0.5, 0.5, 500)[:, None]
    assert (convergence(values)[0] > 1.01) == (fault != "none")


def test_values_that_never_change_and_few_draws_say_nothing():
    values = np.random.default_rng(1).normal(size=(2, 50, 3))
    values[..., 1] = 7.0
    assert np.isnan(convergence(values)[0])
    assert np.isnan(convergence(values[:, :7])).all()


def test_similarities_of_50_atoms_are_compared():
    rng = np.random.default_rng(2)
    gram = Dictionary.of(RBF(1.0), Rows.of(rng.normal(size=(120, 3))))
    w = rng.normal(size=(80, 120))
    found = diagnostics.convergence_of_draws(draws_of(gram, w, 2))
    some = gram.by_value[:100:2]
    assert found == convergence(w.reshape(2, 40, 120) @ gram.K[:, some])


def test_hyperparameters_are_compared_too():
    """A scale whose chains disagree is seen, where similarities agree."""
    rng = np.random.default_rng(2)
    gram = Dictionary.of(RBF(1.0), Rows.of(rng.normal(size=(12, 3))))
    draws = draws_of(gram, rng.normal(size=(80, 12)), 2)
    sd = rng.normal(size=80) + np.repeat([0.0, 9.0], 40)
    known = {"beta": (("point",), draws.w), "other": ((), sd)}
    assert diagnostics.convergence_of_draws(replace(draws, variables=known))[0] < 1.2
    known["beta_sd"] = (), sd
    assert diagnostics.convergence_of_draws(replace(draws, variables=known))[0] > 1.5


def test_support_is_the_number_of_rows_that_weights_rest_on():
    """Equal weights of rows rest on all rows; one atom rests on its rows."""
    sizes = np.array([1.0, 3.0, 2.0])
    w = np.array([[1.0, 3.0, 2.0], [0.0, 5.0, 0.0], [0.5, 0.0, -1.0]])
    close(effective_support(w, sizes), [6.0, 3.0, 1.5**2 / (0.25 + 0.5)])
    each = np.random.default_rng(3).normal(size=(4, 6))
    close(
        effective_support(each, np.ones(6)), np.abs(each).sum(1) ** 2 / (each**2).sum(1)
    )


def draws_of(gram, w, chains=1):
    return Draws(BSVDD(gram, priors.Flat()), w, chains)


def near_by_hand(t, group, draws):
    """Return s_z (S, c), n0 sigma_z, mean similarity (c,) of rows near the cutoff."""
    K, t = RBF(1.0)(X, X), t / t.mean()
    mean, variance = np.transpose([without_group(K, t, group, i) for i in range(60)])
    mass = (
        np.array([t[group == u].mean() for u in group])
        * t
        / np.bincount(group, t)[group]
    )
    return (
        near_cutoff(mean, mass),
        left_out(draws, K, group, 0.1),
        np.sqrt(variance),
        mean,
    )


@pytest.mark.parametrize("of", ["rows", "weights", "groups"])
def test_spread_pull_and_variance_ratio_are_their_formulas(of):
    t = T if of == "weights" else np.ones(60)
    group = GROUPS if of == "groups" else np.arange(60)
    gram = Dictionary.of(
        RBF(1.0), Rows.of(X, None, t, group if of == "groups" else None)
    )
    rng, sizes = np.random.default_rng(4), gram.sizes
    w = sizes * (1.0 + 0.3 * rng.normal(size=(300, len(sizes)))) / 60.0
    prior = sizes * (1.0 + 0.9 * rng.normal(size=(300, len(sizes)))) / 60.0
    share = t / t.mean() / sizes[gram.of_row]  # of a row in its atom
    of_rows, of_prior = (v[:, gram.of_row] * share for v in (w, prior))
    which, s, sigma, mean = near_by_hand(t, group, of_rows)
    step = -(-len(which) // 20)
    which, draws = which[::step], draws_of(gram, w)
    assert sorted(diagnostics.monitored(gram)) == sorted(which)
    close(
        np.sort(diagnostics.similarity(draws), axis=1),
        np.sort(s[:, which], axis=1),
        1e-9,
    )
    total = np.median(w.sum(axis=1))
    spread, pull = diagnostics.spread_and_pull(draws)
    sd = s[:, which].std(axis=0)
    close(spread, np.median(sd * 60.0 / (total * sigma[which])), 1e-9)
    close(pull, np.median((s[:, which].mean(axis=0) - total * mean[which]) / sd), 1e-7)
    before = np.nanvar(near_by_hand(t, group, of_prior)[1][:, which], axis=0)
    assert before.max() < 1.0  # although without a group some draws have no weight left
    close(
        diagnostics.variance_ratio(draws, draws_of(gram, prior)),
        np.median(sd**2 / before),
    )


def test_a_file_beside_the_package_is_the_users():
    """A script inference_study.py beside the folder inference is no part of it."""
    name = str(Path(warning.__file__).parent) + "_study.py"
    code = compile("warn('here', category)", name, "exec")
    with pytest.warns(DiagnosticWarning) as caught:
        exec(code, {"warn": warning.warn, "category": DiagnosticWarning})
    assert caught[0].filename == name
    with warning.collected() as messages:
        warning.warn("there", DiagnosticWarning)
    assert messages == [("there", DiagnosticWarning)]
