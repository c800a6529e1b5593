r"""The boundary in each draw: the cutoff, and what the sample has not shown.

A row z is normal if inside >= outside, and its score is log(inside / outside):

.. math:: \mathrm{inside} = p + g u r_z + \theta_-, \qquad
    \mathrm{outside} = q + \theta_+, \qquad \theta = \theta_+ - \theta_-

g u is what a group beside z adds that the sample has not shown. Its weight is
:math:`g \sim \mathrm{Exp}(1)`, as that of each group in a Bayesian bootstrap, and u is
drawn from :math:`u_j = \sum_b k_{jb}^2 / \sum_b k_{jb}\; t / n_0` of left-out rows j
near the cutoff, with :math:`k_{jb}` the sum of k over the rows of group b, and t the
weight of the majority. :math:`r_z = \min(1, m_z / m_*)`, with :math:`m_z` the largest k
of z with a majority row, and :math:`m_*` a low quantile of :math:`m_j` near the cutoff.
:math:`\theta` is the cutoff of :math:`p_j - q_j + g_j u_j r_j` over left-out rows j,
under weights of groups :math:`t_b \cdot \mathrm{Exp}(1)`.

The spread of the score comes from :math:`\nu = \mathrm{median}_j [(\sum_b k_{jb})^2 /
\sum_b k_{jb}^2]` groups in effect near the cutoff. So its distance from its median is
multiplied by :math:`\sqrt{\nu / \chi^2_\nu}` in each draw, as in Student's t. The
median, and with it each decision, stays.

A model without a posterior, as SVDD, has one p. It is multiplied by
:math:`\mathrm{Gamma}(1/v)\, v`. Here :math:`v = u / p - 1 / n` is the relative variance
of p in a Bayesian bootstrap of n groups, of which p / u add the mean u of :math:`u_j`
each. The cube of a normal variable is nearly such a Gamma variable (Wilson and Hilferty
1931).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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
UNSEEN_DRAWS = 2**13  # of what was not seen, from which draws are taken
SCORE_TIE = 1e-9  # of scores, which are logarithms


def lower_median(values: np.ndarray) -> np.ndarray:
    """Return the lower median over draws, (S, rows) -> (rows,)."""
    half = (len(values) - 1) // 2
    # a view would keep all values
    return np.partition(values, half, axis=0)[half].copy()


@dataclass(frozen=True, eq=False)
class Boundary:
    """The cutoff in each draw, and what the sample has not shown.

    Attributes
    ----------
    threshold, log_unseen : ndarray of shape (S,)
        t(theta) and log(g u) of each draw.
    log_near : float, default=0
        log m_*.
    spread : ndarray of shape (S,), optional
        The factor of the distance from the median in each draw; by default 1.
    centre : ndarray of shape (S,), optional
        Standard normal draws for p; by default p stays.
    log_u, share : float, optional
        Log of the mean u, and 1 / n, for them.
    """

    threshold: np.ndarray
    log_unseen: np.ndarray
    log_near: float = 0.0
    spread: np.ndarray | None = None
    centre: np.ndarray | None = None
    log_u: float = -ZERO
    share: float = 0.0

    @classmethod
    def drawn(cls, cutoff: Cutoff, middle: np.ndarray, draws: Draws) -> Self:
        """Return the boundary from the medians t (n,) of left-out rows.

        The Bayesian bootstrap draws weights of groups. The seed is always the same, and
        the weights of a group depend on the rank of its rows.
        """
        dictionary = draws.dictionary
        rows = dictionary.rows
        n = draws.n_boundary
        rng = np.random.default_rng(0)
        found = cls(np.empty(0), np.full(n, -ZERO))
        log_gu = found.log_unseen[:1]
        if dictionary.kernel.normalized:
            near = near_rank(cutoff, middle, rows)
            log_gu, log_near, groups = estimated_unseen(draws, near, rng)
            unseen = rng.choice(log_gu, n)
            spread = np.sqrt(groups / rng.chisquare(groups, n))
            found = cls(found.threshold, unseen, log_near, spread)
            if not draws.sampler:
                found = found._of_estimate(log_gu, draws, rng)
        i = np.flatnonzero(rows.weight)
        nearest = dictionary.left_out_problems.nearest[rows.problems[1][i]]
        order = np.lexsort((rows.rank[i], rows.minority[i], nearest, middle[i]))
        nearest = nearest[order]
        order = i[order]
        group, _ = pd.factorize(rows.group[order])
        minority = rows.minority[order]
        c = len(order)
        fading = found.fading(nearest)
        log_p, log_q = signed_parts(middle[order])
        step = max(1, MOST_VALUES // c)
        thresholds = []
        for start in range(0, n, step):
            size = min(step, n - start)
            drawn = rng.standard_exponential((size, group.max() + 1))
            weight = rows.mass[order] * drawn[:, group]
            values = np.logaddexp(log_p, rng.choice(log_gu, (size, c)) + fading)
            values = signed(values, log_q)
            chosen = cutoff(values, weight, minority)
            thresholds.append(above_zero(chosen, values[:, ~minority]))
        return replace(found, threshold=np.concatenate(thresholds))

    def _of_estimate(
        self, log_gu: np.ndarray, draws: Draws, rng: np.random.Generator
    ) -> Self:
        """Return the boundary of one estimate of the centre, whose error it draws."""
        return replace(
            self,
            centre=rng.standard_normal(draws.n_boundary),
            log_u=float(log(np.exp(log_gu).mean())),
            share=1.0 / draws.dictionary.rows.effective_groups,
        )

    @classmethod
    def printed(cls, D: float, offset: np.ndarray) -> Self:
        """Return d_z <= D in each draw, d_z^2 = 2 (offset - p + q)."""
        nothing = np.full(len(offset), -ZERO)
        return cls(signed(log(offset), log(D**2 / 2.0)), nothing)

    def fading(self, nearest: np.ndarray) -> np.ndarray:
        """Return log r_z, (rows,)."""
        return np.minimum(nearest - self.log_near, 0.0)

    def bootstrapped(self, parts: Parts) -> np.ndarray:
        """Return p of rows in each draw, (S, rows) or (1, rows), divided by e^L."""
        if self.centre is None:
            return parts.p
        of_u = np.exp(np.minimum(self.log_u - parts.log_p, 0.0))
        v = np.maximum(of_u - self.share, 0.0)
        root = 1.0 - v / 9.0 + self.centre[:, None] * np.sqrt(v) / 3.0
        return np.asarray(parts.p * np.maximum(root, 0.0) ** 3)

    def margins(self, parts: Parts) -> np.ndarray:
        """Return log(inside / outside), (S, rows)."""
        above, below = (part[:, None] for part in signed_parts(self.threshold))
        largest = self.log_unseen.max()
        added = largest + self.fading(parts.nearest)
        most = np.maximum(parts.L, added)
        unseen = np.exp(self.log_unseen - largest)
        # the draws of a row lie side by side in memory, as those of p
        inside = (np.atleast_2d(np.exp(added - most)).T * unseen).T
        inside += self.bootstrapped(parts) * np.exp(parts.L - most)
        inside = log(inside)
        inside += most
        if np.isfinite(below).any():
            inside = np.logaddexp(inside, below)
        outside = above
        some = parts.q > 0.0  # q is mostly 0
        if some.any():
            outside = np.broadcast_to(above, inside.shape).copy()
            np.logaddexp(parts.log_q, above, out=outside, where=some)
        # a cutoff beyond all distances
        inside -= np.where(np.isneginf(outside), -ZERO, outside)
        if self.spread is not None:
            middle = lower_median(inside)
            inside -= middle
            inside *= self.spread[:, None]
            inside += middle
        # at the cutoff, but for rounding
        np.copyto(inside, 0.0, where=np.abs(inside) <= SCORE_TIE)
        return inside

    def widened(self, parts: Parts) -> np.ndarray:
        """Return margins (S, rows) that count how uncertain rows are.

        Each draw changes as the margin of a move of the row does at the middle
        boundary. The median, and with it each decision, stays.
        """
        inside = self.margins(parts)
        if parts.moved is None:
            return inside
        one = Boundary(
            lower_median(self.threshold[:, None]),
            lower_median(self.log_unseen[:, None]),
            self.log_near,
        )
        change = one.margins(parts.moved())
        change -= lower_median(change)
        some = np.flatnonzero((np.abs(change) > SCORE_TIE).any(axis=0))
        middle = lower_median(inside)[some]
        wide = inside[:, some] - middle
        wide += change[np.arange(len(inside)) % len(change)][:, some]
        inside[:, some] = wide - lower_median(wide) + middle
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


def estimated_unseen(
    draws: Draws, near: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, float, float]:
    """Return draws of log(g u), log m_* and nu, from left-out rows near the cutoff."""
    dictionary = draws.dictionary
    mass = dictionary.rows.mass[near]
    weight = float(np.median(draws.total)) / dictionary.n0
    sums, squares = dictionary.sums_by_group(near)
    u = squares / np.maximum(sums, TINY) * weight
    g = rng.standard_exponential(UNSEEN_DRAWS)
    log_gu = log(g * rng.choice(u, UNSEEN_DRAWS, p=mass / mass.sum()))
    groups = max(float(np.median(sums**2 / np.maximum(squares, TINY))), 1.0)
    nearest = dictionary.at_problems(near).nearest
    order = np.argsort(nearest)
    place = midranks(mass[order])
    log_near = np.interp(LOW_NEAREST * mass.sum(), place, nearest[order])
    return log_gu, float(log_near), groups
