"""The report of one fitted model, and the pages that all reports are made of."""

import pkgutil

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[module.name for module in pkgutil.iter_modules(__path__)],
)
