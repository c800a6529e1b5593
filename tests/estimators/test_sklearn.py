"""Every estimator passes scikit-learn's own checks."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bsvdd import BDD, BSVDD, BSVDDM, SVDD, kernels

QUICK = dict(draws=20, tune=20, chains=1)
ESTIMATORS = [
    SVDD(minor_label=1),
    BDD(minor_label=1),  # its draws cost nothing
    BDD(simplex=True, minor_label=1, **QUICK),
    BSVDD(minor_label=1, **QUICK),
    BSVDDM(minor_label=1, **QUICK),
]

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"])
def test_constructor_only_stores(make, name):
    est = make(name)
    for key, value in est.get_params(deep=False).items():
        assert getattr(est, key) is value
    assert clone(est).get_params() == est.get_params()


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD simplex", "BSVDD"])
def test_outlier_detectors_fit_without_labels(make, table, name):
    X = table[0]
    est = make(name)
    np.testing.assert_array_equal(est.fit_predict(X), make(name).fit(X).predict(X))


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BDD simplex", "BSVDD", "BSVDDM"])
def test_fit_predict_reads_the_labels(make, fitted, table, name):
    """Minority rows must not be fitted as majority rows because fit_predict drops y."""
    X, y = table
    np.testing.assert_array_equal(make(name).fit_predict(X, y), fitted(name).predict(X))


def test_minority_labels_reach_a_pipeline(make, table, new_rows):
    X, y = table
    pipe = make_pipeline(StandardScaler(), make("BSVDDM")).fit(X, y)
    scaled = StandardScaler().fit(X)
    alone = make("BSVDDM").fit(scaled.transform(X), y)
    expected = alone.probability_normal(scaled.transform(new_rows))
    last = pipe[-1].probability_normal(scaled.transform(new_rows))
    np.testing.assert_array_equal(last, expected)
    np.testing.assert_array_equal(pipe.predict(new_rows), np.where(expected > 0.5, 1, -1))


@pytest.mark.parametrize("name", ["SVDD", "BDD", "BSVDD", "BSVDDM"])
def test_precomputed_is_tagged_as_pairwise(make, name):
    assert not make(name).__sklearn_tags__().input_tags.pairwise
    assert make(name, kernel=kernels.Precomputed()).__sklearn_tags__().input_tags.pairwise
