"""Priors: their means, and what a prior must be and return."""

import re
from types import SimpleNamespace

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference.density import Density
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bsvdd, bsvdd_m
from scipy import stats
from sklearn.svm import OneClassSVM

from bsvdd import kernels, priors

RNG = np.random.default_rng(30)
MAJORITY, MINORITY = RNG.normal(size=(9, 2)), RNG.normal(size=(4, 2))
K = kernels.RBF(0.8)
GRAM = Gram.from_rows(K, MAJORITY, MINORITY)
ROW_SUMS = np.array([sum(K([u], [x])[0, 0] for x in MAJORITY) for u in MAJORITY])


@pytest.mark.parametrize("exponent", [0.3, 0.5, 1.0])
def test_row_sum_is_the_published_mean(exponent):
    mean = priors.RowSum(exponent=exponent).mean(GRAM)
    np.testing.assert_allclose(mean, -(ROW_SUMS**exponent), rtol=1e-12)


def test_standardized_row_sum_has_mean_0_and_sd_1():
    mean = priors.StandardizedRowSum().mean(GRAM)
    np.testing.assert_allclose(mean, -stats.zscore(ROW_SUMS), rtol=1e-10)


def test_equal_row_sums_give_zero():
    circle = np.array([[np.cos(t), np.sin(t)] for t in 2 * np.pi * np.arange(7) / 7])
    mean = priors.StandardizedRowSum().mean(Gram.from_rows(K, circle))
    np.testing.assert_array_equal(mean, np.zeros(7))


def test_flat_is_zero_for_the_majority():
    np.testing.assert_array_equal(priors.Flat().mean(GRAM), np.zeros(9))


def test_negative_row_sums_have_no_power():
    gram = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [-4.0]]))
    with pytest.raises(ValueError, match=r"row 1 of the kernel matrix has the negative sum -2, .*"):
        priors.RowSum(exponent=0.5).mean(gram)
    with pytest.raises(ValueError, match=r"another kernel \(RBF\), exponent=1, or another prior"):
        priors.RowSum(exponent=0.999).mean(gram)


def test_negative_row_sums_are_their_own_first_power():
    """The rows 1, 2, -4 sum to -1, so their linear row sums are -1, -2, 4."""
    gram = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [-4.0]]))
    np.testing.assert_array_equal(priors.RowSum().mean(gram), [1.0, 2.0, -4.0])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: priors.Flat(sd=0), ValueError, "Flat: sd must be positive and finite, got 0"),
        (lambda: priors.RowSum(sd=np.inf), ValueError, "RowSum: sd must be positive and finite"),
        (
            lambda: priors.RowSum(exponent=1.5),
            ValueError,
            r"exponent must lie in \(0, 1\], got 1.5",
        ),
        (lambda: priors.RowSum(exponent=0), ValueError, r"exponent must lie in \(0, 1\], got 0"),
        (lambda: priors.StandardizedRowSum(sd="1"), TypeError, "sd must be a number, got '1'"),
        (lambda: priors.Flat(sd=True), TypeError, "Flat: sd must be a number, got True"),
        (lambda: priors.Beta(-1), ValueError, "Beta: a must be positive and finite, got -1"),
        (lambda: priors.Beta(1, 0), ValueError, "Beta: b must be positive and finite, got 0"),
        (
            lambda: priors.Beta(total=0),
            ValueError,
            "Beta: total must be positive and finite, got 0",
        ),
    ],
)
def test_numbers_of_priors_are_checked(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("total", [None, 0.8])
def test_prior_draws_of_bsvdd_m(total):
    """Weights sum to one, minority weights have the moments of (c/n1) Beta(2, 3)."""
    model = bsvdd_m.build(GRAM, priors.RowSum(2.0), priors.Beta(2, 3, total=total))
    tau, w = pm.draw([model["tau"], model["w"]], 4000, random_seed=1, mode="FAST_COMPILE")
    np.testing.assert_allclose(w.sum(axis=1), 1.0, rtol=1e-12)
    scale = 1.0 if total is None else total / 4
    beta = stats.beta(2, 3)
    np.testing.assert_allclose(-w[:, 9:].mean(axis=0), scale * beta.mean(), rtol=0.05)
    np.testing.assert_allclose(w[:, 9:].std(axis=0), scale * beta.std(), rtol=0.07)
    assert w[:, 9:].max() <= 0
    np.testing.assert_allclose(tau.mean(axis=0), -ROW_SUMS, atol=5 * 2 / np.sqrt(4000))
    np.testing.assert_allclose(tau.std(axis=0), 2.0, rtol=0.07)


def test_a_function_is_a_prior(toy_gram):
    model = bsvdd.build(toy_gram, lambda gram, name, dims: pm.StudentT(name, 4, dims=dims))
    assert [v.name for v in model.free_RVs] == ["beta"]
    assert model.named_vars_to_dims["beta"] == ("point",)


def test_an_object_with_create_variable_is_a_prior(toy_gram):
    prior = SimpleNamespace(create_variable=lambda name: pm.Laplace(name, 0, 1, dims="point"))
    model = bsvdd.build(toy_gram, prior)
    assert model.named_vars_to_dims["beta"] == ("point",)


@pytest.mark.parametrize("wrong", ["flat", 3.0, priors.Flat, [priors.Flat()]], ids=repr)
def test_what_is_no_prior(toy_gram, wrong):
    message = rf"prior of beta: expected a prior such as .*, got {re.escape(repr(wrong))}"
    with pytest.raises(TypeError, match=message):
        bsvdd.build(toy_gram, wrong)


def test_prior_must_return_its_variable(toy_gram):
    for wrong in (
        lambda gram, name, dims: None,
        lambda gram, name, dims: pm.Normal("other", dims=dims),
        lambda gram, name, dims: pm.Normal.dist(shape=8),
    ):
        with pytest.raises(
            TypeError, match="must return the PyMC variable .* under the name 'beta'"
        ):
            bsvdd.build(toy_gram, wrong)


@pytest.mark.parametrize("arguments", [{}, {"shape": 5}, {"shape": (8, 2)}], ids=repr)
def test_prior_must_have_one_value_for_each_point(toy_gram, arguments):
    with pytest.raises(ValueError, match=r"one value for each of the 8 points of 'point' \(pass"):
        bsvdd.build(toy_gram, lambda gram, name, dims: pm.Normal(name, **arguments))


def test_prior_by_shape_instead_of_dims(toy_gram):
    model = bsvdd.build(toy_gram, lambda gram, name, dims: pm.Normal(name, shape=gram.n_points))
    assert model["w"].eval().shape == (8,)


def test_bsvdd_m_without_minority_rows(toy_gram):
    with pytest.raises(ValueError, match=r"there is none \(n1 = 0\); give y with at least one"):
        bsvdd_m.build(toy_gram, priors.Flat(), priors.Beta())


def test_priors_must_be_given():
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'prior'"):
        bsvdd.build(GRAM)
    with pytest.raises(TypeError, match="required positional argument: 'minority_prior'"):
        bsvdd_m.build(GRAM, priors.Flat())


def test_a_second_free_variable_must_say_whose_it_is(toy_gram):
    def prior(scale):
        return lambda gram, name, dims: pm.Normal(name, 0, pm.HalfNormal(scale), dims=dims)

    message = r"prior of beta: .* makes a second free variable, 'scale'; .* name it 'beta_scale'"
    with pytest.raises(ValueError, match=message):
        bsvdd.build(toy_gram, prior("scale"))
    model = bsvdd.build(toy_gram, prior("beta_scale"))
    assert [v.name for v in model.free_RVs] == ["beta_scale", "beta"]


@pytest.mark.parametrize(
    "prior",
    [lambda gram, name, dims: pm.Normal(name, 0, -1.0, dims=dims), preliz.Normal(0, -1)],
    ids=["function", "PreliZ"],
)
def test_a_negative_scale_is_named(toy_gram, prior):
    with pytest.raises(ValueError, match="prior of beta: its parameters must meet sigma > 0"):
        sample(bsvdd.build(toy_gram, prior), "auto", draws=10, tune=10, chains=1)


def test_preliz_is_the_prior_of_pymc(toy_gram):
    x = np.random.default_rng(31).normal(size=8)
    ours = Density.of(bsvdd.build(toy_gram, preliz.StudentT(4, 0.5, 2.0)))
    log_prior = ours.prior.log_prior({"beta": x[None]})["beta"]
    np.testing.assert_allclose(log_prior, stats.t(4, 0.5, 2).logpdf(x).sum(), rtol=1e-12)
    truncated = bsvdd.build(toy_gram, preliz.Truncated(preliz.Normal(0, 1), -1, 1))
    assert Density.of(truncated).size == 8


def test_preliz_without_numbers(toy_gram):
    with pytest.raises(ValueError, match=r"prior of beta: .*lacks .* parameters \(mu, sigma\)"):
        bsvdd.build(toy_gram, preliz.Normal(mu=0))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"type": "RowSum", "exponents": 0.5}, "RowSum: unknown parameter 'exponents'; .* expon"),
        ({"type": "Rowsum"}, "a type, one of StandardizedRowSum, .*RowSum, .*; got {'type': 'Rows"),
        ({"sd": 1.0}, "a prior is described by a dict with a type"),
        ("RowSum", "a prior is described by a dict with a type"),
        ({"type": "Beta", "a": -1}, "Beta: a must be positive and finite, got -1"),
    ],
    ids=str,
)
def test_descriptions_that_are_wrong(given, message):
    with pytest.raises(ValueError, match=message):
        priors.from_dict(given)


def test_a_prior_from_its_description(toy_gram):
    for cls in priors.FAMILIES:
        assert priors.from_dict({"type": cls.__name__}) == cls()
    assert priors.from_dict({"type": "Beta", "a": 2, "total": 1}) == priors.Beta(2, total=1)
    with pytest.raises(TypeError, match="see priors.from_dict"):
        bsvdd.build(toy_gram, {"type": "Flat"})


def test_gaussian_process_takes_its_covariance_from_a_kernel():
    wide = kernels.RBF(3.0)
    for kernel, C in ((None, K(MAJORITY)), (wide, wide(MAJORITY))):
        prior = priors.GaussianProcess(sd=2.0, kernel=kernel, nugget=0.1)
        np.testing.assert_allclose(prior.covariance(GRAM), 4 * (C + 0.1 * np.eye(9)), rtol=1e-12)
        np.testing.assert_array_equal(prior.mean(GRAM), np.zeros(9))
    named = priors.GaussianProcess(kernel=kernels.RBF("median"))
    expected = kernels.RBF("median").resolve(MAJORITY)(MAJORITY) + 1e-6 * np.eye(9)
    np.testing.assert_allclose(named.covariance(GRAM), expected)
    twice = Gram.from_rows(K, MAJORITY[[0, 0, 1]])  # equal rows: K is singular
    assert np.isfinite(priors.GaussianProcess().precision(twice)).all()


def test_gaussian_process_needs_rows_for_a_kernel_of_its_own():
    gram = Gram.from_rows(kernels.Precomputed(), kernels.Precomputed().training_rows(K(MAJORITY)))
    priors.GaussianProcess().covariance(gram)
    with pytest.raises(ValueError, match="GaussianProcess: kernel needs the rows"):
        priors.GaussianProcess(kernel=K).covariance(gram)
    with pytest.raises(ValueError, match="GaussianProcess: kernel must be a function of rows"):
        priors.GaussianProcess(kernel=kernels.Precomputed())
    with pytest.raises(ValueError, match="GaussianProcess: nugget must be positive and finite"):
        priors.GaussianProcess(nugget=0)


def test_inverse_row_sums_are_powers_of_the_row_sums():
    r = ROW_SUMS
    for power in (0.0, 0.5, 1.0):
        weights = np.exp(priors.InverseRowSum(power=power).mean(GRAM))
        np.testing.assert_allclose(weights / weights.sum(), r**-power / (r**-power).sum())
        assert np.log(weights).mean() == pytest.approx(0.0, abs=1e-12)
    negative = Gram.from_rows(kernels.Linear(), np.array([[1.0], [-3.0], [2.5]]))
    with pytest.raises(ValueError, match="only a positive sum has a logarithm"):
        priors.InverseRowSum().mean(negative)
    for power in (-0.1, 1.1):
        with pytest.raises(ValueError, match="power must lie in"):
            priors.InverseRowSum(power=power)


def test_svdd_prior_has_the_weights_of_svdd_as_median():
    rows = np.random.default_rng(80).normal(size=(40, 2))
    gram = Gram.from_rows(kernels.RBF(1.0), rows)
    machine = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.2, tol=1e-10).fit(rows)
    alpha = np.zeros(40)
    alpha[machine.support_] = machine.dual_coef_[0] / machine.dual_coef_.sum()
    found = np.exp(priors.SVDDWeights(outlier_fraction=0.2, floor=0.05).mean(gram))
    expected = alpha + 0.05 / 40
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=1e-6)
    with_minority = Gram.from_rows(kernels.RBF(1.0), rows[:30], rows[30:])
    alone = Gram.from_rows(kernels.RBF(1.0), rows[:30])
    np.testing.assert_allclose(
        priors.SVDDWeights().mean(with_minority), priors.SVDDWeights().mean(alone), atol=1e-9
    )
    for changes in ({"outlier_fraction": 0.0}, {"floor": 0.0}, {"floor": 2.0}):
        with pytest.raises(ValueError, match="must lie in"):
            priors.SVDDWeights(**changes)
