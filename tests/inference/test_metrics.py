"""Metrics against counts done by hand and against scikit-learn; positive = minority."""

import numpy as np
import pytest
from bsvdd.inference.metrics import evaluate, rates
from sklearn import metrics


def test_rates_of_counts_by_hand():
    """TP 6, FP 20, FN 4, TN 70: 10 minority rows, 90 majority rows, 26 flagged."""
    found = rates(6, 20, 4, 70)
    expected = {
        "accuracy": 76 / 100,
        "f1": 12 / 36,
        "fpr": 20 / 90,
        "fnr": 4 / 10,
        "ppv": 6 / 26,
        "g_mean": np.sqrt(0.6 * 70 / 90),
        "balanced_accuracy": (0.6 + 70 / 90) / 2,
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, rel=1e-14), name


def test_rates_are_taken_elementwise_and_without_overflow():
    """One count goes with several of another; small integers do not overflow."""
    found, small = rates(6, 20, [4, 14], 70), rates(*map(np.uint8, (200, 100, 150, 250)))
    for name, value in rates(200, 100, 150, 250).items():
        assert small[name] == value, name
        for i, fn in enumerate([4, 14]):
            assert np.broadcast_to(found[name], 2)[i] == rates(6, 20, fn, 70)[name], name


@pytest.mark.parametrize(
    ("counts", "name", "value"),
    [
        ((0, 0, 10, 90), "ppv", np.nan),  # nothing is flagged
        ((0, 0, 10, 90), "f1", 0.0),
        *(((0, 5, 0, 95), name, np.nan) for name in ("fnr", "g_mean")),  # no minority
        ((0, 5, 0, 95), "fpr", 0.05),
    ],
)
def test_a_ratio_without_cases_is_nan(counts, name, value):
    np.testing.assert_equal(float(rates(*counts)[name]), value)


@pytest.mark.parametrize("seed", [0, 1])
def test_evaluate_is_scikit_learn_with_minority_as_positive(seed):
    rng = np.random.default_rng(seed)
    minority = rng.random(80) < 0.3
    score = rng.normal(size=80) + minority
    flagged = score > 0.8
    found = evaluate(minority, flagged, score)
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(minority, flagged))
    assert found["f1"] == pytest.approx(metrics.f1_score(minority, flagged))
    assert found["ppv"] == pytest.approx(metrics.precision_score(minority, flagged))
    assert found["fnr"] == pytest.approx(1 - metrics.recall_score(minority, flagged))
    assert found["fpr"] == pytest.approx(1 - metrics.recall_score(~minority, ~flagged))
    balanced = metrics.balanced_accuracy_score(minority, flagged)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(minority, score))


def test_auc_counts_pairs_in_order_and_ties_by_half():
    """Pairs (minority, majority): 3 > 1, 3 > 2, 2 > 1, 2 = 2, so (3 + 1/2) / 4."""
    minority = np.array([True, True, False, False])
    assert evaluate(minority, minority, np.array([3, 2, 1, 2.0]))["auc"] == 3.5 / 4
    assert np.isnan(evaluate(minority, minority)["auc"])
    assert np.isnan(evaluate(minority & False, minority, np.arange(4.0))["auc"])
