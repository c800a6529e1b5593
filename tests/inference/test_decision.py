"""Metrics against scikit-learn; positive = minority. Three answers by their costs."""

import numpy as np
import pytest
from bsvdd.inference.cutoff import rates
from bsvdd.inference.decision import evaluate, three_way
from sklearn import metrics


@pytest.mark.parametrize(
    ("counts", "name", "value"),
    [
        ((0, 0, 10, 90), "ppv", np.nan),  # nothing is flagged
        ((0, 0, 10, 90), "f1", 0.0),
        *(((0, 5, 0, 95), name, np.nan) for name in ("fnr", "g_mean")),  # no minority
        ((0, 5, 0, 95), "fpr", 0.05),
        ((6, 20, [4, 14], 70), "fnr", [0.4, 0.7]),  # elementwise
        (tuple(map(np.uint8, (200, 100, 150, 250))), "fpr", 100 / 350),  # without overflow
    ],
)
def test_a_ratio_of_counts(counts, name, value):
    np.testing.assert_allclose(rates(*counts)[name], value)


@pytest.mark.parametrize("seed", [0, 1])
def test_evaluate_is_scikit_learn_with_minority_as_positive(seed):
    rng = np.random.default_rng(seed)
    minority = rng.random(80) < 0.3
    score = rng.normal(size=80) + minority
    flagged = score > 0.8
    recall, specificity = (metrics.recall_score(minority, flagged, pos_label=v) for v in (1, 0))
    expected = {
        "accuracy": metrics.accuracy_score(minority, flagged),
        "ppv": metrics.precision_score(minority, flagged),
        "fnr": 1 - recall,
        "fpr": 1 - specificity,
        "balanced_accuracy": metrics.balanced_accuracy_score(minority, flagged),
        "f1": metrics.f1_score(minority, flagged),
        "g_mean": np.sqrt(recall * specificity),
        "auc": metrics.roc_auc_score(minority, score),
    }
    assert evaluate(minority, flagged, score) == pytest.approx(expected)
    assert np.isnan(evaluate(minority, flagged)["auc"])


def test_three_ways_are_the_cheapest_by_their_costs():
    """Inspection costs 1, a false alarm 5, a miss 4: expected costs of each answer."""
    p, (false_alarm, miss) = np.linspace(0.0, 1.0, 100), (5.0, 4.0)
    answers = three_way(p, np.zeros(100), 1 / false_alarm, 1 - 1 / miss)
    costs = {"abnormal": false_alarm * p, "normal": miss * (1 - p), "undecided": np.ones(100)}
    best = [min(costs, key=lambda answer, i=i: costs[answer][i]) for i in range(100)]
    assert answers.tolist() == best
