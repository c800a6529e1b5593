"""Priors: their numbers by formula, what a prior must be and return, and fits with them."""

import re

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference.density import Density
from bsvdd.inference.sampling import sample
from bsvdd.models import Gram, bdd, bsvdd, bsvdd_m
from scipy import stats
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import OneClassSVM
from sklearn.utils import check_random_state

import bsvdd as package
from bsvdd import BDD, BSVDD, BSVDDM, Cutoff, kernels, priors
from tests.scores import score_of, thresholds, values_of

RNG = np.random.default_rng(50)
N0, N1 = 12, 3
MAJORITY, UNLABELLED = RNG.normal(size=(N0, 2)), RNG.normal(size=(9, 2)) * 1.5
MINORITY = RNG.normal(size=(N1, 2)) + 2
RBF = kernels.RBF(1.5)
GRAM, TWO = Gram.from_rows(RBF, MAJORITY), Gram.from_rows(RBF, MAJORITY, MINORITY)
ROW_SUMS = np.array([sum(RBF([u], [x])[0, 0] for x in MAJORITY) for u in MAJORITY])
NEGATIVE = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [-4.0]]))  # sums -1, -2, 4
PYTHON = "FAST_COMPILE"  # a few numbers: no machine code


def covariance_matrix(seed, n=N0):
    A = np.random.default_rng(seed).normal(size=(n, n))
    return A @ A.T / n + 0.3 * np.eye(n)


# means and covariances

M, S, NONE, EYE = np.linspace(-2, 3, N0), covariance_matrix(51), np.zeros(N0), np.eye(N0)
CIRCLE = np.array([[np.cos(t), np.sin(t)] for t in 2 * np.pi * np.arange(7) / 7])
EQUAL = Gram.from_rows(RBF, CIRCLE)  # equal row sums
MEDIAN = kernels.RBF("median")
P = priors
NUMBERS = [
    *((P.RowSum(0.7, exponent=e), GRAM, -(ROW_SUMS**e), 0.49 * EYE) for e in (0.3, 0.5, 1.0)),
    (P.RowSum(), NEGATIVE, [1.0, 2.0, -4.0], np.eye(3)),
    (P.StandardizedRowSum(), TWO, -stats.zscore(ROW_SUMS), EYE),
    (P.StandardizedRowSum(), EQUAL, np.zeros(7), np.eye(7)),
    (P.Flat(0.7), TWO, NONE, 0.49 * EYE),
    (P.EqualWeights(), TWO, NONE + 1 / N0, (1.5 / N0) ** 2 * EYE),
    (P.Normal(0.7), GRAM, NONE, 0.49 * EYE),
    (P.Normal(0.4, m=M, sigma=S), GRAM, M, 0.16 * S),
    (P.GaussianProcess(2.0, nugget=0.1), TWO, NONE, 4 * (RBF(MAJORITY) + 0.1 * EYE)),
    (
        P.GaussianProcess(kernel=MEDIAN, nugget=1e-3),
        GRAM,
        NONE,
        MEDIAN.resolve(MAJORITY)(MAJORITY) + 1e-3 * EYE,
    ),
    (P.GraphLaplacian(0.8, unlabelled=UNLABELLED, smoothness=0.0), GRAM, NONE, 0.64 * EYE),
]


@pytest.mark.parametrize(("prior", "gram", "m", "C"), NUMBERS, ids=range(len(NUMBERS)))
def test_mean_covariance_and_density_are_those_of_the_formula(prior, gram, m, C):
    np.testing.assert_allclose(prior.mean(gram), m, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(prior.covariance(gram), C, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(prior.precision(gram) @ C, np.eye(len(C)), atol=1e-8)
    point = np.random.default_rng(52).normal(size=len(C))
    with pm.Model(coords={"majority": range(len(C))}):
        logp = pm.logp(prior(gram, "x", "majority"), point).eval(mode=PYTHON).sum()
    assert logp == pytest.approx(stats.multivariate_normal(m, C).logpdf(point), abs=1e-8)
    twice = Gram.from_rows(RBF, MAJORITY[[0, 0, 1]])  # K is singular
    assert np.isfinite(priors.GaussianProcess().precision(twice)).all()


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_inverse_row_sums_are_powers_of_the_row_sums(power):
    weights = np.exp(priors.InverseRowSum(power=power).mean(TWO))
    expected = ROW_SUMS**-power
    np.testing.assert_allclose(weights / weights.sum(), expected / expected.sum())
    assert np.log(weights).mean() == pytest.approx(0.0, abs=1e-12)


def test_svdd_prior_has_the_weights_of_svdd_as_median():
    rows = np.random.default_rng(80).normal(size=(40, 2))
    gram, part = Gram.from_rows(kernels.RBF(1.0), rows), rows[:30]
    machine = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.2, tol=1e-10).fit(rows)
    alpha = np.zeros(40)
    alpha[machine.support_] = machine.dual_coef_[0] / machine.dual_coef_.sum()
    found = np.exp(priors.SVDDWeights(outlier_fraction=0.2, floor=0.05).mean(gram))
    expected = alpha + 0.05 / 40
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=1e-6)
    alone, with_minority = (
        priors.SVDDWeights().mean(Gram.from_rows(kernels.RBF(1.0), part, more))
        for more in (None, rows[30:])
    )
    np.testing.assert_allclose(with_minority, alone, atol=1e-9)


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
@pytest.mark.parametrize("unlabelled", [UNLABELLED, UNLABELLED[:0]], ids=["with", "without"])
def test_graph_laplacian_by_an_explicit_graph(k, kappa, unlabelled):
    """Minority points are no part of it."""
    prior = priors.GraphLaplacian(sd=0.8, unlabelled=unlabelled, neighbors=k, smoothness=kappa)
    # the RBF kernel's distances order neighbours as those of the rows do
    expected = 0.64 * graph_covariance(MAJORITY, unlabelled, k, kappa)
    for gram in (GRAM, TWO):
        np.testing.assert_allclose(prior.covariance(gram), expected, atol=1e-10)
    np.testing.assert_allclose(prior.precision(GRAM), np.linalg.inv(expected), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(prior.mean(GRAM), 0.0)
    assert np.linalg.eigvalsh(prior.covariance(GRAM))[0] > 0


def test_graph_laplacian_is_of_the_distances_of_the_kernel():
    """A column that the kernel hardly looks at makes no neighbours."""

    def kernel(A, B):
        return A[:, :1] @ B[:, :1].T + 1e-9 * A[:, 1:] @ B[:, 1:].T

    gram = Gram.from_rows(kernels.as_kernel(kernel), MAJORITY)
    found = priors.GraphLaplacian(unlabelled=UNLABELLED, neighbors=3).covariance(gram)
    flat = [np.column_stack([p[:, 0], np.zeros(len(p))]) for p in (MAJORITY, UNLABELLED)]
    np.testing.assert_allclose(found, graph_covariance(*flat, 3, 1.0), atol=1e-10)
    assert np.abs(found - graph_covariance(MAJORITY, UNLABELLED, 3, 1.0)).max() > 0.01


def test_unlabelled_rows_that_bridge_two_rows_correlate_them():
    """Two clusters of three; a chain of unlabelled rows joins the nearest rows of both."""
    majority = np.array([[-5.0, 0], [-5.4, 0.3], [-5.3, -0.4], [5.0, 0], [5.4, 0.3], [5.3, -0.4]])
    gram = Gram.from_rows(kernels.RBF(3.0), majority)
    bridge = np.column_stack([np.linspace(-4.5, 4.5, 10), np.zeros(10)])
    aside = bridge + np.array([0.0, 40.0])
    for unlabelled, bridged in (((), False), (aside, False), (bridge, True)):
        prior = priors.GraphLaplacian(unlabelled=unlabelled, neighbors=2, smoothness=50.0)
        C = prior.covariance(gram)
        correlation = C[0, 3] / np.sqrt(C[0, 0] * C[3, 3])
        assert correlation > 0.05 if bridged else abs(correlation) < 1e-12


def test_precomputed_kernels_have_values_of_their_rows_only():
    kernel = kernels.Precomputed()
    gram = Gram.from_rows(kernel, kernel.training_rows(RBF(MAJORITY)))
    for prior in (priors.GraphLaplacian(), priors.GaussianProcess()):
        np.testing.assert_allclose(prior.covariance(gram), prior.covariance(GRAM), atol=1e-12)
    with pytest.raises(ValueError, match="GaussianProcess: kernel needs the rows"):
        priors.GaussianProcess(kernel=RBF).covariance(gram)
    message = "GraphLaplacian: a precomputed kernel has no values between unlabelled rows; use"
    prior = priors.GraphLaplacian(unlabelled=UNLABELLED)
    with pytest.raises(ValueError, match=message):
        prior.covariance(gram)
    with pytest.raises(ValueError, match=message):
        BDD(kernel=kernel, prior=prior).fit(RBF(MAJORITY))


@pytest.mark.parametrize(
    ("make", "changed"),
    [
        (lambda m, S: priors.Normal(m=m, sigma=S), lambda m, S: priors.Normal(m=m + 1e-9, sigma=S)),
        (
            lambda m, S: priors.TruncatedNormal(m, 0.5, S),
            lambda m, S: priors.TruncatedNormal(m, 0.6, S),
        ),
    ],
    ids=["Normal", "TruncatedNormal"],
)
def test_priors_of_vectors_are_values(make, changed):
    m, S = np.arange(3.0), covariance_matrix(53, 3)
    prior = make(m, S)
    assert prior == make(tuple(m), tuple(map(tuple, S))) != changed(m, S)
    assert hash(prior) == hash(make(m.tolist(), S.tolist()))
    S[0, 0], m[0] = 99.0, 99.0
    assert prior == make(np.arange(3.0), covariance_matrix(53, 3))


# the minority's priors


@pytest.mark.parametrize(
    ("mean", "sd"), [(0.0, 1.0), (0.7, 0.2), (-3.0, 1.0), ((-1.0, 0.3, 4.0), 0.5)], ids=str
)
def test_truncated_normal_is_the_normal_on_the_unit_interval(mean, sd):
    model = bsvdd_m.build(TWO, priors.Flat(), priors.TruncatedNormal(mean, sd))
    mean = np.broadcast_to(mean, N1)
    law = stats.truncnorm((0 - mean) / sd, (1 - mean) / sd, loc=mean, scale=sd)
    # PyMC holds the bounds in single precision, so its norming constant has 1e-7; the rest is exact
    values = np.repeat([[0.05], [0.5], [0.95], [-0.01], [1.01]], N1, axis=1)
    logp = np.array([pm.logp(model["alpha1"], v).eval(mode=PYTHON) for v in values])
    np.testing.assert_allclose(logp, law.logpdf(values), atol=1e-6)
    slope = np.diff(law.logpdf(values[:3]), axis=0)
    np.testing.assert_allclose(np.diff(logp[:3], axis=0), slope, rtol=1e-10)
    draws = pm.draw(model["alpha1"], 3000, random_seed=6, mode=PYTHON)
    error = np.abs(draws.mean(axis=0) - law.mean()) / (law.std() / np.sqrt(3000))
    assert error.max() < 4.5


def test_correlated_truncated_normal_is_a_variable():
    """Its log density is that of the normal but for a constant, and it can be drawn from."""
    m, sd = np.array([0.2, 0.5, 1.4]), 0.6
    S = np.array([[1.0, -0.8, 0.1], [-0.8, 1.0, 0.2], [0.1, 0.2, 1.0]])
    with pm.Model(coords={"minority": range(3)}):
        x = priors.TruncatedNormal(m, sd, S)(TWO, "x", "minority")
        draws = pm.draw(x, 1500, random_seed=1, mode=PYTHON)
        points = np.random.default_rng(57).uniform(size=(5, 3))
        logp = np.array([float(pm.logp(x, point).eval(mode=PYTHON)) for point in points])
        outside = float(pm.logp(x, np.array([0.5, 0.5, 1.01])).eval(mode=PYTHON))
    law = stats.multivariate_normal(m, sd**2 * S)
    np.testing.assert_allclose(np.diff(logp), np.diff(law.logpdf(points)), rtol=1e-9)
    assert outside == -np.inf
    free = law.rvs(1_000_000, random_state=2)
    free = free[((free >= 0) & (free <= 1)).all(axis=1)]
    assert draws.min() >= 0 and draws.max() <= 1
    error = np.abs(draws.mean(axis=0) - free.mean(axis=0)) / (draws.std(axis=0) / np.sqrt(1500))
    assert error.max() < 4.5
    np.testing.assert_allclose(np.corrcoef(draws.T), np.corrcoef(free.T), atol=0.1)


# what a prior must be and return


def test_preliz_is_the_prior_of_pymc(toy_gram):
    x = np.random.default_rng(31).normal(size=8)
    ours = Density.of(bsvdd.build(toy_gram, preliz.StudentT(4, 0.5, 2.0)))
    log_prior = ours.prior.log_prior({"beta": x[None]})["beta"]
    np.testing.assert_allclose(log_prior, stats.t(4, 0.5, 2).logpdf(x).sum(), rtol=1e-12)
    truncated = bsvdd.build(toy_gram, preliz.Truncated(preliz.Normal(0, 1), -1, 1))
    assert Density.of(truncated).size == 8


def test_a_prior_from_its_description(toy_gram):
    for cls in priors.FAMILIES:
        assert priors.from_dict({"type": cls.__name__}) == cls()
    assert priors.from_dict({"type": "Beta", "a": 2, "total": 1}) == priors.Beta(2, total=1)
    with pytest.raises(TypeError, match="see priors.from_dict"):
        bsvdd.build(toy_gram, {"type": "Flat"})


def scaled(scale):
    return lambda gram, name, dims: pm.Normal(name, 0, pm.HalfNormal(scale), dims=dims)


NO_VARIABLE = "must return the PyMC variable .* under the name 'beta'"
ONE_EACH = r"one value for each of the 8 points of 'point' \(pass"
NEGATIVE_SCALE = "prior of beta: its parameters must meet sigma > 0"


@pytest.mark.parametrize(
    ("prior", "error", "message"),
    [
        *(
            (
                wrong,
                TypeError,
                rf"prior of beta: expected a prior such as .*, got {re.escape(repr(wrong))}",
            )
            for wrong in ("flat", 3.0, priors.Flat, [priors.Flat()])
        ),
        (lambda gram, name, dims: None, TypeError, NO_VARIABLE),
        (lambda gram, name, dims: pm.Normal("other", dims=dims), TypeError, NO_VARIABLE),
        (lambda gram, name, dims: pm.Normal.dist(shape=8), TypeError, NO_VARIABLE),
        *(
            (lambda gram, name, dims, how=how: pm.Normal(name, **how), ValueError, ONE_EACH)
            for how in ({}, {"shape": 5}, {"shape": (8, 2)})
        ),
        (
            scaled("scale"),
            ValueError,
            r"prior of beta: .* makes a second free variable, 'scale'; .* name it 'beta_scale'",
        ),
        (preliz.Normal(mu=0), ValueError, r"prior of beta: .*lacks .* parameters \(mu, sigma\)"),
        (lambda g, name, dims: pm.Normal(name, 0, -1.0, dims=dims), ValueError, NEGATIVE_SCALE),
        (preliz.Normal(0, -1), ValueError, NEGATIVE_SCALE),
    ],
    ids=lambda value: re.sub(r" at 0x\w+", "", str(value)),  # the same in all processes
)
def test_what_is_no_prior_of_a_model(toy_gram, prior, error, message):
    with pytest.raises(error, match=message):
        sample(bsvdd.build(toy_gram, prior), "auto", draws=10, tune=10, chains=1)


def test_a_second_free_variable_says_whose_it_is(toy_gram):
    model = bsvdd.build(toy_gram, scaled("beta_scale"))
    assert [v.name for v in model.free_RVs] == ["beta_scale", "beta"]


def test_models_need_their_priors_and_rows(toy_gram):
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'prior'"):
        bsvdd.build(GRAM)
    with pytest.raises(TypeError, match="required positional argument: 'minority_prior'"):
        bsvdd_m.build(GRAM, priors.Flat())
    with pytest.raises(ValueError, match=r"there is none \(n1 = 0\); give y with at least one"):
        bsvdd_m.build(toy_gram, priors.Flat(), priors.Beta())


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        (priors.Normal(m=np.zeros(11)), "Normal: m has 11 values, but there are 12 majority"),
        (priors.Normal(sigma=np.eye(14)), "Normal: sigma has 14 values, but .* 12 majority"),
        (priors.GraphLaplacian(neighbors=N0), f"neighbors={N0} needs more than that many rows"),
        (priors.GraphLaplacian(unlabelled=np.ones((4, 3))), "unlabelled"),
    ],
    ids=range(4),
)
def test_priors_that_do_not_fit_the_rows(prior, message):
    for use in (
        lambda: bdd.NormalPosterior(GRAM, prior).mean,
        lambda: bsvdd.build(GRAM, prior),
        lambda: BDD(kernel=RBF, prior=prior).fit(MAJORITY),
    ):
        with pytest.raises(ValueError, match=message):
            use()


@pytest.mark.parametrize("field", ["mean", "sigma"])
def test_minority_priors_that_do_not_fit_the_rows(field):
    prior = priors.TruncatedNormal(**{field: [0.0, 1.0] if field == "mean" else np.eye(2)})
    message = rf"TruncatedNormal: {field} has 2 values, but there are 3 minority rows"
    with pytest.raises(ValueError, match=message):
        bsvdd_m.build(TWO, priors.Flat(), prior)


NO_NUMBERS = [
    (P.Flat, {"sd": 0}, "Flat: sd must be positive and finite, got 0"),
    (P.RowSum, {"sd": np.inf}, "RowSum: sd must be positive and finite"),
    (P.RowSum, {"exponent": 1.5}, r"exponent must lie in \(0, 1\], got 1.5"),
    (P.RowSum, {"exponent": 0}, r"exponent must lie in \(0, 1\], got 0"),
    (P.StandardizedRowSum, {"sd": "1"}, "sd must be a number, got '1'"),
    (P.Flat, {"sd": True}, "Flat: sd must be a number, got True"),
    (P.Beta, {"a": -1}, "Beta: a must be positive and finite, got -1"),
    (P.Beta, {"b": 0}, "Beta: b must be positive and finite, got 0"),
    (P.Beta, {"total": 0}, "Beta: total must be positive and finite, got 0"),
    *((P.InverseRowSum, {"power": power}, "power must lie in") for power in (-0.1, 1.1)),
    *((P.SVDDWeights, {n: v}, "must lie in") for n, v in (("outlier_fraction", 0.0), ("floor", 2))),
    (P.SVDDWeights, {"floor": 0.0}, "must lie in"),
    (P.GaussianProcess, {"kernel": kernels.Precomputed()}, "must be a function of rows"),
    (P.GaussianProcess, {"nugget": 0}, "GaussianProcess: nugget must be positive and finite"),
    (P.Normal, {"sd": 0.0}, "Normal: sd must be positive and finite"),
    (P.Normal, {"sd": np.inf}, "Normal: sd must be positive and finite"),
    *(
        (P.Normal, {"sigma": sigma}, f"Normal: sigma{message}")
        for sigma, message in (
            (np.ones((3, 2)), r" must be a square matrix, got shape \(3, 2\)"),
            (np.ones(3), r" must be a square matrix, got shape \(3,\)"),
            ([[1.0, 2.0], [2.0, 1.0]], " must be .* positive definite"),
            ([[1.0, 1.0], [1.0, 1.0]], " must be .* positive definite"),
            ([[1.0, 0.5], [0.1, 1.0]], " must be symmetric"),
            ([[1.0, np.nan], [np.nan, 1.0]], ""),
        )
    ),
    (P.Normal, {"m": [0.0, np.nan]}, "Normal: m"),
    (P.Normal, {"m": [[0.0, 1.0]]}, "Normal: m"),
    (P.GraphLaplacian, {"neighbors": 0}, "GraphLaplacian: neighbors must be at least 1, got 0"),
    (P.GraphLaplacian, {"neighbors": 2.5}, "GraphLaplacian: neighbors"),
    *(
        (P.GraphLaplacian, {"smoothness": v}, "smoothness must be at least 0 and finite")
        for v in (-1.0, np.inf, np.nan)
    ),
    (P.GraphLaplacian, {"sd": -1.0}, "GraphLaplacian: sd must be positive"),
    (P.GraphLaplacian, {"unlabelled": [1.0, 2.0]}, "GraphLaplacian: unlabelled"),
    (P.GraphLaplacian, {"unlabelled": [[1.0, np.nan]]}, "GraphLaplacian: unlabelled"),
    (P.TruncatedNormal, {"sd": 0.0}, "TruncatedNormal: sd must be positive and finite, got 0"),
    (P.TruncatedNormal, {"sd": "a"}, "TruncatedNormal: sd must be a number, got 'a'"),
    (P.TruncatedNormal, {"mean": np.nan}, "TruncatedNormal: mean must be finite, got nan"),
    (P.TruncatedNormal, {"mean": [0.0, np.inf]}, "mean must be a list of finite numbers"),
    *((P.TruncatedNormal, {"mean": v}, "mean must be a number, or one") for v in ("a", True)),
    (P.TruncatedNormal, {"sigma": np.ones((2, 3))}, "sigma must be a square matrix, got sh"),
    (P.TruncatedNormal, {"sigma": [[1.0, 2.0], [2.0, 1.0]]}, "sigma must be .* positive definite"),
]


@pytest.mark.parametrize(("cls", "arguments", "message"), NO_NUMBERS, ids=str)
def test_numbers_of_priors_are_checked(cls, arguments, message):
    error = TypeError if "must be a number" in message else ValueError
    with pytest.raises(error, match=message):
        cls(**arguments)


def test_row_sums_that_have_no_power():
    with pytest.raises(ValueError, match=r"row 1 of the kernel matrix has the negative sum -2, .*"):
        priors.RowSum(exponent=0.5).mean(NEGATIVE)
    with pytest.raises(ValueError, match=r"another kernel \(RBF\), exponent=1, or another prior"):
        priors.RowSum(exponent=0.999).mean(NEGATIVE)
    with pytest.raises(ValueError, match="only a positive sum has a logarithm"):
        priors.InverseRowSum().mean(NEGATIVE)


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


# fits

PRIORS = [
    priors.GraphLaplacian(sd=0.9, unlabelled=((0.5, 0.5), (1.0, -1.0)), neighbors=3),
    priors.Normal(sd=0.8, m=np.linspace(-1, 1, N0), sigma=covariance_matrix(54)),
    priors.GaussianProcess(sd=0.8, kernel=kernels.RBF(2.0), nugget=0.1),
]
quiet = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
each_prior = pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)


@each_prior
def test_exact_posterior_of_bdd_has_the_covariance_of_the_prior(prior):
    """By inverses; and it is not that of independent weights."""
    scale, C, m = 2.0, prior.covariance(GRAM), prior.mean(GRAM)
    covariance = np.linalg.inv(scale * N0 * GRAM.K + np.linalg.inv(C))
    mean = covariance @ (scale * GRAM.r + np.linalg.solve(C, m))
    form = bdd.NormalPosterior(GRAM, prior, scale)
    exact, upper = form.mean, form.upper
    np.testing.assert_allclose(exact, mean, atol=1e-8)
    np.testing.assert_allclose(np.linalg.inv(upper.T @ upper), covariance, atol=1e-8)
    flat = np.linalg.inv(scale * N0 * GRAM.K + np.eye(N0) / prior.sd**2)
    assert np.abs(flat - covariance).max() > 0.01


@quiet
@each_prior
@pytest.mark.parametrize("cls", [BDD, BSVDD, BSVDDM])
def test_models_fit_save_and_go_on_with_the_prior(tmp_path, cls, prior):
    X, y = np.concatenate([MAJORITY, MINORITY]), np.repeat([0, 1], [N0, N1])
    few = dict(kernel=RBF, draws=50, tune=50, chains=2)
    est = cls(prior=prior, **few).fit(X, y)
    w = est.idata_["posterior"]["w"].values
    assert np.isfinite(w).all()
    if cls is not BDD:
        np.testing.assert_allclose(w.sum(axis=2), 1.0, atol=1e-10)
    est.save(tmp_path / "fit.nc")
    new = package.load(tmp_path / "fit.nc")
    assert new.prior == prior
    scores = est.score_samples(UNLABELLED)  # draws are saved in single precision
    np.testing.assert_allclose(new.score_samples(UNLABELLED), scores, rtol=1e-4, atol=1e-6)
    assert est.with_cutoff(Cutoff("f1", cv="train")).cutoff_ > 0
    again = cls(prior=priors.Flat(), **few).fit(X, y)
    np.testing.assert_array_equal(again.with_prior(prior).score_samples(X), est.score_samples(X))


@quiet
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
    values = np.empty((len(thresholds(est)), 24))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=seed).split(X, y):
        kept = place[train][y[train] == 0]
        part = priors.Normal(m=m[kept], sigma=S[np.ix_(kept, kept)])
        own = dict(prior=part, likelihood_scale=est.likelihood_scale_)  # lambda is that of all rows
        fold = cls(**own, cutoff=1.0, **few).fit(X[train], y[train])
        values[:, test] = values_of(fold, X[test])
    found = -est.idata_["decision"]["left_out_surprise"].values
    np.testing.assert_allclose(found, score_of(est, values), rtol=1e-6, atol=1e-9)
