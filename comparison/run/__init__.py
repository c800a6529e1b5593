"""Runs of a study: protocol, cells, workers and the store of results."""

import pkgutil

import lazy_loader

_modules = [module.name for module in pkgutil.iter_modules(__path__)]
__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, _modules)
