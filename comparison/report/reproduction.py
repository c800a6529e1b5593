"""The published table of the slides (Kim 2024) beside ours, and what follows from both.

Scenarios are fixed before a run, and differences are reported as they are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.metrics import precision_recall_curve

from ..run.cell import BAYES, FLAG_ALL, FLAG_NONE, replicate_seed
from ..run.runner import Study
from ..scenarios.slides import Slides
from . import published
from .pages import Section
from .pages import write as write_page
from .published import COMPARED
from .table import mean_sd, moments

COLORS = {"SVDD": "#0072B2", "BDD": "#E69F00", "BSVDD": "#009E73", "BSVDD-M": "#CC79A7"}
MODELS = list(COLORS)
NEAR = 0.02  # of F1: as flagging all rows


def by_v(study: Study, results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean and the sd of all metrics, rows (model, v)."""
    v = {s.name: s.v for s in study.scenarios if isinstance(s, Slides)}
    mean, sd = moments(results, {name: name for name in [*COMPARED, "auc", "base_rate"]})
    keys = [(model, v[name]) for name, model in mean.index]
    index = pd.MultiIndex.from_tuples(keys, names=["model", "v"])
    return mean.set_axis(index), sd.set_axis(index)


def share_table(ours: pd.DataFrame) -> pd.DataFrame:
    """Return, by v, the share of positive test rows: ours, and implied by each published model."""
    table = published.implied_share(published.table()).unstack("model")
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
    printed = published.table()
    recast, opposite = published.recast(printed), published.other_class_positive(printed)
    rows: dict[tuple[str, float, str], list[str]] = {}

    def add(key: Any, source: str, mean: pd.DataFrame, spread: list[float]) -> None:
        cells = map(mean_sd, mean.loc[key, list(COMPARED)], spread)
        rows[*key, source] = list(cells)

    rules = [r for r in (FLAG_ALL, FLAG_NONE, BAYES) if r in ours.index]
    for key in [*printed.index.intersection(ours.index), *ours.loc[rules].index]:
        if key in printed.index:
            add(key, "slides", printed, printed.loc[key, [f"{name}_sd" for name in COMPARED]])
            if opposite[key[0]]:
                add(key, "slides, recast", recast, [np.nan] * len(COMPARED))
        add(key, "ours", ours, sd.loc[key, list(COMPARED)])
    table = pd.DataFrame.from_dict(rows, orient="index", columns=list(COMPARED.values()))
    return table.set_axis(pd.MultiIndex.from_tuples(rows, names=["model", "v", "source"]))


def verdicts(ours: pd.DataFrame, best: pd.Series) -> pd.DataFrame:
    """Return, for each model, published and ours, how far its F1 is from flagging all rows.

    The published rows have the minority as positive in all of them. Bayes' rule is there with the
    best F1 of any threshold.
    """
    printed = published.table()
    recast, opposite = published.recast(printed), published.other_class_positive(printed)
    shares = share_table(ours)
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for source, table in (("published", recast), ("ours", ours)):
        for m in (m for m in MODELS if m in ours.index):
            turned = source == "published" and opposite[m]
            p = shares["ours"] if source == "ours" else shares[m]
            f1 = table.loc[m, "f1"].reindex(p.index)
            gap = (f1 - published.flag_all_f1(1 - p if turned else p)).dropna()
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
    printed = published.table()
    return pd.DataFrame(
        {
            "to the table as printed": published.distances(printed, ours),
            "with the minority as positive": published.distances(published.recast(printed), ours),
        }
    )


# the page


def write(folder: Path, study: Study, results: pd.DataFrame) -> Path:
    """Write reproduction.html and its figures into ``folder``; return the page.

    Parameters
    ----------
    folder : path
    study : Study
        Its scenarios are :class:`bsvdd.comparison.scenarios.slides.Slides`.
    results : pandas.DataFrame
        Results of ``study.run``.
    """
    ours, sd = by_v(study, results)
    best = best_f1(study)
    figures = {
        "implied_shares": (
            implied_shares(ours),
            "Share of positive test rows that each row of the published table implies, beside the "
            "share in our test sets. A model above one half calls the other class positive.",
        ),
        "f1": (
            f1_against_flag_all(ours, best),
            "F1 of the minority, ours (filled) and published (open; recast where the row calls the "
            "other class positive). Line: flagging every row. Crosses: the best F1 that any "
            "threshold on the true P(abnormal | x) reaches on our test sets.",
        ),
        "ceiling": (
            ceiling(ours),
            "AUC (left) and accuracy (right) of the models, and of the rule that knows the true "
            "P(abnormal | x). Grey: flagging nothing; its AUC is that of no information.",
        ),
    }
    sections = {
        "Both tables: mean (sd) over pairs of data sets": beside(ours, sd),
        "Distance: mean absolute difference over the six metrics and all v": distances(ours),
        "What the tables show, for v = " + _listed(share_table(ours).index): verdicts(ours, best),
    }
    return write_page(
        folder,
        "reproduction.html",
        "reproduction.html",
        figures,
        study=study,
        sections={title: Section(table) for title, table in sections.items()},
        tables={"all metrics": results},
        failed=int((results["error"] != "").sum()),
    )


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
    shares, recast = share_table(ours), published.recast(published.table())
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    x = range(len(shares))
    ax.plot(x, published.flag_all_f1(shares["ours"]), color="#333333", label="flag all")
    ax.plot(x, best.reindex(shares.index), "kx", label="best on the truth")
    for table, label, style in ((recast, "_{}", {"mfc": "white"}), (ours, "{}", {})):
        _points(ax, table["f1"].unstack("model").reindex(shares.index), label, **style)
    ax.set(ylabel="F1 of the minority", ylim=(0, None))
    return figure


def ceiling(ours: pd.DataFrame) -> Figure:
    """Show AUC and accuracy of the models, and of the rule that knows the true probability."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
    for ax, metric, title in zip(axes, ("auc", "accuracy"), ("AUC", "accuracy"), strict=True):
        values = ours[metric].unstack("model")
        for rule, color in ((BAYES, "black"), (FLAG_NONE, "#999999")):
            if rule in values:
                style = {"color": color, "ms": 24, "mew": 2, "label": rule}
                ax.plot(range(len(values)), values[rule], "_", **style)
        _points(ax, values)
        ax.set(ylabel=title)
    axes[0].get_legend().remove()
    return figure
