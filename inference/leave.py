r"""Training rows that leave a centre, one at a time: the one way to leave a row out.

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
from typing import Protocol, Self

import numpy as np

from ..models.gram import Gram
from ..models.kernels import Kernel
from . import threads

NEARLY_ALL = 1e-4  # share of the weight that is left, below which t - w_j is mostly rounding error
DRAWS_IN_CACHE = 128  # draws in a block that stays in the cache
SUM_TOLERANCE = 1e-6  # error of the sum of weights, relative to that of their absolute values


@dataclass(frozen=True, eq=False)
class Leaving:
    """Training rows, each of which leaves the points of a centre.

    Attributes
    ----------
    gram : Gram
        With the points.
    rows : ndarray of shape (q, p)
    point : ndarray of int, shape (q,)
        The point that each row belongs to; -1 for none, which leaves nothing but the kernel.
    minority : ndarray of bool, shape (q,)
    count : ndarray of shape (M,)
        n_g, the number of rows of each point.
    with_it : ndarray of bool, shape (q, M), optional
        Further points that leave with each row, without its own.
    """

    gram: Gram
    rows: np.ndarray
    point: np.ndarray
    minority: np.ndarray
    count: np.ndarray
    with_it: np.ndarray | None = None

    def part(self, which: np.ndarray | slice) -> Self:
        """Return some of the rows."""
        return replace(
            self,
            rows=self.rows[which],
            point=self.point[which],
            minority=self.minority[which],
            with_it=None if self.with_it is None else self.with_it[which],
        )

    @cached_property
    def _own(self) -> np.ndarray:
        """The numbers of the rows that belong to a point."""
        return np.flatnonzero(self.point >= 0)

    @property
    def _kernels(self) -> list[tuple[Kernel, np.ndarray]]:
        """The kernel of the rows of each class that there is, and which rows these are."""
        kernel, minority = self.gram.kernel, self.minority
        of_class = (kernel.leaving_out, ~minority), (kernel, minority)
        return [(each, rows) for each, rows in of_class if rows.any()]

    @cached_property
    def k(self) -> np.ndarray:
        """Kernel values (q, M) with the points, without the rows themselves."""
        gram, own = self.gram, self._own
        if len(own) == len(self.rows):
            k = gram.K_left_out[self.point]
        else:
            k = np.empty((len(self.rows), gram.n_points))
            for kernel, of_kind in self._kernels:
                k[of_kind] = kernel(self.rows[of_kind], gram.points)
        k[own, self.point[own]] -= self._shares(k)
        if self.with_it is not None:
            k[self.with_it] = 0.0
        return k

    def _shares(self, k: np.ndarray) -> np.ndarray:
        """Return k(x_j, x_j)/n_g of the rows that belong to a point."""
        own, point = self._own, self.point[self._own]
        of_point, n = k[own, point], self.count[point]
        for i in np.flatnonzero(n > 1):
            row, kernel = self.rows[own[i], None], self.gram.kernel
            each = kernel if self.minority[own[i]] else kernel.leaving_out
            of_point[i] = each(row, row)[0, 0] / n[i]
        return of_point

    def log_k(self, points: np.ndarray) -> np.ndarray:
        """Return the logarithms of :attr:`k` (q, m) for some points, without underflow."""
        log_k = np.empty((len(self.rows), len(points)))
        for kernel, of_kind in self._kernels:
            log_k[of_kind] = kernel.log(self.rows[of_kind], self.gram.points[points])
        return self.hide(log_k, points)

    def hide(self, log_k: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return logarithms (q, m) of kernel values with some points, less the rows themselves."""
        itself = self.point[:, None] == points
        n = self.count[points[np.nonzero(itself)[1]]]
        with np.errstate(divide="ignore"):  # 1/n_g of equal rows; all of a single row
            log_k[itself] += np.log1p(-1.0 / n)
        if self.with_it is not None:
            log_k[self.with_it[:, points]] = -np.inf
        return log_k

    def rest(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return t (S, 1), and what is left of it for each row (S, q), of weights (S, M)."""
        m, own = self.gram.n_majority_points, self._own
        own = own[~self.minority[own]]
        total = weights[:, :m].sum(axis=1, keepdims=True)
        rest = np.repeat(total, len(self.rows), axis=1)
        rest[:, own] -= weights[:, self.point[own]] / self.count[self.point[own]]
        if self.with_it is not None:
            rest -= weights @ self.with_it.T
        return total, rest

    def similarity(self, weights: np.ndarray, k: np.ndarray | None = None) -> np.ndarray:
        """Return the similarities (S, q) for weights (S, M).

        Minus infinity for a row with all of the majority's weight, or more: without it there is no
        centre.
        ``k`` (q, M), by default :attr:`k`, may be on another scale.
        """
        k = self.k if k is None else k
        m, minority = self.gram.n_majority_points, np.flatnonzero(self.minority & (self.point >= 0))
        of_points, found = k.T, np.empty((len(weights), len(self.rows)))

        def of_block(draws: slice) -> None:
            w = weights[draws]
            total, rest = self.rest(w)
            inaccurate = np.argwhere(rest <= NEARLY_ALL * total)
            sums = np.matmul(w[:, :m], of_points[:m], out=found[draws])
            with np.errstate(divide="ignore", invalid="ignore"):
                sums *= np.divide(total, rest, out=rest)
            if len(minority):
                share = w[:, self.point[minority]] / self.count[self.point[minority]]
                sums[:, minority] *= (total + share) / total
            if m < w.shape[1]:
                sums += w[:, m:] @ of_points[m:]
            for draw, j in inaccurate:
                one = self.part(slice(j, j + 1))
                left = one._without(w[draw, None])[0, :m].sum()  # no difference of two sums
                sums[draw, j] = -np.inf
                if left > 0.0:
                    of_majority = k[j, :m] @ w[draw, :m] / left * total[draw, 0]
                    sums[draw, j] = of_majority + k[j, m:] @ w[draw, m:]

        threads.each(of_block, len(weights), DRAWS_IN_CACHE)
        return found

    def weights(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights (S, M) without one majority row: the others, with the same sum.

        They are infinite or NaN where nothing is left.
        """
        m, others = self.gram.n_majority_points, self._without(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            others[:, :m] *= (weights[:, :m].sum(axis=1) / others[:, :m].sum(axis=1))[:, None]
        return others

    def _without(self, weights: np.ndarray) -> np.ndarray:
        """Return the weights (S, M) of the others beside one row, which are not rescaled."""
        others, point = weights.copy(), self.point[0]
        if point >= 0:
            others[:, point] *= 1.0 - 1.0 / self.count[point]
        if self.with_it is not None:
            others[:, self.with_it[0]] = 0.0
        return others


class Leave(Protocol):
    """How rows leave the draws of a model in closed form."""

    def similarity(self, weights: np.ndarray, leaving: Leaving) -> np.ndarray:
        """Return the similarities (S, q) of rows to the centre without each of them."""
        ...


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
        """See :class:`Leave`."""
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
