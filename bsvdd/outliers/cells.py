"""Which cells of a table are not what the other columns lead to.

Each column is explained by the others (:mod:`bsvdd.outliers.explained`). A row is odd
by its cells if its largest excess lies in the tail of those of all rows
(:mod:`bsvdd.outliers.tail`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ..tables.training import TrainingTable
from .explained import COUNTS, FOLLOWS, Explained, explanations, standard
from .odd_rows import OddRows
from .tail import NO_ODD_CELL, Tail

OFF = 1.0  # excess of a cell that may be wrong
AS_LITTLE = 0.1  # of the largest excess: columns of one equation leave the same
LARGEST_VALUE = 1e100  # whose square is a number
DIGITS = 4  # of what is expected in a unit, which is a text


@dataclass(frozen=True, eq=False)
class Cells:
    """How far the cells of a table are from what the other columns lead to.

    Attributes
    ----------
    given : TrainingTable
    is_category : ndarray of bool, shape (p,)
    learn : ndarray of bool, shape (n,)
        The rows that were learned from.
    by : sequence of int or None
        The columns that explain all others; None if each explains all others.
    found : dict of int to Explained
        What explains each column, without columns that are not judged.
    """

    given: TrainingTable
    is_category: np.ndarray
    learn: np.ndarray
    by: Sequence[int] | None
    found: dict[int, Explained]

    @classmethod
    def of(
        cls,
        given: TrainingTable,
        is_category: np.ndarray,
        learn: np.ndarray,
        by: Sequence[int] | None = None,
        step: Callable[[str], object] = str,
    ) -> Self:
        """Return the cells of a table.

        Parameters
        ----------
        given : TrainingTable
        is_category : ndarray of bool, shape (p,)
        learn : ndarray of bool, shape (n,)
            The rows that are learned from.
        by : sequence of int, optional
            The columns that explain all others. By default each explains all others.
        step : callable
            Is told the name of each column.

        Returns
        -------
        Cells
        """
        found = {}
        judged = (f for f in range(len(is_category)) if by is None or f not in by)
        for f, each in explanations(_values(given), is_category, learn, judged, by):
            step(f"column {given.frame.columns[f]!r}")
            if each is not None:
                found[f] = each
        return cls(given, is_category, learn, by, found)

    @cached_property
    def excess(self) -> np.ndarray:
        """The excess z of each cell, (n, p); NaN where a cell is not judged."""
        excess = np.full(self.given.values.shape, np.nan)
        for f, each in self.found.items():
            excess[:, f] = each.excess
        return excess

    def odd_rows(
        self, level: np.ndarray, normal: np.ndarray, far_only: bool
    ) -> OddRows:
        """Return the rows that are odd by the largest excess of their cells.

        The tail of a largest excess is exponential, or lighter, in z. A row that is odd
        as a whole counts in it only beyond all normal ones: a clump would be a bump.

        Parameters
        ----------
        level : ndarray of int, shape (n,)
            The stratum of each row, from 0.
        normal : ndarray of bool, shape (n,)
            Which rows are not odd as a whole.
        far_only : bool
            Whether rows are odd only beyond any tail.

        Returns
        -------
        OddRows
        """
        largest = np.nan_to_num(self.excess).max(axis=1, initial=0.0)
        counted = normal | (largest > largest[normal].max(initial=0.0))
        t = np.exp(largest[counted] / 2.0)
        tail = Tail.of(t, level=level[counted], none=NO_ODD_CELL)
        if far_only or tail is None:
            far = counted.copy()
            far[counted] = False if tail is None else tail.far
            return OddRows.of(None, far, level)
        found = OddRows.of(tail, np.zeros(len(t), dtype=bool), level[counted])
        odd = np.zeros(len(level))
        odd[counted] = found.probability
        for stratum in np.unique(level[~counted]):  # read off rows with equal cells
            own = level == stratum
            by = np.flatnonzero(own & counted)
            by = by[np.argsort(largest[by])]
            if len(by):
                rows = own & ~counted
                odd[rows] = np.interp(largest[rows], largest[by], odd[by])
        numbers = np.full((level.max() + 1, found.numbers.shape[1]), np.nan)
        numbers[: len(found.numbers)] = found.numbers
        return replace(found, probability=odd, numbers=numbers)

    @cached_property
    def unusual(self) -> np.ndarray:
        """How far each number is from the middle of its column, (n, p); 0 for others.

        It is in standard deviations of the middle part.
        """
        far = np.zeros(self.given.values.shape)
        for f, each in self.found.items():
            if each.how != COUNTS:
                x = self.given.values.iloc[:, f].to_numpy()
                far[:, f] = np.abs(standard(x)[:, 0])
        return far

    def suspects(self, rows: Sequence[int]) -> dict[int, list[int]]:
        """Return the columns that may be wrong in each of some rows.

        The largest excess of a row has a column, and columns that explain it. Each of
        these cells that is off is set to what the others lead to. The wrong one leaves
        the least excess in the row. In a relation any of its columns may be wrong, and
        all leave as little: the first is the one whose value is the most unusual.

        Parameters
        ----------
        rows : sequence of int

        Returns
        -------
        dict of int to list of int
            The first column is the one by which the row is odd. The others break a
            relation, as the first does. Rows without an excess are left out.
        """
        z = np.nan_to_num(self.excess)
        rows = [row for row in rows if z[row].any()]
        pairs: list[tuple[int, int]] = []
        for row in rows:
            first = int(z[row].argmax())
            near = sorted({first, *self.found[first].by})
            off = [f for f in near if f == first or z[row, f] >= OFF]
            pairs.extend((row, f) for f in off)
        if not pairs:
            return {}
        at, changed = np.transpose(pairs)
        values = _values(self.given)
        new = values[at]
        for i, (row, f) in enumerate(pairs):
            new[i, f] = self.found[f].expected[row]
        values = np.vstack([values, new])
        learn = np.pad(self.learn, (0, len(new)))
        left = z[at]
        of = self.is_category, learn, self.found, self.by
        for f, each in explanations(values, *of):
            assert each is not None  # of the same rows as before
            again = each.excess[len(self.learn) :]
            left[:, f] = np.where(np.isnan(again), left[:, f], again)
        left = left.max(axis=1)
        little = AS_LITTLE * z[at].max(axis=1)
        of_row: dict[int, list[int]] = {}
        for row in rows:
            own = at == row
            likely = changed[own][left[own] <= left[own].min() + little[own]]
            likely = likely[np.argsort(-self.unusual[row, likely], kind="stable")]
            first, *others = likely.tolist()
            others = [f for f in others if self.breaks(first) and self.breaks(f)]
            of_row[row] = [first, *others]
        return of_row

    def breaks(self, f: int) -> bool:
        """Return whether an excess in column f breaks a relation."""
        return self.found[f].how == COUNTS or self.found[f].explained >= FOLLOWS

    def expected(self, f: int) -> list[object]:
        """Return what the others lead to in column f, as cells of the table.

        It is None where a cell is not judged.
        """
        found = self.found[f]
        column = self.given.table.columns[f]
        values = self.given.values.iloc[:, f]
        cell: Callable[[float], object] = column.cell
        if found.how == COUNTS:
            cell = dict(zip(values, self.given.frame.iloc[:, f], strict=True)).get
        expected = found.expected
        if column.unit:
            expected = np.array([float(f"{v:.{DIGITS}g}") for v in expected])
        if not (values % 1.0).any():  # such as days, or pieces
            expected = expected.round()
        pairs = zip(expected, found.excess, strict=True)
        return [None if np.isnan(excess) else cell(v) for v, excess in pairs]


def _values(given: TrainingTable) -> np.ndarray:
    """Return the values (n, p) of a table, whose squares are numbers."""
    return given.values.to_numpy(float).clip(-LARGEST_VALUE, LARGEST_VALUE)
