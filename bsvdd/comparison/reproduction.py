"""The published table of the slides (Kim 2024) beside ours, and what follows from both."""

from __future__ import annotations

from importlib.resources import as_file
from typing import Any

import numpy as np
import pandas as pd

from ..inference.metrics import rates
from .datasets import DATA
from .slides import Slides
from .table import METRICS, deviations, mean_sd, means

COMPARED = {
    name: METRICS[name] for name in ("accuracy", "f1", "fpr", "fnr", "ppv", "g_mean")
}
NEAR = 0.02  # of F1: as flagging all rows


def published() -> pd.DataFrame:
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

    The implied share of such a model, averaged over v, is above one half where that of
    most models is below, or the reverse.
    """
    above = implied_share(printed).groupby("model", sort=False).mean() > 0.5
    return above != (above.mean() > 0.5)


def recast(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the minority as the positive class in every row.

    If a row calls the other class positive, its FPR and FNR are exchanged, and F1 and
    PPV of the minority are computed from them and the implied share. Accuracy and
    G-mean stay.
    """
    out = printed[list(COMPARED)].copy()
    reversed_ = other_class_positive(printed)
    rows = [key for key in out.index if reversed_[key[0]]]
    p = 1 - implied_share(printed).loc[rows]
    fpr = printed.loc[rows, "fnr"]
    fnr = printed.loc[rows, "fpr"]
    metrics = rates(p * (1 - fnr), (1 - p) * fpr, p * fnr, (1 - p) * (1 - fpr))
    for name in ("f1", "fpr", "fnr", "ppv"):
        out.loc[rows, name] = metrics[name]
    return out


def distance(printed: pd.DataFrame, ours: pd.DataFrame) -> pd.Series:
    """Return the mean absolute difference of each model over the metrics and v.

    A metric that is missing, as the PPV where no row is flagged, does not enter the
    mean.
    """
    both = printed.index.intersection(ours.index)
    columns = list(COMPARED)
    gap = np.abs(printed.loc[both, columns] - ours.loc[both, columns])
    return gap.stack().groupby("model", sort=False).mean().rename("distance")


def flag_all_f1(share: Any) -> Any:
    """Return 2p/(1 + p), the F1 of flagging every row."""
    return 2 * share / (1 + share)


def by_v(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean and the sd of all metrics of the study of the slides, rows (model, v)."""
    v = {Slides(v=v).name: v for v in (5.0, 10.0, 20.0)}
    rows = results.assign(v=results["data"].str.split(",").str[0].map(v))
    rows = rows.drop(columns="data").rename(columns={"model": "data", "v": "model"})
    found = (of(rows, [*COMPARED, "auc", "base_rate"]) for of in (means, deviations))
    mean, sd = (each.rename_axis(["model", "v"]) for each in found)
    return mean, sd


def beside(ours: pd.DataFrame, sd: pd.DataFrame) -> pd.DataFrame:
    """Return both tables as texts, rows (model, v, source)."""
    printed = published()
    turned = recast(printed)
    opposite = other_class_positive(printed)
    rows: dict[Any, list[str]] = {}

    def add(key: Any, source: str, mean: pd.DataFrame, spread: Any) -> None:
        rows[*key, source] = list(map(mean_sd, mean.loc[key, list(COMPARED)], spread))

    for key in printed.index.intersection(ours.index):
        add(
            key,
            "slides",
            printed,
            printed.loc[key, [f"{name}_sd" for name in COMPARED]],
        )
        if opposite[key[0]]:
            add(key, "slides, recast", turned, [np.nan] * len(COMPARED))
        add(key, "ours", ours, sd.loc[key, list(COMPARED)])
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=list(COMPARED.values())
    )
    return table.set_axis(
        pd.MultiIndex.from_tuples(rows, names=["model", "v", "source"])
    )


def verdicts(ours: pd.DataFrame) -> pd.DataFrame:
    """Return how far each model is from the printed table, and from flagging all rows.

    Rows (model, source): the distance of ours from the printed row with the minority as
    positive, the share of positive rows and F1 at each v, and its largest difference
    from flagging all.
    """
    printed = published()
    gap = distance(recast(published()), ours)
    shares = {"slides": implied_share(printed), "ours": ours["base_rate"]}
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for m in gap.index:
        for source, table in (("slides", recast(printed)), ("ours", ours)):
            turned = source == "slides" and other_class_positive(printed)[m]
            p = shares[source].loc[m]
            f1 = table.loc[m, "f1"]
            more = (f1 - flag_all_f1(1 - p if turned else p)).abs().max()
            rows[m, source] = {
                "distance": gap[m] if source == "ours" else np.nan,
                "share of positive rows": _listed(p),
                "F1": _listed(f1),
                "verdict": ("as" if more < NEAR else "other than")
                + " flagging all"
                + ("; calls the other class positive" if turned else ""),
            }
    index = pd.MultiIndex.from_tuples(rows, names=["model", "source"])
    return pd.DataFrame(list(rows.values()), index)


def tables(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return both tables and what they show, by title, from the results of our study."""
    ours, sd = by_v(results)
    return {
        "Both tables: mean (sd) over pairs of data sets": beside(ours, sd),
        "Ours is the reading nearest to the printed row, a choice in hindsight.\n"
        "distance: mean absolute difference over six metrics and all v, minority "
        "positive.\n"
        "Three numbers are those of v = 5, 10, 20.": verdicts(ours),
    }


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
