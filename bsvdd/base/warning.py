"""Warnings of this package, shown at the line of the user's code that called it."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Messages = list[tuple[str, type[Warning]]]

_collecting: ContextVar[Messages | None] = ContextVar("collecting", default=None)


class DataWarning(UserWarning):
    """A problem in the rows that does not stop a fit, but that the user should know."""


class DiagnosticWarning(UserWarning):
    """The draws or the weights may be unreliable; check them before use."""


@contextmanager
def collected() -> Iterator[Messages]:
    """Collect this package's warnings of the block and this thread; show none of them.

    ``warnings.catch_warnings`` would affect all threads.
    """
    messages: Messages = []
    token = _collecting.set(messages)
    try:
        yield messages
    finally:
        _collecting.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside of this package."""
    messages = _collecting.get()
    if messages is not None:
        messages.append((message, category))
        return
    warnings.warn(message, category, skip_file_prefixes=_folders())


def _folders() -> tuple[str, ...]:
    """Return the folders of the sub-packages, which may lie in different places."""
    package = __name__.partition(".")[0]
    return tuple(
        os.path.join(folder, "")
        for name, module in sys.modules.copy().items()
        if name.startswith(f"{package}.") and name.count(".") == 1
        for folder in getattr(module, "__path__", ())
    )
