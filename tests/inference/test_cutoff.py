"""Every criterion of the cutoff on small cases that are counted by hand."""

import numpy as np
import pytest
from bsvdd.inference.cutoff import as_cutoff, candidates
from hypothesis import given
from hypothesis import strategies as st

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


@pytest.mark.parametrize("criterion", ["g_mean", "balanced_accuracy", "f1", "auto"])
def test_best_split_of_the_table_above(criterion):
    assert Cutoff(criterion).choose(DISTANCE, MINORITY) == 3.5


@pytest.mark.parametrize(
    ("miss_cost", "expected"),
    # costs FP + c FN from the table: c = 1/4 gives 3/4 at 8 (none flagged), and 1/2 at 7.5
    # c = 1: 2 at 3.5, 3 at 5.5, 2 at 7.5 (the largest wins); c = 10: 2 at 3.5
    [(0.25, 7.5), (1.0, 7.5), (10.0, 3.5), (0.6, 7.5)],
)
def test_cost(miss_cost, expected):
    assert Cutoff("cost", miss_cost=miss_cost).choose(DISTANCE, MINORITY) == expected


def test_criteria_can_disagree():
    """Distances - + - - + +++: three cutoffs, each the best of its criterion.

    n0 = 3 majority at 1, 3, 4; minority at 2, 5, 6, 7, 8.
    cutoff 1.5: TP 5 FP 2, G^2 = 1/3, F1 = 10/12; 4.5: TP 4 FP 0, G^2 = 4/5, F1 = 8/9;
    below 1: TP 5 FP 3, F1 = 10/13. With misses at 10: cost 2 at 1.5, 10 at 4.5, 3 below 1.
    """
    d = np.arange(1.0, 9.0)
    minority = np.isin(d, [2, 5, 6, 7, 8])
    assert Cutoff("g_mean").choose(d, minority) == 4.5
    assert Cutoff("f1").choose(d, minority) == 4.5
    assert Cutoff("cost", miss_cost=10).choose(d, minority) == 1.5
    assert Cutoff("cost", miss_cost=1).choose(d, minority) == 4.5


def test_f1_flags_everything_on_no_signal_and_the_g_mean_does_not():
    """Minority at 1, 3, majority at 2, 4: all flagged has F1 4/6, the most there is."""
    d, minority = np.array([1.0, 4.0, 2.0, 3.0]), np.array([0, 0, 1, 1], dtype=bool)
    # < 1: F1 2/3 (TP 2, FP 2); 1.5: TP 2 FP 1, F1 4/5, G^2 1/2
    assert Cutoff("f1").choose(d, minority) == 1.5
    d = np.array([2.0, 4.0, 1.0, 3.0])
    # < 1: F1 4/6, G 0; 1.5: TP 1 FP 2, F1 2/5, G 0; 2.5: TP 1 FP 1, F1 1/2, G^2 1/4;
    # 3.5: TP 0 FP 1, F1 0, G 0; 4: none flagged
    assert Cutoff("f1").choose(d, minority) < 1.0
    assert Cutoff("g_mean").choose(d, minority) == 2.5


def test_of_equally_good_cutoffs_the_largest_is_taken():
    """Majority at 2, 3, minority at 1, 4: F1 is 2/3 with all flagged and with 4 alone."""
    d, minority = np.array([2.0, 3.0, 1.0, 4.0]), np.array([0, 0, 1, 1], dtype=bool)
    assert Cutoff("f1").choose(d, minority) == 3.5
    # majority at 1, 3, minority at 2, 4: balanced accuracy 3/4 at 1.5 and at 3.5
    d = np.array([1.0, 3.0, 2.0, 4.0])
    assert Cutoff("balanced_accuracy").choose(d, minority) == 3.5
    assert Cutoff("g_mean").choose(d, minority) == 3.5
    assert Cutoff("cost").choose(d, minority) == 3.5


def test_equally_good_but_for_rounding_is_equally_good():
    """G^2 is 2/5 x 1/2 at .5 and 1/5 x 1 at 1.5, and 1 - 4/5 is not quite 1/5."""
    d = np.repeat([0.0, 1.0, 0.0, 1.0, 2.0], [4, 4, 3, 1, 1])
    minority = np.repeat([False, True], [8, 5])
    assert Cutoff("g_mean").choose(d, minority) == 1.5


def test_false_alarm_is_an_order_statistic():
    """Of ten rows number ceil((1 - rate) 11): 10 of .1 and .09, 9 of .2, 8 of .3, 6 of .5."""
    d = np.arange(1.0, 11.0)
    none = np.zeros(10, dtype=bool)
    for rate, expected in [(0.0910, 10.0), (0.1, 10.0), (0.2, 9.0), (0.3, 8.0), (0.5, 6.0)]:
        assert Cutoff("false_alarm", false_alarm_rate=rate).choose(d, none) == expected
    assert Cutoff("auto", false_alarm_rate=0.2).choose(d, none) == 9.0


@pytest.mark.parametrize("step", [1, 3])
def test_false_alarm_in_whole_numbers(step):
    """Of n + 1 equally likely ranks the smallest r with (n + 1 - r)/(n + 1) <= k/100."""
    wrong = []
    for n in (1, 7, 10, 25, 60, 100):
        d = np.floor(np.arange(n) / step)  # ties from step 2 on
        none = np.zeros(n, dtype=bool)
        for k in range(1, 100):
            policy = Cutoff("false_alarm", false_alarm_rate=k / 100)
            fitting = [r for r in range(1, n + 1) if (n + 1 - r) * 100 <= k * (n + 1)]
            if fitting and policy.choose(d, none) != d[min(fitting) - 1]:
                wrong.append((n, k))
            if not fitting:
                with pytest.raises(ValueError, match=f"needs at least {-(-100 // k) - 1} left-out"):
                    policy.choose(d, none)
    assert wrong == []


@pytest.mark.parametrize(("n", "rate"), [(9, 0.1), (20, 0.1), (50, 0.05), (99, 0.01), (30, 0.3)])
def test_a_new_row_is_above_the_cutoff_at_no_more_than_the_rate(n, rate):
    """By counting: of n + 1 rows in any order, the last is above the cutoff of the others."""
    ranks = np.arange(1.0, n + 2)
    none = np.zeros(n, dtype=bool)
    policy = Cutoff("false_alarm", false_alarm_rate=rate)
    above = np.mean([new > policy.choose(ranks[ranks != new], none) for new in ranks])
    assert above <= rate + 1e-12
    assert above > rate - 1 / (n + 1)  # and no smaller cutoff would do


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_a_false_alarm_rate_lies_between_zero_and_one(rate):
    with pytest.raises(ValueError, match="false_alarm_rate must lie between 0 and 1"):
        Cutoff("false_alarm", false_alarm_rate=rate)


@pytest.mark.parametrize("rank", [1, 3, np.int64(5), 8])
def test_a_rank_is_the_place_among_the_majority(rank):
    d = np.array([5.0, 0.5, 3.0, 9.0, 1.0, 7.0, 2.0, 8.0, 4.0, 6.0])
    minority = np.isin(np.arange(10), [1, 3])
    ordered = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]  # without .5 and 9
    assert Cutoff("rank", rank=rank).choose(d, minority) == ordered[rank - 1]


def test_a_rank_as_a_share_rounds_up():
    """c = ceil(share n0) for each share in hundredths, in whole numbers."""
    wrong = []
    for n in (7, 10, 30, 100):
        for k in range(1, 100):
            c = Cutoff("rank", rank=k / 100).choose(np.arange(1.0, n + 1), np.zeros(n, dtype=bool))
            if c != -(-k * n // 100):
                wrong.append((n, k))
    assert wrong == []


def test_a_rank_beyond_the_rows_says_how_many_there_are():
    policy, none = Cutoff("rank", rank=11), np.zeros(10, dtype=bool)
    message = r"rank=11 is out of range: there are 10 majority rows .* from 1 to 10, or a share"
    for call in (lambda: policy.check(none), lambda: policy.choose(np.arange(10.0), none)):
        with pytest.raises(ValueError, match=message):
            call()


@pytest.mark.parametrize("rank", [None, 0, -1, 1.0, 1.5, 0.0, True, "3", np.nan])
def test_a_rank_is_a_whole_number_or_a_share(rank):
    with pytest.raises(ValueError, match="needs rank=c, a whole number from 1 .* a share"):
        Cutoff("rank", rank=rank)


def test_a_rank_needs_its_criterion():
    with pytest.raises(ValueError, match="rank=3 belongs to criterion='rank', got 'g_mean'"):
        Cutoff("g_mean", rank=3)


def test_a_rate_on_training_distances_is_the_cth_smallest_too():
    """A rate of 1 - c/(n0 + 1)."""
    none = {n: np.zeros(n, dtype=bool) for n in range(1, 101)}
    wrong = [
        (c, n)
        for n in none
        for c in range(1, n + 1)
        if Cutoff("false_alarm", false_alarm_rate=1 - c / (n + 1)).choose(
            np.arange(1.0, n + 1), none[n]
        )
        != c
    ]
    assert wrong == []


def test_a_cutoff_lies_where_the_middle_says():
    """Geometric means in place of the half-way points, as for distances on a log scale."""
    d, minority = np.array([1.0, 4.0, 9.0, 16.0]), np.array([0, 0, 1, 1], dtype=bool)
    assert Cutoff("g_mean").choose(d, minority, lambda a, b: np.sqrt(a * b)) == 6.0
    assert Cutoff("g_mean").choose(d, minority, lambda a, b: b + 1.0) == 4.0  # not between


def test_false_alarm_ignores_minority_rows():
    policy = Cutoff("false_alarm", false_alarm_rate=0.2)
    assert policy.choose(DISTANCE, MINORITY) == 7.0  # majority at 1, 2, 3, 5, 7: number 5 of 6


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
    best = Cutoff("g_mean").choose(d, minority)
    most = max(map(g_mean, thresholds))
    assert g_mean(best) == pytest.approx(most, abs=1e-12)
    for c in thresholds:
        assert g_mean(c) < most - 1e-9 or (d > c).sum() >= (d > best).sum()
    best = Cutoff("cost", miss_cost=3).choose(d, minority)
    least = min(map(cost, thresholds))
    assert cost(best) == least
    for c in thresholds:  # an equally good one flags the same rows, or more
        assert cost(c) > least or (d > c).sum() >= (d > best).sum()


def test_candidates_split_at_the_middle_and_at_both_ends():
    found = candidates(np.array([3.0, 1.0, 1.0, 2.0, np.inf]))
    assert found[0] < 1.0
    np.testing.assert_array_equal(found[1:], [1.5, 2.5, 3.0])


def test_infinite_distances_are_flagged_by_every_finite_cutoff():
    d = np.array([1.0, 2.0, np.inf, np.inf])
    minority = np.array([False, False, True, True])
    assert Cutoff("g_mean").choose(d, minority) == 2.0
    with pytest.raises(ValueError, match="every left-out distance is infinite"):
        Cutoff("g_mean").choose(d[2:], np.array([True, False]))


def test_false_alarm_cutoff_is_finite():
    """Half of the rows infinitely far: no cutoff that is a number lets nine tenths in."""
    d = np.repeat([1.0, np.inf], [5, 5])
    with pytest.raises(ValueError, match="infinite"):
        Cutoff("false_alarm").choose(d, np.zeros(10, dtype=bool))


@pytest.mark.parametrize("criterion", ["g_mean", "balanced_accuracy", "f1", "cost"])
def test_comparing_criteria_need_minority_rows(criterion):
    with pytest.raises(ValueError, match=f"criterion='{criterion}' compares .*use criterion='fals"):
        Cutoff(criterion).choose(DISTANCE, np.zeros(8, dtype=bool))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("criterion", "youden"),
        ("criterion", "radius"),
        ("criterion", np.nan),
        ("criterion", np.inf),
        ("cv", None),
        ("cv", 0),
        ("cv", 2.5),
        ("cv", 1),
        ("cv", True),
        ("cv", "kfold"),
        ("level", 1.0),
        ("level", -0.1),
        ("false_alarm_rate", 1.0),
        ("miss_cost", 0.0),
        ("miss_cost", np.inf),
    ],
)
def test_fields_are_checked(field, value):
    named = "a number" if field == "criterion" and not isinstance(value, str) else field
    with pytest.raises(ValueError, match=f"cutoff: {named} must .* got {value!r}"):
        Cutoff(**{field: value})


@pytest.mark.parametrize("value", [0, 0.7, np.float64(0.7), np.float32(0.5), -2.0], ids=repr)
def test_a_number_is_chosen_whatever_the_distances_are(value):
    for minority in (MINORITY, np.zeros(8, dtype=bool)):
        found = Cutoff(value, level=0.3).choose(DISTANCE, minority)
        assert type(found) is float
        assert found == float(value)


def test_the_boundary_of_a_model_is_no_choice_among_distances():
    with pytest.raises(ValueError, match="criterion='model' is the model's own .*; use another"):
        Cutoff("model").choose(DISTANCE, MINORITY)


@pytest.mark.parametrize("criterion", ["g_mean", "balanced_accuracy", "f1", "cost"])
def test_check_needs_minority_rows_to_compare_with(criterion):
    with pytest.raises(ValueError, match=f"criterion='{criterion}' compares .*use criterion='fals"):
        Cutoff(criterion).check(np.zeros(8, dtype=bool))
    Cutoff(criterion).check(MINORITY)


@pytest.mark.parametrize("criterion", ["auto", "false_alarm", "model", 0.7])
def test_check_needs_no_minority_rows_where_none_are_compared(criterion):
    Cutoff(criterion).check(np.zeros(8, dtype=bool))


def test_check_counts_the_rows_of_each_class_for_the_folds():
    with pytest.raises(ValueError, match="cv=4 folds need at least 4 minority rows, got 3; use"):
        Cutoff("g_mean", cv=4).check(MINORITY)
    with pytest.raises(ValueError, match="cv=9 folds need at least 9 majority rows, got 8; use"):
        Cutoff(cv=9).check(np.zeros(8, dtype=bool))
    Cutoff("g_mean", cv=3).check(MINORITY)
    Cutoff(cv=8).check(np.zeros(8, dtype=bool))  # a class that is not there needs no fold


def test_as_cutoff():
    assert as_cutoff(None) == Cutoff()
    assert as_cutoff("f1") == Cutoff("f1")
    assert as_cutoff(Cutoff("cost", cv=5)) == Cutoff("cost", cv=5)
    assert as_cutoff(np.float64(0.7)) == Cutoff(0.7)
    assert as_cutoff(0) == Cutoff(0)
    for wrong in (np.nan, np.inf, -np.inf):
        with pytest.raises(ValueError, match=f"cutoff: a number must be finite, got {wrong}"):
            as_cutoff(wrong)
    for wrong in (True, [1.0], object):
        with pytest.raises(TypeError, match="cutoff must be None, a criterion's name, a Cutoff or"):
            as_cutoff(wrong)


@pytest.mark.parametrize("cv", ["auto", "loo", "train", 2, 5])
def test_ways_to_leave_rows_out(cv):
    assert Cutoff(cv=cv).cv == cv


def test_a_level_of_zero_calls_normal_whatever_may_be():
    assert Cutoff(level=0).level == 0


@pytest.mark.parametrize("criterion", ["false_alarm", "auto"])
def test_a_rate_needs_its_rows_before_a_fit(criterion):
    """1/rate - 1 majority rows, where the cutoff comes from a rate: 9 for .1."""
    policy = Cutoff(criterion, false_alarm_rate=0.1)
    policy.check_rate(np.zeros(9, dtype=bool))
    few = np.zeros(8, dtype=bool)
    with pytest.raises(ValueError, match="at least 9 left-out majority rows, got 8"):
        policy.check_rate(few)
    compared = np.append(few, True)  # with a minority row, "auto" is the G-mean
    if criterion == "auto":
        policy.check_rate(compared)
    else:
        with pytest.raises(ValueError, match="got 8"):
            policy.check_rate(compared)
    Cutoff("rank", rank=1).check_rate(few)


def test_one_row_of_a_class_is_too_few_for_folds():
    with pytest.raises(ValueError, match="need at least 3 minority rows, got 1"):
        Cutoff("g_mean", cv=3).check(np.array([True] + [False] * 9))
