"""Normal, GraphLaplacian and TruncatedNormal: their numbers, their errors, and fits with them."""

import numpy as np
import pymc as pm
import pytest
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from scipy.stats import multivariate_normal, truncnorm
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import check_random_state

import bsvdd as package
from bsvdd import BDD, BSVDD, BSVDDM, Cutoff, kernels, priors
from tests.scores import distance_of, median_distance, score_of

N0 = 12
RBF = kernels.RBF(1.5)
PYTHON = "FAST_COMPILE"  # a few numbers: no machine code


@pytest.fixture(scope="module")
def rows():
    """Majority, unlabelled and minority rows."""
    rng = np.random.default_rng(50)
    return rng.normal(size=(N0, 2)), rng.normal(size=(9, 2)) * 1.5, rng.normal(size=(3, 2)) + 2


@pytest.fixture(scope="module")
def gram(rows):
    return Gram.from_rows(RBF, rows[0])


def covariance_matrix(seed, n=N0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n + 0.3 * np.eye(n)


def in_model(prior, gram, what):
    """Let ``prior`` make x, and return ``what(x)`` evaluated."""
    with pm.Model(coords={"majority": range(gram.n_majority_points)}):
        return what(prior(gram, "x", "majority"))


# Normal


@pytest.mark.parametrize("sd", [1.0, 0.4])
def test_normal_has_the_mean_and_covariance_given(gram, sd):
    m, S = np.linspace(-2, 3, N0), covariance_matrix(51)
    prior = priors.Normal(sd=sd, m=m, sigma=S)
    np.testing.assert_array_equal(prior.mean(gram), m)
    np.testing.assert_allclose(prior.covariance(gram), sd**2 * S, rtol=1e-14)
    np.testing.assert_allclose(prior.precision(gram), np.linalg.inv(sd**2 * S), rtol=1e-8)
    # the variable is that normal, by its log density at a point
    point = np.random.default_rng(52).normal(size=N0)
    logp = in_model(prior, gram, lambda x: float(pm.logp(x, point).eval(mode=PYTHON)))
    e = point - m
    expected = -(e @ np.linalg.solve(sd**2 * S, e)) / 2
    expected -= (N0 * np.log(2 * np.pi) + np.linalg.slogdet(sd**2 * S)[1]) / 2
    assert logp == pytest.approx(expected, abs=1e-8)


def test_normal_by_default_is_flat(gram):
    prior, flat = priors.Normal(sd=0.7), priors.Flat(0.7)
    np.testing.assert_array_equal(prior.mean(gram), flat.mean(gram))
    np.testing.assert_allclose(prior.covariance(gram), flat.covariance(gram), rtol=1e-15)
    np.testing.assert_allclose(prior.precision(gram), flat.precision(gram), rtol=1e-12)


def test_normal_is_a_value():
    m, S = np.arange(3.0), covariance_matrix(53, 3)
    prior = priors.Normal(m=m, sigma=S)
    assert prior == priors.Normal(m=tuple(m), sigma=tuple(map(tuple, S)))
    assert hash(prior) == hash(priors.Normal(m=list(m), sigma=S.tolist()))
    assert prior != priors.Normal(m=m + 1e-9, sigma=S)
    S[0, 0], m[0] = 99.0, 99.0
    assert prior.sigma[0][0] != 99.0
    assert prior.m[0] == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"m": np.zeros(N0 - 1)}, rf"Normal: m has {N0 - 1} values, but there are {N0} majority"),
        ({"sigma": np.eye(N0 + 2)}, rf"Normal: sigma has {N0 + 2} values, but .* {N0} majority"),
    ],
)
def test_normal_of_the_wrong_size(gram, rows, arguments, message):
    prior = priors.Normal(**arguments)
    for what in ("mean", "covariance"):
        if what[0] == next(iter(arguments))[0]:
            with pytest.raises(ValueError, match=message):
                getattr(prior, what)(gram)
    with pytest.raises(ValueError, match=message):
        _ = bdd.NormalPosterior(gram, prior).mean
    with pytest.raises(ValueError, match=message):
        bsvdd.build(gram, prior)
    with pytest.raises(ValueError, match=message):
        BDD(kernel=RBF, prior=prior).fit(rows[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sigma": np.ones((3, 2))}, r"Normal: sigma must be a square matrix, got shape \(3, 2\)"),
        ({"sigma": np.ones(3)}, r"Normal: sigma must be a square matrix, got shape \(3,\)"),
        ({"sigma": [[1.0, 2.0], [2.0, 1.0]]}, r"Normal: sigma must be .* positive definite"),
        ({"sigma": [[1.0, 1.0], [1.0, 1.0]]}, r"Normal: sigma must be .* positive definite"),
        ({"sigma": [[1.0, 0.5], [0.1, 1.0]]}, r"Normal: sigma must be symmetric"),
        ({"sigma": [[1.0, np.nan], [np.nan, 1.0]]}, r"Normal: sigma"),
        ({"sd": 0.0}, r"Normal: sd must be positive and finite"),
        ({"sd": np.inf}, r"Normal: sd must be positive and finite"),
        ({"m": [0.0, np.nan]}, r"Normal: m"),
        ({"m": [[0.0, 1.0]]}, r"Normal: m"),
    ],
    ids=repr,
)
def test_normal_errors_name_the_field(arguments, message):
    with pytest.raises(ValueError, match=message):
        priors.Normal(**arguments)


# GraphLaplacian


def graph_covariance(majority, unlabelled, k, kappa):
    """[(kappa L + I)^-1] of the majority, the graph by sorting distances row by row."""
    points = np.concatenate([majority, unlabelled])
    n = len(points)
    W = np.zeros((n, n))
    for i in range(n):
        order = sorted(
            (j for j in range(n) if j != i), key=lambda j: ((points[i] - points[j]) ** 2).sum()
        )
        for j in order[:k]:
            W[i, j] = W[j, i] = 1.0
    L = np.diag(W.sum(axis=1)) - W
    return np.linalg.inv(kappa * L + np.eye(n))[: len(majority), : len(majority)]


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize("kappa", [0.2, 1.0, 20.0])
@pytest.mark.parametrize("with_unlabelled", [True, False])
def test_graph_laplacian_by_an_explicit_graph(gram, rows, k, kappa, with_unlabelled):
    unlabelled = rows[1] if with_unlabelled else rows[1][:0]
    prior = priors.GraphLaplacian(sd=0.8, unlabelled=unlabelled, neighbors=k, smoothness=kappa)
    # the RBF kernel's distances order neighbours as those of the rows do
    expected = 0.64 * graph_covariance(rows[0], unlabelled, k, kappa)
    np.testing.assert_allclose(prior.covariance(gram), expected, atol=1e-10)
    np.testing.assert_allclose(prior.precision(gram), np.linalg.inv(expected), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(prior.mean(gram), 0.0)
    assert np.linalg.eigvalsh(prior.covariance(gram))[0] > 0


def test_graph_laplacian_is_of_the_distances_of_the_kernel(rows):
    """A column that the kernel hardly looks at makes no neighbours."""

    def kernel(A, B):
        return A[:, :1] @ B[:, :1].T + 1e-9 * A[:, 1:] @ B[:, 1:].T

    gram = Gram.from_rows(kernels.as_kernel(kernel), rows[0])
    prior = priors.GraphLaplacian(unlabelled=rows[1], neighbors=3)
    flat = [np.column_stack([part[:, 0], np.zeros(len(part))]) for part in rows[:2]]
    np.testing.assert_allclose(prior.covariance(gram), graph_covariance(*flat, 3, 1.0), atol=1e-10)
    assert np.abs(prior.covariance(gram) - graph_covariance(*rows[:2], 3, 1.0)).max() > 0.01


def test_no_smoothness_is_flat(gram, rows):
    prior = priors.GraphLaplacian(sd=0.8, unlabelled=rows[1], smoothness=0.0)
    flat = priors.Flat(0.8)
    np.testing.assert_allclose(prior.covariance(gram), flat.covariance(gram), atol=1e-12)
    ours, theirs = bdd.NormalPosterior(gram, prior), bdd.NormalPosterior(gram, flat)
    np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-9)
    np.testing.assert_allclose(ours.upper, theirs.upper, atol=1e-9)


def test_unlabelled_rows_that_bridge_two_rows_correlate_them():
    """Two clusters of three; a chain of unlabelled rows joins the nearest rows of both."""
    majority = np.array([[-5.0, 0], [-5.4, 0.3], [-5.3, -0.4], [5.0, 0], [5.4, 0.3], [5.3, -0.4]])
    gram = Gram.from_rows(kernels.RBF(3.0), majority)

    def correlation(unlabelled):
        S = priors.GraphLaplacian(unlabelled=unlabelled, neighbors=2, smoothness=50.0)
        S = S.covariance(gram)
        return S[0, 3] / np.sqrt(S[0, 0] * S[3, 3])

    bridge = np.column_stack([np.linspace(-4.5, 4.5, 10), np.zeros(10)])
    aside = bridge + np.array([0.0, 40.0])
    assert correlation(()) == pytest.approx(0.0, abs=1e-12)
    assert correlation(aside) == pytest.approx(0.0, abs=1e-12)
    assert correlation(bridge) > 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"neighbors": 0}, r"GraphLaplacian: neighbors must be at least 1, got 0"),
        ({"neighbors": 2.5}, r"GraphLaplacian: neighbors"),
        ({"smoothness": -1.0}, r"GraphLaplacian: smoothness must be at least 0 and finite"),
        ({"smoothness": np.inf}, r"GraphLaplacian: smoothness must be at least 0 and finite"),
        ({"smoothness": np.nan}, r"GraphLaplacian: smoothness must be at least 0 and finite"),
        ({"sd": -1.0}, r"GraphLaplacian: sd must be positive"),
        ({"unlabelled": [1.0, 2.0]}, r"GraphLaplacian: unlabelled"),
        ({"unlabelled": [[1.0, np.nan]]}, r"GraphLaplacian: unlabelled"),
    ],
    ids=repr,
)
def test_graph_laplacian_errors_name_the_field(arguments, message):
    with pytest.raises(ValueError, match=message):
        priors.GraphLaplacian(**arguments)


def test_graph_laplacian_errors_of_the_rows(gram):
    with pytest.raises(ValueError, match=rf"neighbors={N0} needs more than that many rows"):
        priors.GraphLaplacian(neighbors=N0).covariance(gram)
    with pytest.raises(ValueError, match="unlabelled"):
        priors.GraphLaplacian(unlabelled=np.ones((4, 3))).covariance(gram)


PRIORS = [
    priors.GraphLaplacian(sd=0.9, unlabelled=((0.5, 0.5), (1.0, -1.0)), neighbors=3),
    priors.Normal(sd=0.8, m=np.linspace(-1, 1, N0), sigma=covariance_matrix(54)),
    priors.GaussianProcess(sd=0.8, kernel=kernels.RBF(2.0), nugget=0.1),
]


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
def test_exact_posterior_of_bdd_and_nuts_agree(gram, prior, worst_z):
    scale = 2.0
    S, m = prior.covariance(gram), prior.mean(gram)
    covariance = np.linalg.inv(scale * N0 * gram.K + np.linalg.inv(S))
    mean = covariance @ (scale * gram.r + np.linalg.solve(S, m))
    form = bdd.NormalPosterior(gram, prior, scale)
    exact, upper = form.mean, form.upper
    np.testing.assert_allclose(exact, mean, atol=1e-8)
    np.testing.assert_allclose(np.linalg.inv(upper.T @ upper), covariance, atol=1e-8)
    tree = sample(bdd.build(gram, prior, scale), "nuts", draws=2000, tune=500, chains=2, seed=5)
    w = tree["posterior"]["w"].values
    error = w - mean
    assert worst_z(w, mean) < 4.5
    assert worst_z(error[..., :, None] * error[..., None, :], covariance) < 4.5
    flat = np.linalg.inv(scale * N0 * gram.K + np.eye(N0) / prior.sd**2)
    assert worst_z(error[..., :, None] * error[..., None, :], flat) > 10


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("cls", [BDD, BSVDD, BSVDDM])
def test_models_fit_save_and_go_on_with_the_prior(rows, tmp_path, cls, prior):
    X, y = np.concatenate([rows[0], rows[2]]), np.repeat([0, 1], [N0, 3])
    est = cls(kernel=RBF, prior=prior, draws=50, tune=50, chains=2).fit(X, y)
    w = est.idata_["posterior"]["w"].values
    assert np.isfinite(w).all()
    if cls is not BDD:
        np.testing.assert_allclose(w.sum(axis=2), 1.0, atol=1e-10)
    est.save(tmp_path / "fit.nc")
    new = package.load(tmp_path / "fit.nc")
    assert new.prior == prior
    np.testing.assert_array_equal(new.score_samples(rows[1]), est.score_samples(rows[1]))
    assert est.with_cutoff(Cutoff("f1", cv="train")).cutoff_ > 0
    again = cls(kernel=RBF, prior=priors.Flat(), draws=50, tune=50, chains=2).fit(X, y)
    np.testing.assert_array_equal(again.with_prior(prior).score_samples(X), est.score_samples(X))


def test_graph_laplacian_over_majority_points_only(rows):
    """Minority points of the dictionary are no part of the graph."""
    gram = Gram.from_rows(RBF, rows[0], rows[2])
    prior = priors.GraphLaplacian(unlabelled=rows[1], neighbors=3)
    expected = graph_covariance(*rows[:2], 3, 1.0)
    np.testing.assert_allclose(prior.covariance(gram), expected, atol=1e-10)


# TruncatedNormal


@pytest.mark.parametrize(("mean", "sd"), [(0.0, 1.0), (0.7, 0.2), (-3.0, 1.0), (4.0, 0.5)], ids=str)
def test_truncated_normal_is_the_normal_on_the_unit_interval(rows, mean, sd):
    gram = Gram.from_rows(RBF, rows[0], rows[2])
    model = bsvdd_m.build(gram, priors.Flat(), priors.TruncatedNormal(mean, sd))
    draws = pm.draw(model["alpha1"], 2000, random_seed=6, mode=PYTHON)
    assert draws.shape == (2000, 3)
    assert draws.min() >= 0
    assert draws.max() <= 1
    law = truncnorm((0 - mean) / sd, (1 - mean) / sd, loc=mean, scale=sd)
    error = np.abs(draws.mean(axis=0) - law.mean()) / (law.std() / np.sqrt(2000))
    assert error.max() < 4.5
    for quantile in (0.1, 0.5, 0.9):
        share = (draws <= law.ppf(quantile)).mean()
        assert abs(share - quantile) < 4.5 * np.sqrt(quantile * (1 - quantile) / 6000)
    # PyMC holds the bounds in single precision, so its norming constant has 1e-7; the rest is exact
    values = np.array([0.05, 0.5, 0.95])
    logp = pm.logp(model["alpha1"], values).eval(mode=PYTHON)
    np.testing.assert_allclose(logp, law.logpdf(values), atol=1e-6)
    np.testing.assert_allclose(np.diff(logp), np.diff(law.logpdf(values)), rtol=1e-10)


def test_truncated_normal_errors():
    with pytest.raises(ValueError, match=r"TruncatedNormal: sd must be positive and finite, got 0"):
        priors.TruncatedNormal(sd=0.0)
    with pytest.raises(ValueError, match=r"TruncatedNormal: mean must be finite, got nan"):
        priors.TruncatedNormal(np.nan)
    with pytest.raises(TypeError, match=r"TruncatedNormal: sd must be a number, got 'a'"):
        priors.TruncatedNormal(sd="a")
    for wrong in ("a", True):
        with pytest.raises(TypeError, match=r"TruncatedNormal: mean must be a number, or one"):
            priors.TruncatedNormal(wrong)
    with pytest.raises(ValueError, match=r"TruncatedNormal: mean must be a list of finite numbers"):
        priors.TruncatedNormal([0.0, np.inf])
    with pytest.raises(ValueError, match=r"TruncatedNormal: sigma must be a square matrix, got sh"):
        priors.TruncatedNormal(sigma=np.ones((2, 3)))
    with pytest.raises(ValueError, match=r"TruncatedNormal: sigma must be .* positive definite"):
        priors.TruncatedNormal(sigma=[[1.0, 2.0], [2.0, 1.0]])


def test_truncated_normal_of_the_wrong_size(rows):
    gram = Gram.from_rows(RBF, rows[0], rows[2])
    for prior, field in (
        (priors.TruncatedNormal([0.0, 1.0]), "mean"),
        (priors.TruncatedNormal(sigma=np.eye(2)), "sigma"),
    ):
        message = rf"TruncatedNormal: {field} has 2 values, but there are 3 minority rows"
        with pytest.raises(ValueError, match=message):
            bsvdd_m.build(gram, priors.Flat(), prior)


def test_truncated_normal_is_a_value():
    m, S = np.array([0.2, 0.9]), np.array([[1.0, 0.3], [0.3, 2.0]])
    prior = priors.TruncatedNormal(m, 0.5, S)
    assert prior == priors.TruncatedNormal((0.2, 0.9), 0.5, tuple(map(tuple, S)))
    assert len({prior, priors.TruncatedNormal(m.tolist(), 0.5, S.tolist())}) == 1
    m[0], S[0, 0] = 9.0, 9.0
    assert prior.mean[0] == 0.2 and prior.sigma[0][0] == 1.0


def test_a_mean_for_each_minority_row(rows):
    gram = Gram.from_rows(RBF, rows[0], rows[2])
    means, sd = np.array([-1.0, 0.3, 4.0]), 0.5
    with pm.Model(coords={"minority": range(3)}):
        x = priors.TruncatedNormal(means, sd)(gram, "x", "minority")
        draws = pm.draw(x, 3000, random_seed=1, mode=PYTHON)
    law = truncnorm((0 - means) / sd, (1 - means) / sd, means, sd)
    error = np.abs(draws.mean(axis=0) - law.mean()) / (law.std() / np.sqrt(3000))
    assert error.max() < 4.5


def test_correlated_truncated_normal_is_a_variable(rows):
    """Its log density is that of the normal but for a constant, and it can be drawn from."""
    gram = Gram.from_rows(RBF, rows[0], rows[2])
    m, sd = np.array([0.2, 0.5, 1.4]), 0.6
    S = np.array([[1.0, -0.8, 0.1], [-0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])
    with pm.Model(coords={"minority": range(3)}):
        x = priors.TruncatedNormal(m, sd, S)(gram, "x", "minority")
        draws = pm.draw(x, 1500, random_seed=1, mode=PYTHON)
        points = np.random.default_rng(57).uniform(size=(5, 3))
        logp = np.array([float(pm.logp(x, point).eval(mode=PYTHON)) for point in points])
        outside = float(pm.logp(x, np.array([0.5, 0.5, 1.01])).eval(mode=PYTHON))
    law = multivariate_normal(m, sd**2 * S)
    np.testing.assert_allclose(np.diff(logp), np.diff(law.logpdf(points)), rtol=1e-9)
    assert outside == -np.inf
    free = law.rvs(1_000_000, random_state=2)
    free = free[((free >= 0) & (free <= 1)).all(axis=1)]
    assert draws.min() >= 0 and draws.max() <= 1
    error = np.abs(draws.mean(axis=0) - free.mean(axis=0)) / (draws.std(axis=0) / np.sqrt(1500))
    assert error.max() < 4.5
    np.testing.assert_allclose(np.corrcoef(draws.T), np.corrcoef(free.T), atol=0.1)


def test_graph_laplacian_with_a_precomputed_kernel(rows):
    """Without unlabelled rows it is that of the kernel; with them it has no values for them."""
    kernel = kernels.Precomputed()
    gram = Gram.from_rows(kernel, kernel.training_rows(RBF(rows[0])))
    expected = priors.GraphLaplacian().covariance(Gram.from_rows(RBF, rows[0]))
    np.testing.assert_allclose(priors.GraphLaplacian().covariance(gram), expected, atol=1e-12)
    message = "GraphLaplacian: a precomputed kernel has no values between unlabelled rows; use"
    with pytest.raises(ValueError, match=message):
        priors.GraphLaplacian(unlabelled=rows[1]).covariance(gram)
    with pytest.raises(ValueError, match=message):
        BDD(kernel=kernel, prior=priors.GraphLaplacian(unlabelled=rows[1])).fit(RBF(rows[0]))


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("cls", [BDD, BSVDD])
def test_folds_take_their_own_rows_of_a_normal_prior(cls):
    """Cutoff(cv=3) is that of fits by hand, each with its rows' part of m and of sigma.

    Each fold scores its rows by its own rule; scores have their distances in the fit to all rows.
    """
    rng = np.random.default_rng(55)
    y = rng.permutation(np.repeat([0, 1], [18, 6]))
    X = rng.normal(size=(24, 2)) + 1.5 * y[:, None]
    m, S = np.linspace(-2, 2, 18), covariance_matrix(56, 18)
    few = dict(kernel=RBF, draws=30, tune=30, chains=1)
    est = cls(prior=priors.Normal(m=m, sigma=S), cutoff=Cutoff("g_mean", cv=3), **few).fit(X, y)
    seed = int(check_random_state(0).randint(2**31 - 1))
    place = np.cumsum(y == 0) - 1  # of a majority row among the majority rows
    score = np.empty(24)
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        kept = place[train][y[train] == 0]
        part = priors.Normal(m=m[kept], sigma=S[np.ix_(kept, kept)])
        fold = cls(prior=part, cutoff=1.0, **few).fit(X[train], y[train])
        score[test] = score_of(fold, median_distance(fold, X[test]))
    cutoff = Cutoff("g_mean").choose(distance_of(est, score), y == 1)
    assert est.cutoff_ == pytest.approx(cutoff, rel=1e-6)
    assert est.offset_ == pytest.approx(score_of(est, cutoff), rel=1e-6)
