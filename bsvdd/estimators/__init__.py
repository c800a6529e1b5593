"""The estimators that users fit, with their rows, saved files and plots."""

import pkgutil

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[module.name for module in pkgutil.iter_modules(__path__)],
)
