"""The page of the reproduction: the published table beside ours, with figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..run.cell import BAYES, FLAG_NONE
from ..run.runner import Study
from . import pages, published
from .published import COMPARED
from .reproduction import beside, best_f1, by_v, readings, sentences, share_table
from .table import LEGEND, html

COLORS = {"SVDD": "#0072B2", "BDD": "#E69F00", "BSVDD": "#009E73", "BSVDD-M": "#CC79A7"}


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
    printed = published.table()
    recast = published.recast(printed)
    shares = share_table(ours)
    as_printed = published.distances(printed, ours)
    same_class = published.distances(recast, ours)
    best = best_f1(study)
    figures = {
        "implied_shares": (
            implied_shares(shares),
            "Share of positive test rows that each row of the published table implies, beside the "
            "share in our test sets. A model above one half calls the other class positive.",
        ),
        "f1": (
            f1_against_flag_all(ours, recast, shares, best),
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
    return pages.write(
        folder,
        "reproduction.html",
        "reproduction.html",
        figures,
        study=study,
        scenarios=study.scenarios,
        beside=beside(printed, recast, ours, sd),
        metrics=list(COMPARED.values()),
        distances=[(m, as_printed[m], same_class[m]) for m in same_class.index],
        sentences=sentences(ours, printed, shares, best),
        shares=shares,
        printed_sd=printed["accuracy_sd"],
        readings=readings(study) if study.replicates > 1 else [],
        full=html(results),
        legend=LEGEND,
        failed=int((results["error"] != "").sum()),
    )


def implied_shares(shares: pd.DataFrame) -> Figure:
    """Show the shares of positive rows that the published rows imply, beside ours."""
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    x = np.arange(len(shares))
    for (m, color), shift in zip(COLORS.items(), np.linspace(-0.12, 0.12, 4), strict=True):
        ax.plot(x + shift, shares[m], "o", color=color, mfc="white", label=f"{m}, published")
    ax.plot(x, shares["ours"], "ks", label="ours", zorder=3)
    ax.axhline(0.5, color="#999999", lw=0.8)
    ax.set_xticks(x, [f"{v:g}" for v in shares.index])
    ax.set(xlabel="v", ylabel="share of positive test rows")
    ax.legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
    return figure


def f1_against_flag_all(
    ours: pd.DataFrame, recast: pd.DataFrame, shares: pd.DataFrame, best: pd.Series
) -> Figure:
    """Show the F1 of each model, ours and published, with flag-all and the best possible F1."""
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    x = np.arange(len(shares))
    ax.plot(x, published.flag_all_f1(shares["ours"]), color="#333333", label="flag all")
    ax.plot(x, best.reindex(shares.index), "kx", label="best on the truth")
    for (m, color), shift in zip(COLORS.items(), np.linspace(-0.18, 0.18, 4), strict=True):
        if m in ours.index:
            f1 = ours.loc[m, "f1"].reindex(shares.index)
            ax.plot(x + shift, f1, "o", color=color, label=m)
        f1 = recast.loc[m, "f1"].reindex(shares.index)
        ax.plot(x + shift, f1, "o", color=color, mfc="white")
    ax.set_xticks(x, [f"{v:g}" for v in shares.index])
    ax.set(xlabel="v", ylabel="F1 of the minority", ylim=(0, None))
    ax.legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
    return figure


def ceiling(ours: pd.DataFrame) -> Figure:
    """Show AUC and accuracy of the models, and of the rule that knows the true probability."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
    vs = list(dict.fromkeys(ours.index.get_level_values("v")))
    x = np.arange(len(vs))
    names = ours.index.get_level_values("model")
    for ax, metric, title in zip(axes, ("auc", "accuracy"), ("AUC", "accuracy"), strict=True):
        if BAYES in names:
            bayes = ours.loc[BAYES, metric].reindex(vs)
            ax.plot(x, bayes, "k_", ms=24, mew=2, label=BAYES)
        trivial = ours.loc[FLAG_NONE, metric].reindex(vs)
        ax.plot(x, trivial, "_", color="#999999", ms=24, mew=2, label=FLAG_NONE)
        for (m, color), shift in zip(COLORS.items(), np.linspace(-0.18, 0.18, 4), strict=True):
            if m in names:
                ax.plot(x + shift, ours.loc[m, metric].reindex(vs), "o", color=color, label=m)
        ax.set_xticks(x, [f"{v:g}" for v in vs])
        ax.set(xlabel="v", ylabel=title)
    axes[-1].legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
    return figure
