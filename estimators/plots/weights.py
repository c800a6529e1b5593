"""The largest weights of the centre."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..detector import Detector
from .common import (
    point_names,
    require_center,
    row_classes,
)


def plot_weights(est: Detector, most: int = 25, prob: float = 0.9) -> Figure:
    """Show the largest weights, by posterior mean of ``|w|``, with their posterior intervals.

    Parameters
    ----------
    est : fitted estimator
    most : int, default=25
        Number of weights to show.
    prob : float, default=0.9
        Probability of the outer interval; the inner interval has probability 0.5.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane and no distance from a centre.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_weights(est, most=10)
    """
    w = require_center(est).draws.weights
    points = _largest(w, most)
    probabilities = [(1 - prob) / 2, 0.25, 0.5, 0.75, (1 + prob) / 2]
    low, lower_quartile, median, upper_quartile, high = np.quantile(
        w[:, points], probabilities, axis=0
    )
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    index = np.arange(len(points))
    for members, color, marker, label in row_classes(points >= est.gram_.n_majority_points):
        x = index[members]
        ax.vlines(x, low[members], high[members], color=color, linewidth=1)
        ax.vlines(x, lower_quartile[members], upper_quartile[members], color=color, linewidth=3)
        ax.scatter(x, median[members], s=18, color=color, marker=marker, label=label, zorder=3)
    ax.axhline(0, color="#999999", linewidth=0.8)
    names = point_names(est)
    ax.set_xticks(index, [names[j] for j in points], fontsize=8, rotation=90, parse_math=False)
    selection = f"the {len(points)} largest of {w.shape[1]}"
    support = est.fit_.diagnostics["effective_support"]
    ax.set(
        ylabel="weight $w_j$",
        title=f"{type(est).__name__}: {selection}; effective support points {support:.1f}",
    )
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def _largest(w: np.ndarray, most: int) -> np.ndarray:
    """Return the points with the largest mean of ``|w|`` over the draws, in ascending order."""
    return np.sort(np.argsort(-np.abs(w).mean(axis=0), kind="stable")[:most])
