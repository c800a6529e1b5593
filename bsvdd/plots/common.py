"""Colours and helpers that plots share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

# safe for colour-blind readers (Okabe and Ito 2008)
MAJORITY = "#0072B2"
MINORITY = "#D55E00"
PRIOR = "#999999"
LENGTH = 16  # characters of the name of a row in a picture
FAR_ROWS = 5.0  # times the surprise of most rows, beyond which an axis is logarithmic
P_NORMAL = LinearSegmentedColormap.from_list(
    "p_normal", ["#EBA77C", "#F7F4EF", "#8FBFDD"]
)


def plain(text: object) -> str:
    """Return a text of the user such that matplotlib draws it as it is, and no mathtext."""
    return str(text).replace("$", r"\$")


def short(text: object, length: int = LENGTH) -> str:
    """Return a text on one line, of at most so many characters: its middle is left out."""
    line = " ".join(str(text).split())
    end = (length - 1) // 2
    return line if len(line) <= length else f"{line[: length - 1 - end]}…{line[-end:]}"


@contextmanager
def boxes_for_letters() -> Iterator[None]:
    """Draw a letter that no font has as a box, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the axes that were given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    return plt.subplots(figsize=(width, height), layout="constrained")[1]


def panels(n: int, most: int, width: float, height: float) -> np.ndarray:
    """Return n axes (n,) of a new figure with at most so many beside each other."""
    columns = min(most, n)
    shape = -(-n // columns), columns
    size = columns * width, shape[0] * height
    how: dict[str, Any] = {"squeeze": False, "layout": "constrained"}
    axes = plt.subplots(*shape, figsize=size, **how)[1].ravel()
    for ax in axes[n:]:
        ax.set_visible(False)
    return np.asarray(axes[:n])


def figure_of(axes: Any) -> Figure:
    """Return the figure of the axes that a plot returns."""
    return np.ravel(axes)[0].figure


def label_rows(ax: Axes, names: Any) -> None:
    """Label the x axis, on which row j is at j, with the user's names of the rows."""
    names = np.asarray(names)
    if np.array_equal(names, np.arange(len(names))):
        return
    ticks: Any = MaxNLocator(nbins=12, integer=True).tick_values(0, len(names) - 1)
    places = [round(place) for place in ticks.tolist() if 0 <= place < len(names)]
    texts = [plain(short(names[place])) for place in places]
    turned: dict[str, Any] = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(places, texts, **(turned if max(map(len, texts)) > 4 else {}))


def surprise_axis(ax: Axes, surprise: Any) -> None:
    """Make the axis y logarithmic above most surprises, if some are far larger."""
    finite = np.asarray(surprise, dtype=float)
    finite = finite[np.isfinite(finite)]
    near = max(float(np.quantile(np.abs(finite), 0.9)), 1.0) if len(finite) else 1.0
    if finite.max(initial=0.0) > FAR_ROWS * near:
        ax.set_yscale("symlog", linthresh=2.0 * near, linscale=2.0)
        ax.yaxis.set_major_formatter("{x:,g}")


def by_class(minority: np.ndarray) -> dict[str, tuple[np.ndarray, str]]:
    """Return which rows are of each class, and its colour, by its name."""
    return {"majority": (~minority, MAJORITY), "minority": (minority, MINORITY)}


def points(
    ax: Axes, x: np.ndarray, y: np.ndarray, classes: Mapping[str, Any], **style: Any
) -> None:
    """Draw points, in the colour of each class that has some."""
    for label, (members, color) in classes.items():
        if np.any(members):
            ax.scatter(
                x[members], y[members], color=color, label=label, **{"s": 12, **style}
            )
