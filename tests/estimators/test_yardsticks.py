"""Yardsticks are detectors of scikit-learn with the cutoff, p-values and files of all models."""

import numpy as np
import pytest
from bsvdd.estimators.reading import check_rows
from bsvdd.estimators.registry import YARDSTICKS
from scipy.stats import gaussian_kde
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils import check_random_state

import bsvdd
from bsvdd import Cutoff, cutoffs, kernels

RNG = np.random.default_rng(70)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
Z = RNG.normal(size=(25, 3)) * [2.0, 20.0, 0.2] + [0.0, 5.0, 1.0]
SCALED = kernels.Standardized(kernels.Linear())
U, V = ((rows - X.mean(axis=0)) / X.std(axis=0) for rows in (X, Z))
SEED = int(check_random_state(0).randint(2**31 - 1))
SCOTT = 60 ** (-1 / 7)  # Scott's factor; the columns have the sd 1
DISTANCES = np.sort(np.linalg.norm(V[:, None] - U[None], axis=2), axis=1)
each = pytest.mark.parametrize("name", YARDSTICKS)


def make(name, **changes):
    return YARDSTICKS[name].estimator()(**{"kernel": SCALED, **changes})


def mahalanobis():
    estimate = MinCovDet(random_state=SEED).fit(U)
    centred = V - estimate.location_
    return np.einsum("ij,jk,ik->i", centred, np.linalg.inv(estimate.covariance_), centred)


def density():
    squares = ((V[:, None] - U[None]) ** 2).sum(axis=2)
    return np.exp(-squares / (2 * SCOTT**2)).mean(axis=1) / (2 * np.pi * SCOTT**2) ** 1.5


@pytest.fixture(scope="module")
def fitted():
    return {name: make(name).fit(X) for name in YARDSTICKS}


def test_scores_are_those_of_the_methods(fitted):
    expected = {
        "kNN": -DISTANCES[:, 4],
        "mean kNN": -DISTANCES[:, :5].mean(axis=1),
        "LOF": LocalOutlierFactor(n_neighbors=20, novelty=True).fit(U).score_samples(V),
        "isolation forest": IsolationForest(random_state=SEED).fit(U).score_samples(V),
        "robust Gaussian": -mahalanobis(),
        "KDE": np.log(density()),
    }
    assert list(expected) == list(YARDSTICKS)
    for name, score in expected.items():
        values = fitted[name].score_samples(Z) - fitted[name].cutoff_
        np.testing.assert_allclose(values, score, rtol=1e-9)
    assert gaussian_kde(U.T).factor == pytest.approx(SCOTT)


@each
def test_the_cutoff_is_that_of_refitted_folds(fitted, name):
    est = fitted[name]
    assert est.cutoff_ == est.with_cutoff(Cutoff(cutoffs.FalseAlarm(), cv=10)).cutoff_
    left_out = est.idata_["decision"]["left_out"].values
    assert (left_out > est.cutoff_).sum() == 5  # 55 of 61 within
    np.testing.assert_array_equal(est.predict(Z) == 1, est.score_samples(Z) >= est.offset_)
    np.testing.assert_array_equal(bsvdd.p_value(est, Z) <= 0.1 + 1e-12, est.predict(Z) == -1)
    assert set(est.probability_normal(Z)) <= {0.0, 1.0}
    assert bsvdd.p_value(est, Z, "split").shape == (25,)


@each
def test_files_lazy_rows_and_many_rows_score_alike(fitted, tmp_path, name, monkeypatch):
    """No kernel matrix limits the rows; with it or without it the decision is the same."""
    est = fitted[name]
    est.save(tmp_path / "model.nc")
    monkeypatch.setattr("bsvdd.estimators.training.MAX_POINTS", 20)
    many = make(name).fit(X)
    check_rows(many._asked(), np.zeros(10**6, dtype=bool))
    for same in (many, bsvdd.load(tmp_path / "model.nc")):
        np.testing.assert_array_equal(same.score_samples(Z), est.score_samples(Z))
        assert (same.cutoff_, same.offset_) == (est.cutoff_, est.offset_)


def test_few_rows_and_bad_input():
    for name in ("kNN", "mean kNN", "LOF"):
        assert np.isfinite(make(name, cutoff=1.0).fit(X[:4]).score_samples(Z)).all()
    with pytest.raises(ValueError, match="3 columns needs more than 3 majority rows, got 3"):
        make("robust Gaussian", cutoff=1.0).fit(X[:3])
    for name, parameter in (("kNN", "n_neighbors"), ("isolation forest", "n_estimators")):
        with pytest.raises(ValueError, match=f"'{parameter}' parameter of "):
            make(name, **{parameter: 0}).fit(X)
    with pytest.raises(ValueError, match="has no boundary|has none: use another of"):
        make("kNN", cutoff=cutoffs.Own()).fit(X)
