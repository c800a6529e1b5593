"""What draws are: margins and P(normal) of rows, and the largest weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from ..estimators.checks import require_description, require_one_fit
from .common import (
    DARK,
    MAJORITY,
    MINORITY,
    PRIOR,
    axes_of,
    by_class,
    legend_below,
    name_beside,
    panels,
    scatter,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..estimators.description import Description
    from ..estimators.protocols import LeavesOut

MARGIN_BINS = 40  # of a histogram of margins
MOST_MARGIN_BINS = 400  # with the way to 0
MOST_NAMED = 15  # rows with a name


def plot_margin(
    est: LeavesOut,
    X: ArrayLike | None = None,
    names: Sequence[object] | None = None,
    *,
    rows: Sequence[int] | np.ndarray | None = None,
) -> np.ndarray:
    """Show the margins of rows in each draw, with one panel for each row.

    The area right of 0 is P(normal).

    Parameters
    ----------
    est : fitted description
    X : array-like of shape (n, p), optional
        A few rows.
    names : sequence, optional
        Titles of the panels. Default: the index of X, or the names of the training
        rows.
    rows : sequence of int, optional
        Positions of training rows in place of X, each left out. Default: the first
        three.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (n,)

    Raises
    ------
    ValueError
        The number of names is not the number of rows; ``rows`` are no positions.
    TypeError
        The estimator has no draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> axes = plots.plot_margin(BDD().fit(X), X[:2] + 0.1, ["one row", "another"])
    """
    require_description(est, "margin")
    margins = est.margins(X)
    if X is None:
        known = est.decision().index
        which = _positions(rows, len(known))
        margins = margins[:, which]
        index = known[which]
    else:
        index = X.index if isinstance(X, pd.DataFrame) else range(margins.shape[1])
    titles = [f"row {short(name)}" for name in index] if names is None else list(names)
    if len(titles) != len(index):
        raise ValueError(
            f"names must have one entry for each of {len(index)} rows, got "
            f"{len(titles)}"
        )
    axes = panels(len(titles), 3, 3.4, 2.5)
    for ax, title, of_row in zip(axes, titles, margins.T, strict=True):
        draw_margins(ax, of_row)
        said = f"{title}: P(normal) = {(of_row >= 0.0).mean():.2f}"
        ax.set_title(said, fontsize=10, parse_math=False)
    return axes


def _positions(rows: Sequence[int] | np.ndarray | None, n: int) -> np.ndarray:
    """Return the positions of training rows, by default the first three of n."""
    which = np.arange(min(3, n)) if rows is None else np.atleast_1d(rows)
    if which.dtype.kind not in "iu" or not ((which >= 0) & (which < n)).all():
        raise ValueError(
            f"rows must be positions of training rows, 0 to {n - 1}, got {rows!r}"
        )
    return which


def draw_margins(
    ax: Axes, margins: np.ndarray, before: np.ndarray | None = None
) -> None:
    """Draw the histogram of the margins of a row, and the outline of those before."""
    both = margins if before is None else np.concatenate([margins, before])
    low, high = np.quantile(both[np.isfinite(both)], [0.0, 1.0])
    # 0 is shown, and may be far away
    first = min(low, 0.0)
    last = max(high, 0.0)
    width = max((high - low) / MARGIN_BINS, (last - first) / MOST_MARGIN_BINS) or 1.0
    bins = width * np.arange(np.floor(first / width), np.ceil(last / width) + 1)

    def heights(values: np.ndarray) -> np.ndarray:
        return np.histogram(np.clip(values, bins[0], bins[-1]), bins, density=True)[0]

    height = heights(margins)
    normal = bins[:-1] >= 0.0
    for part, color in ((normal, MAJORITY), (~normal, MINORITY)):
        ax.stairs(part * height, bins, fill=True, color=color, alpha=0.6)
    if before is not None:
        ax.stairs(heights(before), bins, color=PRIOR, linewidth=1.4)
    ax.axvline(0.0, color=DARK, linewidth=1.4)
    ax.set(xlabel="margin; right of 0: within the cutoff", yticks=[])
    ax.xaxis.set_major_locator(MaxNLocator(4))
    ax.xaxis.set_major_formatter("{x:.3g}")


def plot_decisions(
    before: LeavesOut,
    after: LeavesOut,
    Z: ArrayLike,
    ax: Axes | None = None,
) -> Axes:
    """Show P(normal) of new rows by two fits, and which rows change their decision.

    A row is normal right of, or above, the line at .5. Of the rows that change, the 15
    whose P(normal) changes most are named.

    Parameters
    ----------
    before, after : fitted descriptions
        Such as ``est`` and ``est.with_prior(prior)``, ``est.with_cutoff(cutoff)``, or a
        fit with weights or groups.
    Z : array-like of shape (m, p)
        New rows, that both take.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        An estimator has no P(normal).
    ValueError
        As ``decision`` of the fits.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, cutoffs, plots
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> est = SVDD().fit(X[:60])
    >>> ax = plots.plot_decisions(est, est.with_cutoff(cutoffs.FalseAlarm(0.3)), X[60:])
    """
    for est in (before, after):
        require_description(est, "P(normal)")
    both = [before.decision(Z), after.decision(Z)]
    p = np.column_stack([each["probability_normal"] for each in both])
    was, now = (each["normal"].to_numpy(bool) for each in both)
    ax = axes_of(ax, 6.6, 5.4)
    for label, members, color in (
        ("as before", was == now, PRIOR),
        ("now abnormal", was & ~now, MINORITY),
        ("now normal", ~was & now, MAJORITY),
    ):
        label = f"{label}: {members.sum()}"
        x, y = p[members].T
        ax.scatter(x, y, label=label, s=20, color=color, alpha=0.7)
    for line in (ax.axhline, ax.axvline):
        line(0.5, color=DARK, linestyle="--", linewidth=1.2)
    ax.plot([0.0, 1.0], [0.0, 1.0], color=DARK, linewidth=0.6, alpha=0.4)
    ax.set(aspect="equal", xlabel="P(normal), before", ylabel="P(normal), after")
    changed = np.flatnonzero(was != now)
    ax.set_title(f"{len(changed)} of {len(p)} rows change their decision", loc="left")
    order = np.argsort(-np.abs(p[changed, 1] - p[changed, 0]), kind="stable")
    rows = changed[order[:MOST_NAMED]]
    name_beside(ax, p, {row: short(both[0].index[row]) for row in rows})
    legend_below(ax, 3)
    return ax


def plot_weights(
    est: Description, most: int = 25, prob: float = 0.9, ax: Axes | None = None
) -> Axes:
    """Show the largest weights, by posterior mean of ``|w|``, with their intervals.

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
    largest = np.sort(np.argsort(-np.abs(w).mean(axis=0), kind="stable")[:most])
    ends = [(1 - prob) / 2, 0.25, 0.5, 0.75, (1 + prob) / 2]
    low, lower, median, upper, high = np.quantile(w[:, largest], ends, axis=0)
    index = np.arange(len(largest))
    names = est.gram_.names
    minority = largest >= est.gram_.m
    colors = np.where(minority, MINORITY, MAJORITY)
    ax = axes_of(ax, 8.0, 3.6)
    ax.vlines(index, low, high, color=colors, linewidth=1)
    ax.vlines(index, lower, upper, color=colors, linewidth=3)
    scatter(ax, index, median, by_class(minority), s=18, zorder=3)
    ax.axhline(0, color=PRIOR, linewidth=0.8)
    ticks = [short(names[j]) for j in largest]
    ax.set_xticks(index, ticks, fontsize=8, rotation=90, parse_math=False)
    selection = f"the {len(largest)} largest of {w.shape[1]} weights"
    ax.set(ylabel="weight $w_j$", title=f"{type(est).__name__}: {selection}")
    if minority.any():
        ax.legend(frameon=False, fontsize=8)
    return ax
