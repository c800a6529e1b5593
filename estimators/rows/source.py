"""Chooses the source of rows for X: an array, or a dask collection."""

from __future__ import annotations

from typing import Any

import numpy as np

from .blocks import ArrayRows, Rows


def is_lazy(X: Any) -> bool:
    """Return whether X is a dask collection; an xarray object is one if it holds dask arrays."""
    graph = getattr(X, "__dask_graph__", None)
    return callable(graph) and graph() is not None


def source(X: Any) -> Rows | None:
    """Return a source that reads ``X`` in blocks, or None if X must become an array first.

    Parameters
    ----------
    X : ndarray, memory map, dask array or data frame, or anything else
    """
    if is_lazy(X):
        from .dask import DaskRows

        return DaskRows(X)
    plain = isinstance(X, np.ndarray) and not np.ma.isMaskedArray(X)
    if plain and X.ndim == 2 and X.size and X.dtype.kind in "fiub":
        return ArrayRows(X)
    return None
