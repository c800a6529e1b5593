"""BDD against its closed form and its optimality conditions."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from bsvdd import BDD, BDDM, Cutoff, kernels, load, priors

SCALE = 2.5  # lambda
PRIOR = priors.RowSum(sd=0.7, exponent=0.5)


@pytest.fixture(scope="module")
def truth(toy_gram):
    """Mean and covariance of the posterior, by inverses."""
    precision = SCALE * toy_gram.n0 * toy_gram.K + np.eye(8) / 0.7**2
    covariance = np.linalg.inv(precision)
    m = -np.sqrt(toy_gram.K.sum(axis=1))
    return covariance @ (SCALE * toy_gram.r + m / 0.7**2), covariance


def test_map_solves_the_linear_system(toy_gram):
    mean, upper = bdd.posterior(toy_gram, PRIOR, SCALE)
    left = SCALE * toy_gram.n0 * toy_gram.K @ mean + mean / 0.7**2
    right = SCALE * toy_gram.r - np.sqrt(toy_gram.K.sum(axis=1)) / 0.7**2
    np.testing.assert_allclose(left, right, rtol=1e-8)
    np.testing.assert_allclose(upper.T @ upper, SCALE * 8 * toy_gram.K + np.eye(8) / 0.49)


def test_map_is_the_mode_of_prior_and_potential(toy_gram):
    """By a general optimiser on the log density as it is defined, not on its algebra."""
    m = -np.sqrt(toy_gram.K.sum(axis=1))

    def minus_log_density(a):
        d2 = np.diag(toy_gram.K) - 2 * a @ toy_gram.K + a @ toy_gram.K @ a
        return SCALE / 2 * d2.sum() + ((a - m) ** 2).sum() / (2 * 0.49)

    found = minimize(minus_log_density, np.zeros(8), tol=1e-10)
    np.testing.assert_allclose(bdd.posterior(toy_gram, PRIOR, SCALE)[0], found.x, atol=1e-4)


def test_sum_of_the_weights_is_free(toy_gram):
    mean, _ = bdd.posterior(toy_gram, priors.Flat())
    assert abs(mean.sum() - 1) > 1e-3


def test_exact_draws_have_the_moments(toy_gram, truth, worst_z):
    mean, covariance = truth
    rng = np.random.default_rng(1)
    draws = bdd.draw(*bdd.posterior(toy_gram, PRIOR, SCALE), 8000, rng).reshape(4, 2000, 8)
    error = draws - mean
    assert worst_z(draws, mean) < 4.5
    assert worst_z(error[..., :, None] * error[..., None, :], covariance) < 4.5


def test_nuts_draws_have_the_moments(toy_gram, truth, worst_z):
    mean, covariance = truth
    model = bdd.build(toy_gram, PRIOR, SCALE)
    tree = sample(model, "nuts", draws=2000, tune=500, chains=2, seed=2)
    draws = tree["posterior"]["w"].values
    error = draws - mean
    assert worst_z(draws, mean) < 4.5
    assert worst_z(error[..., :, None] * error[..., None, :], covariance) < 4.5


@pytest.mark.parametrize("scale", [0.1, 1.0, 25.0])
@pytest.mark.parametrize("prior", [PRIOR, priors.StandardizedRowSum(0.5)], ids=repr)
def test_simplex_mode_meets_its_optimality_conditions(prior, scale):
    """Gradient of minus the log density: one level on the support, not smaller off it."""
    rows = np.random.default_rng(3).normal(size=(30, 2))
    gram = Gram.from_rows(kernels.RBF(0.9), rows)
    w = bdd.simplex_map(gram, prior, scale)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert w.min() >= 0
    gradient = scale * (30 * gram.K @ w - gram.r) + (w - prior.mean(gram)) / prior.sd**2
    tolerance = 1e-7 * np.abs(scale * 30 * gram.K).max() + 1e-7 / prior.sd**2
    support = w > 1e-8
    level = gradient[support].mean()
    np.testing.assert_allclose(gradient[support], level, atol=tolerance)
    assert (gradient[~support] >= level - tolerance).all()
    assert support.sum() > 0


def test_closed_form_needs_a_normal_prior(toy_gram):
    def prior(gram, name, dims):
        raise AssertionError("the closed form makes no variable")

    message = r"needs a normal prior \(.*\), got .*; use draws with sampler='nuts', simplex=False$"
    for closed_form in (bdd.posterior, bdd.natural_parameters, bdd.simplex_map):
        with pytest.raises(TypeError, match=message):
            closed_form(toy_gram, prior)
    with pytest.raises(TypeError, match=message):
        bdd.leave_one_out(toy_gram, prior, 1.0, np.zeros((10, 8)), np.random.default_rng(0))


def test_a_prior_must_be_given(toy_gram):
    for function in (bdd.build, bdd.posterior, bdd.natural_parameters, bdd.simplex_map):
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'prior'"):
            function(toy_gram)


def test_a_precision_that_is_not_positive_definite_is_said_to_be_so():
    """Linear kernel far from the origin: lambda n0 K is 1e17 and Sigma^-1 is lost in it."""
    rows = np.random.default_rng(4).normal(size=(30, 2)) + 1e3
    gram = Gram.from_rows(kernels.Linear(), rows)
    message = "precision of BDD is not positive definite in double precision: .* use a smaller lik"
    with pytest.raises(ValueError, match=message):
        bdd.posterior(gram, priors.Flat(), 1e9)
    with pytest.raises(ValueError, match=message):
        bdd.leave_one_out(gram, priors.Flat(), 1e9, np.zeros((10, 30)), np.random.default_rng(0))


WIDE = 10.0 ** np.arange(2, 9)


@pytest.mark.parametrize("n", [50, 200])
def test_a_prior_so_wide_that_rounding_decides_is_refused(n):
    """The linear kernel has p directions, in which the spread tr(K Sigma) is known."""
    rows = np.random.default_rng(0).normal(size=(n, 2))
    gram = Gram.from_rows(kernels.Linear(), rows)
    s = np.linalg.svd(rows, compute_uv=False) ** 2
    refused = 0
    for sd in [*WIDE, 1.5e6, 2e6]:
        try:
            _, upper = bdd.posterior(gram, priors.Flat(sd=sd))
        except ValueError as error:
            refused += 1
            assert "use a smaller likelihood_scale or prior sd" in str(error)
            continue
        spread = np.sum(_sigma(upper) * gram.K)
        assert spread == pytest.approx(np.sum(s / (n * s + sd**-2)), rel=0.02)
    assert 4 <= refused <= 7


def _sigma(upper):
    root = solve_triangular(upper, np.eye(len(upper)))
    return root @ root.T


def test_rows_and_prior_of_an_unlucky_user_are_refused_for_both_models():
    """Before, the mean d^2 of BDD was off by a third of its spread, without a word."""
    rows = np.random.default_rng(0).normal(size=(100, 2))
    wide = dict(kernel=kernels.Linear(), prior=priors.Flat(sd=1e6))
    y = np.repeat([0, 1], [95, 5])
    for est, name in ((BDD(**wide), "BDD"), (BDDM(**wide), "BDD-M")):
        with pytest.raises(ValueError, match=f"posterior of {name} has too few digits: rounding"):
            est.fit(rows, y)


ROWS = np.random.default_rng(5).normal(size=(12, 2)) * [1.0, 1.6] + 0.4
DRAWS = 40_000


@pytest.mark.parametrize("scale", [1.0, 3.5])
@pytest.mark.parametrize("sd", [0.6, 2.0])
@pytest.mark.parametrize(
    "kernel", [kernels.RBF(1.1), kernels.Polynomial(2, gamma=0.5), kernels.Linear()], ids=repr
)
def test_left_out_kernel_sum_is_that_of_the_posterior_of_the_other_rows(kernel, sd, scale):
    """Mean and variance of the draws, for each row a posterior that never saw it."""
    prior = priors.Flat(sd)  # whose mean does not change when a row goes
    gram = Gram.from_rows(kernel, ROWS)
    inside = bdd.draw(*bdd.posterior(gram, prior, scale), DRAWS, np.random.default_rng(7))
    found = bdd.leave_one_out(gram, prior, scale, inside, np.random.default_rng(6))
    assert found.shape == (DRAWS, 12)
    moved = []
    for j in range(12):
        rest = np.arange(12) != j
        mean, upper = bdd.posterior(Gram.from_rows(kernel, ROWS[rest]), prior, scale)
        k, covariance = kernel(ROWS[rest], ROWS[[j]])[:, 0], np.linalg.inv(upper.T @ upper)
        assert z_of(found[:, j], mean @ k) < 4.5
        assert z_of((found[:, j] - mean @ k) ** 2, k @ covariance @ k) < 4.5
        moved.append(z_of(inside @ gram.K[j], mean @ k))
    assert max(moved) > 15  # leaving a row out makes a difference


def test_left_out_kernel_sum_keeps_the_prior_mean_of_all_rows():
    kernel, prior, scale = kernels.RBF(1.1), priors.RowSum(sd=0.7, exponent=0.5), 2.5
    gram = Gram.from_rows(kernel, ROWS)
    w = bdd.draw(*bdd.posterior(gram, prior, scale), DRAWS, np.random.default_rng(9))
    found = bdd.leave_one_out(gram, prior, scale, w, np.random.default_rng(8))
    for j in (0, 5, 11):
        rest = np.arange(12) != j
        K, m = gram.K[np.ix_(rest, rest)], prior.mean(gram)[rest]
        covariance = np.linalg.inv(scale * 11 * K + np.eye(11) / 0.49)
        mean = covariance @ (scale * K.sum(axis=1) + m / 0.49)
        k = gram.K[rest, j]
        assert z_of(found[:, j], mean @ k) < 4.5
        assert z_of((found[:, j] - mean @ k) ** 2, k @ covariance @ k) < 4.5


A = np.random.default_rng(10).normal(size=(12, 12))
CORRELATED = priors.Normal(
    sd=0.8, m=np.random.default_rng(11).normal(size=12), sigma=A @ A.T / 12 + 0.1 * np.eye(12)
)


def without(gram, j):
    """The statistics of all rows but one, which know the place of each in a prior."""
    rest = np.arange(12) != j
    others = Gram.from_rows(gram.kernel, gram.points[rest])
    return replace(others, index_in_full_fit=np.flatnonzero(rest)), rest


@pytest.mark.parametrize("scale", [0.05, 3.5])
@pytest.mark.parametrize("prior", [CORRELATED, priors.Normal(m=CORRELATED.m)], ids=["full", "one"])
def test_left_out_posterior_is_that_of_a_refit(prior, scale):
    """Mean and covariance of all rows at once against a fit without each."""
    gram = Gram.from_rows(kernels.RBF(1.1), ROWS)
    means, covariances = bdd.left_out(gram, prior, scale)
    ones = (np.repeat(np.eye(12)[:, [k]], 12, axis=1) for k in range(12))
    of_each = np.stack([covariances.times(Y) for Y in ones], axis=1)
    for j in range(12):
        others, rest = without(gram, j)
        mean, upper = bdd.posterior(others, prior, scale)
        np.testing.assert_allclose(means[rest, j], mean, rtol=1e-8, atol=1e-9)
        expected = np.linalg.inv(upper.T @ upper)
        S = of_each[:, :, j]
        np.testing.assert_allclose(S[np.ix_(rest, rest)], expected, rtol=1e-8, atol=1e-9)
        assert abs(means[j, j]) < 1e-9
        assert np.abs(S[j]).max() < 1e-9
        if prior is CORRELATED:  # given alpha_j = 0, which is another prior of the others
            P = prior.precision(gram)[np.ix_(rest, rest)]
            given_zero = np.linalg.inv(scale * 11 * others.K + P)
            assert np.abs(given_zero - expected).max() > 0.01 * np.abs(expected).max()


def test_left_out_kernel_sum_with_a_correlated_prior():
    """Moments of a normal number, from the refit's own mean and covariance."""
    gram, scale = Gram.from_rows(kernels.RBF(1.1), ROWS), 0.4
    w = bdd.draw(*bdd.posterior(gram, CORRELATED, scale), DRAWS, np.random.default_rng(12))
    found = bdd.leave_one_out(gram, CORRELATED, scale, w, np.random.default_rng(13))
    for j in range(12):
        others, rest = without(gram, j)
        mean, upper = bdd.posterior(others, CORRELATED, scale)
        k, covariance = gram.K[rest, j], np.linalg.inv(upper.T @ upper)
        assert z_of(found[:, j], mean @ k) < 4.5
        assert z_of((found[:, j] - mean @ k) ** 2, k @ covariance @ k) < 4.5


def test_left_out_draws_move_as_the_draws_of_the_fit():
    """Of many rows, one that goes hardly changes the noise of a draw."""
    rows = np.random.default_rng(16).normal(size=(60, 2))
    gram = Gram.from_rows(kernels.RBF(1.1), rows)
    w = bdd.draw(*bdd.posterior(gram, priors.Flat()), 500, np.random.default_rng(14))
    found = bdd.leave_one_out(gram, priors.Flat(), 1.0, w, np.random.default_rng(15))
    inside = w @ gram.K
    correlations = [np.corrcoef(found[:, j], inside[:, j])[0, 1] for j in range(60)]
    assert np.median(correlations) > 0.9
    other = bdd.draw(*bdd.posterior(gram, priors.Flat()), 500, np.random.default_rng(17)) @ gram.K
    assert abs(np.corrcoef(found[:, 0], other[:, 0])[0, 1]) < 0.2


def z_of(draws, other):
    """Difference of the mean of independent draws from other draws or from a number."""
    other = np.atleast_1d(other)
    variance = draws.var() / len(draws) + other.var() / len(other)
    return abs(draws.mean() - other.mean()) / np.sqrt(variance)


def test_the_likelihood_counts_once_unless_asked_otherwise(toy_gram):
    prior = priors.Flat()
    for function in (bdd.natural_parameters, bdd.posterior, bdd.simplex_map):
        for a, b in zip(function(toy_gram, prior), function(toy_gram, prior, 1.0), strict=True):
            np.testing.assert_array_equal(a, b)
    once, twice = (bdd.left_out(toy_gram, prior, *s)[0] for s in ((), (1.0,)))
    np.testing.assert_array_equal(once, twice)


# the mode as an estimator, and its rule

# negative weights make some normal rows more remote than any far row
FAR = pytest.mark.filterwarnings("ignore:the cutoff, .* exceeds the distance of rows far")


@FAR
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_the_estimator_by_its_mode_is_the_solved_system(scale):
    """Weights, distances and the rule d <= d_(c), all from the kernel matrix by hand."""
    X = np.random.default_rng(20).normal(size=(40, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / (2 * 0.8**2))
    m = -np.sqrt(K.sum(axis=1))
    w = np.linalg.solve(scale * 40 * K + np.eye(40) / 0.7**2, scale * K.sum(axis=1) + m / 0.7**2)
    d = np.sqrt(1 - 2 * K @ w + w @ K @ w)

    policy = Cutoff("rank", cv="train", rank=31)
    est = BDD(
        kernel=kernels.RBF(0.8), prior=PRIOR, likelihood_scale=scale, sampler="map", cutoff=policy
    ).fit(X)
    np.testing.assert_allclose(est.idata_["posterior"]["w"].values[0, 0], w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(est.map_weights_, w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(est.idata_["distance"]["d"].values[0, 0], d, rtol=1e-7)
    assert est.cutoff_ == pytest.approx(np.sort(d)[30], rel=1e-7)
    np.testing.assert_array_equal(est.predict(X) == 1, d <= np.sort(d)[30] * (1 + 1e-9))
    assert set(est.probability_normal(X)) == {0.0, 1.0}


@FAR
def test_the_mode_is_the_mean_of_the_draws():
    X = np.random.default_rng(21).normal(size=(30, 2))
    drawn = BDD(prior=PRIOR, draws=4000).fit(X)
    error = drawn.idata_["posterior"]["w"].mean(("chain", "draw")).values - drawn.map_weights_
    sd = drawn.idata_["posterior"]["w"].std(("chain", "draw")).values / np.sqrt(8000)
    assert np.abs(error / sd).max() < 4.5


def test_a_left_out_row_of_the_mode_never_saw_it():
    """By a refit to the other rows, with a prior that has the same mean for them."""
    X, scale = np.random.default_rng(22).normal(size=(15, 2)), 1.5
    prior = priors.Flat(sd=0.6)
    est = BDD(kernel=kernels.RBF(1.0), prior=prior, likelihood_scale=scale, sampler="map").fit(X)
    norm = float(est.map_weights_ @ est.gram_.K @ est.map_weights_)
    for j in range(15):
        rest = np.arange(15) != j
        other = BDD(
            kernel=kernels.RBF(1.0), prior=prior, likelihood_scale=scale, sampler="map", cutoff=1.0
        ).fit(X[rest])
        d2 = 1 - 2 * est.gram_.K[j, rest] @ other.map_weights_ + norm
        left_out = est.idata_["decision"]["left_out"].values[j]
        assert left_out**2 == pytest.approx(d2, rel=1e-7)


def test_a_mode_has_no_posterior_and_needs_a_normal_prior(tmp_path):
    X = np.random.default_rng(23).normal(size=(20, 2))
    est = BDD(sampler="map").fit(X)
    with pytest.raises(ValueError, match="one estimate of the weights and no posterior"):
        est.prior_health()
    est.save(tmp_path / "mode.nc")
    again = load(tmp_path / "mode.nc")
    np.testing.assert_array_equal(again.score_samples(X), est.score_samples(X))
    with pytest.raises(TypeError, match="needs a normal prior"):
        BDD(sampler="map", prior=lambda gram, name, dims: None, cutoff=1.0).fit(X)


def test_a_rank_out_of_range_is_said_before_any_kernel_value():
    X = np.random.default_rng(24).normal(size=(20, 2))
    with pytest.raises(ValueError, match="rank=21 is out of range: there are 20 majority rows"):
        BDD(sampler="map", cutoff=Cutoff("rank", cv="train", rank=21)).fit(X)
