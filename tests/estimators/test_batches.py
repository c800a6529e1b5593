"""Conformal p-values, the false discovery rate and the number of abnormal rows."""

from itertools import combinations

import numpy as np
import pytest
from bsvdd.estimators.questions.batches import (
    discoveries,
    discoveries_by_e_values,
    e_values,
    false_discoveries,
)
from bsvdd.estimators.questions.p_values import p_values
from bsvdd.inference.decision import probability_error, three_way
from hypothesis import given
from hypothesis import strategies as st

from bsvdd import Cutoff


def test_a_p_value_counts_the_left_out_rows_at_or_below():
    left_out = np.array([1.0, 2.0, 2.0, 5.0])
    found = p_values(np.array([0.0, 1.0, 1.5, 2.0, 5.0, 6.0]), left_out)
    np.testing.assert_array_equal(found, np.array([1, 2, 2, 4, 5, 5]) / 5)


@given(st.integers(9, 60), st.integers(1, 30))
def test_every_rank_is_one_step_of_the_p_value(n, alpha):
    """Of n + 1 rows in any order, at most a share alpha has a p-value of at most alpha."""
    rate, scores = alpha / 100, np.arange(1.0, n + 2)
    p = [p_values(np.array([s]), np.delete(scores, i))[0] for i, s in enumerate(scores)]
    assert np.mean(np.array(p) <= rate + 1e-12) <= rate + 1e-12


def by_definition(p, fdr):
    """Reject the k smallest, k the largest number with p_(k) <= k fdr / m."""
    ordered, m = np.sort(p), len(p)
    fitting = [k for k in range(1, m + 1) if ordered[k - 1] <= k * fdr / m]
    return p <= ordered[max(fitting) - 1] if fitting else np.zeros(m, dtype=bool)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=12), st.sampled_from([0.05, 0.1, 0.3]))
def test_discoveries_are_those_of_benjamini_and_hochberg(ranks, fdr):
    p = np.array(ranks) / 41
    np.testing.assert_array_equal(discoveries(p, fdr), by_definition(p, fdr))


def orders(n, m):
    """All orders of n left-out and m normal rows: the p-values (orders, m)."""
    ranks = []
    for places in combinations(range(n + m), m):
        left_out = np.delete(np.arange(float(n + m)), places)
        ranks.append(p_values(np.array(places, dtype=float), left_out))
    return np.array(ranks)


@pytest.mark.parametrize(("n", "m", "confidence"), [(7, 3, 0.8), (4, 6, 0.7), (12, 2, 0.9)])
@pytest.mark.parametrize("abnormal", [0, 3])
def test_bounds_hold_for_all_thresholds_in_as_many_orders(n, m, confidence, abnormal):
    """Of all orders of normal rows, beside abnormal rows with the smallest p-value."""
    broken, sure = [], []
    for p in orders(n, m):
        found = false_discoveries(np.append(p, [1 / (n + 1)] * abnormal), n, confidence)
        false = (p[:, None] <= found["p_value"].to_numpy()).sum(axis=0)
        broken.append((false > found["false_at_most"]).any())
        sure.append(found["abnormal_at_least"].max())
    assert np.mean(broken) <= 1 - confidence + 0.01  # 9,999 samples have an error of .005
    assert np.mean(broken) > 0 or max(sure) == 0  # they are not far off


def test_bounds_grow_with_abnormal_rows_and_are_whole():
    rng = np.random.default_rng(2)
    p = np.append([1 / 201] * 30, rng.integers(1, 202, 170) / 201)
    found = false_discoveries(p, 200)
    assert 15 <= found["abnormal_at_least"].max() <= 30
    total = found["abnormal_at_least"] + found["false_at_most"]
    np.testing.assert_array_equal(total, found["selected"])
    np.testing.assert_array_equal(total, [(p <= each).sum() for each in found["p_value"]])
    share = found["false_at_most"] / found["selected"]
    np.testing.assert_array_equal(found["false_share_at_most"], share)
    more = false_discoveries(p, 200, 0.99)
    assert (more["false_at_most"] >= found["false_at_most"]).all()
    with pytest.raises(ValueError, match="confidence must be at most 0.9999"):
        false_discoveries(p, 200, 0.99999)


def test_three_ways_by_hand():
    p = np.array([0.0, 0.2, 0.21, 0.5, 0.79, 0.8, 1.0])
    exact = np.zeros(7)
    expected = ["abnormal"] * 2 + ["undecided"] * 3 + ["normal"] * 2
    assert three_way(p, exact, 0.2, 0.8).tolist() == expected
    error = probability_error(p, 100.0)
    np.testing.assert_allclose(error**2, p * (1 - p) / 100)
    # .2 + 2 x .04 exceeds .2, and 0 and 1 have no error
    assert three_way(p, error, 0.2, 0.8).tolist() == ["abnormal"] + ["undecided"] * 5 + ["normal"]


@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=12),
    st.lists(st.integers(5, 40), min_size=1, max_size=60),
    st.sampled_from([0.05, 0.1, 0.2, 0.5]),
)
def test_e_values_of_one_split_select_what_p_values_select(scores, left_out, fdr):
    """The two procedures are one for a single split (Bashari et al. 2023)."""
    batch, known = np.array(scores, dtype=float), np.sort(np.array(left_out, dtype=float))
    by_p = discoveries(p_values(batch, known), fdr)
    by_e = discoveries_by_e_values(e_values(batch, known, fdr), fdr)
    np.testing.assert_array_equal(by_e, by_p)


@pytest.mark.parametrize("fdr", [0.3, 0.6, 0.9])
def test_the_expected_sum_of_e_values_is_at_most_the_number_of_normal_rows(fdr):
    """Over all choices of 3 of 12 normal rows for the batch, beside two abnormal rows."""
    ranks, sums = np.arange(1.0, 13.0), []
    for chosen in combinations(range(12), 3):
        batch = np.append(ranks[list(chosen)], [0.2, 0.5])
        sums.append(e_values(batch, np.delete(ranks, chosen), fdr)[:3].sum())
    assert 0.0 < np.mean(sums) <= 3.0 + 1e-12


def test_edges():
    e = e_values(np.array([5.0, 6.0]), np.arange(10.0), 0.1)
    assert e.tolist() == [0.0, 0.0] and not discoveries_by_e_values(e, 0.1).any()
    none = discoveries(np.empty(0), 0.1)
    assert (none.shape, none.dtype) == ((0,), bool) and not len(false_discoveries(np.empty(0), 9))
    for p, fdr in ((7 / 86, 0.1), (7 / 43, 0.2), (7 / 172, 0.05)):  # p 43 / 35 is the rate
        assert discoveries(np.array([p] * 35 + [1.0] * 8), fdr).sum() == 35
    for value in (0, 1, -0.1, float("nan"), "a", None):
        with pytest.raises(ValueError, match="fdr must lie between 0 and 1"):
            discoveries(np.array([0.5]), value)
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            false_discoveries(np.array([0.5]), 9, value)
    assert Cutoff(undecided=[0, 1]).undecided == (0.0, 1.0)
    for pair in ((0.6, 0.8), (0.2, 0.4), (0.2,), (0.8, 0.2), ("a", "b"), 0.3, (-0.1, 0.9)):
        with pytest.raises(ValueError, match="undecided"):
            Cutoff(undecided=pair)
