"""Bandwidth criteria against direct formulas, independent solvers and published numbers."""

import math

import numpy as np
import pytest
from bsvdd.models.kernels import bandwidth
from bsvdd.models.kernels.base import SMALLEST
from scipy.spatial.distance import pdist
from sklearn.svm import SVC

X = np.random.default_rng(60).normal(size=(80, 3)) * [1.0, 2.0, 0.5]
D2 = np.array([((a - b) ** 2).sum() for i, a in enumerate(X) for b in X[:i]])  # of the pairs


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


def by_mean(delta, n=80):
    return math.sqrt(D2.mean() / math.log((n - 1) / delta**2))


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("mean", by_mean(math.sqrt(2) * 1e-6)),
        ("modified_mean", by_mean(published_delta(80))),
        ("median", np.median(np.sqrt(D2))),
        ("scale", (2 * SVC(gamma="scale").fit(X, np.arange(80) % 2)._gamma) ** -0.5),
        (3, 3.0),
        (0.5, 0.5),
        (np.float32(0.5), 0.5),
        (np.int64(2), 2.0),
        (SMALLEST, SMALLEST),
        (1 / SMALLEST, 1 / SMALLEST),
    ],
)
def test_criteria_are_their_formulas(criterion, expected):
    found = bandwidth.resolve(criterion, X)
    assert type(found) is float
    assert found == pytest.approx(expected, rel=1e-12)
    assert bandwidth.mean_squared_pairwise_distance(X) == pytest.approx(D2.mean(), rel=1e-12)


def left_out_log_density(rows, s):
    """Mean over rows of the log density of all rows that differ from it, one by one."""
    total = 0.0
    for x in rows:
        d2 = ((rows - x) ** 2).sum(axis=1)
        others = d2[d2 > 0]
        total += np.log(np.exp(-others / (2 * s**2)).sum() / (s ** rows.shape[1]))
    return total / len(rows)


@pytest.mark.parametrize("rows", [X, np.concatenate([X, X])], ids=["rows", "each row twice"])
def test_likelihood_is_the_largest_left_out_log_density(rows):
    """A row is left out with its copies: their density would grow without bound as s -> 0."""
    found = bandwidth.resolve("likelihood", rows)
    grid, values = bandwidth.log_density(rows)
    expected = np.array([left_out_log_density(rows, s) for s in grid])
    np.testing.assert_allclose(np.diff(values), np.diff(expected), rtol=1e-8, atol=1e-11)
    assert found == grid[expected.argmax()] and 0 < expected.argmax() < len(grid) - 1
    fine = np.geomspace(grid[0], grid[-1], 200)
    best = fine[np.argmax([left_out_log_density(rows, s) for s in fine])]
    assert abs(np.log(found / best)) <= np.log(grid[1] / grid[0])
    assert found == pytest.approx(bandwidth.resolve("likelihood", X), rel=0.25)


def test_likelihood_of_few_values_and_of_many_rows():
    """Ones and zeros have many copies; beyond 1,000 rows, a sample is used."""
    alone = bandwidth.resolve("likelihood", X)
    binary = (np.random.default_rng(61).random((300, 8)) < 0.3).astype(float)
    assert 0.1 < bandwidth.resolve("likelihood", binary) < 2.0
    many = np.random.default_rng(62).normal(size=(1500, 3)) * [1.0, 2.0, 0.5]
    assert 0.4 < bandwidth.resolve("likelihood", many) / alone < 1.0
    constant = np.column_stack([X, np.full(len(X), 7.0)])  # a column that counts for nothing
    assert bandwidth.resolve("likelihood", constant) == alone
    assert bandwidth.resolve("likelihood", X[:2]) > 0


def test_criteria_of_many_rows_use_a_sample(monkeypatch):
    rows = np.random.default_rng(4).normal(size=(1500, 2))
    full = np.median(pdist(rows))
    monkeypatch.setattr(bandwidth, "MEDIAN_ROWS", 700)
    sampled = bandwidth.resolve("median", rows)
    assert sampled != full
    assert sampled == pytest.approx(full, rel=0.05)
    assert sampled == bandwidth.resolve("median", rows)


@pytest.mark.parametrize("name", bandwidth.CRITERIA)
def test_every_criterion_is_in_the_units_of_the_columns_and_ignores_their_origin(name):
    s = bandwidth.resolve(name, X)
    for factor, shift in ((1 / 64, 0.0), (10.0, 5.0)):
        assert bandwidth.resolve(name, factor * X + shift) == pytest.approx(factor * s, rel=1e-10)
    with pytest.raises(ValueError, match=f"'{name}' gives 0.0 on these 9 .*the bandwidth as a num"):
        bandwidth.resolve(name, np.ones((9, 2)))
    for size in (1e-200, 1e200):  # an error and no warning
        with pytest.raises(ValueError, match="too large or small to be squared"):
            bandwidth.resolve(name, X * size)
