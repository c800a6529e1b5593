"""The table of the supervised models on clover, paw and real data."""

import numpy as np
import pytest
from bsvdd.comparison.run import runner
from bsvdd.comparison.run.cell import replicate_seed
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.comparison.scenarios.scenario import halves
from sklearn.metrics import balanced_accuracy_score

from benchmarks import imbalance
from bsvdd import Cutoff


@pytest.mark.slow
def test_the_table_has_the_true_g_mean_and_balanced_accuracy():
    data = imbalance.sets([0.0])
    assert [d.name for d in data[:2]] == ["clover_5to1_overlap0%", "clover_7to1_overlap0%"]
    protocol = Protocol(cutoff=Cutoff("model"))
    results = runner.compare(data[1:4], imbalance.MODELS, 2, protocol)
    tpr, tnr = 1 - results["fnr"], 1 - results["fpr"]
    np.testing.assert_allclose(results["g_mean"], np.sqrt(tpr * tnr))
    np.testing.assert_allclose(results["balanced_accuracy"], (tpr + tnr) / 2)
    # one row again by hand
    paw = data[2]
    train, test = halves(paw, replicate_seed(1, 0))
    est = protocol.estimator("IDLSSVM-CIL", 0).fit(paw.X[train], paw.minority[train].astype(int))
    predicted = est.predict(paw.X[test]) == -1
    row = results.set_index(["data", "model", "replicate"]).loc[(paw.name, "IDLSSVM-CIL", 1)]
    expected = balanced_accuracy_score(paw.minority[test], predicted)
    assert row["balanced_accuracy"] == pytest.approx(expected)
    # class weights do what density weights alone do not: find the minority
    means = results.groupby("model")["g_mean"].mean()
    assert means["SVM"] > means["DSVM-CIL"]
