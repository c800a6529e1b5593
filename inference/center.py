r"""How normal a row is: its similarity to draws of a centre, and the decisions that follow.

The similarity of a row z to the centre :math:`a = \sum_j w_j \varphi(u_j)` is

.. math:: s_z = \sum_j w_j k(u_j, z), \qquad d_z^2 = k(z, z) - 2 s_z + \|a\|^2.

It is the only number inside: scores, quantiles, left-out scores, the boundary and p-values are
similarities, or logarithms of similarities where weights and kernel values are at least 0. A
similarity has all its digits where d_z, which tends to the distance of a row that resembles no
point, has none left. Distances and D_opt are displays.

In draw t a row is normal if :math:`\tilde s_z^{(t)} \ge \tilde s_{\mathrm{opt}}^{(t)}`, with
:math:`\tilde s_z` its similarity and what a row beside it would add that the sample has not shown
(:mod:`bsvdd.inference.decision`). The score of a row is the quantile over the draws of
:math:`\log (\tilde s_z^{(t)} / \tilde s_{\mathrm{opt}}^{(t)})`: minus its surprise, and 0 at the
cutoff.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Self

import numpy as np

from ..models.gram import Gram, squared_norm
from ..models.points import Points
from . import threads, ties
from .leave import Leaving

BLOCK_VALUES = 4_000_000  # most values in memory at once: 32 MB
BLOCK_ROWS = 256  # most rows of a thread at once: more do not make the products faster
UNDERFLOW = 1e-280  # below it a sum of kernel values has lost digits, or all of them
SINGLE = 2.0**-24  # rounding of a float32, relative
ROWS_TO_BOUND = 4  # rows for each draw or point, from which a bound of the variance pays
SMALLEST_FLOAT32 = 1e-30  # below it a float32 has lost digits


@dataclass(frozen=True, eq=False)
class Unseen:
    r"""What a row beside z that the sample has not shown adds to s_z: :math:`u\, r_z`.

    It fades as the kernel does beyond what rows near the cutoff show,
    :math:`r_z = \min(1, m_z / m_*)` with m_z the largest kernel value of z with a normal point.

    Attributes
    ----------
    log_u : ndarray of shape ()
        Minus infinity if nothing is unseen.
    log_nearest : ndarray of shape ()
        :math:`\log m_*`.
    """

    log_u: np.ndarray = field(default_factory=lambda: np.array(-np.inf))
    log_nearest: np.ndarray = field(default_factory=lambda: np.array(0.0))

    def __bool__(self) -> bool:
        return bool(self.log_u > -np.inf)

    def log_share(self, log_nearest: np.ndarray) -> np.ndarray:
        """Return log r_z of rows whose log m_z is ``log_nearest``, shape (rows,)."""
        return np.minimum(log_nearest - self.log_nearest, 0.0)

    def log_added(self, log_nearest: np.ndarray) -> np.ndarray:
        """Return log (u r_z) of these rows."""
        return self.log_u + self.log_share(log_nearest)


@dataclass(frozen=True, eq=False)
class Boundary:
    r"""Where rows are normal in each draw, on the scale of the values of a centre.

    Attributes
    ----------
    threshold : ndarray of shape (draws,)
        :math:`\tilde s_{\mathrm{opt}}`, or its logarithm.
    least, most : ndarray of shape (draws,)
        The same if each left-out row had no row beside it that the sample has not shown, and if
        it had a whole one: for the ends of intervals of the surprise.
    log_half, log_whole : ndarray of shape (draws,)
        Logarithms of g ~ Gamma(1/2), of P(normal), and of g ~ Gamma(1), of intervals.
    unseen : Unseen
    """

    threshold: np.ndarray
    least: np.ndarray
    most: np.ndarray
    log_half: np.ndarray
    log_whole: np.ndarray
    unseen: Unseen = field(default_factory=Unseen)

    @property
    def middle(self) -> float:
        """The (upper) median of the threshold."""
        return float(np.sort(self.threshold)[len(self.threshold) // 2])

    def part(self, draws: np.ndarray) -> Self:
        """Return the boundary in some of the draws."""
        of_draws = ("threshold", "least", "most", "log_half", "log_whole")
        return replace(self, **{name: getattr(self, name)[draws] for name in of_draws})

    @classmethod
    def at(cls, value: float | np.ndarray = 0.0, unit: float = 0.0) -> Self:
        """Return the boundary at one value, or at one for each draw, without an unseen row.

        A row at the cutoff is within it, whatever the rounding of its value; ``unit`` is that of
        :mod:`bsvdd.inference.ties`.
        """
        values = np.atleast_1d(np.asarray(value, dtype=float))
        zero = np.zeros(values.shape)
        return cls(values - ties.tolerance(values, unit), values, values, zero, zero)


def needed(level: float, draws: int) -> int:
    """Return the number of draws that must be exceeded for more than a share ``level`` of them."""
    rank = math.floor(level * draws + 1e-9)  # 0.3 * 10 is 3, not 2.9999999999999996
    return min(rank, draws - 1)  # a level near 1 needs all draws


def level_quantile(similarity: np.ndarray, level: float = 0.5) -> np.ndarray:
    """Return the similarity that decides each row, (draws, rows) -> (rows,).

    At level 0.5 it is the (lower) median. A row is normal if it is at least the cutoff, so this
    one number per row is all that a cutoff, a ranking or a score needs.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.center import level_quantile
    >>> level_quantile(np.array([[1.0, 1.0], [1.0, 3.0], [3.0, 3.0]])).tolist()
    [1.0, 3.0]
    """
    rank = len(similarity) - 1 - needed(level, len(similarity))
    quantile: np.ndarray = np.partition(similarity.T, rank, axis=1)[:, rank]
    return quantile


def with_unseen(values: np.ndarray, log_added: np.ndarray, logarithmic: bool) -> np.ndarray:
    """Return :math:`s + e^a` of values s, or its logarithm; a is ``log_added``."""
    found: np.ndarray = (
        np.logaddexp(values, log_added) if logarithmic else values + np.exp(log_added)
    )
    return found


def over_draws(parts: np.ndarray, draws: int) -> np.ndarray:
    """Return what each draw has of parts (k, ...): draw t the part t mod k, or all the only one."""
    k = len(parts)
    return parts if k in (1, draws) else parts[np.arange(draws) % k]


def raised(
    values: np.ndarray, log_unseen: np.ndarray, log_g: np.ndarray, logarithmic: bool
) -> np.ndarray:
    """Return values with what is unseen beside the rows times g of each draw, (rows, draws)."""
    draws = max(len(values), len(log_g))
    values, log_unseen = (over_draws(each, draws) for each in (values, log_unseen))
    return with_unseen(values.T, log_unseen.T + log_g, logarithmic)


def less(values: np.ndarray, cutoff: np.ndarray) -> np.ndarray:
    """Return values less a cutoff in each draw; infinity where it is beyond every row."""
    beyond = np.isneginf(cutoff)
    if not beyond.any():
        return values - cutoff
    with np.errstate(invalid="ignore"):  # values may be minus infinity too
        return np.where(beyond, np.inf, values - cutoff)


def decision_of(
    values: np.ndarray,
    log_unseen: np.ndarray,
    at: Boundary,
    level: float,
    prob: float,
    logarithmic: bool,
) -> np.ndarray:
    """Return scores, P(normal) and the ends of the interval of the surprise, (4, rows).

    The surprise is minus the score. Its interval has the probability ``prob``, and is widened to
    contain it.

    Parameters
    ----------
    values : ndarray of shape (draws, rows)
        Similarities, or their logarithms.
    log_unseen : ndarray of shape (1 or ways, rows)
        What ``Center.unseen`` has.
    at : Boundary
    level, prob : float
    logarithmic : bool
    """
    half, whole = (
        raised(values, log_unseen, log_g, logarithmic) for log_g in (at.log_half, at.log_whole)
    )
    values = over_draws(values, max(len(values), len(at.most)))
    margins, end = less(half, at.threshold).T, (1.0 + prob) / 2.0
    share = np.mean(margins >= 0.0, axis=0)
    score = level_quantile(margins, level)
    low = level_quantile(-less(whole, at.least).T, end)
    high = -level_quantile(less(values.T, at.most).T, end)
    return np.stack([score, share, np.minimum(low, -score), np.maximum(high, -score)])


@dataclass(frozen=True, eq=False)
class Center:
    r"""Draws of the centre of a description, and the boundary of the rows that are normal.

    Rows are an array (rows, p). The value of a row is its similarity, or the logarithm of it. Where
    k(z, z) differs between rows, :math:`s_z - k(z, z) / 2` takes the place of s_z. One draw of the
    weights can have a boundary of many draws.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    gram : Gram
        With the dictionary u_1..u_M.
    norm : ndarray of shape (draws,), optional
        w'Kw, if it is known.
    nonnegative : bool
        Whether the model has no negative weights, in this and in all other fits.
    boundary : Boundary
        Where rows are normal; 0 until a cutoff is chosen.
    """

    weights: np.ndarray
    gram: Gram
    norm: np.ndarray | None = None
    nonnegative: bool = False
    boundary: Boundary = field(default_factory=Boundary.at, kw_only=True)

    @property
    def n_draws(self) -> int:
        """The number of draws of the weights."""
        return len(self.weights)

    @property
    def leaving_out(self) -> Self:
        """The centre for training rows, which leave what the kernel learned from them."""
        return replace(self, gram=replace(self.gram, kernel=self.gram.kernel.leaving_out))

    @cached_property
    def unit_of_sums(self) -> float:
        """The unit of the weighted sums, see :mod:`bsvdd.inference.ties`."""
        largest = float(np.abs(self.weights).sum(axis=1).max()) * self.gram.largest
        return ties.OF_SUMS * largest

    @cached_property
    def support(self) -> np.ndarray:
        """The points with a nonzero weight in some draw."""
        return np.flatnonzero(self.weights.any(axis=0))

    @cached_property
    def supported_points(self) -> tuple[np.ndarray, Points]:
        """The weights (draws, support) and the points of the support."""
        support = self.support
        if len(support) == self.gram.n_points:
            return self.weights, self.gram.points
        return np.ascontiguousarray(self.weights[:, support]), self.gram.points[support]

    def with_boundary(self, boundary: Boundary) -> Self:
        """Return this centre with a boundary."""
        return replace(self, boundary=boundary)

    @cached_property
    def squared_norm(self) -> np.ndarray:
        """The squared norms w'Kw of the draws."""
        return squared_norm(self.weights, self.gram.K) if self.norm is None else self.norm

    def with_weights(self, weights: np.ndarray) -> Self:
        """Return the centre of other draws of the weights, without its boundary."""
        return replace(self, weights=weights, norm=None, boundary=Boundary.at())

    @property
    def logarithmic(self) -> bool:
        """Whether values are logarithms of similarities."""
        return self.nonnegative and self.gram.kernel.normalized

    @property
    def unit(self) -> float:
        """The unit of values and scores, see :mod:`bsvdd.inference.ties`."""
        return 1.0 if self.logarithmic else self.unit_of_sums

    @cached_property
    def median_norm(self) -> float:
        """The median of the squared norms."""
        return -float(level_quantile(-self.squared_norm[:, None])[0])

    # similarity and distance

    def unseen(self, rows: np.ndarray) -> np.ndarray:
        """Return log (u r_z), minus infinity where nothing is unseen, shape (1, rows).

        It is what a row beside z that the sample has not shown would add to the similarity.
        """
        unseen = self.boundary.unseen
        if not unseen:
            return np.full((1, len(rows)), -np.inf)
        return unseen.log_added(self.log_nearest(rows))[None]

    def log_nearest(self, rows: np.ndarray) -> np.ndarray:
        """Return log m_z, the largest log kernel value with a majority point, shape (rows,)."""
        points = self._majority_points
        log_k = partial(points.log_k, self.gram.kernel)
        return _joined(lambda b: log_k(rows[b]).max(axis=1), len(rows), self._step)

    @cached_property
    def _majority_points(self) -> Points:
        points = self.gram.points
        return points[np.flatnonzero(points.sizes[: self.gram.n_majority_points] > 0)]

    @property
    def far(self) -> float:
        """The value of a row that resembles no training row, or minus infinity."""
        return 0.0 if self.gram.kernel.normalized and not self.logarithmic else -math.inf

    def similarity(self, rows: np.ndarray) -> np.ndarray:
        """Return s_z of all draws, shape (draws, rows); less k(z, z)/2 where it varies."""
        out, kernel = np.empty((len(rows), len(self.weights))), self.gram.kernel
        weights, points = self.supported_points

        def of_block(block: slice) -> None:
            s = np.matmul(points.k(kernel, rows[block]), weights.T, out=out[block])
            if not kernel.normalized:
                s -= kernel.diag(rows[block])[:, None] / 2.0

        threads.each(of_block, len(rows), self._step)
        return out.T

    def values_of_draws(self, rows: np.ndarray) -> np.ndarray:
        """Return the values in all draws, shape (draws, rows): the similarity or its logarithm."""
        return self._as_values(self.similarity(rows), lambda far: self.log_similarity(rows[far]))

    def values_left_out(self, rows: np.ndarray, minority: np.ndarray) -> np.ndarray:
        """Return the values in all draws, (draws, rows), of training rows that are no points.

        Majority rows leave what was learned of columns from them; nothing was learned from
        ``minority`` rows.
        """
        if not minority.any():
            return self.leaving_out.values_of_draws(rows)
        values = np.empty((self.n_draws, len(rows)))
        values[:, ~minority] = self.leaving_out.values_of_draws(rows[~minority])
        values[:, minority] = self.values_of_draws(rows[minority])
        return values

    def over_ways(self, n: int, values_of: Callable[[Center, int], np.ndarray]) -> np.ndarray:
        """Return values in all draws, (draws, rows), of rows in n ways: draw t has way t mod n.

        ``values_of`` takes a centre of the draws that have a way, and the way. Of a centre with one
        draw the values are those of each way, (n, rows).
        """
        if self.n_draws == 1:
            return np.concatenate([values_of(self, way) for way in range(n)])
        some = [self.with_weights(self.weights[way::n]) for way in range(min(n, self.n_draws))]
        values = [values_of(each, way) for way, each in enumerate(some)]
        found = np.empty((self.n_draws, values[0].shape[1]))
        for way, each in enumerate(values):
            found[way::n] = each
        return found

    def values_without(self, similarity: np.ndarray, leaving: Leaving) -> np.ndarray:
        """Return the values (draws, rows) of rows that leave the centre.

        ``similarity`` (draws, rows), by :class:`.leave.Rescaled`, is overwritten.
        """
        kernel = self.gram.kernel
        if not kernel.normalized:
            similarity -= kernel.diag(leaving.rows) / 2.0
        return self._as_values(
            similarity, lambda far: self.log_similarity(leaving.rows[far], leaving.part(far))
        )

    def _as_values(
        self, similarity: np.ndarray, again: Callable[[np.ndarray], np.ndarray]
    ) -> np.ndarray:
        """Return the values of similarities (draws, rows), which are overwritten.

        ``again`` returns log similarities (rows, draws) of rows that are far, without underflow.
        """
        if not self.logarithmic:
            return similarity
        far = (similarity < UNDERFLOW).any(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            np.log(similarity, out=similarity)
        if far.any():
            similarity[:, far] = again(far).T
        return similarity

    def distances(self, rows: np.ndarray) -> np.ndarray:
        """Return d_z of all draws, shape (draws, rows)."""
        d2 = self.similarity(rows)
        d2 *= -2.0
        d2 += self.squared_norm[:, None] + self._self_similarity
        return np.sqrt(np.maximum(d2, 0.0, out=d2), out=d2)  # negative values: rounding errors

    def distance_of(self, score: np.ndarray) -> np.ndarray:
        """Return the distances of rows with these scores, by the median norm and threshold.

        NaN where the cutoff is beyond every row, which all have an infinite score.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            value = score + self.boundary.middle
            s = np.exp(value) if self.logarithmic else value
        d2 = self.median_norm + self._self_similarity - 2.0 * s
        return np.sqrt(np.maximum(d2, 0.0))

    def distance_of_own_norm(self, value: np.ndarray) -> np.ndarray:
        """Return the distances of similarities less half the squared norm of their centre."""
        return np.sqrt(np.maximum(self._self_similarity - 2.0 * value, 0.0))

    def boundary_at(self, distance: float) -> Boundary:
        r"""Return the boundary of the printed rule, :math:`d_z \le D_{\mathrm{opt}}` in a draw."""
        limit = self._self_similarity - distance * distance
        similarity = (self.squared_norm + limit) / 2.0
        if not self.logarithmic:
            return Boundary.at(similarity, self.unit)
        with np.errstate(divide="ignore"):
            return Boundary.at(np.log(np.maximum(similarity, 0.0)), self.unit)

    @property
    def distance_at_cutoff(self) -> float:
        """The distance of a row at the boundary, D_opt."""
        return float(self.distance_of(np.zeros(())))

    # decisions

    def scores(self, rows: np.ndarray, level: float = 0.5) -> np.ndarray:
        """Return the scores, at least 0 for normal rows at this level, shape (rows,)."""

        def of_block(block: slice) -> np.ndarray:
            return level_quantile(self.margins(rows[block]), level)

        return _joined(of_block, len(rows), self._step)

    def margins(self, rows: np.ndarray) -> np.ndarray:
        """Return by how much rows lie within the cutoff in each draw, shape (draws, rows)."""
        return self.margins_of(self.values_of_draws(rows), self.unseen(rows))

    def margins_of(self, values: np.ndarray, log_unseen: np.ndarray) -> np.ndarray:
        """Return the margins of values (draws, rows) and of what :meth:`unseen` has."""
        return less(self._raised(values, log_unseen), self.boundary.threshold).T

    def _raised(self, values: np.ndarray, log_unseen: np.ndarray) -> np.ndarray:
        """Return the values with what is unseen beside the rows, shape (rows, draws)."""
        return raised(values, log_unseen, self.boundary.log_half, self.logarithmic)

    def decision(self, rows: np.ndarray, level: float = 0.5, prob: float = 0.9) -> np.ndarray:
        """Return what :func:`decision_of` has of rows, shape (4, rows)."""

        def of_block(block: slice) -> np.ndarray:
            values, unseen = self.values_of_draws(rows[block]), self.unseen(rows[block])
            return decision_of(values, unseen, self.boundary, level, prob, self.logarithmic)

        return _joined(of_block, len(rows), self._step, (4,))

    def probability_normal(self, rows: np.ndarray) -> np.ndarray:
        """Return P(normal): the share of draws in which a row is normal, shape (rows,)."""
        return self._counts(rows) / self._draws

    def is_normal(self, rows: np.ndarray, level: float = 0.5) -> np.ndarray:
        r"""Return ``scores(rows, level) >= 0``, shape (rows,).

        With m and v the mean and the variance over the draws of the margin, the similarity less
        that of the cutoff, the share of draws on the other side of the cutoff than m is at most
        :math:`v / (v + m^2)` (Cantelli). Only rows that this leaves open need all draws.
        """
        enough = needed(level, self._draws)
        bounded = len(self.weights) == len(self._least) > 1
        few = len(rows) < ROWS_TO_BOUND * min(self.weights.shape)
        tiny = self.logarithmic and not self._least.min() > UNDERFLOW
        if few or tiny or not bounded:
            return self._counts(rows) > enough
        (mean, most, mean_least, most_least), kernel = self._moments, self.gram.kernel

        def of_block(block: slice) -> np.ndarray:
            z = rows[block]
            k = self._k_with_unseen(z)
            margin = k @ mean - mean_least
            if not kernel.normalized:
                margin -= kernel.diag(z) / 2.0
            variance = np.square(k, out=k) @ most + most_least
            normal = margin > 0.0
            opposite = variance / (variance + margin**2 + np.finfo(float).tiny)
            left = np.flatnonzero(opposite >= np.where(normal, 1.0 - level, level) * (1.0 - 1e-6))
            normal[left] = self._counts(z[left]) > enough
            return normal

        return _joined(of_block, len(rows), self._step).astype(bool)

    def normal_in_draws(self, rows: np.ndarray) -> np.ndarray:
        """Return in which draws rows are normal, shape (draws, rows)."""
        return self.margins(rows) >= 0.0

    def log_similarity(self, rows: np.ndarray, leaving: Leaving | None = None) -> np.ndarray:
        """Return log s_z of all draws, shape (rows, draws), without underflow.

        Training rows that are ``leaving`` leave the points; the other weights are rescaled.
        """
        weights, points = self.supported_points
        if leaving is None:
            return log_sums(points.log_k(self.gram.kernel, rows), weights)
        total, rest = leaving.rest(self.weights)
        with np.errstate(divide="ignore", invalid="ignore"):  # a point with all the weight
            log_s = log_sums(leaving.log_k(self.support), weights) - np.log(rest / total).T
        return np.where(rest.T > 0.0, log_s, -np.inf)

    # parts

    @property
    def _draws(self) -> int:
        return max(self.n_draws, len(self.boundary.threshold))

    @property
    def _self_similarity(self) -> float:
        """The part of k(z, z) that a similarity does not have: 1, or 0 where it varies."""
        return 1.0 if self.gram.kernel.normalized else 0.0

    @property
    def _step(self) -> int:
        """Rows at once."""
        return _rows_at_once(max(self._draws, len(self.gram.points.rows)))

    @cached_property
    def _weights_with_unseen(self) -> np.ndarray:
        """The weights of the support, and of the unseen row as one more point, if there is one."""
        weights, at = self.supported_points[0], self.boundary
        if not at.unseen:
            return weights
        added = np.exp(at.log_half + at.unseen.log_u)[:, None]
        return np.hstack([np.broadcast_to(weights, (len(added), weights.shape[1])), added])

    def _k_with_unseen(self, rows: np.ndarray) -> np.ndarray:
        """Return the kernel values with these points; that of the unseen row is r_z."""
        k, unseen = self.supported_points[1].k(self.gram.kernel, rows), self.boundary.unseen
        if not unseen:
            return k
        return np.column_stack([k, np.exp(unseen.log_share(self.log_nearest(rows)))])

    @cached_property
    def _least(self) -> np.ndarray:
        """The similarity of the cutoff in each draw."""
        threshold = self.boundary.threshold
        return np.exp(threshold) if self.logarithmic else threshold

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray, float, float]:
        r"""Means of the weights and of the cutoff, and b that bounds the variance of the margin.

        For all k, :math:`\mathrm{Var} (k^\top w - \theta) \le \sum_j b_j k_j^2 + b_\theta` over the
        draws: b is the variances times the largest eigenvalue of the correlation matrix.
        """
        joined = np.column_stack([self._weights_with_unseen, self._least])
        mean = joined.mean(axis=0)
        deviation = joined - mean
        variance = np.square(deviation).mean(axis=0)
        deviation /= np.sqrt(np.where(variance > 0.0, variance, 1.0) * len(joined))
        wide = deviation.shape[0] < deviation.shape[1]
        product = deviation @ deviation.T if wide else deviation.T @ deviation
        most = variance * np.linalg.eigvalsh(product)[-1] * (1.0 + 1e-9)
        return mean[:-1], most[:-1], float(mean[-1]), float(most[-1])

    def _counts(self, rows: np.ndarray) -> np.ndarray:
        """Return in how many draws each row is normal, shape (rows,)."""

        def in_double(rows: np.ndarray) -> np.ndarray:
            return np.count_nonzero(self.normal_in_draws(rows), axis=0)

        least = self._least
        if not self.logarithmic or not least.min() > SMALLEST_FLOAT32:
            return _joined(lambda block: in_double(rows[block]), len(rows), self._step)
        # in float32, twice as fast; rows with a draw that its rounding may decide are done again,
        # among them all ties, as its error is larger than their tolerance
        single = _single(self._weights_with_unseen.T)
        error = 4.0 * SINGLE * (4.0 + math.sqrt(len(single)))
        above = (least * (1.0 + error)).astype(np.float32)
        below = (least * (1.0 - error)).astype(np.float32)

        def in_single(block: slice) -> np.ndarray:
            s = _single(self._k_with_unseen(rows[block])) @ single
            count = np.count_nonzero(s >= above, axis=1)
            close = count != np.count_nonzero(s >= below, axis=1)
            count[close] = in_double(rows[block][close])
            return count

        return _joined(in_single, len(rows), self._step)


def log_sums(log_k: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log sum_j w_j k_j without underflow, (rows, M) and (draws, M) -> (rows, draws)."""
    largest = log_k.max(axis=1, keepdims=True)
    largest[np.isneginf(largest)] = 0.0  # no point is left
    with np.errstate(divide="ignore"):
        logarithm: np.ndarray = np.log(np.exp(log_k - largest) @ weights.T) + largest
    return logarithm


def _single(values: np.ndarray) -> np.ndarray:
    """Return values in float32; those too small for all its digits, which are slow, are 0."""
    single = values.astype(np.float32)
    single[single < np.finfo(np.float32).tiny] = 0.0
    return single


def _rows_at_once(width: int) -> int:
    return max(1, min(BLOCK_ROWS, BLOCK_VALUES // width))


def _joined(
    function: Callable[[slice], np.ndarray], n: int, step: int, shape: tuple[int, ...] = ()
) -> np.ndarray:
    """Return the joined results (*shape, rows) of a function of blocks of n rows, on threads."""
    return np.concatenate([np.empty((*shape, 0)), *threads.each(function, n, step)], axis=-1)
