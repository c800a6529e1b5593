"""Training rows and labels as they are read, and the reading of new rows like them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, override

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_numeric_dtype

from ..base.messages import advised, of_value
from ..base.warning import DataWarning, warn
from ..models.kernels import Kernel, Tabular, as_kernel
from ..models.rows import CompleteRows, Moves, Rows
from . import inputs
from .group_centres import (
    NEW,
    GroupCentres,
    checked_labels,
    group_texts,
    require_centres,
)
from .labels import classes_of, split
from .missing import imputed, missing_text
from .table import Table, as_frame, frame_of

# majority rows that are described, in some ten seconds; of more, a sample
MOST_DESCRIBED = 12_000
MOST_DESCRIBED_MINORITY = 1000  # minority rows that are atoms
# training rows among new rows: no warning of fewer, or of a smaller share
FEWEST_REPEATED = 10
SHARE_REPEATED = 0.25
CELL_DIGITS = 6  # of a value in a warning


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The training rows of a fit, for questions that ask about columns.

    Attributes
    ----------
    table : Table
    frame : pandas.DataFrame of shape (n, p)
        The rows as they are read (flags as numbers, times as UTC), with their names as
        index; missing cells are NaN, NaT or None.
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
    floats: Callable[[ArrayLike], np.ndarray]

    @classmethod
    def read(cls, X: ArrayLike, table: Table | None = None) -> Self:
        """Return the rows of a table that no fit keeps, all of them majority."""
        inputs.refuse(X)
        frame = frame_of(X)
        table = (table or Table()).fit(frame)
        values = pd.DataFrame(table.floats(frame), frame.index, frame.columns)
        return cls(table, frame, values, np.zeros(len(frame), dtype=bool), table.floats)

    @property
    def kinds(self) -> dict[Any, str]:
        """What each column is, see :attr:`bsvdd.Table.kinds`."""
        return self.table.kinds

    @property
    def measured(self) -> pd.DataFrame:
        """``frame``, with numbers for cells of numbers that are texts, as 98.4 kg."""
        found = self.frame.copy(deep=False)
        for name, kind in self.kinds.items():
            if kind == "numbers" and not is_numeric_dtype(found[name]):
                found[name] = self.values[name]
        return found

    def copy(self) -> Self:
        """Return the same rows, whose cells may be changed."""
        frame, values = (part.copy(deep=False) for part in (self.frame, self.values))
        return replace(self, frame=frame, values=values, minority=self.minority.copy())


class Reader(Protocol):
    """What an estimator says of the reading of rows."""

    kernel: Kernel | Callable[..., np.ndarray]
    table: Table | None
    minor_label: object
    group_centres: bool
    _learns_from_minority: ClassVar[bool]
    _fewest_rows: ClassVar[int]


@dataclass(frozen=True, eq=False, kw_only=True)
class TrainingRows(Rows):
    """The training rows of a fit: how they were read, their weights and groups.

    Attributes
    ----------
    estimator : str
        The name of its class, for errors.
    table : Table
        What the columns are.
    kernel : Kernel
        With the columns of categories, not yet fitted.
    observed : ndarray of shape (n, p)
        The rows as floats, NaN for missing cells; X itself where it is the same.
    group_labels : ndarray of shape (n,), optional
        The user's labels of groups.
    labels : tuple
        The distinct labels, the minority's first; empty without labels.
    minor_label : object
    apart : dict of str
        The columns of X that are no features, by the argument of ``fit`` that named
        them.
    names : ndarray of shape (n,), optional
        The user's names of the rows. None if they are 0, 1, ..., n - 1.
    group_centres : bool, default=False
        Whether X has residuals from the centres of groups.
    """

    estimator: str
    table: Table
    kernel: Kernel
    observed: np.ndarray
    group_labels: np.ndarray | None = None
    labels: tuple[Any, ...] = ()
    minor_label: object = None
    apart: Mapping[str, str] = field(default_factory=dict)
    names: np.ndarray | None = None
    group_centres: bool = False

    @classmethod
    def read(
        cls,
        est: Reader,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
        seed: int | None = None,
    ) -> Self:
        """Return the training rows X of an estimator, as its kernel takes them.

        Labels y, ``sample_weight`` and ``groups`` are one value for each row, or the
        name of a column of X. With a ``seed``, a fit describes a random sample of many
        rows.

        Raises
        ------
        ValueError, TypeError
            A row, a label, a weight or a group that cannot be; the message says what to
            do.
        """
        X, known, apart = without_columns(
            X, y=y, sample_weight=sample_weight, groups=groups
        )
        table, kernel, observed = _columns(est, X)
        minority, labels = classes_of(known["y"], len(observed), est.minor_label)
        warn_of_classes(minority, est.minor_label)
        weight = as_weights(known["sample_weight"])
        if seed is not None:
            weight = thinned(minority, weight, est._learns_from_minority, seed)
        groups = None if known["groups"] is None else np.array(known["groups"])
        if est.group_centres:
            kernel = _of_residuals(kernel)
        found = cls.of(
            _complete(est, table, observed, minority, weight, groups),
            minority,
            weight,
            groups,
            est._fewest_rows,
            estimator=type(est).__name__,
            table=table,
            kernel=kernel,
            observed=observed,
            group_labels=groups,
            labels=labels,
            minor_label=est.minor_label,
            apart=apart,
            names=inputs.training_names(X, len(observed)),
            group_centres=est.group_centres,
        )
        if found.far_values:
            warn(found.far_values, DataWarning)
        same = not (table.cycles or len(found.incomplete) or est.group_centres)
        return replace(found, observed=found.X) if same else found

    @property
    def n_columns(self) -> int:
        """The number of columns of X in ``fit``."""
        pairwise = self.kernel.pairwise
        return len(self.minority) if pairwise else self.observed.shape[1]

    @cached_property
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

    @cached_property
    def hashes(self) -> np.ndarray:
        """The hashes of rows that equal no other."""
        return unrepeated_hashes(self.observed)

    @cached_property
    def far_values(self) -> str:
        """What is said of values far from all others of a column; empty for none."""
        if not isinstance(self.kernel, Tabular):
            return ""
        i = self.majority
        X = self.X[i]
        kernel, centres = self.kernel, ""
        if self.group_centres:  # X has residuals
            X = self.table.coordinates(self.observed[i])
            X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
            table = self.table
            kernel = replace(kernel, categorical=table.categorical, cyclic=table.cycles)
            centres = ", as are centres of groups"
        near = kernel.without_far(X, self.weight[i])
        with np.errstate(all="ignore"):  # 0/0 in a constant column
            far = np.nan_to_num(np.abs(X - near) / np.ptp(near, axis=0))
        if not far.any():
            return ""
        row, f = np.unravel_index(far.argmax(), far.shape)
        cell = self.table.columns[f].cell
        ends = (X[row, f], near[:, f].min(), near[:, f].max())
        value, low, high = (of_value(cell(v), CELL_DIGITS) for v in ends)
        others = int((far > 0.0).sum()) - 1
        more = f", and {others} more cells are as far from others" if others else ""
        return (
            f"row {self.row_names[i[row]]} has {value} in "
            f"{str(self.table.labels[f])!r}, where others lie from {low} to "
            f"{high}{more}: column scales and the bandwidth are learned without such "
            f"values{centres}, but the rows count as normal; if the value is wrong, "
            "mend it or leave out the row"
        )

    @property
    def missing(self) -> np.ndarray:
        """Which cells are missing, (n, p)."""
        return np.isnan(self.observed)

    @property
    @override
    def row_names(self) -> np.ndarray:
        """The user's names of the rows, shape (n,); else their numbers."""
        return np.arange(len(self.minority)) if self.names is None else self.names

    # groups that have their own centres

    @cached_property
    def centres(self) -> GroupCentres | None:
        """The centres of groups; None if rows are described as they are."""
        if not self.group_centres:
            return None
        t = self.counts_in_centre
        return centres_of(self.table, self.observed, self.group_labels, t)

    @property
    def counts_in_centre(self) -> np.ndarray:
        """The weights (n,) of rows in the centre of their group: 0 for the minority."""
        return np.where(self.minority, 0.0, self.weight)

    @cached_property
    def _donors(self) -> np.ndarray:
        """The rows that fill missing cells, as they are or as residuals."""
        t = self.counts_in_centre
        rows = self.observed
        if self.group_centres:
            rows = residuals_of_training(self.table, rows, self.group_labels, t)
        return rows[t > 0.0]

    @property
    @override
    def moves(self) -> Moves | None:
        """How uncertain residuals are, each of whose rows leaves its group."""
        centres = self.centres
        if centres is None:
            return None

        group = centres.groups(group_texts(self.group_labels))
        t = self.counts_in_centre
        own = t / t[t > 0.0].mean()

        def of_rows(i: np.ndarray) -> np.ndarray:
            X = self.table.coordinates(self.observed[i])
            return centres.moves(X, group[i], own[i])

        return of_rows

    def groups_of(self, X: ArrayLike, groups: ArrayLike | None) -> np.ndarray:
        """Return the numbers (m,) of the groups of new rows; -1 for unknown ones.

        Without centres of groups there are none, (0,).

        Parameters
        ----------
        X : array-like of shape (m, p), or data frame
        groups : array-like of shape (m,), or name of a column, optional
            By default the column of the fit, if X has it.

        Returns
        -------
        ndarray of int, shape (m,)

        Raises
        ------
        ValueError
            The fit has no centres of groups, or a label is missing.

        Warns
        -----
        DataWarning
            X has no column of groups.
        """
        centres = self.centres
        if centres is None:
            if groups is None:
                return np.empty(0, dtype=int)
            raise ValueError(
                f"groups={groups!r:.40}: this fit has one centre for all rows; "
                f"{self.estimator}(group_centres=True).fit(X, groups=...) has one for "
                "each group"
            )
        frame = as_frame(X)
        name = self.apart.get("groups")
        if groups is None and isinstance(frame, pd.DataFrame) and name in frame:
            groups = name
        if isinstance(groups, str):
            _, known, _ = without_columns(frame, groups=groups)
            groups = known["groups"]
        if groups is None:
            no = "groups= is not given" if name is None else f"there is no {name!r}"
            how = advised("group column", "groups=...", name)
            new = "all rows are answered as rows of new groups"
            warn(f"{no}: {new}; give theirs, {how}", DataWarning)
            return np.full(len(frame), NEW)
        _require_order("groups", groups, frame)
        return centres.groups(group_texts(checked_labels(groups, len(frame))))

    # new rows

    def floats(self, X: ArrayLike, groups: ArrayLike | None = None) -> np.ndarray:
        """Return new rows as floats, shape (m, p); NaN for missing cells.

        A column of X that ``groups`` names is no feature.
        """
        X = as_frame(X)
        apart = {*self.apart.values(), *([groups] if isinstance(groups, str) else [])}
        if apart and isinstance(X, pd.DataFrame):  # some are no features
            X = X[[name for name in X.columns if name not in apart]]
        return inputs.new_rows(
            self.estimator, self.table, self.kernel, X, self.n_columns
        )

    def new(self, X: ArrayLike) -> CompleteRows:
        """Return new rows as the kernel takes them, without missing cells.

        Where groups have their own centres, they are in the column of the fit.
        """
        return self.of_floats(self.floats(X), self.groups_of(X, None))

    def of_floats(
        self, rows: np.ndarray, group: np.ndarray | None = None
    ) -> CompleteRows:
        """Return new rows of floats as the kernel takes them, without missing cells.

        Where groups have their own centres, rows are residuals from that of their
        ``group`` (m,); by default each is of a new group.
        """
        centres = self.centres
        if centres is not None:
            at = np.full(len(rows), NEW) if group is None else group
            values = self.table.coordinates(rows)
            found = filled(centres.residuals(values, at), self._donors, self.table)
            if (at == NEW).all():
                return found
            return replace(found, moves=lambda i: centres.moves(values[i], at[i]))
        if np.isnan(rows).any():
            return completed(rows, self._donors, self.table)
        of_kernel = self.table.coordinates(rows)
        return CompleteRows.of(self.kernel.new_rows(of_kernel, self.n_columns))


def _columns(est: Reader, X: ArrayLike) -> tuple[Table, Kernel, np.ndarray]:
    """Return the table of training rows X, their kernel, and their floats (n, p).

    The floats are read-only, and the kernel knows the columns of categories.
    """
    kernel = as_kernel(est.kernel)
    table = Table() if est.table is None else est.table
    if not isinstance(table, Table):
        raise TypeError(f"table must be a bsvdd.Table, got {table!r:.80}")
    table, rows = inputs.training_rows(type(est).__name__, table, kernel, X)
    # the caller may change X; -0.0 is 0.0
    observed = np.array(kernel.training_rows(rows), order="C") + 0.0
    observed.setflags(write=False)
    if isinstance(kernel, Tabular):
        categorical = table.categorical or kernel.categorical
        kernel = replace(kernel, categorical=categorical, cyclic=table.cycles)
    return table, kernel, observed


def completed(rows: np.ndarray, donors: np.ndarray, table: Table) -> CompleteRows:
    """Return rows of floats as a kernel takes them, missing cells filled by donors."""
    if not np.isnan(rows).any():
        return CompleteRows.of(table.coordinates(rows))
    warn_of_missing(rows, table.labels)
    found = imputed(rows, donors, table.categorical)
    of_kernel = table.coordinates
    return CompleteRows(of_kernel(found.X), found.which, of_kernel(found.copies))


def centres_of(
    table: Table, rows: np.ndarray, groups: ArrayLike | None, weight: np.ndarray
) -> GroupCentres:
    """Return the centres of groups, of training rows of floats and their weights."""
    of_kernel = table.coordinates(rows)
    labels = group_texts(groups)
    return GroupCentres.of(of_kernel, labels, weight, table.categorical)


def residuals_of_training(
    table: Table, rows: np.ndarray, groups: ArrayLike | None, weight: np.ndarray
) -> np.ndarray:
    """Return training rows of floats as residuals; each leaves its own group."""
    centres = centres_of(table, rows, groups, weight)
    group = centres.groups(group_texts(groups))
    own = weight / weight[weight > 0.0].mean()
    return centres.residuals(table.coordinates(rows), group, own)


def filled(rows: np.ndarray, donors: np.ndarray, table: Table) -> CompleteRows:
    """Return residuals (m, p) with values of donors in place of missing ones."""
    if np.isnan(rows).any():
        warn_of_missing(rows[:, : len(table.labels)], table.labels)
    return imputed(rows, donors)


def _of_residuals(kernel: Kernel) -> Kernel:
    """Return a kernel that takes all columns as numbers."""
    if kernel.pairwise:
        raise ValueError(
            "group_centres=True: a precomputed kernel has no columns, of which groups "
            "could have centres; give the rows"
        )
    if isinstance(kernel, Tabular):
        return replace(kernel, categorical=(), cyclic=())
    return kernel


def _complete(
    est: Reader,
    table: Table,
    observed: np.ndarray,
    minority: np.ndarray,
    weight: np.ndarray | None,
    groups: np.ndarray | None,
) -> CompleteRows:
    """Return rows, or their residuals from centres of groups, without missing cells."""
    if not est.group_centres:
        donors = observed[~minority & counted(minority, weight)]
        return completed(observed, donors, table)
    t = _checked_weight(est, minority, weight, groups)
    own = residuals_of_training(table, observed, groups, t)
    return filled(own, own[t > 0.0], table)


def _checked_weight(
    est: Reader,
    minority: np.ndarray,
    weight: np.ndarray | None,
    groups: np.ndarray | None,
) -> np.ndarray:
    """Return what rows count in the centres of groups, (n,); 0 for the minority.

    A ValueError for groups that can have no centres.
    """
    if groups is None:
        raise ValueError(
            "group_centres=True: nothing says which rows belong together; name the "
            "column, fit(X, groups='patient'), or give one label for each row"
        )
    places = np.zeros((len(minority), 1))
    t = Rows.of(places, minority, weight, groups, est._fewest_rows).weight
    require_centres(groups, minority, t)
    return np.where(minority, 0.0, t)


def counted(minority: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return which rows (n,) have a weight: all if weights are wrong (error later)."""
    if weight is None or weight.shape != minority.shape or not (weight > 0.0).any():
        return np.ones(len(minority), dtype=bool)
    return weight > 0.0


def thinned(
    minority: np.ndarray, weight: np.ndarray | None, of_both: bool, seed: int
) -> np.ndarray | None:
    """Return the weights of rows, 0 for rows that are not described.

    A random sample of 12,000 majority rows is described, and as many minority rows, or
    1,000 if the model learns from both classes.
    """
    most = MOST_DESCRIBED_MINORITY if of_both else MOST_DESCRIBED
    if weight is not None and weight.shape != minority.shape:
        return weight  # an error later
    counts = counted(minority, weight)
    rng = np.random.default_rng(seed)
    out = []
    for of_class, limit in ((~minority, MOST_DESCRIBED), (minority, most)):
        found = np.flatnonzero(of_class & counts)
        if len(found) > limit:
            out.append(np.setdiff1d(found, rng.choice(found, limit, replace=False)))
    if not out:
        return weight
    without = np.concatenate(out)
    n = len(counts)
    warn(
        f"{n} rows are many: {int(counts.sum()) - len(without)} of them, drawn at "
        "random, are described, and the others are answered as new rows",
        DataWarning,
    )
    weight = np.ones(n) if weight is None else weight.astype(float)
    weight[without] = 0.0
    return weight


def without_columns(
    X: ArrayLike, **of_rows: ArrayLike | None
) -> tuple[ArrayLike, dict[str, ArrayLike | None], dict[str, str]]:
    """Return X without the named columns, the values for its rows, and the names.

    ``of_rows`` are arguments of a user: one value for each row, or the name of a column
    of X.

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
            if not isinstance(X, pd.DataFrame):
                inputs.refuse(X)
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


def _require_order(argument: str, values: object, X: object) -> None:
    """Raise a ValueError if values have the index of X in another order."""
    pandas = (pd.Series, pd.DataFrame)
    if not (isinstance(values, pandas) and isinstance(X, pandas)):
        return
    index = values.index
    own = X.index
    differ = not index.equals(own) and index.is_unique and own.is_unique
    if differ and not len(index.symmetric_difference(own)):
        raise ValueError(
            f"{argument} has the rows of X in another order; give "
            f"{argument}.loc[X.index]"
        )


def as_weights(weight: ArrayLike | None) -> np.ndarray | None:
    """Return weights as numbers; a ValueError for the first that is none."""
    if weight is None:
        return None
    weight = np.asarray(weight)
    given = pd.Series(weight.reshape(-1))
    found = pd.to_numeric(given, errors="coerce")
    if len(bad := given[found.isna() & given.notna()]):
        raise ValueError(
            f"sample_weight must be numbers, got {bad.iloc[0]!r:.40} for row "
            f"{bad.index[0]}"
        )
    return found.to_numpy(float).reshape(weight.shape)


def warn_of_missing(rows: np.ndarray, columns: Sequence[Hashable]) -> None:
    """Warn of the missing cells in each column of rows (n, p)."""
    warn(
        f"{missing_text(np.isnan(rows), columns)}, filled by the nearest training "
        "rows: false-alarm rates and p-values hold approximately",
        DataWarning,
    )


def warn_of_classes(minority: np.ndarray, minor_label: object) -> None:
    """Warn if the minority, without a name, has more than half of the rows."""
    n = len(minority)
    n1 = int(minority.sum())
    if minor_label is None and n1 > n - n1:
        warn(
            f"the minority, -1 in {{-1, 1}} or 1 in {{0, 1}}, has {n1} of {n} rows, "
            "and the model describes the other class as normal; if the labels are the "
            "other way round, name the minority's label by minor_label=",
            DataWarning,
        )


# new rows that are training rows


def row_hashes(rows: np.ndarray) -> np.ndarray:
    """Return a number of 64 bits for each row (n, p), equal for equal rows."""
    frame = pd.DataFrame(rows + 0.0)  # -0.0 is 0.0
    return pd.util.hash_pandas_object(frame, index=False).to_numpy()


def unrepeated_hashes(rows: np.ndarray) -> np.ndarray:
    """Return the hashes of rows (n, p) that equal no other row.

    New rows may equal repeated rows by chance.
    """
    found, count = np.unique(row_hashes(rows), return_counts=True)
    return found[count == 1]


def warn_of_training(known: np.ndarray, rows: np.ndarray) -> None:
    """Warn if more than a few rows (m, p) have known hashes."""
    if len(rows) < FEWEST_REPEATED:
        return
    equal = int(np.isin(row_hashes(rows), known).sum())
    if equal > SHARE_REPEATED * len(rows):
        warn(
            f"{equal} of {len(rows)} rows equal one training row each, and are "
            "answered as new ones: they look too normal; in Python, est.decision() "
            "leaves each out",
            DataWarning,
        )
