"""Every chooser of the cutoff on small cases that are counted by hand, and the metrics."""

import numpy as np
import pytest
from bsvdd.inference.cutoffs import Best, Cost, FalseAlarm, Rank, rates
from bsvdd.inference.decision import evaluate
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics

from bsvdd import Cutoff

# majority (-) and minority (+) by distance:   - - - + - + - +
DISTANCE = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0])
MINORITY = np.array([0, 0, 0, 1, 0, 1, 0, 1], dtype=bool)
# cutoff   flagged   TP FP   TPR  FPR    G-mean^2   balanced   F1
#  <1      all 8      3  5    1    1      0          1/2        6/11 = .545
#  1.5     7          3  4    1    4/5    1/5        6/10       6/10 = .600
#  2.5     6          3  3    1    3/5    2/5        7/10       6/9  = .667
#  3.5     5          3  2    1    2/5    3/5        8/10       6/8  = .750
#  4.5     4          2  2    2/3  2/5    2/5        19/30      4/7  = .571
#  5.5     3          2  1    2/3  1/5    8/15       22/30      4/6  = .667
#  6.5     2          1  1    1/3  1/5    4/15       17/30      2/5
#  7.5     1          1  0    1/3  0      1/3        2/3        2/4
#  8       0          0  0    0    0      0          1/2        0
TABLE = DISTANCE, MINORITY
METRICS = "g_mean", "balanced_accuracy", "f1"
BEST = [Best(metric, None) for metric in METRICS]
COMPARING = [*BEST, Cost()]


def rows(majority, minority):
    """Distances of the majority, then of the minority."""
    y = np.repeat([False, True], [len(majority), len(minority)])
    return np.array([*majority, *minority], dtype=float), y


def chosen(choose, distance, minority, far=np.inf):
    """D_opt, where a value is minus a distance."""
    return -choose(-distance, minority, -far)


# n0 = 3 majority at 1, 3, 4; minority at 2, 5, 6, 7, 8.
# cutoff 1.5: TP 5 FP 2, G^2 = 1/3, F1 = 10/12; 4.5: TP 4 FP 0, G^2 = 4/5, F1 = 8/9;
# below 1: TP 5 FP 3, F1 = 10/13. With misses at 10: cost 2 at 1.5, 10 at 4.5, 3 below 1.
DISAGREE = rows([1, 3, 4], [2, 5, 6, 7, 8])
# < 1: F1 4/6, G 0; 1.5: TP 1 FP 2, F1 2/5, G 0; 2.5: TP 1 FP 1, F1 1/2, G^2 1/4;
# 3.5: TP 0 FP 1, F1 0, G 0; 4: none flagged
NO_SIGNAL = rows([2, 4], [1, 3])
# G^2 is 2/5 x 1/2 at .5 and 1/5 x 1 at 1.5, and 1 - 4/5 is not quite 1/5
ROUNDING = rows([0] * 4 + [1] * 4, [0, 0, 0, 1, 2])
TEN = rows(range(1, 11), [])


@pytest.mark.parametrize(
    ("choose", "table", "expected"),
    [
        *((best, TABLE, 3.5) for best in BEST),
        (Cutoff(uncertain=False).chooser(MINORITY), TABLE, 3.5),
        # within a limit of 1/5, 2/5 and 0; a limit that no cutoff reaches changes nothing
        *((Best(m, f), TABLE, c) for m in METRICS for f, c in ((0.2, 5.5), (0.399, 5.5), (0, 7.5))),
        *((Best(m, f), TABLE, 3.5) for m in METRICS for f in (0.4, 1)),
        (Cutoff().chooser(MINORITY), TABLE, 5.5),
        # 3 of 15 are .2 exactly; G^2 at 12.1 is 12/15 x 1, and 13/15 x 1/2 at 13.1
        (Best(), rows(range(1, 16), [12.2, 13.2]), 12.1),
        # no minority row lies beyond the third of the oddest rows: number ceil(.9 x 16) = 15
        (Best("f1"), rows(range(1, 16), [3.5, 4.5]), 15.0),
        (Best(), rows([1, 2, 3, 4], [2.5]), 4.0),  # ... and number 4 of 4 where .1 is too small
        (Best(), rows([np.inf], [1, 2]), 2.0),  # no limit where no majority row can be left out
        # costs FP + c FN from the table: c = 1/4 gives 3/4 at 8 (none flagged), and 1/2 at 7.5
        # c = 1: 2 at 3.5, 3 at 5.5, 2 at 7.5 (the largest wins); c = 10: 2 at 3.5
        *((Cost(c), TABLE, 7.5) for c in (0.25, 0.6, 1.0)),
        (Cost(10.0), TABLE, 3.5),
        *((c, DISAGREE, 4.5) for c in (BEST[0], BEST[2], Cost())),
        (Cost(10), DISAGREE, 1.5),
        # < 1: F1 2/3 (TP 2, FP 2); 1.5: TP 2 FP 1, F1 4/5, G^2 1/2
        (BEST[2], rows([1, 4], [2, 3]), 1.5),
        (BEST[0], NO_SIGNAL, 2.5),
        (BEST[2], NO_SIGNAL, np.nextafter(1.0, 0.0)),  # all flagged has 4/6, the most there is
        # of equally good cutoffs the largest: F1 is 2/3 with all flagged and with 4 alone
        (BEST[2], rows([2, 3], [1, 4]), 3.5),
        # balanced accuracy 3/4 at 1.5 and at 3.5
        *((c, rows([1, 3], [2, 4]), 3.5) for c in (*BEST[:2], Cost())),
        (BEST[0], ROUNDING, 1.5),
        # of ten rows number ceil((1 - rate) 11): 10 of .1 and .09, 9 of .2, 8 of .3, 6 of .5
        *(
            (FalseAlarm(rate), TEN, c)
            for rate, c in ((0.0910, 10), (0.1, 10), (0.2, 9), (0.3, 8), (0.5, 6))
        ),
        (Cutoff().chooser(TEN[1]), TEN, 10),
        # majority at 1, 2, 3, 5, 7: number 5 of 6
        (FalseAlarm(0.2), TABLE, 7.0),
        *((Rank(r), TABLE, c) for r, c in ((1, 1.0), (np.int64(4), 5.0), (5, 7.0))),
        (Best("g_mean"), rows([1, 2], [np.inf, np.inf]), 2.0),
    ],
    ids=str,
)
def test_cutoffs_by_hand(choose, table, expected):
    found = chosen(choose, *table)
    assert type(found) is float and found == expected


def test_a_far_row_lies_beyond_the_cutoff_if_the_classes_are_compared():
    """From the table: below 3.4 the best is between 3 and 3.4; a rate takes no notice."""
    for choose in COMPARING:
        assert chosen(choose, *TABLE, far=3.4) == 3.2
        assert chosen(choose, *TABLE, far=0.5) == chosen(choose, *TABLE)
    assert chosen(FalseAlarm(0.2), *TABLE, far=3.4) == chosen(FalseAlarm(0.2), *TABLE)


@pytest.mark.parametrize("n", [1, 7, 10, 25, 100])
def test_false_alarms_and_ranks_in_whole_numbers(n):
    """Of n + 1 equally likely ranks the smallest r with (n + 1 - r)/(n + 1) <= k/100.

    A share is number ceil(share n), and a rate of 1 - c/(n + 1) is number c.
    """
    wrong, none = [], np.zeros(n, dtype=bool)
    for d in (np.arange(n) + 0.0, np.floor(np.arange(n) / 3)):  # with ties
        for k in range(1, 100):
            choose = FalseAlarm(k / 100)
            fitting = [r for r in range(1, n + 1) if (n + 1 - r) * 100 <= k * (n + 1)]
            if fitting and chosen(choose, d, none) != d[min(fitting) - 1]:
                wrong.append((n, k))
            if not fitting:
                with pytest.raises(ValueError, match=f"needs at least {-(-100 // k) - 1} left-out"):
                    choose.check(none)
        shares = [chosen(Rank(k / 100), d, none) for k in range(1, 100)]
        assert shares == [d[-(-k * n // 100) - 1] for k in range(1, 100)]
        rates = [1 - c / (n + 1) for c in range(1, n + 1)]
        assert [chosen(FalseAlarm(r), d, none) for r in rates] == [*d]
    assert wrong == []


@given(st.lists(st.tuples(st.integers(0, 12), st.booleans()), min_size=2, max_size=25))
def test_choice_is_the_best_of_all_cutoffs(rows):
    """By trying every threshold: no other split has a better G-mean or a lower cost."""
    d = np.array([float(v) for v, _ in rows])
    minority = np.array([m for _, m in rows])
    if not minority.any() or minority.all():
        return

    def g_mean(c):
        return np.sqrt((d[minority] > c).mean() * (d[~minority] <= c).mean())

    def cost(c):
        return (d[~minority] > c).sum() + 3 * (d[minority] <= c).sum()

    thresholds = np.arange(-0.5, 13)
    for limit in (None, 0.2):
        allowed = [c for c in thresholds if limit is None or (d[~minority] > c).mean() <= limit]
        best = chosen(Best("g_mean", limit), d, minority)
        most = max(map(g_mean, allowed))
        if limit is not None and not any((d[minority] > c).any() for c in allowed):
            rate = max(0.1, 1.0 / ((~minority).sum() + 1))
            assert best == chosen(FalseAlarm(rate), d, minority)
            continue
        assert g_mean(best) == pytest.approx(most, abs=1e-12)
        for c in allowed:
            assert g_mean(c) < most - 1e-9 or (d > c).sum() >= (d > best).sum()
    best = chosen(Cost(3), d, minority)
    least = min(map(cost, thresholds))
    assert cost(best) == least
    for c in thresholds:  # an equally good one flags the same rows, or more
        assert cost(c) > least or (d > c).sum() >= (d > best).sum()


# metrics


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
