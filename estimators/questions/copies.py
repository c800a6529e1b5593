"""Copies: rows that are training rows, and rows that are normal beside their copies only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...inference.center import Center, level_quantile
from ...models.repeats import distinct
from ..fit import Fit

ALIKE = 0.999  # kernel value of two rows from which one is a copy of the other
FEW = 5  # rows of a group of copies; more of them are a part of the normal class
DISTINCT = 0.9  # share of training rows that differ, above which an equal row is no coincidence


def _as_bytes(rows: np.ndarray) -> list[bytes]:
    return [row.tobytes() for row in rows + 0.0]  # -0.0 is 0.0


def are_training_rows(fit: Fit, rows: np.ndarray) -> np.ndarray:
    """Return which rows (m, p) equal a training row in all columns; none where most rows do.

    ``rows`` are in the form that the kernel expects.
    """
    known = set(_as_bytes(fit.data.rows))
    by_chance = fit.data.kernel.pairwise or len(known) < DISTINCT * len(fit.data.rows)
    return np.array([row in known and not by_chance for row in _as_bytes(rows)], dtype=bool)


def copied(fit: Fit) -> np.ndarray:
    """Return which training rows equal 1 to 4 others in all columns, shape (n,)."""
    number = distinct(fit.data.rows)[1]
    times = np.bincount(number)[number]
    return (times > 1) & (times <= FEW)


def hidden_copies(fit: Fit) -> list[tuple[int, ...]]:
    r"""Return groups of training rows that are beyond the cutoff if all copies leave together.

    A left-out row that has a copy is at least as similar to the others as the copy makes it, which
    is enough where rows have few neighbours. Without the row and its copies C, whose kernel values
    with it are at least .999,

    .. math:: s_j = \frac{\sum_{i \notin C} w_i k_{ij}}{\sum_{i \notin C} w_i},

    and a group is returned if its rows are normal by their left-out scores, and beyond the cutoff
    by this. Groups of more than 5 rows are no copies by accident. Descriptions whose points are not
    all rows, and those with negative weights, have no groups.

    Returns
    -------
    list of tuple of int
        Positions of training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD
    >>> from bsvdd.estimators.questions.copies import hidden_copies
    >>> X = np.random.default_rng(0).normal(size=(99, 8))
    >>> X[[7, 30]] = 6.0
    >>> hidden_copies(BSVDD().fit(X).fit_)
    [(7, 30)]
    """
    center, data = fit.score, fit.data
    if not isinstance(center, Center) or not center.logarithmic or data.gram.n1:
        return []
    points, row = data.gram.points, data.row_of_member
    if (row < 0).any():
        return []
    # of groups, equal rows only: all kernel values of many rows would be too many
    alike = data.gram.K >= ALIKE if points.single_members else None
    n_alike = points.copies if alike is None else alike @ points.copies
    members = np.flatnonzero((n_alike > 1) & (n_alike <= FEW) & (fit.left_out[row] >= 0.0))
    if not len(members):
        return []
    with_it = members[:, None] == np.arange(len(row)) if alike is None else alike[members]
    leaving = replace(data.leaving(row[members]), with_it=with_it)
    values = center.values_without(leaving.similarity(center.weights), leaving)
    margins = values - center.boundary.threshold[:, None]
    odd = np.flatnonzero(~(level_quantile(margins, fit.level) >= 0.0))
    groups = {tuple(np.flatnonzero(with_it[i]).tolist()) for i in odd}
    rows = (np.flatnonzero(np.isin(data.member_of_row, group)) for group in groups)
    return sorted(tuple(found.tolist()) for found in rows)
