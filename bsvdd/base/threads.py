"""Long computations: one thread of BLAS, and lines of progress.

NumPy and SciPy each bring a BLAS with threads of its own, which wait for each other by
counting. Two of them save a tenth of a fit of 12,000 rows, and beside one other process
a fit of 500 rows takes 20 times as long with two. So fits and answers have one.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache

from threadpoolctl import ThreadpoolController

HEARTBEAT = 10.0  # seconds before the first line of a log
PATIENCE = 3.0  # seconds that nobody is told about

_lock = threading.Lock()
_users = 0  # computations that run now, in several threads of Python
_limiter = ExitStack()  # which ends the limit


@cache
def _controller() -> ThreadpoolController:
    """Return the controller; it searches all loaded libraries for milliseconds."""
    return ThreadpoolController()


@contextmanager
def one() -> Iterator[None]:
    """Limit BLAS to one thread.

    The limit holds for the process. It ends with the last computation that needs it,
    so threads that overlap leave the number of threads as it was.
    """
    global _users
    with _lock:
        if not _users:
            limiter = _controller().limit(limits=1, user_api="blas")
            _limiter.callback(limiter.restore_original_limits)
        _users += 1
    try:
        yield
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limiter.close()


# lines on stderr while a task runs


_inside: ContextVar[bool] = ContextVar("inside", default=False)
_quiet: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """Write no lines of progress."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def is_quiet() -> bool:
    """Return whether no lines of progress are written."""
    return _quiet.get()


@contextmanager
def steps(task: str, every: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Give a function that names the step of a task that begins.

    After ``every`` seconds the step and the time so far are written to stderr, and
    again each time that the time has doubled. A shorter task writes nothing. A task
    inside another one, and a worker process, write nothing.

    Examples
    --------
    >>> from bsvdd.base.threads import steps
    >>> with steps("report") as step:
    ...     step("distances")
    """
    if _inside.get() or is_quiet() or multiprocessing.parent_process() is not None:
        yield lambda _: None
        return
    start = time.monotonic()
    current = ""
    done = threading.Event()

    def begin(name: str) -> None:
        nonlocal current
        current = name

    def beat() -> None:
        wait = every
        while not done.wait(wait):
            wait = time.monotonic() - start
            named = f"{current}, " * bool(current)
            so_far = f"{duration(wait)} so far"
            print(f"{task}: {named}{so_far}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    token = _inside.set(True)
    try:
        yield begin
    finally:
        _inside.reset(token)
        done.set()
        thread.join()


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s, 3 min or 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
