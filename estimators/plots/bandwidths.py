"""The bandwidth criteria on the pairwise distances of the rows."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.spatial.distance import pdist

from ...models import bandwidth
from .common import MAJORITY, MINORITY

MAX_ROWS = 2000  # of whose pairs the histogram is made


def plot_bandwidths(X: Any) -> Figure:
    """Show the bandwidth of each criterion, and the log density that "likelihood" maximizes.

    The bandwidths are on a histogram of the pairwise distances of X. The second panel has the mean
    leave-one-out log density of the rows for all bandwidths between its bounds.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Majority rows, in the coordinates of the kernel: ``kernel.inputs(rows)``.

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
    bandwidths = {name: bandwidth.resolve(name, X) for name in bandwidth.CRITERIA}
    distances = pdist(X[:MAX_ROWS])
    figure, (ax, curve) = plt.subplots(
        1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=(3, 2)
    )
    ax.hist(distances, bins=80, density=True, color=MAJORITY, alpha=0.35)
    top = ax.get_ylim()[1]
    for i, (name, s) in enumerate(sorted(bandwidths.items(), key=lambda item: item[1])):
        height = top * (1.05 + 0.09 * i)
        ax.plot([s, s], [0, height], color=MINORITY, linewidth=1)
        ax.annotate(
            f"{name}: s = {s:.3g}",
            (s, height),
            xytext=(4, -4),
            textcoords="offset points",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    ax.set_ylim(0, top * (1.15 + 0.09 * len(bandwidths)))
    ax.set_xlim(0, 1.05 * max(distances.max(), *bandwidths.values()))
    ax.set(xlabel="distance of two rows", ylabel="density", title="Bandwidth criteria")
    grid, log_density = bandwidth.log_density(X)
    curve.plot(grid, log_density, color=MAJORITY)
    curve.axvline(bandwidths["likelihood"], color=MINORITY, linewidth=1)
    curve.set(xlabel="bandwidth s", title="Leave-one-out log density of the rows")
    return figure
