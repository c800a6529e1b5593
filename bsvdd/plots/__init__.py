"""Plots of fitted estimators with matplotlib; each function returns its axes."""

from .draws import plot_decisions, plot_margin, plot_weights
from .groups import plot_groups
from .named import plot_columns, plot_surprises
from .outliers import plot_cells, plot_explanation, plot_outliers
from .prior import plot_prior_posterior
from .rows import plot_boundary, plot_distances, plot_roc
from .sensitivity import plot_sensitivity

__all__ = [
    "plot_boundary",
    "plot_cells",
    "plot_columns",
    "plot_decisions",
    "plot_distances",
    "plot_explanation",
    "plot_groups",
    "plot_margin",
    "plot_outliers",
    "plot_prior_posterior",
    "plot_roc",
    "plot_sensitivity",
    "plot_surprises",
    "plot_weights",
]
