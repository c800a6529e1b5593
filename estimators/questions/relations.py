r"""Whether the columns of a row go with each other: each column given all others.

A column of numbers follows from the others if a trimmed regression on them, of the values or of
their logarithms, explains half of its variation or more; columns of categories are regressors by
their levels. Its excess is the residual over the 99 % quantile of those of the training rows,

.. math:: e_f(z) = \frac{|z_f - \hat z_f|}{Q_{.99}(|x_{jf} - \hat x_{jf}|)}.

A column of categories follows from the others if these save half of its surprise on average. Its
excess is that of the surprise S(y | x) of :mod:`bsvdd.estimators.questions.given`. The excess of a
row is the largest over columns, and its rank among those of the training rows is one p-value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ...models.trimmed import Trimmed
from .. import inputs
from ..detector import Detector
from ..fit import Fit
from ..p_values import p_values
from . import given

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
        """For each row p-value, excess, the column that breaks a relation, and what is expected."""
        filled = np.nan_to_num(self.excess, nan=-1.0)
        worst = filled.argmax(axis=1)
        rows = np.arange(len(worst))
        return pd.DataFrame(
            {
                "p_value": self.p_value,
                "excess": np.maximum(filled[rows, worst], 0.0),
                "column": self.columns[worst],
                "expected": self.expected[rows, worst],
            },
            self.names,
        )


def relations(est: Detector, X: Any = None) -> Relations:
    r"""Return how far the columns of each row go with each other.

    Parameters
    ----------
    est : Detector
        Fitted, ``core=1``. Columns of categories need weights of at least 0 and a kernel that is a
        product over columns, see :func:`bsvdd.given`.
    X : array-like of shape (n, p), optional
        By default the training rows, each left out.

    Returns
    -------
    Relations

    Raises
    ------
    ValueError
        X has another number of columns than in ``fit``; a kernel that is no product over columns.

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
    (7, 'pieces', True)
    """
    check_is_fitted(est)
    data = est.fit_.data
    known = data.majority_rows
    rows = known if X is None else inputs.table(data, X)
    names = data.row_names[~data.minority] if X is None else inputs.row_names(X, len(rows))
    answers = [_of_column(est.fit_, f, known, rows, X is None) for f in range(known.shape[1])]
    excess, of_known, expected = (np.column_stack(each) for each in zip(*answers, strict=True))
    largest = _largest(excess)
    p = p_values(-largest, np.sort(-_largest(of_known)), itself=X is None)
    return Relations(excess, expected, p, data.columns.labels, names)


def _largest(excess: np.ndarray) -> np.ndarray:
    """Return the largest excess of each row; 0 without any."""
    found: np.ndarray = np.nan_to_num(excess, nan=0.0).max(axis=1)
    return found


Answer = tuple[np.ndarray, np.ndarray, np.ndarray]  # excess of rows, that of known ones, expected


def _of_column(fit: Fit, f: int, known: np.ndarray, rows: np.ndarray, are_known: bool) -> Answer:
    """Return the excess of column f of rows and of known rows, and what is expected there."""
    if f in fit.data.kernel.categorical_columns:
        found = _category(fit, f, known, rows, are_known)
    else:
        found = _number(fit, f, known, rows)
    return found or (
        np.full(len(rows), np.nan),
        np.full(len(known), np.nan),
        np.full(len(rows), np.nan),
    )


def _number(fit: Fit, f: int, known: np.ndarray, rows: np.ndarray) -> Answer | None:
    """Return the answer by regression; None if the column does not follow from the others."""
    if len(np.unique(known[:, f])) < LEAST_VALUES:
        return None
    forms = [_Form.of(fit, f, known, logarithmic=False)]
    if (known[:, f] > 0.0).all():
        forms.append(_Form.of(fit, f, known, logarithmic=True))
    if forms[0].regressors(known).shape[1] * ROWS_PER_REGRESSOR > len(known):
        return None
    fits = [(Trimmed.of(form.regressors(known), form.y(known)), form) for form in forms]
    best, form = max(fits, key=lambda each: each[0].explained)
    if best.explained < FOLLOWS:
        return None
    of_rows, of_known = (best.expected(form.regressors(each)) for each in (rows, known))
    y, y_known = form.y(rows), form.y(known)
    residual = np.abs(y_known - of_known)
    unit = max(float(np.quantile(residual, TAIL)), ROUNDING * float(np.abs(y_known).max()))
    expected = np.exp(of_rows) if form.logarithmic else of_rows
    return np.abs(y - of_rows) / unit, residual / unit, expected


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
    def of(cls, fit: Fit, f: int, known: np.ndarray, logarithmic: bool) -> _Form:
        kernel = fit.data.kernel
        numbers = [c for c in range(known.shape[1]) if c not in kernel.categorical_columns]
        levels = []
        for c in kernel.categorical_columns:
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
        others = np.isin(np.arange(known.shape[1]), numbers) & (sd > 0.0)
        others[f] = False
        return replace(form, mean=x.mean(axis=0), sd=np.where(others, sd, np.inf))

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


def _category(
    fit: Fit, f: int, known: np.ndarray, rows: np.ndarray, are_known: bool
) -> Answer | None:
    """Return the answer by the surprise given all others; None if these tell nothing."""
    others = [c for c in range(known.shape[1]) if c != f]
    if not others:
        return None
    given_columns = given.positions(fit, others)
    surprise = -given.left_out_given(fit, given_columns)[~fit.data.minority]
    _, level, counts = np.unique(known[:, f], return_inverse=True, return_counts=True)
    alone = -np.log(counts / len(known))[level].mean()
    if len(counts) < 2 or surprise.mean() > (1.0 - FOLLOWS) * alone:
        return None
    score = given.Conditional.of(fit.score, given_columns)
    own = surprise if are_known else -score.scores(rows, fit.level)
    unit = max(float(np.quantile(surprise, TAIL)), ROUNDING)
    excess = own / unit
    expected = np.full(len(rows), np.nan)
    odd = np.flatnonzero(excess > 1.0)
    if len(odd):
        levels = np.unique(known[:, f])[np.argsort(-counts, kind="stable")[:MOST_LEVELS]]
        changed = np.repeat(rows[odd], len(levels), axis=0)
        changed[:, f] = np.tile(levels, len(odd))
        value = score.scores(changed, fit.level).reshape(len(odd), -1)
        value[levels == rows[odd, f, None]] = -np.inf  # its own is what is odd
        expected[odd] = levels[value.argmax(axis=1)]
    return excess, surprise / unit, expected
