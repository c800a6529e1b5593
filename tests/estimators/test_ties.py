"""Rows that repeat: equal rows get equal answers, and false alarms keep their rate."""

import numpy as np
import pytest

import bsvdd
from benchmarks.ties import TABLES
from bsvdd import BDD, BSVDD, DSVM, IDLSSVM, LSSVM, OCSVM, SVDD, SVDDM, SVM
from tests.scores import scores_left_out

pytestmark = [
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning"),
    pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning"),
]

QUICK = {"draws": 100, "tune": 100, "chains": 2}
REPEATED = np.array([[20.0, 1.0, 0.0]])
BURSTS = REPEATED + np.random.default_rng(4).normal(size=(18, 3)) * [5.0, 1.0, 2.0]
AT_REST = np.concatenate([np.repeat(REPEATED, 132, axis=0), BURSTS])
REFITTED = pytest.mark.parametrize("model", [SVDD, OCSVM], ids=lambda model: model.__name__)


def copies(X, y=None):
    """The numbers of the rows of each set of equal rows, of one class."""
    labelled = X if y is None else np.column_stack([X, y])
    _, kind = np.unique(labelled, axis=0, return_inverse=True)
    return [np.flatnonzero(kind == k) for k in np.flatnonzero(np.bincount(kind) > 1)]


@REFITTED
def test_a_row_that_is_most_of_the_rows_is_normal(model):
    est = model().fit(AT_REST)
    assert bsvdd.p_value(est, REPEATED)[0] >= 133 / 151
    assert est.predict(REPEATED)[0] == 1
    assert (est.predict(BURSTS) == -1).sum() >= 8


TIED = [
    *("80% zeros", "95% zeros", "counts of mean .3, 1 column", "counts of mean 1, 2 columns"),
    *("answers 1 to 5, 2 columns", "binary, 10% ones", "at rest 90%", "70% answers, 30% normal"),
]


@REFITTED
@pytest.mark.parametrize("table", TIED)
def test_no_repeated_row_is_rarer_than_its_copies(model, table):
    """p counts the copies; .10 is kept in the mean over a few samples."""
    rates = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 71])
        X, Z = (TABLES[table](rng, n) for n in (150, 2000))
        est = model().fit(X)
        rates.append((est.predict(Z) == -1).mean())
        p, left_out = bsvdd.p_value(est, X), scores_left_out(est)
        for rows in copies(X):
            assert p[rows].min() >= (1 + len(rows)) / 151
            assert np.ptp(left_out[rows]) == 0.0
    assert np.mean(rates) <= 0.13


MODELS = {
    **{model.__name__: model() for model in (SVDD, OCSVM)},
    **{model.__name__: model(**QUICK) for model in (BDD, BSVDD)},
    **{model.__name__: model() for model in (SVDDM, SVM, DSVM, LSSVM, IDLSSVM)},
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("table", ["80% zeros", "answers 1 to 5, 2 columns"])
def test_equal_rows_get_equal_answers(name, table):
    X = TABLES[table](np.random.default_rng(5), 120)
    y = None
    if MODELS[name]._learns_from_minority:
        order = np.argsort(X.sum(axis=1) + np.random.default_rng(6).normal(size=120))
        y = (np.argsort(order) >= 80).astype(int)
    est = MODELS[name].fit(X, y)
    scores, flagged, p = est.score_samples(X), est.predict(X), bsvdd.p_value(est, X)
    sets = copies(X)
    assert sets
    for rows in sets:
        assert np.ptp(scores[rows]) <= 1e-12 * max(1.0, np.abs(scores[rows]).max())
        assert len(set(flagged[rows])) == 1
        assert len(set(p[rows])) == 1
    if name in ("BDD", "BSVDD"):
        return
    w = est.weights_ if y is None else est.weights_[np.argsort(np.argsort(y, kind="stable"))]
    for rows in copies(X, y):
        assert np.ptp(w[rows]) <= 1e-12 * np.abs(w).max()


@REFITTED
def test_rows_without_copies_are_left_out_by_folds(model):
    """30 rows or fewer, all different, have the 10 folds that more rows have."""
    X = np.random.default_rng(7).normal(size=(25, 2))
    est = model().fit(X)
    other = est.with_cutoff(bsvdd.Cutoff(cv=10))
    np.testing.assert_array_equal(scores_left_out(est), other.fit_.chosen.left_out)
