"""What the explorer shows of one setting: the numbers of a fitted estimator, and their picture."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from scipy.stats import gaussian_kde

from ..models.kernels import Standardized
from .bayesian import BayesianDescription
from .decision import decisive_distance, probability_normal
from .diagnostics import MIN_SUPPORT, effective_support
from .plots import MAJORITY, MINORITY, show_probability
from .setting import Setting

GRID = 44  # points of the plane along each axis
MARGIN = 0.22  # room around the rows, as a share of their range
KDE_POINTS = 200
BEFORE = "#8A8A8A"
INK = "#333333"
_drawing = threading.Lock()  # matplotlib's caches of fonts and formulas are for one thread


@dataclass(frozen=True, eq=False)
class Plane:
    """The plane that the rows are shown on: their two columns, or principal components.

    Attributes
    ----------
    center : ndarray of shape (p,)
    axes : ndarray of shape (2, p)
        Orthonormal directions, in the coordinates that were analysed.
    shift, scale : ndarray of shape (p,)
        From a row to these coordinates: (x - shift) / scale.
    xy : ndarray of shape (n, 2)
        The rows on the plane.
    names : tuple of str
        Of its two axes.
    share : float
        Of the variance of the rows that lies in the plane.
    """

    center: np.ndarray
    axes: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    xy: np.ndarray
    names: tuple[str, str]
    share: float

    @classmethod
    def of(cls, est: BayesianDescription) -> Self:
        """Return the plane of the training rows of ``est``, in the units of its kernel."""
        X, kernel = est._fit.rows, est.kernel_
        p = X.shape[1]
        shift, scale = np.zeros(p), np.ones(p)
        if isinstance(kernel, Standardized):
            shift, scale = np.array(kernel.mean), np.array(kernel.scale)
        Z = (X - shift) / scale
        if p <= 2:
            columns = [str(c) for c in getattr(est, "feature_names_in_", range(p))]
            unit = " (sd)" if isinstance(kernel, Standardized) else ""
            names = [f"column {c}{unit}" for c in columns] + [""] * (2 - p)
            axes = np.eye(2, p)
            return cls(np.zeros(p), axes, shift, scale, Z @ axes.T, (names[0], names[1]), 1.0)
        center = Z.mean(axis=0)
        _, length, directions = np.linalg.svd(Z - center, full_matrices=False)
        axes = directions[:2]
        largest = np.abs(axes).argmax(axis=1)
        axes = axes * np.sign(axes[np.arange(2), largest])[:, None]  # else the signs are chance
        variance = length**2 / max(float((length**2).sum()), np.finfo(float).tiny)
        first, second = (f"principal component {i + 1} ({variance[i]:.0%})" for i in range(2))
        share = float(variance[:2].sum())
        return cls(center, axes, shift, scale, (Z - center) @ axes.T, (first, second), share)

    @property
    def caption(self) -> str:
        """What is to be known when the plane is read."""
        if len(self.center) <= 2:
            return "P(normal | data) over the columns of X."
        return (
            "P(normal | data) on the plane through the mean of the rows that their first two "
            f"principal components span ({self.share:.0%} of the variance). The rows are projected "
            "onto it: one that lies inside the line may be far from the plane, and abnormal."
        )

    def grid(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the grid's two coordinates, and its points as rows (GRID^2, p)."""
        low, high = self.xy.min(axis=0), self.xy.max(axis=0)
        room = MARGIN * np.where(high > low, high - low, 1.0)
        x1, x2 = (np.linspace(low[i] - room[i], high[i] + room[i], GRID) for i in range(2))
        on_plane = np.stack(np.meshgrid(x1, x2), axis=-1).reshape(-1, 2)
        return x1, x2, (self.center + on_plane @ self.axes) * self.scale + self.shift


@dataclass(frozen=True, eq=False)
class View:
    """What one setting shows.

    Attributes
    ----------
    setting : Setting
    est : BayesianDescription
        Fitted.
    notes : list of str
        The warnings of the fit.
    p, margin : ndarray of shape (GRID, GRID)
        P(normal), and the decisive distance minus D_opt, over the plane.
    d : ndarray of shape (draws,)
        d_z of the chosen row.
    weights : ndarray of shape (3, M)
        Posterior mean of each weight, and its 5 % and 95 % quantiles.
    support, prior_support : ndarray
        Draws of the effective number of support points; the prior may have none.
    counts : ndarray of shape (2, 2)
        Rows by class (majority, minority) and decision when left out (normal, abnormal).
    """

    setting: Setting
    est: BayesianDescription
    notes: list[str]
    p: np.ndarray
    margin: np.ndarray
    d: np.ndarray
    weights: np.ndarray
    support: np.ndarray
    prior_support: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls,
        setting: Setting,
        est: BayesianDescription,
        grid: np.ndarray,
        notes: list[str],
        known: Self | None = None,
    ) -> Self:
        """Return the numbers of a fitted estimator; ``grid`` are the rows of a plane.

        Where ``known`` is of the same estimator, only what the chosen row changes is new.
        """
        found = {name: group.dataset for name, group in est.idata_.children.items()}
        d = found["distance"]["d"].values[..., setting.row].ravel()
        if known is not None and known.est is est:
            return replace(known, setting=setting, d=d)
        on_grid = est._fit.rule.values(grid)
        p = probability_normal(on_grid, est.cutoff_)
        margin = decisive_distance(on_grid, est.level_) - est.cutoff_
        w = found["posterior"]["w"].values
        w = w.reshape(-1, w.shape[-1])
        prior = found["prior"]
        prior_support = effective_support(prior["w"].values) if "w" in prior else np.empty(0)
        minority, left_out = est._fit.minority, found["decision"]["left_out"].values
        abnormal = ~(left_out <= est.cutoff_)
        told = ~np.isnan(left_out)
        return cls(
            setting,
            est,
            notes,
            p.reshape(GRID, GRID),
            margin.reshape(GRID, GRID),
            d,
            np.stack([w.mean(axis=0), *np.quantile(w, [0.05, 0.95], axis=0)]),
            effective_support(w),
            prior_support.ravel(),
            np.array(
                [
                    [(told & members & ~abnormal).sum(), (told & members & abnormal).sum()]
                    for members in (~minority, minority)
                ]
            ),
        )

    @property
    def is_minority(self) -> bool:
        """Whether the chosen row is one."""
        return bool(self.est._fit.minority[self.setting.row])

    @property
    def p_row(self) -> float:
        """P(normal) of the chosen row."""
        return float((self.d <= self.est.cutoff_).mean())


def draw(plane: Plane, view: View, before: View | None) -> bytes:
    """Return the picture as PNG; the setting before is faint in it."""
    with _drawing:
        return _drawn(plane, view, before)


def _drawn(plane: Plane, view: View, before: View | None) -> bytes:
    figure = Figure(figsize=(11.2, 6.6), dpi=90, facecolor="white")
    canvas = FigureCanvasAgg(figure)
    place = {
        "plane": (0.055, 0.16, 0.385, 0.77),
        "distance": (0.51, 0.60, 0.205, 0.33),
        "support": (0.775, 0.60, 0.205, 0.33),
        "weights": (0.51, 0.16, 0.47, 0.30),
    }
    axes = {name: figure.add_axes(where) for name, where in place.items()}
    for ax in axes.values():
        ax.tick_params(labelsize=8)
        ax.spines[["top", "right"]].set_visible(False)
    _plane(axes["plane"], plane, view, before)
    _distance(axes["distance"], view, before)
    _support(axes["support"], view, before)
    _weights(axes["weights"], view, before)
    _legend(figure, view, before)
    out = io.BytesIO()
    canvas.print_png(out, pil_kwargs={"compress_level": 1})
    return out.getvalue()


def _plane(ax: Axes, plane: Plane, view: View, before: View | None) -> None:
    x1, x2, _ = plane.grid()
    image = show_probability(ax, view.p, (x1[0], x1[-1], x2[0], x2[-1]))
    if before is not None:
        ax.contour(x1, x2, before.margin, [0.0], colors=BEFORE, linewidths=1.4, linestyles="--")
    ax.contour(x1, x2, view.margin, [0.0], colors=INK, linewidths=1.8)
    minority = view.est._fit.minority
    for members, color, marker in ((~minority, MAJORITY, "o"), (minority, MINORITY, "^")):
        xy = plane.xy[members]
        ax.plot(*xy.T, marker, color=color, markersize=4.5, mec="white", mew=0.4)
    z = plane.xy[view.setting.row]
    ax.plot(*z, "*", color="#FFD400", markersize=15, mec="black", mew=0.9, zorder=5)
    ax.set_xlabel(plane.names[0], fontsize=9)
    ax.set_ylabel(plane.names[1], fontsize=9)
    ax.set_title("Decision boundary, and P(normal | data) in colour", fontsize=10, loc="left")
    ax.add_patch(
        Rectangle(
            (0.54, 0), 0.46, 0.095, transform=ax.transAxes, color="white", alpha=0.85, zorder=3
        )
    )
    bar = ax.inset_axes((0.70, 0.025, 0.26, 0.022))
    ax.figure.colorbar(image, cax=bar, orientation="horizontal", ticks=[0, 0.5, 1])
    bar.tick_params(labelsize=7, length=2, pad=1, labeltop=True, labelbottom=False)
    bar.xaxis.set_ticks_position("top")
    bar.set_ylabel("P(normal)", fontsize=8, rotation=0, ha="right", va="center")


def _distance(ax: Axes, view: View, before: View | None) -> None:
    ends = [v for v in (view, before) if v is not None]
    low = min(min(v.d.min(), v.est.cutoff_) for v in ends)
    high = max(max(v.d.max(), v.est.cutoff_) for v in ends)
    room = 0.05 * (high - low) or 0.05
    x = np.linspace(low - room, high + room, KDE_POINTS)
    if before is not None:
        ax.plot(x, _density(before.d, x), color=BEFORE, linewidth=1.3, linestyle="--")
        ax.axvline(before.est.cutoff_, color=BEFORE, linestyle=":", linewidth=1.4)
    y, cutoff = _density(view.d, x), view.est.cutoff_
    color = MINORITY if view.is_minority else MAJORITY
    ax.plot(x, y, color=color, linewidth=1.6)
    ax.fill_between(x, y, where=x <= cutoff, color="#8FBFDD", linewidth=0)
    ax.fill_between(x, y, where=x >= cutoff, color="#EBA77C", linewidth=0)
    ax.axvline(cutoff, color=INK, linewidth=1.4)
    ax.set_ylim(bottom=0)
    ax.yaxis.set_visible(False)
    ax.set_xlabel("distance d_z; upright line: D_opt", fontsize=9)
    kind = "minority" if view.is_minority else "majority"
    ax.set_title(
        f"z: row {view.setting.row}, {kind}; P(normal) {view.p_row:.2f}",
        fontsize=9,
        loc="left",
    )


def _density(d: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return the density of the draws at x; the bandwidth is at least a step of x."""
    step = x[1] - x[0]
    sd = d.std()
    if not sd > step:  # narrower than the picture can show: a peak of one step
        return np.exp(-(((x - d.mean()) / step) ** 2) / 2) / (step * np.sqrt(2 * np.pi))
    return gaussian_kde(d[:: max(1, len(d) // 1000)])(x)


def _support(ax: Axes, view: View, before: View | None) -> None:
    M = max(v.weights.shape[1] for v in (view, before) if v is not None)
    bins = np.linspace(0.0, np.log10(M), 41)
    lines: list[tuple[np.ndarray, dict[str, Any]]] = []
    if before is not None:
        lines.append((before.support, {"color": BEFORE, "linestyle": "--", "linewidth": 1.3}))
    if len(view.prior_support):
        lines.append((view.prior_support, {"color": INK, "linewidth": 1.2}))
    for draws, style in lines:
        ax.stairs(_shares(draws, bins), bins, **style)
    ax.stairs(_shares(view.support, bins), bins, fill=True, color=MAJORITY, alpha=0.75)
    ax.axvspan(0.0, np.log10(min(MIN_SUPPORT, M / 4)), color=MINORITY, alpha=0.13, linewidth=0)
    ax.set_xlim(0.0, np.log10(M))  # linear in the logarithm: a log axis takes long to draw
    ticks = [t for t in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000) if t <= M]
    ax.set_xticks(np.log10(ticks), [str(t) for t in ticks])
    ax.yaxis.set_visible(False)
    ax.set_xlabel("outline prior, filled posterior, pale collapsed", fontsize=8)
    ax.set_title("Effective support points", fontsize=9, loc="left")


def _shares(draws: np.ndarray, bins: np.ndarray) -> np.ndarray:
    inside = np.clip(np.log10(draws), bins[0], bins[-1])  # rounding at the ends
    return np.histogram(inside, bins)[0] / len(draws)


def _weights(ax: Axes, view: View, before: View | None) -> None:
    mean, low, high = view.weights
    index, n0 = np.arange(len(mean)), view.est.gram_.n_majority_points
    parts = [(slice(0, n0), MAJORITY, "#8FBFDD"), (slice(n0, None), MINORITY, "#EBA77C")]
    for part, color, light in parts:
        ax.vlines(index[part], low[part], high[part], color=light, linewidth=1.0)
        ax.plot(index[part], mean[part], ".", color=color, markersize=4)
    if before is not None and before.est.gram_.n_majority_points == n0:
        faint = before.weights[0]
        ax.plot(np.arange(len(faint)), faint, "_", color=BEFORE, markersize=5, mew=1.2)
    ax.axhline(0.0, color="#999999", linewidth=0.8)
    ax.axhline(1.0 / n0, color=INK, linewidth=0.8, linestyle=":")
    ax.set_xlim(-0.01 * len(mean) - 1, 1.01 * len(mean))
    after = f"; from {n0} on minority rows" if n0 < len(mean) else ""
    ax.set_xlabel(f"dictionary point (dotted: equal weights 1/{n0}{after})", fontsize=9)
    ax.set_title("Weights: posterior mean and 90 % interval", fontsize=10, loc="left")


def _legend(figure: Figure, view: View, before: View | None) -> None:
    def mark(marker: str, color: str, label: str, **more: Any) -> Line2D:
        return Line2D([], [], marker=marker, color=color, label=label, linestyle="", **more)

    handles = [
        mark("o", MAJORITY, "majority"),
        mark("*", "#FFD400", "z", mec="black", mew=0.8, markersize=11),
        Line2D([], [], color=INK, linewidth=1.8, label="boundary, this setting"),
    ]
    if view.est._fit.minority.any():
        handles.insert(1, mark("^", MINORITY, "minority"))
    if before is not None:
        handles.append(
            Line2D([], [], color=BEFORE, linewidth=1.4, linestyle="--", label="setting before")
        )
    figure.legend(
        handles=handles,
        loc="lower left",
        bbox_to_anchor=(0.05, 0.005),
        ncols=5,
        frameon=False,
        fontsize=9,
    )
