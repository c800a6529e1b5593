"""Scoring rules: a weighted sum in kernel space gives one value for each draw and row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import override

import numpy as np
from scipy.special import logsumexp

from ..models.geometry import squared_norm
from ..models.gram import Gram
from .decision import (
    distance_quantile,
    probability_normal,
    quantile_rank,
    weighted_distance_quantile,
)

BLOCK_VALUES = 4_000_000  # most values in memory at once: 32 MB
BLOCK_ROWS = 512  # most rows at once: more do not make the products faster
UNDERFLOW = 1e-280  # below it a sum of kernel values has lost digits, or all of them
ROUNDING = 1e-15  # relative error of a computed distance
FEW_DIGITS = 1e-8  # relative size of a difference that has lost half of its digits


@dataclass(frozen=True)
class Limit:
    """The cutoff, as a value and as a score, and the level of the decision.

    Attributes
    ----------
    value : float
        D_opt, on the scale of the values.
    score : float
        Its score: a row is normal if its own score is at least as large.
    level : float
    """

    value: float
    score: float
    level: float


@dataclass(frozen=True, eq=False)
class ScoringRule:
    r"""Draws of :math:`a = \sum_j w_j \varphi(u_j)`; they give the values to compare with a cutoff.

    Each row has a value for each draw, and one score: a decreasing function of the level's
    quantile of its values, which keeps the digits that the values lose. A row is normal if its
    score is at least that of the cutoff, see :class:`Limit`.

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
            self._value(self._raw(rows[block], 0.5, out[block]), 0.5)
        return out.T

    def scores(self, rows: np.ndarray, level: float) -> np.ndarray:
        """Return the score of each row, shape (rows,); larger is more normal."""
        out = np.empty(len(rows))
        for block in self._blocks(len(rows)):
            raw = distance_quantile(self._raw(rows[block], level).T, level, overwrite=True)
            out[block] = self._score(raw, rows[block], level)
        return out

    def probability_normal(self, rows: np.ndarray, limit: Limit) -> np.ndarray:
        """Return the share of draws whose value is at most the cutoff, shape (rows,)."""
        out = np.empty(len(rows))
        for block in self._blocks(len(rows)):
            raw = self._raw(rows[block], limit.level)
            out[block] = self._probability(raw, rows[block], limit)
        return out

    def decision(self, rows: np.ndarray, limit: Limit) -> tuple[np.ndarray, np.ndarray]:
        """Return :meth:`scores` and :meth:`probability_normal` from one pass."""
        score, probability = np.empty((2, len(rows)))
        for block in self._blocks(len(rows)):
            raw = self._raw(rows[block], limit.level)
            probability[block] = self._probability(raw, rows[block], limit)
            quantile = distance_quantile(raw.T, limit.level, overwrite=True)
            score[block] = self._score(quantile, rows[block], limit.level)
        return score, probability

    def score_of(self, value: float, level: float) -> float:
        """Return the score of a row with this quantile of its values."""
        raise NotImplementedError

    def limit(self, value: float, level: float) -> Limit:
        """Return the cutoff ``value`` with its score."""
        return Limit(value, self.score_of(value, level), level)

    def value_of(self, score: np.ndarray, level: float) -> np.ndarray:
        """Return the quantile of the values of rows with these scores."""
        raise NotImplementedError

    def middle(self, a: np.ndarray, b: np.ndarray, level: float) -> np.ndarray:
        """Return the scores half-way between scores a and b, on the scale of the values."""
        raise NotImplementedError

    def left_out_scores(
        self, kernel_sums: np.ndarray, level: float, log_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the scores of left-out points, shape (M,), from their kernel sums (draws, M)."""
        raise NotImplementedError

    def farthest(self, level: float) -> float:
        """Return the value of a row similar to no point; infinity if there is no such limit."""
        return math.inf

    def has_few_digits(self, limit: Limit) -> bool:
        """Return whether values beside the cutoff agree in so many digits that they mislead."""
        return False

    def _blocks(self, n: int) -> Iterator[slice]:
        """Yield slices of rows, so few that their draws x rows values fit in memory."""
        step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(self.weights.shape)))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))

    def _raw(self, rows: np.ndarray, level: float, out: np.ndarray | None = None) -> np.ndarray:
        """Return (rows, draws) numbers that increase with the values, and have more digits."""
        raise NotImplementedError

    def _value(self, raw: np.ndarray, level: float) -> np.ndarray:
        """Turn raw numbers into values, in place."""
        raise NotImplementedError

    def _score(self, raw: np.ndarray, rows: np.ndarray, level: float) -> np.ndarray:
        """Return the scores of rows from the quantiles of their raw numbers."""
        return -raw

    def _probability(self, raw: np.ndarray, rows: np.ndarray, limit: Limit) -> np.ndarray:
        """Return P(normal) of rows from their raw numbers."""
        return probability_normal(raw.T, -limit.score)


@dataclass(frozen=True, eq=False)
class CenterDraws(ScoringRule):
    r"""Draws of the centre a of a description; the value of a row is its distance d_z.

    The score of a row is its proximity, or the logarithm of it,

    .. math:: c - d_z^2, \qquad c = k(z, z) + \|a\|^2,

    where :math:`d_z^2` and :math:`\|a\|^2` are quantiles over the draws at the level of the
    decision. c is the squared distance of a row without any similarity to the points. For a single
    draw the proximity is :math:`2 \sum_j w_j k(u_j, z)`. It has all its digits where d_z, which
    tends to the root of c, has none left. If k(z, z) differs between rows, c is
    :math:`\|a\|^2` alone. The logarithm is taken if weights and kernel values are at least 0; it
    is computed without underflow.

    Attributes
    ----------
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    nonnegative : bool
        Whether the model has no negative weights. All fits of a model, those to folds too, have
        scores of one kind.
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
    ) -> CenterDraws:
        """Return the centre of ``weights``; ``norm`` is its squared norm, if known."""
        norm = squared_norm(weights, gram.K) if norm is None else norm
        return cls(weights, gram, supported(weights), norm, nonnegative)

    def from_norm(self, rows: np.ndarray) -> np.ndarray:
        r"""Return :math:`d_z^2 - \|a\|^2 - k(z, z)` of all draws, shape (draws, rows).

        If k(z, z) differs between rows, it is :math:`d_z^2 - \|a\|^2`.
        """
        out = np.empty((len(rows), len(self.weights)))
        for block in self._blocks(len(rows)):
            self._without_norm(rows[block], out[block])
        return out.T

    def _without_norm(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the numbers of :meth:`from_norm` for one block, shape (rows, draws)."""
        weights, points = self._supported
        raw = np.matmul(self.gram.kernel(rows, points), weights.T, out=out)
        raw *= -2.0
        if not self._normalized:
            raw += self.gram.kernel.diag(rows)[:, None]
        return raw

    def self_similarity(self, k_zz: np.ndarray) -> np.ndarray:
        """Return k(z, z), or 0 if it is the same for all rows: it would take digits."""
        return np.zeros_like(k_zz) if self._normalized else k_zz

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
    def left_out_scores(
        self, kernel_sums: np.ndarray, level: float, log_weight: np.ndarray | None = None
    ) -> np.ndarray:
        r"""Return the scores of left-out points, shape (M,).

        A left-out point j gets the distance that a new row could have, from a centre of the same
        norm as that of all rows:

        .. math:: d_j^2 = k_{jj} - 2 f_j + \|a\|^2, \qquad f_j = \langle \varphi_j, a_{-j} \rangle.

        Parameters
        ----------
        kernel_sums : ndarray of shape (draws, M)
            f_j.
        level : float
        log_weight : ndarray of shape (draws, M), optional
            Log importance weights of the draws, for each point.
        """
        raw = kernel_sums * -2.0
        raw += self._norm_from(level)[:, None]
        if not self._normalized:
            raw += np.diag(self.gram.K)
        if log_weight is None:
            quantile = distance_quantile(raw, level, overwrite=True)
        else:
            quantile = weighted_distance_quantile(raw, log_weight, level)
        if not self.logarithmic:
            return -quantile
        return self._log_proximity(quantile, self.gram.points, level, left_out=True)

    @cached_property
    def _normalized(self) -> bool:
        return self.gram.kernel.normalized

    @property
    def logarithmic(self) -> bool:
        """Whether the score is the logarithm of the proximity."""
        return self.nonnegative and self._normalized

    def _norm(self, level: float) -> tuple[int, float]:
        """Return the draw whose squared norm is the quantile at this level, and that norm."""
        place = quantile_rank(level, len(self.squared_norm))
        draw = int(np.argpartition(self.squared_norm, place)[place])
        return draw, float(self.squared_norm[draw])

    def _norm_from(self, level: float) -> np.ndarray:
        """Return the squared norms (draws,), minus their quantile."""
        return self.squared_norm - self._norm(level)[1]

    @override
    def farthest(self, level: float) -> float:
        return math.sqrt(self._farthest(level)) if self._normalized else math.inf

    def _farthest(self, level: float) -> float:
        """Return c, the squared distance of a row without any similarity to the points."""
        return self._norm(level)[1] + (1.0 if self._normalized else 0.0)

    @override
    def score_of(self, value: float, level: float) -> float:
        value *= 1.0 + ROUNDING  # a row at this distance, as computed, is within it
        proximity = self._farthest(level) - value * value
        if not self.logarithmic:
            return proximity
        return math.log(proximity) if proximity > 0.0 else -math.inf

    @override
    def value_of(self, score: np.ndarray, level: float) -> np.ndarray:
        proximity = np.exp(score) if self.logarithmic else score
        return np.sqrt(np.maximum(self._farthest(level) - proximity, 0.0))

    @override
    def middle(self, a: np.ndarray, b: np.ndarray, level: float) -> np.ndarray:
        d = (self.value_of(a, level) + self.value_of(b, level)) / 2.0
        proximity = self._farthest(level) - d * d
        with np.errstate(divide="ignore", invalid="ignore"):
            middle = np.log(proximity) if self.logarithmic else proximity
        between = (np.minimum(a, b) < middle) & (middle < np.maximum(a, b))
        # where distances have no digits left, half-way between squared distances
        of_squares = np.logaddexp(a, b) - math.log(2.0) if self.logarithmic else (a + b) / 2.0
        return np.where(between, middle, of_squares)

    @override
    def has_few_digits(self, limit: Limit) -> bool:
        if not self.logarithmic or limit.score == -math.inf:
            return False
        return limit.score < math.log(FEW_DIGITS * self._farthest(limit.level))

    @override
    def _raw(self, rows: np.ndarray, level: float, out: np.ndarray | None = None) -> np.ndarray:
        raw = self._without_norm(rows, out)
        raw += self._norm_from(level)
        return raw

    @override
    def _value(self, raw: np.ndarray, level: float) -> np.ndarray:
        raw += self._farthest(level)
        np.maximum(raw, 0.0, out=raw)  # negative values are rounding errors
        return np.sqrt(raw, out=raw)

    @override
    def _score(self, raw: np.ndarray, rows: np.ndarray, level: float) -> np.ndarray:
        return self._log_proximity(raw, rows, level) if self.logarithmic else -raw

    @override
    def _probability(self, raw: np.ndarray, rows: np.ndarray, limit: Limit) -> np.ndarray:
        if not self.logarithmic:
            return super()._probability(raw, rows, limit)
        if limit.score == -math.inf:  # a cutoff beyond all rows, but not in all draws
            return probability_normal(raw.T, limit.value**2 - self._farthest(limit.level))
        probability = probability_normal(raw.T, -math.exp(limit.score))
        if math.exp(limit.score) < UNDERFLOW:
            # the kernel sums of far rows are 0 here; the draw of the median norm has to decide
            norm = self._norm_from(limit.level)
            score = self._score(distance_quantile(raw.T, limit.level), rows, limit.level)
            far = raw.min(axis=1) >= norm.min()
            within = score[far] >= limit.score
            probability[far] = (norm < 0.0).mean() + (norm == 0.0).mean() * within
        return probability

    def _log_proximity(
        self, raw: np.ndarray, rows: np.ndarray, level: float, left_out: bool = False
    ) -> np.ndarray:
        """Return the logarithm of minus raw; where it underflows, from the kernel's logarithm.

        With ``left_out`` the rows are the points, and each is left out of its own sum.
        """
        far = -raw < UNDERFLOW
        score = np.log(-raw, where=~far, out=np.empty_like(raw))
        if far.any():
            draw, _ = self._norm(level)  # for a row so far the draw of this norm decides
            log_k = self.gram.kernel.log(rows[far], self.gram.points[self.support])
            w = np.broadcast_to(self.weights[draw, self.support], log_k.shape)
            if left_out:
                w = np.where(np.flatnonzero(far)[:, None] == self.support, 0.0, w)
            total = w.sum(axis=1)
            score[far] = -np.inf  # without the point there is no centre
            there = np.flatnonzero(far)[total > 0.0]
            sums = logsumexp(log_k[total > 0.0], axis=1, b=w[total > 0.0])
            # what is left has the weight of all
            share = np.log(total[total > 0.0]) if left_out else 0.0
            score[there] = math.log(2.0) + sums - share
        return score


@dataclass(frozen=True, eq=False)
class Hyperplane(ScoringRule):
    r"""A separating hyperplane; the value of a row is :math:`-f(z)`, and its score is f(z).

    .. math:: f(z) = \sum_j w_j k(u_j, z) + b, \qquad f > 0 \text{ on the majority's side}

    Attributes
    ----------
    offset : ndarray of shape (draws,)
        b.
    """

    offset: np.ndarray

    @override
    def score_of(self, value: float, level: float) -> float:
        return 0.0 - value

    @override
    def value_of(self, score: np.ndarray, level: float) -> np.ndarray:
        return -score

    @override
    def middle(self, a: np.ndarray, b: np.ndarray, level: float) -> np.ndarray:
        return (a + b) / 2.0

    @override
    def _raw(self, rows: np.ndarray, level: float, out: np.ndarray | None = None) -> np.ndarray:
        weights, points = self._supported
        raw = np.matmul(self.gram.kernel(rows, points), weights.T, out=out)
        np.negative(raw, out=raw)
        raw -= self.offset
        return raw

    @override
    def _value(self, raw: np.ndarray, level: float) -> np.ndarray:
        return raw


def supported(weights: np.ndarray) -> np.ndarray:
    """Return the points with a nonzero weight in some draw, (draws, M) -> (support,)."""
    return np.flatnonzero(weights.any(axis=0))
