"""The odd rows of one table with their reasons, and the reasons of one row."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from sklearn.utils import get_tags

from ..estimators.checks import require_description
from ..outliers.stand_out import StandOut
from ..questions.why import explain
from ..tables.table import as_frame
from .common import (
    MAJORITY,
    MINORITY,
    axes_of,
    boxes_for_letters,
    label_rows,
    points,
    short,
    surprise_axis,
)

LINES = 50  # of a picture, at most
LINE = 0.55  # height of a heading with its reason, in inches
# characters of a heading, and of a line of a reason
NAMES = 33
WIDE = 70
# characters of a column, and of its values
NAME = 34
TEXT = 26


def plot_outliers(est: Any, most: int = 10) -> Axes:
    """Show the surprise of each training row, left out, and why the oddest are odd.

    Parameters
    ----------
    est : fitted description, or what :func:`bsvdd.stand_out` returns
    most : int, default=10
        Number of rows on the right side, of which 50 are drawn at most.

    Returns
    -------
    matplotlib.axes.Axes
        Those of the surprises; the figure is ``ax.figure``.

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
    most = min(most, LINES)
    if isinstance(est, StandOut):
        found = est
        lines = est.lines(most)
        reasons = _reasons(found.estimator, lines)
        return draw_outliers(
            found, found.names, lines, reasons, type(found.estimator).__name__
        )
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
    ax.axhline(0.0, color="#333333", linestyle="--", linewidth=1.2)
    ax.set_title(f"{type(est).__name__}: each row judged by the others", loc="left")
    label_rows(ax, decided.index)
    return ax


def draw_outliers(
    found: StandOut,
    names: Any,
    lines: Sequence[np.ndarray],
    reasons: list[str],
    model: str,
) -> Axes:
    """Draw the picture of the rows that stand out, of which ``lines`` are on the right side."""
    lines = lines[:LINES]
    reasons = reasons[:LINES]
    names = np.asarray(names)
    titles = []
    for rows in lines:
        shown = {i: short(names[i]) for i in rows[:3]}
        fit = NAMES // (max(map(len, shown.values())) + 1)
        title = found.title(rows, shown, min(3, fit))
        odd = np.median(found.probability[rows])
        titles.append(title if np.isnan(odd) else f"{title}, P(odd) = {odd:.2f}")
    first = np.array([rows[0] for rows in lines], dtype=int)
    classes = {
        "not listed": (~found.listed, MAJORITY),
        "listed": (found.listed, MINORITY),
    }
    ax = _drawn(found.surprise, classes, first, titles, reasons, found.headline)
    ax.set_title(f"{model}: each row beside the core", loc="left")
    label_rows(ax, names)
    return ax


def _reasons(est: Any, lines: Sequence[np.ndarray]) -> list[str]:
    """Return the reasons of lines of training rows."""
    if not lines or get_tags(est).input_tags.pairwise:
        return [""] * len(lines)
    asked = np.unique(np.concatenate(lines))
    why = explain(est, rows=asked)
    return [why.reason(np.searchsorted(asked, rows)) for rows in lines]


def _drawn(
    surprise: np.ndarray,
    classes: dict[str, tuple[Any, str]],
    order: np.ndarray,
    titles: list[str],
    reasons: list[str],
    headline: str,
) -> Axes:
    """Return the axes of the surprises, beside which the rows in ``order`` are named."""
    height = max(3.8, LINE * len(titles) + 1.0)
    how: dict[str, Any] = {
        "figsize": (12, height),
        "width_ratios": [5, 4],
        "layout": "constrained",
    }
    _, (ax, words) = plt.subplots(1, 2, **how)
    points(ax, np.arange(len(surprise)), surprise, classes)
    ax.set(xlabel="row", ylabel="surprise")
    surprise_axis(ax, surprise)
    ax.legend(frameon=False, fontsize=8)
    words.set_axis_off()
    words.set(xlim=(0, 1), ylim=(max(len(titles), 1) - 0.5, -0.6))
    words.set_title(
        textwrap.fill(headline, 60), loc="left", fontsize=11, parse_math=False
    )
    with boxes_for_letters():
        for rank, (i, title, reason) in enumerate(
            zip(order, titles, reasons, strict=True)
        ):
            style: dict[str, Any] = {
                "parse_math": False,
                "in_layout": False,
                "va": "center",
            }
            place = rank - 0.3
            words.text(
                0.0, place, f"{rank + 1}  {title}", fontsize=9, weight="bold", **style
            )
            text = textwrap.fill(
                " ".join(reason.split()), WIDE, max_lines=2, placeholder=" …"
            )
            words.text(0.03, rank - 0.12, text, fontsize=8, **style | {"va": "top"})
            ax.annotate(
                str(rank + 1),
                (i, surprise[i]),
                (3, 2),
                textcoords="offset points",
                fontsize=8,
            )
    return ax


def plot_explanation(
    est: Any,
    z: Any = None,
    X: Any = None,
    row: int | None = None,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Show by how much the surprise of a row falls as its columns get the values of rows like it.

    A bar is the share of a column, and its dots are the ten walks
    (:func:`bsvdd.explain`). On the left side are the values of the row, on the right
    side those of the ten rows like it.

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
        z is not one row; and as :func:`bsvdd.explain`.

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
    order = np.argsort(-why.shares.to_numpy()[0], kind="stable")[:most]
    place = np.arange(len(order))
    ax = axes_of(ax, 10.0, 1.7 + 0.34 * len(order))
    ax.barh(
        place, why.shares.to_numpy()[0, order], color=MINORITY, alpha=0.55, height=0.62
    )
    ax.plot(
        why.falls[0][:, order].T, place, "o", color="#333333", alpha=0.35, markersize=3
    )
    ax.axvline(0.0, color="#333333", linewidth=0.8)
    columns = why.shares.columns
    own = [f"{short(columns[f], NAME)} = {short(why.value(0, f), TEXT)}" for f in order]
    ax.set_yticks(place, own, parse_math=False)
    ax.set_ylim(len(order) - 0.4, -0.6)
    like = ax.secondary_yaxis("right", color=MAJORITY)
    texts = [f"{why.parts[0, f]:.0%}  {short(why.usual(0, f), TEXT)}" for f in order]
    like.set_yticks(place, texts, parse_math=False)
    ax.set_xlabel(
        "by how much the surprise falls with the values of rows like it: ten walks, "
        "mean"
    )
    state = "normal" if why.normal.iloc[0] else "abnormal"
    said = f"{short(why.shares.index[0])}: {state}, surprise {why.surprise.iloc[0]:.3g}"
    ax.set_title(said, loc="left", fontsize=11, parse_math=False)
    like.set_ylabel("share, rows like it")
    return ax
