"""The comparative study: scenarios, runs and reports.

The modules for users are attributes here, and are imported when they are first used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submodules=["report", "run", "scenarios"],
    submod_attrs={
        "scenarios": ["datasets", "generators", "scenario", "slides"],
        "run": ["cell", "protocol", "runner", "store", "studies", "workers"],
        "report": ["guidelines", "own_data", "paired", "reproduction", "table"],
    },
)
