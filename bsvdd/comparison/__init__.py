"""The comparative study: data sets and scenarios, models, one runner, tables.

The modules are attributes here, and are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        *("datasets", "slides", "models", "runner"),
        *("table", "reproduction", "studies", "advice"),
    ],
)
