"""Quadratic programs of weights that sum to one, solved by libsvm."""

from __future__ import annotations

import numpy as np

# of the largest entry; without it libsvm takes a minute where the matrix, which it
# holds in single precision, is singular
RIDGE_OF_PROGRAM = 1e-7


def minimize(
    H: np.ndarray,
    b: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    tol: float = 1e-8,
    order: np.ndarray | None = None,
) -> np.ndarray:
    r"""Return the w that minimises w'Hw/2 - b'w under sum w = 1, lower <= w <= upper.

    Let w = lower + v, s = 1 - sum lower and c = H lower - b. On sum v = s the linear
    term becomes a part of the matrix, up to a constant:

    .. math::
        v^\top H v + 2 c^\top v = v^\top \left(H + (c 1^\top + 1 c^\top)/s\right) v,

    the dual of a one-class SVM with an upper bound for each weight. libsvm holds the
    matrix in single precision, so it violates the optimality conditions by about 1e-7
    of its largest entry. Its answer depends on the order of the weights: ``order``.

    Raises
    ------
    ValueError
        No w is feasible.
    """
    from sklearn.svm import OneClassSVM

    room = upper - lower
    s = 1.0 - lower.sum()
    if room.min() < 0 or s < -1e-12 or s > room.sum() * (1 + 1e-12):
        raise ValueError(
            "no weights within their bounds sum to 1: the lower bounds sum to "
            f"{lower.sum():.6g}, the upper bounds to {lower.sum() + room.sum():.6g}"
        )
    order = np.arange(len(b)) if order is None else order
    free = order[room[order] > 0.0]  # libsvm drops the other weights
    bound = np.minimum(room[free], s)
    v = np.zeros(len(b))
    if s <= 1e-12:  # the lower bounds alone
        return lower.copy()
    if bound.sum() <= s * (1 + 1e-12):  # one feasible v
        v[free] = bound * (s / bound.sum())
        return np.asarray(lower + v)
    c = (H @ lower - b)[free]
    Q = H[np.ix_(free, free)] + (c[:, None] + c) / s
    Q -= (Q.min() + Q.max()) / 2.0  # a constant changes nothing, and would cost digits
    Q /= np.abs(Q).max() or 1.0  # libsvm's tolerance is absolute
    Q[np.diag_indices(len(Q))] += RIDGE_OF_PROGRAM
    svm = OneClassSVM(kernel="precomputed", nu=s / bound.sum(), tol=tol, cache_size=500)
    svm.fit(Q, sample_weight=bound)
    v[free[svm.support_]] = svm.dual_coef_[0]
    v *= s / v.sum()
    # a weight at its bound is exactly the bound
    return np.clip(np.where(v >= room, upper, lower + v), lower, upper)
