"""Reports of a study: tables, tests, guidelines and pages.

``write`` and ``pictures`` are those of the page of ``bsvdd compare``.
"""

import pkgutil

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[module.name for module in pkgutil.iter_modules(__path__)],
    submod_attrs={"comparison_page": ["pictures", "write"]},
)
