"""Distances d_z: the posterior for a few rows, and intervals for all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .. import new_rows
from ..inputs import row_names
from ..labels import minority_rows
from .common import MINORITY, Fitted, label_rows, require_center, row_classes

SATURATED = 0.99  # cutoff, as a share of the distance of a row similar to no training row


def plot_distance_posterior(est: Fitted, X: Any, names: Sequence[str] | None = None) -> Figure:
    """Show the posterior of d_z with the cutoff D_opt and P(normal), one panel per row of X.

    The squared norm of the centre is held at its median, as in ``distance(X, common_norm=True)``,
    so P(normal) is the share of the posterior below the cutoff.

    Parameters
    ----------
    est : fitted Bayesian estimator
    X : array-like of shape (n, p)
        A few rows z.
    names : sequence of str, optional
        Titles of the panels, one per row. Default: the index of X if X is a data frame, else the
        numbers of the rows.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane and no distance from a centre, the model has no posterior, or
        the number of names differs from the number of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_distance_posterior(est, X[:2], ["one row", "another"])
    """
    import arviz as az

    require_center(est)
    d = est.distance(X, common_norm=True)
    if d.sizes["draw"] == 1:
        raise ValueError(
            f"{type(est).__name__} has one weight vector and no posterior of d_z; "
            "plot a Bayesian estimator such as BSVDD"
        )
    if names is None:
        names = [f"row {name}" for name in row_names(X, d.sizes["obs"])]
    names = list(names)
    if len(names) != d.sizes["obs"]:
        raise ValueError(
            f"names must have one entry for each of {d.sizes['obs']} rows of X, got {len(names)}"
        )
    p = est.probability_normal(X)
    tree = xr.DataTree.from_dict({"posterior": d.assign_coords(obs=names).to_dataset(name="d")})
    size = 3.4 * min(3, len(names)), 2.5 * -(-len(names) // 3)
    panels = az.plot_dist(
        tree,
        backend="matplotlib",
        col_wrap=3,
        visuals={"title": False, "point_estimate": False, "point_estimate_text": False},
        figure_kwargs={"figsize": size, "layout": "constrained"},
    )
    low, high = min(d.values.min(), est.cutoff_), max(d.values.max(), est.cutoff_)
    space = 0.04 * (high - low)
    for name, probability in zip(names, p, strict=True):
        ax = panels.viz["plot"]["d"].sel(obs=name).item()
        ax.set_ylim(top=1.15 * ax.get_ylim()[1])  # room for the label of the cutoff
        ax.axvline(est.cutoff_, color=MINORITY, linestyle="--", linewidth=1.4)
        ax.annotate(
            r"$D_{\mathrm{opt}}$",
            (est.cutoff_, 0.98),
            xycoords=("data", "axes fraction"),
            xytext=(3, 0),
            textcoords="offset points",
            color=MINORITY,
            fontsize=8,
            va="top",
        )
        ax.set_xlim(low - space, high + space)  # one scale for all panels
        ax.set_title(f"{name}: P(normal) = {probability:.2f}", fontsize=10, parse_math=False)
        ax.set_xlabel(r"$d_z$")
    return panels.viz["figure"].item()


def saturated(est: Fitted) -> bool:
    """Return whether remote rows have nearly one distance, so that their surprise says more."""
    center: Any = est.fit_.center
    if not (est.fit_.has_center and center.logarithmic):
        return False
    return bool(est.cutoff_ > SATURATED * center.distance_of(-np.inf))


def plot_distances(
    est: Fitted,
    X: Any = None,
    y: Any = None,
    prob: float = 0.9,
    names: Sequence[Any] | None = None,
) -> Figure:
    """Show the distance of each row with its posterior interval, and the cutoff.

    The squared norm of the centre is held at its median, as ``distance(X, common_norm=True)``. With
    a narrow kernel all remote rows have nearly the same distance, that of a row similar to no
    training row. If the cutoff is within 1 % of it, and weights and kernel values are at least 0,
    the surprise is shown instead, which has the same order and all digits (see ``est.explain``).

    Parameters
    ----------
    est : fitted estimator
    X : array-like of shape (n, p), optional
        The rows to show; by default the training rows.
    y : array-like of shape (n,), optional
        Labels of X, with the rules of ``fit``.
    prob : float, default=0.9
        Probability of the equal-tailed interval of d_z.
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
    require_center(est)
    fit, levels = est.fit_, [(1 - prob) / 2, 0.5, (1 + prob) / 2]
    rows, minority, own_names = fit.data.rows, fit.data.minority, fit.data.row_names
    if X is not None:
        rows = new_rows.table(est, X)
        minority, own_names = minority_rows(y, len(rows), est.minor_label), row_names(X, len(rows))
    if saturated(est):
        low, median, high = (-fit.center.scores(rows, level) for level in levels)
        what, name = "surprise", r"surprise $-\log\,\Sigma_j w_j k(u_j, z)$"
        cutoff, letter = -est.offset_, r"\mathrm{cutoff}"
    else:
        low, median, high = fit.center.decision(rows, fit.cutoff, fit.level, levels)[2:]
        what, name = "distance", r"distance $d_z$"
        cutoff, letter = est.cutoff_, r"D_{\mathrm{opt}}"
    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    index = np.arange(len(median))
    for members, color, marker, label in row_classes(minority):
        ax.vlines(index[members], low[members], high[members], color=color, alpha=0.35, linewidth=1)
        ax.scatter(index[members], median[members], s=14, color=color, marker=marker, label=label)
    ax.axhline(cutoff, color="#333333", linestyle="--", linewidth=1.2)
    ax.annotate(
        rf"${letter}$ = {cutoff:.4g}",
        (1.0, cutoff),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        annotation_clip=False,
    )
    ax.set(xlabel="row", ylabel=name, title=f"{type(est).__name__}: {what} by row")
    label_rows(ax, own_names if names is None else np.asarray(names))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
