"""Plots of fitted models with matplotlib and ArviZ; each function returns its figure."""

from .common import show_probability
from .explanation import plot_explanation
from .rates import plot_roc
from .rows import plot_boundary, plot_distances, plot_margin, plot_outliers
from .weights import plot_weights

__all__ = [
    "plot_boundary",
    "plot_distances",
    "plot_explanation",
    "plot_margin",
    "plot_outliers",
    "plot_roc",
    "plot_weights",
    "show_probability",
]
