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
from .common import MINORITY, Fitted, label_rows, require_center, row_classes, surprise_axis


def plot_distance_posterior(est: Fitted, X: Any, names: Sequence[str] | None = None) -> Figure:
    """Show the posterior of d_z with the cutoff D_opt and P(normal), one panel per row of X.

    P(normal) counts the uncertainty of the cutoff too; with ``Cutoff(uncertain=False)`` it is the
    share of the posterior at or below D_opt.

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
    d = est.distance(X)
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


def plot_distances(
    est: Fitted,
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
    require_center(est)
    fit = est.fit_
    if X is None:
        minority, own_names = fit.data.minority, fit.data.row_names
        score, _, low, high = est._training(prob)
    else:
        rows = new_rows.table(est, X)
        minority, own_names = minority_rows(y, len(rows), est.minor_label), row_names(X, len(rows))
        score, _, low, high = fit.center.decision(rows, fit.level, prob)
    middle = -score
    figure, ax = plt.subplots(figsize=(9, 3.8), layout="constrained")
    index = np.arange(len(middle))
    for members, color, marker, label in row_classes(minority):
        ax.vlines(index[members], low[members], high[members], color=color, alpha=0.35, linewidth=1)
        ax.scatter(index[members], middle[members], s=14, color=color, marker=marker, label=label)
    ax.axhline(0.0, color="#333333", linestyle="--", linewidth=1.2)
    name = r"surprise $\log(s_{\mathrm{cut}} / s_z)$"
    ax.set(xlabel="row", ylabel=name, title=f"{type(est).__name__}: surprise by row")
    surprise_axis(ax, middle)
    label_rows(ax, own_names if names is None else np.asarray(names))
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
