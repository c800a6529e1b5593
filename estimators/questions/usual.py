"""What is usual in a column for rows that are like a row in its other columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from ...models.kernels import RBF
from ...models.kernels.base import Wrapper
from ..fit import Fit

NEAREST = 30  # described rows that are like a row
FEW = 3  # of them that tell whether a row is odd: with more, one that is alone looks odd in all
RANGE = 0.05, 0.95  # quantiles of their values
LEVELS, LEAST = 2, 0.1  # categories that are named, and the least share of one that is usual


@dataclass(frozen=True, eq=False)
class Usual:
    """The values of one column in the rows that are like a row.

    Attributes
    ----------
    near : ndarray of shape (m,)
        Their values.
    is_category : bool
    """

    near: np.ndarray
    is_category: bool

    @property
    def values(self) -> list[float]:
        """The ends of the middle 90 % of numbers; the most frequent categories."""
        if not self.is_category:
            ends: list[float] = np.quantile(self.near, RANGE, method="nearest").tolist()
            return ends
        levels, counts = np.unique(self.near, return_counts=True)
        most: list[float] = levels[np.argsort(-counts, kind="stable")[:LEVELS]].tolist()
        return most

    def has(self, value: float) -> bool:
        """Return whether a value is usual."""
        if self.is_category:
            return bool((self.near == value).mean() >= LEAST)
        low, high = self.values
        return low <= value <= high


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The described rows, in the columns one by one, beside a row.

    Attributes
    ----------
    fit : Fit
    rows : ndarray of shape (n, p)
        NaN in their gaps.
    costs : ndarray of shape (p, n)
        How far each column takes the row from them, in logarithms of the kernel.
    left : tuple of int
        The columns that tell which rows are like the row.
    """

    fit: Fit
    rows: np.ndarray
    costs: np.ndarray
    left: tuple[int, ...]

    @classmethod
    def of(cls, fit: Fit, row: np.ndarray) -> Self:
        """Return the described rows, without the row (p,) itself.

        The costs are of the factors of a kernel that is a product over columns, else squared
        distances.
        """
        data, kernel = fit.data, fit.data.kernel
        known = data.rows[data.described]
        if not kernel.separable:
            kernel = replace(kernel, kernel=RBF(1.0)) if isinstance(kernel, Wrapper) else RBF(1.0)
        others = (known != row).any(axis=1)
        known = known[others]
        # a kernel may use one array for all columns
        costs = np.array([cost[0].copy() for cost in kernel.by_column(row[None], known)])
        observed = data.observed[data.described][others]
        return cls(fit, observed, costs, tuple(range(len(costs))))

    def without(self, column: int) -> Self:
        """Return the same rows, judged by the other columns."""
        return replace(self, left=tuple(f for f in self.left if f != column))

    @cached_property
    def total(self) -> np.ndarray:
        """How far the row is from each, shape (n,)."""
        total: np.ndarray = self.costs[list(self.left)].sum(axis=0)
        return total

    def usual(self, column: int) -> Usual:
        """Return what is usual in a column: in the nearest rows by the others, without gaps."""
        others = self.total - self.costs[column] * (column in self.left)
        values = self.rows[np.argsort(others, kind="stable"), column]
        near = values[~np.isnan(values)][:NEAREST]
        return Usual(near, column in self.fit.data.kernel.categorical_columns)

    def nearer(self, column: int) -> float:
        """Return by how much the nearest rows get nearer without a column.

        It says how odd the value is, given the others.
        """
        return _few(self.total) - _few(self.total - self.costs[column])


def _few(costs: np.ndarray) -> float:
    """Return the mean cost of the nearest rows."""
    return float(np.partition(costs, min(FEW, len(costs)) - 1)[:FEW].mean())
