"""What is written to stderr while a task runs."""

import re
import time

from bsvdd.inference.heartbeat import duration, steps


def test_steps_say_what_runs_and_a_quick_task_says_nothing(capsys):
    with steps("report", every=0.05) as step:
        time.sleep(0.2)
        step("first")
        time.sleep(0.2)
        step("second")
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(
        re.fullmatch(r"report: ((first|second), )?[01] s so far", a) for a in lines
    )
    assert all(any(name in line for line in lines) for name in ("report: 0", "first", "second"))
    time.sleep(0.1)
    with steps("report") as step:
        step("first")
    assert capsys.readouterr().err == ""  # the first task has ended


def test_seconds_count_anew_from_a_line_that_was_told(capsys):
    with steps("study", every=0.5) as step:
        for i in range(8):
            time.sleep(0.1)
            step(f"cell {i}", said_already=True)
    assert capsys.readouterr().err == ""


def test_times_in_words():
    assert [duration(t) for t in (4.4, 200, 9000)] == ["4 s", "3 min", "2.5 h"]
