"""The odd rows of one table with their reasons, and the reasons of one row."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.dates import date2num
from pandas.api.types import is_numeric_dtype
from sklearn.utils import get_tags

from ..base.messages import of_value
from ..estimators.checks import require_description
from ..outliers.stand_out import StandOut
from ..questions.why import explain
from ..questions.why import reasons as reasons_of
from ..tables.columns import are_dates, texts
from ..tables.table import as_frame
from .common import (
    DARK,
    MAJORITY,
    MINORITY,
    Classes,
    axes_of,
    boxes_for_letters,
    draw_surprises,
    label_rows,
    name_beside,
    panels,
    plain,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

    from ..estimators.protocols import LeavesOut, RowScorer

MOST_LINES = 50  # of a picture
LINE_HEIGHT = 0.55  # of a heading with its reason, in inches
HEADING_LENGTH = 33  # characters of the names in a heading
REASON_WIDTH = 70  # characters of a line of a reason
COLUMN_LENGTH = 34  # characters of the name of a column
VALUE_LENGTH = 26  # characters of a value
MOST_NAMED = 9  # rows beside the axes of a column
MOST_LEVELS = 12  # of a column that are written
EDGE = 0.4  # of the range of the other cells


def plot_outliers(est: LeavesOut | StandOut, most: int = 10) -> Axes:
    """Show the surprise of each training row, left out, and why the oddest are odd.

    Parameters
    ----------
    est : fitted description, or what :func:`bsvdd.stand_out` returns
    most : int, default=10
        Number of rows on the right side, of which 50 are drawn at most.

    Returns
    -------
    matplotlib.axes.Axes
        The axes with the surprises; the figure is ``ax.figure``.

    Raises
    ------
    TypeError
        The estimator has no surprises.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> X[7, 1] = 9.0
    >>> ax = plots.plot_outliers(BSVDD().fit(X))
    """
    most = min(most, MOST_LINES)
    if isinstance(est, StandOut):
        lines = est.lines(most)
        model = type(est.estimator).__name__
        reasons = est.told(lines, _reasons(est.estimator, lines))
        return draw_outliers(est, est.names, lines, reasons, model)
    require_description(est, "surprise")
    decided = est.decision()
    surprise = decided["surprise"].to_numpy()
    normal = decided["normal"].to_numpy(bool)
    order = np.argsort(-surprise, kind="stable")[:most]
    P = decided["probability_normal"].to_numpy()
    titles = [f"{short(decided.index[i])}, P(normal) = {P[i]:.3f}" for i in order]
    reasons = _reasons(est, [np.array([i]) for i in order])
    classes = {
        "within the cutoff": (normal, MAJORITY),
        "beyond the cutoff": (~normal, MINORITY),
    }
    ax = _drawn(surprise, classes, order, titles, reasons, "the oddest rows")
    ax.axhline(0.0, color=DARK, linestyle="--", linewidth=1.2)
    ax.set_title(f"{type(est).__name__}: each row judged by the others", loc="left")
    label_rows(ax, decided.index)
    return ax


def draw_outliers(
    found: StandOut,
    index: pd.Index,
    lines: Sequence[np.ndarray],
    reasons: list[str],
    model: str,
) -> Axes:
    """Draw the rows that stand out, of which ``lines`` are named on the right side."""
    lines = lines[:MOST_LINES]
    names = index.to_numpy()
    titles = []
    for rows in lines:
        shown = {i: short(names[i]) for i in rows[:3]}
        most = HEADING_LENGTH // (max(map(len, shown.values())) + 1)
        title = found.title(rows, shown, min(3, most))
        odd = found.shown_probability(rows)
        titles.append(f"{title}, P(odd) {odd}" if odd else title)
    classes = {
        "not listed": (~found.listed, MAJORITY),
        "listed": (found.listed, MINORITY),
    }
    first = [rows[0] for rows in lines]
    reasons = reasons[:MOST_LINES]
    ax = _drawn(found.surprise, classes, first, titles, reasons, found.headline)
    ax.set_title(f"{model}: each row beside the core", loc="left")
    label_rows(ax, names)
    ax.set_xlabel(plain(index.name or "row"))
    return ax


def plot_cells(found: StandOut, most: int = 6) -> np.ndarray:
    """Show the columns in which listed rows are odd by one cell, along the table.

    A cross is a cell by which a row is listed, with the name of the row beside the
    axes. The columns with the most crosses come first. Cells far beyond the others are
    drawn at the edge.

    Parameters
    ----------
    found : StandOut
        What :func:`bsvdd.stand_out` returns.
    most : int, default=6
        Number of columns.

    Returns
    -------
    ndarray of matplotlib.axes.Axes

    Raises
    ------
    ValueError
        No row is odd by one cell.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, plots, stand_out
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> X[7, 1] = 9.0
    >>> axes = plots.plot_cells(stand_out(SVDD(), X))
    """
    return draw_cells(found, found.names, most)


def draw_cells(found: StandOut, index: pd.Index, most: int = 6) -> np.ndarray:
    """Draw the cells by which rows of these names are listed, in their columns."""
    column = found.cells["column"]
    chosen = column.value_counts().index[:most]
    if not len(chosen):
        raise ValueError("no row is odd by one cell; see plot_outliers")
    axes = panels(len(chosen), 2, 6.4, 3.2)
    for ax, name in zip(axes, chosen, strict=True):
        odd = np.flatnonzero(column == name)
        values = found.cells["value"].iloc[odd].map(of_value)
        _draw_column(ax, found.estimator.table_.measured[name], odd, index, values)
        ax.set_title(short(name), loc="left", fontsize=10, parse_math=False)
        ax.set_xlabel(plain(index.name or "row"))
        label_rows(ax, index)
    return axes


def _draw_column(
    ax: Axes, cells: pd.Series, odd: np.ndarray, index: pd.Index, values: pd.Series
) -> None:
    """Draw the cells of a column, with crosses and values for the ``odd`` rows.

    Cells far beyond the others are drawn at the edge.
    """
    if is_numeric_dtype(cells):
        y = cells.to_numpy(float)
    elif are_dates(cells):
        y = date2num(cells)
        ax.yaxis_date()
    else:
        known = texts(cells.reset_index(drop=True))  # those that are not missing
        levels = sorted(known.unique())
        place = dict(zip(levels, range(len(levels)), strict=True))
        y = known.map(place).reindex(range(len(cells))).to_numpy(float)
        some = range(0, len(levels), -(-len(levels) // MOST_LEVELS))
        ax.set_yticks(some, [plain(short(levels[i])) for i in some])
    others = np.delete(y, odd)
    low, high = np.nanmin(others), np.nanmax(others)
    margin = EDGE * ((high - low) or 1.0)
    points = np.column_stack([np.arange(len(y)), y.clip(low - margin, high + margin)])
    ax.scatter(points[:, 0], points[:, 1], 8, color=MAJORITY, alpha=0.5)
    x, y_ = points[odd].T
    ax.scatter(x, y_, 40, color=MINORITY, marker="x", zorder=3)
    rows = odd[np.argsort(-np.abs(y[odd] - np.nanmedian(y)), kind="stable")]
    name_beside(
        ax,
        points,
        {
            row: f"{short(index[row])} = {values.iloc[np.searchsorted(odd, row)]}"
            for row in rows[:MOST_NAMED]
        },
    )


def _reasons(est: LeavesOut, lines: Sequence[np.ndarray]) -> list[str]:
    """Return the reasons of lines of training rows."""
    if not lines or get_tags(est).input_tags.pairwise:
        return [""] * len(lines)
    return reasons_of(est, lines)[0]


def _drawn(
    surprise: np.ndarray,
    classes: Classes,
    order: Sequence[int] | np.ndarray,
    titles: list[str],
    reasons: list[str],
    headline: str,
) -> Axes:
    """Return the axes of the surprises, beside the rows in ``order`` with reasons."""
    _, (ax, words) = plt.subplots(
        1,
        2,
        figsize=(12, max(3.8, LINE_HEIGHT * len(titles) + 1.0)),
        width_ratios=[5, 4],
        layout="constrained",
    )
    draw_surprises(ax, surprise, classes)
    ax.set_ylabel("surprise")
    ax.legend(frameon=False, fontsize=8)
    words.set_axis_off()
    words.set(xlim=(0, 1), ylim=(max(len(titles), 1) - 0.5, -0.6))
    headline = textwrap.fill(headline, 60)
    words.set_title(headline, loc="left", fontsize=11, parse_math=False)
    offset = {"textcoords": "offset points", "fontsize": 8}
    for rank, i in enumerate(order):
        ax.annotate(str(rank + 1), (i, surprise[i]), (3, 2), **offset)
    with boxes_for_letters():
        _write(words, titles, reasons)
    return ax


def _write(words: Axes, titles: list[str], reasons: list[str]) -> None:
    """Write numbered titles, each with at most two lines of its reason below."""
    style: dict[str, Any] = {"parse_math": False, "in_layout": False}
    for rank, (title, reason) in enumerate(zip(titles, reasons, strict=True)):
        title = f"{rank + 1}  {title}"
        words.text(
            0.0, rank - 0.3, title, fontsize=9, weight="bold", va="center", **style
        )
        text = " ".join(reason.split())
        text = textwrap.fill(text, REASON_WIDTH, max_lines=2, placeholder=" …")
        words.text(0.03, rank - 0.12, text, fontsize=8, va="top", **style)


def plot_explanation(
    est: RowScorer,
    z: ArrayLike | None = None,
    X: ArrayLike | None = None,
    row: int | None = None,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Show by how much the surprise of a row falls with the values of rows like it.

    A bar is the share of a column, and its dots are the ten walks
    (:func:`bsvdd.explain`). The left side has the values of the row, and the right side
    has the usual values of the ten rows like it.

    Parameters
    ----------
    est : fitted estimator
    z : array-like of shape (p,) or (1, p), or data frame of one row, optional
    X : array-like or data frame of shape (n, p), optional
        The known rows, as in :func:`bsvdd.explain`.
    row : int, optional
        In place of z, the position of a known row.
    most : int, default=10
        Number of columns to show, those with the largest shares.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        z is not one row; and the errors of :func:`bsvdd.explain`.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> axes = plots.plot_explanation(BSVDD().fit(X), [0.0, 6.0, 0.0])
    """
    if row is None:
        z = as_frame(z)
        z = z if isinstance(z, pd.DataFrame) else np.atleast_2d(z)
        if len(z) != 1:
            raise ValueError(
                f"z must be one row, got {len(z)} rows; plot them one by one"
            )
    why = explain(est, z, X, None if row is None else [row])
    shares = why.shares.to_numpy()[0]
    order = np.argsort(-shares, kind="stable")[:most]
    place = np.arange(len(order))
    ax = axes_of(ax, 10.0, 1.7 + 0.34 * len(order))
    ax.barh(place, shares[order], color=MINORITY, alpha=0.55, height=0.62)
    falls = why.falls[0][:, order].T
    ax.plot(falls, place, "o", color=DARK, alpha=0.35, markersize=3)
    ax.axvline(0.0, color=DARK, linewidth=0.8)
    columns = why.shares.columns
    own = [
        f"{short(columns[f], COLUMN_LENGTH)} = {short(why.value(0, f), VALUE_LENGTH)}"
        for f in order
    ]
    ax.set_yticks(place, own, parse_math=False)
    ax.set_ylim(len(order) - 0.4, -0.6)
    like = ax.secondary_yaxis("right", color=MAJORITY)
    usual = [
        f"{why.parts[0, f]:.0%}  {short(why.usual(0, f), VALUE_LENGTH)}" for f in order
    ]
    like.set_yticks(place, usual, parse_math=False)
    like.set_ylabel("share, rows like it")
    ax.set_xlabel(
        "by how much the surprise falls with the values of rows like it: ten walks, "
        "mean"
    )
    state = "normal" if why.normal.iloc[0] else "abnormal"
    said = f"{short(why.shares.index[0])}: {state}, surprise {why.surprise.iloc[0]:.3g}"
    ax.set_title(said, loc="left", fontsize=11, parse_math=False)
    return ax
