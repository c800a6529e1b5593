"""Cancellation of long computations, which call :func:`checkpoint` from time to time."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

superseded: ContextVar[Callable[[], bool] | None] = ContextVar("superseded", default=None)


class SupersededError(Exception):
    """A newer request has made this computation obsolete."""


def stoppable() -> bool:
    """Return whether the computation in this thread can be superseded by a newer request."""
    return superseded.get() is not None


def checkpoint() -> None:
    """Raise :class:`SupersededError` if a newer request superseded that of this thread.

    Outside a request, do nothing.
    """
    is_superseded = superseded.get()
    if is_superseded is not None and is_superseded():
        raise SupersededError
