"""Reproduction of the published table: our numbers beside the printed ones, and sentences on both.

Scenarios are fixed before a run, and differences are reported as they are. Every sentence with a
number in it is made from the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import precision_recall_curve

from ..run.cell import BAYES, FLAG_ALL, FLAG_NONE, replicate_seed
from ..run.runner import Study
from ..scenarios.slides import SIGNAL, Slides
from . import published
from .findings import listed
from .published import COMPARED
from .table import moments

MODELS = ["SVDD", "BDD", "BSVDD", "BSVDD-M"]
READING_PAIRS = 20  # number of pairs by which other readings of the slides are judged


def by_v(study: Study, results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean and the sd of all metrics, rows (model, v)."""
    v = {s.name: s.v for s in study.scenarios if isinstance(s, Slides)}
    mean, sd = moments(results, {name: name for name in [*COMPARED, "auc", "base_rate"]})
    for values in (mean, sd):
        keys = [(model, v[name]) for name, model in values.index]
        values.index = pd.MultiIndex.from_tuples(keys, names=["model", "v"])
    return mean, sd


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
    best = {}
    for scenario in study.scenarios:
        if not isinstance(scenario, Slides):
            continue
        values = []
        for replicate in range(study.replicates):
            pair = scenario.pair(replicate_seed(replicate, study.seed))
            if pair.truth is None:
                continue
            precision, recall, _ = precision_recall_curve(pair.test.minority, pair.truth)
            total = precision + recall
            f1 = np.divide(2 * precision * recall, total, out=np.zeros_like(total), where=total > 0)
            values.append(f1.max())
        best[scenario.v] = float(np.mean(values)) if values else np.nan
    return pd.Series(best, name="best F1")


def readings(study: Study) -> list[tuple[str, list[tuple[float, float]]]]:
    """Return, for each reading of the slides and each v, mean and sd of the share of positive rows.

    They are over pairs of data sets.
    """
    options_of: dict[str, dict[str, Any]] = {
        "coefficients by observation, v a variance": {},
        "coefficients by observation, v a standard deviation": {"spread": "sd"},
        "coefficients by data set, v a variance": {"coefficients": "data set"},
    }
    rows = []
    for name, options in options_of.items():
        row = []
        for v in sorted({s.v for s in study.scenarios if isinstance(s, Slides)}):
            reading = Slides(v=v, n_train=2, p=SIGNAL, **options)
            shares = [reading.pair(replicate).test.base_rate for replicate in range(READING_PAIRS)]
            row.append((float(np.mean(shares)), float(np.std(shares, ddof=1))))
        rows.append((name, row))
    return rows


def beside(
    printed: pd.DataFrame, recast: pd.DataFrame, ours: pd.DataFrame, sd: pd.DataFrame
) -> list[tuple[str, float, str, list[str]]]:
    """Return the rows of both tables: model, v, source, cells."""
    opposite = published.other_class_positive(printed)
    rows = []
    for model, v in printed.index.intersection(ours.index):
        key = (model, v)
        published_sd = {name: printed.loc[key, f"{name}_sd"] for name in COMPARED}
        rows.append((model, v, "slides", _cells(printed.loc[key], published_sd)))
        if opposite[model]:
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
    """Return sentences that compare the published numbers, ours and the trivial rules."""
    recast, opposite = published.recast(printed), published.other_class_positive(printed)
    models = [m for m in MODELS if m in ours.index.get_level_values("model")]
    implied = shares.drop(columns="ours")
    out = []
    straight = [m for m in models if not opposite[m]]
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
    for m in (m for m in models if opposite[m]):
        out.append(
            f"The row of {m} implies {listed([f'{s:.3f}' for s in implied[m]])}, that is one minus "
            f"the share of the others: it calls the other class positive. With the minority as "
            f"positive its F1 is {listed([f'{f:.3f}' for f in recast.loc[m, 'f1']])}."
        )
    for source, table in (("published", recast), ("ours", ours)):
        for m in models:
            p = implied[m] if source == "published" else shares["ours"]
            p = 1 - p if source == "published" and opposite[m] else p
            gap = (table.loc[m, "f1"].reindex(p.index) - published.flag_all_f1(p)).dropna()
            if gap.empty:
                out.append(f"{m}, {source}: no fit succeeded.")
                continue
            flagged = table.loc[m, "fpr"].mean()
            if gap.abs().max() < 0.02:
                out.append(
                    f"{m}, {source}: F1 is within {gap.abs().max():.4f} of flagging every row at "
                    f"every v, and {flagged:.1%} of the majority is flagged."
                )
            else:
                out.append(
                    f"{m}, {source}: F1 differs from flagging every row by "
                    f"{listed([f'{g:+.3f}' for g in gap])}; {flagged:.1%} of the majority is "
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
