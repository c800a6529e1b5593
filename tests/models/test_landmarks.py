"""Landmarks against an eigen-decomposition, and what each method promises."""

import numpy as np
import pytest
from bsvdd.models import landmarks
from bsvdd.models.landmarks import choose, leverage_scores, residual

from bsvdd import Landmarks, kernels

RNG = np.random.default_rng(70)
ROWS = RNG.normal(size=(90, 3))
RBF = kernels.RBF(1.3)
KERNELS = [
    RBF,
    kernels.Laplacian(2.0),
    kernels.Polynomial(2, 0.5, 1.0),
    kernels.Standardized(RBF).resolve(ROWS),
]


@pytest.mark.parametrize("method", ["random", "leverage"])
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_landmarks_are_rows(method, kernel):
    points, place = choose(kernel, ROWS, Landmarks(12, method), seed=3)
    np.testing.assert_array_equal(points, ROWS[place])
    assert (np.diff(place) > 0).all()
    again, _ = choose(kernel, ROWS, Landmarks(12, method), seed=3)
    np.testing.assert_array_equal(points, again)
    other, _ = choose(kernel, ROWS, Landmarks(12, method), seed=4)
    assert not np.array_equal(points, other)


def test_all_rows_as_landmarks_are_the_rows_and_more_hold_fewer():
    for method in ("random", "kmeans", "leverage"):
        points, place = choose(RBF, ROWS, Landmarks(90, method), seed=0)
        np.testing.assert_array_equal(points, ROWS)
        np.testing.assert_array_equal(place, np.arange(90))
    few, more = (choose(RBF, ROWS, Landmarks(n), seed=5)[1] for n in (10, 20))
    assert set(few) < set(more)


def test_centres_of_clusters():
    means = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 500.0]])
    X = np.concatenate([m + RNG.normal(0, 0.1, size=(20, 2)) for m in means])
    for kernel in (RBF, kernels.Standardized(RBF).resolve(X)):
        points, place = choose(kernel, X, Landmarks(3, "kmeans"), seed=0)
        expected = np.sort([X[i : i + 20].mean(axis=0) for i in (0, 20, 40)], axis=0)
        np.testing.assert_allclose(np.sort(points, axis=0), expected, rtol=1e-12, atol=1e-12)
        assert (place == -1).all()


def test_leverage_scores_are_the_diagonal_of_the_smoother():
    M = 15  # a pilot of all rows: then the formula is exact
    scores = leverage_scores(RBF, ROWS, M, np.random.default_rng(0))
    K = RBF(ROWS)
    sigma = np.linalg.eigvalsh(K) / len(K)
    low, high = 1e-12, 1.0
    for _ in range(200):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if (sigma / (sigma + middle)).sum() > M else (low, middle)
    smoother = np.diag(K @ np.linalg.inv(K + len(K) * low * np.eye(len(K))))
    assert smoother.sum() == pytest.approx(M, rel=1e-6)
    np.testing.assert_allclose(scores / scores.sum(), smoother / smoother.sum(), rtol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_residual_is_that_of_the_projection(monkeypatch, kernel):
    monkeypatch.setattr(landmarks, "PILOT_ROWS", 7)  # more than one block of rows
    U = ROWS[:11]
    k = kernel(U, ROWS)
    expected = 1 - np.trace(k.T @ np.linalg.pinv(kernel(U)) @ k) / kernel.diag(ROWS).sum()
    assert residual(kernel, U, ROWS) == pytest.approx(expected, abs=1e-7)
    assert residual(kernel, ROWS, ROWS) == pytest.approx(0.0, abs=1e-7)
    assert residual(kernel, np.repeat(U, 2, axis=0), ROWS) == pytest.approx(expected, abs=1e-7)


MATRIX = kernels.Precomputed()
VALUES = MATRIX.training_rows(RBF(ROWS))


@pytest.mark.parametrize(
    ("use", "message"),
    [
        *(
            (lambda n=n: Landmarks(n), f"whole number of at least 1, got {n}")
            for n in (0, 2.5, True)
        ),
        (lambda: Landmarks(5, "best"), r"one of \('random', 'kmeans', 'leverage'\), got 'best'"),
        (
            lambda: choose(RBF, ROWS, Landmarks(91), 0),
            "91 landmarks cannot be chosen from 90 rows;",
        ),
        (
            lambda: choose(RBF, np.repeat(ROWS[:3], 5, axis=0), Landmarks(4, "kmeans"), 0),
            "4 clusters need at least 4 different rows, got 3; use ",
        ),
        (
            lambda: choose(MATRIX, VALUES, Landmarks(4, "kmeans"), 0),
            "'kmeans' needs rows, and a precomputed kernel has none",
        ),
    ],
)
def test_what_cannot_be_chosen(use, message):
    with pytest.raises(ValueError, match=message):
        use()


@pytest.mark.parametrize("method", ["random", "leverage"])
def test_of_a_matrix_the_same_rows_are_chosen(method):
    ours, theirs = (
        choose(*which, Landmarks(4, method), 0)[1] for which in ((MATRIX, VALUES), (RBF, ROWS))
    )
    np.testing.assert_array_equal(ours, theirs)
