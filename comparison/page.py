"""The page of ``bsvdd compare``: what to take on one's own data, and why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..estimators.atomic import write
from ..estimators.plots.common import MAJORITY, MINORITY, PRIOR
from ..estimators.report import image, render
from .advice import UNADJUSTED, Advice
from .table import LEGEND, METRICS


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
    title, best = METRICS[each.metric], each.found.index[0]
    caption = (
        f"Paired differences in {title} to {best} on the same halves, with 95 % intervals. Orange "
        "lies below 0; blue is not told apart."
    )
    return [image("differences", differences(each), caption)]


def differences(each: Advice) -> Figure:
    """Return a picture of the paired differences to the best model, with their intervals."""
    others = each.found[each.found["half"].notna()].iloc[1:]
    figure, ax = plt.subplots(figsize=(7, 1.2 + 0.27 * len(others)), layout="constrained")
    place = np.arange(len(others))
    colors = list(np.where(others["worse"], MINORITY, MAJORITY))
    low, high = others["difference"] - others["half"], others["difference"] + others["half"]
    ax.hlines(place, low, high, color=colors, linewidth=2)
    ax.scatter(others["difference"], place, color=colors, s=26, zorder=3)
    ax.axvline(0.0, color=PRIOR, linewidth=1)
    ax.set_yticks(place, list(others.index), parse_math=False)
    ax.set_ylim(len(others) - 0.5, -0.5)
    ax.set_xlabel(f"{METRICS[each.metric]} minus that of {each.found.index[0]}")
    return figure
