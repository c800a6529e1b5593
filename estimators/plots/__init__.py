"""Plots of fitted estimators with matplotlib; each function returns its axes."""

from .decisions import plot_decisions
from .explanation import plot_explanation
from .outliers import plot_outliers
from .rates import plot_roc
from .rows import plot_boundary, plot_distances, plot_margin
from .weights import plot_weights

__all__ = [
    "plot_boundary",
    "plot_decisions",
    "plot_distances",
    "plot_explanation",
    "plot_margin",
    "plot_outliers",
    "plot_roc",
    "plot_weights",
]
