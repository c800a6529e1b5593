"""Long computations: blocks on threads, BLAS beside them, and lines of progress.

Each block has a thread of its own, so its products need no more. NumPy and SciPy each bring a BLAS
with threads of its own, which wait for each other by counting. Two of them save a tenth of a fit of
12,000 rows, and beside one other process a fit of 500 rows takes 20 times as long with two. So fits
and answers have one.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

HEARTBEAT = 10.0  # seconds between two lines of a log
PATIENCE = 3.0  # seconds that nobody is told about

_lock = threading.Lock()
_users = 0  # computations that run now, in several threads of Python
_usual = 1  # threads of BLAS without the limit
_limiter: Any = None


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # searches all loaded libraries, which takes some milliseconds


@contextmanager
def one() -> Iterator[int]:
    """Limit BLAS to one thread, and give the number of threads that it would use.

    The limit is that of the process. It ends with the last of the computations that need it, so
    that threads that overlap leave the number of threads as it was.
    """
    global _users, _usual, _limiter
    with _lock:
        if not _users:
            libraries = [lib for lib in _controller().info() if lib["user_api"] == "blas"]
            _usual = max((lib["num_threads"] for lib in libraries), default=1)
            _limiter = _controller().limit(limits=1, user_api="blas")
        _users += 1
    try:
        yield _usual
    finally:
        with _lock:
            _users -= 1
            if not _users:
                _limiter.restore_original_limits()


def each[Result](function: Callable[[slice], Result], n: int, step: int) -> list[Result]:
    """Return the results of a function of blocks, on as many threads as BLAS would use.

    The blocks are slices of ``step`` of the n rows or draws.
    """
    blocks = [slice(i, min(i + step, n)) for i in range(0, n, step)]
    with one() as usual:
        if len(blocks) < 2:
            return [function(block) for block in blocks]
        with ThreadPoolExecutor(min(usual, len(blocks))) as pool:
            return list(pool.map(function, blocks))


# a line on stderr each few seconds, while a task runs


_inside: ContextVar[bool] = ContextVar("inside", default=False)


@contextmanager
def steps(task: str, every: float = PATIENCE) -> Iterator[Callable[..., None]]:
    """Give a function that names the step of a task that begins.

    Each ``every`` seconds the step and the time so far are written to stderr; a task that takes
    less writes nothing. With ``said_already=True`` the step was told already, and the seconds count
    anew. A task inside another one says nothing, and neither does a worker process.

    Examples
    --------
    >>> from bsvdd.inference.threads import steps
    >>> with steps("report") as step:
    ...     step("distances")
    """
    if _inside.get() or multiprocessing.parent_process() is not None:
        yield lambda *_, **__: None
        return
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
    token = _inside.set(True)
    try:
        yield named
    finally:
        _inside.reset(token)
        done = True
        said.set()
        thread.join()


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s, 3 min or 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
