"""Gaps in a table: values in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import numpy as np
import pandas as pd

from .columns import form_of, kind_of, numbers
from .forms import Form, Levels


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
    empty = np.flatnonzero(np.isnan(majority).all(axis=0))
    if len(empty):
        raise ValueError(
            f"column {empty[0]} (counted from 0) has no value in any of {len(majority)} majority "
            "rows, so there is nothing to impute its gaps by; leave the column out"
        )
    values: np.ndarray = np.nanmedian(majority, axis=0)
    for i in categorical:
        values[i] = pd.Series(majority[:, i]).mode()[0]
    return values


def filled_table(
    X: pd.DataFrame,
    gaps: np.ndarray,
    values: np.ndarray,
    categorical: Collection[int],
    forms: Mapping[int, Form],
) -> pd.DataFrame:
    """Return a table with values (p,), numbers as in a fit, in place of its gaps (n, p)."""
    of_objects = [i for i in (*categorical, *forms) if not isinstance(forms.get(i), Levels)]
    X = X.astype({X.columns[i]: object for i in of_objects})
    for i, value in enumerate(values):
        shown = forms[i].cell(value) if i in forms else value
        X.isetitem(i, X.iloc[:, i].mask(gaps[:, i], shown))
    return X


def filled_by_majority(
    X: pd.DataFrame, majority: pd.DataFrame, categorical: Collection[int]
) -> pd.DataFrame:
    """Return a table with the typical values of its majority rows in place of its gaps."""
    found = {i: form_of(X[c], kind_of(X[c])) for i, c in enumerate(X) if i not in categorical}
    forms = {i: form for i, form in found.items() if form is not None}
    values = typical_values(numbers(majority, categorical, forms).to_numpy(float), categorical)
    return filled_table(X, X.isna().to_numpy(), values, categorical, forms)
