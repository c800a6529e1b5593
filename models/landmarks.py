r"""Landmarks, a small dictionary that represents many rows.

The centre is a weighted sum of the landmarks, and the likelihood still uses all rows through r
and T. The part of the rows' images in kernel space that the landmarks do not span is lost; its
share is :func:`residual`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigvalsh, solve_triangular

from .kernels import Kernel

METHODS = ("random", "kmeans", "leverage")
PILOT_ROWS = 1000  # smallest pilot sample of the leverage scores, and rows per block


@dataclass(frozen=True)
class Landmarks:
    r"""The number of landmarks, and the method that chooses them from the rows.

    Parameters
    ----------
    n : int
        M, the number for each class of the dictionary.
    method : {"random", "kmeans", "leverage"}, default="random"
        ``"random"``: rows drawn uniformly (Williams and Seeger 2001). ``"kmeans"``: the centres
        of M clusters in the input space, which are not rows (Zhang et al. 2008).
        ``"leverage"``: rows drawn with probabilities proportional to their ridge leverage
        scores, which favour rows with few similar ones (Alaoui and Mahoney 2015).

    References
    ----------
    Williams, C. K. I. and Seeger, M. (2001). Using the Nystroem method to speed up kernel
    machines. NIPS 13.

    Zhang, K., Tsang, I. W. and Kwok, J. T. (2008). Improved Nystroem low-rank approximation and
    error analysis. ICML 25. doi:10.1145/1390156.1390311

    Alaoui, A. and Mahoney, M. W. (2015). Fast randomized kernel ridge regression with
    statistical guarantees. NIPS 28.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, Landmarks
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> est = BDD(dictionary=Landmarks(20, "kmeans")).fit(X)
    >>> est.gram_.n0, est.gram_.n_points
    (300, 20)
    """

    n: int
    method: str = "random"

    def __post_init__(self) -> None:
        n: Any = self.n
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise ValueError(f"Landmarks: n must be a whole number of at least 1, got {n!r}")
        if self.method not in METHODS:
            raise ValueError(f"Landmarks: method must be one of {METHODS}, got {self.method!r}")


def check_number(landmarks: Landmarks, n: int) -> None:
    """Raise a ValueError if there are fewer than that many majority rows, n."""
    if n < landmarks.n:
        raise ValueError(
            f"dictionary: {landmarks.n} landmarks cannot be chosen from {n} rows; use "
            f"dictionary={n} at most, or dictionary=None to make every row a point of the "
            "dictionary"
        )


def choose(
    kernel: Kernel, rows: np.ndarray, landmarks: Landmarks, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the landmarks (M, p), and the index of the row that each one is, or -1.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    rows : ndarray of shape (n, p)
        In the form that the kernel is called with.
    landmarks : Landmarks
    seed : int
    """
    M, n = int(landmarks.n), len(rows)
    if landmarks.method == "kmeans" and (kernel.pairwise or kernel.categorical_columns):
        needs = (
            "needs rows, and a precomputed kernel has none"
            if kernel.pairwise
            else "needs means of columns, and categories have none"
        )
        raise ValueError(f"dictionary: method='kmeans' {needs}; use 'random' or 'leverage'")
    check_number(landmarks, n)
    rng = np.random.default_rng(seed)
    if landmarks.method == "kmeans" and n > M:
        return _kmeans(kernel, rows, M, seed), np.full(M, -1)
    if landmarks.method == "leverage" and n > M:
        p = leverage_scores(kernel, rows, M, rng)
        chosen = rng.choice(n, M, replace=False, p=p / p.sum())
    else:  # a permutation, so that with one seed a larger set contains the smaller ones
        chosen = rng.permutation(n)[:M]
    chosen.sort()
    return rows[chosen], chosen


def _kmeans(kernel: Kernel, rows: np.ndarray, M: int, seed: int) -> np.ndarray:
    from sklearn.cluster import KMeans

    inputs = kernel.inputs(rows)
    distinct = len(np.unique(inputs, axis=0))
    if distinct < M:
        raise ValueError(
            f"dictionary: {M} clusters need at least {M} different rows, got {distinct}; use "
            f"dictionary={distinct} at most, or method='random'"
        )
    cluster = KMeans(M, n_init=1, random_state=seed % 2**32).fit_predict(inputs)
    counts = np.bincount(cluster, minlength=M)
    sums = np.zeros((M, rows.shape[1]))
    np.add.at(sums, cluster, rows)  # clusters by the kernel's inputs, means in the user's columns
    return sums / counts[:, None]


def leverage_scores(
    kernel: Kernel, rows: np.ndarray, M: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Return ridge leverage scores up to a common factor, shape (n,).

    .. math::
        \ell(x) = \phi(x)^\top (C + \lambda I)^{-1} \phi(x)
                = \tfrac1\lambda \left(k(x,x) - k_{xS} (K_{SS} + m \lambda I)^{-1} k_{Sx}\right)

    C is the mean of :math:`\phi \phi^\top` over a random pilot sample S of m rows, with
    eigenvalues :math:`\sigma_j`. The ridge lambda gives C an effective dimension of M,
    :math:`\sum_j \sigma_j / (\sigma_j + \lambda) = M`.
    """
    m = min(len(rows), max(PILOT_ROWS, 2 * M))
    pilot = rows[rng.permutation(len(rows))[:m]]
    K = kernel(pilot)
    low = _rounding(K)
    from scipy.optimize import brentq

    _root(kernel, K, m * low)  # raises an error where K is not semi-definite
    sigma = np.maximum(eigvalsh(K), 0.0) / m
    high = float(sigma.sum())

    def excess(log_ridge: float) -> float:
        return float((sigma / (sigma + np.exp(log_ridge))).sum()) - M

    # with fewer dimensions than landmarks, the smallest ridge at which the system is solvable
    ridge = low if excess(np.log(low)) <= 0 else np.exp(brentq(excess, np.log(low), np.log(high)))
    factor = _root(kernel, K, m * ridge), True
    scores = kernel.diag(rows)
    for start in range(0, len(rows), PILOT_ROWS):
        block = slice(start, start + PILOT_ROWS)
        k = kernel(pilot, rows[block])
        scores[block] -= (k * cho_solve(factor, k)).sum(axis=0)
    # every row has a positive probability, and negative values are rounding errors
    return np.maximum(scores, 1e-12 * max(1e-300, np.abs(scores).max()))


def residual(kernel: Kernel, points: np.ndarray, rows: np.ndarray) -> float:
    r"""Return the share of the rows' squared norm in kernel space that the points do not span.

    .. math::
        \frac{\sum_i k(x_i, x_i) - k_{x_i U} K_{UU}^{-1} k_{U x_i}}{\sum_i k(x_i, x_i)},

    This is the relative Nystroem residual: 0 if the points span all rows, 1 if they span none.
    """
    K = kernel(points)
    root = _root(kernel, K, len(K) * _rounding(K))
    spanned, total = 0.0, 0.0
    for start in range(0, len(rows), PILOT_ROWS):
        block = rows[start : start + PILOT_ROWS]
        spanned += float((solve_triangular(root, kernel(points, block), lower=True) ** 2).sum())
        total += float(kernel.diag(block).sum())
    return max(0.0, 1.0 - spanned / total) if total > 0.0 else 0.0


def _root(kernel: Kernel, K: np.ndarray, ridge: float) -> np.ndarray:
    """Return the lower Cholesky factor of K + ridge I; the ridge exceeds the rounding of K."""
    try:
        return cholesky(K + ridge * np.eye(len(K)), lower=True)
    except LinAlgError as error:
        zero = "" if K.any() else ", as all its values are 0"
        raise ValueError(
            f"dictionary: kernel {kernel!r} is not positive definite, up to rounding, on "
            f"{len(K)} points{zero}; expected a positive semi-definite kernel that is not 0 on "
            "all of them: use another kernel, such as kernels.RBF(), or other points"
        ) from error


def _rounding(K: np.ndarray) -> float:
    """Return the rounding error of K, a ridge per row: with equal points K is singular."""
    return float(10 * np.finfo(float).eps * np.trace(K))


def as_landmarks(dictionary: Any) -> Landmarks | np.ndarray:
    """Return ``dictionary`` as ``Landmarks`` (a number n is n random rows) or as an array."""
    if isinstance(dictionary, Landmarks):
        return dictionary
    expected = (
        "dictionary must be None, a number, a Landmarks or a table of finite numbers (points, "
        "columns), got "
    )
    if isinstance(dictionary, bool | np.bool_):
        raise ValueError(f"{expected}{dictionary!r}; give the number of points, dictionary=500")
    if isinstance(dictionary, int | np.integer):
        return Landmarks(int(dictionary))
    array = np.asarray(dictionary)
    if array.dtype.kind in "cmM" or np.ma.is_masked(dictionary):
        raise ValueError(f"{expected}masked values or an array of type {array.dtype}")
    try:
        points = array.astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{expected}{dictionary!r:.80}") from error
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"{expected}an array of shape {points.shape}")
    return points
