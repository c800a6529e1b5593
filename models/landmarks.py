r"""Landmarks: a small dictionary that stands for many rows.

The centre lives on the landmarks, while the likelihood still counts every row through r and T.
What is lost is the part of the rows' images that the landmarks do not span, see :func:`residual`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, eigvalsh, solve_triangular
from scipy.optimize import brentq
from sklearn.cluster import KMeans

from .kernels import Kernel

METHODS = ("random", "kmeans", "leverage")
PILOT_ROWS = 1000  # at least, or twice the landmarks: what leverage scores are taken against


@dataclass(frozen=True)
class Landmarks:
    r"""How many landmarks the dictionary has, and how they are chosen from the rows.

    Parameters
    ----------
    n : int
        M, for each class whose rows join the dictionary.
    method : {"random", "kmeans", "leverage"}, default="random"
        ``"random"``: rows drawn uniformly (Williams and Seeger 2001). ``"kmeans"``: the centres
        of M clusters in the input space (Zhang et al. 2008); they are no rows.
        ``"leverage"``: rows drawn by their ridge leverage scores, which favour rows that few
        others resemble (Alaoui and Mahoney 2015).

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


def choose(
    kernel: Kernel, rows: np.ndarray, landmarks: Landmarks, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the landmarks (M, p), and which row each is, -1 where it is none.

    Parameters
    ----------
    kernel : Kernel
        Resolved.
    rows : ndarray of shape (n, p)
        As the kernel takes them.
    landmarks : Landmarks
    seed : int
    """
    M, n = int(landmarks.n), len(rows)
    if kernel.pairwise and landmarks.method == "kmeans":
        raise ValueError(
            "dictionary: method='kmeans' needs rows, and a precomputed kernel has none; use "
            "'random' or 'leverage'"
        )
    if n < M:
        raise ValueError(
            f"dictionary: {M} landmarks cannot be chosen from {n} rows; use dictionary={n} at "
            "most, or dictionary=None, with which every row is a point"
        )
    rng = np.random.default_rng(seed)
    if landmarks.method == "kmeans" and n > M:
        return _kmeans(kernel, rows, M, seed), np.full(M, -1)
    p = None
    if landmarks.method == "leverage" and n > M:
        p = leverage_scores(kernel, rows, M, rng)
        p /= p.sum()
    # drawn in random order, so that with one seed more landmarks have fewer among them
    chosen = np.sort(rng.permutation(n)[:M] if p is None else rng.choice(n, M, replace=False, p=p))
    return rows[chosen], chosen


def _kmeans(kernel: Kernel, rows: np.ndarray, M: int, seed: int) -> np.ndarray:
    inputs = kernel.inputs(rows)
    distinct = len(np.unique(inputs, axis=0))
    if distinct < M:
        raise ValueError(
            f"dictionary: {M} clusters need as many different rows, got {distinct}; use "
            f"dictionary={distinct} at most, or method='random'"
        )
    cluster = KMeans(M, n_init=1, random_state=seed % 2**32).fit_predict(inputs)
    counts = np.bincount(cluster, minlength=M)
    sums = np.zeros((M, rows.shape[1]))
    np.add.at(sums, cluster, rows)  # means of the rows as they came, whatever the kernel's inputs
    return sums / counts[:, None]


def leverage_scores(
    kernel: Kernel, rows: np.ndarray, M: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Return ridge leverage scores, up to a factor, shape (n,).

    .. math::
        \ell(x) = \phi(x)^\top (C + \lambda I)^{-1} \phi(x)
                = \tfrac1\lambda \left(k(x,x) - k_{xS} (K_{SS} + m \lambda I)^{-1} k_{Sx}\right)

    with C the mean of :math:`\phi \phi^\top` over a random pilot S of m rows, and lambda such
    that C has M effective dimensions, :math:`\sum_j \sigma_j / (\sigma_j + \lambda) = M`.
    """
    m = min(len(rows), max(PILOT_ROWS, 2 * M))
    pilot = rows[rng.permutation(len(rows))[:m]]
    K = kernel(pilot)
    low = _rounding(K)
    _root(kernel, K, m * low)
    sigma = np.maximum(eigvalsh(K), 0.0) / m
    high = float(sigma.sum())

    def excess(log_ridge: float) -> float:
        return float((sigma / (sigma + np.exp(log_ridge))).sum()) - M

    # fewer dimensions than landmarks: the smallest ridge at which the system is still solvable
    ridge = low if excess(np.log(low)) <= 0 else np.exp(brentq(excess, np.log(low), np.log(high)))
    factor = _root(kernel, K, m * ridge), True
    scores = kernel.diag(rows)
    for start in range(0, len(rows), PILOT_ROWS):
        block = slice(start, start + PILOT_ROWS)
        k = kernel(pilot, rows[block])
        scores[block] -= (k * cho_solve(factor, k)).sum(axis=0)
    # at least a trace of a chance for each row, and rounding below zero cut
    return np.maximum(scores, 1e-12 * max(1e-300, np.abs(scores).max()))


def residual(kernel: Kernel, points: np.ndarray, rows: np.ndarray) -> float:
    r"""Return the share of the rows' images that the points do not span.

    .. math::
        \frac{\sum_i k(x_i, x_i) - k_{x_i U} K_{UU}^{-1} k_{U x_i}}{\sum_i k(x_i, x_i)},

    the mean squared Nystroem residual: 0 where the points span all rows, 1 where none.
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
    """Return the Cholesky factor of K, lower, with a ridge that hides its rounding."""
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
    """Return a ridge, for each row of K, that hides its rounding: points may be the same."""
    return float(10 * np.finfo(float).eps * np.trace(K))


def as_landmarks(dictionary: Any) -> Landmarks | np.ndarray:
    """Return how landmarks are chosen (a number is that many at random), or the points given."""
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
    given = np.asarray(dictionary)
    if given.dtype.kind in "cmM" or np.ma.is_masked(dictionary):
        raise ValueError(f"{expected}masked values or an array of type {given.dtype}")
    points = given.astype(float)
    if points.ndim != 2 or not len(points) or not np.isfinite(points).all():
        raise ValueError(f"{expected}an array of shape {points.shape}")
    return points
