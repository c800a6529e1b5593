"""The default model ranks new rows about as well as a one-class SVM with the same kernel."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from bsvdd import BSVDD

DATA = Path(__file__).parents[2] / "comparison" / "scenarios" / "data"
SETS = ["wine_cultivar3", "glass_headlamps", "ionosphere", "breast_original", "abalone_9v18"]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DataWarning")  # ionosphere
def test_average_auc_is_not_below_the_one_class_svm():
    """Half of the majority trains; the other half and all minority rows are ranked."""
    ours, theirs = [], []
    for name in SETS:
        with np.load(DATA / f"{name}.npz") as data:
            X, y = data["X"], data["y"]
        for seed in range(2):
            majority = np.random.default_rng(seed).permutation(np.flatnonzero(y == 0))
            train = majority[: len(majority) // 2]
            test = np.setdiff1d(np.arange(len(y)), train)
            scaler = StandardScaler().fit(X[train])
            Z = scaler.transform(X[test])
            est = BSVDD(draws=300, tune=300).fit(scaler.transform(X[train]))
            svm = OneClassSVM(nu=0.1, gamma=est.kernel_.gamma).fit(scaler.transform(X[train]))
            ours.append(roc_auc_score(y[test], -est.score_samples(Z)))
            theirs.append(roc_auc_score(y[test], -svm.score_samples(Z)))
    assert np.mean(theirs) > 0.85  # the comparison is worth something
    assert np.mean(ours) > np.mean(theirs) - 0.02
