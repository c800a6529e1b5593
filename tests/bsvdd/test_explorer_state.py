"""A state of the explorer, its estimator and its code are the same thing."""

import dataclasses

import pytest
from bsvdd.estimators.registry import REGISTRY
from hypothesis import given
from hypothesis import strategies as st

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, Cutoff, as_published, kernels, priors
from bsvdd.explorer.ranges import bandwidth_range
from bsvdd.explorer.state import FAMILIES, ExplorerState, models

NAMES = {
    "BDD": BDD,
    "BDDM": BDDM,
    "BSVDD": BSVDD,
    "BSVDDM": BSVDDM,
    "Cutoff": Cutoff,
    "as_published": as_published,
    "kernels": kernels,
    "priors": priors,
}
CHOICES = ExplorerState.choices()
states = st.builds(
    ExplorerState,
    bandwidth=st.floats(1e-3, 1e3),
    **{name: st.sampled_from(choices) for name, choices in CHOICES.items()},
    **{name: st.floats(r.low, r.high) for name, r in ExplorerState.RANGES.items()},
    row=st.integers(0, 9),
    dictionary=st.none() | st.integers(1, 500),
    draws=st.sampled_from([500, 1000]),
    chains=st.sampled_from([2, 4]),
    random_state=st.integers(0, 3),
    minor_label=st.none() | st.sampled_from(["bad", 2]),
)


@given(states)
def test_the_code_evaluates_to_the_estimator(state):
    est = eval(state.code(), dict(NAMES))
    assert type(est) is type(state.estimator())
    assert est.get_params() == state.estimator().get_params()


@given(states.map(lambda state: dataclasses.replace(state, published=True)))
def test_a_published_state_is_the_published_model_with_its_kernel(state):
    est = state.estimator()
    kernel = kernels.RBF(bandwidth=state.bandwidth)
    expected = as_published(
        state.model,
        kernel=kernels.Tabular(kernel) if state.standardize else kernel,
        random_state=state.random_state,
        minor_label=state.minor_label,
    )
    assert type(est) is type(expected)
    assert est.get_params() == expected.get_params()
    assert state.code().startswith("as_published(")
    assert {"prior", "criterion", "draws", "dictionary"}.isdisjoint(state.relevant)


def test_a_model_without_a_source_has_nothing_published(monkeypatch):
    record = dataclasses.replace(REGISTRY["BSVDD"], name="Mine")
    monkeypatch.setitem(REGISTRY, "Mine", record)
    state = ExplorerState(bandwidth=1.0, model="Mine", published=True)
    assert "published" not in state.relevant and not state.is_published
    assert state.code() == ExplorerState(bandwidth=1.0, model="Mine").code()


@given(states.map(lambda state: dataclasses.replace(state, published=False)))
def test_the_estimator_has_the_numbers_of_the_state(state):
    est = state.estimator()
    rbf = est.kernel.kernel if state.standardize else est.kernel
    assert isinstance(est.kernel, kernels.Tabular) == state.standardize
    assert rbf.bandwidth == state.bandwidth
    assert type(est.prior).__name__ == state.prior
    assert est.prior.sd == state.sd
    assert est.prior.__dict__.get("exponent", state.exponent) == state.exponent
    scale = "calibrated" if state.calibrated else state.likelihood_scale
    minority = state.model in ("BSVDD-M", "BDD-M")  # whose lambda is a number
    assert est.likelihood_scale == (state.likelihood_scale if minority else scale)
    assert (est.cutoff.criterion, est.cutoff.level) == (state.criterion, state.level)
    if state.criterion == "cost":
        assert est.cutoff.miss_cost == state.miss_cost
    if state.criterion == "false_alarm":
        assert est.cutoff.false_alarm_rate == state.false_alarm_rate
    if state.model == "BSVDD-M":
        total = state.total if state.bounded else None
        assert est.minority_prior == priors.Beta(state.a, state.b, total)
    if state.model == "BDD-M":
        assert est.minority_prior == priors.TruncatedNormal()
    for name in ("dictionary", "draws", "chains", "random_state", "minor_label"):
        assert getattr(est, name) == getattr(state, name)


@given(states, states)
def test_what_is_not_relevant_changes_nothing(state, other):
    changes = {
        f.name: getattr(other, f.name)
        for f in dataclasses.fields(ExplorerState)
        if f.name not in state.relevant
    }
    assert dataclasses.replace(state, **changes).code() == state.code()


@pytest.mark.parametrize("model", models())
def test_the_controls_start_at_the_defaults_of_the_model(model):
    """Other models share the prior of the controls, as a change of the model keeps it."""
    est = ExplorerState(bandwidth=1.0, model=model).estimator()
    defaults = REGISTRY[model].parameters
    names = {"minority_prior", "likelihood_scale", "draws", "chains"}
    names |= {"prior"} if model == "BSVDD" else set()
    for name in names & set(defaults):
        assert getattr(est, name) == defaults[name], name


def test_every_bayesian_model_is_offered_and_the_default_is_first():
    names = list(models())
    assert set(names) == {name for name, record in REGISTRY.items() if record.bayesian}
    assert names[:3] == ["BSVDD", "BSVDD-M", "BDD"]


def test_every_family_has_its_numbers_as_sliders():
    for name, (family, parameters) in FAMILIES.items():
        numbers = {f.name for f in dataclasses.fields(family)} - {"kernel", "nugget"}
        assert set(parameters) == numbers, name
        assert numbers <= set(ExplorerState.RANGES)


@pytest.mark.parametrize("name", ExplorerState.RANGES)
def test_numbers_out_of_range_are_refused(name):
    limits = ExplorerState.RANGES[name]
    for value in (limits.low * 0.99, limits.high * 1.01, float("nan"), -1.0):
        with pytest.raises(ValueError, match=f"{name} must lie between"):
            ExplorerState(bandwidth=1.0, **{name: value})
    for value in (True, "1", None):
        with pytest.raises(TypeError, match=f"{name} must be a number"):
            ExplorerState(bandwidth=1.0, **{name: value})


@pytest.mark.parametrize("name", CHOICES)
def test_unknown_choices_are_refused(name):
    with pytest.raises(ValueError, match=f"{name} must be one of"):
        ExplorerState(bandwidth=1.0, **{name: "other"})


def test_a_rounded_number_is_what_the_slider_shows_and_stays_in_range():
    limits = bandwidth_range(1.2345678)
    assert limits.rounded(1.2345678) == 1.23
    assert limits.rounded(1e9) == limits.high
    assert limits.rounded(0.0) == limits.low
    assert limits.low == 0.247
