"""Priors: means, covariances and laws by formula; priors of PyMC and users."""

import numpy as np
import preliz
import pymc as pm
import pytest
from bsvdd.inference import sampling
from bsvdd.models import bdd, bsvdd, bsvdd_m
from bsvdd.models.kernels import RBF, Linear
from bsvdd.models.priors import Shares, describe, in_numbers, of_log_sums, of_sums
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.svm import OneClassSVM

from bsvdd import priors as P

from .helpers import covariance, gram_of, hierarchical

RNG = np.random.default_rng(50)
N0, N1 = 12, 3
MAJORITY = RNG.normal(size=(N0, 2))
ROWS, Y = np.concatenate([MAJORITY, RNG.normal(size=(N1, 2)) + 2]), np.arange(15) >= N0


GRAM, TWO = gram_of(RBF(1.5), MAJORITY), gram_of(RBF(1.5), ROWS, Y)
ROW_SUMS = RBF(1.5)(MAJORITY, MAJORITY).sum(axis=1)
LINE = gram_of(Linear(), np.array([[1.0], [2.0], [-4.0]]))  # row sums -1, -2, 4
CIRCLE = np.array([[np.cos(t), np.sin(t)] for t in 2 * np.pi * np.arange(7) / 7])
EQUAL = gram_of(RBF(1.5), CIRCLE)  # equal row sums
M, S, NONE, EYE = np.linspace(-2, 3, N0), covariance(51, N0), np.zeros(N0), np.eye(N0)
LOG = np.log(ROW_SUMS) - np.log(ROW_SUMS).mean()
NUMBERS = [
    *(
        (P.RowSum(0.7, exponent=e), GRAM, -(ROW_SUMS**e), 0.49 * EYE)
        for e in (0.3, 0.5, 1.0)
    ),
    *((P.InverseRowSum(power=p), TWO, -p * LOG, EYE) for p in (0.0, 0.5, 1.0)),
    (P.RowSum(), LINE, np.array([1.0, 2.0, -4.0]), np.eye(3)),
    (P.StandardizedRowSum(), TWO, -stats.zscore(ROW_SUMS), EYE),
    (P.StandardizedRowSum(), EQUAL, np.zeros(7), np.eye(7)),
    (P.Flat(0.7), TWO, NONE, 0.49 * EYE),
    (P.EqualWeights(), TWO, NONE + 1 / N0, (1.5 / N0) ** 2 * EYE),
    (P.Normal(0.7), GRAM, NONE, 0.49 * EYE),
    (P.Normal(0.7, m=2), GRAM, NONE + 2, 0.49 * EYE),
    (P.Normal(0.4, m=M, sigma=S), GRAM, M, 0.16 * S),
]


@pytest.mark.parametrize("of", [of_sums, of_log_sums], ids=["weights", "log weights"])
@pytest.mark.parametrize(("prior", "gram", "m", "C"), NUMBERS, ids=range(len(NUMBERS)))
def test_mean_and_covariance_are_those_of_the_formula(prior, gram, m, C, of):
    """Each row is an atom of one group: the prior of an atom is that of its row."""
    found, order = of(prior, gram), gram.of_row[: len(m)]
    assert_allclose(found.m[order], m, rtol=1e-9, atol=1e-14)
    precision = found.precision[np.ix_(order, order)]
    assert_allclose(precision @ C, np.eye(len(C)), atol=1e-8)
    v = np.random.default_rng(1).normal(size=len(C))
    of_atom = np.empty(len(C))
    of_atom[order] = v
    assert_allclose(found.times_covariance(of_atom)[order], C @ v, rtol=1e-9)


def test_the_prior_of_an_atom_has_the_moments_of_the_sum_of_its_rows():
    """N_g / e_g sums of e_g independent weights; simulated for whole e_g."""
    rows = np.repeat(MAJORITY, [1, 2, 3, *[1] * 9], axis=0)
    gram = gram_of(RBF(1.5), rows, None, np.full(len(rows), 2.0))
    sizes = gram.sizes
    assert_allclose(np.sort(gram.effective), [1.0] * 10 + [2.0, 3.0])
    assert_allclose(gram.effective, sizes)
    rng, sd = np.random.default_rng(3), 0.6
    flat = of_log_sums(P.Flat(sd), gram)
    for g in range(12):
        e = round(sizes[g])
        sums = np.exp(sd * rng.normal(size=(200_000, e))).sum(axis=1)
        law = stats.lognorm(flat.sd[g], scale=np.exp(flat.m[g]))
        assert law.mean() == pytest.approx(sums.mean(), rel=0.01)
        assert law.std() == pytest.approx(sums.std(), rel=0.03)
        free = of_sums(P.EqualWeights(sd=sd), gram)
        n0 = gram.n0
        assert free.m[g] == pytest.approx(e / n0)
        assert free.sd[g] == pytest.approx(np.sqrt(e) * sd / n0)


def test_a_very_wide_prior_of_sums_is_finite():
    """log(1 + (e^v - 1) / e_g) is v - log e_g; e^v was infinite."""
    gram = gram_of(RBF(1.5), np.repeat(MAJORITY, 2, axis=0), None, np.full(24, 2.0))
    found = of_log_sums(P.Flat(40.0), gram)
    assert_allclose(found.sd**2, 1600.0 - np.log(2.0))


def test_svdd_prior_has_the_weights_of_svdd_as_median():
    rows = np.random.default_rng(80).normal(size=(40, 2))
    machine = OneClassSVM(kernel="rbf", gamma=0.5, nu=0.2, tol=1e-10).fit(rows)
    alpha = np.zeros(40)
    alpha[machine.support_] = machine.dual_coef_[0] / machine.dual_coef_.sum()
    expected = alpha + 0.05 / 40
    y = np.repeat([False, True], [40, 6])
    both = np.concatenate([rows, rows[:6] + 0.1])
    for gram in (gram_of(RBF(1.0), rows), gram_of(RBF(1.0), both, y)):
        m = P.SVDDWeights(outlier_fraction=0.2, floor=0.05).mean(gram)
        found = np.exp(m)[gram.of_row[:40]]
        assert_allclose(found / found.sum(), expected / expected.sum(), atol=1e-6)
        assert m.mean() == pytest.approx(0.0, abs=1e-12)


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
    assert "0x" not in describe(prior) and describe(P.Flat(2.0)) == "Flat(sd=2.0)"


# of a minority: the map of normals has the law


@pytest.mark.parametrize("mean", [-8.0, (0.2, 0.5, 1.4)], ids=str)
@pytest.mark.parametrize("sd", [0.05, 0.5, 3.0])
def test_a_truncated_normal_has_its_law(mean, sd):
    """Also where the mean is 160 sd outside."""
    of_rows = mean if np.ndim(mean) == 0 else np.append(np.zeros(N0), mean)
    variable = in_numbers(P.TruncatedNormal(of_rows, sd), TWO)
    m = np.broadcast_to(mean, 3) if np.ndim(mean) == 0 else np.array(mean)
    m = m[np.argsort(TWO.of_row[N0:])]
    assert_array_equal(variable.m, m)
    if mean == -8.0 and sd < 3.0:  # PyMC draws what is 0 to the last digit
        assert (variable.of_normal(RNG.normal(size=(9, 3)))[0] <= 0.5).all()
        return
    law = stats.truncnorm(-m / sd, (1.0 - m) / sd, m, sd)
    z = np.random.default_rng(58).normal(size=(500, 3))
    assert_allclose(law.cdf(variable.of_normal(z)[0]), stats.norm.cdf(z), atol=1e-7)


@pytest.mark.parametrize(
    ("a", "b", "total"), [(1, 1, None), (2, 5, None), (0.5, 3, 1.5)]
)
def test_a_beta_has_its_law_and_its_total(a, b, total):
    variable = in_numbers(P.Beta(a, b, total), TWO)
    assert isinstance(variable, Shares)
    z = np.random.default_rng(58).normal(size=(500, 3))
    law = stats.beta(a, b, scale=1.0 if total is None else total / N1)
    assert_allclose(law.cdf(variable.of_normal(z)[0]), stats.norm.cdf(z), atol=1e-9)


# of the user, and draws beside PyMC's


DRAWN = {
    "BSVDD, Flat": bsvdd.BSVDD(GRAM, P.Flat(1.5)),
    "BSVDD, Normal": bsvdd.BSVDD(GRAM, P.Normal(m=M, sigma=S)),
    "BSVDD, hierarchical": bsvdd.BSVDD(GRAM, hierarchical),
    "BDD, PreliZ": bdd.BDD(GRAM, preliz.StudentT(4, 0.5, 2.0)),
    "BSVDD-M, Beta": bsvdd_m.BSVDDM(
        TWO, P.StandardizedRowSum(), 1.0, P.Beta(2, 3, total=1.0)
    ),
    "BSVDD-M, truncated": bsvdd_m.BSVDDM(
        TWO, P.Flat(), 1.0, P.TruncatedNormal(0.3, 0.5)
    ),
}


@pytest.mark.parametrize("name", DRAWN)
def test_draws_of_the_prior_have_the_distribution_of_those_of_pymc(name):
    model = DRAWN[name]
    expected = pm.draw(model.build()["w"], 400, random_seed=7, mode="FAST_COMPILE")
    w = sampling.draw_prior(model, 400, 8).w
    for j in (0, 5, -1):
        assert stats.ks_2samp(w[:, j], expected[:, j]).pvalue > 1e-3
    assert_array_equal(sampling.draw_prior(model, 400, 8).w, w)
    assert not np.array_equal(sampling.draw_prior(model, 400, 9).w, w)
