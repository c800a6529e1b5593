"""What is written to stderr while a task runs."""

import re
import threading
import time

from bsvdd.inference.threads import duration, heartbeat, steps


def test_a_heartbeat_says_a_line_each_time_and_ends_with_its_task(capsys):
    lines, twice = iter([None, "beat"]), threading.Event()

    def say():
        line = next(lines, "beat")
        if line:
            twice.set()
        return line

    with heartbeat(say, every=0.01):
        assert twice.wait(30)
    said = capsys.readouterr().err
    assert said and set(said.splitlines()) == {"beat"}
    time.sleep(0.05)
    assert capsys.readouterr().err == ""


def test_steps_say_what_runs_and_a_quick_task_says_nothing(capsys):
    with steps("report", every=0.05) as step:
        step("first")
        time.sleep(0.2)
        step("second")
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(re.fullmatch(r"report: (first|second), [01] s so far", a) for a in lines)
    assert [any(name in a for a in lines) for name in ("first", "second")] == [True, True]
    with steps("report") as step:
        step("first")
    assert capsys.readouterr().err == ""


def test_times_in_words():
    assert [duration(t) for t in (4.4, 200, 9000)] == ["4 s", "3 min", "2.5 h"]
