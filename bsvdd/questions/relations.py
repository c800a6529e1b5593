r"""Which columns of a table follow from the others, and which rows break that.

Each column is explained by the others, from rows other than the one that is judged.

A column of numbers follows if a linear regression of its values, or of their
logarithms, explains half of the variation of the four fifths of the rows that fit best:
least trimmed squares, by concentration steps (Rousseeuw and Van Driessen 2006). The
excess of a row z is its residual,

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

from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from ..base import threads
from ..base.messages import listed
from ..tables.columns import TableColumn
from ..tables.training import TrainingTable

FOLLOWS = 0.5  # share of its variation, or surprise, that the others explain
MORE = 0.02  # that a second column explains at least
LEAST = 0.1  # sd of a column, that another moves which is named
# of a regression
TRIM = 0.8
STEPS = 10
FOLDS = 5
# quantiles of the unit
TAIL = 0.99
BODY = 0.95
BEYOND = 4.0
ROUNDING = 1e-9  # of a residual, relative to the values
ROWS = 5  # for each regressor, and of a level that tells something
# rows, or different numbers, that are many; bins of these
CODES = 20
BINS = 10
# of the largest excess: columns of one equation have the same
NEAR = 0.9
CAP = 1000.0
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
        Of each cell. 1 is the unit of the relation, which a hundredth of the rows
        exceed; an excess far above 1 tells a broken relation. NaN for a gap, for a
        column that does not follow, and where a gap, or a category in fewer than five
        rows, is in a column that it follows from.
    expected : pandas.DataFrame of shape (n, p)
        What the others lead to, as a cell of the table; None where there is no excess.
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
        near = excess[rows] >= NEAR * np.minimum(largest[rows, None], CAP)
        place = near.argmax(axis=1)
        labels = self.excess.columns
        found: dict[str, Any] = {"excess": largest[rows], "column": labels[place]}
        for name, cells in {"value": self.values, "expected": self.expected}.items():
            found[name] = [cells.iat[i, j] for i, j in zip(rows, place, strict=True)]
        found["also"] = [", ".join(map(str, labels[each][1:])) for each in near]
        return pd.DataFrame(found, self.excess.index[rows])

    def __repr__(self) -> str:
        """Return a line for each column that follows."""
        lines = [
            f"{c} follows from {', '.join(map(str, by))} ({how}, {explained:.2f} "
            "explained)"
            for c, explained, how, by in self.follows.itertuples()
        ]
        return "\n".join(lines) or "No column follows from the others."


def relations(X: Any, on: Any = None) -> Relations:
    r"""Return which columns of a table follow from the others, and how far its rows are from that.

    Parameters
    ----------
    X : data frame or array-like of shape (n, p)
        Read as ``fit`` reads it: dates and ordered categories are numbers, other text
        names categories. Gaps are left as they are.
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
    >>> X = pd.DataFrame({"pieces": rng.integers(1, 30, 99), "price": rng.uniform(1, 9, 99)})
    >>> X["net"] = X["pieces"] * X["price"]
    >>> X.loc[7, "net"] = 50.0
    >>> found = bsvdd.relations(X, on=["pieces", "price"])
    >>> found
    net follows from pieces, price (log-linear, 1.00 explained)
    >>> row = found.table.iloc[0]
    >>> int(row.name), row["column"], float(row["value"]), round(float(row["expected"]), 2)
    (7, 'net', 50.0, 7.37)
    """
    given = TrainingTable.read(X)
    table = given.values
    frame = given.frame
    columns = dict(zip(frame, given.table.columns, strict=True))
    categories = {c for c in frame if columns[c].kind == "category"}
    used = list(frame) if on is None else np.atleast_1d(on).tolist()
    if on is not None and not (used and set(used) < set(frame)):
        raise ValueError(f"on={on!r}: expected some, and not all, of {listed(frame)}")
    usual = pd.DataFrame(
        {c: _levels(table[c]) if c in categories else table[c] for c in used}
    )
    excess = table * np.nan
    follows = {}
    expected = pd.DataFrame(None, table.index, table.columns, object)
    with threads.one(), threads.steps("relations") as step:
        for c in table if on is None else table.columns.drop(used):
            step(f"column {c!r}")
            found = _of_column(
                usual.drop(columns=c, errors="ignore"), table[c], c in categories
            )
            if found is not None:
                follows[c] = found[:3]
                excess[c] = found.excess
                cell: Any = columns[c].cell
                if found.how == COUNTS:
                    cell = dict(zip(table[c], frame[c], strict=True)).get
                whole = (
                    columns[c] != TableColumn() and not (table[c] % 1.0).any()
                )  # such as days
                values = found.expected.round() if whole else found.expected
                pairs = zip(values, found.excess, strict=True)
                expected[c] = [None if np.isnan(e) else cell(v) for v, e in pairs]
    named = pd.DataFrame.from_dict(follows, "index", columns=list(_Found._fields[:3]))
    return Relations(named, excess, expected, frame)


def _levels(codes: pd.Series) -> pd.Series:
    """Return categories, without rare ones, which tell nothing."""
    return codes.where(codes.map(codes.value_counts()) >= ROWS).astype("category")


class _Found(NamedTuple):
    """What explains a column: how far each row is from it, in units, and the expected numbers."""

    explained: float
    how: str
    by: list[Any]
    excess: np.ndarray
    expected: np.ndarray


def _of_column(x: pd.DataFrame, y: pd.Series, is_category: bool) -> _Found | None:
    """Return what explains column y best; None if it does not follow.

    It is learned from rows without gaps. A row with a gap in a column by which y is
    explained is not judged.
    """
    gaps = x.isna()
    while gaps.any(axis=None) and (~gaps).all(axis=1).sum() < 2 * ROWS * gaps.shape[1]:
        gaps = gaps.drop(columns=gaps.sum().idxmax())
    x = x[gaps.columns]
    learn = (y.notna() & ~gaps.any(axis=1)).to_numpy()
    if learn.sum() < CODES:
        return None
    if is_category or y.nunique() < CODES:
        found = _of_categories(x, y, learn)
    else:
        found = _regression(x, y, learn, LINEAR)
        if y.min() > 0.0:
            x = x[[c for c in x if x[c].dtype == "category" or x[c].min() > 0.0]]
            x = x.apply(lambda c: c if c.dtype == "category" else np.log(c))
            found += _regression(x, np.log(y), learn, LOG_LINEAR)
    best = max(found, key=lambda each: each.explained, default=None)
    if best is None or best.explained < FOLLOWS:
        return None
    judged = y.notna() & ~gaps[best.by].any(axis=1)
    expected = np.exp(best.expected) if best.how == LOG_LINEAR else best.expected
    return best._replace(
        excess=np.where(judged, best.excess, np.nan), expected=expected
    )


def _unit(off: np.ndarray, least: float) -> float:
    """Return the unit of residuals or surprises."""
    tail, body = np.quantile(off, [TAIL, BODY])
    return max(min(tail, BEYOND * body), least)


class _Trimmed(LinearRegression):
    """Least trimmed squares, by concentration steps from the fit to all rows."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        kept = np.ones(len(y), dtype=bool)
        for _ in range(STEPS):
            off = np.abs(y - super().fit(X[kept], y[kept]).predict(X))
            before = kept
            kept = off <= np.quantile(off, TRIM)
            if (kept == before).all():
                break
        return self


def _regression(
    x: pd.DataFrame, y: pd.Series, learn: np.ndarray, how: str
) -> list[_Found]:
    """Return what a trimmed regression on x explains."""
    # regressors
    parts = {c: x[[c]] for c in x}
    most = learn.sum() / ROWS
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
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    expected = model.fit(d[learn], v[learn]).predict(d)
    effects = (
        pd.Series(np.square(model.coef_), design.columns)
        .groupby(level=0, sort=False)
        .sum()
    )
    expected[learn] = cross_val_predict(model, d[learn], v[learn], cv=folds)
    off = np.abs(v - expected)
    kept = learn & (off <= np.quantile(off[learn], TRIM))
    unit = _unit(off[learn], ROUNDING * np.abs(v[learn]).max())
    varies = np.ptp(v[kept]) > 0.0
    sd = v[kept].std()
    explained = 1.0 - np.square(off[kept]).mean() / sd**2 if varies else 0.0
    by = effects.index[effects >= min(LEAST * sd, unit) ** 2].tolist()
    return [_Found(explained, how, by, off / unit, expected)]


def _of_categories(x: pd.DataFrame, y: pd.Series, learn: np.ndarray) -> list[_Found]:
    """Return what one column of x, or two, explain by counts of rows.

    Rows with a rare level of y do not count, and are judged.
    """
    levels = np.array(_levels(y[learn]).cat.categories)
    k = len(levels)
    n = np.arange(len(y))
    few = {}
    found = []
    if k < 2:
        return []
    code = np.where(
        np.isin(y, levels), np.searchsorted(levels, y), k
    )  # the last of rare levels
    pool = np.flatnonzero(learn & (code < k))
    share = np.bincount(code[pool]) / len(pool)
    alone = -(share @ np.log(share))
    for c in x:
        many = x[c].dtype != "category" and x[c].nunique() >= CODES
        values = pd.qcut(x[c], BINS, duplicates="drop") if many else x[c]
        few[c] = pd.factorize(values)[0] + 1  # 0 is a gap
    for by in [*combinations(few, 1), *combinations(few, 2)]:
        cell = np.unique(few[by[0]] * (len(y) + 1) + few[by[-1]], return_inverse=True)[
            1
        ]
        others = np.zeros((cell.max() + 1, k + 1))
        np.add.at(others, (cell[pool], code[pool]), 1.0)
        others = others[cell]
        others[pool, code[pool]] -= 1.0
        p = (others + 1.0 / k) / (others.sum(axis=1, keepdims=True) + 1.0)
        surprise = -np.log(p[n, code])
        explained = float(1.0 - surprise[pool].mean() / alone - MORE * (len(by) - 1))
        excess = surprise / _unit(surprise[learn], np.log(k))
        found.append(
            _Found(explained, COUNTS, list(by), excess, levels[p[:, :k].argmax(axis=1)])
        )
    return found
