"""Rows as users give them: what is refused, and what is warned of."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from ..inference.warning import DataWarning, warn
from .rows.blocks import checked


def validated(est: Any, X: Any, reset: bool, pairwise: bool) -> np.ndarray:
    """Return X as a table of finite numbers in float64.

    Parameters
    ----------
    est : estimator
        Whose names and number of columns are set (``reset``), or compared.
    X : array-like
    reset : bool
    pairwise : bool
        Whether X holds kernel values; those of new rows have one more column, k(z, z).

    Raises
    ------
    ValueError, TypeError
        X is no such table; the message says what came, and what to do.
    """
    _refuse(X)
    how: dict[str, Any] = {"dtype": np.float64, "ensure_all_finite": False}
    try:
        if not reset and pairwise:
            X = check_array(X, **how)
        else:
            X = validate_data(est, X, reset=reset, ensure_min_samples=2 if reset else 1, **how)
    except (TypeError, ValueError) as error:  # some of which do not say what they are about
        if "X" in str(error):
            raise
        kind = ValueError if isinstance(error, ValueError) else TypeError
        raise kind(f"X must be a table of numbers (rows, columns): {error}") from error
    return checked(X, range(len(X)))


def _refuse(X: Any) -> None:
    """Raise an error for what would silently become other numbers than meant."""
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError(
            f"X has {np.ma.count_masked(X)} masked values, which would be taken as if they were "
            "not; drop or impute these rows"
        )
    types = X.dtypes if isinstance(X, pd.DataFrame) else [getattr(X, "dtype", None)]
    dates = [dtype for dtype in types if getattr(dtype, "kind", None) in ("m", "M")]
    if dates:
        raise TypeError(
            f"X must be numbers, got {dates[0]}; make dates numbers in a unit of your choice, "
            "such as days since the first"
        )


def warn_of_constant_columns(X: np.ndarray) -> None:
    """Warn of columns that are constant over the majority rows X, or of rows that are equal."""
    constant = np.flatnonzero(X.max(axis=0) == X.min(axis=0))
    if len(constant) == X.shape[1]:
        warn(
            f"all {len(X)} majority rows are equal: their distances are 0 up to rounding, and a "
            "cutoff chosen from these alone calls such rows normal or abnormal by chance; give "
            "rows that differ, or the cutoff as a number",
            DataWarning,
        )
    elif len(constant):
        shown = ", ".join(map(str, constant[:5])) + (", ..." if len(constant) > 5 else "")
        warn(
            f"{len(constant)} column(s) of X are constant over the majority rows ({shown}): they "
            "say nothing about the majority, but a new row that differs there will look abnormal",
            DataWarning,
        )
