"""What a question requires of an estimator."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .of_rows import OfRows
from .protocols import LeavesOut


def require_one_fit(est: object, answer: str) -> None:
    """Raise an error unless an estimator is a fitted description, and one alone."""
    require_description(est, answer)
    if "fit_" not in vars(est):
        raise TypeError(
            f"{type(est).__name__} joins several fits, so there is no {answer} of all; "
            "ask each of est.views_"
        )


def require_description(est: object, answer: str) -> None:
    """Raise an error unless an estimator is fitted, with draws and left-out rows."""
    check_is_fitted(est)
    if not isinstance(est, LeavesOut):
        raise TypeError(
            f"{type(est).__name__} has neither draws nor left-out rows, so there is no "
            f"{answer}; use a description such as BSVDD, BDD or SVDD"
        )


def left_out_groups(est: LeavesOut) -> int:
    """Return how many groups, or rows, of the majority leave a description."""
    if isinstance(est, OfRows):
        return len(est.fit_.rows.majority_groups)
    return int((~est.table_.minority).sum())


def training_minority(est: LeavesOut) -> np.ndarray:
    """Return which of the training rows of a description are minority."""
    if isinstance(est, OfRows):
        return np.asarray(est.fit_.rows.minority)
    return est.table_.minority


def positions(rows: ArrayLike, n: int) -> np.ndarray:
    """Return the positions of chosen rows among n; a ValueError for what is none."""
    found = np.asarray(rows)
    if found.dtype == bool and found.shape == (n,):
        found = np.flatnonzero(found)
    valid = found.dtype.kind in "iu" and found.ndim == 1 and len(found) > 0
    valid = valid and bool(np.isin(found, np.arange(-n, n)).all())
    if not valid or len(np.unique(found % n)) < len(found):
        raise ValueError(
            f"rows must be a mask of {n} booleans, or different positions of training "
            f"rows, {-n} to {n - 1}, and at least one; got {rows!r:.80}"
        )
    return found % n
