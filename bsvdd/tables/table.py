"""A table: what its columns are; floats of its cells, and cells of floats."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api import types

from ..base.messages import advised, did_you_mean, listed, quoted
from ..base.warning import DataWarning, warn
from .columns import (
    NO_VALUE,
    TableColumn,
    first_row,
    numbered,
    text_of,
    texts,
    times_of,
)
from .features import no_features
from .reading import column_of, notes_of_column, of_column


def as_frame(X: Any) -> Any:
    """Return a table of pandas, polars or pyarrow as a data frame.

    Its columns are named by texts or 0, 1, .... A lazy frame of polars is collected.

    Parameters
    ----------
    X : object

    Returns
    -------
    pandas.DataFrame or object
        Anything else than a table is returned as it is.

    Raises
    ------
    ImportError
        pyarrow is not installed.
    ValueError
        Two columns have one name.
    """
    if hasattr(X, "collect_schema"):  # of polars, lazy or not
        X = X.lazy().collect()
    is_arrow = hasattr(X, "__arrow_c_stream__") and hasattr(X, "columns")
    if is_arrow and not hasattr(X, "iloc"):
        try:
            import pyarrow as pa
        except ImportError as error:
            raise ImportError(
                f"a table of {type(X).__module__.partition('.')[0]} needs pyarrow; "
                "install it: pip install 'bsvdd[parquet]', or give X.to_pandas()"
            ) from error
        X = pa.table(X).to_pandas(integer_object_nulls=True)
    if not isinstance(X, pd.DataFrame):
        return X
    if X.columns.has_duplicates:
        name = X.columns[X.columns.duplicated()][0]
        raise ValueError(f"X has the column {str(name)!r} twice; rename one")
    if set(X.columns) == set(range(X.shape[1])):
        return X[list(range(X.shape[1]))]
    if all(isinstance(name, str) for name in X.columns):
        return X
    return X.set_axis([str(name) for name in X.columns], axis=1)


def frame_of(X: Any, names: Sequence[Hashable] | None = None) -> pd.DataFrame:
    """Return rows as a data frame.

    Parameters
    ----------
    X : data frame or array-like of shape (m, p)
    names : sequence, optional
        The columns that an array gets.

    Returns
    -------
    pandas.DataFrame
    """
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        return X
    return pd.DataFrame(np.asarray(X) if hasattr(X, "__array__") else X, columns=names)


@dataclass(frozen=True)
class Table:
    r"""What each column of a table is: numbers, dates, levels, a category, or names.

    An estimator learns it from its training rows, and keeps it for new rows. A cyclic
    column of period T has two coordinates for the kernel,

    .. math:: \cos(2 \pi x / T), \quad \sin(2 \pi x / T).

    Parameters
    ----------
    cyclic : mapping of str to float, optional
        The columns of numbers that come again, with their periods: hours 24, weekdays
        7, angles 360.
    missing : sequence, optional
        Values, numbers or texts, that stand for "not known"; a text such as "age=999"
        counts in the column age only.
    columns : tuple of TableColumn, optional
        What each column is; learned by ``fit``.
    names : tuple of str, optional
        The names of the columns; None for an array.

    Raises
    ------
    ValueError
        A period is not positive, or ``missing`` is no sequence.

    See Also
    --------
    read_table : a table from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> import bsvdd
    >>> X = pd.DataFrame({"hour": [23, 0, -9], "city": ["Bonn", "Rom", "Bonn"]})
    >>> table = bsvdd.Table(cyclic={"hour": 24}, missing=[-9]).fit(X)
    >>> table.kinds
    {'hour': 'numbers', 'city': 'category'}
    >>> rows = table.floats(X)
    >>> rows
    array([[23.,  0.],
           [ 0.,  1.],
           [nan,  0.]])
    >>> table.frame(rows)["city"].tolist()
    ['Bonn', 'Rom', 'Bonn']
    """

    cyclic: Mapping[Any, float] = field(default_factory=dict)
    missing: Collection[object] = ()
    columns: tuple[TableColumn, ...] = field(default=(), repr=False)
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.cyclic, Mapping) or not all(
            isinstance(v, int | float | np.number) and v > 0
            for v in self.cyclic.values()
        ):
            raise ValueError(
                "cyclic must be columns with positive periods, such as {'hour': 24}, "
                f"got {self.cyclic!r}"
            )
        if isinstance(self.missing, str) or not isinstance(self.missing, Collection):
            raise ValueError(
                f"missing must be a list, such as [-999], got {self.missing!r:.80}"
            )

    @property
    def labels(self) -> list[Hashable]:
        """The names of the columns; their numbers if they have none."""
        return list(range(len(self.columns)) if self.names is None else self.names)

    @property
    def kinds(self) -> dict[Hashable, str]:
        """What each column is: "numbers", "dates", "levels", "category" or "names"."""
        kinds = [column.kind for column in self.columns]
        return dict(zip(self.labels, kinds, strict=True))

    @property
    def categorical(self) -> tuple[int, ...]:
        """The positions of the categories."""
        kinds = [column.kind for column in self.columns]
        return tuple(i for i, kind in enumerate(kinds) if kind == "category")

    def fit(self, X: ArrayLike, categorical: Collection[int] = ()) -> Self:
        """Return the table with its columns, learned from training rows.

        Parameters
        ----------
        X : data frame or array-like of shape (n, p)
            The columns of an array are numbers.
        categorical : collection of int
            Positions of columns of numbers that are categories.

        Returns
        -------
        Table

        Raises
        ------
        ValueError
            A column may be several things, or nothing that counts; the message has its
            cell, its row, and lines that work when pasted.

        Warns
        -----
        DataWarning
            A column is read in a way that a reader may doubt.
        """
        X = as_frame(X)
        if isinstance(X, pd.DataFrame):
            return self.fit_floats(X, categorical)[0]
        of_array = {True: TableColumn("category"), False: TableColumn()}
        p = np.shape(X)[1]
        return self._with(tuple(of_array[i in categorical] for i in range(p)))

    def fit_floats(
        self, X: pd.DataFrame, categorical: Collection[int] = ()
    ) -> tuple[Self, np.ndarray]:
        """Return the table as :meth:`fit`, and the training rows as floats.

        Parameters
        ----------
        X : data frame of shape (n, p)
        categorical : collection of int
            Positions of columns of numbers that are categories.

        Returns
        -------
        table : Table
        rows : ndarray of shape (n, p)
            As :meth:`floats` returns them; each column is read once.
        """
        X = self._cells(as_frame(X))
        found = {}
        wrong = []
        for i, name in enumerate(X):
            try:
                found[name] = column_of(X[name], i in categorical)
            except ValueError as error:
                wrong.append(of_column(name, str(error)))
        if {column.kind for column in found.values()} == {"names"}:
            see = advised("separator", "sep of bsvdd.read_table")
            wrong.append(
                f"X has no column besides names of rows; if it is from CSV, see {see}"
            )
        if wrong:
            raise ValueError("; ".join(wrong))
        names = None if list(X) == list(range(X.shape[1])) else tuple(X)
        table = self._with(tuple(found.values()), names)
        values = table._values(X)
        none = no_features(X, table.columns, values)
        for name, column in found.items():
            x = values[name].to_numpy()
            no_feature = none.get(name, "")
            is_cyclic = name in self.cyclic
            for line in notes_of_column(X[name], column, x, no_feature, is_cyclic):
                warn(of_column(name, line), DataWarning)
        return table, table._readable(X, values)

    def _with(self, columns: tuple[TableColumn, ...], names: Any = None) -> Self:
        """The table with its columns; a ValueError if a cyclic one has no numbers."""
        new = replace(self, columns=columns, names=names)
        if wrong := [name for name in self.cyclic if new.kinds.get(name) != "numbers"]:
            raise ValueError(f"cyclic: {wrong[0]!r} is none of the columns of numbers")
        return new

    def _cells(self, X: pd.DataFrame) -> pd.DataFrame:
        """Rows as :meth:`known`, by the lines of their file or numbered from 0."""
        return numbered(self.known(X))

    def _values(self, X: pd.DataFrame) -> pd.DataFrame:
        """The floats of cells, NaN where one is missing or cannot be read."""
        columns = zip(X, self.columns, strict=True)
        values = {name: column.floats(X[name]) for name, column in columns}
        return pd.DataFrame(values, X.index)

    def known(self, X: Any) -> Any:
        """Return rows in which the values of :attr:`missing` are missing.

        Texts of :attr:`cyclic` columns that are clocks are times of the day.

        Parameters
        ----------
        X : pandas.DataFrame or ndarray of numbers

        Returns
        -------
        pandas.DataFrame or ndarray
        """
        X = self._without_codes(X) if self.missing else X
        if isinstance(X, pd.DataFrame):
            clocks = [c for c in self.cyclic if c in X and X[c].dtype.kind == "O"]
            X = X.copy() if clocks else X
            for name in clocks:
                times = times_of(X[name])
                X[name] = X[name].astype(object).where(times.isna(), times.dt.time)
        return X

    def _without_codes(self, X: Any) -> Any:
        """Rows in which the values of :attr:`missing` are missing."""
        if not isinstance(X, pd.DataFrame):
            names = self.labels if len(self.columns) == np.shape(X)[1] else None
            return self._without_codes(pd.DataFrame(X, columns=names)).to_numpy()
        of_all = [text_of(v) for v in self.missing]

        def masked(x: pd.Series) -> pd.Series:
            own = f"{x.name}="
            of_column = [v.removeprefix(own) for v in of_all if v.startswith(own)]
            codes = [*of_all, *of_column]
            found = pd.to_numeric(pd.Series(codes, dtype=object), errors="coerce")
            numbers = found.dropna()
            if types.is_numeric_dtype(x) and not types.is_bool_dtype(x):
                return x.mask(x.isin(numbers))
            cells = x.astype(object).map(text_of)
            is_number = pd.to_numeric(cells, errors="coerce").isin(numbers)
            return x.mask(cells.isin(codes) | is_number)

        return X.apply(masked)

    def require(self, X: pd.DataFrame) -> None:
        """Raise a ValueError for a column of the fit that new rows have not.

        Parameters
        ----------
        X : pandas.DataFrame

        Raises
        ------
        ValueError
        """
        absent = [name for name in self.names or () if name not in X]
        if absent:
            raise ValueError(
                f"X lacks {listed(absent)}{did_you_mean(absent[0], X)}, which the "
                f"fit has; it has {quoted(X)}"
            )

    def matched(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return new rows with their columns in the order of the fit.

        Parameters
        ----------
        X : pandas.DataFrame

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ValueError
            A column of the fit is not there, or another one is.
        """
        self.require(X)
        if self.names is None:
            return X
        if further := [name for name in X if name not in self.names]:
            raise ValueError(
                f"X has {listed(further)}, which the fit has not; leave "
                f"{'it' if len(further) == 1 else 'them'} out"
            )
        return X[self.labels]

    def unreadable(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return which cells are there, but cannot be read.

        Parameters
        ----------
        X : pandas.DataFrame of shape (m, p)
            With the columns of the fit, and as :meth:`known` returns them.

        Returns
        -------
        pandas.DataFrame of bool, shape (m, p)
        """
        return self._unreadable(X, self._values(X))

    def _unreadable(self, X: pd.DataFrame, values: pd.DataFrame) -> pd.DataFrame:
        """Which cells (m, p) are there, but have no finite float."""
        found = (values.isna() & X.notna()) | np.isinf(values)
        for name, column in zip(X, self.columns, strict=True):
            if found[name].any():
                cells = texts(X[name])  # blank texts are missing too
                of_numbers = column.kind in ("numbers", "dates")
                given = cells.index[cells != (NO_VALUE if of_numbers else "")]
                found[name] &= X.index.isin(given)
        return found

    def _readable(self, X: pd.DataFrame, values: pd.DataFrame) -> np.ndarray:
        """The floats as an array; a ValueError for the first column with a bad cell."""
        bad = self._unreadable(X, values)
        for name, column in zip(X, self.columns, strict=True):
            if bad[name].any():
                value = X[name][bad[name].to_numpy()].iloc[0]
                first = first_row(numbered(X[name]), bad[name])
                raise ValueError(
                    f"X: column {name!r}: {first} has {str(value)!r:.80}, which is no "
                    f"{column.expected}; mend or leave out these rows"
                )
        return values.to_numpy(float)

    def floats(self, X: ArrayLike) -> np.ndarray:
        """Return rows as floats: days, places of levels, codes of categories.

        Parameters
        ----------
        X : data frame or array-like of shape (m, p)

        Returns
        -------
        ndarray of shape (m, p)
            NaN where a cell is missing.

        Raises
        ------
        ValueError
            A column is not there, or a cell is not as in training.
        """
        X = self._cells(self.matched(frame_of(X, self.labels)))
        return self._readable(X, self._values(X))

    def frame(self, rows: np.ndarray, index: Any = None) -> pd.DataFrame:
        """Return floats as cells: numbers, dates, texts.

        Parameters
        ----------
        rows : ndarray of shape (m, p)
        index : array-like of shape (m,), optional
            The names of the rows; by default 0, 1, ....

        Returns
        -------
        pandas.DataFrame
            None where a value is missing, and for names of rows.
        """
        found = {}
        for name, column, x in zip(self.labels, self.columns, rows.T, strict=True):
            is_plain = column == TableColumn(column.kind) and column.kind != "names"
            cells = pd.Series(x)
            if not is_plain:
                code, numbers = pd.factorize(x, use_na_sentinel=False)
                own = pd.Series([column.cell(v) for v in numbers], dtype=object)
                cells = own.take(code).reset_index(drop=True)
            if column.kind == "dates":
                cells = pd.to_datetime(cells)
            found[name] = cells
        names = range(len(rows)) if index is None else index
        return pd.DataFrame(found).set_axis(names)

    @property
    def cycles(self) -> tuple[int, ...]:
        """The positions of cosines, and of sines, in :meth:`coordinates`."""
        p = len(self.columns)
        return (*map(self.labels.index, self.cyclic), *range(p, p + len(self.cyclic)))

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Return rows as a kernel takes them.

        Parameters
        ----------
        rows : ndarray of shape (..., p)

        Returns
        -------
        ndarray of shape (..., p + number of cyclic columns)
            A cyclic column is its cosine; the sines come last.
        """
        place = [self.labels.index(name) for name in self.cyclic]
        angle = 2.0 * np.pi * rows[..., place] / list(self.cyclic.values())
        found = np.concatenate([rows, np.sin(angle)], axis=-1)
        found[..., place] = np.cos(angle)
        return found
