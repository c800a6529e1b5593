"""The rows of a fit as people gave them, for questions that ask about columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_is_fitted

from ..models.kernels import Tabular
from . import inputs
from .rows.columns import found, numbers
from .rows.forms import Form
from .rows.frames import as_frame
from .rows.names import Columns
from .training import Training


def frame_of(X: Any, names: Any = None) -> pd.DataFrame:
    """Return rows as a data frame; those of an array get the columns ``names``."""
    frame = as_frame(X)
    if isinstance(frame, pd.DataFrame):
        return frame
    return pd.DataFrame(np.asarray(X) if hasattr(X, "__array__") else X, columns=names)


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """The training rows of a fit.

    Attributes
    ----------
    frame : pandas.DataFrame of shape (n, p)
        The rows as they were given, with their names as index: numbers, dates, texts. Gaps are NaN,
        NaT or None. A column of names, which no fit keeps, has None.
    kinds : dict
        What each column is, by its name: "numbers", "amounts" (numbers with a unit), "dates",
        "times", "levels" (ordered categories), "category" or "names".
    values : pandas.DataFrame of shape (n, p)
        The same as floats: days for dates, hours for times, places for levels, codes for
        categories; NaN for gaps.
    minority : ndarray of bool, shape (n,)
        Which rows are minority.
    forms : dict
        How the cells of columns become floats, by their positions; others were plain numbers.
    floats : callable
        Takes new rows as they were given, and returns their floats, an array (m, p).
    """

    frame: pd.DataFrame
    kinds: Mapping[str, str]
    values: pd.DataFrame
    minority: np.ndarray
    forms: Mapping[int, Form]
    floats: Callable[[Any], np.ndarray]

    @classmethod
    def of(cls, data: Training) -> Self:
        """Return the table of training data; an AttributeError for a kernel matrix."""
        if data.kernel.pairwise:
            raise AttributeError(
                "a precomputed kernel has kernel values and no rows, so there is no table_"
            )
        categories, observed = set(data.kernel.categorical_columns), data.observed
        frame: dict[Any, Any] = {}
        values: dict[Any, np.ndarray] = {}
        kinds: dict[Any, str] = {}
        for i, name in enumerate(data.columns.labels.tolist()):
            form, column = data.forms.get(i), observed[:, i]
            kinds[name] = kind_of(i, categories, data.forms)
            values[name] = frame[name] = column
            if form is not None:
                cells = [None if np.isnan(v) else form.cell(v) for v in column]
                of_dates = form.kind == "dates"
                frame[name] = pd.to_datetime(cells) if of_dates else np.array(cells, dtype=object)
        index = pd.Index(data.row_names)
        known = pd.DataFrame(frame, index), kinds, pd.DataFrame(values, index)
        return cls(*known, data.minority.copy(), data.forms, data.floats)

    @classmethod
    def read(cls, X: Any) -> Self:
        """Return the table of rows that no fit of this package keeps, all of them majority."""
        frame = frame_of(X)
        categories, forms = found(frame)

        def floats(rows: Any) -> np.ndarray:
            rows = frame_of(rows, frame.columns)[list(frame)]
            return numbers(rows, categories, forms).to_numpy(float, na_value=np.nan)

        kinds = {name: kind_of(f, categories, forms) for f, name in enumerate(frame)}
        values = pd.DataFrame(floats(frame), frame.index, frame.columns)
        return cls(frame, kinds, values, np.zeros(len(frame), dtype=bool), forms, floats)


def kind_of(f: int, categories: Collection[int], forms: Mapping[int, Form]) -> str:
    """Return what column number f is."""
    return "category" if f in categories else forms[f].kind if f in forms else "numbers"


def read(X: Any) -> tuple[pd.DataFrame, pd.DataFrame, set[Any], dict[Any, Form]]:
    """Return a table as a fit reads it: cells as given, floats, categories, and forms of others."""
    X, checking = as_frame(X), Columns("Table").checking()
    if not isinstance(X, pd.DataFrame):
        X = pd.DataFrame(inputs.validated(checking, X, True, False, True))
    X = inputs.named(X)
    numbers, categories, forms = inputs.numbers_of(Tabular(), X)
    values = inputs.validated(checking, numbers, True, False, True)
    c = X.columns
    return (
        X,
        pd.DataFrame(values, X.index, c),
        {c[j] for j in categories},
        {c[j]: f for j, f in forms.items()},
    )


def require_one_fit(est: Any, answer: str) -> None:
    """Raise an error as :func:`require_description`, and if an estimator joins several fits."""
    require_description(est, answer)
    if not hasattr(est, "fit_"):
        raise TypeError(
            f"{type(est).__name__} joins several fits, so there is no {answer} of all; ask each "
            "of est.views_"
        )


def require_description(est: Any, answer: str) -> None:
    """Raise an error if an estimator is not fitted, or has neither draws nor left-out rows."""
    check_is_fitted(est)
    if not hasattr(est, "margins"):
        raise TypeError(
            f"{type(est).__name__} has neither draws nor left-out rows, so there is no {answer}; "
            "use a description such as BSVDD, BDD or SVDD"
        )
