"""BLAS has one thread beside threads of Python; and what a long task says on stderr."""

import re
import threading
import time

import numpy as np
import pandas as pd
import pytest
from bsvdd.models import similarities
from threadpoolctl import threadpool_info, threadpool_limits

from bsvdd import SVDD, kernels, stand_out
from bsvdd.base import threads
from bsvdd.base.warning import collected


def blas_threads():
    """Return the most threads; a library may be built for one only."""
    return max(
        lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"
    )


@pytest.fixture
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != 2:
            pytest.skip("this BLAS does not take a number of threads")
        yield


def test_one_thread_until_the_last_of_several_computations(two_threads):
    first, second = threads.one(), threads.one()
    first.__enter__()
    second.__enter__()
    assert blas_threads() == 1
    first.__exit__(None, None, None)
    assert blas_threads() == 1
    second.__exit__(None, None, None)
    assert blas_threads() == 2
    with pytest.raises(KeyboardInterrupt), threads.one():
        raise KeyboardInterrupt
    assert blas_threads() == 2


def test_steps_say_what_runs_and_a_quick_task_says_nothing(capsys):
    with threads.steps("report", every=0.05) as step:
        for name, seconds in (("first", 0.2), ("second", 0.5)):
            step(name)
            time.sleep(seconds)
    lines = capsys.readouterr().err.splitlines()
    assert 2 <= len(lines) <= 5  # after .05, .1, .2 and .4 seconds
    assert all(re.fullmatch(r"report: (first|second), [01] s so far", a) for a in lines)
    assert [any(name in a for a in lines) for name in ("first", "second")] == [
        True,
        True,
    ]
    with threads.steps("report", every=0.2), threads.steps("draws", every=0.01) as step:
        step("warm-up")
        time.sleep(0.1)
    assert capsys.readouterr().err == ""  # of a task inside another
    assert [threads.duration(t) for t in (4.4, 200, 9000)] == ["4 s", "3 min", "2.5 h"]


def test_blocks_are_answered_in_their_order_by_several_threads():
    met = threading.Barrier(2)  # nobody passes it alone

    def of_block(block):
        met.wait(timeout=60.0)
        inner = threads.by_block(lambda _: threading.get_ident(), "ab")
        return block, threading.get_ident(), inner

    found = threads.by_block(of_block, range(4))
    assert [block for block, *_ in found] == [0, 1, 2, 3]
    assert threading.get_ident() not in {thread for _, thread, _ in found}
    assert all(inner == [thread] * 2 for _, thread, inner in found)


def test_a_block_has_the_settings_of_its_caller_and_its_error_ends_all():
    asked = []

    def of_block(block):
        asked.append(block)
        return np.array([1.0]) / block

    with np.errstate(divide="ignore"):
        assert threads.by_block(of_block, [0.0, 0.0]) == [np.inf, np.inf]
    asked.clear()
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        threads.by_block(of_block, [0.0] * 999)
    assert len(asked) < 999 and not threads._sharing.locked()


def test_a_kernel_of_the_user_is_called_by_one_thread(monkeypatch):
    callers = set()

    def kernel(Z, Y):
        callers.add(threading.get_ident())
        return np.exp(-np.square(Z[:, None] - Y).sum(axis=2))

    monkeypatch.setattr(similarities, "BLOCK_SIZE", 2_000)
    X = np.random.default_rng(0).normal(size=(60, 2))
    for asked in (kernel, kernels.Tabular(kernel)):
        est = SVDD(kernel=asked).fit(X)
        est.predict(np.tile(X, (9, 1)))
    assert callers == {threading.get_ident()}


def test_blocks_of_rows_have_the_answers_of_one_thread(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3))
    X[rng.random(X.shape) < 0.05] = np.nan
    X[:2] = 0.0
    weight = np.where(np.arange(150) < 20, 0.0, 1.0)

    def answers():
        with collected():
            est = SVDD().fit(X, sample_weight=weight)
            return est.decision(), est.decision(X[::-1]), stand_out(SVDD(), X).table

    monkeypatch.setattr(similarities, "BLOCK_SIZE", 20_000)
    many = answers()
    monkeypatch.setattr(threads, "MOST_THREADS", 1)
    for one, other in zip(answers(), many, strict=True):
        pd.testing.assert_frame_equal(one, other, check_exact=True)
