"""The bandwidth criteria on the pairwise distances of the rows."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

from ...models.kernels import bandwidth
from .common import MAJORITY, MINORITY

MAX_ROWS = 2000  # of whose pairs the histogram is made


def plot_bandwidths(X: Any, used: float | None = None, dimensions: int | None = None) -> Figure:
    """Show the bandwidth of each criterion, and the log density that "likelihood" maximizes.

    The bandwidths are on a histogram of the pairwise distances of X. The second panel has the mean
    leave-one-out log density of the rows for all bandwidths between its bounds.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Majority rows, in the coordinates of the kernel: ``kernel.inputs(rows)``.
    used : float, optional
        The bandwidth of a fit, shown as a broken line.
    dimensions : int, optional
        Number of columns that "likelihood" counts, where several coordinates are made from one:
        ``kernel.dimensions`` of :class:`bsvdd.kernels.Tabular`.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        A criterion needs more rows, or rows that differ more.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> figure = plots.plot_bandwidths(X)
    """
    X = np.asarray(X, dtype=float)
    bandwidths = {name: bandwidth.resolve(name, X, dimensions) for name in bandwidth.CRITERIA}
    names = sorted(bandwidths, key=lambda name: bandwidths[name])
    distances = pdist(X[:MAX_ROWS])
    figure, axes = plt.subplot_mosaic(
        [["distances", "density"], ["criteria", "density"]],
        figsize=(11, 4.8),
        layout="constrained",
        width_ratios=(3, 2),
        height_ratios=(2, 3),
    )
    ax, dots, curve = axes["distances"], axes["criteria"], axes["density"]
    ax.hist(distances, bins=60, color=MAJORITY, alpha=0.35)
    ax.set(ylabel="pairs", title="Distances of two rows, and the bandwidth of each criterion")
    place, s = np.arange(len(names)), np.array([bandwidths[name] for name in names])
    dots.hlines(place, 0, s, color="#dddddd", linewidth=1, zorder=1)
    dots.scatter(s, place, color=MINORITY, s=26, zorder=3)
    dots.set_yticks(place, [f"{name}: {bandwidths[name]:.3g}" for name in names])
    dots.set_ylim(len(names) - 0.4, -0.6)
    dots.set_xlabel("bandwidth s, and distance")
    for each in (ax, dots):
        each.set_xlim(0, 1.05 * max(distances.max(), s.max(), used or 0.0))
        each.spines[["top", "right"]].set_visible(False)
    grid, log_density = bandwidth.log_density(X, dimensions)
    curve.plot(grid, log_density, color=MAJORITY)
    curve.axvline(bandwidths["likelihood"], color=MINORITY, linewidth=1)
    curve.set(xlabel="bandwidth s", title="Leave-one-out log density of the rows")
    if used is not None:
        ax.set_ylim(top=1.25 * ax.get_ylim()[1])  # room for the label above the bars
        for each in (ax, dots, curve):
            each.axvline(used, color="#222222", linestyle="--", linewidth=1.6)
        ax.annotate(
            f"used: s = {used:.3g}",
            (used, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(4, -4),
            textcoords="offset points",
            va="top",
            weight="bold",
        )
    return figure
