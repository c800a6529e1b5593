"""A scenario is one setting of a study: for each seed it gives a training and a test set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import override

import numpy as np

from ...estimators.tables.gaps import imputed
from .datasets import Dataset


@dataclass(frozen=True, eq=False)
class Pair:
    """A training and a test set.

    Attributes
    ----------
    train, test : Dataset
        Models see the labels of ``train``; those of ``test`` are the true classes.
    truth : ndarray of shape (n_test,), optional
        P(abnormal | x) of the test rows, if the generator knows it.
    far : tuple of two ndarray of bool, optional
        Which training and test rows are of the far component, if the generator has components.
    """

    train: Dataset
    test: Dataset
    truth: np.ndarray | None = None
    far: tuple[np.ndarray, np.ndarray] | None = None


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A source of pairs of data sets. Equal scenarios and seeds give equal pairs.

    A subclass has ``base_name`` and ``drawn``.

    Parameters
    ----------
    mislabelled : float, default=0
        Share of the minority rows, drawn at random and rounded, that are labelled majority in
        training. The test labels stay true.
    labelled : bool, default=True
        Whether minority rows train. Without them models that learn from minority rows cannot be
        fitted, and every cutoff is chosen by its rate of false alarms.
    """

    mislabelled: float = 0.0
    labelled: bool = True

    def __post_init__(self) -> None:
        self.require("mislabelled", 0 <= self.mislabelled < 1, "in [0, 1)")

    def require(self, field: str, valid: bool, expected: str) -> None:
        """Raise a ValueError that says what was expected of a field, unless it is ``valid``."""
        if not valid:
            raise ValueError(
                f"{type(self).__name__}: {field} must be {expected}, got {getattr(self, field)!r}"
            )

    @property
    def base_name(self) -> str:
        """Name without the options that all scenarios have."""
        raise NotImplementedError

    def drawn(self, seed: int) -> Pair:
        """Return the sets of ``seed`` with all labels."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Name in tables."""
        hidden = f", {self.mislabelled:.0%} of minority mislabelled" if self.mislabelled else ""
        return self.base_name + hidden + ("" if self.labelled else ", no minority in training")

    def pair(self, seed: int) -> Pair:
        """Return the training and the test set of ``seed``."""
        pair = self.drawn(seed)
        minority = pair.train.minority.copy()
        if self.mislabelled:
            members = np.flatnonzero(minority)
            rng = np.random.default_rng([seed, 1])  # independent of the draws of the rows
            minority[rng.choice(members, round(self.mislabelled * len(members)), False)] = False
            pair = replace(pair, train=replace(pair.train, minority=minority))
        if not self.labelled and minority.any():
            pair = replace(pair, train=subset(pair.train, np.flatnonzero(~minority)))
        return pair

    def check(self) -> None:
        """Raise a ValueError if no pair can be drawn, or no model fitted to it."""


@dataclass(frozen=True)
class Real(Scenario):
    """Stratified random halves of a data set: half of each class trains, the other half tests.

    Without labels half of the majority rows train, and all other rows test: the one-class protocol
    of Han et al. (2022), ADBench: anomaly detection benchmark, Advances in Neural Information
    Processing Systems 35.

    Parameters
    ----------
    data : Dataset
    rows : int, optional
        Training rows at most. Of a larger half so many are drawn, each class with its share,
        rounded; the test half stays whole. The cost of fitting some models grows with the cube of
        the rows.
    """

    data: Dataset
    rows: int | None = None

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        whole = self.rows is None or (isinstance(self.rows, int) and self.rows > 0)
        self.require("rows", whole, "a whole number above 0, or None")

    @property
    def _half(self) -> int:
        return len(self.data.X) // 2

    @property
    def _thinned(self) -> int | None:
        """Number of training rows, if it is smaller than half of the rows."""
        return self.rows if self.labelled and self.rows and self.rows < self._half else None

    @property
    @override
    def name(self) -> str:
        return super().name if self.labelled else self.data.name

    @property
    @override
    def base_name(self) -> str:
        return self.data.name + (f", {self._thinned} training rows" if self._thinned else "")

    @property
    def _n_minority(self) -> int:
        """Number of minority rows of a training half."""
        n1 = int(self.data.minority.sum()) // 2
        return round(self._thinned * n1 / self._half) if self._thinned else n1

    @override
    def drawn(self, seed: int) -> Pair:
        data = self.data
        if self.labelled:
            chosen = halves(data, seed)
        else:
            majority = np.random.default_rng(seed).permutation(np.flatnonzero(~data.minority))
            half = len(majority) // 2
            others = np.concatenate([majority[half:], np.flatnonzero(data.minority)])
            chosen = majority[: min(half, self.rows or half)], others
        train, test = (subset(data, rows) for rows in chosen)
        train, test = self._filled(train, train), self._filled(test, train)
        if self._thinned:
            rng, n1 = np.random.default_rng([seed, 1]), self._n_minority  # not that of the halves
            sizes = ((~train.minority, self._thinned - n1), (train.minority, n1))
            parts = [rng.choice(np.flatnonzero(of), n, replace=False) for of, n in sizes]
            train = subset(train, np.concatenate(parts))
        return Pair(train, test)

    def _filled(self, rows: Dataset, train: Dataset) -> Dataset:
        """Return rows with what the nearest of the majority's training rows have for gaps."""
        if not self.data.imputed:
            return rows
        known = train.X[~train.minority]
        found = imputed(rows.X, known, self.data.categorical or ())
        return replace(rows, X=found.rows)

    @override
    def check(self) -> None:
        data, rows, kept = self.data, self._thinned, self._n_minority
        n1, n0 = int(data.minority.sum()), int((~data.minority).sum())
        bad = np.zeros_like(data.X, dtype=bool) if data.imputed else ~np.isfinite(data.X)
        row, column = np.argwhere(bad)[0] if bad.any() else (0, 0)
        halved = "a comparison needs at least 2 minority rows and 6 others, half of which train"
        for valid, message in (
            (n1 >= 2 and n0 >= 6, f"{halved}; got {n1} and {n0}"),
            (
                not bad.any(),
                f"row {row}, column {column} (counted from 0) is {data.X[row, column]}, and so are "
                f"values of {int(bad.any(axis=1).sum())} row(s) in all; drop or impute these rows",
            ),
            (
                not rows or (kept >= 1 and rows - kept >= 3),
                f"{rows} training rows would be {kept} minority and {(rows or 0) - kept} majority, "
                "where a comparison needs 1 and 3; draw more rows",
            ),
            (
                not rows or data.base_rate <= 0.5,
                f"a set of which most rows are minority ({data.base_rate:.0%}) is not thinned; "
                "give the rarer class as minority",
            ),
        ):
            if not valid:
                raise ValueError(f"{data.name}: {message}")


def halves(data: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the training and of the test rows, half of each class."""
    from sklearn.model_selection import StratifiedShuffleSplit

    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=seed)
    train, test = next(split.split(data.X, data.minority))
    return train, test


def subset(data: Dataset, rows: np.ndarray) -> Dataset:
    """Return the data set of some rows of ``data``."""
    names = None if data.row_names is None else data.row_names[rows]
    return replace(data, X=data.X[rows], minority=data.minority[rows], row_names=names)


def two_generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return independent random generators for the training and for the test set."""
    train, test = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(train), np.random.default_rng(test)
