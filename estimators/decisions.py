"""The decision on rows, new ones or those of training: a table that prints what matters first."""

from __future__ import annotations

from typing import Any, override

import numpy as np
import pandas as pd

from ..inference.decision import probability_error, three_way
from . import inputs, p_values
from .fit import LISTED, Fit
from .p_values import check_rate

WIDTH = 80  # characters of a printed table
PRINTED = {
    "probability_odd": "{:.2f}",
    "listed": "{}",
    "p_value": "{:.3f}",
    "probability_normal": "{:.2f}",
    "surprise": "{:.3g}",
    "surprise_low": "{:.3g}",
    "surprise_high": "{:.3g}",
    "normal": "{}",
    "decision": "{}",
    "distance": "{:.4g}",
}
NOT_PRINTED = ("probability_error", "cutoff", "level", "left_out")
DISPENSABLE = ("distance", "probability_normal", "surprise_high", "surprise_low")  # beside P(odd)


class DecisionTable(pd.DataFrame):
    """A data frame that prints p-value, P(normal), surprise with its interval, and normal first.

    In 80 columns pandas leaves these out. A table without surprise and normal, or with columns
    that are joined or renamed, is printed with all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> SVDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])
      p_value probability_normal surprise surprise_low surprise_high normal distance
    0   0.390               1.00   -0.251       -0.658       -0.0147   True   0.9571
    1   0.010               0.00      166          166           167  False    1.039
    <BLANKLINE>
    [2 rows x 9 columns: list(table) names them]
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
        table, own = pd.DataFrame(self), {*PRINTED, *NOT_PRINTED}
        if not ({"surprise", "normal"} <= set(table) <= own and table.columns.is_unique):
            return table.to_string(line_width=WIDTH, **how)
        shown = [name for name in PRINTED if name in table]
        dispensable = [c for c in DISPENSABLE if c in shown]
        if "probability_odd" not in shown and "probability_normal" in dispensable:
            dispensable.remove("probability_normal")
        while True:
            formatters = [PRINTED[name].format for name in shown]
            text = table[shown].to_string(formatters=formatters, **how)
            if max(map(len, text.splitlines())) <= WIDTH or not dispensable:
                break
            shown.remove(dispensable.pop(0))
        left_out = int(table["left_out"].sum()) if "left_out" in table else 0
        of_training = f"; {left_out} training row{'s' * (left_out > 1)} left out" * (left_out > 0)
        size = f"{len(table)} rows x {table.shape[1]} columns"
        return f"{text}\n\n[{size}: list(table) names them{of_training}]"


def of_rows(fit: Fit, X: Any, prob: float) -> DecisionTable:
    """Return the decision on new rows; see ``est.decision``."""
    check_rate("prob", prob)
    rows = fit.asked(*inputs.completed(fit.data, X))
    fit.warn_of_training(rows)
    decided = fit.decision(rows, prob)
    p = p_values.of_rows(fit, decided[0])
    more: dict[str, Any] = {"distance": fit.score.distance_of(decided[0])}
    more |= {"cutoff": fit.distance, "level": fit.level}
    return _table(fit, decided, p, X.index if isinstance(X, pd.DataFrame) else None, more)


def of_training(fit: Fit, prob: float = 0.9) -> DecisionTable:
    """Return the decision on each training row, left out; see ``est.decision``."""
    check_rate("prob", prob)
    leaves, decided, p = ~np.isnan(fit.left_out), fit.training_decision(prob), None
    if fit.data.core is None:  # ranks in a table with odd rows inside are no evidence
        p = p_values.of_rows(fit, decided[0], leaves & ~fit.data.minority)
    more: dict[str, Any] = {"distance": fit.score.distance_of(decided[0])}
    more |= {"cutoff": fit.distance, "level": fit.level, "left_out": leaves}
    found = _table(fit, decided, p, fit.data.row_names, more)
    if fit.data.core is not None:
        listed = fit.odd.listed(LISTED)
        found.insert(0, "listed", listed)
        found.insert(0, "probability_odd", fit.odd.probability)
        if fit.lists:
            found["normal"] = ~listed
    return found


def _table(
    fit: Fit, decided: np.ndarray, p: np.ndarray | None, index: Any, more: dict[str, Any]
) -> DecisionTable:
    """Return the table of what ``score.decision`` has of rows, shape (4, n)."""
    score, probability, low, high = decided
    columns: dict[str, Any] = {} if p is None else {"p_value": p}
    columns |= {"probability_normal": probability, "surprise": 0.0 - score}
    columns |= {"surprise_low": low, "surprise_high": high}
    if fit.cutoff.undecided is not None:
        draws = len(fit.score.boundary.threshold)  # of the cutoff, for one estimate of the weights
        ess = draws if fit.learned.posterior is None else fit.diagnostics["ess"]
        error = probability_error(probability, ess)
        decision = three_way(probability, error, *fit.cutoff.undecided)
        more = {**more, "probability_error": error, "decision": decision}
    return DecisionTable(columns | {"normal": score >= 0.0} | more, index)
