"""p-values of fitted models, against refits by brute force, and what is decided by them."""

import numpy as np
import pytest
from bsvdd.estimators.questions.selection import discoveries
from bsvdd.inference.decision import three_way
from sklearn.base import clone
from sklearn.model_selection import KFold
from sklearn.utils import check_random_state

import bsvdd
from bsvdd import (
    BDD,
    BDDM,
    BSVDD,
    BSVDDM,
    SVDD,
    SVDDM,
    Cutoff,
    cutoffs,
    kernels,
    priors,
)
from tests import scores
from tests.scores import scores_left_out

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")

RNG = np.random.default_rng(70)
X = RNG.normal(size=(25, 2))
NEW = np.concatenate([RNG.normal(size=(30, 2)), RNG.normal(size=(10, 2)) * 3, [[1e4, 0.0]]])
KERNEL = kernels.RBF(0.9)
QUICK = {"draws": 100, "tune": 100, "chains": 2}
SEED = int(check_random_state(0).randint(2**31 - 1))  # of a fit with random_state=0


def count(left_out, new):
    """(1 + the number of left-out scores at or below each new one)/(n + 1), without sorting."""
    return (1 + (np.asarray(left_out)[:, None] <= new).sum(axis=0)) / (len(left_out) + 1)


# each method against refits


def test_left_out_is_by_refits_where_weights_are_equal():
    """Density estimates without each row in turn: rescaled weights are those of a refit."""
    prior = priors.Normal(sd=1e-4, m=(1 / 25,) * 25)  # so large a precision makes weights equal
    est = BDD(kernel=KERNEL, simplex=True, prior=prior).fit(X)
    np.testing.assert_allclose(est.idata_["posterior"]["w"], 1 / 25, rtol=1e-5)
    K, k_zu = KERNEL(X), KERNEL(NEW, X)
    left_out = [K[np.arange(25) != j, j].mean() for j in range(25)]
    np.testing.assert_allclose(bsvdd.p_value(est, NEW), count(left_out, k_zu.mean(axis=1)))


def test_left_out_scores_of_svdd_are_relative_to_the_sphere_of_the_fold():
    """log(s/rho) of a fold is that of all rows; rho is s on the sphere."""
    est = SVDD(kernel=KERNEL).fit(X)
    expected = np.empty(25)
    for train, test in KFold(10, shuffle=True, random_state=SEED).split(X):
        fold = SVDD(kernel=KERNEL, cutoff=1.0).fit(X[train])
        log_rho = scores.sphere_value(fold) - scores.sphere_value(est)
        expected[test] = scores.values_of(fold, X[test])[0] - log_rho
    expected = scores.score_of(est, expected[None])
    np.testing.assert_allclose(scores_left_out(est), expected, atol=1e-6)


# promises


@pytest.mark.parametrize("width", [0.05, 0.02])
def test_a_narrow_kernel_takes_no_digits(width):
    """A row that is similar to no training row has the smallest p-value."""
    est = BSVDD(kernel=kernels.RBF(width), **QUICK).fit(X)
    assert bsvdd.p_value(est, [[1.2, 1.9], [0.5, 0.5]]).max() < 0.9


ONE_CLASS = [SVDD(), BDD(**QUICK), BSVDD(**QUICK), BSVDD(dictionary=12, **QUICK)]
TWO_CLASS = [SVDDM(), BDDM(**QUICK), BSVDDM(minority_prior=priors.Beta(total=1), **QUICK)]


@pytest.fixture(scope="module", params=ONE_CLASS + TWO_CLASS, ids=range(7))
def est(request):
    y = np.repeat([0, 1], [19, 6]) if request.param in TWO_CLASS else None
    return clone(request.param).fit(X, y)


@pytest.mark.filterwarnings("ignore:no row is selected")
def test_the_cutoff_of_a_rate_and_p_values_order_alike_by_every_way_in(est):
    expected = bsvdd.p_value(est, NEW)
    for rate in (0.1, 0.2, 0.5):
        new = est.with_cutoff(cutoffs.FalseAlarm(rate))
        flagged = new.predict(NEW) == -1
        assert flagged.sum() < len(NEW)
        p = bsvdd.p_value(new, NEW)
        assert p[flagged].max(initial=0.0) <= p[~flagged].min()
        near = 2.01 / 20  # D_opt of the draws lies about the quantile
        assert (p[flagged] <= rate + near).all() and (p[~flagged] > rate - near).all()
        np.testing.assert_array_equal(bsvdd.select(est, NEW, rate), discoveries(expected, rate))


def test_undecided_rows_are_in_the_decision():
    table = BSVDD(cutoff=Cutoff(undecided=(0.2, 0.8)), **QUICK).fit(X).decision(NEW)
    p, error = table["probability_normal"], table["probability_error"]
    expected = three_way(p.to_numpy(), error.to_numpy(), 0.2, 0.8)
    assert table["decision"].tolist() == expected.tolist() and "undecided" in expected
    assert "decision" not in BDD(**QUICK).fit(X).decision(NEW)
    one = SVDD(kernel=KERNEL, cutoff=Cutoff(undecided=(0.2, 0.8))).fit(X).decision(NEW)
    p = one["probability_normal"].to_numpy()  # of 2,000 draws of the cutoff
    np.testing.assert_allclose(one["probability_error"], np.sqrt(p * (1.0 - p) / 2000))


def test_a_cutoff_beyond_all_rows_is_warned_of():
    """BDD with a very narrow kernel: the norm of a draw moves more than rows differ."""
    with pytest.warns(bsvdd.inference.warning.DiagnosticWarning, match="these are called normal"):
        BDD(kernel=kernels.RBF(0.05), random_state=1).fit(X)
