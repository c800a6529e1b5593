"""What is usual in a column for rows that are like a row in its other columns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...models.kernels import RBF
from ...models.kernels.base import Wrapper
from ..fit import Fit

NEAREST = 30  # described rows that are like a row
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


def usual(fit: Fit, row: np.ndarray, columns: list[int]) -> list[Usual]:
    """Return what is usual for a row (p,) in some columns: in its nearest rows by the others.

    The nearest rows are those of the description, without the row itself, by the other factors of
    a kernel that is a product over columns, and else by squared distances.
    """
    kernel, known = fit.data.kernel, fit.data.rows[fit.data.described]
    if not kernel.separable:
        kernel = replace(kernel, kernel=RBF(1.0)) if isinstance(kernel, Wrapper) else RBF(1.0)
    known = known[(known != row).any(axis=1)]
    costs = np.array([cost[0] for cost in kernel.by_column(row[None], known)])
    total, categorical = costs.sum(axis=0), kernel.categorical_columns
    return [
        Usual(known[np.argsort(total - costs[f], kind="stable")[:NEAREST], f], f in categorical)
        for f in columns
    ]
