"""Diagnostics: R-hat and ESS beside ArviZ; spread, pull, variances by hand."""

from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from bsvdd.inference.centre import Centre
from bsvdd.inference.worth import Chains, Near, effective_support
from bsvdd.models.data import Data
from bsvdd.models.kernels import RBF
from bsvdd.models.units import Units

from bsvdd.base import warning
from bsvdd.base.warning import DiagnosticWarning
from tests.cases import BATCHES, T, X, close
from tests.models.helpers import left_out, near_cutoff, without_group


@pytest.mark.parametrize("shape", [(2, 200, 3), (4, 101, 2), (3, 8, 2)])
def test_mixing_is_that_of_arviz(shape):
    """Also with ties, chains apart, and spreads that only folded values show."""
    rng = np.random.default_rng(90)
    values = np.round(rng.normal(size=shape).cumsum(axis=1) / 5, 1)
    values[0] *= 3.0
    data = xr.Dataset({"x": (("chain", "draw", "i"), values)})
    found, one = Chains.of(values), Chains.of(values[:1])
    assert found.r_hat == pytest.approx(float(az.rhat(data)["x"].max()), rel=1e-12)
    assert found.ess == pytest.approx(float(az.ess(data)["x"].min()), rel=1e-12)
    assert one.ess == pytest.approx(
        float(az.ess(data.isel(chain=[0]))["x"].min()), rel=1e-12
    )
    assert np.isnan(one.r_hat)


@pytest.mark.parametrize("fault", ["none", "stuck", "wide", "drift"])
def test_chains_that_disagree_are_seen(fault):
    values = np.random.default_rng(1).normal(size=(4, 500, 5))
    if fault == "stuck":
        values[3] = 0.01 * values[3] + 1.0
    elif fault == "wide":
        values[3] *= 4.0
    elif fault == "drift":
        values += np.linspace(-0.5, 0.5, 500)[:, None]
    assert (Chains.of(values).r_hat > 1.01) == (fault != "none")


def test_values_that_never_change_and_few_draws_say_nothing():
    values = np.random.default_rng(1).normal(size=(2, 50, 3))
    values[..., 1] = 7.0
    assert np.isnan(Chains.of(values).r_hat)
    few = Chains.of(values[:, :7])
    assert np.isnan(few.r_hat) and np.isnan(few.ess)


def test_similarities_of_50_points_are_compared():
    rng = np.random.default_rng(2)
    w, K = rng.normal(size=(2, 40, 120)), rng.normal(size=(120, 120))
    found = Chains.of_points(w, K)
    assert found == Chains.of((w @ K)[..., :100:2])


def test_support_is_the_number_of_rows_that_weights_rest_on():
    """Equal weights of rows rest on all rows; one atom rests on its rows."""
    sizes = np.array([1.0, 3.0, 2.0])
    w = np.array([[1.0, 3.0, 2.0], [0.0, 5.0, 0.0], [0.5, 0.0, -1.0]])
    close(effective_support(w, sizes), [6.0, 3.0, 1.5**2 / (0.25 + 0.5)])
    each = np.random.default_rng(3).normal(size=(4, 6))
    close(
        effective_support(each, np.ones(6)), np.abs(each).sum(1) ** 2 / (each**2).sum(1)
    )


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


@pytest.mark.parametrize("of", ["rows", "weights", "batches"])
def test_spread_pull_and_variance_ratio_are_their_formulas(of):
    t = T if of == "weights" else np.ones(60)
    group = BATCHES if of == "batches" else np.arange(60)
    data = Data.of(RBF(1.0), Units.of(X, None, t, group if of == "batches" else None))
    rng, sizes = np.random.default_rng(4), data.gram.sizes
    w = sizes * (1.0 + 0.3 * rng.normal(size=(300, len(sizes)))) / 60.0
    prior = sizes * (1.0 + 0.9 * rng.normal(size=(300, len(sizes)))) / 60.0
    share = t / t.mean() / sizes[data.points.of_row]  # of a row in its point
    of_rows, of_prior = (v[:, data.points.of_row] * share for v in (w, prior))
    which, s, sigma, mean = near_by_hand(t, group, of_rows)
    step = -(-len(which) // 20)
    near, which = Near.of(data), which[::step]
    close(
        np.sort(near.similarity(Centre(w, 0)), axis=1),
        np.sort(s[:, which], axis=1),
        1e-9,
    )
    total = np.median(w.sum(axis=1))
    spread, pull = near.spread_and_pull(Centre(w, 0))
    sd = s[:, which].std(axis=0)
    close(spread, np.median(sd * 60.0 / (total * sigma[which])), 1e-9)
    close(pull, np.median((s[:, which].mean(axis=0) - total * mean[which]) / sd), 1e-7)
    before = np.nanvar(near_by_hand(t, group, of_prior)[1][:, which], axis=0)
    assert before.max() < 1.0  # although without a group some draws have no weight left
    close(
        near.variance_ratio(Centre(w, 0), Centre(prior, 0)), np.median(sd**2 / before)
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
