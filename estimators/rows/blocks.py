"""Rows that are read in blocks: a fit takes a random sample of many rows (:meth:`Rows.take`)."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, override

import numpy as np
import pandas as pd

from ..messages import listed
from .categories import EXACT, codes
from .forms import Form

LARGEST = int(np.finfo(float).max)
SCATTERED = 1000  # scattered rows of a memory map read at once: each may read 64 KB or more


class Rows:
    """A table of numbers that is read in blocks.

    Attributes
    ----------
    n_rows, n_columns : int
    names : list of str or None
        Names of the columns, if they have names.
    may_lack : bool
        Whether values may be missing.
    categorical : tuple of int
        Positions of the columns that are read as categories.
    forms : dict of int to Form
        How the cells of columns became numbers, by their positions; others were plain numbers.
    """

    n_rows: int
    n_columns: int
    names: list[str] | None = None
    may_lack: bool = False
    categorical: tuple[int, ...] = ()
    forms: Mapping[int, Form] = MappingProxyType({})

    def found_categories(self) -> tuple[int, ...]:
        """Return the positions of the columns that are categories by their type."""
        return ()

    def take(self, which: np.ndarray | slice) -> np.ndarray:
        """Return some rows in float64, (k, p); ``which`` is ascending."""
        raise NotImplementedError


class ArrayRows(Rows):
    """Rows of an array in memory, or of a memory map.

    Parameters
    ----------
    X : ndarray of shape (n, p)
    is_checked : bool, default=False
        Whether X is already known to be float64 and finite.
    """

    def __init__(self, X: np.ndarray, is_checked: bool = False) -> None:
        self.X, self.is_checked = X, is_checked
        self.n_rows, self.n_columns = X.shape

    @override
    def take(self, which: np.ndarray | slice) -> np.ndarray:
        if self.is_checked:
            return self.X[which]
        numbers = np.arange(self.n_rows)[which]
        rows = np.empty((len(numbers), self.n_columns))
        for start in range(0, len(numbers), SCATTERED):
            part = slice(start, start + SCATTERED)
            rows[part] = checked(np.asarray(self.X[numbers[part]]), numbers[part], self.may_lack)
            release(self.X)
        return rows


def checked(rows: np.ndarray, numbers: np.ndarray | range, may_lack: bool = False) -> np.ndarray:
    """Return rows of finite floats, or raise a ValueError that names the first wrong value.

    With ``may_lack`` values may be missing.

    float32 stays float32, and any other type becomes float64. ``numbers`` are the numbers of the
    rows in X.
    """
    require_digits(rows)
    rows = rows if rows.dtype == np.float32 else rows.astype(float, copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        total = rows.sum()  # finite if all values are, which saves a mask of all values
    bad = None if np.isfinite(total) else np.isinf(rows) if may_lack else ~np.isfinite(rows)
    if bad is not None and bad.any():
        i, column = np.argwhere(bad)[0]
        raise ValueError(
            f"X contains NaN or infinity: X[{numbers[i]}, {column}] is {rows[i, column]} "
            f"({int(bad.any(axis=1).sum())} such rows); drop or impute these rows"
            + ("" if may_lack else "; kernels.Tabular() fills them")
        )
    return rows


def require_digits(rows: np.ndarray) -> None:
    """Raise a ValueError if whole numbers (n, p) that differ would be the same floats."""
    if rows.dtype.kind not in "iuO" or rows.dtype.itemsize < 8 or not rows.size:
        return
    for i, column in enumerate(rows.T):
        if column.dtype == object and not all(isinstance(v, int) for v in column):
            continue
        if max(abs(int(column.min())), abs(int(column.max()))) < EXACT:
            continue
        if max(abs(int(column.min())), abs(int(column.max()))) > LARGEST:
            continue  # no float at all, which is told elsewhere
        if len(np.unique(column)) > len(np.unique(column.astype(float))):
            raise ValueError(
                f"column {i} (counted from 0) of X has whole numbers of 2^53 or more that floats "
                "cannot tell apart; if they name something, give a data frame with "
                f"X[{i}].astype('category'), else leave the column out"
            )


def as_array(block: Any, start: int, categorical: tuple[int, ...] = ()) -> np.ndarray:
    """Return a block, whose first row is ``start``, as an array if its columns are numbers.

    Columns of a data frame at the positions ``categorical`` become numbers of categories.
    """
    if not isinstance(block, pd.DataFrame):
        return np.asarray(block)
    block = block.copy(deep=False)
    for i in categorical:
        block.isetitem(i, codes(block.iloc[:, i]))
    others = [name for name in block if block[name].dtype.kind not in "fiub"]
    if others:
        raise TypeError(
            f"{listed(others, 'is', 'are')} not numeric (rows {start} to "
            f"{start + len(block) - 1} are {block[others[0]].dtype}); drop it, convert it to "
            "numbers, or, if it has the labels, name it: y='name'; for categories use "
            "kernel=kernels.Tabular()"
        )
    if all(isinstance(dtype, np.dtype) for dtype in block.dtypes):
        return block.to_numpy(np.result_type(*block.dtypes))
    return block.to_numpy(float, na_value=np.nan)  # pandas' own types, which may have nulls


def release(X: Any) -> None:
    """Free the pages of a memory map that were read; the system's cache still has them."""
    pages: Any = (
        X if isinstance(X, np.memmap) and X.mode != "c" else None
    )  # "c": changes would be lost
    while isinstance(pages, np.ndarray):
        pages = pages.base
    if isinstance(pages, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        pages.madvise(mmap.MADV_DONTNEED)


def is_lazy(X: Any) -> bool:
    """Return whether X is a dask collection; an xarray object is one if it holds dask arrays."""
    graph = getattr(X, "__dask_graph__", None)
    return callable(graph) and graph() is not None
