r"""How normal a row is: its similarity to draws of a centre, and the decisions that follow.

The similarity of a row z to the centre :math:`a = \sum_j w_j \varphi(u_j)` is

.. math:: s_z = \sum_j w_j k(u_j, z), \qquad d_z^2 = k(z, z) - 2 s_z + \|a\|^2.

It is the only number inside: scores, quantiles, left-out scores, the cutoff and p-values are
similarities, or logarithms of similarities where weights and kernel values are at least 0. A
similarity has all its digits where d_z, which tends to the distance of a row that resembles no
point, has none left. Distances and D_opt are displays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import override

import numpy as np

from ..models.gram import Gram, squared_norm
from . import threads
from .decision import deciding_quantile, needed, quantile_rank

BLOCK_VALUES = 4_000_000  # most values in memory at once: 32 MB
BLOCK_ROWS = 256  # most rows of a thread at once: more do not make the products faster
UNDERFLOW = 1e-280  # below it a sum of kernel values has lost digits, or all of them
SINGLE = 2.0**-24  # rounding of a float32, relative
ROWS_TO_BOUND = 4  # rows for each draw or point, from which a bound of the variance pays
WIDEST = 1e-30  # below it a float32 has lost digits


@dataclass(frozen=True, eq=False)
class Score:
    """One score for each row, larger for more normal rows; its "distance" is minus the score.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    gram : Gram
        With the dictionary u_1..u_M.
    """

    weights: np.ndarray
    gram: Gram

    def scores(self, rows: np.ndarray, level: float = 0.5) -> np.ndarray:
        """Return the score that decides each row at this level, shape (rows,)."""
        raise NotImplementedError

    def is_normal(self, rows: np.ndarray, cutoff: float, level: float = 0.5) -> np.ndarray:
        """Return ``scores(rows, level) >= cutoff``, shape (rows,)."""
        return self.scores(rows, level) >= cutoff

    def probability_normal(self, rows: np.ndarray, cutoff: float) -> np.ndarray:
        """Return the share of draws whose score is at least the cutoff, shape (rows,)."""
        return self.is_normal(rows, cutoff).astype(float)

    def decision(
        self, rows: np.ndarray, cutoff: float, level: float = 0.5, quantiles: Sequence[float] = ()
    ) -> np.ndarray:
        """Return scores, P(normal) and quantiles of the distance from one pass.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        cutoff, level : float
        quantiles : sequence of float, default=()
            Shares of the draws.

        Returns
        -------
        ndarray of shape (2 + number of quantiles, n)
        """
        scores = self.scores(rows, level)
        distance = self.distance_of(scores)
        return np.stack([scores, scores >= cutoff, *[distance for _ in quantiles]])

    def distance_of(self, score: np.ndarray) -> np.ndarray:
        """Return the distances of rows with these scores."""
        return -score

    def score_of(self, distance: float) -> float:
        """Return the score of a row at this distance."""
        return 0.0 - distance

    def left_out_scores(
        self, kernel_sums: np.ndarray, level: float, log_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the scores of left-out points, shape (M,), from their kernel sums (draws, M)."""
        raise NotImplementedError

    @cached_property
    def support(self) -> np.ndarray:
        """The points with a nonzero weight in some draw."""
        return np.flatnonzero(self.weights.any(axis=0))

    @cached_property
    def supported_points(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights (draws, support) and the points of the support."""
        support = self.support
        if len(support) == self.gram.n_points:
            return self.weights, self.gram.points
        return np.ascontiguousarray(self.weights[:, support]), self.gram.points[support]


@dataclass(frozen=True, eq=False)
class Hyperplane(Score):
    r"""A separating hyperplane, :math:`f(z) = \sum_j w_j k(u_j, z) + b`, f > 0 for the majority.

    Attributes
    ----------
    offset : float
        b.
    """

    offset: float

    @override
    def scores(self, rows: np.ndarray, level: float = 0.5) -> np.ndarray:
        weights, points = self.supported_points

        def of_block(block: slice) -> np.ndarray:
            f: np.ndarray = self.gram.kernel(rows[block], points) @ weights[0] + self.offset
            return f

        return _by_block(of_block, len(rows), self.gram.n_points)


@dataclass(frozen=True, eq=False)
class Center(Score):
    r"""Draws of the centre of a description.

    A row is normal in a draw if its similarity is at least that of the cutoff, one number for all
    draws. The squared norm of the centre is a term of all squared distances of a draw, those of
    left-out rows too, so it says nothing of a row:

    .. math:: s_z \ge s_{\mathrm{opt}} \iff d_z^2 \le D_{\mathrm{opt}}^2 + \|a\|^2
        - \mathrm{median}\, \|a\|^2

    Where k(z, z) differs between rows, :math:`s_z - k(z, z) / 2` takes the place of s_z.

    Attributes
    ----------
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    nonnegative : bool
        Whether the model has no negative weights, in this and in all other fits.
    """

    squared_norm: np.ndarray
    nonnegative: bool = False

    @classmethod
    def of(
        cls,
        weights: np.ndarray,
        gram: Gram,
        norm: np.ndarray | None = None,
        nonnegative: bool = False,
    ) -> Center:
        """Return the centre of ``weights`` (draws, M); ``norm`` is its squared norm, if known."""
        norm = squared_norm(weights, gram.K) if norm is None else norm
        return cls(weights, gram, norm, nonnegative)

    def with_weights(self, weights: np.ndarray) -> Center:
        """Return the centre of other draws of the weights of the same points, without its norm."""
        return replace(self, weights=weights, squared_norm=np.full(len(weights), math.nan))

    @property
    def logarithmic(self) -> bool:
        """Whether the score is the logarithm of the similarity."""
        return self.nonnegative and self.gram.kernel.normalized

    @cached_property
    def median_norm(self) -> float:
        """The median of the squared norms."""
        return -float(deciding_quantile(-self.squared_norm[:, None])[0])

    # similarity and distance

    def similarity(self, rows: np.ndarray) -> np.ndarray:
        """Return s_z of all draws, shape (draws, rows); less k(z, z)/2 where it varies."""
        out = np.empty((len(rows), len(self.weights)))

        def of_block(block: slice) -> None:
            self._similarity(rows[block], out[block])

        threads.each(of_block, len(rows), self._step)
        return out.T

    def distances(self, rows: np.ndarray, common_norm: bool = False) -> np.ndarray:
        """Return d_z of all draws, shape (draws, rows).

        With ``common_norm`` every squared norm is replaced by the median: then the share of draws
        at or below D_opt is P(normal).
        """
        norm = self.median_norm if common_norm else self.squared_norm[:, None]
        d2 = self.similarity(rows)
        d2 *= -2.0
        d2 += norm + self._self_similarity
        return np.sqrt(np.maximum(d2, 0.0, out=d2), out=d2)  # negative values: rounding errors

    @override
    def distance_of(self, score: np.ndarray) -> np.ndarray:
        return self._distance(np.exp(score) if self.logarithmic else score)

    @override
    def score_of(self, distance: float) -> float:
        similarity = (self.median_norm + self._self_similarity - distance * distance) / 2.0
        if not self.logarithmic:
            return similarity
        return math.log(similarity) if similarity > 0.0 else -math.inf

    # decisions

    @override
    def scores(self, rows: np.ndarray, level: float = 0.5) -> np.ndarray:
        rank = quantile_rank(level, len(self.weights))

        def of_block(block: slice) -> np.ndarray:
            s = self._similarity(rows[block])
            s.partition(rank, axis=1)
            return self._as_score(s[:, rank], rows[block], level)

        return _by_block(of_block, len(rows), self._width)

    @override
    def probability_normal(self, rows: np.ndarray, cutoff: float) -> np.ndarray:
        return self._counts(rows, cutoff) / len(self.weights)

    @override
    def is_normal(self, rows: np.ndarray, cutoff: float, level: float = 0.5) -> np.ndarray:
        r"""Return ``scores(rows, level) >= cutoff``, shape (rows,).

        With m and v the mean and the variance over the draws of the margin, the similarity less
        that of the cutoff, the share of draws on the other side of the cutoff than m is at most
        :math:`v / (v + m^2)` (Cantelli). Only rows that this leaves open need all draws.
        """
        draws, least = len(self.weights), self._least(cutoff)
        enough = needed(level, draws)
        if len(rows) < ROWS_TO_BOUND * min(self.weights.shape) or not least > self._lowest:
            return self._counts(rows, cutoff) > enough
        points = self.supported_points[1]
        mean, most = self._moments

        def of_block(block: slice) -> np.ndarray:
            k = self.gram.kernel(rows[block], points)
            margin = k @ mean - self._half_diagonal(rows[block]) - least
            np.square(k, out=k)
            variance = k @ most
            normal = margin > 0.0
            opposite = variance / (variance + margin**2 + np.finfo(float).tiny)
            left = np.flatnonzero(opposite >= np.where(normal, 1.0 - level, level) * (1.0 - 1e-6))
            normal[left] = self._counts(rows[block][left], cutoff) > enough
            return normal

        return _by_block(of_block, len(rows), self._width).astype(bool)

    @override
    def decision(
        self, rows: np.ndarray, cutoff: float, level: float = 0.5, quantiles: Sequence[float] = ()
    ) -> np.ndarray:
        draws = len(self.weights)
        rank = quantile_rank(level, draws)
        # a quantile of the distance lies between two draws, in the order of their distances
        at = np.array([share * (draws - 1) for share in quantiles])
        below = np.floor(at).astype(int)
        above = np.minimum(below + 1, draws - 1)

        def of_block(block: slice) -> np.ndarray:
            s = self._similarity(rows[block])
            probability = self._at_least(s, rows[block], cutoff) / draws
            if len(quantiles):
                s.sort(axis=1)
            else:
                s.partition(rank, axis=1)
            score = self._as_score(s[:, rank].copy(), rows[block], level)
            # from the last draw on: the largest similarity has the smallest distance
            d = [self._distance(s[:, draws - 1 - i]) for i in (below, above)] if quantiles else []
            between = (d[0] + (at - below) * (d[1] - d[0])).T if quantiles else []
            return np.stack([score, probability, *between]).T

        parts = threads.each(of_block, len(rows), self._step)
        return np.concatenate([np.empty((0, 2 + len(quantiles))), *parts]).T

    # left-out points

    @override
    def left_out_scores(
        self, kernel_sums: np.ndarray, level: float, log_weight: np.ndarray | None = None
    ) -> np.ndarray:
        r"""Return the scores of left-out points, shape (M,).

        A left-out point j is compared with new rows by its similarity to the centre without it,
        :math:`f_j = \langle \varphi_j, a_{-j} \rangle`, and not by its distance: the centre
        without it has a larger norm, which is no property of the row.

        Parameters
        ----------
        kernel_sums : ndarray of shape (draws, M)
            f_j.
        level : float
        log_weight : ndarray of shape (draws, M), optional
            Log importance weights of the draws, for each point.
        """

        def of_block(points: slice) -> np.ndarray:
            s = kernel_sums[:, points]
            if not self.gram.kernel.normalized:
                s = s - np.diag(self.gram.K)[points] / 2.0
            weight = None if log_weight is None else log_weight[:, points]
            return deciding_quantile(s, level, weight)

        s = _by_block(of_block, self.gram.n_points, len(self.weights))
        return self._as_score(s, self.gram.points, level, left_out=True)

    def log_similarity(self, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        """Return log s_z of all draws, shape (rows, draws), without underflow.

        ``own`` has the numbers of the points that the rows are (-1: none), which leave their own
        sums; the other weights are rescaled.
        """
        weights, points = self.supported_points
        log_k = self.gram.kernel.log(rows, points)
        remaining = np.ones((len(rows), len(weights)))
        if own is not None:
            log_k[own[:, None] == self.support] = -np.inf
            remaining[own >= 0] -= self.weights[:, own[own >= 0]].T
        largest = log_k.max(axis=1, keepdims=True)
        largest[np.isneginf(largest)] = 0.0  # no point is left
        sums = np.exp(log_k - largest) @ weights.T
        with np.errstate(divide="ignore", invalid="ignore"):  # a point with all the weight
            log_s = np.log(sums) + largest - np.log(remaining)
        return np.where(sums > 0.0, log_s, -np.inf)

    # parts

    @property
    def _self_similarity(self) -> float:
        """The part of k(z, z) that a similarity does not have: 1, or 0 where it varies."""
        return 1.0 if self.gram.kernel.normalized else 0.0

    @property
    def _width(self) -> int:
        return max(self.weights.shape)

    @property
    def _step(self) -> int:
        return _rows_at_once(self._width)

    @property
    def _lowest(self) -> float:
        """The similarity above which digits are safe."""
        return UNDERFLOW if self.logarithmic else -math.inf

    def _least(self, cutoff: float) -> float:
        """Return the similarity of the cutoff."""
        return math.exp(cutoff) if self.logarithmic else cutoff

    def _half_diagonal(self, rows: np.ndarray) -> np.ndarray | float:
        kernel = self.gram.kernel
        return 0.0 if kernel.normalized else kernel.diag(rows) / 2.0

    def _similarity(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the similarities of one block, shape (rows, draws)."""
        weights, points = self.supported_points
        s = np.matmul(self.gram.kernel(rows, points), weights.T, out=out)
        if not self.gram.kernel.normalized:
            s -= self.gram.kernel.diag(rows)[:, None] / 2.0
        return s

    def _distance(self, similarity: np.ndarray) -> np.ndarray:
        d2 = self.median_norm + self._self_similarity - 2.0 * similarity
        return np.sqrt(np.maximum(d2, 0.0))

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        r"""The mean of the weights of the support, and b that bounds the variance of similarities.

        For all k, :math:`\mathrm{Var}\, k^\top w \le \sum_j b_j k_j^2` over the draws: b is the
        variances times the largest eigenvalue of the correlation matrix of the weights.
        """
        weights, _ = self.supported_points
        mean = weights.mean(axis=0)
        deviation = weights - mean
        variance = np.square(deviation).mean(axis=0)
        deviation /= np.sqrt(np.where(variance > 0.0, variance, 1.0) * len(weights))
        wide = deviation.shape[0] < deviation.shape[1]
        product = deviation @ deviation.T if wide else deviation.T @ deviation
        return mean, variance * np.linalg.eigvalsh(product)[-1] * (1.0 + 1e-9)

    def _counts(self, rows: np.ndarray, cutoff: float) -> np.ndarray:
        """Return how many draws of each row are at least the cutoff, shape (rows,)."""
        least = self._least(cutoff)
        if not self.logarithmic or not least > WIDEST:

            def in_double(block: slice) -> np.ndarray:
                return self._at_least(self._similarity(rows[block]), rows[block], cutoff)

            return _by_block(in_double, len(rows), self._width)
        # in float32, twice as fast; rows with a draw that its rounding may decide are done again
        weights, points = self.supported_points
        single = _single(weights.T)
        error = 4.0 * SINGLE * (4.0 + math.sqrt(len(points)))

        def in_single(block: slice) -> np.ndarray:
            s = _single(self.gram.kernel(rows[block], points)) @ single
            count = np.count_nonzero(s >= np.float32(least * (1.0 + error)), axis=1)
            close = count != np.count_nonzero(s >= np.float32(least * (1.0 - error)), axis=1)
            if close.any():
                near = rows[block][close]
                count[close] = self._at_least(self._similarity(near), near, cutoff)
            return count

        return _by_block(in_single, len(rows), self._width)

    def _at_least(self, s: np.ndarray, rows: np.ndarray, cutoff: float) -> np.ndarray:
        """Return how many similarities (rows, draws) of one block are at least the cutoff."""
        least = self._least(cutoff)
        count = np.count_nonzero(s >= least, axis=1)
        if self.logarithmic and least < UNDERFLOW and cutoff > -math.inf:
            far = (s < UNDERFLOW).any(axis=1)
            count[far] = np.count_nonzero(self.log_similarity(rows[far]) >= cutoff, axis=1)
        return count

    def _as_score(
        self, similarity: np.ndarray, rows: np.ndarray, level: float, left_out: bool = False
    ) -> np.ndarray:
        """Return the scores of rows from the similarities that decide them.

        With ``left_out`` the rows are the points, and each is left out of its own sum.
        """
        if not self.logarithmic:
            return similarity
        far = similarity < UNDERFLOW
        score = np.log(similarity, where=~far, out=np.empty_like(similarity))
        if far.any():
            own = np.flatnonzero(far) if left_out else None
            score[far] = deciding_quantile(self.log_similarity(rows[far], own).T, level)
        return score


def _single(values: np.ndarray) -> np.ndarray:
    """Return values in float32; those too small for all its digits, which are slow, are 0."""
    single = values.astype(np.float32)
    single[single < np.finfo(np.float32).tiny] = 0.0
    return single


def _rows_at_once(width: int) -> int:
    return max(1, min(BLOCK_ROWS, BLOCK_VALUES // width))


def _by_block(function: Callable[[slice], np.ndarray], n: int, width: int) -> np.ndarray:
    """Return the joined results of a function of blocks of n rows, on several threads."""
    parts = threads.each(function, n, _rows_at_once(max(width, 1)))
    return np.concatenate([np.empty(0), *parts])
