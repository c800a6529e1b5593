r"""The change of few columns that makes an abnormal row normal.

Let u be one of the three normal training rows with the smallest :math:`\sum_f \min(|z_f - u_f| /
\sigma_f, 2)`: they are near to z in most columns. The search starts at x = z. Each step gives one
column of x its value in u, the column for which the score by the mean weights becomes largest,
until x is normal by the posterior. It ends at u, which is normal. Then the
changed columns go back towards z together, as far as x stays normal. Of the three rows, the one
that changes the fewest columns is taken, and among these the smallest change in standard
deviations.

A greedy choice is no minimum: fewer columns may do, with values of another row.
"""

from __future__ import annotations

import math

import numpy as np

from ...inference import threads
from ...inference.center import Center
from .terms import REMOTE, largest

STARTS = 3  # normal rows whose values are taken
MOST_SD = 2.0  # standard deviations that a column counts at most in the choice of these rows
HALVINGS = 10  # of the way back
LEAST = np.finfo(float).min  # score of a row that is remote in another column too
BLOCK_VALUES = 1_000_000  # rows x columns x points in memory of a thread at once


def smallest_change(
    center: Center, rows: np.ndarray, normal: np.ndarray, level: float, sd: np.ndarray
) -> np.ndarray:
    """Return the normal rows that abnormal rows become, shape (rows, p); NaN if there is none.

    Parameters
    ----------
    center : Center
    rows : ndarray of shape (rows, p)
        Abnormal rows.
    normal : ndarray of shape (m, p)
        Normal rows.
    level : float
        A row is normal if its score at this level is at least 0.
    sd : ndarray of shape (p,)
        The units in which changes are measured.
    """
    found = np.full(rows.shape, math.nan)

    def of_block(block: slice) -> None:
        away = np.abs(rows[block, None] - normal) / sd
        near = largest(-np.minimum(away, MOST_SD).sum(axis=-1), min(STARTS, m))
        found[block] = _of_block(center, rows[block], normal[near], level, sd)

    m, p = normal.shape
    step = max(1, BLOCK_VALUES // (STARTS * p * max(p, m, len(center.gram.points.rows))))
    threads.each(of_block, len(rows) if m else 0, step)
    return found


def _of_block(
    center: Center, rows: np.ndarray, starts: np.ndarray, level: float, sd: np.ndarray
) -> np.ndarray:
    n, m, p = starts.shape
    of_row, target = np.repeat(np.arange(n), m), starts.reshape(-1, p)
    z = rows[of_row]
    x, searching, ended = z.copy(), np.arange(n * m), np.zeros(n * m, dtype=bool)
    for _ in range(p):
        now, goal = x[searching], target[searching]
        score = np.maximum(_scores(center, now, goal), LEAST)
        best = np.where(now == goal, -np.inf, score).argmax(axis=1)
        x[searching, best] = goal[np.arange(len(goal)), best]
        ended[searching] = center.is_normal(x[searching], level)
        searching = searching[~np.isin(of_row[searching], of_row[ended])]
        if not len(searching):
            break
    of_row, z, x = of_row[ended], z[ended], x[ended]
    x = _towards(center, x, z, level)
    found, size = np.full(rows.shape, math.nan), np.hypot.reduce((x - z) / sd, axis=1)
    order = np.argsort(-size, kind="stable")
    found[of_row[order]] = x[order]  # the smallest change is the last
    return found


def _scores(center: Center, x: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return scores by the mean weights of rows x with one column of ``goal``, (rows, columns)."""
    kernel, p = center.gram.kernel, x.shape[1]
    mean = center.with_weights(center.weights.mean(axis=0, keepdims=True))
    if not kernel.separable or kernel.adjusts:  # one column changes the terms of others
        changed = np.repeat(x[:, None], p, axis=1)
        changed[:, np.arange(p), np.arange(p)] = goal
        return mean.scores(changed.reshape(-1, p)).reshape(-1, p)
    weights, points = mean.supported_points
    with np.errstate(over="ignore"):
        costs = kernel.by_column(np.concatenate([x, goal]), points.rows)
        now, after = np.hsplit(np.stack([np.minimum(cost, REMOTE) for cost in costs]), 2)
    log_k = now - now.sum(axis=0) - after  # of a column, each row and each member
    nearest = log_k.max(axis=-1)
    s = points.mean(np.exp(log_k - nearest[..., None])) @ weights[0]
    score: np.ndarray = nearest + np.log(s) if center.logarithmic else s * np.exp(nearest)
    return score.T


def _towards(center: Center, x: np.ndarray, z: np.ndarray, level: float) -> np.ndarray:
    """Return the last normal rows that bisection finds on the lines from normal rows x to z."""
    share, step = np.zeros((len(x), 1)), 1.0
    for _ in range(HALVINGS):
        step /= 2.0
        is_normal = center.is_normal(x + (share + step) * (z - x), level)
        share += step * is_normal[:, None]
    return np.where(x == z, z, x + share * (z - x))
