"""Threads for blocks of rows or draws, and the number of threads of BLAS beside them.

Each block has a thread of its own, so its products need no more. Threads that share one
product of a matrix and a vector take longer than one alone. NumPy and SciPy each bring a BLAS with
threads of its own: where both are called in turn, on small matrices, threads that wait for each
other take longer than the products.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

SMALL = 1000  # largest number of unconstrained parameters whose matrices are for one thread

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


def one_if_small(size: int) -> AbstractContextManager[int | None]:
    """Limit BLAS to one thread if there are few parameters."""
    return one() if size <= SMALL else nullcontext()


def each[Result](function: Callable[[slice], Result], n: int, step: int) -> list[Result]:
    """Return the results of a function of blocks, on as many threads as BLAS would use.

    The blocks are slices of ``step`` of the n rows or draws.
    """
    blocks = [slice(i, min(i + step, n)) for i in range(0, n, step)]
    if len(blocks) < 2:  # BLAS shares the products of one block among its threads
        return [function(block) for block in blocks]
    with one() as usual, ThreadPoolExecutor(min(usual, len(blocks))) as pool:
        return list(pool.map(function, blocks))
