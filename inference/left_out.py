"""Scores of training rows when they are left out: in closed form, or by refitted folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from . import threads
from .center import Center, Score
from .cutoff import Cutoff
from .diagnostics import DRAWS_IN_CACHE

NEARLY_ALL = 1e-4  # remaining share of the weight below which s - w_j is mostly rounding error
SUM_TOLERANCE = 1e-6  # error of the sum of weights, relative to that of their absolute values


def leave_one_out(weights: np.ndarray, K: np.ndarray, n1: int = 0) -> np.ndarray:
    r"""Return the similarity of each dictionary point to the centre without that point.

    The weights sum to one. When a point is left out, the other majority weights are rescaled so
    that the sum is one again. Without minority points this gives

    .. math:: f_j = \frac{\sum_{i \ne j} w_i k_{ij}}{1 - w_j}.

    With minority points, :math:`a = A - B`. A has the majority points with weights
    :math:`\alpha_0`, which sum to s, and B the minority points with weights :math:`\alpha_1`. A
    majority point leaves A, whose other weights are multiplied by
    :math:`c = s/(s - \alpha_{0j})`. A minority point leaves B, and A is multiplied by
    :math:`c = (s - \alpha_{1j})/s`:

    .. math:: f_j = c \sum_{i \ne j} \alpha_{0i} k_{ij} - \sum_{i \ne j} \alpha_{1i} k_{ij}.

    Parameters
    ----------
    weights : ndarray of shape (draws, M)
        Weights that sum to one; the last n1 are :math:`-\alpha_1`.
    K : ndarray of shape (M, M)
        Row j has the kernel values of the left-out point j, ``gram.K_left_out``.
    n1 : int, default=0

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
    f = np.empty_like(weights)
    of_others = K.T.copy()
    np.fill_diagonal(of_others, 0.0)  # sums over the other points, without a difference

    def of_block(draws: slice) -> None:
        w = weights[draws]
        s = w[:, :m].sum(axis=1, keepdims=True)
        remaining = s - w[:, :m]
        # this difference has few digits if a point has nearly all the weight: sum again without it
        inaccurate = np.argwhere(remaining <= NEARLY_ALL * s)
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


# refitted folds


def folds(minority: np.ndarray, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and left-out rows of n folds, stratified if there are minority rows."""
    from sklearn.model_selection import KFold, StratifiedKFold

    split = (StratifiedKFold if minority.any() else KFold)(n, shuffle=True, random_state=seed)
    yield from split.split(minority, minority)


def refitted_values(
    folds: Iterator[tuple[np.ndarray, np.ndarray]],
    values_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the values (draws, n) of each row by the model of the other folds.

    ``refit`` takes row numbers, and returns a function of other row numbers that gives the values
    (draws, rows) of these by the model that is fitted to the first.
    """
    parts, order = [], []
    for train, test in folds:
        try:
            parts.append(values_of(train, test))
        except ValueError as error:
            raise ValueError(
                f"cutoff: a fold with {len(train)} of {len(train) + len(test)} rows cannot be "
                f"fitted; use fewer folds, cv='train', or a number as the cutoff: {error}"
            ) from error
        order.append(test)
    return np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(order))]


def aligned(values: np.ndarray, score: Score, reference: float, other: float) -> np.ndarray:
    """Return the values that rows would have by another fit of the model.

    Parameters
    ----------
    values : ndarray of shape (draws, n)
    score : Score
        The fit that gave them.
    reference, other : float
        Values with the same meaning in this and in the other fit. A similarity is a sum over the
        weights, whose size depends on the number of rows: it is scaled. A logarithm is shifted.
    """
    scaled = isinstance(score, Center) and not score.logarithmic and score.gram.kernel.normalized
    if scaled and min(reference, other) > 0.0:
        return values * (other / reference)
    return values + (other - reference)


# which way rows are left out


def folds_for(minority: np.ndarray, most: int) -> int:
    """Return up to ``most`` folds, at most as many as the smaller class has rows; at least 2."""
    counts = [n for n in (int((~minority).sum()), int(minority.sum())) if n]
    return max(2, min(most, *counts))


def resolved(
    policy: Cutoff, minority: np.ndarray, all_rows: bool, auto: str | int
) -> Literal["loo", "train"] | int:
    """Return how rows are left out: "loo", "train" or a number of folds.

    ``auto`` is what the model has for ``cv="auto"``: "loo", or the most folds.

    Raises
    ------
    ValueError
        The cutoff needs folds, but the fit holds a sample of the rows only.
    """
    cv = policy.cv
    if cv == "auto":
        cv = folds_for(minority, auto) if isinstance(auto, int) and all_rows else "loo"
    if isinstance(cv, int) and not all_rows:
        raise ValueError(
            f"cutoff: cv={cv} folds are refitted to all rows, but the fit holds a sample of "
            f"{len(minority)} rows only; use cv='auto', or a number as the cutoff"
        )
    return cv


def check(policy: Cutoff, minority: np.ndarray, all_rows: bool, auto: str | int) -> None:
    """Raise a ValueError, before any kernel value, if the cutoff cannot be chosen."""
    if policy.of_rows:
        policy = replace(policy, cv=resolved(policy, minority, all_rows, auto))
    policy.check(minority)
