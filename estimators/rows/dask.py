"""Rows on a cluster: dask arrays and data frames are sampled for a fit and scored in blocks.

Tasks run on the active dask client (``distributed.Client(address)``), or in threads of this machine
if there is none.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, override

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask.utils import is_dataframe_like

from ..messages import listed
from .blocks import Rows, as_array, checked
from .categories import are_categories
from .columns import kind_of

HEAD = 1000  # rows in which columns of text are looked at


class DaskRows(Rows):
    """Rows of a dask array, or of a dask data frame with named columns."""

    def __init__(self, X: Any) -> None:
        is_frame = _is_frame(X)
        self._X = X if is_frame else X.rechunk({1: -1})
        self.names, self.n_columns = list(X.columns) if is_frame else None, X.shape[1]
        lengths = [np.nan] if is_frame else self._X.chunks[0]
        if np.isnan(lengths).any():
            (lengths,) = dask.compute([dask.delayed(len)(part) for part in self._delayed])
        starts = np.cumsum([0, *lengths]).tolist()
        self._slices = [slice(*ends) for ends in pairwise(starts)]
        self.n_rows = starts[-1]

    @property
    def _delayed(self) -> list[Any]:
        """One delayed block for each chunk or partition."""
        parts = self._X.to_delayed()
        return parts.ravel().tolist() if self.names is None else parts

    @override
    def found_categories(self) -> tuple[int, ...]:
        if self.names is None:
            return ()
        types = self._X._meta_nonempty  # text has a type of its own, or object
        texts = [i for i in range(self.n_columns) if are_categories(types.iloc[:, i])]
        if texts:
            head = self._X.get_partition(0).compute().head(HEAD)
            kinds = {head.columns[i]: kind_of(head.iloc[:, i]) for i in texts}
            wrong = [name for name, kind in kinds.items() if kind not in ("category", "names")]
            if wrong:
                raise ValueError(
                    f"{listed(wrong, 'is', 'are')} text that has numbers or dates; convert it in "
                    "the dask data frame, or make it categories by astype('category')"
                )
        return tuple(texts)

    @override
    def take(self, which: np.ndarray | slice) -> np.ndarray:
        numbers = np.arange(self.n_rows)[which]
        parts = [
            dask.delayed(_pick)(block, rows, numbers[mine], self.categorical, self.may_lack)
            for block, rows in zip(self._delayed, self._slices, strict=True)
            if (mine := (rows.start <= numbers) & (numbers < rows.stop)).any()
        ]
        (found,) = dask.compute(parts)
        return np.concatenate(found).astype(float, copy=False)


def _is_frame(X: Any) -> bool:
    """Return whether X is a dask data frame; a TypeError if it is not a dask array either."""
    if is_dataframe_like(X):
        return True
    if isinstance(X, da.Array) and X.ndim == 2 and X.dtype.kind in "fiub":
        return False
    got = f"an array of {X.dtype}, {X.shape}" if isinstance(X, da.Array) else type(X)
    raise TypeError(
        "X must be a dask array (rows, columns) of numbers, or a dask data frame, got "
        f"{got}; convert a dask series by to_frame(), and an xarray object by .data"
    )


def _pick(
    block: Any, rows: slice, numbers: np.ndarray, categorical: tuple[int, ...], may_lack: bool
) -> np.ndarray:
    _check_length(block, rows)
    found = as_array(block, rows.start, categorical)[numbers - rows.start]
    return checked(found, numbers, may_lack)


def _check_length(block: Any, rows: slice) -> None:
    if len(block) != rows.stop - rows.start:
        raise ValueError(
            f"the block of X that starts with row {rows.start} has {len(block)} rows, but its "
            f"chunk size is {rows.stop - rows.start}; give X its true chunk sizes, or unknown ones "
            "(nan)"
        )


def by_block(X: Any, scores: Callable[[Any], np.ndarray]) -> da.Array:
    """Return one number per row of a dask array or data frame, as a lazy dask array.

    Parameters
    ----------
    X : dask array or data frame
    scores : callable
        Takes a block and returns one number per row. It is sent to the workers.
    """
    scores = dask.delayed(scores, traverse=False)
    if _is_frame(X):
        return X.map_partitions(_score_frame, scores, meta=(None, float)).to_dask_array()
    X = X.rechunk({1: -1})
    starts = np.cumsum([0, *X.chunks[0]])
    return X.map_blocks(_score_block, scores, starts, dtype=float, drop_axis=1, meta=np.empty(0))


def _score_block(
    block: np.ndarray,
    scores: Callable[[Any], np.ndarray],
    starts: np.ndarray,
    block_id: tuple[int, ...] = (0,),
) -> np.ndarray:
    start = starts[block_id[0]]
    first = "" if np.isnan(start) else f" (row {start:.0f} of X and on)"
    return _scored(scores, block, f"in block {block_id[0]} of X{first}")


def _score_frame(block: pd.DataFrame, scores: Callable[[Any], np.ndarray]) -> pd.Series:
    first = block.index[:1].tolist()
    where = f"in the partition of X from index {first[0]!r} on" if first else ""
    return pd.Series(_scored(scores, block, where), block.index)


def _scored(scores: Callable[[Any], np.ndarray], block: Any, where: str) -> np.ndarray:
    """Return the scores of a block; errors name the block."""
    if not len(block):
        return np.empty(0)
    try:
        return scores(block)
    except ValueError as error:
        raise ValueError(f"{where}, whose rows are counted from 0: {error}") from error
