"""Rows by name: their surprises with intervals, and two of their columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..estimators.checks import require_description
from .common import (
    DARK,
    FAR_ROWS,
    MAJORITY,
    MINORITY,
    P_NORMAL,
    PRIOR,
    axes_of,
    boxes_for_letters,
    name_beside,
    plain,
    short,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from ..estimators.protocols import LeavesOut

MOST_NAMED_ROWS = 24
BESIDE = 14  # names beside a scatter plot
CHANGED = "#FFE9B8"  # behind a row whose decision changes


def plot_surprises(
    est: LeavesOut,
    before: LeavesOut | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Show the surprises of training rows by name, with intervals of 90 %.

    Parameters
    ----------
    est : fitted description
        Each training row is left out.
    before : fitted description, optional
        Of the same rows; it is grey, and rows whose decision differs are marked.
    rows : sequence of int, optional
        Positions of rows. Default: the 24 whose decision changes, or is least sure.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    TypeError
        The estimator has no surprises.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, cutoffs, plots
    >>> est = SVDD().fit(np.random.default_rng(0).normal(size=(60, 2)))
    >>> strict = est.with_cutoff(cutoffs.FalseAlarm(0.3))
    >>> ax = plots.plot_surprises(strict, before=est)
    """
    require_description(est, "surprise")
    past = None if before is None else before.decision()
    now = est.decision()
    chosen = least_sure(now, past) if rows is None else np.asarray(rows)
    ax = axes_of(ax, 6.6, 5.0)
    draw_named_surprises(ax, now, past, chosen)
    return ax


def changed(now: pd.DataFrame, before: pd.DataFrame | None) -> np.ndarray:
    """Return the rows whose decision differs, the one that moves most first."""
    if before is None:
        return np.array([], dtype=int)
    found = np.flatnonzero((now["normal"] != before["normal"]).to_numpy())
    P = "probability_normal"
    moved = np.abs(now[P] - before[P]).to_numpy()[found]
    return np.asarray(found[np.argsort(-moved, kind="stable")])


def least_sure(
    now: pd.DataFrame, before: pd.DataFrame | None, most: int = MOST_NAMED_ROWS
) -> np.ndarray:
    """Return the rows that change, then those of P(normal) nearest to .5."""
    doubt = np.abs(now["probability_normal"].to_numpy() - 0.5)
    order = np.argsort(doubt, kind="stable")
    return np.array([*dict.fromkeys([*changed(now, before), *order])][:most])


def draw_named_surprises(
    ax: Axes,
    now: pd.DataFrame,
    before: pd.DataFrame | None,
    rows: np.ndarray,
    focus: int | None = None,
) -> None:
    """Draw rows of decisions, the most surprising at the top."""
    rows = rows[np.argsort(-now["surprise"].to_numpy()[rows], kind="stable")]
    place = np.arange(len(rows))
    columns = ["low", "surprise", "high"]
    ends = [
        each.iloc[rows][columns].to_numpy()
        for each in (now, before)
        if each is not None
    ]
    values = np.concatenate(ends)
    limit = float(np.abs(values[np.isfinite(values)]).max(initial=1.0))
    color = np.where(now["normal"].to_numpy(bool)[rows], MAJORITY, MINORITY)
    for j in np.flatnonzero(np.isin(rows, changed(now, before))):
        ax.axhspan(j - 0.5, j + 0.5, color=CHANGED, linewidth=0)
    if before is not None:
        low, middle, high = np.clip(ends[1], -limit, limit).T
        ax.hlines(place + 0.25, low, high, color=PRIOR, linewidth=1.0)
        ax.scatter(middle, place + 0.25, 14, "white", edgecolors=PRIOR, zorder=3)
    low, middle, high = np.clip(ends[0], -limit, limit).T
    ax.hlines(place, low, high, color=color, linewidth=1.6)
    ax.scatter(middle, place, 20, color, zorder=3)
    ax.axvline(0.0, color=DARK, linewidth=1.0)
    if limit > 4.0 * FAR_ROWS:
        ax.set_xscale("symlog", linthresh=FAR_ROWS, linscale=2.0)
        ax.xaxis.set_major_formatter("{x:,g}")
    with boxes_for_letters():
        names = [short(name) for name in now.index[rows]]
        ax.set_yticks(place, names, fontsize=7.5, parse_math=False)
    for row, label in zip(rows, ax.get_yticklabels(), strict=True):
        label.set_fontweight("bold" if row == focus else "normal")
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(rows) - 0.4, -0.7)
    ax.set_xlabel("← normal     surprise, 0 at the cutoff     abnormal →")


def plot_columns(
    est: LeavesOut,
    columns: Sequence[object],
    before: LeavesOut | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Show two columns of the training rows, coloured by P(normal) of each left out.

    A cross is an abnormal row. Rows whose decision changes, or else the most
    surprising, are named beside the axes.

    Parameters
    ----------
    est : fitted description
    columns : sequence of two names
        Of columns of numbers.
    before : fitted description, optional
        Of the same rows.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        There are not two columns, or the rows lack one of them.
    TypeError
        The estimator has no surprises.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from bsvdd import SVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> est = SVDD().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    >>> ax = plots.plot_columns(est, ["a", "c"])
    """
    require_description(est, "surprise")
    frame = est.table_.measured
    if len(columns) != 2 or not set(columns) <= set(frame):
        raise ValueError(
            f"plot_columns shows two columns of {list(frame)}, got {list(columns)}"
        )
    now = est.decision()
    past = None if before is None else before.decision()
    ax = axes_of(ax, 6.6, 4.6)
    draw_columns(ax, frame[list(columns)], now, past)
    return ax


def draw_columns(
    ax: Axes,
    frame: pd.DataFrame,
    now: pd.DataFrame,
    before: pd.DataFrame | None,
    focus: int | None = None,
) -> None:
    """Draw two columns of rows with decisions, and names right of the axes."""
    points = frame.to_numpy(float)
    known = np.isfinite(points).all(axis=1)
    normal = now["normal"].to_numpy(bool)
    P = now["probability_normal"].to_numpy()
    style: dict[str, Any] = {"cmap": P_NORMAL, "vmin": 0, "vmax": 1}
    style |= {"edgecolors": DARK, "linewidths": 0.5}
    for of, s, marker in ((known & normal, 20, "o"), (known & ~normal, 34, "X")):
        x, y = points[of].T
        ax.scatter(x, y, s=s, c=P[of], marker=marker, **style)
    different = changed(now, before)
    ring: dict[str, Any] = {"s": 90, "facecolors": "none", "linewidths": 1.3}
    x, y = points[different].T
    ax.scatter(x, y, edgecolors=DARK, **ring)
    shown = different
    if not len(different):
        shown = np.argsort(-now["surprise"].to_numpy(), kind="stable")
    if focus is not None:
        x, y = points[[focus]].T
        ax.scatter(x, y, edgecolors="#D4A000", **ring)
        shown = np.array([*dict.fromkeys([focus, *shown])])
    xlabel, ylabel = (plain(short(name, 30)) for name in frame)
    ax.set(xlabel=xlabel, ylabel=ylabel)
    ax.autoscale_view()
    rows = shown[known[shown]][:BESIDE]
    name_beside(ax, points, {row: short(now.index[row]) for row in rows})
