"""Runs of a study: protocol, cells, workers and the store of results."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["cell", "measures", "protocol", "runner", "store", "studies", "workers"],
)
