"""Rows in files: CSV, Parquet and NumPy's .npy, read block by block."""

from __future__ import annotations

import io
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, override

import numpy as np
import pandas as pd

from ..labels import read_labels
from . import blocks
from .blocks import ArrayRows, NamedRows, Rows, as_array, checked, release
from .categories import are_categories, encoded

FILES = (".npy", ".parquet", ".csv")
SEPARATORS = (";", "\t", "|", ",")  # that a header may have instead of the one that was named
LINE = 2**20  # bytes of a line in which a separator is looked for


@dataclass(frozen=True)
class CsvFormat:
    r"""The signs of a CSV file.

    Parameters
    ----------
    sep : str
        One character between two fields, or "tab".
    decimal : str
        "." or ",".

    Raises
    ------
    ValueError
        A sign is none of these, or both are the same.

    Examples
    --------
    >>> from bsvdd.estimators.rows.files import CsvFormat
    >>> CsvFormat("tab", ",")
    CsvFormat(sep='\t', decimal=',')
    """

    sep: str = ","
    decimal: str = "."

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

    def numbers(self, texts: pd.Series) -> pd.Series:
        """Return texts as numbers, NaN where a text is not a number with this decimal sign."""
        if self.decimal != "." and not pd.api.types.is_numeric_dtype(texts):
            plain = texts.astype(object).where(texts.isna(), texts.astype(str))
            texts = plain.map(self._with_point, na_action="ignore")
        return pd.to_numeric(texts, errors="coerce").astype(float)

    def _with_point(self, text: str) -> str:
        return "" if "." in text else text.replace(self.decimal, ".")


COMMAS = CsvFormat()


class _Table(NamedRows):
    """Rows of a file with named columns."""

    def __init__(self, path: Path) -> None:
        self.path, self.origin = path, str(path)
        self._columns = self._header()
        self._use(self._columns)

    def _header(self) -> list[str]:
        raise NotImplementedError

    def _frames(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        raise NotImplementedError

    @override
    def labels(self, name: str) -> np.ndarray:
        self._use(self._columns, name)
        labels = self._labels(name)
        self.n_rows = len(labels)
        return labels

    def _labels(self, name: str) -> np.ndarray:
        """Return the column ``name``, with one type for all blocks."""
        parts = [frame[name].to_numpy() for frame in self._frames([name])]
        return np.concatenate(parts) if parts else np.empty(0)

    @override
    def blocks(self) -> Iterator[tuple[int, pd.DataFrame]]:
        start = 0
        for frame in self._frames(self.names or []):
            yield start, frame
            start += len(frame)

    @property
    def _texts(self) -> list[str]:
        """The columns that are categories."""
        return [(self.names or [])[i] for i in self.categorical]

    def _block_rows(self, columns: list[str]) -> int:
        return max(1, blocks.BLOCK_VALUES // len(columns))


class ParquetRows(_Table):
    """Rows of a Parquet file."""

    def __init__(self, path: Path) -> None:
        try:
            from pyarrow.parquet import ParquetFile
        except ImportError as error:
            raise ImportError(
                "reading .parquet needs pyarrow; install it: pip install 'bsvdd[parquet]'"
            ) from error
        self._open: Callable[[], Any] = lambda: ParquetFile(path)
        with _readable(path, "Parquet", OSError, ValueError), self._open() as file:
            self.n_rows = int(file.metadata.num_rows)
        super().__init__(path)

    @override
    def _header(self) -> list[str]:
        with self._open() as file:
            return [str(name) for name in file.schema_arrow.names]

    @override
    def found_categories(self) -> tuple[int, ...]:
        from pyarrow import types

        with self._open() as file:
            kinds = {field.name: field.type for field in file.schema_arrow}
        are_text = types.is_string, types.is_large_string, types.is_dictionary
        return tuple(
            i for i, name in enumerate(self.names or []) if any(f(kinds[name]) for f in are_text)
        )

    @override
    def _frames(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        with _readable(self.path, "Parquet", OSError, ValueError), self._open() as file:
            for batch in file.iter_batches(self._block_rows(columns), columns=columns):
                yield batch.to_pandas()

    @override
    def _labels(self, name: str) -> np.ndarray:
        with _readable(self.path, "Parquet", OSError, ValueError), self._open() as file:
            column = file.read(columns=[name]).column(name)
        # with gaps, whole numbers would become floats, and two large ones the same
        labels: np.ndarray = column.to_pandas(integer_object_nulls=True).to_numpy()
        return labels


class CsvRows(_Table):
    """Rows of a CSV file with a header; each pass parses it again, so Parquet is faster."""

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        """The number of rows; the parser counts them, because a quoted field can span lines."""
        return sum(len(frame) for frame in self._frames(self._columns[:1]))

    @override
    def _header(self) -> list[str]:
        return csv_header(self.path)

    @override
    def _labels(self, name: str) -> np.ndarray:
        # as text, because the parser chooses the type of each block separately
        return read_labels([text for frame in self._frames([name], True) for text in frame[name]])

    @override
    def found_categories(self) -> tuple[int, ...]:
        names, found = self.names or [], set()
        for frame in self._pieces(names):
            found |= {i for i, name in enumerate(names) if are_categories(frame[name])}
        return tuple(sorted(found))

    @override
    def _frames(self, columns: list[str], as_text: bool = False) -> Iterator[pd.DataFrame]:
        start, booleans = 0, None
        for frame in self._pieces(columns, as_text):
            found = set(frame.select_dtypes("bool").columns)
            # the parser types each block by itself; booleans beside numbers are text in a whole
            if mixed := found ^ (found if booleans is None else booleans):
                raise TypeError(
                    f"{self.path}: column {min(mixed)!r} has true and false in some rows and "
                    f"other values in others (from row {start}, counted from 0); write one kind"
                )
            booleans, start = found, start + len(frame)
            yield frame

    def _pieces(self, columns: list[str], as_text: bool = False) -> Iterator[pd.DataFrame]:
        size = self._block_rows(self._columns)
        # read all columns: with ``usecols`` the parser accepts rows with too many fields
        options = csv_options(self._columns, as_text, texts=self._texts)
        with (
            reading_csv(self.path) as file,
            pd.read_csv(file, chunksize=size, **options) as pieces,
        ):
            for frame in pieces:
                yield frame[columns]


def csv_options(
    columns: list[str],
    as_text: bool = False,
    form: CsvFormat = COMMAS,
    texts: Iterable[str] = (),
) -> dict[str, Any]:
    """Return pandas' options to read a CSV file with these columns, as numbers or as text.

    Columns of ``texts`` are read as text, with gaps, beside numbers. In a file with one column, a
    blank line is a missing value and is not skipped.
    """
    text: dict[str, Any] = {"dtype": dict.fromkeys(texts, str), "low_memory": False}
    if as_text:
        text = {"dtype": str, "keep_default_na": False}
    blank = {"index_col": False, "skip_blank_lines": len(columns) > 1}
    return {"sep": form.sep, "decimal": form.decimal, **blank, **text}


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


def csv_header(path: Path, form: CsvFormat = COMMAS) -> list[str]:
    """Return the names of the columns of a CSV file; a ValueError if the header is invalid.

    The header is read as a row, together with the next row. If the next row has more fields, this
    is an error; with a header, pandas would take the first fields of all rows as an index.
    """
    _check_separator(path, form)
    with reading_csv(path) as file:
        rows = pd.read_csv(
            file, header=None, nrows=2, dtype=str, keep_default_na=False, sep=form.sep
        )
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
    return names.tolist()


def _check_separator(path: Path, form: CsvFormat) -> None:
    """Raise a ValueError if the header is one field, and another separator is in it and below."""
    with reading_csv(path) as file:
        header, below = (file.readline(LINE).decode(errors="replace") for _ in range(2))
    if form.sep in header:
        return
    for sign in SEPARATORS:
        if sign in header and sign in below:
            name = "tab" if sign == "\t" else sign
            raise ValueError(
                f"{path}: the header is one column if {form.sep!r} separates fields, but it has "
                f"{sign!r} {header.count(sign)} times; name the separator: --sep {name!r} (in "
                f"Python, pandas.read_csv with sep={sign!r})"
            )


@contextmanager
def reading_csv(path: Path) -> Iterator[BinaryIO]:
    """Give an open CSV file, and turn errors on what is not CSV into ones that name the file."""
    errors = pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError
    kind = "CSV in UTF-8 with a header that names every field of the rows"
    require_file(path)
    with _readable(path, kind, *errors), io.BufferedReader(_Text(path)) as file:
        yield file


@contextmanager
def _readable(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn the errors of a parser into a ValueError that names the file."""
    try:
        yield
    except errors as error:
        raise ValueError(f"{path} is damaged, or not {kind}: {error}") from error


@contextmanager
def naming(X: Any) -> Iterator[None]:
    """Name the file in errors about its values, if X is the path of a file."""
    try:
        yield
    except (ValueError, TypeError) as error:
        is_path = isinstance(X, str | os.PathLike) and type(error) in (ValueError, TypeError)
        if not is_path or str(X) in str(error):
            raise
        raise type(error)(f"{X}: {error}") from error


def tables(
    path: str | os.PathLike[str], without: str | None, categorical: Collection[str] = ()
) -> Iterator[Any]:
    """Yield the blocks of a file to score, without the column ``without``, that of the labels.

    The values are checked here, because here the numbers of the rows in the file are known. Columns
    with the names ``categorical`` become numbers of categories.
    """
    empty = True
    source = open_file(Path(path))
    names = enumerate(source.names or [])
    source.categorical = tuple(i for i, name in names if name in categorical)
    for start, block in source.blocks():
        if not len(block):
            continue
        empty = False
        if isinstance(block, pd.DataFrame):
            block = encoded(block, source.categorical)
            block = block.drop(columns=[without], errors="ignore")
        with naming(path):
            rows = checked(as_array(block, start), range(start, start + len(block)))
        yield pd.DataFrame(rows, columns=block.columns) if isinstance(block, pd.DataFrame) else rows
        release(block)
    if empty:
        raise ValueError(f"{path} has no rows")


def open_file(path: Path) -> Rows:
    """Return the rows of a file; the ending of its name gives the format."""
    if path.suffix not in FILES:
        raise ValueError(f"X={str(path)!r}: expected a file named {', '.join(FILES)}")
    if path.is_dir():
        raise ValueError(
            f"X: {path} is a directory, expected one file; for a Parquet data set give "
            "dask.dataframe.read_parquet(path)"
        )
    if not path.exists():
        raise FileNotFoundError(f"X: there is no file {path}")
    require_file(path)
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty")
    if path.suffix != ".npy":
        return ParquetRows(path) if path.suffix == ".parquet" else CsvRows(path)
    try:
        X = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError) as error:  # their texts advise to unpickle, which runs code
        raise ValueError(
            f"{path} is damaged, or not a .npy file of numbers; expected a file that np.save "
            "wrote (pickled arrays of objects are not read)"
        ) from error
    if X.ndim != 2 or X.dtype.kind not in "fiub" or not X.size:
        raise ValueError(
            f"{path}: expected a table of numbers (rows, columns), got an array of shape "
            f"{X.shape} and type {X.dtype}"
        )
    return ArrayRows(X)
