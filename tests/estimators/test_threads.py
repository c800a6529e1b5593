"""Fits and scores in threads are those one after another, to the bit."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from bsvdd import BDD, BDDM, BSVDD, BSVDDM, SVDD, kernels, priors

MODELS = [
    (BSVDD, {"sampler": "laplace"}),
    (BDD, {}),
    (BSVDDM, {"minority_prior": priors.Beta(total=1)}),
    (BDDM, {}),
    (BSVDD, {"prior": priors.Flat(0.5), "sampler": "laplace"}),
]

pytestmark = pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")


def fit_and_score(number):
    """Return all numbers of one small fit; its rows, their count and the model follow from it."""
    rng = np.random.default_rng(number)
    X = rng.normal(size=(12 + number % 4, 2))
    y = np.arange(len(X)) < 3
    cls, parameters = MODELS[number % len(MODELS)]
    settings = dict(draws=30, tune=30, kernel=kernels.RBF(1.0), random_state=number)
    est = cls(**settings, **parameters).fit(X, y)
    other = est.with_prior(priors.Flat(0.7))
    return [
        est.idata_["posterior"]["w"].values,
        est.probability_normal(X + 0.1),
        est.cutoff_,
        other.score_samples(X - 0.1),
    ]


def assert_threads_change_nothing(n, threads):
    alone = [fit_and_score(number) for number in range(n)]
    with ThreadPoolExecutor(threads) as pool:
        together = list(pool.map(fit_and_score, range(n)))
    for one, other in zip(alone, together, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_eight_threads():
    assert_threads_change_nothing(20, 8)  # each model with each number of rows


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_a_thousand_fits_by_eight_threads():
    assert_threads_change_nothing(1000, 8)


def test_one_estimator_scores_in_threads(fitted, new_rows):
    est = fitted("BSVDD")
    alone = est.probability_normal(new_rows), est.predict(new_rows)
    with ThreadPoolExecutor(8) as pool:
        for p, labels in pool.map(
            lambda _: (est.probability_normal(new_rows), est.predict(new_rows)), range(64)
        ):
            np.testing.assert_array_equal(p, alone[0])
            np.testing.assert_array_equal(labels, alone[1])


def test_a_grid_search_in_threads(table):
    """The threading backend of joblib, in which fits once ended with NaN for a score."""
    from joblib import parallel_backend

    X = table[0][:24]
    grid = {"likelihood_scale": [0.5, 1.0, 2.0]}
    est = BSVDD(draws=30, tune=30, sampler="laplace", kernel=kernels.RBF(1.5))

    def score(fitted, X, y=None):
        return float(fitted.score_samples(X).mean())

    def search():
        return GridSearchCV(est, grid, scoring=score, cv=3, error_score="raise").fit(X)

    alone = search().cv_results_["mean_test_score"]
    with parallel_backend("threading", n_jobs=4):
        np.testing.assert_array_equal(search().cv_results_["mean_test_score"], alone)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")  # filters of warnings are shared by all threads
def test_scikit_learn_checks_in_threads():
    """Four estimators are checked at once; the filters of warnings are the only shared state."""
    quick = {"draws": 20, "tune": 20, "chains": 1}
    estimators = [SVDD(minor_label=1), BDD(minor_label=1), BSVDD(minor_label=1, **quick)]
    estimators.append(BDD(minor_label=1))

    def failed(est):
        checks = check_estimator(est, on_skip=None, on_fail=None)
        assert len(checks) > 40
        return {c["check_name"]: c["exception"] for c in checks if c["status"] == "failed"}

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(failed, estimators)) == [{}, {}, {}, {}]
