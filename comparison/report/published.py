"""The published table of the slides (Kim 2024), and what follows from its numbers."""

from __future__ import annotations

from importlib.resources import as_file

import numpy as np
import pandas as pd

from ...inference.cutoff import rates
from ..scenarios.collection import DATA
from .table import METRICS

COMPARED = {name: title for name, title in METRICS.items() if name != "auc"}  # as printed


def table() -> pd.DataFrame:
    """Return the means and standard deviations ("..._sd") as printed, rows (model, v)."""
    with as_file(DATA / "slides.csv") as path:
        return pd.read_csv(path, index_col=["model", "v"])


def implied_share(printed: pd.DataFrame) -> pd.Series:
    r"""Return the share of positive test rows that each row of the table implies.

    .. math:: \mathrm{Accuracy} = p (1 - \mathrm{FNR}) + (1 - p)(1 - \mathrm{FPR})
        \quad\Rightarrow\quad
        p = \frac{\mathrm{Accuracy} - 1 + \mathrm{FPR}}{\mathrm{FPR} - \mathrm{FNR}}
    """
    p = (printed["accuracy"] - 1 + printed["fpr"]) / (printed["fpr"] - printed["fnr"])
    return p.rename("implied share")


def other_class_positive(printed: pd.DataFrame) -> pd.Series:
    """Return which models have the opposite class as positive.

    The implied share of such a model, averaged over v, is above one half where that of most models
    is below, or the reverse.
    """
    above = implied_share(printed).groupby("model", sort=False).mean() > 0.5
    return above != (above.mean() > 0.5)


def recast(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the minority as the positive class in every row.

    If a row calls the other class positive, its FPR and FNR are exchanged, and F1 and PPV of the
    minority are computed from them and the implied share. Accuracy and G-mean stay.
    """
    out = printed[list(COMPARED)].copy()
    reversed_ = other_class_positive(printed)
    rows = [key for key in out.index if reversed_[key[0]]]
    p = 1 - implied_share(printed).loc[rows]
    fpr, fnr = printed.loc[rows, "fnr"], printed.loc[rows, "fpr"]
    metrics = rates(p * (1 - fnr), (1 - p) * fpr, p * fnr, (1 - p) * (1 - fpr))
    for name in ("f1", "fpr", "fnr", "ppv"):
        out.loc[rows, name] = metrics[name]
    return out


def distances(printed: pd.DataFrame, ours: pd.DataFrame) -> pd.Series:
    """Return the mean absolute difference of each model over the metrics and v.

    Parameters
    ----------
    printed, ours : pandas.DataFrame
        Means, rows (model, v), with at least the columns of the slides.
    """
    both = printed.index.intersection(ours.index)
    columns = list(COMPARED)
    gap = np.abs(printed.loc[both, columns] - ours.loc[both, columns])
    # the PPV is missing where no row is flagged; it does not enter the mean
    return gap.stack().groupby("model", sort=False).mean().rename("distance")


def flag_all_f1(share: pd.Series | float) -> pd.Series | float:
    """Return 2p/(1 + p), the F1 of flagging every row."""
    return 2 * share / (1 + share)
