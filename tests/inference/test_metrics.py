"""Metrics against scikit-learn and by hand; positive = minority."""

import numpy as np
import pytest
from bsvdd.inference.decision import evaluate, rates
from sklearn import metrics


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
    assert found["ppv"] == pytest.approx(metrics.precision_score(minority, flagged))
    assert found["fnr"] == pytest.approx(1 - metrics.recall_score(minority, flagged))
    assert found["fpr"] == pytest.approx(1 - metrics.recall_score(~minority, ~flagged))
    balanced = metrics.balanced_accuracy_score(minority, flagged)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    assert found["f1"] == pytest.approx(metrics.f1_score(minority, flagged))
    recalls = [metrics.recall_score(minority, flagged, pos_label=label) for label in (True, False)]
    assert found["g_mean"] == pytest.approx(np.sqrt(np.prod(recalls)))
    assert found["auc"] == pytest.approx(metrics.roc_auc_score(minority, score))


def test_auc_counts_pairs_in_order_and_ties_by_half():
    """Pairs (minority, majority): 3 > 1, 3 > 2, 2 > 1, 2 = 2, so (3 + 1/2) / 4."""
    minority = np.array([True, True, False, False])
    assert evaluate(minority, minority, np.array([3, 2, 1, 2.0]))["auc"] == 3.5 / 4
    assert np.isnan(evaluate(minority, minority)["auc"])
    assert np.isnan(evaluate(minority & False, minority, np.arange(4.0))["auc"])
