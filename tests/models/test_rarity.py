"""How often values occur, against counts by loops."""

import math

import numpy as np
import pytest
from bsvdd.models.rarity import Rarity
from numpy.testing import assert_allclose, assert_array_equal

RNG = np.random.default_rng(3)
N = 120
ROWS = np.column_stack(
    [
        np.exp(2.0 * RNG.normal(size=N)),
        RNG.integers(0, 6, N),
        np.where(
            RNG.random(N) < 0.95, 0.0, RNG.normal(size=N)
        ),  # no width between quantiles
        np.full(N, 0.1),
        RNG.integers(0, 4, N),
    ]
)
CATEGORY = 4
NEW = np.vstack(
    [ROWS[:7] + 0.01, [[1e6, 99.0, -50.0, 0.2, 7.0]], [[-3.0, 2.5, 0.0, 0.1, 1.0]]]
)


def by_loops(v, others, x, f):
    """The log frequency of v among others; x has all values of the column."""
    low, high = np.quantile(x, [0.1, 0.9])
    slope = len(x) ** (-1 / 3) / 4
    h = 0.0 if f == CATEGORY else slope * (high - low)
    near = sum(abs(v - u) <= h + 1e-9 * (f != CATEGORY) for u in others)
    if near:
        return math.log(near + 0.5)
    if f == CATEGORY or np.ptp(x) < 1e-9:
        return math.log(0.5 / len(x))
    unit = h or slope * 2 * x.std()
    return math.log(0.5 / max(1.0, min(abs(v - u) for u in others) / unit))


@pytest.mark.parametrize("itself", [False, True])
def test_frequencies_are_the_formula(itself):
    rarity = Rarity.of(ROWS, [f == CATEGORY for f in range(ROWS.shape[1])])
    rows = ROWS if itself else NEW
    frequency = rarity.log_frequency(rows, itself)
    for i, row in enumerate(rows):
        for f, v in enumerate(row):
            others = np.delete(ROWS[:, f], i) if itself else ROWS[:, f]
            expected = by_loops(v, others, ROWS[:, f], f)
            assert_allclose(frequency[i, f], expected, rtol=1e-9, atol=1e-9)
    mask = np.arange(len(rows)) % 2 == 0
    mixed = rarity.log_frequency(ROWS[: len(mask)], mask)
    for part in (True, False):
        expected = rarity.log_frequency(ROWS[: len(mask)], part)
        assert_array_equal(mixed[mask == part], expected[mask == part])


def test_a_gap_is_as_frequent_as_can_be():
    with_gap = np.vstack([ROWS, np.full(5, np.nan)])
    rarity = Rarity.of(with_gap, [False] * 4 + [True])
    assert_allclose(rarity.log_frequency(with_gap, True)[-1], math.log(N))
    whole = Rarity.of(ROWS, [False] * 4 + [True])
    assert_array_equal(rarity.log_frequency(NEW), whole.log_frequency(NEW))
