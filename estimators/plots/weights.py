"""The largest weights of the centre."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..fitted import require_one_fit
from .common import MAJORITY, MINORITY, axes_of, short


def plot_weights(est: Any, most: int = 25, prob: float = 0.9, ax: Axes | None = None) -> Axes:
    """Show the largest weights, by posterior mean of ``|w|``, with their posterior intervals.

    Parameters
    ----------
    est : fitted description
    most : int, default=25
        Number of weights to show.
    prob : float, default=0.9
        Probability of the outer interval; the inner interval has probability 0.5.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        The estimator has no weights with draws, or joins several fits.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> ax = plots.plot_weights(BDD().fit(X), most=10)
    """
    require_one_fit(est, "weight")
    tree = est.idata_
    w = tree["posterior"]["w"].to_numpy()
    w = w.reshape(-1, w.shape[-1])
    points = np.sort(np.argsort(-np.abs(w).mean(axis=0), kind="stable")[:most])
    ends = [(1 - prob) / 2, 0.25, 0.5, 0.75, (1 + prob) / 2]
    low, lower, median, upper, high = np.quantile(w[:, points], ends, axis=0)
    index, names = np.arange(len(points)), point_names(tree["constant_data"], w.shape[1])
    minority = points >= est.gram_.m
    colors = np.where(minority, MINORITY, MAJORITY)
    ax = axes_of(ax, 8.0, 3.6)
    ax.vlines(index, low, high, color=colors, linewidth=1)
    ax.vlines(index, lower, upper, color=colors, linewidth=3)
    for label, which, color in (
        ("majority", ~minority, MAJORITY),
        ("minority", minority, MINORITY),
    ):
        if which.any():
            ax.scatter(index[which], median[which], s=18, color=color, label=label, zorder=3)
    ax.axhline(0, color="#999999", linewidth=0.8)
    ax.set_xticks(index, [names[j] for j in points], fontsize=8, rotation=90, parse_math=False)
    selection = f"the {len(points)} largest of {w.shape[1]} weights"
    ax.set(ylabel="weight $w_j$", title=f"{type(est).__name__}: {selection}")
    if minority.any():
        ax.legend(frameon=False, fontsize=8)
    return ax


def point_names(constant: Any, n: int) -> list[str]:
    """Return the name of each of n points: that of its only row, or its own number."""
    place = constant["point_of_row"].to_numpy()
    rows = constant["name"].to_numpy() if "name" in constant else np.arange(len(place))
    alone = np.bincount(place[place >= 0], minlength=n) == 1
    names = {int(j): rows[i] for i, j in enumerate(place) if j >= 0 and alone[j]}
    return [f"row {short(names[j])}" if j in names else f"point {j}" for j in range(n)]
