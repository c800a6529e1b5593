"""Rows that repeat, whose weights are interchangeable: their centre is the same."""

from __future__ import annotations

import numpy as np

from .gram import Gram


def sets_of_equal(rows: np.ndarray, minority: np.ndarray) -> np.ndarray:
    """Return the number, from 0, of the set of equal rows of one class of each row, shape (n,)."""
    labelled = np.column_stack([rows, minority])
    number: np.ndarray = np.unique(labelled, axis=0, return_inverse=True)[1]
    return number


def mean_of_equal(values: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return values (..., n) in which each row of a set has the mean of the set.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.models.repeats import mean_of_equal
    >>> mean_of_equal(np.array([0.5, 0.2, 0.3]), np.array([0, 1, 1])).tolist()
    [0.5, 0.25, 0.25]
    """
    count, order = np.bincount(number), np.argsort(number, kind="stable")
    sums = np.add.reduceat(values[..., order], np.cumsum(count) - count, axis=-1)
    means: np.ndarray = (sums / count)[..., number]
    return means


def shared(w: np.ndarray, gram: Gram) -> np.ndarray:
    """Return weights (M,) in which equal points of one class have the mean of their weights."""
    minority = np.arange(gram.n_points) >= gram.n_majority_points
    return mean_of_equal(w, sets_of_equal(gram.points, minority))
