r"""Rows that leave a centre, one at a time: the one way to leave a row out.

Point g of the centre stands for :math:`n_g` rows, of which row j may be one. Without the row, the
majority points with weights :math:`w`, which sum to t, have the similarity

.. math::
    s_{-j} = \frac{t}{t - w_g / n_g} \Big(\sum_l w_l k(u_l, x_j) - \frac{w_g}{n_g} k(x_j, x_j)\Big),

so that the other weights have the sum t again. With minority points, :math:`a = A - B`: A has the
majority points, and B the minority points with weights :math:`\alpha_1`. A majority row leaves A.
A minority row leaves B, and A is multiplied by :math:`(t - \alpha_{1g} / n_g) / t`, so that the
weights of both keep their sum.

A majority row also leaves what the kernel has learned from it (``kernel.leaving_out``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy import sparse

from ..models.gram import Gram
from ..models.kernels import Kernel
from . import threads

NEARLY_ALL = 1e-4  # share of the weight that is left, below which t - w_j is mostly rounding error
BLOCK_VALUES = 2**25  # kernel values with all members at once: 256 MB
SMALL = 1e-200  # kernel value below which digits are lost to underflow
DRAWS_IN_CACHE = 128  # draws in a block that stays in the cache
SUM_TOLERANCE = 1e-6  # error of the sum of weights, relative to that of their absolute values


@dataclass(frozen=True, eq=False)
class Leaving:
    """Rows, each of which leaves the points of a centre.

    Attributes
    ----------
    gram : Gram
        With the points.
    rows : ndarray of shape (q, p)
    member : ndarray of int, shape (q,)
        The member of the points that each row is; -1 for none, which leaves nothing but the kernel.
    minority : ndarray of bool, shape (q,)
    filled : bool
        Whether their gaps have other values than those that the kernel has learned from.
    """

    gram: Gram
    rows: np.ndarray
    member: np.ndarray
    minority: np.ndarray
    filled: bool = False

    def part(self, which: np.ndarray | slice) -> Self:
        """Return some of the rows."""
        return replace(
            self,
            rows=self.rows[which],
            member=self.member[which],
            minority=self.minority[which],
        )

    @cached_property
    def _gone(self) -> sparse.csr_array:
        """The number of rows of each member that leave with each row, shape (q, R)."""
        row = np.flatnonzero(self.member >= 0)
        shape = len(self.rows), len(self.gram.points.rows)
        return sparse.csr_array((np.ones(len(row)), (row, self.member[row])), shape)

    @cached_property
    def gone(self) -> sparse.csr_array:
        """The share of each point that leaves with each row, shape (q, M)."""
        members, points = self._gone.tocoo(), self.gram.points
        point = points.point_of_member[members.col]
        shape = len(self.rows), self.gram.n_points
        return sparse.csr_array((members.data / points.sizes[point], (members.row, point)), shape)

    @property
    def _kernels(self) -> list[tuple[Kernel, np.ndarray]]:
        """The kernel of the rows of each class that there is, and which rows these are."""
        kernel, minority = self.gram.kernel, self.minority
        if self.filled:
            return [(kernel, np.ones(len(minority), dtype=bool))]
        of_class = (kernel.leaving_out, ~minority), (kernel, minority)
        return [(each, rows) for each, rows in of_class if rows.any()]

    @cached_property
    def k(self) -> np.ndarray:
        """Kernel values (q, M) with the points, without the rows themselves."""
        gram = self.gram
        if (self.member >= 0).all() and not self.filled:
            return gram.K_left_out[self.member]
        k = np.empty((len(self.rows), gram.n_points))
        for kernel, of_kind in self._kernels:
            numbers = np.flatnonzero(of_kind)
            step = max(1, BLOCK_VALUES // len(gram.points.rows))
            for block in (numbers[i : i + step] for i in range(0, len(numbers), step)):
                of_members, some = kernel(self.rows[block], gram.points.rows), self.part(block)
                row, member, rest = some.themselves(np.arange(gram.n_points))
                of_members[row, member] *= rest
                k[block] = gram.points.mean(of_members)
        return k

    def log_k(self, points: np.ndarray) -> np.ndarray:
        """Return the logarithms of :attr:`k` (q, m) for some points, without underflow."""
        log_k, chosen = np.empty((len(self.rows), len(points))), self.gram.points[points]
        for kernel, of_kind in self._kernels:
            of_members = kernel.log(self.rows[of_kind], chosen.rows)
            self.part(of_kind).hide(of_members, points)
            log_k[of_kind] = chosen.log_mean(of_members)
        return log_k

    @property
    def log_nearest(self) -> np.ndarray:
        """Log of the largest kernel value of each row with a majority point, shape (q,).

        Its own point is the mean of the rows that stay.
        """
        points = np.arange(self.gram.n_majority_points)
        step = max(1, BLOCK_VALUES // (8 * len(self.gram.points.rows)))
        found = np.empty(len(self.rows))
        for start in range(0, len(found), step):
            block = slice(start, start + step)
            rows = self.part(block)
            stays = 1.0 - rows.gone[:, : len(points)].toarray()
            stays[stays <= 0.0] = 1.0  # nothing is left, and k is 0
            nearest = (self.k[block][:, points] / stays).max(axis=1)
            far = nearest < SMALL  # among these the logarithms tell
            if far.any():
                log_k = rows.part(far).log_k(points) - np.log(stays[far])
                found[block][far] = log_k.max(axis=1)
            found[block][~far] = np.log(nearest[~far])
        return found

    def hide(self, of_members: np.ndarray, points: np.ndarray) -> None:
        """Take the rows themselves off logarithms (q, members of points) of kernel values."""
        row, member, rest = self.themselves(points)
        with np.errstate(divide="ignore"):  # nothing is left of a row without copies
            of_members[row, member] += np.log(rest)

    def themselves(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return which rows take which members of some points, and what is left of each."""
        members = self.gram.points.members_of(points)
        gone = self._gone[:, members].tocoo()
        return gone.row, gone.col, 1.0 - gone.data / self.gram.points.copies[members[gone.col]]

    def rest(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return t (S, 1), and what is left of it for each row (S, q), of weights (S, M)."""
        m = self.gram.n_majority_points
        total = weights[:, :m].sum(axis=1, keepdims=True)
        leaves = (self.gone[:, :m] @ weights[:, :m].T).T
        return total, np.subtract(total, leaves, order="C")

    def similarity(self, weights: np.ndarray, k: np.ndarray | None = None) -> np.ndarray:
        """Return the similarities (S, q) for weights (S, M).

        Minus infinity for a row with all of the majority's weight, or more: without it there is no
        centre.
        ``k`` (q, M), by default :attr:`k`, may be on another scale.
        """
        k, m = self.k if k is None else k, self.gram.n_majority_points
        of_points, found = k.T, np.empty((len(weights), len(self.rows)))

        def of_block(draws: slice) -> None:
            w = weights[draws]
            total, rest = self.rest(w)
            kept = total + (self.gone[:, m:] @ w[:, m:].T).T  # what A has without the row
            close = NEARLY_ALL * np.abs(total)
            nothing, inaccurate = rest < -close, np.argwhere(np.abs(rest) <= close)
            sums = np.matmul(w[:, :m], of_points[:m], out=found[draws])
            with np.errstate(divide="ignore", invalid="ignore"):
                sums *= np.divide(kept, rest, out=rest)
            if m < w.shape[1]:
                sums += w[:, m:] @ of_points[m:]
            sums[nothing] = -np.inf
            for draw, j in inaccurate:
                one = self.part(slice(j, j + 1))
                left = one.others(w[draw, None])[0, :m].sum()  # no difference of two sums
                sums[draw, j] = -np.inf
                if left > 0.0:
                    of_majority = k[j, :m] @ w[draw, :m] / left * kept[draw, j]
                    sums[draw, j] = of_majority + k[j, m:] @ w[draw, m:]

        threads.each(of_block, len(weights), DRAWS_IN_CACHE)
        return found

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights (S, M) without one majority row: the others, with the same sum.

        They are infinite or NaN where nothing is left.
        """
        m, others = self.gram.n_majority_points, self.others(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            others[:, :m] *= (weights[:, :m].sum(axis=1) / others[:, :m].sum(axis=1))[:, None]
        return others

    def others(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights (S, M) without one row; those of the other rows stay."""
        return weights * (1.0 - self.gone[[0]].toarray()[0])


@dataclass(frozen=True)
class Rescaled:
    """The other weights of a draw are rescaled; the draw stays that of the posterior of all rows.

    Attributes
    ----------
    to_one : bool, default=True
        Whether the weights must sum to one; else each draw keeps the sum that it has.
    """

    to_one: bool = True

    def similarity(self, weights: np.ndarray, leaving: Leaving) -> np.ndarray:
        """Return the similarities (S, q) of rows to the centre without each of them."""
        if self.to_one:
            self.check(weights)
        return leaving.similarity(weights)

    def check(self, weights: np.ndarray) -> None:
        """Raise a ValueError if weights (S, M) of a draw do not sum to one."""
        error = np.abs(weights.sum(axis=1) - 1.0)
        if (error <= SUM_TOLERANCE).all():
            return
        worst = int(np.argmax(error / np.maximum(np.abs(weights).sum(axis=1), 1.0)))
        if not error[worst] <= SUM_TOLERANCE * max(1.0, np.abs(weights[worst]).sum()):
            raise ValueError(
                "a row is left out by rescaling the others, which needs weights that sum to one, "
                f"but the weights of draw {worst} sum to {weights[worst].sum():.6g}; divide them "
                "by their sum, or let the model say sums_to_one = False"
            )
