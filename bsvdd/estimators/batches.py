r"""Rows that belong together, though nobody told.

Rows of one level of a column are alike if the intraclass correlation of the other
columns is at least .1 and no accident of which row has which level. With the mean
squares between and within k levels, summed over standardised columns, and
:math:`n_0 = (n - \sum_l n_l^2 / n) / (k - 1)`,

.. math:: \mathrm{ICC} = \frac{M_b - M_w}{M_b + (n_0 - 1) M_w}

(Donner 1986). Numbers have a trend, and are no batches for it: of a column of whole
numbers, what a cubic polynomial of it explains is taken off first.

**References**

Donner, A. (1986). A review of inference procedures for the intraclass correlation
coefficient in the one-way random effects model. International Statistical Review 54,
67-82.
"""

from __future__ import annotations

import shlex
from typing import Any

import numpy as np
from scipy import sparse

from ..tables.training import Training
from .fitted import Fitted

FEWEST_LEVELS = 5
FEWEST_ROWS = 30
AGAIN = 0.8  # share of the levels that several rows have, at least
LARGEST = (
    0.25  # share of the rows of one level of numbers: zeros and flags are no batches
)
MOST_ROWS = 2000
ALIKE = 0.1
P_VALUE = 0.02
PERMUTATIONS = 99
TREND = 3  # degree
OFTEN = 1.2  # rate of false alarms over that asked


def untold(fitted: Fitted) -> str:
    """Return that rows of one level of a column are alike, and how to say so; else ""."""
    training = fitted.training
    rule = getattr(fitted.rule, "rate", None)
    of_core = fitted.data.kernel.of_core
    if (
        training.groups is not None
        or training.table.names is None
        or rule is None
        or of_core
    ):
        return ""
    rows = fitted.data.units.majority
    if len(rows) > MOST_ROWS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_ROWS, replace=False))
    alike_in: dict[Any, np.ndarray] = {}
    for place, name in enumerate(training.table.labels):
        level = levels(training, place, rows)
        if level is not None and alike(_others(training, place, rows, level), level):
            alike_in[name] = level
    k = similarity(fitted, rows) if alike_in else np.empty((0, 0))
    every = {
        name: (int(level.max()), rate(k, level, rule))
        for name, level in alike_in.items()
    }
    found = {name: each for name, each in every.items() if each[1] >= OFTEN * rule}
    if not found:
        return ""
    name = max(
        found, key=lambda each: found[each]
    )  # a finer one explains a coarser one
    return (
        f"rows of one {str(name)!r} are alike: if new rows come from new ones, about "
        f"{found[name][1]:.2f} of them will be called abnormal at {rule:g} asked; "
        f"fit(X, groups={name!r}), or --group {shlex.quote(str(name))}, asks of rows "
        "of a new one"
    )


def levels(training: Training, place: int, rows: np.ndarray) -> np.ndarray | None:
    """Return the level (n,) of rows in a column, from 0; None for a column that has none.

    The column is one of categories or whole numbers, with at least 5 levels, four
    fifths of which come again.
    """
    x = training.observed[rows, place]
    known = x[~np.isnan(x)]
    if training.table.columns[place].kind in ("dates", "names") or (known % 1.0).any():
        return None
    values, count = np.unique(known, return_counts=True)
    if (
        len(rows) < FEWEST_ROWS
        or len(values) < FEWEST_LEVELS
        or (count > 1).mean() < AGAIN
    ):
        return None
    if training.table.columns[place].kind == "numbers" and count.max() > LARGEST * len(
        rows
    ):
        return None
    return np.searchsorted(values, np.where(np.isnan(x), values[0], x))


def _others(
    training: Training, place: int, rows: np.ndarray, level: np.ndarray
) -> np.ndarray:
    """Return the other columns that are no categories, standardised, without gaps and trends."""
    apart = {place, *training.table.categorical}
    X = training.observed[
        np.ix_(rows, [j for j in range(training.n_columns) if j not in apart])
    ]
    X = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    if training.table.columns[place].kind == "numbers":
        z = np.vander((level - level.mean()) / level.std(), TREND + 1)
        X = X - z @ np.linalg.lstsq(z, X)[0]
    sd = X.std(axis=0)
    return (X - X.mean(axis=0))[:, sd > 0.0] / sd[sd > 0.0]


def alike(X: np.ndarray, level: np.ndarray) -> bool:
    """Return whether rows X (n, q) of one level (n,) are alike, and by no accident."""
    if not X.shape[1] or (own := correlation(X, level)) < ALIKE:
        return False
    rng = np.random.default_rng(0)
    by_chance = [correlation(X, rng.permutation(level)) for _ in range(PERMUTATIONS)]
    return (1 + sum(each >= own for each in by_chance)) / (PERMUTATIONS + 1) <= P_VALUE


def correlation(X: np.ndarray, level: np.ndarray) -> float:
    """Return the intraclass correlation of standardised columns X (n, q)."""
    n = len(X)
    size = np.bincount(level)
    k = int((size > 0).sum())
    sums = sparse.csr_array((np.ones(n), (level, np.arange(n)))) @ X
    between = float((sums**2 / np.maximum(size, 1)[:, None]).sum())
    within = (float((X**2).sum()) - between) / (n - k)
    between /= k - 1
    n_0 = (n - (size**2).sum() / n) / (k - 1)
    return (between - within) / (between + (n_0 - 1.0) * within)


def similarity(fitted: Fitted, rows: np.ndarray) -> np.ndarray:
    """Return the similarities (n, n) of rows, 0 of a row to itself."""
    kernel = fitted.data.kernel
    Z = kernel.inputs(fitted.data.units.X[rows])
    k: np.ndarray = kernel(Z, Z)
    np.fill_diagonal(k, 0.0)
    return k


def rate(k: np.ndarray, level: np.ndarray, asked: float) -> float:
    """Return the share of rows that lie beyond the cutoff if their level leaves with them.

    A row is judged by its mean similarity to the others, of similarities k (n, n).
    """
    cutoff = np.quantile(k.sum(axis=1) / (len(k) - 1), asked)
    other = level[:, None] != level
    return float(
        ((k * other).sum(axis=1) / np.maximum(other.sum(axis=1), 1) < cutoff).mean()
    )
