"""Cross-validation: scores of training rows by models refitted without their fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np


def folds(minority: np.ndarray, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and left-out rows of n folds, stratified if there are minority rows."""
    from sklearn.model_selection import KFold, StratifiedKFold

    split = (StratifiedKFold if minority.any() else KFold)(n, shuffle=True, random_state=seed)
    yield from split.split(minority, minority)


def refitted_scores(
    rows: np.ndarray,
    folds: Iterator[tuple[np.ndarray, np.ndarray]],
    refit: Callable[[np.ndarray], Callable[[np.ndarray], np.ndarray]],
) -> np.ndarray:
    """Return the score (n,) of each row by the model of the other folds.

    ``refit`` takes row numbers, and returns a function of rows that scores them by the model that
    is fitted to these row numbers.
    """
    out = np.empty(len(rows))
    for train, test in folds:
        try:
            scores = refit(train)
        except ValueError as error:
            raise ValueError(
                f"cutoff: a fold with {len(train)} of {len(rows)} rows cannot be fitted; use fewer "
                f"folds, cv='train', or a number as the cutoff: {error}"
            ) from error
        out[test] = scores(rows[test])
    return out
