"""Bayesian support vector data description on PyMC.

Names are imported when they are first used, so that ``import bsvdd`` is quick.
"""

from pathlib import Path
from typing import Any

import lazy_loader

_checkout = Path(__file__).parents[1]
if (
    _checkout / "pyproject.toml"
).is_file():  # models/ and the other folders are beside bsvdd/
    __path__.append(str(_checkout))

_named, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name, or the version."""
    if name == "__version__":
        from importlib.metadata import version

        return version(__name__)
    return _named(name)
