"""Yardsticks are methods of scikit-learn, with the cutoff of left-out rows."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import gaussian_kde
from sklearn.base import clone
from sklearn.covariance import ledoit_wolf
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils import check_random_state

from bsvdd import cutoffs, kernels
from bsvdd.comparison import models
from bsvdd.comparison.models import YARDSTICKS, Yardstick
from bsvdd.estimators.registry import REGISTRY

RNG = np.random.default_rng(70)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
Z = RNG.normal(size=(25, 3)) * [2.0, 20.0, 0.2] + [0.0, 5.0, 1.0]
BOTH, Y = np.concatenate([X, Z]), np.repeat([False, True], [60, 25])
SCALED = kernels.Tabular(kernels.Linear(), scale="standardised")
SEED = int(check_random_state(0).randint(2**31 - 1))


def distances(U, V):
    return np.sort(np.linalg.norm(V[:, None] - U[None], axis=2), axis=1)


def mahalanobis(U, V):
    centred = V - U.mean(axis=0)
    return np.einsum("ij,jk,ik->i", centred, np.linalg.inv(ledoit_wolf(U)[0]), centred)


def density(U, V):
    h = len(U) ** (-1 / 7)  # Scott's factor; the columns have the sd 1
    squares = ((V[:, None] - U[None]) ** 2).sum(axis=2)
    return np.log(
        np.exp(-squares / (2 * h**2)).mean(axis=1) / (2 * np.pi * h**2) ** 1.5
    )


def lof(U, V):
    return LocalOutlierFactor(n_neighbors=20, novelty=True).fit(U).score_samples(V)


SCORES = {
    "kNN": lambda U, V: -distances(U, V)[:, 4],
    "mean kNN": lambda U, V: -distances(U, V)[:, :5].mean(axis=1),
    "LOF": lof,
    "isolation forest": lambda U, V: (
        IsolationForest(random_state=SEED).fit(U).score_samples(V)
    ),
    "Gaussian": lambda U, V: -mahalanobis(U, V),
    "KDE": density,
}


def scaled(rows, *others):
    return [(each - rows.mean(axis=0)) / rows.std(axis=0) for each in (rows, *others)]


@pytest.mark.parametrize("name", SCORES)
def test_scores_and_cutoff_are_those_of_the_method(name):
    """The cutoff is the .10 quantile of 60 left-out rows, between the 6th and 7th."""
    est, score = Yardstick(name, SCALED).fit(X), SCORES[name]
    np.testing.assert_allclose(
        est.score_samples(Z), score(*scaled(X, Z)) + est.cutoff_, rtol=1e-9
    )
    left_out = np.empty(60)
    for train, test in KFold(10, shuffle=True, random_state=SEED).split(X):
        left_out[test] = score(*scaled(X[train], X[test]))
    assert -est.cutoff_ == pytest.approx(np.sort(left_out)[5:7].mean(), rel=1e-9)
    np.testing.assert_array_equal(est.predict(Z) == 1, est.score_samples(Z) >= 0.0)
    assert gaussian_kde(X.T).factor == pytest.approx(60 ** (-1 / 7), rel=1e-12)
    assert [*SCORES, "logistic"] == list(YARDSTICKS)


def test_logistic_regression_is_balanced_and_learns_from_both_classes():
    def score(U, y, V):
        U, V = ((each - U[~y].mean(axis=0)) / U[~y].std(axis=0) for each in (U, V))
        found = LogisticRegression(class_weight="balanced", max_iter=1000).fit(U, y)
        return -found.decision_function(V)

    rule = cutoffs.FalseAlarm(0.25)
    est = Yardstick("logistic", SCALED, rule).fit(BOTH, Y)
    np.testing.assert_allclose(
        est.score_samples(Z), score(BOTH, Y, Z) + est.cutoff_, rtol=1e-9
    )
    left_out = np.empty(85)
    for train, test in StratifiedKFold(10, shuffle=True, random_state=SEED).split(
        BOTH, Y
    ):
        left_out[test] = score(BOTH[train], Y[train], BOTH[test])
    assert -est.cutoff_ == pytest.approx(np.sort(left_out[~Y])[14:16].mean(), rel=1e-9)


def test_minority_rows_choose_the_cutoff_of_the_others_and_do_nothing_else():
    alone, both = Yardstick("kNN", SCALED).fit(X), Yardstick("kNN", SCALED).fit(BOTH, Y)
    moved = alone.score_samples(Z) - both.score_samples(Z)
    np.testing.assert_allclose(moved, alone.cutoff_ - both.cutoff_)
    for few in ("kNN", "mean kNN", "LOF", "Gaussian"):
        assert np.isfinite(
            Yardstick(few, SCALED, cutoffs.FalseAlarm(0.5)).fit(X[:4]).cutoff_
        )
    assert moved[0] != 0.0 and roc_auc_score(Y, -both.score_samples(BOTH)) > 0.7


def test_categories_are_columns_of_0_and_1_and_gaps_are_filled():
    frame = pd.DataFrame({"a": X[:, 0], "c": np.where(X[:, 1] > 5, "u", "v")})
    est = Yardstick("kNN", SCALED, cutoffs.FalseAlarm(0.2)).fit(frame)
    known = np.column_stack([scaled(X[:, :1])[0], frame["c"] == "u", frame["c"] == "v"])
    new = pd.DataFrame({"a": [X[0, 0], np.nan], "c": ["v", "v"]})
    asked = np.array([[known[0, 0], 0.0, 1.0]])
    found = est.score_samples(new)
    assert found[0] - est.cutoff_ == pytest.approx(-distances(known, asked)[0, 4])
    assert np.isfinite(found).all()


def test_each_model_takes_the_parameters_that_it_has():
    rule = cutoffs.Best("f1")
    found = models.by_name(cutoff=rule, draws=50, random_state=7)
    assert list(found) == [*REGISTRY, *YARDSTICKS]
    for name, est in found.items():
        given = clone(est).get_params(deep=False)
        assert given.get("cutoff", rule) == rule and given.get("random_state", 7) == 7
        assert ("cutoff" in given) == (
            name not in REGISTRY or hasattr(est, "with_cutoff")
        )
    needing = {name for name in found if models.needs_labels(name)}
    assert needing == {
        *("BSVDD-M", "SVDD-M", "BDD-M"),
        *("SVM", "DSVM-CIL", "LS-SVM", "IDLSSVM-CIL", "logistic"),
    }
