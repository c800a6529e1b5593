"""Sources of rows: arrays, memory maps and files, read block by block.

A fit with a dictionary needs of its rows a random sample (:meth:`Rows.take`) and the sums of
their kernel values (:meth:`Rows.sums`), one pass over blocks however many rows there are.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, override

import joblib
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_info, threadpool_limits

from ..models.gram import Sums
from ..models.kernels import Kernel

BLOCK_VALUES = 2**20  # values of X read at once, 8 MB
SCATTERED = 1000  # rows from all over a memory map taken at once: each may read 64 KB or more
FILES = (".npy", ".parquet", ".csv")


class Rows:
    """A table of numbers that is read in blocks.

    Attributes
    ----------
    n_rows, n_columns : int
    names : list of str or None
        Of the columns, where they have names.
    """

    n_rows: int
    n_columns: int
    names: list[str] | None = None

    def blocks(self) -> Iterator[tuple[int, Any]]:
        """Yield the number of its first row and a block, from first to last."""
        raise NotImplementedError

    def labels(self, name: str) -> np.ndarray:
        """Return the column ``name`` of classes, which is then no column of the rows."""
        raise ValueError(
            f"y={name!r}: the name of a column is for rows with named columns (.parquet, .csv, a "
            "data frame of dask); expected one label for each row"
        )

    def take(self, which: np.ndarray | slice) -> np.ndarray:
        """Return some rows in float64, (k, p); ``which`` is ascending."""
        wanted = np.arange(self.n_rows)[which]
        parts = []
        for start, block in self.blocks():
            inside = wanted[(start <= wanted) & (wanted < start + len(block))]
            if len(inside):
                parts.append(pick(block, start, inside))
        return np.concatenate(parts).astype(float, copy=False)

    def sums(
        self, kernel: Kernel, points: np.ndarray, minority: np.ndarray, progressbar: bool = False
    ) -> Sums:
        """Return the sums over all rows that are not minority.

        Blocks are summed in float64, in their order whatever the number of threads; there are
        as many threads as BLAS would take.
        """
        with _shown(int((~minority).sum()), progressbar) as advance, _threads() as n:
            tasks = (
                joblib.delayed(sums_of_block)(
                    kernel, points, start, block, minority[start : start + len(block)]
                )
                for start, block in self.blocks()
            )
            total = Sums(0, 0.0, np.zeros(len(points)))
            for part in joblib.Parallel(n, backend="threading", return_as="generator")(tasks):
                total += part
                advance(part.n)
        return total


class ArrayRows(Rows):
    """Rows of an array in memory, or of a memory map."""

    def __init__(self, X: np.ndarray) -> None:
        self.X = X
        self.n_rows, self.n_columns = X.shape

    @override
    def blocks(self) -> Iterator[tuple[int, np.ndarray]]:
        step = max(1, BLOCK_VALUES // self.n_columns)
        for start in range(0, self.n_rows, step):
            yield start, self.X[start : start + step]

    @override
    def take(self, which: np.ndarray | slice) -> np.ndarray:
        numbers = np.arange(self.n_rows)[which]
        if not isinstance(self.X, np.memmap):
            return checked(np.asarray(self.X[which]), numbers).astype(float, copy=False)
        rows = np.empty((len(numbers), self.n_columns))
        for start in range(0, len(numbers), SCATTERED):
            part = slice(start, start + SCATTERED)
            rows[part] = checked(np.asarray(self.X[numbers[part]]), numbers[part])
            _release(self.X)
        return rows


class NamedRows(Rows):
    """Rows with named columns, of which one may hold the classes."""

    origin: str  # for errors

    def _use(self, columns: list[str], label: str | None = None) -> None:
        if label is not None and label not in columns:
            shown = ", ".join(map(str, columns[:8])) + (", ..." if len(columns) > 8 else "")
            raise ValueError(f"y={label!r} is no column of {self.origin}, which has {shown}")
        self.names = [name for name in columns if name != label]
        self.n_columns = len(self.names)
        if not self.names:
            raise ValueError(f"{self.origin} has no columns but that of the classes")


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
        parts = [frame[name].to_numpy() for frame in self._frames([name])]
        labels = np.concatenate(parts) if parts else np.empty(0)
        self.n_rows = len(labels)
        return labels

    @override
    def blocks(self) -> Iterator[tuple[int, pd.DataFrame]]:
        start = 0
        for frame in self._frames(self.names or []):
            yield start, frame
            start += len(frame)

    def _block_rows(self, columns: list[str]) -> int:
        return max(1, BLOCK_VALUES // len(columns))


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
    def _frames(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        with _readable(self.path, "Parquet", OSError, ValueError), self._open() as file:
            for batch in file.iter_batches(self._block_rows(columns), columns=columns):
                yield batch.to_pandas()


class CsvRows(_Table):
    """Rows of a CSV file with a header; each pass parses it anew, so Parquet is quicker."""

    @cached_property
    def n_rows(self) -> int:  # type: ignore[override]
        """Counted by the parser, as a quoted field may have several lines."""
        return sum(len(frame) for frame in self._frames(self._columns[:1]))

    @override
    def _header(self) -> list[str]:
        return csv_header(self.path)

    @override
    def _frames(self, columns: list[str]) -> Iterator[pd.DataFrame]:
        size = self._block_rows(self._columns)
        # of all columns: with ``usecols`` the parser cuts rows with too many fields
        with (
            reading_csv(self.path),
            pd.read_csv(self.path, index_col=False, chunksize=size, low_memory=False) as pieces,
        ):
            for frame in pieces:
                yield frame[columns]


def csv_header(path: Path) -> list[str]:
    """Return the names of the columns of a CSV file; what is no header is a ValueError.

    It is read as a row beside the next one: a first row with more fields is an error then, where
    else pandas takes its first fields as an index, and those of all rows.
    """
    with reading_csv(path):
        rows = pd.read_csv(path, header=None, nrows=2, dtype=str, keep_default_na=False)
    names = rows.iloc[0]
    if (names == "").any():
        raise ValueError(
            f"{path}: column {int((names == '').argmax())} (counted from 0) has no name in the "
            "header; name it, or leave it out (pandas writes its index so: to_csv(index=False))"
        )
    twice = names[names.duplicated()]
    if len(twice):  # pandas would rename one of them
        raise ValueError(f"{path}: the header has the column {twice.iloc[0]!r} twice; rename one")
    return names.tolist()


def reading_csv(path: Path) -> AbstractContextManager[None]:
    """Turn what pandas says of a file that is no CSV into a ValueError that names it."""
    errors = pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError
    kind = "CSV in UTF-8 with a header that names every field of the rows"
    return _readable(path, kind, *errors)


@contextmanager
def _readable(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn the errors of a parser into a ValueError that names the file."""
    try:
        yield
    except errors as error:
        raise ValueError(f"{path} is damaged, or not {kind}: {error}") from error


def source(X: Any) -> Rows | None:
    """Return a source that reads ``X`` in blocks, or None for what has to be made an array.

    Parameters
    ----------
    X : ndarray, memory map, path of a .npy, .parquet or .csv file, dask array or data frame, or \
anything else
    """
    if isinstance(X, str | os.PathLike):
        return _file(Path(X))
    if hasattr(X, "__dask_graph__"):
        from .cluster import DaskRows

        return DaskRows(X)
    plain = isinstance(X, np.ndarray) and not np.ma.isMaskedArray(X)
    if plain and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return ArrayRows(X)
    return None


def tables(path: str | os.PathLike[str], without: str | None) -> Iterator[Any]:
    """Yield the blocks of a file to be scored, without the column of the labels if it has one.

    They are checked here, as here it is known which rows of the file they are.
    """
    empty = True
    for start, block in _file(Path(path)).blocks():
        if not len(block):
            continue
        empty = False
        if isinstance(block, pd.DataFrame):
            block = block.drop(columns=[without], errors="ignore")
        rows = checked(as_array(block, start), range(start, start + len(block)))
        yield pd.DataFrame(rows, columns=block.columns) if isinstance(block, pd.DataFrame) else rows
        _release(block)
    if empty:
        raise ValueError(f"{path} has no rows")


def _file(path: Path) -> Rows:
    if path.suffix not in FILES:
        raise ValueError(f"X={str(path)!r}: expected a file named {', '.join(FILES)}")
    if path.is_dir():
        raise ValueError(
            f"X: {path} is a directory, expected one file; for a Parquet data set give "
            "dask.dataframe.read_parquet(path)"
        )
    if not path.is_file():
        raise FileNotFoundError(f"X: there is no file {path}")
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty")
    if path.suffix != ".npy":
        return ParquetRows(path) if path.suffix == ".parquet" else CsvRows(path)
    try:
        X = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, OSError) as error:  # whose texts advise to unpickle, which runs code
        raise ValueError(
            f"{path} is damaged, or not a .npy file of numbers; expected one that np.save wrote "
            "(pickled arrays, of objects, are not read)"
        ) from error
    if X.ndim != 2 or X.dtype.kind not in "fiub" or not X.size:
        raise ValueError(
            f"{path}: expected a table of numbers (rows, columns), got an array of shape "
            f"{X.shape} and type {X.dtype}"
        )
    return ArrayRows(X)


def pick(block: Any, start: int, numbers: np.ndarray) -> np.ndarray:
    """Return the rows ``numbers`` of a block that starts with row ``start``."""
    return checked(as_array(block, start)[numbers - start], numbers)


def checked(rows: np.ndarray, numbers: np.ndarray | range) -> np.ndarray:
    """Return rows of floats, after a look for values that are not finite.

    float32 stays as it is, and any other type becomes float64; ``numbers`` are those of the
    rows, for the error.
    """
    rows = rows if rows.dtype == np.float32 else rows.astype(float, copy=False)
    finite = np.isfinite(rows)
    if not finite.all():
        i, column = np.argwhere(~finite)[0]
        raise ValueError(
            f"X contains NaN or infinity: X[{numbers[i]}, {column}] is {rows[i, column]}; drop or "
            "impute such rows"
        )
    return rows


def sums_of_block(
    kernel: Kernel, points: np.ndarray, start: int, block: Any, minority: np.ndarray
) -> Sums:
    """Return the sums over the majority rows of a block, whose first row is ``start``."""
    rows = checked(as_array(block, start), range(start, start + len(block)))
    found = Sums.of(kernel, rows[~minority] if minority.any() else rows, points)
    _release(block)
    return found


def as_array(block: Any, start: int) -> np.ndarray:
    """Return a block, from row ``start`` on, as an array, if its columns are numbers."""
    if not isinstance(block, pd.DataFrame):
        return np.asarray(block)
    odd = [name for name in block if block[name].dtype.kind not in "fiub"]
    if odd:
        raise TypeError(
            f"column {odd[0]!r} is not numeric (rows {start} to {start + len(block) - 1} are "
            f"{block[odd[0]].dtype}); drop it, make it a number, or, if it holds the classes, "
            "name it: y='name'"
        )
    if all(isinstance(dtype, np.dtype) for dtype in block.dtypes):
        return block.to_numpy(np.result_type(*block.dtypes))
    return block.to_numpy(float, na_value=np.nan)  # types of pandas, which may have nulls


def _release(block: Any) -> None:
    """Let go of pages of a memory map that were read: they stay in the system's cache only."""
    if not isinstance(block, np.memmap) or block.mode == "c" or not block.flags.c_contiguous:
        return  # what was written to a copy-on-write map would be lost
    pages: Any = block
    while isinstance(pages, np.ndarray):
        pages = pages.base
    if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        start = block.ctypes.data - np.frombuffer(pages, np.uint8).ctypes.data
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        if start + block.nbytes > first:
            pages.madvise(mmap.MADV_DONTNEED, first, start + block.nbytes - first)


@contextmanager
def _threads() -> Iterator[int]:
    """Give the number of threads that BLAS would take, and have BLAS take one in each of them."""
    n = [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    with threadpool_limits(1, user_api="blas"):
        yield max(n, default=1)


@contextmanager
def _shown(n_rows: int, progressbar: bool) -> Iterator[Callable[[int], None]]:
    """Give a function that is told of rows read, and shows them on stderr if asked to."""
    if not progressbar:
        yield lambda length: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as progress:
        task = progress.add_task("rows", total=n_rows)
        yield lambda length: progress.advance(task, length)
