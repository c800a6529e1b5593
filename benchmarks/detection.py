"""Which default detects best: candidates and yardsticks on real sets, one class.

``uv run python -m benchmarks.detection [--data-dir FOLDER]`` fits every candidate to normal rows of
the embedded sets and of the sets of a folder (see :mod:`.guarantee`), and scores the test rows. It
prints and stores in docs/detection.json the means of AUC, average precision (AP), G-mean, the
false alarms and the abnormal rows found at .10 asked, R-hat and seconds, for both collections.
Defaults are chosen by this table and by no other sets.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from bsvdd.comparison import datasets
from bsvdd.comparison.models import Yardstick
from sklearn.metrics import average_precision_score, roc_auc_score

from bsvdd import BDD, BSVDD, OCSVM, SVDD, kernels

from .shared import computed, found, options, quietly, real_sets, write

STANDARDIZED = kernels.Tabular(scale="standardised")

CANDIDATES: dict[str, Callable[[], Any]] = {
    "BSVDD, default": BSVDD,
    "BSVDD, standardised": lambda: BSVDD(kernel=STANDARDIZED),
    "BDD, default": BDD,
    "SVDD, default": SVDD,
    "OCSVM, default": OCSVM,
}


YARDSTICKS = {
    "kernel density": "KDE",
    "5th neighbour": "kNN",
    "mean of 5 neighbours": "mean kNN",
    "local outlier factor": "LOF",
    "isolation forest": "isolation forest",
}


@quietly()
def of_set(name: str, X: np.ndarray, Z: np.ndarray, y: np.ndarray) -> list[dict[str, Any]]:
    """Return the results of all candidates and yardsticks on one set."""
    rows = []
    for candidate, make in CANDIDATES.items():
        start = time.perf_counter()
        est = make().fit(X)
        seconds = time.perf_counter() - start
        r_hat = est.fit_.chains.r_hat if hasattr(est, "fit_") else np.nan
        row = {"candidate": candidate, "r_hat": r_hat, "seconds": seconds}
        rows.append(row | found(est, Z, y))
    for yardstick, method in YARDSTICKS.items():
        simple = Yardstick(method, kernels.Tabular(kernels.Linear(), scale="standardised")).fit(X)
        score = -simple.score_samples(Z)
        ranking = {"auc": roc_auc_score(y, score), "ap": average_precision_score(y, score)}
        rows.append({"candidate": yardstick, **ranking})
    embedded = name in datasets.names()
    return [{"set": name, "embedded": embedded, **row} for row in rows]


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Return the means, and the mean rank by AUC, a row for each candidate."""
    frame = pd.DataFrame(rows)
    frame["rank"] = frame.groupby("set")["auc"].rank(ascending=False)
    columns = ["auc", "ap", "g_mean", "found", "false_alarms", "rank", "seconds"]
    parts = {
        "embedded": frame[frame.embedded],
        "development": frame[~frame.embedded],
    }
    means = {
        name: part.groupby("candidate", sort=False)[columns].mean()
        for name, part in parts.items()
        if len(part)
    }
    result = pd.concat(means, axis=1)
    result["all sets", "largest R-hat"] = frame.groupby("candidate")["r_hat"].max()
    return result


def main() -> None:
    """Measure, print, save."""
    chosen = options("detection", __doc__)
    sets = computed(of_set, real_sets(chosen.data_dir), chosen.jobs, "sets")
    result = table([row for of_one in sets for row in of_one])
    print(result.round(3).to_string())
    stored = {candidate: list(map(float, row)) for candidate, row in result.iterrows()}
    columns = [" ".join(name).strip() for name in result.columns]
    write(chosen.out / "detection.json", {"columns": columns, "rows": stored}, indent=None)


if __name__ == "__main__":
    main()
