"""Scoring rules: a weighted sum in kernel space gives one value for each draw and row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, override

import numpy as np

from ..models.geometry import squared_norm
from ..models.gram import Gram
from . import threads
from .decision import (
    distance_quantile,
    probability_normal,
    quantile_rank,
    weighted_distance_quantile,
)

BLOCK_VALUES = 4_000_000  # most values in memory at once: 32 MB
BLOCK_ROWS = 256  # most rows of a thread at once: more do not make the products faster
UNDERFLOW = 1e-280  # below it a sum of kernel values has lost digits, or all of them
ROUNDING = 1e-15  # relative error of a computed distance
CLOSE = 1e-12  # relative difference of two numbers that rounding can reverse
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
    def supported_points(self) -> tuple[np.ndarray, np.ndarray]:
        """The weights (draws, support) and the points of the support."""
        if len(self.support) == self.gram.n_points:
            return self.weights, self.gram.points
        return np.ascontiguousarray(self.weights[:, self.support]), self.gram.points[self.support]

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return the values of all draws, shape (draws, rows); larger is more abnormal."""
        return self._value(self.raw(rows).T).T

    def raw(self, rows: np.ndarray) -> np.ndarray:
        """Return what decides: (draws, rows) numbers in the order of the values of a draw.

        They are at most ``-limit.score``, or at most minus its exponential if scores are
        logarithms, exactly where the value is at most the draw's cutoff.
        """
        out = np.empty((len(rows), len(self.weights)))
        self._each(lambda block: self._raw(rows[block], out[block]), len(rows))
        return out.T

    def scores(self, rows: np.ndarray, level: float) -> np.ndarray:
        """Return the score of each row, shape (rows,); larger is more normal."""
        out = np.empty(len(rows))

        def of_block(block: slice) -> None:
            raw = distance_quantile(self._raw(rows[block]).T, level, overwrite=True)
            out[block] = self._score(raw, rows[block], level)

        self._each(of_block, len(rows))
        return out

    def probability_normal(self, rows: np.ndarray, limit: Limit) -> np.ndarray:
        """Return the share of draws whose value is at most their cutoff, shape (rows,)."""
        out = np.empty(len(rows))

        def of_block(block: slice) -> None:
            out[block] = self._probability(self._raw(rows[block]), rows[block], limit)

        self._each(of_block, len(rows))
        return out

    def decision(
        self,
        rows: np.ndarray,
        limit: Limit,
        quantiles: Sequence[float] = (),
        needed: np.ndarray | None = None,
    ) -> np.ndarray:
        """Return :meth:`scores`, :meth:`probability_normal` and quantiles, all from one pass.

        Parameters
        ----------
        rows : ndarray of shape (n, p)
        limit : Limit
        quantiles : sequence of float, default=()
            Shares of the draws, for quantiles of the values; of distances with a common norm.
        needed : ndarray of bool, shape (n,), optional
            Rows that are needed; the results of others may be NaN. Blocks are computed as a whole:
            a product with fewer rows may differ in its last digits.

        Returns
        -------
        ndarray of shape (2 + number of quantiles, n)
        """
        out, draws = np.full((2 + len(quantiles), len(rows)), np.nan), len(self.weights)
        rank = quantile_rank(limit.level, draws)
        # a quantile lies between two draws, in the order of their values
        places = np.array([share * (draws - 1) for share in quantiles])
        below = np.floor(places).astype(int)
        above = np.minimum(below + 1, draws - 1)

        def of_block(block: slice) -> None:
            if needed is not None and not needed[block].any():
                return
            raw = self._raw(rows[block])
            out[1, block] = self._probability(raw, rows[block], limit)
            if len(quantiles):
                raw.sort(axis=1)  # on some processors 3 times as fast as a partition at these
            else:
                raw.partition(rank, axis=1)
            out[0, block] = self._score(raw[:, rank], rows[block], limit.level)
            low, high = self._typical_value(raw[:, below]), self._typical_value(raw[:, above])
            out[2:, block] = (low + (places - below) * (high - low)).T

        self._each(of_block, len(rows))
        return out

    def score_of(self, value: float) -> float:
        """Return the score of a row with this value."""
        raise NotImplementedError

    def limit(self, value: float, level: float) -> Limit:
        """Return the cutoff ``value`` with its score."""
        return Limit(value, self.score_of(value), level)

    def cutoffs(self, value: float) -> np.ndarray:
        """Return the cutoff of each draw, shape (draws,), if that of the rule is ``value``."""
        return np.full(len(self.weights), value)

    def value_of(self, score: np.ndarray) -> np.ndarray:
        """Return the values of rows with these scores."""
        raise NotImplementedError

    def middle(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the scores half-way between scores a and b, on the scale of the values."""
        raise NotImplementedError

    def left_out_scores(
        self, kernel_sums: np.ndarray, level: float, log_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the scores of left-out points, shape (M,), from their kernel sums (draws, M)."""
        raise NotImplementedError

    def aligned(
        self, scores: np.ndarray, reference: float | None, other: float | None
    ) -> np.ndarray:
        """Return the scores that rows would have by another fit of the model.

        ``reference`` and ``other`` are scores with the same meaning in this and in the other fit.
        Without them the scores stay as they are.
        """
        return scores if reference is None or other is None else scores + (other - reference)

    @property
    def farthest(self) -> float:
        """The value of a row similar to no point; infinity if there is no such limit."""
        return math.inf

    def has_few_digits(self, limit: Limit) -> bool:
        """Return whether values beside the cutoff agree in so many digits that they mislead."""
        return False

    def _each(self, function: Callable[[slice], Any], n: int) -> None:
        """Call a function of blocks of n rows, whose draws x rows values fit in memory."""
        step = max(1, min(BLOCK_ROWS, BLOCK_VALUES // max(self.weights.shape)))
        threads.each(function, n, step)

    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """Return the numbers of :meth:`raw` for one block, shape (rows, draws)."""
        raise NotImplementedError

    def _value(self, raw: np.ndarray) -> np.ndarray:
        """Turn raw numbers (rows, draws) into values, in place."""
        raise NotImplementedError

    def _typical_value(self, raw: np.ndarray) -> np.ndarray:
        """Turn raw numbers of any draws into values that one cutoff decides, in place."""
        return self._value(raw)

    def _score(self, raw: np.ndarray, rows: np.ndarray, level: float) -> np.ndarray:
        """Return the scores of rows from the quantiles of their raw numbers."""
        return -raw

    def _probability(self, raw: np.ndarray, rows: np.ndarray, limit: Limit) -> np.ndarray:
        """Return P(normal) of rows from their raw numbers."""
        return probability_normal(raw.T, -limit.score)


@dataclass(frozen=True, eq=False)
class CenterDraws(ScoringRule):
    r"""Draws of the centre a of a description; the value of a row is its distance d_z.

    The squared norm of the centre is a term of all squared distances of a draw, those of left-out
    rows too. So the cutoff of a draw moves with it:

    .. math:: d_z^2 \le D_{\mathrm{opt}}^2 + \|a\|^2 - \mathrm{median}\, \|a\|^2
        \iff c - k(z, z) + 2 \langle \varphi(z), a \rangle \ge c - D_{\mathrm{opt}}^2

    Here c is the median of :math:`\|a\|^2`, plus k(z, z) if it is the same for all rows: then c is
    the squared distance of a row that is similar to no point. The score of a row is its
    proximity, the quantile over the draws of the side with z, without the constants, or the
    logarithm of it. For a kernel with k(z, z) = 1 the proximity is
    :math:`2 \sum_j w_j k(u_j, z)`. It has all its digits where d_z, which tends to the root of c,
    has none left. The logarithm is taken if weights and kernel values are at least 0; it is
    computed without underflow.

    Attributes
    ----------
    squared_norm : ndarray of shape (draws,)
        w'Kw, or an estimate of the norm of the population's centre.
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

    def is_normal(self, rows: np.ndarray, limit: Limit) -> np.ndarray:
        """Return ``scores(rows, limit.level) >= limit.score``, shape (rows,).

        The draws within the cutoff are counted, which is faster than a quantile; first the draws
        that decide if they agree. Rows have a score if the cutoff's rounding would decide.
        """
        cutoff = -math.exp(limit.score) if self.logarithmic else -limit.score
        if self.logarithmic and cutoff > -UNDERFLOW:
            return self.scores(rows, limit.level) >= limit.score
        draws, rank = len(self.weights), quantile_rank(limit.level, len(self.weights))
        enough = max(rank + 1, draws - rank)
        within, nearly = counts = self.of_draws(self.weights[:enough])._counts(rows, cutoff)
        open_ = (within <= rank) & (enough - nearly < draws - rank)
        counts[:, open_] += self.of_draws(self.weights[enough:])._counts(rows[open_], cutoff)
        normal, close = within > rank, open_ & (within <= rank) & (nearly > rank)
        if close.any():  # of all rows: a product of fewer rows has other last digits
            normal[close] = (self.scores(rows, limit.level) >= limit.score)[close]
        return normal

    def _counts(self, rows: np.ndarray, cutoff: float) -> np.ndarray:
        """Return how many draws of each row are within the cutoff, and nearly so, shape (2, n)."""
        counts = np.empty((2, len(rows)), dtype=int)
        margin = CLOSE * abs(cutoff)

        def of_block(block: slice) -> None:
            raw = self._raw(rows[block])
            counts[0, block] = (raw <= cutoff - margin).sum(axis=1)
            counts[1, block] = (raw <= cutoff + margin).sum(axis=1)

        self._each(of_block, len(rows))
        return counts

    def self_similarity(self, k_zz: np.ndarray) -> np.ndarray:
        """Return k(z, z), or 0 if it is the same for all rows: it would take digits."""
        return np.zeros_like(k_zz) if self._normalized else k_zz

    def restricted(self, support: np.ndarray) -> CenterDraws:
        """Return the centre of the points ``support`` only; all other weights become 0."""
        weights, K = self.weights, self.gram.K
        without = squared_norm(weights[:, support], K[np.ix_(support, support)])
        change = without - squared_norm(weights, K)
        return replace(self, support=support, squared_norm=self.squared_norm + change)

    def of_draws(self, weights: np.ndarray) -> CenterDraws:
        """Return the centre of other weights (draws, M) of the same points and support."""
        norm = np.full(len(weights), math.nan)  # for sums of kernel values alone
        return replace(self, weights=weights, squared_norm=norm)

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
        quantile = np.empty(kernel_sums.shape[1])

        def of_block(points: slice) -> None:
            raw = kernel_sums[:, points] * -2.0
            if not self._normalized:
                raw += np.diag(self.gram.K)[points]
            if log_weight is None:
                quantile[points] = distance_quantile(raw, level, overwrite=True)
            else:
                quantile[points] = weighted_distance_quantile(raw, log_weight[:, points], level)

        self._each(of_block, len(quantile))
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

    @cached_property
    def median_norm(self) -> float:
        """The median of the squared norms."""
        return float(distance_quantile(self.squared_norm[:, None])[0])

    @override
    def values(self, rows: np.ndarray, common_norm: bool = False) -> np.ndarray:
        """Return d_z of all draws, shape (draws, rows).

        With ``common_norm``, every squared norm is replaced by the median: then the share of
        draws at or below the cutoff is P(normal).
        """
        raw = self.raw(rows).T
        return self._value(raw, self.median_norm if common_norm else self.squared_norm).T

    def with_common_norm(self, d: np.ndarray) -> np.ndarray:
        """Return distances (draws, rows) with every squared norm replaced by the median."""
        d2 = d**2 + (self.median_norm - self.squared_norm)[:, None]
        return np.sqrt(np.maximum(d2, 0.0))

    @override
    def cutoffs(self, value: float) -> np.ndarray:
        return np.sqrt(np.maximum(value**2 + self.squared_norm - self.median_norm, 0.0))

    @property
    def _farthest(self) -> float:
        """c, the squared distance of a row without any similarity to the points."""
        return self.median_norm + (1.0 if self._normalized else 0.0)

    @override
    def aligned(
        self, scores: np.ndarray, reference: float | None, other: float | None
    ) -> np.ndarray:
        if reference is None or other is None or self.logarithmic or not self._normalized:
            return super().aligned(scores, reference, other)
        # proximities are sums over the weights, whose size depends on the number of rows
        if min(reference, other) > 0.0:
            return scores * (other / reference)
        return super().aligned(scores, reference, other)

    @property
    @override
    def farthest(self) -> float:
        return math.sqrt(self._farthest) if self._normalized else math.inf

    @override
    def score_of(self, value: float) -> float:
        value *= 1.0 + ROUNDING  # a row at this distance, as computed, is within it
        proximity = self._farthest - value * value
        if not self.logarithmic:
            return proximity
        return math.log(proximity) if proximity > 0.0 else -math.inf

    @override
    def value_of(self, score: np.ndarray) -> np.ndarray:
        proximity = np.exp(score) if self.logarithmic else score
        return np.sqrt(np.maximum(self._farthest - proximity, 0.0))

    @override
    def middle(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        d = (self.value_of(a) + self.value_of(b)) / 2.0
        proximity = self._farthest - d * d
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
        return limit.score < math.log(FEW_DIGITS * self._farthest)

    @override
    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        weights, points = self.supported_points
        raw = np.matmul(self.gram.kernel(rows, points), weights.T, out=out)
        raw *= -2.0
        if not self._normalized:
            raw += self.gram.kernel.diag(rows)[:, None]
        return raw

    @override
    def _value(self, raw: np.ndarray, norm: np.ndarray | float = 0.0) -> np.ndarray:
        raw += norm + 1.0 if self._normalized else norm
        np.maximum(raw, 0.0, out=raw)  # negative values are rounding errors
        return np.sqrt(raw, out=raw)

    @override
    def _typical_value(self, raw: np.ndarray) -> np.ndarray:
        return self._value(raw, self.median_norm)

    @override
    def _score(self, raw: np.ndarray, rows: np.ndarray, level: float) -> np.ndarray:
        return self._log_proximity(raw, rows, level) if self.logarithmic else -raw

    @override
    def _probability(self, raw: np.ndarray, rows: np.ndarray, limit: Limit) -> np.ndarray:
        if not self.logarithmic:
            return super()._probability(raw, rows, limit)
        if limit.score == -math.inf:  # a cutoff beyond all rows
            return np.ones(len(rows))
        # a row on the cutoff is within it, though the exponential of a logarithm is rounded
        proximity = math.exp(limit.score)
        probability = probability_normal(raw.T, -proximity * (1.0 - CLOSE))
        if proximity < UNDERFLOW:
            far = (raw > -UNDERFLOW).any(axis=1)
            probability[far] = (self._log_proximities(rows[far]) >= limit.score).mean(axis=1)
        return probability

    def _log_proximity(
        self, raw: np.ndarray, rows: np.ndarray, level: float, left_out: bool = False
    ) -> np.ndarray:
        """Return the logarithm of minus raw; where it underflows, from the kernel's logarithm.

        With ``left_out`` the rows are the points, and each is left out of its own sum.
        """
        far = raw > -UNDERFLOW
        score = np.log(-raw, where=~far, out=np.empty_like(raw))
        if far.any():
            own = np.flatnonzero(far) if left_out else None
            score[far] = -distance_quantile(-self._log_proximities(rows[far], own).T, level)
        return score

    def _log_proximities(self, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
        """Return the logarithms of the proximities of all draws, shape (rows, draws).

        ``own`` has the numbers of the points that the rows are, which leave their own sums.
        """
        weights, points = self.supported_points
        log_k = self.gram.kernel.log(rows, points)
        remaining = np.ones((len(rows), len(weights)))
        if own is not None:
            log_k[own[:, None] == self.support] = -np.inf
            remaining -= self.weights[:, own].T
        largest = log_k.max(axis=1, keepdims=True)
        largest[np.isneginf(largest)] = 0.0  # no point is left
        sums = np.exp(log_k - largest) @ weights.T
        with np.errstate(divide="ignore", invalid="ignore"):  # a point with all the weight
            log_f = np.log(sums) + largest - np.log(remaining)
        return np.where(sums > 0.0, math.log(2.0) + log_f, -np.inf)


@dataclass(frozen=True, eq=False)
class SingleScore(ScoringRule):
    """A rule with one score a row; the value of a row is minus its score."""

    @override
    def score_of(self, value: float) -> float:
        return 0.0 - value

    @override
    def value_of(self, score: np.ndarray) -> np.ndarray:
        return -score

    @override
    def middle(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return (a + b) / 2.0

    @override
    def _value(self, raw: np.ndarray) -> np.ndarray:
        return raw


@dataclass(frozen=True, eq=False)
class Hyperplane(SingleScore):
    r"""A separating hyperplane; the value of a row is :math:`-f(z)`, and its score is f(z).

    .. math:: f(z) = \sum_j w_j k(u_j, z) + b, \qquad f > 0 \text{ on the majority's side}

    Attributes
    ----------
    offset : ndarray of shape (draws,)
        b.
    """

    offset: np.ndarray

    @override
    def _raw(self, rows: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        weights, points = self.supported_points
        raw = np.matmul(self.gram.kernel(rows, points), weights.T, out=out)
        np.negative(raw, out=raw)
        raw -= self.offset
        return raw


def supported(weights: np.ndarray) -> np.ndarray:
    """Return the points with a nonzero weight in some draw, (draws, M) -> (support,)."""
    return np.flatnonzero(weights.any(axis=0))
