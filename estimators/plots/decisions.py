"""Decisions on new rows by two fits: before and after another prior, cutoff, weights or batches."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from ..fitted import require_description
from .common import MAJORITY, MINORITY, PRIOR, axes_of, boxes_for_letters, short

NAMED = 15  # rows that are named
LINE = 0.042  # height of a name, of that of the axes
ASIDE = 1.06  # P(normal) at which names begin


def plot_decisions(before: Any, after: Any, Z: Any, ax: Axes | None = None) -> Axes:
    """Show P(normal) of new rows by two fits, and which rows change their decision.

    A row is normal right of, or above, the line at .5. Of the rows that change, the 15 whose
    P(normal) changes most are named.

    Parameters
    ----------
    before, after : fitted descriptions
        Such as ``est`` and ``est.with_prior(prior)``, ``est.with_cutoff(cutoff)``, or a fit with
        weights or batches.
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
    first, last = before.decision(Z), after.decision(Z)
    p = np.column_stack([each["probability_normal"].to_numpy() for each in (first, last)])
    was, now = (each["normal"].to_numpy(bool) for each in (first, last))
    ax = axes_of(ax, 6.6, 5.4)
    for label, members, color in (
        ("as before", was == now, PRIOR),
        ("now abnormal", was & ~now, MINORITY),
        ("now normal", ~was & now, MAJORITY),
    ):
        style: dict[str, Any] = {"s": 20, "color": color, "alpha": 0.7}
        ax.scatter(*p[members].T, label=f"{label}: {members.sum()}", **style)
    for line in (ax.axhline, ax.axvline):
        line(0.5, color="#333333", linestyle="--", linewidth=1.2)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="#333333", linewidth=0.6, alpha=0.4)
    ax.set(aspect="equal", xlabel="P(normal), before", ylabel="P(normal), after")
    ax.set_title(f"{(was != now).sum()} of {len(p)} rows change their decision", loc="left")
    changed = np.flatnonzero(was != now)
    largest = changed[np.argsort(-np.abs(p[changed, 1] - p[changed, 0]), kind="stable")[:NAMED]]
    _name(ax, p, largest, first.index)
    ax.legend(loc="upper left", bbox_to_anchor=(0.0, -0.18), ncols=3, frameon=False, fontsize=8)
    return ax


def _name(ax: Axes, p: np.ndarray, rows: np.ndarray, names: Any) -> None:
    """Write the names of rows on the right side, one below the other, with lines to the points."""
    rows = rows[np.lexsort((-p[rows, 0], p[rows, 1]))]
    place = LINE * np.arange(len(rows))
    y = place + np.maximum.accumulate(p[rows, 1] - place)  # a line apart, and the highest inside
    y = np.minimum(y, 1.0 - place[::-1])
    line: dict[str, Any] = {"arrowstyle": "-", "color": PRIOR, "linewidth": 0.6, "shrinkA": 2}
    line |= {"shrinkB": 2, "relpos": (0.0, 0.5)}  # from the left end of a name
    style: dict[str, Any] = {"parse_math": False, "fontsize": 8, "va": "center"}
    with boxes_for_letters():
        for row, height in zip(rows, y, strict=True):
            name = short(names[row])
            ax.annotate(name, p[row], (ASIDE, height), arrowprops=line, **style)
