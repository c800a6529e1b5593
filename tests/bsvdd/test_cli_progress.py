"""Progress of runs: bars in a terminal, lines elsewhere, and an estimate of the time left."""

import io
from types import SimpleNamespace

from rich.console import Console

from bsvdd.cli.compare import compare
from bsvdd.cli.progress import Lines, Remaining, progress
from bsvdd.cli.study import study


def after(done, total, model="SVDD", stored=False, **row):
    cell = SimpleNamespace(
        scenario=SimpleNamespace(name="moon"),
        candidate=SimpleNamespace(name=model),
        replicate=done - 1,
    )
    failed = int("error" in row)
    row = row or {"fit_seconds": 1.25, "score_seconds": 0.25}
    return SimpleNamespace(done=done, failed=failed, total=total, cell=cell, row=row, stored=stored)


def test_a_log_has_a_line_for_each_cell_and_the_reason_of_a_failure(capsys):
    console = Console(file=io.StringIO())
    with progress(console) as display:
        assert isinstance(display, Lines)
        on_cell = display.cells("fits", 12)
        on_cell(after(1, 12, stored=True))
        on_cell(after(2, 12, "BDD", error="ValueError: no\nrows"))
        on_cell(after(12, 12))
        display.step("pictures")
    assert capsys.readouterr().err.splitlines() == [
        "fits  1/12: moon, SVDD, replicate 0: stored",
        "fits  2/12: failed: moon, BDD, replicate 1: ValueError: no rows",
        "fits 12/12: moon, SVDD, replicate 11: 1.5 s",
        "pictures",
    ]


def test_a_terminal_shows_the_first_failure_of_each_model_at_once():
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=120)
    with progress(console) as display:
        on_cell = display.cells("fits", 3)
        on_cell(after(1, 3, error="ValueError: too [few] rows"))
        assert "failed: moon, SVDD, replicate 0: ValueError: too [few] rows" in file.getvalue()
        on_cell(after(2, 3, error="ValueError: again"))
        on_cell(after(3, 3, "BDD", error="ValueError: other"))
    assert "again" not in file.getvalue() and "other" in file.getvalue()


def test_failures_and_stored_cells_are_no_speed():
    seconds = iter([0.0, 10.0, 30.0, 40.0])
    remaining = Remaining(lambda: next(seconds))
    assert remaining.after(after(1, 10, stored=True)) == ""
    assert remaining.after(after(2, 10, error="x")) == ""
    assert remaining.after(after(3, 10)) == "about 70 s left"  # 7 cells of 10 s
    assert remaining.after(after(4, 10, error="x")) == "about 3 min left"  # 6 cells of 30 s
    assert remaining.after(after(10, 10)) == ""


def test_a_log_says_that_a_long_cell_is_running():
    """The clock stands still while a line is new, and then goes on."""
    now = [0.0]
    lines = Lines(clock=lambda: now[0])
    assert lines.still_running() is None  # before the first task
    on_cell = lines.cells("fits", 12)
    now[0] = 10.0
    assert lines.still_running() == "fits  0/12: running, 10 s so far"
    now[0] = 118.0
    on_cell(after(1, 12))
    now[0] = 120.0
    assert lines.still_running() is None
    now[0] = 130.0
    assert lines.still_running() == "fits  1/12: running, 2 min so far"


def test_all_processors_are_the_default():
    for command in (compare, study.commands["slides"]):
        assert {p.name: p.default for p in command.params}["jobs"] == -1
