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
        "health",
        "labels",
        "left_out",
        "machines",
        "metrics",
        "plots",
        "reweighting",
        "rows",
        "sampling",
        "sensitivity",
        "storage",
        "warning",
    ],
)
