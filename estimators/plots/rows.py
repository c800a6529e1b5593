"""What rows are: their distances and surprises, the odd ones, and the decision boundary."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox
from sklearn.utils.validation import check_is_fitted

from .. import inputs
from ..detector import Detector
from ..labels import classes_of
from ..questions.stand_out import StandOut, stand_out
from ..questions.why import explain
from ..views import Views
from .common import (
    MAJORITY,
    MINORITY,
    RowClass,
    boxes_for_letters,
    by_name,
    draw_margin,
    label_rows,
    require_center,
    row_classes,
    short,
    show_probability,
    surprise_axis,
    with_feature_names,
)

LEAST = 8  # characters that a text is shortened to at most
LINE = 0.55  # height of a heading with its reason, in inches
LINES = 50  # of a picture, at most
GROUP = 33  # characters of the names in the heading of a group


def plot_margin(
    est: Detector, X: Any = None, names: Sequence[Any] | None = None, *, rows: Any = None
) -> Figure:
    """Show the draws of D_opt - d_z, by how much rows lie within the cutoff, one panel per row.

    The area right of 0 is P(normal). D_opt and d_z are of the same draw, and d_z counts what the
    sample has not shown beside z.

    Parameters
    ----------
    est : fitted estimator
    X : array-like of shape (n, p), optional
        A few rows z.
    names : sequence, optional
        Titles of the panels, one per row. Default: the index of X if X is a data frame, else the
        numbers of the rows.
    rows : sequence of int, optional
        Positions of training rows in place of X, each left out. Default: the first three.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has one number for P(normal), 0 or 1; the number of names differs from the
        number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_margin(est, X[:2], ["one row", "another"])
    """
    check_is_fitted(est)
    fit = est.fit_
    if not fit.score.uncertain:
        raise ValueError(
            f"{type(est).__name__} has P(normal) 0 or 1 and no draws of the margin; "
            "plot a description such as BSVDD"
        )
    if X is None:
        which = fit.positions(np.arange(min(3, len(fit.data.rows))) if rows is None else rows)
        margins, known = fit.training_margins(which), fit.data.row_names[which]
    else:
        margins = fit.margins(fit.asked(*inputs.completed(fit.data, X)))
        known = inputs.row_names(X, margins.shape[1])
    names = [f"row {short(name)}" for name in known] if names is None else list(names)
    n = margins.shape[1]
    if len(names) != n:
        raise ValueError(f"names must have one entry for each of {n} rows of X, got {len(names)}")
    size = 3.4 * min(3, n), 2.5 * -(-n // 3)
    shape: dict[str, Any] = {"sharex": True, "squeeze": False, "layout": "constrained"}
    figure, axes = plt.subplots(-(-n // 3), min(3, n), figsize=size, **shape)
    for ax, name, of_row in zip(axes.flat, names, margins.T, strict=False):
        draw_margin(ax, of_row)
        probability = float((of_row >= 0.0).mean())
        ax.set_title(f"{name}: P(normal) = {probability:.2f}", fontsize=10, parse_math=False)
        what = r"$D_{\mathrm{opt}} - d_z$" if fit.has_center else "score"
        ax.set(xlabel=f"{what}; right of 0: within the cutoff", yticks=[])
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter("{x:.2g}")
    for ax in axes.flat[n:]:
        ax.set_visible(False)
    return figure


def plot_distances(
    est: Detector,
    X: Any = None,
    y: Any = None,
    prob: float = 0.9,
    names: Sequence[Any] | None = None,
) -> Figure:
    """Show the surprise of each row with its interval; the cutoff is at 0.

    The surprise is that of ``est.decision``: it has the order of the distances, and all digits.

    Parameters
    ----------
    est : fitted estimator
    X : array-like of shape (n, p), optional
        The rows to show; by default the training rows, each left out.
    y : array-like of shape (n,), optional
        Labels of X, with the rules of ``fit``.
    prob : float, default=0.9
        Probability of the interval of the surprise.
    names : sequence, optional
        Names of the rows. Default: their index in the data frame, else their numbers.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane and no distance from a centre.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_distances(est)
    """
    fit = require_center(est)
    if X is None:
        minority, own_names = fit.data.minority, fit.data.row_names
        decided = fit.training_decision(prob)
    else:
        rows = fit.asked(*inputs.completed(fit.data, X))
        decided = fit.decision(rows, prob)
        minority, own_names = (
            np.zeros(len(rows), bool) if y is None else fit.minority_of(y, len(rows)),
            inputs.row_names(X, len(rows)),
        )
    score, _, low, high = decided
    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    unlabelled = X is not None and y is None
    classes = row_classes(minority, "rows without labels" if unlabelled else "majority")
    _surprises(ax, -score, low, high, classes)
    ax.set_title(f"{type(est).__name__}: surprise by row")
    label_rows(ax, own_names if names is None else np.asarray(names))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def plot_outliers(est: Detector, X: Any = None, most: int = 10) -> Figure:
    """Show the surprise of each training row, left out, and the columns of the oddest rows.

    Parameters
    ----------
    est : fitted estimator
    X : pandas.DataFrame, optional
        The table that it was fitted to, whose texts of categories the reasons have: a fit has
        their numbers only. Of many rows, a fit to one table shows those beside its sample too.
    most : int, default=10
        Number of rows on the right side, of which 50 are drawn at most.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane and no distance from a centre, or X is another table.
    TypeError
        X is no data frame.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> X[7, 1] = 9.0
    >>> figure = plots.plot_outliers(BSVDD().fit(X))
    """
    if not isinstance(est, Views):
        require_center(est)
    if not (X is None or isinstance(X, pd.DataFrame)):
        raise TypeError(
            "X must be the data frame that the estimator was fitted to, for its texts of "
            f"categories; leave {type(X).__name__} out"
        )
    fit, model = est.fit_, type(est).__name__
    names, most = fit.data.row_names, min(most, LINES)
    if fit.lists:
        found = stand_out(est, X)
        lines = found.lines(most)
        reasons = _reasons(est, X, lines)
        return draw_outliers(found, found.names, lines, reasons, model)
    decided = est.decision()
    surprise, normal = decided["surprise"].to_numpy(), decided["normal"].to_numpy()
    order = np.argsort(-surprise, kind="stable")[:most]
    reasons = _reasons(est, None, [np.array([i]) for i in order])
    p = decided["p_value" if "p_value" in decided else "probability_normal"].to_numpy()
    what = "p" if "p_value" in decided else "P(normal)"
    titles = [f"{short(names[i])}, {what} = {p[i]:.3f}" for i in order]
    figure, ax, words = _beside_reasons(titles, reasons, normal[order])
    classes = [
        (normal, MAJORITY, "o", "within the cutoff"),
        (~normal, MINORITY, "o", "beyond the cutoff"),
    ]
    # a hyperplane has no intervals
    low, high = (decided.get(f"surprise_{end}", decided["surprise"]) for end in ("low", "high"))
    _surprises(ax, surprise, low.to_numpy(), high.to_numpy(), classes)
    ax.set_title(f"{model}: each row judged by the others", loc="left")
    if not fit.has_center:
        ax.set_ylabel("surprise")
    _finish(ax, words, surprise, names, order.tolist())
    return figure


def _reasons(est: Detector, X: Any, lines: Sequence[np.ndarray]) -> list[str]:
    """Return the reasons of lines of rows of X, by default of the training rows."""
    asked = np.unique(np.concatenate(lines))
    why = explain(est, rows=asked) if X is None else explain(est, X.iloc[asked])
    return [why.reason(np.searchsorted(asked, rows)) for rows in lines]


def draw_outliers(
    found: StandOut,
    names: np.ndarray,
    lines: Sequence[np.ndarray],
    reasons: list[str],
    model: str,
) -> Figure:
    """Draw the picture of the rows of one table.

    Parameters
    ----------
    found : StandOut
    names : ndarray of shape (n,)
    lines : list of ndarray of int
        Positions of the rows of each line on the right side, the oddest first; of these 50 are
        drawn at most.
    reasons : list of str
        What is said of these.
    model : str
    """
    lines, reasons = lines[:LINES], reasons[:LINES]
    first = [rows[0] for rows in lines]
    titles = []
    for rows in lines:
        shown = {i: short(names[i]) for i in rows[:3]}
        longest = max(map(len, shown.values()))
        title = found.title(rows, shown, min(3, GROUP // (longest + 1)))
        odd = np.median(found.probability[rows])
        titles.append(title if np.isnan(odd) else f"{title}, P(odd) = {odd:.2f}")
    figure, ax, words = _beside_reasons(titles, reasons, ~found.listed[first])
    index = np.arange(len(names))
    for members, color, label in (
        (~found.listed, MAJORITY, "not listed"),
        (found.listed, MINORITY, "listed"),
    ):
        if members.any():
            ax.scatter(index[members], found.surprise[members], s=12, color=color, label=label)
    ax.set(xlabel="row", ylabel="surprise")
    ax.set_title(f"{model}: each row beside the core", loc="left")
    _finish(ax, words, found.surprise, names, first, found.headline)
    return figure


def _beside_reasons(
    titles: list[str], reasons: list[str], dim: np.ndarray
) -> tuple[Figure, Axes, Axes]:
    """Return a figure, the axes on its left side, and those with the reasons on its right side."""
    figure, (ax, words) = plt.subplots(
        1, 2, figsize=(12, 3.8), width_ratios=[5, 4], layout="constrained"
    )
    words.set_axis_off()
    words.set_ylim(len(titles) - 0.5, -0.5)
    for rank, (title, reason, is_dim) in enumerate(zip(titles, reasons, dim, strict=True)):
        style: dict[str, Any] = {"parse_math": False, "in_layout": False}
        style["color"] = "gray" if is_dim else "black"
        at, text = rank - 0.3, f"{rank + 1}  {title}"
        words.text(0.0, at, text, fontsize=9, weight="bold", va="center", **style)
        words.text(0.03, rank - 0.12, " ".join(reason.split()), fontsize=8, va="top", **style)
    return figure, ax, words


def _finish(
    ax: Axes,
    words: Axes,
    surprise: np.ndarray,
    names: np.ndarray,
    order: Sequence[int],
    headline: str = "the oddest rows, with the shares of columns",
) -> None:
    """Name the rows, fit the texts to the right side, and number the rows in ``order``."""
    surprise_axis(ax, surprise)
    label_rows(ax, names)
    figure: Any = ax.figure
    figure.legend(loc="outside lower left", ncols=2, frameon=False, fontsize=8)
    with boxes_for_letters():
        figure.draw_without_rendering()
        width = words.bbox.width
        _fit(words.set_title(headline, loc="left"), width, _wrapped)
        for heading, reason in zip(words.texts[::2], words.texts[1::2], strict=True):
            _fit(heading, width, short)
            _fit(reason, 0.97 * width, _wrapped)
        figure.draw_without_rendering()
        missing = LINE * len(order) - words.bbox.height / figure.dpi
        figure.set_figheight(figure.get_figheight() + max(0.0, missing))
        figure.draw_without_rendering()
        _number(ax, surprise, order)


def _fit(text: Text, width: float, shorter: Callable[[str, int], str]) -> None:
    """Make a text so much shorter that it is at most ``width`` pixels wide."""
    whole = text.get_text()
    size = len(whole)
    while size > LEAST and (extent := text.get_window_extent().width) > width:
        size = max(LEAST, min(size - 1, int(size * width / extent)))
        text.set_text(shorter(whole, size))


def _wrapped(text: str, size: int) -> str:
    return textwrap.fill(text, size, max_lines=2, placeholder=" …")


def _number(ax: Axes, surprise: np.ndarray, order: Sequence[int]) -> None:
    """Number the rows in ``order``, each beside its point, where no other number is."""
    taken: list[Bbox] = []
    for rank, i in enumerate(order):
        for right, up in ((1, 1), (-1, 1), (1, -1), (-1, -1)):
            label = ax.annotate(
                str(rank + 1),
                (i, surprise[i]),
                (3 * right, 2 * up),
                textcoords="offset points",
                fontsize=8,
                ha="left" if right > 0 else "right",
                va="bottom" if up > 0 else "top",
            )
            box = label.get_window_extent()
            if not box.count_overlaps(taken):
                taken.append(box)
                break
            label.remove()


def _surprises(
    ax: Axes, surprise: np.ndarray, low: np.ndarray, high: np.ndarray, classes: list[RowClass]
) -> None:
    """Show surprises with their intervals, in the colours of the classes, and the cutoff at 0."""
    index = np.arange(len(surprise))
    for members, color, marker, label in classes:
        if members.any():
            ax.vlines(index[members], low[members], high[members], color=color, alpha=0.3, lw=1)
            at = index[members], surprise[members]
            ax.scatter(*at, s=12, color=color, marker=marker, label=label)
    ax.axhline(0.0, color="#333333", linestyle="--", linewidth=1.2)
    ax.set(xlabel="row", ylabel=r"surprise $\log(s_{\mathrm{cut}} / s_z)$")
    surprise_axis(ax, surprise, low)


def plot_boundary(
    estimators: Detector | Mapping[str, Detector],
    X: Any,
    y: Any = None,
    minor_label: Any = None,
    resolution: int = 120,
    margin: float = 0.15,
) -> Figure:
    """Show P(normal) over two columns, the decision boundary and the rows, one panel per model.

    Parameters
    ----------
    estimators : estimator or dict of name: estimator
        Fitted on two columns.
    X : array-like of shape (n, 2)
        The rows to show.
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
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        X does not have two columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = SVDD().fit(X)
    >>> figure = plots.plot_boundary({"SVDD": est}, X, resolution=20)
    """
    fits = by_name(estimators)
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_boundary shows two columns, got X of shape {X.shape}")
    minority = classes_of(y, len(X), minor_label)[0]
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - margin * (high - low), high + margin * (high - low)
    x1, x2 = np.meshgrid(*(np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True)))
    grid = np.column_stack([x1.ravel(), x2.ravel()])

    n_columns = min(2, len(fits))
    n_lines = -(-len(fits) // n_columns)
    size = 4.2 * n_columns + 0.8, 3.6 * n_lines
    shape: dict[str, Any] = {"sharex": True, "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(n_lines, n_columns, figsize=size, layout="constrained", **shape)
    for ax, (name, est) in zip(axes.flat, fits.items(), strict=False):
        decision = est.decision(with_feature_names(est, grid))
        p = decision["probability_normal"].to_numpy().reshape(x1.shape)
        show_probability(ax, p, (low[0], high[0], low[1], high[1]))
        surprise = decision["surprise"].to_numpy().reshape(x1.shape)
        ax.contour(x1, x2, surprise, [0.0], colors="#333333", linewidths=1.4)
        for members, color, marker, label in row_classes(minority):
            # a black edge is visible on the orange of P = 0
            edge, width, dot = ("white", 0.4, 18) if marker == "o" else ("black", 0.8, 30)
            mark: dict[str, Any] = {"color": color, "marker": marker, "s": dot, "label": label}
            ax.scatter(*X[members].T, edgecolors=edge, linewidths=width, **mark)
        ax.set_title(name, parse_math=False)
    for ax in axes.flat[len(fits) :]:
        ax.set_visible(False)
    figure.colorbar(axes.flat[0].images[0], ax=axes, label="P(normal | data)", shrink=0.7)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
