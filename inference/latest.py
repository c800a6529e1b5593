"""Of several requests only the latest counts, and no older one stands in its way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_superseded: ContextVar[Callable[[], bool] | None] = ContextVar("superseded", default=None)


class SupersededError(Exception):
    """A newer request has been made, so nobody waits for this computation any more."""


def stoppable() -> bool:
    """Whether the computation in this thread is a request that a newer one can supersede."""
    return _superseded.get() is not None


def checkpoint() -> None:
    """Raise :class:`SupersededError` where the request in this thread has been superseded.

    Long computations call it now and then; outside of a request it does nothing.
    """
    superseded = _superseded.get()
    if superseded is not None and superseded():
        raise SupersededError


class Latest:
    """Runs requests in threads and hands over the result of the latest only.

    A request starts at once, beside older ones that still run: these stop at their next
    :func:`checkpoint`, and what they still return or raise is thrown away. Where ``most`` of them
    have not stopped yet, it waits, in the place of any that waited before.

    Parameters
    ----------
    deliver : callable
        Takes the result of a request; called in the thread of the request.
    fail : callable
        Takes the error of a request, or of ``deliver``.
    most : int, default=2
        Threads at the same time.

    Attributes
    ----------
    lock : threading.RLock
        Held while a result is handed over; who holds it makes a request and what goes with it in
        one step.
    """

    def __init__(
        self,
        deliver: Callable[[Any], None],
        fail: Callable[[Exception], None],
        most: int = 2,
    ):
        self._deliver, self._fail, self._most = deliver, fail, most
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._newest = self._running = 0
        self._waiting: tuple[int, Callable[[], Any]] | None = None

    def request(self, job: Callable[[], Any]) -> None:
        """Ask for ``job()``; all requests before are superseded."""
        with self._changed:
            self._newest += 1
            if self._running < self._most:
                self._start(self._newest, job)
            else:
                self._waiting = self._newest, job

    def join(self, timeout: float) -> None:
        """Wait until no request runs or waits.

        Raises
        ------
        TimeoutError
            One still does after ``timeout`` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: not self._running, timeout):
                raise TimeoutError(f"{self._running} request(s) still run after {timeout} s")

    def _start(self, number: int, job: Callable[[], Any]) -> None:
        self._running += 1
        threading.Thread(target=self._run, args=(number, job), daemon=True).start()

    def _run(self, number: int, job: Callable[[], Any]) -> None:
        _superseded.set(lambda: number != self._newest)
        try:
            self._hand_over(number, self._deliver, job())
        except SupersededError:
            pass
        except Exception as error:  # of whatever kind: it is shown, not lost in a thread
            self._hand_over(number, self._fail, error)
        finally:
            with self._changed:
                self._running -= 1
                if self._waiting is not None:
                    waiting, self._waiting = self._waiting, None
                    self._start(*waiting)
                self._changed.notify_all()

    def _hand_over(self, number: int, take: Callable[[Any], None], what: Any) -> None:
        with self._changed:  # so that no request is made between the question and the handing over
            if number == self._newest:
                take(what)
