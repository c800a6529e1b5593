"""Scoring rules: a weighted sum in kernel space gives one value for each draw and row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import override

import numpy as np

from ..models.geometry import squared_distance, squared_norm
from ..models.gram import Gram
from .decision import distance_quantile, probability_normal

BLOCK_VALUES = 4_000_000  # most values in memory at once: 32 MB
BLOCK_ROWS = 512  # most rows at once: more do not make the products faster


@dataclass(frozen=True, eq=False)
class ScoringRule:
    r"""Draws of :math:`a = \sum_j w_j \varphi(u_j)`; they give the values to compare with a cutoff.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    gram : Gram
        With the dictionary u_1..u_M.
    support : ndarray of int
        The points that the values use; by default those with a nonzero weight in some draw.
    """

    weights: np.ndarray
    gram: Gram
    support: np.ndarray

    @cached_property
    def _supported(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights (draws, support) and the points of the support."""
        if len(self.support) == self.gram.n_points:
            return self.weights, self.gram.points
        return np.ascontiguousarray(self.weights[:, self.support]), self.gram.points[self.support]

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return the values of all draws, shape (draws, rows); larger is more abnormal."""
        out = np.empty((len(rows), len(self.weights)))
        for block in self._blocks(len(rows)):
            self._value(self._raw(rows[block], out[block]))
        return out.T

    def probability_normal(self, rows: np.ndarray, cutoff: float) -> np.ndarray:
        """Return the share of draws with a value of at most ``cutoff``, shape (rows,)."""
        out, cutoff = np.empty(len(rows)), self._raw_cutoff(cutoff)
        for block in self._blocks(len(rows)):
            out[block] = probability_normal(self._raw(rows[block]).T, cutoff)
        return out

    def distance_quantile(self, rows: np.ndarray, level: float) -> np.ndarray:
        """Return the distance quantile of each row, see :mod:`.decision`, shape (rows,)."""
        out = np.empty(len(rows))
        for block in self._blocks(len(rows)):
            out[block] = distance_quantile(self._raw(rows[block]).T, level, overwrite=True)
        return self._value(out)

    def decision(
        self, rows: np.ndarray, cutoff: float, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`distance_quantile` and :meth:`probability_normal` from one pass."""
        distance, probability = np.empty((2, len(rows)))
        cutoff = self._raw_cutoff(cutoff)
        for block in self._blocks(len(rows)):
            raw = self._raw(rows[block]).T
            probability[block] = probability_normal(raw, cutoff)
            distance[block] = distance_quantile(raw, level, overwrite=True)
        return self._value(distance), probability

    def _blocks(self, n: int) -> Iterator[slice]:
        """Yield slices of rows, so few that their draws x rows values fit in memory."""
        step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(self.weights.shape)))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return (rows, draws) numbers that are cheaper than the values and in the same order."""
        raise NotImplementedError

    def _value(self, raw: np.ndarray) -> np.ndarray:
        """Turn raw numbers into values, in place."""
        raise NotImplementedError

    def _raw_cutoff(self, cutoff: float) -> float:
        """Return the largest raw number whose value is at most ``cutoff``."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class CenterDraws(ScoringRule):
    """Draws of the centre a of a description; the value of a row is its distance d_z.

    Attributes
    ----------
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    """

    squared_norm: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, gram: Gram, norm: np.ndarray | None = None) -> CenterDraws:
        """Return the centre of ``weights``; ``norm`` is its squared norm, if known."""
        norm = squared_norm(weights, gram.K) if norm is None else norm
        return cls(weights, gram, supported(weights), norm)

    def restricted(self, support: np.ndarray) -> CenterDraws:
        """Return the centre of the points ``support`` only; all other weights become 0."""
        norm = squared_norm(self.weights[:, support], self.gram.K[np.ix_(support, support)])
        return replace(self, support=support, squared_norm=norm)

    def negligible(self, tolerance: float) -> tuple[np.ndarray, float]:
        r"""Return the points that can be dropped, and a bound on the move of the centre.

        .. math:: \max_{\text{draws}} \sum_{j \text{ dropped}} |w_j| \sqrt{k_{jj}}
            \le \text{tolerance}

        Points are dropped in the order of their mean :math:`|w_j| \sqrt{k_{jj}}` over the draws,
        as many as the tolerance allows. For a single draw, no other choice drops more points.
        """
        length = np.abs(self.weights) * np.sqrt(np.diag(self.gram.K))
        order = np.argsort(length.mean(axis=0), kind="stable")
        bound = np.cumsum(length[:, order], axis=1).max(axis=0)
        dropped = min(int((bound <= tolerance).sum()), len(order) - 1)  # at least one point stays
        return order[:dropped], float(bound[dropped - 1]) if dropped else 0.0

    @override
    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        weights, points = self._supported
        k_zu = self.gram.kernel(rows, points)
        return squared_distance(weights, self.squared_norm, k_zu, self.gram.kernel.diag(rows), out)

    @override
    def _value(self, raw: np.ndarray) -> np.ndarray:
        return np.sqrt(raw, out=raw)

    @override
    def _raw_cutoff(self, cutoff: float) -> float:
        return largest_square(cutoff)


@dataclass(frozen=True, eq=False)
class Hyperplane(ScoringRule):
    r"""A separating hyperplane; the value of a row is :math:`-f(z)`.

    .. math:: f(z) = \sum_j w_j k(u_j, z) + b, \qquad f > 0 \text{ on the majority's side}

    Attributes
    ----------
    offset : ndarray of shape (draws,)
        b.
    """

    offset: np.ndarray

    @override
    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        weights, points = self._supported
        raw = np.matmul(self.gram.kernel(rows, points), weights.T, out=out)
        np.negative(raw, out=raw)
        raw -= self.offset
        return raw

    @override
    def _value(self, raw: np.ndarray) -> np.ndarray:
        return raw

    @override
    def _raw_cutoff(self, cutoff: float) -> float:
        return cutoff


def supported(weights: np.ndarray) -> np.ndarray:
    """Return the points with a nonzero weight in some draw, (draws, M) -> (support,)."""
    return np.flatnonzero(weights.any(axis=0))


def largest_square(x: float) -> float:
    """Return the largest number whose root, as computed, is at most x."""
    if x < 0.0:
        return -math.inf
    square = x * x
    while math.sqrt(square) > x:
        square = math.nextafter(square, -math.inf)
    while math.sqrt(above := math.nextafter(square, math.inf)) <= x:
        square = above
    return square
