"""ROC and precision-recall curves."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from ..fitted import require_description
from .common import by_name, minority_of, panels, plain, training_minority

LARGEST = np.finfo(float).max
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]


def plot_roc(est: Any, X: Any = None, y: Any = None) -> np.ndarray:
    """Show the ROC curve and the precision-recall curve, with the point of the cutoff.

    Positive means minority, abnormal. Rows are ranked by ``-est.score_samples(X)``. AUC is the
    probability that a minority row is ranked above a majority row; AP is the average precision,
    and the base rate is that of random ranks.

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
    curves = {name: scored(each, X, y) for name, each in by_name(est).items()}
    roc, pr = axes = panels(2, 2, 4.75, 4.4)
    rates, of_roc, of_pr = [], [], []
    for i, (name, (minority, score, flagged)) in enumerate(curves.items()):
        color = COLORS[i % len(COLORS)]
        false_alarms, hits, _ = roc_curve(minority, score)
        precision, recall, _ = precision_recall_curve(minority, score)
        auc = f"{plain(name)}: AUC {roc_auc_score(minority, score):.3f}"
        ap = f"{plain(name)}: AP {average_precision_score(minority, score):.3f}"
        # the curves of random ranks lie below these lines, so the labels have room there
        of_roc += roc.plot(false_alarms, hits, color, label=auc, drawstyle="steps-post", lw=1.8)
        of_pr += pr.plot(recall, precision, color, label=ap, drawstyle="steps-pre", lw=1.8)
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
        minority = training_minority(est)
    elif y is None:
        raise ValueError("plot_roc needs the labels y of X: which rows are minority")
    else:
        score = np.asarray(est.decision_function(X), dtype=float)
        minority = minority_of(est, y, len(score))
    if minority.all() or not minority.any():
        raise ValueError(
            "ROC and precision need majority and minority rows, got "
            f"{int((~minority).sum())} and {int(minority.sum())}; give labelled rows, "
            "plot_roc(est, X, y)"
        )
    return minority, np.minimum(-score, LARGEST), score < 0.0
