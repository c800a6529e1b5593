"""Long computations that may be asked to stop: they call :func:`checkpoint` now and then."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

superseded: ContextVar[Callable[[], bool] | None] = ContextVar("superseded", default=None)


class SupersededError(Exception):
    """A newer request was made, so nobody waits for this computation."""


def stoppable() -> bool:
    """Return whether the computation in this thread can be superseded by a newer request."""
    return superseded.get() is not None


def checkpoint() -> None:
    """Raise :class:`SupersededError` if the request in this thread was superseded.

    Outside of a request it does nothing.
    """
    is_superseded = superseded.get()
    if is_superseded is not None and is_superseded():
        raise SupersededError
