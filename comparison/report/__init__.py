"""Reports of a study: tables, tests, guidelines and pages.

``write`` and ``pictures`` are those of the page of ``bsvdd compare``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "comparison_page",
        "guidelines",
        "kinds",
        "own_data",
        "paired",
        "pages",
        "published",
        "reproduction",
        "table",
        "unlabelled",
    ],
    submod_attrs={"comparison_page": ["pictures", "write"]},
)
