"""A row's answer is a function of the row: alone, in halves, with all and among many it is one."""

import numpy as np
import pytest
from bsvdd.estimators.p_values import METHODS, Fold, fold_of
from bsvdd.estimators.questions.given import fold_given
from bsvdd.estimators.questions.p_value import with_tail
from bsvdd.estimators.questions.selection import discoveries
from bsvdd.estimators.registry import ESTIMATORS
from bsvdd.inference.center import Score
from threadpoolctl import threadpool_limits

import bsvdd
from bsvdd import BSVDD, Cutoff, cutoffs

RNG = np.random.default_rng(70)
N0, N1 = 45, 9
# small whole numbers: rows are repeated, and many rows are as far from others
X = np.concatenate([RNG.integers(0, 3, (N0, 3)), RNG.integers(1, 5, (N1, 3))]).astype(float)
Y = np.repeat([0, 1], [N0, N1])
NEW = np.concatenate([X[:5], X[-2:], RNG.integers(0, 4, (6, 3)), [[9.0, 9.0, 9.0]]])
QUICK = dict(draws=30, tune=30, chains=2)
MANY = 20  # times: enough for products of blocks, and for the bound of the variance
DECIDED = ["p_value", "probability_normal", "normal"]
SURPRISES = ["surprise", "surprise_low", "surprise_high"]

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore:Determinant has increased:RuntimeWarning"),
]


def make(name):
    record = ESTIMATORS[name]
    if name == "Views":
        return record.estimator()(estimator=BSVDD(**QUICK))
    few = {"n_estimators": 20} if name == "isolation forest" else {}
    return record.estimator()(**(QUICK if record.bayesian else few))


def ways_of(rows):
    """Return the ways to ask for rows; each gives the answers of a function to all of them."""
    n = len(rows)
    steps = {"alone": 1, "halves": -(-n // 2), "whole": n}
    ways = {
        name: lambda function, step=step: np.concatenate(
            [function(rows[i : i + step]) for i in range(0, n, step)]
        )
        for name, step in steps.items()
    }
    many = np.tile(rows, (MANY, 1))
    return ways | {"among many": lambda function: function(many)[-n:]}


def assert_one_answer(functions, rows, check):
    for what, function in functions.items():
        expected = function(rows)
        for way, ask in ways_of(rows).items():
            for threads in (1, 2) if way in ("halves", "among many") else (1,):
                with threadpool_limits(threads, user_api="blas"):
                    found = ask(function)
                check(found, expected, err_msg=f"{what}: {way}, {threads} threads of BLAS")


def assert_nearly_equal(found, expected, err_msg):
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12, err_msg=err_msg)


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
def test_answers_of_every_model(name):
    est = make(name).fit(X, Y)
    folds = {method: fold_of(est.fit_, method) for method in METHODS}
    if name in ("SVDD", "BSVDD"):  # the others have no p-value given columns
        folds |= {f"given, {method}": fold_given(est.fit_, [0], method) for method in METHODS}
    at_a_row = est.with_cutoff(Cutoff(cutoffs.Rank(0.8), cv="train", uncertain=False))
    exact = {f"p, {how}": fold.p_values for how, fold in folds.items()}
    for rule, each in {"": est, " by a training row": at_a_row}.items():
        exact |= {
            f"predict{rule}": each.predict,
            f"P(normal){rule}": each.probability_normal,
            f"decision{rule}": lambda rows, e=each: e.decision(rows)[DECIDED].to_numpy(float),
        }
    assert_one_answer(exact, NEW, np.testing.assert_array_equal)
    numbers = {
        "score_samples": est.score_samples,
        "decision_function": est.decision_function,
        "decision": lambda rows: est.decision(rows).filter(SURPRISES).to_numpy(),
    }
    assert_one_answer(numbers, NEW, assert_nearly_equal)
    # all answers agree, and a training row that is the cutoff is within it
    for each in (est, at_a_row):
        normal = each.predict(X) == 1
        for other in (
            np.concatenate([each.predict(row[None]) == 1 for row in X]),
            each.decision(X)["normal"],
            each.score_samples(X) >= 0.0,
            each.probability_normal(X) > 0.5,
        ):
            np.testing.assert_array_equal(other, normal)
    assert normal[:N0].sum() >= 0.8 * N0
    # a batch is decided together, by the p-values that its rows have alone
    for method in METHODS:
        p = np.concatenate([folds[method].p_values(row[None]) for row in NEW])
        found = bsvdd.select(est, NEW, fdr=0.4, method=method)
        np.testing.assert_array_equal(found, discoveries(p, 0.4))
        np.testing.assert_array_equal(found[::-1], bsvdd.select(est, NEW[::-1], 0.4, method))


def test_a_row_at_the_threshold_of_a_tail_has_its_rank():
    ranks = Fold(Score(), np.sort(-RNG.exponential(size=201)), 0.5)  # the .9 quantile is a row
    fold = with_tail(ranks, "pareto", 0)
    at = -fold.tail.threshold + 1e-14 * np.arange(-3.0, 4.0)
    np.testing.assert_array_equal(fold.of_scores(at), 22 / 202)
    np.testing.assert_array_equal(fold.of_scores(at - 1e-6) < 21.1 / 202, True)
