"""Colours and helpers that all plots share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.image import AxesImage

if TYPE_CHECKING:
    from ..base import BaseDetector

MAJORITY, MINORITY = "#0072B2", "#D55E00"  # safe for colour-blind readers (Okabe and Ito 2008)
PRIOR = "#999999"
P_NORMAL = LinearSegmentedColormap.from_list("p_normal", ["#EBA77C", "#F7F4EF", "#8FBFDD"])


class RowClass(NamedTuple):
    """The rows of one class, and how a plot shows them."""

    members: np.ndarray  # True for the rows of the class
    color: str
    marker: str
    label: str


def row_classes(minority: np.ndarray) -> list[RowClass]:
    """Return the classes that have rows, majority first."""
    classes = [
        RowClass(~minority, MAJORITY, "o", "majority"),
        RowClass(minority, MINORITY, "^", "minority"),
    ]
    return [c for c in classes if c.members.any()]


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


def with_feature_names(est: BaseDetector, X: np.ndarray) -> np.ndarray | pd.DataFrame:
    """Return X with the column names of the fit, if the fit had a data frame.

    Without these names scikit-learn warns of an array.
    """
    names = getattr(est, "feature_names_in_", None)
    return X if names is None else pd.DataFrame(X, columns=names)


def require_center(est: Any) -> None:
    """Raise a ValueError if the model has no distance from a centre."""
    if not hasattr(est, "distance"):
        raise ValueError(
            f"{type(est).__name__} has a hyperplane and no distance from a centre to show; "
            "plot_boundary shows it"
        )
