r"""The smallest change of an abnormal row that makes it normal, within the range of normal rows.

.. math:: \min_x \sum_f \left(\frac{x_f - z_f}{\sigma_f}\right)^2 \quad \text{so that x is normal,}
    \quad \text{low}_f \le x_f \le \text{high}_f

with the standard deviations and the range of the majority training rows. The search starts at the
last normal row on the way from a near normal training row to z, so there always is a solution. Each
step takes the score of the mean weights, shifted so that it agrees with the posterior at the
present x, and SLSQP finds the next x (Kraft 1988). The gradient is by central differences.

The result is a local minimum for the mean weights. It is normal by the posterior.

**References**

Kraft, D. (1988). A software package for sequential quadratic programming. DFVLR-FB 88-28.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from ...inference import threads
from ...inference.center import Center
from ...models.kernels import as_kernel
from ...models.kernels.base import Wrapper
from .terms import largest

STARTS = 3  # normal rows from which the search may start
STEPS = 2  # most steps of a search
HALVINGS = 14  # of a line
TOLERANCE = 1e-3  # a step that changes less, in standard deviations, is the last
BLOCK_VALUES = 1_000_000  # rows x points in memory of a thread at once


@dataclass(frozen=True, eq=False)
class Region:
    """The range of normal rows, and how changes are measured.

    Attributes
    ----------
    low, high, sd : ndarray of shape (p,)
        Least and largest value and standard deviation of each column; 1 for a constant column.
    normal_rows : ndarray of shape (m, p)
        Normal training rows.
    """

    low: np.ndarray
    high: np.ndarray
    sd: np.ndarray
    normal_rows: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray, normal: np.ndarray) -> Region:
        """Return the region of majority rows (n, p), of which ``normal`` (n,) are normal."""
        low, high = rows.min(axis=0), rows.max(axis=0)
        return cls(low, high, np.where(high > low, rows.std(axis=0), 1.0), rows[normal])

    def within(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of the range next to rows (n, p)."""
        return np.clip(rows, self.low, self.high)

    def size(self, change: np.ndarray) -> np.ndarray:
        """Return the length of changes (n, p) in standard deviations, shape (n,)."""
        return np.sqrt(np.square(change / self.sd).sum(axis=1))


def smallest_change(center: Center, rows: np.ndarray, level: float, region: Region) -> np.ndarray:
    """Return the normal row next to each row, shape (rows, p); NaN if no normal row was found.

    Parameters
    ----------
    center : Center
    rows : ndarray of shape (rows, p)
        Abnormal rows.
    level : float
        A row is normal if its score at this level is at least 0.
    region : Region
    """
    if not len(rows) or not len(region.normal_rows):
        return np.full(rows.shape, math.nan)
    step = max(1, BLOCK_VALUES // max(len(center.support), len(region.normal_rows)))
    blocks = threads.each(
        lambda block: _of_block(center, rows[block], level, region), len(rows), step
    )
    return np.concatenate(blocks)


def _of_block(center: Center, rows: np.ndarray, level: float, region: Region) -> np.ndarray:
    mean = _mean_score(center)
    distance = cdist(rows / region.sd, region.normal_rows / region.sd)
    nearest = largest(-distance, min(STARTS, distance.shape[1])).T
    starts, ends = region.normal_rows[nearest.ravel()], np.tile(rows, (len(nearest), 1))

    def is_normal(x: np.ndarray) -> np.ndarray:
        return center.is_normal(x, level)

    last = _on_line(starts, region.within(ends), is_normal)
    of_row = region.size(last - ends).reshape(-1, len(rows)).argmin(axis=0)
    best = last.reshape(-1, *rows.shape)[of_row, np.arange(len(rows))]
    x, moving = best.copy(), np.arange(len(rows))
    score = center.scores(x, level)
    for _ in range(STEPS):
        now = x[moving]
        places = zip(rows[moving], now, mean(now) - score, strict=True)
        new = np.stack([_by_slsqp(mean, *each, region) for each in places])
        x[moving], score = new, center.scores(new, level)
        best[moving] = _nearer(rows[moving], best[moving], new, score >= 0.0, region)
        further = region.size(new - now) > TOLERANCE
        moving, score = moving[further], score[further]
        if not len(moving):
            break
    # the last x can be a little outside
    return _nearer(rows, best, _on_line(best, x, is_normal), True, region)


def _nearer(
    z: np.ndarray, best: np.ndarray, x: np.ndarray, normal: np.ndarray | bool, region: Region
) -> np.ndarray:
    """Return x where it is normal and the smaller change of z, and ``best`` elsewhere."""
    smaller = normal & (region.size(x - z) < region.size(best - z))
    return np.where(smaller[:, None], x, best)


def _on_line(
    start: np.ndarray, end: np.ndarray, inside: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the last rows that bisection finds inside on the lines from rows inside."""
    low, high = np.zeros((len(start), 1)), np.ones((len(start), 1))

    def row(share: np.ndarray) -> np.ndarray:
        return np.where(share < 1.0, start + share * (end - start), end)

    middle = high  # the end itself can be inside
    for _ in range(HALVINGS):
        is_inside = inside(row(middle))[:, None]
        low, high = np.where(is_inside, middle, low), np.where(is_inside, high, middle)
        middle = (low + high) / 2.0
    return row(low)


def _mean_score(center: Center) -> Callable[[np.ndarray], np.ndarray]:
    """Return the score by the mean weights, for which the columns of points are made once."""
    mean, gram = center.with_weights(center.weights.mean(axis=0, keepdims=True)), center.gram
    outer = gram.kernel
    if not isinstance(outer, Wrapper):
        return mean.scores
    gram = replace(gram, kernel=as_kernel(outer.kernel), points=outer.columns(gram.points))
    inner = replace(mean, gram=gram)
    return lambda rows: inner.scores(outer.columns(rows))


def _by_slsqp(
    mean: Callable[[np.ndarray], np.ndarray],
    z: np.ndarray,
    x: np.ndarray,
    least: float,
    region: Region,
) -> np.ndarray:
    """Return the row with a score of ``least`` next to z, by SLSQP from x; x where it fails."""
    low, high = (region.low - z) / region.sd, (region.high - z) / region.sd
    steps = 1e-5 * np.concatenate([np.eye(len(z)), -np.eye(len(z))])

    def scores(changes: np.ndarray) -> np.ndarray:
        return mean(z + region.sd * changes)

    def slope(change: np.ndarray) -> np.ndarray:
        above, below = np.split(scores(change + steps), 2)
        return (above - below) / 2e-5

    found = minimize(
        lambda change: 0.5 * change @ change,
        np.clip((x - z) / region.sd, low, high),
        jac=lambda change: change,
        bounds=np.column_stack([low, high]),
        constraints={"type": "ineq", "fun": lambda c: scores(c[None])[0] - least, "jac": slope},
        method="SLSQP",
        options={"maxiter": 50, "ftol": 1e-4},
    ).x
    return region.within(z + region.sd * found) if np.isfinite(found).all() else x
