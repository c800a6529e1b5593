"""What rows are: their surprises, their margins, and the decision boundary of two columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from matplotlib.ticker import MaxNLocator

from ..fitted import require_description
from ..labels import classes_of
from .common import (
    MAJORITY,
    MINORITY,
    P_NORMAL,
    axes_of,
    below,
    by_name,
    frame_of,
    label_rows,
    minority_of,
    panels,
    points,
    short,
    surprise_axis,
    training_minority,
)

BINS, MOST_BINS = 40, 400  # of a histogram of margins, and with the way to 0


def plot_margin(
    est: Any, X: Any = None, names: Sequence[Any] | None = None, *, rows: Any = None
) -> np.ndarray:
    """Show the margins of rows in each draw, one panel per row; the area right of 0 is P(normal).

    Parameters
    ----------
    est : fitted description
    X : array-like of shape (n, p), optional
        A few rows.
    names : sequence, optional
        Titles of the panels. Default: the index of X, or the names of the training rows.
    rows : sequence of int, optional
        Positions of training rows in place of X, each left out. Default: the first three.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (n,)

    Raises
    ------
    ValueError
        The number of names differs from that of the rows; ``rows`` are no positions.
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
        which = np.arange(min(3, len(known))) if rows is None else np.atleast_1d(rows)
        if which.dtype.kind not in "iu" or not ((which >= 0) & (which < len(known))).all():
            raise ValueError(
                f"rows must be positions of training rows, 0 to {len(known) - 1}, got {rows!r}"
            )
        margins, index = margins[:, which], known[which]
    else:
        index = X.index if isinstance(X, pd.DataFrame) else pd.RangeIndex(margins.shape[1])
    titles = [f"row {short(name)}" for name in index] if names is None else list(names)
    if len(titles) != margins.shape[1]:
        raise ValueError(
            f"names must have one entry for each of {margins.shape[1]} rows, got {len(titles)}"
        )
    axes = panels(len(titles), 3, 3.4, 2.5)
    for ax, title, of_row in zip(axes, titles, margins.T, strict=True):
        low, high = np.quantile(of_row[np.isfinite(of_row)], [0.0, 1.0])
        first, last = min(low, 0.0), max(high, 0.0)  # 0 is shown, and may be far away
        width = max((high - low) / BINS, (last - first) / MOST_BINS) or 1.0
        bins = width * np.arange(np.floor(first / width), np.ceil(last / width) + 1)
        height, _ = np.histogram(np.clip(of_row, bins[0], bins[-1]), bins, density=True)
        for part, color in ((bins[:-1] >= 0.0, MAJORITY), (bins[:-1] < 0.0, MINORITY)):
            ax.stairs(np.where(part, height, 0.0), bins, fill=True, color=color, alpha=0.6)
        ax.axvline(0.0, color="#333333", linewidth=1.4)
        said = f"{title}: P(normal) = {(of_row >= 0.0).mean():.2f}"
        ax.set_title(said, fontsize=10, parse_math=False)
        ax.set(xlabel="margin; right of 0: within the cutoff", yticks=[])
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter("{x:.3g}")
    return axes


def plot_distances(
    est: Any,
    X: Any = None,
    y: Any = None,
    prob: float = 0.9,
    names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Show the surprise of each row with its interval; the cutoff is at 0.

    Parameters
    ----------
    est : fitted description
    X : array-like of shape (n, p), optional
        The rows to show; by default the training rows, each left out.
    y : array-like of shape (n,), optional
        Labels of X, with the rules of ``fit``.
    prob : float, default=0.9
        Probability of the interval of the surprise.
    names : sequence, optional
        Names of the rows. Default: their index in the data frame, else their numbers.
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
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> ax = plots.plot_distances(BDD().fit(X))
    """
    require_description(est, "surprise")
    decided = est.decision(X, prob)
    n, surprise = len(decided), decided["surprise"].to_numpy()
    minority = training_minority(est) if X is None else minority_of(est, y, n)
    ax = axes_of(ax, 9.0, 3.8)
    label = "rows without labels" if X is not None and y is None else "majority"
    classes = {label: (~minority, MAJORITY), "minority": (minority, MINORITY)}
    if "low" in decided:
        low, high = decided["low"], decided["high"]
        colors = np.where(minority, MINORITY, MAJORITY)
        ax.vlines(np.arange(n), low, high, color=colors, alpha=0.3, linewidth=1)
    points(ax, surprise, classes)
    ax.axhline(0.0, color="#333333", linestyle="--", linewidth=1.2)
    ax.set(xlabel="row", ylabel="surprise; above 0: beyond the cutoff")
    ax.set_title(f"{type(est).__name__}: surprise by row")
    surprise_axis(ax, surprise)
    label_rows(ax, decided.index if names is None else names)
    if minority.any() or label != "majority":
        ax.legend(frameon=False, fontsize=8)
    return ax


def plot_boundary(
    estimators: Any,
    X: Any = None,
    y: Any = None,
    minor_label: Any = None,
    resolution: int = 120,
    margin: float = 0.15,
) -> np.ndarray:
    """Show P(normal) over two columns, the decision boundary and the rows, one panel per model.

    Parameters
    ----------
    estimators : estimator or dict of name: estimator
        Fitted on two columns of numbers.
    X : array-like of shape (n, 2), optional
        The rows to show; by default the training rows of the first estimator.
    y : array-like of shape (n,), optional
        Labels, with the rules of ``fit``.
    minor_label : optional
        Label of the minority in y.
    resolution : int, default=120
        Grid points along each axis.
    margin : float, default=0.15
        Space around the rows, as a share of their range.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (models,)

    Raises
    ------
    ValueError
        X does not have two columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> axes = plots.plot_boundary({"SVDD": SVDD().fit(X)}, resolution=20)
    """
    fits = by_name(estimators)
    first = next(iter(fits.values()))
    if X is None:
        X, minority = first.table_.values, first.table_.minority
    else:
        minority = classes_of(y, len(X), minor_label)[0]
    names = list(X.columns) if isinstance(X, pd.DataFrame) else ["column 0", "column 1"]
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_boundary shows two columns, got X of shape {X.shape}")
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    low, high = low - margin * (high - low), high + margin * (high - low)
    ends = zip(low, high, strict=True)
    x1, x2 = np.meshgrid(*(np.linspace(a, b, resolution) for a, b in ends))
    axes = panels(len(fits), 2, 4.6, 3.8)
    images = [_map(ax, est, x1, x2) for ax, est in zip(axes, fits.values(), strict=True)]
    for ax, name in zip(axes, fits, strict=True):
        for label, members, color in (
            ("majority", ~minority, MAJORITY),
            ("minority", minority, MINORITY),
        ):
            if members.any():  # a white edge is visible on both ends of the colours
                style: dict[str, Any] = {"edgecolors": "white", "linewidths": 0.5, "s": 22}
                ax.scatter(*X[members].T, color=color, label=label, **style)
        ax.set_title(name, parse_math=False)
        ax.set(xlabel=str(names[0]), ylabel=str(names[1]))
    axes[0].figure.colorbar(images[-1], ax=axes.tolist(), label="P(normal | data)", shrink=0.7)
    if minority.any():
        below(axes[0])
    return axes


def _map(ax: Axes, est: Any, x1: np.ndarray, x2: np.ndarray) -> QuadMesh:
    """Draw P(normal) and the decision boundary over a grid; return the image."""
    rows = frame_of(est, np.column_stack([x1.ravel(), x2.ravel()]))
    if hasattr(est, "decision"):
        decided = est.decision(rows)
        score, p = -decided["surprise"].to_numpy(), decided["probability_normal"].to_numpy()
    else:
        score = est.decision_function(rows)
        p = (score >= 0.0).astype(float)
    how: dict[str, Any] = {"cmap": P_NORMAL, "vmin": 0, "vmax": 1, "shading": "gouraud"}
    image = ax.pcolormesh(x1, x2, p.reshape(x1.shape), **how)
    ax.contour(x1, x2, score.reshape(x1.shape), [0.0], colors="#333333", linewidths=1.4)
    return image
