"""Leaving each dictionary point out of a centre whose weights sum to one."""

from __future__ import annotations

import math

import numpy as np

NEARLY_ALL = 1e-4  # share of the weight left below which differences are mostly rounding
SUM_TOLERANCE = 1e-6  # of the sum of weights, relative to the sum of their absolute values


def leave_one_out(
    weights: np.ndarray, K: np.ndarray, n1: int = 0, d: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the distance of each dictionary point from the centre without that point.

    The weights sum to one, and those of the majority that are left are scaled so that they do
    so again. Without minority points that is

    .. math::
        a_{-j} = \frac{a - w_j \varphi_j}{1 - w_j}, \qquad
        \|\varphi_j - a_{-j}\| = \frac{d_j}{1 - w_j}.

    With them, :math:`a = A - B`, of the majority points with weights :math:`\alpha_0`, which sum
    to s, and of the minority points with weights :math:`\alpha_1`. A majority point leaves A
    only, whose other weights grow by c = s/(s - \alpha_{0j}); a minority point leaves B, and A
    shrinks by c = (s - \alpha_{1j})/s:

    .. math::
        \|\varphi_j - a_{-j}\|^2 = \|g \varphi_j - c A + B\|^2, \qquad
        g = 1 + c\,\alpha_{0j} \text{ or } 1 - \alpha_{1j}.

    Parameters
    ----------
    weights : ndarray of shape (draws, M)
        Of sum one; the last n1 of them are :math:`-\alpha_1`.
    K : ndarray of shape (M, M)
    n1 : int, default=0
    d : ndarray of shape (draws, M), optional
        The distances of the points, where they are known: without minority points nothing else
        is needed.

    Returns
    -------
    ndarray of shape (draws, M)
        Infinite for a point that holds all of the majority's weight: there is no centre
        without it.

    Raises
    ------
    ValueError
        The weights of a draw do not sum to one, so the formula does not hold for them.
    """
    _require_sum_one(weights)
    m = weights.shape[1] - n1
    alpha0, alpha1 = weights[:, :m], -weights[:, m:]
    s = alpha0.sum(axis=1, keepdims=True)
    rest = s - alpha0
    # where a point holds nearly all the weight the sum has lost its digits
    lost = np.argwhere(rest <= NEARLY_ALL * s)
    if d is not None and not n1:
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.divide(d, rest, out=rest)
    else:
        d2 = _leave_out_of_classes(alpha0, alpha1, K)
        out = np.sqrt(np.maximum(d2, 0.0, out=d2), out=d2)
    for draw, j in lost:
        left = weights[draw].copy()
        left[j] = 0.0
        total = left[:m].sum()
        out[draw, j] = np.inf
        if total > 0.0:
            left[:m] *= s[draw, 0] / total
            d2 = K[j, j] - 2.0 * K[j] @ left + left @ K @ left
            out[draw, j] = math.sqrt(max(d2, 0.0))
    return out


def _leave_out_of_classes(alpha0: np.ndarray, alpha1: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return squared distances (draws, M) as in :func:`leave_one_out`, with minority points."""
    m, s = alpha0.shape[1], alpha0.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = s / (s - alpha0)
        c = np.concatenate([grown, (s - alpha1) / s], axis=1)
        g = np.concatenate([1.0 + grown * alpha0, 1.0 - alpha1], axis=1)
        A, B = alpha0 @ K[:m], alpha1 @ K[m:]  # products with each point
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
