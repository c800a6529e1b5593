"""Clean training rows: how defaults and simple methods decide new rows of real sets."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import betabinom
from sklearn.metrics import average_precision_score, roc_auc_score

from bsvdd import BDD, BSVDD, OCSVM, SVDD, Views, kernels
from bsvdd.comparison.models import Yardstick

from .measure import Rows, Run, clean_set, collection, set_names, texts

MODELS: dict[str, Any] = {
    "BSVDD": BSVDD,
    "BDD": BDD,
    "SVDD": SVDD,
    "Views": Views,
    "OCSVM": OCSVM,
}
YARDSTICKS = {
    "kernel density": "KDE",
    "5th neighbour": "kNN",
    "mean of 5 neighbours": "mean kNN",
    "local outlier factor": "LOF",
    "isolation forest": "isolation forest",
}
PLAIN = kernels.Tabular(kernels.Linear(), scale="standardised")
SPLITS = 3
RATE = 0.1


def cell(folder: Path | None, name: str, split: int) -> Rows:
    """Return the results of all models on one split of one set."""
    X, Z, y = clean_set(folder, name, split)
    rows = []
    # of m new rows so many are flagged if the cutoff is an order statistic of n rows
    above = int(RATE * (len(X) + 1) + 1e-9)
    m = int((~y).sum())
    low, high = betabinom.ppf([0.025, 0.975], m, above, len(X) + 1 - above) / m
    for model, make in MODELS.items():
        est = make().fit(X)
        flagged = est.predict(Z) == -1
        score = -est.score_samples(Z)
        alarms = flagged[~y].mean()
        decided = {"found": flagged[y].mean(), "false alarms": alarms}
        rows.append(
            {"model": model} | decided | {"within": float(low <= alarms <= high)}
        )
        rows[-1] |= ranked(y, score)
    for model, method in YARDSTICKS.items():
        score = -Yardstick(method, PLAIN).fit(X).score_samples(Z)
        rows.append({"model": model} | ranked(y, score))
    return [{"set": name, "sets": collection(name), **row} for row in rows]


def ranked(y: Any, score: Any) -> dict[str, float]:
    """Return AUC and average precision of the abnormal rows."""
    return {"AUC": roc_auc_score(y, score), "AP": average_precision_score(y, score)}


def measure(run: Run) -> dict[str, pd.DataFrame]:
    """Return the means of both collections."""
    cells = [
        (run.sets, name, split)
        for name, split in product(set_names(run.sets), range(SPLITS))
        if split == 0 or collection(name) == "embedded"
    ]
    frame = run.cells(cell, cells)
    columns = ["AUC", "AP", "found", "false alarms", "within"]
    found = {}
    for sets, rows in frame.groupby("sets", sort=False):
        means = rows.groupby(["set", "model"], sort=False)[columns].mean()
        means = means.groupby("model", sort=False).mean()
        found[str(sets)] = texts(
            means.rename(columns={"within": "within their 95 % band"}), 3
        )
    return found
