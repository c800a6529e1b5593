"""The density of the active points, and the prior of the others."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.active_points import ActivePoints, NotSeparateError
from bsvdd.inference.log_density import LogDensity
from bsvdd.models import Gram, bsvdd, bsvdd_m
from scipy import stats

from bsvdd import kernels, priors

RNG = np.random.default_rng(60)
GRAM = Gram.from_rows(kernels.RBF(1.0), RNG.normal(size=(12, 2)))
GRAM_M = Gram.from_rows(kernels.RBF(1.0), RNG.normal(size=(12, 2)), RNG.normal(size=(4, 2)))
ACTIVE = np.array([0, 3, 7])


def log_likelihood(w, gram, points, scale):
    """Of weights w of some of the points."""
    K, r = gram.K[np.ix_(points, points)], gram.r[points]
    return -scale / 2 * (gram.T - 2 * w @ r + gram.n0 * w @ K @ w)


def softmax(x):
    return np.exp(x) / np.exp(x).sum()


def test_bsvdd_of_few_points():
    prior = priors.StandardizedRowSum(sd=0.7)
    part = ActivePoints.of(LogDensity(bsvdd.build(GRAM, prior, 2.0)), ACTIVE)
    assert part.points == 3
    np.testing.assert_array_equal(part.parameters, ACTIVE)
    x = RNG.normal(size=3)
    log_prior = stats.norm(prior.mean(GRAM)[ACTIVE], 0.7).logpdf(x).sum()
    expected = log_prior + log_likelihood(softmax(x), GRAM, ACTIVE, 2.0)
    for function in (part.density.logp_and_gradient, part.density.machine_code()):
        assert function(x)[0] == pytest.approx(expected)
    assert part.density.logp(x[None]) == pytest.approx(expected)
    assert part.density.products == pytest.approx(3 * (3 / 12) ** 2)


def test_bsvdd_m_keeps_all_minority_points():
    model = bsvdd_m.build(GRAM_M, priors.Flat(), priors.Beta(2, 3), 2.0)
    part = ActivePoints.of(LogDensity(model), np.array([0, 3, 7, 13]))
    assert part.points == 7
    np.testing.assert_array_equal(part.parameters, [*ACTIVE, 12, 13, 14, 15])
    x = RNG.normal(size=(5, 7))
    points = np.array([*ACTIVE, 12, 13, 14, 15])
    smaller = Gram(
        kernel=GRAM_M.kernel,
        points=GRAM_M.points[points],
        K=GRAM_M.K[np.ix_(points, points)],
        r=GRAM_M.r[points],
        T=GRAM_M.T,
        n0=GRAM_M.n0,
        n1=4,
    )
    whole = LogDensity(bsvdd_m.build(smaller, priors.Flat(), priors.Beta(2, 3), 2.0))
    np.testing.assert_allclose(part.density.logp(x), whole.logp(x), rtol=1e-12)


def remote(gram, name, dims):
    """A prior that leaves no weight to the other points."""
    mean = pm.Data(f"{name}_mean", np.where(np.isin(range(12), ACTIVE), 0.0, -40.0), dims=dims)
    return pm.Normal(name, mean, pm.Data(f"{name}_sd", 2.0), dims=dims)


def test_the_other_parameters_have_their_prior():
    density = LogDensity(bsvdd.build(GRAM, remote))
    part = ActivePoints.of(density, ACTIVE)
    active = RNG.normal(size=(4000, 3))
    x, logp = part.completed(active, RNG)
    np.testing.assert_array_equal(x[:, ACTIVE], active)
    others = np.delete(x, ACTIVE, axis=1)
    assert stats.kstest((others.ravel() + 40.0) / 2.0, "norm").pvalue > 1e-4
    gap = density.logp(x) - logp  # the weights of the others are negligible
    assert np.ptp(gap) < 1e-9


def test_points_with_weight_that_are_left_out():
    """The quantities are those of all points, or there are none."""
    density = LogDensity(bsvdd.build(GRAM, remote))
    named = ActivePoints.of(density, ACTIVE).named(RNG.normal(size=(20, 3)), RNG)
    assert named["w"].shape == (20, 12)
    np.testing.assert_allclose(named["w"][:, ACTIVE].sum(axis=1), 1.0)
    without_one = ActivePoints.of(density, ACTIVE[:2])
    with pytest.raises(NotSeparateError):
        without_one.named(RNG.normal(size=(20, 2)), RNG)


def test_log_densities_that_are_no_number_are_not_separate():
    part = ActivePoints.of(LogDensity(bsvdd.build(GRAM, remote)), ACTIVE)
    x = RNG.normal(size=(20, 3))
    x[4] = np.nan
    with pytest.raises(NotSeparateError):
        part.named(x, RNG)


def with_a_hyperparameter(gram, name, dims):
    """One number for all points, which is listed before the variable of the points."""
    factor = pm.LogNormal(f"{name}_factor", 0.0, 0.3, dims=())
    return pm.Deterministic(name, factor * remote(gram, f"{name}_each", dims), dims=dims)


def test_a_hyperparameter_is_active():
    density = LogDensity(bsvdd.build(GRAM, with_a_hyperparameter))
    part = ActivePoints.of(density, ACTIVE)
    assert part.points == 3
    np.testing.assert_array_equal(part.parameters, [0, *(1 + ACTIVE)])
    x = 0.1 * RNG.normal(size=(5, 4))
    named = part.named(x, RNG)
    np.testing.assert_array_equal(named["beta_each"][:, ACTIVE], x[:, 1:])
    np.testing.assert_allclose(np.log(named["beta_factor"]), x[:, 0])


def test_more_than_half_of_the_points_are_all_points():
    density = LogDensity(bsvdd.build(GRAM, remote))
    assert ActivePoints.of(density, np.arange(6)).points == 6
    assert ActivePoints.of(density, np.arange(7)) is None


def student(gram, name, dims):
    return pm.StudentT(name, nu=4, mu=0.0, sigma=1.0, dims=dims)


def hierarchical(gram, name, dims):
    sd = pm.HalfNormal(f"{name}_sd")
    return pm.Normal(name, 0.0, sd, dims=dims)


def with_a_potential(gram, name, dims):
    value = remote(gram, name, dims)
    pm.Potential("more", -(value.sum() ** 2))
    return value


def with_another_variable_of_all_points(gram, name, dims):
    value = remote(gram, name, dims)
    pm.Normal(f"{name}_more", np.arange(12.0), 1.0, dims=dims)
    return value


def with_another_variable_of_the_points(gram, name, dims):
    tails = pm.StudentT(f"{name}_tails", nu=4, dims=dims)
    return pm.Deterministic(name, remote(gram, f"{name}_each", dims) + tails, dims=dims)


def with_two_parameters_for_each_point(gram, name, dims):
    pm.modelcontext(None).add_coord("part", range(2))
    mean, sd = pm.Data(f"{name}_mean", np.zeros(12), dims=dims), pm.Data(f"{name}_sd", 2.0)
    parts = pm.Normal(f"{name}_parts", mean[:, None], sd, dims=(dims, "part"))
    return pm.Deterministic(name, parts.sum(axis=1), dims=dims)


def with_data_that_say_no_dims(gram, name, dims):
    mean, sd = pm.Data(f"{name}_mean", np.zeros(12)), pm.Data(f"{name}_sd", 2.0)
    return pm.Normal(name, mean, sd, dims=dims)


@pytest.mark.parametrize(
    "prior",
    [
        student,
        hierarchical,
        with_a_potential,
        with_another_variable_of_all_points,
        with_another_variable_of_the_points,
        with_two_parameters_for_each_point,
        with_data_that_say_no_dims,
        priors.Normal(sigma=np.eye(12) + 0.5),
    ],
)
def test_a_prior_that_does_not_separate_the_points(prior):
    assert ActivePoints.of(LogDensity(bsvdd.build(GRAM, prior)), ACTIVE) is None


def test_a_model_of_a_known_structure_has_its_own_points():
    """Log densities share their functions, not the number of points or the data without dims."""
    small, large = (Gram.from_rows(kernels.RBF(1.0), RNG.normal(size=(n, 2))) for n in (12, 17))
    for gram in (small, large, small):
        part = ActivePoints.of(LogDensity(bsvdd.build(gram, priors.Flat())), ACTIVE)
        x = RNG.normal(size=3)
        log_prior = stats.norm(0.0, 1.0).logpdf(x).sum()
        expected = log_prior + log_likelihood(softmax(x), gram, ACTIVE, 1.0)
        assert part.density.logp(x[None]) == pytest.approx(expected)
        assert part.completed(x[None], RNG)[0].shape == (1, gram.n0)
