"""Plots of fitted models with matplotlib and ArviZ; each function returns its figure."""

from .bandwidths import plot_bandwidths
from .common import show_probability
from .explanation import plot_explanation
from .rates import plot_calibration, plot_roc
from .rows import plot_boundary, plot_distances, plot_margin, plot_outliers
from .weights import plot_prior_check, plot_weights, plot_weights_pair

__all__ = [
    "plot_bandwidths",
    "plot_boundary",
    "plot_calibration",
    "plot_distances",
    "plot_explanation",
    "plot_margin",
    "plot_outliers",
    "plot_prior_check",
    "plot_roc",
    "plot_weights",
    "plot_weights_pair",
    "show_probability",
]
