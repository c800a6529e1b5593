"""BLAS has one thread beside threads of Python; and what a long task says on stderr."""

import re
import threading
import time

import numpy as np
import pytest
from bsvdd.inference import threads
from threadpoolctl import threadpool_info, threadpool_limits

from bsvdd import SVDD


def blas_threads():
    """Return the most threads; a library may be built for one only."""
    return max(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("this BLAS does not take a number of threads")
        yield


def test_one_thread_until_the_last_of_several_computations(two_threads):
    first, second = threads.one(), threads.one()
    assert [first.__enter__(), second.__enter__()] == [2, 2]
    first.__exit__(None, None, None)
    assert blas_threads() == 1
    second.__exit__(None, None, None)
    assert blas_threads() == 2
    with pytest.raises(KeyboardInterrupt), threads.one():
        raise KeyboardInterrupt
    assert blas_threads() == 2


def test_blocks_have_a_thread_each_and_their_results_are_in_order(two_threads):
    started = threading.Barrier(2, timeout=60)  # passed only if two blocks run at the same time

    def of_block(block):
        started.wait()
        return block, blas_threads(), threading.get_ident()

    (first, within, one), (second, _, other) = threads.each(of_block, n=5, step=3)
    assert (first, second, within) == (slice(0, 3), slice(3, 5), 1) and one != other
    with pytest.raises(ZeroDivisionError):
        threads.each(lambda block: 1 / (block.start - 1), 3, 1)
    assert blas_threads() == 2
    assert threads.each(lambda block: (block, blas_threads()), 2, 3) == [(slice(0, 2), 1)]
    assert threads.each(str, 0, 3) == []


def test_a_function_of_the_user_is_called_by_one_thread_at_a_time(two_threads):
    busy = []

    def kernel(X, Y):
        busy.append(1)
        time.sleep(0.01)
        assert len(busy) == 1, "two threads are in the function"
        busy.pop()
        return np.exp(-np.square(X[:, None] - Y).sum(axis=2))

    est = SVDD(kernel=kernel).fit(np.random.default_rng(0).normal(size=(20, 2)))
    Z = np.random.default_rng(1).normal(size=(3000, 2))  # several blocks
    assert est.probability_normal(Z).shape == (len(Z),)


def test_steps_say_what_runs_and_a_quick_task_says_nothing(capsys):
    with threads.steps("report", every=0.05) as step:
        for name in ("first", "second"):
            step(name)
            time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(re.fullmatch(r"report: (first|second), [01] s so far", a) for a in lines)
    assert [any(name in a for a in lines) for name in ("first", "second")] == [True, True]
    with threads.steps("report", every=0.3) as step:
        for i in range(8):  # each was told already: the seconds count anew
            time.sleep(0.05)
            step(f"cell {i}", said_already=True)
    assert capsys.readouterr().err == ""
    with threads.steps("report", every=0.2), threads.steps("draws", every=0.01) as step:
        step("warm-up")
        time.sleep(0.1)
    assert capsys.readouterr().err == ""  # of a task inside another
    assert [threads.duration(t) for t in (4.4, 200, 9000)] == ["4 s", "3 min", "2.5 h"]
