r"""Which columns of a table follow from the others, and which rows break that.

Each column is explained by the others, from rows other than the one that is judged.

A column of numbers follows if a linear regression of its values, or of their
logarithms, explains half of the variation of the four fifths of the rows that fit best.
This is least trimmed squares, by concentration steps (Rousseeuw and Van Driessen 2006).
The excess of a row z is its residual,

.. math:: e_f(z) = |z_f - \hat z_f| / u_f,

where the unit u is the 99 % quantile of all residuals, or four times their 95 %
quantile if that is less, so that several broken rows do not hide each other.

A column of categories, or of few different numbers, follows if one or two others save
half of its surprise on average. Of n other rows with the same values there, n_y have
the category y, and one more row is shared out evenly among K categories,

.. math:: S_f(z) = -\log \frac{n_y + 1 / K}{n + 1}.

Numbers have the same value within a tenth of the rows. The excess is S over its unit,
as above, but at least log K, the surprise of K equally frequent categories.

**References**

Rousseeuw, P. J. and Van Driessen, K. (2006). Computing LTS regression for large data
sets. Data Mining and Knowledge Discovery 12, 29-45. doi:10.1007/s10618-005-0024-4
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from ..base import threads
from ..base.messages import listed
from ..tables.columns import TableColumn
from ..tables.training import TrainingTable

FOLLOWS = 0.5  # share of its variation, or surprise, that the others explain
SECOND_EXPLAINS = 0.02  # more than one column, at least
LEAST_EFFECT = 0.1  # sd of a column by which a named column moves it
# of a regression
TRIM = 0.8
TRIM_STEPS = 10
REGRESSION_FOLDS = 5
# quantiles of the unit
TAIL = 0.99
BODY = 0.95
MOST_BODIES = 4.0
RESIDUAL_ROUNDING = 1e-9  # relative to the values
ENOUGH_ROWS = 5  # for each regressor, and of a category that tells something
# rows, or different numbers, that are many; bins of these
MANY = 20
NUMBER_BINS = 10
# of the largest excess: columns of one equation have the same
AS_LARGE = 0.9
LARGEST_EXCESS = 1000.0
LARGEST_VALUE = 1e100  # whose square is a number
LINEAR = "linear"
LOG_LINEAR = "log-linear"
COUNTS = "counts"


@dataclass(frozen=True, eq=False, repr=False)
class Relations:
    """Which columns follow from others, and how far rows are from that.

    Attributes
    ----------
    follows : pandas.DataFrame
        A row for each column that follows: ``explained``, the share of its variation or
        surprise; ``how``, "linear", "log-linear" or "counts"; and ``by``, the columns
        that it follows from.
    excess : pandas.DataFrame of shape (n, p)
        How far each cell is from its relation. 1 is the unit, which a hundredth of the
        rows exceed; an excess far above 1 tells a broken relation. NaN for a missing
        value, and for a column that does not follow. NaN too where a column that it
        follows from has a missing value, or a category in fewer than five rows.
    expected : pandas.DataFrame of shape (n, p)
        What the others predict, as a cell of the table; None where there is no excess.
    values : pandas.DataFrame of shape (n, p)
        The table.
    """

    follows: pd.DataFrame
    excess: pd.DataFrame
    expected: pd.DataFrame
    values: pd.DataFrame

    @property
    def table(self) -> pd.DataFrame:
        """The rows that have an excess, the strongest first.

        With the largest ``excess``, its ``column``, the ``value`` and what was
        ``expected`` there. In a relation of several columns any one of them may be
        wrong: ``also`` names the others with as large an excess, and ``column`` is the
        first.
        """
        excess = self.excess.fillna(-1.0).to_numpy()
        largest = excess.max(axis=1)
        rows = np.argsort(-largest, kind="stable")[: (largest >= 0.0).sum()]
        least = AS_LARGE * np.minimum(largest[rows], LARGEST_EXCESS)
        near = excess[rows] >= least[:, None]
        cells = list(zip(rows, near.argmax(axis=1), strict=True))
        labels = [self.excess.columns[each] for each in near]
        found = {
            "excess": largest[rows],
            "column": [each[0] for each in labels],
            "value": [self.values.iat[at] for at in cells],
            "expected": [self.expected.iat[at] for at in cells],
            "also": [", ".join(map(str, each[1:])) for each in labels],
        }
        return pd.DataFrame(found, self.excess.index[rows])

    def __repr__(self) -> str:
        """Return a line for each column that follows."""
        lines = [
            f"{c} follows from {', '.join(map(str, by))} ({how}, {explained:.2f} "
            "explained)"
            for c, explained, how, by in self.follows.itertuples()
        ]
        return "\n".join(lines) or "No column follows from the others."


def relations(X: ArrayLike, on: ArrayLike | None = None) -> Relations:
    r"""Return which columns of a table follow from the others, and the excess of rows.

    Parameters
    ----------
    X : data frame or array-like of shape (n, p)
        Read as ``fit`` reads it: dates and ordered categories are numbers, other text
        names categories. Missing values are left as they are.
    on : name or list of names, optional
        The columns that explain; all others are explained by these, and not by each
        other. By default each column is explained by all others.

    Returns
    -------
    Relations

    Raises
    ------
    ValueError
        ``on`` names no column, all of them, or one that there is not; or X cannot be
        read.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"pieces": rng.integers(1, 30, 99)})
    >>> X["price"] = rng.uniform(1, 9, 99)
    >>> X["net"] = X["pieces"] * X["price"]
    >>> X.loc[7, "net"] = 50.0
    >>> found = bsvdd.relations(X, on=["pieces", "price"])
    >>> found
    net follows from pieces, price (log-linear, 1.00 explained)
    >>> row = found.table.iloc[0]
    >>> int(row.name), row["column"], float(row["value"]), f"{row['expected']:.2f}"
    (7, 'net', 50.0, '7.37')
    """
    given = TrainingTable.read(X)
    table = given.values.clip(-LARGEST_VALUE, LARGEST_VALUE)
    frame = given.frame
    columns = dict(zip(frame, given.table.columns, strict=True))
    categories = set(frame.columns[list(given.table.categorical)])
    used = list(frame) if on is None else np.atleast_1d(on).tolist()
    if on is not None and not (used and set(used) < set(frame)):
        raise ValueError(f"on={on!r}: expected some, and not all, of {listed(frame)}")
    usual = pd.DataFrame(
        {c: _usual(table[c]) if c in categories else table[c] for c in used}
    )
    excess = table * np.nan
    follows = {}
    expected = pd.DataFrame(None, table.index, table.columns, object)
    with threads.one(), threads.steps("relations") as step:
        for c in table if on is None else table.columns.drop(used):
            step(f"column {c!r}")
            others = usual.drop(columns=c, errors="ignore")
            found = _explanation(others, table[c], c in categories)
            if found is not None:
                follows[c] = found[:3]
                excess[c] = found.excess
                expected[c] = _cells(found, columns[c], table[c], frame[c])
    named = pd.DataFrame.from_dict(
        follows, "index", columns=list(_Explanation._fields[:3])
    )
    return Relations(named, excess, expected, frame)


def _cells(
    found: _Explanation, column: TableColumn, values: pd.Series, given: pd.Series
) -> list[object]:
    """Return the expected values as cells of the table; None without an excess."""
    cell: Callable[[float], object] = column.cell
    if found.how == COUNTS:
        cell = dict(zip(values, given, strict=True)).get
    expected = found.expected
    if column != TableColumn() and not (values % 1.0).any():  # such as days
        expected = expected.round()
    pairs = zip(expected, found.excess, strict=True)
    return [None if np.isnan(excess) else cell(v) for v, excess in pairs]


def _usual(codes: pd.Series) -> pd.Series:
    """Return categories, without rare ones, which tell nothing."""
    count = codes.map(codes.value_counts())
    return codes.where(count >= ENOUGH_ROWS).astype("category")


class _Explanation(NamedTuple):
    """What explains a column, the excess of each row, and the expected numbers."""

    explained: float
    how: str
    by: list[Hashable]
    excess: np.ndarray
    expected: np.ndarray


def _explanation(
    x: pd.DataFrame, y: pd.Series, is_category: bool
) -> _Explanation | None:
    """Return what explains column y best; None if it does not follow.

    It is fitted to rows without missing values. A row with a missing value in a column
    by which y is explained is not judged.
    """
    missing = x.isna()
    while (complete := len(x) - missing.any(axis=1).sum()) < len(x):
        if complete >= 2 * ENOUGH_ROWS * missing.shape[1]:
            break
        missing = missing.drop(columns=missing.sum().idxmax())
    x = x[missing.columns]
    learn = (y.notna() & ~missing.any(axis=1)).to_numpy()
    if learn.sum() < MANY:
        return None
    if is_category or y.nunique() < MANY:
        found = _by_counts(x, y, learn)
    else:
        found = _by_regression(x, y, learn, LINEAR)
        if y.min() > 0.0:
            x = x[[c for c in x if x[c].dtype == "category" or x[c].min() > 0.0]]
            x = x.apply(lambda c: c if c.dtype == "category" else np.log(c))
            found += _by_regression(x, np.log(y), learn, LOG_LINEAR)
    best = max(found, key=lambda each: each.explained, default=None)
    if best is None or best.explained < FOLLOWS:
        return None
    judged = y.notna() & ~missing[best.by].any(axis=1)
    expected = np.exp(best.expected) if best.how == LOG_LINEAR else best.expected
    return best._replace(
        excess=np.where(judged, best.excess, np.nan), expected=expected
    )


def _unit(off: np.ndarray, least: float) -> float:
    """Return the unit of residuals or surprises."""
    tail, body = np.quantile(off, [TAIL, BODY])
    return max(min(tail, MOST_BODIES * body), least)


class _Trimmed(LinearRegression):
    """Least trimmed squares, by concentration steps from the fit to all rows."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        kept = np.ones(len(y), dtype=bool)
        for _ in range(TRIM_STEPS):
            off = np.abs(y - super().fit(X[kept], y[kept]).predict(X))
            before = kept
            kept = off <= np.quantile(off, TRIM)
            if (kept == before).all():
                break
        return self


def _by_regression(
    x: pd.DataFrame, y: pd.Series, learn: np.ndarray, how: str
) -> list[_Explanation]:
    """Return what a trimmed regression on x explains."""
    # regressors
    parts = {c: x[[c]] for c in x}
    most = learn.sum() / ENOUGH_ROWS
    for c in x.select_dtypes("category"):
        parts[c] = pd.get_dummies(x[c], dtype=float)
        if parts[c].shape[1] * x.shape[1] > most:
            del parts[c]
    if not 0 < sum(part.shape[1] for part in parts.values()) <= most:
        return []
    design = pd.concat(parts, axis=1)
    v = y.to_numpy()
    scaled = StandardScaler().fit(design[learn].to_numpy()).transform(design.to_numpy())
    d = np.nan_to_num(scaled)
    model = _Trimmed()
    folds = KFold(REGRESSION_FOLDS, shuffle=True, random_state=0)
    expected = model.fit(d[learn], v[learn]).predict(d)
    squares = pd.Series(np.square(model.coef_), design.columns)
    effects = squares.groupby(level=0, sort=False).sum()
    expected[learn] = cross_val_predict(model, d[learn], v[learn], cv=folds)
    off = np.abs(v - expected)
    kept = learn & (off <= np.quantile(off[learn], TRIM))
    unit = _unit(off[learn], RESIDUAL_ROUNDING * np.abs(v[learn]).max())
    sd = v[kept].std()
    explained = 0.0
    if np.ptp(v[kept]) > 0.0:
        explained = 1.0 - np.square(off[kept]).mean() / sd**2
    by = effects.index[effects >= min(LEAST_EFFECT * sd, unit) ** 2].tolist()
    return [_Explanation(explained, how, by, off / unit, expected)]


def _by_counts(x: pd.DataFrame, y: pd.Series, learn: np.ndarray) -> list[_Explanation]:
    """Return what one column of x, or two, explain by counts of rows.

    Rows with a rare category of y do not count, and are judged.
    """
    categories = np.array(_usual(y[learn]).cat.categories)
    k = len(categories)
    n = np.arange(len(y))
    if k < 2:
        return []
    # k is the code of rare categories
    code = np.where(np.isin(y, categories), np.searchsorted(categories, y), k)
    pool = np.flatnonzero(learn & (code < k))
    share = np.bincount(code[pool]) / len(pool)
    alone = -(share @ np.log(share))
    few = {}
    for c in x:
        many = x[c].dtype != "category" and x[c].nunique() >= MANY
        values = pd.qcut(x[c], NUMBER_BINS, duplicates="drop") if many else x[c]
        few[c] = pd.factorize(values)[0] + 1  # 0 is a missing value
    found = []
    for by in [*combinations(few, 1), *combinations(few, 2)]:
        both = few[by[0]] * (len(y) + 1) + few[by[-1]]
        cell = np.unique(both, return_inverse=True)[1]
        others = np.zeros((cell.max() + 1, k + 1))
        np.add.at(others, (cell[pool], code[pool]), 1.0)
        others = others[cell]
        others[pool, code[pool]] -= 1.0
        p = (others + 1.0 / k) / (others.sum(axis=1, keepdims=True) + 1.0)
        surprise = -np.log(p[n, code])
        second = SECOND_EXPLAINS * (len(by) - 1)
        explained = float(1.0 - surprise[pool].mean() / alone - second)
        excess = surprise / _unit(surprise[learn], np.log(k))
        expected = categories[p[:, :k].argmax(axis=1)]
        found.append(_Explanation(explained, COUNTS, list(by), excess, expected))
    return found
