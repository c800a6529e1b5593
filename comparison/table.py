"""The table of a comparison: mean (sd) over replicates, flag-all and flag-none beside it."""

from __future__ import annotations

import numpy as np
import pandas as pd

METRICS = {
    "accuracy": "Accuracy",
    "f1": "F1",
    "fpr": "FPR",
    "fnr": "FNR",
    "ppv": "PPV",
    "g_mean": "G-mean",
    "auc": "AUC",
}


def summary(results: pd.DataFrame, metrics: dict[str, str] = METRICS) -> pd.DataFrame:
    """Return mean (sd) of each metric, rows (data, model), in the order of ``results``.

    ``metrics`` gives the columns of ``results`` and their titles.

    A metric without a value in any replicate (PPV when nothing is flagged) is shown as a dash;
    the sd is over the replicates, whose rows overlap, so it is no standard error.
    """
    groups = results.groupby(["data", "model"], sort=False)[list(metrics)]
    mean, sd = groups.mean(), groups.std(ddof=1)
    table = pd.DataFrame(index=mean.index)
    for metric, title in metrics.items():
        table[title] = [_cell(m, s) for m, s in zip(mean[metric], sd[metric], strict=True)]
    order = pd.unique(results["data"])
    return table.loc[[key for name in order for key in table.index if key[0] == name]]


def _cell(mean: float, sd: float) -> str:
    if np.isnan(mean):
        return "-"
    shown = f"{mean:.3f}"
    return shown if np.isnan(sd) else f"{shown} ({sd:.3f})"
