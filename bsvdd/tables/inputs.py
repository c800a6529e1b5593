"""Training rows and new rows as users give them: checks, warnings, their floats."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..base.messages import listed
from ..base.warning import DataWarning, warn
from ..models.kernels import Kernel
from ..models.kernels.numeric import OfDistance
from .reading import LARGEST_EXACT
from .table import Table

LARGEST_FLOAT = int(np.finfo(float).max)
ABOVE_64_BITS = 2**63  # whole numbers below it have 64 bits
MOST_BETWEEN_COLUMNS = 100.0  # ratio of standard deviations, without a warning
MOST_CONSTANT_NAMED = 5  # columns


def training_rows(
    estimator: str, table: Table, kernel: Kernel, X: Any
) -> tuple[Table, np.ndarray]:
    """Return the table of training rows, and the rows as floats.

    Parameters
    ----------
    estimator : str
        The name of a class, for errors.
    table : Table
        Without columns.
    kernel : Kernel
    X : data frame or array-like of shape (n, p)

    Returns
    -------
    table : Table
        With columns.
    rows : ndarray of shape (n, p)

    Raises
    ------
    ValueError, TypeError
        X is not a table; the message says what X is, and what to do.
    """
    refuse(X)
    is_frame = isinstance(X, pd.DataFrame) and not kernel.pairwise
    named = kernel.categorical_columns
    if is_frame:
        table, floats = table.fit_floats(X, named)
        others = [n for n, kind in table.kinds.items() if kind in ("category", "names")]
        if others and not kernel.of_tables:
            raise ValueError(
                f"{listed(others, 'is', 'are')} not numeric: for columns of categories "
                "use kernel=kernels.Tabular(), else convert or drop them; if one has "
                "the labels, name it: y='name'"
            )
        X = pd.DataFrame(floats, columns=X.columns)
    rows = _validated(_checking(estimator), X, kernel, None if is_frame else table, 2)
    if max(named, default=0) >= rows.shape[1]:
        raise ValueError(
            f"categorical={named}: there are {rows.shape[1]} columns, from 0 on"
        )
    if is_frame or kernel.pairwise:
        return table, rows
    return table.fit(rows, named), rows


def new_rows(
    estimator: str, table: Table, kernel: Kernel, X: Any, n: int
) -> np.ndarray:
    """Return new rows as floats.

    Parameters
    ----------
    estimator : str
        The name of a class, for errors.
    table : Table
        Of the training rows.
    kernel : Kernel
    X : data frame or array-like of shape (m, p)
    n : int
        The number of columns of the training rows.

    Returns
    -------
    ndarray of shape (m, p)

    Raises
    ------
    ValueError, TypeError
        X is not a table, or not with the columns of the training rows.
    """
    refuse(X)
    checking = _checking(estimator)
    checking.n_features_in_ = n
    if table.names is not None:
        checking.feature_names_in_ = np.array(table.names, dtype=object)
    if isinstance(X, pd.DataFrame) and not kernel.pairwise:
        X = table.matched(X)
        if X.shape[1] == n:
            X = pd.DataFrame(table.floats(X), columns=X.columns)
        return _validated(checking, X, kernel)
    return _validated(checking, X, kernel, table)


def _checking(estimator: str) -> Any:
    """Return an object of the estimator's name, for scikit-learn's checks."""
    return type(estimator, (BaseEstimator,), {})()


def _validated(
    checking: Any,
    X: ArrayLike,
    kernel: Kernel,
    table: Table | None = None,
    least: int = 0,
) -> np.ndarray:
    """Return X as float64; ``checking`` learns the columns of a fit, of ``least`` rows.

    ``table`` says which numbers of an array stand for "not known".
    """
    try:
        found = check_array(
            X,
            input_name="X",
            estimator=checking,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=least or 1,
        )
    except OverflowError as error:
        raise ValueError(
            f"X has a number that is too large for any float: {error}"
        ) from error
    except (TypeError, ValueError) as error:
        text = f"X must be a table of numbers (rows, columns): {error}"
        had_names = "feature_names_in_" in vars(checking)
        if had_names and not least and not isinstance(X, pd.DataFrame):
            frame = "give a data frame (one row: new.iloc[[0]])"
            text = f"{text.removesuffix('.')}; the fit had named columns: {frame}"
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(text) from error
    if least or not kernel.pairwise:  # names and number of the columns
        validate_data(checking, X, reset=bool(least), skip_check_array=True)
    rows: np.ndarray = found if table is None or kernel.pairwise else table.known(found)
    _require_finite(rows, kernel.of_tables)
    return rows


def _require_finite(X: np.ndarray, may_miss: bool) -> None:
    """Raise a ValueError for an infinite value, or a missing one if none may be."""
    bad = np.isinf(X) if may_miss else ~np.isfinite(X)
    if bad.any():
        i, column = np.argwhere(bad)[0]
        raise ValueError(
            f"X contains NaN or infinity: X[{i}, {column}] is {X[i, column]} "
            f"({int(bad.any(axis=1).sum())} such rows); drop or impute these rows"
            + ("" if may_miss else "; kernels.Tabular() fills them")
        )


def _require_digits(rows: np.ndarray) -> None:
    """Raise a ValueError if different whole numbers would be one float."""
    if rows.dtype.kind not in "iuO" or not rows.size:
        return
    for i, column in enumerate(rows.T):
        if column.dtype == object and not all(isinstance(v, int) for v in column):
            continue
        largest = max(abs(int(column.min())), abs(int(column.max())))
        if not LARGEST_EXACT <= largest <= LARGEST_FLOAT:  # no float: an error later
            continue
        if len(np.unique(column)) > len(np.unique(column.astype(float))):
            raise ValueError(
                f"column {i} (counted from 0) of X has whole numbers of 2^53 or more "
                "that floats cannot tell apart; if they name something, give a data "
                f"frame with X[{i}].astype('category'), else leave the column out"
            )


def refuse(X: Any) -> None:
    """Raise an error for rows that cannot be, or that would become other numbers.

    Parameters
    ----------
    X : object
        What a user gives as rows.

    Raises
    ------
    TypeError
        X is a path, a lazy table of dask, or an array of dates.
    ValueError
        X has masked values, or whole numbers that floats cannot tell apart.
    """
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X={str(X)!r:.200} is text, expected rows; read a file by "
            "bsvdd.read_table(path) (CSV, Parquet), or by numpy.load(path) (.npy)"
        )
    graph = getattr(X, "__dask_graph__", None)
    if callable(graph) and graph() is not None:  # xarray may hold a dask array
        raise TypeError(
            "X is a dask collection, and rows must be in memory: fit a sample of a "
            "data frame, X.sample(frac=0.01).compute(), and answer all its rows "
            "partition by partition, X.map_partitions(est.decision)"
        )
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked values, which would count as if "
            "they were not masked; drop or impute these rows"
        )
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of different lengths: an error later
            X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        _require_digits(X)
    if isinstance(X, pd.DataFrame):
        return
    kind = getattr(getattr(X, "dtype", None), "kind", "")
    cells = {type(v) for v in np.ravel(np.asarray(X))} if kind == "O" else set()
    if kind in ("m", "M") or cells & {np.datetime64, np.timedelta64}:
        raise TypeError(
            "X must be numbers, got datetime64 or timedelta64; give a data frame, in "
            "which dates are days since the first"
        )


def warn_of_columns(kernel: Kernel, X: np.ndarray, chosen: bool) -> None:
    """Warn of columns of majority rows that a kernel compares badly, and of equal rows.

    Parameters
    ----------
    kernel : Kernel
    X : ndarray of shape (n, p)
        The majority rows.
    chosen : bool
        Whether the cutoff is chosen from the rows, for the warning of equal ones.
    """
    if kernel.pairwise:
        return
    constant = np.flatnonzero((X[0] == X).all(axis=0))
    if len(constant) == X.shape[1]:
        if chosen:
            warn(
                f"all {len(X)} majority rows are equal: their distances are 0 up to "
                "rounding, so a cutoff chosen from them calls such rows normal or "
                "abnormal by chance; give rows that differ, or the cutoff as a "
                "distance, cutoffs.Printed(0.5)",
                DataWarning,
            )
        return
    if len(constant) and not kernel.of_tables:  # which has a scale for them
        shown = ", ".join(map(str, constant[:MOST_CONSTANT_NAMED]))
        more = ", ..." * (len(constant) > MOST_CONSTANT_NAMED)
        warn(
            f"{len(constant)} column(s) of X are constant over the majority rows "
            f"({shown}{more}), and this kernel has no scale for another value there; "
            "kernels.Tabular(), the default, puts a new row with another value 5 "
            "standard deviations away",
            DataWarning,
        )
    if isinstance(kernel, OfDistance):
        _warn_of_raw_scales(kernel, X)


def _warn_of_raw_scales(kernel: Kernel, X: np.ndarray) -> None:
    """Warn of columns of majority rows (n, p) with very different scales."""
    spread = np.ptp(X, axis=0)
    varies = np.flatnonzero(spread)
    sd = (spread[varies] * (X[:, varies] / spread[varies]).std(axis=0)).tolist()
    least = int(np.argmin(sd))
    most = int(np.argmax(sd))
    if sd[most] > MOST_BETWEEN_COLUMNS * sd[least]:
        warn(
            f"the standard deviation of column {varies[most]} of X is "
            f"{sd[most]:.3g}, that of column {varies[least]} {sd[least]:.3g}: "
            f"{kernel!r} takes columns as they are, so the second hardly counts; "
            f"use kernels.Tabular(kernels.{kernel!r})",
            DataWarning,
        )


def training_names(X: object, n: int) -> np.ndarray | None:
    """Return the names of the rows of a data frame.

    Parameters
    ----------
    X : object
        Rows as a user gives them.
    n : int
        The number of rows.

    Returns
    -------
    ndarray of shape (n,), optional
        Whole numbers of 64 bits or objects: a text of NumPy has the length of the
        longest. None stands for 0, 1, ..., n - 1.
    """
    if not isinstance(X, pd.DataFrame):
        return None
    found = X.index.to_flat_index().tolist()  # tuples for several levels
    if not all(
        isinstance(v, int) and -ABOVE_64_BITS <= v < ABOVE_64_BITS for v in found
    ):
        return np.array([str(name) for name in found], dtype=object)
    names = np.array(found, dtype=np.int64)
    return None if np.array_equal(names, np.arange(n)) else names
