"""One compilation for each model structure: other rows and other numbers compile nothing."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.compiled import compilations
from bsvdd.inference.log_density import LogDensity
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from scipy.stats import norm

from bsvdd import kernels, priors

RNG = np.random.default_rng(60)
ROWS = RNG.normal(size=(14, 2))
MINORITY = RNG.normal(size=(5, 2))


def gram(n, n1=0, bandwidth=1.0):
    return Gram.from_rows(kernels.RBF(bandwidth), ROWS[:n], MINORITY[:n1])


def by_pymc(model, x):
    """PyMC's own log density, by its own slow road."""
    point = {v.name: part for v, part in zip(model.value_vars, x, strict=True)}
    return float(model.compile_logp(mode="FAST_COMPILE")(point))


def assert_same_as_pymc(model, *shapes):
    x = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    found = LogDensity(model).logp_and_gradient(np.concatenate([np.ravel(v) for v in x]))[0]
    assert found == pytest.approx(by_pymc(model, x), rel=1e-12)


@pytest.mark.parametrize("build", [bdd.build, bsvdd.build])
def test_rows_and_numbers_compile_nothing_new(build):
    LogDensity(build(gram(14), priors.StandardizedRowSum()))
    before = compilations()
    for other in (
        build(gram(9), priors.StandardizedRowSum(sd=2.0)),
        build(gram(14, bandwidth=0.3), priors.RowSum(sd=0.5, exponent=0.7)),
        build(gram(3), priors.Flat(), 4.0),
    ):
        n = other.dim_lengths["point"].eval()
        assert_same_as_pymc(other, int(n))
    assert compilations() == before


def test_bsvdd_m_compiles_once_for_all_sizes():
    LogDensity(bsvdd_m.build(gram(14, 2), priors.StandardizedRowSum(), priors.Beta()))
    before = compilations()
    for n, n1, beta in [(9, 1, priors.Beta(2, 3)), (14, 5, priors.Beta(total=0.5))]:
        assert_same_as_pymc(bsvdd_m.build(gram(n, n1), priors.RowSum(), beta, 3.0), n, n1)
    assert compilations() == before


def test_numbers_inside_a_function_are_another_structure():
    """A constant of a user's prior is no pm.Data, so it must not be taken from the cache."""

    def build(nu):
        return bsvdd.build(gram(9), lambda g, name, dims: pm.StudentT(name, nu, dims=dims))

    LogDensity(build(3.0))
    before = compilations()
    assert_same_as_pymc(build(3.0), 9)
    assert compilations() == before
    assert_same_as_pymc(build(30.0), 9)
    assert compilations() == before + 1


def test_data_of_a_function_follow_its_values():
    def build(m):
        def prior(gram, name, dims):
            return pm.Normal(name, pm.Data("location", m), 1.0, dims=dims)

        return bsvdd.build(gram(9), prior)

    for m in (0.0, 4.0):
        assert_same_as_pymc(build(m), 9)


def test_models_are_not_confused():
    """Same names and shapes of data, another use of them."""
    found = [
        LogDensity(build(gram(9), priors.Flat())).logp_and_gradient(np.ones(9))[0]
        for build in (bdd.build, bsvdd.build)
    ]
    assert found[0] != found[1]
    for build in (bdd.build, bsvdd.build):
        assert_same_as_pymc(build(gram(9), priors.Flat()), 9)


def test_named_quantities_at_a_batch():
    stats = gram(4, 2)
    density = LogDensity(bsvdd_m.build(stats, priors.StandardizedRowSum(), priors.Beta(total=0.6)))
    x = np.random.default_rng(61).normal(size=(5, 6))
    named = density.named(x)
    free = {"tau", "alpha1_probit"}
    assert set(named) == free | {"alpha1_share", "alpha1", "w", "squared_norm", "Kw"}
    share = norm.cdf(x[:, 4:])
    np.testing.assert_allclose(named["tau"], x[:, :4])
    np.testing.assert_allclose(named["alpha1_share"], share)
    np.testing.assert_allclose(named["alpha1"], 0.3 * share)
    e = np.exp(x[:, :4])
    alpha0 = (1 + 0.3 * share.sum(axis=1, keepdims=True)) * e / e.sum(axis=1, keepdims=True)
    w = np.hstack([alpha0, -0.3 * share])
    np.testing.assert_allclose(named["w"], w)
    np.testing.assert_allclose(named["Kw"], w @ stats.K)
    np.testing.assert_allclose(named["squared_norm"], [each @ stats.K @ each for each in w])


def test_named_quantities_that_are_the_same_in_all_draws():
    """They too come once for each draw, over several blocks."""

    def prior(gram, name, dims):
        pm.Deterministic("fixed", pm.math.constant(np.arange(3.0)))
        return pm.Normal(name, dims=dims)

    named = LogDensity(bsvdd.build(gram(9), prior)).named(np.zeros((5, 9)))
    np.testing.assert_array_equal(named["fixed"], np.tile(np.arange(3.0), (5, 1)))


def test_jittered_points_are_wider_than_a_standard_normal():
    density = LogDensity(bsvdd.build(gram(9), priors.StandardizedRowSum()))
    points = density.jittered_points(200, np.random.default_rng(1))
    np.testing.assert_array_equal(points, density.jittered_points(200, np.random.default_rng(1)))
    e = points - priors.StandardizedRowSum().mean(gram(9))
    assert 1.9 < np.abs(e).max() <= 2.0
    assert e.std() > 1.1


def test_dispersed_points_disperse_the_total_of_the_minority_weights():
    """Shares of 200 rows that are each moved apart all have one mean; some are moved as one."""
    rows = np.random.default_rng(3).normal(size=(204, 2))
    stats = Gram.from_rows(kernels.RBF(1.0), rows[:4], rows[4:])
    density = LogDensity(bsvdd_m.build(stats, priors.Flat(), priors.Beta()))
    points = density.dispersed_points(40, 4.0, np.random.default_rng(4))
    mean = density.named(np.array(points))["alpha1"].mean(axis=1)
    np.testing.assert_allclose(mean[:2], 0.5)
    assert np.ptp(mean[2::2]) < 0.2
    assert np.ptp(mean[3::2]) > 0.6
