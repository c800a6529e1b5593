"""BDD-M against quadrature, a general solver, BDD on the hyperplane, and refits without rows."""

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference.center import deciding_quantile
from bsvdd.models import Gram, bdd_m, bdd_m_posterior
from bsvdd.models.bdd_m_posterior import TruncatedNormalPosterior
from numpy.polynomial.legendre import leggauss
from scipy import stats
from scipy.optimize import OptimizeResult
from scipy.stats import multivariate_normal

from bsvdd import BDDM, Cutoff, kernels, priors
from tests.cases import covariance
from tests.scores import thresholds

from .helpers import moments_z, quadratic_program, rbf, squared_norm, without

RBF = kernels.RBF(1.0)
FLAT, TRUNCATED = priors.Flat(), priors.TruncatedNormal()


def rows(seed, n0, n1):
    """Minority rows lie in the middle of the majority's."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8


# the posterior of two majority rows and one or two minority rows, by quadrature

SCALE = 5.0
SMALL = np.array([[0.0, 0.3], [1.4, 0.0], [0.7, -0.6], [0.5, 0.4]])  # two of each class
Z = np.array([[0.0, 0.3], [0.7, -0.6], [0.4, 0.4], [-1.0, 2.0]])
FULL, PAIR = np.array([[[1.0, 0.4], [0.4, 0.6]], [[1.0, -0.85], [-0.85, 1.2]]])
SMALL_PRIORS = {
    "flat": (priors.Flat(1.5), priors.TruncatedNormal([0.0])),
    "full": (priors.Normal(sd=1.2, m=(0.5, -0.7), sigma=FULL), priors.TruncatedNormal(0.7, 0.35)),
    "correlated": (FLAT, priors.TruncatedNormal([0.3, 0.8], 0.4, PAIR)),
}


def values_of(w, points):
    """The weights, and d of the rows Z."""
    d2 = 1 - 2 * w @ rbf(Z, points, 1.1).T + squared_norm(w, rbf(points, points, 1.1))[..., None]
    return np.concatenate([w, np.sqrt(np.maximum(d2, 0))], axis=-1)


def quadrature(points, m1, S1, m2, S2, scale):
    """Mean and covariance of the values by quadrature over alpha1 and t = alpha0_1.

    alpha0 = (t, 1 + sum alpha1 - t). Given the sum s of (t, u) ~ N(m1, S1), t is normal with the
    regression on s: mean m1_t + cov(t, s)/var(s) (s - E s), variance S_tt - cov(t, s)^2/var(s).
    """
    n1, K = len(m2), rbf(points, points, 1.1)
    x, weight = leggauss({1: 60, 2: 24}[n1])
    alpha1 = np.stack(np.meshgrid(*[(x + 1) / 2] * n1, indexing="ij"), axis=-1).reshape(-1, n1)
    weight = np.prod(np.meshgrid(*[weight] * n1, indexing="ij"), axis=0).reshape(-1, 1)
    t, s = np.linspace(-14.0, 14.0, 401)[None], 1 + alpha1.sum(axis=1, keepdims=True)
    cov_ts, var_s = S1[0, 0] + S1[0, 1], S1.sum()
    mean_t = m1[0] + cov_ts / var_s * (s - m1.sum())
    log_density = multivariate_normal(m2, S2).logpdf(alpha1)[:, None]
    log_density = log_density - (t - mean_t) ** 2 / (2 * (S1[0, 0] - cov_ts**2 / var_s))
    w = np.stack(np.broadcast_arrays(t, s - t, *(-alpha1[:, [i]] for i in range(n1))), axis=-1)
    log_density -= scale / 2 * sum(1 - 2 * w @ K[i] + squared_norm(w, K) for i in (0, 1))
    density = np.exp(log_density - log_density.max()) * weight
    density /= density.sum()
    assert max(density[:, 0].max(), density[:, -1].max()) < 1e-12  # the line is long enough
    values = values_of(w, points).reshape(density.size, -1)
    mean = density.ravel() @ values
    return mean, (values - mean).T @ ((values - mean) * density.reshape(-1, 1))


@pytest.mark.parametrize("name", SMALL_PRIORS)
def test_draws_of_a_small_posterior_by_quadrature(worst_z, name):
    """They can tell the posterior from the prior, and a correlation from none."""
    prior, minority_prior = SMALL_PRIORS[name]
    n1 = 2 if name == "correlated" else 1
    gram = Gram.from_rows(kernels.RBF(1.1), SMALL[:2], SMALL[2 : 2 + n1])
    form = TruncatedNormalPosterior(gram, prior, minority_prior, SCALE)
    drawn = form.draw(4000, 50, 2, np.random.default_rng(3))
    w, alpha1 = drawn["w"], drawn["alpha1"]
    np.testing.assert_array_equal(w[..., 2:], -alpha1)
    assert np.abs(w.sum(axis=2) - 1).max() <= 1e-10 and alpha1.min() >= 0 and alpha1.max() <= 1
    S2 = minority_prior.covariance(gram)
    given = prior.mean(gram), prior.covariance(gram), minority_prior.location(gram), S2
    values = values_of(w, gram.points)
    mean, C = quadrature(gram.points, *given, SCALE)
    assert moments_z(worst_z, values, mean, C) < 4.5
    prior_mean, prior_covariance = quadrature(gram.points, *given, 0.0)
    least, error = 20 if n1 == 1 else 10, values - mean
    square = error[..., :, None] * error[..., None, :]
    assert min(worst_z(values, prior_mean), worst_z(square, prior_covariance)) > least
    independent = quadrature(gram.points, *given[:3], np.diag(np.diag(S2)), SCALE)[1]
    assert n1 == 1 or worst_z(square, independent) > 10


# the mode


def conditional(m1, S1):
    """Mean (as a + g s, of the sum s) and covariance of N(m1, S1) given its sum."""
    g = S1.sum(axis=1) / S1.sum()
    return m1 - g * m1.sum(), g, S1 - np.outer(S1.sum(axis=1), g)


def mode(K, n0, m1, S1, m2, S2, scale):
    """Minimise minus the log density of alpha0 and alpha1 as it is defined, by interior points.

    The normal density on the hyperplane is that of the pseudo-inverse of the singular
    conditional covariance.
    """
    n1 = len(K) - n0
    sign = np.repeat([1.0, -1.0], [n0, n1])
    # likelihood: scale/2 sum_i |phi_i - a|^2 with a = sum_j sign_j x_j phi_j
    P, q = scale * n0 * sign[:, None] * K * sign[None], -scale * sign * K[:n0].sum(axis=0)
    # prior of alpha0: residual alpha0 - a - g (1 + sum alpha1) = J x - c
    a, g, S = conditional(m1, S1)
    J = np.hstack([np.eye(n0), -np.outer(g, np.ones(n1))])
    V = np.linalg.pinv(S, rcond=1e-12, hermitian=True)
    P, q = P + J.T @ V @ J, q - J.T @ V @ (a + g)
    P[n0:, n0:] += np.linalg.inv(S2)
    q[n0:] -= np.linalg.solve(S2, np.broadcast_to(m2, n1))
    lower, upper = (np.repeat(pair, [n0, n1]) for pair in ([-np.inf, 0.0], [np.inf, 1.0]))
    return sign * quadratic_program(P, q, lower, upper, sign), (P * sign * sign[:, None], q * sign)


@pytest.mark.parametrize(
    ("n0", "n1", "m2", "sd2", "scale", "ends"),
    [
        (12, 4, 0.0, 1.0, 1.0, None),
        (10, 60, 0.2, 0.5, 2.0, None),
        (10, 5, -3.0, 0.5, 0.1, {0.0}),  # where all alpha1 are
        (10, 5, 4.0, 0.5, 0.1, {1.0}),
        (15, 30, 0.5, 3.0, 3.0, {0.0, 1.0, "between"}),
        (14, 9, np.random.default_rng(8).uniform(-0.5, 1.5, 9), 0.7, 0.5, "correlated"),
    ],
)
def test_mode_is_that_of_a_general_solver(n0, n1, m2, sd2, scale, ends):
    gram = Gram.from_rows(kernels.RBF(0.9), *rows(n0 + n1, n0, n1))
    m1, S1 = np.random.default_rng(n1).normal(size=n0), covariance(n0, n0)
    prior, sigma = priors.Normal(sd=1.3, m=m1, sigma=S1), covariance(n1, n1)
    if ends != "correlated":
        sigma = np.eye(n1)
    theirs, (P, q) = mode(gram.K, n0, m1, 1.69 * S1, m2, sd2**2 * sigma, scale)
    minority = priors.TruncatedNormal(m2, sd2, sigma if ends == "correlated" else None)
    w = TruncatedNormalPosterior(gram, prior, minority, scale).mode()
    alpha1 = -w[n0:]
    assert w.sum() == pytest.approx(1.0, abs=1e-9) and alpha1.min() >= 0 and alpha1.max() <= 1
    assert w @ P @ w / 2 + q @ w <= theirs @ P @ theirs / 2 + q @ theirs + 1e-8
    np.testing.assert_allclose(w, theirs, atol=1e-5)
    if ends == "correlated":
        diagonal = np.diag(np.diag(sigma))
        other, _ = mode(gram.K, n0, m1, 1.69 * S1, m2, sd2**2 * diagonal, scale)
        assert np.abs(w - other).max() > 0.02
    elif ends:
        at = {v if abs(a - v) < 1e-9 else "between" for a in alpha1 for v in [np.round(a)]}
        assert at == ends


def test_a_mode_that_is_not_found_is_an_error(monkeypatch):
    failed = OptimizeResult(success=False, nit=3, message="no")
    monkeypatch.setattr(bdd_m_posterior, "lsq_linear", lambda *a, **k: failed)
    with pytest.raises(RuntimeError, match=r"mode of BDD-M was not found in 3 iterations \(no\)"):
        TruncatedNormalPosterior(GRAM, FLAT, TRUNCATED).mode()


def test_without_minority_rows_it_is_bdd_on_the_hyperplane(worst_z):
    """BDD's normal posterior, conditioned on sum 1 by the textbook."""
    gram = Gram.from_rows(kernels.RBF(1.2), rows(31, 7, 0)[0])
    m1, S1 = 1.0 + np.random.default_rng(32).normal(size=7), covariance(33, 7)
    prior, scale = priors.Normal(m=m1, sigma=S1), 0.05  # far from sum 1, and of some weight
    C = np.linalg.inv(scale * 7 * gram.K + np.linalg.inv(S1))
    free = C @ (scale * gram.r + np.linalg.solve(S1, m1))
    a, g, S = conditional(free, C)
    form = TruncatedNormalPosterior(gram, prior, TRUNCATED, scale)
    w = form.draw(2000, 50, 2, np.random.default_rng(3))["w"]
    assert moments_z(worst_z, w, a + g, S) < 4.5
    assert worst_z(w, free) > 20  # of weights with a free sum
    np.testing.assert_allclose(form.mode(), a + g, atol=1e-9)
    assert abs(free.sum() - 1) > 0.1
    model = bdd_m.build(gram, FLAT, None)
    w = pm.draw(model["w"], 3, random_seed=5, mode="FAST_COMPILE")
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    assert np.ptp(w, axis=0).min() > 0.01


# priors


GRAM = Gram.from_rows(RBF, *rows(30, 9, 3))


def test_which_priors_the_model_and_its_closed_form_need():
    message = r"prior of alpha0: BDD-M conditions a normal prior .* got "
    for prior in (
        lambda gram, name, dims: None,
        priors.Beta(),
        TRUNCATED,
        preliz.StudentT(4, 0, 1),
    ):
        for function in (bdd_m.build, TruncatedNormalPosterior):
            with pytest.raises(TypeError, match=message):
                function(GRAM, prior, TRUNCATED)
    message = r"needs priors.TruncatedNormal .*got Beta.*; use draws with sampler='nuts'"
    with pytest.raises(TypeError, match=message):
        TruncatedNormalPosterior(GRAM, FLAT, priors.Beta())
    assert bdd_m.require_normal(preliz.Normal(0.3, 0.5)) == priors.Normal(sd=0.5, m=0.3)


def test_prior_given_the_total_is_a_density():
    """On the line of all pairs of one sum it integrates to one, for whichever sum."""
    gram = Gram.from_rows(kernels.RBF(1.2), np.array([[0.0], [0.7]]), np.array([[2.0]]))
    prior = priors.Normal(sd=0.6, m=np.array([0.3, -0.4]), sigma=np.array([[1.0, 0.4], [0.4, 2.0]]))
    x, weight = leggauss(400)
    for alpha1 in (0.0, 0.8):
        w = np.column_stack([12 * x, 1 + alpha1 - 12 * x, np.full(400, -alpha1)])
        density = np.exp(bdd_m.log_prior_of_majority(gram, prior, w))
        assert 12 * weight @ density == pytest.approx(1.0, abs=1e-10)


def test_minority_prior_is_the_normal_density_but_for_a_constant():
    prior = priors.TruncatedNormal([0.2, 0.5, 0.9], 1.3, 0.4 * np.eye(3) + 0.1)
    alpha1 = np.random.default_rng(48).uniform(size=(6, 3))
    w = np.hstack([np.zeros((6, 9)), -alpha1])
    found = TruncatedNormalPosterior(GRAM, FLAT, prior).log_prior(w)["alpha1"]
    law = multivariate_normal(prior.location(GRAM), prior.covariance(GRAM))
    assert np.ptp(found - law.logpdf(alpha1)) < 1e-9 and np.ptp(found) > 0.1


# without each row

N0, N1, LEFT_OUT_SCALE = 10, 5, 1.3
WHOLE = Gram.from_rows(RBF, *rows(40, N0, N1))
RNG = np.random.default_rng(40)
ANY = priors.Normal(sd=1.2, m=RNG.normal(size=N0) * 0.3, sigma=covariance(41, N0))
ANY_MINORITY = priors.TruncatedNormal(RNG.uniform(0, 1, N1), 0.5, covariance(42, N1))


def log_density(form, alpha1):
    """Of alpha1 on the cube, but for a constant; itself tested by quadrature."""
    return alpha1 @ form.shift1 - squared_norm(alpha1, form.precision1) / 2


def on_hyperplane(form, alpha1):
    """Mean and covariance of alpha0 given alpha1."""
    C = np.linalg.inv(form.precision0)
    g = C.sum(axis=1)
    return form.weights(alpha1)[: len(C)], C - np.outer(g, g) / g.sum()


@pytest.mark.parametrize(
    ("prior", "minority_prior"),
    [(ANY, ANY_MINORITY), (priors.Flat(0.7), TRUNCATED)],
    ids=["correlated", "independent"],
)
def test_weights_of_the_draws_and_the_left_out_centre_are_those_of_refits(prior, minority_prior):
    """Ratios of densities; and mean and variance of the kernel sum given alpha1.

    Without a minority row the density with it is integrated over that row's own weight.
    """
    n, rng = 20_000, np.random.default_rng(42)
    form = TruncatedNormalPosterior(WHOLE, prior, minority_prior, LEFT_OUT_SCALE)
    w = form.draw(500, 100, 2, np.random.default_rng(41))["w"].reshape(-1, N0 + N1)
    alpha1 = -w[:, N0:]
    _, log_weight = form.leave_one_out(w, rng)
    given = np.array([0.3, 0.0, 0.9, 0.05, 1.0])
    alpha0 = rng.multivariate_normal(*on_hyperplane(form, given), n, method="eigh")
    w = np.hstack([alpha0, np.broadcast_to(-given, (n, N1))])
    f, _ = form.leave_one_out(w, rng)
    x, weight = leggauss(60)
    stayed = []
    for j in range(N0 + N1):
        others, rest = without(WHOLE, j)
        refit = TruncatedNormalPosterior(others, prior, minority_prior, LEFT_OUT_SCALE)
        with_row = log_density(form, alpha1)
        if j >= N0:
            along = np.repeat(alpha1[:, None], 60, axis=1)
            along[:, :, j - N0] = (x + 1) / 2
            with_row = np.log(np.exp(log_density(form, along)) @ weight)
        expected = log_density(refit, alpha1[:, rest[N0:]]) - with_row
        assert np.ptp(expected) > 1e-3
        centred = log_weight[:, j] - log_weight[:, j].mean()
        np.testing.assert_allclose(centred, expected - expected.mean(), atol=1e-9)
        # the refit's normal alpha0 on its hyperplane
        mean, C = on_hyperplane(refit, given[rest[N0:]])
        u, k, m = np.concatenate([mean, -given[rest[N0:]]]), WHOLE.K[rest, j], len(mean)
        expected, variance = u @ k, k[:m] @ C @ k[:m]
        error = f[:, j] - expected
        assert abs(error.mean()) < 4.5 * (variance / n) ** 0.5
        assert abs((error**2).mean() - variance) < 4.5 * (error**2).std() / n**0.5
        stayed.append(abs((w @ WHOLE.K[j]).mean() - expected) / (variance / n) ** 0.5)
    assert max(stayed) > 15  # leaving a row out makes a difference


def test_density_of_a_minority_weight_at_zero():
    """Against SciPy's truncated normal, far into both tails."""
    for mean in (-40.0, -3.0, -0.2, 0.0, 0.4, 1.0, 1.3, 30.0):
        for precision in (0.5, 20.0, 900.0):
            root = precision**0.5
            expected = stats.truncnorm.logpdf(0.0, -mean * root, (1 - mean) * root, mean, 1 / root)
            expected -= np.log(root / (2 * np.pi) ** 0.5)
            found = bdd_m_posterior._log_density_at_zero(np.array([mean]), np.array([precision]))
            np.testing.assert_allclose(found[0], expected, rtol=1e-9, atol=1e-9)


def test_the_only_row_of_a_class():
    points = WHOLE.points[:4]
    f, log_weight = {}, {}
    for m in (1, 3):
        form = TruncatedNormalPosterior(
            Gram.from_rows(RBF, points[:m], points[m:]), FLAT, TRUNCATED
        )
        w = form.draw(5000, 100, 2, np.random.default_rng(m))["w"].reshape(-1, 4)
        f[m], log_weight[m] = form.leave_one_out(w, np.random.default_rng(0))
    assert (f[1][:, 0] == -np.inf).all()  # there is no centre without it
    assert np.isfinite(f[1][:, 1:]).all()
    # without the only minority row: the posterior of the majority alone
    assert np.ptp(log_weight[3][:, 3]) < 1e-9
    form = TruncatedNormalPosterior(Gram.from_rows(RBF, points[:3]), FLAT, TRUNCATED)
    v = form.draw(5000, 100, 2, np.random.default_rng(46))["w"].reshape(-1, 3)
    assert abs(stats.ttest_ind(f[3][:, 3], v @ RBF(points[:3], points[3:])[:, 0]).statistic) < 4.5


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
def test_automatic_cutoff_is_by_leave_one_out():
    """In the order of the user's rows, with the weights of the draws."""
    X, y = np.concatenate(rows(30, 24, 8)), np.repeat([0, 1], [24, 8])
    order = np.random.default_rng(47).permutation(32)
    est = BDDM(kernel=RBF, draws=50, tune=50, chains=2).fit(X[order], y[order])
    w = est.idata_["posterior"]["w"].values.reshape(100, 32)
    form = TruncatedNormalPosterior(est.gram_, est.prior, est.minority_prior)
    f, log_weight = form.leave_one_out(w, np.random.default_rng(est.fit_.data.seed))
    changed = est.with_cutoff(Cutoff(level=0.3))
    left = np.empty(32)
    margins = f - thresholds(changed)[:, None]
    left[np.argsort(y[order], kind="stable")] = deciding_quantile(margins, 0.3, log_weight)
    np.testing.assert_allclose(changed.left_out_scores(), left, rtol=1e-9, atol=1e-12)
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv="loo")).cutoff_
    assert est.cutoff_ != est.with_cutoff(Cutoff("g_mean", cv="train")).cutoff_
