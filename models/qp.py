"""Quadratic programs of weights that sum to one, by the solver that libsvm has for them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.svm import OneClassSVM

BOUND_TOLERANCE = 1e-6  # share of its range within which a weight counts as being at a bound


def minimize(
    H: np.ndarray,
    b: np.ndarray,
    lower: ArrayLike = 0.0,
    upper: ArrayLike = 1.0,
    tol: float = 1e-8,
) -> np.ndarray:
    r"""Return the w that minimises w'Hw/2 - b'w under sum w = 1, lower <= w <= upper.

    With w = lower + v and s = 1 - sum lower, the linear term goes into the matrix: on
    sum v = s, and with c = H lower - b,

    .. math:: v^\top H v + 2 c^\top v = v^\top \left(H + (c 1^\top + 1 c^\top)/s\right) v,

    which is the dual of a one-class SVM with an upper bound for each weight.

    Parameters
    ----------
    H : ndarray of shape (n, n)
        Positive semi-definite.
    b : ndarray of shape (n,)
    lower, upper : float or ndarray of shape (n,), default=0, 1
    tol : float, default=1e-8
        Where libsvm stops, as a share of the largest entry of its matrix. It holds that matrix in
        single precision, so that about 1e-7 is left of the optimality conditions.

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
            f"no weights sum to 1 within their bounds: the lower ones sum to {lower.sum():.6g}, "
            f"the upper ones to {lower.sum() + room.sum():.6g}"
        )
    if s <= 1e-12:  # one feasible point, for which libsvm has no intercept
        return lower.copy()
    if s >= room.sum() * (1 - 1e-12):
        return lower + room
    free = np.flatnonzero(room > 0.0)  # libsvm numbers the weights without those that have no room
    price = np.minimum(room[free], s)
    if len(free) == 1:
        v = np.zeros(n)
        v[free] = s
        return lower + v
    c = (H @ lower - b)[free]
    Q = H if len(free) == n else H[np.ix_(free, free)]
    if np.ptp(c) > 0.0:  # else it adds a constant, which is free on sum v = s
        Q = Q + (c[:, None] + c[None, :]) / s
    least, most = Q.min(), Q.max()
    size, middle = max(-least, most), (least + most) / 2.0
    if abs(middle) > most - least:  # most of it is a constant: it would cost digits
        Q, size = Q - middle, (most - least) / 2.0
    if size not in (0.0, 1.0):  # libsvm's tolerance is absolute: bring the matrix to size 1
        Q = Q / size
    # libsvm starts with the first weights at their bounds, sum v = nu sum price
    svm = OneClassSVM(kernel="precomputed", nu=s / price.sum(), tol=tol, cache_size=500)
    svm.fit(Q, sample_weight=price)
    v = np.zeros(n)
    v[free[svm.support_]] = svm.dual_coef_[0]
    w = lower + v * (s / v.sum())
    upper = np.broadcast_to(upper, n)
    # libsvm's bounds are exact, and so are ours: an upper bound of 0 means 0, not -1e-16
    return np.clip(np.where(v >= room, upper, w), lower, upper)


def cases(
    w: np.ndarray,
    lower: ArrayLike,
    upper: ArrayLike,
    tolerance: ArrayLike,
    names: tuple[str, str, str],
) -> np.ndarray:
    """Name each weight: at its lower bound, between the bounds, or at its upper one."""
    at_lower, free, at_upper = names
    low = np.where(w <= np.add(lower, tolerance), at_lower, free)
    return np.where(w >= np.subtract(upper, tolerance), at_upper, low)
