"""The decision: z is normal when P(d_z <= D_opt | data) exceeds a level, 0.5 by default."""

from __future__ import annotations

import math

import numpy as np

BLOCK = 1000  # rows whose draws are copied at once
DRAWS = 128  # draws compared at once, so that a block stays in the cache


def probability_normal(d: np.ndarray, cutoff: float | np.ndarray) -> np.ndarray:
    """Return P(d_z <= cutoff | data), the share of draws; (draws, rows) -> (rows,).

    The cutoff is a number, or has one for each draw, shape (draws, 1).
    """
    return (d <= cutoff).mean(axis=0)


def compared(
    d: np.ndarray, cutoff: np.ndarray, level: float, tolerance: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return P(d_z <= cutoff | data), whether it exceeds the level, and where rounding may decide.

    It is one pass over the draws; rounding may decide a row if one of its distances differs from
    the cutoff of its draw by at most ``tolerance``, relative to the cutoff.

    Parameters
    ----------
    d : ndarray of shape (draws, rows)
    cutoff : ndarray of shape (draws, 1)
    level, tolerance : float
    """
    count, at_cutoff = np.zeros(d.shape[1], dtype=int), np.zeros(d.shape[1], dtype=bool)
    for start in range(0, len(d), DRAWS):
        draws = slice(start, start + DRAWS)
        beyond = d[draws] - cutoff[draws]
        count += (beyond <= 0.0).sum(axis=0)
        margin = tolerance * np.abs(cutoff[draws])
        at_cutoff |= (np.abs(beyond, out=beyond) <= margin).any(axis=0)
    return count / len(d), count > quantile_rank(level, len(d)), at_cutoff


def three_way(
    probability: np.ndarray, standard_error: np.ndarray, low: float, high: float
) -> np.ndarray:
    """Return "normal", "abnormal" or "undecided" for each row.

    A row is abnormal if P(d_z <= D_opt | data) is at most ``low``, and normal if it is at least
    ``high``. It is undecided between the two, and also within two Monte Carlo standard errors of
    the one beyond which it lies.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.decision import three_way
    >>> three_way(np.array([0.1, 0.5, 0.99]), np.array([0.01, 0.02, 0.004]), 0.2, 0.8).tolist()
    ['abnormal', 'undecided', 'normal']
    """
    margin = 2.0 * standard_error
    normal = probability - margin >= high
    abnormal = probability + margin <= low
    return np.where(abnormal, "abnormal", np.where(normal, "normal", "undecided"))


def probability_error(probability: np.ndarray, ess: float) -> np.ndarray:
    r"""Return the Monte Carlo standard error :math:`\sqrt{P (1 - P) / \mathrm{ESS}}` of P(normal).

    ESS is the effective number of draws; 0 is returned for a single estimate (ESS is NaN).
    """
    if math.isnan(ess):
        return np.zeros_like(probability)
    return np.sqrt(probability * (1.0 - probability) / ess)


def quantile_rank(level: float, draws: int) -> int:
    """Return the index of the distance quantile in the sorted draws."""
    rank = math.floor(level * draws + 1e-9)  # 0.3 * 10 is 3, not 2.9999999999999996
    return min(rank, draws - 1)  # a level near 1 would give the index after the last


def distance_quantile(d: np.ndarray, level: float = 0.5, overwrite: bool = False) -> np.ndarray:
    """Return the quantile of the distance that decides each row; (draws, rows) -> (rows,).

    It is the order statistic number floor(level * draws) + 1; at level 0.5, the (upper) median.
    More than a share ``level`` of the draws lies at or below the cutoff exactly if this order
    statistic does. So a row is normal if its distance quantile is at most the cutoff, and this
    one number per row is all that a cutoff, a ranking or a score needs. With ``overwrite`` the
    values of ``d`` are reordered, which saves a copy.
    """
    rank = quantile_rank(level, len(d))
    if overwrite:
        d.partition(rank, axis=0)
        return d[rank]
    out = np.empty(d.shape[1])
    for start in range(0, len(out), BLOCK):
        rows = slice(start, start + BLOCK)
        block = d[:, rows].copy(order="F")  # the draws of a row side by side
        block.partition(rank, axis=0)
        out[rows] = block[rank]
    return out


def weighted_distance_quantile(
    d: np.ndarray, log_weight: np.ndarray, level: float = 0.5
) -> np.ndarray:
    """Return :func:`distance_quantile` of weighted draws.

    It is the smallest distance such that the draws at or below it have more than a share
    ``level`` of the weight of their row.

    Parameters
    ----------
    d, log_weight : ndarray of shape (draws, rows)
        Distances, and log weights of the draws; the weights of a row need not sum to one.
    level : float, default=0.5
    """
    order = np.argsort(d, axis=0)
    weight = np.exp(log_weight - log_weight.max(axis=0))
    share = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
    share /= share[-1]
    rank = np.minimum((share <= level + 1e-9).sum(axis=0), len(d) - 1)
    return np.take_along_axis(d, order, axis=0)[rank, np.arange(d.shape[1])]
