"""Quadratic programs of weights that sum to one, solved by libsvm."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

PRECISION = 1e-7  # of libsvm, which holds the matrix in single precision, relative to the matrix
BOUND_TOLERANCE = 1e-6  # a weight so near to a bound, as a share of its range, is at the bound


def minimize(
    H: np.ndarray,
    b: np.ndarray,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = 1.0,
    tol: float = 1e-8,
) -> np.ndarray:
    r"""Return the w that minimises w'Hw/2 - b'w under sum w = 1, lower <= w <= upper.

    Let w = lower + v, s = 1 - sum lower and c = H lower - b. On sum v = s the linear term becomes
    a part of the matrix, up to a constant:

    .. math:: v^\top H v + 2 c^\top v = v^\top \left(H + (c 1^\top + 1 c^\top)/s\right) v,

    This is the dual of a one-class SVM with an upper bound for each weight.

    Parameters
    ----------
    H : ndarray of shape (n, n)
        Positive semi-definite.
    b : ndarray of shape (n,)
    lower, upper : float or ndarray of shape (n,), default=0, 1
    tol : float, default=1e-8
        Tolerance of libsvm, as a share of the largest entry of its matrix. libsvm holds the
        matrix in single precision, so it violates the optimality conditions by about 1e-7.

    Raises
    ------
    ValueError
        No w is feasible.
    """
    n = len(b)
    b = np.asarray(b, dtype=float)
    lower = np.broadcast_to(np.asarray(lower, dtype=float), n)
    room = np.broadcast_to(np.asarray(upper, dtype=float), n) - lower
    s = 1.0 - lower.sum()
    if room.min() < 0 or s < -1e-12 or s > room.sum() * (1 + 1e-12):
        raise ValueError(
            f"no weights within their bounds sum to 1: the lower bounds sum to {lower.sum():.6g}, "
            f"the upper bounds to {lower.sum() + room.sum():.6g}"
        )
    if s <= 1e-12:  # one feasible point, where libsvm gives no intercept
        return lower.copy()
    if s >= room.sum() * (1 - 1e-12):
        return lower + room
    free = np.flatnonzero(room > 0.0)  # libsvm drops the other weights and renumbers
    bound = np.minimum(room[free], s)
    if len(free) == 1:
        v = np.zeros(n)
        v[free] = s
        return lower + v
    c = (H @ lower - b)[free]
    Q = H if len(free) == n else H[np.ix_(free, free)]
    if np.ptp(c) > 0.0:  # an equal c adds only a constant on sum v = s
        Q = Q + (c[:, None] + c[None, :]) / s
    smallest, largest = Q.min(), Q.max()
    size, middle = max(-smallest, largest), (smallest + largest) / 2.0
    if abs(middle) > largest - smallest:  # a large common constant would cost digits
        Q, size = Q - middle, (largest - smallest) / 2.0
    if size not in (0.0, 1.0):  # libsvm's tolerance is absolute: scale the matrix to size 1
        Q = Q / size
    from sklearn.svm import OneClassSVM

    # libsvm starts with the first weights at their bounds, so that sum v = nu sum bound = s
    svm = OneClassSVM(kernel="precomputed", nu=s / bound.sum(), tol=tol, cache_size=500)
    svm.fit(Q, sample_weight=bound)
    v = np.zeros(n)
    v[free[svm.support_]] = svm.dual_coef_[0]
    w = lower + v * (s / v.sum())
    upper = np.broadcast_to(upper, n)
    # a weight at its bound is exactly the bound: 0 rather than -1e-16
    return np.clip(np.where(v >= room, upper, w), lower, upper)


def classify(
    w: np.ndarray,
    lower: ArrayLike,
    upper: ArrayLike,
    tolerance: ArrayLike,
    names: tuple[str, str, str],
) -> np.ndarray:
    """Return the name of each weight: at its lower bound, free, or at its upper bound."""
    at_lower, free, at_upper = names
    low = np.where(w <= np.add(lower, tolerance), at_lower, free)
    return np.where(w >= np.subtract(upper, tolerance), at_upper, low)


def level(values: np.ndarray, case: np.ndarray, names: tuple[str, str, str]) -> float:
    """Return the value that the weights of all three names agree with, as optimality asks.

    The values are at most this level where weights are at their lower bounds, and at least where
    they are at their upper bounds. It is the mean where they are free. Without a free weight any
    level of an interval is optimal: the middle, or the only end.
    """
    at_lower, free, at_upper = (values[case == name] for name in names)
    if len(free):
        return float(free.mean())
    ends = [at_lower.max()] if len(at_lower) else []
    return float(np.mean([*ends, at_upper.min()] if len(at_upper) else ends))
