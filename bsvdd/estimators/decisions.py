"""The decision on new rows or training rows as a table, and the cutoff in words."""

from __future__ import annotations

from typing import cast, override

import pandas as pd

from ..inference import cutoffs
from ..inference.fit import Fit
from ..models.rows import CompleteRows
from ..tables.training import TrainingRows

WIDTH = 80  # characters of a printed table
PRINTED_COLUMNS = {
    "p_value": "{:.3f}",
    "probability_normal": "{:.2f}",
    "surprise": "{:.3g}",
    "low": "{:.3g}",
    "high": "{:.3g}",
    "normal": "{}",
    "distance": "{:.4g}",
}
METRIC_NAMES = {
    "g_mean": "the G-mean of both classes",
    "balanced_accuracy": "the balanced accuracy",
    "f1": "F1 of the minority",
}
LEFT_OUT = "left-out rows in each draw"


class DecisionTable(pd.DataFrame):
    """A data frame of decisions, whose print has short numbers.

    A table without surprise and normal, or with other columns, prints as any data
    frame.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> SVDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])
      p_value probability_normal surprise    low high normal distance
    0   0.470               0.82   -0.273 -0.869 0.21   True   0.9583
    1   0.010               0.00      162    161  164  False     1.04
    """

    @property
    @override
    def _constructor(
        self,
    ) -> type[DecisionTable]:  # its parts are tables too: pandas, Extending pandas
        return DecisionTable

    @override
    def __repr__(self) -> str:
        limits = ("max_rows", "min_rows")
        how = {name: pd.get_option(f"display.{name}") for name in limits}
        table = pd.DataFrame(self)
        known = {"surprise", "normal"} <= set(table) <= set(PRINTED_COLUMNS)
        numbers = table.drop(columns="normal", errors="ignore")
        of_numbers = all(kind.kind == "f" for kind in numbers.dtypes)
        if not (known and table.columns.is_unique and of_numbers):
            return table.to_string(line_width=WIDTH, **how)
        shown = [name for name in PRINTED_COLUMNS if name in table]
        formatters = [PRINTED_COLUMNS[name].format for name in shown]
        return str(table[shown].to_string(formatters=formatters, **how))


def decision_table(
    fit: Fit, rows: CompleteRows | None, index: pd.Index | None, prob: float
) -> DecisionTable:
    """Return the decision on new rows with their index; else on the training rows."""
    score, P, low, high, distance = fit.decided(prob, rows)
    columns = {} if rows is None else {"p_value": fit.p_values(score)}
    columns |= {
        "probability_normal": P,
        "surprise": 0.0 - score,
        "low": 0.0 - high,
        "high": 0.0 - low,
        "normal": score >= 0.0,
        "distance": distance,
    }
    if rows is None:
        index = pd.Index(cast("TrainingRows", fit.rows).row_names)
    return DecisionTable(columns, index)


# the cutoff in words


def is_given(cutoff: cutoffs.AnyCutoff) -> bool:
    """Return whether no rows chose the cutoff."""
    if not isinstance(cutoff, cutoffs.Printed):
        return False
    return cutoff.of == "own" or cutoff.is_number


def how_chosen(cutoff: cutoffs.AnyCutoff) -> str:
    """Return the predicate of a sentence on the cutoff: how it was chosen."""
    match cutoff:
        case cutoffs.Printed(of="own"):
            return "is the model's own boundary"
        case cutoffs.Printed(int() | float()):
            return "was given as a number"
        case cutoffs.Printed(inner, where):
            values = f"distances of {where} rows, as one number"
            return how_chosen(inner).replace(LEFT_OUT, values)  # type: ignore[arg-type]
        case cutoffs.Best(metric, max_fpr):
            limit = f" with at most {max_fpr:g} of the majority beyond it,"
            limit *= max_fpr < 1.0
            return f"has the best value of {METRIC_NAMES[metric]}{limit} on {LEFT_OUT}"
        case cutoffs.Cost(miss):
            cost = f"a miss at {miss:g} false alarms"
            return f"has the best cost, with {cost}, on {LEFT_OUT}"
    rate = f"a false-alarm rate of {cutoff.rate:g}"
    return f"asks for {rate}, by the quantile of {LEFT_OUT}"
