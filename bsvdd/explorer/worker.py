"""Runs requests in threads; only the newest delivers its result."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ..inference.threads import SupersededError, checkpoint, superseded


class LatestWorker:
    """Runs requests in threads and delivers the result of the newest request only.

    A new request starts at once, even while older requests run. An older request stops at its
    next :func:`.checkpoint`; its result or error is discarded. When ``max_threads`` requests
    run already, a new request waits, until a newer one takes its place.

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
        self._deliver, self._fail = deliver, fail
        self._places = threading.Semaphore(max_threads)
        self.lock = threading.RLock()
        self._ended = threading.Condition(self.lock)
        self._newest = self._unfinished = 0

    def request(self, job: Callable[[], Any]) -> None:
        """Request ``job()``; this supersedes all earlier requests."""
        with self.lock:
            self._newest += 1
            self._unfinished += 1
            threading.Thread(target=self._run, args=(self._newest, job), daemon=True).start()

    def cancel(self) -> bool:
        """Give up all requests; none of them delivers. Return whether there was one."""
        with self.lock:
            self._newest += 1
            return self._unfinished > 0

    def join(self, timeout: float) -> None:
        """Wait until no request runs or waits.

        Raises
        ------
        TimeoutError
            A request still runs after ``timeout`` seconds.
        """
        with self._ended:
            if not self._ended.wait_for(lambda: not self._unfinished, timeout):
                raise TimeoutError(f"{self._unfinished} request(s) still run after {timeout} s")

    def _run(self, number: int, job: Callable[[], Any]) -> None:
        superseded.set(lambda: number != self._newest)
        try:
            with self._places:
                checkpoint()  # a newer request may have come in the meantime
                result = job()
            self._hand_over(number, self._deliver, result)
        except SupersededError:
            pass
        except Exception as error:  # any error is shown: in a thread it would be lost
            self._hand_over(number, self._fail, error)
        finally:
            with self._ended:
                self._unfinished -= 1
                self._ended.notify_all()

    def _hand_over(self, number: int, receive: Callable[[Any], None], value: Any) -> None:
        with self.lock:  # no new request between the check and the delivery
            if number == self._newest:
                receive(value)
