r"""The boundary in each draw: what is inside, what is outside, and what the sample has not shown.

A row z is normal if inside >= outside, and its score is log(inside / outside):

.. math:: \mathrm{inside} = p + g u r_z + \theta_-, \qquad \mathrm{outside} = q + \theta_+, \qquad
    \theta = \theta_+ - \theta_-

:math:`g \sim \mathrm{Gamma}(1/2)` is the weight of a row beside z that the sample has not shown,
and theta is the cutoff of :math:`p_j - q_j + g_j u r_j` over left-out rows j, under
weights of units :math:`t_u \cdot \mathrm{Exp}(1)`.
:math:`u = \mathrm{mean}_j [\sum_i k_{ij}^2 / \sum_i k_{ij}]\, t / n_0` over left-out
rows j near the cutoff, and :math:`r_z = \min(1, m_z / m_*)` with
:math:`m_z` the largest k of z with a majority row, and :math:`m_*` a low one of those j.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

from ..models.data import Data
from ..models.points import Rows
from ..models.scale import TINY, ZERO, log, signed, split
from ..models.units import Units
from .centre import Parts
from .cutoffs import Rule

NEAR_RATES = (0.3, 3.3)
LOW = 0.05
MOST_VALUES = 2**22
TIE = 1e-9  # of scores, which are logarithms


def median(values: np.ndarray) -> np.ndarray:
    """Return the lower median over draws, (S, rows) -> (rows,)."""
    half = (len(values) - 1) // 2
    return np.partition(values, half, axis=0)[
        half
    ].copy()  # a view would keep all values


def log_gamma(rng: np.random.Generator, shape: int | tuple[int, ...]) -> np.ndarray:
    """Return log g, g ~ Gamma(1/2)."""
    return np.asarray(np.log(rng.standard_normal(shape) ** 2 / 2.0))


@dataclass(frozen=True)
class Unseen:
    """log u and log m_*; by default nothing is unseen."""

    log_u: float = -np.inf
    log_near: float = 0.0

    @classmethod
    def of(cls, close: Rows, mass: np.ndarray, weight: float) -> Self:
        """Return it from left-out rows near the cutoff, their mass (c,), and t / n0."""
        u = mass @ (close.squares / np.maximum(close.sums, TINY)) / mass.sum() * weight
        order = np.argsort(close.nearest)
        place = np.cumsum(mass[order]) - mass[order] / 2.0
        near = np.interp(LOW * mass.sum(), place, close.nearest[order])
        return cls(float(log(u)), float(near))

    def log_added(self, nearest: np.ndarray) -> np.ndarray:
        """Return log(u r_z), (rows,)."""
        return self.log_u + np.minimum(nearest - self.log_near, 0.0)


@dataclass(frozen=True, eq=False)
class Boundary:
    """t(theta) and log g of each draw, (S,) each, and what is unseen."""

    threshold: np.ndarray
    log_g: np.ndarray
    unseen: Unseen

    @classmethod
    def drawn(
        cls, rule: Rule, middle: np.ndarray, data: Data, unseen: Unseen, draws: int
    ) -> Self:
        """Return the boundary from medians t (n,) of left-out rows.

        Units are drawn by the Bayesian bootstrap. The seed is always the same, and what
        is drawn for a unit depends on the rank of its rows.
        """
        units = data.units
        i = np.flatnonzero(data.units.weight)
        nearest = data.rows.nearest[data.row[i]]
        order = np.lexsort((units.rank[i], units.minority[i], nearest, middle[i]))
        nearest = nearest[order]
        order = i[order]
        unit = pd.factorize(units.unit[order])[0]
        minority = units.minority[order]
        rng = np.random.default_rng(0)
        c = len(order)
        found = []
        log_g = log_gamma(rng, draws)
        added = unseen.log_added(nearest)
        log_p, log_q = split(middle[order])
        step = max(1, MOST_VALUES // c)
        for start in range(0, draws, step):
            size = min(step, draws - start)
            drawn = rng.standard_exponential((size, unit.max() + 1))
            weight = units.mass[order] * drawn[:, unit]
            values = signed(
                np.logaddexp(log_p, log_gamma(rng, (size, c)) + added), log_q
            )
            found.append(
                above_zero(rule(values, weight, minority), values[:, ~minority])
            )
        return cls(np.concatenate(found), log_g, unseen)

    @classmethod
    def printed(cls, D: float, offset: np.ndarray) -> Self:
        """Return d_z <= D in each draw, d_z^2 = 2 (offset - p + q)."""
        return cls(
            signed(log(offset), log(D**2 / 2.0)), np.zeros(len(offset)), Unseen()
        )

    def margins(self, parts: Parts) -> np.ndarray:
        """Return log(inside / outside), (S, rows)."""
        above, below = (part[:, None] for part in split(self.threshold))
        added = self.unseen.log_added(parts.nearest)
        most = np.maximum(parts.L, added)
        unseen = np.exp(self.log_g)[:, None] * np.exp(added - most)
        inside = log(parts.p * np.exp(parts.L - most) + unseen)
        inside += most
        if np.isfinite(below).any():
            inside = np.logaddexp(inside, below)
        outside = np.broadcast_to(above, inside.shape).copy()
        np.logaddexp(
            parts.log_q, above, out=outside, where=parts.q > 0.0
        )  # q is mostly 0
        outside[np.isneginf(outside)] = -ZERO  # a cutoff beyond all distances
        inside -= outside
        inside[np.abs(inside) <= TIE] = 0.0  # at the cutoff, but for rounding
        return inside


def above_zero(threshold: np.ndarray, of_majority: np.ndarray) -> np.ndarray:
    """Return thresholds t (S,), and in place of one below 0 the smallest value above it.

    A row that is like none, p = q = 0, is not normal. Distances, p = 0 in all rows,
    stay.
    """
    lowest = np.where(of_majority > 0.0, of_majority, np.inf).min(axis=1)
    return np.where((threshold > 0.0) | np.isinf(lowest), threshold, lowest)


def near(rule: Rule, middle: np.ndarray, units: Units) -> np.ndarray:
    """Return the majority rows whose rank, in units, is from .3 to 3.3 times that of the cutoff."""
    i = units.majority
    counted = units.weight > 0.0
    order = i[np.argsort(middle[i], kind="stable")]
    mass = units.mass[order]
    end = np.cumsum(mass)
    fixed = rule(
        middle[None, counted], units.mass[None, counted], units.minority[counted]
    )[0]
    rank = max(float(np.interp(fixed, middle[order], end - mass / 2.0)), 1.0)
    first = int(np.searchsorted(end, NEAR_RATES[0] * rank, side="right"))
    last = int(np.searchsorted(end - mass, NEAR_RATES[1] * rank, side="right"))
    return order[first : max(last, first + 3)]
