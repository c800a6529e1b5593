"""The decision on rows, new ones or those of training: a table that prints what matters first."""

from __future__ import annotations

from typing import Any, override

import numpy as np
import pandas as pd

from ..inference.decision import probability_error, three_way
from . import inputs
from .fit import LISTED, Fit
from .p_values import check_rate, fold_of
from .p_values import of_training as training_p

PRINTED = {
    "probability_odd": ("P(odd)", "{:.2f}"),
    "listed": ("listed", "{}"),
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


def of_rows(fit: Fit, X: Any, prob: float, p_value: str | None) -> DecisionTable:
    """Return the decision on new rows; see ``est.decision``."""
    inputs.in_memory(
        X,
        "decision computes its result at once",
        "use probability_normal, score_samples or predict, which return lazy dask arrays",
    )
    check_rate("prob", prob)
    fold = None if p_value is None else fold_of(fit, p_value)
    rows, score = inputs.table(fit.data, X), fit.score
    decided = score.decision(rows, fit.level, prob)
    p = None
    if fold is not None:  # the scores of the fit are known
        p = fold.of_scores(decided[0] if fold.score is score else fold.scores(rows))
    more: dict[str, Any] = {"distance": score.distance_of(decided[0])}
    more |= {"cutoff": fit.distance, "level": fit.level}
    return _table(fit, decided, p, X.index if isinstance(X, pd.DataFrame) else None, more)


def of_training(fit: Fit, prob: float = 0.9, p_value: str | None = "left-out") -> DecisionTable:
    """Return the decision on each training row, left out; see ``est.decision``."""
    check_rate("prob", prob)
    if p_value not in (None, "left-out"):
        raise ValueError(
            f"p_value of training rows must be 'left-out' or None, got {p_value!r}; give rows as X"
        )
    known, decided = ~np.isnan(fit.left_out), fit.training_decision(prob)
    itself, unit = known & ~fit.data.minority, fit.score.unit
    if fit.data.core is not None:  # ranks in a table with odd rows inside are no evidence
        p_value = None
    p = None if p_value is None else training_p(decided[0], itself, unit)
    more: dict[str, Any] = {"distance": fit.score.distance_of(decided[0])}
    more |= {"cutoff": fit.distance, "level": fit.level, "left_out": known}
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
    if fit.score.uncertain:
        columns |= {"surprise_low": low, "surprise_high": high}
    if fit.cutoff.undecided is not None:
        draws = len(fit.score.boundary.threshold)  # of the cutoff, for one estimate of the weights
        ess = draws if fit.learned.posterior is None else fit.diagnostics["ess"]
        error = probability_error(probability, ess)
        decision = three_way(probability, error, *fit.cutoff.undecided)
        more = {**more, "probability_error": error, "decision": decision}
    return DecisionTable(columns | {"normal": score >= 0.0} | more, index)
