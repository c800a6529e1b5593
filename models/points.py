r"""The points of a centre: rows, and means of groups of rows in kernel space.

A point is the mean of the images of :math:`n_g` rows,

.. math:: u_g = \frac{1}{n_g} \sum_{i \in g} \varphi(x_i), \qquad
    k(u_g, z) = \frac{1}{n_g} \sum_{i \in g} k(x_i, z),

so every row counts, and rows that are equal count alike. With one row each, the points are the
rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from .kernels import Kernel


@dataclass(frozen=True, eq=False)
class Points:
    """The points of a centre, by the rows that they are means of.

    Attributes
    ----------
    rows : ndarray of shape (R, p)
        The members of the points, those of one point side by side: rows, or sets of equal rows.
    copies : ndarray of int, shape (R,)
        The number of equal rows that each member stands for.
    starts : ndarray of int, shape (M,)
        The first member of each point.
    """

    rows: np.ndarray
    copies: np.ndarray
    starts: np.ndarray

    def __post_init__(self) -> None:
        if not len(self.rows) == len(self.copies) >= len(self.starts) > 0:
            raise ValueError(
                f"{len(self.starts)} points have {len(self.rows)} rows and {len(self.copies)} "
                "numbers of copies; expected one number for each row, and a row for each point"
            )

    @classmethod
    def of(cls, rows: np.ndarray) -> Self:
        """Return points that are single rows."""
        return cls(rows, np.ones(len(rows), dtype=int), np.arange(len(rows)))

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, which: np.ndarray | slice) -> Self:
        """Return some of the points."""
        if self.single_members:
            rows, copies = self.rows[which], self.copies[which]
            return type(self)(rows, copies, np.arange(len(rows)))
        of_point = self.members_per_point[which]
        first = np.cumsum(of_point) - of_point
        members = np.arange(of_point.sum()) + np.repeat(self.starts[which] - first, of_point)
        return type(self)(self.rows[members], self.copies[members], first)

    @classmethod
    def joined(cls, first: Self, second: Self) -> Self:
        """Return the points of both, those of the second last."""
        return cls(
            np.concatenate([first.rows, second.rows]),
            np.concatenate([first.copies, second.copies]),
            np.concatenate([first.starts, second.starts + len(first.rows)]),
        )

    def without(self, member: int) -> Self:
        """Return the points without one of the rows that a member stands for."""
        copies = self.copies.copy()
        copies[member] -= 1
        return replace(self, copies=copies)

    @cached_property
    def single_members(self) -> bool:
        """Whether each point has one member."""
        return len(self.rows) == len(self.starts)

    @cached_property
    def are_rows(self) -> bool:
        """Whether each point is one row."""
        return self.single_members and bool((self.copies == 1).all())

    @cached_property
    def sizes(self) -> np.ndarray:
        """The number of rows of each point, shape (M,)."""
        sizes: np.ndarray = np.add.reduceat(self.copies, self.starts)
        return sizes

    @cached_property
    def members_per_point(self) -> np.ndarray:
        """The number of members of each point, shape (M,)."""
        return np.diff(self.starts, append=len(self.rows))

    @cached_property
    def point_of_member(self) -> np.ndarray:
        """The point of each member, shape (R,)."""
        return np.repeat(np.arange(len(self)), self.members_per_point)

    def of_members(self, members: np.ndarray) -> np.ndarray:
        """Return the points that members belong to; -1 for no member, -1."""
        return np.where(members >= 0, self.point_of_member[members], -1)

    def n_members(self, n: int) -> int:
        """Return the number of members of the first n points."""
        return len(self.rows) if n == len(self) else int(self.starts[n])

    def members_of(self, points: np.ndarray) -> np.ndarray:
        """Return the members of some points, in ascending order."""
        if self.single_members:
            return np.sort(points)
        return np.flatnonzero(np.isin(self.point_of_member, points))

    @cached_property
    def share(self) -> np.ndarray:
        """The share of each member in its point, shape (R,); those of a point sum to one."""
        return self.copies / np.maximum(self.sizes, 1)[self.point_of_member]

    def mean(self, of_members: np.ndarray) -> np.ndarray:
        """Return the means (..., M) over the rows of each point, of values (..., R)."""
        if self.single_members:
            return of_members
        means: np.ndarray = np.add.reduceat(of_members * self.share, self.starts, axis=-1)
        return means

    def k(self, kernel: Kernel, rows: np.ndarray) -> np.ndarray:
        """Return the kernel values (m, M) of rows (m, p) with the points."""
        return self.mean(kernel(rows, self.rows))

    def log_k(self, kernel: Kernel, rows: np.ndarray) -> np.ndarray:
        """Return the logarithms of :meth:`k`, without underflow."""
        return self.log_mean(kernel.log(rows, self.rows))

    def log_mean(self, of_members: np.ndarray) -> np.ndarray:
        """Return the logarithms (m, M) of the means of values, from their logarithms (m, R)."""
        if self.single_members:
            return of_members
        largest = np.maximum.reduceat(of_members, self.starts, axis=1)
        shift = np.where(np.isneginf(largest), 0.0, largest)
        k = np.exp(of_members - shift[:, self.point_of_member])
        with np.errstate(divide="ignore"):
            return np.log(self.mean(k)) + shift
