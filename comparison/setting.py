"""A setting gives pairs of a training and a test set: what a cell of the study is fitted to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import override

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from .datasets import Dataset


@dataclass(frozen=True, eq=False)
class Pair:
    """A training and a test set.

    Attributes
    ----------
    train, test : Dataset
        The labels of ``train`` are those that models see; those of ``test`` are the truth.
    truth : ndarray of shape (n_test,), optional
        P(abnormal | x) of the test rows, where the generator knows it.
    """

    train: Dataset
    test: Dataset
    truth: np.ndarray | None = None


@dataclass(frozen=True)
class Setting:
    """Where pairs come from. Equal settings and seeds give equal pairs."""

    @property
    def name(self) -> str:
        """What tables call it."""
        raise NotImplementedError

    @property
    def labelled(self) -> bool:
        """Whether minority rows are labelled in training."""
        return True

    @property
    def n_minority(self) -> int | None:
        """Number of minority rows labelled in training, None where it differs between pairs."""
        return None

    def pair(self, seed: int) -> Pair:
        """Return the pair of sets of ``seed``."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise a ValueError where no pair can be had, or no model be fitted to it."""


@dataclass(frozen=True, eq=False)
class Real(Setting):
    """Random halves of a data set, stratified: half of each class trains, the other half tests.

    Parameters
    ----------
    data : Dataset
    """

    data: Dataset

    @property
    @override
    def name(self) -> str:
        return self.data.name

    @property
    @override
    def n_minority(self) -> int:
        return int(self.data.minority.sum()) // 2

    @override
    def pair(self, seed: int) -> Pair:
        train, test = halves(self.data, seed)
        return Pair(part(self.data, train), part(self.data, test))

    @override
    def check(self) -> None:
        n1, n0 = int(self.data.minority.sum()), int((~self.data.minority).sum())
        for name, n, least in (("minority", n1, 2), ("majority", n0, 6)):
            if n < least:
                raise ValueError(
                    f"{self.data.name}: a comparison needs at least {least} {name} rows (half of "
                    f"them train), got {n}"
                )
        bad = ~np.isfinite(self.data.X)
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"{self.data.name}: row {row}, column {column} (counted from 0) is "
                f"{self.data.X[row, column]}, and so are values of {int(bad.any(axis=1).sum())} "
                "row(s) in all; drop or impute these rows"
            )


@dataclass(frozen=True, eq=False)
class Thinned(Real):
    """Random halves of a large data set, of whose training half only some rows are drawn.

    Each class keeps its share of the training rows, rounded. The test half stays whole. For models
    whose fit grows with the cube of the rows, which many random halves of a large set are not
    worth.

    Parameters
    ----------
    data : Dataset
    rows : int
        Training rows of both classes; fewer than half of the set.
    """

    rows: int

    def __post_init__(self) -> None:
        half = len(self.data.X) // 2
        if not isinstance(self.rows, int) or not 0 < self.rows < half:
            raise ValueError(
                f"Thinned: rows must be a whole number from 1 to {half - 1}, fewer than half of "
                f"{self.data.name}, got {self.rows!r}"
            )

    @property
    @override
    def name(self) -> str:
        return f"{self.data.name}, {self.rows} training rows"

    @property
    @override
    def n_minority(self) -> int:
        return round(self.rows * super().n_minority / (len(self.data.X) // 2))

    @override
    def pair(self, seed: int) -> Pair:
        pair = super().pair(seed)
        n1 = self.n_minority
        rng = np.random.default_rng([seed, 1])  # apart from the draw of the halves
        drawn = [
            rng.choice(np.flatnonzero(members), n, replace=False)
            for members, n in ((~pair.train.minority, self.rows - n1), (pair.train.minority, n1))
        ]
        return replace(pair, train=part(pair.train, np.concatenate(drawn)))

    @override
    def check(self) -> None:
        super().check()
        n1 = self.n_minority
        if n1 < 1 or self.rows - n1 < 3:
            raise ValueError(
                f"{self.data.name}: {self.rows} training rows would be {n1} minority and "
                f"{self.rows - n1} majority, where a comparison needs 1 and 3; draw more rows"
            )
        if self.data.base_rate > 0.5:
            raise ValueError(
                f"{self.data.name}: a set of which most rows are minority "
                f"({self.data.base_rate:.0%}) is not thinned; give the rarer class as minority"
            )


@dataclass(frozen=True)
class Contaminated(Setting):
    """Another setting, with a share of the minority rows labelled majority in training.

    The number of rows is the share of n1, rounded, drawn at random; test labels stay the truth.

    Parameters
    ----------
    setting : Setting
    share : float
        In (0, 1).
    """

    setting: Setting
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"Contaminated: share must lie in (0, 1), got {self.share!r}")

    @property
    @override
    def name(self) -> str:
        return f"{self.setting.name}, {self.share:.0%} of minority mislabelled"

    @property
    @override
    def n_minority(self) -> int | None:
        n = self.setting.n_minority
        return None if n is None else n - round(self.share * n)

    @override
    def pair(self, seed: int) -> Pair:
        pair = self.setting.pair(seed)
        members = np.flatnonzero(pair.train.minority)
        rng = np.random.default_rng([seed, 1])  # apart from the draws of the rows
        hidden = rng.choice(members, round(self.share * len(members)), replace=False)
        minority = pair.train.minority.copy()
        minority[hidden] = False
        return replace(pair, train=Dataset(self.name, pair.train.X, minority))

    @override
    def check(self) -> None:
        self.setting.check()


@dataclass(frozen=True)
class Unlabelled(Setting):
    """Another setting, of which only the majority rows are there for training.

    Models that learn from minority rows have nothing to learn from, and every cutoff is chosen by
    its rate of false alarms.

    Parameters
    ----------
    setting : Setting
    """

    setting: Setting

    @property
    @override
    def name(self) -> str:
        return f"{self.setting.name}, no minority in training"

    @property
    @override
    def labelled(self) -> bool:
        return False

    @property
    @override
    def n_minority(self) -> int:
        return 0

    @override
    def pair(self, seed: int) -> Pair:
        pair = self.setting.pair(seed)
        return replace(pair, train=part(pair.train, np.flatnonzero(~pair.train.minority)))

    @override
    def check(self) -> None:
        self.setting.check()


def halves(data: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows, half of each class."""
    split = StratifiedShuffleSplit(1, test_size=0.5, random_state=seed)
    train, test = next(split.split(data.X, data.minority))
    return train, test


def part(data: Dataset, rows: np.ndarray) -> Dataset:
    """Return some rows of ``data``."""
    return Dataset(data.name, data.X[rows], data.minority[rows])


def two_generators(seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """Return independent generators for the training and for the test set."""
    train, test = np.random.SeedSequence(seed).spawn(2)
    return np.random.default_rng(train), np.random.default_rng(test)
