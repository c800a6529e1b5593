"""Diagnostics warn of what is wrong, and only of that."""

import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from bsvdd.estimators.fit import prior_support
from bsvdd.inference import diagnostics, warning
from bsvdd.inference.diagnostics import Verdict
from bsvdd.inference.warning import DiagnosticWarning

from bsvdd import BDD, BSVDD, kernels, priors

ROWS = np.random.default_rng(72).normal(size=(60, 2))


def support(w):
    """Return the effective number of points of each draw, (sum |w|)^2 / sum w^2."""
    w = np.asarray(w).reshape(-1, np.shape(w)[-1])
    return np.abs(w).sum(axis=1) ** 2 / (w**2).sum(axis=1)


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (BDD(), []),  # whose exact draws cannot disagree
        (BDD(chains=1), []),
        (
            BDD(draws=3, cutoff=1.0),
            ["3 draw(s) per chain are too few to diagnose or to trust; use"],
        ),
        (BSVDD(draws=1000, tune=300), []),
    ],
    ids=["BDD", "one chain", "few draws", "BSVDD"],
)
def test_values_and_warnings_of_fits(model, said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est = model.fit(ROWS)
    caught = [w for w in caught if w.category is DiagnosticWarning]
    assert [any(text in str(w.message) for w in caught) for text in said] == [True] * len(said)
    assert len(caught) >= len(said) and not any("R-hat" in str(w.message) for w in caught)
    assert {w.filename for w in caught} <= {__file__}
    values = {name: float(v) for name, v in est.idata_["diagnostics"].data_vars.items()}
    w = est.idata_["posterior"]["w"].values
    assert np.isnan(values["r_hat"]) == (w.shape[0] == 1 or w.shape[1] == 3)
    assert values["effective_support"] == pytest.approx(np.median(support(w)))
    assert values["largest_weight"] == pytest.approx(np.median(np.abs(w).max(axis=-1)))
    assert values["divergences"] == 0


@pytest.mark.parametrize("shape", [(2, 200, 3), (4, 101, 2), (3, 8, 2)])
def test_mixing_is_that_of_arviz(shape):
    """Also with ties, chains apart, and unequal spreads, which only the folded values show."""
    rng = np.random.default_rng(90)
    values = np.round(rng.normal(size=shape).cumsum(axis=1) / 5, 1)
    values[0] *= 3.0
    data = xr.Dataset({"x": (("chain", "draw", "i"), values)})
    found, one = Verdict.of(values), Verdict.of(values[:1])
    assert found.r_hat == pytest.approx(float(az.rhat(data)["x"].max()), rel=1e-12)
    assert found.ess == pytest.approx(float(az.ess(data)["x"].min()), rel=1e-12)
    assert one.ess == pytest.approx(float(az.ess(data.isel(chain=[0]))["x"].min()), rel=1e-12)
    assert np.isnan(one.r_hat)


@pytest.mark.parametrize("seed", range(5))
def test_the_verdict_on_many_short_chains(seed):
    """One that is stuck, one that is wider, and a drift of all are seen; independent draws pass."""
    values = np.random.default_rng(seed).normal(size=(16, 125, 20))
    assert Verdict.of_parallel(values, 2).safe
    stuck, wide, drift = values.copy(), values.copy(), values.copy()
    stuck[3] = 0.01 * stuck[3] + 1.0
    wide[3] *= 4.0
    drift += np.linspace(-0.5, 0.5, 125)[:, None]
    for wrong in (stuck, wide, drift):
        assert Verdict.of_parallel(wrong, 2).r_hat > 1.01


@pytest.mark.parametrize(
    ("verdict", "safe", "may_improve"),
    [
        ((1.0, 200.0, 2), True, False),
        ((1.0, 199.0, 2), False, True),
        ((1.0, 1e4, 2, 1), False, False),
        ((np.nan, 100.0, 1), True, False),
        ((np.nan, 200.0, 2), False, False),
        ((1.02, 500.0, 2), False, True),
        ((1.02, 99.0, 2), False, False),
        ((1.2, 500.0, 2), False, False),
    ],
)
def test_which_draws_are_safe_and_which_may_improve(verdict, safe, may_improve):
    found = Verdict(*verdict)
    assert (found.safe, found.may_improve) == (safe, may_improve)


GOOD = {"r_hat": 1.0, "ess": 400.0, "divergences": 0}
LESS_LAMBDA = "because the likelihood, n0 rows times likelihood_scale, outweighs"


def draws(chains=2, n=500, n1=0, **values):
    return diagnostics.doubts_of_draws(GOOD | values, chains, n, n1)


def collapse(support, n, before):
    value = {"effective_support": support}
    return diagnostics.doubts_of_collapse(value, n, lambda: before)


def of_prior(ratio, support, calibrated):
    return diagnostics.doubts_of_prior(ratio, support, calibrated)


@pytest.mark.parametrize(
    ("doubts", "messages"),
    [
        (draws(), []),
        (draws(n=8, r_hat=1.01, ess=200.0), []),
        (draws(n=7), ["7 draw(s) per chain are too few"]),
        (draws(1, r_hat=np.nan), []),
        (draws(2, r_hat=np.nan), ["R-hat of d_z is undefined, because a distance is the same"]),
        (
            draws(r_hat=1.011),
            ["R-hat of d_z is 1.011 (> 1.01): the chains disagree, as they do if"],
        ),
        (draws(r_hat=1.1, n1=3), ["or bound the minority weights: priors.Beta(total=1)"]),
        (draws(ess=199.0), ["sample size of d_z is 199 (< 100 for each of 2 chains); use more"]),
        (draws(divergences=3), ["3 divergent transitions: parts of the posterior may be"]),
        (
            collapse(1.2, 40, 1.1),
            ["1.2 effective support rows of 40, like the prior weights, 1.1"],
        ),
        (collapse(1.2, 40, 30.0), [LESS_LAMBDA]),
        (collapse(1.2, 40, np.nan), [LESS_LAMBDA]),  # an improper prior
        (collapse(5.0, 40, 1.1), []),
        (collapse(1.2, 4, 1.1), []),  # few points are no collapse
        (
            of_prior(0.95, 1.08, True),
            ["has 0.95 of its prior variance, .* rest on 1.08 times .* a prior with a larger sd"],
        ),
        (of_prior(1.1, 0.9, False), ["likelihood_scale='calibrated'"]),
        *((of_prior(*ratios, False), []) for ratios in ((0.89, 1.0), (1.11, 1.0), (11.3, 3.4))),
        *((of_prior(1.0, support, False), []) for support in (0.89, 1.11, np.nan)),
    ],
)
def test_what_is_doubted(doubts, messages):
    for doubt, message in zip(doubts, messages, strict=True):
        assert all(part in doubt for part in message.split(" .* "))


def test_prior_support_is_that_of_the_prior():
    """Flat on n equal points, by simulation."""
    est = BDD(kernel=kernels.RBF(1.0), prior=priors.Flat(0.7), draws=2000)
    simulated = 0.7 * np.random.default_rng(74).normal(size=(4000, 50))
    value = prior_support(est.fit(ROWS[:50]).fit_)
    assert value == pytest.approx(np.median(support(simulated)), rel=0.05)


def test_a_file_beside_the_package_is_the_users():
    """A script inference_study.py beside the folder inference is no part of it."""
    name = str(Path(warning.__file__).parent) + "_study.py"
    code = compile("warn('here', category)", name, "exec")
    with pytest.warns(DiagnosticWarning) as caught:
        exec(code, {"warn": warning.warn, "category": DiagnosticWarning})
    assert caught[0].filename == name
