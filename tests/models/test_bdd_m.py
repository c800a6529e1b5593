"""BDD-M against a general solver, BDD on the hyperplane, and refits without rows.

Its draws are held against long runs of another sampler in inference/test_references.py.
"""

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference.center import deciding_quantile
from bsvdd.models import Gram, bdd_m
from bsvdd.models.bdd_m import TruncatedNormalPosterior
from numpy.polynomial.legendre import leggauss
from scipy import stats
from scipy.optimize import OptimizeResult
from scipy.stats import multivariate_normal

from bsvdd import BDDM, Cutoff, cutoffs, kernels, priors
from tests.cases import covariance
from tests.scores import thresholds

from .helpers import moments_z, quadratic_program, squared_norm, without

RBF = kernels.RBF(1.0)
FLAT, TRUNCATED = priors.Flat(), priors.TruncatedNormal()


def rows(seed, n0, n1):
    """Minority rows lie in the middle of the majority's."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8


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
    monkeypatch.setattr(bdd_m, "lsq_linear", lambda *a, **k: failed)
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


def test_priors_of_both_are_densities():
    """alpha0 on the line of one sum integrates to one; alpha1 is normal but for a constant."""
    gram = Gram.from_rows(kernels.RBF(1.2), np.array([[0.0], [0.7]]), np.array([[2.0]]))
    prior = priors.Normal(sd=0.6, m=np.array([0.3, -0.4]), sigma=np.array([[1.0, 0.4], [0.4, 2.0]]))
    x, weight = leggauss(400)
    for alpha1 in (0.0, 0.8):
        w = np.column_stack([12 * x, 1 + alpha1 - 12 * x, np.full(400, -alpha1)])
        density = np.exp(bdd_m.log_prior_of_majority(gram, prior, w))
        assert 12 * weight @ density == pytest.approx(1.0, abs=1e-10)
    alpha1 = np.random.default_rng(48).uniform(size=(6, N1))
    form = TruncatedNormalPosterior(WHOLE, ANY, ANY_MINORITY)
    found = form.log_prior(np.hstack([np.zeros((6, N0)), -alpha1]))["alpha1"]
    law = multivariate_normal(ANY_MINORITY.location(WHOLE), ANY_MINORITY.covariance(WHOLE))
    assert np.ptp(found - law.logpdf(alpha1)) < 1e-9 and np.ptp(found) > 0.1


# without each row

N0, N1, LEFT_OUT_SCALE = 10, 5, 1.3
WHOLE = Gram.from_rows(RBF, *rows(40, N0, N1))
RNG = np.random.default_rng(40)
ANY = priors.Normal(sd=1.2, m=RNG.normal(size=N0) * 0.3, sigma=covariance(41, N0))
ANY_MINORITY = priors.TruncatedNormal(RNG.uniform(0, 1, N1), 0.5, covariance(42, N1))


def log_density(form, alpha1):
    """Of alpha1 on the cube, but for a constant."""
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
    assert est.cutoff_ == est.with_cutoff(Cutoff(cutoffs.Best("g_mean"), cv="loo")).cutoff_
    assert est.cutoff_ != est.with_cutoff(Cutoff(cutoffs.Best("g_mean"), cv="train")).cutoff_
