"""The published table of the slides (Kim 2024) beside ours, and what follows from both.

Scenarios are fixed before a run, and differences are reported as they are.
"""

from __future__ import annotations

from importlib.resources import as_file
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.metrics import precision_recall_curve

from ...inference.metrics import rates
from ..run.cell import BAYES, FLAG_ALL, FLAG_NONE, replicate_seed
from ..run.runner import Study
from ..scenarios.datasets import DATA
from ..scenarios.slides import Slides
from .table import METRICS, mean_sd, moments

COLORS = {"SVDD": "#0072B2", "BDD": "#E69F00", "BSVDD": "#009E73", "BSVDD-M": "#CC79A7"}
MODELS = list(COLORS)
COMPARED = {name: title for name, title in METRICS.items() if name != "auc"}  # as printed
NEAR = 0.02  # of F1: as flagging all rows


# the published table, and what follows from its numbers


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


def distance(printed: pd.DataFrame, ours: pd.DataFrame) -> pd.Series:
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


# beside ours


def by_v(study: Study, results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean and the sd of all metrics, rows (model, v)."""
    v = {s.name: s.v for s in study.scenarios if isinstance(s, Slides)}
    mean, sd = moments(results, {name: name for name in [*COMPARED, "auc", "base_rate"]})
    keys = [(model, v[name]) for name, model in mean.index]
    index = pd.MultiIndex.from_tuples(keys, names=["model", "v"])
    return mean.set_axis(index), sd.set_axis(index)


def share_table(ours: pd.DataFrame) -> pd.DataFrame:
    """Return, by v, the share of positive test rows: ours, and implied by each published model."""
    table = implied_share(published()).unstack("model")
    table = table[MODELS]
    table.insert(0, "ours", ours.loc[FLAG_ALL, "base_rate"])
    return table.dropna()


def best_f1(study: Study) -> pd.Series:
    """Return, by v, the best F1 of any threshold on the true probability, averaged over pairs.

    The threshold is chosen on the test rows themselves, so no rule can do better.
    """
    best: dict[float, list[float]] = {}
    for scenario in study.scenarios:
        for replicate in range(study.replicates):
            pair = scenario.pair(replicate_seed(replicate, study.seed))
            if isinstance(scenario, Slides) and pair.truth is not None:
                precision, recall, _ = precision_recall_curve(pair.test.minority, pair.truth)
                with np.errstate(invalid="ignore"):
                    f1 = 2 * precision * recall / (precision + recall)
                best.setdefault(scenario.v, []).append(float(np.nanmax(f1)))
    return pd.Series({v: np.mean(values) for v, values in best.items()}, name="best F1")


def beside(ours: pd.DataFrame, sd: pd.DataFrame) -> pd.DataFrame:
    """Return both tables as texts, rows (model, v, source)."""
    printed = published()
    turned, opposite = recast(printed), other_class_positive(printed)
    rows: dict[tuple[str, float, str], list[str]] = {}

    def add(key: Any, source: str, mean: pd.DataFrame, spread: list[float]) -> None:
        cells = map(mean_sd, mean.loc[key, list(COMPARED)], spread)
        rows[*key, source] = list(cells)

    rules = [r for r in (FLAG_ALL, FLAG_NONE, BAYES) if r in ours.index]
    for key in [*printed.index.intersection(ours.index), *ours.loc[rules].index]:
        if key in printed.index:
            add(key, "slides", printed, printed.loc[key, [f"{name}_sd" for name in COMPARED]])
            if opposite[key[0]]:
                add(key, "slides, recast", turned, [np.nan] * len(COMPARED))
        add(key, "ours", ours, sd.loc[key, list(COMPARED)])
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(COMPARED.values()))
    return table.set_axis(pd.MultiIndex.from_tuples(rows, names=["model", "v", "source"]))


def verdicts(ours: pd.DataFrame, best: pd.Series) -> pd.DataFrame:
    """Return, for each model, published and ours, how far its F1 is from flagging all rows.

    The published rows have the minority as positive in all of them. Bayes' rule is there with the
    best F1 of any threshold.
    """
    printed = published()
    opposite, shares = other_class_positive(printed), share_table(ours)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for source, table in (("published", recast(printed)), ("ours", ours)):
        for m in (m for m in MODELS if m in ours.index):
            turned = source == "published" and opposite[m]
            p = shares["ours"] if source == "ours" else shares[m]
            f1 = table.loc[m, "f1"].reindex(p.index)
            gap = (f1 - flag_all_f1(1 - p if turned else p)).dropna()
            near = "as" if gap.abs().max() < NEAR else "other than"
            word = f"{near} flagging all" if len(gap) else "no fit succeeded"
            rows[m, source] = {
                "share of positive rows": _listed(p),
                "F1": _listed(f1),
                "F1 - F1 of flagging all": _listed(gap),
                "majority flagged": table.loc[m, "fpr"].mean(),
                "verdict": word + ("; calls the other class positive" if turned else ""),
            }
    if BAYES in ours.index:
        above = (best - ours.loc[FLAG_ALL, "f1"]).dropna()
        rows[BAYES, "ours"] = {
            "share of positive rows": _listed(shares["ours"]),
            "F1": _listed(best),
            "F1 - F1 of flagging all": _listed(above),
            "verdict": "the best of any threshold on the true probability",
        }
    index = pd.MultiIndex.from_tuples(rows, names=["model", "source"])
    return pd.DataFrame(list(rows.values()), index)


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{value:.3f}" for value in values)


def distances(ours: pd.DataFrame) -> pd.DataFrame:
    """Return the mean absolute difference of each model from the printed table."""
    printed = published()
    return pd.DataFrame(
        {
            "to the table as printed": distance(printed, ours),
            "with the minority as positive": distance(recast(printed), ours),
        }
    )


def tables(ours: pd.DataFrame, sd: pd.DataFrame, best: pd.Series) -> dict[str, pd.DataFrame]:
    """Return both tables, their distance, and what they show, by title.

    Parameters
    ----------
    ours, sd : pandas.DataFrame
        Of :func:`by_v`.
    best : pandas.Series
        Of :func:`best_f1`.
    """
    return {
        "Both tables: mean (sd) over pairs of data sets": beside(ours, sd),
        "Distance: mean absolute difference over the six metrics and all v": distances(ours),
        "What the tables show, for v = " + _listed(share_table(ours).index): verdicts(ours, best),
    }


# pictures


def _points(ax: Axes, values: pd.DataFrame, label: str = "{}", **style: Any) -> None:
    """Show the values (v x models) of each model at each v, side by side."""
    for (m, color), shift in zip(COLORS.items(), np.linspace(-0.18, 0.18, 4), strict=True):
        if m in values:
            x = np.arange(len(values)) + shift
            ax.plot(x, values[m], "o", color=color, label=label.format(m), **style)
    ax.set_xticks(range(len(values)), [f"{v:g}" for v in values.index])
    ax.set(xlabel="v")
    ax.legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left")


def implied_shares(ours: pd.DataFrame) -> Figure:
    """Show the shares of positive rows that the published rows imply, beside ours."""
    shares = share_table(ours)
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    ax.plot(range(len(shares)), shares["ours"], "ks", label="ours", zorder=3)
    ax.axhline(0.5, color="#999999", lw=0.8)
    ax.set(ylabel="share of positive test rows")
    _points(ax, shares, "{}, published", mfc="white")
    return figure


def f1_against_flag_all(ours: pd.DataFrame, best: pd.Series) -> Figure:
    """Show the F1 of each model, ours and published, with flag-all and the best possible F1."""
    shares = share_table(ours)
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    x = range(len(shares))
    ax.plot(x, flag_all_f1(shares["ours"]), color="#333333", label="flag all")
    ax.plot(x, best.reindex(shares.index), "kx", label="best on the truth")
    for table, label, style in (
        (recast(published()), "_{}", {"mfc": "white"}),
        (ours, "{}", {}),
    ):
        _points(ax, table["f1"].unstack("model").reindex(shares.index), label, **style)
    ax.set(ylabel="F1 of the minority", ylim=(0, None))
    return figure
