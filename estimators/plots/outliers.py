"""The odd rows of one table: surprise of each left-out row, and the reasons of the oddest."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from .common import MAJORITY, MINORITY, Fitted, label_rows, require_center, surprise_axis

LENGTH = 80  # characters of a reason


def plot_outliers(est: Fitted, most: int = 10) -> Figure:
    """Show the surprise of each training row, left out, and the columns of the oddest rows.

    Parameters
    ----------
    est : fitted estimator
    most : int, default=10
        Number of rows on the right side.

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
    >>> from bsvdd import BSVDD, plots
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> X[7, 1] = 9.0
    >>> figure = plots.plot_outliers(BSVDD().fit(X))
    """
    if not hasattr(est, "views_"):
        require_center(est)
    found = est.training_decision()
    order = np.argsort(-found["surprise"].to_numpy(), kind="stable")[:most]
    why = est.explain(rows=order, changes=False)
    reasons = [why.reason(i) for i in range(len(order))]
    figure = draw(found, found.index.to_numpy(), order, reasons, type(est).__name__)
    if not est.fit_.has_center:
        figure.axes[0].set_ylabel("surprise")
    return figure


def draw(
    found: pd.DataFrame, names: np.ndarray, order: np.ndarray, reasons: list[str], model: str
) -> Figure:
    """Draw the picture of decisions on rows.

    Parameters
    ----------
    found : pandas.DataFrame
        As ``est.training_decision()`` has it.
    names : ndarray of shape (n,)
    order : ndarray of int
        Positions of the rows on the right side, the oddest first.
    reasons : list of str
        What is said of these.
    model : str
    """
    height = max(3.8, 1.0 + 0.36 * len(order))
    figure, (ax, words) = plt.subplots(
        1, 2, figsize=(12, height), width_ratios=[5, 4], layout="constrained"
    )
    surprise, odd = found["surprise"].to_numpy(), ~found["normal"].to_numpy()
    # a hyperplane has no intervals
    low, high = (found.get(f"surprise_{end}", found["surprise"]) for end in ("low", "high"))
    place = np.arange(len(found))
    for members, color, label in (
        (~odd, MAJORITY, "within the cutoff"),
        (odd, MINORITY, "beyond the cutoff"),
    ):
        if members.any():
            ends = low.to_numpy()[members], high.to_numpy()[members]
            ax.vlines(place[members], *ends, color=color, alpha=0.25, linewidth=1)
            ax.scatter(place[members], surprise[members], s=10, color=color, label=label)
    for rank, i in enumerate(order):
        ax.annotate(str(rank + 1), (i, surprise[i]), (3, 2), textcoords="offset points", fontsize=8)
    ax.axhline(0.0, color="#333333", linestyle="--", linewidth=1.2)
    ax.set(
        xlabel="row",
        ylabel=r"surprise $\log(s_{\mathrm{cut}} / s_z)$",
        title=f"{model}: each row judged by the others",
    )
    label_rows(ax, names)
    surprise_axis(ax, surprise)
    ax.legend(frameon=False, loc="upper right", fontsize=8)
    words.set_axis_off()
    words.set_title(f"the {len(order)} oddest rows, with the shares of columns", loc="left")
    words.set_ylim(len(order) - 0.5, -0.5)
    for rank, (i, reason) in enumerate(zip(order, reasons, strict=True)):
        text = f"{rank + 1}  {names[i]}, p = {found['p_value'].iloc[i]:.3f}"
        words.text(0.0, rank - 0.2, text, fontsize=9, weight="bold", va="center", parse_math=False)
        words.text(0.03, rank + 0.2, _short(reason), fontsize=8, va="center", parse_math=False)
    return figure


def _short(text: str) -> str:
    return text if len(text) <= LENGTH else f"{text[: LENGTH - 1]}…"
