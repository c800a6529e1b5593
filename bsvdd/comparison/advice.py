"""Which model to take on one's own data: the ranked models, advice, and its page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import pandas as pd

from ..base.atomic import write
from ..inference.cutoffs import Best, FalseAlarm, resolved
from ..plots.common import MAJORITY, MINORITY, PRIOR, axes_of
from ..plots.report import image, render
from .datasets import Dataset
from .models import needs_labels
from .table import LEGEND, METRIC_TITLES, lead, means, not_told_apart, number, values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..inference.cutoffs import AnyCutoff

# beside the metric of the order
MORE_METRICS = ["found", "ppv", "fpr", "average_precision", "auc"]
TEST_RATIO = 1.0  # rows that test, for each row that trains
MOST_MODELS = 6  # that a sentence names, where it could name the others
SHOWN_WHOLE = 10  # models; of more, the best of each block are shown
BEST_OF_BLOCK = 3
OWN = "BSVDD", "BSVDD-M"
LABELLED = "of labelled rows"
ONE_CLASS = "of one class"
DIGITS_OF_WARNING = re.compile(r"[\d.]+(e[-+]?\d+)?")
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
        The metric that orders the models. It is the metric that chose their cutoffs,
        or the G-mean if the cutoffs are for a rate of false alarms.
    found : pandas.DataFrame
        The result of :func:`ranked`.
    said : list of str
        What to take, what it is told apart from, and what failed.
    notes : dict of str: list of str
        Each warning of the fits, with its models.

    Examples
    --------
    >>> from bsvdd.comparison import advice, datasets, runner
    >>> wine = datasets.embedded("wine_cultivar3")
    >>> results = runner.compare([wine], ["SVDD"], replicates=2)
    >>> advice.Advice.of(wine, results, cutoff=None).title
    'wine_cultivar3: 178 rows, 13 columns, base rate 0.270'
    """

    data: Dataset
    metric: str
    found: pd.DataFrame
    said: list[str]
    notes: dict[str, list[str]]

    @classmethod
    def of(cls, data: Dataset, results: pd.DataFrame, cutoff: AnyCutoff | None) -> Self:
        """Return the advice on a data set.

        Parameters
        ----------
        data : Dataset
        results : pandas.DataFrame
            May have other data sets too.
        cutoff : FalseAlarm, Best, Cost or Printed, optional
            The cutoff of the models; None for their default.

        Returns
        -------
        Advice
        """
        mine = results[results["data"] == data.name]
        n1 = int((data.minority & data.counts).sum()) // 2
        chosen = resolved(cutoff, n1)
        metric = chosen.metric if isinstance(chosen, Best) else "g_mean"
        order = f"stand in the order of {METRIC_TITLES[metric]}"
        why = f"Cutoffs are those of {chosen!r}; models {order}"
        if isinstance(chosen, Best):
            why = f"Models {order}, which chose their cutoffs"
        elif isinstance(chosen, FalseAlarm):
            rate = f"{chosen.rate:g} false alarms, as {n1} minority rows train"
            why = f"Cutoffs are for {rate}; models {order}"
        why += " (the SVMs decide by their own plane)."
        found = ranked(mine, metric)
        said = [*advice(found, metric), why, *failures(mine)]
        return cls(data, metric, found, said, notes(mine))

    @property
    def title(self) -> str:
        """The data set, its size and its base rate."""
        n, p = self.data.X.shape
        rate = f"base rate {self.data.base_rate:.3f}"
        return f"{self.data.name}: {n} rows, {p} columns, {rate}"

    @property
    def heads(self) -> list[str]:
        """The titles of ``rows``."""
        others = [METRIC_TITLES[m] for m in MORE_METRICS]
        return ["model", METRIC_TITLES[self.metric], "to the best", *others]

    @property
    def blocks(self) -> dict[str, list[list[str]]]:
        """The ``rows`` of one-class models, and of models of labelled rows.

        Of more than ten models the best three of each are shown, BSVDD and BSVDD-M.
        """
        most = len(self.rows) if len(self.rows) <= SHOWN_WHOLE else BEST_OF_BLOCK
        found: dict[str, list[list[str]]] = {ONE_CLASS: [], LABELLED: []}
        for name, row in zip(self.found.index, self.rows, strict=True):
            block = found[LABELLED if _of_labels(name) else ONE_CLASS]
            if len(block) < most or _model(name) in OWN:
                block.append(row)
        return {title: rows for title, rows in found.items() if rows}

    @property
    def rows(self) -> list[list[str]]:
        """The table of the models as texts: mean, paired difference, other means."""
        rows: list[list[str]] = []
        halves = self.found["halves"].max()
        for name, row in self.found.iterrows():
            difference = number(row["difference"]) if rows else ""
            if row["half"] > 0:
                difference += f" ± {row['half']:.3f}{' *' if row['worse'] else ''}"
            n = row["halves"]
            some = f" ({n:.0f} of {halves:.0f})" if n < halves else ""
            numbers = (number(row[m]) for m in MORE_METRICS)
            first = [f"{name}{some}", number(row[self.metric]), difference]
            rows.append([*first, *numbers])
        return rows


def ranked(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the models of one data set, the best first.

    Parameters
    ----------
    results : pandas.DataFrame
        Rows of one data set.
    metric : str
        The metric that orders the models.

    Returns
    -------
    pandas.DataFrame
        For each model the mean of ``metric``, its paired ``difference`` to the best
        with ``half`` of its 95 % interval, ``worse``, ``halves`` with a result, and
        means of other metrics. Models that failed in some half are last, and have no
        difference. Models that failed in all halves are not in the table.
    """
    fitted = results[results["error"] == ""]
    blocks = values_of(fitted, metric, "replicate")
    found = lead(blocks, TEST_RATIO)
    mean = means(fitted, [metric, *MORE_METRICS, "fit_seconds"]).droplevel("data")
    some = mean.drop(index=found.index).sort_values(metric, ascending=False)
    table = mean.loc[[*found.index, *some.index]]
    return table.assign(
        difference=found["difference"],
        half=(found["high"] - found["low"]) / 2.0,
        worse=found["worse"].reindex(table.index, fill_value=False),
        halves=blocks.notna().sum(),
    )


def advice(found: pd.DataFrame, metric: str) -> list[str]:
    """Return what to take, and what it is told apart from, in sentences.

    Parameters
    ----------
    found : pandas.DataFrame
        The result of :func:`ranked`.
    metric : str
        The metric that orders the models.

    Returns
    -------
    list of str
    """
    compared = found[found["difference"].notna()]
    if compared.empty:
        return ["No model has a result in every half, so none is recommended."]
    name = str(compared.index[0])
    best = compared.iloc[0]
    does = (
        f"It finds {best['found']:.2f} of the minority rows and flags "
        f"{best['fpr']:.2f} of the others; {best['ppv']:.2f} of the rows that it flags "
        "are minority."
    )
    value = f"{METRIC_TITLES[metric]} {best[metric]:.3f}"
    if len(compared) == 1:
        return [f"{name}: {value}. {does}"]
    if best["halves"] < 2:
        return [
            f"{name} has the largest {value}. {does} One half tells no models apart: "
            "use more replicates."
        ]
    same = not_told_apart(compared)
    if not same:
        first = [f"Take {name}: {value}, told apart from all others. {does}"]
        return [*first, *_by_labels(compared, metric)]
    return [
        f"No model is the best alone: {name} has the largest {value}, and is "
        f"{_apart(compared, same)}.",
        *_by_labels(compared, metric),
        _trade(compared.loc[[name, *same]]),
    ]


def _model(name: object) -> str:
    """Return the name of a model without that of its prior."""
    return str(name).partition(", ")[0]


def _of_labels(name: object) -> bool:
    """Return whether a model learns from minority rows."""
    return needs_labels(_model(name))


def _by_labels(compared: pd.DataFrame, metric: str) -> list[str]:
    """Return what is the best without labels, where the best model learns from them."""
    name = compared.index[0]
    others = [each for each in compared.index if not _of_labels(each)]
    if not others or not _of_labels(name):
        return []
    value = f"{METRIC_TITLES[metric]} {compared.loc[others[0], metric]:.3f}"
    return [f"It learns from labelled rows; of one class {others[0]} leads ({value})."]


def _apart(compared: pd.DataFrame, same: list[str]) -> str:
    """Return what the best model is and is not told apart from."""
    if len(same) <= MOST_MODELS:
        return f"not told apart from {', '.join(same)}"
    others = len(compared) - 1
    worse = compared.index[compared["worse"]]
    if len(worse):
        return f"told apart only from {', '.join(worse)} of the {others} others"
    return f"not told apart from any of the {others} others"


def _trade(among: pd.DataFrame) -> str:
    """Return which of the models finds most, and which has the largest PPV."""
    finds = among["found"].idxmax()
    if among["ppv"].isna().all():
        return "None of them flags any row."
    sure = among["ppv"].idxmax()
    has = "has" if finds == sure else f"{sure} has"
    return (
        f"Of the {len(among)} not told apart {finds} finds most "
        f"({among['found'].max():.2f}), and {has} the largest PPV "
        f"({among['ppv'].max():.2f})."
    )


def failures(results: pd.DataFrame) -> list[str]:
    """Return which models failed and why, first what failed in all halves.

    Parameters
    ----------
    results : pandas.DataFrame
        Rows of one data set.

    Returns
    -------
    list of str
    """
    halves = results["replicate"].nunique()
    groups: dict[tuple[str, int], list[str]] = {}
    failed = results[results["error"] != ""]
    for model, errors in failed.groupby("model", sort=False)["error"]:
        groups.setdefault((str(errors.iloc[0]), len(errors)), []).append(str(model))
    return [
        f"{', '.join(models)} failed in {'all' if n == halves else f'{n} of'} {halves} "
        f"halves: {error}"
        for (error, n), models in sorted(groups.items(), key=lambda each: -each[0][1])
    ]


def notes(results: pd.DataFrame) -> dict[str, list[str]]:
    """Return each warning of the fits once, whatever its numbers, with its models.

    Parameters
    ----------
    results : pandas.DataFrame

    Returns
    -------
    dict of str: list of str
    """
    first: dict[str, str] = {}
    said: dict[str, list[str]] = {}
    for model, text in zip(results["model"], results["notes"], strict=True):
        for line in filter(None, text.split("\n")):
            models = said.setdefault(
                first.setdefault(DIGITS_OF_WARNING.sub("#", line), line), []
            )
            models += [model] * (model not in models)
    return said


# the page


def write_page(path: Path, found: Sequence[Advice], lines: Sequence[str]) -> None:
    """Write the page of a comparison, one HTML file that needs no network.

    Parameters
    ----------
    path : pathlib.Path
        The file is written whole or not at all.
    found : list of Advice
        The advice on each data set.
    lines : list of str
        What was compared, and how.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    page = render(
        "page_of_comparison.html",
        __package__,
        sections=[{"advice": each, "pictures": _pictures(each)} for each in found],
        lines=lines,
        legend=f"{LEGEND} {UNADJUSTED}",
    )
    write(path, page)


def _pictures(each: Advice) -> list[dict[str, str]]:
    if each.found["half"].notna().sum() < 2:
        return []
    caption = (
        f"Paired differences in {METRIC_TITLES[each.metric]} to {each.found.index[0]} "
        "on the same halves, with 95 % intervals. Orange lies below 0; blue is not "
        "told apart."
    )
    return [image("differences", differences(each), caption)]


def differences(each: Advice) -> Axes:
    """Show the paired differences to the best model, with their intervals.

    Parameters
    ----------
    each : Advice

    Returns
    -------
    matplotlib.axes.Axes
    """
    others = each.found[each.found["half"].notna()].iloc[1:]
    ax = axes_of(None, 7, 1.2 + 0.27 * len(others))
    line = np.arange(len(others))
    colors = list(np.where(others["worse"], MINORITY, MAJORITY))
    middle = others["difference"]
    half = others["half"]
    ax.hlines(line, middle - half, middle + half, color=colors, linewidth=2)
    ax.scatter(middle, line, color=colors, s=26, zorder=3)
    ax.axvline(0.0, color=PRIOR, linewidth=1)
    ax.set_yticks(line, list(others.index), parse_math=False)
    ax.set_ylim(len(others) - 0.5, -0.5)
    ax.set_xlabel(f"{METRIC_TITLES[each.metric]} minus that of {each.found.index[0]}")
    return ax
