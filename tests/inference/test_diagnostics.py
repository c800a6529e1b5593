"""Diagnostics warn of what is wrong, and only of that."""

import warnings
from dataclasses import replace
from pathlib import Path

import arviz as az
import numpy as np
import pytest
import xarray as xr
from bsvdd.inference import diagnostics, warning
from bsvdd.inference.diagnostics import diagnose, effective_support
from bsvdd.inference.draws import Draws, SamplerReport
from bsvdd.inference.warning import DiagnosticWarning
from scipy.optimize import brentq

from bsvdd import BDD, BSVDD, kernels, priors


def fit(d, w, diverging=None, prior_support=20.0):
    """Return draws, distances and prior; ``prior_support`` None: of a model without a prior."""
    prior = None
    if prior_support is not None:
        weights = np.ones((3, 100))  # three draws; one weight, x, among ones
        for draw, s in zip(weights, (1.1, prior_support, 3 * prior_support), strict=True):
            draw[0] = brentq(lambda x, s=s: (x + 99) ** 2 / (x**2 + 99) - s, 1, 1e5)
        prior = xr.Dataset({"w": (("chain", "draw", "point"), weights[None])})
    statistics = {} if diverging is None else {"diverging": diverging}
    return Draws({"w": w}, SamplerReport("nuts"), statistics=statistics), d, prior


@pytest.fixture
def healthy():
    rng = np.random.default_rng(70)
    d = 1 + 0.1 * rng.normal(size=(2, 2000, 12))
    return d, rng.dirichlet(np.ones(20), size=(2, 2000))


def warned(fitted, n_points=20):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = diagnose(*fitted)
        diagnostics.warn_of_draws(found, *fitted[0].shape)
        diagnostics.warn_of_collapse(found, n_points)
    assert all(issubclass(w.category, DiagnosticWarning) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([0.25, 0.25, 0.25, 0.25], 4.0),
        ([1.0, 0, 0, 0], 1.0),
        ([0.5, 0.5, 0, 0], 2.0),
        ([0.7, 0.3], 1 / (0.49 + 0.09)),
        ([0.5, 0.5, 0.5, -0.5], 4.0),  # signed: four weights of equal size
        ([10.0, 10.0], 2.0),
    ],
)
def test_effective_support_by_hand(weights, expected):
    assert effective_support(np.array(weights)) == pytest.approx(expected)


def test_a_healthy_fit_warns_of_nothing(healthy):
    assert warned(fit(*healthy, np.zeros((2, 2000), bool))) == []


def test_values_are_those_of_arviz(healthy):
    d, w = healthy
    data = xr.Dataset({"d": (("chain", "draw", "obs"), d)})
    values = diagnose(*fit(d, w, prior_support=7.0))
    names = {"r_hat", "ess", "divergences", "effective_support", "largest_weight"}
    assert set(values.data_vars) == {*names, "prior_effective_support"}
    assert set(diagnose(*fit(d, w, prior_support=None)).data_vars) == names
    assert all(v.dims == () for v in values.data_vars.values())
    assert float(values["prior_effective_support"]) == pytest.approx(7.0)
    assert int(values["divergences"]) == 0
    assert float(values["r_hat"]) == pytest.approx(az.rhat(data)["d"].max().item())
    assert float(values["ess"]) == pytest.approx(az.ess(data)["d"].min().item())
    support = np.median(1 / (w**2).sum(axis=-1))
    assert float(values["effective_support"]) == pytest.approx(support)
    assert float(values["largest_weight"]) == pytest.approx(np.median(w.max(axis=-1)))


def test_chains_that_disagree_at_one_row(healthy):
    d, w = healthy
    d = d.copy()
    d[1, :, 7] += 0.5
    messages = warned(fit(d, w))
    assert any(
        m.startswith("R-hat of d_z is") and "the chains disagree; use" in m for m in messages
    )


def test_a_distance_that_never_moves_hides_no_other(healthy):
    """R-hat of a constant is undefined; the chains still disagree at row 7."""
    d, w = healthy
    d = d.copy()
    d[:, :, 3] = 1.0
    d[1, :, 7] += 0.05
    messages = warned(fit(d, w))
    assert any(m.startswith("R-hat of d_z is") for m in messages)


def test_a_distance_that_never_moves_is_warned_of(healthy):
    """A row whose distance no draw moves has no R-hat: that is no R-hat below the bound."""
    d, w = healthy
    d = d.copy()
    d[:, :, 3] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # by name and not by noise of the arithmetic
        values = diagnose(*fit(d, w))
    assert np.isnan(values["r_hat"])
    assert [m[:22] for m in warned(fit(d, w))] == ["R-hat of d_z is undefi"]


@pytest.mark.parametrize("draws", [1, 2, 3])
def test_too_few_draws_for_diagnostics_are_warned_of(healthy, draws):
    d, w = healthy
    messages = warned(fit(d[:, :draws], w[:, :draws]))
    assert messages == [
        f"{draws} draw(s) per chain are too few to diagnose or to trust; use draws=500 or more"
    ]


def test_one_chain_has_no_r_hat_to_warn_of(healthy):
    d, w = healthy
    one = fit(d[:1], w[:1])
    assert np.isnan(diagnose(*one)["r_hat"])
    assert diagnose(*one)["ess"] > 100
    assert warned(one) == []


def test_sticky_chains_have_few_effective_draws(healthy):
    d, w = healthy
    walk = np.cumsum(np.random.default_rng(71).normal(size=d.shape), axis=1)
    messages = warned(fit(d + 0.01 * walk, w))
    assert any("smallest effective sample size of d_z is" in m for m in messages)


def test_divergences_are_counted(healthy):
    diverging = np.zeros((2, 2000), bool)
    diverging[0, :3] = True
    draws, *others = fit(*healthy, diverging)
    assert [m[:24] for m in warned((draws, *others))] == ["3 divergent transitions:"]
    # those of all draws that the sampler monitored, of which these are a part
    draws = replace(draws, report=replace(draws.report, divergences=9))
    assert [m[:24] for m in warned((draws, *others))] == ["9 divergent transitions:"]


def test_support_warns_by_its_own_name(healthy):
    messages = warned(fit(*healthy, prior_support=1.2))
    assert len(messages) == 1
    assert messages[0].startswith("the prior weights have collapsed: 1.2 effective support points")
    d, w = healthy
    peaked = np.full_like(w, 0.001)
    peaked[..., 0] = 1 - 0.019
    (message,) = warned(fit(d, peaked))
    assert message.startswith("the posterior weights have collapsed: 1.0 effective support points")
    assert message.endswith("use a smaller likelihood_scale, or a smaller sd of the prior")
    both = warned(fit(d, peaked, prior_support=1.2))
    assert [m.split(":")[0] for m in both] == [
        "the prior weights have collapsed",
        "the posterior weights have collapsed",
    ]
    assert all("StandardizedRowSum" in m and "exponent" in m for m in both)
    assert ", like the prior weights; " in both[1]


def test_few_points_are_no_collapse(healthy):
    d, w = healthy
    three = w[..., :3] / w[..., :3].sum(axis=-1, keepdims=True)
    assert warned(fit(d, three, prior_support=2.0), n_points=3) == []


def test_one_draw_has_no_r_hat():
    single = fit(np.ones((1, 1, 3)), np.ones((1, 1, 4)) / 4, prior_support=None)
    values = diagnose(*single)
    assert np.isnan(values["r_hat"])
    assert np.isnan(values["ess"])
    assert "prior_effective_support" not in values
    assert [m[:14] for m in warned(single, 4)] == ["1 draw(s) per "]


@pytest.fixture(scope="module")
def two_hundred():
    return np.random.default_rng(72).normal(size=(200, 2))


def test_published_prior_collapses_on_200_rows(two_hundred):
    est = BSVDD(kernel=kernels.RBF("scale"), prior=priors.RowSum(exponent=1), draws=500, tune=300)
    with pytest.warns(DiagnosticWarning) as caught:
        est.fit(two_hundred)
    messages = [str(w.message) for w in caught]
    assert any(m.startswith("the prior weights have collapsed: ") for m in messages)
    row_sums = est.gram_.K.sum(axis=1)
    beta = np.random.default_rng(76).normal(size=(4000, 200)) - row_sums
    w = np.exp(beta - beta.max(axis=1, keepdims=True))
    expected = np.median(w.sum(axis=1) ** 2 / (w**2).sum(axis=1))
    value = float(est.idata_["diagnostics"]["prior_effective_support"])
    assert value == np.median(effective_support(est.idata_["prior"]["w"].values))
    assert value == pytest.approx(expected, rel=0.2)
    assert expected < 5


def test_default_prior_does_not_collapse(two_hundred):
    est = BSVDD(draws=500, tune=300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(two_hundred)
    values = est.idata_["diagnostics"]
    assert float(values["prior_effective_support"]) > 20
    assert float(values["effective_support"]) > 20


def test_prior_support_is_that_of_the_prior():
    """Flat on n equal points: the mean of 1/sum w^2 of a logistic normal, by simulation."""
    rows = np.random.default_rng(73).normal(size=(50, 2))
    est = BDD(kernel=kernels.RBF(1.0), prior=priors.Flat(0.7), draws=2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        est.fit(rows)
    draws = 0.7 * np.random.default_rng(74).normal(size=(4000, 50))
    expected = np.median(np.abs(draws).sum(1) ** 2 / (draws**2).sum(1))
    value = float(est.idata_["diagnostics"]["prior_effective_support"])
    assert value == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_independent_draws_of_the_default_size_are_trusted(seed):
    """BDD's exact draws cannot disagree: a warning about their chains is a false alarm."""
    rows = np.random.default_rng(75 + seed).normal(size=(60, 2))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BDD(random_state=seed).fit(rows)
    assert [str(w.message) for w in caught if "R-hat" in str(w.message)] == []


def test_a_file_beside_the_package_is_the_users():
    """A script inference_study.py beside the folder inference is no part of it."""
    name = str(Path(warning.__file__).parent) + "_study.py"
    code = compile("warn('here', category)", name, "exec")
    with pytest.warns(DiagnosticWarning) as caught:
        exec(code, {"warn": warning.warn, "category": DiagnosticWarning})
    assert caught[0].filename == name


def test_warnings_point_at_the_line_that_fits(two_hundred):
    with pytest.warns(DiagnosticWarning) as caught:
        BSVDD(draws=50, tune=50).fit(two_hundred)
    assert {w.filename for w in caught} == {__file__}


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
