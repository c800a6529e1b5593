"""Gram statistics, the sufficient statistics of a kernel likelihood: n0, T, r and K."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .kernels import Kernel
from .points import Points

BLOCK = 4096  # rows per block of a product K @ w
BLOCK_VALUES = 2**22  # kernel values of rows with all members at once: 32 MB


@dataclass(frozen=True, eq=False)
class RowStatistics:
    """What a prior with a number for each majority row takes, as if each row were a point.

    Attributes
    ----------
    r : ndarray of shape (n0,)
        The sum of k(x_j, x_i) over the majority rows i, for each majority row j.
    n_majority_points : int
        n0.
    index_in_full_fit : ndarray of int or None
        As of :class:`Gram`.
    """

    r: np.ndarray
    n_majority_points: int
    index_in_full_fit: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Gram:
    r"""Gram statistics of the rows: n0, T, r and K.

    .. math::
        T = \sum_{i \le n_0} k(x_i, x_i), \qquad r_j = \sum_{i \le n_0} k(u_j, x_i), \qquad
        K_{jl} = k(u_j, u_l)

    with :math:`x_i` the majority rows and :math:`u_1, \dots, u_M` the points, which may be means of
    groups of rows (:mod:`bsvdd.models.groups`). If a model learns from minority rows, they are the
    last n1 points.

    Attributes
    ----------
    K : ndarray of shape (M, M)
    r : ndarray of shape (M,)
    T : float
    n0 : int
        Number of majority rows.
    points : Points
    kernel : Kernel
        The resolved kernel of K, r and T.
    n1 : int
        Number of minority rows, the last points.
    member_of_row : ndarray of int, shape (n0,), or None
        The member of the points that each majority row is; None if the points are not the rows.
    row_sums, row_squares : ndarray of shape (majority members,) or None
        The sums of k(x_j, x_i) and of its square over the majority rows i, for each majority member
        j; None if the points are not the rows.
    index_in_full_fit : ndarray of int or None
        In a fold, the indices of its majority rows among those of the whole fit.
    minority_index_in_full_fit : ndarray of int or None
        In a fold, the indices of its minority points among those of the whole fit.
    """

    K: np.ndarray
    r: np.ndarray
    T: float
    n0: int
    points: Points
    kernel: Kernel
    n1: int = 0
    member_of_row: np.ndarray | None = None
    row_sums: np.ndarray | None = None
    row_squares: np.ndarray | None = None
    index_in_full_fit: np.ndarray | None = None
    minority_index_in_full_fit: np.ndarray | None = None

    def __post_init__(self) -> None:
        M = len(self.r)
        if self.K.shape != (M, M):
            raise ValueError(f"K must have shape {(M, M)} as r has {M} values, got {self.K.shape}")
        if not 0 <= self.n1 < M:
            raise ValueError(f"n1 must lie between 0 and {M - 1}, got {self.n1}")
        if len(self.points) != M:
            raise ValueError(
                f"there must be {M} points as r has {M} values, got {len(self.points)}"
            )
        if self.n0 < 1:
            raise ValueError(f"n0 must be at least 1, got {self.n0}")

    @cached_property
    def K_left_out(self) -> np.ndarray:
        """Kernel values (R, M) of members with the points, each without the row itself.

        A member's copies stay. Majority rows leave what the kernel has learned from them too.
        """
        kernel, points, m = self.kernel, self.points, self.n_majority_members
        rest = 1.0 - 1.0 / points.copies
        if points.single_members and kernel.leaving_out is kernel:
            found: np.ndarray = self.K.copy()
            found[np.diag_indices_from(found)] *= rest
            return found
        found = np.empty((len(points.rows), len(points)))
        for of_class, start, stop in ((kernel.leaving_out, 0, m), (kernel, m, len(points.rows))):
            for block in _blocks(start, stop, len(points.rows)):
                k = of_class(points.rows[block], points.rows)
                k[np.arange(len(k)), np.arange(block.start, block.stop)] *= rest[block]
                found[block] = points.mean(k)
        return found

    @property
    def of_rows(self) -> RowStatistics:
        """The statistics of the majority rows, where the points are groups of them."""
        assert self.row_sums is not None and self.member_of_row is not None
        return RowStatistics(self.row_sums[self.member_of_row], self.n0, self.index_in_full_fit)

    @cached_property
    def point_of_row(self) -> np.ndarray:
        """The point of each majority row, shape (n0,), where the points are groups of them."""
        assert self.member_of_row is not None
        return self.points.point_of_member[self.member_of_row]

    @property
    def n_majority_members(self) -> int:
        """Number of members of the majority points, the first members."""
        return self.points.n_members(self.n_majority_points)

    def k(self, rows: np.ndarray) -> np.ndarray:
        """Return the kernel values (m, M) of rows (m, p) with the points."""
        return self.points.k(self.kernel, rows)

    @property
    def n_points(self) -> int:
        """M, the number of dictionary points."""
        return len(self.r)

    @property
    def largest(self) -> float:
        """The largest absolute value in K; it is on the diagonal, as K is semi-definite."""
        K: Any = self.K  # of many points it computes blocks
        if isinstance(K, np.ndarray):
            return float(np.diag(K).max())
        return float(self.kernel.diag(self.points.rows).max())

    @property
    def rounding(self) -> float:
        r"""Rounding error of a value of K w if sum w = 1: :math:`M \epsilon \max_{jl} |K_{jl}|`."""
        return float(np.finfo(float).eps * self.n_points * self.largest)

    @property
    def n_majority_points(self) -> int:
        """Number of majority points, the first points of the dictionary."""
        return len(self.r) - self.n1

    @property
    def coords(self) -> dict[str, range]:
        """The coordinates of a PyMC model: all points, majority points and minority points."""
        counts = {"point": self.n_points, "majority": self.n_majority_points, "minority": self.n1}
        return {name: range(n) for name, n in counts.items()}

    @classmethod
    def from_rows(
        cls,
        kernel: Kernel,
        majority: np.ndarray,
        minority: np.ndarray | None = None,
        dictionary: np.ndarray | None = None,
    ) -> Gram:
        """Return the statistics of the rows; each row is a point, or the points are given.

        Parameters
        ----------
        kernel : Kernel
            Resolved.
        majority : ndarray of shape (n0, p)
        minority : ndarray of shape (n1, p), optional
            Rows that are the last points.
        dictionary : ndarray of shape (M - n1, p), optional
            The majority points u_j, where they are not the majority rows.
        """
        minority = majority[:0] if minority is None else minority
        if dictionary is None:
            points = Points.of(np.concatenate([majority, minority]) if len(minority) else majority)
            return cls.from_points(kernel, points, np.arange(len(majority)), len(minority))
        points = Points.of(np.concatenate([dictionary, minority]))
        T = float(kernel.diag(majority).sum())
        r = kernel.summed(majority, points.rows)
        return cls(kernel(points.rows), r, T, len(majority), points, kernel, len(minority))

    @classmethod
    def from_points(
        cls, kernel: Kernel, points: Points, member_of_row: np.ndarray, n1: int = 0
    ) -> Gram:
        """Return the statistics of rows that are members of points.

        Parameters
        ----------
        kernel : Kernel
            Resolved.
        points : Points
            Their members are the majority rows, without copies, and then the minority rows.
        member_of_row : ndarray of int, shape (n0,)
            The member that each majority row is.
        n1 : int, default=0
        """
        m = points.n_members(len(points) - n1)
        copies = points.copies[:m].astype(float)
        if points.single_members:
            K = kernel(points.rows)
            k = K[:, :m]
            r = k.sum(axis=1) if points.are_rows else k @ copies
            sums, squares = r[:m], np.square(k[:m]) @ copies
        else:
            R, M = len(points.rows), len(points)
            of_members, sums, squares = np.empty((R, M)), np.empty(R), np.empty(R)
            for block in _blocks(0, R, R):
                k = kernel(points.rows[block], points.rows)
                of_members[block] = points.mean(k)
                k = k[:, :m]
                sums[block] = k @ copies
                squares[block] = np.square(k, out=k) @ copies
            K = points.mean(of_members.T)
            K = (K + K.T) / 2.0
            r, sums, squares = points.mean(sums), sums[:m], squares[:m]
        T = float(kernel.diag(points.rows[:m]) @ copies)
        return cls(K, r, T, len(member_of_row), points, kernel, n1, member_of_row, sums, squares)


def squared_norm(w: np.ndarray, K: np.ndarray) -> np.ndarray:
    r"""Return :math:`\|a\|^2 = w^\top K w`, shape (..., M) -> (...)."""
    return np.einsum("...j,...j->...", w @ K, w)


def _blocks(start: int, stop: int, width: int) -> Iterator[slice]:
    """Yield blocks of rows with so many kernel values each."""
    step = max(1, BLOCK_VALUES // width)
    for first in range(start, stop, step):
        yield slice(first, min(first + step, stop))
