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
class Data:
    """The units of the rows, the kernels, the points, and which rows answer.

    Attributes
    ----------
    units : Units
    kernels : tuple of Kernel
        The column scales of kernels[f] are those without fold f, those of kernels[0] are those of
        all majority rows.
    points : Points
    first, row : ndarray of int, shape (a,) and (n,)
        Rows whose answers differ when they leave, and the number of each row among them.
    """

    units: Units
    kernels: tuple[Kernel, ...]
    points: Points
    first: np.ndarray
    row: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, units: Units, minority: bool = False, most: int = 600) -> Self:
        """Return the data of units; ``minority`` and ``most`` are those of :meth:`Points.of`."""
        X, t, i, fold = units.X, units.weight, units.majority, units.fold
        kernel = kernel.fit(X[i], t[i], units.unit[i])
        others = (i[fold[i] != f] for f in range(1, fold.max() + 1))
        kernels = kernel, *(kernel.taught(X[j], t[j]) for j in others)
        points = Points.of(kernel, kernel.inputs(X), units, minority, most)
        return cls(units, kernels, points, *units.answers())

    @property
    def kernel(self) -> Kernel:
        """The kernel of all majority rows."""
        return self.kernels[0]

    @cached_property
    def Z(self) -> tuple[np.ndarray, ...]:
        """The coordinates of the training rows by each kernel, (n, q)."""
        return tuple(kernel.inputs(self.units.X) for kernel in self.kernels)

    @cached_property
    def gram(self) -> Gram:
        """The Gram statistics."""
        return Gram.of(self.kernel, self.Z[0], self.points)

    @cached_property
    def rows(self) -> Rows:
        """The answers of training rows that differ, each left out."""
        return self.left_out(self.first)

    def new(self, X: np.ndarray) -> Rows:
        """Return new rows X (m, p)."""
        Z = self.kernel.inputs(X)
        return self.points.rows(self.kernel, self.Z[0], Z, np.full(len(Z), -1))

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
        """Yield the places in ``which`` of each fold, and of_rows(kernel, Z, rows, units) there."""
        fold = self.units.fold[which]
        for f in np.unique(fold):
            i, kernel, Z = np.flatnonzero(fold == f), self.kernels[f], self.Z[f]
            rows = Z[which[i]] if X is None else kernel.inputs(X[i])
            yield i, of_rows(kernel, Z, rows, self.units.unit[which[i]])
