"""The posterior of a pair of weights."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from scipy.stats import gaussian_kde

from .common import MAJORITY, MINORITY, FittedDescription, plain, point_names, require_center

STEPS = 80  # of the grid, in each direction
SMOOTH = 1.6
MOST_DRAWS = 4000  # that the density estimate uses


def plot_weights_pair(
    est: FittedDescription, points: tuple[int, int] | None = None, prob: float = 0.9
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
    require_center(est)
    w = est.idata_.children["posterior"].dataset["w"].values
    w = w.reshape(-1, w.shape[-1])
    if len(w) < 3:
        raise ValueError(
            f"{est!r} has {len(w)} draw(s) of the weights and no posterior to show; use BDD, BDDM, "
            "BSVDD or BSVDDM with draws"
        )
    if not 0.5 < prob < 1:
        raise ValueError(f"prob must lie between 0.5 and 1, without 0.5 and 1, got {prob!r}")
    chosen = _largest(w) if points is None else tuple(points)
    known = range(w.shape[1])
    if len(chosen) != 2 or chosen[0] == chosen[1] or not all(j in known for j in chosen):
        raise ValueError(
            f"points must be two different points from 0 to {w.shape[1] - 1}, got {points!r}"
        )
    pair = w[np.linspace(0, len(w) - 1, min(len(w), MOST_DRAWS)).astype(int)][:, list(chosen)].T
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


def _largest(w: np.ndarray) -> tuple[int, int]:
    """Return the two points with the largest mean of ``|w|``, in ascending order."""
    i, j = np.sort(np.argsort(-np.abs(w).mean(axis=0), kind="stable")[:2])
    return int(i), int(j)
