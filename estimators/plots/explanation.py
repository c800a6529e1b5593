"""Why one row is abnormal: terms of columns and of training rows, and the smallest change."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .. import inputs, messages
from ..detector import Detector
from ..questions.explain import explain
from ..questions.explanation import Explanation
from ..questions.reasons import FILLED, cells_of
from ..rows.frames import as_frame
from .common import (
    MAJORITY,
    MINORITY,
    PRIOR,
    point_names,
    require_center,
    short,
    with_feature_names,
)

LENGTH = 30  # characters of a column
SHOWN = 0.005  # smallest share that is shown


def plot_explanation(
    est: Detector, x: Any = None, most: int = 10, prob: float = 0.9, row: int | None = None
) -> Figure:
    """Show which columns and which training rows make one row abnormal.

    The left panel has the terms of the columns with their posterior intervals, and as a tick what
    normal training rows have. The labels have the values of the row, and for an abnormal row the
    values after the smallest change that makes it normal. The right panel has the training rows
    with the largest shares or terms. See :func:`bsvdd.explain`.

    Parameters
    ----------
    est : fitted estimator
    x : array-like of shape (p,) or (1, p), or data frame of one row, optional
    most : int, default=10
        Number of columns and of training rows to show.
    prob : float, default=0.9
        Probability of the intervals.
    row : int, optional
        In place of x, the position of a training row, which is left out.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane and no distance from a centre, the kernel is precomputed, or x
        is not one row.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> est = BSVDD().fit(X)
    >>> figure = plots.plot_explanation(est, [0.0, 6.0, 0.0])
    """
    require_center(est)
    asked: dict[str, Any] = {"rows": [row]}
    if row is not None:
        X, table = None, est.fit_.data.rows[[row]]
    else:
        X = as_frame(x)
        X = X if isinstance(X, pd.DataFrame) else np.atleast_2d(np.asarray(X, dtype=float))
        if len(X) != 1:
            raise ValueError(f"x must be one row, got {len(X)} rows; plot them one by one")
        X = X if isinstance(X, pd.DataFrame) else with_feature_names(est, X)
        asked, table = {"X": X}, inputs.table(est.fit_.data, X)
    why: Any = explain(est, **asked, prob=prob, top=most)
    of_row = why.rows.iloc[0]
    n = 1 if why.columns is None else 2
    size = 3 + 3 * n, 1.6 + 0.28 * most
    figure, axes = plt.subplots(1, n, figsize=size, layout="constrained", squeeze=False)
    if why.columns is not None:
        cells = cells_of(est.fit_, table, X, None if row is None else np.array([row]))
        _columns(axes[0, 0], why, why.columns, _values(cells), most)
    _points(axes[0, -1], why, point_names(est))
    decision = "normal" if of_row["normal"] else "abnormal"
    what = "surprise" if why.kind == "surprise" else "$d_z^2 - D^2$"
    low, high = of_row["low"], of_row["high"]
    interval = f" [{low:.3g}, {high:.3g}]" if low < high else ""
    title = f"{type(est).__name__}: {decision}; {what} {of_row['value']:.3g}{interval}"
    figure.suptitle(f"{title}, 0 at the cutoff", fontsize=11)
    return figure


def _values(cells: pd.DataFrame) -> list[str]:
    """Return the values of one row for labels; nothing for the number of a category's text."""
    values = cells.iloc[0].tolist()
    texts = [f"{v:.5g}" if isinstance(v, float) else messages.of_value(v) for v in values]
    return [
        "" if v is None else FILLED if v != v else f" = {text}"
        for v, text in zip(values, texts, strict=True)
    ]


def _columns(ax: Axes, why: Explanation, columns: xr.Dataset, x: list[str], most: int) -> None:
    of_row = columns.isel(obs=0)
    mean = of_row["mean"].values
    order = np.argsort(-mean, kind="stable")[:most]
    labels = []
    for column in order:
        label = f"{short(of_row['column'].values[column], LENGTH)}{x[column]}"
        if why.changes is not None and why.changes["change"].values[0, column] != 0.0:
            label += f" → {why.changes['value'].values[0, column]:.3g}"
        labels.append(label)
    shown = of_row.isel(column=order)
    place = _bars(ax, shown, MINORITY, labels)
    typical = shown["typical"].values
    ax.vlines(typical, place - 0.4, place + 0.4, color=MAJORITY, linewidth=2, label="normal rows")
    ends = np.maximum(shown["high"].values, typical)
    for at, end, share in zip(place, ends, shown["share"].values, strict=True):
        ax.text(end, float(at), f" {share:.0%}", va="center", fontsize=8)
    ax.margins(x=0.2)
    ax.set_xlim(left=0.0)
    xlabel = "term in $d_z^2$, and its share"
    if why.kind == "surprise":
        base, remainder, unseen = why.rows[["base", "remainder", "unseen"]].iloc[0]
        xlabel = (
            "term in the surprise, and its share\n"
            f"concentration {remainder:.3g}, unseen rows {unseen:.2g}, base {base:.3g}"
        )
    ax.set_xlabel(xlabel)
    ax.set_title("Columns", loc="left")
    ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), fontsize=8)


def _points(ax: Axes, why: Explanation, names: list[str]) -> None:
    of_row, xlabel = why.points.isel(obs=0), "term of the training row in $d_z^2 - D^2$"
    if why.kind == "surprise":
        of_row = of_row.isel(rank=of_row["mean"].values >= SHOWN)
        xlabel = "share $q_j$ of the training row"
    minority = of_row["minority"].values
    labels = [
        f"{names[point]} (minority)" if is_minority else names[point]
        for point, is_minority in zip(of_row["point"].values, minority, strict=True)
    ]
    _bars(ax, of_row, np.where(minority, MINORITY, MAJORITY).tolist(), labels)
    ax.axvline(0.0, color=PRIOR, linewidth=0.8)
    ax.set_xlabel(xlabel)
    ax.set_title("Training rows", loc="left")


def _bars(ax: Axes, terms: xr.Dataset, color: Any, labels: list[str]) -> np.ndarray:
    """Draw a bar with its interval for each term, from above, and return their places."""
    place = np.arange(len(labels))
    ax.barh(place, terms["mean"], color=color, alpha=0.55, height=0.62)
    ax.hlines(place, terms["low"], terms["high"], color="#333333", linewidth=1.5)
    ax.set_yticks(place, labels, parse_math=False)
    ax.set_ylim(max(len(place), 5) - 0.5, -0.5)
    return place
