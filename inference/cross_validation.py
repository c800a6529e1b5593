"""Cross-validation: distances of training rows from models refitted without their fold."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from .scoring import ScoringRule


def folds(minority: np.ndarray, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and left-out rows of n folds, stratified if there are minority rows."""
    split = (StratifiedKFold if minority.any() else KFold)(n, shuffle=True, random_state=seed)
    yield from split.split(minority, minority)


def refitted_distances(
    rows: np.ndarray,
    folds: Iterator[tuple[np.ndarray, np.ndarray]],
    refit: Callable[[np.ndarray], ScoringRule],
    level: float,
) -> np.ndarray:
    """Return the distance quantile (n,) of each row under the model of the other folds."""
    out = np.empty(len(rows))
    for train, test in folds:
        try:
            rule = refit(train)
        except ValueError as error:
            raise ValueError(
                f"cutoff: a fold with {len(train)} of {len(rows)} rows cannot be fitted; use fewer "
                f"folds, cv='train', or a number as the cutoff: {error}"
            ) from error
        out[test] = rule.distance_quantile(rows[test], level)
    return out
