"""The picture of the explorer: the plane of the rows, and the panels of two views."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass
from functools import cache
from typing import Any, Self

import numpy as np
import scipy
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator
from sklearn.decomposition import PCA

from ..estimators.bayesian import Bayesian
from ..estimators.plots.common import (
    MAJORITY,
    MINORITY,
    P_NORMAL,
    draw_margin,
    margin_bins,
    row_classes,
    show_probability,
)
from ..inference.diagnostics import MIN_SUPPORT
from ..models.kernels import Tabular
from .state import GRID, View

MARGIN = 0.22  # space around the rows, as a share of their range
FAR = 2.0  # widths of the middle 90 % beyond which a row lies outside the picture
BARS = 60  # weights that are shown one by one
MARK, MANY = 6.0, 400  # size of a row's mark; more rows of a class have smaller marks
MOST_TICKED = 180  # points up to which the axis of effective support has room for all its ticks
BEFORE = "#8A8A8A"
INK = "#333333"
LIGHT_MAJORITY, LIGHT_MINORITY = "#8FBFDD", "#EBA77C"
CHOSEN = "#FFD400"
OF_BEFORE: dict[str, Any] = {"color": BEFORE, "linestyle": "--", "linewidth": 1.4}
WIDTH, HEIGHT, PINNED_HEIGHT = 1120, 680, 860  # pixels
NEAR = 22.0  # pixels from a row within which a click is on it
Box = tuple[float, float, float, float]  # left, bottom, width, height as shares of the picture
PLANES = ("plane", "pinned plane")  # a click on one of them chooses a row
BOXES: dict[str, Box] = {
    "plane": (0.055, 0.16, 0.385, 0.77),
    "distance": (0.51, 0.60, 0.205, 0.33),
    "support": (0.775, 0.60, 0.205, 0.33),
    "weights": (0.51, 0.17, 0.47, 0.27),
}
PINNED_BOXES: dict[str, Box] = {
    "pinned plane": (0.055, 0.48, 0.425, 0.48),
    "plane": (0.555, 0.48, 0.425, 0.48),
    "distance": (0.055, 0.13, 0.26, 0.24),
    "support": (0.365, 0.13, 0.24, 0.24),
    "weights": (0.68, 0.13, 0.30, 0.24),
}
_drawing = threading.Lock()  # matplotlib's caches of fonts and formulas are for one thread


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane through the rows: their two columns, or their first two principal components.

    Attributes
    ----------
    center : ndarray of shape (p,)
        A point of the plane, in the coordinates (x - shift) / scale.
    axes : ndarray of shape (2, p)
        Orthonormal directions, in the same coordinates.
    shift, scale : ndarray of shape (p,)
        Mean and standard deviation of a column, or 0 and 1. A column of categories has its most
        frequent category, and no direction.
    low, high : ndarray of shape (2,)
        The smallest and the largest coordinates of the picture.
    xy : ndarray of shape (n, 2)
        The rows, projected onto the plane; those outside the picture are on its edge.
    names : list of str
        Names of the two axes.
    caption : str
        How to read the plane.
    """

    center: np.ndarray
    axes: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    low: np.ndarray
    high: np.ndarray
    xy: np.ndarray
    names: list[str]
    caption: str

    @classmethod
    def of(cls, est: Bayesian) -> Self:
        """Return the plane of the training rows of ``est``, in the units of its kernel."""
        X, kernel = est.fit_.data.rows, est.kernel_
        p, categorical = X.shape[1], list(kernel.categorical_columns)
        numbers = np.delete(np.arange(p), categorical)
        center, shift, scale, axes = np.zeros(p), np.zeros(p), np.ones(p), np.zeros((2, p))
        shift[categorical] = scipy.stats.mode(X[:, categorical]).mode
        if isinstance(kernel, Tabular):
            shift[numbers] = [column.mean for column in kernel.numbers or ()]
            scale[numbers] = [column.sd or 1.0 for column in kernel.numbers or ()]
        Z = (X - shift) / scale
        caption = "P(normal | data) over the columns of X."
        if len(numbers) <= 2:
            columns = getattr(est, "feature_names_in_", range(p))
            unit = " (sd)" if isinstance(kernel, Tabular) else ""
            names = [f"column {columns[f]}{unit}" for f in numbers] + [""] * 2
            axes[range(len(numbers)), numbers] = 1.0
        else:
            pca = PCA(2, svd_solver="full").fit(Z[:, numbers])
            center[numbers], axes[:, numbers] = pca.mean_, pca.components_
            share = pca.explained_variance_ratio_
            names = [f"principal component {i + 1} ({share[i]:.0%})" for i in range(2)]
            caption = (
                "P(normal | data) on the plane of the first two principal components, through the "
                f"mean of the rows ({share.sum():.0%} of the variance). The rows are projected "
                "onto this plane: a row inside the boundary may lie far from the plane, and be "
                "abnormal."
            )
        if categorical:
            caption += " The plane has the most frequent category of each column of categories."
        xy = (Z - center) @ axes.T
        low, high = _limits(xy)
        outside = int(((xy < low) | (xy > high)).any(axis=1).sum())
        if outside:
            caption += f" Rows outside the picture, drawn on its edge: {outside}."
        xy = xy.clip(low, high)
        return cls(center, axes, shift, scale, low, high, xy, names[:2], caption)

    @property
    def ticks(self) -> np.ndarray:
        """The two coordinates of the grid, (2, GRID)."""
        return np.linspace(self.low, self.high, GRID).T

    def grid(self) -> np.ndarray:
        """Return the points of the grid as rows, (GRID^2, p)."""
        on_plane = np.stack(np.meshgrid(*self.ticks), axis=-1).reshape(-1, 2)
        rows: np.ndarray = (self.center + on_plane @ self.axes) * self.scale + self.shift
        return rows


def _limits(xy: np.ndarray) -> np.ndarray:
    """Return the smallest and the largest coordinates of the picture, (2, 2).

    A few rows that lie far away would leave the others a corner of it.
    """
    low, high = np.quantile(xy, [0.05, 0.95], axis=0)
    width = np.where(high > low, high - low, np.inf)  # of equal rows none is far
    low = np.maximum(xy.min(axis=0), low - FAR * width)
    high = np.minimum(xy.max(axis=0), high + FAR * width)
    space = MARGIN * np.where(high > low, high - low, 1.0)
    return np.stack([low - space, high + space])


def draw(plane: Plane, view: View, before: View | None, pinned: bool = False) -> bytes:
    """Return the picture as PNG.

    Parameters
    ----------
    plane : Plane
    view : View
    before : View, optional
        The view that ``view`` is compared with.
    pinned : bool, default=False
        Whether ``before`` is pinned: its plane then stands left of that of ``view``, on the same
        axes.
    """
    title = "Decision boundary, and P(normal | data) in colour"
    with _drawing:
        canvas, axes = _canvas(pinned)
        for ax in axes.values():  # axes and ticks take long to make anew
            for artist in (*ax.images, *ax.collections, *ax.lines, *ax.patches):
                artist.remove()
            ax.relim()
            ax.autoscale()
        canvas.figure.legends.clear()
        if pinned and before is not None:
            _plane(axes["pinned plane"], plane, before, None, "Pinned setting")
            title = "This setting (dashed: boundary of the pinned one)"
        _plane(axes["plane"], plane, view, before, title)
        _margin(axes["distance"], view, before)
        _support(axes["support"], view, before)
        _weights(axes["weights"], view, before)
        _legend(canvas.figure, view, before, "pinned setting" if pinned else "setting before")
        out = io.BytesIO()
        canvas.print_png(out, pil_kwargs={"compress_level": 1})
    return out.getvalue()


def row_at(plane: Plane, x: float, y: float, pinned: bool = False) -> int | None:
    """Return the row at a place of the picture, or None if there is none.

    Parameters
    ----------
    plane : Plane
    x, y : float
        Shares of the width and height, from the upper left corner.
    pinned : bool, default=False
        As the picture was drawn.
    """
    boxes, height = (PINNED_BOXES, PINNED_HEIGHT) if pinned else (BOXES, HEIGHT)
    for name in PLANES[: 1 + pinned]:
        left, bottom, wide, tall = boxes[name]
        share = np.array([(x - left) / wide, (1.0 - y - bottom) / tall])
        if (share < 0).any() or (share > 1).any():
            continue
        of_rows = (plane.xy - plane.low) / (plane.high - plane.low)
        distance = np.linalg.norm((of_rows - share) * [wide * WIDTH, tall * height], axis=1)
        nearest = int(distance.argmin())
        return nearest if distance[nearest] <= NEAR else None
    return None


@cache
def _canvas(pinned: bool) -> tuple[FigureCanvasAgg, dict[str, Axes]]:
    height, boxes = (PINNED_HEIGHT, PINNED_BOXES) if pinned else (HEIGHT, BOXES)
    figure = Figure(figsize=(WIDTH / 100, height / 100), dpi=100, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    axes = {name: figure.add_axes(box) for name, box in boxes.items()}
    for name, ax in axes.items():
        ax.tick_params(labelsize=10)
        ax.spines[["top", "right"]].set_visible(False)
        ax.yaxis.set_visible(name not in ("distance", "support"))
    bar = figure.add_axes((0.84, 22 / height, 0.14, 14 / height))
    colors = ScalarMappable(Normalize(0, 1), P_NORMAL)
    figure.colorbar(colors, cax=bar, orientation="horizontal", ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=10, length=2, pad=2)
    bar.set_ylabel("P(normal)", fontsize=10, rotation=0, ha="right", va="center")
    return canvas, axes


def _plane(ax: Axes, plane: Plane, view: View, before: View | None, title: str) -> None:
    x1, x2 = plane.ticks
    show_probability(ax, view.p, (x1[0], x1[-1], x2[0], x2[-1]))
    if before is not None:
        ax.contour(x1, x2, before.score, [0.0], colors=BEFORE, linewidths=1.4, linestyles="--")
    ax.contour(x1, x2, view.score, [0.0], colors=INK, linewidths=1.8)
    for members, color, marker, label in row_classes(view.minority):
        size = MARK * min(1.0, max(0.4, (MANY / members.sum()) ** 0.5))
        edge = "white" if label == "majority" else "black"
        ax.plot(*plane.xy[members].T, marker, color=color, ms=size, mec=edge, mew=0.1 * size)
    z = plane.xy[view.state.row]
    ax.plot(*z, "*", color=CHOSEN, ms=15, mec="black", mew=0.9, zorder=5, clip_on=False)
    ax.set_xlabel(plane.names[0], fontsize=11, parse_math=False)
    ax.set_ylabel(plane.names[1], fontsize=11, parse_math=False)
    ax.set_title(title, fontsize=11, loc="left", y=1.0)


def _margin(ax: Axes, view: View, before: View | None) -> None:
    bins = margin_bins(np.concatenate([v.margin for v in (view, before) if v is not None]))
    draw_margin(ax, view.margin, bins)
    if before is not None:
        ax.stairs(np.histogram(before.margin, bins, density=True)[0], bins, **OF_BEFORE)
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.ticklabel_format(axis="x", useOffset=False)
    ax.set_xlabel("D_opt - d_z of each draw\nright of 0: within the cutoff", fontsize=10)
    p = view.decision["probability_normal"]
    title = f"z: {view.name}, {view.class_name}; P(normal) {p:.2f}"
    ax.set_title(title, fontsize=10, loc="left", y=1.0, parse_math=False)


def _support(ax: Axes, view: View, before: View | None) -> None:
    M = max(v.weights.shape[1] for v in (view, before) if v is not None)
    bins = np.linspace(0.0, np.log10(M), 41)  # of the logarithm, as a log axis is slow to draw

    def bars(draws: np.ndarray, **style: Any) -> None:
        inside = np.clip(np.log10(draws), bins[0], bins[-1])  # rounding can cross the ends
        ax.stairs(np.histogram(inside, bins)[0] / len(draws), bins, **style)

    if before is not None:
        bars(before.support, **OF_BEFORE)
    if len(view.prior_support):
        bars(view.prior_support, color=INK, linewidth=1.2)
    bars(view.support, fill=True, color=MAJORITY, alpha=0.75)
    ax.axvspan(0.0, np.log10(min(MIN_SUPPORT, M / 4)), color=MINORITY, alpha=0.13, linewidth=0)
    ax.set_xlim(0.0, np.log10(M))
    numbers = (1, 2, 5, 10, 20, 50, 100) if M <= MOST_TICKED else (1, 5, 20, 100, 500, 2000)
    ticks = [t for t in numbers if t <= M]
    ax.set_xticks(np.log10(ticks), [str(t) for t in ticks])
    ax.set_xlabel("outline prior, filled posterior", fontsize=10)
    ax.set_title("Effective support points", fontsize=11, loc="left", y=1.0)


def _weights(ax: Axes, view: View, before: View | None) -> None:
    n0, M = view.est.gram_.n_majority_points, view.weights.shape[1]
    for part, color, light in (
        (slice(0, n0), MAJORITY, LIGHT_MAJORITY),
        (slice(n0, M), MINORITY, LIGHT_MINORITY),
    ):
        x, (mean, low, high) = np.arange(M)[part], view.weights[:, part]
        order = np.argsort(-mean, kind="stable")
        if len(x) <= BARS:
            ax.vlines(x, low[order], high[order], color=light, linewidth=2.0)
            ax.plot(x, mean[order], ".", color=color, markersize=7)
        else:  # more bars than can be told apart
            ax.fill_between(x, low[order], high[order], color=light, linewidth=0, step="mid")
            ax.plot(x, mean[order], color=color, linewidth=2.0)
        if before is not None and before.est.gram_.n_majority_points == n0:
            mean = np.sort(before.weights[0][part])[::-1]
            ax.plot(x[: len(mean)], mean[: len(x)], **OF_BEFORE)
    ax.axhline(0.0, color="#999999", linewidth=0.8)
    ax.axhline(1.0 / n0, color=INK, linewidth=0.8, linestyle=":")
    ax.set_xlim(-0.01 * M - 1, 1.01 * M)
    after = f", minority from {n0}" if n0 < M else ""
    ax.set_xlabel(f"points, the heaviest first{after}\n(dotted: equal weights 1/{n0})", fontsize=10)
    ax.set_title("Weights: posterior mean and 90 % interval", fontsize=11, loc="left", y=1.0)


def _legend(figure: Figure, view: View, before: View | None, name_before: str) -> None:
    handles = [
        Line2D([], [], marker=marker, color=color, label=label, linestyle="")
        for _, color, marker, label in row_classes(view.minority)
    ]
    star: dict[str, Any] = {"marker": "*", "linestyle": "", "mec": "black", "mew": 0.8, "ms": 11}
    handles += [
        Line2D([], [], color=CHOSEN, label="z", **star),
        Line2D([], [], color=INK, linewidth=1.8, label="boundary, this setting"),
    ]
    if before is not None:
        handles.append(Line2D([], [], label=name_before, **OF_BEFORE))
    place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0.05, 0.005)}
    figure.legend(handles=handles, ncols=5, frameon=False, fontsize=10, **place)
