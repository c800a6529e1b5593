"""Laplace's approximation and its chains, and what "auto" makes of them."""

from dataclasses import replace

import arviz as az
import numpy as np
import pymc as pm
import pytest
from bsvdd.inference import sampling
from bsvdd.inference.log_density import LogDensity
from bsvdd.inference.samplers import hmc, laplace
from bsvdd.inference.samplers.laplace import (
    Chains,
    Laplace,
    NoApproximationError,
    ProposalDiagnostics,
)
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from scipy import stats

from bsvdd import BSVDD, BSVDDM, kernels, priors

RNG = np.random.default_rng(80)
ROWS = RNG.normal(size=(12, 2))
GRAM = Gram.from_rows(kernels.RBF(1.0), ROWS)
GRAM_M = Gram.from_rows(kernels.RBF(1.0), ROWS, RNG.normal(1.5, 1.0, size=(4, 2)))
MODELS = {
    "bdd": lambda: bdd.build(GRAM, priors.StandardizedRowSum(), 2.0),
    "bsvdd": lambda: bsvdd.build(GRAM, priors.StandardizedRowSum(), 2.0),
    "bsvdd correlated": lambda: bsvdd.build(GRAM, priors.Normal(sigma=np.eye(12) + 0.5), 2.0),
    "bsvdd_m": lambda: bsvdd_m.build(GRAM_M, priors.Flat(), priors.Beta(2, 3), 2.0),
    "sphere": lambda: bsvdd.build(GRAM, priors.StandardizedRowSum(), 2.0, 0.3),
}


def rng():
    return np.random.default_rng(81)


def chains_of(density, q, chains, steps):
    """Return chains after their warm-up."""
    source = rng()
    return Chains.warm_up(density, q, chains, source).next(density, q, steps, source)


@pytest.mark.parametrize("name", MODELS)
def test_batches_and_second_derivatives(name):
    density = LogDensity(MODELS[name]())
    x = rng().normal(size=(7, density.size)) / 2
    each = [density.logp_and_gradient(row) for row in x]
    machine = density.machine_code()
    for row, (logp, gradient) in zip(x, each, strict=True):
        assert machine(row)[0] == pytest.approx(logp, rel=1e-12)
        np.testing.assert_allclose(machine(row)[1], gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(density.logp(x), [logp for logp, _ in each], rtol=1e-12)
    logp, gradients = density.batches_in_machine_code()(x)
    np.testing.assert_allclose(logp, [logp for logp, _ in each], rtol=1e-12)
    np.testing.assert_allclose(gradients, [row for _, row in each], rtol=1e-9, atol=1e-12)
    slopes = [
        (density.logp_and_gradient(x[0] + step)[1] - density.logp_and_gradient(x[0] - step)[1])
        / 2e-5
        for step in 1e-5 * np.eye(density.size)
    ]
    H = density.hessian(x[0])
    np.testing.assert_allclose(H, slopes, atol=1e-6 * np.abs(H).max())


def test_a_derivative_that_is_the_same_for_a_whole_batch():
    def prior(gram, name, dims):
        pm.Potential("linear", 3.0 * pm.Flat(f"{name}_slope"))
        return pm.Normal(name, dims=dims)

    density = LogDensity(bsvdd.build(GRAM, prior))
    logp, gradients = density.batches_in_machine_code()(np.zeros((5, density.size)))
    assert logp.shape == (5,)
    np.testing.assert_array_equal(gradients[:, 0], 3.0)
    expected = density.logp_and_gradient(np.zeros(13))[1]
    np.testing.assert_allclose(gradients, [expected] * 5, atol=1e-12)


def test_batches_longer_than_one_block(monkeypatch):
    density = LogDensity(MODELS["bsvdd"]())
    x = rng().normal(size=(23, 12))
    whole = density.logp(x)
    H = density.hessian(x[0])
    monkeypatch.setattr("bsvdd.inference.log_density.BATCH_VALUES", 60)
    monkeypatch.setattr("bsvdd.inference.log_density.BATCH_ROWS", 1)
    monkeypatch.setattr("bsvdd.inference.log_density.HESSIAN_VALUES", 60)
    np.testing.assert_allclose(density.logp(x), whole, rtol=1e-13)
    np.testing.assert_allclose(density.hessian(x[0]), H, rtol=1e-10, atol=1e-13)


def test_products_are_counted():
    density = LogDensity(MODELS["bsvdd"]())
    density.logp_and_gradient(np.zeros(12))
    density.machine_code()(np.zeros(12))
    density.logp(np.zeros((5, 12)))
    density.batches_in_machine_code()(np.zeros((3, 12)))
    density.hessian(np.zeros(12))  # Kw and Ku only, as the weights are a softmax
    assert density.products == 1 + 1 + 5 + 3 + 2
    part = density.of_points("point", np.arange(3))
    part.logp_and_gradient(np.zeros(3))
    assert part.products == pytest.approx((3 / 12) ** 2)
    assert density.products == 12


def test_a_normal_posterior_is_its_own_approximation():
    """Mode and curvature against the closed form of BDD; every proposal is accepted."""
    prior = priors.StandardizedRowSum()
    density = LogDensity(bdd.build(GRAM, prior, 2.0))
    q = Laplace.of(density, rng())
    mean, upper = bdd.posterior(GRAM, prior, 2.0)
    np.testing.assert_allclose(q.mode, mean, atol=1e-4)
    np.testing.assert_allclose(q.upper, upper, rtol=1e-9, atol=1e-12)
    run = chains_of(density, q, 2, 300)
    assert run.accepted.mean() > 0.9  # but for the wider proposals
    # the wider ones apart, the ratios differ only as the mode was searched for
    assert np.ptp(np.sort(run.log_ratio.ravel())[200:-100]) < 0.2


def log_q(x):
    """Of the proposals around 0.5 with sd 2."""
    wide = 1 + laplace.WIDER_BY
    share = laplace.WIDER_SHARE
    return np.log(
        (1 - share) * stats.norm(0.5, 2).pdf(x) + share * stats.norm(0.5, 2 * wide).pdf(x)
    )


SCALES = np.array([1.0, 1e9, 50.0])


def at(mode, sd):
    return Laplace(np.array([mode]), np.array([[1 / sd]]), np.array([[mode]]))


class Skewed:
    """A density in closed form, Gumbel, in place of a model."""

    size = 1

    def evaluate(self, x):
        return stats.gumbel_r.logpdf(x[:, 0]), {"x": x}


def test_the_chain_is_of_the_posterior_not_of_the_proposals(worst_z):
    q = at(0.5, 2.0)  # N(0.5, 4)
    run = chains_of(Skewed(), q, 4, 20_000)
    x = run.named["x"]
    assert worst_z(x, [np.euler_gamma]) < 4.5
    assert worst_z((x - np.euler_gamma) ** 2, [np.pi**2 / 6]) < 4.5
    assert worst_z(x <= 0.0, [np.exp(-1)]) < 4.5
    # acceptance against the double integral, by independent draws of both
    y, x = q.draw(200_000, rng())[0][:, 0], stats.gumbel_r.rvs(size=200_000, random_state=5)
    log_ratio = stats.gumbel_r.logpdf(y) - log_q(y) - stats.gumbel_r.logpdf(x) + log_q(x)
    assert run.accepted.mean() == pytest.approx(np.minimum(1, np.exp(log_ratio)).mean(), abs=0.01)


def test_the_energy_is_minus_the_log_density_of_the_states():
    """Also of states that stay; BFMI is then twice one minus the autocorrelation."""
    run = chains_of(Skewed(), at(0.5, 2.0), 2, 500)
    energy = run.named[laplace.ENERGY]
    np.testing.assert_allclose(energy, -stats.gumbel_r.logpdf(run.named["x"][..., 0]), rtol=1e-12)


def test_arviz_reads_the_energy(table):
    est = BSVDD(draws=500, kernel=kernels.RBF(1.5)).fit(*table)
    assert laplace.ENERGY not in est.idata_["posterior"]
    energy = est.idata_["sample_stats"]["energy"]
    prior = est.idata_["log_prior"]["beta"].values
    a = est.idata_["posterior"]["w"].values
    gram = est.gram_
    r, quadratic = a @ gram.r, np.einsum("cdi,ij,cdj->cd", a, gram.K, a)
    likelihood = -0.5 * (gram.T - 2 * r + gram.n0 * quadratic)
    assert energy.shape == (2, 500)
    assert np.ptp(energy.values + prior + likelihood) < 1e-8
    x = energy.values - energy.values.mean(axis=1, keepdims=True)
    bfmi = (np.diff(x) ** 2).mean(axis=1) / x.var(axis=1)
    np.testing.assert_allclose(az.bfmi(est.idata_)["energy"], bfmi, rtol=0.01)
    assert (bfmi > 1).all()
    az.plot_energy(est.idata_)


def test_chains_go_on_where_they_ended():
    q = at(0.5, 2.0)
    run = chains_of(Skewed(), q, 2, 30)
    end = run.named["x"][:, -1, 0]
    offset = run.last - (stats.gumbel_r.logpdf(end) - log_q(end))  # a constant is left out of q
    assert offset[0] == pytest.approx(offset[1], abs=1e-12)
    random = rng()
    after = [run.next(Skewed(), q, 90, random)]
    while after[-1].accepted[:, 0].all():  # until one stays where it was
        after.append(after[-1].next(Skewed(), q, 90, random))
    before, after = [run, *after][-2:]
    stays = ~after.accepted[:, 0]
    x = after.named["x"]
    np.testing.assert_array_equal(x[stays, 0], before.named["x"][stays, -1])
    still = ~after.accepted[:, 1:]
    np.testing.assert_array_equal(x[:, 1:][still], x[:, :-1][still])
    assert (np.diff(x[..., 0])[~still] != 0).all()
    ratio = stats.gumbel_r.logpdf(x[..., 0]) - log_q(x[..., 0]) + offset[0]
    np.testing.assert_allclose(ratio[after.accepted], after.log_ratio[after.accepted], atol=1e-12)


def test_parts_of_chains():
    run = chains_of(Skewed(), at(0.5, 2.0), 2, 30)
    whole = Chains.joined([run.select(slice(0, 12)), run.select(slice(12, None))])
    for name in ("accepted", "log_ratio", "last"):
        np.testing.assert_array_equal(getattr(whole, name), getattr(run, name))
    np.testing.assert_array_equal(whole.named["x"], run.named["x"])
    np.testing.assert_array_equal(run.select(slice(3, None, 4)).named["x"], run.named["x"][:, 3::4])


def test_pareto_k_sees_proposals_that_are_too_narrow():
    def judged(sd):
        run = chains_of(Skewed(), at(0.0, sd), 2, 2000)
        return ProposalDiagnostics.of(run, run.named["x"])

    assert judged(2.0).safe
    assert judged(0.1).pareto_k > laplace.MAX_PARETO_K
    assert judged(0.1).unusable
    assert not judged(0.1).safe


def test_more_steps_where_they_help(monkeypatch):
    """R-hat just above its bound: four steps a draw, and it is judged again."""
    mixed = iter([(1.02, 900.0), (1.002, 1900.0)])
    monkeypatch.setattr(laplace, "mixing", lambda values: next(mixed))
    density = LogDensity(MODELS["bsvdd"]())
    q = Laplace.of(density, rng())
    density.products = 0.0
    monkeypatch.setattr(laplace, "MAX_PARETO_K", 1.0)  # few rows leave the prior's wider tails
    parts, select = [], Chains.select
    monkeypatch.setattr(Chains, "select", lambda run, part: parts.append(run) or select(run, part))
    run, judgement = laplace.sample(density, q, 602, 2, rng(), lambda v: v["w"])
    assert judgement.safe
    assert run.named["w"].shape == (2, 602, 12)
    steps = np.concatenate([part.named["w"] for part in parts], axis=1)
    np.testing.assert_array_equal(run.named["w"], steps[:, laplace.THIN - 1 :: laplace.THIN])
    assert density.products == 2 * (1 + laplace.WARM_UP + 4 * 602)


def two_modes(gram, name, dims):
    return pm.NormalMixture(name, [0.5, 0.5], mu=[-4.0, 4.0], sigma=0.4, dims=dims)


def test_several_modes_are_no_approximation():
    q = Laplace.of(LogDensity(bsvdd.build(GRAM, two_modes)), rng())
    assert q.several_modes
    assert q.largest_distance > 5
    assert not Laplace.of(LogDensity(MODELS["bsvdd"]()), rng()).several_modes


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_modes_far_from_the_prior_mean_are_seen():
    """Prior means that span a hundred put all weight on few rows; another mode spreads it."""
    r = np.random.default_rng(0)
    rows = np.concatenate([r.normal(size=(120, 2)), 6 * r.normal(size=(6, 2))])
    gram = Gram.from_rows(kernels.RBF().resolve(rows), rows)
    density = LogDensity(bsvdd.build(gram, priors.RowSum(), 30.0))
    assert Laplace.of(density, rng()).largest_distance > 10


def test_curvature_that_is_not_positive_is_no_approximation():
    with pytest.raises(NoApproximationError, match="search for the mode|curvature"):
        Laplace.of(
            LogDensity(bsvdd.build(GRAM, lambda g, name, dims: pm.Flat(name, dims=dims))), rng()
        )


@pytest.mark.parametrize(("width", "sampler"), [(0.3, "nuts"), (1.0, "laplace")])
def test_a_prior_with_corners(worst_z, width, sampler):
    """Where the mode is at a corner no search ends; by quadrature, on a grid with the corners."""
    gram = Gram.from_rows(kernels.RBF(1.0), np.array([[0.0, 0.0], [1.5, 0.3]]))
    model = bdd.build(gram, lambda gram, name, dims: pm.Laplace(name, 0.0, width, dims=dims))
    tree = sample(model, "auto", draws=2000, tune=500, chains=4, seed=1)
    assert tree["posterior"].attrs["sampler"] == sampler
    grid = np.linspace(-5.0, 5.0, 1001)
    w = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    norm = np.einsum("...i,ij,...j", w, gram.K, w)
    log_density = w @ gram.r - norm * gram.n0 / 2.0 - np.abs(w).sum(axis=-1) / width
    share = np.exp(log_density - log_density.max())
    share /= share.sum()
    mean = np.einsum("ij,ijk", share, w)
    draws = tree["posterior"]["w"].values
    assert worst_z(draws, mean) < 4.5
    assert worst_z((draws - mean) ** 2, np.einsum("ij,ijk", share, (w - mean) ** 2)) < 4.5
    assert worst_z(draws, np.linalg.solve(gram.n0 * gram.K, gram.r)) > 10  # without the prior


def test_a_stiff_prior_is_searched_in_other_coordinates(monkeypatch):
    """Neighbours have almost equal parameters; mode and curvature against the closed form."""
    rows = np.random.default_rng(3).normal(size=(80, 2))
    gram = Gram.from_rows(kernels.RBF(1.0), rows)
    prior = priors.GaussianProcess()
    density = LogDensity(bdd.build(gram, prior, 2.0))
    mean, upper = bdd.posterior(gram, prior, 2.0)
    assert np.linalg.cond(upper) > 150
    q = Laplace.of(density, rng())
    assert np.linalg.norm(upper @ (q.mode - mean)) < 0.05
    assert len(q.modes) == 1
    monkeypatch.setattr(laplace, "AT_LIMIT", None)
    with pytest.raises(NoApproximationError, match="search for the mode failed: .*ITERATIONS"):
        Laplace.of(density, rng())


def test_search_that_ends_early_is_led_to_the_mode():
    """Flat as seen by the search, but not in posterior sd: Newton's steps."""

    class Stiff:
        def logp_and_gradient(self, x):
            return -5e11 - 0.5 * float(x @ (SCALES * x)), -SCALES * x

    upper = np.diag(np.sqrt(SCALES))
    end = laplace._newton(Stiff(), np.array([3.0, 1e-4, -2.0]), upper)
    assert np.linalg.norm(upper @ end) <= laplace.CLOSE


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_auto_says_what_it_took_and_why(capsys):
    # few rows: Pareto k is .1 to .6 by the seed, and one run in two takes more steps
    settings = dict(draws=600, tune=300, chains=2, seed=12, progressbar=True)
    safe = sample(MODELS["bsvdd"](), "auto", **settings)["posterior"].attrs
    assert safe["sampler"] == "laplace"
    assert "safe: Pareto k" in safe["why"]
    assert "safe: Pareto k" in capsys.readouterr().err
    assert 1200 < safe["products"] < 1200 + 2 * laplace.WARM_UP + 12 + 200
    modes = sample(bsvdd.build(GRAM, two_modes), "auto", **settings)["posterior"].attrs
    assert modes["sampler"] == "nuts"
    assert "several modes" in modes["why"]
    assert "NUTS, because there are several modes" in capsys.readouterr().err


def test_laplace_that_is_asked_for():
    settings = dict(draws=600, tune=0, chains=2, seed=1)
    with pytest.raises(ValueError, match="sampler='laplace' cannot be used: .* several modes"):
        sample(bsvdd.build(GRAM, two_modes), "laplace", **settings)
    collapsed = bsvdd.build(GRAM, lambda g, name, dims: pm.StudentT(name, 1.5, dims=dims), 300.0)
    with pytest.warns(UserWarning, match="sampler='laplace' is not safe here .Pareto k"):
        tree = sample(collapsed, "laplace", **settings)
    assert "not safe" in tree["posterior"].attrs["why"]


@pytest.fixture(scope="module")
def collapsing():
    """The published prior on rows of which few get any weight."""
    rows = np.random.default_rng(82).normal(size=(200, 10))
    gram = Gram.from_rows(kernels.RBF("median").resolve(rows), rows)
    return bsvdd.build(gram, priors.RowSum())


SETTINGS = dict(draws=2000, tune=500, chains=2, seed=1)


@pytest.mark.parametrize("sampler", ["hmc", "nuts"])
def test_by_way_of_the_active_points(collapsing, worst_z, monkeypatch, sampler):
    if sampler == "nuts":
        monkeypatch.setattr(hmc, "MIN_ANGLE", 9.0)
    tree = sample(collapsing, "auto", **SETTINGS)["posterior"]
    assert tree.attrs["sampler"] == sampler
    assert tree.attrs["active_points"] < 100
    assert "not safe" in tree.attrs["why"]
    whole = sample(collapsing, "nuts", **SETTINGS)["posterior"]
    assert whole.attrs["active_points"] == 200
    assert tree.attrs["products"] < whole.attrs["products"] / 2
    heavy = whole["w"].mean(("chain", "draw")).values > 1e-3
    # two estimates: a difference of 6 errors of one of them is 4.2 of the difference
    values = tree["w"].values[:, :, heavy]
    assert worst_z(values, whole["w"].values[:, :, heavy].mean(axis=(0, 1))) < 6


@pytest.mark.parametrize("sampler", ["hmc", "nuts"])
def test_all_points_where_the_others_matter(collapsing, monkeypatch, sampler):
    monkeypatch.setattr(sampling, "NEGLIGIBLE", 0.05)
    if sampler == "nuts":
        monkeypatch.setattr(hmc, "MIN_ANGLE", 9.0)
    tree = sample(collapsing, "auto", **SETTINGS)
    assert tree["posterior"].attrs["sampler"] == sampler
    assert tree["posterior"].attrs["active_points"] == 200


def test_hopeless_proposals_end_with_the_warm_up(collapsing):
    """Where others may follow; the sampler that is asked for makes all of its draws."""
    density = LogDensity(collapsing)
    q = Laplace.of(density, rng())
    narrow = replace(q, upper=4.0 * q.upper)
    for may_stop, steps in [(True, laplace.WARM_UP), (False, 600)]:
        run, diagnostics = laplace.sample(
            density, narrow, 600, 2, rng(), lambda v: v["w"], may_stop
        )
        assert run.accepted.shape == (2, steps)
        assert diagnostics.pareto_k > laplace.HOPELESS and not diagnostics.safe


def test_a_panic_of_nutpie_is_an_error(monkeypatch):
    import nutpie

    class PanicException(BaseException):  # its name is all that is known of Rust's
        pass

    class Run:
        def wait(self):
            raise PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(nutpie, "sample", lambda *args, **kwargs: Run())
    with pytest.raises(RuntimeError, match="nutpie failed .*; use another prior"):
        sample(MODELS["bsvdd"](), "nuts", draws=10, tune=10, chains=1, seed=1)


def test_estimators_take_auto_by_default(table):
    assert BSVDD().sampler == BSVDDM().sampler == "auto"
    est = BSVDD(draws=500, kernel=kernels.RBF(1.5)).fit(*table)
    attrs = est.idata_["posterior"].attrs
    assert attrs["sampler"] == "laplace"
    assert attrs["r_hat"] == float(est.idata_["diagnostics"]["r_hat"])
    assert est.idata_["sample_stats"]["accepted"].shape == (2, 500)


NOT_FINITE = {
    "NaN": lambda g, name, dims: pm.Normal(name, np.nan, 1.0, dims=dims),
    "potential": lambda g, name, dims: (
        pm.Potential("nowhere", pm.math.log(-1.0)),
        pm.Normal(name, dims=dims),
    )[1],
}


@pytest.mark.parametrize("sampler", sampling.SAMPLERS)
@pytest.mark.parametrize("prior", NOT_FINITE.values(), ids=NOT_FINITE)
def test_a_density_that_is_not_finite_is_named(prior, sampler):
    with pytest.raises(
        ValueError, match="log density is nan at .*check the priors.* By variable: .*nan"
    ):
        sample(bsvdd.build(GRAM, prior), sampler, draws=10, tune=10, chains=1, seed=1)


@pytest.mark.parametrize("sampler", sampling.SAMPLERS)
def test_priors_without_continuous_free_variables(sampler):
    settings = dict(draws=10, tune=10, chains=1, seed=1)
    fixed = bsvdd.build(GRAM, lambda g, name, dims: pm.Data(name, np.zeros(12), dims=dims))
    with pytest.raises(ValueError, match="must make continuous free variables, but there is none"):
        sample(fixed, sampler, **settings)
    counts = bsvdd.build(GRAM, lambda g, name, dims: pm.Poisson(name, 3.0, dims=dims))
    with pytest.raises(ValueError, match="must make continuous free variables, but beta is disc"):
        sample(counts, sampler, **settings)


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_an_improper_prior_has_no_draws_but_a_posterior(table):
    est = BSVDD(
        prior=lambda g, name, dims: pm.Flat(name, dims=dims),
        sampler="metropolis",
        draws=40,
        tune=40,
    )
    est.fit(*table)
    assert "w" not in est.idata_["prior"]
    with pytest.raises(ValueError, match="the prior is improper, as pm.Flat is, so it has no draw"):
        est.prior_health()
    assert "prior_effective_support" not in est.idata_["diagnostics"]
