r"""Why a row is abnormal: shares of columns and of points in its surprise or in its distance.

**The surprise.** If weights are at least 0 and the kernel is a product over columns, such as RBF
and Laplacian, each draw of a centre has

.. math:: S(z) = -\log \sum_j w_j k(u_j, z) = \sum_f E_q[-\log k_f(u_f, z_f)] +
    \mathrm{KL}(q \,\|\, w), \qquad q_j = \frac{w_j k(u_j, z)}{\sum_l w_l k(u_l, z)}.

This is exact: :math:`\log (q_j / w_j) = S - \sum_f c_{fj}` with :math:`c_{fj} = -\log k_f`, and the
mean of both sides under q is the equation (Donsker and Varadhan 1975). For RBF
:math:`c_{fj} = (z_f - u_{jf})^2 / (2 s^2)`. The term of column f says how far z lies from its
neighbours in this column; q says which points are these neighbours; and KL, the *concentration*,
how few they are. No term is negative if the weights sum to one or less. d_z rises with S.

**The distance.** Other kernels and signed weights have the squared distance, less the squared
cutoff, in terms of single points,

.. math:: d_z^2 - D^2 = B + (k(z, z) - T / n_0) - 2 \sum_j w_j (k(u_j, z) - \kappa_j), \qquad
    \kappa_j = r_j / n_0.

:math:`\kappa_j` is the mean of k(u_j, x) over the n0 normal training rows, and
:math:`B = T / n_0 - 2 w^\top \kappa + \|a\|^2 - D^2` is the mean of :math:`d^2 - D^2` over these
rows. A point has a positive term if z resembles it less than a normal row does (weight above 0), or
more (weight below 0). D is the cutoff of the draw, which has the norm of its centre, so this
norm cancels. For the linear kernel the columns are exact too, :math:`d_z^2 = \sum_f (z_f - a_f)^2`.

**References**

Donsker, M. D. and Varadhan, S. R. S. (1975). Asymptotic evaluation of certain Markov process
expectations for large time, I. Communications on Pure and Applied Mathematics 28, 1-47.
doi:10.1002/cpa.3160280102
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from scipy.special import logsumexp

from ...inference import threads
from ...inference.center import UNDERFLOW, Center

FEW = 10  # points that are chosen one after another
BLOCK_VALUES = 2_000_000  # rows x points x columns in memory of a thread at once: 16 MB


@dataclass(frozen=True, eq=False)
class RowTerms:
    """The terms of rows; each has its mean, lower and upper end over the draws, in this order.

    Attributes
    ----------
    total : ndarray of shape (rows, 3)
        The surprise, or the squared distance less the squared cutoff.
    remainder : ndarray of shape (rows, 3)
        What no column or point accounts for: the concentration, or the length
        :math:`k(z, z) - T / n_0`.
    columns, shares : ndarray of shape (rows, columns, 3)
        Terms of the columns, and their shares of the surprise or of d_z^2; no columns if the kernel
        has none.
    point : ndarray of int, shape (rows, top)
        The points with the largest mean shares or absolute mean terms, in descending order.
    points : ndarray of shape (rows, top, 3)
        Their shares :math:`q_j` or their terms.
    """

    total: np.ndarray
    remainder: np.ndarray
    columns: np.ndarray
    shares: np.ndarray
    point: np.ndarray
    points: np.ndarray


def has_surprise(center: Center) -> bool:
    """Return whether rows are explained by their surprise; otherwise it is by their distance."""
    return center.logarithmic and center.gram.kernel.separable


def has_columns(center: Center) -> bool:
    """Return whether there are terms of columns."""
    return has_surprise(center) or center.gram.kernel.euclidean


def terms(
    center: Center,
    rows: np.ndarray,
    cutoff: float,
    prob: float,
    top: int,
    own: np.ndarray | None = None,
) -> RowTerms:
    """Return the terms of rows.

    Parameters
    ----------
    center : Center
        With the draws that the intervals are of; of training rows, ``center.leaving_out``.
    rows : ndarray of shape (rows, p)
    cutoff : float
        The value at the cutoff.
    prob : float
        Probability of the equal-tailed intervals.
    top : int
        Number of points.
    own : ndarray of int, shape (rows,), optional
        The points that the rows are, which leave their own sums; -1 for none. The other weights are
        rescaled in a surprise; in a distance the kernel value of the row itself is 0.
    """
    top = min(top, len(center.support))
    margin = _margin(center, cutoff)

    def of_block(block: slice) -> RowTerms:
        points = None if own is None else own[block]
        if has_surprise(center):
            return _surprise(center, rows[block], prob, top, points)
        return _distance(center, rows[block], margin, prob, top, points)

    wide = max(len(center.support), len(center.weights)) * (rows.shape[1] + 1)
    return joined(threads.each(of_block, len(rows), max(1, BLOCK_VALUES // wide)))


def joined(parts: list[RowTerms]) -> RowTerms:
    """Return the terms of several blocks of rows as those of one."""
    names = [field.name for field in fields(RowTerms)]
    return RowTerms(*(np.concatenate([getattr(part, n) for part in parts]) for n in names))


def _margin(center: Center, cutoff: float) -> float:
    """Return the cutoff's part of d^2 - D^2, twice its similarity."""
    return 2.0 * (math.exp(cutoff) if center.logarithmic else cutoff)


def base(center: Center, cutoff: float) -> float:
    """Return B, the mean over the draws of d^2 - D^2 of normal training rows."""
    margin = _margin(center, cutoff)
    gram, (weights, _) = center.gram, center.supported_points
    length = 0.0 if gram.kernel.normalized else gram.T / gram.n0
    return float(length - 2.0 * weights.mean(axis=0) @ (gram.r[center.support] / gram.n0) + margin)


def typical_columns(center: Center, rows: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the mean terms of columns (p,) of rows, each without its own point.

    The surprise is by the mean weights; squared distances are averaged over the draws. A row
    stays in a centre whose weights may be negative: its other weights cannot be rescaled.
    """
    if not has_surprise(center):
        terms = _linear_columns(center, rows, own)
        return terms[np.isfinite(terms).all(axis=(1, 2))].mean(axis=(0, 1))
    mean = center.leaving_out.with_weights(center.weights.mean(axis=0, keepdims=True))
    step = max(1, BLOCK_VALUES // (len(center.support) * rows.shape[1]))
    columns = np.concatenate(
        [
            _Surprise.of(mean, rows[i : i + step], own[i : i + step]).columns[..., 0].T
            for i in range(0, len(rows), step)
        ]
    )
    return columns[np.isfinite(columns).all(axis=1)].mean(axis=0)


@dataclass(frozen=True, eq=False)
class _Surprise:
    """The surprise of a block of rows.

    Attributes
    ----------
    total : ndarray of shape (rows, draws)
    columns : ndarray of shape (columns, rows, draws)
    weights : ndarray of shape (draws, M)
    similarity : ndarray of shape (rows, M)
        k(u_j, z), relative to the nearest point.
    sums : ndarray of shape (rows, draws)
        The sums of w_j with it.
    far : dict of ndarray of shape (draws, M)
        q of rows whose sums underflow in some draw.
    """

    total: np.ndarray
    columns: np.ndarray
    weights: np.ndarray
    similarity: np.ndarray
    sums: np.ndarray
    far: dict[int, np.ndarray]

    @classmethod
    def of(cls, center: Center, rows: np.ndarray, own: np.ndarray | None = None) -> _Surprise:
        """Return the surprise of rows.

        ``own`` (rows,) has the numbers of the points that the rows are, which leave their own sums;
        -1 for none. The other weights are rescaled.
        """
        weights, points = center.supported_points
        kernel = center.gram.kernel
        log_k = kernel.log(rows, points)
        remaining = np.ones((len(rows), len(weights)))
        if own is not None:
            log_k[own[:, None] == center.support] = -np.inf
            remaining[own >= 0] -= center.weights[:, own[own >= 0]].T
        nearest = log_k.max(axis=1, keepdims=True)
        nearest[np.isinf(nearest)] = 0.0  # no point is left
        similarity = np.exp(log_k - nearest)
        sums = similarity @ weights.T
        far = {}
        with np.errstate(divide="ignore", invalid="ignore"):  # no point is left
            total = np.log(remaining) - np.log(sums) - nearest
            columns = np.stack([c * similarity @ weights.T for c in kernel.by_column(rows, points)])
            columns /= sums
            for i in map(int, np.flatnonzero((sums < UNDERFLOW).any(axis=1))):
                log_terms = np.log(weights) + log_k[i]
                log_sums = logsumexp(log_terms, axis=1)
                total[i] = np.log(remaining[i]) - log_sums
                far[i] = q = np.exp(log_terms - log_sums[:, None])
                columns[:, i] = [q @ c[0] for c in kernel.by_column(rows[i : i + 1], points)]
        return cls(total, columns, weights, similarity, sums, far)

    def shares(self, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the points with the largest mean q (rows, top), and q (rows, top, draws)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = self.similarity * ((1.0 / self.sums) @ self.weights)
            for row, q in self.far.items():
                mean[row] = q.sum(axis=0)
            points = largest(mean, top)
            similarity = np.take_along_axis(self.similarity, points, axis=1)[..., None]
            shares = similarity * self.weights.T[points] / self.sums[:, None]
        for row, q in self.far.items():
            shares[row] = q[:, points[row]].T
        return points, shares


def _surprise(
    center: Center, rows: np.ndarray, prob: float, top: int, own: np.ndarray | None
) -> RowTerms:
    of = _Surprise.of(center, rows, own)
    point, of_points = of.shares(top)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(of.total > 0.0, of.columns / of.total, 0.0)
    return RowTerms(
        total=_summary(of.total, prob),
        remainder=_summary(of.total - of.columns.sum(axis=0), prob),
        columns=np.moveaxis(_summary(of.columns, prob), 0, 1),
        shares=np.moveaxis(_summary(shares, prob), 0, 1),
        point=center.support[point],
        points=_summary(of_points, prob),
    )


def _distance(
    center: Center,
    rows: np.ndarray,
    margin: float,
    prob: float,
    top: int,
    own: np.ndarray | None,
) -> RowTerms:
    gram, (weights, points) = center.gram, center.supported_points
    K = gram.kernel(rows, points)
    if own is not None:
        K[own[:, None] == center.support] = 0.0
    k_zz = np.zeros(len(rows)) if gram.kernel.normalized else gram.kernel.diag(rows)
    length = k_zz - (0.0 if gram.kernel.normalized else gram.T / gram.n0)
    total = k_zz[:, None] - 2.0 * K @ weights.T + margin
    excess = -2.0 * (K - gram.r[center.support] / gram.n0)
    point = largest(np.abs(excess * weights.mean(axis=0)), top)
    of_points = np.take_along_axis(excess, point, axis=1)[..., None] * weights.T[point]
    columns = shares = np.empty((len(rows), 0, 3))
    if gram.kernel.euclidean:
        of_columns = np.moveaxis(_linear_columns(center, rows, own), 1, -1)
        d2 = of_columns.sum(axis=1, keepdims=True)
        columns = _summary(of_columns, prob)
        shares = _summary(np.divide(of_columns, d2, where=d2 > 0.0, out=0.0 * of_columns), prob)
    return RowTerms(
        total=_summary(total, prob),
        remainder=np.repeat(length[:, None], 3, axis=1),
        columns=columns,
        shares=shares,
        point=center.support[point],
        points=_summary(of_points, prob),
    )


def _linear_columns(center: Center, rows: np.ndarray, own: np.ndarray | None = None) -> np.ndarray:
    """Return (z_f - a_f)^2 of a linear kernel, shape (rows, draws, columns).

    ``own`` as in :meth:`_Surprise.of`; a row stays in a centre whose weights may be negative.
    """
    weights, points = center.supported_points
    inputs = center.gram.kernel.inputs
    z, centers = inputs(rows)[:, None], weights @ inputs(points)
    if own is not None and center.nonnegative:
        w = np.where(own >= 0, center.weights[:, own], 0.0).T[..., None]
        with np.errstate(divide="ignore", invalid="ignore"):  # no point is left
            centers = (centers - w * z) / (1.0 - w)
    return np.square(z - centers)


def largest(values: np.ndarray, top: int) -> np.ndarray:
    """Return the columns of the largest values (rows, top), in descending order."""
    if top <= FEW:  # as many passes, each much faster than a partition
        remaining, chosen = values.copy(), np.empty((len(values), top), dtype=int)
        for rank in range(top):
            chosen[:, rank] = remaining.argmax(axis=1)
            remaining[np.arange(len(values)), chosen[:, rank]] = -np.inf
        return chosen
    chosen = np.argpartition(values, values.shape[1] - top, axis=1)[:, -top:]
    order = np.argsort(-np.take_along_axis(values, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def _summary(draws: np.ndarray, prob: float) -> np.ndarray:
    """Return mean, lower and upper end over the last axis, as a last axis."""
    with np.errstate(invalid="ignore"):  # infinite if no point is left
        ends = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=-1)
    return np.stack([draws.mean(axis=-1), *ends], axis=-1)
