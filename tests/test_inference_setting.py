"""A setting, its estimator and its code are the same thing."""

import dataclasses

import pytest
from bsvdd.inference.setting import FAMILIES, Setting, bandwidths
from hypothesis import given
from hypothesis import strategies as st

from bsvdd import BDD, BSVDD, BSVDDM, Cutoff, kernels, priors

NAMES = {
    "BDD": BDD,
    "BSVDD": BSVDD,
    "BSVDDM": BSVDDM,
    "Cutoff": Cutoff,
    "kernels": kernels,
    "priors": priors,
}
settings = st.builds(
    Setting,
    bandwidth=st.floats(1e-3, 1e3),
    **{name: st.sampled_from(choices) for name, choices in Setting.CHOICES.items()},
    **{name: st.floats(r.low, r.high) for name, r in Setting.RANGES.items()},
    row=st.integers(0, 9),
    dictionary=st.none() | st.integers(1, 500),
    draws=st.sampled_from([500, 1000]),
    chains=st.sampled_from([2, 4]),
    random_state=st.integers(0, 3),
    minor_label=st.none() | st.sampled_from(["bad", 2]),
)


@given(settings)
def test_the_code_evaluates_to_the_estimator(setting):
    est = eval(setting.code(), dict(NAMES))
    assert type(est) is type(setting.estimator())
    assert est.get_params() == setting.estimator().get_params()


@given(settings)
def test_the_estimator_has_what_the_setting_says(setting):
    est = setting.estimator()
    rbf = est.kernel.kernel if setting.standardize else est.kernel
    assert isinstance(est.kernel, kernels.Standardized) == setting.standardize
    assert rbf.bandwidth == setting.bandwidth
    assert type(est.prior).__name__ == setting.prior
    assert est.prior.sd == setting.sd
    assert est.prior.__dict__.get("exponent", setting.exponent) == setting.exponent
    assert est.likelihood_scale == setting.likelihood_scale
    assert (est.cutoff.criterion, est.cutoff.level) == (setting.criterion, setting.level)
    if setting.criterion == "cost":
        assert est.cutoff.miss_cost == setting.miss_cost
    if setting.criterion == "false_alarm":
        assert est.cutoff.false_alarm_rate == setting.false_alarm_rate
    if setting.model == "BSVDD-M":
        total = setting.total if setting.bounded else None
        assert est.minority_prior == priors.Beta(setting.a, setting.b, total)
    for name in ("dictionary", "draws", "chains", "random_state", "minor_label"):
        assert getattr(est, name) == getattr(setting, name)


@given(settings, settings)
def test_what_is_not_relevant_changes_nothing(setting, other):
    changes = {
        f.name: getattr(other, f.name)
        for f in dataclasses.fields(Setting)
        if f.name not in setting.relevant
    }
    assert dataclasses.replace(setting, **changes).code() == setting.code()


def test_every_family_has_its_numbers_as_sliders():
    for name, (family, parameters) in FAMILIES.items():
        numbers = {f.name for f in dataclasses.fields(family)} - {"kernel", "nugget"}
        assert set(parameters) == numbers, name
        assert numbers <= set(Setting.RANGES)


@pytest.mark.parametrize("name", Setting.RANGES)
def test_numbers_out_of_range_are_refused(name):
    limits = Setting.RANGES[name]
    for value in (limits.low * 0.99, limits.high * 1.01, float("nan"), -1.0):
        with pytest.raises(ValueError, match=f"{name} must lie between"):
            Setting(bandwidth=1.0, **{name: value})
    for value in (True, "1", None):
        with pytest.raises(TypeError, match=f"{name} must be a number"):
            Setting(bandwidth=1.0, **{name: value})


@pytest.mark.parametrize("name", Setting.CHOICES)
def test_unknown_choices_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        Setting(bandwidth=1.0, **{name: "other"})


def test_a_rounded_number_is_what_the_slider_shows_and_stays_in_range():
    limits = bandwidths(1.2345678)
    assert limits.rounded(1.2345678) == 1.23
    assert limits.rounded(1e9) == limits.high
    assert limits.rounded(0.0) == limits.low
    assert limits.low == 0.247
