"""The page of the guidelines: findings with their evidence, and figures."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator, StrMethodFormatter
from matplotlib.transforms import Bbox

from ..run.studies import Plan
from . import pages
from .findings import METRICS, model_rows
from .guidelines import all_findings
from .paired import Ranking, scenario_means
from .table import LEGEND, html

# where a label can stand beside its point: offset in points, and the side that is aligned
PLACES = [
    ((dx, dy), side)
    for dy in (0, 7, -7, 14, -14, 21, -21, 28, -28)
    for dx, side in ((6, "left"), (-6, "right"))
]


def write(folder: Path, plan: Plan, results: dict[str, pd.DataFrame]) -> Path:
    """Write guidelines.html and its figures into ``folder``; return the page.

    Parameters
    ----------
    folder : path
    plan : Plan
    results : dict
        Results of each study of the plan, by name.
    """
    sections, rankings = all_findings(plan, results)
    figures: pages.Figures = {
        f"critical_difference_{metric}": (
            critical_difference(ranking),
            f"Mean ranks by {METRICS[metric]} over {len(ranking.values)} settings, 1 is best. "
            "Models joined by a bar do not differ significantly (Nemenyi's test at 0.05).",
        )
        for metric, ranking in rankings.items()
    }
    figures["overview"] = (
        overview(model_rows(results[plan.main.name])),
        "Mean G-mean of each model (column) in each setting (row). Grey: no result, because the "
        "model needs minority rows and the setting has none, or its fits failed.",
    )
    figures["time"] = (
        against_time(sections["Time"][0].evidence),
        "Mean G-mean over the settings with labelled minority rows, of models with a result in "
        "each, against the median time of a fit, tuning included.",
    )
    return pages.write(
        folder,
        "guidelines.html",
        "guidelines.html",
        figures,
        plan=plan,
        sections=sections,
        tables={name: html(table) for name, table in results.items()},
        legend=LEGEND,
    )


def critical_difference(ranking: Ranking) -> Figure:
    """Show mean ranks; a bar joins models that do not differ significantly."""
    from scikit_posthocs import critical_difference_diagram

    k = len(ranking.ranks)
    figure, ax = plt.subplots(figsize=(8, 1.2 + 0.22 * k), layout="constrained")
    critical_difference_diagram(
        ranking.ranks,
        ranking.nemenyi,
        ax=ax,
        label_fmt_left="{label} ({rank:.1f})",
        label_fmt_right="({rank:.1f}) {label}",
    )
    return figure


def overview(results: pd.DataFrame) -> Figure:
    """Show the mean G-mean, scenarios x models."""
    values = scenario_means(results, "g_mean")
    figure, ax = plt.subplots(
        figsize=(3.0 + 0.42 * values.shape[1], 1.6 + 0.26 * len(values)), layout="constrained"
    )
    masked = np.ma.masked_invalid(values)
    color = plt.get_cmap("viridis").with_extremes(bad="#cccccc")
    image = ax.imshow(masked, vmin=0, vmax=1, cmap=color, aspect="auto")
    for (i, j), value in np.ndenumerate(masked.filled(np.nan)):
        if not np.isnan(value):
            ax.text(
                j,
                i,
                f"{value:.2f}".removeprefix("0"),
                ha="center",
                va="center",
                fontsize=8,
                color="white" if value < 0.6 else "black",
            )
    ax.set_xticks(
        range(values.shape[1]),
        values.columns,
        rotation=45,
        ha="right",
        fontsize=8,
        parse_math=False,
    )
    ax.set_yticks(range(len(values)), values.index, fontsize=8, parse_math=False)
    figure.colorbar(image, ax=ax, label="G-mean", shrink=0.6)
    return figure


def against_time(table: pd.DataFrame) -> Figure:
    """Show G-mean against the time of a fit, both from the evidence of :func:`.guidelines.cost`."""
    table = table[["median fit, s", "mean G-mean"]].dropna()
    figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
    ax.plot(*table.to_numpy().T, "o", color="#0072B2")
    ax.set(xscale="log", xlabel="median time of a fit, s", ylabel="mean G-mean")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.margins(x=0.2, y=0.1)
    figure.draw_without_rendering()  # places and sizes are then those of the finished axes
    _label(ax, table)
    return figure


def _label(ax: Axes, table: pd.DataFrame) -> None:
    """Write the index beside its points, each where it covers no point and no other label."""
    taken = [Bbox.from_bounds(x - 4, y - 4, 8, 8) for x, y in ax.transData.transform(table)]
    for name, *at in table.itertuples():
        for offset, side in PLACES:
            label = ax.annotate(
                str(name),
                (at[0], at[1]),
                offset,
                textcoords="offset points",
                ha=side,
                va="center",
                fontsize=9,
                parse_math=False,
            )
            box = label.get_window_extent()
            if not any(box.overlaps(other) for other in taken) or offset == PLACES[-1][0]:
                taken.append(box)
                break
            label.remove()
