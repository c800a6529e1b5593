"""Which model to take on one's own data: the models in their order, what it says, and its page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ..base.atomic import write
from ..inference.cutoffs import Best, FalseAlarm, resolved
from ..plots.common import MAJORITY, MINORITY, PRIOR
from ..plots.report import image, render
from .datasets import Dataset
from .table import LEGEND, METRICS, lead, means, not_told_apart, number, values_of

SHOWN = (
    "found",
    "ppv",
    "fpr",
    "average_precision",
    "auc",
)  # beside the metric of the order
HALVES = 1.0  # rows that test, for each row that trains
FEW = 6  # models that a sentence names, where it could name the others
NUMBER = re.compile(r"[\d.]+(e[-+]?\d+)?")
UNADJUSTED = (
    "± is half of a 95 % interval of the paired difference (Nadeau and Bengio 2003), "
    "not adjusted for the number of models; * below the best with it. The best is "
    "chosen on the rows that measure it, so its lead is optimistic."
)


@dataclass(frozen=True, eq=False)
class Advice:
    """What the results of one data set say.

    Attributes
    ----------
    data : Dataset
    metric : str
        That orders the models: the one by which their cutoffs are chosen, the G-mean if
        they are for a rate of false alarms.
    found : pandas.DataFrame
        Of :func:`ranked`.
    said : list of str
        What to take, what it is told apart from, and what failed.
    notes : dict
        Each warning of the fits, with its models.
    """

    data: Dataset
    metric: str
    found: pd.DataFrame
    said: list[str]
    notes: dict[str, list[str]]

    @classmethod
    def of(cls, data: Dataset, results: pd.DataFrame, cutoff: Any) -> Self:
        """Return the advice on a data set from results, which may be of others too.

        ``cutoff`` is that of the models, None for their default.
        """
        mine = results[results["data"] == data.name]
        n1 = int(data.minority.sum()) // 2
        rule = resolved(cutoff, n1)
        metric = rule.metric if isinstance(rule, Best) else "g_mean"
        order = f"stand in the order of {METRICS[metric]}"
        why = f"Cutoffs are those of {rule!r}; models {order}"
        if isinstance(rule, Best):
            why = f"Models {order}, which chose their cutoffs"
        elif isinstance(rule, FalseAlarm):
            rate = f"{rule.rate:g} false alarms, as {n1} minority rows train"
            why = f"Cutoffs are for {rate}; models {order}"
        why += " (the SVMs decide by their own plane)."
        found = ranked(mine, metric)
        return cls(
            data,
            metric,
            found,
            [*advice(found, metric), why, *failures(mine)],
            notes(mine),
        )

    @property
    def title(self) -> str:
        """The data set, its size and its base rate."""
        n, p = self.data.X.shape
        return f"{self.data.name}: {n} rows, {p} columns, base rate {self.data.base_rate:.3f}"

    @property
    def heads(self) -> list[str]:
        """The titles of ``rows``."""
        return [
            "model",
            METRICS[self.metric],
            "to the best",
            *(METRICS[m] for m in SHOWN),
        ]

    @property
    def rows(self) -> list[list[str]]:
        """The table of the models as texts: mean, paired difference, means of other metrics."""
        rows: list[list[str]] = []
        halves = self.found["halves"].max()
        for name, row in self.found.iterrows():
            gap = number(row["difference"]) if rows else ""
            if row["half"] > 0:
                gap += f" ± {row['half']:.3f}{' *' if row['worse'] else ''}"
            some = (
                f" ({row['halves']:.0f} of {halves:.0f})"
                if row["halves"] < halves
                else ""
            )
            numbers = (number(row[m]) for m in SHOWN)
            rows.append([f"{name}{some}", number(row[self.metric]), gap, *numbers])
        return rows


def ranked(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the models of one data set, the best first.

    Parameters
    ----------
    results : pandas.DataFrame
        Rows of one data set.
    metric : str
        That orders the models.

    Returns
    -------
    pandas.DataFrame
        For each model the mean of ``metric``, its paired ``difference`` to the best
        with ``half`` of its 95 % interval, ``worse``, ``halves`` with a result, and
        means of other metrics. Models that failed in some half are last, and have no
        difference; those that failed in all are not there.
    """
    fitted = results[results["error"] == ""]
    blocks = values_of(fitted, metric, "replicate")
    found = lead(blocks, HALVES)
    mean = means(fitted, [metric, *SHOWN, "fit_seconds"]).droplevel("data")
    some = mean.drop(index=found.index).sort_values(metric, ascending=False)
    table = mean.loc[[*found.index, *some.index]]
    columns = {
        "difference": found["difference"],
        "half": (found["high"] - found["low"]) / 2.0,
    }
    worse = found["worse"].reindex(table.index, fill_value=False)
    return table.assign(**columns, worse=worse, halves=blocks.notna().sum())


def advice(found: pd.DataFrame, metric: str) -> list[str]:
    """Return what to take, and what it is told apart from, in sentences.

    Parameters
    ----------
    found : pandas.DataFrame
        Of :func:`ranked`.
    metric : str
    """
    compared = found[found["difference"].notna()]
    if compared.empty:
        return ["No model has a result in every half, so none is recommended."]
    name = str(compared.index[0])
    best = compared.iloc[0]
    title = METRICS[metric]
    same = not_told_apart(compared)
    others = len(compared) - 1
    does = (
        f"It finds {best['found']:.2f} of the minority rows and flags "
        f"{best['fpr']:.2f} of the others; {best['ppv']:.2f} of the rows that it flags "
        "are minority."
    )
    value = f"{title} {best[metric]:.3f}"
    if not others:
        return [f"{name}: {value}. {does}"]
    if best["halves"] < 2:
        return [
            f"{name} has the largest {value}. {does} One half tells no models apart: "
            "use more replicates."
        ]
    if not same:
        return [f"Take {name}: {value}, told apart from all others. {does}"]
    among = compared.loc[[name, *same]]
    worse = compared.index[compared["worse"]]
    apart = f"not told apart from {', '.join(same)}"
    if len(same) > FEW:
        apart = f"not told apart from any of the {others} others"
        if len(worse):
            apart = f"told apart only from {', '.join(worse)} of the {others} others"
    finds = among["found"].idxmax()
    sure = among["ppv"].idxmax()
    most, largest = (f"({among[m].max():.2f})" for m in ("found", "ppv"))
    among_them = f"{finds} finds most {most}, and {sure} has the largest PPV {largest}"
    if finds == sure:
        among_them = f"{finds} finds most {most}, and has the largest PPV {largest}"
    return [
        f"No model is the best alone: {name} has the largest {value}, and is {apart}.",
        does,
        f"Of the {len(among)} not told apart {among_them}.",
    ]


def failures(results: pd.DataFrame) -> list[str]:
    """Return which models failed and why: once what failed in all halves, then the others."""
    halves = results["replicate"].nunique()
    groups = dict[tuple[str, int], list[str]]()
    failed = results[results["error"] != ""]
    for model, errors in failed.groupby("model", sort=False)["error"]:
        groups.setdefault((str(errors.iloc[0]), len(errors)), []).append(str(model))
    return [
        f"{', '.join(models)} failed in {'all' if n == halves else f'{n} of'} {halves} "
        f"halves: {error}"
        for (error, n), models in sorted(groups.items(), key=lambda each: -each[0][1])
    ]


def notes(results: pd.DataFrame) -> dict[str, list[str]]:
    """Return each warning of the fits once, with its models; its numbers may differ."""
    first: dict[str, str] = {}
    said: dict[str, list[str]] = {}
    for model, text in zip(results["model"], results["notes"], strict=True):
        for line in filter(None, text.split("\n")):
            models = said.setdefault(first.setdefault(NUMBER.sub("#", line), line), [])
            models += [model] * (model not in models)
    return said


# the page


def write_page(path: Path, found: Sequence[Advice], lines: Sequence[str]) -> None:
    """Write the page of a comparison, one HTML file that needs no network.

    Parameters
    ----------
    path : path
        The file is written whole or not at all.
    found : list of Advice
        On each data set.
    lines : list of str
        What was compared, and how.
    """
    legend = f"{LEGEND} {UNADJUSTED}"
    sections = [{"advice": each, "pictures": _pictures(each)} for each in found]
    page: dict[str, Any] = {"sections": sections, "lines": lines, "legend": legend}
    write(path, render("page_of_comparison.html", __package__, **page))


def _pictures(each: Advice) -> list[dict[str, str]]:
    if each.found["half"].notna().sum() < 2:
        return []
    title = METRICS[each.metric]
    best = each.found.index[0]
    caption = (
        f"Paired differences in {title} to {best} on the same halves, with 95 % "
        "intervals. Orange lies below 0; blue is not told apart."
    )
    return [image("differences", differences(each), caption)]


def differences(each: Advice) -> Figure:
    """Return a picture of the paired differences to the best model, with their intervals."""
    others = each.found[each.found["half"].notna()].iloc[1:]
    figure, ax = plt.subplots(
        figsize=(7, 1.2 + 0.27 * len(others)), layout="constrained"
    )
    place = np.arange(len(others))
    colors = list(np.where(others["worse"], MINORITY, MAJORITY))
    low = others["difference"] - others["half"]
    high = others["difference"] + others["half"]
    ax.hlines(place, low, high, color=colors, linewidth=2)
    ax.scatter(others["difference"], place, color=colors, s=26, zorder=3)
    ax.axvline(0.0, color=PRIOR, linewidth=1)
    ax.set_yticks(place, list(others.index), parse_math=False)
    ax.set_ylim(len(others) - 0.5, -0.5)
    ax.set_xlabel(f"{METRICS[each.metric]} minus that of {each.found.index[0]}")
    return figure
