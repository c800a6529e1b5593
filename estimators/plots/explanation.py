"""Why one row is abnormal: by how much its surprise falls where its columns become usual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from ..questions.why import explain
from ..tables.table import as_frame
from .common import MAJORITY, MINORITY, axes_of, short

NAME, TEXT = 34, 26  # characters of a column, and of its values


def plot_explanation(
    est: Any,
    z: Any = None,
    X: Any = None,
    row: int | None = None,
    most: int = 10,
    ax: Axes | None = None,
) -> Axes:
    """Show by how much the surprise of a row falls as its columns get the values of rows like it.

    A bar is the share of a column, and its dots are the ten walks (:func:`bsvdd.explain`). On the
    left side are the values of the row, on the right side those of the ten rows like it.

    Parameters
    ----------
    est : fitted estimator
    z : array-like of shape (p,) or (1, p), or data frame of one row, optional
    X : array-like or data frame of shape (n, p), optional
        The known rows, as in :func:`bsvdd.explain`.
    row : int, optional
        In place of z, the position of a known row.
    most : int, default=10
        Number of columns to show, those with the largest shares.
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ValueError
        z is not one row; and as :func:`bsvdd.explain`.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BSVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> axes = plots.plot_explanation(BSVDD().fit(X), [0.0, 6.0, 0.0])
    """
    if row is None:
        z = as_frame(z)
        z = z if isinstance(z, pd.DataFrame) else np.atleast_2d(z)
        if len(z) != 1:
            raise ValueError(f"z must be one row, got {len(z)} rows; plot them one by one")
    why = explain(est, z, X, None if row is None else [row])
    order = np.argsort(-why.shares.to_numpy()[0], kind="stable")[:most]
    place = np.arange(len(order))
    ax = axes_of(ax, 10.0, 1.7 + 0.34 * len(order))
    ax.barh(place, why.shares.to_numpy()[0, order], color=MINORITY, alpha=0.55, height=0.62)
    ax.plot(why.falls[0][:, order].T, place, "o", color="#333333", alpha=0.35, markersize=3)
    ax.axvline(0.0, color="#333333", linewidth=0.8)
    columns = why.shares.columns
    own = [f"{short(columns[f], NAME)} = {short(why.value(0, f), TEXT)}" for f in order]
    ax.set_yticks(place, own, parse_math=False)
    ax.set_ylim(len(order) - 0.4, -0.6)
    like = ax.secondary_yaxis("right", color=MAJORITY)
    texts = [f"{why.parts[0, f]:.0%}  {short(why.usual(0, f), TEXT)}" for f in order]
    like.set_yticks(place, texts, parse_math=False)
    ax.set_xlabel("by how much the surprise falls with the values of rows like it: ten walks, mean")
    state = "normal" if why.normal.iloc[0] else "abnormal"
    said = f"{short(why.shares.index[0])}: {state}, surprise {why.surprise.iloc[0]:.3g}"
    ax.set_title(said, loc="left", fontsize=11, parse_math=False)
    like.set_ylabel("share, rows like it")
    return ax
