"""Rows, what each weighs, and the group of each: a group leaves whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

N_FOLDS = 10
FEWEST_ROWS = 3  # in effect
LEAST_WEIGHT = 1e-100  # relative to the largest: squares of smaller ones vanish
Moves = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """Rows without missing cells.

    Attributes
    ----------
    X : ndarray of shape (m, p)
    which : ndarray of int, shape (g,)
        The rows that had missing cells.
    copies : ndarray of shape (c, g, p)
        c imputations of these rows.
    moves : callable, optional
        Takes places (b,), and returns by how much the rows there are uncertain: draws
        of moves (K, b, p).
    """

    X: np.ndarray
    which: np.ndarray
    copies: np.ndarray
    moves: Moves | None = None

    @classmethod
    def of(cls, X: np.ndarray) -> Self:
        """Return rows of which no cell was missing."""
        return cls(X, np.empty(0, dtype=int), np.empty((1, 0, X.shape[1])))


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Rows, their weights and groups. A row without a group is a group of one.

    Attributes
    ----------
    X : ndarray of shape (n, p)
    minority : ndarray of bool, shape (n,)
    weight : ndarray of shape (n,)
        Of mean 1 over the majority rows that have one.
    group : ndarray of int, shape (n,)
        -1 where no row of the group has a weight: nothing leaves with such rows.
    rank : ndarray of int, shape (n,)
        The place of a row in an order of values. Groups are numbered in this order, so
        no answer depends on the order of the rows.
    copies : ndarray of shape (c, g, p)
        c imputations of the rows ``incomplete`` that had missing cells.
    incomplete : ndarray of int, shape (g,)
    """

    X: np.ndarray
    minority: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    rank: np.ndarray
    copies: np.ndarray
    incomplete: np.ndarray

    @classmethod
    def of(
        cls,
        X: np.ndarray | CompleteRows,
        minority: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        fewest: int = FEWEST_ROWS,
        **more: Any,
    ) -> Self:
        """Return rows X (n, p) with their weights and groups.

        Parameters
        ----------
        X : ndarray of shape (n, p), or CompleteRows
        minority : array-like of bool, shape (n,), optional
        weight : array-like of shape (n,), optional
            Only ratios count; 0 for rows that do not count.
        groups : array-like of shape (n,), optional
            Rows of one label leave together; by default each row leaves alone.
        fewest : int, default=3
            Majority rows in effect.
        **more
            Fields of a subclass.

        Returns
        -------
        Rows

        Raises
        ------
        ValueError
            A length differs, a weight is negative, missing or infinite, fewer than
            ``fewest`` majority rows have a weight in effect, a group is missing, or
            there is one group only.
        """
        complete = X if isinstance(X, CompleteRows) else CompleteRows.of(X)
        X = complete.X + 0.0  # -0.0 is 0.0
        n = len(X)
        minor = np.zeros(n, dtype=bool)
        if minority is not None:
            minor = np.asarray(minority, dtype=bool)
        t = _relative_weights(weight, minor, fewest)
        label = np.arange(n) if groups is None else _group_codes(groups, n)
        if groups is not None and len(np.unique(label[~minor & (t > 0)])) < 2:
            raise ValueError(
                "groups: all majority rows that have a weight are of one group, so "
                "nothing stays when it leaves; give two groups or more, or no groups"
            )
        X.setflags(write=False)
        order = np.lexsort((label, t, *X.T[::-1], t == 0.0))
        counted = pd.unique(label[order][t[order] > 0])
        return cls(
            X=X,
            minority=minor,
            weight=t / t[~minor & (t > 0)].mean(),
            group=pd.Index(counted).get_indexer(label),
            rank=np.argsort(order),
            copies=complete.copies,
            incomplete=complete.which,
            **more,
        )

    @property
    def n_groups(self) -> int:
        """The number of groups that have a weight."""
        return int(self.group.max()) + 1

    @property
    def moves(self) -> Moves | None:
        """By how much rows are uncertain, as in :class:`CompleteRows`; here nothing."""
        return None

    # names

    @property
    def row_names(self) -> np.ndarray:
        """The names of the rows, (n,): here their numbers."""
        return np.arange(len(self.X))

    @cached_property
    def unique_names(self) -> np.ndarray:
        """The names of the rows, (n,); their numbers where several have one name."""
        names = self.row_names
        return names if pd.Index(names).is_unique else np.arange(len(names))

    def in_order(self, name: str, values: Any) -> np.ndarray:
        """Return values of the training rows in their order.

        Parameters
        ----------
        name : str
            What the values are, for errors.
        values : float, array-like of shape (n,) or (n, n), Series, DataArray or dict
            With names they are matched by the names of the rows, else by order.

        Returns
        -------
        ndarray of shape (), (n,) or (n, n)

        Raises
        ------
        ValueError
            There is not one value for each row.
        """
        n = len(self.X)
        named = named_values(name, values)
        if named is not None:
            values = np.array(list(named.values()), dtype=float)
            values = values[matched(name, list(named), self.unique_names)]
        v = np.asarray(values, dtype=float)
        if v.ndim and v.shape != (n,) * v.ndim:
            raise ValueError(
                f"{name} must be a number or have one value for each of the {n} "
                f"training rows, got shape {v.shape}"
            )
        return v

    @cached_property
    def majority(self) -> np.ndarray:
        """The majority rows that have a weight, by their ranks."""
        found = np.flatnonzero(~self.minority & (self.weight > 0))
        return found[np.argsort(self.rank[found])]

    @cached_property
    def majority_groups(self) -> np.ndarray:
        """The groups of the majority, in the order of their smallest rows."""
        return np.asarray(pd.unique(self.group[self.majority]))

    @cached_property
    def shared_group(self) -> np.ndarray:
        """The group (n,) of each row if several of its majority rows count, else -1."""
        number = np.bincount(self.group[self.majority], minlength=self.n_groups + 1)
        return np.where(number > 1, np.arange(len(number)), -1)[self.group]

    @cached_property
    def fold(self) -> np.ndarray:
        """The fold 1, ..., 10 of each row (n,); 0 if its group has no majority row."""
        fold = np.zeros(self.n_groups + 1, dtype=int)
        places = np.arange(len(self.majority_groups))
        fold[self.majority_groups] = places % N_FOLDS + 1
        return fold[self.group]

    @cached_property
    def mass(self) -> np.ndarray:
        """What each row (n,) counts in a cutoff.

        A group counts as the mean weight of its rows.
        """
        side = 2 * (self.group + 1) + self.minority  # a group has a side of each class
        mass = self.weight / np.maximum(np.bincount(side, self.weight > 0)[side], 1.0)
        return mass * (len(self.majority_groups) / mass[self.majority].sum())

    @cached_property
    def effective_groups(self) -> float:
        """The effective number of the majority's groups in a cutoff (Kish 1965)."""
        mass = self.mass[self.majority]
        return effective_number(np.bincount(self.group[self.majority], mass))

    @cached_property
    def distinct(self) -> np.ndarray:
        """The number (n,) of each row's values among the distinct ones."""
        order = np.argsort(self.rank)
        new = (self.X[order[1:]] != self.X[order[:-1]]).any(axis=1)
        return np.append(0, np.cumsum(new))[self.rank]

    @cached_property
    def problems(self) -> tuple[np.ndarray, np.ndarray]:
        """``first`` (a,), one row for each left-out problem, and ``row`` (n,).

        ``row[i]`` is the problem of row i. Rows of one problem have the same values,
        class and weight, and the same group if several rows have it. Problems with
        which nothing leaves are the last.
        """
        group = self.group
        alone = np.bincount(group + 1)[group + 1] == 1
        shared = np.where(alone, -1, group)
        parts = [group < 0, self.minority, self.distinct, shared, self.weight]
        order = np.argsort(self.rank)
        problem = np.column_stack(parts)[order]
        _, first, row = np.unique(
            problem, axis=0, return_index=True, return_inverse=True
        )
        return order[first], row.reshape(-1)[self.rank]


def named_values(about: str, values: Any) -> dict[str, Any] | None:
    """Return values by the texts of their names; None where they have no names.

    Raises
    ------
    ValueError
        Two values have one name, or there are several columns or dimensions.
    """
    of_pandas = isinstance(values, pd.Series | pd.DataFrame)
    of_xarray = hasattr(values, "to_series") and not isinstance(values, pd.Index)
    if not isinstance(values, Mapping) and not of_pandas and not of_xarray:
        return None
    if isinstance(values, Mapping):
        names = list(values)
        numbers = list(values.values())
    elif values.ndim != 1:
        raise ValueError(
            f"{about} has {values.ndim} dimensions; give one column, such as "
            "frame['column'], or .to_numpy() for values in the order of the rows"
        )
    else:
        named = values if isinstance(values, pd.Series) else values.to_series()
        names = named.index.tolist()
        numbers = named.tolist()
    texts = pd.Index([str(name) for name in names])
    if not texts.is_unique:
        raise ValueError(
            f"{about}: two values have the name {texts[texts.duplicated()][0]!r}; give "
            "names that differ, or .to_numpy() for values in the order of the rows"
        )
    return dict(zip(texts, numbers, strict=True))


def matched(about: str, given: Sequence[Any], own: np.ndarray) -> np.ndarray:
    """Return the places in ``given`` of the names ``own``.

    Names are compared as texts. Where none matches, or rows have no names of their own,
    as many names 0, 1, 2, ... stand for the order.

    Raises
    ------
    ValueError
        A name has no match.
    """
    theirs = pd.Index([str(name) for name in given])
    ours = pd.Index([str(name) for name in own])
    as_many = len(theirs) == len(ours)
    numbers = pd.Index([str(i) for i in range(len(ours))])
    if theirs.is_unique and (as_many or not ours.equals(numbers)):
        found = theirs.get_indexer(ours)
        if (found >= 0).all():
            return np.asarray(found)
    if as_many and theirs.equals(numbers) and not theirs.isin(ours).any():
        return np.arange(len(ours))
    lacking = ", ".join(repr(name) for name in ours.difference(theirs, sort=False)[:3])
    raise ValueError(
        f"{about}: expected one for each of the {len(ours)} names of the fit, got "
        f"{len(theirs)} names"
        + (f"; there is none for {lacking}" if lacking else "")
        + "; values without names are matched by their order"
    )


def effective_number(weight: np.ndarray) -> float:
    """Return the effective number of weights, (sum t)^2 / sum t^2 (Kish 1965)."""
    return float(weight.sum() ** 2 / ((weight**2).sum() or 1.0))


def midranks(weight: np.ndarray) -> np.ndarray:
    """Return the weight before each of sorted values, and half of its own, (n,)."""
    ranks: np.ndarray = np.cumsum(weight) - weight / 2.0
    return ranks


def _relative_weights(
    weight: ArrayLike | None, minority: np.ndarray, fewest: int
) -> np.ndarray:
    """Return the weights relative to the majority's largest (n,), checked."""
    n = len(minority)
    t = np.ones(n) if weight is None else np.asarray(weight, dtype=float)
    if t.shape != (n,):
        raise ValueError(
            f"sample_weight must be {n} numbers, one for each row, got {t.shape}"
        )
    allowed = np.isfinite(t) & (t >= 0.0)
    if not allowed.all():
        bad = np.flatnonzero(~allowed)[0]
        raise ValueError(
            f"sample_weight must be finite numbers of at least 0, got {t[bad]} for row "
            f"{bad}; 0 is the weight of a row that does not count"
        )
    largest = t[~minority].max(initial=0.0)
    if weight is not None and not largest:
        raise ValueError(
            "sample_weight: all majority rows have the weight zero; give them weights"
        )
    of_majority = t[~minority] / (largest or 1.0)
    in_effect = effective_number(of_majority)
    if in_effect < fewest * (1.0 - 1e-9):
        with_weight = int((of_majority > 0.0).sum())
        effect = f" with a weight, {in_effect:.2g} in effect"
        raise ValueError(
            f"a description needs {fewest} majority rows or more, got "
            f"{with_weight}{effect * (weight is not None)}"
        )
    t = t / largest
    return np.where(t < LEAST_WEIGHT, 0.0, t)


def _group_codes(groups: ArrayLike, n: int) -> np.ndarray:
    """Return the labels of groups as whole numbers (n,), checked."""
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(
            f"groups must be {n} labels, one for each row, got {labels.shape}"
        )
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        raise ValueError(
            f"groups: row {missing[0]} has no group; name its group, or give it one of "
            "its own"
        )
    codes, _ = pd.factorize(labels, sort=True)
    return np.asarray(codes)
