"""Pictures of a fitted description, by matplotlib and ArviZ. Each returns its figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import LogLocator, NullLocator
from scipy.spatial.distance import pdist

from ..models import bandwidth
from .bayesian import BayesianDescription
from .decision import probability_normal
from .description import Description
from .detector import Detector
from .labels import minority_rows

MAJORITY, MINORITY = "#0072B2", "#D55E00"  # told apart by the colour-blind (Okabe and Ito 2008)
PRIOR = "#999999"
P_NORMAL = LinearSegmentedColormap.from_list("p_normal", ["#EBA77C", "#F7F4EF", "#8FBFDD"])


def plot_boundary(
    estimators: Detector | Mapping[str, Detector],
    X: Any,
    y: Any = None,
    minor_label: Any = None,
    resolution: int = 120,
    margin: float = 0.15,
) -> Figure:
    """Show P(normal) over the plane, its decision boundary and the rows; a panel a model.

    Parameters
    ----------
    estimators : estimator or dict of name: estimator
        Fitted on two columns.
    X : array-like of shape (n, 2)
    y : array-like of shape (n,), optional
        Labels, read as by ``fit``.
    minor_label : optional
    resolution : int, default=120
        Points of the grid along each axis.
    margin : float, default=0.15
        Room around the rows, as a share of their range.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        X has not two columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = SVDD().fit(X)
    >>> figure = plots.plot_boundary({"SVDD": est}, X, resolution=20)
    """
    if isinstance(estimators, Detector):
        estimators = {type(estimators).__name__: estimators}
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_boundary shows two columns, got X of shape {X.shape}")
    minority = minority_rows(y, len(X), minor_label)
    low, high = X.min(axis=0), X.max(axis=0)
    low, high = low - margin * (high - low), high + margin * (high - low)
    x1, x2 = np.meshgrid(*(np.linspace(a, b, resolution) for a, b in zip(low, high, strict=True)))
    grid = np.column_stack([x1.ravel(), x2.ravel()])

    columns = min(2, len(estimators))
    lines = -(-len(estimators) // columns)
    figure, axes = plt.subplots(
        lines,
        columns,
        figsize=(4.2 * columns + 0.8, 3.6 * lines),
        sharex=True,
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    for ax, (name, est) in zip(axes.flat, estimators.items(), strict=False):
        decision = est.decision(grid)
        p = decision["probability_normal"].to_numpy().reshape(x1.shape)
        show_probability(ax, p, (low[0], high[0], low[1], high[1]))
        margin = (est.cutoff_ - decision["distance"]).to_numpy().reshape(x1.shape)
        ax.contour(x1, x2, margin, [0.0], colors="#333333", linewidths=1.4)
        _rows(ax, X, minority)
        ax.set_title(name)
    for ax in axes.flat[len(estimators) :]:
        ax.set_visible(False)
    figure.colorbar(axes.flat[0].images[0], ax=axes, label="P(normal | data)", shrink=0.7)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def plot_distance_posterior(est: Description, X: Any, names: Sequence[str] | None = None) -> Figure:
    """Show the posterior of d_z for each row of X, with D_opt and P(normal) written in.

    Parameters
    ----------
    est : fitted Bayesian estimator
    X : array-like of shape (n, p)
        The points z, a few.
    names : sequence of str, optional
        Titles of the panels.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The model has a hyperplane and no distance from a centre, or has no
        posterior of it; or there is not one name for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_distance_posterior(est, X[:2], ["one row", "another"])
    """
    import arviz as az

    _require_center(est)
    d = est.distance(X)
    if d.sizes["draw"] == 1:
        raise ValueError(
            f"{type(est).__name__} has one weight vector and no posterior of d_z; "
            "plot a Bayesian estimator such as BSVDD"
        )
    names = list(names) if names is not None else [f"row {i}" for i in range(d.sizes["obs"])]
    if len(names) != d.sizes["obs"]:
        raise ValueError(f"names must have one entry for each of {d.sizes['obs']} rows of X")
    p = probability_normal(d.values.reshape(-1, len(names)), est.cutoff_)
    tree = xr.DataTree.from_dict({"posterior": d.assign_coords(obs=names).to_dataset(name="d")})
    panels = az.plot_dist(
        tree,
        backend="matplotlib",
        col_wrap=3,
        visuals={"title": False, "point_estimate": False, "point_estimate_text": False},
        figure_kwargs={
            "figsize": (3.4 * min(3, len(names)), 2.5 * -(-len(names) // 3)),
            "layout": "constrained",
        },
    )
    for name, probability in zip(names, p, strict=True):
        ax = panels.viz["plot"]["d"].sel(obs=name).item()
        ax.set_ylim(top=1.15 * ax.get_ylim()[1])  # room for the name of the line
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
        ax.set_title(f"{name}: P(normal) = {probability:.2f}", fontsize=10)
        ax.set_xlabel(r"$d_z$")
    return panels.viz["figure"].item()


def plot_distances(est: Description, X: Any = None, y: Any = None, prob: float = 0.9) -> Figure:
    """Show the distance of each row against its index, with its interval and the cutoff.

    Parameters
    ----------
    est : fitted estimator
    X : array-like of shape (n, p), optional
        The training rows when left out.
    y : array-like of shape (n,), optional
        Labels of X, read as by ``fit``.
    prob : float, default=0.9
        Mass of the equal-tailed interval of d_z.

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
    _require_center(est)
    if X is None:
        d, minority = (
            est.idata_.children["distance"].dataset["d"],
            est.idata_.children["constant_data"].dataset["minority"].values,
        )
    else:
        d = est.distance(X)
        minority = minority_rows(y, d.sizes["obs"], est.minor_label)
    draws = d.values.reshape(-1, d.sizes["obs"])
    low, middle, high = np.quantile(draws, [(1 - prob) / 2, 0.5, (1 + prob) / 2], axis=0)
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    index = np.arange(len(middle))
    for chosen, color, marker, name in _classes(minority):
        ax.vlines(index[chosen], low[chosen], high[chosen], color=color, alpha=0.35, linewidth=1)
        ax.scatter(index[chosen], middle[chosen], s=14, color=color, marker=marker, label=name)
    ax.axhline(est.cutoff_, color="#333333", linestyle="--", linewidth=1.2)
    ax.annotate(
        rf"$D_{{\mathrm{{opt}}}}$ = {est.cutoff_:.4g}",
        (1.0, est.cutoff_),
        xycoords=("axes fraction", "data"),
        xytext=(4, 0),
        textcoords="offset points",
        va="center",
        annotation_clip=False,
    )
    ax.set(xlabel="row", ylabel=r"distance $d_z$", title=f"{type(est).__name__}: distance by row")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


def plot_weights(est: Description, most: int = 25, prob: float = 0.9) -> Figure:
    """Show the largest weights (by posterior mean of ``|w|``) with their intervals.

    Parameters
    ----------
    est : fitted estimator
    most : int, default=25
        How many weights.
    prob : float, default=0.9
        Mass of the outer interval; the inner one holds half.

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
    >>> figure = plots.plot_weights(est, most=10)
    """
    _require_center(est)
    w = est.idata_.children["posterior"].dataset["w"]
    order = np.argsort(-abs(w).mean(("chain", "draw")).values, kind="stable")[:most]
    chosen = w.isel(point=np.sort(order)).values.reshape(-1, len(order))
    quantiles = [(1 - prob) / 2, 0.25, 0.5, 0.75, (1 + prob) / 2]
    low, quarter, middle, three, high = np.quantile(chosen, quantiles, axis=0)
    figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
    index = np.arange(len(order))
    minority = np.sort(order) >= est.gram_.n_majority_points
    for rows, color, marker, name in _classes(minority):
        ax.vlines(index[rows], low[rows], high[rows], color=color, linewidth=1)
        ax.vlines(index[rows], quarter[rows], three[rows], color=color, linewidth=3)
        ax.scatter(
            index[rows], middle[rows], s=18, color=color, marker=marker, label=name, zorder=3
        )
    ax.axhline(0, color="#999999", linewidth=0.8)
    ax.set_xticks(index, [str(j) for j in np.sort(order)], fontsize=7, rotation=90)
    shown = f"the {len(order)} largest of {w.sizes['point']}"
    support = float(est.idata_.children["diagnostics"].dataset["effective_support"])
    ax.set(
        xlabel="dictionary point",
        ylabel="weight $w_j$",
        title=f"{type(est).__name__}: {shown}; effective support points {support:.1f}",
    )
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure


HEALTH = {
    "effective_support": "effective number of support points",
    "largest_weight": "largest weight",
    "minority_total": "total of the minority weights",
    "typical_distance": "median distance of the majority's training rows",
}


def plot_prior_health(est: BayesianDescription) -> Figure:
    """Show the prior and the posterior of what tells how weights and distances spread.

    A panel for each quantity of ``est.prior_health()``, with the share of the draws: where both
    agree, the data have said nothing about it; few effective support points are a collapse.

    Parameters
    ----------
    est : fitted Bayesian estimator

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The prior is improper, or there is no posterior.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> est = BDD().fit(X)
    >>> figure = plots.plot_prior_health(est)
    """
    prior, posterior = est.health_draws("prior"), est.health_draws("posterior")
    columns = 2
    figure, axes = plt.subplots(
        -(-len(prior) // columns), columns, figsize=(8, 5.2), squeeze=False, layout="constrained"
    )
    for ax in axes.ravel()[len(prior) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.ravel(), prior, strict=False):
        both = np.concatenate([prior[name], posterior[name]])
        if both.max() > 10 * both.min() > 0:
            bins = np.geomspace(both.min(), both.max(), 41)
            ax.set_xscale("log")
            ax.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            ax.xaxis.set_major_formatter("{x:g}")
            ax.xaxis.set_minor_locator(NullLocator())
        else:
            bins = np.histogram_bin_edges(both, bins=40)
        for values, label, colour in (
            (prior[name], "prior", PRIOR),
            (posterior[name], "posterior", MAJORITY),
        ):
            share = np.full(len(values), 1 / len(values))
            ax.hist(values, bins, weights=share, alpha=0.6, color=colour, label=label)
        ax.set(xlabel=HEALTH[name], yticks=[])
        ax.spines[["left", "right", "top"]].set_visible(False)
    axes[0, 0].legend(frameon=False)
    figure.suptitle(f"{type(est).__name__}: what the data made of the prior", fontsize="medium")
    return figure


def plot_bandwidths(X: Any) -> Figure:
    """Show what each bandwidth criterion says of the rows X, on their pairwise distances.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Majority rows, scaled as for the kernel.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ValueError
        The rows are too few or too alike for a criterion.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import plots
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> figure = plots.plot_bandwidths(X)
    """
    X = np.asarray(X, dtype=float)
    found = {name: bandwidth.resolve(name, X) for name in bandwidth.CRITERIA}
    distances = pdist(X[:2000])
    figure, ax = plt.subplots(figsize=(8, 4.2), layout="constrained")
    ax.hist(distances, bins=80, density=True, color=MAJORITY, alpha=0.35)
    top = ax.get_ylim()[1]
    for i, (name, s) in enumerate(sorted(found.items(), key=lambda item: item[1])):
        height = top * (1.05 + 0.09 * i)
        ax.plot([s, s], [0, height], color=MINORITY, linewidth=1)
        ax.annotate(
            f"{name}: s = {s:.3g}",
            (s, height),
            xytext=(4, -4),
            textcoords="offset points",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
        )
    ax.set_ylim(0, top * (1.15 + 0.09 * len(found)))
    ax.set_xlim(0, 1.05 * max(distances.max(), *found.values()))
    ax.set(xlabel="distance of two rows", ylabel="density", title="Bandwidth criteria")
    return figure


def show_probability(
    ax: Axes, p: np.ndarray, extent: tuple[float, float, float, float]
) -> AxesImage:
    """Show P(normal) on a grid over ``extent`` in colour."""
    return ax.imshow(
        p,
        extent=extent,
        origin="lower",
        aspect="auto",
        cmap=P_NORMAL,
        vmin=0,
        vmax=1,
        interpolation="bilinear",
    )


def _require_center(est: Any) -> None:
    if not isinstance(est, Description):
        raise ValueError(
            f"{type(est).__name__} has a hyperplane and no distance from a centre to show; "
            "plot_boundary shows it"
        )


def _classes(minority: np.ndarray) -> list[tuple[np.ndarray, str, str, str]]:
    both = [(~minority, MAJORITY, "o", "majority"), (minority, MINORITY, "^", "minority")]
    return [c for c in both if c[0].any()]


def _rows(ax: Axes, X: np.ndarray, minority: np.ndarray) -> None:
    for chosen, color, marker, name in _classes(minority):
        ax.scatter(
            X[chosen, 0],
            X[chosen, 1],
            s=16,
            color=color,
            marker=marker,
            label=name,
            edgecolors="white",
            linewidths=0.4,
        )
