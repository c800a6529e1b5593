"""Training rows and labels as they are read, and the reading of new rows like them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd

from ..base.warning import DataWarning, warn
from ..models.data import Filled
from ..models.kernels import Kernel, Tabular, as_kernel
from ..models.units import Units
from . import inputs
from .labels import classes_of, split
from .missing import counted, imputed
from .table import Table, as_frame, frame_of

MOST_ROWS = (
    12_000  # majority rows that are described, in some ten seconds; of more, a sample
)
MOST_MINORITY = 1000  # minority rows that are points


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The training rows of a fit, for questions that ask about columns.

    Attributes
    ----------
    table : Table
    frame : pandas.DataFrame of shape (n, p)
        The rows as they were given, with their names as index; gaps are NaN, NaT or
        None.
    values : pandas.DataFrame of shape (n, p)
        The same as floats, see :meth:`bsvdd.Table.floats`.
    minority : ndarray of bool, shape (n,)
    floats : callable
        Takes new rows as they were given, and returns their floats (m, p).
    """

    table: Table
    frame: pd.DataFrame
    values: pd.DataFrame
    minority: np.ndarray
    floats: Callable[[Any], np.ndarray]

    @classmethod
    def read(cls, X: Any, table: Table | None = None) -> Self:
        """Return the rows of a table that no fit keeps, all of them majority."""
        inputs.refuse(X)
        X = frame_of(X)
        table = (table or Table()).fit(X)
        values = pd.DataFrame(table.floats(X), X.index, X.columns)
        return cls(table, X, values, np.zeros(len(X), dtype=bool), table.floats)

    @property
    def kinds(self) -> dict[Any, str]:
        """What each column is, see :attr:`bsvdd.Table.kinds`."""
        return self.table.kinds


@dataclass(frozen=True, eq=False, kw_only=True)
class Training:
    """The training rows of a fit.

    Attributes
    ----------
    estimator : str
        The name of its class, for errors.
    table : Table
        What the columns are.
    kernel : Kernel
        With the columns of categories, not yet fitted.
    observed : ndarray of shape (n, p)
        The rows as floats, NaN for gaps.
    filled : Filled
        The rows as the kernel takes them, without gaps.
    minority : ndarray of bool, shape (n,)
    weight : ndarray of shape (n,), optional
    groups : ndarray of shape (n,), optional
    labels : tuple
        The distinct labels, that of the minority first; empty without labels.
    minor_label : object
    apart : dict of str
        The columns of X that are no features, by the argument of ``fit`` that named
        them.
    names : ndarray of shape (n,), optional
        The user's names of the rows. None if they are 0, 1, ..., n - 1.
    """

    estimator: str
    table: Table
    kernel: Kernel
    observed: np.ndarray
    filled: Filled
    minority: np.ndarray
    weight: np.ndarray | None = None
    groups: np.ndarray | None = None
    labels: tuple[Any, ...] = ()
    minor_label: Any = None
    apart: Mapping[str, str] = field(default_factory=dict)
    names: np.ndarray | None = None

    @classmethod
    def read(cls, est: Any, X: Any, y: Any = None, **of_rows: Any) -> Self:
        """Return the training rows X of an estimator, as its kernel takes them.

        Labels y, and ``sample_weight`` and ``groups`` among ``of_rows``, are one value
        for each row, or the name of a column of X.

        Raises
        ------
        ValueError, TypeError
            A row or a label that cannot be; the message says what to do.
        """
        kernel = as_kernel(est.kernel)
        table = Table() if est.table is None else est.table
        if not isinstance(table, Table):
            raise TypeError(f"table must be a bsvdd.Table, got {table!r:.80}")
        X, known, apart = without_columns(X, y=y, **of_rows)
        y, weight, groups = (
            known.get(name) for name in ("y", "sample_weight", "groups")
        )
        table, rows = inputs.training_rows(type(est).__name__, table, kernel, X)
        observed = np.array(
            kernel.training_rows(rows), order="C"
        )  # the caller may change X
        observed.setflags(write=False)
        minority, labels = classes_of(y, len(observed), est.minor_label)
        _warn_of_classes(minority, est.minor_label)
        if isinstance(kernel, Tabular):
            categorical = table.categorical or kernel.categorical
            kernel = replace(kernel, categorical=categorical, cyclic=table.cycles)
        return cls(
            estimator=type(est).__name__,
            table=table,
            kernel=kernel,
            observed=observed,
            filled=Filled.whole(table.coordinates(observed)),
            minority=minority,
            weight=None if weight is None else _numbers(weight),
            groups=None if groups is None else np.asarray(groups),
            labels=labels,
            minor_label=est.minor_label,
            apart=apart,
            names=inputs.training_names(X, len(observed)),
        )

    def without_gaps(self) -> Self:
        """Return these rows with their gaps filled."""
        if not np.isnan(self.observed).any():
            return self
        warn_of_gaps(self.observed, self.table.labels)
        return replace(self, filled=self._imputed(self.observed))

    def thinned(self, minority: bool, seed: int) -> Self:
        """Return these rows, of which at most so many count as are learned.

        Of more than 12,000 majority rows, or of more than 1,000 minority rows of a
        model that learns from them (``minority``), a random sample counts; the others
        have the weight 0.
        """
        counts = self.counts
        rng = np.random.default_rng(seed)
        out = []
        for members, most in (
            (~self.minority, MOST_ROWS),
            (self.minority, MOST_MINORITY if minority else MOST_ROWS),
        ):
            found = np.flatnonzero(members & counts)
            if len(found) > most:
                out.append(np.setdiff1d(found, rng.choice(found, most, replace=False)))
        if not out:
            return self
        without = np.concatenate(out)
        n = len(counts)
        warn(
            f"{n} rows are many: {int(counts.sum()) - len(without)} of them, drawn at "
            "random, are described, and the others are answered as new rows",
            DataWarning,
        )
        weight = np.ones(n) if self.weight is None else self.weight.astype(float)
        weight[without] = 0.0
        return replace(self, weight=weight)

    def _imputed(self, rows: np.ndarray) -> Filled:
        donors = self.observed[~self.minority & self.counts]
        found = imputed(rows, donors, self.table.categorical)
        of_kernel = self.table.coordinates
        return Filled(of_kernel(found.rows), found.which, of_kernel(found.versions))

    @property
    def counts(self) -> np.ndarray:
        """Which rows (n,) have a weight: all, where weights cannot be, which is said later."""
        weight = self.weight
        if (
            weight is None
            or weight.shape != self.minority.shape
            or not (weight > 0.0).any()
        ):
            return np.ones(len(self.minority), dtype=bool)
        return weight > 0.0

    @property
    def units(self) -> Units:
        """The units of the rows; a ValueError for weights or groups that cannot be."""
        return Units.of(self.filled.rows, self.minority, self.weight, self.groups)

    @property
    def n_columns(self) -> int:
        """The number of columns of X in ``fit``."""
        return len(self.minority) if self.kernel.pairwise else self.observed.shape[1]

    @property
    def given(self) -> TrainingTable:
        """The rows as they were given; an AttributeError for a kernel matrix."""
        if self.kernel.pairwise:
            raise AttributeError(
                "a precomputed kernel has kernel values and no rows, so there is no "
                "table_"
            )
        index = pd.Index(self.row_names)
        table = self.table
        values = pd.DataFrame(self.observed, index, table.labels)
        frame = table.frame(self.observed, index)
        return TrainingTable(table, frame, values, self.minority.copy(), self.floats)

    @property
    def gaps(self) -> np.ndarray:
        """Which values are missing, (n, p)."""
        return np.isnan(self.observed)

    @property
    def row_names(self) -> np.ndarray:
        """The user's names of the rows, shape (n,); their numbers if they have no others."""
        return np.arange(len(self.minority)) if self.names is None else self.names

    # new rows

    def floats(self, X: Any) -> np.ndarray:
        """Return new rows as floats, shape (m, p); NaN for gaps."""
        X = as_frame(X)
        if self.apart and hasattr(X, "columns"):  # some are no features
            X = X[[name for name in X.columns if name not in self.apart.values()]]
        return inputs.new_rows(
            self.estimator, self.table, self.kernel, X, self.n_columns
        )

    def new(self, X: Any) -> Filled:
        """Return new rows as the kernel takes them, without gaps."""
        return self.of_floats(self.floats(X))

    def of_floats(self, rows: np.ndarray) -> Filled:
        """Return new rows of floats as the kernel takes them, without gaps."""
        if not np.isnan(rows).any():
            return Filled.whole(
                self.kernel.new_rows(self.table.coordinates(rows), self.n_columns)
            )
        warn_of_gaps(rows, self.table.labels)
        return self._imputed(rows)


def without_columns(
    X: Any, **of_rows: Any
) -> tuple[Any, dict[str, Any], dict[str, str]]:
    """Return X without columns that are named, what is known of rows, and the names.

    What is known of rows, by the arguments of a user, is one value for each row, or the
    name of a column of X.

    Raises
    ------
    ValueError
        There is no such column.
    """
    whole = as_frame(X)
    X = as_frame(X)
    apart = {}
    for argument, name in of_rows.items():
        if isinstance(name, str):
            if not hasattr(X, "columns"):
                raise ValueError(
                    f"{argument}={name!r}: the name of a column is for the columns of "
                    "a data frame (of a file: bsvdd.read_table); give one value for "
                    "each row"
                )
            rest, of_rows[argument] = split(whole, name, argument, "the data frame")
            X = X[[column for column in X if column in rest]]
            apart[argument] = name
        else:
            _require_order(argument, name, whole)
    return X, of_rows, apart


def _require_order(argument: str, values: Any, X: Any) -> None:
    """Raise a ValueError if values have the rows of X, by their index, in another order."""
    index, own = (getattr(each, "index", None) for each in (values, X))
    if not (isinstance(index, pd.Index) and isinstance(own, pd.Index)) or index.equals(
        own
    ):
        return
    if index.is_unique and own.is_unique and not len(index.symmetric_difference(own)):
        raise ValueError(
            f"{argument} has the rows of X in another order; give "
            f"{argument}.loc[X.index]"
        )


def _numbers(weight: Any) -> np.ndarray:
    """Return weights as numbers; a ValueError for the first that is none."""
    weight = np.asarray(weight)
    given = pd.Series(weight.reshape(-1))
    found = pd.to_numeric(given, errors="coerce")
    if len(bad := given[found.isna() & given.notna()]):
        raise ValueError(
            f"sample_weight must be numbers, got {bad.iloc[0]!r:.40} for row "
            f"{bad.index[0]}"
        )
    return found.to_numpy(float).reshape(weight.shape)


def warn_of_gaps(rows: np.ndarray, columns: list[Any]) -> None:
    """Warn of the gaps of rows (n, p) that are filled, with their number in each column."""
    warn(
        f"{counted(np.isnan(rows), columns)}, filled by the nearest training rows: "
        "false-alarm rates and p-values hold approximately",
        DataWarning,
    )


def _warn_of_classes(minority: np.ndarray, minor_label: Any) -> None:
    n = len(minority)
    n1 = int(minority.sum())
    if minor_label is None and n1 > n - n1:
        warn(
            f"the minority, -1 in {{-1, 1}} or 1 in {{0, 1}}, has {n1} of {n} rows, "
            "and the model describes the other class as normal; if the labels are the "
            "other way round, name the minority's label by minor_label=",
            DataWarning,
        )
