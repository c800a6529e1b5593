"""Progress of runs: bars in a terminal, lines elsewhere, and the time left."""

import io
import re
import time

from rich.console import Console

from bsvdd.base import threads
from bsvdd.cli import console as cli_console
from bsvdd.cli.console import progress
from bsvdd.cli.main import main
from tests.cli.helpers import call


def row(replicate, model="SVDD", **others):
    times = others or {"fit_seconds": 1.25, "score_seconds": 0.25}
    return {"data": "moon", "model": model, "replicate": replicate, **times}


def test_a_log_has_a_line_for_each_data_set_and_the_time_left():
    """Stored cells and failures say nothing of speed; a tick of the clock is 10 s."""
    now = [0.0]
    console = Console(file=io.StringIO(), width=20)
    with progress("compare", "fits", 12, console, lambda: now[0]) as on_cell:
        on_cell(row(0), True)
        on_cell(row(1, "BDD", error="ValueError: no\nrows [red]"), False)
        on_cell(row(2, "BDD", error="ValueError: no\nrows [red]"), False)
        for replicate in (3, 4):
            now[0] += 10.0
            on_cell(row(replicate), False)
        on_cell(row(0) | {"data": "wine"}, False)
    assert console.file.getvalue().splitlines() == [
        "fits  1/12: moon",
        "failed: moon, BDD, replicate 1: ValueError: no rows [red]",
        "fits  6/12: wine, about 30 s left",
    ]


def test_a_log_says_that_a_long_cell_is_running(monkeypatch, capsys):
    monkeypatch.setattr(cli_console, "HEARTBEAT", 0.02)
    with progress("study", "fits", 12, Console(file=io.StringIO())):
        time.sleep(0.2)
    lines = capsys.readouterr().err.splitlines()
    assert lines and all(
        re.fullmatch(r"study: fits 0/12, \d+ s so far", line) for line in lines
    )


def test_quiet_commands_write_no_progress(monkeypatch, capsys):
    monkeypatch.setattr(cli_console, "HEARTBEAT", 0.02)
    for terminal in (False, True):
        console = Console(file=io.StringIO(), width=120, force_terminal=terminal)
        with threads.quiet(), progress("study", "fits", 12, console) as on_cell:
            on_cell(row(0), False)
            time.sleep(0.1)
            on_cell(row(1, "BDD", error="ValueError: no rows"), False)
        said = console.file.getvalue()
        assert "failed: moon, BDD, replicate 1" in said and "fits" not in said
    with threads.quiet(), cli_console.waiting("fit", 0.02) as step:
        step("rows")
        time.sleep(0.1)
    assert not capsys.readouterr().err and not threads.is_quiet()
    assert all("--quiet" in call(name, "--help").stdout for name in main.commands)


def test_a_terminal_shows_the_first_failure_of_each_model_at_once():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=120)
    with progress("study", "fits", 3, console) as on_cell:
        on_cell(row(0, error="ValueError: too [few] rows"), False)
        assert (
            "failed: moon, SVDD, replicate 0: ValueError: too [few] rows"
            in file.getvalue()
        )
        on_cell(row(1, error="ValueError: again"), False)
        on_cell(row(2, "BDD", error="ValueError: other"), False)
    assert "again" not in file.getvalue() and "other" in file.getvalue()
