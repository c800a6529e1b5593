"""Clover and paw, and the table of the supervised models on them."""

import numpy as np
import pytest
from bsvdd.comparison.report import table
from bsvdd.comparison.run import runner
from bsvdd.comparison.run.cell import replicate_seed
from bsvdd.comparison.run.protocol import Protocol
from bsvdd.comparison.scenarios import generators
from bsvdd.comparison.scenarios.scenario import halves
from sklearn.metrics import balanced_accuracy_score

from benchmarks import imbalance
from bsvdd import Cutoff

MAPS = {generators.clover: generators._petals(), generators.paw: generators._pads()}
BOTH = pytest.mark.parametrize("make", [generators.clover, generators.paw])


@BOTH
@pytest.mark.parametrize("ratio", [5.0, 7.0])
@pytest.mark.parametrize("overlap", [0.0, 0.3, 0.7])
def test_counts_and_places_are_as_asked(make, ratio, overlap):
    data = make(n=600, ratio=ratio, overlap=overlap, seed=2)
    n1 = {5.0: 100, 7.0: 75}[ratio]
    assert (len(data.X), data.minority.sum()) == (600, n1)
    depth = generators.depth(MAPS[make], data.X)
    assert (depth[~data.minority] >= 1).all()  # majority rows lie around the regions
    outside = depth[data.minority] >= 1
    assert outside.sum() == round(overlap * n1)
    assert (depth[data.minority] < generators.BORDER).all()
    assert np.abs(data.X).max() <= generators.SQUARE


def test_depth_is_one_on_the_edge_of_an_ellipse():
    (petal, *_) = generators._petals()
    angles = np.linspace(0, 6, 7)
    edge = (petal[:, :2] @ np.array([np.cos(angles), np.sin(angles)])).T + petal[:, 2]
    np.testing.assert_allclose(generators.depth([petal], edge), 1.0)
    np.testing.assert_allclose(generators.depth([petal], petal[None, :, 2]), 0.0, atol=1e-15)


@BOTH
def test_seeds_reproduce_and_differ(make):
    np.testing.assert_array_equal(make(seed=1).X, make(seed=1).X)
    assert not np.array_equal(make(seed=1).X, make(seed=2).X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"overlap": 1.5}, "overlap must lie in"), ({"n": 3, "ratio": 50}, "leave no row")],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        generators.clover(**arguments)


@pytest.mark.slow
def test_the_table_has_the_true_g_mean_and_balanced_accuracy():
    data = imbalance.sets([0.0, 0.7])
    assert len(data) == 2 * 2 * 2 + 3
    protocol = Protocol(cutoff=Cutoff("model"))
    results = runner.compare(data, imbalance.MODELS, 2, protocol)
    shown = table.summary(results, imbalance.METRICS)
    assert set(shown.index) == {
        (each.name, model) for each in data for model in results["model"].unique()
    }
    tpr, tnr = 1 - results["fnr"], 1 - results["fpr"]
    np.testing.assert_allclose(results["g_mean"], np.sqrt(tpr * tnr))
    np.testing.assert_allclose(results["balanced_accuracy"], (tpr + tnr) / 2)
    # one row again by hand
    paw = next(each for each in data if each.name.startswith("paw_5to1_overlap0"))
    train, test = halves(paw, replicate_seed(1, 0))
    est = protocol.estimator("IDLSSVM-CIL", 0).fit(paw.X[train], paw.minority[train].astype(int))
    predicted = est.predict(paw.X[test]) == -1
    row = results.set_index(["data", "model", "replicate"]).loc[(paw.name, "IDLSSVM-CIL", 1)]
    expected = balanced_accuracy_score(paw.minority[test], predicted)
    assert row["balanced_accuracy"] == pytest.approx(expected)
    # class weights do what density weights alone do not: find the minority
    means = results.groupby("model")["g_mean"].mean()
    assert means["SVM"] > means["DSVM-CIL"]
