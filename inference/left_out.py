"""Distances of training rows that were left out: in closed form, or by refits of folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from .decision import decisive_distance
from .distance import Expansion, leave_one_out


def in_closed_form(d: np.ndarray, center: Expansion, place: np.ndarray) -> np.ndarray:
    """Return d (draws, n) with the rows that are dictionary points left out, each in its turn.

    The weights sum to one, see :func:`.distance.leave_one_out`. A row that is no point stays as
    it is: minority rows of a one-class model are left out already, and a majority row beside a
    dictionary entered by its share of r and T only.

    Parameters
    ----------
    d : ndarray of shape (draws, n)
    center : Expansion
    place : ndarray of int, shape (M,)
        Which row each dictionary point is, -1 for one that is none.
    """
    d = d.copy()
    is_row = place >= 0
    left = leave_one_out(center.weights, center.gram.K, center.gram.n1)
    d[:, place[is_row]] = left[:, is_row]
    return d


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
        out[test] = decisive_distance(rule.values(rows[test]), level)
    return out
