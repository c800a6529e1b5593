"""Cutoffs by trying every cut under drawn weights; metrics beside sklearn."""

import numpy as np
import pytest
from bsvdd.inference.cutoffs import Best, Cost, FalseAlarm, Printed
from bsvdd.inference.metrics import evaluate, rates
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta
from sklearn import metrics

MINORITY = np.arange(30) >= 22


def draws(seed, minority=MINORITY, ties=False):
    """Values and weights of 50 draws; minority rows have smaller values."""
    rng, n = np.random.default_rng(seed), len(minority)
    values = rng.normal(size=(50, n)) - 1.2 * minority
    if ties:
        values = np.round(values)
    return values, rng.standard_exponential((50, n))


def gain(cutoff, fp, tp, n0, n1):
    if isinstance(cutoff, Cost):
        return -(fp + cutoff.miss * (n1 - tp))
    recall, specificity = tp / n1, 1.0 - fp / n0
    return {
        "g_mean": np.sqrt(recall * specificity),
        "balanced_accuracy": (recall + specificity) / 2.0,
        "f1": 2.0 * tp / (tp + fp + n1),
    }[cutoff.metric]


CUTOFFS = [
    *(
        Best(m, limit)
        for m in ("g_mean", "balanced_accuracy", "f1")
        for limit in (0.15, 1.0)
    ),
    *(Cost(miss) for miss in (0.3, 1.0, 5.0)),
]


@pytest.mark.parametrize("ties", [False, True], ids=["", "ties"])
@pytest.mark.parametrize("cutoff", CUTOFFS, ids=repr)
def test_no_cut_is_better_in_any_draw(cutoff, ties):
    """Each class counts its number of rows, and a row of it its drawn weight.

    A row counts as abnormal below the cut. Without a cut that finds a minority row
    within the limit, it is that of FalseAlarm().
    """
    values, weight = draws(3, ties=ties)
    n0, n1 = (weight[:, which].sum(axis=1).mean() for which in (~MINORITY, MINORITY))
    found = cutoff(values, weight, MINORITY)
    limit, fixed = (
        getattr(cutoff, "max_fpr", 1.0),
        FalseAlarm()(values, weight, MINORITY),
    )
    for v, w, cut, otherwise in zip(values, weight, found, fixed, strict=True):

        def counts(at, v=v, w=w):
            below = v < at
            fp, tp = (w[below & of].sum() / w[of].sum() for of in (~MINORITY, MINORITY))
            return fp * n0, tp * n1

        distinct = np.unique(v)
        tried = [counts(c) for c in (distinct[1:] + distinct[:-1]) / 2.0]
        allowed = [(fp, tp) for fp, tp in tried if fp <= limit * n0]
        if not any(tp > 0 for _, tp in allowed):
            assert cut == otherwise
            continue
        best = max(gain(cutoff, fp, tp, n0, n1) for fp, tp in allowed)
        assert gain(cutoff, *counts(cut), n0, n1) == pytest.approx(best, rel=1e-9)
        assert np.abs(v - cut).min() > 0.0  # between two values


def test_minority_rows_that_are_more_normal_than_all_give_a_rate_of_false_alarms():
    values, weight = draws(4)
    values[:, MINORITY] = 9.0 + np.arange(8)
    expected = FalseAlarm(0.1)(values, weight, MINORITY)
    assert_array_equal(Best("g_mean", 0.5)(values, weight, MINORITY), expected)
    values[:, MINORITY] = np.nan  # which a rate takes no notice of
    assert_array_equal(FalseAlarm(0.1)(values, weight, MINORITY), expected)


def test_a_quantile_under_exponential_weights_has_its_law():
    """Of n values, the weights below the k-th smallest are Beta(k - 1, n - k + 1)."""
    rng, n, rate = np.random.default_rng(61), 40, 0.25
    values, none = rng.permutation(n).astype(float), np.zeros(n, dtype=bool)
    weight = rng.standard_exponential((20_000, n))
    q = FalseAlarm(rate)(np.broadcast_to(values, weight.shape), weight, none)
    for k in (
        6,
        10,
        14,
    ):  # the value number k stands between the weights below it and with it
        low, high = (beta.sf(rate, j, n - j) for j in (k - 1, k))
        assert low - 0.01 < (q <= k - 1.0).mean() < high + 0.01
    weight[:, values < 10] = 0.0  # rows of weight 0 are not there
    of_part = FalseAlarm(rate)(np.broadcast_to(values, weight.shape), weight, none)
    others = values >= 10
    expected = FalseAlarm(rate)(
        np.broadcast_to(values[others], (20_000, 30)), weight[:, others], none[others]
    )
    assert_allclose(of_part, expected, atol=1e-9)
    # by hand: weights 1, 2, 1 in ascending order have the places .5, 2 and 3.5 of 4
    v, t, none = (
        np.array([[3.0, 5.0, 4.0]]),
        np.array([[1.0, 1.0, 2.0]]),
        np.zeros(3, dtype=bool),
    )
    for rate, expected in (
        (0.125, 3.0),
        (0.5, 4.0),
        (0.3125, 3.5),
        (0.05, 3.0),
        (0.95, 5.0),
    ):
        assert FalseAlarm(rate)(v, t, none)[0] == pytest.approx(expected)


def test_a_printed_cutoff_is_one_distance():
    d, mass = np.arange(1.0, 11.0), np.ones(10)
    none = np.zeros(10, dtype=bool)
    assert (
        Printed(0.7).distance(d, mass, none) == 0.7 and not Printed(0.7).needs_minority
    )
    assert (
        Printed(FalseAlarm(0.3)).distance(d, mass, none) == 7.0
    )  # that of number .7 n
    assert Printed(FalseAlarm(0.35)).distance(d, mass, none) == 7.0
    assert (
        Printed(FalseAlarm(0.3)).distance(d, mass * np.repeat([2, 1], 5), none) == 6.0
    )
    assert Printed(Best()).needs_minority


# metrics


@pytest.mark.parametrize(
    ("counts", "name", "value"),
    [
        ((0, 0, 10, 90), "ppv", np.nan),  # nothing is flagged
        ((0, 0, 10, 90), "f1", 0.0),
        *(((0, 5, 0, 95), name, np.nan) for name in ("fnr", "g_mean")),  # no minority
        ((0, 5, 0, 95), "fpr", 0.05),
        ((6, 20, [4, 14], 70), "fnr", [0.4, 0.7]),  # elementwise
        (
            tuple(map(np.uint8, (200, 100, 150, 250))),
            "fpr",
            100 / 350,
        ),  # without overflow
    ],
)
def test_a_ratio_of_counts(counts, name, value):
    assert_allclose(rates(*counts)[name], value)


@pytest.mark.parametrize("seed", [0, 1])
def test_evaluate_is_scikit_learn_with_minority_as_positive(seed):
    rng = np.random.default_rng(seed)
    minority = rng.random(80) < 0.3
    score = rng.normal(size=80) + minority
    flagged = score > 0.8
    recall, specificity = (
        metrics.recall_score(minority, flagged, pos_label=v) for v in (1, 0)
    )
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


def test_a_printed_distance_may_be_a_number_of_numpy():
    for number in (0.5, np.float32(0.5), np.int64(1)):
        printed = Printed(number)
        assert printed.is_number and printed.distance(None, None, None) == number
