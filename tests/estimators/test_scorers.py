"""Our scorers are right for any labels; scikit-learn's own are right or refused."""

import pickle

import numpy as np
import pytest
from bsvdd.inference.metrics import evaluate
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import get_scorer, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from bsvdd import SVDD, Views, cutoffs, kernels, load, plots, scorers

FOLDS = StratifiedKFold(3)
ADVICE = (
    "need the labels of predict, -1 for abnormal.*"
    "use scoring=scorers.roc_auc, or another"
)
RNG = np.random.default_rng(3)
X = np.concatenate([RNG.normal(size=(60, 2)), RNG.normal(2.5, 1.0, size=(15, 2))])
MINORITY = np.repeat([False, True], [60, 15])
CODES = {  # labels of normal and abnormal rows, and which of them is minority
    "signs": ((1, -1), None),
    "numbers": ((0, 1), None),
    "truth": ((False, True), None),
    "texts": (("good", "bad"), "bad"),
    "reversed": ((1, 0), 0),
    "one normal": ((0, -1), -1),
}


@pytest.fixture(scope="module", params=CODES)
def coded(request):
    """Return labels, the estimator fitted to them, and whether predict has them."""
    (normal, abnormal), minor_label = CODES[request.param]
    y = np.where(MINORITY, abnormal, normal)
    est = SVDD(
        kernel=kernels.RBF(1.5), cutoff=cutoffs.Best("g_mean"), minor_label=minor_label
    )
    return y, est.fit(X, y), request.param == "signs"


def test_a_scorer_gives_the_metric_of_the_minority_for_any_labels(coded, tmp_path):
    y, est, are_signs = coded
    score = -est.decision_function(X)
    expected = {
        **evaluate(MINORITY, est.predict(X) == -1, score),
        "roc_auc": roc_auc_score(MINORITY, score),
        "average_precision": get_scorer("average_precision")._score_func(
            MINORITY, score
        ),
    }
    est.save(tmp_path / "model.nc")
    same = load(tmp_path / "model.nc")
    assert same.labels_ == est.labels_
    assert [type(label) for label in same.labels_] == [
        type(label) for label in est.labels_
    ]
    assert hasattr(same, "classes_") == hasattr(est, "classes_") == are_signs
    for name in ("roc_auc", "average_precision", "g_mean", "balanced_accuracy"):
        scorer = getattr(scorers, name)
        assert scorer(est, X, y) == scorer(same, X, y) == expected[name] > 0.6
        assert pickle.loads(pickle.dumps(scorer)) == scorer
        assert repr(scorer) == f"scorers.{name}"


@pytest.mark.parametrize(
    "own", ["roc_auc", "accuracy", "balanced_accuracy", "matthews_corrcoef"]
)
def test_scorers_of_scikit_learn_are_right_or_refused(own, coded):
    y, est, are_signs = coded
    if are_signs:
        said = est.decision_function(X) if own == "roc_auc" else est.predict(X) == 1
        expected = get_scorer(own)._score_func(~MINORITY, said)
        assert get_scorer(own)(est, X, y) == expected > 0.3
    else:
        with pytest.raises(AttributeError, match=ADVICE):
            get_scorer(own)(est, X, y)


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_calibration_is_right_or_refused(method, coded):
    y, est, are_signs = coded
    calibrated = CalibratedClassifierCV(est, cv=FOLDS, method=method)
    if not are_signs:
        with pytest.raises(AttributeError, match=ADVICE):
            calibrated.fit(X, y)
        return
    calibrated.fit(X, y)
    assert calibrated.classes_.tolist() == [-1, 1]
    inside, outside = calibrated.predict_proba([[0.0, 0.0], [4.0, 4.0]])[:, 1]
    assert outside < 0.3 < 0.8 < inside


def test_model_selection_with_any_labels_chooses_the_same():
    pipeline = make_pipeline(StandardScaler(), SVDD(cutoff=cutoffs.Best("g_mean")))
    grid = {"svdd__kernel": [kernels.RBF(s) for s in (0.5, 1.0)]}
    found = []
    for y in (MINORITY, MINORITY.astype(int), np.where(MINORITY, -1, 1)):
        search = GridSearchCV(pipeline, grid, scoring=scorers.roc_auc, cv=FOLDS).fit(
            X, y
        )
        found.append(search.cv_results_["mean_test_score"])
        assert scorers.roc_auc(search, X, y) > 0.9
    np.testing.assert_array_equal(found, found[:1] * 3)


def test_a_fit_without_labels_is_an_outlier_detector_of_scikit_learn():
    est = SVDD().fit(X[~MINORITY])
    assert est.labels_ == () and est.classes_.tolist() == [-1, 1]
    y = np.where(MINORITY, -1, 1)
    assert get_scorer("roc_auc")(est, X, y) == scorers.roc_auc(est, X, MINORITY)


def test_labels_of_new_rows_are_those_of_the_fit():
    """New rows may lack a label or a class; what is refused: test_refusals.py."""
    t = np.where(MINORITY, "bad", "ok").astype(object)
    t[np.flatnonzero(~MINORITY)[:3]] = "good"
    est, some = SVDD(minor_label="bad").fit(X, t), t != "good"
    assert scorers.roc_auc(est, X[some], t[some]) > 0.5
    plots.plot_roc(est, X[some], t[some])
    plots.plot_distances(est, X[~MINORITY], t[~MINORITY])


def test_a_remote_row_is_ranked_first():
    remote = np.where(np.arange(75)[:, None] == np.flatnonzero(MINORITY)[0], 1e200, X)
    est = SVDD().fit(X, MINORITY)
    assert 0.5 < scorers.roc_auc(est, remote, MINORITY) <= 1.0
    plots.plot_roc(est, remote, MINORITY)


def test_views_are_scored_by_the_labels_of_their_fits():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(80, 2)), rng.normal(4.0, size=(10, 2))])
    y = np.where(np.arange(90) < 80, "ok", "bad")
    est = Views(SVDD(minor_label="bad")).fit(X, y)
    minority = y == "bad"
    expected = roc_auc_score(minority, -est.decision_function(X))
    assert scorers.roc_auc(est, X, y) == expected
