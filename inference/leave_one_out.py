"""Kernel sums of left-out dictionary points, for weights that sum to one."""

from __future__ import annotations

import numpy as np

from ..models.geometry import DRAWS_IN_CACHE
from . import threads

FEW = 1e-4  # of a point's own term: a sum of the others below it has lost digits as a difference
NEARLY_ALL = 1e-4  # remaining share of the weight below which s - w_j is mostly rounding error
SUM_TOLERANCE = 1e-6  # error of the sum of weights, relative to that of their absolute values


def leave_one_out(
    weights: np.ndarray, K: np.ndarray, n1: int = 0, Kw: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the kernel sum of each dictionary point with the centre without that point.

    The kernel sum of a row z is its inner product with the centre,
    :math:`f_z = \langle \varphi(z), a \rangle = \sum_j w_j k(u_j, z)`. The weights sum to one.
    When a point is left out, the other majority weights are rescaled so that the sum is one again.
    Without minority points this gives

    .. math:: f_j = \frac{\sum_{i \ne j} w_i k_{ij}}{1 - w_j}.

    With minority points, :math:`a = A - B`. A has the majority points with weights
    :math:`\alpha_0`, which sum to s, and B the minority points with weights :math:`\alpha_1`. A
    majority point leaves A, whose other weights are multiplied by
    :math:`c = s/(s - \alpha_{0j})`. A minority point leaves B, and A is multiplied by
    :math:`c = (s - \alpha_{1j})/s`:

    .. math:: f_j = c \sum_{i \ne j} \alpha_{0i} k_{ij} - \sum_{i \ne j} \alpha_{1i} k_{ij}.

    A left-out row and a new row are compared by their kernel sums, and not by their distances
    from two centres: the centre without a row has a larger norm, which is no property of the row.

    Parameters
    ----------
    weights : ndarray of shape (draws, M)
        Weights that sum to one; the last n1 are :math:`-\alpha_1`.
    K : ndarray of shape (M, M)
    n1 : int, default=0
    Kw : ndarray of shape (draws, M), optional
        K w of each draw, if it is known: without minority points it saves a product of matrices.
        It is overwritten.

    Returns
    -------
    ndarray of shape (draws, M)
        Minus infinity for a point with all of the majority's weight: without it there is no centre.

    Raises
    ------
    ValueError
        The weights of a draw do not sum to one, so the formula does not hold.
    """
    _require_sum_one(weights)
    m = weights.shape[1] - n1
    f = np.empty_like(weights) if Kw is None or n1 else Kw
    of_others = K
    if f is not Kw:
        of_others = K.copy()
        np.fill_diagonal(of_others, 0.0)  # sums over the other points, without a difference

    def of_block(draws: slice) -> None:
        w = weights[draws]
        s = w[:, :m].sum(axis=1, keepdims=True)
        remaining = s - w[:, :m]
        # this difference has few digits if a point has nearly all the weight: sum again without it
        inaccurate = np.argwhere(remaining <= NEARLY_ALL * s)
        if f is Kw:
            sums = _without_own_term(f[draws], w, K)
        else:
            sums = np.matmul(w[:, :m], of_others[:m], out=f[draws])
        with np.errstate(divide="ignore", invalid="ignore"):
            sums[:, :m] *= np.divide(s, remaining, out=remaining)
        if n1:
            sums[:, m:] *= (s + w[:, m:]) / s
            sums += w[:, m:] @ of_others[m:]
        for draw, j in inaccurate:
            rest = w[draw].copy()
            rest[j] = 0.0
            total = rest[:m].sum()
            sums[draw, j] = -np.inf
            if total > 0.0:
                rest[:m] *= s[draw, 0] / total
                sums[draw, j] = K[j] @ rest

    threads.each(of_block, len(weights), DRAWS_IN_CACHE)
    return f


def _without_own_term(Kw: np.ndarray, w: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return Kw, overwritten by the sum over i != j of w_i k_ij for each point j, (draws, M)."""
    own = w * np.diag(K)
    Kw -= own
    few = (np.abs(Kw) < FEW * np.abs(own)).any(axis=0)
    columns = np.flatnonzero(few)  # their differences have lost digits: sum again
    of_others = K[:, columns]
    of_others[columns, np.arange(len(columns))] = 0.0
    Kw[:, columns] = w @ of_others
    return Kw


def _require_sum_one(weights: np.ndarray) -> None:
    error = np.abs(weights.sum(axis=1) - 1.0)
    if (error <= SUM_TOLERANCE).all():
        return
    worst = int(np.argmax(error / np.maximum(np.abs(weights).sum(axis=1), 1.0)))
    if not error[worst] <= SUM_TOLERANCE * max(1.0, np.abs(weights[worst]).sum()):
        raise ValueError(
            "leave-one-out by renormalising needs weights that sum to one, but the weights of "
            f"draw {worst} sum to {weights[worst].sum():.6g}; give the model a closed form with "
            "leave_one_out, or refit folds: Cutoff(cv=5)"
        )
