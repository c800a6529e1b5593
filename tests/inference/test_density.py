"""The density in numbers is that of the PyMC model: all models, all priors of the package."""

import numpy as np
import preliz
import pymc as pm
import pytensor
import pytest
from bsvdd.inference.density import Density, NoDensityError, PackagePrior
from bsvdd.inference.draws import Draws, SamplerReport
from bsvdd.inference.prior import log_prior, prior_draws, weights
from bsvdd.inference.prior_density import PriorDensity
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bdd_m, bsvdd, bsvdd_m
from bsvdd.models.potential import kernel_potential
from bsvdd.models.priors.foreign import make_variable
from pytensor.compile.mode import Mode
from scipy import stats

from bsvdd import kernels, priors

RNG = np.random.default_rng(60)
N0, N1, SCALE = 9, 3, 2.5
K = kernels.RBF(1.2)
MAJORITY, MINORITY = RNG.normal(size=(N0, 2)), RNG.normal(1.0, 1.0, size=(N1, 2))
ONE, TWO = Gram.from_rows(K, MAJORITY), Gram.from_rows(K, MAJORITY, MINORITY)
LANDMARKS = Gram.from_rows(kernels.Linear(), RNG.normal(size=(40, 2)), dictionary=MAJORITY)


def covariance(n):
    A = RNG.normal(size=(n, n))
    return A @ A.T / n + 0.5 * np.eye(n)


def student(gram, name, dims):
    return pm.StudentT(name, 3, dims=dims)


def hierarchical(gram, name, dims):
    return pm.Normal(name, 0, pm.HalfNormal(f"{name}_sd"), dims=dims)


def not_centred(gram, name, dims):
    raw = pm.Normal(f"{name}_raw", dims=dims)
    return pm.Deterministic(name, pm.HalfNormal(f"{name}_sd") * raw, dims=dims)


def with_potential(gram, name, dims):
    x = pm.Normal(name, dims=dims)
    pm.Potential(f"{name}_sum", -(pm.math.sum(x) ** 2))
    return x


def process(gram, name, dims):
    length = pm.Gamma(f"{name}_length", 4, 2)
    cov = pm.gp.cov.ExpQuad(2, ls=length)(gram.points[: gram.n_majority_points])
    return pm.MvNormal(name, 0, cov + 0.1 * np.eye(gram.n_majority_points), dims=dims)


NORMAL = {
    "Flat": priors.Flat(1.3),
    "RowSum": priors.RowSum(0.7),
    "StandardizedRowSum": priors.StandardizedRowSum(),
    "InverseRowSum": priors.InverseRowSum(0.5),
    "SVDD": priors.SVDDWeights(),
    "Normal": priors.Normal(m=RNG.normal(size=N0), sigma=covariance(N0)),
    "GaussianProcess": priors.GaussianProcess(nugget=0.1),
    "GraphLaplacian": priors.GraphLaplacian(neighbors=3),
}
FOREIGN = {
    "student": student,
    "hierarchical": hierarchical,
    "not centred": not_centred,
    "potential": with_potential,
    "process": process,
    "PreliZ": preliz.Logistic(0.2, 1.5),
}
MINORITIES = {
    "Beta": priors.Beta(2, 3),
    "Beta with a total": priors.Beta(0.7, 1.5, total=0.6),
    "TruncatedNormal": priors.TruncatedNormal(0.3, 0.2),
    "correlated TruncatedNormal": priors.TruncatedNormal((0.1, 0.2, 0.3), 0.5, covariance(N1)),
}


MINORITY_MODELS = [
    ("BSVDD-M", bsvdd_m.build),
    ("BSVDD-M, loss", bsvdd_m.build, 0.4, 0.5),
    ("BDD-M", bdd_m.build),
]


MAJORITY_MODELS = [
    ("BDD", bdd.build, SCALE),
    ("BSVDD, loss", bsvdd.build, SCALE, 0.3),
    ("BDD-M without minority", bdd_m.build, None),
]


def cases():
    """BSVDD and BSVDD-M with each prior; the other models and the minority's priors take turns."""
    minorities = list(MINORITIES.items())
    for i, (name, prior) in enumerate(NORMAL.items()):
        yield f"BSVDD, {name}", bsvdd.build, (ONE, prior, SCALE), PackagePrior
        what, build, *more = MAJORITY_MODELS[i % 3]
        yield f"{what}, {name}", build, (ONE, prior, *more), PackagePrior
        for model, turn in ((0, i), (1 + i % 2, i // 2)):
            what, build, *more = MINORITY_MODELS[model]
            other, minority = minorities[turn % 4]
            given = (TWO, prior, minority, SCALE, *more)
            yield f"{what}, {name}, {other}", build, given, PackagePrior
    yield "landmarks", bsvdd.build, (LANDMARKS, priors.Flat(), SCALE), PackagePrior
    for name, prior in FOREIGN.items():
        yield f"BSVDD, {name}", bsvdd.build, (ONE, prior, SCALE), PriorDensity
    yield "BDD, student", bdd.build, (ONE, student, SCALE), PriorDensity
    minority = MINORITIES["Beta"]
    yield "BSVDD-M, student", bsvdd_m.build, (TWO, student, minority, SCALE, 0.4), PriorDensity
    for prior in (uniform, by_row):
        given = (TWO, NORMAL["Flat"], prior, SCALE)
        yield f"BSVDD-M, {prior.__name__}", bsvdd_m.build, given, PriorDensity


def uniform(gram, name, dims):
    return pm.Beta(name, 1.5, 2, dims=dims)


def by_row(gram, name, dims):
    """A variable of its own for each minority row."""
    rows = [pm.Beta(f"{name}_{i}", 1 + i, 2) for i in range(gram.n1)]
    return pm.Deterministic(name, pm.math.stack(rows), dims=dims)


CASES = {name: (build, given, cls) for name, build, given, cls in cases()}


def by_pymc(model, x):
    """Value and gradient by PyMC itself, vector by vector."""
    with pytensor.config.change_flags(cxx=""):
        outputs, joined = pm.pytensorf.join_nonshared_inputs(
            model.initial_point(), [model.logp()], list(model.value_vars)
        )
        function = pytensor.function(
            [joined], [*outputs, pytensor.grad(outputs[0], joined)], mode=Mode("py", "fast_compile")
        )
    return map(np.array, zip(*map(function, x), strict=True))


@pytest.mark.parametrize("name", CASES)
def test_value_and_gradient_are_those_of_pymc(name):
    build, given, cls = CASES[name]
    model = build(*given)
    density = Density.of(model)
    assert type(density.prior) is cls
    x = np.random.default_rng(61).normal(size=(4, density.size))
    value, gradient = by_pymc(model, x)
    found, slope = density.value_and_gradient(x)
    np.testing.assert_allclose(found, value, rtol=1e-8)
    np.testing.assert_allclose(slope, gradient, rtol=1e-8, atol=1e-8 * np.abs(gradient).max())
    named = density.named(x)
    assert set(named) == {v.name for v in [*model.free_RVs, *model.deterministics]}


@pytest.mark.parametrize("name", [n for n in CASES if n.startswith("BSVDD-M") and "Flat" in n])
def test_named_quantities_are_those_of_pymc(name):
    build, given, _ = CASES[name]
    model = build(*given)
    names = [v.name for v in [*model.free_RVs, *model.deterministics]]
    with pytensor.config.change_flags(cxx=""):
        outputs, joined = pm.pytensorf.join_nonshared_inputs(
            model.initial_point(),
            model.replace_rvs_by_values([model[n] for n in names]),
            list(model.value_vars),
        )
        function = pytensor.function([joined], outputs, mode=Mode("py", "fast_compile"))
    density = Density.of(model)
    x = np.random.default_rng(62).normal(size=(3, density.size))
    expected = [np.stack(v) for v in zip(*map(function, x), strict=True)]
    found = density.named(x)
    for each, value in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[each], value, rtol=1e-10, err_msg=each)


@pytest.mark.parametrize("minority", MINORITIES)
def test_log_prior_by_numpy_is_that_by_pytensor(minority):
    """Of two models that differ only in who writes the prior of tau; each variable by itself."""

    def normal(gram, name, dims):
        return pm.Normal(name, 0.0, 1.3, dims=dims)

    models = [
        bsvdd_m.build(TWO, prior, MINORITIES[minority], SCALE) for prior in (NORMAL["Flat"], normal)
    ]
    density = Density.of(models[0])
    named = density.named(np.random.default_rng(63).normal(size=(30, density.size)))
    variables = {name: v.reshape(2, 15, *v.shape[1:]) for name, v in named.items()}
    drawn = Draws.of_model(variables, models[0], SamplerReport("hmc"), {})
    ours, theirs = (log_prior(model, drawn) for model in models)
    assert set(ours) == set(theirs)
    for name, values in ours.items():
        # PyMC's probability of an interval has 8 digits
        np.testing.assert_allclose(values, theirs[name], rtol=1e-8, atol=1e-8, err_msg=name)
    for model in models:
        np.testing.assert_allclose(weights(model, drawn), drawn.weights, rtol=1e-10)


@pytest.mark.parametrize(
    "name", [n for n in CASES if "loss" not in n and "BDD-M" not in n and "potential" not in n]
)
def test_draws_of_the_prior_have_the_distribution_of_those_of_pymc(name):
    build, given, _ = CASES[name]
    model = build(*given)
    expected = pm.draw(model["w"], 400, random_seed=7, mode="FAST_COMPILE")
    draws = prior_draws(model, 400, 8)
    assert set(draws.variables) >= {*(v.name for v in model.free_RVs), "w"}
    found = draws.weights
    assert found.shape == expected.shape
    for j in (0, -1):
        assert stats.ks_2samp(found[:, j], expected[:, j]).pvalue > 1e-4
    again, other = (prior_draws(model, 3, seed).w for seed in (8, 9))
    np.testing.assert_array_equal(again, prior_draws(model, 3, 8).w)
    assert not np.array_equal(again, other)


def test_every_proper_free_variable_is_drawn_and_an_improper_prior_has_no_draws():
    model = bsvdd.build(ONE, hierarchical, outlier_fraction=0.5)
    assert set(prior_draws(model, 1, 1).variables) == {"beta", "beta_sd", "squared_radius", "w"}
    model = bsvdd_m.build(TWO, NORMAL["Flat"], MINORITIES["Beta"], outlier_fraction=0.5)
    assert set(prior_draws(model, 2, 1).variables) >= {"tau", "alpha1", "squared_radius", "w"}
    model = bsvdd.build(ONE, lambda gram, name, dims: pm.Flat(name, dims=dims))
    assert prior_draws(model, 3, 1) is None


def test_one_vector_out_of_range_is_no_density_and_the_others_keep_theirs():
    """tau near 0 makes a scale of 0, which PyMC refuses for the whole batch."""
    density = Density.of(bsvdd.build(ONE, hierarchical, SCALE))
    x = np.random.default_rng(64).normal(size=(5, density.size))
    expected, slopes = density.value_and_gradient(x)
    x[3, 0] = -1000.0
    value, gradient = density.value_and_gradient(x)
    assert value[3] == -np.inf
    others = [0, 1, 2, 4]
    np.testing.assert_allclose(value[others], expected[others], rtol=1e-12)
    np.testing.assert_allclose(gradient[others], slopes[others], rtol=1e-12)


def softplus(gram, prior):
    """A model of a stranger, who states no map in numbers."""
    with pm.Model(coords={"point": range(gram.n_points)}) as model:
        beta = make_variable(prior, gram, "beta", "point")
        s = pm.math.log1pexp(beta)
        w = pm.Deterministic("w", s / s.sum(), dims="point")
        kernel_potential(w, gram, SCALE)
    return model


@pytest.mark.parametrize("prior", [priors.Flat(), student], ids=["Flat", "student"])
def test_the_map_of_a_stranger_is_asked_through_pytensor(prior):
    model = softplus(ONE, prior)
    density = Density.of(model)
    x = np.random.default_rng(65).normal(size=(4, N0))
    value, gradient = by_pymc(model, x)
    found, slope = density.value_and_gradient(x)
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(slope, gradient, rtol=1e-10, atol=1e-12)
    assert set(density.named(x)) == {"beta", "w", "squared_norm"}


def test_a_subclass_with_a_variable_of_its_own_is_a_stranger():
    class Heavy(priors.Flat):
        def __call__(self, gram, name, dims):
            return pm.StudentT(name, 3, sigma=self.sd, dims=dims)

    density = Density.of(bsvdd.build(ONE, Heavy(), SCALE))
    assert isinstance(density.prior, PriorDensity)
    x = np.zeros((1, N0))
    expected = Density.of(bsvdd.build(ONE, student, SCALE)).value_and_gradient(x)[0]
    np.testing.assert_allclose(density.value_and_gradient(x)[0], expected)


def test_a_likelihood_without_numbers_has_no_density():
    with pm.Model(coords={"point": range(N0)}) as model:
        w = pm.Deterministic("w", pm.Normal("beta", dims="point"), dims="point")
        pm.Potential("other", -(w @ w))
    with pytest.raises(NoDensityError, match="likelihood of the model is not one of this package"):
        Density.of(model)
    with pytest.raises(ValueError, match="sampler='hmc' cannot be used: .*; use 'nuts'"):
        sample(model, "hmc", draws=10, tune=10, chains=1, seed=1)


def test_named_quantities_that_are_the_same_in_all_draws():
    def prior(gram, name, dims):
        pm.Deterministic("fixed", pm.math.constant(np.arange(3.0)))
        return pm.Normal(name, dims=dims)

    named = Density.of(bsvdd.build(ONE, prior)).named(np.zeros((5, N0)))
    np.testing.assert_array_equal(named["fixed"], np.tile(np.arange(3.0), (5, 1)))
