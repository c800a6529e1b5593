"""Prior and posterior of the quantities that describe the weights and the distances."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullLocator

from ...inference.density import proper
from ..questions.summary import of_groups
from .common import MAJORITY, PRIOR, Fitted

LABELS = {
    "effective_support": "effective number of support points",
    "largest_weight": "largest weight",
    "minority_total": "total of the minority weights",
    "squared_norm": "squared norm of the centre",
    "typical_distance": "median distance of the majority",
    "radius": "radius of the sphere",
}


def plot_prior_check(est: Fitted) -> Figure:
    """Compare the prior and the posterior of the quantities of ``est.summary()``.

    Each panel has two histograms of one quantity, as shares of the draws. Where prior and
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
        The prior is improper, or the model has no posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_prior_check(est)
    """
    groups = of_groups(est)
    proper(est.fit_.prior.draws)
    names = list(groups["prior"])
    figure, axes = plt.subplots(
        1, len(names), figsize=(3.5 * len(names), 3.0), squeeze=False, layout="constrained"
    )
    for ax, name in zip(axes.ravel(), names, strict=True):
        bins = _set_scale(ax, np.concatenate([v[name] for v in groups.values()]))
        for color, (label, of_group) in zip((PRIOR, MAJORITY), groups.items(), strict=True):
            share = np.full(len(of_group[name]), 1 / len(of_group[name]))
            ax.hist(of_group[name], bins, weights=share, alpha=0.6, color=color, label=label)
        ax.set(xlabel=LABELS[name], yticks=[])
        ax.spines[["left", "right", "top"]].set_visible(False)
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    figure.suptitle(f"{type(est).__name__}: what the data made of the prior", fontsize="medium")
    return figure


def _set_scale(ax: Axes, draws: np.ndarray) -> np.ndarray:
    """Return bins for ``draws``; values of different orders of magnitude get a log scale."""
    if not draws.max() > 10 * draws.min() > 0:
        ax.xaxis.set_major_locator(MaxNLocator(4))
        return np.histogram_bin_edges(draws, bins=40)
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter("{x:g}")
    ax.xaxis.set_minor_locator(NullLocator())
    return np.geomspace(draws.min(), draws.max(), 41)
