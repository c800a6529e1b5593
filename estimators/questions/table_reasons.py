"""The columns that make rows of one table odd."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from ...inference.warning import collected
from .. import inputs
from ..detector import Detector
from ..one_table import Table
from .explain import explain
from .reasons import Levels, levels_of, reason, text_of


@dataclass(frozen=True, eq=False)
class Reasons:
    """The reasons of rows of one table.

    Attributes
    ----------
    est : Detector
        Fitted to X, or to a sample of its rows.
    X : pandas.DataFrame
    columns : pandas.DataFrame
        As ``top_columns`` of an explanation has it, with a row for each position in X; without
        columns where there are none.
    why_none : list of str
        Why there are no reasons.
    """

    est: Detector
    X: pd.DataFrame
    columns: pd.DataFrame
    why_none: list[str]

    @classmethod
    def of(cls, est: Detector, X: pd.DataFrame, wanted: np.ndarray) -> Reasons:
        """Return the reasons of the rows at some positions."""
        place, every = Table.of(est.fit_, X).place[wanted], np.arange(len(X))
        asked: list[tuple[np.ndarray, dict[str, Any]]] = [
            (wanted[place >= 0], {"rows": place[place >= 0]}),
            (wanted[place < 0], {"X": X.iloc[wanted[place < 0]]}),
        ]
        found = []
        try:
            for rows, each in asked:
                if not len(rows):
                    continue
                why = explain(est, **each, changes=False)
                found.append(why.top_columns().set_axis(rows))
        except ValueError as error:  # no centre, or no columns
            return cls(est, X, pd.DataFrame(index=every), [f"No reasons: {error}."])
        return cls(est, X, pd.concat(found).reindex(every), [])

    @cached_property
    def levels(self) -> Levels:
        """The texts of the categories."""
        return levels_of(self.est.fit_, self.X)

    def text(self, rows: np.ndarray) -> str:
        """Return the columns that make alike rows odd, by the means of their shares; - if none."""
        fit, X = self.est.fit_, self.X
        shares = list(_mean_shares(self.columns.loc[rows]).items())
        with collected():  # the fit has said what these rows lack
            row = inputs.table(fit.data, X.iloc[rows[:1]])[0]
        return reason(fit, row, X.iloc[rows], shares, self.levels) or "-"

    def value(self, column: str, number: float) -> str:
        """Return a number of the kernel as the column of X has it."""
        return text_of(self.est.fit_, self.levels, self.X.columns.get_loc(column), number)


def _mean_shares(columns: pd.DataFrame) -> pd.Series:
    """Return the mean share of each column, the largest first; 0 where a row does not name it."""
    shares: dict[str, float] = {}
    for place in range(1, columns.shape[1] // 2 + 1):
        of_place = columns[f"share_{place}"].groupby(columns[f"column_{place}"]).sum()
        for name, share in of_place.items():
            shares[str(name)] = shares.get(str(name), 0.0) + float(share) / len(columns)
    return pd.Series(shares, dtype=float).sort_values(ascending=False, kind="stable")
