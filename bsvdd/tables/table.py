"""A table: what its columns are; floats of its cells, and cells of floats."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from pandas.api import types

from ..base.messages import did_you_mean, listed, quoted
from ..base.warning import DataWarning, warn
from .columns import GAP, TableColumn, level, texts
from .reading import column_of, said


def as_frame(X: Any) -> Any:
    """Return a table of pandas, polars or pyarrow as a data frame, named by texts or 0, 1, ...

    Anything else is returned as it is. A lazy frame of polars is collected.

    Raises
    ------
    ImportError
        pyarrow is not installed.
    ValueError
        Two columns have one name.
    """
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        X = X.collect()
    if (
        hasattr(X, "__arrow_c_stream__")
        and hasattr(X, "columns")
        and not hasattr(X, "iloc")
    ):
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


def frame_of(X: Any, names: Any = None) -> pd.DataFrame:
    """Return rows as a data frame; those of an array get the columns ``names``."""
    X = as_frame(X)
    if isinstance(X, pd.DataFrame):
        return X
    return pd.DataFrame(np.asarray(X) if hasattr(X, "__array__") else X, columns=names)


@dataclass(frozen=True)
class Table:
    r"""What the columns of a table are: numbers, dates, categories, ordered ones, names of rows.

    An estimator learns it from its training rows, and keeps it for new rows. A cyclic
    column of period T has two coordinates for the kernel,

    .. math:: \cos(2 \pi x / T), \quad \sin(2 \pi x / T).

    Parameters
    ----------
    cyclic : mapping of str to float, optional
        The columns of numbers that come again, with their periods: hours 24, weekdays
        7, angles 360.
    missing : sequence, optional
        Values, numbers or texts, that stand for "not known": they are gaps.
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
    missing: Collection[Any] = ()
    columns: tuple[TableColumn, ...] = field(default=(), repr=False)
    names: tuple[str, ...] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        periods = list(self.cyclic.values())
        if not all(isinstance(v, int | float | np.number) and v > 0 for v in periods):
            raise ValueError(
                f"cyclic: periods must be positive, such as 24, got {self.cyclic!r}"
            )
        if isinstance(self.missing, str) or not isinstance(self.missing, Collection):
            raise ValueError(
                f"missing must be a list, such as [-999], got {self.missing!r:.80}"
            )

    @property
    def labels(self) -> list[Any]:
        """The names of the columns; their numbers if they have none."""
        return list(range(len(self.columns)) if self.names is None else self.names)

    @property
    def kinds(self) -> dict[Any, str]:
        """What each column is: "numbers", "dates", "levels", "category" or "names"."""
        return {
            n: column.kind for n, column in zip(self.labels, self.columns, strict=True)
        }

    @property
    def categorical(self) -> tuple[int, ...]:
        """The positions of the categories."""
        return tuple(
            i for i, column in enumerate(self.columns) if column.kind == "category"
        )

    def fit(self, X: Any, categorical: Collection[int] = ()) -> Self:
        """Return the table that training rows teach.

        Parameters
        ----------
        X : data frame or array-like of shape (n, p)
            The columns of an array are numbers.
        categorical : collection of int
            Positions of columns of numbers that are categories.

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
            columns = self._columns(self.known(X).reset_index(drop=True), categorical)
            names = None if list(X) == list(range(X.shape[1])) else tuple(X)
        else:
            kinds = [
                "category" if i in categorical else "numbers"
                for i in range(np.shape(X)[1])
            ]
            columns = tuple(map(TableColumn, kinds))
            names = None
        new = replace(self, columns=columns, names=names)
        if wrong := [name for name in self.cyclic if new.kinds.get(name) != "numbers"]:
            raise ValueError(f"cyclic: {wrong[0]!r} is none of the columns of numbers")
        return new

    def _columns(
        self, X: pd.DataFrame, categorical: Collection[int]
    ) -> tuple[TableColumn, ...]:
        """Return what the columns of training rows are, and say what a reader may doubt."""
        found: dict[Any, TableColumn] = {}
        wrong = []
        for i, name in enumerate(X):
            try:
                found[name] = column_of(X[name], i in categorical)
            except ValueError as error:
                wrong.append(f"column {name!r} {error}".replace("{x}", repr(name)))
        if {column.kind for column in found.values()} == {"names"}:
            wrong.append(
                "X has no column besides names of rows; if it is from CSV, see --sep"
            )
        if wrong:
            raise ValueError("; ".join(wrong))
        for name, column in found.items():
            for line in said(X[name], column):
                warn(f"column {name!r} {line}".replace("{x}", repr(name)), DataWarning)
        return tuple(found.values())

    def known(self, X: Any) -> Any:
        """Return a data frame, or an array of numbers, in which ``missing`` values are gaps."""
        codes = [level(v) for v in self.missing]
        numbers = pd.to_numeric(
            pd.Series(codes, dtype=object), errors="coerce"
        ).dropna()
        if not isinstance(X, pd.DataFrame):
            return np.where(np.isin(X, numbers), np.nan, X) if codes else X

        def with_gaps(x: pd.Series) -> pd.Series:
            if types.is_numeric_dtype(x):
                return x.mask(x.isin(numbers))
            cells = x.astype(object).map(level)
            return x.mask(
                cells.isin(codes) | pd.to_numeric(cells, errors="coerce").isin(numbers)
            )

        return X.apply(with_gaps) if codes else X

    def matched(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return new rows with the columns in the order of the fit; a ValueError if one lacks."""
        lacking = [name for name in self.names or () if name not in X]
        if lacking:
            raise ValueError(
                f"X lacks {listed(lacking)}{did_you_mean(lacking[0], X)}, which the "
                f"fit has; it has {quoted(X)}"
            )
        named = self.names is not None and len(self.names) == X.shape[1]
        return X[self.labels] if named else X  # scikit-learn names further columns

    def read(self, X: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Return the floats of rows (m, p), NaN for gaps, and which cells cannot be read."""
        X = self.known(X).reset_index(drop=True)
        values = {}
        bad = {}
        for name, column in zip(X, self.columns, strict=True):
            values[name] = column.floats(X[name])
            bad[name] = (values[name].isna() & X[name].notna()) | np.isinf(values[name])
            if bad[name].any():  # blank texts are gaps too
                cells = texts(X[name])
                given = cells.index[
                    cells != (GAP if column.kind in ("numbers", "dates") else "")
                ]
                bad[name] &= X.index.isin(given)
        return pd.DataFrame(values, X.index), pd.DataFrame(bad, X.index)

    def floats(self, X: Any) -> np.ndarray:
        """Return rows as floats (m, p): days, places of levels, codes of categories, NaN for gaps.

        Raises
        ------
        ValueError
            A column is not there, or a cell is not as in training.
        """
        X = self.matched(frame_of(X, self.labels))
        values, bad = self.read(X)
        for name, column in zip(X, self.columns, strict=True):
            if n := int(bad[name].sum()):
                row = int(bad[name].argmax())
                raise ValueError(
                    f"X: column {name!r}: row {row} (counted from 0) has "
                    f"{str(X[name].iloc[row])!r:.80}, which is no {column.expected} "
                    f"({n} such rows); mend or leave out these rows"
                )
        return values.to_numpy(float)

    def frame(self, rows: np.ndarray, index: Any = None) -> pd.DataFrame:
        """Return floats (m, p) as cells: numbers, dates, texts; None for gaps and names."""
        found = {}
        for name, column, x in zip(self.labels, self.columns, rows.T, strict=True):
            is_plain = column == TableColumn(column.kind) and column.kind != "names"
            cells = x if is_plain else [column.cell(v) for v in x]
            if column.kind == "dates":
                cells = pd.to_datetime(cells)
            found[name] = pd.Series(
                cells, dtype=object if isinstance(cells, list) else None
            )
        return pd.DataFrame(found).set_axis(
            range(len(rows)) if index is None else index
        )

    @property
    def cycles(self) -> tuple[int, ...]:
        """The positions of cosines, and of sines, in :meth:`coordinates`."""
        p = len(self.columns)
        return (*map(self.labels.index, self.cyclic), *range(p, p + len(self.cyclic)))

    def coordinates(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (..., p) as a kernel takes them: sines of cyclic columns come last."""
        place = [self.labels.index(name) for name in self.cyclic]
        angle = 2.0 * np.pi * rows[..., place] / list(self.cyclic.values())
        found = np.concatenate([rows, np.sin(angle)], axis=-1)
        found[..., place] = np.cos(angle)
        return found
