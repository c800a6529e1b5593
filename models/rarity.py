r"""How often the values of a row occur, column by column.

The log frequency of value v of a column is that of its neighbourhood among n majority
rows,

.. math:: \log\left(\#\{i : |x_i - v| \le h\} + \tfrac12\right), \qquad
    h = \tfrac14 (q_{.9} - q_{.1})\, n^{-1/3},

with :math:`q_{.1}, q_{.9}` the quantiles of the column. Where no row is near, it is
less by :math:`\log(g / h)`, with g the distance of the nearest value: half a row at
this distance. In a column of categories, or a constant one, only equal values are near,
and g / h is n for another value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

# difference, relative to the values of a column, below which values are equal
ROUNDED_VALUES = 1e-12
HALF_ROW = 0.5  # the rows near a value that has no row near
QUANTILES = (0.1, 0.9)


@dataclass(frozen=True, eq=False)
class _Column:
    """The sorted values of a column (n,), h, and the scale of g; 0 for no distance."""

    values: np.ndarray
    half_width: float
    scale: float

    @classmethod
    def of(cls, x: np.ndarray, is_category: bool) -> Self:
        values = np.sort(x)
        slope = len(x) ** (-1.0 / 3.0) / 4.0
        rounding = ROUNDED_VALUES * float(np.abs(values).max())
        if is_category or values[-1] - values[0] <= rounding:
            return cls(values, 0.0 if is_category else rounding, 0.0)
        low, high = np.quantile(values, QUANTILES)
        width = slope * float(high - low)
        return cls(values, width + rounding, width or slope * 2.0 * float(values.std()))

    def log_frequency(self, v: np.ndarray, itself: np.ndarray) -> np.ndarray:
        """Return the log frequency of values v, shape (m,)."""
        n = len(self.values)
        below = np.searchsorted(self.values, v - self.half_width, "left")
        upto = np.searchsorted(self.values, v + self.half_width, "right")
        near = np.maximum(upto - below - itself, 0)  # 0 for NaN
        away = np.full(len(v), float(n))
        if self.scale:
            first = np.searchsorted(self.values, v, "left")
            i = np.stack([first - 1, first + itself])  # the nearest other rows
            g = np.where((i >= 0) & (i < n), np.abs(v - self.values[i % n]), np.inf)
            away = np.maximum(g.min(axis=0) / self.scale, 1.0)
        found = np.log(near + HALF_ROW) - np.where(near == 0, np.log(away), 0.0)
        return np.where(np.isnan(v), np.log(n), found)


@dataclass(frozen=True, eq=False)
class Rarity:
    """How often values occur in the columns of majority rows; see the module.

    Attributes
    ----------
    columns : tuple
        One record for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.models.rarity import Rarity
    >>> rarity = Rarity.of(np.arange(100.0)[:, None], [False])
    >>> found = rarity.log_frequency(np.array([[50.0], [300.0]]))
    >>> np.exp(found).ravel().round(3).tolist()
    [9.5, 0.011]
    """

    columns: tuple[_Column, ...]

    @classmethod
    def of(cls, rows: np.ndarray, is_category: Sequence[bool]) -> Self:
        """Return the rarity in majority rows (n, p); some columns may be categories."""
        each = zip(rows.T.astype(float), is_category, strict=True)
        return cls(tuple(_Column.of(x[~np.isnan(x)], category) for x, category in each))

    def log_frequency(
        self, rows: np.ndarray, itself: np.ndarray | bool = False
    ) -> np.ndarray:
        """Return the log frequency of each value; a missing one is most frequent.

        Parameters
        ----------
        rows : ndarray of shape (m, p)
        itself : bool or ndarray of bool, shape (m,)
            Which rows are majority rows, and do not count themselves.

        Returns
        -------
        ndarray of shape (m, p)
        """
        own = np.broadcast_to(itself, len(rows)).astype(int)
        each = zip(self.columns, rows.T.astype(float), strict=True)
        return np.stack([column.log_frequency(v, own) for column, v in each], axis=1)
