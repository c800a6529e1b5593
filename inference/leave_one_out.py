"""Leave-one-out distances of the dictionary points, for weights that sum to one."""

from __future__ import annotations

import math

import numpy as np

NEARLY_ALL = 1e-4  # remaining share of the weight below which s - w_j is mostly rounding error
SUM_TOLERANCE = 1e-6  # error of the sum of weights, relative to that of their absolute values


def leave_one_out(
    weights: np.ndarray, K: np.ndarray, n1: int = 0, d: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the distance of each dictionary point from the centre without that point.

    The weights sum to one. When a point is left out, the other majority weights are rescaled so
    that the sum is one again. Without minority points this gives

    .. math::
        a_{-j} = \frac{a - w_j \varphi_j}{1 - w_j}, \qquad
        \|\varphi_j - a_{-j}\| = \frac{d_j}{1 - w_j}.

    With minority points, :math:`a = A - B`. A has the majority points with weights
    :math:`\alpha_0`, which sum to s, and B the minority points with weights :math:`\alpha_1`. A
    majority point leaves A, whose other weights are multiplied by
    :math:`c = s/(s - \alpha_{0j})`. A minority point leaves B, and A is multiplied by
    :math:`c = (s - \alpha_{1j})/s`:

    .. math::
        \|\varphi_j - a_{-j}\|^2 = \|g \varphi_j - c A + B\|^2, \qquad
        g = 1 + c\,\alpha_{0j} \text{ or } 1 - \alpha_{1j}.

    Parameters
    ----------
    weights : ndarray of shape (draws, M)
        Weights that sum to one; the last n1 are :math:`-\alpha_1`.
    K : ndarray of shape (M, M)
    n1 : int, default=0
    d : ndarray of shape (draws, M), optional
        The distances of the points from the full centre, if known. Without minority points, K is
        then used for points with nearly all the weight only.

    Returns
    -------
    ndarray of shape (draws, M)
        Infinite for a point with all of the majority's weight: without it there is no centre.

    Raises
    ------
    ValueError
        The weights of a draw do not sum to one, so the formula does not hold.
    """
    _require_sum_one(weights)
    m = weights.shape[1] - n1
    alpha0, alpha1 = weights[:, :m], -weights[:, m:]
    s = alpha0.sum(axis=1, keepdims=True)
    remaining = s - alpha0
    # this difference has few digits if a point has nearly all the weight: sum again without it
    inaccurate = np.argwhere(remaining <= NEARLY_ALL * s)
    if d is not None and not n1:
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.divide(d, remaining, out=remaining)
    else:
        d2 = _leave_out_of_classes(alpha0, alpha1, K)
        out = np.sqrt(np.maximum(d2, 0.0, out=d2), out=d2)
    for draw, j in inaccurate:
        others = weights[draw].copy()
        others[j] = 0.0
        total = others[:m].sum()
        out[draw, j] = np.inf
        if total > 0.0:
            others[:m] *= s[draw, 0] / total
            d2 = K[j, j] - 2.0 * K[j] @ others + others @ K @ others
            out[draw, j] = math.sqrt(max(d2, 0.0))
    return out


def _leave_out_of_classes(alpha0: np.ndarray, alpha1: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return the squared distances (draws, M) of :func:`leave_one_out` with minority points."""
    m, s = alpha0.shape[1], alpha0.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = s / (s - alpha0)
        c = np.concatenate([grown, (s - alpha1) / s], axis=1)
        g = np.concatenate([1.0 + grown * alpha0, 1.0 - alpha1], axis=1)
        A, B = alpha0 @ K[:m], alpha1 @ K[m:]  # inner products with each point
        AA = (alpha0 * A[:, :m]).sum(axis=1, keepdims=True)
        AB = (alpha1 * A[:, m:]).sum(axis=1, keepdims=True)
        BB = (alpha1 * B[:, m:]).sum(axis=1, keepdims=True)
        return g**2 * np.diag(K) + c**2 * AA + BB - 2 * g * c * A + 2 * g * B - 2 * c * AB


def _require_sum_one(weights: np.ndarray) -> None:
    error = np.abs(weights.sum(axis=1) - 1.0)
    worst = int(np.argmax(error / np.maximum(np.abs(weights).sum(axis=1), 1.0)))
    if not error[worst] <= SUM_TOLERANCE * max(1.0, np.abs(weights[worst]).sum()):
        raise ValueError(
            "leave-one-out by renormalising needs weights that sum to one, but the weights of "
            f"draw {worst} sum to {weights[worst].sum():.6g}; give the model a closed form with "
            "leave_one_out, or refit folds: Cutoff(cv=5)"
        )
