"""Which groups differ most from the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .common import MAJORITY, PRIOR, axes_of, short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..estimators.bayesian import Bayesian

MOST_GROUPS = 30


def plot_groups(est: Bayesian, most: int = MOST_GROUPS, ax: Axes | None = None) -> Axes:
    """Show how far the centres of groups lie from the population's.

    A point is the ``distance`` of ``est.groups_`` in standard deviations within groups,
    a line its 90 % interval, and the number behind a name is that of its rows.

    Parameters
    ----------
    est : estimator
        Fitted with ``group_centres=True``.
    most : int, default=30
        How many groups are shown, those that differ most.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    AttributeError
        The fit has one centre for all rows.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> patient = np.repeat(np.arange(20), 5)
    >>> X = 3.0 * rng.normal(size=(20, 2))[patient] + rng.normal(size=(100, 2))
    >>> est = bsvdd.BSVDD(group_centres=True).fit(X, groups=patient)
    >>> ax = bsvdd.plots.plot_groups(est, most=10)
    """
    table = est.groups_.iloc[:most][::-1]
    ax = axes_of(ax, 5.0, 0.8 + 0.24 * len(table))
    place = np.arange(len(table))
    ax.hlines(place, table["low"], table["high"], color=PRIOR, linewidth=1.5)
    ax.plot(table["distance"], place, "o", color=MAJORITY, markersize=5)
    names = [
        f"{short(name)} ({n})"
        for name, n in zip(table.index, table["rows"], strict=True)
    ]
    ax.set_yticks(place, names, fontsize=8, parse_math=False)
    ax.set_xlim(left=0.0)
    if (n := len(est.groups_)) > len(table):
        ax.set_title(f"the {len(table)} of {n} groups that differ most", fontsize=9)
    ax.set_xlabel("distance from the population, in sd within groups")
    return ax
