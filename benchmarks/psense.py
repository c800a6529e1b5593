"""Power scaling: how much prior and likelihood move the posterior of the default."""

from __future__ import annotations

import arviz as az
import pandas as pd

from bsvdd import BSVDD
from bsvdd.comparison import datasets

from .measure import Rows, Run, clean_set, texts

NAMES = ["effective_support", "squared_norm", "s"]
GROUPS = ("prior", "likelihood")


def cell(name: str) -> Rows:
    """Return prior and likelihood sensitivity of a fit to one set."""
    X, _, _ = clean_set(None, name, 0)
    est = BSVDD().fit(X)
    found = {
        group: az.psense(est.idata_, var_names=NAMES, group=group) for group in GROUPS
    }
    return [
        {"set": name, "rows": len(X), "quantity": quantity}
        | {group: float(each[quantity].median()) for group, each in found.items()}
        for quantity in NAMES
    ]


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return the sensitivity of each set, and of s the median over rows."""
    frame = run.cells(cell, [(name,) for name in datasets.names()])
    table = frame.pivot_table(
        index=["set", "rows"], columns="quantity", values=["prior", "likelihood"]
    )
    table.columns = [f"{quantity}, {group}" for group, quantity in table.columns]
    order = [f"{quantity}, {group}" for quantity in NAMES for group in GROUPS]
    table = table.reset_index().set_index("set")
    return {"embedded": texts(table[["rows", *order]], 3)}
