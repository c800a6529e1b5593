"""Findings: sentences made from results, each with the table that supports it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from ..run.cell import TRIVIAL

METRICS = {"g_mean": "G-mean", "auc": "AUC"}


@dataclass(frozen=True, eq=False)
class Finding:
    """A sentence and the table that it is read from.

    Attributes
    ----------
    sentence : str
    evidence : pandas.DataFrame
        Empty if there is none.
    """

    sentence: str
    evidence: pd.DataFrame = field(default_factory=pd.DataFrame)

    @property
    def table(self) -> str:
        """The evidence as HTML."""
        return self.evidence.to_html(
            border=0, classes="table", float_format=lambda x: f"{x:.3f}", na_rep="-"
        )


def model_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models, without those of the trivial rules."""
    return results[~results["model"].isin(TRIVIAL)]


def listed(items: list[str]) -> str:
    """Return the items as an enumeration: "a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def format_p(value: float) -> str:
    """Return a p-value as text."""
    if np.isnan(value):
        return "undefined"
    return f"{value:.3f}" if value >= 0.001 else f"{value:.1e}"
