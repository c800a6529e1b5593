"""Only the latest request counts; events, not sleeps, say what has happened."""

import threading

import pytest
from bsvdd.inference.latest import Latest, SupersededError, checkpoint, stoppable

SOON = 20.0  # seconds by which something happens that is not waited for otherwise


class Gate:
    """A job that says that it has begun and ends when it is let."""

    def __init__(self, result=None, error=None, asks=False):
        self.begun, self.let, self.ended = threading.Event(), threading.Event(), threading.Event()
        self.result, self.error, self.asks = result, error, asks
        self.superseded = False

    def __call__(self):
        self.begun.set()
        assert self.let.wait(SOON)
        try:
            if self.asks:
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
def taken():
    return []


@pytest.fixture
def latest(taken):
    return Latest(lambda r: taken.append(("result", r)), lambda e: taken.append(("error", str(e))))


def test_a_result_is_handed_over(latest, taken):
    latest.request(lambda: 3)
    latest.join(SOON)
    assert taken == [("result", 3)]


def test_an_older_request_never_blocks_and_its_late_result_is_thrown_away(latest, taken):
    old = Gate("old")
    latest.request(old)
    assert old.begun.wait(SOON)
    new = Gate("new")
    latest.request(new)
    assert new.begun.wait(SOON)  # while the old one still runs
    new.let.set()
    assert new.ended.wait(SOON)
    old.let.set()
    latest.join(SOON)
    assert taken == [("result", "new")]


def test_a_late_error_is_thrown_away_too(latest, taken):
    old = Gate(error=ValueError("old"))
    latest.request(old)
    latest.request(lambda: "new")
    old.let.set()
    latest.join(SOON)
    assert taken == [("result", "new")]


def test_an_older_request_stops_at_its_checkpoint(latest, taken):
    old = Gate("old", asks=True)
    latest.request(old)
    assert old.begun.wait(SOON)
    latest.request(lambda: "new")
    old.let.set()
    latest.join(SOON)
    assert old.superseded
    assert taken == [("result", "new")]


def test_the_latest_request_passes_its_checkpoints(latest, taken):
    gate = Gate("it", asks=True)
    gate.let.set()
    latest.request(gate)
    latest.join(SOON)
    assert taken == [("result", "it")]


def test_a_request_replaces_the_one_that_waits(latest, taken):
    running = [Gate(), Gate()]
    for gate in running:
        latest.request(gate)
        assert gate.begun.wait(SOON)
    replaced, last = Gate("replaced"), Gate("last")
    last.let.set()
    latest.request(replaced)
    latest.request(last)
    assert not last.begun.is_set()  # two run already
    running[0].let.set()
    assert last.ended.wait(SOON)  # though the other old one still runs
    running[1].let.set()
    latest.join(SOON)
    assert not replaced.begun.is_set()
    assert taken == [("result", "last")]


def test_errors_are_handed_over_also_those_of_the_taker(taken):
    def refuse(result):
        raise RuntimeError(f"cannot take {result}")

    latest = Latest(refuse, lambda e: taken.append(str(e)))
    latest.request(lambda: 1 / 0)
    latest.join(SOON)
    latest.request(lambda: "it")
    latest.join(SOON)
    assert taken == ["division by zero", "cannot take it"]


def test_join_says_what_it_waited_for(latest):
    gate = Gate()
    latest.request(gate)
    with pytest.raises(TimeoutError, match="1 request"):
        latest.join(0.0)
    gate.let.set()
    latest.join(SOON)


def test_outside_of_a_request_a_checkpoint_does_nothing(latest, taken):
    assert not stoppable()
    checkpoint()
    latest.request(stoppable)
    latest.join(SOON)
    assert taken == [("result", True)]
