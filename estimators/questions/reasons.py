"""Reasons in words: columns with their values and shares, and what is usual there.

The first reason is the column that is oddest given the others: without it the row gets nearest to
others. A further column has a large share of the surprise too, and is odd given those that are
left. A value that rows like this one have is no reason beside others; these are near in the other
columns, see :mod:`bsvdd.estimators.questions.usual`. Commands, explanations, reports and pictures
say reasons by this one rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from .. import inputs, messages
from ..fit import Fit
from ..rows.categories import code
from .usual import Neighbours

LEAST = 0.05  # largest share, below which no column is a reason
OTHERS = 0.1  # smallest share of a further column, of the surprise and of what is odd in the first
MOST = 3  # columns that are reasons
FEW = 2  # values of a category of alike rows that are named
DIGITS = 5  # of the ends of what is usual
FILLED, UNKNOWN = " is missing and filled", "other categories"
Shares = Sequence[tuple[Any, float]]
Levels = Mapping[Any, Mapping[float, str]]


def levels_of(fit: Fit, X: Any) -> Levels:
    """Return the texts of the categories in a data frame by column and number, as no fit has them.

    Without a data frame there are none.
    """
    if not isinstance(X, pd.DataFrame):
        return {}
    labels = fit.data.columns.labels.tolist()
    of = [labels[f] for f in fit.data.kernel.categorical_columns if labels[f] in X]
    return {c: {code(level): str(level) for level in X[c].dropna().unique()} for c in of}


def cells_of(
    fit: Fit, table: np.ndarray, X: Any = None, members: np.ndarray | None = None
) -> pd.DataFrame:
    """Return the cells of rows as the user has them, NaN for a gap, and None for an unknown text.

    ``table`` has the numbers of X, or without X of the training rows ``members``.
    """
    X = inputs.matched(fit.data.columns, X)
    values = inputs.shown(fit.data, table, X)
    if members is not None:
        gaps = np.zeros(table.shape, bool) if fit.data.gaps is None else fit.data.gaps[members]
    elif isinstance(X, pd.DataFrame) and set(values.columns) <= set(X.columns):
        gaps = X[values.columns].isna().to_numpy()
    else:
        gaps = np.array([[value != value for value in row] for row in np.asarray(X).tolist()])
    for i, f in np.argwhere(gaps):
        values.iat[i, f] = np.nan
    return values


def reason(fit: Fit, row: np.ndarray, cells: pd.DataFrame, shares: Shares, levels: Levels) -> str:
    """Return the columns that make rows odd, with their values and shares; empty without any.

    Of several alike rows these are the ranges of the values. What rows have that are like the first
    one in the other columns is in brackets; of one row, a column with a usual value is no reason
    beside others.

    Parameters
    ----------
    fit : Fit
    row : ndarray of shape (p,)
        The numbers of the first of the rows.
    cells : pandas.DataFrame
        The cells of the rows, of columns with the names of the fit.
    shares : sequence of pairs
        Names of columns and their shares, of all columns that may be reasons.
    levels : mapping
        The texts of categories, see :func:`levels_of`.
    """
    if not shares or max(share for _, share in shares) < LEAST:
        return ""
    labels = fit.data.columns.labels.tolist()
    left = {labels.index(column): share for column, share in shares}
    parts: list[str] = []
    beside, first, most = Neighbours.of(fit, row), "", 0.0
    while left and len(parts) < MOST:
        nearer = {f: beside.nearer(f) for f in left}
        f = max(nearer, key=lambda column: nearer[column])
        share, like = left.pop(f), beside.usual(f)
        if first and nearer[f] < OTHERS * most:
            break
        if first and share < OTHERS:
            continue
        own = f"{labels[f]}{_of_cells(fit, cells[labels[f]], f)} ({share:.0%}"
        first, most = first or f"{own})", most or nearer[f]
        if len(cells) == 1 and like.has(row[f]):
            continue
        texts = dict.fromkeys(text_of(fit, levels, f, value) for value in like.values)
        known = (" or " if like.is_category else " to ").join(filter(None, texts)) or UNKNOWN
        parts.append(f"{own}; rows like it: {known})")
        beside = beside.without(f)
    return ", ".join(parts) or first


def text_of(fit: Fit, levels: Levels, f: int, number: float) -> str:
    """Return a number of the kernel as the user has it in column f; empty for an unknown text."""
    if f in fit.data.kernel.categorical_columns:
        unknown = "" if -1.0 < number < 0.0 else f"{number:g}"
        return levels.get(fit.data.columns.labels[f], {}).get(number, unknown)
    form = fit.data.forms.get(f)
    observed = fit.data.observed[:, f]
    if (observed[~np.isnan(observed)] % 1.0 == 0.0).all():  # whole numbers, or whole days
        number = round(number)
    if form is None or form.kind != "dates":
        number = float(f"{number:.{DIGITS}g}")
    return messages.of_value(number if form is None else form.cell(number))


def _of_cells(fit: Fit, cells: pd.Series, f: int) -> str:
    """Return the value of one row, or the values of several, after a sign; a code has none."""
    is_category, form = f in fit.data.kernel.categorical_columns, fit.data.forms.get(f)
    known = cells.dropna()
    if known.empty:
        if all(cell is None for cell in cells):  # a text that no fit has
            return ""
        return FILLED
    value = known.iloc[0]
    if form is not None and form.kind == "dates" and cells.nunique() == 1:
        value = form.cell(form.numbers(known).iloc[0])  # as what is usual
    if cells.nunique() == 1:
        return f" = {messages.of_value(value)}"
    if form is not None:
        numbers = form.numbers(cells)
        ends = [messages.of_value(form.cell(end)) for end in (numbers.min(), numbers.max())]
        return f" = {' to '.join(ends)}"
    if is_category or isinstance(value, str):
        texts = known.astype(str).value_counts().index
        more = " or others" if len(texts) > FEW else ""
        return f" = {' or '.join(texts[:FEW])}{more}"
    return f" = {messages.of_value(cells.min())} to {messages.of_value(cells.max())}"
