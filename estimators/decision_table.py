"""The table of decisions on rows, which prints what matters first."""

from __future__ import annotations

from typing import Any, override

import pandas as pd

PRINTED = {
    "p_value": ("p_value", "{:.3f}"),
    "probability_normal": ("P(normal)", "{:.2f}"),
    "surprise": ("surprise", "{:.2f}"),
    "surprise_low": ("low", "{:.2f}"),
    "surprise_high": ("high", "{:.2f}"),
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
      p_value P(normal) surprise   low   high normal distance
    0   0.390      1.00    -0.30 -0.67  -0.06   True    0.959
    1   0.010      0.00   166.32 19.85 166.55  False    1.039
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
