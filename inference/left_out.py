"""Values of training rows when they are left out by refitted folds, and how many folds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal

import numpy as np

from ..models import repeats
from .center import Center
from .cutoff import Cutoff

# refitted folds


def folds(minority: np.ndarray, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and left-out rows of n folds, stratified if there are minority rows."""
    from sklearn.model_selection import KFold, StratifiedKFold

    split = (StratifiedKFold if minority.any() else KFold)(n, shuffle=True, random_state=seed)
    yield from split.split(minority, minority)


def one_by_one(number: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield training and left-out rows: of each set of equal rows, one leaves and stands for all.

    ``number`` (n,) is the set of each row, by ``bsvdd.models.repeats``.
    """
    for each in range(number.max() + 1):
        rows = np.flatnonzero(number == each)
        yield np.delete(np.arange(len(number)), rows[0]), rows


def refitted_values(
    folds: Iterator[tuple[np.ndarray, np.ndarray]],
    values_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the values (draws, n) of each row by the model of the other folds.

    ``values_of(train, test)`` returns the values (draws, rows) of the rows ``test`` by a fit to the
    rows ``train``.
    """
    parts, order = [], []
    for train, test in folds:
        try:
            parts.append(values_of(train, test))
        except ValueError as error:
            n = len(np.union1d(train, test))
            raise ValueError(
                f"cutoff: a fold with {len(train)} of {n} rows cannot be "
                f"fitted; use fewer folds, cv='train', or a number as the cutoff: {error}"
            ) from error
        order.append(test)
    return np.concatenate(parts, axis=1)[:, np.argsort(np.concatenate(order))]


def aligned(values: np.ndarray, score: Center, reference: float, other: float) -> np.ndarray:
    """Return the values that rows would have by another fit of the model.

    Parameters
    ----------
    values : ndarray of shape (draws, n)
    score : Center
        The fit that gave them.
    reference, other : float
        Values with the same meaning in this and in the other fit. A similarity is a sum over the
        weights, whose size depends on the number of rows: it is scaled. A logarithm is shifted.
    """
    scaled = not score.logarithmic and score.gram.kernel.normalized
    if scaled and min(reference, other) > 0.0:
        return values * (other / reference)
    return values + (other - reference)


def of_equal(
    values: np.ndarray, most: np.ndarray, number: np.ndarray, minority: np.ndarray
) -> np.ndarray:
    """Return left-out values (1, n) in which equal rows of a class have one value, their mean.

    A majority row is no more normal without one of its copies: if it repeats, its value is at most
    ``most`` (1, n), the values by the fit to all rows less what its solver leaves open.
    """
    capped = (np.bincount(number)[number] > 1) & ~minority
    mean, most = (repeats.mean_of_equal(v, number) for v in (values, most))
    return np.where(capped, np.minimum(mean, most), mean)


# which way rows are left out


def folds_for(minority: np.ndarray, most: int) -> int:
    """Return up to ``most`` folds, at most as many as the smaller class has rows; at least 2."""
    counts = [n for n in (int((~minority).sum()), int(minority.sum())) if n]
    return max(2, min(most, *counts))


def choose_cv(
    policy: Cutoff, minority: np.ndarray, all_rows: bool, auto: str | int
) -> Literal["loo", "train"] | int:
    """Return how rows are left out: "loo", "train" or a number of folds.

    ``auto`` is what the model has for ``cv="auto"``: "loo", or the most folds.

    Raises
    ------
    ValueError
        The cutoff needs folds, but the fit holds a sample of the rows only.
    """
    cv = policy.cv
    if cv == "auto":
        cv = folds_for(minority, auto) if isinstance(auto, int) and all_rows else "loo"
    if isinstance(cv, int) and not all_rows:
        raise ValueError(
            f"cutoff: cv={cv} folds are refitted to all rows, but the fit holds a sample of "
            f"{len(minority)} rows only; use cv='auto', or a number as the cutoff"
        )
    return cv


def check(policy: Cutoff, minority: np.ndarray, all_rows: bool, auto: str | int) -> None:
    """Raise a ValueError, before any kernel value, if the cutoff cannot be chosen."""
    if policy.of_rows:
        policy = replace(policy, cv=choose_cv(policy, minority, all_rows, auto))
    policy.check(minority)
