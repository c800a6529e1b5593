"""Tables in files: CSV and Parquet by pandas, NumPy's .npy as a memory map."""

from __future__ import annotations

import io
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, override

import numpy as np
import pandas as pd

from ..labels import read_labels
from ..messages import did_you_mean, quoted

SEPARATORS = (";", "\t", "|", ",")  # that a header may have instead of the one that was named
LINE = 2**20  # bytes of a line in which a separator is looked for
HEAD = 1000  # rows in which codes are looked for
CODE = r"0\d+|\+\d{7,}"  # 007, or a telephone number
GAPS = "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None"
GAPS += "|n/a|nan|null"  # as pandas has them


@dataclass(frozen=True)
class Layout:
    r"""What the columns of a CSV file are, besides features; and its signs.

    Parameters
    ----------
    label : str, optional
        Column of the classes.
    id : str, optional
        Column that names the rows. It is no feature, and is read as text.
    drop : tuple of str
        Columns to leave out.
    sep : str
        One character between two fields, or "tab".
    decimal : str
        "." or ",".
    categories : tuple of str
        Columns of categories that are numbers in the file, or could be an id. Other columns of text
        are categories without being named.
    orders : tuple of str
        Columns of ordered categories, each with its levels: "size=small<medium<large".

    Raises
    ------
    ValueError
        One column is two of these, or a sign is none of these.

    Examples
    --------
    >>> from bsvdd.estimators.rows.files import Layout
    >>> Layout(label="kind", id="name", drop=("remark",)).others
    {'kind': '--label', 'name': '--id', 'remark': '--drop'}
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    sep: str = ","
    decimal: str = "."
    categories: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sep in ("tab", "\\t"):
            object.__setattr__(self, "sep", "\t")
        if len(self.sep) != 1 or self.sep in '"\r\n\0' or self.sep.isalnum():
            raise ValueError(
                f"sep must be one character between fields, such as ';', or 'tab'; got {self.sep!r}"
            )
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.sep == self.decimal:
            raise ValueError(
                f"sep and decimal are both {self.sep!r}, so a number with decimals and two "
                "fields look the same; files with decimal commas mostly have sep=';'"
            )
        for text, levels in zip(self.orders, self.levels.values(), strict=True):
            if not 1 < len(set(levels)) == len(levels) or "" in levels:
                raise ValueError(
                    "--order must name a column and its different levels, from the lowest to the "
                    f"highest, as in 'size=small<medium<large'; got {text!r}"
                )
        seen: dict[str, str] = {}
        for option, name in self._named:
            if (other := seen.setdefault(name, option)) != option:
                raise ValueError(
                    f"{other} and {option} both name the column {name!r}; it can be one of them"
                )

    @property
    def _named(self) -> list[tuple[str, str]]:
        """The options, each with the column that it names."""
        one = [("--label", self.label), ("--id", self.id)]
        many = [("--category", name) for name in self.categories]
        many += [("--drop", name) for name in self.drop]
        many += [("--order", name) for name in self.levels]
        return [(option, name) for option, name in [*one, *many] if name is not None]

    @property
    def levels(self) -> dict[str, list[str]]:
        """The columns of ordered categories, each with its levels."""
        named = [text.partition("=") for text in self.orders]
        return {name.strip(): [v.strip() for v in of.split("<")] for name, _, of in named}

    @property
    def others(self) -> dict[str, str]:
        """The columns that are no features, each with the option that names it."""
        features = ("--category", "--order")
        return {name: option for option, name in self._named if option not in features}

    def check(self, path: Path, columns: list[str]) -> None:
        """Raise a ValueError if a named column is not among those of the file."""
        for option, name in self._named:
            if name not in columns:
                kind = "label column" if option == "--label" else "column"
                raise ValueError(
                    f"{path}: {kind} {name!r} ({option}) is not in the table"
                    f"{did_you_mean(name, columns)}; it has {quoted(columns)}"
                )


PLAIN = Layout()


def read_csv(
    path: Path, layout: Layout = PLAIN, texts: Collection[str] | None = ()
) -> pd.DataFrame:
    """Return a CSV file as a table.

    Labels are read by the rule of :func:`bsvdd.estimators.labels.read_labels`. They and ids have no
    gaps: "NA" is a name. A column of codes such as ``007`` is text.

    Parameters
    ----------
    path : path
    layout : Layout
        Columns that it names need not be in the file.
    texts : collection of str
        Further columns that are read as text. None: all are, as they are in the file.
    """
    errors = pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError
    kind = "CSV in UTF-8 with a header that names every field of the rows"
    require_file(path)
    with _readable(path, kind, *errors), io.BufferedReader(_Text(path)) as file:
        head = _head(file, path, layout.sep)
        names = list(head.columns)
        codes = [c for c in names if head[c].str.fullmatch(CODE, na=False).any()]
        raw = names if texts is None else [layout.label, layout.id]
        as_text = {*raw, *codes, *layout.categories, *layout.levels, *(texts or ())} & set(names)
        file.seek(0)
        table = pd.read_csv(
            file,
            sep=layout.sep,
            decimal=layout.decimal,
            dtype=dict.fromkeys(as_text, str),
            keep_default_na=False,
            na_values={c: [] if c in raw else GAPS.split("|") for c in names},
            index_col=False,
            skip_blank_lines=len(names) > 1,  # in one column a blank line is a missing value
            low_memory=False,
        )
    if texts is not None and layout.label in names:
        labels = read_labels(table[layout.label].tolist())
        table[layout.label] = pd.Series(labels, table.index, labels.dtype)
    return table


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Name the file in errors about its values."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if type(error) not in (ValueError, TypeError) or str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def require_file(path: Path) -> None:
    """Raise a ValueError unless ``path`` is a regular file: a pipe would block, or end too soon."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(
            f"{path} is no regular file; expected a file on a disk, as it is read more than once"
        )


class _Text(io.FileIO):
    """The bytes of a text file; a NUL is an error, as a file with holes could be endless."""

    @override
    def readinto(self, buffer: Any) -> int | None:
        n = super().readinto(buffer)
        if n and b"\0" in bytes(memoryview(buffer)[:n]):
            raise ValueError(
                f"{self.name} has NUL bytes, so it is not CSV in UTF-8; expected a text file"
            )
        return n


def _head(file: BinaryIO, path: Path, sep: str) -> pd.DataFrame:
    """Return the first rows of an open CSV file as text.

    The header is read as a row. If a row has more fields, this is an error; with a header, pandas
    would take the first fields of all rows as an index.
    """
    try:
        rows = pd.read_csv(
            file, header=None, nrows=HEAD + 1, dtype=str, keep_default_na=False, sep=sep
        )
    except ValueError:
        _check_separator(file, path, sep)
        raise
    if rows.shape[1] == 1:
        _check_separator(file, path, sep)
    names = rows.iloc[0]
    if (names == "").any():
        raise ValueError(
            f"{path}: column {int((names == '').argmax())} (counted from 0) has no name in the "
            "header; name it, or leave it out (pandas writes the index without a name: use "
            "to_csv(index=False))"
        )
    duplicates = names[names.duplicated()]
    if len(duplicates):  # pandas would rename one of them
        name = duplicates.iloc[0]
        raise ValueError(f"{path}: the header has the column {name!r} twice; rename one")
    return rows[1:].set_axis(names.tolist(), axis=1)


def _check_separator(file: BinaryIO, path: Path, sep: str) -> None:
    """Raise a ValueError if the header is one field, and another separator is in it and below."""
    file.seek(0)
    header, below = (file.readline(LINE).decode(errors="replace") for _ in range(2))
    if sep in header:
        return
    for sign in SEPARATORS:
        if sign in header and sign in below:
            name = "tab" if sign == "\t" else sign
            raise ValueError(
                f"{path}: the header is one column if {sep!r} separates fields, but it has "
                f"{sign!r} {header.count(sign)} times; name the separator: --sep {name!r} (in "
                f"Python, pandas.read_csv with sep={sign!r})"
            )


@contextmanager
def _readable(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn the errors of a parser into a ValueError that names the file."""
    try:
        yield
    except errors as error:
        raise ValueError(f"{path} is damaged, or not {kind}: {error}") from error


def read_parquet(path: Path) -> pd.DataFrame:
    """Return a Parquet file as a table."""
    options = {"integer_object_nulls": True}  # else large whole numbers become the same float
    try:
        with _readable(path, "Parquet", OSError, ValueError):
            return pd.read_parquet(path, engine="pyarrow", to_pandas_kwargs=options)
    except ImportError as error:
        raise ImportError(
            "reading .parquet needs pyarrow; install it: pip install 'bsvdd[parquet]'"
        ) from error


def split(frame: Any, label: str, argument: str, origin: str) -> tuple[Any, Any]:
    """Return a table, of pandas or dask, without its column of labels, and this column.

    ``argument`` is what the user named the column by, and ``origin`` where the table is from.
    """
    if label not in frame.columns:
        raise ValueError(
            f"{argument}={label!r} is no column of {origin}{did_you_mean(label, frame.columns)}, "
            f"which has {quoted(frame.columns)}"
        )
    if frame.shape[1] == 1:
        raise ValueError(f"{origin} has no column besides that of the labels")
    return frame.drop(columns=label), frame[label]


def require_content(path: Path, argument: str) -> None:
    """Raise an error unless ``path``, given as ``argument``, is a file that is not empty."""
    if path.is_dir():
        raise ValueError(
            f"{argument}: {path} is a directory, expected one file; for a Parquet data set give "
            "dask.dataframe.read_parquet(path)"
        )
    if not path.exists():
        raise FileNotFoundError(f"{argument}: there is no file {path}")
    require_file(path)
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty")


def open_npy(path: Path) -> np.ndarray:
    """Return the table in a .npy file, the rows of a fit, as a memory map."""
    if path.suffix != ".npy":
        raise ValueError(
            f"X={str(path)!r}: expected rows, or the path of a .npy file; read other files by "
            "bsvdd.read_table(path), which returns a data frame"
        )
    require_content(path, "X")
    try:
        X: np.ndarray = np.lib.format.open_memmap(path, mode="r")
    except (
        ValueError,
        OSError,
        OverflowError,
    ) as error:  # their texts advise to unpickle, which runs code
        raise ValueError(
            f"{path} is damaged, or not a .npy file of numbers; expected a file that np.save "
            "wrote (pickled arrays of objects are not read)"
        ) from error
    if X.ndim != 2 or X.dtype.kind not in "fiub" or not X.size:
        raise ValueError(
            f"{path}: expected a table of numbers (rows, columns), got an array of shape "
            f"{X.shape} and type {X.dtype}"
        )
    return X
