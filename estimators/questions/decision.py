"""The decision on rows, new ones or those of training: a table that prints what matters first."""

from __future__ import annotations

from typing import Any, override

import numpy as np
import pandas as pd

from ...inference.center import Score
from ...inference.cutoff import as_cutoff
from ...inference.decision import probability_error, three_way
from .. import inputs
from . import p_values
from .selection import check_rate

PRINTED = {
    "p_value": ("p_value", "{:.3f}"),
    "probability_normal": ("P(normal)", "{:.2f}"),
    "surprise": ("surprise", "{:.3g}"),
    "surprise_low": ("low", "{:.3g}"),
    "surprise_high": ("high", "{:.3g}"),
    "normal": ("normal", "{}"),
    "decision": ("decision", "{}"),
    "distance": ("distance", "{:.4g}"),
}


class DecisionTable(pd.DataFrame):
    """A data frame that prints p-value, P(normal), surprise with its interval, and normal first.

    In 80 columns pandas leaves these out. A part without surprise and normal is printed by pandas.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> SVDD().fit(X).decision([[0.0, 0.0], [9.0, 9.0]])
      p_value P(normal) surprise    low    high normal distance
    0   0.390      1.00   -0.291 -0.676 -0.0657   True    0.959
    1   0.010      0.00      166   19.8     167  False    1.039
    <BLANKLINE>
    [2 rows x 9 columns: list(table) names them]
    """

    @property
    @override
    def _constructor(self) -> Any:  # its parts are tables too: pandas, Extending pandas
        return DecisionTable

    @override
    def __repr__(self) -> str:
        shown = [name for name in PRINTED if name in self]
        if not {"surprise", "normal"} <= set(shown):
            return super().__repr__()
        short = pd.DataFrame(self)[shown].set_axis([PRINTED[name][0] for name in shown], axis=1)
        text = short.to_string(
            formatters=[PRINTED[name][1].format for name in shown],
            max_rows=pd.get_option("display.max_rows"),
            min_rows=pd.get_option("display.min_rows"),
        )
        return f"{text}\n\n[{len(self)} rows x {self.shape[1]} columns: list(table) names them]"


def of_rows(est: Any, X: Any, prob: float, p_value: str | None) -> DecisionTable:
    """Return the decision on new rows; see ``est.decision``."""
    inputs.in_memory(
        X,
        "decision computes its result at once",
        "use probability_normal, score_samples or predict, which return lazy dask arrays",
    )
    check_rate("prob", prob)
    method = None if p_value is None else p_values.method_of(est, p_value)
    fit, center = est.fit_, est.fit_.center
    decided = center.decision(inputs.table(est, X), fit.level, prob)
    score, probability, *_ = decided
    p = None
    if p_value == "left-out":
        p = p_values.p_values(score, p_values.normal_left_out(est))
    elif method is not None:
        p = inputs.by_row(est, X, method)
    more = {"distance": center.distance_of(score), "cutoff": est.cutoff_, "level": fit.level}
    undecided = as_cutoff(est.cutoff).undecided
    if undecided is not None:
        draws = len(center.boundary.threshold)  # of the cutoff, for one estimate of the weights
        ess = fit.diagnostics["ess"] if fit.draws.is_posterior else draws
        error = probability_error(probability, ess)
        more["probability_error"] = error
        more["decision"] = three_way(probability, error, *undecided)
    return _table(center, decided, p, X.index if isinstance(X, pd.DataFrame) else None, more)


def of_training(est: Any) -> DecisionTable:
    """Return the decision on each training row, left out; see ``est.training_decision``."""
    fit, known = est.fit_, ~np.isnan(est.left_out_scores())
    decided = est._training()
    p = p_values.of_training(decided[0], known & ~fit.data.minority)
    return _table(fit.center, decided, p, fit.data.row_names, {"left_out": known})


def _table(
    center: Score, decided: np.ndarray, p: np.ndarray | None, index: Any, more: dict[str, Any]
) -> DecisionTable:
    """Return the table of what ``center.decision`` has of rows, shape (4, n)."""
    score, probability, low, high = decided
    columns: dict[str, Any] = {} if p is None else {"p_value": p}
    columns |= {"probability_normal": probability, "surprise": 0.0 - score}
    if center.uncertain:
        columns |= {"surprise_low": low, "surprise_high": high}
    return DecisionTable(columns | {"normal": score >= 0.0} | more, index)
