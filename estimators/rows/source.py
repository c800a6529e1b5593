"""Chooses the source of rows for X: an array, a file, or a dask collection."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .blocks import ArrayRows, Rows
from .files import open_file


def is_lazy(X: Any) -> bool:
    """Return whether X is a dask collection; an xarray object is one if it holds dask arrays."""
    graph = getattr(X, "__dask_graph__", None)
    return callable(graph) and graph() is not None


def source(X: Any) -> Rows | None:
    """Return a source that reads ``X`` in blocks, or None if X must become an array first.

    Parameters
    ----------
    X : ndarray, memory map, path of a .npy, .parquet or .csv file, dask array or data frame, or \
anything else
    """
    if isinstance(X, str | os.PathLike):
        return open_file(Path(X))
    if is_lazy(X):
        from .dask import DaskRows

        return DaskRows(X)
    plain = isinstance(X, np.ndarray) and not np.ma.isMaskedArray(X)
    if plain and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return ArrayRows(X)
    return None
