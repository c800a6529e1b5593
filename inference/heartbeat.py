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
def steps(task: str, every: float = PATIENCE) -> Iterator[Callable[..., None]]:
    """Give a function that names the step of a task that begins.

    Each ``every`` seconds the step and the time so far are written to stderr; a task that takes
    less writes nothing. With ``said_already=True`` the step was told
    already, and the seconds count anew.

    Examples
    --------
    >>> from bsvdd.inference.heartbeat import steps
    >>> with steps("report") as step:
    ...     step("distances")
    """
    start, current, done, said = time.monotonic(), "", False, threading.Event()

    def named(name: str, said_already: bool = False) -> None:
        nonlocal current
        current = name
        if said_already:
            said.set()

    def beat() -> None:
        while not done:
            if not said.wait(every):
                so_far = f"{duration(time.monotonic() - start)} so far"
                text = f"{task}: {current}, {so_far}" if current else f"{task}: {so_far}"
                print(text, file=sys.stderr, flush=True)
            elif not done:
                said.clear()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield named
    finally:
        done = True
        said.set()
        thread.join()


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s, 3 min or 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
