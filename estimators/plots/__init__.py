"""Plots of fitted models with matplotlib and ArviZ; each function returns its figure."""

from .bandwidths import plot_bandwidths
from .boundary import plot_boundary
from .calibration import plot_calibration
from .common import show_probability
from .distances import plot_distance_posterior, plot_distances
from .explanation import plot_explanation
from .outliers import plot_outliers
from .prior_check import plot_prior_check
from .roc import plot_roc
from .weights import plot_weights, plot_weights_pair

__all__ = [
    "plot_bandwidths",
    "plot_boundary",
    "plot_calibration",
    "plot_distance_posterior",
    "plot_distances",
    "plot_explanation",
    "plot_outliers",
    "plot_prior_check",
    "plot_roc",
    "plot_weights",
    "plot_weights_pair",
    "show_probability",
]
