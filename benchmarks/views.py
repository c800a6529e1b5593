"""Several views joined beside one description: ranking, false alarms, names, time.

``uv run python -m benchmarks.views [--data-dir FOLDER] [--part NAME ...]``

- ``sets``: AUC, average precision (AP), false alarms and abnormal rows found at .10 asked, on the
  embedded sets and the sets of a folder (see :mod:`.guarantee`), for a centre with equal weights
  (SVDD with ``outlier_fraction=1``) and for BSVDD, alone and in ``Views``; on how many sets
  ``Views`` has an AUC that is better or worse by .005; and on how many its false alarms lie above
  the 97.5 % quantile of what an order statistic of the training rows gives.
- ``planted``: rows with one odd column, and rows whose combination alone is odd, in the tables of
  :mod:`.planted`: how often they are found, and a column at fault is named first.
- ``time``: seconds of ``fit`` in turn, the median.
- ``picture``: docs/views.png, the odd rows of the first of these tables.

Results go to docs/views.json, part by part. The default weights are chosen by ``sets``.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.comparison import datasets

from bsvdd import BSVDD, SVDD, Views, explain, plots

from .planted import table
from .shared import band, by_part, computed, found, quietly, ratio, real_sets, write

RATE, CLEAR, TABLES = 0.1, 0.005, 20  # asked false alarms; a difference of AUC; planted tables
MODELS: dict[str, Callable[[], Any]] = {
    "equal weights": lambda: SVDD(outlier_fraction=1.0),
    "BSVDD": BSVDD,
}
SIZES = ((200, 5), (600, 10))  # rows and columns


@quietly()
def of_set(name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Return the results of one set."""
    results = []
    (most,) = band(len(X), int((~y).sum()), RATE, [0.975])
    for model, make in MODELS.items():
        for views in (False, True):
            est = Views(estimator=make()) if views else make()
            row = {"set": name, "embedded": name in datasets.names(), "model": model}
            row |= {"views": views, **found(est.fit(X), Z, y)}
            results.append(row | {"above": bool(row["false_alarms"] > most)})
    return results


def sets(chosen: Namespace) -> dict[str, Any]:
    """Return the means of each model, alone and in views, and the sets that differ."""
    results = computed(of_set, real_sets(chosen.data_dir), chosen.jobs, "sets")
    frame = pd.DataFrame([row for of_one in results for row in of_one])
    stored = {}
    for (embedded, model), part in frame.groupby(["embedded", "model"], sort=False):
        auc = part.pivot_table("auc", "set", "views")
        gain = auc[True] - auc[False]
        means = part.groupby("views")[["auc", "ap", "false_alarms", "found", "above"]].mean()
        stored[f"{'embedded' if embedded else 'development'}, {model}"] = {
            "sets": len(gain),
            "alone": means.loc[False].to_dict(),
            "views": means.loc[True].to_dict(),
            "better": int((gain > CLEAR).sum()),
            "worse": int((gain < -CLEAR).sum()),
        }
    return stored


@quietly()
def of_table(seed: int) -> list[dict[str, Any]]:
    """Return what is said of the planted rows of one table, each left out."""
    X, kinds = table(seed)
    est = Views().fit(X)
    rows = [number for number, _ in kinds.values()]
    found = est.decision().iloc[rows]
    beyond = ~found["normal"]
    first = explain(est, rows=rows).top_columns(1)["column_1"]
    return [
        {"kind": kind, "found": bool(is_found), "first": column in columns}
        for (kind, (_, columns)), is_found, column in zip(kinds.items(), beyond, first, strict=True)
    ]


def planted(chosen: Namespace) -> dict[str, Any]:
    """Return the shares of the kinds of planted rows that are found, and named rightly."""
    results = computed(of_table, ((seed,) for seed in range(TABLES)), chosen.jobs, "planted")
    frame = pd.DataFrame([row for of_one in results for row in of_one])
    kinds = frame.groupby("kind", sort=False)[["found", "first"]].mean().to_dict("index")
    return {"tables": TABLES, "kind": kinds}


def time(_: Namespace) -> dict[str, Any]:
    """Return the median seconds of fits, alone and in views, and their ratio."""
    stored = {}
    for n, p in SIZES:
        X = np.random.default_rng(0).normal(size=(n, p))
        sides = {"views": lambda X=X: Views().fit(X), "alone": lambda X=X: BSVDD().fit(X)}
        value, seconds = ratio(sides)
        stored[f"{n} rows, {p} columns"] = seconds | {"ratio": value}
    return stored


@quietly()
def picture(chosen: Namespace) -> None:
    """Draw the odd rows of a table of planted rows."""
    write(chosen.out / "views.png", plots.plot_outliers(Views().fit(table(0)[0])).figure)


if __name__ == "__main__":
    by_part("views", __doc__, (sets, planted, time, picture))
