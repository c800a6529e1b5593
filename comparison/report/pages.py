"""What all pages share: figures as PNG beside one HTML file, tables with a verdict, heat maps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...estimators.report import pages
from ...estimators.report.pages import Figures, png, save
from .table import LEGEND, as_html, full, number

__all__ = ["Figures", "Section", "heat_map", "save", "write"]


@dataclass(frozen=True, eq=False)
class Section:
    """A table whose last column may be a verdict, and the tables that it is made from."""

    table: pd.DataFrame
    details: dict[str, pd.DataFrame] = field(default_factory=dict)


def write(folder: Path, page: str, template: str, figures: Figures, **values: Any) -> Path:
    """Write a page, then its figures as PNG into ``folder``; return the page's path.

    Parameters
    ----------
    folder : path
    page : str
        Name of the file.
    template : str
        Name of the template in this package.
    figures : dict
        Figures and captions by name; the template shows them with the macro ``figure``.
    values
        Values of the template's variables; ``as_html``, ``full``, ``number`` and ``legend`` are
        there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = {name: png(figure) for name, (figure, _) in figures.items()}
    images = {name: pages.image(name, content[name], text) for name, (_, text) in figures.items()}
    shared = {"as_html": as_html, "full": full, "number": number, "legend": LEGEND}
    save(folder / page, pages.render(template, images, __package__, **shared | values))
    for name, image in content.items():
        save(folder / f"{name}.png", image)
    return folder / page


def heat_map(
    values: pd.DataFrame, size: tuple[float, float], said: Callable[[float], str], **style: Any
) -> tuple[Figure, Axes]:
    """Return a figure of a table in colours, with its values in words; NaN is grey."""
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    color = plt.get_cmap(style.pop("cmap")).with_extremes(bad="#cccccc")
    image = ax.imshow(np.ma.masked_invalid(values), cmap=color, aspect="auto", **style)
    for (i, j), value in np.ndenumerate(values.to_numpy()):
        dark = np.mean(image.to_rgba(value)[:3]) < 0.5
        shade = "white" if dark else "black"
        ax.text(j, i, said(value), ha="center", va="center", fontsize=8, color=shade)
    names: dict[str, Any] = {"fontsize": 8, "parse_math": False}
    ax.set_xticks(range(values.shape[1]), values.columns, rotation=45, ha="right", **names)
    ax.set_yticks(range(len(values)), values.index, **names)
    return figure, ax
