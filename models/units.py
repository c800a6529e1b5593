"""Units: what leaves together, a row or a batch of rows, and what each weighs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd

FOLDS = 10
FEWEST = 3  # rows in effect


@dataclass(frozen=True, eq=False)
class Units:
    """Rows, their weights, and the unit of each.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    minority : ndarray of bool, shape (n,)
    weight : ndarray of shape (n,)
        Of mean 1 over the majority rows that have one.
    unit : ndarray of int, shape (n,)
        -1 where no row of the unit has a weight: nothing leaves with such rows.
    rank : ndarray of int, shape (n,)
        The place of a row in an order of values, in which units are numbered too: no
        answer depends on the order of the rows.
    """

    X: np.ndarray
    minority: np.ndarray
    weight: np.ndarray
    unit: np.ndarray
    rank: np.ndarray

    @classmethod
    def of(
        cls, X: np.ndarray, minority: Any = None, weight: Any = None, groups: Any = None
    ) -> Self:
        """Return the units of rows X (n, p).

        Parameters
        ----------
        X : ndarray of shape (n, p)
        minority : array-like of bool, shape (n,), optional
        weight : array-like of shape (n,), optional
            Only ratios count; 0 for rows that teach nothing.
        groups : array-like of shape (n,), optional
            Rows of one label leave together; by default each row leaves alone.

        Raises
        ------
        ValueError
            A length differs, a weight is negative, missing or infinite, fewer than 3
            majority rows have a weight in effect, a group is missing, or there is one
            group only.
        """
        n = len(X)
        minor = (
            np.zeros(n, dtype=bool)
            if minority is None
            else np.asarray(minority, dtype=bool)
        )
        t = _weights(weight, minor)
        label = np.arange(n) if groups is None else _labels(groups, n)
        if len(np.unique(label[~minor & (t > 0)])) < 2:
            raise ValueError(
                "groups: all majority rows that have a weight are of one group, so "
                "nothing stays when it leaves; give two groups or more, or no groups"
            )
        X = X + 0.0  # -0.0 is 0.0
        X.setflags(write=False)
        order = np.lexsort((label, t, *X.T[::-1], t == 0.0))
        counted = pd.unique(label[order][t[order] > 0])
        unit = pd.Index(counted).get_indexer(label)
        return cls(X, minor, t / t[~minor & (t > 0)].mean(), unit, np.argsort(order))

    def __len__(self) -> int:
        return int(self.unit.max()) + 1

    def counted(self, which: np.ndarray) -> np.ndarray:
        """Return the rows among ``which`` (n,) that have a weight, in the order of their ranks."""
        found = np.flatnonzero(which & (self.weight > 0))
        return found[np.argsort(self.rank[found])]

    @cached_property
    def majority(self) -> np.ndarray:
        """The majority rows that have a weight."""
        return self.counted(~self.minority)

    @cached_property
    def taught(self) -> np.ndarray:
        """The units that teach the kernel, in the order of their smallest rows."""
        return np.asarray(pd.unique(self.unit[self.majority]))

    @cached_property
    def batch(self) -> np.ndarray:
        """The unit (n,) of each row if several of its rows teach the kernel, else -1."""
        number = np.bincount(self.unit[self.majority], minlength=len(self) + 1)
        return np.where(number > 1, np.arange(len(number)), -1)[self.unit]

    @cached_property
    def fold(self) -> np.ndarray:
        """The fold 1, ..., 10 of each row (n,); 0 if nothing of its unit teaches the kernel."""
        fold = np.zeros(len(self) + 1, dtype=int)
        fold[self.taught] = np.arange(len(self.taught)) % FOLDS + 1
        return fold[self.unit]

    @cached_property
    def mass(self) -> np.ndarray:
        """What each row (n,) counts in a cutoff: a unit the mean weight of its rows."""
        side = 2 * self.unit + self.minority + 2
        mass = self.weight / np.maximum(np.bincount(side, self.weight > 0)[side], 1.0)
        return mass * (len(self.taught) / mass[self.majority].sum())

    @cached_property
    def in_effect(self) -> float:
        """The effective number of the majority's units in a cutoff (Kish 1965)."""
        return effective(
            np.bincount(self.unit[self.majority], self.mass[self.majority])
        )

    @cached_property
    def value(self) -> np.ndarray:
        """The number (n,) of each row among the distinct ones."""
        order = np.argsort(self.rank)
        new = (self.X[order[1:]] != self.X[order[:-1]]).any(axis=1)
        return np.append(0, np.cumsum(new))[self.rank]

    def answers(self) -> tuple[np.ndarray, np.ndarray]:
        """Return rows whose answers differ, and the number (n,) of each; the last leave nothing."""
        alone = np.bincount(self.unit + 1)[self.unit + 1] == 1
        kind = np.column_stack(
            [
                self.unit < 0,
                self.minority,
                self.value,
                np.where(alone, -1, self.unit),
                self.weight,
            ]
        )
        order = np.argsort(self.rank)
        _, first, row = np.unique(
            kind[order], axis=0, return_index=True, return_inverse=True
        )
        return order[first], row.reshape(-1)[self.rank]


def effective(weight: np.ndarray) -> float:
    """Return the effective number of weights (Kish 1965), (sum t)^2 / sum t^2; 0 of none."""
    return float(weight.sum() ** 2 / ((weight**2).sum() or 1.0))


def _weights(weight: Any, minority: np.ndarray) -> np.ndarray:
    """Return the weights as numbers (n,), checked."""
    n = len(minority)
    t = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    if t.shape != (n,):
        raise ValueError(
            f"sample_weight must be {n} numbers, one for each row, got {t.shape}"
        )
    if not (np.isfinite(t) & (t >= 0.0)).all():
        bad = np.flatnonzero(~(np.isfinite(t) & (t >= 0.0)))
        raise ValueError(
            f"sample_weight must be finite numbers of at least 0, got {t[bad[0]]} for "
            f"row {bad[0]}; 0 is the weight of a row that does not count"
        )
    largest = t[~minority].max(initial=0.0)
    if weight is not None and not largest:
        raise ValueError(
            "sample_weight: all majority rows have the weight zero; give them weights"
        )
    of_majority = t[~minority] / (largest or 1.0)
    in_effect = effective(of_majority)
    if in_effect < FEWEST * (1.0 - 1e-9):
        with_weight = int((of_majority > 0.0).sum())
        raise ValueError(
            f"a description needs {FEWEST} majority rows or more, got {with_weight}"
            + ("" if weight is None else f" with a weight, {in_effect:.2g} in effect")
        )
    return t / largest


def _labels(groups: Any, n: int) -> np.ndarray:
    """Return the labels of groups as whole numbers (n,), checked."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must be {n} labels, one for each row, got {labels.shape}"
        )
    gaps = np.flatnonzero(pd.isna(labels))
    if len(gaps):
        raise ValueError(
            f"groups: row {gaps[0]} has no group; name its group, or give it one of "
            "its own"
        )
    codes, _ = pd.factorize(labels, sort=True)
    return np.asarray(codes)
