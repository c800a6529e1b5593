"""BDD-M against quadrature, against a general QP solver, and against BDD on the hyperplane."""

import cvxopt
import numpy as np
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd_m
from numpy.polynomial.legendre import leggauss

from bsvdd import BDDM, Cutoff, kernels, priors

SCALE = 5.0  # lambda
QUICK = dict(draws=50, tune=50, chains=2)


def squared_norm(w, K):
    return np.einsum("...i,ij,...j->...", w, K, w)


def minority_rows_in_the_middle(seed, n0, n1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8


@pytest.fixture(scope="module")
def data():
    majority, minority = minority_rows_in_the_middle(30, 24, 8)
    return np.concatenate([majority, minority]), np.repeat([0, 1], [24, 8])


quiet = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@quiet
@pytest.mark.parametrize(
    ("prior", "minority_prior"),
    [
        (priors.StandardizedRowSum(), priors.TruncatedNormal()),
        (priors.RowSum(sd=3.0), priors.Beta(2, 1)),
        (
            priors.Normal(sd=2.0, m=np.linspace(-1, 3, 24), sigma=0.5 + 0.5 * np.eye(24)),
            priors.TruncatedNormal(0.9, 0.2),
        ),
        (priors.GraphLaplacian(neighbors=3), priors.TruncatedNormal(-1.0, 0.5)),
    ],
    ids=lambda p: type(p).__name__,
)
def test_constraints_hold_in_every_draw(data, prior, minority_prior):
    est = BDDM(
        kernel=kernels.RBF(1.0),
        prior=prior,
        minority_prior=minority_prior,
        cutoff=Cutoff(cv="train"),
        **QUICK,
    ).fit(*data)
    w = est.idata_["posterior"]["w"].values
    assert w.shape == (2, 50, 32)
    assert np.abs(w.sum(axis=2) - 1).max() <= 1e-10
    alpha1 = -w[..., 24:]
    assert alpha1.min() >= 0
    assert alpha1.max() <= 1
    assert np.ptp(alpha1, axis=(0, 1)).min() > 0
    np.testing.assert_array_equal(alpha1, est.idata_["posterior"]["alpha1"].values)
    # and the centre is that of these weights
    d = est.distance(data[0]).values
    K = np.exp(-((data[0][:, None] - data[0][None]) ** 2).sum(axis=2) / 2)
    np.testing.assert_allclose(d**2, 1 - 2 * w @ K + squared_norm(w, K)[..., None], atol=1e-10)


SMALL = np.array([[0.0, 0.3], [1.4, 0.0], [0.7, -0.6]])  # majority, majority, minority
SMALL_Z = np.array([[0.0, 0.3], [0.7, -0.6], [0.4, 0.4], [-1.0, 2.0]])
SMALL_PRIORS = [
    (priors.Flat(1.5), np.zeros(2), 2.25 * np.eye(2), (0.0, 1.0)),
    (
        priors.Normal(sd=1.2, m=(0.5, -0.7), sigma=((1.0, 0.4), (0.4, 0.6))),
        np.array([0.5, -0.7]),
        1.44 * np.array([[1.0, 0.4], [0.4, 0.6]]),
        (0.7, 0.35),
    ),
]


def small_posterior(m1, S1, m2, sd2, scale, K, kzu, kzz):
    """Mean and variance of w and of d_z by quadrature over alpha1 and t = alpha0_1.

    alpha0 = (t, 1 + alpha1 - t). Given the sum s of (t, u) ~ N(m1, S1), t is normal with the
    regression on s: mean m1_t + cov(t, s)/var(s) (s - E s), variance S_tt - cov(t, s)^2/var(s).
    """
    x, x_weight = leggauss(120)
    alpha1 = (x[:, None] + 1) / 2
    t = np.linspace(-14.0, 14.0, 6001)[None]
    s = 1 + alpha1
    cov_ts, var_s = S1[0, 0] + S1[0, 1], S1.sum()
    mean_t = m1[0] + cov_ts / var_s * (s - m1.sum())
    var_t = S1[0, 0] - cov_ts**2 / var_s
    log_prior = -((alpha1 - m2) ** 2) / (2 * sd2**2) - (t - mean_t) ** 2 / (2 * var_t)
    w = np.stack(np.broadcast_arrays(t, s - t, -alpha1), axis=-1)
    norm = squared_norm(w, K)
    log_likelihood = -scale / 2 * sum(K[i, i] - 2 * w @ K[i] + norm for i in (0, 1))
    log_density = log_prior + log_likelihood
    density = np.exp(log_density - log_density.max()) * x_weight[:, None]
    density /= density.sum()
    assert max(density[:, 0].max(), density[:, -1].max()) < 1e-12  # the line is long enough
    d = np.sqrt(np.maximum(kzz - 2 * w @ kzu.T + norm[..., None], 0))
    values = np.concatenate([w, d], axis=-1)
    mean = np.einsum("ij,ijk->k", density, values)
    return mean, np.einsum("ij,ijk->k", density, (values - mean) ** 2)


@pytest.mark.parametrize(("prior", "m1", "S1", "minority"), SMALL_PRIORS, ids=["flat", "full"])
def test_small_posterior_by_quadrature(worst_z, prior, m1, S1, minority):
    def k(A, B):
        return np.exp(-((A[:, None] - B[None]) ** 2).sum(axis=2) / (2 * 1.1**2))

    arguments = (m1, S1, *minority)
    kernel_values = (k(SMALL, SMALL), k(SMALL_Z, SMALL), np.ones(4))
    mean, variance = small_posterior(*arguments, SCALE, *kernel_values)
    prior_mean, prior_variance = small_posterior(*arguments, 0.0, *kernel_values)

    gram = Gram.from_rows(kernels.RBF(1.1), SMALL[:2], SMALL[2:])
    model = bdd_m.build(gram, prior, priors.TruncatedNormal(*minority), SCALE)
    tree = sample(model, "nuts", draws=3000, tune=800, chains=2, seed=3)
    w = tree["posterior"]["w"].values
    d2 = 1 - 2 * w @ kernel_values[1].T + squared_norm(w, kernel_values[0])[..., None]
    values = np.concatenate([w, np.sqrt(np.maximum(d2, 0))], axis=-1)
    assert worst_z(values, mean) < 4.5
    assert worst_z((values - mean) ** 2, variance) < 4.5
    # the draws can tell the posterior from the prior
    assert worst_z(values, prior_mean) > 20
    assert worst_z((values - mean) ** 2, prior_variance) > 20


def conditional(m1, S1):
    """Mean (as a + g s, of the sum s) and covariance of N(m1, S1) given its sum."""
    one = np.ones(len(m1))
    g = S1 @ one / (one @ S1 @ one)
    return m1 - g * m1.sum(), g, S1 - np.outer(S1 @ one, g)


def mode(K, n0, m1, S1, m2, sd2, scale):
    """Minimise minus the log density of alpha0 and alpha1 as it is defined, by cvxopt.

    The normal density on the hyperplane is that of the pseudo-inverse of the singular
    conditional covariance.
    """
    n = len(K)
    n1 = n - n0
    sign = np.repeat([1.0, -1.0], [n0, n1])
    # likelihood: scale/2 sum_i |phi_i - a|^2 with a = sum_j sign_j x_j phi_j
    P = scale * n0 * sign[:, None] * K * sign[None]
    q = -scale * sign * K[:n0].sum(axis=0)
    # prior of alpha0: residual alpha0 - a - g (1 + sum alpha1) = J x - c
    a, g, S = conditional(m1, S1)
    J, c = np.hstack([np.eye(n0), -np.outer(g, np.ones(n1))]), a + g
    V = np.linalg.pinv(S, rcond=1e-12, hermitian=True)
    P, q = P + J.T @ V @ J, q - J.T @ V @ c
    # prior of alpha1
    P[n0:, n0:] += np.eye(n1) / sd2**2
    q[n0:] -= m2 / sd2**2
    G = np.hstack([np.zeros((2 * n1, n0)), np.vstack([-np.eye(n1), np.eye(n1)])])
    h = np.concatenate([np.zeros(n1), np.ones(n1)])
    options = {"show_progress": False, "abstol": 1e-13, "reltol": 1e-13, "feastol": 1e-12}
    x = cvxopt.solvers.qp(
        *map(cvxopt.matrix, (P, q, G, h, sign[None], np.ones(1))), options=options
    )["x"]
    x = np.ravel(x)

    def objective(x):
        return x @ P @ x / 2 + q @ x

    return x * sign, lambda w: objective(w * sign)


def random_prior(rng, n0):
    A = rng.normal(size=(n0, n0))
    m1, S1 = rng.normal(size=n0), A @ A.T / n0 + 0.2 * np.eye(n0)
    return priors.Normal(sd=1.3, m=m1, sigma=S1), m1, 1.69 * S1


MODES = [
    (1, 12, 4, 0.0, 1.0, 1.0),
    (2, 20, 6, 0.4, 0.2, 0.1),
    (3, 8, 12, 0.5, 0.3, 5.0),
    (4, 25, 60, 0.2, 0.5, 2.0),
    (5, 10, 5, -3.0, 0.5, 0.1),  # all at 0
    (6, 10, 5, 4.0, 0.5, 0.1),  # all at 1
    (7, 15, 30, 0.5, 3.0, 3.0),  # some at each bound
]


@pytest.mark.parametrize("case", MODES, ids=str)
def test_map_by_a_general_solver(case):
    seed, n0, n1, m2, sd2, scale = case
    majority, minority = minority_rows_in_the_middle(seed, n0, n1)
    rows = np.concatenate([majority, minority])
    K = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2) / (2 * 0.9**2))
    prior, m1, S1 = random_prior(np.random.default_rng(seed + 100), n0)
    theirs, objective = mode(K, n0, m1, S1, m2, sd2, scale)
    gram = Gram.from_rows(kernels.RBF(0.9), majority, minority)
    w = bdd_m.map_weights(gram, prior, priors.TruncatedNormal(m2, sd2), scale)
    assert w.sum() == pytest.approx(1.0, abs=1e-9)
    alpha1 = -w[n0:]
    assert alpha1.min() >= 0
    assert alpha1.max() <= 1
    assert objective(w) <= objective(theirs) + 1e-8
    np.testing.assert_allclose(w, theirs, atol=1e-5)
    if seed == 5:
        np.testing.assert_allclose(alpha1, 0.0, atol=1e-9)
    if seed == 6:
        np.testing.assert_allclose(alpha1, 1.0, atol=1e-9)
    if seed == 7:
        assert (alpha1 < 1e-9).any()
        assert (alpha1 > 1 - 1e-9).any()
        assert ((alpha1 > 1e-3) & (alpha1 < 1 - 1e-3)).any()


@quiet
def test_map_of_the_estimator(data):
    X, y = data
    rbf, few = kernels.RBF(1.0), {**QUICK, "cutoff": 1.0}
    est = BDDM(kernel=rbf, prior=priors.Flat(0.8), likelihood_scale=2.0, **few).fit(X, y)
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2) / 2)
    theirs, _ = mode(K, 24, np.zeros(24), 0.64 * np.eye(24), 0.0, 1.0, 2.0)
    np.testing.assert_allclose(est.map_weights_, theirs, atol=1e-5)


@pytest.fixture(scope="module")
def on_the_hyperplane():
    """Seven majority rows; BDD's normal posterior, conditioned on sum 1 by the textbook."""
    rows = np.random.default_rng(31).normal(size=(7, 2))
    gram = Gram.from_rows(kernels.RBF(1.2), rows)
    _, m1, S1 = random_prior(np.random.default_rng(32), 7)
    m1 += 1.0  # far from sum 1, and with a small scale the prior has a say
    prior, scale = priors.Normal(m=m1, sigma=S1), 0.05
    K = np.exp(-((rows[:, None] - rows[None]) ** 2).sum(axis=2) / (2 * 1.2**2))
    covariance = np.linalg.inv(scale * 7 * K + np.linalg.inv(S1))
    mean = covariance @ (scale * K.sum(axis=1) + np.linalg.inv(S1) @ m1)
    a, g, S = conditional(mean, covariance)
    return gram, prior, scale, mean, a + g, S


def test_without_minority_rows_draws_are_bdd_on_the_hyperplane(on_the_hyperplane, worst_z):
    gram, prior, scale, free_mean, mean, covariance = on_the_hyperplane
    model = bdd_m.build(gram, prior, priors.TruncatedNormal(), scale)
    tree = sample(model, "nuts", draws=2000, tune=500, chains=2, seed=4)
    w = tree["posterior"]["w"].values
    assert np.abs(w.sum(axis=2) - 1).max() <= 1e-10
    error = w - mean
    assert worst_z(w, mean) < 4.5
    assert worst_z(error[..., :, None] * error[..., None, :], covariance) < 4.5
    assert worst_z(w, free_mean) > 20  # of weights with a free sum


def test_without_minority_rows_the_map_is_bdd_on_the_hyperplane(on_the_hyperplane):
    gram, prior, scale, free_mean, mean, _ = on_the_hyperplane
    w = bdd_m.map_weights(gram, prior, priors.TruncatedNormal(), scale)
    np.testing.assert_allclose(w, mean, atol=1e-9)
    assert w.sum() == pytest.approx(1.0, abs=1e-12)
    assert abs(free_mean.sum() - 1) > 0.1


def student(gram, name, dims):
    import pymc as pm

    return pm.StudentT(name, 3.0, dims=dims)


def test_prior_of_alpha0_must_be_normal(data):
    gram = Gram.from_rows(kernels.RBF(1.0), data[0][:24], data[0][24:])
    message = r"prior of alpha0: BDD-M conditions a normal prior .* got "
    for prior in (student, priors.Beta(), priors.TruncatedNormal()):
        with pytest.raises(TypeError, match=message):
            bdd_m.build(gram, prior, priors.TruncatedNormal())
        with pytest.raises(TypeError, match=message):
            bdd_m.map_weights(gram, prior, priors.TruncatedNormal())
    with pytest.raises(TypeError, match=message):
        BDDM(prior=student, **QUICK).fit(*data)


def test_map_needs_a_truncated_normal_minority_prior(data):
    gram = Gram.from_rows(kernels.RBF(1.0), data[0][:24], data[0][24:])
    with pytest.raises(TypeError, match=r"needs priors.TruncatedNormal .*got Beta"):
        bdd_m.map_weights(gram, priors.Flat(), priors.Beta())


def test_leave_one_out_is_refused(data):
    message = r"cutoff: BDDM has no leave-one-out in closed form.*; use cv='auto' or a number"
    with pytest.raises(ValueError, match=message):
        BDDM(cutoff=Cutoff(cv="loo")).fit(*data)


@quiet
def test_automatic_cutoff_is_by_five_folds(data):
    est = BDDM(kernel=kernels.RBF(1.0), draws=25, tune=25, chains=1).fit(*data)
    assert est.cutoff_ == est.with_cutoff(Cutoff("g_mean", cv=5)).cutoff_
    assert est.cutoff_ != est.with_cutoff(Cutoff("g_mean", cv=3)).cutoff_
    assert est.cutoff_ != est.with_cutoff(Cutoff("g_mean", cv="train")).cutoff_


@quiet
def test_prior_given_row_by_row_can_be_fitted_by_default(data):
    """Mean and covariance are arguments, and the default cutoff refits folds of the rows."""
    prior = priors.Normal(m=np.full(24, 1 / 24), sigma=0.5 + 0.5 * np.eye(24))
    est = BDDM(kernel=kernels.RBF(1.0), prior=prior, **QUICK).fit(*data)
    assert est.cutoff_ > 0
