"""Gaps in a table: rows that are left out, or values in their place."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

MISSING = ("error", "drop", "impute")


def typical_values(majority: np.ndarray, categorical: Iterable[int] = ()) -> np.ndarray:
    """Return the median of each column, and the most frequent value of a column of categories.

    Medians and most frequent values stay the same when they fill the gaps of a column. So a saved
    model, whose rows are filled, has those of its fit.

    Parameters
    ----------
    majority : ndarray of shape (n, p)
        Majority rows, NaN where a value is missing.
    categorical : iterable of int
        Positions of the columns of categories.

    Returns
    -------
    ndarray of shape (p,)

    Raises
    ------
    ValueError
        A column has no value in any of these rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.rows.gaps import typical_values
    >>> typical_values(np.array([[1.0, 7.0], [np.nan, 7.0], [4.0, 8.0]]), [1])
    array([2.5, 7. ])
    """
    from sklearn.impute import SimpleImputer  # slow to import, and few tables have gaps

    for i, gaps in enumerate(np.isnan(majority).T):
        _require_value(i, gaps)
    values: np.ndarray = SimpleImputer(strategy="median").fit(majority).statistics_
    which = list(categorical)
    if which:
        frequent = SimpleImputer(strategy="most_frequent").fit(majority[:, which])
        values[which] = frequent.statistics_
    return values


def filled_table(X: pd.DataFrame, majority: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the medians, or most frequent categories, of the majority in its gaps.

    Raises
    ------
    ValueError
        A column with gaps has no value in any majority row.
    """
    values = {}
    for i, c in enumerate(X):
        if X[c].isna().any():
            _require_value(i, majority[c].isna().to_numpy())
            frequent = isinstance(X[c].dtype, pd.CategoricalDtype)
            values[c] = majority[c].mode()[0] if frequent else majority[c].median()
    return X.fillna(values)


def _require_value(column: int, gaps: np.ndarray) -> None:
    if gaps.all():
        raise ValueError(
            f"column {column} (counted from 0) has no value in any of {len(gaps)} majority "
            "rows, so there is nothing to impute its gaps by; leave the column out"
        )


def filled(rows: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return rows (n, p) with values (p,) in place of NaN."""
    return np.where(np.isnan(rows), values, rows)
