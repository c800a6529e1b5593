"""Gram statistics against direct double sums over the rows."""

import numpy as np
import pytest
from bsvdd.models import Gram

from bsvdd import kernels

from .helpers import by_loops

RNG = np.random.default_rng(5)
MAJORITY = RNG.normal(size=(11, 2))
MINORITY = RNG.normal(2.0, 1.0, size=(3, 2))
POINTS = RNG.normal(size=(4, 2))
KERNEL = kernels.Polynomial(2, gamma=0.7, coef0=1.2)


def k(x, y):
    return (0.7 * float(x @ y) + 1.2) ** 2  # k(x, x) differs from row to row


@pytest.mark.parametrize("block", [2, 5, 11, 4096])  # kernel values
@pytest.mark.parametrize("minority", [None, MINORITY[:0], MINORITY], ids=["none", "no row", "some"])
@pytest.mark.parametrize("dictionary", [None, POINTS], ids=["rows", "dictionary"])
def test_statistics_are_the_sums(monkeypatch, block, minority, dictionary):
    """Whatever the blocks of rows; majority points come first."""
    monkeypatch.setattr("bsvdd.models.kernels.base.BLOCK_VALUES", block)
    stats = Gram.from_rows(KERNEL, MAJORITY, minority, dictionary)
    majority = MAJORITY if dictionary is None else dictionary
    u = np.concatenate([majority, MINORITY[:0] if minority is None else minority])
    n1 = 0 if minority is None else len(minority)
    np.testing.assert_allclose(stats.K, by_loops(k, u, u), rtol=1e-12)
    np.testing.assert_allclose(stats.r, by_loops(k, u, MAJORITY).sum(axis=1), rtol=1e-12)
    assert pytest.approx(sum(k(x, x) for x in MAJORITY), rel=1e-12) == stats.T
    assert (stats.n0, stats.n1, stats.n_points) == (11, n1, len(u))
    assert stats.n_majority_points == len(u) - n1
    np.testing.assert_array_equal(stats.points.rows, u)
    assert stats.kernel is KERNEL
    if dictionary is None:
        of_rows = by_loops(k, MAJORITY, MAJORITY)
        np.testing.assert_allclose(stats.row_sums, of_rows.sum(axis=1), rtol=1e-12)
        np.testing.assert_allclose(stats.row_squares, (of_rows**2).sum(axis=1), rtol=1e-12)
