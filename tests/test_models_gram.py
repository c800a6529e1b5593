"""Gram statistics against direct double sums over the rows."""

import numpy as np
import pytest
from bsvdd.models import Gram, gram

from bsvdd import kernels

RNG = np.random.default_rng(5)
MAJORITY = RNG.normal(size=(11, 2))
MINORITY = RNG.normal(2.0, 1.0, size=(3, 2))
POINTS = RNG.normal(size=(4, 2))


def k(x, y):
    return (0.7 * float(x @ y) + 1.2) ** 2  # k(x, x) differs from row to row


KERNEL = kernels.Polynomial(2, gamma=0.7, coef0=1.2)


@pytest.mark.parametrize("block", [2, 5, 11, 4096])
@pytest.mark.parametrize("minority", [None, MINORITY], ids=["one class", "minority"])
@pytest.mark.parametrize("dictionary", [None, POINTS], ids=["rows", "dictionary"])
def test_statistics_are_the_sums(monkeypatch, block, minority, dictionary):
    monkeypatch.setattr(gram, "BLOCK", block)
    stats = Gram.from_rows(KERNEL, MAJORITY, minority, dictionary)
    u = [*(MAJORITY if dictionary is None else dictionary)]
    u += [] if minority is None else [*minority]
    K = np.array([[k(a, b) for b in u] for a in u])
    r = [sum(k(a, x) for x in MAJORITY) for a in u]
    np.testing.assert_allclose(stats.K, K, rtol=1e-12)
    np.testing.assert_allclose(stats.r, r, rtol=1e-12)
    assert pytest.approx(sum(k(x, x) for x in MAJORITY), rel=1e-12) == stats.T
    assert (stats.n0, stats.n1) == (11, 0 if minority is None else 3)
    assert stats.n_points == len(u)


def test_places_of_the_classes():
    stats = Gram.from_rows(KERNEL, MAJORITY, MINORITY)
    points = np.arange(14)
    np.testing.assert_array_equal(points[stats.majority], np.arange(11))
    np.testing.assert_array_equal(points[stats.minority], [11, 12, 13])


def test_an_empty_minority_is_none():
    stats = Gram.from_rows(KERNEL, MAJORITY, MINORITY[:0])
    assert stats.n1 == 0
    assert stats.n_points == 11


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.eye(2)}, r"K must have shape \(3, 3\) as r has 3 values, got \(2, 2\)"),
        ({"n1": 3}, "n1 must lie between 0 and 2, got 3"),
        ({"n1": -1}, "n1 must lie between 0 and 2, got -1"),
        ({"n0": 0}, "n0 must be at least 1, got 0"),
    ],
)
def test_shapes_and_numbers_are_checked(change, message):
    with pytest.raises(ValueError, match=message):
        Gram(**{"K": np.eye(3), "r": np.ones(3), "T": 3.0, "n0": 3, **change})
