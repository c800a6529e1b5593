"""Runs requests in threads; only the newest delivers its result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..inference.threads import SupersededError, superseded


class LatestWorker:
    """Runs requests in threads and delivers the result of the newest request only.

    A new request starts at once, even while older requests run. An older request stops at its
    next :func:`.checkpoint`; its result or error is discarded. When ``max_threads`` requests
    run already, the new request waits and replaces any other request that waits.

    Parameters
    ----------
    deliver : callable
        Receives the result of a request, in the thread of the request.
    fail : callable
        Receives an error of a request or of ``deliver``.
    max_threads : int, default=2
        Number of requests that run at the same time.

    Attributes
    ----------
    lock : threading.RLock
        Held during a delivery. A caller that holds it can make a request and change other state
        in one step.
    """

    def __init__(
        self,
        deliver: Callable[[Any], None],
        fail: Callable[[Exception], None],
        max_threads: int = 2,
    ):
        self._deliver, self._fail, self._max_threads = deliver, fail, max_threads
        self.lock = threading.RLock()
        self._changed = threading.Condition(self.lock)
        self._newest = self._running = 0
        self._waiting: tuple[int, Callable[[], Any]] | None = None

    def request(self, job: Callable[[], Any]) -> None:
        """Request ``job()``; this supersedes all earlier requests."""
        with self._changed:
            self._newest += 1
            if self._running < self._max_threads:
                self._start(self._newest, job)
            else:
                self._waiting = self._newest, job

    def cancel(self) -> bool:
        """Give up all requests; none of them delivers. Return whether there was one."""
        with self._changed:
            had = bool(self._running) or self._waiting is not None
            self._newest += 1
            self._waiting = None
            return had

    def join(self, timeout: float) -> None:
        """Wait until no request runs or waits.

        Raises
        ------
        TimeoutError
            A request still runs after ``timeout`` seconds.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: not self._running, timeout):
                raise TimeoutError(f"{self._running} request(s) still run after {timeout} s")

    def _start(self, number: int, job: Callable[[], Any]) -> None:
        self._running += 1
        threading.Thread(target=self._run, args=(number, job), daemon=True).start()

    def _run(self, number: int, job: Callable[[], Any]) -> None:
        superseded.set(lambda: number != self._newest)
        try:
            self._hand_over(number, self._deliver, job())
        except SupersededError:
            pass
        except Exception as error:  # any error is shown: in a thread it would be lost
            self._hand_over(number, self._fail, error)
        finally:
            with self._changed:
                self._running -= 1
                if self._waiting is not None:
                    waiting, self._waiting = self._waiting, None
                    self._start(*waiting)
                self._changed.notify_all()

    def _hand_over(self, number: int, receive: Callable[[Any], None], value: Any) -> None:
        with self._changed:  # no new request between the check and the delivery
            if number == self._newest:
                receive(value)
