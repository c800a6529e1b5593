"""The explorer: change a prior in Jupyter and see at once what it changes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=[
        "call",
        "controls",
        "explorer",
        "panels",
        "picture",
        "plane",
        "ranges",
        "refit",
        "start",
        "state",
        "summary",
        "typed_row",
        "view",
        "worker",
    ],
    submod_attrs={"explorer": ["Explorer", "explore"]},
)
