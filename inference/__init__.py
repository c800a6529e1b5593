"""From a model to a decision: sampling, distance, cutoff, decision, estimators, plots."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "base",
        "compilation",
        "cutoff",
        "decision",
        "diagnostics",
        "distance",
        "estimators",
        "labels",
        "metrics",
        "plots",
        "sampling",
        "storage",
    ],
)
