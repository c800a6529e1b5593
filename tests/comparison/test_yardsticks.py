"""Yardsticks are detectors of scikit-learn, with the cutoff of left-out rows."""

import numpy as np
import pytest
from bsvdd.comparison.run.yardsticks import YARDSTICKS, Yardstick
from scipy.stats import gaussian_kde
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils import check_random_state

from bsvdd import cutoffs, kernels

RNG = np.random.default_rng(70)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
Z = RNG.normal(size=(25, 3)) * [2.0, 20.0, 0.2] + [0.0, 5.0, 1.0]
SCALED = kernels.Tabular(kernels.Linear(), scale="standardised")
SEED = int(check_random_state(0).randint(2**31 - 1))


def distances(U, V):
    return np.sort(np.linalg.norm(V[:, None] - U[None], axis=2), axis=1)


def mahalanobis(U, V):
    estimate = MinCovDet(random_state=SEED).fit(U)
    centred = V - estimate.location_
    return np.einsum("ij,jk,ik->i", centred, np.linalg.inv(estimate.covariance_), centred)


def density(U, V):
    h = len(U) ** (-1 / 7)  # Scott's factor; the columns have the sd 1
    squares = ((V[:, None] - U[None]) ** 2).sum(axis=2)
    return np.log(np.exp(-squares / (2 * h**2)).mean(axis=1) / (2 * np.pi * h**2) ** 1.5)


def lof(U, V):
    return LocalOutlierFactor(n_neighbors=20, novelty=True).fit(U).score_samples(V)


SCORES = {
    "kNN": lambda U, V: -distances(U, V)[:, 4],
    "mean kNN": lambda U, V: -distances(U, V)[:, :5].mean(axis=1),
    "LOF": lof,
    "isolation forest": lambda U, V: IsolationForest(random_state=SEED).fit(U).score_samples(V),
    "robust Gaussian": lambda U, V: -mahalanobis(U, V),
    "KDE": density,
}


def scaled(rows, *others):
    return [(each - rows.mean(axis=0)) / rows.std(axis=0) for each in (rows, *others)]


@pytest.mark.parametrize("name", YARDSTICKS)
def test_scores_and_cutoff_are_those_of_the_method(name):
    """The cutoff is the .10 quantile of 60 left-out rows, between the 6th and the 7th of them."""
    est, score = Yardstick(name, SCALED).fit(X), SCORES[name]
    np.testing.assert_allclose(est.score_samples(Z), score(*scaled(X, Z)) + est.cutoff_, rtol=1e-9)
    left_out = np.empty(60)
    for train, test in KFold(10, shuffle=True, random_state=SEED).split(X):
        left_out[test] = score(*scaled(X[train], X[test]))
    assert -est.cutoff_ == pytest.approx(np.sort(left_out)[5:7].mean(), rel=1e-9)
    np.testing.assert_array_equal(est.predict(Z) == 1, est.score_samples(Z) >= 0.0)
    assert list(SCORES) == list(YARDSTICKS)
    assert gaussian_kde(X.T).factor == pytest.approx(60 ** (-1 / 7), rel=1e-12)


def test_minority_rows_choose_the_cutoff_and_do_nothing_else():
    rows, y = np.concatenate([X, Z]), np.repeat([0, 1], [60, 25])
    alone, both = Yardstick("kNN", SCALED).fit(X), Yardstick("kNN", SCALED).fit(rows, y)
    moved = alone.score_samples(Z) - both.score_samples(Z)
    np.testing.assert_allclose(moved, alone.cutoff_ - both.cutoff_)
    assert moved[0] != 0.0 and roc_auc_score(y, -both.score_samples(rows)) > 0.7
    asked = Yardstick("kNN", SCALED, cutoffs.FalseAlarm(0.3)).fit(rows, y)
    assert asked.cutoff_ == Yardstick("kNN", SCALED, cutoffs.FalseAlarm(0.3)).fit(X).cutoff_


def test_printed_is_the_rule_within_and_others_are_refused():
    rows, y = np.concatenate([X, Z]), np.repeat([0, 1], [60, 25])
    for rule in (cutoffs.FalseAlarm(0.2), cutoffs.Best("f1", max_fpr=1.0), cutoffs.Cost(3.0)):
        printed = Yardstick("kNN", SCALED, cutoffs.Printed(rule)).fit(rows, y)
        assert printed.cutoff_ == Yardstick("kNN", SCALED, rule).fit(rows, y).cutoff_
    for other in (cutoffs.Printed(0.5), cutoffs.Printed(of="own"), cutoffs.Printed(of="training")):
        with pytest.raises(ValueError, match="for descriptions only"):
            Yardstick("kNN", SCALED, other).fit(rows, y)
    with pytest.raises(ValueError, match="needs minority rows, and there are none"):
        Yardstick("kNN", SCALED, cutoffs.Best()).fit(X)


def test_few_rows():
    with pytest.raises(ValueError, match="5 columns needs more than 5 majority rows, got 4"):
        Yardstick("robust Gaussian", SCALED).fit(X[:4, [0, 1, 2, 0, 1]])
    for few in ("kNN", "mean kNN", "LOF"):
        assert np.isfinite(Yardstick(few, SCALED, cutoffs.FalseAlarm(0.5)).fit(X[:4]).cutoff_)
