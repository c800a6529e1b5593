"""What a comparison says of the user's own data: who won, the ROC curves, and the distances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...estimators import plots
from ...estimators.plots.common import MAJORITY, MINORITY, PRIOR
from ...estimators.registry import MODELS
from ..run.cell import replicate_pair, replicate_seed
from ..run.protocol import Candidate, Protocol
from ..scenarios.datasets import Dataset
from ..scenarios.scenario import Real, halves
from .pages import Figures
from .paired import Lead, lead

METRICS = {"auc": "AUC", "g_mean": "G-mean"}
PICTURED = ("SVDD", "BDD", "BSVDD", "BSVDD-M")  # with the best model by AUC
HALVES = 1.0  # rows that test, for each row that trains
SAME = 0.01  # difference of FPR and of FNR in each half, up to which models decide alike
WHY = {
    ("SVDD", "OCSVM"): "SVDD and OCSVM are one problem for a kernel with constant k(z, z), as here "
    "(Schoelkopf et al. 2001)",
    ("SVDD", "SVDD-M"): "SVDD-M is SVDD where no minority row lies within the sphere",
    ("BDD", "BSVDD"): "the default priors of BDD and BSVDD both weigh the rows equally on average",
}


@dataclass(frozen=True, eq=False)
class Winner:
    """The best model of a data set by one metric, in a sentence, with the paired differences."""

    title: str
    lead: Lead
    sentence: str


def winners(results: pd.DataFrame) -> list[Winner]:
    """Return the best model by each metric of one data set, and whether it is told apart.

    Parameters
    ----------
    results : pandas.DataFrame
        The rows of one data set.

    Returns
    -------
    list of Winner
        A metric without a value, as when all fits failed, has none.
    """
    fitted = results[results["model"].isin(list(MODELS))]
    found = []
    for metric, title in METRICS.items():
        blocks = fitted.pivot_table(metric, "replicate", "model", sort=False, dropna=False)
        if blocks.dropna(axis=1).shape[1]:
            best = lead(blocks.astype(float), HALVES)
            found.append(Winner(title, best, _sentence(best, title)))
    return found


def ordered(results: pd.DataFrame) -> pd.DataFrame:
    """Return results with the models of each data set by their mean AUC, and rules at the end."""
    mean = results.groupby(["data", "model"], sort=False)["auc"].transform("mean")
    is_rule = ~results["model"].isin(list(MODELS))
    return results.iloc[np.lexsort([-mean, is_rule, pd.factorize(results["data"])[0]])]


def same_decisions(results: pd.DataFrame) -> list[str]:
    """Return sentences on models whose rows of one data set are nearly equal, and why."""
    fitted = results[results["model"].isin(list(MODELS)) & (results["error"] == "")]
    rates = fitted.pivot_table(["fpr", "fnr"], "model", "replicate", sort=False).dropna()
    values, names = rates.to_numpy(), list(rates.index)
    near = np.abs(values[:, None] - values).max(axis=2) <= SAME
    return alike(pd.DataFrame(near, names, names))


def alike(near: pd.DataFrame) -> list[str]:
    """Return sentences on groups of models that decide alike, and why those that are known do.

    Parameters
    ----------
    near : pandas.DataFrame of bool
        Models x models.
    """
    lines: list[str] = []
    rest = list(near.index)
    while rest:
        group = [m for m in rest if near.at[rest[0], m]]
        rest = [m for m in rest if m not in group]
        if len(group) > 1:
            why = [text for pair, text in WHY.items() if set(pair) <= set(group)]
            reason = f": {'; '.join(why)}" if why else ""
            names = f"{', '.join(group[:-1])} and {group[-1]}"
            lines.append(f"{names} decide alike{reason}.")
    return lines


def _sentence(best: Lead, title: str) -> str:
    as_good = best.indistinguishable
    worse = [m for m in best.others.index if m not in as_good]
    if not len(best.others):
        apart = ""
    elif best.blocks < 2:
        apart = " One half says nothing of the differences to the others; use more replicates."
    elif not worse:
        apart = " It is told apart from no other model: its lead may be chance."
    elif not as_good:
        apart = " It is told apart from all other models."
    else:
        apart = (
            f" It is told apart from {', '.join(worse)}; it is not told apart from "
            f"{', '.join(as_good)}."
        )
    over = f"{best.mean:.3f} on average over {best.blocks} halves"
    return f"By {title}, {best.best} is best: {over}.{apart}"


def pictures(
    data: Sequence[Dataset],
    results: pd.DataFrame,
    protocol: Protocol,
    seed: int = 0,
    candidates: Sequence[Candidate] | None = None,
) -> Figures:
    """Return the figures of each data set, from the first half of the comparison.

    Parameters
    ----------
    data : list of Dataset
    results : pandas.DataFrame
        The results of the comparison of these data.
    protocol : Protocol
    seed : int
    candidates : list of Candidate, optional
        Those of the comparison, if their parameters are not the defaults.

    Returns
    -------
    dict
        ``differences_1``, ``roc_1`` and ``distances_1`` of the first data set, and so on.
    """
    special = {candidate.name: candidate for candidate in candidates or []}
    figures: Figures = {}
    for k, each in enumerate(data, 1):
        mine = results[results["data"] == each.name]
        found = winners(mine)
        if not found:
            continue
        if found[0].lead.blocks > 1 and len(found[0].lead.others):
            figures[f"differences_{k}"] = (
                plot_differences(found),
                f"{each.name}: differences to the best model on the same halves, with 95 % "
                "intervals. An interval that includes 0 does not tell the two models apart.",
            )
        first = mine[(mine["replicate"] == 0) & (mine["error"] == "")]["model"].tolist()
        own, pair = replicate_seed(0, seed), replicate_pair(Real(each), 0, seed)
        fitted: dict[str, Any] = {
            name: protocol.for_data(each).fit(
                special.get(name, Candidate(name, name)), pair.train.X, pair.train.minority, own
            )[0]
            for name in dict.fromkeys((found[0].lead.best, *PICTURED))
            if name in first
        }
        y = pair.test.minority.astype(int)
        figures[f"roc_{k}"] = (
            plots.plot_roc(fitted, pair.test.X, y),
            f"{each.name}: the {len(y)} rows of the first test half, by the best model and by the "
            "models of this package. Positive means minority, abnormal.",
        )
        central = [name for name in ("BSVDD", *fitted) if hasattr(fitted.get(name), "distance")]
        if central:
            numbers = halves(each, own)[1]
            order = np.argsort(numbers)
            names = (np.arange(len(each.X)) if each.row_names is None else each.row_names)[numbers]
            figures[f"distances_{k}"] = (
                plots.plot_distances(
                    fitted[central[0]], pair.test.X[order], y[order], names=names[order].tolist()
                ),
                f"{each.name}: the surprise of each row of the first test half by {central[0]}, "
                "with a 90 % interval; 0 is the cutoff. A row has its id in your file, or its "
                "number from 0.",
            )
    return figures


def plot_differences(found: Sequence[Winner]) -> Figure:
    """Show the paired differences of all models to the best one, one panel for each metric."""
    most = max(len(each.lead.others) for each in found)
    size = 4.8 * len(found), 1.5 + 0.27 * most
    figure, axes = plt.subplots(1, len(found), figsize=size, squeeze=False, layout="constrained")
    for ax, each in zip(axes[0], found, strict=True):
        others = each.lead.others
        place = np.arange(len(others))
        colors = np.where(others["significant"], MINORITY, MAJORITY)
        ax.hlines(place, others["low"], others["high"], color=list(colors), linewidth=2)
        ax.scatter(others["difference"], place, color=list(colors), s=26, zorder=3)
        ax.axvline(0.0, color=PRIOR, linewidth=1)
        ax.set_yticks(place, list(others.index), parse_math=False)
        ax.set_ylim(len(others) - 0.5, -0.5)
        ax.set(
            xlabel=f"{each.title} minus that of {each.lead.best}",
            title=f"{each.title}: {each.lead.best} is best",
        )
    return figure
