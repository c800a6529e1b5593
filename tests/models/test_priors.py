"""Priors: their numbers by formula, what a prior must be and return, and their rows in folds."""

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference.density import Density
from bsvdd.models import Gram, bsvdd
from scipy import stats
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import OneClassSVM
from sklearn.utils import check_random_state

from bsvdd import BDD, BDDM, Cutoff, cutoffs, kernels
from bsvdd import priors as P
from tests.cases import covariance
from tests.scores import score_of, thresholds, values_of

RNG = np.random.default_rng(50)
N0, N1 = 12, 3
MAJORITY = RNG.normal(size=(N0, 2))
MINORITY = RNG.normal(size=(N1, 2)) + 2
RBF = kernels.RBF(1.5)
GRAM, TWO = Gram.from_rows(RBF, MAJORITY), Gram.from_rows(RBF, MAJORITY, MINORITY)
ROW_SUMS = np.array([sum(RBF([u], [x])[0, 0] for x in MAJORITY) for u in MAJORITY])
NEGATIVE = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [-4.0]]))  # sums -1, -2, 4
CIRCLE = np.array([[np.cos(t), np.sin(t)] for t in 2 * np.pi * np.arange(7) / 7])
EQUAL = Gram.from_rows(RBF, CIRCLE)  # equal row sums
PYTHON = "FAST_COMPILE"  # a few numbers: no machine code

# means and covariances

M, S, NONE, EYE = np.linspace(-2, 3, N0), covariance(51, N0), np.zeros(N0), np.eye(N0)
LOG = np.log(ROW_SUMS) - np.log(ROW_SUMS).mean()
NUMBERS = [
    *((P.RowSum(0.7, exponent=e), GRAM, -(ROW_SUMS**e), 0.49 * EYE) for e in (0.3, 0.5, 1.0)),
    *((P.InverseRowSum(power=p), TWO, -p * LOG, EYE) for p in (0.0, 0.5, 1.0)),
    (P.RowSum(), NEGATIVE, [1.0, 2.0, -4.0], np.eye(3)),
    (P.StandardizedRowSum(), TWO, -stats.zscore(ROW_SUMS), EYE),
    (P.StandardizedRowSum(), EQUAL, np.zeros(7), np.eye(7)),
    (P.Flat(0.7), TWO, NONE, 0.49 * EYE),
    (P.EqualWeights(), TWO, NONE + 1 / N0, (1.5 / N0) ** 2 * EYE),
    (P.Normal(0.7), GRAM, NONE, 0.49 * EYE),
    (P.Normal(0.7, m=2), GRAM, NONE + 2, 0.49 * EYE),
    (P.Normal(0.4, m=M, sigma=S), GRAM, M, 0.16 * S),
]


@pytest.mark.parametrize(("prior", "gram", "m", "C"), NUMBERS, ids=range(len(NUMBERS)))
def test_mean_covariance_and_density_are_those_of_the_formula(prior, gram, m, C):
    np.testing.assert_allclose(prior.mean(gram), m, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(prior.covariance(gram), C, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(prior.precision(gram) @ C, np.eye(len(C)), atol=1e-7)
    x = m + np.linalg.cholesky(C) @ np.random.default_rng(52).normal(size=len(C))
    expected = stats.multivariate_normal(m, C).logpdf(x)
    assert prior.log_density(gram, x) == pytest.approx(expected, abs=1e-7)


def test_svdd_prior_has_the_weights_of_svdd_as_median():
    rows = np.random.default_rng(80).normal(size=(40, 2))
    gram, part = Gram.from_rows(kernels.RBF(1.0), rows), rows[:30]
    machine = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.2, tol=1e-10).fit(rows)
    alpha = np.zeros(40)
    alpha[machine.support_] = machine.dual_coef_[0] / machine.dual_coef_.sum()
    found = np.exp(P.SVDDWeights(outlier_fraction=0.2, floor=0.05).mean(gram))
    expected = alpha + 0.05 / 40
    np.testing.assert_allclose(found / found.sum(), expected / expected.sum(), atol=1e-6)
    alone, with_minority = (
        P.SVDDWeights().mean(Gram.from_rows(kernels.RBF(1.0), part, more))
        for more in (None, rows[30:])
    )
    np.testing.assert_allclose(with_minority, alone, atol=1e-9)


@pytest.mark.parametrize(
    "make",
    [lambda m, S: P.Normal(m=m, sigma=S), lambda m, S: P.TruncatedNormal(m, 0.5)],
    ids=["Normal", "TruncatedNormal"],
)
def test_priors_of_vectors_are_values(make):
    m, S = np.arange(3.0), covariance(53, 3)
    prior = make(m, S)
    assert prior == make(tuple(m), tuple(map(tuple, S))) != make(m + 1e-9, S)
    assert hash(prior) == hash(make(m.tolist(), S.tolist()))
    S[0, 0], m[0] = 99.0, 99.0
    assert prior == make(np.arange(3.0), covariance(53, 3))


# the minority's priors


@pytest.mark.parametrize("mean", [-8.0, (0.2, 0.5, 1.4)], ids=str)
@pytest.mark.parametrize("sd", [0.05, 0.5, 3.0])
def test_density_and_draws_of_a_truncated_normal(mean, sd):
    """Also where the mean is 160 sd outside."""
    m = np.broadcast_to(mean, 3)
    law = stats.truncnorm(-m / sd, (1.0 - m) / sd, m, sd)
    points = np.random.default_rng(57).uniform(size=(4, 3))
    points[3, 0] += 1.0
    prior = P.TruncatedNormal(mean, sd)
    numbers = prior.numbers(TWO, "x")
    with pm.Model(coords={"minority": range(3)}):
        x = prior(TWO, "x", "minority")
        logp = [pm.logp(x, p).sum().eval(mode=PYTHON) for p in points]
    expected = law.logpdf(points).sum(axis=1)
    np.testing.assert_allclose(logp, expected, rtol=1e-6, atol=1e-5)
    np.testing.assert_allclose(numbers.log_prior({"x": points}), expected, rtol=1e-9)
    draws = numbers.draw(500, np.random.default_rng(58))["x"]
    assert (stats.kstest(law.cdf(draws), "uniform").pvalue > 1e-4).all()


# what a prior must be and return


def test_preliz_is_the_prior_of_pymc(toy_gram):
    x = np.random.default_rng(31).normal(size=8)
    ours = Density(bsvdd.Model(preliz.StudentT(4, 0.5, 2.0)), toy_gram)
    log_prior = ours.prior.log_prior({"beta": x[None]})["beta"]
    np.testing.assert_allclose(log_prior, stats.t(4, 0.5, 2).logpdf(x).sum(), rtol=1e-12)
    truncated = bsvdd.Model(preliz.Truncated(preliz.Normal(0, 1), -1, 1))
    assert Density(truncated, toy_gram).size == 8


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("cls", [BDD, BDDM])
def test_folds_take_their_own_rows_of_a_prior(cls):
    """Cutoff(cv=3) is that of fits by hand, each with its rows' part of m and of sigma.

    Each fold scores its rows by its own rule; scores have their distances in the fit to all rows.
    """
    rng, n = np.random.default_rng(55), [18, 6]
    y = rng.permutation(np.repeat([0, 1], n))
    X, of = rng.normal(size=(24, 2)) + 1.5 * y[:, None], int(cls is BDDM)
    m, S = np.linspace(-2, 2, n[of]), covariance(56, n[of])
    place = np.cumsum(y == of) - 1  # of a row among those of its class

    def fit(kept, these, cutoff, **more):
        part = dict(m=m[kept], sigma=S[np.ix_(kept, kept)])
        if cls is BDDM:
            more["minority_prior"] = P.TruncatedNormal(part["m"], 0.5)
        else:
            more["prior"] = P.Normal(**part)
        few = dict(kernel=RBF, draws=30, tune=30, chains=1, cutoff=cutoff)
        return cls(**few, **more).fit(X[these], y[these])

    est = fit(np.arange(n[of]), slice(None), Cutoff(cutoffs.Best("g_mean"), cv=3))
    own = dict(likelihood_scale=est.likelihood_scale_)  # lambda is that of all rows
    seed, values = check_random_state(0).randint(2**31 - 1), np.empty((len(thresholds(est)), 24))
    for train, test in StratifiedKFold(3, shuffle=True, random_state=int(seed)).split(X, y):
        values[:, test] = values_of(fit(place[train][y[train] == of], train, 1.0, **own), X[test])
    found = -est.idata_["decision"]["left_out_surprise"].values
    np.testing.assert_allclose(found, score_of(est, values), rtol=1e-6, atol=1e-9)
