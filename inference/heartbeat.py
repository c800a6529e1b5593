"""A line on stderr each few seconds, while a task runs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HEARTBEAT = 10.0  # seconds between two lines of a log
PATIENCE = 3.0  # seconds that nobody is told about


@contextmanager
def heartbeat(say: Callable[[], str | None], every: float = HEARTBEAT) -> Iterator[None]:
    """Write a line to stderr each ``every`` seconds; none where ``say`` returns None."""
    done = threading.Event()

    def beat() -> None:
        while not done.wait(every):
            line = say()
            if line is not None:
                print(line, file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def steps(task: str, every: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Give a function that names the step of a task that begins.

    Each ``every`` seconds the step and the time so far are written to stderr; a task that takes
    less writes nothing.

    Examples
    --------
    >>> from bsvdd.inference.heartbeat import steps
    >>> with steps("report") as step:
    ...     step("distances")
    """
    start, current = time.monotonic(), ""

    def step(name: str) -> None:
        nonlocal current
        current = name

    def line() -> str:
        return f"{task}: {current}, {duration(time.monotonic() - start)} so far"

    with heartbeat(line, every):
        yield step


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s, 3 min or 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
