"""Checks of the rows that users give: errors and warnings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..inference.warning import DataWarning, warn
from ..models.kernels import Kernel, Tabular
from ..models.kernels.distance import DistanceKernel
from .messages import columns
from .rows.blocks import Rows, checked
from .rows.categories import are_categories, encoded

SCALES = 100.0  # ratio of standard deviations of columns above which a raw kernel warns


def categorical_columns(kernel: Kernel, X: Any, names: Any = None) -> tuple[int, ...]:
    """Return the positions in X of the columns that are categories.

    Parameters
    ----------
    kernel : Kernel
    X : data frame, Rows or anything else
        An array has none: its values are numbers already.
    names : sequence of str, optional
        Names of the columns of a fit; those of its categories are looked for in X.
    """
    if not kernel.takes_categories:
        return ()
    if isinstance(X, Rows):
        return kernel.categorical_columns or X.found_categories()
    if not isinstance(X, pd.DataFrame):
        return ()
    own = kernel.categorical_columns
    if names is not None:
        wanted = {names[i] for i in own}
        return tuple(i for i, name in enumerate(X.columns) if name in wanted)
    if own:
        return tuple(i for i in own if i < X.shape[1])
    return tuple(i for i in range(X.shape[1]) if are_categories(X.iloc[:, i]))


def validated(
    est: Any, X: Any, reset: bool, pairwise: bool, categorical: tuple[int, ...] = ()
) -> np.ndarray:
    """Return X as a table of finite numbers in float64.

    Parameters
    ----------
    est : estimator
        Its names and number of columns are set (``reset``), or compared with those of X.
    X : array-like
    reset : bool
    pairwise : bool
        Whether X holds kernel values; those of new rows have one more column, k(z, z).
    categorical : tuple of int
        Positions of the columns of a data frame that become numbers of categories.

    Raises
    ------
    ValueError, TypeError
        X is not such a table. The message says what X is, and what to do.
    """
    _refuse(X)
    if categorical:
        X = encoded(X, categorical)
    how: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
    try:
        if not reset and pairwise:
            X = check_array(X, **how)
        else:
            X = validate_data(est, X, reset=reset, ensure_min_samples=2 if reset else 1, **how)
    except (TypeError, ValueError) as error:  # some messages do not name X
        text = _columns_of_text(X)
        if "X" in str(error) and not text:
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        named = ""
        if text:
            named = (
                f"; {columns(text, 'is', 'are')} not numeric: for columns of categories use "
                "kernel=kernels.Tabular(), else convert or drop them"
            )
        raise kind(f"X must be a table of numbers (rows, columns): {error}{named}") from error
    return checked(X, range(len(X)))


def _columns_of_text(X: Any) -> list[Any]:
    """Return the columns of a data frame that have values which are no numbers."""
    if not isinstance(X, pd.DataFrame):
        return []
    others = [c for c in X.columns if not pd.api.types.is_numeric_dtype(X[c])]
    return [c for c in others if (pd.to_numeric(X[c], errors="coerce").isna() & X[c].notna()).any()]


def _refuse(X: Any) -> None:
    """Raise an error for values that would silently become other numbers."""
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked values, which would count as if they were not "
            "masked; drop or impute these rows"
        )
    dates = _dates(X)
    if dates:
        raise TypeError(
            f"X must be numbers, got {dates[0]}; convert dates to numbers in a unit of your "
            "choice, such as days since the first date"
        )


def _dates(X: Any) -> list[str]:
    """Return the types of dates and time differences in X, also where its values are objects."""
    if isinstance(X, list | tuple):
        try:
            X = np.asarray(X)
        except ValueError:  # rows of different lengths, for which the next check has a message
            return []
    frame = isinstance(X, pd.DataFrame)
    types = list(X.dtypes) if frame else [getattr(X, "dtype", None)]
    objects = [j for j, dtype in enumerate(types) if dtype == np.dtype(object)]
    if objects:
        values = X.iloc[:, objects].to_numpy() if frame else np.asarray(X)
        types += {type(value) for value in np.ravel(values)} & {np.datetime64, np.timedelta64}
    return [
        dtype.__name__ if isinstance(dtype, type) else str(dtype)
        for dtype in types
        if dtype in (np.datetime64, np.timedelta64) or getattr(dtype, "kind", None) in ("m", "M")
    ]


def warn_of_columns(kernel: Kernel, X: np.ndarray) -> None:
    """Warn of columns of the majority rows X that ``kernel`` compares badly, and of equal rows."""
    if kernel.pairwise:
        return
    spread = np.ptp(X, axis=0)
    constant = np.flatnonzero(spread == 0.0)
    if len(constant) == X.shape[1]:
        warn(
            f"all {len(X)} majority rows are equal: their distances are 0 up to rounding, so a "
            "cutoff chosen from them calls such rows normal or abnormal by chance; give rows that "
            "differ, or the cutoff as a number",
            DataWarning,
        )
        return
    if len(constant) and not isinstance(kernel, Tabular):  # it knows what they are worth
        shown = ", ".join(map(str, constant[:5])) + (", ..." if len(constant) > 5 else "")
        warn(
            f"{len(constant)} column(s) of X are constant over the majority rows ({shown}), and "
            "this kernel has no scale for another value there; kernels.Tabular(), the default, "
            "puts a new row with another value 5 standard deviations away",
            DataWarning,
        )
    if isinstance(kernel, DistanceKernel):
        varies = np.flatnonzero(spread)
        sd = (spread[varies] * (X[:, varies] / spread[varies]).std(axis=0)).tolist()
        least, most = int(np.argmin(sd)), int(np.argmax(sd))
        if sd[most] > SCALES * sd[least]:
            warn(
                f"the standard deviation of column {varies[most]} of X is {sd[most]:.3g}, that of "
                f"column {varies[least]} {sd[least]:.3g}: {kernel!r} takes columns as they are, so "
                "the second hardly counts; use kernels.Tabular() or "
                f"kernels.Standardized(kernels.{kernel!r})",
                DataWarning,
            )


def row_names(X: Any, n: int) -> np.ndarray:
    """Return the index of a data frame, with tuples for several levels, or the row numbers."""
    if not isinstance(X, pd.DataFrame):
        return np.arange(n)
    return np.asarray(X.index.to_flat_index().to_numpy())


def training_names(X: Any, row_numbers: np.ndarray | slice, n: int) -> np.ndarray | None:
    """Return the names of the rows that a fit holds, as whole numbers or texts.

    None stands for 0, 1, ..., n - 1. Without a data frame, the names of sampled rows are their
    numbers in X.
    """
    if isinstance(X, pd.DataFrame):
        names = row_names(X, len(X))[row_numbers]
        whole = np.array([isinstance(v, int | np.integer) for v in names]).all()
        names = names.astype(np.int64) if whole else np.array([str(name) for name in names])
    elif isinstance(row_numbers, slice):
        return None
    else:
        names = np.asarray(row_numbers, dtype=np.int64)
    return None if names.dtype.kind == "i" and np.array_equal(names, np.arange(n)) else names
