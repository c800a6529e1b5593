"""Landmarks against direct sums, an eigen-decomposition, and what each method promises."""

import numpy as np
import pytest
from bsvdd.models import Gram, landmarks
from bsvdd.models.gram import Sums
from bsvdd.models.landmarks import choose, leverage_scores, residual
from scipy.spatial.distance import cdist

from bsvdd import Landmarks, kernels

RNG = np.random.default_rng(70)
ROWS = RNG.normal(size=(90, 3))
RBF = kernels.RBF(1.3)
KERNELS = [
    RBF,
    kernels.Laplacian(2.0),
    kernels.Polynomial(2, 0.5, 1.0),
    kernels.Standardized(RBF).resolve(ROWS),
    kernels.Custom(lambda A, B: (A @ B.T + 1.0) ** 2),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("part", [1, 30, 10**6])
def test_summed_is_the_sum_of_the_matrix(monkeypatch, kernel, part):
    monkeypatch.setattr("bsvdd.models.kernels.base.BLOCK_VALUES", part)
    np.testing.assert_allclose(
        kernel.summed(ROWS, ROWS[:7]), kernel(ROWS, ROWS[:7]).sum(axis=0), rtol=1e-12
    )


@pytest.mark.parametrize("origin", [0.0, 1e3, 1e8])
@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_summed_far_from_the_origin_keeps_its_digits(origin, scale):
    X = ROWS * scale + origin
    kernel = kernels.RBF(1.3 * scale)
    expected = np.exp(-kernel.gamma * cdist(X, X[:9], "sqeuclidean")).sum(axis=0)
    np.testing.assert_allclose(kernel.summed(X, X[:9]), expected, rtol=1e-10)


def test_summed_beside_rows_and_points_far_away():
    X = np.concatenate([ROWS, [[1e9, 0, 0], [1e200, 0, 0]]])
    np.testing.assert_allclose(RBF.summed(X, ROWS[:5]), RBF.summed(ROWS, ROWS[:5]), rtol=1e-12)
    U = np.concatenate([ROWS[:5], [[1e6, 0, 0]]])  # no digits left for the product form
    expected = np.exp(-RBF.gamma * cdist(ROWS, U, "sqeuclidean")).sum(axis=0)
    np.testing.assert_allclose(RBF.summed(ROWS, U), expected, rtol=1e-10)


@pytest.mark.parametrize("columns", [3, 20])
@pytest.mark.parametrize("standardized", [False, True])
def test_float32_rows_lose_a_millionth(columns, standardized):
    X = np.random.default_rng(1).normal(5.0, 2.0, size=(20_000, columns)).astype(np.float32)
    kernel = kernels.RBF("modified_mean")
    kernel = (kernels.Standardized(kernel) if standardized else kernel).resolve(X.astype(float))
    U = X[:50].astype(float)
    r = kernel.summed(X, U)
    assert r.dtype == np.float64
    np.testing.assert_allclose(r, kernel(X, U).sum(axis=0), rtol=1e-6)
    assert np.abs(r / kernel(X, U).sum(axis=0) - 1).max() > 1e-12  # it is float32 that is tested


def test_float32_rows_and_a_point_so_far_away_that_float32_has_no_digits():
    X = np.random.default_rng(2).normal(size=(500, 3)).astype(np.float32)
    U = np.concatenate([X[:5].astype(float), [[300.0, 0.0, 0.0]]])
    expected = RBF(X.astype(float), U).sum(axis=0)
    np.testing.assert_allclose(RBF.summed(X, U)[:5], expected[:5], rtol=1e-6)


def test_sums_of_blocks_add_up():
    whole = Sums.of(RBF, ROWS, ROWS[:6])
    parts = [Sums.of(RBF, ROWS[a:b], ROWS[:6]) for a, b in ((0, 40), (40, 41), (41, 90))]
    total = parts[0] + (parts[1] + parts[2])
    assert (total.n, total.T) == (whole.n, pytest.approx(whole.T, rel=1e-14)) == (90, 90.0)
    np.testing.assert_allclose(total.r, whole.r, rtol=1e-13)
    gram = Gram.from_sums(RBF, total, ROWS[:6])
    expected = Gram.from_rows(RBF, ROWS, dictionary=ROWS[:6])
    np.testing.assert_allclose(gram.r, expected.r, rtol=1e-13)
    np.testing.assert_array_equal(gram.K, expected.K)
    assert (gram.n0, gram.n_points, gram.n1) == (90, 6, 0)
    assert gram.kernel is RBF


@pytest.mark.parametrize("method", ["random", "leverage"])
@pytest.mark.parametrize("kernel", KERNELS[:4], ids=repr)
def test_landmarks_are_rows(method, kernel):
    points, place = choose(kernel, ROWS, Landmarks(12, method), seed=3)
    np.testing.assert_array_equal(points, ROWS[place])
    assert (np.diff(place) > 0).all()
    again, _ = choose(kernel, ROWS, Landmarks(12, method), seed=3)
    np.testing.assert_array_equal(points, again)
    other, _ = choose(kernel, ROWS, Landmarks(12, method), seed=4)
    assert not np.array_equal(points, other)


@pytest.mark.parametrize("method", ["random", "kmeans", "leverage"])
def test_all_rows_as_landmarks_are_the_rows(method):
    points, place = choose(RBF, ROWS, Landmarks(90, method), seed=0)
    np.testing.assert_array_equal(points, ROWS)
    np.testing.assert_array_equal(place, np.arange(90))


def test_more_random_landmarks_hold_fewer():
    _, few = choose(RBF, ROWS, Landmarks(10), seed=5)
    _, more = choose(RBF, ROWS, Landmarks(20), seed=5)
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


def test_leverage_finds_what_random_misses():
    X = np.concatenate([RNG.normal(0, 0.1, size=(995, 2)), RNG.normal(9, 0.1, size=(5, 2))])
    kernel = kernels.RBF(1.0)
    found = {
        method: np.mean(
            [(choose(kernel, X, Landmarks(5, method), s)[1] >= 995).any() for s in range(20)]
        )
        for method in ("random", "leverage")
    }
    assert found["leverage"] > 0.5 > 0.2 > found["random"]


@pytest.mark.parametrize("kernel", KERNELS[:4], ids=repr)
def test_residual_is_that_of_the_projection(kernel):
    U = ROWS[:11]
    k = kernel(U, ROWS)
    expected = 1 - np.trace(k.T @ np.linalg.pinv(kernel(U)) @ k) / kernel.diag(ROWS).sum()
    assert residual(kernel, U, ROWS) == pytest.approx(expected, abs=1e-7)
    assert residual(kernel, ROWS, ROWS) == pytest.approx(0.0, abs=1e-7)
    assert residual(kernel, np.repeat(U, 2, axis=0), ROWS) == pytest.approx(expected, abs=1e-7)


def test_residual_in_blocks(monkeypatch):
    expected = residual(RBF, ROWS[:5], ROWS)
    monkeypatch.setattr(landmarks, "PILOT_ROWS", 7)
    assert residual(RBF, ROWS[:5], ROWS) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0,), "Landmarks: n must be a whole number of at least 1, got 0"),
        ((2.5,), "Landmarks: n must be a whole number of at least 1, got 2.5"),
        ((True,), "Landmarks: n must be a whole number of at least 1, got True"),
        ((5, "best"), r"method must be one of \('random', 'kmeans', 'leverage'\), got 'best'"),
    ],
)
def test_bad_landmarks(given, message):
    with pytest.raises(ValueError, match=message):
        Landmarks(*given)


def test_what_cannot_be_chosen():
    with pytest.raises(ValueError, match="91 landmarks cannot be chosen from 90 rows; use dict"):
        choose(RBF, ROWS, Landmarks(91), seed=0)
    with pytest.raises(
        ValueError, match="4 clusters need at least 4 different rows, got 3; use dic"
    ):
        choose(RBF, np.repeat(ROWS[:3], 5, axis=0), Landmarks(4, "kmeans"), seed=0)
    kernel = kernels.Precomputed()
    rows = kernel.training_rows(RBF(ROWS))
    with pytest.raises(ValueError, match="'kmeans' needs rows, and a precomputed kernel has none"):
        choose(kernel, rows, Landmarks(4, "kmeans"), seed=0)
    for method in ("random", "leverage"):
        ours = choose(kernel, rows, Landmarks(4, method), seed=0)[1]
        np.testing.assert_array_equal(ours, choose(RBF, ROWS, Landmarks(4, method), seed=0)[1])
