r"""The smallest change of an abnormal row that makes it normal, within the range of normal rows.

.. math:: \min_x \sum_f \left(\frac{x_f - z_f}{\sigma_f}\right)^2 \quad \text{so that x is normal,}
    \quad \text{low}_f \le x_f \le \text{high}_f

with the standard deviations and the range of the normal training rows. The search starts at the
normal training row next to z, so that there always is a solution.

**RBF with weights of at least 0.** For any q, the surprise is at most
:math:`\sum_f \gamma_f (x_f - m_f)^2` and a constant, with :math:`m = \sum_j q_j u_j` the mean
shift of x (Fukunaga and Hostetler 1975); it is equal at the x that q belongs to. So

.. math:: \sum_f \gamma_f (x_f - m_f)^2 \le C - S(x_t) + \sum_f \gamma_f (x_{tf} - m_f)^2

is an ellipsoid inside the normal region S(x) <= C, and it contains the current x_t. The next x is
the point of this ellipsoid and of the range that is next to z. The steps never leave the normal
region, and the change only becomes smaller (a majorize-minimize algorithm, Hunter and Lange 2004).

**Other kernels, signed weights.** SLSQP of scipy (Kraft 1988), with the gradient by central
differences, one call of the kernel for all columns.

Both find a local minimum for the mean weights; the result is moved until the posterior decides that
it is normal.

**References**

Fukunaga, K. and Hostetler, L. (1975). The estimation of the gradient of a density function. IEEE
Transactions on Information Theory 21, 32-40. doi:10.1109/TIT.1975.1055330

Hunter, D. R. and Lange, K. (2004). A tutorial on MM algorithms. The American Statistician 58,
30-37. doi:10.1198/0003130042836

Kraft, D. (1988). A software package for sequential quadratic programming. DFVLR-FB 88-28.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

from ...inference import threads
from ...inference.center import Center
from .terms import has_surprise, largest

STARTS, STARTS_LINE = 2, 3  # normal rows from which the search starts; the smallest change counts
STEPS = 200  # most steps of a search
ROUNDS, ROUNDS_SLSQP = 4, 2  # searches; the score of one corrects the constraint of the next
ROUGH, TOLERANCE = 1e-2, 1e-3  # a step that changes less, in standard deviations, is the last
INSIDE, TIGHT = 1e-3, 5e-3  # by how much a log score is to exceed that of the cutoff, and may
RANGE = 30.0  # largest absolute logarithm of a multiplier
HALVINGS_LINE = 14
BLOCK_VALUES = 250_000  # rows x points in memory at once, which fit in the cache


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
        sd = rows.std(axis=0)
        low, high = rows.min(axis=0), rows.max(axis=0)
        return cls(low, high, np.where(high > low, sd, 1.0), rows[normal])

    def within(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of the range next to rows (n, p)."""
        return np.clip(rows, self.low, self.high)

    def size(self, change: np.ndarray) -> np.ndarray:
        """Return the length of changes (n, p) in standard deviations, shape (n,)."""
        return np.sqrt(np.square(change / self.sd).sum(axis=1))


def smallest_change(
    center: Center, rows: np.ndarray, cutoff: float, level: float, region: Region
) -> np.ndarray:
    """Return the normal row next to each row, shape (rows, p); NaN if no normal row was found.

    Parameters
    ----------
    center : Center
    rows : ndarray of shape (rows, p)
        Abnormal rows.
    cutoff, level : float
        A row is normal if its score at this level is at least the cutoff.
    region : Region
    """
    if not len(rows) or not len(region.normal_rows):
        return np.full(rows.shape, math.nan)
    mean = center.with_weights(center.weights.mean(axis=0, keepdims=True))
    rates = center.gram.kernel.gaussian_rates(rows.shape[1]) if has_surprise(center) else None
    starts = min(STARTS_LINE if rates is None else STARTS, len(region.normal_rows))
    nearest = largest(-cdist(rows / region.sd, region.normal_rows / region.sd), starts).T
    z, x = np.tile(rows, (starts, 1)), region.normal_rows[nearest.ravel()]
    if rates is not None:
        score = np.minimum(cutoff, mean.scores(x, level))
        x = _by_ellipsoids(mean, rates, z, x, score, region, ROUGH)
    else:
        x = _along_line(center, x, region.within(z), cutoff, level)
    best = region.size(x - z).reshape(starts, -1).argmin(axis=0), np.arange(len(rows))
    x = x.reshape(starts, *rows.shape)[best]
    if rates is None:
        return _polished(center, mean, rows, x, cutoff, level, region)
    return _settled(
        center, mean, rates, rows, x, region.normal_rows[nearest[best]], cutoff, level, region
    )


def _settled(
    center: Center,
    mean: Center,
    rates: np.ndarray,
    rows: np.ndarray,
    x: np.ndarray,
    start: np.ndarray,
    cutoff: float,
    level: float,
    region: Region,
) -> np.ndarray:
    """Return rows that the posterior calls normal, from rough results ``x`` of normal ``start``."""
    best, open_ = start.copy(), np.arange(len(rows))
    score = center.scores(x, level)
    for _ in range(ROUNDS):
        # a score is that of a quantile over the draws; the search has that of the mean weights
        target = cutoff + INSIDE + mean.scores(x[open_], level) - score
        x[open_] = _by_ellipsoids(mean, rates, rows[open_], x[open_], target, region, TOLERANCE)
        score = center.scores(x[open_], level)
        excess = score - cutoff
        normal = np.where((excess >= 0.0)[:, None], x[open_], best[open_])
        best[open_] = _nearer(rows[open_], best[open_], normal, region)
        at_end = region.size(x[open_] - region.within(rows[open_])) < TOLERANCE
        further = (excess < 0.0) | ((excess > TIGHT) & ~at_end)
        open_, score = open_[further], score[further]
        if not len(open_):
            break
    # no result is worse than the last normal row on the line to it
    best[open_] = _along_line(center, best[open_], region.within(rows[open_]), cutoff, level)
    return best


def _polished(
    center: Center,
    mean: Center,
    rows: np.ndarray,
    normal: np.ndarray,
    cutoff: float,
    level: float,
    region: Region,
) -> np.ndarray:
    """Return rows that the posterior calls normal, by SLSQP from ``normal`` rows."""
    best, x, shift = normal, normal, np.zeros(len(rows))
    for _ in range(ROUNDS_SLSQP):
        x = _by_slsqp(mean, rows, x, cutoff + shift, region)
        # scores of the kernels differ in scale, so the end is sought along the line to it
        best = _nearer(rows, best, _along_line(center, best, x, cutoff, level), region)
        shift += cutoff - center.scores(x, level)
    return _along_line(center, best, region.within(rows), cutoff, level)


def _nearer(rows: np.ndarray, a: np.ndarray, b: np.ndarray, region: Region) -> np.ndarray:
    """Return for each row the one of a and b that is the smaller change."""
    return np.where((region.size(b - rows) < region.size(a - rows))[:, None], b, a)


def _along_line(
    center: Center, normal: np.ndarray, end: np.ndarray, cutoff: float, level: float
) -> np.ndarray:
    """Return the last normal rows that bisection finds on the lines from ``normal`` rows."""
    inside, outside = np.zeros(len(end)), np.ones(len(end))
    middle = outside  # the end itself can be normal
    for _ in range(HALVINGS_LINE if len(end) else 0):
        x = normal + middle[:, None] * (end - normal)
        is_normal = center.scores(x, level) >= cutoff
        inside, outside = np.where(is_normal, middle, inside), np.where(is_normal, outside, middle)
        middle = (inside + outside) / 2.0
    return np.where(inside[:, None] < 1.0, normal + inside[:, None] * (end - normal), end)


def _by_ellipsoids(
    mean: Center,
    rates: np.ndarray,
    rows: np.ndarray,
    x: np.ndarray,
    score: np.ndarray,
    region: Region,
    tolerance: float,
) -> np.ndarray:
    """Return the rows with at least ``score`` next to ``rows``, by projections on ellipsoids."""
    x, active = x.copy(), np.arange(len(rows))
    for _ in range(STEPS):
        now = x[active]
        surprise, shifted = _mean_shift(mean, now)
        radius = -score[active] - surprise + (rates * (now - shifted) ** 2).sum(axis=1)
        x[active] = _project(rows[active], shifted, rates, radius, region, tolerance)
        active = active[region.size(x[active] - now) > tolerance]
        if not len(active):
            break
    return x


def _mean_shift(mean: Center, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the surprise (n,) of rows under one draw, and sum_j q_j u_j (n, p)."""
    weights, points = mean.supported_points
    surprise, shifted = np.empty(len(x)), np.empty_like(x)
    with np.errstate(divide="ignore"):
        log_weights = np.log(weights[0])

    def of_block(block: slice) -> None:
        log_terms = mean.gram.kernel.log(x[block], points)
        log_terms += log_weights
        largest_term = log_terms.max(axis=1)
        log_terms -= largest_term[:, None]
        q = np.exp(log_terms, out=log_terms)
        total = q.sum(axis=1)
        surprise[block] = -(largest_term + np.log(total))
        shifted[block] = (q @ points) / total[:, None]

    step = max(1, BLOCK_VALUES // len(points))
    threads.each(of_block, len(x), step)
    return surprise, shifted


def _project(
    rows: np.ndarray,
    shifted: np.ndarray,
    rates: np.ndarray,
    radius: np.ndarray,
    region: Region,
    tolerance: float,
) -> np.ndarray:
    r"""Return the point of the range next to each row with sum of rates (x - shifted)^2 <= radius.

    With the multiplier :math:`\mu` it is the mean of row and centre with weights
    :math:`1 / \sigma_f^2` and :math:`\mu \gamma_f`, cut at the range; :math:`\log \mu` is known up
    to ``tolerance``, by bisection. A radius below 0 has the centre.
    """
    stiffness = rates * region.sd**2

    def at(log_mu: np.ndarray) -> np.ndarray:
        pull = np.exp(log_mu)[:, None] * stiffness
        return region.within((rows + pull * shifted) / (1.0 + pull))

    low, high = np.full(len(rows), -RANGE), np.full(len(rows), RANGE)
    for _ in range(math.ceil(math.log2(2.0 * RANGE / tolerance))):
        middle = (low + high) / 2.0
        outside = (rates * (at(middle) - shifted) ** 2).sum(axis=1) > radius
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    x = at(high)
    none = radius <= 0.0
    x[none] = region.within(shifted[none])
    return x


def _by_slsqp(
    mean: Center, rows: np.ndarray, x: np.ndarray, score: np.ndarray, region: Region
) -> np.ndarray:
    """Return the rows with at least ``score`` next to ``rows``, by SLSQP; ``x`` where it fails."""
    result = x.copy()
    steps = 1e-5 * np.eye(rows.shape[1])

    for i, z in enumerate(rows):
        low, high = (region.low - z) / region.sd, (region.high - z) / region.sd

        def excess(change: np.ndarray, z: np.ndarray = z, i: int = i) -> float:
            return float(mean.scores((z + region.sd * change)[None], 0.5)[0] - score[i])

        def gradient(change: np.ndarray, z: np.ndarray = z) -> np.ndarray:
            around = z + region.sd * (change + np.concatenate([steps, -steps]))
            above, below = np.split(mean.scores(around, 0.5), 2)
            slope: np.ndarray = (above - below) / 2e-5
            return slope

        found = minimize(
            lambda change: 0.5 * change @ change,
            np.clip((x[i] - z) / region.sd, low, high),
            jac=lambda change: change,
            bounds=np.column_stack([low, high]),
            constraints={"type": "ineq", "fun": excess, "jac": gradient},
            method="SLSQP",
            options={"maxiter": 50, "ftol": 1e-10},
        )
        if np.isfinite(found.x).all():
            result[i] = region.within(z + region.sd * found.x)
    return result
