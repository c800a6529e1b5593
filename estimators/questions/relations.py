r"""Whether the columns of a row go with each other: each column given all others.

A column of numbers follows from the others if a trimmed regression on them, of the values or of
their logarithms, explains half of its variation or more; columns of categories are regressors by
their levels. Its excess is the residual over the 99 % quantile of those of the training rows,

.. math:: e_f(z) = \frac{|z_f - \hat z_f|}{Q_{.99}(|x_{jf} - \hat x_{jf}|)}.

A column of categories follows from the others if these save half of its surprise on average, by
counts of rows with the same other categories. Its excess is the surprise over
its 99 % quantile, or over the log K of K equally frequent categories where that is more. The excess
of a row is the largest over columns, and its rank among those of the training rows is one p-value.

A gap breaks no relation. Regressions are of rows without gaps, and a number is not judged where the
values that may fill the gaps of its row lead to expectations further apart than one unit; the
surprise of a category is that of the way to fill them which surprises least.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ...models.trimmed import Trimmed
from .. import inputs
from ..detector import Detector
from ..fit import Fit
from ..p_values import p_values
from ..rows.gaps import Imputations

FOLLOWS = 0.5  # share of the variation of a column that the others explain
TAIL = 0.99  # quantile of the residuals, or surprises, that is the unit of an excess
ROUNDING = 1e-9  # of a residual, relative to the values
ROWS_PER_REGRESSOR = 5
LEAST_VALUES = 20  # different numbers of a column that can follow from others
MOST_LEVELS = 10  # of a column of categories that is a regressor


@dataclass(frozen=True, eq=False)
class Relations:
    """How far the columns of rows go with each other.

    Attributes
    ----------
    excess : ndarray of shape (n, columns)
        e_f of each row; NaN for a column that does not follow from the others.
    expected : ndarray of shape (n, columns)
        The value that the others lead to, a category by its number; NaN where none is named.
    p_value : ndarray of shape (n,)
        Of the largest excess; 1 if no column follows from the others.
    columns : ndarray of shape (columns,)
        Their labels.
    names : Any
        The names of the rows.
    """

    excess: np.ndarray
    expected: np.ndarray
    p_value: np.ndarray
    columns: np.ndarray
    names: Any

    @property
    def follows(self) -> list[Any]:
        """The columns that follow from the others."""
        found: list[Any] = self.columns[~np.isnan(self.excess).all(axis=0)].tolist()
        return found

    @property
    def table(self) -> pd.DataFrame:
        """For each row p-value, excess, the column that breaks a relation, and what is expected.

        The column is the first of those with the largest excess, and missing where none can be
        judged.
        """
        filled = np.nan_to_num(self.excess, nan=-1.0)
        # columns of one equation have equal excess, but for rounding
        worst = np.isclose(filled, filled.max(axis=1, keepdims=True)).argmax(axis=1)
        rows = np.arange(len(worst))
        judged = filled[rows, worst] >= 0.0
        return pd.DataFrame(
            {
                "p_value": self.p_value,
                "excess": np.maximum(filled[rows, worst], 0.0),
                "column": np.where(judged, self.columns[worst], None),
                "expected": np.where(judged, self.expected[rows, worst], np.nan),
            },
            self.names,
        )


def relations(est: Detector, X: Any = None) -> Relations:
    r"""Return how far the columns of each row go with each other.

    Parameters
    ----------
    est : Detector
        Fitted.
    X : array-like of shape (n, p), optional
        By default the training rows, each left out.

    Returns
    -------
    Relations

    Raises
    ------
    ValueError
        X has another number of columns than in ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"price": rng.uniform(1, 9, 99), "pieces": rng.integers(1, 30, 99)})
    >>> X["net"] = X["price"] * X["pieces"]
    >>> X.loc[7, "net"] = 50.0
    >>> found = bsvdd.relations(bsvdd.BSVDD().fit(X)).table.sort_values("p_value").iloc[0]
    >>> int(found.name), found["column"], bool(found["p_value"] < 0.02)
    (7, 'price', True)
    """
    check_is_fitted(est)
    data = est.fit_.data
    majority = np.flatnonzero(~data.minority)
    ways = None if data.imputations is None else data.imputations.among(majority)
    known = _Rows(data.rows[majority], ways, majority)
    rows = known if X is None else _Rows(*inputs.completed(data, X))
    names = data.row_names[majority] if X is None else inputs.row_names(X, len(rows.table))
    answers = [_of_column(est.fit_, f, known, rows) for f in range(known.table.shape[1])]
    excess, of_known, expected = (np.column_stack(each) for each in zip(*answers, strict=True))
    largest = _largest(excess)
    p = p_values(-largest, np.sort(-_largest(of_known)), itself=X is None)
    return Relations(excess, expected, p, data.columns.labels, names)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows with a value in each gap.

    Attributes
    ----------
    table : ndarray of shape (n, p)
    ways : Imputations or None
        Of the rows with gaps.
    number : ndarray of int, shape (n,), optional
        Their numbers among the training rows; None for new rows.
    """

    table: np.ndarray
    ways: Imputations | None
    number: np.ndarray | None = None

    @cached_property
    def gaps(self) -> np.ndarray:
        """Which values were missing, shape (n, p)."""
        if self.ways is None:
            return np.zeros(self.table.shape, dtype=bool)
        return self.ways.gaps(len(self.table))


def _largest(excess: np.ndarray) -> np.ndarray:
    """Return the largest excess of each row; 0 without any."""
    found: np.ndarray = np.nan_to_num(excess, nan=0.0).max(axis=1)
    return found


Answer = tuple[np.ndarray, np.ndarray, np.ndarray]  # excess of rows, that of known ones, expected


def _of_column(fit: Fit, f: int, known: _Rows, rows: _Rows) -> Answer:
    """Return the excess of column f of rows and of known rows, and what is expected there."""
    is_category = f in fit.data.kernel.categorical_columns
    found = (_category if is_category else _number)(fit, f, known, rows)
    n, of_known = len(rows.table), len(known.table)
    excess, excess_of_known, expected = found or (np.full(m, np.nan) for m in (n, of_known, n))
    return (
        np.where(rows.gaps[:, f], np.nan, excess),
        np.where(known.gaps[:, f], np.nan, excess_of_known),
        np.where(rows.gaps[:, f], np.nan, expected),
    )


def _number(fit: Fit, f: int, known: _Rows, rows: _Rows) -> Answer | None:
    """Return the answer by regression; None if the column does not follow from the others.

    The regression is on the columns that leave enough rows without gaps.
    """
    if len(np.unique(known.table[~known.gaps[:, f], f])) < LEAST_VALUES:
        return None
    others = [c for c in range(known.table.shape[1]) if c != f]
    while True:
        complete = known.table[~known.gaps[:, [f, *others]].any(axis=1)]
        forms = [_Form.of(fit, f, complete, others, logarithmic=False)] if len(complete) else []
        if forms and len(complete) >= ROWS_PER_REGRESSOR * forms[0].regressors(complete).shape[1]:
            break
        gaps = known.gaps[:, others].sum(axis=0)
        if not gaps.any():
            return None
        others.pop(int(gaps.argmax()))
    if (complete[:, f] > 0.0).all():
        forms.append(_Form.of(fit, f, complete, others, logarithmic=True))
    fits = [(Trimmed.of(form.regressors(complete), form.y(complete)), form) for form in forms]
    best, form = max(fits, key=lambda each: each[0].explained)
    if best.explained < FOLLOWS:
        return None

    def expected(table: np.ndarray) -> np.ndarray:
        return best.expected(form.regressors(table))

    y = form.y(complete)
    residual = np.abs(y - expected(complete))
    unit = max(float(np.quantile(residual, TAIL)), ROUNDING * float(np.abs(y).max()))

    def excess(of: _Rows) -> np.ndarray:
        found: np.ndarray = np.abs(form.y(of.table) - expected(of.table)) / unit
        if of.ways is not None:
            in_ways = [expected(table) for table in of.ways.rows]
            found[of.ways.which[np.ptp(in_ways, axis=0) > unit]] = np.nan
        return found

    of_rows = expected(rows.table)
    of_known = excess(known)
    own = of_known if rows is known else excess(rows)
    return own, of_known, np.exp(of_rows) if form.logarithmic else of_rows


@dataclass(frozen=True, eq=False)
class _Form:
    """The regressors of a column: the other numbers or their logarithms, and levels."""

    column: int
    logarithmic: bool
    mean: np.ndarray
    sd: np.ndarray
    least: np.ndarray
    levels: tuple[tuple[int, float], ...]

    @classmethod
    def of(cls, fit: Fit, f: int, known: np.ndarray, others: list[int], logarithmic: bool) -> _Form:
        categorical = fit.data.kernel.categorical_columns
        numbers = [c for c in (f, *others) if c not in categorical]
        levels = []
        for c in (c for c in others if c in categorical):
            found = np.unique(known[:, c])
            if len(found) <= MOST_LEVELS:
                levels += [(c, float(level)) for level in found[1:]]  # the first is the intercept
        # a column that is positive has a logarithm; the least value is that of new rows below it
        least = np.full(known.shape[1], np.nan)
        if logarithmic:
            positive = [c for c in numbers if (known[:, c] > 0.0).all()]
            least[positive] = known[:, positive].min(axis=0) / 1000.0
        form = cls(
            f, logarithmic, np.zeros(known.shape[1]), np.ones(known.shape[1]), least, tuple(levels)
        )
        x = form._scaled(known)
        sd = x.std(axis=0)
        regressors = np.isin(np.arange(known.shape[1]), numbers) & (sd > 0.0)
        regressors[f] = False
        return replace(form, mean=x.mean(axis=0), sd=np.where(regressors, sd, np.inf))

    def _scaled(self, rows: np.ndarray) -> np.ndarray:
        has_log = ~np.isnan(self.least)
        x = np.array(rows, dtype=float)
        x[:, has_log] = np.log(np.maximum(x[:, has_log], self.least[has_log]))
        return (x - self.mean) / self.sd

    def regressors(self, rows: np.ndarray) -> np.ndarray:
        """Return the standardised regressors of rows, (m, q)."""
        x = self._scaled(rows)[:, np.isfinite(self.sd)]
        indicators = [rows[:, c] == level for c, level in self.levels]
        return np.column_stack([x, *indicators]) if indicators else x

    def y(self, rows: np.ndarray) -> np.ndarray:
        """Return the values of the column, or their logarithms, (m,)."""
        y = rows[:, self.column].astype(float)
        return np.log(np.maximum(y, self.least[self.column])) if self.logarithmic else y


Surprise = Callable[[_Rows, int | None], np.ndarray]  # of rows, or of one way to fill their gaps


def _category(fit: Fit, f: int, known: _Rows, rows: _Rows) -> Answer | None:
    """Return the answer by the surprise given all others; None if these tell nothing.

    The surprise is by counts given one, two or all other columns of categories: that which is least
    on average.
    """
    others = [c for c in range(known.table.shape[1]) if c != f]
    has = ~known.gaps[:, f]
    values, level, counts = np.unique(known.table[has, f], return_inverse=True, return_counts=True)
    categories = [c for c in others if c in fit.data.kernel.categorical_columns]
    sets = {x for size in (1, 2, len(categories)) for x in combinations(categories, size) if x}
    by: list[Surprise] = [partial(_by_counts, known, f, x) for x in sorted(sets)]
    if not by or len(counts) < 2:
        return None
    complete = ~known.gaps.any(axis=1)
    told = complete if complete.sum() >= LEAST_VALUES else has
    found = [(_least(each, known), each) for each in by]
    surprise, best = min(found, key=lambda each: float(each[0][told].mean()))
    alone = -np.log(counts / has.sum())[level].mean()
    if surprise[told].mean() > (1.0 - FOLLOWS) * alone:
        return None
    own = surprise if rows is known else _least(best, rows)
    unit = max(float(np.quantile(surprise[told], TAIL)), float(np.log(len(counts))))
    excess = own / unit
    expected = np.full(len(rows.table), np.nan)
    odd = np.flatnonzero(excess > 1.0)
    if len(odd):
        levels = values[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
        changed = np.repeat(rows.table[odd], len(levels), axis=0)
        changed[:, f] = np.tile(levels, len(odd))
        value = best(_Rows(changed, None), None).reshape(len(odd), -1)
        value[levels == rows.table[odd, f, None]] = np.inf  # its own is what is odd
        expected[odd] = levels[value.argmin(axis=1)]
    return excess, surprise / unit, expected


def _least(by: Surprise, of: _Rows) -> np.ndarray:
    """Return the surprises, of rows with gaps in the way that surprises least."""
    found = by(of, None)
    if of.ways is not None:
        found[of.ways.which] = np.min([by(of, k) for k in range(len(of.ways.rows))], axis=0)
    return found


def _by_counts(known: _Rows, f: int, x: tuple[int, ...], of: _Rows, way: int | None) -> np.ndarray:
    r"""Return the surprises of the category y in column f given the categories in columns x.

    .. math:: S(y \mid x) = -\log \frac{n_{xy} + 1 / K}{n_x + 1},

    with the numbers of other known rows that have x and y, and x, and no gap in these columns: one
    more row is shared out evenly among the K categories of the column.
    """
    counted = ~known.gaps[:, [*x, f]].any(axis=1)
    itself = np.zeros(len(of.table), dtype=bool) if of.number is None else counted
    table = of.table
    if of.ways is not None and way is not None:
        table, itself = of.ways.rows[way], itself[of.ways.which]

    k = len(np.unique(known.table[~known.gaps[:, f], f]))
    n_xy, n_x = (_alike(table[:, c], known.table[counted][:, c]) - itself for c in ([*x, f], [*x]))
    surprise: np.ndarray = -np.log((n_xy + 1.0 / k) / (n_x + 1.0))
    return surprise


def _alike(rows: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Return how many known rows (n, q) have the same values as each row (m, q)."""
    both = np.concatenate([known, rows])
    cell = np.zeros(len(both), dtype=int)
    for column in both.T:
        _, value = np.unique(column, return_inverse=True)
        _, cell = np.unique(cell * len(both) + value, return_inverse=True)
    found: np.ndarray = np.bincount(cell[: len(known)], minlength=len(both))[cell[len(known) :]]
    return found
