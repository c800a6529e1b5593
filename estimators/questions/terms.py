r"""Why a row is abnormal: shares of columns and of points in its surprise or in its distance.

**The surprise.** If weights are at least 0 and the kernel is a product over columns, such as RBF
and Laplacian, each draw of a centre has

.. math:: \log \frac{s_{\mathrm{cut}}}{s_z} = \log s_{\mathrm{cut}} + \sum_f
    E_q[-\log k_f(u_f, z_f)] + \mathrm{KL}(q \,\|\, w), \qquad
    q_j = \frac{w_j k(u_j, z)}{\sum_l w_l k(u_l, z)},

with :math:`s_z = \sum_j w_j k(u_j, z)`, and :math:`s_{\mathrm{cut}}` the similarity of the cutoff
in this draw. This is exact: :math:`\log (q_j / w_j) = -\log s_z - \sum_f c_{fj}` with
:math:`c_{fj} = -\log k_f`, and the mean of both sides under q is the equation (Donsker and Varadhan
1975). For RBF :math:`c_{fj} = (z_f - u_{jf})^2 / (2 s^2)`. The term of column f says how far z lies
from its neighbours in this column; q says which points are these neighbours; and KL, the
*concentration*, how few they are. No term is negative if the weights sum to one or less, and shares
are of the sum of all terms, :math:`-\log s_z`. What the sample has not shown beside z takes
:math:`\log (\tilde s_z / s_z)` off, which is a term of its own (:mod:`bsvdd.inference.decision`).
Then a row at the cutoff has a sum of :math:`-\log s_{\mathrm{cut}}`, and a surprise of 0.

**The distance.** Other kernels and signed weights have the squared distance, less the squared
cutoff, in terms of single points,

.. math:: d_z^2 - D^2 = B + (k(z, z) - T / n_0) - 2 \sum_j w_j (k(u_j, z) - \kappa_j), \qquad
    \kappa_j = r_j / n_0.

:math:`\kappa_j` is the mean of k(u_j, x) over the n0 normal training rows, and
:math:`B = T / n_0 - 2 w^\top \kappa + \|a\|^2 - D^2` is the mean of :math:`d^2 - D^2` over these
rows. A point has a positive term if z resembles it less than a normal row does (weight above 0), or
more (weight below 0). D is the cutoff of the draw, which has the norm of its centre, so this
norm cancels. What the sample has not shown beside z takes :math:`2 (\tilde s_z - s_z)` off. For
the linear kernel the columns are exact too, :math:`d_z^2 = \sum_f (z_f - a_f)^2`.

**References**

Donsker, M. D. and Varadhan, S. R. S. (1975). Asymptotic evaluation of certain Markov process
expectations for large time, I. Communications on Pure and Applied Mathematics 28, 1-47.
doi:10.1002/cpa.3160280102
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...inference import threads
from ...inference.center import Boundary, Center
from ...inference.leave import Leaving

ROUNDING = 1e-12  # share of the sum of the terms
REMOTE = 1e300  # -log k, at most: a sum of such is finite
BLOCK_VALUES = 2_000_000  # rows x points, or x columns x draws, of a thread at once: 16 MB

Terms = dict[str, np.ndarray]  # arrays with a line for each row


def has_surprise(center: Center) -> bool:
    """Return whether rows are explained by their surprise; otherwise it is by their distance."""
    return center.logarithmic and center.gram.kernel.separable


def has_columns(center: Center) -> bool:
    """Return whether there are terms of columns."""
    return has_surprise(center) or center.gram.kernel.euclidean


def boundary_of(center: Center, draws: np.ndarray) -> Boundary:
    """Return the boundary in some draws: the median of each part if it has draws of its own.

    It is the median where no finite value is at the cutoff of the draw.
    """
    at, n = center.boundary, len(center.boundary.threshold)
    if n != len(center.weights):
        half = np.sort(at.log_half)[n // 2]
        return replace(Boundary.at(at.middle), log_half=np.array([half]), unseen=at.unseen)
    finite = np.where(np.isfinite(at.threshold), at.threshold, at.middle)
    return replace(at, threshold=finite).part(draws)


def terms(
    center: Center,
    rows: np.ndarray,
    prob: float,
    top: int,
    leaving: Leaving | None = None,
) -> Terms:
    """Return the terms of rows.

    Parameters
    ----------
    center : Center
        With the draws that the intervals are of, and their boundary (:func:`boundary_of`); of
        training rows, ``center.leaving_out``.
    rows : ndarray of shape (rows, p)
    prob : float
        Probability of the equal-tailed intervals.
    top : int
        Number of points.
    leaving : Leaving, optional
        The rows, if they are training rows that leave the sums. The other weights are rescaled in a
        surprise; in a distance the kernel value of the row itself is 0.

    Returns
    -------
    dict of ndarray
        The last axis of all but ``member`` has the mean over the draws, and the lower and the upper
        end of the interval.

        - ``total`` (rows, 3): the surprise, or the squared distance less the squared cutoff;
        - ``remainder`` (rows, 3): what no column or point accounts for: the concentration, or the
          length :math:`k(z, z) - T / n_0`;
        - ``unseen`` (rows, 3): what a row beside z that the sample has not shown takes off;
        - ``columns``, ``shares`` (rows, columns, 3): terms of the columns, and their shares of the
          sum of all terms; no columns if the kernel has none;
        - ``member`` (rows, top): the members of the points with the largest mean shares, or the
          first members of the points with the largest absolute mean terms, in descending order;
        - ``points`` (rows, top, 3): their shares :math:`q_j` or their terms.
    """
    top = min(top, len(center.support))
    of_rows = _surprise if has_surprise(center) else _distance

    def of_block(block: slice) -> Terms:
        part = None if leaving is None else leaving.part(block)
        return of_rows(center, rows[block], prob, top, part)

    weights, points = center.supported_points
    wide = max(len(points.rows), len(weights) * (rows.shape[1] + 1))
    return joined(threads.each(of_block, len(rows), max(1, BLOCK_VALUES // wide)))


def joined(parts: list[Terms]) -> Terms:
    """Return the terms of several blocks of rows as those of one."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def base(center: Center) -> float:
    """Return what is added to the terms: log s_cut, or B, the mean over the draws."""
    if has_surprise(center):
        return float(center.boundary.threshold.mean())
    gram, (weights, _) = center.gram, center.supported_points
    length = 0.0 if gram.kernel.normalized else gram.T / gram.n0
    of_rows = float(weights.mean(axis=0) @ gram.r[center.support]) / gram.n0
    return length - 2.0 * of_rows + float(_margin(center).mean())


def _margin(center: Center) -> np.ndarray:
    """Return the cutoff's part of d^2 - D^2, twice its similarity."""
    cutoff = center.boundary.threshold
    return 2.0 * (np.exp(cutoff) if center.logarithmic else cutoff)


def _log_unseen(center: Center, rows: np.ndarray, leaving: Leaving | None) -> np.ndarray:
    """Return the logarithm of what is unseen beside rows, in each draw, shape (rows, draws)."""
    at = center.boundary
    if leaving is None or not at.unseen:
        added = center.unseen(rows)[0]
    else:
        added = at.unseen.log_added(leaving.log_nearest)
    return added[:, None] + at.log_half


def typical_columns(center: Center, leaving: Leaving) -> np.ndarray:
    """Return the mean terms of columns (p,) of training rows, each without itself.

    The surprise is by the mean weights; squared distances are averaged over the draws. A row
    stays in a centre whose weights may be negative: its other weights cannot be rescaled.
    """
    if not has_surprise(center):
        found = _linear_columns(center, leaving.rows, leaving)
        return found[np.isfinite(found).all(axis=(1, 2))].mean(axis=(0, 1))
    mean = center.leaving_out.with_weights(center.weights.mean(axis=0, keepdims=True))
    columns = terms(mean, leaving.rows, 0.5, 1, leaving)["columns"][..., 0]
    return columns[np.isfinite(columns).all(axis=1)].mean(axis=0)


def _surprise(
    center: Center,
    rows: np.ndarray,
    prob: float,
    top: int,
    leaving: Leaving | None,
) -> Terms:
    """Return the terms of the surprise; see :func:`terms`."""
    weights, points = center.supported_points
    kernel = center.gram.kernel
    log_k = np.maximum(kernel.log(rows, points.rows), -REMOTE)
    remaining = np.ones((len(rows), len(weights)))
    if leaving is not None:
        leaving.hide(log_k, center.support)
        total_weight, rest = leaving.rest(center.weights)
        remaining = (rest / total_weight).T
    nearest = log_k.max(axis=1, keepdims=True)
    nearest[np.isinf(nearest)] = 0.0
    k = np.exp(log_k - nearest)
    with np.errstate(all="ignore"):  # no point is left, or a row is remote
        sums = points.mean(k) @ weights.T
        total = np.log(remaining) - np.log(sums) - nearest
        costs = (np.minimum(cost, REMOTE) for cost in kernel.by_column(rows, points.rows))
        columns = np.stack([points.mean(cost * k) @ weights.T for cost in costs])
        columns /= sums
        shares = np.where(total > 0.0, columns / total, 0.0)
        k *= points.share
        of_member = points.point_of_member
        member = largest(k * ((1.0 / sums) @ weights)[:, of_member], top)
        of_points = np.take_along_axis(k, member, axis=1)[..., None] * weights.T[of_member[member]]
        of_points /= sums[:, None]
    concentration = total - columns.sum(axis=0)
    concentration[np.abs(concentration) < ROUNDING * total] = 0.0
    unseen = np.zeros(total.shape)
    some = np.isfinite(total)
    unseen[some] = -np.logaddexp(0.0, (_log_unseen(center, rows, leaving) + total)[some])
    return {
        "total": _summary(total + unseen + center.boundary.threshold, prob),
        "unseen": _summary(unseen, prob),
        "remainder": _summary(concentration, prob),
        "columns": np.moveaxis(_summary(columns, prob), 0, 1),
        "shares": np.moveaxis(_summary(shares, prob), 0, 1),
        "member": center.gram.points.members_of(center.support)[member],
        "points": _summary(of_points, prob),
    }


def _distance(
    center: Center,
    rows: np.ndarray,
    prob: float,
    top: int,
    leaving: Leaving | None,
) -> Terms:
    """Return the terms of the squared distance; see :func:`terms`."""
    gram, (weights, points) = center.gram, center.supported_points
    K = points.k(gram.kernel, rows) if leaving is None else leaving.k[:, center.support]
    k_zz, length = np.zeros(len(rows)), np.zeros(len(rows))
    if not gram.kernel.normalized:
        k_zz = gram.kernel.diag(rows)
        length = k_zz - gram.T / gram.n0
    excess = -2.0 * (K - gram.r[center.support] / gram.n0)
    point = largest(np.abs(excess * weights.mean(axis=0)), top)
    of_points = np.take_along_axis(excess, point, axis=1)[..., None] * weights.T[point]
    columns = shares = np.empty((len(rows), 0, 3))
    if gram.kernel.euclidean:
        of_columns = np.moveaxis(_linear_columns(center, rows, leaving), 1, -1)
        d2 = of_columns.sum(axis=1, keepdims=True)
        columns = _summary(of_columns, prob)
        shares = _summary(np.divide(of_columns, d2, where=d2 > 0.0, out=0.0 * of_columns), prob)
    unseen = -2.0 * np.exp(_log_unseen(center, rows, leaving))
    return {
        "total": _summary(k_zz[:, None] - 2.0 * K @ weights.T + unseen + _margin(center), prob),
        "unseen": _summary(unseen, prob),
        "remainder": np.repeat(length[:, None], 3, axis=1),
        "columns": columns,
        "shares": shares,
        "member": gram.points.starts[center.support[point]],
        "points": _summary(of_points, prob),
    }


def _linear_columns(center: Center, rows: np.ndarray, leaving: Leaving | None) -> np.ndarray:
    """Return (z_f - a_f)^2 of a linear kernel, shape (rows, draws, columns).

    A training row that is ``leaving`` stays in a centre whose weights may be negative.
    """
    weights, points = center.supported_points
    inputs = center.gram.kernel.inputs
    z, centers = inputs(rows)[:, None], weights @ points.mean(inputs(points.rows).T).T
    if leaving is not None and center.nonnegative:
        total, rest = leaving.rest(center.weights)
        share = (rest / total).T[..., None]  # that is left
        with np.errstate(divide="ignore", invalid="ignore"):  # no point is left
            centers = (centers - (1.0 - share) * z) / share
    return np.square(z - centers)


def largest(values: np.ndarray, top: int) -> np.ndarray:
    """Return the columns of the largest values (rows, top), in descending order."""
    chosen = np.argpartition(values, values.shape[1] - top, axis=1)[:, values.shape[1] - top :]
    order = np.argsort(-np.take_along_axis(values, chosen, axis=1), axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def _summary(draws: np.ndarray, prob: float) -> np.ndarray:
    """Return mean, lower and upper end over the last axis, as a last axis."""
    with np.errstate(invalid="ignore"):  # infinite if no point is left
        ends = np.quantile(draws, [(1 - prob) / 2, (1 + prob) / 2], axis=-1)
    return np.stack([draws.mean(axis=-1), *ends], axis=-1)
