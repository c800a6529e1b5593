"""The reproduction page: the slides' table beside ours, and why its numbers are what they are.

Settings are fixed before a run and distances are reported as they come. Every sentence with a
number in it is made from the results.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.metrics import precision_recall_curve

from . import pages, published
from .cell import BAYES, FLAG_ALL, FLAG_NONE, replicate_seed
from .pages import listed
from .published import COMPARED
from .runner import Study
from .slides import SIGNAL, Slides
from .table import LEGEND, full, moments

COLORS = {"SVDD": "#0072B2", "BDD": "#E69F00", "BSVDD": "#009E73", "BSVDD-M": "#CC79A7"}
READING_PAIRS = 20  # by which other readings of the slides are judged


def write(folder: Path, study: Study, results: pd.DataFrame) -> Path:
    """Write reproduction.html and its figures into ``folder``; return the page.

    Parameters
    ----------
    folder : path
    study : Study
        Of :class:`.slides.Slides` settings.
    results : pandas.DataFrame
        What ``study.run`` gave.
    """
    ours, sd = by_v(study, results)
    printed = published.table()
    recast = published.recast(printed)
    shares = share_table(study, ours)
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
            ceiling(study, ours),
            "AUC (left) and accuracy (right) of the models, and of the rule that knows the true "
            "P(abnormal | x). Grey: flagging nothing, whose AUC is that of no information.",
        ),
    }
    return pages.write(
        folder,
        "reproduction.html",
        "reproduction.html",
        figures,
        study=study,
        settings=study.settings,
        beside=beside(printed, recast, ours, sd),
        metrics=list(COMPARED.values()),
        distances=[(m, as_printed[m], same_class[m]) for m in same_class.index],
        sentences=sentences(ours, printed, shares, best),
        shares=shares,
        printed_sd=printed["accuracy_sd"],
        readings=readings(study) if study.replicates > 1 else [],
        full=full(results).to_html(border=0, classes="table"),
        legend=LEGEND,
        failed=int((results["error"] != "").sum()),
    )


def by_v(study: Study, results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean and sd of all metrics, rows (model, v)."""
    v = {s.name: s.v for s in study.settings if isinstance(s, Slides)}
    metrics = {name: name for name in [*COMPARED, "auc", "base_rate"]}
    found = []
    for values in moments(results, metrics):
        keys = [(model, v[name]) for name, model in values.index]
        values.index = pd.MultiIndex.from_tuples(keys, names=["model", "v"])
        found.append(values)
    return found[0], found[1]


def share_table(study: Study, ours: pd.DataFrame) -> pd.DataFrame:
    """Return, by v, our share of positive test rows and the published models' implied ones."""
    table = published.implied_share(published.table()).unstack("model")
    table = table[list(COLORS)]
    table.insert(0, "ours", ours.loc[FLAG_ALL, "base_rate"])
    return table.dropna()


def best_f1(study: Study) -> pd.Series:
    """Return, by v, the mean over pairs of the best F1 of any threshold on the true probability.

    The threshold is chosen on the test rows themselves, so this is above what a rule can reach.
    """
    found = {}
    for setting in study.settings:
        if not isinstance(setting, Slides):
            continue
        each = []
        for replicate in range(study.replicates):
            pair = setting.pair(replicate_seed(replicate, study.seed))
            if pair.truth is None:
                continue
            precision, recall, _ = precision_recall_curve(pair.test.minority, pair.truth)
            total = precision + recall
            f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
            each.append(f1.max())
        found[setting.v] = float(np.mean(each)) if each else np.nan
    return pd.Series(found, name="best F1")


def readings(study: Study) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return mean and sd of the share of positive rows over pairs, for each reading and v."""
    every: dict[str, dict[str, Any]] = {
        "coefficients by observation, v a variance": {},
        "coefficients by observation, v a standard deviation": {"spread": "sd"},
        "coefficients by data set, v a variance": {"coefficients": "data set"},
    }
    out = []
    for name, options in every.items():
        row = []
        for v in sorted({s.v for s in study.settings if isinstance(s, Slides)}):
            reading = Slides(v=v, n_train=2, p=SIGNAL, **options)
            shares = [reading.pair(replicate).test.base_rate for replicate in range(READING_PAIRS)]
            row.append((float(np.mean(shares)), float(np.std(shares, ddof=1))))
        out.append((name, row))
    return out


def beside(
    printed: pd.DataFrame, recast: pd.DataFrame, ours: pd.DataFrame, sd: pd.DataFrame
) -> list[tuple[str, float, str, list[str]]]:
    """Return the rows of the table: model, v, whose, cells."""
    turned = published.other_class_positive(printed)
    rows = []
    for model, v in printed.index.intersection(ours.index):
        key = (model, v)
        published_sd = {name: printed.loc[key, f"{name}_sd"] for name in COMPARED}
        rows.append((model, v, "slides", _cells(printed.loc[key], published_sd)))
        if turned[model]:
            rows.append((model, v, "slides, recast", _cells(recast.loc[key])))
        rows.append((model, v, "ours", _cells(ours.loc[key], sd.loc[key])))
    for rule in (FLAG_ALL, FLAG_NONE, BAYES):
        rows += [
            (rule, v, "ours", _cells(ours.loc[(rule, v)], sd.loc[(rule, v)]))
            for r, v in ours.index
            if r == rule
        ]
    return rows


def _cells(mean: Any, sd: Any = None) -> list[str]:
    def cell(name: str) -> str:
        if np.isnan(mean[name]):
            return "-"
        if sd is None or np.isnan(sd[name]):
            return f"{mean[name]:.3f}"
        return f"{mean[name]:.3f} ({sd[name]:.3f})"

    return [cell(name) for name in COMPARED]


def sentences(
    ours: pd.DataFrame, printed: pd.DataFrame, shares: pd.DataFrame, best: pd.Series
) -> list[str]:
    """Return what the numbers say, each sentence made from them."""
    recast, turned = published.recast(printed), published.other_class_positive(printed)
    models = [m for m in COLORS if m in ours.index.get_level_values("model")]
    implied = shares.drop(columns="ours")
    out = []
    straight = [m for m in models if not turned[m]]
    if straight:
        gap = implied[straight].sub(shares["ours"], axis=0).abs().to_numpy().max()
        low, high = implied[straight].to_numpy().min(), implied[straight].to_numpy().max()
        out.append(
            f"The published rows of {listed(straight)} imply shares of positive test rows from "
            f"{low:.3f} to {high:.3f}; "
            f"in our test sets they are {listed([f'{s:.3f}' for s in shares['ours']])} "
            f"for v = {listed([f'{v:g}' for v in shares.index])}. The largest difference is "
            f"{gap:.3f}."
        )
    for m in (m for m in models if turned[m]):
        out.append(
            f"The row of {m} implies {listed([f'{s:.3f}' for s in implied[m]])}, that is one minus "
            f"the share of the others: it calls the other class positive. With the minority as "
            f"positive its F1 is {listed([f'{f:.3f}' for f in recast.loc[m, 'f1']])}."
        )
    for whose, table in (("published", recast), ("ours", ours)):
        for m in models:
            p = implied[m] if whose == "published" else shares["ours"]
            p = 1 - p if whose == "published" and turned[m] else p
            gap = (table.loc[m, "f1"].reindex(p.index) - published.flag_all_f1(p)).dropna()
            if gap.empty:
                out.append(f"{m}, {whose}: no fit succeeded.")
                continue
            flagged = 1 - table.loc[m, "fpr"].mean()
            if gap.abs().max() < 0.02:
                out.append(
                    f"{m}, {whose}: F1 is within {gap.abs().max():.4f} of flagging every row at "
                    f"every v, and {1 - flagged:.1%} of the majority is flagged."
                )
            else:
                out.append(
                    f"{m}, {whose}: F1 differs from flagging every row by "
                    f"{listed([f'{g:+.3f}' for g in gap])}; {1 - flagged:.1%} of the majority is "
                    "flagged."
                )
    if BAYES in ours.index.get_level_values("model"):
        bayes, none = ours.loc[BAYES], ours.loc[FLAG_NONE]
        out.append(
            "The rule that knows the true P(abnormal | x) has an AUC of "
            f"{listed([f'{a:.3f}' for a in bayes['auc']])} and an accuracy of "
            f"{listed([f'{a:.3f}' for a in bayes['accuracy']])}, where flagging nothing has "
            f"{listed([f'{a:.3f}' for a in none['accuracy']])}. The best F1 of any threshold on "
            "it, chosen on the test rows themselves, is "
            f"{listed([f'{b:.4f}' for b in best])}; flagging everything has "
            f"{listed([f'{b:.4f}' for b in ours.loc[FLAG_ALL, 'f1']])}."
        )
    return out


def implied_shares(shares: pd.DataFrame) -> Figure:
    """Show implied shares of the published rows beside ours."""
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
    """Show F1 of each model, ours and published, with flag-all and the best possible."""
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


def ceiling(study: Study, ours: pd.DataFrame) -> Figure:
    """Show AUC and accuracy of the models below those of the rule that knows the truth."""
    figure, axes = plt.subplots(1, 2, figsize=(8.5, 3.6), layout="constrained")
    vs = list(dict.fromkeys(ours.index.get_level_values("v")))
    x = np.arange(len(vs))
    known = ours.index.get_level_values("model")
    for ax, metric, title in zip(axes, ("auc", "accuracy"), ("AUC", "accuracy"), strict=True):
        if BAYES in known:
            bayes = ours.loc[BAYES, metric].reindex(vs)
            ax.plot(x, bayes, "k_", ms=24, mew=2, label=BAYES)
        trivial = ours.loc[FLAG_NONE, metric].reindex(vs)
        ax.plot(x, trivial, "_", color="#999999", ms=24, mew=2, label=FLAG_NONE)
        for (m, color), shift in zip(COLORS.items(), np.linspace(-0.18, 0.18, 4), strict=True):
            if m in known:
                ax.plot(x + shift, ours.loc[m, metric].reindex(vs), "o", color=color, label=m)
        ax.set_xticks(x, [f"{v:g}" for v in vs])
        ax.set(xlabel="v", ylabel=title)
    axes[-1].legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
    return figure
