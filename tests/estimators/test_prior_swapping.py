"""Another prior at once: reweighted draws, power-scaling, draws of the prior."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from bsvdd.estimators.questions.other_prior import RefitNeededError
from bsvdd.models import bdd
from scipy import stats
from sklearn.base import clone

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, kernels, priors

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


# reweighted draws


def draws_of(est, name="w"):
    return est.idata_["posterior"][name].values


def test_reweighted_draws_have_the_moments_of_the_new_posterior(worst_z):
    old = BDD(prior=priors.Flat(0.5), **MANY).fit(MAJORITY)
    new = old.reweighted(priors.Flat(0.45))
    form = bdd.NormalPosterior(new.gram_, new.prior, new.likelihood_scale_)
    variance = np.diag(np.linalg.inv(form.upper.T @ form.upper))
    # duplicates are no draws of their own: half of the precision is granted
    before, w = (draws_of(est)[:, ::4] for est in (old, new))
    assert worst_z(w, form.mean) < 4.5
    assert worst_z((w - form.mean) ** 2, variance) < 4.5
    assert worst_z((before - form.mean) ** 2, variance) > 6
    attrs = new.idata_["posterior"].attrs
    assert attrs["sampler"] == "reweighted" and attrs["pareto_k"] < 0.7
    # of N(0, s^2) over N(0, 1) in 20 dimensions: the ratios' second moments multiply
    assert 0.3 < attrs["ess"] / float(old.idata_["diagnostics"]["ess"]) < 0.9
    expected = stats.norm(0, 0.45).logpdf(draws_of(new)).sum(axis=-1)
    np.testing.assert_allclose(new.idata_["log_prior"]["alpha0"].values, expected)
    assert (new.prior, old.prior) == (priors.Flat(0.45), priors.Flat(0.5))
    # the same prior changes nothing, and draws are reweighted once
    few = BDD(prior=priors.Flat(0.5), **MANY | {"draws": 60}).fit(MAJORITY)
    same = few.reweighted(priors.Flat(0.5))
    np.testing.assert_array_equal(*(np.sort(draws_of(e)[..., 0].ravel()) for e in (few, same)))
    with pytest.raises(ValueError, match="these draws are reweighted already"):
        same.reweighted(priors.Flat(0.5))


SHIFTED = {"prior": priors.Normal(m=np.repeat([0.6, -0.6, 0.0], [2, 2, 16]))}
NORMAL = {"prior": priors.Normal()}
BETA, OTHER_BETA = ({"minority_prior": priors.Beta(2, b)} for b in (2, 2.6))
# another shape of Sigma_1 changes how alpha0 comes from x, but not the draws of alpha0
SHAPE = {"prior": priors.Normal(sd=0.6, sigma=np.diag(np.repeat([1.7, 1.0], [2, 18])))}
FLATTER = {"prior": priors.Normal(sd=0.6), "likelihood_scale": 0.02}
CASES = [
    (BSVDD, NORMAL, SHIFTED, "w", 4),
    (BSVDDM, NORMAL, SHIFTED, "w", 4),
    (BDDM, NORMAL, SHIFTED, "w", 4),
    (BSVDDM, BETA, OTHER_BETA, "alpha1", 4),
    (BDDM, BETA, OTHER_BETA, "alpha1", 3),
    (BSVDD, {"prior": tilted(0.0)}, {"prior": tilted(0.2)}, "beta", 4),
    (BDDM, {**FLATTER, "sampler": "exact"}, SHAPE, "w", 4),
    pytest.param(BDDM, {**FLATTER, "sampler": "nuts"}, SHAPE, "w", 4, marks=pytest.mark.long),
]


@pytest.mark.parametrize(("cls", "settings", "changes", "name", "times"), CASES)
def test_reweighted_agrees_with_a_fit(cls, settings, changes, name, times):
    old = cls(**settings, **MANY).fit(ROWS, Y)
    new, fit = old.reweighted(**changes), old.with_prior(**changes)
    size = 2 if changes is SHAPE else 1 if name == "beta" else None
    before, found, expected = (
        draws_of(e, name).reshape(8000, -1)[:, :size].mean(0) for e in (old, new, fit)
    )
    if name != "w" or size:
        before, found, expected = before.mean(), found.mean(), expected.mean()
    assert np.abs(found - expected).max() < np.abs(before - expected).max() / times
    if changes is SHIFTED:
        sd = fit.distance(ROWS).std(("chain", "draw"))
        np.testing.assert_allclose(new.distance(ROWS).std(("chain", "draw")), sd, rtol=0.1)
        assert np.abs(new.probability_normal(ROWS) - fit.probability_normal(ROWS)).max() < 0.05


def by_alpha1(gram, name, dims):  # the same prior of a variable that was a deterministic
    return pm.Beta(name, 2, 2, dims=dims)


SHORT = {"kernel": RBF, "cutoff": 0.9, "random_state": 1, "draws": 300}
EXACT = BDD(prior=priors.Flat(0.5), **SHORT)
TOTAL = priors.Beta(2, 2, total=1)
OF_TOTAL = BSVDDM(minority_prior=TOTAL, **SHORT)
OTHER_TOTAL = {"minority_prior": priors.Beta(2, 2.3, total=3)}
OTHERS = "new prior is a density of tau, alpha1, and the draws have"
REFUSED = [
    (EXACT, {"prior": priors.Flat(9)}, "Pareto k .*at most 0.7.*with_pr"),
    (clone(EXACT).set_params(draws=30), {"prior": priors.Flat(0.4)}, "60 draws are"),
    (BSVDD(**SHORT), {"prior": hierarchical}, "beta_scale, of which the fit"),
    (OF_TOTAL, OTHER_TOTAL, "makes other weights of the same variables, as Be"),
    (OF_TOTAL, {"minority_prior": by_alpha1}, OTHERS),
    (BSVDD(**SHORT), {}, "another prior needs at least one of prior=..."),
    (BDD(simplex=True), {"prior": priors.Flat(2.0)}, "one estimate of the weights"),
]


@pytest.mark.parametrize(("est", "changes", "message"), REFUSED, ids=range(7))
def test_priors_out_of_reach_are_refused(est, changes, message):
    error = RefitNeededError if (est, changes, message) in REFUSED[:5] else ValueError
    asks = [lambda: est.reweighted(**changes)]
    if est.get_params().get("simplex"):
        asks += [est.summary, lambda: est.sensitivity(ROWS)]
    est.fit(ROWS, Y)
    for ask in asks:
        with pytest.raises(error, match=message):
            ask()


# the log prior of a fit, and its power-scaling


def test_every_fit_holds_its_log_prior_for_arviz():
    """Of BDDM: alpha0 ~ N(m, Sigma) on the plane of sum 1 + sum alpha1."""
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
    alpha0, alpha1 = draws["w"].values[..., :20], -draws["w"].values[..., 20:]
    sums = stats.norm(m.sum(), np.sqrt(0.64 * S.sum()))
    expected = joint.logpdf(alpha0) - sums.logpdf(alpha0.sum(-1))
    np.testing.assert_allclose(found["alpha0"], expected)
    of_minority = stats.truncnorm(-0.6, 1.4, 0.3, 0.5).logpdf(alpha1).sum(-1)
    (name,) = set(found.data_vars) - {"alpha0"}
    assert np.ptp(found[name].values - of_minority) < 1e-8  # up to a constant


def test_power_scaling_against_a_scaled_prior():
    """N(0, s^2) to the power alpha is N(0, s^2/alpha): BDD's exact draws tell what P becomes."""
    settings, Z, step = MANY | {"draws": 20_000}, ROWS[15:], 0.05
    est = BDD(prior=priors.Flat(0.5), likelihood_scale=1.0, **settings).fit(MAJORITY)
    est = est.with_cutoff(float(np.median(est.distance(Z))))
    found = est.sensitivity(Z)
    powers = 2.0 ** np.array([-step, step])
    others = {
        "prior": [est.with_prior(priors.Flat(0.5 / np.sqrt(power))) for power in powers],
        "likelihood": [
            BDD(prior=priors.Flat(0.5), likelihood_scale=power, **settings).fit(MAJORITY)
            for power in powers
        ],
    }
    for name, fits in others.items():
        low, high = ((e.distance(Z) <= est.cutoff_).mean(("chain", "draw")).values for e in fits)
        slope = (high - low) / (2 * step)
        np.testing.assert_allclose(found[f"probability_{name}"], slope, atol=0.01)
    assert np.abs(found["probability_prior"]).max() > 0.015
    np.testing.assert_allclose(found["probability_normal"], est.probability_normal(Z), atol=1e-12)
    columns = ["d_prior", "d_prior_noise", "d_likelihood", "d_likelihood_noise"]
    assert list(found.columns[1:5]) == columns and (found["d_prior"] > 0).all()
    # the error of a covariance: the sd of the products over the draws, in effective draws
    normal = (est.distance(Z) <= est.cutoff_).values
    density = est.idata_["log_prior"].to_dataset().to_array().sum("variable").values
    products = np.log(2) * (density - density.mean())[..., None] * (normal - normal.mean((0, 1)))
    ess = float(est.idata_["diagnostics"]["ess"])
    expected = products.reshape(-1, len(Z)).std(axis=0) / np.sqrt(ess)
    np.testing.assert_allclose(found["probability_prior_se"], expected)
    # what chance alone gives to a d_z that is independent of the prior
    noise = 0.37 * density.std() / np.sqrt(ess)
    np.testing.assert_allclose(found["d_prior_noise"], noise, rtol=0.05)


# what a prior says


def test_prior_distance_has_the_moments_of_the_prior():
    """alpha ~ N(0, s^2 I): E d^2 = k(z, z) + s^2 tr K."""
    est = BDD(prior=priors.Flat(0.4), kernel=RBF)
    d = est.prior_draws(MAJORITY, Z=ROWS[20:], draws=4000)["d"]
    assert d.dims == ("chain", "draw", "obs") and d.sizes["obs"] == 5
    np.testing.assert_allclose((d**2).mean(("chain", "draw")), 1 + 0.16 * 20, rtol=0.05)
    assert not hasattr(est, "idata_")
    assert est.prior_draws(MAJORITY)["d"].sizes == {"chain": 1, "draw": 200, "obs": 20}
    est = BSVDD(prior=lambda gram, name, dims: pm.Flat(name, dims=dims))
    with pytest.raises(ValueError, match="the prior is improper, as pm.Flat is"):
        est.prior_draws(MAJORITY)


def test_names_of_the_priors_are_shown_and_stored():
    few = {"kernel": RBF, "draws": 60, "tune": 60}
    est = BSVDDM(minority_prior=priors.Beta(total=0.5), **few)
    shown = "minority_prior=Beta(a=1.0, b=1.0, total=0.5), prior=InverseRowSum(sd=0.5, power=0.5)"
    assert repr(est) == f"BSVDDM(draws=60, kernel={RBF}, {shown}, tune=60)"
    attrs = est.fit(ROWS, Y).idata_["posterior"].attrs
    assert f"minority_prior={attrs['minority_prior']}, prior={attrs['prior']}" == shown
    many = priors.Normal(m=np.arange(20.0))
    short = "Normal(sd=1.0, m=(0.0, 1.0, 2.0, 3.0, ...), sigma=None)"
    for prior, name in ((many, short), (student, f"{__name__}.student")):
        assert est.with_prior(prior).idata_["posterior"].attrs["prior"] == name
    assert repr(BSVDD(prior=student)) == f"BSVDD(prior={__name__}.student)"


# a prior that has what was stated

MANY_ROWS = np.random.default_rng(0).normal(size=(400, 3))


def test_equal_log_weights_have_the_support_of_the_closed_form():
    """Log weights N(0, s^2): M E[w]^2 / E[w^2] = M exp(-s^2), for many points."""
    est = BSVDD(prior=priors.Flat(), kernel=kernels.RBF(1.0))
    prior = est.elicit_prior(MANY_ROWS, effective_support=400 * np.exp(-(0.6**2)))
    assert isinstance(prior, priors.Flat) and prior.sd == pytest.approx(0.6, rel=0.02)


@pytest.mark.parametrize("stated", ["typical_distance", "largest_weight"])
def test_what_was_stated_holds_for_other_draws(stated):
    """The largest weight is one that 95 % of the draws stay below."""
    est = BDD(prior=priors.Flat(), kernel=kernels.RBF(1.0), random_state=1)
    rows = MANY_ROWS[:60]
    prior = est.elicit_prior(rows, **{stated: 2.0})
    other = BDD(prior=prior, kernel=kernels.RBF(1.0), random_state=7)
    if stated == "typical_distance":
        found = np.median(other.prior_draws(rows, draws=400)["d"].median("obs"))
    else:
        w = other.prior_draws(rows, draws=2000)["w"]
        found = np.quantile(np.abs(w).max(axis=-1), 0.95)
    assert float(found) == pytest.approx(2.0, rel=0.05)


FLAT = priors.Flat()


@pytest.mark.parametrize(
    ("prior", "stated", "error"),
    [
        (FLAT, {"effective_support": 90}, r"no Flat with sd .* the nearest has 60, with s"),
        (FLAT, {}, "state 1 to 1 of"),
        (FLAT, {"effective_support": 9, "largest_weight": 0.1}, r"Flat has numbers \(sd\)"),
        (FLAT, {"effective_support": -1}, "must be a positive number"),
        (FLAT, {"effective_support": True}, "must be a positive number"),
        (student, {"effective_support": 9}, "that has an sd"),
    ],
)
def test_bad_statements(prior, stated, error):
    with pytest.raises((ValueError, TypeError), match=error):
        BSVDD(prior=prior, kernel=kernels.RBF(1.0)).elicit_prior(MANY_ROWS[:60], **stated)


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
