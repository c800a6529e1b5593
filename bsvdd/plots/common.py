"""Colours and helpers that plots share."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.ticker import MaxNLocator

from ..base.messages import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# safe for colour-blind readers (Okabe and Ito 2008)
MAJORITY = "#0072B2"
MINORITY = "#D55E00"
PRIOR = "#999999"
DARK = "#333333"
LONGEST_NAME = 16  # characters of the name of a row in a picture
FAR_ROWS = 5.0  # times the surprise of most rows, beyond which an axis is logarithmic
NAME_HEIGHT = 13.0  # points of a name beside the axes, and room
NAME_START = 1.015  # where it begins, of their width
P_NORMAL = LinearSegmentedColormap.from_list(
    "p_normal", ["#EBA77C", "#F7F4EF", "#8FBFDD"]
)

Classes = Mapping[str, tuple[np.ndarray, str]]  # by name, which rows, and their colour


def plain(text: object) -> str:
    """Return a text that matplotlib draws as it is, and not as mathtext."""
    return str(text).replace("$", r"\$")


def short(text: object, length: int = LONGEST_NAME) -> str:
    """Return a text on one line, without its middle if it is longer than ``length``."""
    return shortened(" ".join(str(text).split()), length)


@contextmanager
def boxes_for_letters() -> Iterator[None]:
    """Draw a letter that no font has as a box, without a warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def axes_of(ax: Axes | None, width: float, height: float) -> Axes:
    """Return the given axes, or new ones of this size in inches."""
    return panels(1, 1, width, height)[0] if ax is None else ax


def panels(n: int, most: int, width: float, height: float) -> np.ndarray:
    """Return n axes (n,) of a new figure, at most ``most`` beside each other."""
    columns = min(most, n)
    lines = -(-n // columns)
    figure = plt.figure(figsize=(columns * width, lines * height), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False)
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    return np.asarray(axes.flat[:n])


def figure_of(axes: Axes | np.ndarray) -> Figure:
    """Return the figure of the axes that a plot returns."""
    return np.asarray(axes).flat[0].figure


def label_rows(ax: Axes, names: Sequence[object] | np.ndarray) -> None:
    """Label the x axis, on which row j is at j, with the user's names of the rows."""
    names = np.asarray(names)
    if np.array_equal(names, np.arange(len(names))):
        return
    ticks = MaxNLocator(nbins=12, integer=True).tick_values(0, len(names) - 1)
    rows = [round(tick) for tick in ticks if 0 <= tick < len(names)]
    texts = [plain(short(names[row])) for row in rows]
    ax.set_xticks(rows, texts)
    if max(map(len, texts)) > 4:
        plt.setp(ax.get_xticklabels(), rotation=45, ha="right", rotation_mode="anchor")


def legend_below(ax: Axes, columns: int) -> None:
    """Draw the legend below the axes."""
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, -0.18),
        ncols=columns,
        frameon=False,
        fontsize=8,
    )


def by_class(minority: np.ndarray) -> Classes:
    """Return which rows are of each class, and its colour, by its name."""
    return {"majority": (~minority, MAJORITY), "minority": (minority, MINORITY)}


def scatter(
    ax: Axes,
    x: np.ndarray,
    y: np.ndarray,
    classes: Classes,
    s: float = 12.0,
    **style: Any,
) -> None:
    """Draw rows in the colour of their class; the legend has classes with rows."""
    for label, (of_class, color) in classes.items():
        if np.any(of_class):
            ax.scatter(x[of_class], y[of_class], s, color=color, label=label, **style)


def draw_surprises(ax: Axes, surprise: np.ndarray, classes: Classes) -> None:
    """Draw the surprise of each row in the colour of its class.

    The axis y is logarithmic above most surprises, if some are far larger.
    """
    scatter(ax, np.arange(len(surprise)), surprise, classes)
    ax.set(xlabel="row", ylabel="surprise; above 0: beyond the cutoff")
    finite = surprise[np.isfinite(surprise)]
    near = max(float(np.quantile(np.abs(finite), 0.9)), 1.0) if len(finite) else 1.0
    if finite.max(initial=0.0) > FAR_ROWS * near:
        ax.set_yscale("symlog", linthresh=2.0 * near, linscale=2.0)
        ax.yaxis.set_major_formatter("{x:,g}")


def name_beside(ax: Axes, points: np.ndarray, names: Mapping[int, str]) -> None:
    """Write names of rows below each other beside the axes, with lines to the rows.

    Limits and scales of the axes must be final; ``points`` are (n, 2).
    """
    rows = np.array([*names], dtype=int)
    fraction = ax.transAxes.inverted().transform(ax.transData.transform(points[rows]))
    order = np.lexsort((-fraction[:, 0], fraction[:, 1]))
    rows = rows[order]
    height = fraction[order, 1]
    points_high = 72.0 * ax.get_window_extent().height / ax.figure.dpi
    step = NAME_HEIGHT / points_high * np.arange(len(rows))
    # a step apart, and the highest inside
    y = step + np.maximum.accumulate(height - step)
    y = np.minimum(y, 1.0 - step[::-1])
    line = {
        "arrowstyle": "-",
        "color": PRIOR,
        "linewidth": 0.6,
        "relpos": (0.0, 0.5),  # from the left end of a name
    }
    with boxes_for_letters():
        for row, place in zip(rows, y, strict=True):
            ax.annotate(
                names[row],
                points[row],
                (NAME_START, place),
                textcoords="axes fraction",
                arrowprops=line,
                annotation_clip=False,
                parse_math=False,
                fontsize=8,
                va="center",
            )
