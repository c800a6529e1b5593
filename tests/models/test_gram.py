"""Gram statistics against direct double sums over the rows."""

import numpy as np
import pytest
from bsvdd.models import Gram

from bsvdd import kernels

RNG = np.random.default_rng(5)
MAJORITY = RNG.normal(size=(11, 2))
MINORITY = RNG.normal(2.0, 1.0, size=(3, 2))
POINTS = RNG.normal(size=(4, 2))


def k(x, y):
    return (0.7 * float(x @ y) + 1.2) ** 2  # k(x, x) differs from row to row


KERNEL = kernels.Polynomial(2, gamma=0.7, coef0=1.2)


@pytest.mark.parametrize("block", [2, 5, 11, 4096])  # kernel values
@pytest.mark.parametrize("minority", [None, MINORITY], ids=["one class", "minority"])
@pytest.mark.parametrize("dictionary", [None, POINTS], ids=["rows", "dictionary"])
def test_statistics_are_the_sums(monkeypatch, block, minority, dictionary):
    monkeypatch.setattr("bsvdd.models.kernels.base.BLOCK_VALUES", block)
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
    np.testing.assert_array_equal(stats.points, u)


def test_majority_points_come_first():
    stats = Gram.from_rows(KERNEL, MAJORITY, MINORITY)
    assert (stats.n_majority_points, stats.n1) == (11, 3)
    np.testing.assert_array_equal(stats.points[:11], MAJORITY)
    np.testing.assert_array_equal(stats.points[stats.n_majority_points :], MINORITY)
    few = Gram.from_rows(KERNEL, MAJORITY, MINORITY, POINTS)
    assert (few.n_majority_points, few.n1, few.n0) == (4, 3, 11)
    np.testing.assert_array_equal(few.points, [*POINTS, *MINORITY])


def test_an_empty_minority_is_none():
    stats = Gram.from_rows(KERNEL, MAJORITY, MINORITY[:0])
    assert stats.n1 == 0
    assert stats.n_points == stats.n_majority_points == 11
    np.testing.assert_array_equal(stats.points, MAJORITY)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"K": np.eye(2)}, r"K must have shape \(3, 3\) as r has 3 values, got \(2, 2\)"),
        ({"n1": 3}, "n1 must lie between 0 and 2, got 3"),
        ({"n1": -1}, "n1 must lie between 0 and 2, got -1"),
        ({"n0": 0}, "n0 must be at least 1, got 0"),
        ({"points": np.ones((2, 5))}, "points must have 3 rows as r has 3 values, got 2"),
    ],
)
def test_shapes_and_numbers_are_checked(change, message):
    fields = {"K": np.eye(3), "r": np.ones(3), "T": 3.0, "n0": 3, "points": np.ones((3, 2))}
    fields["kernel"] = kernels.Linear()
    with pytest.raises(ValueError, match=message):
        Gram(**{**fields, **change})


def test_the_dictionary_and_the_kernel_must_be_given():
    with pytest.raises(TypeError, match="missing 2 .*arguments: 'points' and 'kernel'"):
        Gram(K=np.eye(3), r=np.ones(3), T=3.0, n0=3)
