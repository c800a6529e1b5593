"""Yardsticks are detectors of scikit-learn with the cutoff, p-values and files of all models."""

import dask.array as da
import numpy as np
import pytest
from bsvdd.comparison.run.protocol import FAIR, Candidate, Protocol
from bsvdd.estimators.registry import MODELS, REGISTRY, YARDSTICKS
from scipy.stats import gaussian_kde
from sklearn.covariance import MinCovDet
from sklearn.ensemble import IsolationForest
from sklearn.neighbors import LocalOutlierFactor
from sklearn.utils import check_random_state

import bsvdd
from bsvdd import Cutoff, kernels

RNG = np.random.default_rng(70)
X = RNG.normal(size=(60, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 1.0]
Z = RNG.normal(size=(25, 3)) * [2.0, 20.0, 0.2] + [0.0, 5.0, 1.0]
SCALED = kernels.Standardized(kernels.Linear())
U, V = ((rows - X.mean(axis=0)) / X.std(axis=0) for rows in (X, Z))
SEED = int(check_random_state(0).randint(2**31 - 1))
each = pytest.mark.parametrize("name", YARDSTICKS)


def make(name, **changes):
    return YARDSTICKS[name].estimator()(**{"kernel": SCALED, **changes})


def test_scores_are_those_of_the_methods():
    distances = np.sort(np.linalg.norm(V[:, None] - U[None], axis=2), axis=1)
    estimate = MinCovDet(random_state=SEED).fit(U)
    centred = V - estimate.location_
    mahalanobis = np.einsum("ij,jk,ik->i", centred, np.linalg.inv(estimate.covariance_), centred)
    sd = 60 ** (-1 / 7)  # Scott's factor; the columns have the sd 1
    squares = ((V[:, None] - U[None]) ** 2).sum(axis=2)
    density = np.exp(-squares / (2 * sd**2)).mean(axis=1) / (2 * np.pi * sd**2) ** 1.5
    expected = {
        "kNN": -distances[:, 4],
        "mean kNN": -distances[:, :5].mean(axis=1),
        "LOF": LocalOutlierFactor(n_neighbors=20, novelty=True).fit(U).score_samples(V),
        "isolation forest": IsolationForest(random_state=SEED).fit(U).score_samples(V),
        "robust Gaussian": -mahalanobis,
        "KDE": np.log(density),
    }
    assert list(expected) == list(YARDSTICKS)
    for name, score in expected.items():
        np.testing.assert_allclose(make(name).fit(X).score_samples(Z), score, rtol=1e-9)
    assert gaussian_kde(U.T).factor == pytest.approx(sd)


@each
def test_the_cutoff_is_that_of_refitted_folds(name):
    est = make(name).fit(X)
    assert est.cutoff_ == est.with_cutoff(Cutoff("false_alarm", cv=10)).cutoff_
    left_out = est.idata_["decision"]["left_out"].values
    assert (left_out > est.cutoff_).sum() == 5  # 55 of 61 within
    np.testing.assert_array_equal(est.predict(Z) == 1, est.score_samples(Z) >= est.offset_)
    np.testing.assert_array_equal(est.p_value(Z) <= 0.1 + 1e-12, est.predict(Z) == -1)
    assert set(est.probability_normal(Z)) <= {0.0, 1.0}
    for method in ("cross", "split"):
        assert est.p_value(Z, method).shape == (25,)


@each
def test_a_saved_yardstick_scores_alike(tmp_path, name):
    est = make(name, random_state=3).fit(X)
    est.save(tmp_path / "model.nc")
    new = bsvdd.load(tmp_path / "model.nc")
    np.testing.assert_array_equal(new.score_samples(Z), est.score_samples(Z))
    assert (new.cutoff_, new.offset_) == (est.cutoff_, est.offset_)
    lazy = est.score_samples(da.from_array(Z, chunks=(7, 3)))
    np.testing.assert_array_equal(lazy.compute(), est.score_samples(Z))


def test_few_rows_and_bad_input():
    for name in ("kNN", "mean kNN", "LOF"):
        assert np.isfinite(make(name, cutoff=1.0).fit(X[:4]).score_samples(Z)).all()
    with pytest.raises(ValueError, match="3 columns needs more than 3 majority rows, got 3"):
        make("robust Gaussian", cutoff=1.0).fit(X[:3])
    with pytest.raises(ValueError, match="'n_neighbors' parameter of KNN"):
        make("kNN", n_neighbors=0).fit(X)
    with pytest.raises(ValueError, match="has no boundary|has none: use another criterion"):
        make("kNN", cutoff="model").fit(X)


def test_a_study_names_them_beside_the_models():
    assert list(MODELS) == [*REGISTRY, *YARDSTICKS] or set(MODELS) == {*REGISTRY, *YARDSTICKS}
    candidate = Candidate("kNN", "kNN")
    assert candidate.is_yardstick and not Candidate("SVDD", "SVDD").is_yardstick
    assert FAIR.choices(candidate) == [{}]  # it has no bandwidth to choose
    assert Protocol().estimator("kNN", 1).kernel == SCALED


@each
def test_no_kernel_matrix_limits_the_rows(name, monkeypatch):
    """The same decision whether a kernel matrix exists or not; it is refused at no size."""
    expected = make(name).fit(X)
    monkeypatch.setattr("bsvdd.estimators.dictionary.MAX_POINTS", 20)
    monkeypatch.setattr("bsvdd.estimators.yardsticks.DENSE_ROWS", 20)
    found = make(name).fit(X)
    assert not isinstance(found.gram_.K, np.ndarray)
    np.testing.assert_array_equal(found.score_samples(Z), expected.score_samples(Z))
    np.testing.assert_allclose(found.gram_.r, expected.gram_.r, rtol=1e-12, atol=1e-12)
    found.check_rows(np.zeros(10**6, dtype=bool))
