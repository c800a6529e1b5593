"""What a prior says before the data, behind what its posterior says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import gaussian_kde

from ..estimators.posterior_checks import have_same_draws, prior_and_posterior
from .common import MAJORITY, PRIOR, panels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from ..estimators.bayesian import Bayesian

STEPS = 160  # of a density
MOST_DENSITY_DRAWS = 500
SAME = 1e-9  # of values whose range, as a share of the largest, is no range
QUANTITIES = (
    "effective support: rows that carry weight",
    "similarity of rows near the cutoff to the centre",
)


def plot_prior_posterior(est: Bayesian, before: Bayesian | None = None) -> np.ndarray:
    """Show what the prior says before the data, and the posterior after them.

    The effective support is the number of rows in effect that carry weight. The
    similarity is the mean over rows near the cutoff.

    Parameters
    ----------
    est : fitted estimator with a posterior
    before : fitted estimator with a posterior, optional
        Such as the one that ``est.with_prior`` was asked of; it is grey.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,)
        An improper prior has no density.

    Raises
    ------
    TypeError
        The estimator has no draws of one fit.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots, priors
    >>> est = BDD().fit(np.random.default_rng(0).normal(size=(50, 2)))
    >>> other = est.with_prior(priors.EqualWeights(sd=0.5))
    >>> axes = plots.plot_prior_posterior(other, before=est)
    """
    axes = panels(2, 2, 4.4, 3.0)
    draw_prior_posterior(axes, est, before)
    axes[0].legend(frameon=False, fontsize=8)
    return axes


def draw_prior_posterior(
    axes: Sequence[Axes] | np.ndarray, est: Bayesian, before: Bayesian | None = None
) -> None:
    """Draw the densities of the two quantities on two axes."""
    fits = [(est, MAJORITY, "")]
    if before is not None and not have_same_draws(est, before):
        fits.insert(0, (before, PRIOR, ", before"))
    known = [(prior_and_posterior(each), color, when) for each, color, when in fits]
    for j, (ax, label) in enumerate(zip(axes, QUANTITIES, strict=True)):
        every = np.concatenate([v[j] for draws, *_ in known for v in draws.values()])
        is_log = j == 1 and every.min() > 0.0
        low, high = np.quantile(np.log(every) if is_log else every, [0.002, 0.998])
        space = 0.05 * (high - low) or 1.0
        x = np.linspace(low - space, high + space, STEPS)
        for draws, color, when in known:
            for name, values in draws.items():
                y = _density(np.log(values[j]) if is_log else values[j], x)
                style = "-" if name == "posterior" else "--"
                at = np.exp(x) if is_log else x
                ax.plot(at, y, style, color=color, label=name + when, linewidth=1.5)
                if name == "posterior" and not when:
                    ax.fill_between(at, y, color=color, alpha=0.3, linewidth=0)
        _label(ax, label, is_log, 1.1 + 0.3 * len(known))


def _label(ax: Axes, label: str, is_log: bool, top: float) -> None:
    ax.set(xlabel=label, yticks=[], ylim=(0.0, top))
    if is_log:
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ticks = np.geomspace(low, high, 9)[1:-1:3]
        ax.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
        ax.minorticks_off()


def _density(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return a density at x whose maximum is 1; a spike for equal values."""
    if np.ptp(values) <= SAME * np.abs(values).max():
        return (np.abs(x - values[0]) <= x[1] - x[0]).astype(float)
    y = gaussian_kde(values[:: max(1, len(values) // MOST_DENSITY_DRAWS)])(x)
    return np.asarray(y / max(y.max(), np.finfo(float).tiny))
