"""What rows are: their surprises, the decision boundary of two columns, and ROC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from sklearn import metrics

from ..estimators.checks import require_description, training_minority
from ..estimators.of_rows import OfRows
from ..estimators.protocols import HasTable, LeavesOut, RowScorer
from ..tables.labels import classes_of
from .common import (
    DARK,
    MAJORITY,
    MINORITY,
    P_NORMAL,
    axes_of,
    by_class,
    draw_surprises,
    label_rows,
    legend_below,
    panels,
    plain,
    scatter,
    short,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import QuadMesh
    from numpy.typing import ArrayLike

LARGEST_FLOAT = np.finfo(float).max
LONGEST_COLUMN = 30  # characters of the name of a column beside an axis
MARGIN = 0.15  # around the rows of a map, as a share of their range
CURVE_COLORS = [MAJORITY, MINORITY, "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000"]
DOT = {"markersize": 8, "markeredgecolor": "white", "clip_on": False, "zorder": 4}
RANDOM = {"color": "#777777", "linestyle": ":"}  # of random ranks
HITS = "hits: share of the minority called abnormal"


def plot_distances(
    est: LeavesOut,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    prob: float = 0.9,
    names: Sequence[object] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Show the surprise of each row with its interval; the cutoff is at 0.

    Parameters
    ----------
    est : fitted description
    X : array-like of shape (n, p), optional
        The rows to show; by default the training rows, each left out.
    y : array-like of shape (n,), optional
        Labels of X, read as ``fit`` reads them.
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
    rows = np.arange(len(decided))
    minority = _minority_of(est, X, y, len(rows))
    ax = axes_of(ax, 9.0, 3.8)
    classes = by_class(minority)
    if nobody := X is not None and y is None:
        classes = {"rows without labels": (~minority, MAJORITY)}
    colors = np.where(minority, MINORITY, MAJORITY)
    ax.vlines(
        rows, decided["low"], decided["high"], color=colors, alpha=0.3, linewidth=1
    )
    draw_surprises(ax, decided["surprise"].to_numpy(), classes)
    ax.axhline(0.0, color=DARK, linestyle="--", linewidth=1.2)
    ax.set_title(f"{type(est).__name__}: surprise by row")
    label_rows(ax, decided.index if names is None else names)
    if minority.any() or nobody:
        ax.legend(frameon=False, fontsize=8)
    return ax


def plot_boundary(
    estimators: RowScorer | Mapping[str, RowScorer],
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
    resolution: int = 120,
) -> np.ndarray:
    """Show P(normal) over two columns, with the decision boundary and the rows.

    Each model has a panel.

    Parameters
    ----------
    estimators : estimator or dict of name: estimator
        Fitted on two columns of numbers.
    X : array-like of shape (n, 2), optional
        The rows to show; by default the training rows of the first estimator.
    y : array-like of shape (n,), optional
        Labels, read as ``fit`` reads them.
    resolution : int, default=120
        Steps of the grid along each axis.

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
    fits = _by_name(estimators)
    if X is None:
        known = cast(HasTable, next(iter(fits.values()))).table_
        X = known.values
        minority = known.minority
    else:
        first = next(iter(fits.values()))
        minority = _minority_of(first, X, y, len(np.asarray(X)))
    columns = X.columns if isinstance(X, pd.DataFrame) else None
    names = ["column 0", "column 1"] if columns is None else columns
    rows = np.asarray(X).astype(float)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(
            f"plot_boundary shows two columns, got X of shape {rows.shape}"
        )
    x1, x2 = mesh_of(rows, resolution)
    axes = panels(len(fits), 2, 4.6, 3.8)
    images = []
    for ax, (name, est) in zip(axes, fits.items(), strict=True):
        mesh = pd.DataFrame(np.stack([x1, x2]).reshape(2, -1).T, columns=columns)
        score, p = _score_and_probability(est, mesh)
        images.append(draw_map(ax, x1, x2, p.reshape(x1.shape)))
        ax.contour(x1, x2, score.reshape(x1.shape), [0.0], colors=DARK, linewidths=1.4)
        # a white edge is visible on both ends of the colours
        edge = {"edgecolors": "white", "linewidths": 0.5}
        scatter(ax, rows[:, 0], rows[:, 1], by_class(minority), s=22, **edge)
        ax.set_title(name, parse_math=False)
        x, y_ = (plain(short(each, LONGEST_COLUMN)) for each in names)
        ax.set(xlabel=x, ylabel=y_)
    figure = axes[0].figure
    figure.colorbar(images[-1], ax=list(axes), label="P(normal | data)", shrink=0.7)
    if minority.any():
        legend_below(axes[0], 2)
    return axes


def mesh_of(rows: np.ndarray, resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates of a mesh that covers rows (n, 2) with a margin."""
    low = np.nanmin(rows, axis=0)
    high = np.nanmax(rows, axis=0)
    space = MARGIN * np.where(high > low, high - low, 1.0)
    x1, x2 = np.meshgrid(*np.linspace(low - space, high + space, resolution).T)
    return x1, x2


def draw_map(ax: Axes, x1: np.ndarray, x2: np.ndarray, p: np.ndarray) -> QuadMesh:
    """Return the image of P(normal) over a mesh."""
    return ax.pcolormesh(x1, x2, p, cmap=P_NORMAL, vmin=0, vmax=1, shading="gouraud")


def _score_and_probability(
    est: RowScorer, rows: pd.DataFrame
) -> tuple[np.ndarray, np.ndarray]:
    """Return the score and P(normal) of rows; without draws P(normal) is 0 or 1."""
    names = getattr(est, "feature_names_in_", None)
    if names is None:
        rows = rows.to_numpy()
    else:  # in the order of the fit, if the rows have names
        known = set(names) == set(rows)
        rows = rows[list(names)] if known else rows.set_axis(names, axis=1)
    if isinstance(est, LeavesOut):
        decided = est.decision(rows)
        p = decided["probability_normal"].to_numpy()
        return -decided["surprise"].to_numpy(), p
    score = est.decision_function(rows)
    return score, (score >= 0.0).astype(float)


def plot_roc(
    est: RowScorer | Mapping[str, RowScorer],
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
) -> np.ndarray:
    """Show the ROC curve and the precision-recall curve, with a dot at the cutoff.

    Positive means minority, abnormal. Rows are ranked by ``-est.score_samples(X)``. AUC
    is the probability that a minority row is ranked above a majority row; AP is the
    average precision, and the base rate is the AP of random ranks.

    Parameters
    ----------
    est : fitted estimator, or dict of them by name
    X : array-like of shape (m, p), optional
        New rows. Without them, the training rows are ranked by their left-out scores.
    y : array-like of shape (m,), optional
        Labels of X, read as ``fit`` reads them.

    Returns
    -------
    ndarray of matplotlib.axes.Axes, shape (2,)

    Raises
    ------
    ValueError
        There are no rows of one of the classes, or X is given without y.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, plots
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(3.0, size=(9, 2))])
    >>> est = SVDD().fit(X, np.repeat([0, 1], [50, 9]))
    >>> axes = plots.plot_roc(est)
    """
    roc, pr = axes = panels(2, 2, 4.75, 4.4)
    of_roc = []
    of_pr = []
    rates = []
    for i, (name, each) in enumerate(_by_name(est).items()):
        minority, score, flagged = _scored(each, X, y)
        color = CURVE_COLORS[i % len(CURVE_COLORS)]
        false_alarms, hits, _ = metrics.roc_curve(minority, score)
        precision, recall, _ = metrics.precision_recall_curve(minority, score)
        auc = f"{plain(name)}: AUC {metrics.roc_auc_score(minority, score):.3f}"
        ap = f"{plain(name)}: AP {metrics.average_precision_score(minority, score):.3f}"
        # random ranks lie below these lines, where labels have room
        style = {"color": color, "lw": 1.8}
        of_roc += roc.plot(
            false_alarms, hits, label=auc, drawstyle="steps-post", **style
        )
        of_pr += pr.plot(recall, precision, label=ap, drawstyle="steps-pre", **style)
        found = flagged[minority].mean()
        alarms = flagged[~minority].mean()
        dot = DOT | {"color": color}
        roc.plot(alarms, found, "o", **dot)
        if flagged.any():
            pr.plot(found, minority[flagged].mean(), "o", **dot)
        rates.append(minority.mean())
    of_roc += roc.plot([0, 1], [0, 1], label="random ranks: AUC 0.5", **RANDOM)
    base = float(np.mean(rates))
    of_pr.append(pr.axhline(base, label=f"base rate {base:.3g}", **RANDOM))
    roc.set(xlabel="false alarms: share of the majority called abnormal", ylabel=HITS)
    pr.set(xlabel=HITS, ylabel="precision: share of minority rows among those")
    for ax, lines, title in ((roc, of_roc, "ROC"), (pr, of_pr, "Precision and recall")):
        ax.set(xlim=(0, 1), ylim=(0, 1.02), title=f"{title}; the dot is the cutoff")
        # by its lines, as a label that starts with "_" hides a line
        ax.legend(handles=lines, frameon=False, fontsize=9, loc="best")
    return axes


def _scored(
    est: RowScorer, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return whether each row is minority, its surprise, and whether it is flagged."""
    if X is None:
        require_description(est, "score of left-out rows")
        surprise = cast(LeavesOut, est).surprise_
    elif y is None:
        raise ValueError("plot_roc needs the labels y of X: which rows are minority")
    else:
        surprise = -np.asarray(est.decision_function(X), dtype=float)
    minority = _minority_of(est, X, y, len(surprise))
    if minority.all() or not minority.any():
        raise ValueError(
            "ROC and precision need majority and minority rows, got "
            f"{int((~minority).sum())} and {int(minority.sum())}; give labelled rows, "
            "plot_roc(est, X, y)"
        )
    return minority, np.minimum(surprise, LARGEST_FLOAT), surprise > 0.0


def _by_name(
    est: RowScorer | Mapping[str, RowScorer],
) -> Mapping[str, RowScorer]:
    """Return one estimator or several by their names."""
    return est if isinstance(est, Mapping) else {type(est).__name__: est}


def _minority_of(
    est: RowScorer,
    X: ArrayLike | None,
    y: ArrayLike | None,
    n: int,
) -> np.ndarray:
    """Return which of n rows are minority: of X by the labels y, or of the fit."""
    if X is None:
        return training_minority(cast(LeavesOut, est))
    if y is None:
        return np.zeros(n, dtype=bool)
    if isinstance(est, OfRows):
        return est.minority_of(y, n)
    return np.asarray(classes_of(y, n)[0])
