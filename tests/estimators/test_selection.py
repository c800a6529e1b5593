"""Conformal p-values and the false discovery rate, by definition; decisions in three ways."""

import numpy as np
import pytest
from bsvdd.estimators.p_values import p_values
from bsvdd.estimators.questions.selection import discoveries
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


def test_three_ways_by_hand():
    p = np.array([0.0, 0.2, 0.21, 0.5, 0.79, 0.8, 1.0])
    exact = np.zeros(7)
    expected = ["abnormal"] * 2 + ["undecided"] * 3 + ["normal"] * 2
    assert three_way(p, exact, 0.2, 0.8).tolist() == expected
    error = probability_error(p, 100.0)
    np.testing.assert_allclose(error**2, p * (1 - p) / 100)
    # .2 + 2 x .04 exceeds .2, and 0 and 1 have no error
    assert three_way(p, error, 0.2, 0.8).tolist() == ["abnormal"] + ["undecided"] * 5 + ["normal"]


def test_edges():
    none = discoveries(np.empty(0), 0.1)
    assert (none.shape, none.dtype) == ((0,), bool)
    for p, fdr in ((7 / 86, 0.1), (7 / 43, 0.2), (7 / 172, 0.05)):  # p 43 / 35 is the rate
        assert discoveries(np.array([p] * 35 + [1.0] * 8), fdr).sum() == 35
    for value in (0, 1, -0.1, float("nan"), "a", None):
        with pytest.raises(ValueError, match="fdr must lie between 0 and 1"):
            discoveries(np.array([0.5]), value)
    assert Cutoff(undecided=[0, 1]).undecided == (0.0, 1.0)
    for pair in ((0.6, 0.8), (0.2, 0.4), (0.2,), (0.8, 0.2), ("a", "b"), 0.3, (-0.1, 0.9)):
        with pytest.raises(ValueError, match="undecided"):
            Cutoff(undecided=pair)
