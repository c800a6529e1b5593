r"""The boundary in each draw: the cutoff, and what the sample has not shown.

A row z is normal if inside >= outside, and its score is log(inside / outside):

.. math:: \mathrm{inside} = p + g u r_z + \theta_-, \qquad
    \mathrm{outside} = q + \theta_+, \qquad \theta = \theta_+ - \theta_-

:math:`g \sim \mathrm{Gamma}(1/2)` is the weight of a row beside z that the sample has
not shown. :math:`\theta` is the cutoff of :math:`p_j - q_j + g_j u r_j` over left-out
rows j, under weights of groups :math:`t_b \cdot \mathrm{Exp}(1)`.
:math:`u = \mathrm{mean}_j [\sum_i k_{ij}^2 / \sum_i k_{ij}]\, t / n_0` is a mean over
left-out rows j near the cutoff, with t the weight of the majority.
:math:`r_z = \min(1, m_z / m_*)`, with :math:`m_z` the largest k of z with a majority
row, and :math:`m_*` a low quantile of :math:`m_j` near the cutoff.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from ..models.rows import Rows, midranks
from ..models.signed import TINY, ZERO, log, signed, signed_parts
from .cutoffs import Cutoff
from .draws import Draws, Parts

NEAR_RATES = (0.3, 3.3)  # ranks near the cutoff, relative to its own
LOW_NEAREST = 0.05  # share of the rows near the cutoff that are farther than m_*
MOST_VALUES = 2**22  # at once
SCORE_TIE = 1e-9  # of scores, which are logarithms


def lower_median(values: np.ndarray) -> np.ndarray:
    """Return the lower median over draws, (S, rows) -> (rows,)."""
    half = (len(values) - 1) // 2
    # a view would keep all values
    return np.partition(values, half, axis=0)[half].copy()


def log_gamma(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return log g, g ~ Gamma(1/2)."""
    return np.asarray(np.log(rng.standard_normal(shape) ** 2 / 2.0))


@dataclass(frozen=True, eq=False)
class Boundary:
    """The cutoff in each draw, and what the sample has not shown.

    Attributes
    ----------
    threshold, log_g : ndarray of shape (S,)
        t(theta) and log g of each draw.
    log_u, log_near : float
        log u and log m_*; by default nothing is unseen.
    """

    threshold: np.ndarray
    log_g: np.ndarray
    log_u: float = -np.inf
    log_near: float = 0.0

    @classmethod
    def drawn(cls, cutoff: Cutoff, middle: np.ndarray, draws: Draws) -> Self:
        """Return the boundary from the medians t (n,) of left-out rows.

        The Bayesian bootstrap draws weights of groups. The seed is always the same, and
        the weights of a group depend on the rank of its rows.
        """
        dictionary = draws.dictionary
        rows = dictionary.rows
        unseen = (-np.inf, 0.0)
        if dictionary.kernel.normalized:
            unseen = estimated_unseen(draws, near_rank(cutoff, middle, rows))
        i = np.flatnonzero(rows.weight)
        nearest = dictionary.left_out_problems.nearest[rows.problems[1][i]]
        order = np.lexsort((rows.rank[i], rows.minority[i], nearest, middle[i]))
        nearest = nearest[order]
        order = i[order]
        group, _ = pd.factorize(rows.group[order])
        minority = rows.minority[order]
        c = len(order)
        n = draws.n_boundary
        rng = np.random.default_rng(0)
        found = cls(np.empty(0), log_gamma(rng, n), *unseen)
        added = found.log_unseen(nearest)
        log_p, log_q = signed_parts(middle[order])
        step = max(1, MOST_VALUES // c)
        thresholds = []
        for start in range(0, n, step):
            size = min(step, n - start)
            drawn = rng.standard_exponential((size, group.max() + 1))
            weight = rows.mass[order] * drawn[:, group]
            values = np.logaddexp(log_p, log_gamma(rng, (size, c)) + added)
            values = signed(values, log_q)
            chosen = cutoff(values, weight, minority)
            thresholds.append(above_zero(chosen, values[:, ~minority]))
        return cls(np.concatenate(thresholds), found.log_g, *unseen)

    @classmethod
    def printed(cls, D: float, offset: np.ndarray) -> Self:
        """Return d_z <= D in each draw, d_z^2 = 2 (offset - p + q)."""
        return cls(signed(log(offset), log(D**2 / 2.0)), np.zeros(len(offset)))

    def log_unseen(self, nearest: np.ndarray) -> np.ndarray:
        """Return log(u r_z), (rows,)."""
        return self.log_u + np.minimum(nearest - self.log_near, 0.0)

    def margins(self, parts: Parts) -> np.ndarray:
        """Return log(inside / outside), (S, rows)."""
        above, below = (part[:, None] for part in signed_parts(self.threshold))
        added = self.log_unseen(parts.nearest)
        most = np.maximum(parts.L, added)
        unseen = np.exp(self.log_g)[:, None] * np.exp(added - most)
        inside = log(parts.p * np.exp(parts.L - most) + unseen)
        inside += most
        if np.isfinite(below).any():
            inside = np.logaddexp(inside, below)
        outside = np.broadcast_to(above, inside.shape).copy()
        some = parts.q > 0.0  # q is mostly 0
        np.logaddexp(parts.log_q, above, out=outside, where=some)
        outside[np.isneginf(outside)] = -ZERO  # a cutoff beyond all distances
        inside -= outside
        inside[np.abs(inside) <= SCORE_TIE] = 0.0  # at the cutoff, but for rounding
        return inside


def above_zero(threshold: np.ndarray, of_majority: np.ndarray) -> np.ndarray:
    """Return thresholds t (S,); one below 0 becomes the smallest value above 0.

    So a row that is like no other, p = q = 0, is not normal. Thresholds of distances,
    p = 0 in all rows, stay as they are.
    """
    lowest = np.where(of_majority > 0.0, of_majority, np.inf).min(axis=1)
    return np.where((threshold > 0.0) | np.isinf(lowest), threshold, lowest)


def near_rank(cutoff: Cutoff, middle: np.ndarray, rows: Rows) -> np.ndarray:
    """Return majority rows of .3 to 3.3 times the cutoff's rank, counted in groups."""
    i = rows.majority
    counted = rows.weight > 0.0
    order = i[np.argsort(middle[i], kind="stable")]
    mass = rows.mass[order]
    end = np.cumsum(mass)
    values = middle[None, counted]
    fixed = cutoff(values, rows.mass[None, counted], rows.minority[counted])[0]
    rank = max(float(np.interp(fixed, middle[order], end - mass / 2.0)), 1.0)
    first = int(np.searchsorted(end, NEAR_RATES[0] * rank, side="right"))
    last = int(np.searchsorted(end - mass, NEAR_RATES[1] * rank, side="right"))
    return order[first : max(last, first + 3)]


def estimated_unseen(draws: Draws, near: np.ndarray) -> tuple[float, float]:
    """Return log u and log m_* from left-out rows near the cutoff."""
    dictionary = draws.dictionary
    rows = dictionary.at_problems(near)
    mass = dictionary.rows.mass[near]
    weight = float(np.median(draws.total)) / dictionary.n0
    u = mass @ (rows.squares / np.maximum(rows.sums, TINY)) / mass.sum() * weight
    order = np.argsort(rows.nearest)
    place = midranks(mass[order])
    log_near = np.interp(LOW_NEAREST * mass.sum(), place, rows.nearest[order])
    return float(log(u)), float(log_near)
