"""The rows of a fit as people gave them, for questions that ask about columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

from .training import TrainingData


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
    """

    frame: pd.DataFrame
    kinds: Mapping[str, str]
    values: pd.DataFrame
    minority: np.ndarray

    @classmethod
    def of(cls, data: TrainingData) -> Self:
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
            kinds[name] = form.kind if form else "category" if i in categories else "numbers"
            values[name] = frame[name] = column
            if form is not None:
                cells = [None if np.isnan(v) else form.cell(v) for v in column]
                of_dates = kinds[name] == "dates"
                frame[name] = pd.to_datetime(cells) if of_dates else np.array(cells, dtype=object)
        index = pd.Index(data.row_names)
        return cls(
            pd.DataFrame(frame, index), kinds, pd.DataFrame(values, index), data.minority.copy()
        )
