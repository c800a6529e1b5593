"""Only the newest request delivers; the tests wait for events and never sleep."""

import threading

import pytest
from bsvdd.inference.threads import SupersededError, checkpoint, stoppable

from bsvdd.explorer.worker import LatestWorker

SOON = 20.0  # seconds, longer than any event takes


class Gate:
    """A job that signals its start and ends when it is released."""

    def __init__(self, result=None, error=None, has_checkpoint=False):
        self.begun, self.released = threading.Event(), threading.Event()
        self.ended = threading.Event()
        self.result, self.error, self.has_checkpoint = result, error, has_checkpoint
        self.superseded = False

    def __call__(self):
        self.begun.set()
        assert self.released.wait(SOON)
        try:
            if self.has_checkpoint:
                checkpoint()
        except SupersededError:
            self.superseded = True
            raise
        finally:
            self.ended.set()
        if self.error:
            raise self.error
        return self.result


@pytest.fixture
def delivered():
    return []


@pytest.fixture
def worker(delivered):
    return LatestWorker(
        lambda r: delivered.append(("result", r)), lambda e: delivered.append(("error", str(e)))
    )


def test_a_result_is_delivered(worker, delivered):
    worker.request(lambda: 3)
    worker.join(SOON)
    assert delivered == [("result", 3)]


def test_an_older_request_never_blocks_and_its_late_result_is_discarded(worker, delivered):
    old = Gate("old")
    worker.request(old)
    assert old.begun.wait(SOON)
    new = Gate("new")
    worker.request(new)
    assert new.begun.wait(SOON)  # while the old one still runs
    new.released.set()
    assert new.ended.wait(SOON)
    old.released.set()
    worker.join(SOON)
    assert delivered == [("result", "new")]


def test_a_late_error_is_discarded_too(worker, delivered):
    old = Gate(error=ValueError("old"))
    worker.request(old)
    worker.request(lambda: "new")
    old.released.set()
    worker.join(SOON)
    assert delivered == [("result", "new")]


def test_an_older_request_stops_at_its_checkpoint(worker, delivered):
    old = Gate("old", has_checkpoint=True)
    worker.request(old)
    assert old.begun.wait(SOON)
    worker.request(lambda: "new")
    old.released.set()
    worker.join(SOON)
    assert old.superseded
    assert delivered == [("result", "new")]


def test_the_newest_request_passes_its_checkpoints(worker, delivered):
    gate = Gate("it", has_checkpoint=True)
    gate.released.set()
    worker.request(gate)
    worker.join(SOON)
    assert delivered == [("result", "it")]


def test_a_request_replaces_the_one_that_waits(worker, delivered):
    running = [Gate(), Gate()]
    for gate in running:
        worker.request(gate)
        assert gate.begun.wait(SOON)
    replaced, last = Gate("replaced"), Gate("last")
    last.released.set()
    worker.request(replaced)
    worker.request(last)
    assert not last.begun.is_set()  # two run already
    running[0].released.set()
    assert last.ended.wait(SOON)  # though the other old one still runs
    running[1].released.set()
    worker.join(SOON)
    assert not replaced.begun.is_set()
    assert delivered == [("result", "last")]


def test_errors_are_delivered_also_those_of_the_receiver(delivered):
    def refuse(result):
        raise RuntimeError(f"cannot receive {result}")

    worker = LatestWorker(refuse, lambda e: delivered.append(str(e)))
    worker.request(lambda: 1 / 0)
    worker.join(SOON)
    worker.request(lambda: "it")
    worker.join(SOON)
    assert delivered == ["division by zero", "cannot receive it"]


def test_join_names_what_it_waited_for(worker):
    gate = Gate()
    worker.request(gate)
    with pytest.raises(TimeoutError, match="1 request"):
        worker.join(0.0)
    gate.released.set()
    worker.join(SOON)


def test_outside_of_a_request_a_checkpoint_does_nothing(worker, delivered):
    assert not stoppable()
    checkpoint()
    worker.request(stoppable)
    worker.join(SOON)
    assert delivered == [("result", True)]
