"""BDD against its closed form, its optimality conditions and refits without each row."""

from dataclasses import replace

import numpy as np
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd
from bsvdd.models.bdd import NormalPosterior
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from bsvdd import BDD, BDDM, Cutoff, kernels, load, priors

from .helpers import moments_z, rbf, squared_distances, z_of, z_of_moments

SCALE = 2.5  # lambda
PRIOR = priors.RowSum(sd=0.7, exponent=0.5)


@pytest.fixture(scope="module")
def truth(toy_gram):
    """Mean and covariance of the posterior, by inverses."""
    precision = SCALE * toy_gram.n0 * toy_gram.K + np.eye(8) / 0.7**2
    covariance = np.linalg.inv(precision)
    m = -np.sqrt(toy_gram.K.sum(axis=1))
    return covariance @ (SCALE * toy_gram.r + m / 0.7**2), covariance


def test_posterior_is_normal_with_the_mode_of_prior_and_potential(toy_gram, truth):
    """Also by a general optimiser on the log density as it is defined, not on its algebra."""
    form = NormalPosterior(toy_gram, PRIOR, SCALE)
    mean, upper = form.mean, form.upper
    np.testing.assert_allclose(mean, truth[0], rtol=1e-8)
    np.testing.assert_allclose(upper.T @ upper, SCALE * 8 * toy_gram.K + np.eye(8) / 0.49)
    m = -np.sqrt(toy_gram.K.sum(axis=1))

    def minus_log_density(a):
        d2 = np.diag(toy_gram.K) - 2 * a @ toy_gram.K + a @ toy_gram.K @ a
        return SCALE / 2 * d2.sum() + ((a - m) ** 2).sum() / (2 * 0.49)

    found = minimize(minus_log_density, np.zeros(8), tol=1e-10)
    np.testing.assert_allclose(mean, found.x, atol=1e-4)
    free = NormalPosterior(toy_gram, priors.Flat()).mean
    assert abs(free.sum() - 1) > 1e-3


@pytest.mark.parametrize("sampler", ["exact", "nuts"])
def test_draws_have_the_moments(toy_gram, truth, worst_z, sampler):
    if sampler == "exact":
        form = NormalPosterior(toy_gram, PRIOR, SCALE)
        draws = form.draw(2000, 0, 4, np.random.default_rng(1))["w"]
    else:
        model = bdd.build(toy_gram, PRIOR, SCALE)
        tree = sample(model, "nuts", draws=2000, tune=500, chains=2, seed=2)
        draws = tree["posterior"]["w"].values
    assert moments_z(worst_z, draws, *truth) < 4.5


@pytest.mark.parametrize("scale", [0.1, 1.0, 25.0])
@pytest.mark.parametrize("prior", [PRIOR, priors.StandardizedRowSum(0.5)], ids=repr)
def test_simplex_mode_meets_its_optimality_conditions(prior, scale):
    """Gradient of minus the log density: one level on the support, not smaller off it."""
    rows = np.random.default_rng(3).normal(size=(30, 2))
    gram = Gram.from_rows(kernels.RBF(0.9), rows)
    w = NormalPosterior(gram, prior, scale).simplex_mode()
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert w.min() >= 0
    gradient = scale * (30 * gram.K @ w - gram.r) + (w - prior.mean(gram)) / prior.sd**2
    tolerance = 1e-7 * np.abs(scale * 30 * gram.K).max() + 1e-7 / prior.sd**2
    support = w > 1e-8
    assert support.any()
    level = gradient[support].mean()
    np.testing.assert_allclose(gradient[support], level, atol=tolerance)
    assert (gradient[~support] >= level - tolerance).all()


def test_closed_form_needs_a_normal_prior(toy_gram):
    def prior(gram, name, dims):
        raise AssertionError("the closed form makes no variable")

    message = r"needs a normal prior \(.*\), got .*; use draws with sampler='nuts', simplex=False$"
    with pytest.raises(TypeError, match=message):
        NormalPosterior(toy_gram, prior)


def test_a_precision_that_is_not_positive_definite_is_said_to_be_so():
    """Linear kernel far from the origin: lambda n0 K is 1e17 and Sigma^-1 is lost in it."""
    rows = np.random.default_rng(4).normal(size=(30, 2)) + 1e3
    gram = Gram.from_rows(kernels.Linear(), rows)
    message = "precision of BDD is not positive definite in double precision: .* use a smaller lik"
    form = NormalPosterior(gram, priors.Flat(), 1e9)
    for closed_form in (lambda: form.mean, form.left_out):
        with pytest.raises(ValueError, match=message):
            closed_form()


@pytest.mark.parametrize("n", [50, 200])
def test_a_prior_so_wide_that_rounding_decides_is_refused(n):
    """The linear kernel has p directions, in which the spread tr(K Sigma) is known."""
    rows = np.random.default_rng(0).normal(size=(n, 2))
    gram = Gram.from_rows(kernels.Linear(), rows)
    s = np.linalg.svd(rows, compute_uv=False) ** 2
    refused = 0
    for sd in [*10.0 ** np.arange(2, 9), 1.5e6, 2e6]:
        try:
            upper = NormalPosterior(gram, priors.Flat(sd=sd)).upper
        except ValueError as error:
            refused += 1
            assert "use a smaller likelihood_scale or prior sd" in str(error)
            continue
        root = solve_triangular(upper, np.eye(n))
        spread = np.sum(root @ root.T * gram.K)
        assert spread == pytest.approx(np.sum(s / (n * s + sd**-2)), rel=0.02)
    assert 4 <= refused <= 7


def test_rows_and_prior_of_an_unlucky_user_are_refused_for_both_models():
    rows = np.random.default_rng(0).normal(size=(100, 2))
    wide = dict(kernel=kernels.Linear(), prior=priors.Flat(sd=1e6))
    for est, name in ((BDD(**wide), "BDD"), (BDDM(**wide), "BDD-M")):
        with pytest.raises(ValueError, match=f"posterior of {name} has too few digits: rounding"):
            est.fit(rows, np.repeat([0, 1], [95, 5]))


# without each row

ROWS = np.random.default_rng(5).normal(size=(12, 2)) * [1.0, 1.6] + 0.4
DRAWS = 40_000
A = np.random.default_rng(10).normal(size=(12, 12))
CORRELATED = priors.Normal(
    sd=0.8, m=np.random.default_rng(11).normal(size=12), sigma=A @ A.T / 12 + 0.1 * np.eye(12)
)
LEFT_OUT = [
    (kernels.RBF(1.1), priors.Flat(0.6), 1.0),
    (kernels.RBF(1.1), priors.Flat(2.0), 3.5),
    (kernels.Polynomial(2, gamma=0.5), priors.Flat(0.6), 3.5),
    (kernels.Polynomial(2, gamma=0.5), priors.Flat(2.0), 1.0),
    (kernels.Linear(), priors.Flat(0.6), 1.0),
    (kernels.Linear(), priors.Flat(2.0), 3.5),
    (kernels.RBF(1.1), PRIOR, 2.5),  # whose mean is that of all rows
    (kernels.RBF(1.1), priors.Normal(m=CORRELATED.m), 0.05),
    (kernels.RBF(1.1), CORRELATED, 0.05),
    (kernels.RBF(1.1), CORRELATED, 0.4),
    (kernels.RBF(1.1), CORRELATED, 3.5),
]


def refitted(gram, prior, scale):
    """Yield, for each row, which are the others, and mean and covariance of their own posterior.

    The prior has the mean and the covariance that it has with all rows.
    """
    prior = priors.Normal(m=prior.mean(gram), sigma=prior.covariance(gram))
    for j in range(12):
        rest = np.arange(12) != j
        others = Gram.from_rows(gram.kernel, gram.points[rest])
        others = replace(others, index_in_full_fit=np.flatnonzero(rest))
        form = NormalPosterior(others, prior, scale)
        yield rest, form.mean, np.linalg.inv(form.upper.T @ form.upper)


@pytest.mark.parametrize(("kernel", "prior", "scale"), LEFT_OUT, ids=repr)
def test_left_out_posterior_is_that_of_a_refit(kernel, prior, scale):
    """Mean and covariance of all rows at once, and moments of the draws of kernel sums."""
    gram = Gram.from_rows(kernel, ROWS)
    form = NormalPosterior(gram, prior, scale)
    means, covariances = form.left_out()
    ones = (np.repeat(np.eye(12)[:, [k]], 12, axis=1) for k in range(12))
    of_each = np.stack([covariances.times(Y) for Y in ones], axis=1)
    inside = form.draw(DRAWS, 0, 1, np.random.default_rng(7))["w"][0]
    found, _ = form.leave_one_out(inside, np.random.default_rng(6))
    assert found.shape == (DRAWS, 12)
    moved = []
    for j, (rest, mean, covariance) in enumerate(refitted(gram, prior, scale)):
        np.testing.assert_allclose(means[rest, j], mean, rtol=1e-8, atol=1e-9)
        S = of_each[:, :, j]
        np.testing.assert_allclose(S[np.ix_(rest, rest)], covariance, rtol=1e-8, atol=1e-9)
        assert abs(means[j, j]) < 1e-9
        assert np.abs(S[j]).max() < 1e-9
        k = gram.K[rest, j]
        assert z_of_moments(found[:, j], mean @ k, k @ covariance @ k) < 4.5
        moved.append(z_of(inside @ gram.K[j], mean @ k))
        if prior is CORRELATED:  # given alpha_j = 0, which is another prior of the others
            P = prior.precision(gram)[np.ix_(rest, rest)]
            given_zero = np.linalg.inv(scale * 11 * gram.K[np.ix_(rest, rest)] + P)
            assert np.abs(given_zero - covariance).max() > 0.01 * np.abs(covariance).max()
    assert max(moved) > 15  # leaving a row out makes a difference


def test_left_out_draws_move_as_the_draws_of_the_fit():
    """Of many rows, one that goes hardly changes the noise of a draw."""
    gram = Gram.from_rows(kernels.RBF(1.1), np.random.default_rng(16).normal(size=(60, 2)))
    form = NormalPosterior(gram, priors.Flat())
    w, others = (form.draw(500, 0, 1, np.random.default_rng(seed))["w"][0] for seed in (14, 17))
    found, _ = form.leave_one_out(w, np.random.default_rng(15))
    inside = w @ gram.K
    correlations = [np.corrcoef(found[:, j], inside[:, j])[0, 1] for j in range(60)]
    assert np.median(correlations) > 0.9
    assert abs(np.corrcoef(found[:, 0], others @ gram.K[0])[0, 1]) < 0.2


# the mode as an estimator, and its rule

# negative weights make some normal rows more remote than any far row
FAR = pytest.mark.filterwarnings("ignore:the cutoff, .* exceeds the distance of rows far")


@FAR
@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_the_estimator_by_its_mode_is_the_solved_system(scale):
    """Weights, distances and the rule d <= d_(c), all from the kernel matrix by hand."""
    X = np.random.default_rng(20).normal(size=(40, 2))
    K = rbf(X, X, 0.8)
    m = -np.sqrt(K.sum(axis=1))
    w = np.linalg.solve(scale * 40 * K + np.eye(40) / 0.7**2, scale * K.sum(axis=1) + m / 0.7**2)
    d = np.sqrt(squared_distances(w, K, K, 1.0))
    policy = Cutoff("rank", cv="train", rank=31, uncertain=False)
    est = BDD(
        kernel=kernels.RBF(0.8), prior=PRIOR, likelihood_scale=scale, sampler="map", cutoff=policy
    ).fit(X)
    np.testing.assert_allclose(est.idata_["posterior"]["w"].values[0, 0], w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(est.map_weights_, w, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(est.idata_["distance"]["d"].values[0, 0], d, rtol=1e-7)
    assert est.cutoff_ == pytest.approx(np.sort(d)[30], rel=1e-7)
    np.testing.assert_array_equal(est.predict(X) == 1, d <= np.sort(d)[30] * (1 + 1e-9))
    assert set(est.probability_normal(X)) == {0.0, 1.0}


def test_a_left_out_row_of_the_mode_never_saw_it():
    """By a refit to the other rows, with a prior that has the same mean for them."""
    X = np.random.default_rng(22).normal(size=(15, 2))
    arguments = dict(
        kernel=kernels.RBF(1.0), prior=priors.Flat(0.6), likelihood_scale=1.5, sampler="map"
    )
    est = BDD(**arguments).fit(X)
    norm = float(est.map_weights_ @ est.gram_.K @ est.map_weights_)
    for j in range(15):
        rest = np.arange(15) != j
        other = BDD(**arguments, cutoff=1.0).fit(X[rest])
        d2 = 1 - 2 * est.gram_.K[j, rest] @ other.map_weights_ + norm
        left_out = est.idata_["decision"]["left_out"].values[j]
        assert left_out**2 == pytest.approx(d2, rel=1e-7)


def test_what_a_mode_lacks_and_needs(tmp_path):
    X = np.random.default_rng(23).normal(size=(20, 2))
    est = BDD(sampler="map").fit(X)
    with pytest.raises(ValueError, match="one estimate of the weights and no posterior"):
        est.summary()
    est.save(tmp_path / "mode.nc")
    again = load(tmp_path / "mode.nc")
    np.testing.assert_array_equal(again.score_samples(X), est.score_samples(X))
    with pytest.raises(TypeError, match="needs a normal prior"):
        BDD(sampler="map", prior=lambda gram, name, dims: None, cutoff=1.0).fit(X)
    with pytest.raises(ValueError, match="rank=21 is out of range: there are 20 majority rows"):
        BDD(sampler="map", cutoff=Cutoff("rank", cv="train", rank=21)).fit(X)
