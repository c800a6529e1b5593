r"""The smallest change of an abnormal row that makes it normal, within the range of normal rows.

.. math:: \min_x \sum_f \left(\frac{x_f - z_f}{\sigma_f}\right)^2 \quad \text{so that x is normal,}
    \quad \text{low}_f \le x_f \le \text{high}_f

with the standard deviations and the range of the majority training rows. The search starts at the
last normal row on the way from a near normal training row to z, so there always is a solution. Each
step takes the score of the mean weights, shifted so that it agrees with the posterior at the
present x:

- **RBF with weights of at least 0.** The gradient of the surprise is
  :math:`2 \gamma_f (x_f - m_f)`, with :math:`m = \sum_j q_j u_j` the mean shift of x (Fukunaga and
  Hostetler 1975). So the solution lies on the curve of its own m,

  .. math:: x_f(\mu) = \frac{z_f + \mu \gamma_f \sigma_f^2 m_f}{1 + \mu \gamma_f \sigma_f^2},

  cut at the range. The next x is the last normal row on the curve of the present m.
- **Other kernels, signed weights.** SLSQP finds the next x (Kraft 1988). The gradient is by
  central differences.

The result is a local minimum for the mean weights. It is normal by the posterior.

**References**

Fukunaga, K. and Hostetler, L. (1975). The estimation of the gradient of a density function. IEEE
Transactions on Information Theory 21, 32-40. doi:10.1109/TIT.1975.1055330

Kraft, D. (1988). A software package for sequential quadratic programming. DFVLR-FB 88-28.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from scipy.special import softmax

from ...inference import threads
from ...inference.center import Center
from .terms import has_surprise, largest

STARTS = 3  # normal rows from which the search may start
STEPS, STEPS_SLSQP = 12, 2  # most steps of a search
HALVINGS = 14  # of a line or curve
TOLERANCE = 1e-3  # a step that changes less, in standard deviations, is the last
RANGE = 20.0  # largest absolute logarithm of mu
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


def smallest_change(
    center: Center, rows: np.ndarray, level: float, region: Region
) -> np.ndarray:
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
    mean = center.with_weights(center.weights.mean(axis=0, keepdims=True))
    rates = center.gram.kernel.gaussian_rates(rows.shape[1]) if has_surprise(center) else None
    distance = cdist(rows / region.sd, region.normal_rows / region.sd)
    nearest = largest(-distance, min(STARTS, distance.shape[1])).T
    z = np.tile(rows, (len(nearest), 1))

    def smallest(x: np.ndarray) -> np.ndarray:
        """Return for each row the x of the start with the smallest change."""
        of_row = region.size(x - z).reshape(-1, len(rows)).argmin(axis=0)
        return x.reshape(-1, *rows.shape)[of_row, np.arange(len(rows))]

    def is_normal(x: np.ndarray) -> np.ndarray:
        return center.is_normal(x, level)

    best = _on_line(region.normal_rows[nearest.ravel()], region.within(z), is_normal)
    if rates is None:  # a start costs much more
        z, best = rows, smallest(best)
    x, moving = best.copy(), np.arange(len(z))
    score = center.scores(x, level)
    for _ in range(STEPS_SLSQP if rates is None else STEPS):
        now = x[moving]
        least = mean.scores(now) - score
        if rates is None:
            new = _by_slsqp(mean, z[moving], now, least, region)
        else:
            new = _by_mean_shift(mean, rates, z[moving], now, least, region)
        x[moving], score = new, center.scores(new, level)
        best[moving] = _nearer(z[moving], best[moving], new, score >= 0.0, region)
        further = region.size(new - now) > TOLERANCE
        moving, score = moving[further], score[further]
        if not len(moving):
            break
    # the last x can be a little outside
    return smallest(_nearer(z, best, _on_line(best, x, is_normal), True, region))


def _nearer(
    z: np.ndarray, best: np.ndarray, x: np.ndarray, normal: np.ndarray | bool, region: Region
) -> np.ndarray:
    """Return x where it is normal and the smaller change of z, and ``best`` elsewhere."""
    smaller = normal & (region.size(x - z) < region.size(best - z))
    return np.where(smaller[:, None], x, best)


def _on_line(
    start: np.ndarray, end: np.ndarray, inside: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Return the last rows that bisection finds inside on the lines between rows."""

    def line(share: np.ndarray) -> np.ndarray:
        return np.where(share < 1.0, start + share * (end - start), end)

    return _last(line, inside, np.zeros(len(start)), np.ones(len(start)))


def _last(
    curve: Callable[[np.ndarray], np.ndarray],
    inside: Callable[[np.ndarray], np.ndarray],
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Return the last rows that bisection finds inside on curves, from ``low`` to ``high``.

    ``curve`` takes a number for each row, of shape (rows, 1). Its row at ``low`` is inside.
    """
    middle = high  # the end itself can be inside
    for _ in range(HALVINGS):
        is_inside = inside(curve(middle[:, None]))
        low, high = np.where(is_inside, middle, low), np.where(is_inside, high, middle)
        middle = (low + high) / 2.0
    return curve(low[:, None])


def _by_mean_shift(
    mean: Center,
    rates: np.ndarray,
    rows: np.ndarray,
    x: np.ndarray,
    least: np.ndarray,
    region: Region,
) -> np.ndarray:
    """Return the last rows with a score of ``least`` on the curves from the mean shift of x."""
    weights, points = mean.supported_points
    with np.errstate(divide="ignore"):
        log_q = mean.gram.kernel.log(x, points) + np.log(weights[0])
    shifted = softmax(log_q, axis=1) @ points
    stiffness = rates * region.sd**2

    def curve(minus_log_mu: np.ndarray) -> np.ndarray:
        pull = np.exp(-minus_log_mu) * stiffness
        return region.within((rows + pull * shifted) / (1.0 + pull))

    ends = np.full(len(rows), RANGE)
    return _last(curve, lambda x: mean.scores(x) >= least, -ends, ends)


def _by_slsqp(
    mean: Center, rows: np.ndarray, x: np.ndarray, least: np.ndarray, region: Region
) -> np.ndarray:
    """Return the rows with a score of ``least`` next to ``rows``, by SLSQP; x where it fails."""
    result = x.copy()
    steps = 1e-5 * np.concatenate([np.eye(rows.shape[1]), -np.eye(rows.shape[1])])
    for i, z in enumerate(rows):
        low, high = (region.low - z) / region.sd, (region.high - z) / region.sd

        def scores(changes: np.ndarray, z: np.ndarray = z) -> np.ndarray:
            return mean.scores(z + region.sd * changes)

        def gradient(change: np.ndarray, scores: Callable = scores) -> np.ndarray:
            above, below = np.split(scores(change + steps), 2)
            slope: np.ndarray = (above - below) / 2e-5
            return slope

        found = minimize(
            lambda change: 0.5 * change @ change,
            np.clip((x[i] - z) / region.sd, low, high),
            jac=lambda change: change,
            bounds=np.column_stack([low, high]),
            constraints={
                "type": "ineq",
                "fun": lambda change, i=i, scores=scores: scores(change[None])[0] - least[i],
                "jac": gradient,
            },
            method="SLSQP",
            options={"maxiter": 50, "ftol": 1e-10},
        ).x
        if np.isfinite(found).all():
            result[i] = region.within(z + region.sd * found)
    return result
