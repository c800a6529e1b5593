"""Which rows are minority: labels are read by rule, never guessed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd


def minority_rows(y: Any, n_rows: int, minor_label: Any = None) -> np.ndarray:
    """Return a boolean array, True for minority rows.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or None
        ``None``: all rows are majority. {-1, +1}: -1 is minority (scikit-learn's outliers).
        {0, 1} and bool: 1 is minority. Anything else needs ``minor_label``.
    n_rows : int
    minor_label : optional
        The label of the minority; every other label is majority.

    Raises
    ------
    ValueError
        The labels are ambiguous, missing, of the wrong number, or leave one class empty.
    """
    if y is None:
        return np.zeros(n_rows, dtype=bool)
    y = np.asarray(y)
    if y.shape != (n_rows,):
        raise ValueError(f"y must have shape ({n_rows},), one label for each row, got {y.shape}")
    missing = np.flatnonzero(pd.isna(y))
    if len(missing):
        raise ValueError(f"y has no label (NaN) in row {missing[0]} ({len(missing)} in all)")
    labels = pd.unique(y)
    shown = ", ".join(repr(v) for v in labels.tolist()[:5]) + (", ..." if len(labels) > 5 else "")
    if minor_label is not None:
        minority = np.asarray(y == minor_label)
        if minority.shape != y.shape or (not minority.any() and len(labels) > 1):
            raise ValueError(f"minor_label={minor_label!r} does not occur in y, which has {shown}")
    elif len(labels) == 1:
        raise ValueError(
            f"y has one class only, the label {shown}, and it could be either class; leave y out "
            "when all rows are majority, or name the minority's label by minor_label="
        )
    elif set(labels.tolist()) == {-1, 1}:
        minority = y == -1
    elif set(labels.tolist()) == {0, 1}:  # False == 0 and True == 1
        minority = y == 1
    else:
        raise ValueError(
            f"y has the labels {shown}; only {{-1, 1}}, {{0, 1}} and booleans are read without "
            "minor_label=, which names the minority's label"
        )
    if minority.all():
        raise ValueError("y has one class only: every row is minority, and no majority row is left")
    return minority
