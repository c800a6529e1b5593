"""Rows that users give, of a fit and new ones: checks, errors, warnings, and their form inside."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..inference.warning import DataWarning, warn
from ..models.kernels import Kernel, Tabular
from ..models.kernels.numeric import OfDistance
from .messages import did_you_mean, listed, quoted
from .rows.categories import EXACT
from .rows.columns import found, numbers
from .rows.forms import Form
from .rows.gaps import counted
from .rows.names import Columns

LARGEST_FLOAT = int(np.finfo(float).max)
LARGEST = 2**63  # below it a whole number has 64 bits
SCALED_BY = 10.0  # standard deviation with a row over that without it, above which it is named
FEWEST_ROWS = 10  # of which one can be called far
BY_SD = "both", "standardised"  # scales of a kernel.Tabular
ROUNDING = 1e-12  # share of a sum of squares
SCALES = 100.0  # ratio of standard deviations of columns above which a raw kernel warns


def numbers_of(kernel: Kernel, X: Any) -> tuple[Any, tuple[int, ...], dict[int, Form]]:
    """Return training rows as numbers, their columns of categories, and the forms of others.

    An array is returned as it is, because its values are numbers already.
    """
    if not isinstance(X, pd.DataFrame) or kernel.pairwise:
        return X, (), {}
    X = named(X)
    _require_different(X.columns)
    own = tuple(i for i in kernel.categorical_columns if i < X.shape[1])
    categorical, forms = found(X, own, kernel.of_tables)
    return numbers(X, categorical, forms), categorical, forms


def named(X: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names are texts, as in scikit-learn, or 0, 1, ..., which are none."""
    names, numbers = list(X.columns), list(range(X.shape[1]))
    if names == numbers or all(isinstance(name, str) for name in names):
        return X
    if set(names) == set(numbers):
        return X[numbers]
    return X.set_axis([str(name) for name in names], axis=1)


def matched(columns: Columns, X: Any) -> Any:
    """Return new rows with the columns in the order of the fit, by their names.

    Raises
    ------
    ValueError
        A data frame lacks a column, or has a name twice.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    X = named(X)
    _require_different(X.columns)
    if columns.names is None:
        return X
    lacking = [name for name in columns.names if name not in X.columns]
    if lacking:
        raise ValueError(
            f"X lacks {listed(lacking)}{did_you_mean(lacking[0], X.columns)}, which the fit "
            f"has; it has {quoted(X.columns)}"
        )
    return X[list(columns.names)] if X.shape[1] == columns.n else X  # scikit-learn names others


def _require_different(names: pd.Index) -> None:
    if names.has_duplicates:
        name = names[names.duplicated()][0]
        raise ValueError(f"X has the column {str(name)!r} twice; rename one")


def validated(
    checking: Any, X: Any, reset: bool, pairwise: bool, may_lack: bool = False
) -> np.ndarray:
    """Return X as a table of finite numbers in float64.

    Parameters
    ----------
    checking : object
        Of ``Columns.checking``. Its names and number of columns are set
        (``reset``), or compared with those of X.
    X : array-like
    reset : bool
    pairwise : bool
        Whether X holds kernel values; those of new rows have one more column, k(z, z).
    may_lack : bool, default=False
        Whether values may be missing.

    Raises
    ------
    ValueError, TypeError
        X is not such a table. The message says what X is, and what to do.
    """
    _refuse(X)
    how: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
    try:
        if not reset and pairwise:
            X = check_array(X, **how)
        else:
            X = validate_data(checking, X, reset=reset, ensure_min_samples=2 if reset else 1, **how)
    except OverflowError as error:
        raise ValueError(f"X has a number that is too large for any float: {error}") from error
    except (TypeError, ValueError) as error:  # some messages do not name X
        if "X" in str(error):
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        named = hasattr(checking, "feature_names_in_") and not (
            reset or isinstance(X, pd.DataFrame)
        )
        text = f"X must be a table of numbers (rows, columns): {error}"
        if named:
            text = text.removesuffix(".")
            text += "; the fit had named columns: give a data frame (one row: new.iloc[[0]])"
        raise kind(f"{text}{_of_objects(X)}") from error
    _require_finite(X, may_lack)
    rows: np.ndarray = X
    return rows


def _require_finite(X: np.ndarray, may_lack: bool) -> None:
    """Raise a ValueError that names the first infinite value, or missing one if none may be."""
    with np.errstate(over="ignore", invalid="ignore"):
        total = X.sum()  # finite if all values are, which saves a mask of all values
    bad = None if np.isfinite(total) else np.isinf(X) if may_lack else ~np.isfinite(X)
    if bad is not None and bad.any():
        i, column = np.argwhere(bad)[0]
        raise ValueError(
            f"X contains NaN or infinity: X[{i}, {column}] is {X[i, column]} "
            f"({int(bad.any(axis=1).sum())} such rows); drop or impute these rows"
            + ("" if may_lack else "; kernels.Tabular() fills them")
        )


def _require_digits(rows: np.ndarray) -> None:
    """Raise a ValueError if whole numbers (n, p) that differ would be the same floats."""
    if rows.dtype.kind not in "iuO" or rows.dtype.itemsize < 8 or not rows.size:
        return
    for i, column in enumerate(rows.T):
        if column.dtype == object and not all(isinstance(v, int) for v in column):
            continue
        if max(abs(int(column.min())), abs(int(column.max()))) < EXACT:
            continue
        if max(abs(int(column.min())), abs(int(column.max()))) > LARGEST_FLOAT:
            continue  # no float at all, which is told elsewhere
        if len(np.unique(column)) > len(np.unique(column.astype(float))):
            raise ValueError(
                f"column {i} (counted from 0) of X has whole numbers of 2^53 or more that floats "
                "cannot tell apart; if they name something, give a data frame with "
                f"X[{i}].astype('category'), else leave the column out"
            )


def _of_objects(X: Any) -> str:
    """Return which columns have cells that are neither numbers, dates nor texts."""
    if not isinstance(X, pd.DataFrame):
        return ""
    of_type = {c: type(X[c].iloc[0]).__name__ for c in X if X[c].dtype == object and len(X)}
    if not of_type:
        return ""
    return (
        f"; {listed(of_type, 'has', 'have')} objects ({', '.join(sorted({*of_type.values()}))}): "
        "make columns of their parts (pandas.json_normalize), or leave them out"
    )


def _refuse(X: Any) -> None:
    """Raise an error for a path, a lazy table, and values that would become other numbers."""
    if isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X={str(X)!r:.200} is text, expected rows; read a file by bsvdd.read_table(path) "
            "(CSV, Parquet), or by numpy.load(path) (.npy)"
        )
    graph = getattr(X, "__dask_graph__", None)
    if callable(graph) and graph() is not None:  # an xarray object may hold a dask array
        raise TypeError(
            "X is a dask collection, and rows must be in memory: fit a sample of a data frame, "
            "X.sample(frac=0.01).compute(), and answer all its rows partition by partition, "
            "X.map_partitions(est.decision)"
        )
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked values, which would count as if they were not "
            "masked; drop or impute these rows"
        )
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # rows of different lengths, for which the next check has words
            X = np.asarray(X)
    if isinstance(X, np.ndarray) and X.ndim == 2:
        _require_digits(X)
    dates = _dates(X)
    if dates:
        raise TypeError(
            f"X must be numbers, got {dates[0]}; convert dates to numbers in a unit of your "
            "choice, such as days since the first date"
        )


def _dates(X: Any) -> list[str]:
    """Return the types of dates and time differences in X, also where its values are objects."""
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
            "differ, or the cutoff as a distance, cutoffs.Printed(0.5)",
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
    if isinstance(kernel, OfDistance):
        varies = np.flatnonzero(spread)
        sd = (spread[varies] * (X[:, varies] / spread[varies]).std(axis=0)).tolist()
        least, most = int(np.argmin(sd)), int(np.argmax(sd))
        if sd[most] > SCALES * sd[least]:
            warn(
                f"the standard deviation of column {varies[most]} of X is {sd[most]:.3g}, that of "
                f"column {varies[least]} {sd[least]:.3g}: {kernel!r} takes columns as they are, so "
                f"the second hardly counts; use kernels.Tabular(kernels.{kernel!r})",
                DataWarning,
            )


def warn_of_far_values(kernel: Kernel, X: np.ndarray, columns: np.ndarray, rows: Any) -> None:
    """Warn of values of majority rows X, each of which alone makes the scale of its column.

    ``columns`` and ``rows`` are the names.
    """
    if getattr(kernel, "scale", None) not in BY_SD or len(X) < FEWEST_ROWS:
        return
    numbers = np.delete(np.arange(X.shape[1]), kernel.categorical_columns)
    spread = np.ptp(X[:, numbers], axis=0)
    numbers, spread = numbers[spread > 0.0], spread[spread > 0.0]
    off = X[:, numbers] / spread
    off -= off.mean(axis=0)
    far = np.abs(off).argmax(axis=0)
    n, total = len(X), np.square(off).sum(axis=0)
    # what is left of the sum of squares without the row, about the mean of the others
    left = total - np.square(off[far, np.arange(len(far))]) * n / (n - 1.0)
    moves = (left * SCALED_BY**2 < total) & (left > ROUNDING * total)
    if not moves.any():
        return
    i = int(np.flatnonzero(moves)[np.argmin((left / total)[moves])])
    more = f" ({int(moves.sum()) - 1} more columns have such a row)" if moves.sum() > 1 else ""
    ratio = np.sqrt(total[i] / n / (left[i] / (n - 1.0)))
    warn(
        f"row {rows[far[i]]} moves the scale of {str(columns[numbers[i]])!r}: its value, "
        f"{X[far[i], numbers[i]]:.6g}, makes the standard deviation {ratio:.3g} times that of the "
        f"other rows, which then differ little in this column{more}; if the value is wrong, mend "
        "it or leave out the row",
        DataWarning,
    )


def row_names(X: Any, n: int) -> np.ndarray:
    """Return the index of a data frame, with tuples for several levels, or the row numbers."""
    if not isinstance(X, pd.DataFrame):
        return np.arange(n)
    return np.asarray(X.index.to_flat_index().to_numpy())


def names_of(names: list[Any]) -> np.ndarray:
    """Return names as an array: of whole numbers of 64 bits, or of objects that are texts."""
    of_texts = any(isinstance(name, str) for name in names)
    return np.array(names, dtype=object if of_texts else np.int64)


def training_names(X: Any, n: int) -> np.ndarray | None:
    """Return the names of the rows of a data frame, whole numbers of 64 bits or objects.

    Texts are objects: NumPy's own have the length of the longest, each. None stands for 0, 1, ...,
    n - 1.
    """
    if not isinstance(X, pd.DataFrame):
        return None
    found = row_names(X, n).tolist()
    whole = all(isinstance(v, int) and -LARGEST <= v < LARGEST for v in found)
    names = names_of(found if whole else [str(name) for name in found])
    return None if names.dtype.kind == "i" and np.array_equal(names, np.arange(n)) else names


# new rows


def warn_of_gaps(X: np.ndarray, columns: Columns) -> None:
    """Warn of the gaps of rows that are filled, with their number in each column."""
    warn(
        f"{counted(np.isnan(X), columns.labels)}, filled by the nearest training rows: false-alarm "
        "rates and p-values hold approximately",
        DataWarning,
    )
