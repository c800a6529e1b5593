"""Bandwidth criteria against explicit pairwise distances and published reference numbers."""

import math
import re

import numpy as np
import pytest
from bsvdd.models.kernels import bandwidth
from bsvdd.models.kernels.base import SMALLEST
from scipy.spatial.distance import pdist
from sklearn.svm import OneClassSVM

from bsvdd import kernels

X = np.random.default_rng(3).normal(size=(60, 4)) * [1.0, 2.0, 0.5, 3.0]


def mean_square(rows):
    pairs = [((a - b) ** 2).sum() for i, a in enumerate(rows) for b in rows[:i]]
    return sum(pairs) / len(pairs)


def published_delta(n):
    """The tolerance of Liao et al. (2018), term by term."""
    phi = 1 / math.log(n - 1)
    return (
        -0.14818008 * phi**4
        + 0.284623624 * phi**3
        - 0.252853808 * phi**2
        + 0.159059498 * phi
        - 0.001381145
    )


def test_mean_squared_pairwise_distance_is_that_of_the_pairs():
    assert bandwidth.mean_squared_pairwise_distance(X) == pytest.approx(mean_square(X), rel=1e-12)


@pytest.mark.parametrize("n", [3, 10, 60])
def test_mean_criteria_are_the_formula(n):
    rows = X[:n]
    for criterion, delta in [("mean", math.sqrt(2) * 1e-6), ("modified_mean", published_delta(n))]:
        squared = mean_square(rows) / math.log((n - 1) / delta**2)
        assert bandwidth.resolve(criterion, rows) ** 2 == pytest.approx(squared, rel=1e-12)


def test_median_is_the_median_distance():
    pairs = [np.linalg.norm(a - b) for i, a in enumerate(X) for b in X[:i]]
    assert bandwidth.resolve("median", X) == pytest.approx(np.median(pairs), rel=1e-12)


def test_median_of_many_rows_is_that_of_a_sample(monkeypatch):
    rows = np.random.default_rng(4).normal(size=(3000, 2))
    full = np.median(pdist(rows))
    monkeypatch.setattr(bandwidth, "MEDIAN_ROWS", 1000)
    sampled = bandwidth.resolve("median", rows)
    assert sampled != full
    assert sampled == pytest.approx(full, rel=0.05)
    assert sampled == bandwidth.resolve("median", rows)


def test_scale_is_that_of_scikit_learn():
    s = bandwidth.resolve("scale", X)
    theirs = OneClassSVM(gamma="scale").fit(X).decision_function(X)
    ours = OneClassSVM(gamma=1 / (2 * s**2)).fit(X).decision_function(X)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("criterion", "reference"), [("mean", 0.345), ("modified_mean", 0.517), ("median", 1.67)]
)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_reference_numbers_on_a_standard_normal(criterion, reference, seed):
    rows = np.random.default_rng(seed).normal(size=(1000, 2))
    assert bandwidth.resolve(criterion, rows) == pytest.approx(reference, rel=0.02)


def test_criteria_are_in_the_units_of_the_columns():
    for criterion in ("mean", "median", "modified_mean", "scale", "scott", "silverman"):
        s = bandwidth.resolve(criterion, X)
        assert bandwidth.resolve(criterion, 10 * X + 5) == pytest.approx(10 * s, rel=1e-10)


NO_BANDWIDTH = ["nearest", 0, -2.0, np.nan, np.inf, True, None, [1.0, 2.0], 1 + 0j]


@pytest.mark.parametrize("value", NO_BANDWIDTH, ids=repr)
def test_bandwidth_must_be_a_positive_number_or_a_criterion(value):
    message = re.escape(
        "bandwidth must be a positive number or one of ['auto', 'likelihood', "
        "'max_variance_ratio', 'mean', 'median', 'modified_mean', 'peak', 'scale', 'scott', "
        "'silverman'], got "
        f"{value!r}"
    )
    with pytest.raises(ValueError, match=message):
        bandwidth.resolve(value, X)
    for cls in (kernels.RBF, kernels.Laplacian):
        with pytest.raises(ValueError, match=message):
            cls(value)


@pytest.mark.parametrize("value", [3, 0.5, np.float32(0.5), np.int64(2)], ids=repr)
def test_a_number_is_the_bandwidth(value):
    assert bandwidth.resolve(value, X) == float(value)
    assert type(bandwidth.resolve(value, X)) is float


@pytest.mark.parametrize("criterion", sorted(set(bandwidth.CRITERIA) - {"auto"}))
def test_zero_spread(criterion):
    with pytest.raises(ValueError, match=f"bandwidth='{criterion}' gives 0.0 on these 9 majority"):
        bandwidth.resolve(criterion, np.ones((9, 2)))


def test_too_few_rows():
    with pytest.raises(ValueError, match="'median' needs at least 2 majority rows, got 1; give"):
        bandwidth.resolve("median", X[:1])
    with pytest.raises(ValueError, match="'modified_mean' needs at least 3 majority rows, got 2"):
        bandwidth.resolve("modified_mean", X[:2])


def test_a_sample_holds_each_row_once_and_is_always_the_same():
    rows = np.arange(200.0)[:, None]
    sample = bandwidth._sample(rows, 199)
    assert len(np.unique(sample)) == 199
    np.testing.assert_array_equal(sample, bandwidth._sample(rows, 199))
    np.testing.assert_array_equal(bandwidth._sample(rows, 200), rows)  # in their order


@pytest.mark.parametrize(
    ("value", "beyond"), [(SMALLEST, SMALLEST / 1.5), (1 / SMALLEST, 1.5 / SMALLEST)]
)
def test_the_smallest_and_the_largest_bandwidth(value, beyond):
    assert bandwidth.resolve(value, X) == value
    with pytest.raises(ValueError, match="bandwidth must lie between 1e-100 and 1e"):
        bandwidth.resolve(beyond, X)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("criterion", sorted(set(bandwidth.CRITERIA) - {"auto"}))
def test_rows_that_cannot_be_squared_are_an_error_and_no_warning(criterion, size):
    with pytest.raises(ValueError, match="too large or small to be squared"):
        bandwidth.resolve(criterion, X * size)


@pytest.mark.parametrize("criterion", ["peak", "max_variance_ratio"])
def test_searched_criteria_scale_down_too(criterion):
    s = bandwidth.resolve(criterion, X)
    assert bandwidth.resolve(criterion, X / 64) == pytest.approx(s / 64, rel=1e-4)
