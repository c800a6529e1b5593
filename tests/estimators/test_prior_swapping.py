"""Another prior: its log density in a fit, its draws, its cutoff."""

from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.cutoff import as_cutoff
from scipy import stats

import bsvdd
from bsvdd import BDD, BDDM, BSVDD, BSVDDM, Cutoff, cutoffs, kernels, priors
from tests.scores import scores_left_out

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
RBF = kernels.RBF(1.2)
MANY = dict(draws=4000, kernel=RBF, cutoff=0.9, random_state=1)
RNG = np.random.default_rng(90)
ROWS = np.concatenate([RNG.normal(size=(20, 2)), RNG.normal(2.0, 1.0, size=(5, 2))])
Y = np.repeat([0, 1], [20, 5])
MAJORITY = ROWS[:20]


def student(gram, name, dims):
    return pm.StudentT(name, nu=4, dims=dims)


def hierarchical(gram, name, dims):
    return pm.Normal(name, 0.0, pm.HalfNormal(f"{name}_scale"), dims=dims)


def tilted(mean):
    """A prior with a potential, which counts."""

    def make(gram, name, dims):
        x = pm.Normal(name, mean, 1.0, dims=dims)
        pm.Potential(f"{name}_tilt", 3 * mean * x[0])
        return x

    return make


def test_another_prior_must_be_named():
    with pytest.raises(ValueError, match=r"another prior needs at least one of prior=\.\.\."):
        BSVDD(draws=60, tune=60, kernel=RBF).fit(MAJORITY).with_prior()


def test_one_estimate_has_no_summary():
    with pytest.raises(ValueError, match="one estimate of the weights"):
        BDD(simplex=True).fit(MAJORITY).summary()


# the log prior of a fit


def test_every_fit_holds_its_log_prior_for_arviz():
    """Of BDDM: of x, which is alpha0 before the condition on its sum."""
    S, m = np.cov(np.random.default_rng(94).normal(size=(20, 60))), np.linspace(-1, 1, 20)
    joint = stats.multivariate_normal(m, 0.64 * S)
    truncated = {"minority_prior": priors.TruncatedNormal(0.3, sd=0.5)}

    def log_prior(cls, **minority):
        prior = priors.Normal(sd=0.8, m=m, sigma=S)
        est = cls(draws=200, kernel=RBF, random_state=2, prior=prior, **minority).fit(ROWS, Y)
        assert np.isfinite(az.psense(est.idata_, var_names="w", group="prior")["w"]).all()
        return est.idata_["log_prior"].dataset, est.idata_["posterior"].dataset

    for cls, minority, name in (
        (BDD, {}, "alpha0"),
        (BSVDD, {}, "beta"),
        (BSVDDM, {"minority_prior": priors.Beta(2, 3)}, "tau"),
    ):
        found, draws = log_prior(cls, **minority)
        np.testing.assert_allclose(found[name], joint.logpdf(draws[name]))
    expected = stats.beta(2, 3).logpdf(draws["alpha1"]).sum(axis=-1)
    np.testing.assert_allclose(found["alpha1"], expected, rtol=1e-6)
    found, draws = log_prior(BDDM, **truncated)
    alpha1, x = -draws["w"].values[..., 20:], draws["x"].values
    np.testing.assert_allclose(found["x"], joint.logpdf(x))
    of_minority = stats.truncnorm(-0.6, 1.4, 0.3, 0.5).logpdf(alpha1).sum(-1)
    np.testing.assert_allclose(found["alpha1"], of_minority, rtol=1e-6)
    missing = 1 + alpha1.sum(-1, keepdims=True) - x.sum(-1, keepdims=True)
    alpha0 = x + missing * S.sum(axis=0) / S.sum()
    np.testing.assert_allclose(draws["w"].values[..., :20], alpha0, atol=1e-9)


# what a prior says


def test_prior_distance_has_the_moments_of_the_prior():
    """alpha ~ N(0, s^2 I): E d^2 = k(z, z) + s^2 tr K."""
    est = BDD(prior=priors.Flat(0.4), kernel=RBF)
    d = bsvdd.prior_draws(est, MAJORITY, Z=ROWS[20:], draws=4000)["d"]
    assert d.dims == ("chain", "draw", "obs") and d.sizes["obs"] == 5
    np.testing.assert_allclose((d**2).mean(("chain", "draw")), 1 + 0.16 * 20, rtol=0.05)
    assert not hasattr(est, "idata_")
    assert bsvdd.prior_draws(est, MAJORITY)["d"].sizes == {"chain": 1, "draw": 200, "obs": 20}
    est = BSVDD(prior=lambda gram, name, dims: pm.Flat(name, dims=dims))
    with pytest.raises(ValueError, match="the prior is improper, as pm.Flat is"):
        bsvdd.prior_draws(est, MAJORITY)


def test_names_of_the_priors_are_shown_and_stored():
    few = {"kernel": RBF, "draws": 60, "tune": 60}
    est = BSVDDM(minority_prior=priors.Beta(total=0.5), **few)
    shown = "prior=Flat(sd=0.83), minority_prior=Beta(a=1.0, b=1.0, total=0.5)"
    assert repr(est) == f"BSVDDM({shown}, draws=60, kernel={RBF}, tune=60)"
    attrs = est.fit(ROWS, Y).idata_["posterior"].attrs
    assert f"prior={attrs['prior']}, minority_prior={attrs['minority_prior']}" == shown
    many = priors.Normal(m=np.arange(20.0))
    short = "Normal(sd=1.0, m=(0.0, 1.0, 2.0, 3.0, ...), sigma=None)"
    for prior, name in ((many, short), (student, f"{__name__}.student")):
        assert est.with_prior(prior).idata_["posterior"].attrs["prior"] == name
    assert repr(BSVDD(prior=student)) == f"BSVDD(prior={__name__}.student)"


@pytest.mark.parametrize(
    "est",
    [
        BSVDD(prior=priors.Beta()),
        BDD(prior=priors.TruncatedNormal()),
        BSVDDM(minority_prior=priors.Flat(sd=1.0)),
        BDDM(minority_prior=priors.RowSum()),
    ],
    ids=repr,
)
def test_a_prior_of_the_other_class_is_refused(est):
    rows, y = np.random.default_rng(3).normal(size=(40, 2)), np.arange(40) > 33
    with pytest.raises(ValueError, match=r"has \d+ values, and .* it is a prior of the points of"):
        est.fit(rows, y)


# the cutoff of another prior


def beyond(est):
    """How many majority rows lie beyond the cutoff, left out as for its choice."""
    return int((est.fit_.chosen.left_out[: est.gram_.n0] < 0).sum())


TWO = np.random.default_rng(7).normal(size=(92, 2)) + np.repeat([0.0, 1.5], [80, 12])[:, None]
LABELS = np.repeat([0, 1], [80, 12])
CRITERIA = [
    *(None, cutoffs.Best("f1", None), cutoffs.Cost(3)),
    *(Cutoff(uncertain=False), Cutoff(cutoffs.Best(), cv=4), Cutoff(level=0.3)),
]


@pytest.mark.parametrize("cutoff", CRITERIA, ids=str)
def test_another_prior_keeps_the_false_alarms_of_a_criterion_that_compares_classes(
    cutoff, tmp_path
):
    est = BDD(kernel=RBF, cutoff=cutoff).fit(TWO, LABELS)
    other = est.with_prior(priors.StandardizedRowSum(sd=0.02))
    assert isinstance(other.cutoff.choose, cutoffs.FalseAlarm) and est.cutoff == cutoff
    assert replace(other.cutoff, choose=None) == replace(as_cutoff(cutoff), choose=None)
    again = other.with_prior(priors.Flat(sd=0.01))  # of the first fit, not of the one between
    assert beyond(est) == beyond(other) == beyond(again)
    left_out = again.fit_.chosen.left_out, est.fit_.chosen.left_out
    changed = int(((left_out[0] >= 0) != (left_out[1] >= 0)).sum())
    said = " ".join(str(again).split())
    assert f"Against the first fit, {changed} of 92 left-out decisions change." in said
    assert f"the prior was swapped: {beyond(est)} of 80 majority rows, left out." in said
    assert "first fit" not in str(est)
    assert again.with_cutoff(replace(again.cutoff, choose=None)).cutoff == again.cutoff
    anew = again.with_cutoff(cutoffs.Best())
    assert anew.cutoff == cutoffs.Best() and "first fit" not in str(anew)
    assert beyond(anew.with_prior(priors.Flat(sd=0.02))) == beyond(anew)
    asked = again.with_cutoff(cutoffs.FalseAlarm(0.3)).with_prior(priors.Flat(sd=0.02))
    assert asked.cutoff == cutoffs.FalseAlarm(0.3)
    again.save(tmp_path / "a.safetensors")
    loaded = bsvdd.load(tmp_path / "a.safetensors")
    assert (loaded.cutoff_, loaded.cutoff) == (again.cutoff_, again.cutoff)


@pytest.mark.parametrize("cls", [BDD, BSVDD, BSVDDM])
def test_the_same_prior_decides_as_before_and_a_limit_holds_for_all(cls):
    """At the rate (1 + left-out false alarms) / (n0 + 1), up to 9 decisions changed by it."""
    est = cls(kernel=RBF).fit(TWO, LABELS)
    assert beyond(est) <= 0.2 * 80
    same = est.with_prior(est.prior)
    assert ((scores_left_out(same) >= 0) != (scores_left_out(est) >= 0)).sum() <= 2
    for sd in (0.3, 3.0):
        assert beyond(est.with_prior(priors.Flat(sd=sd))) == beyond(est)


def test_a_rate_of_false_alarms_is_at_least_that_of_one_row():
    far = np.concatenate([TWO[:80], np.full((12, 2), 30.0)])
    est = BDD(kernel=RBF, cutoff=cutoffs.Cost(0.01)).fit(far, LABELS)
    other = est.with_prior(priors.Flat(sd=0.3))
    assert beyond(est) == 0 and beyond(other) <= 2
    assert other.cutoff.choose == cutoffs.FalseAlarm(1 / 81)


def test_where_rows_are_equal_another_prior_has_no_more_false_alarms():
    X = np.concatenate([np.repeat(TWO[:20], 4, axis=0), TWO[80:]])
    est = BDD(kernel=RBF).fit(X, LABELS)
    for sd in (0.3, 3.0):
        assert beyond(est.with_prior(priors.Flat(sd=sd))) <= beyond(est)


def test_another_prior_keeps_a_rate_that_was_asked():
    est = BDD(kernel=RBF, cutoff=cutoffs.FalseAlarm(0.2)).fit(MAJORITY)
    other = est.with_prior(priors.Flat(sd=0.1))
    assert other.cutoff == cutoffs.FalseAlarm(0.2)
    assert "of 20 left-out decisions change" in " ".join(str(other).split())
    number = BDD(kernel=RBF, cutoff=0.9).fit(MAJORITY).with_prior(priors.Flat(sd=0.1))
    assert number.cutoff == 0.9 and "decisions change" not in str(number)
