"""Distances of training rows that were left out by refits of folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from .distance import Expansion


def folds(minority: np.ndarray, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and left-out rows of n folds, stratified where there are minority rows."""
    split = (StratifiedKFold if minority.any() else KFold)(n, shuffle=True, random_state=seed)
    yield from split.split(minority, minority)


def by_refits(
    rows: np.ndarray,
    folds: Iterator[tuple[np.ndarray, np.ndarray]],
    refit: Callable[[np.ndarray], Expansion],
    level: float,
) -> np.ndarray:
    """Return the decisive distance (n,) of each row by the rule that the other folds make."""
    out = np.empty(len(rows))
    for train, test in folds:
        try:
            rule = refit(train)
        except ValueError as error:
            raise ValueError(
                f"cutoff: a fold with {len(train)} of {len(rows)} rows cannot be fitted; use fewer "
                f"folds, cv='train', or a number as the cutoff: {error}"
            ) from error
        out[test] = rule.decisive(rows[test], level)
    return out
