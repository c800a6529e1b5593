"""Diagnostics warn of what is wrong, and only of that."""

import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from bsvdd.inference import diagnostics, warning
from bsvdd.inference.warning import DiagnosticWarning

from bsvdd import BDD, BSVDD, kernels, priors

ROWS = np.random.default_rng(72).normal(size=(200, 2))


def support(w):
    """Return the effective number of points of each draw, (sum |w|)^2 / sum w^2."""
    w = np.asarray(w).reshape(-1, np.shape(w)[-1])
    return np.abs(w).sum(axis=1) ** 2 / (w**2).sum(axis=1)


def fitted(est, X=ROWS):
    """Return the fit, its diagnostics and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        est.fit(X)
    assert {w.filename for w in caught if w.category is DiagnosticWarning} <= {__file__}
    values = {name: float(v) for name, v in est.idata_["diagnostics"].data_vars.items()}
    return est, values, [str(w.message) for w in caught if w.category is DiagnosticWarning]


# of fewer draws than 2,000 the values of BSVDD are those of all judged ones, and not of the kept
@pytest.mark.parametrize("model", [BDD(), BSVDD(draws=1000, tune=300)], ids=["BDD", "BSVDD"])
def test_values_are_those_of_arviz(model):
    est, values, _ = fitted(model, ROWS[:60])
    d = est.idata_["distance"]["d"]
    w = est.idata_["posterior"]["w"].values
    if not np.isnan(values["r_hat"]):
        data = xr.Dataset({"d": d})
        assert values["r_hat"] == pytest.approx(az.rhat(data)["d"].max().item(), abs=0.01)
        assert values["ess"] == pytest.approx(az.ess(data)["d"].min().item(), rel=0.3)
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
    found = diagnostics.Verdict.of(values)
    assert found.r_hat == pytest.approx(float(az.rhat(data)["x"].max()), rel=1e-12)
    assert found.ess == pytest.approx(float(az.ess(data)["x"].min()), rel=1e-12)
    one = diagnostics.Verdict.of(values[:1])
    assert one.ess == pytest.approx(float(az.ess(data.isel(chain=[0]))["x"].min()), rel=1e-12)
    assert np.isnan(one.r_hat)


def test_the_verdict_on_many_short_chains():
    """One that is stuck, one that is wider, and a drift of all are seen; independent draws pass."""
    for seed in range(20):
        values = np.random.default_rng(seed).normal(size=(16, 125, 20))
        assert diagnostics.Verdict.of_parallel(values, 2).safe
        stuck, wide, drift = values.copy(), values.copy(), values.copy()
        stuck[3] = 0.01 * stuck[3] + 1.0
        wide[3] *= 4.0
        drift += np.linspace(-0.5, 0.5, 125)[:, None]
        for wrong in (stuck, wide, drift):
            assert diagnostics.Verdict.of_parallel(wrong, 2).r_hat > 1.01
    verdict = diagnostics.Verdict
    assert not verdict(1.0, 1e4, 2, divergences=1).safe and not verdict(1.0, 199.0, 2).safe
    assert verdict(np.nan, 100.0, 1).safe and not verdict(np.nan, 200.0, 2).safe
    assert verdict(1.02, 500.0, 2).may_improve and not verdict(1.2, 500.0, 2).may_improve


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_too_few_draws_for_diagnostics_are_warned_of(draws):
    _, values, messages = fitted(BDD(draws=draws, cutoff=1.0), ROWS[:60])
    few = f"{draws} draw(s) per chain are too few to diagnose or to trust; use draws=500 or more"
    assert few in messages and not any("R-hat" in m for m in messages)
    assert np.isnan(values["r_hat"])


def test_one_chain_has_no_r_hat_to_warn_of():
    _, values, messages = fitted(BDD(chains=1), ROWS[:60])
    assert np.isnan(values["r_hat"]) and values["ess"] > 100
    assert not any("R-hat" in m for m in messages)


@pytest.mark.parametrize("seed", range(4))
def test_independent_draws_of_the_default_size_are_trusted(seed):
    """BDD's exact draws cannot disagree: a warning about their chains is a false alarm."""
    rows = np.random.default_rng(75 + seed).normal(size=(60, 2))
    assert not any("R-hat" in m for m in fitted(BDD(random_state=seed), rows)[2])


def test_chains_that_disagree_and_few_effective_draws_are_warned_of():
    est = BSVDD(sampler="metropolis", draws=60, tune=5, prior=priors.Flat(3.0), cutoff=1.0)
    _, values, texts = fitted(est, ROWS[:40])
    assert values["r_hat"] > 1.01 and values["ess"] < 400
    assert any(m.startswith("R-hat of d_z is") and "the chains disagree, as" in m for m in texts)
    assert any("smallest effective sample size of d_z is" in m for m in texts)


def test_published_prior_collapses_on_200_rows():
    published = {"prior": priors.RowSum(exponent=1), "likelihood_scale": 1.0}
    est = BSVDD(kernel=kernels.RBF("scale"), **published, draws=500, tune=300)
    est, _, messages = fitted(est)
    (message,) = [m for m in messages if m.startswith("the posterior weights have collapsed: ")]
    assert "StandardizedRowSum" in message and "exponent" in message
    beta = np.random.default_rng(76).normal(size=(4000, 200)) - est.gram_.K.sum(axis=1)
    expected = np.median(support(np.exp(beta - beta.max(axis=1, keepdims=True))))
    assert est.fit_.prior.effective_support() == pytest.approx(expected, rel=0.2)
    assert expected < 5
    assert f", like the prior weights, {est.fit_.prior.effective_support():.1f} before" in message


@pytest.mark.parametrize(
    ("support", "before", "cause"),
    [
        (1.2, 1.1, "1.2 effective support points of 40, like the prior weights, 1.1 before any"),
        (1.2, 30.0, "1.2 effective support points of 40, because the likelihood, n0 rows"),
        (1.2, np.nan, "because the likelihood"),  # an improper prior
        (30.0, 1.1, None),
    ],
    ids=["prior", "likelihood", "improper", "spread"],
)
def test_a_posterior_that_collapses_is_told_from_its_prior(support, before, cause):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        diagnostics.warn_of_collapse({"effective_support": support}, 40, lambda: before)
    assert [cause in str(w.message) for w in caught] == [True] * (cause is not None)


def test_default_prior_does_not_collapse():
    _, values, messages = fitted(BSVDD(draws=500, tune=300))
    assert values["effective_support"] > 20
    assert not any("collapsed" in m for m in messages)
    few = fitted(BSVDD(kernel=kernels.RBF(1.0), cutoff=1.0), ROWS[:3])  # few points are no collapse
    assert not any("collapsed" in m for m in few[2])


def test_prior_support_is_that_of_the_prior():
    """Flat on n equal points, by simulation."""
    est = BDD(kernel=kernels.RBF(1.0), prior=priors.Flat(0.7), draws=2000)
    draws = 0.7 * np.random.default_rng(74).normal(size=(4000, 50))
    value = est.fit(ROWS[:50]).fit_.prior.effective_support()
    assert value == pytest.approx(np.median(support(draws)), rel=0.05)


def test_a_file_beside_the_package_is_the_users():
    """A script inference_study.py beside the folder inference is no part of it."""
    name = str(Path(warning.__file__).parent) + "_study.py"
    code = compile("warn('here', category)", name, "exec")
    with pytest.warns(DiagnosticWarning) as caught:
        exec(code, {"warn": warning.warn, "category": DiagnosticWarning})
    assert caught[0].filename == name
