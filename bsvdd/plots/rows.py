"""What rows are: their surprises, the decision boundary of two columns, and ROC."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import QuadMesh
from sklearn import metrics

from ..estimators.checks import require_description, training_minority
from ..tables.labels import classes_of
from .common import (
    MAJORITY,
    MINORITY,
    P_NORMAL,
    axes_of,
    by_class,
    label_rows,
    panels,
    plain,
    points,
    surprise_axis,
)

LARGEST = np.finfo(float).max
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


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
    n = len(decided)
    surprise = decided["surprise"].to_numpy()
    minority = _minority_of(est, X, y, n)
    ax = axes_of(ax, 9.0, 3.8)
    classes = by_class(minority)
    if nobody := X is not None and y is None:
        classes = {"rows without labels": (~minority, MAJORITY)}
    colors = np.where(minority, MINORITY, MAJORITY)
    ax.vlines(
        np.arange(n),
        decided["low"],
        decided["high"],
        color=colors,
        alpha=0.3,
        linewidth=1,
    )
    points(ax, np.arange(n), surprise, classes)
    ax.axhline(0.0, color="#333333", linestyle="--", linewidth=1.2)
    ax.set(xlabel="row", ylabel="surprise; above 0: beyond the cutoff")
    ax.set_title(f"{type(est).__name__}: surprise by row")
    surprise_axis(ax, surprise)
    label_rows(ax, decided.index if names is None else names)
    if minority.any() or nobody:
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
    fits = _by_name(estimators)
    first = next(iter(fits.values()))
    if X is None:
        X = first.table_.values
        minority = first.table_.minority
    else:
        minority = classes_of(y, len(X), minor_label)[0]
    names = list(X.columns) if isinstance(X, pd.DataFrame) else ["column 0", "column 1"]
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_boundary shows two columns, got X of shape {X.shape}")
    low = np.nanmin(X, axis=0)
    high = np.nanmax(X, axis=0)
    low, high = low - margin * (high - low), high + margin * (high - low)
    ends = zip(low, high, strict=True)
    x1, x2 = np.meshgrid(*(np.linspace(a, b, resolution) for a, b in ends))
    axes = panels(len(fits), 2, 4.6, 3.8)
    images = [
        _map(ax, est, x1, x2) for ax, est in zip(axes, fits.values(), strict=True)
    ]
    for ax, name in zip(axes, fits, strict=True):
        # a white edge is visible on both ends of the colours
        points(
            ax,
            X[:, 0],
            X[:, 1],
            by_class(minority),
            edgecolors="white",
            linewidths=0.5,
            s=22,
        )
        ax.set_title(name, parse_math=False)
        ax.set(xlabel=str(names[0]), ylabel=str(names[1]))
    axes[0].figure.colorbar(
        images[-1], ax=axes.tolist(), label="P(normal | data)", shrink=0.7
    )
    if minority.any():
        place: Any = {"loc": "upper left", "bbox_to_anchor": (0.0, -0.18)}
        axes[0].legend(ncols=2, frameon=False, fontsize=8, **place)
    return axes


def _map(ax: Axes, est: Any, x1: np.ndarray, x2: np.ndarray) -> QuadMesh:
    """Draw P(normal) and the decision boundary over a grid; return the image."""
    rows: Any = np.column_stack([x1.ravel(), x2.ravel()])
    if (names := getattr(est, "feature_names_in_", None)) is not None:
        rows = pd.DataFrame(rows, columns=names)
    if hasattr(est, "decision"):
        decided = est.decision(rows)
        score = -decided["surprise"].to_numpy()
        p = decided["probability_normal"].to_numpy()
    else:
        score = est.decision_function(rows)
        p = (score >= 0.0).astype(float)
    how: dict[str, Any] = {"cmap": P_NORMAL, "vmin": 0, "vmax": 1, "shading": "gouraud"}
    image = ax.pcolormesh(x1, x2, p.reshape(x1.shape), **how)
    ax.contour(x1, x2, score.reshape(x1.shape), [0.0], colors="#333333", linewidths=1.4)
    return image


def plot_roc(est: Any, X: Any = None, y: Any = None) -> np.ndarray:
    """Show the ROC curve and the precision-recall curve, with the point of the cutoff.

    Positive means minority, abnormal. Rows are ranked by ``-est.score_samples(X)``. AUC
    is the probability that a minority row is ranked above a majority row; AP is the
    average precision, and the base rate is that of random ranks.

    Parameters
    ----------
    est : fitted estimator, or dict of them by name
    X : array-like of shape (m, p), optional
        New rows. Without them, the training rows are ranked by their left-out scores.
    y : array-like of shape (m,), optional
        Labels of X, with the rules of ``fit``.

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
    >>> X = np.concatenate([rng.normal(size=(50, 2)), rng.normal(3.0, 1.0, size=(9, 2))])
    >>> est = SVDD().fit(X, np.repeat([0, 1], [50, 9]))
    >>> axes = plots.plot_roc(est)
    """
    curves = {name: scored(each, X, y) for name, each in _by_name(est).items()}
    roc, pr = axes = panels(2, 2, 4.75, 4.4)
    rates = []
    of_roc = []
    of_pr = []
    for i, (name, (minority, score, flagged)) in enumerate(curves.items()):
        color = COLORS[i % len(COLORS)]
        false_alarms, hits, _ = metrics.roc_curve(minority, score)
        precision, recall, _ = metrics.precision_recall_curve(minority, score)
        auc = f"{plain(name)}: AUC {metrics.roc_auc_score(minority, score):.3f}"
        ap = f"{plain(name)}: AP {metrics.average_precision_score(minority, score):.3f}"
        # the curves of random ranks lie below these lines, so the labels have room
        # there
        of_roc += roc.plot(
            false_alarms, hits, color, label=auc, drawstyle="steps-post", lw=1.8
        )
        of_pr += pr.plot(
            recall, precision, color, label=ap, drawstyle="steps-pre", lw=1.8
        )
        found = (minority & flagged).sum() / minority.sum()
        alarms = (~minority & flagged).sum() / (~minority).sum()
        at_cutoff: dict[str, Any] = {
            "marker": "o", "markersize": 8, "color": color, "markeredgecolor": "white",
            "linestyle": "", "clip_on": False, "zorder": 4,
        }  # fmt: skip
        roc.plot(alarms, found, **at_cutoff)
        if flagged.any():
            pr.plot(found, (minority & flagged).sum() / flagged.sum(), **at_cutoff)
        rates.append(minority.mean())
    random: dict[str, Any] = {"color": "#777777", "linestyle": ":"}
    of_roc += roc.plot([0, 1], [0, 1], label="random ranks: AUC 0.5", **random)
    base = float(np.mean(rates))
    of_pr += [pr.axhline(base, label=f"base rate {base:.3g}", **random)]
    hit = "hits: share of the minority called abnormal"
    roc.set(xlabel="false alarms: share of the majority called abnormal", ylabel=hit)
    pr.set(xlabel=hit, ylabel="precision: share of minority rows among those")
    for ax, lines, title in ((roc, of_roc, "ROC"), (pr, of_pr, "Precision and recall")):
        ax.set(xlim=(0, 1), ylim=(0, 1.02), title=f"{title}; the dot is the cutoff")
        # by its lines, as a label that starts with "_" hides a line
        ax.legend(handles=lines, frameon=False, fontsize=9, loc="best")
    return axes


def scored(est: Any, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each row whether it is minority, its abnormality, and whether it is flagged."""
    if X is None:
        require_description(est, "score of left-out rows")
        score = -est.decision()["surprise"].to_numpy()
    elif y is None:
        raise ValueError("plot_roc needs the labels y of X: which rows are minority")
    else:
        score = np.asarray(est.decision_function(X), dtype=float)
    minority = _minority_of(est, X, y, len(score))
    if minority.all() or not minority.any():
        raise ValueError(
            "ROC and precision need majority and minority rows, got "
            f"{int((~minority).sum())} and {int(minority.sum())}; give labelled rows, "
            "plot_roc(est, X, y)"
        )
    return minority, np.minimum(-score, LARGEST), score < 0.0


def _by_name(est: Any) -> dict[str, Any]:
    """Return one estimator or several by their names."""
    return dict(est) if isinstance(est, Mapping) else {type(est).__name__: est}


def _minority_of(est: Any, X: Any, y: Any, n: int) -> np.ndarray:
    """Return which of n rows are minority: of X by labels y, if there are any, or of the fit."""
    if X is None:
        return training_minority(est)
    if y is None:
        return np.zeros(n, dtype=bool)
    return np.asarray(
        est.minority_of(y, n) if hasattr(est, "minority_of") else classes_of(y, n)[0]
    )
