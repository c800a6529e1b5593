"""The decision rule: normal where P(d_z <= cutoff) > level, strictly."""

import numpy as np
import pytest
from bsvdd.inference.decision import (
    compared,
    distance_quantile,
    probability_normal,
    weighted_distance_quantile,
)
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from bsvdd import Cutoff
from tests.scores import common_norm


def test_probability_is_the_share_of_draws_at_or_below():
    d = np.array([[1.0, 3.0], [2.0, 3.0], [2.0, 1.0], [5.0, 0.0]])
    np.testing.assert_array_equal(probability_normal(d, 2.0), [0.75, 0.5])


def test_half_of_the_draws_are_not_more_than_half():
    """Two of four draws at or below 2: P = .5 is not above .5, so z is abnormal."""
    d = np.array([[1.0], [2.0], [3.0], [4.0]])
    assert probability_normal(d, 2.0) == 0.5
    assert distance_quantile(d, 0.5) == 3.0
    assert distance_quantile(d, 0.49) == 2.0


def test_three_of_ten_at_level_three_tenths():
    """0.3 * 10 is 3 in spite of rounding: three draws are not more, four are."""
    d = np.arange(1.0, 11.0)[:, None]
    assert distance_quantile(d, 0.3) == 4.0
    assert distance_quantile(d, 0.1 + 0.2) == 4.0


@pytest.mark.parametrize("draws", [10, 100, 1000])
def test_rounding_of_level_times_draws_decides_nothing(draws):
    """0.29 * 100 is 28.999999999999996: 29 of 100 draws are still not more than 0.29."""
    d = np.arange(1.0, draws + 1)[:, None]
    levels = np.arange(draws)
    found = [distance_quantile(d, k / draws)[0] for k in levels]
    np.testing.assert_array_equal(found, levels + 1)


def test_level_zero_asks_for_one_draw_and_the_highest_for_all():
    d = np.array([[4.0], [1.0], [3.0]])
    assert distance_quantile(d, 0.0) == 1.0
    assert distance_quantile(d, 0.99) == 4.0


def test_one_draw_decides_by_itself():
    d = np.array([[1.0, 2.0]])
    for level in (0.0, 0.5, 0.99):
        np.testing.assert_array_equal(distance_quantile(d, level), d[0])


whole_distances = st.integers(1, 40).flatmap(
    lambda n: arrays(float, (n, 3), elements=st.integers(0, 8).map(float))  # many ties
)


@given(whole_distances, st.integers(0, 999), st.integers(-1, 9))
def test_distance_quantile_decides_as_the_probability_does(d, thousandths, cutoff):
    """Counted in whole numbers: more than level * draws at or below the cutoff."""
    level = thousandths / 1000
    counts = (d <= cutoff).sum(axis=0)
    normal = counts * 1000 > thousandths * len(d)
    np.testing.assert_array_equal(distance_quantile(d, level) <= cutoff, normal)
    of_draw = np.arange(float(len(d)))[:, None]  # a cutoff for each draw
    np.testing.assert_array_equal(
        probability_normal(d + of_draw, cutoff + of_draw), probability_normal(d, cutoff)
    )
    probability, found, ties = compared(d + of_draw, cutoff + of_draw, level, 1e-12)
    np.testing.assert_array_equal(found, normal)
    np.testing.assert_array_equal(probability, probability_normal(d, cutoff))
    np.testing.assert_array_equal(ties, (d == cutoff).any(axis=0))


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 2000))
@example(0.9999999999999999, 10)
def test_every_level_below_one_has_a_distance_quantile(level, draws):
    d = np.arange(1.0, draws + 1)[:, None]
    assert 1 <= distance_quantile(d, level)[0] <= draws


@pytest.mark.filterwarnings("ignore::bsvdd.inference.warning.DiagnosticWarning")
@pytest.mark.parametrize("name", ["SVDD", "BDD", "BSVDD", "BSVDDM"])
@pytest.mark.parametrize("level", [0.0, 0.25, 0.5, 0.9])
def test_all_faces_of_an_estimator_agree(fitted, table, new_rows, name, level):
    est = fitted(name).with_cutoff(Cutoff("g_mean", level=level))
    assert est.level_ == level
    Z = np.concatenate([table[0], new_rows])
    d = common_norm(est, est.distance(Z))
    np.testing.assert_allclose(est.distance(Z, common_norm=True).values.reshape(d.shape), d)
    trained = est.distance(common_norm=True).values.reshape(len(d), -1)
    np.testing.assert_allclose(trained, d[:, : len(table[0])], atol=1e-7)
    p = est.probability_normal(Z)
    np.testing.assert_array_equal(p, [np.mean(column <= est.cutoff_) for column in d.T])
    np.testing.assert_array_equal(est.predict(Z), np.where(p > level, 1, -1))
    np.testing.assert_array_equal(est.predict(Z) == 1, est.score_samples(Z) >= est.offset_)
    np.testing.assert_array_equal(est.predict(Z) == 1, est.decision_function(Z) >= 0)
    decision = est.idata_["decision"]
    np.testing.assert_array_equal(decision["normal"], est.predict(table[0]) == 1)
    np.testing.assert_allclose(decision["probability_normal"], est.probability_normal(table[0]))


@given(whole_distances, st.integers(0, 999))
def test_equal_weights_count_as_none(d, thousandths):
    level = thousandths / 1000
    found = weighted_distance_quantile(d, np.full(d.shape, -700.0), level)
    np.testing.assert_array_equal(found, distance_quantile(d, level))


@given(whole_distances, st.integers(0, 999), st.integers(0, 9))
def test_a_whole_weight_counts_as_so_many_draws(d, thousandths, seed):
    """Of each column on its own."""
    level = thousandths / 1000
    times = np.random.default_rng(seed).integers(1, 5, d.shape)
    found = weighted_distance_quantile(d, np.log(times) + 3.0, level)
    for column, each, one in zip(d.T, times.T, found, strict=True):
        assert one == distance_quantile(np.repeat(column, each)[:, None], level)[0]


def test_a_weight_too_small_to_add_counts_for_nothing():
    d, log_weight = np.array([[1.0], [2.0], [3.0]]), np.array([[-800.0], [0.0], [0.0]])
    assert weighted_distance_quantile(d, log_weight, 0.4) == 2.0
    assert weighted_distance_quantile(d, log_weight, 0.5) == 3.0
    assert weighted_distance_quantile(d, log_weight, 0.9999999) == 3.0


def test_weights_of_a_row_are_known_up_to_a_factor():
    rng = np.random.default_rng(40)
    d, log_weight = rng.normal(size=(50, 3)), rng.normal(size=(50, 3))
    factor = np.array([0.0, -2000.0, 900.0])
    found = weighted_distance_quantile(d, log_weight + factor)
    np.testing.assert_array_equal(found, weighted_distance_quantile(d, log_weight, 0.5))


@pytest.mark.parametrize("level", [1 - 1e-12, 0.9999999999999999])
def test_a_level_near_one_asks_for_all_the_weight(level):
    d = np.array([[1.0], [3.0], [2.0]])
    assert weighted_distance_quantile(d, np.zeros((3, 1)), level) == 3.0
