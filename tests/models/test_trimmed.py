"""Least trimmed squares, beside a search of all subsets and a table with odd rows."""

from itertools import combinations

import numpy as np
from bsvdd.models.trimmed import Trimmed


def test_the_trimmed_sum_is_that_of_the_best_subset():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(10, 1)), np.empty(10)
        y = 2.0 * x[:, 0] + 0.3 * rng.normal(size=10)
        y[:2] += 20.0
        A = np.column_stack([np.ones(10), x])
        least = min(
            float(np.linalg.lstsq(A[list(kept)], y[list(kept)])[1][0])
            for kept in combinations(range(10), 8)
        )
        found = Trimmed.of(x, y)
        squares = np.sort(np.square(y - found.expected(x)))
        np.testing.assert_allclose(squares[:8].sum(), least, rtol=1e-9)


def test_odd_rows_do_not_move_a_relation():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3))
    y = 1.0 + x @ [2.0, 0.0, -1.0]
    y[:30] = 50.0
    found = Trimmed.of(x, y)
    np.testing.assert_allclose(found.coefficients, [1.0, 2.0, 0.0, -1.0], atol=1e-9)
    assert found.explained > 1.0 - 1e-12
    assert Trimmed.of(x, rng.normal(size=300)).explained < 0.1
    assert Trimmed.of(x, np.ones(300)).explained == 0.0
