"""Quadratic programs on the simplex, by the solver that libsvm has for them."""

from __future__ import annotations

import numpy as np
from sklearn.svm import OneClassSVM


def minimise(H: np.ndarray, b: np.ndarray, upper: float = 1.0, tol: float = 1e-9) -> np.ndarray:
    r"""Return the w that minimises w'Hw/2 - b'w under sum w = 1, 0 <= w <= upper.

    On sum w = 1 the linear term goes into the matrix,
    :math:`w^\top (H - b 1^\top - 1 b^\top) w = w^\top H w - 2 b^\top w`, and what is left is
    the dual of the one-class SVM with nu = 1/(upper n), which libsvm solves.

    Parameters
    ----------
    H : ndarray of shape (n, n)
        Positive semi-definite.
    b : ndarray of shape (n,)
    upper : float, default=1
        At least 1/n, or no w is feasible.
    tol : float, default=1e-9
        Largest violation of the optimality conditions that is left, on the scale of H.
    """
    n = len(b)
    upper = min(upper, 1.0)
    if upper * n <= 1.0 + 1e-12:  # one feasible point, for which libsvm has no intercept
        return np.full(n, 1.0 / n)
    size = np.abs(H).max() or 1.0  # libsvm's tolerance is absolute: bring H to size 1
    nu = 1.0 / (upper * n)
    svm = OneClassSVM(kernel="precomputed", nu=nu, tol=tol / upper, cache_size=500)
    svm.fit((H - b[:, None] - b[None, :]) / size)
    w = np.zeros(n)
    w[svm.support_] = svm.dual_coef_[0]
    return w / w.sum()
