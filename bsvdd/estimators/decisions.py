"""The decision on rows, new ones or those of training: a table, and how its cutoff is chosen."""

from __future__ import annotations

from typing import Any, override

import pandas as pd

from ..inference import cutoffs
from ..models.data import Filled
from .fitted import Fitted

WIDTH = 80  # characters of a printed table
PRINTED = {
    "p_value": "{:.3f}",
    "probability_normal": "{:.2f}",
    "surprise": "{:.3g}",
    "low": "{:.3g}",
    "high": "{:.3g}",
    "normal": "{}",
    "distance": "{:.4g}",
}
METRICS = {
    "g_mean": "the G-mean of both classes",
    "balanced_accuracy": "the balanced accuracy",
    "f1": "F1 of the minority",
}
LEFT_OUT = "left-out rows in each draw"


class DecisionTable(pd.DataFrame):
    """A data frame that prints p-value, P(normal), surprise with its interval, and normal first.

    A table without surprise and normal, or with columns that are joined or renamed, is
    printed with all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> SVDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])
      p_value probability_normal surprise    low    high normal distance
    0   0.470               1.00   -0.243 -0.756 -0.0516   True   0.9583
    1   0.010               0.00      162    162     163  False     1.04
    """

    @property
    @override
    def _constructor(self) -> Any:  # its parts are tables too: pandas, Extending pandas
        return DecisionTable

    @override
    def __repr__(self) -> str:
        how: dict[str, Any] = {
            "max_rows": pd.get_option("display.max_rows"),
            "min_rows": pd.get_option("display.min_rows"),
        }
        table = pd.DataFrame(self)
        if not (
            {"surprise", "normal"} <= set(table) <= {*PRINTED}
            and table.columns.is_unique
        ):
            return table.to_string(line_width=WIDTH, **how)
        shown = [name for name in PRINTED if name in table]
        formatters = [PRINTED[name].format for name in shown]
        return str(table[shown].to_string(formatters=formatters, **how))


def of_fit(fitted: Fitted, rows: Filled | None, X: Any, prob: float) -> DecisionTable:
    """Return the decision on new rows, X as they were given; else on the training rows."""
    score, P, low, high, distance = fitted.decided(prob, rows)
    columns: dict[str, Any] = (
        {} if rows is None else {"p_value": fitted.p_values(score)}
    )
    columns |= {"probability_normal": P, "surprise": 0.0 - score}
    columns |= {"low": 0.0 - high, "high": 0.0 - low}
    index = fitted.training.row_names if rows is None else getattr(X, "index", None)
    if callable(index):  # of a list
        index = None
    return DecisionTable(
        columns | {"normal": score >= 0.0, "distance": distance}, index
    )


# the cutoff in words


def is_given(rule: Any) -> bool:
    """Return whether no rows chose the cutoff."""
    printed = isinstance(rule, cutoffs.Printed)
    return printed and (rule.of == "own" or isinstance(rule.rule, int | float))


def rule(of: Any) -> str:
    """Return the predicate of a sentence on the cutoff: how it was chosen."""
    match of:
        case cutoffs.Printed(of="own"):
            return "is the model's own boundary"
        case cutoffs.Printed(int() | float()):
            return "was given as a number"
        case cutoffs.Printed(inner, where):
            return rule(inner).replace(
                LEFT_OUT, f"distances of {where} rows, as one number"
            )
        case cutoffs.Best(metric, max_fpr):
            limit = f" with at most {max_fpr:g} of the majority beyond it," * (
                max_fpr < 1.0
            )
            return f"has the best value of {METRICS[metric]}{limit} on {LEFT_OUT}"
        case cutoffs.Cost(miss):
            return f"has the best cost, with a miss at {miss:g} false alarms, on {LEFT_OUT}"
    return f"asks for a false-alarm rate of {of.rate:g}, by the quantile of {LEFT_OUT}"
