"""Training rows among new rows are answered as new ones, and counted."""

import warnings

import numpy as np
import pytest
from bsvdd.inference.warning import DataWarning

from bsvdd import BSVDD, SVDD, Cutoff, Views, as_published, cutoffs, kernels

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
X[5] = 4.0
NEW = RNG.normal(size=(80, 3))
GAPS = np.where(np.arange(240).reshape(80, 3) % 30 == 1, np.nan, X)
PRINTED = Cutoff(cutoffs.Rank(0.8), cv="train")
QUICK = BSVDD(draws=200)


@pytest.mark.parametrize("est", [QUICK, SVDD()], ids=repr)
def test_every_row_is_answered_as_a_new_one(est):
    est.fit(X)
    as_new = est.fit_.score.scores(X, est.fit_.level)
    np.testing.assert_array_equal(est.score_samples(X), as_new)
    np.testing.assert_array_equal(est.predict(X) == 1, as_new >= 0.0)
    given = est.decision(X)
    np.testing.assert_array_equal(given["surprise"], -as_new)
    assert "left_out" not in given and "training" not in repr(given)
    left = est.decision()
    assert left["left_out"].all() and "80 training rows left out]" in repr(left)
    assert (left["surprise"] > given["surprise"]).mean() > 0.5  # a row pulls the centre


@pytest.mark.parametrize(
    ("est", "rows", "Z", "counted"),
    [
        (SVDD(), X, np.vstack([X[:28], NEW[:72]]), "28 of 100"),
        (SVDD(), X, np.vstack([X[:25], NEW[:75]]), ""),
        (SVDD(), X, X[:9], ""),
        (SVDD(), np.vstack([X, X[:70]]), X, ""),  # equal rows are equal by chance
        (SVDD(), np.vstack([X, X[:2]]), X, "78 of 80"),
        (SVDD(), GAPS, GAPS, "80 of 80"),
        (QUICK, X, X, "80 of 80"),
        (Views(SVDD()), X, X, "80 of 80"),
        (SVDD(cutoff=PRINTED), X, X, ""),  # which is about training rows
        (SVDD(cutoff=0.9), X, X, ""),
        (as_published("SVDD"), X, X, ""),
        (SVDD(kernel=kernels.Precomputed()), X @ X.T, np.c_[X @ X.T, (X * X).sum(axis=1)], ""),
    ],
)
@pytest.mark.filterwarnings("ignore:.*rows have gaps, in")
def test_training_rows_are_counted_and_said(est, rows, Z, counted, tmp_path):
    est.fit(rows)
    for ask in (est.predict, est.score_samples, est.probability_normal, est.decision):
        with warnings.catch_warnings(record=True, action="always") as said:
            ask(Z)
        found = [str(each.message) for each in said if "are training rows" in str(each.message)]
        if counted:
            text = f"{counted} rows are training rows; decision() answers them left out"
            assert found == [text] and said[-1].category is DataWarning
        else:
            assert not found
