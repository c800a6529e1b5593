"""Rows that repeat, whose weights are interchangeable: their centre is the same."""

from __future__ import annotations

import numpy as np

from .gram import Gram


def distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each set of equal rows, and the number of the set of each row.

    Sets are in the order of their first rows. -0.0 is 0.0.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.models.repeats import distinct
    >>> first, number = distinct(np.array([[2.0], [0.0], [2.0], [-0.0]]))
    >>> first.tolist(), number.tolist()
    ([0, 1], [0, 1, 0, 1])
    """
    same = np.ascontiguousarray(rows + 0.0).view(f"V{rows.itemsize * rows.shape[1]}")[:, 0]
    _, first, number = np.unique(same, return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return first[order], place[number]


def sets_of_equal(rows: np.ndarray, minority: np.ndarray) -> np.ndarray:
    """Return the number, from 0, of the set of equal rows of one class of each row, shape (n,)."""
    return distinct(np.column_stack([rows, minority]))[1]


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
    return mean_of_equal(w, sets_of_equal(gram.points.rows, minority))
