"""The density in numbers is that of the PyMC model: all models, all priors of the package."""

import numpy as np
import pymc as pm
import pytensor
import pytest
from bsvdd.inference.density import (
    Density,
    NoDensityError,
    PackagePrior,
    log_prior,
    prior_draws,
)
from bsvdd.inference.draws import Draws, SamplerReport
from bsvdd.inference.prior_density import PriorDensity
from bsvdd.inference.sampling import sample
from bsvdd.models import bsvdd, bsvdd_m
from bsvdd.models.model import Model
from bsvdd.models.potential import kernel_potential
from bsvdd.models.priors.base import make_variable
from pytensor.compile.mode import Mode
from scipy import stats

from bsvdd import priors
from tests import cases
from tests.cases import MINORITIES, N0, NORMAL, ONE, PACKAGE, SCALE, STRANGE, student


def by_pymc(model, x):
    """Value, gradient and named quantities by PyMC itself, vector by vector."""
    names = [v.name for v in [*model.free_RVs, *model.deterministics]]
    named = model.replace_rvs_by_values([model[n] for n in names])
    with pytensor.config.change_flags(cxx=""):
        (logp, *named), joined = pm.pytensorf.join_nonshared_inputs(
            model.initial_point(), [model.logp(), *named], list(model.value_vars)
        )
        outputs = [logp, pytensor.grad(logp, joined), *named]
        function = pytensor.function([joined], outputs, mode=Mode("py", "fast_compile"))
    value, gradient, *found = map(np.array, zip(*map(function, x), strict=True))
    return value, gradient, dict(zip(names, found, strict=True))


def assert_same(density, x, rel=1e-8):
    value, gradient, named = by_pymc(density.pymc, x)
    found, slope = density.value_and_gradient(x)
    np.testing.assert_allclose(found, value, rtol=rel)
    np.testing.assert_allclose(slope, gradient, rtol=rel, atol=rel * np.abs(gradient).max())
    ours = density.named(x)
    assert set(ours) == set(named)
    for name, expected in named.items():
        np.testing.assert_allclose(ours[name], expected, rtol=1e-9, atol=1e-12, err_msg=name)
    w, K = named["w"], density.gram.K  # draws are judged by d^2 of the points
    d2 = np.diag(K) - 2 * w @ K + np.einsum("si,ij,sj->s", w, K, w)[:, None]
    np.testing.assert_allclose(density.monitored(ours), d2, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", [*PACKAGE, *STRANGE])
def test_value_gradient_and_named_quantities_are_those_of_pymc(name):
    density = cases.density(name)
    assert type(density.prior) is (PackagePrior if name in PACKAGE else PriorDensity)
    assert_same(density, np.random.default_rng(61).normal(size=(4, density.size)))


@pytest.mark.parametrize("minority", MINORITIES)
def test_log_prior_by_numpy_is_that_by_pytensor(minority):
    """Of two models that differ only in who writes the prior of tau; each variable by itself."""

    def normal(gram, name, dims):
        return pm.Normal(name, 0.0, 1.3, dims=dims)

    densities = [
        cases.of_both(bsvdd_m, prior, MINORITIES[minority]) for prior in (NORMAL["Flat"], normal)
    ]
    density = densities[0]
    named = density.named(np.random.default_rng(63).normal(size=(30, density.size)))
    variables = {name: v.reshape(2, 15, *v.shape[1:]) for name, v in named.items()}
    drawn = Draws.of_model(variables, density.pymc, SamplerReport("hmc"), {})
    ours, theirs = (log_prior(each, drawn) for each in densities)
    assert set(ours) == set(theirs)
    for name, values in ours.items():
        # PyMC's probability of an interval has 8 digits
        np.testing.assert_allclose(values, theirs[name], rtol=1e-8, atol=1e-8, err_msg=name)


DRAWN = [
    *("BSVDD, Flat", "BSVDD, Normal", "BSVDD, student", "BSVDD, process", "BSVDD-M, by_row"),
    *(name for name in PACKAGE if name.startswith("BSVDD-M, ")),
]


@pytest.mark.parametrize("name", DRAWN[:9])
def test_draws_of_the_prior_have_the_distribution_of_those_of_pymc(name):
    density = cases.density(name)
    expected = pm.draw(density.pymc["w"], 400, random_seed=7, mode="FAST_COMPILE")
    draws = prior_draws(density, 400, 8)
    assert set(draws.variables) >= {*(v.name for v in density.pymc.free_RVs), "w"}
    for j in (0, -1):
        assert stats.ks_2samp(draws.weights[:, j], expected[:, j]).pvalue > 1e-4
    again, other = (prior_draws(density, 3, seed).w for seed in (8, 9))
    np.testing.assert_array_equal(again, prior_draws(density, 3, 8).w)
    assert not np.array_equal(again, other)


def test_every_proper_free_variable_is_drawn_and_an_improper_prior_has_no_draws():
    density = Density(bsvdd.Model(cases.hierarchical), ONE)
    assert set(prior_draws(density, 1, 1).variables) == {"beta", "beta_sd", "w"}
    density = cases.of_both(bsvdd_m, NORMAL["Flat"], MINORITIES["Beta"])
    assert set(prior_draws(density, 2, 1).variables) >= {"tau", "alpha1", "w"}
    density = Density(bsvdd.Model(lambda gram, name, dims: pm.Flat(name, dims=dims)), ONE)
    assert prior_draws(density, 3, 1) is None


def test_one_vector_out_of_range_is_no_density_and_the_others_keep_theirs():
    """tau near 0 makes a scale of 0, which PyMC refuses for the whole batch."""
    density = cases.density("BSVDD, hierarchical")
    x = np.random.default_rng(64).normal(size=(5, density.size))
    expected = density.value_and_gradient(x)
    x[3, 0] = -1000.0
    found, others = density.value_and_gradient(x), [0, 1, 2, 4]
    assert found[0][3] == -np.inf
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours[others], theirs[others], rtol=1e-12)


# models of a stranger


class Softplus(Model):
    """A model that says its definition only: no map and no variables in numbers."""

    def build(self, gram):
        with pm.Model(coords={"point": range(gram.n_points)}) as model:
            s = pm.math.log1pexp(make_variable(self.prior, gram, "beta", "point"))
            w = pm.Deterministic("w", s / s.sum(), dims="point")
            kernel_potential(w, gram, self.scale)
        return model


@pytest.mark.parametrize("prior", [priors.Flat(), student], ids=["Flat", "student"])
def test_the_map_of_a_stranger_is_asked_through_pytensor(prior):
    density = Density(Softplus(prior, SCALE), ONE)
    assert_same(density, np.random.default_rng(65).normal(size=(4, N0)))


class Total:
    """A likelihood that says no value and gradient."""

    potential = "other"


class WithoutNumbers(Model):
    def build(self, gram):
        with pm.Model(coords={"point": range(gram.n_points)}) as model:
            w = pm.Deterministic("w", pm.Normal("beta", dims="point"), dims="point")
            pm.Potential("other", -(w @ w))
        return model

    def likelihood(self, gram):
        return Total()


def test_a_likelihood_without_numbers_has_no_density():
    model = WithoutNumbers(priors.Flat())
    with pytest.raises(NoDensityError, match="likelihood of the model says no value and gradient"):
        Density(model, ONE).require_numbers()
    with pytest.raises(ValueError, match="sampler='hmc' cannot be used: .*; use 'nuts'"):
        sample(model, ONE, "hmc", draws=10, tune=10, chains=1, seed=1)
