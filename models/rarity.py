r"""How often the values of a row occur, column by column.

The log frequency of value v of a column is that of its neighbourhood among n majority rows,

.. math:: \log\left(\#\{i : |x_i - v| \le h\} + \tfrac12\right), \qquad
    h = \tfrac14 (q_{.9} - q_{.1})\, n^{-1/3},

with :math:`q_{.1}, q_{.9}` the quantiles of the column. Where no row is near, it is less by
:math:`\log(g / h)`, with g the distance of the nearest value: half a row at this distance. A
category, and a value of a constant column, is near to itself alone, and g / h is n for another.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

ROUNDING = 1e-12  # relative to the values of a column, below which values are equal
HALF = 0.5  # of a row is near to a value that no row is near to
QUANTILES = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class _Column:
    """The sorted values of a column (n,), h, and the unit of gaps (0: gaps have no size)."""

    values: np.ndarray
    half_width: float
    unit: float

    @classmethod
    def of(cls, x: np.ndarray, is_category: bool) -> Self:
        values, slope = np.sort(x), len(x) ** (-1.0 / 3.0) / 4.0
        rounding = ROUNDING * float(np.abs(values).max())
        if is_category or values[-1] - values[0] <= rounding:
            return cls(values, 0.0 if is_category else rounding, 0.0)
        low, high = np.quantile(values, QUANTILES)
        width = slope * float(high - low)
        return cls(values, width + rounding, width or slope * 2.0 * float(values.std()))

    def near(self, v: np.ndarray, itself: np.ndarray) -> np.ndarray:
        """Return the number of rows near to v (m,), without the row itself if it is one."""
        below = np.searchsorted(self.values, v - self.half_width, "left")
        return np.searchsorted(self.values, v + self.half_width, "right") - below - itself

    def larger(self, v: np.ndarray) -> np.ndarray:
        """Return the number of rows that are larger than v (m,) and not near to it."""
        return len(self.values) - np.searchsorted(self.values, v + self.half_width, "right")

    def gap(self, v: np.ndarray, itself: np.ndarray) -> np.ndarray:
        """Return the distance of the nearest row, in units; at least 1."""
        n = len(self.values)
        if not self.unit:
            return np.full(len(v), float(n))
        first = np.searchsorted(self.values, v, "left")
        others = first - 1, first + itself
        d = [np.where((i >= 0) & (i < n), np.abs(v - self.values[i % n]), np.inf) for i in others]
        return np.maximum(np.minimum(*d) / self.unit, 1.0)


@dataclass(frozen=True, eq=False)
class Rarity:
    """How often values occur in the columns of majority rows; see the module.

    Attributes
    ----------
    n : int
        Number of majority rows.
    columns : tuple
        One record for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.models.rarity import Rarity
    >>> rarity = Rarity.of(np.arange(100.0)[:, None])
    >>> rarity.near(np.array([[50.0], [300.0]])).ravel().tolist()
    [9, 0]
    """

    n: int
    columns: tuple[_Column, ...]

    @classmethod
    def of(cls, rows: np.ndarray, categorical: tuple[int, ...] = ()) -> Self:
        """Return the rarity in majority rows (n, p), some of whose columns are categories."""
        columns = (_Column.of(x.astype(float), f in categorical) for f, x in enumerate(rows.T))
        return cls(len(rows), tuple(columns))

    def near(self, rows: np.ndarray, itself: np.ndarray | bool = False) -> np.ndarray:
        """Return how many majority rows have a value near to each value, shape (rows, p).

        ``itself`` says which rows are majority rows, and do not count themselves.
        """
        own = np.broadcast_to(itself, len(rows)).astype(int)
        each = zip(self.columns, rows.T.astype(float), strict=True)
        return np.column_stack([column.near(v, own) for column, v in each])

    def larger(self, rows: np.ndarray) -> np.ndarray:
        """Return how many majority rows are larger and not near, shape (rows, p)."""
        each = zip(self.columns, rows.T.astype(float), strict=True)
        return np.column_stack([column.larger(v) for column, v in each])

    def log_frequency(self, rows: np.ndarray, itself: np.ndarray | bool = False) -> np.ndarray:
        """Return the log frequency of each value, shape (rows, p); ``itself`` as in ``near``."""
        near, own = self.near(rows, itself), np.broadcast_to(itself, len(rows)).astype(int)
        result: np.ndarray = np.log(near + HALF)
        for f, column in enumerate(self.columns):
            alone = near[:, f] == 0
            if alone.any():
                gap = column.gap(rows[alone, f].astype(float), own[alone])
                result[alone, f] -= np.log(gap)
        return result
