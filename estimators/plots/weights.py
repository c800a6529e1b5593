"""The weights of the centre: the largest, the posterior of a pair, and prior beside posterior."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from scipy.stats import gaussian_kde

from ...inference.density import proper
from ..detector import Detector
from ..summary import of_groups
from .common import (
    MAJORITY,
    MINORITY,
    PRIOR,
    plain,
    point_names,
    require_center,
    row_classes,
)

STEPS = 80  # of the grid, in each direction
SMOOTH = 1.6
MOST_DRAWS = 4000  # that the density estimate uses
LABELS = {
    "effective_support": "effective number of support points",
    "largest_weight": "largest weight",
    "minority_total": "total of the minority weights",
    "squared_norm": "squared norm of the centre",
    "typical_distance": "median distance of the majority",
}


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


def plot_weights_pair(
    est: Detector, points: tuple[int, int] | None = None, prob: float = 0.9
) -> Figure:
    """Show the joint posterior of two weights, P(w_i, w_j | data), with its mode.

    The density is a Gaussian kernel estimate from the draws. The lines enclose the regions of
    highest density with the probabilities 0.5 and ``prob``.

    Parameters
    ----------
    est : fitted Bayesian estimator
    points : tuple of two int, optional
        The dictionary points i and j. Default: the two with the largest posterior mean of ``|w|``.
    prob : float, default=0.9
        Probability within the outer line, between 0.5 and 1.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane or no posterior, the points are not two different points of the
        dictionary, a weight is the same in all draws, or ``prob`` is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> figure = plots.plot_weights_pair(BDD().fit(X), (3, 7))
    """
    w = require_center(est).draws.weights
    if len(w) < 3:
        raise ValueError(
            f"{est!r} has {len(w)} draw(s) of the weights and no posterior to show; use BDD, BDDM, "
            "BSVDD or BSVDDM with draws"
        )
    if not 0.5 < prob < 1:
        raise ValueError(f"prob must lie between 0.5 and 1, without 0.5 and 1, got {prob!r}")
    chosen = _largest(w, 2).tolist() if points is None else list(points)
    known = range(w.shape[1])
    if len(chosen) != 2 or chosen[0] == chosen[1] or not all(j in known for j in chosen):
        raise ValueError(
            f"points must be two different points from 0 to {w.shape[1] - 1}, got {points!r}"
        )
    pair = w[np.linspace(0, len(w) - 1, min(len(w), MOST_DRAWS)).astype(int)][:, chosen].T
    if np.ptp(pair, axis=1).min() == 0:
        raise ValueError(f"weight {chosen[np.ptp(pair, axis=1).argmin()]} is the same in all draws")
    # wider than Scott's rule, so that lines show the shape and not single draws
    density = gaussian_kde(pair, lambda kde: SMOOTH * kde.scotts_factor())
    x, y = (np.linspace(v.min(), v.max(), STEPS) for v in pair)
    on_grid = density(np.stack([g.ravel() for g in np.meshgrid(x, y)])).reshape(STEPS, STEPS)
    row, column = np.unravel_index(on_grid.argmax(), on_grid.shape)
    at_draws = density(pair)
    levels = np.quantile(at_draws, [1 - prob, 0.5])
    figure, ax = plt.subplots(figsize=(4.8, 4.2), layout="constrained")
    ax.scatter(pair[0], pair[1], s=3, color=MAJORITY, alpha=0.15, linewidths=0)
    ax.contour(x, y, on_grid, levels=levels, colors=MAJORITY, linewidths=[1.0, 1.6])
    mode = (x[column], y[row])
    ax.plot(*mode, marker="+", color=MINORITY, markersize=12, markeredgewidth=2, linestyle="")
    names, (i, j) = point_names(est), chosen
    ax.set(
        xlabel=f"weight of {plain(names[i])}",
        ylabel=f"weight of {plain(names[j])}",
        title=f"{type(est).__name__}: mode at ({mode[0]:.3g}, {mode[1]:.3g})",
    )
    return figure


def _largest(w: np.ndarray, most: int) -> np.ndarray:
    """Return the points with the largest mean of ``|w|`` over the draws, in ascending order."""
    return np.sort(np.argsort(-np.abs(w).mean(axis=0), kind="stable")[:most])


def plot_prior_check(est: Detector) -> Figure:
    """Compare the prior and the posterior of the quantities of ``est.summary()``.

    Each panel has two densities of one quantity, by ``az.plot_prior_posterior``. Where prior and
    posterior agree, the data say nothing about the quantity. A small effective number of support
    points means that the weights have collapsed on a few points.

    Parameters
    ----------
    est : fitted Bayesian estimator

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The prior is improper, the draws are the user's own, or the model has no posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_prior_check(est)
    """
    import arviz as az

    if est.fit_.learned.is_own:
        raise ValueError("the draws are your own, so their prior has no draws here to show")
    groups = of_groups(est.fit_)
    proper(est.fit_.prior)
    tree = {
        name: xr.Dataset({LABELS[k]: (("chain", "draw"), v[None]) for k, v in of_group.items()})
        for name, of_group in groups.items()
    }
    panels = az.plot_prior_posterior(
        xr.DataTree.from_dict(tree),
        backend="matplotlib",
        figure_kwargs={"figsize": (3.5 * len(groups["prior"]), 3.0), "layout": "constrained"},
        cols=["__variable__"],
        col_wrap=len(groups["prior"]),
        color=[PRIOR, MAJORITY],
    )
    figure = panels.viz["figure"].item()
    figure.suptitle(f"{type(est).__name__}: what the data made of the prior", fontsize="medium")
    return figure
