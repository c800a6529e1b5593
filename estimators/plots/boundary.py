"""The decision boundary over two columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..labels import minority_rows
from .common import Fitted, by_name, row_classes, show_probability, with_feature_names


def plot_boundary(
    estimators: Fitted | Mapping[str, Fitted],
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
    minority = minority_rows(y, len(X), minor_label)
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
        decision = est.decision(with_feature_names(est, grid), p_value=None)
        p = decision["probability_normal"].to_numpy().reshape(x1.shape)
        show_probability(ax, p, (low[0], high[0], low[1], high[1]))
        surprise = decision["surprise"].to_numpy().reshape(x1.shape)
        ax.contour(x1, x2, surprise, [0.0], colors="#333333", linewidths=1.4)
        _scatter_rows(ax, X, minority)
        ax.set_title(name, parse_math=False)
    for ax in axes.flat[len(fits) :]:
        ax.set_visible(False)
    figure.colorbar(axes.flat[0].images[0], ax=axes, label="P(normal | data)", shrink=0.7)
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def _scatter_rows(ax: Axes, X: np.ndarray, minority: np.ndarray) -> None:
    for members, color, marker, label in row_classes(minority):
        # a black edge is visible on the orange of P = 0
        edge, width, size = ("white", 0.4, 18) if marker == "o" else ("black", 0.8, 30)
        mark: dict[str, Any] = {"color": color, "marker": marker, "s": size, "label": label}
        ax.scatter(*X[members].T, edgecolors=edge, linewidths=width, **mark)
