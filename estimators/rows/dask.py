"""Rows on a cluster: dask arrays and data frames are fitted and scored by map and reduce.

Tasks run on the active dask client (``distributed.Client(address)``), or in threads of this machine
if there is none. Each block gives its :class:`.gram.Sums`, and the sums are added.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, override

import dask
import dask.array as da
import numpy as np
import pandas as pd
from dask.diagnostics import ProgressBar
from dask.utils import is_dataframe_like

from ...inference import threads
from ...models.gram import Sums
from ...models.kernels import Kernel
from ..messages import columns, did_you_mean, quoted
from .blocks import Rows, pick, sums_of_block
from .categories import are_categories
from .columns import kind_of

HEAD = 1000  # rows in which columns of text are looked at
FAN_IN = 8  # sums that one task adds


class DaskRows(Rows):
    """Rows of a dask array, or of a dask data frame with named columns."""

    def __init__(self, X: Any) -> None:
        self._frame = X if _is_frame(X) else None
        if self._frame is not None:
            self._use(list(X.columns))
            lengths = None
        else:
            X = X.rechunk({1: -1})
            self._parts, self.n_columns = X.to_delayed().ravel().tolist(), X.shape[1]
            lengths = None if np.isnan(X.chunks[0]).any() else X.chunks[0]
        if lengths is None:
            (lengths,) = dask.compute([dask.delayed(len)(part) for part in self._blocks])
        self._starts = np.cumsum([0, *lengths])
        self.n_rows = int(self._starts[-1])

    def _use(self, names: list[str], label: str | None = None) -> None:
        if label is not None and label not in names:
            raise ValueError(
                f"y={label!r} is no column of the data frame{did_you_mean(label, names)}, which "
                f"has {quoted(names)}"
            )
        self.names = [name for name in names if name != label]
        self.n_columns = len(self.names)
        if not self.names:
            raise ValueError("the data frame has no column besides that of the labels")

    @property
    def _blocks(self) -> list[Any]:
        """One delayed block for each chunk or partition."""
        return self._parts if self._frame is None else self._frame[self.names].to_delayed()

    @override
    def labels(self, name: str) -> np.ndarray:
        if self._frame is None:
            return super().labels(name)
        self._use(list(self._frame.columns), name)
        return self._frame[name].compute().to_numpy()

    @override
    def found_categories(self) -> tuple[int, ...]:
        if self._frame is None:
            return ()
        types = self._frame[self.names]._meta_nonempty  # text has a type of its own, or object
        texts = [i for i in range(self.n_columns) if are_categories(types.iloc[:, i])]
        if texts:
            head = self._frame[self.names].get_partition(0).compute().head(HEAD)
            kinds = {i: kind_of(head.iloc[:, i]) for i in texts}
            wrong = [head.columns[i] for i in texts if kinds[i] not in ("category", "id")]
            if wrong:
                raise ValueError(
                    f"{columns(wrong, 'is', 'are')} text that has numbers or dates; convert it in "
                    "the dask data frame, or make it categories by astype('category')"
                )
        return tuple(texts)

    @override
    def take(self, which: np.ndarray | slice) -> np.ndarray:
        numbers = np.arange(self.n_rows)[which]
        cuts = np.searchsorted(numbers, self._starts)
        parts = [
            dask.delayed(_pick)(block, start, stop, numbers[a:b], self.categorical)
            for block, start, stop, a, b in zip(
                self._blocks, self._starts[:-1], self._starts[1:], cuts[:-1], cuts[1:], strict=True
            )
            if b > a
        ]
        (rows,) = dask.compute(parts)
        return np.concatenate(rows).astype(float, copy=False)

    @override
    def sums(
        self, kernel: Kernel, points: np.ndarray, minority: np.ndarray, progressbar: bool = False
    ) -> Sums:
        shared = dask.delayed((kernel, points), traverse=False)
        sums = [
            dask.delayed(_map)(shared, int(start), block, minority[start:stop])
            for block, start, stop in zip(
                self._blocks, self._starts[:-1], self._starts[1:], strict=True
            )
        ]
        while len(sums) > 1:
            sums = [
                dask.delayed(_reduce)(sums[i : i + FAN_IN]) for i in range(0, len(sums), FAN_IN)
            ]
        # one BLAS thread per dask thread; a cluster has its own page for progress
        with threads.one():
            if not progressbar:
                return sums[0].compute()
            with ProgressBar(out=sys.stderr):
                return sums[0].compute()


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
    block: Any, start: int, stop: int, numbers: np.ndarray, categorical: tuple[int, ...]
) -> np.ndarray:
    _check_length(block, start, stop)
    return pick(block, start, numbers, categorical)


def _map(shared: tuple[Kernel, np.ndarray], start: int, block: Any, minority: np.ndarray) -> Sums:
    _check_length(block, start, start + len(minority))
    return sums_of_block(*shared, start, block, minority)


def _check_length(block: Any, start: int, stop: int) -> None:
    if len(block) != stop - start:
        raise ValueError(
            f"the block of X that starts with row {start} has {len(block)} rows, but its chunk "
            f"size is {stop - start}; give X its true chunk sizes, or unknown ones (nan)"
        )


def _reduce(sums: list[Sums]) -> Sums:
    return reduce(add, sums)


def by_block(X: Any, scores: Callable[[Any], np.ndarray]) -> da.Array:
    """Return one number per row of a dask array or data frame, as a lazy dask array.

    Parameters
    ----------
    X : dask array or data frame
    scores : callable
        Takes a block and returns one number per row. It is sent to the workers.
    """
    sent = dask.delayed(_Blockwise(scores), traverse=False)
    if _is_frame(X):
        X = X.map_partitions(_score_frame, sent, meta=(None, float))
        return X.to_dask_array()
    X = X.rechunk({1: -1})
    starts = np.cumsum([0, *X.chunks[0]])
    return X.map_blocks(_score_block, sent, starts, dtype=float, drop_axis=1, meta=np.empty(0))


@dataclass(frozen=True, eq=False)
class _Blockwise:
    """Scores of a block, with errors that name the block."""

    scores: Callable[[Any], np.ndarray]

    def __call__(self, block: Any, where: str) -> np.ndarray:
        if not len(block):
            return np.empty(0)
        try:
            return self.scores(block)
        except ValueError as error:
            raise ValueError(f"{where}, whose rows are counted from 0: {error}") from error


def _score_block(
    block: np.ndarray, scores: _Blockwise, starts: np.ndarray, block_id: tuple[int, ...] = (0,)
) -> np.ndarray:
    start = starts[block_id[0]]
    first = "" if np.isnan(start) else f" (row {start:.0f} of X and on)"
    return scores(block, f"in block {block_id[0]} of X{first}")


def _score_frame(block: pd.DataFrame, scores: _Blockwise) -> pd.Series:
    first = block.index[:1].tolist()
    where = f"in the partition of X from index {first[0]!r} on" if first else ""
    return pd.Series(scores(block, where), block.index)
