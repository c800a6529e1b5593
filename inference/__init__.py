"""From a model to a decision: sampling, distance, cutoff, decision, estimators, plots."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "approximation",
        "bayesian",
        "cluster",
        "compilation",
        "cutoff",
        "decision",
        "description",
        "detector",
        "diagnostics",
        "distance",
        "estimators",
        "explorer",
        "fitted",
        "health",
        "labels",
        "latest",
        "left_out",
        "machines",
        "metrics",
        "panels",
        "plots",
        "readout",
        "reweighting",
        "rows",
        "sampling",
        "sensitivity",
        "setting",
        "storage",
        "warning",
    ],
)
