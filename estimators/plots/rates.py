"""Rates of the decisions: false alarms realised and asked, ROC and precision-recall curves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.stats import betabinom
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)

from ...inference.left_out import folds
from ...models.kernels.base import LARGEST
from ..detector import Detector
from ..fitting import fit_to
from ..p_values import fold_of
from ..questions.p_value import p_value
from .common import by_name, plain

COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000"]
LEFT_OUT_FOLDS = 5
SMALL_RATES = 0.2  # the second panel shows rates up to it


def plot_calibration(
    est: Detector | Mapping[str, Detector],
    X: Any = None,
    method: str = "left-out",
    probability: float = 0.95,
    on_fit: Callable[[int, int], None] | None = None,
) -> Figure:
    r"""Show the realised against the asked false alarms, and their binomial band.

    The share of normal rows with :math:`p(z) \le \alpha` is the realised false-alarm rate of the
    cutoff for :math:`\alpha`. As a function of :math:`\alpha` it is the distribution function of
    the p-values, which is the diagonal for valid p-values. The second panel enlarges small rates.

    Parameters
    ----------
    est : fitted estimator, or dict of them by name
    X : array-like of shape (m, p), optional
        New normal rows. Without them, training rows are used: 5 times the model is fitted to four
        fifths of the rows, with a new bandwidth, and gives p-values to the others.
    method : str, default="left-out"
        As in :func:`bsvdd.p_value`.
    probability : float, default=0.95
        Of the band, at each rate by itself. It is that of a beta-binomial distribution: the n
        left-out rows and the m new rows are both random.
    on_fit : callable, optional
        Called at the beginning of each fit to four fifths, with its number from 1 and that of all.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        X is not given and the kernel is precomputed, or the fit holds a sample of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, plots
    >>> rng = np.random.default_rng(0)
    >>> est = SVDD().fit(rng.normal(size=(100, 2)))
    >>> figure = plots.plot_calibration(est, rng.normal(size=(500, 2)))
    """
    fits = by_name(est)
    p_values = {name: _p_values(each, X, method, on_fit) for name, each in fits.items()}
    n = min(int((~each.fit_.data.minority).sum()) for each in fits.values())
    m = min(map(len, p_values.values()))
    fig, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
    for ax, largest in zip(axes, (1.0, SMALL_RATES), strict=True):
        curves = _draw(ax, p_values, n, m, largest, probability)
        if ax is axes[0]:  # by its curves, as a label that starts with "_" hides a curve
            ax.legend(handles=curves, loc="upper left", fontsize=8)
    axes[0].set_title("p-values of normal rows against uniform")
    axes[1].xaxis.set_major_locator(MaxNLocator(4))
    axes[1].set_title(f"realised and asked false alarms, up to {SMALL_RATES:g}")
    return fig


def _draw(
    ax: Axes, p_values: dict[str, np.ndarray], n: int, m: int, largest: float, probability: float
) -> list[Artist]:
    """Draw the band and a curve for each estimator; return them."""
    rate = np.linspace(0.0, largest, 201)
    low, high = band(rate, n, m, probability)
    label = f"{100 * probability:g} % band of valid p-values"
    curves: list[Artist] = [ax.fill_between(rate, low, high, color="#dddddd", label=label)]
    ax.plot(rate, rate, color="#333333", linewidth=1)
    for name, p in p_values.items():
        share = (p[:, None] <= rate + 1e-12).mean(axis=0)
        curves += ax.plot(rate, share, linewidth=1.4, label=plain(name))
    ax.set(xlabel="asked false alarms", ylabel="realised false alarms", xlim=(0, largest))
    ax.set_ylim(0, max(largest, float(high.max())))
    return curves


def band(rate: np.ndarray, n: int, m: int, probability: float = 0.95) -> np.ndarray:
    """Return the band of the share of m new rows with p <= rate, n left-out rows; (2, rates)."""
    above = np.floor(rate * (n + 1) + 1e-9)
    tail = (1.0 - probability) / 2.0
    inside = (above > 0) & (above <= n)
    k = np.where(inside, above, 1.0)
    quantiles = [betabinom.ppf(q, m, k, n + 1 - k) / m for q in (tail, 1.0 - tail)]
    return np.where(inside, quantiles, np.where(above > n, 1.0, 0.0))


def _p_values(
    est: Detector, X: Any, method: str, on_fit: Callable[[int, int], None] | None
) -> np.ndarray:
    """Return the p-values of new rows, or of training rows by fits without them."""
    if X is not None:
        return np.asarray(p_value(est, X, method))
    data = est.fit_.data
    if data.kernel.pairwise or not data.all_rows:
        raise ValueError(
            "training rows can be left out only if the fit holds all of them and the kernel is "
            "not precomputed; give new normal rows, plot_calibration(est, X)"
        )
    p = np.empty(len(data.rows))
    for i, (train, test) in enumerate(folds(data.minority, LEFT_OUT_FOLDS, data.seed), 1):
        if on_fit is not None:
            on_fit(i, LEFT_OUT_FOLDS)
        fold = fold_of(fit_to(est.fit_, train), method)
        p[test] = fold.p_values(data.rows[test])
    return p[~data.minority]


def plot_roc(est: Detector | Mapping[str, Detector], X: Any = None, y: Any = None) -> Figure:
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
    matplotlib.figure.Figure

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
    >>> figure = plots.plot_roc(est)
    """
    curves = {name: scored(each, X, y) for name, each in by_name(est).items()}
    figure, (roc, pr) = plt.subplots(1, 2, figsize=(9.5, 4.4), layout="constrained")
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
    return figure


def scored(est: Detector, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return of each row whether it is minority, its abnormality, and whether it is flagged."""
    if X is None:
        minority, score = est.fit_.data.minority, est.fit_.left_out
        known = ~np.isnan(score)
        minority, score = minority[known], score[known]
    else:
        if y is None:
            raise ValueError("plot_roc needs the labels y of X: which rows are minority")
        score = np.maximum(est.score_samples(X), -LARGEST)
        minority = est.fit_.minority_of(y, len(score))
    if minority.all() or not minority.any():
        raise ValueError(
            "ROC and precision need majority and minority rows, got "
            f"{int((~minority).sum())} and {int(minority.sum())}; give labelled rows, "
            "plot_roc(est, X, y)"
        )
    return minority, -score, score < 0.0
