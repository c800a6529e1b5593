"""Columns that are no features: names of rows, free text, gaps, columns that count on.

Whole numbers name rows if nearly all of them differ, and either the column is named so,
or chance would have made some equal: n numbers in a range of R values have at least

.. math:: E = n (n - 1) / (2 R)

equal pairs on average, whatever their distribution, and no more than P were found, with
Poisson(P; E) < .001. So a measurement, a year, a count or an amount is none.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.stats import poisson

from .columns import TableColumn

FEWEST_CELLS = 10  # fewer count on, or differ, by chance
NEARLY_ALL = 0.95
BY_CHANCE = 0.001
MANY_TEXTS = 20
MANY_WORDS = 4  # of a text, by the median, from which it is no category
SAME_STEP = 1e-9  # relative to the largest number
# correlation with the number of the row: .977 for normal numbers that are sorted
STRAIGHT = 0.99
ID = re.compile(
    r"(?i:(^|[\W_])(id|key|nr|no|number|code))$|[a-z](Id|ID|Key|Nr|No|Number|Code)$"
)


def no_features(
    X: pd.DataFrame,
    columns: Sequence[TableColumn],
    values: pd.DataFrame,
    groups: np.ndarray | None = None,
) -> dict[Hashable, str]:
    """Return why some columns are no features.

    Parameters
    ----------
    X : pandas.DataFrame of shape (n, p)
    columns : sequence of TableColumn
    values : pandas.DataFrame of shape (n, p)
        The floats of the cells.
    groups : ndarray of shape (n,), optional
        The group of each row, within which a column may count on.

    Returns
    -------
    dict
        For each such column what it is, as a sentence without its subject.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bsvdd.tables.columns import TableColumn
    >>> from bsvdd.tables.features import no_features
    >>> size = np.random.default_rng(0).normal(size=40)
    >>> X = pd.DataFrame({"visit": range(40), "size": size})
    >>> no_features(X, [TableColumn(), TableColumn()], X)
    {'visit': 'counts on from row to row'}
    """
    found = {}
    of = dict(zip(X, columns, strict=True))
    group = np.zeros(len(X)) if groups is None else pd.factorize(groups)[0]
    for name, column in of.items():
        if why := _why(str(name), column, values[name].to_numpy(), group):
            found[name] = why
    others = {name: column for name, column in of.items() if name not in found}
    for name, other in _doubles(others, values):
        found.setdefault(name, f"has one value for each value of {str(other)!r}")
    return found


def _why(name: str, column: TableColumn, x: np.ndarray, group: np.ndarray) -> str:
    """Return why one column is no feature, or nothing."""
    has_value = ~np.isnan(x)
    known = x[has_value]
    if column.kind == "names":
        return "names the rows, as most values occur once"
    if len(x) < FEWEST_CELLS:
        return ""
    if len(known) < len(x) / 2:
        return f"has a value in {len(known)} of {len(x)} rows only"
    if len(known) < FEWEST_CELLS:
        return ""
    if column.kind == "category" and len(column.values) > MANY_TEXTS:
        words = np.median([len(text.split()) for text in column.values])
        return "has free text" if words >= MANY_WORDS else ""
    if column.kind in ("dates", "numbers"):
        if _counts_on(column.kind, known):
            return "counts on from row to row"
        if column.kind == "dates" and _in_order(known, group[has_value]):
            return "counts on from row to row of a group"
    if column.kind == "numbers" and len(np.unique(known)) >= NEARLY_ALL * len(known):
        return "numbers the rows, like an id" if _may_name(name, known) else ""
    return ""


def _counts_on(kind: str, x: np.ndarray) -> bool:
    """Whether dates are in the order of the rows, or numbers with nearly equal steps.

    An amount by which a table is sorted has small steps amid it and large ones beyond.
    """
    if kind == "dates":
        return _in_order(x, np.zeros(len(x)))
    steps = np.diff(x) * (1.0 if x[-1] > x[0] else -1.0)
    if not (steps > 0.0).all():
        return False
    if np.ptp(steps) <= SAME_STEP * np.abs(x).max():
        return True
    is_whole = (x % 1.0 == 0.0).all()
    r = np.corrcoef(x, np.arange(len(x)))[0, 1]
    return bool(is_whole and abs(r) > STRAIGHT)


def _in_order(x: np.ndarray, group: np.ndarray) -> bool:
    """Whether values (n,) of each group (n,) are in the order of its rows."""
    order = np.argsort(group, kind="stable")
    steps = np.diff(x[order])[np.diff(group[order]) == 0]
    in_order = (steps >= 0.0).all() or (steps <= 0.0).all()
    return bool(in_order) and min(len(np.unique(x)), len(steps)) >= FEWEST_CELLS - 1


def _may_name(name: str, x: np.ndarray) -> bool:
    """Whether whole numbers, nearly all of which differ, name something."""
    if (x % 1.0 != 0.0).any():
        return False
    n = len(x)
    expected = n * (n - 1) / 2.0 / (np.ptp(x) + 1.0)
    count = np.unique(x, return_counts=True)[1]
    equal = (count * (count - 1)).sum() / 2.0
    return bool(ID.search(name)) or poisson.cdf(equal, expected) < BY_CHANCE


def _doubles(
    columns: dict[Hashable, TableColumn], values: pd.DataFrame
) -> Iterator[tuple[Hashable, Hashable]]:
    """Yield columns that have one value for each value of a column of texts, and it."""
    size = {n: values[n].nunique() for n in columns}
    most = len(values) / 2.0
    for pair in combinations([n for n in columns if FEWEST_CELLS <= size[n] < most], 2):
        texts = [n for n in pair if columns[n].kind == "category"]
        if size[pair[0]] != size[pair[1]] or not texts:
            continue
        out = pair[1] if len(texts) == 2 or texts[0] == pair[0] else pair[0]
        u = values[out].dropna().unique()
        is_name = columns[out].kind == "category" or (
            columns[out].kind == "numbers" and _may_name(str(out), u)
        )
        if is_name and len(values[list(pair)].drop_duplicates().dropna()) == len(u):
            yield out, texts[0]
