"""A scenario is one setting of a study: for each seed it gives a training and a test set."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import override

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

from .datasets import Dataset
from .gaps import filled, typical_values

LEAST_ROWS = 6  # of a table without labels
STORED_AS_SETTING = {"stored_as": "setting"}  # name of the field in the keys of stored cells


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


@dataclass(frozen=True)
class Scenario:
    """A source of pairs of data sets. Equal scenarios and seeds give equal pairs."""

    @property
    def name(self) -> str:
        """Name in tables."""
        raise NotImplementedError

    @property
    def labelled(self) -> bool:
        """Whether the training set has labelled minority rows."""
        return True

    @property
    def n_minority(self) -> int | None:
        """Number of labelled minority rows in training; None if it differs between pairs."""
        return None

    def pair(self, seed: int) -> Pair:
        """Return the training and the test set of ``seed``."""
        raise NotImplementedError

    def check(self) -> None:
        """Raise a ValueError if no pair can be drawn, or no model fitted to it."""


@dataclass(frozen=True)
class Real(Scenario):
    """Stratified random halves of a data set: half of each class trains, the other half tests.

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
        train, test = (subset(self.data, rows) for rows in halves(self.data, seed))
        if self.data.imputed:
            values = typical_values(train.X[~train.minority], self.data.categorical or ())
            train, test = (replace(each, X=filled(each.X, values)) for each in (train, test))
        return Pair(train, test)

    @override
    def check(self) -> None:
        n1, n0 = int(self.data.minority.sum()), int((~self.data.minority).sum())
        for name, n, least in (("minority", n1, 2), ("majority", n0, 6)):
            if n < least:
                raise ValueError(
                    f"{self.data.name}: a comparison needs at least {least} {name} rows (half of "
                    f"them train), got {n}"
                )
        self._check_gaps()

    def _check_gaps(self) -> None:
        bad = ~np.isfinite(self.data.X)
        if bad.any() and not self.data.imputed:
            row, column = np.argwhere(bad)[0]
            raise ValueError(
                f"{self.data.name}: row {row}, column {column} (counted from 0) is "
                f"{self.data.X[row, column]}, and so are values of {int(bad.any(axis=1).sum())} "
                "row(s) in all; drop or impute these rows"
            )


@dataclass(frozen=True)
class Thinned(Real):
    """Random halves of a large data set; the training half is reduced to some random rows.

    Each class keeps its share of the training rows, rounded. The test half stays whole. This keeps
    studies affordable, as the cost of fitting some models grows with the cube of the rows.

    Parameters
    ----------
    data : Dataset
    rows : int
        Number of training rows of both classes; fewer than half of the data set.
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
        rng = np.random.default_rng([seed, 1])  # independent of the draw of the halves
        drawn = [
            rng.choice(np.flatnonzero(members), n, replace=False)
            for members, n in ((~pair.train.minority, self.rows - n1), (pair.train.minority, n1))
        ]
        return replace(pair, train=subset(pair.train, np.concatenate(drawn)))

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
class OneClass(Real):
    """Half of the majority rows train; the other half and all minority rows test.

    It is the one-class protocol of Han et al. (2022), ADBench: anomaly detection benchmark,
    Advances in Neural Information Processing Systems 35.

    Parameters
    ----------
    data : Dataset
    rows : int
        Training rows at most.
    """

    rows: int

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
        majority = np.flatnonzero(~self.data.minority)
        order = np.random.default_rng(seed).permutation(majority)
        half = len(order) // 2
        test = np.concatenate([order[half:], np.flatnonzero(self.data.minority)])
        return Pair(subset(self.data, order[: min(half, self.rows)]), subset(self.data, test))


@dataclass(frozen=True)
class WholeTable(Real):
    """All rows train, and each is judged by the others: a table without labels.

    Parameters
    ----------
    data : Dataset
        Without minority rows.
    """

    @property
    @override
    def labelled(self) -> bool:
        return False

    @override
    def pair(self, seed: int) -> Pair:
        data = self.data
        if data.imputed:
            values = typical_values(data.X, data.categorical or ())
            data = replace(data, X=filled(data.X, values))
        return Pair(data, data)

    @override
    def check(self) -> None:
        if len(self.data.X) < LEAST_ROWS:
            raise ValueError(
                f"{self.data.name}: a comparison needs at least {LEAST_ROWS} rows, got "
                f"{len(self.data.X)}"
            )
        self._check_gaps()


@dataclass(frozen=True)
class Contaminated(Scenario):
    """Another scenario in which a share of the minority rows is labelled majority in training.

    The number of mislabelled rows is the share of n1, rounded. They are drawn at random. The test
    labels stay true.

    Parameters
    ----------
    scenario : Scenario
    share : float
        In (0, 1).
    """

    scenario: Scenario = field(metadata=STORED_AS_SETTING)
    share: float

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise ValueError(f"Contaminated: share must lie in (0, 1), got {self.share!r}")

    @property
    @override
    def name(self) -> str:
        return f"{self.scenario.name}, {self.share:.0%} of minority mislabelled"

    @property
    @override
    def n_minority(self) -> int | None:
        n = self.scenario.n_minority
        return None if n is None else n - round(self.share * n)

    @override
    def pair(self, seed: int) -> Pair:
        pair = self.scenario.pair(seed)
        members = np.flatnonzero(pair.train.minority)
        rng = np.random.default_rng([seed, 1])  # independent of the draws of the rows
        hidden = rng.choice(members, round(self.share * len(members)), replace=False)
        minority = pair.train.minority.copy()
        minority[hidden] = False
        return replace(pair, train=replace(pair.train, name=self.name, minority=minority))

    @override
    def check(self) -> None:
        self.scenario.check()


@dataclass(frozen=True)
class Unlabelled(Scenario):
    """Another scenario without the minority rows of its training set.

    Models that learn from minority rows cannot be fitted, and every cutoff is chosen by its rate
    of false alarms.

    Parameters
    ----------
    scenario : Scenario
    """

    scenario: Scenario = field(metadata=STORED_AS_SETTING)

    @property
    @override
    def name(self) -> str:
        return f"{self.scenario.name}, no minority in training"

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
        pair = self.scenario.pair(seed)
        return replace(pair, train=subset(pair.train, np.flatnonzero(~pair.train.minority)))

    @override
    def check(self) -> None:
        self.scenario.check()


def halves(data: Dataset, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the training and of the test rows, half of each class."""
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
