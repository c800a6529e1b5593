"""Long computations: one thread of BLAS, blocks of rows, and lines of progress.

NumPy and SciPy each bring a BLAS with threads of its own, which wait for each other by
counting. Two of them save a tenth of a fit of 12,000 rows, and beside one other process
a fit of 500 rows takes 20 times as long with two. So fits and answers have one. Rows
that fill several blocks are shared by the cores instead, a block by each.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from functools import cache

from threadpoolctl import ThreadpoolController

HEARTBEAT = 10.0  # seconds before the first line of a log
PATIENCE = 3.0  # seconds that nobody is told about
MOST_THREADS = 8  # for blocks, which fill memory

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


# blocks of rows

_sharing = threading.Lock()  # one task at a time is shared


def by_block[Block, Found](
    function: Callable[[Block], Found], blocks: Iterable[Block], shared: bool = True
) -> list[Found]:
    """Return ``function`` of each block, in their order, computed by several threads.

    One thread computes what has one block, or is part of a task that is shared, or runs
    in a worker process, beside which others run.

    Parameters
    ----------
    function : callable
    blocks : iterable
    shared : bool
        Whether several threads may call the function.

    Returns
    -------
    list

    Examples
    --------
    >>> from bsvdd.base.threads import by_block
    >>> by_block(sum, [[1, 2], [3, 4]])
    [3, 7]
    """
    blocks = list(blocks)
    is_worker = multiprocessing.parent_process() is not None
    ends = not threading.main_thread().is_alive()  # no thread can begin
    alone = len(blocks) < 2 or not shared or is_worker or ends
    if alone or not _sharing.acquire(blocking=False):
        return [function(block) for block in blocks]
    from joblib import cpu_count  # bsvdd --help needs none of it

    context = copy_context()  # where NumPy has its settings for errors
    pool = ThreadPoolExecutor(min(len(blocks), cpu_count(), MOST_THREADS))
    try:
        with one():
            found = pool.map(lambda b: context.copy().run(function, b), blocks)
            return list(found)
    finally:
        pool.shutdown(cancel_futures=True)
        _sharing.release()


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
