"""Rules: draws of a weighted sum in kernel space, and one number for each draw and row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import override

import numpy as np

from ..models.geometry import squared_distance, squared_norm
from ..models.gram import Gram
from .decision import decisive_distance, probability_normal

NEARLY_ALL = 1e-4  # share of the weight left below which differences are mostly rounding
BLOCK_VALUES = 4_000_000  # values held at once, at most: 32 MB
BLOCK_ROWS = 512  # rows at once, at most: more make the products no faster


@dataclass(frozen=True, eq=False)
class Expansion:
    r"""Draws of :math:`a = \sum_j w_j \varphi(u_j)`, and what a cutoff is compared with.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    gram : Gram
        With the dictionary u_1..u_M.
    support : ndarray of int
        The points that enter a value, by default all with a weight that is not 0 in some draw.
    """

    weights: np.ndarray
    gram: Gram
    support: np.ndarray

    @cached_property
    def _supported(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (draws, support) and points of the support."""
        if len(self.support) == self.gram.n_points:
            return self.weights, self.gram.points
        return np.ascontiguousarray(self.weights[:, self.support]), self.gram.points[self.support]

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return all values at once, shape (draws, rows); larger is more abnormal."""
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

    def decisive(self, rows: np.ndarray, level: float) -> np.ndarray:
        """Return the decisive value of each row, see :mod:`.decision`, shape (rows,)."""
        out = np.empty(len(rows))
        for block in self._blocks(len(rows)):
            out[block] = decisive_distance(self._raw(rows[block]).T, level, overwrite=True)
        return self._value(out)

    def decided(
        self, rows: np.ndarray, cutoff: float, level: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`decisive` and :meth:`probability_normal` of each row, by one pass."""
        distance, probability = np.empty((2, len(rows)))
        cutoff = self._raw_cutoff(cutoff)
        for block in self._blocks(len(rows)):
            raw = self._raw(rows[block]).T
            probability[block] = probability_normal(raw, cutoff)
            distance[block] = decisive_distance(raw, level, overwrite=True)
        return self._value(distance), probability

    def _blocks(self, n: int) -> Iterator[slice]:
        """Yield which rows are taken at once: draws x rows are held for those only."""
        step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(self.weights.shape)))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return (rows, draws) numbers in the order of the values, quicker to have."""
        raise NotImplementedError

    def _value(self, raw: np.ndarray) -> np.ndarray:
        """Turn raw numbers into values, in place."""
        raise NotImplementedError

    def _raw_cutoff(self, cutoff: float) -> float:
        """Return the largest raw number whose value is at most ``cutoff``."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Center(Expansion):
    """Draws of the centre a of a description; the value of a row is its distance d_z.

    Attributes
    ----------
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    """

    squared_norm: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, gram: Gram, norm: np.ndarray | None = None) -> Center:
        """Return the centre of ``weights``, whose squared norm may be known already."""
        norm = squared_norm(weights, gram.K) if norm is None else norm
        return cls(weights, gram, supported(weights), norm)

    def restricted(self, support: np.ndarray) -> Center:
        """Return the centre of the weights of ``support`` only, all others taken as 0."""
        norm = squared_norm(self.weights[:, support], self.gram.K[np.ix_(support, support)])
        return replace(self, support=support, squared_norm=norm)

    def negligible(self, tolerance: float) -> tuple[np.ndarray, float]:
        r"""Return points that can go, and how far the centre moves without them, at most.

        .. math:: \max_{\text{draws}} \sum_{j \text{ dropped}} |w_j| \sqrt{k_{jj}}
            \le \text{tolerance}

        Points go in the order of their mean :math:`|w_j| \sqrt{k_{jj}}` over the draws, as many
        as the tolerance lets: for one draw no choice drops more.
        """
        length = np.abs(self.weights) * np.sqrt(np.diag(self.gram.K))
        order = np.argsort(length.mean(axis=0), kind="stable")
        bound = np.cumsum(length[:, order], axis=1).max(axis=0)
        dropped = min(int((bound <= tolerance).sum()), len(order) - 1)  # one point has to stay
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
class Hyperplane(Expansion):
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
    """Return the points with a weight that is not 0 in some draw, (draws, M) -> (support,)."""
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


def leave_one_out(
    weights: np.ndarray, K: np.ndarray, n1: int = 0, d: np.ndarray | None = None
) -> np.ndarray:
    r"""Return the distance of each dictionary point from the centre without that point.

    The weights sum to one, and those of the majority that are left are scaled so that they do
    so again. Without minority points that is

    .. math::
        a_{-j} = \frac{a - w_j \varphi_j}{1 - w_j}, \qquad
        \|\varphi_j - a_{-j}\| = \frac{d_j}{1 - w_j}.

    With them, :math:`a = A - B`, of the majority points with weights :math:`\alpha_0`, which sum
    to s, and of the minority points with weights :math:`\alpha_1`. A majority point leaves A
    only, whose other weights grow by c = s/(s - \alpha_{0j}); a minority point leaves B, and A
    shrinks by c = (s - \alpha_{1j})/s:

    .. math::
        \|\varphi_j - a_{-j}\|^2 = \|g \varphi_j - c A + B\|^2, \qquad
        g = 1 + c\,\alpha_{0j} \text{ or } 1 - \alpha_{1j}.

    Parameters
    ----------
    weights : ndarray of shape (draws, M)
        Of sum one; the last n1 of them are :math:`-\alpha_1`.
    K : ndarray of shape (M, M)
    n1 : int, default=0
    d : ndarray of shape (draws, M), optional
        The distances of the points, where they are known: without minority points nothing else
        is needed.

    Returns
    -------
    ndarray of shape (draws, M)
        Infinite for a point that holds all of the majority's weight: there is no centre
        without it.
    """
    m = weights.shape[1] - n1
    alpha0, alpha1 = weights[:, :m], -weights[:, m:]
    s = alpha0.sum(axis=1, keepdims=True)
    rest = s - alpha0
    # where a point holds nearly all the weight the sum has lost its digits
    lost = np.argwhere(rest <= NEARLY_ALL * s)
    if d is not None and not n1:
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.divide(d, rest, out=rest)
    else:
        d2 = _leave_out_of_classes(alpha0, alpha1, K)
        out = np.sqrt(np.maximum(d2, 0.0, out=d2), out=d2)
    for draw, j in lost:
        left = weights[draw].copy()
        left[j] = 0.0
        total = left[:m].sum()
        out[draw, j] = np.inf
        if total > 0.0:
            left[:m] *= s[draw, 0] / total
            d2 = K[j, j] - 2.0 * K[j] @ left + left @ K @ left
            out[draw, j] = math.sqrt(max(d2, 0.0))
    return out


def _leave_out_of_classes(alpha0: np.ndarray, alpha1: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return squared distances (draws, M) as in :func:`leave_one_out`, with minority points."""
    m, s = alpha0.shape[1], alpha0.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        grown = s / (s - alpha0)
        c = np.concatenate([grown, (s - alpha1) / s], axis=1)
        g = np.concatenate([1.0 + grown * alpha0, 1.0 - alpha1], axis=1)
        A, B = alpha0 @ K[:m], alpha1 @ K[m:]  # products with each point
        AA = (alpha0 * A[:, :m]).sum(axis=1, keepdims=True)
        AB = (alpha1 * A[:, m:]).sum(axis=1, keepdims=True)
        BB = (alpha1 * B[:, m:]).sum(axis=1, keepdims=True)
        return g**2 * np.diag(K) + c**2 * AA + BB - 2 * g * c * A + 2 * g * B - 2 * c * AB
