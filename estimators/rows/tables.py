"""The user's own table: its features, its label, its ids, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd

from ...inference.warning import DataWarning, warn
from ..labels import classes_of, read_labels
from ..messages import did_you_mean, listed, quoted
from .cells import as_numbers, with_points
from .columns import kinds_of, said
from .files import (
    FRAMES,
    OTHERS,
    PLAIN,
    TEXTS,
    Layout,
    kind_of_file,
    naming,
    read_file,
    require_content,
    split,
)

is_numeric = pd.api.types.is_numeric_dtype


@overload
def read_table(path: str | Path) -> pd.DataFrame: ...
@overload
def read_table(path: str | Path, label: str) -> tuple[pd.DataFrame, pd.Series]: ...
def read_table(path: str | Path, label: str | None = None) -> Any:
    r"""Return the table in a file, as the commands read it.

    Every estimator takes it, by the same rules: columns of text are numbers, dates or categories,
    and gaps are NaN. A column of codes such as ``007`` is text.

    Parameters
    ----------
    path : str or path
        A file ``.csv``, ``.tsv`` or ``.txt`` with a header;
        ``.parquet``, ``.feather`` or ``.xlsx``.
    label : str, optional
        Name of the column of the labels.

    Returns
    -------
    X : pandas.DataFrame of shape (n, p)
    y : pandas.Series of shape (n,)
        With ``label`` only: the labels, which are no column of X then.

    Raises
    ------
    ValueError
        The file is not of its format or has no rows, its header lacks a name or repeats one, or
        ``label`` is no column.
    FileNotFoundError
    ImportError
        Parquet and Feather need pyarrow, Excel needs openpyxl.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bsvdd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("size,city,kind\n1.7,Bonn,0\n1.8,Rom,1\n")
    ...     X, y = bsvdd.read_table(path, label="kind")
    >>> X["city"].tolist(), y.tolist()
    (['Bonn', 'Rom'], [0, 1])
    """
    path = Path(path)
    if kind_of_file(path) not in (*TEXTS, *FRAMES, *OTHERS):
        raise ValueError(
            f"path={str(path)!r}: expected a file named {', '.join((*TEXTS, *FRAMES))}; open a "
            ".npy file by numpy.load(path)"
        )
    require_content(path, "path")
    table = read_file(path, Layout(label=label))
    if not len(table):
        raise ValueError(f"{path} has no rows")
    return table if label is None else split(table, label, "label", str(path))


def read_own(
    path: str | Path,
    layout: Layout = PLAIN,
    texts: Collection[str] = (),
    na: Collection[str] = (),
) -> pd.DataFrame:
    """Read a file with a header, as in :func:`bsvdd.estimators.rows.files.read_file`.

    Columns to drop are left out, and the ids, as text, are the index of the table; without ids it
    counts rows, from 0.

    Raises
    ------
    ValueError
        The file is not of its format, its header lacks a name or repeats one, it has no rows, or it
        lacks a column of the layout.

    Warns
    -----
    DataWarning
        An id is repeated.
    """
    path = Path(path)
    table = read_file(path, layout, texts, na)
    layout.check(path, list(table.columns))
    if table.empty:
        raise ValueError(f"{path} has a header but no rows")
    if layout.id is not None:
        table.index = pd.Index(table.pop(layout.id), name=layout.id)
        _warn_of_repeated(path, table.index)
    return table.drop(columns=list(layout.drop))


def _warn_of_repeated(path: Path, ids: pd.Index) -> None:
    shared = ids.duplicated(keep=False) & (ids != "")
    if shared.any():
        first = np.flatnonzero(ids == ids[shared][0])
        warn(
            f"{path}: ids in the column {ids.name!r} repeat: {ids[first[0]]!r:.80} names rows "
            f"{first[0]} and {first[1]} (counted from 0), and {int(shared.sum())} of {len(ids)} "
            "rows share their id with another; a comparison can train on one row of an id and test "
            "on another",
            DataWarning,
        )


def place(table: pd.DataFrame | pd.Series, number: int) -> str:
    """Return how a message names a row: by its number, counted from 0, and by its id."""
    name = table.index.name
    of_id = "" if name is None else f"; {str(name)!r} is {table.index[number]!r:.80}"
    return f"row {number} (counted from 0{of_id})"


def require_columns(table: pd.DataFrame, names: list[str]) -> None:
    """Raise a ValueError if the table lacks one of the columns."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise ValueError(
            f"the table lacks {listed(lacking)}{did_you_mean(lacking[0], table.columns)}; it "
            f"has {quoted(table.columns)}"
        )


def gaps(X: pd.DataFrame) -> np.ndarray:
    """Return which values are missing or infinite, shape (n, p)."""
    return (X.isna() | X.isin([np.inf, -np.inf])).to_numpy()


def features(table: pd.DataFrame, layout: Layout = PLAIN) -> tuple[pd.DataFrame, list[str]]:
    """Return the features, and what is wrong with them, a sentence each.

    Columns are numbers, categories, and text whose form a fit finds; those in trouble, or that name
    the rows, are left out.
    """
    if not table.shape[1]:
        return table, ["the table has no feature columns"]
    table, unordered = _ordered(table, layout)
    kinds, wrong = kinds_of(table, layout.categories, layout.decimal)
    wrong = [*unordered, *wrong]
    changed = {c: kind for c, kind in kinds.items() if kind in ("numbers", "few", "names")}
    for line in said(table, changed, layout.decimal):  # a fit says the others
        warn(line, DataWarning)
    X = table[[c for c, kind in kinds.items() if kind != "names"]].copy(deep=False)
    for c in X:
        if kinds[c] in ("category", "few"):
            X[c] = X[c].astype("category")
        elif kinds[c] == "numbers" and not is_numeric(X[c]):
            X[c] = as_numbers(X[c], layout.decimal)
        elif kinds[c] == "amounts" and layout.decimal == ",":
            X[c] = with_points(X[c])
    if not (X.shape[1] or wrong):
        wrong = [
            "the table has no feature columns besides those that name its rows; if another sign "
            "separates its fields, name it by --sep"
        ]
    return X, wrong + (_wrong_gaps(X) if X.shape[1] else [])


def _ordered(table: pd.DataFrame, layout: Layout) -> tuple[pd.DataFrame, list[str]]:
    """Return a table with its columns of ordered categories, and the cells that are no level."""
    table, wrong = table.copy(deep=False), []
    for name, levels in layout.levels.items():
        bad = (table[name].notna() & ~table[name].isin(levels)).to_numpy()
        if bad.any():
            wrong.append(
                f"--order: {str(name)!r} is {table[name][bad].iloc[0]!r:.40} in "
                f"{place(table, int(bad.argmax()))}, and {int(bad.sum())} of {len(table)} rows "
                f"have no level of {' < '.join(levels)}"
            )
            del table[name]
        else:
            table[name] = table[name].astype(pd.CategoricalDtype(levels, ordered=True))
    return table, wrong


def _wrong_gaps(X: pd.DataFrame) -> list[str]:
    """Return what is wrong with empty columns and rows, and infinite values."""
    empty, bad = X.columns[X.isna().all()], X.isin([np.inf, -np.inf]).to_numpy()
    if len(empty):
        drop = " ".join(f"--drop {str(c)!r}" for c in empty[:3])
        return [f"{listed(empty, 'has', 'have')} no value in any row; leave out by {drop}"]
    lacking = X.isna().to_numpy().all(axis=1)
    if lacking.any():
        return [
            f"{int(lacking.sum())} of {len(X)} rows have no value in any column, the first is "
            f"{place(X, int(lacking.argmax()))}; leave them out"
        ]
    if not bad.any():
        return []
    number, column = np.argwhere(bad)[0]
    counts = [f"{str(c)!r} ({n})" for c, n in zip(X.columns, bad.sum(axis=0), strict=True) if n]
    return [
        f"{int(bad.any(axis=1).sum())} of {len(X)} rows have infinite values, in "
        f"{', '.join(counts[:8])}{f' and {len(counts) - 8} more' if len(counts) > 8 else ''}; the "
        f"first is {place(X, number)}, whose {str(X.columns[column])!r} is "
        f"{X.iat[number, column]}; empty these cells"
    ]


def minority_of(y: pd.Series, minor: str | None = None) -> np.ndarray:
    """Return which rows belong to the minority.

    Parameters
    ----------
    y : pandas.Series
        The column of the classes.
    minor : str, optional
        Value of the minority class. If None, the labels must be {0, 1} or {-1, 1} and are read by
        the rules of :mod:`bsvdd.estimators.labels`.

    Raises
    ------
    ValueError
        The value does not occur, a row has no label, or the labels are ambiguous.
    """
    missing = y.isna().to_numpy()
    if missing.any():
        raise ValueError(
            f"label column {y.name!r} has no label in {place(y, int(missing.argmax()))}, and in "
            f"{int(missing.sum())} of {len(y)} rows in all; leave these rows out, or "
            "give them a label"
        )
    labels = y.to_numpy()
    value: Any = minor
    if minor is not None:
        value = minor if any(isinstance(v, str) for v in labels) else read_labels([minor])[0]
        if isinstance(value, np.bool_) != (labels.dtype == bool) or not (labels == value).any():
            values = pd.unique(labels)
            raise ValueError(
                f"the minority value {minor!r} never occurs in column {y.name!r}"
                f"{did_you_mean(minor, values)}; it has {quoted(values)}"
            )
    return classes_of(labels, len(labels), value)[0]


def read_features(
    path: str | Path,
    layout: Layout,
    minor: str | None = None,
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the features of a file, and which rows are minority (None without a label).

    Parameters
    ----------
    path : str or path
    layout : Layout
    minor : str, optional
        As in :func:`minority_of`.

    Raises
    ------
    ValueError
        As in :func:`read_own` and :func:`minority_of`, or a column is neither numbers nor dates
        nor categories, or has no value at all. The message names the file, and all that is wrong
        with label and features.

    Warns
    -----
    DataWarning
        As in :func:`read_own`; columns of dates are named.
    """
    table, label, minority = read_own(path, layout), layout.label, None
    wrong = []
    with naming(path):
        if label is not None:
            try:
                minority = minority_of(table.pop(label), minor)
            except ValueError as error:
                wrong = [str(error)]
        X, of_columns = features(table, layout)
        if wrong := [*wrong, *of_columns]:
            raise ValueError("; ".join(wrong))
    return X, minority
