"""BDD-M against quadrature, against a general QP solver, and against BDD on the hyperplane."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd_m, bdd_m_posterior
from bsvdd.models.bdd_m_posterior import TruncatedNormalPosterior
from numpy.polynomial.legendre import leggauss
from scipy.optimize import OptimizeResult
from scipy.stats import multivariate_normal
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

from bsvdd import BDDM, Cutoff, kernels, priors
from tests.scores import distance_of

from .helpers import moments_z, quadratic_program, rbf, squared_norm

SCALE = 5.0  # lambda
QUICK = dict(draws=50, tune=50, chains=2)


def minority_rows_in_the_middle(seed, n0, n1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n0, 2)), rng.normal(size=(n1, 2)) * 0.8


MAJORITY, MINORITY = minority_rows_in_the_middle(30, 24, 8)
DATA = np.concatenate([MAJORITY, MINORITY]), np.repeat([0, 1], [24, 8])
GRAM = Gram.from_rows(kernels.RBF(1.0), MAJORITY, MINORITY)
CORRELATED = 0.4 * np.eye(8) + 0.1  # a covariance of eight minority weights
quiet = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


@quiet
@pytest.mark.parametrize(
    ("prior", "minority_prior", "sampler"),
    [
        (priors.StandardizedRowSum(), priors.TruncatedNormal(), "exact"),
        pytest.param(
            priors.StandardizedRowSum(), priors.TruncatedNormal(), "nuts", marks=pytest.mark.long
        ),
        (priors.RowSum(sd=3.0), priors.Beta(2, 1), "nuts"),
        (
            priors.Normal(sd=2.0, m=np.linspace(-1, 3, 24), sigma=0.5 + 0.5 * np.eye(24)),
            priors.TruncatedNormal(0.9, 0.2),
            "exact",
        ),
        (
            priors.GraphLaplacian(neighbors=3),
            priors.TruncatedNormal(np.linspace(-1, 2, 8), 0.5, CORRELATED),
            "exact",
        ),
        pytest.param(
            priors.Flat(),
            priors.TruncatedNormal(np.linspace(-1, 2, 8), sigma=CORRELATED),
            "nuts",
            marks=pytest.mark.long,
        ),
        (priors.Flat(), priors.TruncatedNormal(-3.0, 0.2), "exact"),
    ],
    ids=lambda p: p if isinstance(p, str) else type(p).__name__,
)
def test_constraints_hold_in_every_draw(prior, minority_prior, sampler):
    est = BDDM(
        kernel=kernels.RBF(1.0),
        prior=prior,
        minority_prior=minority_prior,
        sampler=sampler,
        cutoff=Cutoff(cv="train"),
        **QUICK,
    ).fit(*DATA)
    assert est.idata_["posterior"].attrs["sampler"] == sampler
    w = est.idata_["posterior"]["w"].values
    assert w.shape == (2, 50, 32)
    assert np.abs(w.sum(axis=2) - 1).max() <= 1e-10
    alpha1 = -w[..., 24:]
    assert alpha1.min() >= 0
    assert alpha1.max() <= 1
    assert np.ptp(alpha1, axis=(0, 1)).min() > 0
    np.testing.assert_array_equal(alpha1, est.idata_["posterior"]["alpha1"].values)
    # and the centre is that of these weights
    d, K = est.distance(DATA[0]).values, rbf(DATA[0], DATA[0])
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


@pytest.mark.parametrize("sampler", ["exact", "nuts"])
@pytest.mark.parametrize(("prior", "m1", "S1", "minority"), SMALL_PRIORS, ids=["flat", "full"])
def test_small_posterior_by_quadrature(worst_z, prior, m1, S1, minority, sampler):
    arguments = (m1, S1, *minority)
    kernel_values = rbf(SMALL, SMALL, 1.1), rbf(SMALL_Z, SMALL, 1.1), np.ones(4)
    mean, variance = small_posterior(*arguments, SCALE, *kernel_values)
    prior_mean, prior_variance = small_posterior(*arguments, 0.0, *kernel_values)

    gram = Gram.from_rows(kernels.RBF(1.1), SMALL[:2], SMALL[2:])
    w = weights_of(gram, prior, priors.TruncatedNormal(*minority), SCALE, sampler, 3000)
    d2 = 1 - 2 * w @ kernel_values[1].T + squared_norm(w, kernel_values[0])[..., None]
    values = np.concatenate([w, np.sqrt(np.maximum(d2, 0))], axis=-1)
    assert worst_z(values, mean) < 4.5
    assert worst_z((values - mean) ** 2, variance) < 4.5
    # the draws can tell the posterior from the prior
    assert worst_z(values, prior_mean) > 20
    assert worst_z((values - mean) ** 2, prior_variance) > 20


def weights_of(gram, prior, minority_prior, scale, sampler, draws):
    if sampler == "nuts":
        model = bdd_m.build(gram, prior, minority_prior, scale)
        tree = sample(model, "nuts", draws=draws, tune=800, chains=2, seed=3)
        return tree["posterior"]["w"].values
    form = TruncatedNormalPosterior(gram, prior, minority_prior, scale)
    return form.draw(draws, 50, 2, np.random.default_rng(3))["w"]


PAIR = np.array([[0.0, 0.3], [1.4, 0.0], [0.7, -0.6], [0.5, 0.4]])  # two of each class
PAIR_SIGMA = np.array([[1.0, -0.85], [-0.85, 1.2]])


def pair_posterior(m2, S2, scale, K):
    """Mean and covariance of alpha1, by quadrature over both of them and alpha0_1 = t.

    alpha0 = (t, s - t) with s = 1 + sum alpha1, and of a Flat prior t is N(s/2, 1/2) given s.
    """
    x, weight = leggauss(60)
    x, weight = (x + 1) / 2, weight / 2
    u, v, t = np.meshgrid(x, x, np.linspace(-8.0, 9.0, 1501), indexing="ij")
    s = 1 + u + v
    e = np.stack([u, v], axis=-1) - m2
    log_density = -np.einsum("...i,ij,...j->...", e, np.linalg.inv(S2), e) / 2 - (t - s / 2) ** 2
    w = np.stack([t, s - t, -u, -v], axis=-1)
    Kw = w @ K
    norm = (w * Kw).sum(axis=-1)
    log_density -= scale / 2 * sum(K[i, i] - 2 * Kw[..., i] + norm for i in (0, 1))
    density = np.exp(log_density - log_density.max()) * np.multiply.outer(weight, weight)[..., None]
    density /= density.sum()
    assert max(density[..., 0].max(), density[..., -1].max()) < 1e-12  # the line is long enough
    alpha1 = np.stack([u, v], axis=-1)
    mean = np.einsum("ijk,ijkl->l", density, alpha1)
    e = alpha1 - mean
    return mean, np.einsum("ijk,ijkl,ijkm->lm", density, e, e)


@pytest.mark.parametrize("sampler", ["exact", pytest.param("nuts", marks=pytest.mark.long)])
def test_correlated_minority_prior_by_quadrature(worst_z, sampler):
    m2, sd = np.array([0.3, 0.8]), 0.4
    K = rbf(PAIR, PAIR, 1.1)
    mean, covariance = pair_posterior(m2, sd**2 * PAIR_SIGMA, SCALE, K)
    gram = Gram.from_rows(kernels.RBF(1.1), PAIR[:2], PAIR[2:])
    prior = priors.TruncatedNormal(m2, sd, PAIR_SIGMA)
    w = weights_of(gram, priors.Flat(), prior, SCALE, sampler, 4000)
    alpha1 = -w[..., 2:]
    assert moments_z(worst_z, alpha1, mean, covariance) < 4.5
    # the draws can tell the correlation from none, and the posterior from the prior
    independent = pair_posterior(m2, sd**2 * np.diag(np.diag(PAIR_SIGMA)), SCALE, K)
    error = alpha1 - mean
    assert worst_z(error[..., :, None] * error[..., None, :], independent[1]) > 10
    without_data = pair_posterior(m2, sd**2 * PAIR_SIGMA, 0.0, K)
    assert worst_z(alpha1, without_data[0]) > 10


@pytest.mark.long  # half a minute, which numba compiles; quadrature has the exact draws too
def test_exact_draws_are_those_of_nuts(worst_z):
    """Mean and squares of w, of 24 and 8 rows, with weights at both walls."""
    arguments = GRAM, priors.StandardizedRowSum(), priors.TruncatedNormal(0.5, sigma=CORRELATED)
    exact = weights_of(*arguments, 1.0, "exact", 20_000)
    nuts = weights_of(*arguments, 1.0, "nuts", 2000)
    center = exact.mean(axis=(0, 1))
    assert worst_z(nuts, center) < 4.5
    assert worst_z((nuts - center) ** 2, exact.var(axis=(0, 1))) < 4.5


def conditional(m1, S1):
    """Mean (as a + g s, of the sum s) and covariance of N(m1, S1) given its sum."""
    one = np.ones(len(m1))
    g = S1 @ one / (one @ S1 @ one)
    return m1 - g * m1.sum(), g, S1 - np.outer(S1 @ one, g)


def mode(K, n0, m1, S1, m2, S2, scale):
    """Minimise minus the log density of alpha0 and alpha1 as it is defined, by interior points.

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
    P[n0:, n0:] += np.linalg.inv(S2)
    q[n0:] -= np.linalg.solve(S2, np.broadcast_to(m2, n1))
    lower, upper = (np.repeat(pair, [n0, n1]) for pair in ([-np.inf, 0.0], [np.inf, 1.0]))
    x = quadratic_program(P, q, lower, upper, sign)

    def objective(x):
        return x @ P @ x / 2 + q @ x

    return x * sign, lambda w: objective(w * sign)


def random_covariance(rng, n):
    A = rng.normal(size=(n, n))
    return A @ A.T / n + 0.2 * np.eye(n)


def random_prior(rng, n0):
    m1, S1 = rng.normal(size=n0), random_covariance(rng, n0)
    return priors.Normal(sd=1.3, m=m1, sigma=S1), m1, 1.69 * S1


MODES = [
    (1, 12, 4, 0.0, 1.0, 1.0),
    (2, 20, 6, 0.4, 0.2, 0.1),
    (3, 8, 12, 0.5, 0.3, 5.0),
    (4, 25, 60, 0.2, 0.5, 2.0),
    (5, 10, 5, -3.0, 0.5, 0.1),  # all at 0
    (6, 10, 5, 4.0, 0.5, 0.1),  # all at 1
    (7, 15, 30, 0.5, 3.0, 3.0),  # some at each bound
    (8, 14, 9, np.random.default_rng(8).uniform(-0.5, 1.5, 9), 0.7, 0.5),  # correlated
]


@pytest.mark.parametrize("case", MODES, ids=lambda case: str(case[0]))
def test_map_by_a_general_solver(case):
    seed, n0, n1, m2, sd2, scale = case
    majority, minority = minority_rows_in_the_middle(seed, n0, n1)
    gram = Gram.from_rows(kernels.RBF(0.9), majority, minority)
    K = rbf(gram.points, gram.points, 0.9)
    rng = np.random.default_rng(seed + 100)
    prior, m1, S1 = random_prior(rng, n0)
    sigma = random_covariance(rng, n1) if seed == 8 else np.eye(n1)
    theirs, objective = mode(K, n0, m1, S1, m2, sd2**2 * sigma, scale)
    minority_prior = priors.TruncatedNormal(m2, sd2, sigma if seed == 8 else None)
    w = TruncatedNormalPosterior(gram, prior, minority_prior, scale).mode()
    assert w.sum() == pytest.approx(1.0, abs=1e-9)
    alpha1 = -w[n0:]
    assert alpha1.min() >= 0
    assert alpha1.max() <= 1
    assert objective(w) <= objective(theirs) + 1e-8
    np.testing.assert_allclose(w, theirs, atol=1e-5)
    if seed in (5, 6):
        np.testing.assert_allclose(alpha1, seed - 5.0, atol=1e-9)
    if seed == 7:
        assert (alpha1 < 1e-9).any()
        assert (alpha1 > 1 - 1e-9).any()
        assert ((alpha1 > 1e-3) & (alpha1 < 1 - 1e-3)).any()
    if seed == 8:
        diagonal, _ = mode(K, n0, m1, S1, m2, sd2**2 * np.diag(np.diag(sigma)), scale)
        assert np.abs(w - diagonal).max() > 0.02


def test_a_mode_that_is_not_found_is_an_error(monkeypatch):
    monkeypatch.setattr(
        bdd_m_posterior,
        "lsq_linear",
        lambda *a, **k: OptimizeResult(success=False, nit=3, message="no"),
    )
    with pytest.raises(RuntimeError, match=r"mode of BDD-M was not found in 3 iterations \(no\)"):
        TruncatedNormalPosterior(GRAM, priors.Flat(), priors.TruncatedNormal()).mode()


@quiet
def test_map_of_the_estimator():
    est = BDDM(
        kernel=kernels.RBF(1.0), prior=priors.Flat(0.8), likelihood_scale=2.0, cutoff=1.0, **QUICK
    ).fit(*DATA)
    K = rbf(DATA[0], DATA[0])
    theirs, _ = mode(K, 24, np.zeros(24), 0.64 * np.eye(24), 0.0, np.eye(8), 2.0)
    np.testing.assert_allclose(est.map_weights_, theirs, atol=1e-5)


@pytest.fixture(scope="module")
def on_the_hyperplane():
    """Seven majority rows; BDD's normal posterior, conditioned on sum 1 by the textbook."""
    rows = np.random.default_rng(31).normal(size=(7, 2))
    gram = Gram.from_rows(kernels.RBF(1.2), rows)
    _, m1, S1 = random_prior(np.random.default_rng(32), 7)
    m1 += 1.0  # far from sum 1, and with a small scale the prior has a say
    prior, scale = priors.Normal(m=m1, sigma=S1), 0.05
    K = rbf(rows, rows, 1.2)
    covariance = np.linalg.inv(scale * 7 * K + np.linalg.inv(S1))
    mean = covariance @ (scale * K.sum(axis=1) + np.linalg.inv(S1) @ m1)
    a, g, S = conditional(mean, covariance)
    return gram, prior, scale, mean, a + g, S


@pytest.mark.parametrize("sampler", ["exact", pytest.param("nuts", marks=pytest.mark.long)])
def test_without_minority_rows_it_is_bdd_on_the_hyperplane(on_the_hyperplane, worst_z, sampler):
    gram, prior, scale, free_mean, mean, covariance = on_the_hyperplane
    w = weights_of(gram, prior, priors.TruncatedNormal(), scale, sampler, 2000)
    assert np.abs(w.sum(axis=2) - 1).max() <= 1e-10
    assert moments_z(worst_z, w, mean, covariance) < 4.5
    assert worst_z(w, free_mean) > 20  # of weights with a free sum
    mode = TruncatedNormalPosterior(gram, prior, priors.TruncatedNormal(), scale).mode()
    np.testing.assert_allclose(mode, mean, atol=1e-9)
    assert mode.sum() == pytest.approx(1.0, abs=1e-12)
    assert abs(free_mean.sum() - 1) > 0.1
    model = bdd_m.build(gram, priors.Flat(), None)
    w = pm.draw(model["w"], 3, random_seed=5, mode="FAST_COMPILE")
    np.testing.assert_allclose(w.sum(axis=1), 1.0, atol=1e-12)
    assert np.ptp(w, axis=0).min() > 0.01


def student(gram, name, dims):
    return pm.StudentT(name, 3.0, dims=dims)


@quiet
def test_which_priors_the_model_and_its_closed_form_need():
    message = r"prior of alpha0: BDD-M conditions a normal prior .* got "
    for prior in (student, priors.Beta(), priors.TruncatedNormal()):
        for function in (bdd_m.build, TruncatedNormalPosterior):
            with pytest.raises(TypeError, match=message):
                function(GRAM, prior, priors.TruncatedNormal())
    with pytest.raises(TypeError, match=message):
        BDDM(prior=student, **QUICK).fit(*DATA)
    message = r"needs priors.TruncatedNormal .*got Beta.*; use draws with sampler='nuts'"
    with pytest.raises(TypeError, match=message):
        TruncatedNormalPosterior(GRAM, priors.Flat(), priors.Beta())
    est = BDDM(minority_prior=priors.Beta(), cutoff=1.0, sampler="exact", **QUICK)
    with pytest.raises(TypeError, match=r"exact' needs .*TruncatedNormal.*minority_prior=Beta"):
        est.fit(*DATA)
    est.set_params(sampler="auto").fit(*DATA)
    assert not hasattr(est, "map_weights_")
    with pytest.raises(AttributeError, match=r"map_weights_ .*TruncatedNormal.*Beta"):
        est.map_weights_  # noqa: B018


@quiet
def test_priors_given_row_by_row_go_with_their_rows_into_folds():
    """The folds of the estimator are refits by hand with the rows' own mean and covariance."""
    prior = priors.Normal(m=np.full(24, 1 / 24), sigma=0.5 + 0.5 * np.eye(24))
    est = BDDM(kernel=kernels.RBF(1.0), prior=prior, **QUICK).fit(*DATA)
    assert est.cutoff_ > 0
    assert est.with_cutoff(Cutoff(cv=5)).cutoff_ > 0
    order = np.random.default_rng(33).permutation(32)
    X, y = DATA[0][order], DATA[1][order]
    m, S = np.linspace(-1.0, 2.0, 8), np.diag(np.linspace(0.2, 1.5, 8)) + 0.1
    arguments = dict(kernel=kernels.RBF(1.0), **QUICK)
    est = BDDM(
        minority_prior=priors.TruncatedNormal(m, 0.5, S), cutoff=Cutoff("g_mean", cv=4), **arguments
    ).fit(X, y)
    seed = int(check_random_state(0).randint(2**31 - 1))
    number = np.cumsum(y) - 1  # of a minority row among them
    d = np.empty(32)
    for train, test in StratifiedKFold(4, shuffle=True, random_state=seed).split(X, y):
        kept = number[train][y[train] == 1]
        prior = priors.TruncatedNormal(m[kept], 0.5, S[np.ix_(kept, kept)])
        part = BDDM(minority_prior=prior, cutoff=1.0, **arguments).fit(X[train], y[train])
        d[test] = distance_of(est, part.score_samples(X[test]))
    assert est.cutoff_ == pytest.approx(Cutoff("g_mean").choose(d, y == 1), rel=1e-9)


def test_prior_given_the_total_is_a_density():
    """On the line of all pairs of one sum it integrates to one, for whichever sum."""
    gram = Gram.from_rows(kernels.RBF(1.2), np.array([[0.0], [0.7]]), np.array([[2.0]]))
    prior = priors.Normal(sd=0.6, m=np.array([0.3, -0.4]), sigma=np.array([[1.0, 0.4], [0.4, 2.0]]))
    x, weight = leggauss(400)
    for alpha1 in (0.0, 0.8):
        first = 12 * x
        w = np.column_stack([first, 1 + alpha1 - first, np.full(400, -alpha1)])
        density = np.exp(bdd_m.log_prior_of_majority(gram, prior, w))
        assert 12 * weight @ density == pytest.approx(1.0, abs=1e-10)


def test_minority_prior_is_the_normal_density_but_for_a_constant():
    """Ratios of densities of weights, by SciPy's multivariate normal."""
    prior = priors.TruncatedNormal(np.linspace(0.0, 1.0, 8), 0.5, CORRELATED)
    alpha1 = np.random.default_rng(48).uniform(size=(6, 8))
    w = np.hstack([np.zeros((6, 24)), -alpha1])
    found = TruncatedNormalPosterior(GRAM, priors.Flat(), prior).log_prior(w)["alpha1"]
    expected = multivariate_normal(prior.location(GRAM), 0.25 * CORRELATED).logpdf(alpha1)
    np.testing.assert_allclose(found - found[0], expected - expected[0], rtol=1e-9)


def test_weights_of_alpha1_are_the_most_probable_alpha0_and_sum_to_one():
    """For one alpha1 and for many: majority first, and then minus alpha1."""
    form = TruncatedNormalPosterior(GRAM, priors.Flat(), priors.TruncatedNormal(), SCALE)
    alpha1 = np.random.default_rng(49).uniform(size=(3, 8))
    many = form.weights(alpha1)
    np.testing.assert_allclose(many.sum(axis=1), 1.0, rtol=1e-10)
    np.testing.assert_array_equal(many[:, 24:], -alpha1)
    np.testing.assert_allclose(form.weights(alpha1[1]), many[1], rtol=1e-12)


def test_both_priors_on_the_plane_are_another_truncated_normal():
    """The joint reading of the module's docstring, by the densities of both priors at once."""
    majority, minority = minority_rows_in_the_middle(31, 9, 3)
    gram = Gram.from_rows(kernels.RBF(1.0), majority, minority)
    prior, sigma = priors.StandardizedRowSum(sd=0.8), 0.4 * np.eye(3) + 0.1
    given = priors.TruncatedNormal([0.2, 0.5, 0.9], 1.3, sigma)
    v, total = prior.covariance(gram).sum(), prior.mean(gram).sum()
    precision = given.precision(gram) + 1 / v
    shift = given.precision(gram) @ given.location(gram) + (total - 1) / v
    joint = priors.TruncatedNormal(np.linalg.solve(precision, shift), 1.0, np.linalg.inv(precision))

    rng = np.random.default_rng(32)
    alpha1 = rng.uniform(size=(40, 3))
    alpha0 = rng.normal(size=(40, 9))
    alpha0 += (1 + alpha1.sum(axis=1) - alpha0.sum(axis=1))[:, None] / 9  # on the plane
    w = np.concatenate([alpha0, -alpha1], axis=1)
    together = multivariate_normal(prior.mean(gram), prior.covariance(gram)).logpdf(alpha0)
    together += multivariate_normal(given.location(gram), given.covariance(gram)).logpdf(alpha1)
    ours = TruncatedNormalPosterior(gram, prior, joint).log_prior(w)
    assert np.ptp(together - ours["alpha0"] - ours["alpha1"]) < 1e-9
    conditional = TruncatedNormalPosterior(gram, prior, given).log_prior(w)["alpha1"]
    assert np.ptp(conditional - ours["alpha1"]) > 0.1
