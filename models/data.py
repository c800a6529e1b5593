"""What is known of the training rows before the weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self, TypeVar

import numpy as np

from .gram import Gram
from .kernels import Kernel
from .points import Points, Rows
from .units import Units

Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False)
class Filled:
    """Rows without gaps.

    Attributes
    ----------
    rows : ndarray of shape (m, p)
    which : ndarray of int, shape (g,)
        The rows that had gaps.
    versions : ndarray of shape (c, g, p)
        These, with c values in each gap.
    """

    rows: np.ndarray
    which: np.ndarray
    versions: np.ndarray

    @classmethod
    def whole(cls, rows: np.ndarray) -> Self:
        """Return rows that had no gap."""
        return cls(rows, np.empty(0, dtype=int), np.empty((1, 0, rows.shape[1])))


@dataclass(frozen=True, eq=False)
class Data:
    """The units of the rows, the kernels, the points, and which rows answer.

    Attributes
    ----------
    units : Units
    kernels : tuple of Kernel
        The column scales of kernels[f] are those without fold f, those of kernels[0]
        are those of all majority rows.
    points : Points
    first, row : ndarray of int, shape (a,) and (n,)
        Rows whose answers differ, and the number of each row among them. Rows with
        which nothing leaves are the last ones.
    """

    units: Units
    kernels: tuple[Kernel, ...]
    points: Points
    first: np.ndarray
    row: np.ndarray

    @classmethod
    def of(
        cls, kernel: Kernel, units: Units, minority: bool = False, most: int = 600
    ) -> Self:
        """Return the data of units.

        ``minority`` and ``most`` are those of :meth:`~bsvdd.models.points.Points.of`.
        """
        X = units.X
        i = units.majority
        kernel = kernel.fit(X[i], units.weight[i], units.unit[i])
        return cls.known(
            kernel, units, Points.of(kernel, kernel.inputs(X), units, minority, most)
        )

    @classmethod
    def known(cls, kernel: Kernel, units: Units, points: Points) -> Self:
        """Return the data of a fitted kernel and of points."""
        X = units.X
        t = units.weight
        i = units.majority
        fold = units.fold
        others = (i[fold[i] != f] for f in range(1, fold.max() + 1))
        kernels = kernel, *(kernel.taught(X[j], t[j]) for j in others)
        return cls(units, kernels, points, *units.answers())

    @property
    def kernel(self) -> Kernel:
        """The kernel of all majority rows."""
        return self.kernels[0]

    @cached_property
    def Y(self) -> tuple[np.ndarray, ...]:
        """The coordinates of the members of the points by each kernel, (R, q)."""
        members = self.units.X[self.points.members]
        return tuple(kernel.inputs(members) for kernel in self.kernels)

    @cached_property
    def gram(self) -> Gram:
        """The Gram statistics; a ValueError if the kernel has no finite values."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = Gram.of(self.kernel, self.Y[0], self.points)
        if not np.isfinite(gram.K).all():
            raise ValueError(
                f"{self.kernel!r} returned values that are not finite; scale the "
                "columns of X"
            )
        return gram

    @cached_property
    def rows(self) -> Rows:
        """The training rows whose answers differ and with which something leaves, each left out."""
        return self.left_out(self.first[self.units.unit[self.first] >= 0])

    def new(self, X: np.ndarray) -> Rows:
        """Return new rows X (m, p)."""
        Z = self.kernel.inputs(X)
        return self.points.rows(self.kernel, self.Y[0], Z, np.full(len(Z), -1))

    def left_out(self, which: np.ndarray, X: np.ndarray | None = None) -> Rows:
        """Return training rows ``which`` (m,), or X (m, p) in their place, each left out.

        The unit leaves the points, and with its fold the column scales.
        """
        return Rows.joined(self.by_fold(self.points.rows, which, X))

    def by_fold(
        self,
        of_rows: Callable[[Kernel, np.ndarray, np.ndarray, np.ndarray], Answer],
        which: np.ndarray,
        X: np.ndarray | None = None,
    ) -> Iterator[tuple[np.ndarray, Answer]]:
        """Yield the places in ``which`` of each fold, and of_rows(kernel, Y, rows, units) there."""
        fold = self.units.fold[which]
        X = self.units.X[which] if X is None else X
        for f in np.unique(fold):
            i = np.flatnonzero(fold == f)
            kernel = self.kernels[f]
            yield (
                i,
                of_rows(
                    kernel, self.Y[f], kernel.inputs(X[i]), self.units.unit[which[i]]
                ),
            )
