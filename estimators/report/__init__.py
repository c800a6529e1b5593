"""The report of one fitted model, and the pages that all reports are made of."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__, submodules=["pages", "report", "words"]
)
