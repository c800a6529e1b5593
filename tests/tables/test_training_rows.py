"""Training rows: left out by ``decision()``; among new rows new ones, and counted."""

import warnings

import numpy as np
import pandas as pd
import pytest

from bsvdd import BDD, BSVDD, SVDD, Views, kernels
from bsvdd.base.warning import DataWarning

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.base.warning.DiagnosticWarning")

RNG = np.random.default_rng(3)
X = RNG.normal(size=(80, 3))
X[5] = 4.0
NEW = RNG.normal(size=(80, 3))
GAPS = np.where(np.arange(240).reshape(80, 3) % 30 == 1, np.nan, X)
QUICK = BSVDD(draws=200)


@pytest.mark.filterwarnings("ignore:80 of 80 rows equal one training row each")
@pytest.mark.parametrize("est", [QUICK, SVDD()], ids=repr)
def test_every_row_is_answered_as_a_new_one(est):
    as_new = est.fit(X).decision(X)
    other = est.decision(X + 1e-10)  # which equals no training row
    pd.testing.assert_frame_equal(as_new, other, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(as_new["surprise"], -est.score_samples(X))
    left = est.decision()
    assert "p_value" not in left and list(as_new) == ["p_value", *left]
    assert (
        left["surprise"] > as_new["surprise"]
    ).mean() > 0.5  # a row pulls the centre


@pytest.mark.parametrize("by", ["labels", "weights"])
@pytest.mark.parametrize(
    "est", [BDD(kernel=kernels.RBF(1.4)), QUICK], ids=["BDD", "BSVDD"]
)
def test_rows_that_have_no_part_in_the_weights_are_decided_as_new_rows(est, by):
    out = np.arange(80) % 9 == 4
    est.fit(X, out) if by == "labels" else est.fit(X, sample_weight=1.0 - out)
    expected = est.decision(X[out]).drop(columns="p_value")
    found = est.decision()[out].reset_index(drop=True)
    pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
    assert found["surprise"].between(found["low"], found["high"]).all()


@pytest.mark.filterwarnings("ignore:all 59 majority rows are equal")
def test_a_sphere_of_almost_equal_rows_stays_where_it_is():
    rows = np.zeros((60, 2))
    rows[-1] = 1.0
    est = SVDD(kernel=kernels.RBF(1.0)).fit(rows, sample_weight=np.r_[np.ones(59), 0.0])
    assert len(est.gram_.K) == 1  # 59 equal rows: what stays is the same atom
    np.testing.assert_allclose(
        est.log_similarity()[0], np.repeat([0.0, -1.0], [59, 1]), atol=1e-12
    )


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
        (
            SVDD(kernel=kernels.Precomputed()),
            X @ X.T,
            np.c_[X @ X.T, (X * X).sum(axis=1)],
            "",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:.*of the rows have copies")
@pytest.mark.filterwarnings("ignore:.*missing values, in")
def test_training_rows_are_counted_and_said(est, rows, Z, counted, tmp_path):
    est.fit(rows)
    for ask in (est.predict, est.score_samples, est.probability_normal, est.decision):
        with warnings.catch_warnings(record=True, action="always") as said:
            ask(Z)
        found = [
            str(each.message)
            for each in said
            if "equal one training row" in str(each.message)
        ]
        if counted:
            text = f"{counted} rows equal one training row each"
            assert (
                found[0].startswith(text)
                and len(found) == 1
                and said[-1].category is DataWarning
            )
        else:
            assert not found
