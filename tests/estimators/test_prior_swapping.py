"""Another prior at once: reweighted draws, power-scaling, prior health, draws of the prior."""

from dataclasses import replace

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference import sensitivity
from bsvdd.inference.compiled import compilations
from bsvdd.inference.draws import Draws, SamplerReport
from bsvdd.inference.log_density import LogDensity
from bsvdd.inference.reweighting import RefitNeededError, Weights, resampled
from bsvdd.inference.warning import DiagnosticWarning
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m
from scipy import stats

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, kernels, priors
from tests.scores import squared_norms, upper_median, weights_of

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
RBF = kernels.RBF(1.2)
MANY = dict(draws=4000, kernel=RBF, cutoff=0.9, random_state=1)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(90)
    return np.concatenate([rng.normal(size=(20, 2)), rng.normal(2.0, 1.0, size=(5, 2))])


@pytest.fixture(scope="module")
def y():
    return np.repeat([0, 1], [20, 5])


def test_reweighted_draws_have_the_moments_of_the_new_posterior(rows, worst_z):
    old = BDD(prior=priors.Flat(0.5), **MANY).fit(rows[:20])
    new = old.reweighted(priors.Flat(0.45))
    mean, upper = bdd.posterior(new.gram_, new.prior, new.likelihood_scale)
    variance = np.diag(np.linalg.inv(upper.T @ upper))
    # duplicates are no draws of their own: half of the precision is granted
    w = new.idata_["posterior"]["w"].values[:, ::4]
    assert worst_z(w, mean) < 4.5
    assert worst_z((w - mean) ** 2, variance) < 4.5
    w = old.idata_["posterior"]["w"].values[:, ::4]
    assert worst_z((w - mean) ** 2, variance) > 6
    attrs = new.idata_["posterior"].attrs
    assert attrs["sampler"] == "reweighted"
    assert attrs["pareto_k"] < 0.7
    # of N(0, s^2) over N(0, 1) in 20 dimensions: the ratios' second moments multiply
    ess = float(old.idata_["diagnostics"]["ess"])
    assert 0.3 * ess < attrs["ess"] < 0.9 * ess
    stored = new.idata_["log_prior"]["alpha"].values
    np.testing.assert_allclose(
        stored, new.prior.log_density(new.gram_, new.idata_["posterior"]["w"].values)
    )
    assert new.prior == priors.Flat(0.45)
    assert old.prior == priors.Flat(0.5)


@pytest.mark.parametrize("cls", [BSVDD, BSVDDM, BDDM])
def test_reweighted_agrees_with_a_fit(cls, rows, y):
    shifted = priors.Normal(m=np.repeat([0.6, -0.6, 0.0], [2, 2, 16]))
    old = cls(prior=priors.Normal(), **MANY).fit(rows, y)
    new, fit = old.reweighted(shifted), old.with_prior(shifted)
    before, found, expected = (
        e.idata_["posterior"]["w"].values.reshape(8000, -1).mean(0) for e in (old, new, fit)
    )
    assert np.abs(found - expected).max() < np.abs(before - expected).max() / 4
    sd = fit.distance(rows).std(("chain", "draw"))
    np.testing.assert_allclose(new.distance(rows).std(("chain", "draw")), sd, rtol=0.1)
    assert np.abs(new.probability_normal(rows) - fit.probability_normal(rows)).max() < 0.05


def test_minority_priors_are_reweighted_too(rows, y):
    old = BSVDDM(minority_prior=priors.Beta(2, 2), **MANY).fit(rows, y)
    new = old.reweighted(minority_prior=priors.Beta(2, 2.6))
    fit = old.with_prior(minority_prior=priors.Beta(2, 2.6))
    share = [e.idata_["posterior"]["alpha1"].values.mean() for e in (old, new, fit)]
    assert abs(share[1] - share[2]) < abs(share[0] - share[2]) / 4


def test_a_prior_out_of_reach_is_refused(rows):
    old = BDD(prior=priors.Flat(0.5), **MANY).fit(rows[:20])
    with pytest.raises(
        RefitNeededError, match=r"Pareto k of the .* is \d.*at most 0.7.*with_prior"
    ):
        old.reweighted(priors.Flat(5.0))


def test_draws_of_other_variables_are_refused(rows):
    old = BSVDD(**MANY | {"draws": 200}).fit(rows[:20])

    def hierarchical(gram, name, dims):
        return pm.Normal(name, 0.0, pm.HalfNormal(f"{name}_scale"), dims=dims)

    with pytest.raises(RefitNeededError, match="free variable.*beta_scale, of which the fit has"):
        old.reweighted(hierarchical)
    with pytest.raises(ValueError, match="these draws are reweighted already"):
        close = priors.InverseRowSum(sd=0.49)
        old.reweighted(close).reweighted(close)
    with pytest.raises(ValueError, match="another prior needs at least one of prior=..."):
        old.reweighted()


def test_other_weights_of_the_same_variables_are_refused(rows, y):
    few = MANY | {"draws": 300}
    old = BSVDDM(minority_prior=priors.Beta(2, 2, total=1), **few).fit(rows, y)
    with pytest.raises(RefitNeededError, match="makes other weights of the same variables, as Be"):
        old.reweighted(minority_prior=priors.Beta(2, 2.3, total=3))

    def by_alpha1(gram, name, dims):  # the same prior of a variable that was a deterministic
        return pm.Beta(name, 2, 2, dims=dims)

    plain = BSVDDM(minority_prior=priors.Beta(2, 2), **few).fit(rows, y)
    with pytest.raises(
        RefitNeededError, match="new prior is a density of tau, alpha1, and the draws have"
    ):
        plain.reweighted(minority_prior=by_alpha1)


@pytest.mark.long
def test_bdd_m_drawn_by_nuts_and_exactly_are_reweighted_alike(rows, y):
    """Another shape of Sigma_1 changes how alpha0 comes from x, but not the draws of alpha0."""
    shape = priors.Normal(sd=0.6, sigma=np.diag(np.repeat([1.7, 1.0], [2, 18])))
    found = []
    for sampler in ("nuts", "exact"):
        old = BDDM(prior=priors.Normal(sd=0.6), likelihood_scale=0.02, sampler=sampler, **MANY).fit(
            rows, y
        )
        assert "x" not in old.idata_["posterior"]
        new, fit = old.reweighted(shape), old.with_prior(shape)
        w = [e.idata_["posterior"]["w"].values[..., :2].mean() for e in (old, new, fit)]
        assert abs(w[1] - w[2]) < abs(w[0] - w[2]) / 4
        found.append(w[1])
    assert found[0] == pytest.approx(found[1], abs=0.02)


def test_bdd_m_with_another_minority_prior_is_reweighted(rows, y):
    old = BDDM(minority_prior=priors.Beta(2, 2), **MANY).fit(rows, y)
    assert set(old.idata_["log_prior"].data_vars) == {"alpha0", "alpha1_probit"}
    new, fit = (f(minority_prior=priors.Beta(2, 2.6)) for f in (old.reweighted, old.with_prior))
    share = [e.idata_["posterior"]["alpha1"].values.mean() for e in (old, new, fit)]
    assert abs(share[1] - share[2]) < abs(share[0] - share[2]) / 3


def test_a_potential_of_a_prior_counts(rows):
    def prior(mean):
        def make(gram, name, dims):
            x = pm.Normal(name, mean, 1.0, dims=dims)
            pm.Potential(f"{name}_tilt", 3 * mean * x[0])
            return x

        return make

    old = BSVDD(prior=prior(0.0), **MANY).fit(rows[:20])
    new, fit = old.reweighted(prior(0.2)), old.with_prior(prior(0.2))
    assert set(new.idata_["log_prior"].data_vars) == {"beta", "beta_tilt"}
    first = [e.idata_["posterior"]["beta"].values[..., 0].mean() for e in (old, new, fit)]
    assert abs(first[1] - first[2]) < abs(first[0] - first[2]) / 4


def test_the_same_prior_and_few_draws(rows):
    old = BDD(prior=priors.Flat(0.5), **MANY | {"draws": 60}).fit(rows[:20])
    same = old.reweighted(priors.Flat(0.5))
    w = (np.sort(e.idata_["posterior"]["w"].values[..., 0].ravel()) for e in (old, same))
    np.testing.assert_array_equal(*w)
    few = BDD(prior=priors.Flat(0.5), **MANY | {"draws": 30}).fit(rows[:20])
    with pytest.raises(RefitNeededError, match="60 draws are too few to be weighted; expected at"):
        few.reweighted(priors.Flat(0.49))


def test_divergences_stay_those_of_the_fit(rows):
    old = BSVDD(**MANY | {"draws": 200}, sampler="nuts").fit(rows[:20])
    groups = old._fit.groups
    marked = {"diagnostics": groups["diagnostics"].assign(divergences=7)}
    old._fit = replace(old._fit, groups=groups | marked)
    new = old.reweighted(priors.InverseRowSum(sd=0.495))
    assert int(new.idata_["diagnostics"]["divergences"]) == 7


def test_pareto_k_is_that_of_the_ratio_and_not_of_its_reciprocal():
    """x ~ N(0, 1): the tail of N(0, s^2)/N(0, 1) has k = 1 - 1/s^2."""
    x = np.random.default_rng(91).normal(size=100_000)
    wide = Weights.of(stats.norm(0, 2).logpdf(x) - stats.norm.logpdf(x))
    narrow = Weights.of(stats.norm(0, 0.5).logpdf(x) - stats.norm.logpdf(x))
    assert wide.pareto_k == pytest.approx(0.75, abs=0.2)
    assert narrow.pareto_k < 0
    assert (narrow.values * x**2).sum() == pytest.approx(0.25, rel=0.03)
    # E ratio^2 of N(0, s^2) over N(0, 1), s < 1, is 1/(s sqrt(2 - s^2))
    assert narrow.effective == pytest.approx(0.5 * np.sqrt(1.75), rel=0.03)


def test_resampling_is_stratified(rows):
    value = np.random.default_rng(92).dirichlet(np.ones(40))
    draws = Draws({"w": np.arange(40).reshape(2, 20, 1)}, SamplerReport("nuts"))
    again = resampled(draws, Weights(value, 0.0), 3)
    counts = np.bincount(again.w.ravel(), minlength=40)
    assert np.abs(counts - 40 * value).max() <= 2
    assert counts.sum() == 40


@pytest.mark.parametrize("seed", [0, 1])
def test_log_prior_is_that_of_scipy(rows, seed):
    gram = Gram.from_rows(RBF, rows[:20], rows[20:])
    x = np.random.default_rng(seed).normal(size=(700, 25))
    density = LogDensity(bsvdd_m.build(gram, priors.RowSum(0.7), priors.Beta(2, 3)))
    found = density.log_prior(density.named(x))
    w = density.weights(density.named(x))
    np.testing.assert_allclose(w, density.named(x)["w"], rtol=1e-12)
    m = priors.RowSum().mean(gram)
    np.testing.assert_allclose(found["tau"], stats.norm(m, 0.7).logpdf(x[:, :20]).sum(1))
    u = stats.norm.cdf(x[:, 20:])
    np.testing.assert_allclose(found["alpha1_probit"], stats.beta(2, 3).logpdf(u).sum(1))


def test_a_uniform_prior_of_minority_weights_has_nothing_to_scale(rows):
    """Power-scaling the prior scales that of the shares, not the normal that they are drawn by."""
    gram = Gram.from_rows(RBF, rows[:20], rows[20:])
    density = LogDensity(bsvdd_m.build(gram, priors.Flat(), priors.Beta(1, 1)))
    x = np.random.default_rng(3).normal(size=(50, 25))
    np.testing.assert_allclose(density.log_prior(density.named(x))["alpha1_probit"], 0, atol=1e-12)


def test_log_prior_of_a_hierarchical_prior_and_of_transformed_variables(rows):
    gram = Gram.from_rows(RBF, rows[:20], rows[20:])

    def normal(gram, name, dims):
        return pm.Normal(name, 0.0, pm.HalfNormal(f"{name}_scale"), dims=dims)

    model = bsvdd_m.build(gram, normal, lambda gram, name, dims: pm.Beta(name, 2, 3, dims=dims))
    density = LogDensity(model)
    named = density.named(np.random.default_rng(93).normal(size=(60, density.size)))
    found, scale = density.log_prior(named), named["tau_scale"]
    np.testing.assert_allclose(found["tau_scale"], stats.halfnorm.logpdf(scale))
    tau = stats.norm(0, scale[:, None]).logpdf(named["tau"]).sum(1)
    np.testing.assert_allclose(found["tau"], tau)
    alpha1 = stats.beta(2, 3).logpdf(named["alpha1"]).sum(1)
    np.testing.assert_allclose(found["alpha1"], alpha1, rtol=1e-4)


def test_log_prior_of_bdd_and_bdd_m_in_closed_form(rows):
    S = np.cov(np.random.default_rng(94).normal(size=(20, 60)))
    normal = priors.Normal(sd=0.8, m=np.linspace(-1, 1, 20), sigma=S)
    gram = Gram.from_rows(RBF, rows[:20], rows[20:])
    rng = np.random.default_rng(95)
    alpha1 = rng.uniform(size=(6, 5))
    x = rng.normal(size=(6, 20))
    alpha0 = x + (1 + alpha1.sum(1) - x.sum(1))[:, None] / 20
    joint = stats.multivariate_normal(normal.mean(gram), 0.64 * S)
    np.testing.assert_allclose(normal.log_density(gram, alpha0), joint.logpdf(alpha0))
    minority = priors.TruncatedNormal(0.3, sd=0.5)
    w = np.hstack([alpha0, -alpha1])
    sums = stats.norm(joint.mean.sum(), np.sqrt(0.64 * S.sum()))
    expected = joint.logpdf(alpha0) - sums.logpdf(alpha0.sum(1))
    np.testing.assert_allclose(bdd_m.log_prior_of_majority(gram, normal, w), expected)
    found = bdd_m.log_prior_of_minority(gram, minority, w)
    truncated = stats.truncnorm(-0.6, 1.4, 0.3, 0.5).logpdf(alpha1).sum(1)
    np.testing.assert_allclose(np.ptp(found - truncated), 0.0, atol=1e-12)


@pytest.mark.parametrize("cls", [BDD, BDDM, BSVDD, BSVDDM])
def test_every_fit_holds_its_log_prior_for_arviz(cls, rows, y):
    import arviz as az

    est = cls(draws=300, kernel=RBF, random_state=2).fit(rows, y)
    assert est.idata_["log_prior"].sizes == {"chain": 2, "draw": 300}
    found = az.psense(est.idata_, var_names="w", group="prior")["w"]
    assert np.isfinite(found).all()


def probability_with_norm_of(est, other, Z):
    """Return P(normal) by ``other``, at the cutoff of ``est`` with the norm of its centre."""
    f = weights_of(other) @ other.kernel_(other.gram_.points, Z)
    return (1 - 2 * f + upper_median(squared_norms(est)) <= est.cutoff_**2).mean(axis=0)


def test_power_scaling_against_a_scaled_prior(rows):
    """N(0, s^2) to the power alpha is N(0, s^2/alpha): BDD's exact draws tell what P becomes."""
    settings = MANY | {"draws": 20_000}
    est = BDD(prior=priors.Flat(0.5), **settings).fit(rows[:20])
    found = est.sensitivity(rows[15:])
    step = 0.05
    others = [est.with_prior(priors.Flat(0.5 / np.sqrt(2.0**power))) for power in (-step, step)]
    low, high = (probability_with_norm_of(est, other, rows[15:]) for other in others)
    np.testing.assert_allclose(found["probability_prior"], (high - low) / (2 * step), atol=0.01)
    assert np.abs(found["probability_prior"]).max() > 0.015
    assert (found["probability_prior_se"] < 0.02).all()
    half = BDD(prior=priors.Flat(0.5), likelihood_scale=2.0**-step, **settings).fit(rows[:20])
    twice = BDD(prior=priors.Flat(0.5), likelihood_scale=2.0**step, **settings).fit(rows[:20])
    low, high = (probability_with_norm_of(est, other, rows[15:]) for other in (half, twice))
    slope = (high - low) / (2 * step)
    np.testing.assert_allclose(found["probability_likelihood"], slope, atol=0.01)
    np.testing.assert_allclose(
        found["probability_normal"], est.probability_normal(rows[15:]), atol=1e-12
    )
    assert list(found.columns[1:5]) == [
        "d_prior",
        "d_prior_noise",
        "d_likelihood",
        "d_likelihood_noise",
    ]
    assert (found["d_prior"] > 0).all()
    # the error of a covariance: the sd of the products over the draws, in effective draws
    normal = (est.distance(rows[15:], common_norm=True) <= est.cutoff_).values
    density = est.idata_["log_prior"].to_dataset().to_array().sum("variable").values
    products = np.log(2) * (density - density.mean())[..., None] * (normal - normal.mean((0, 1)))
    ess = float(est.idata_["diagnostics"]["ess"])
    expected = products.reshape(-1, len(rows) - 15).std(axis=0) / np.sqrt(ess)
    np.testing.assert_allclose(found["probability_prior_se"], expected)


def test_likelihood_of_the_sensitivity_counts_all_rows_beside_a_dictionary(monkeypatch):
    taken = []
    monkeypatch.setattr(sensitivity, "power_scaling", lambda *args: taken.append(args))
    X = np.random.default_rng(96).normal(size=(60, 2))
    est = BSVDD(dictionary=8, likelihood_scale=0.5, **MANY | {"draws": 200}).fit(X)
    est.sensitivity(X[:2])
    d = est.distance(X).values
    np.testing.assert_allclose(taken[0][3], -0.25 * (d**2).sum(axis=2), rtol=1e-10)


def test_noise_of_the_sensitivity():
    """d_z independent of the prior: what is found is chance, of the size that is said."""
    import xarray as xr

    rng = np.random.default_rng(97)
    sample = ("chain", "draw")
    d = xr.DataArray(rng.normal(1, 0.2, (2, 1000, 60)), dims=(*sample, "obs"))
    d = d.assign_coords(obs=np.arange(60))
    prior = xr.Dataset({"beta": (sample, 10 * rng.normal(size=(2, 1000)))})
    with pytest.warns(DiagnosticWarning, match=r"sensitivity of d_z to the prior .* 3 times as"):
        found = sensitivity.power_scaling(d, 1.0, prior, rng.normal(size=(2, 1000)), 2000.0)
    noise = found["d_prior_noise"].iloc[0]
    assert noise == pytest.approx(0.37 * 10 / np.sqrt(2000), rel=0.05)
    assert found["d_prior"].median() == pytest.approx(noise, rel=0.4)
    z = found["probability_prior"] / found["probability_prior_se"]
    assert 0.7 < z.std() < 1.4
    flat = xr.Dataset({"beta": (sample, np.zeros((2, 1000)))})
    found = sensitivity.power_scaling(d, 1.0, flat, rng.normal(size=(2, 1000)), 2000.0)
    assert (found["d_prior"] == 0).all()
    assert (found["probability_prior"] == 0).all()


def test_prior_health_shows_prior_and_posterior(rows, y):
    est = BSVDDM(minority_prior=priors.Beta(2, 2), **MANY | {"draws": 500}).fit(rows, y)
    table = est.prior_health()
    w = est.idata_["posterior"]["w"].values.reshape(-1, 25)
    assert [label for _, label in table.columns] == 2 * ["5%", "median", "95%"]
    assert table.index.name == "quantity"
    assert list(table.index) == [
        "effective_support",
        "largest_weight",
        "minority_total",
        "typical_distance",
    ]
    assert table.loc["minority_total", ("prior", "median")] == pytest.approx(2.5, rel=0.1)
    minority = -w[:, 20:].sum(1)
    support = np.abs(w).sum(1) ** 2 / (w**2).sum(1)
    for quantity, draws in (
        ("minority_total", minority),
        ("largest_weight", np.abs(w).max(1)),
        ("effective_support", support),
    ):
        expected = np.percentile(draws, [5, 50, 95])
        np.testing.assert_allclose(table.loc[quantity, "posterior"], expected)
    d = est.idata_["distance"]["d"].values.reshape(-1, 25)[:, :20]
    median = np.median(np.median(d, axis=1))
    assert table.loc["typical_distance", ("posterior", "median")] == pytest.approx(median)


def test_prior_health_needs_a_posterior(rows):
    est = BDD(simplex=True, kernel=RBF, prior=priors.Flat(1.0)).fit(rows[:20])
    for ask in (est.prior_health, lambda: est.sensitivity(rows), lambda: est.reweighted(PZ)):
        with pytest.raises(ValueError, match="one estimate of the weights and no posterior"):
            ask()


PZ = priors.Flat(2.0)


def test_prior_distance_has_the_moments_of_the_prior(rows):
    """alpha ~ N(0, s^2 I): E d^2 = k(z, z) + s^2 tr K."""
    est = BDD(prior=priors.Flat(0.4), kernel=RBF)
    d = est.prior_distance(rows[:20], Z=rows[20:], draws=4000)
    assert d.dims == ("chain", "draw", "obs")
    assert d.sizes["obs"] == 5
    np.testing.assert_allclose((d**2).mean(("chain", "draw")), 1 + 0.16 * 20, rtol=0.05)
    assert not hasattr(est, "idata_")
    assert est.prior_distance(rows[:20]).sizes == {"chain": 1, "draw": 200, "obs": 20}


def test_prior_distance_of_an_improper_prior(rows):
    est = BSVDD(prior=lambda gram, name, dims: pm.Flat(name, dims=dims))
    with pytest.raises(ValueError, match="the prior is improper, as pm.Flat is"):
        est.prior_distance(rows)


def test_names_of_the_priors_are_shown_and_stored(rows, y):
    est = BSVDDM(minority_prior=priors.Beta(total=0.5), kernel=RBF, draws=60, tune=60)
    assert repr(est) == (
        f"BSVDDM(draws=60, kernel={RBF}, "
        "minority_prior=Beta(a=1.0, b=1.0, total=0.5), prior=InverseRowSum(sd=0.5, power=0.5), "
        "tune=60)"
    )
    attrs = est.fit(rows, y).idata_["posterior"].attrs
    assert attrs["prior"] == "InverseRowSum(sd=0.5, power=0.5)"
    assert attrs["minority_prior"] == "Beta(a=1.0, b=1.0, total=0.5)"
    new = est.with_prior(priors.Normal(m=np.arange(20.0)))
    assert new.idata_["posterior"].attrs["prior"] == (
        "Normal(sd=1.0, m=(0.0, 1.0, 2.0, 3.0, ...), sigma=None)"
    )


def student(gram, name, dims):
    return pm.StudentT(name, nu=4, dims=dims)


def test_a_function_is_shown_by_its_name(rows):
    est = BSVDD(prior=student, kernel=RBF, draws=60, tune=60)
    assert repr(est).endswith(f"prior={__name__}.student, tune=60)")
    assert est.fit(rows).idata_["posterior"].attrs["prior"] == f"{__name__}.student"


def test_only_numbers_changed_compiles_nothing(rows, y):
    # the count is of model structures, also where no machine code is needed
    est = BSVDDM(kernel=RBF, draws=60, sampler="laplace").fit(rows, y)
    before = compilations()
    other = est.with_prior(priors.RowSum(exponent=0.5), priors.Beta(2, 3))
    assert other.prior == priors.RowSum(exponent=0.5)
    assert compilations() == before
    for number in (1.0, 2.0):  # another family, once
        est.with_prior(preliz.Gumbel(0.0, number))
    assert compilations() == before + 1
    est.with_prior(priors.Normal(sigma=2 * np.eye(20)))
    before = compilations()
    est.with_prior(priors.GaussianProcess(sd=2.0))
    assert compilations() == before


def test_a_hierarchical_prior_is_sampled(rows):
    """Its scale may go to 0 where the sampler looks: that has density 0, and is no error."""

    def prior(gram, name, dims):
        return pm.Normal(name, 0.0, pm.HalfNormal(f"{name}_scale"), dims=dims)

    model = bsvdd.build(Gram.from_rows(RBF, rows[:20]), prior)
    density = LogDensity(model)
    x = np.zeros((2, density.size))
    x[1, 0] = -800.0  # the log of the scale, which is 0 then
    assert np.isfinite(density.logp(x)).tolist() == [True, False]
    est = BSVDD(prior=prior, kernel=RBF, draws=200, tune=200).fit(rows[:20])
    assert (est.idata_["posterior"]["beta_scale"].values > 0).all()
