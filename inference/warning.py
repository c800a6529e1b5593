"""Warnings of this package, shown at the line of the user's code that called it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Heard = list[tuple[str, type[Warning]]]

_heard: ContextVar[Heard | None] = ContextVar("heard", default=None)


class DataWarning(UserWarning):
    """Something in the rows that a fit can live with, but its reader should know."""


class DiagnosticWarning(UserWarning):
    """The draws or the weights are not to be relied on without a look."""


@contextmanager
def collected() -> Iterator[Heard]:
    """Collect this package's warnings of the block, in this thread, instead of showing them.

    ``warnings.catch_warnings`` would change what all threads do.
    """
    heard: Heard = []
    token = _heard.set(heard)
    try:
        yield heard
    finally:
        _heard.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of this package."""
    heard = _heard.get()
    if heard is not None:
        heard.append((message, category))
        return
    warnings.warn(message, category, skip_file_prefixes=_folders())


def _folders() -> tuple[str, ...]:
    """Return the folders of this package's sub-packages, which may lie apart."""
    package = __name__.partition(".")[0]
    return tuple(
        os.path.join(folder, "")
        for name, module in sys.modules.copy().items()
        if name.startswith(f"{package}.") and name.count(".") == 1
        for folder in getattr(module, "__path__", ())
    )
