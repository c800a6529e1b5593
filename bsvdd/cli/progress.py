"""Progress of runs: bars in a terminal, and a line for each finished cell elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

import click

from ..inference.threads import HEARTBEAT, duration, heartbeat, steps


class Display(Protocol):
    """What shows the progress of a run."""

    def cells(self, name: str, total: int) -> Callable[[Any], None]:
        """Start a task of ``total`` cells; return what to call after each finished cell."""
        ...

    def step(self, name: str) -> None:
        """Say that a step without cells begins."""
        ...


@contextmanager
def progress(console: Any) -> Iterator[Display]:
    """Give the display of a run on ``console``: bars if it is a terminal, else lines."""
    if not console.is_terminal:
        lines = Lines()
        with heartbeat(lines.still_running):
            yield lines
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        console=console,
    )
    with bar:
        yield Bars(bar)


class Bars:
    """A bar for each task in a terminal, and the first failure of each model above them."""

    def __init__(self, bar: Any) -> None:
        self._bar = bar
        self._step: Any = None

    def cells(self, name: str, total: int) -> Callable[[Any], None]:
        """Start a task of ``total`` cells; return what to call after each finished cell."""
        task = self._bar.add_task(name, total=total, count=f"0/{total}", left="")
        remaining = Remaining()
        told: set[str] = set()

        from rich.text import Text

        def advance(progress: Any) -> None:
            model = progress.cell.candidate.name
            if "error" in progress.row and model not in told:
                told.add(model)
                failure = Text(f"failed: {described(progress)}", style="yellow")
                self._bar.console.print(failure, soft_wrap=True)
            self._bar.update(
                task,
                completed=progress.done,
                count=f"{progress.done}/{total}"
                + (f", {progress.failed} failed" if progress.failed else ""),
                left=remaining.after(progress),
                description=f"{name}: {progress.cell.scenario.name}, {model}",
            )

        return advance

    def step(self, name: str) -> None:
        """Say that a step without cells begins."""
        if self._step is not None:
            self._bar.update(self._step, total=1, completed=1)  # its time stops
        self._step = self._bar.add_task(name, total=None, count="", left="")


def time_so_far(task: str) -> AbstractContextManager[None]:
    """Return the heartbeat of a task of which no more is known than that it runs."""
    start = time.monotonic()
    return heartbeat(lambda: f"{task}: {duration(time.monotonic() - start)} so far")


@contextmanager
def waiting(task: str) -> Iterator[Callable[[str], None]]:
    """Give a function that names the step of a task that begins.

    A terminal shows it in a line that vanishes, and a log has a line each few seconds.
    """
    if not sys.stderr.isatty():
        with steps(task) as step:
            yield step
        return
    from rich.console import Console

    with Console(stderr=True).status(task) as status:
        yield lambda step: status.update(f"{task}: {step}")


class Lines:
    """A line on stderr for each finished cell, and between: for a log, where bars cannot move."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._start = clock, clock()
        self._last, self._task = self._start, ""

    def cells(self, name: str, total: int) -> Callable[[Any], None]:
        """Start a task of ``total`` cells; return what to call after each finished cell."""
        remaining, width = Remaining(), len(str(total))
        self._task = f"{name} {0:{width}d}/{total}"

        def advance(progress: Any) -> None:
            state = "failed: " if "error" in progress.row else ""
            left = remaining.after(progress)
            self._task = f"{name} {progress.done:{width}d}/{total}"
            self._echo(
                f"{self._task}: {state}{described(progress)}" + (f" ({left})" if left else "")
            )

        return advance

    def step(self, name: str) -> None:
        """Say that a step without cells begins."""
        self._task, self._start = name, self._clock()
        self._echo(name)

    def still_running(self) -> str | None:
        """Return that the task goes on; None if a line was written a moment ago."""
        if not self._task or self._clock() - self._last < HEARTBEAT / 2:
            return None
        return f"{self._task}: running, {duration(self._clock() - self._start)} so far"

    def _echo(self, line: str) -> None:
        self._last = self._clock()
        click.echo(line, err=True)


class Remaining:
    """The time that a run still needs, from the cells that it computed without a failure."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._start, self._computed = clock, clock(), 0

    def after(self, progress: Any) -> str:
        """Return the time left after a finished cell; nothing if no cell was computed yet.

        A failure often takes no time, and a stored cell takes none. They count as done, but not
        as speed.
        """
        self._computed += not progress.stored and "error" not in progress.row
        if not self._computed or progress.done == progress.total:
            return ""
        each = (self._clock() - self._start) / self._computed
        return f"about {duration(each * (progress.total - progress.done))} left"


def described(progress: Any) -> str:
    """Return which cell was finished, and its time or its error, in one line."""
    cell, row = progress.cell, progress.row
    name = f"{cell.scenario.name}, {cell.candidate.name}, replicate {cell.replicate}"
    if "error" in row:
        return f"{name}: {' '.join(str(row['error']).split())}"
    if progress.stored:
        return f"{name}: stored"
    return f"{name}: {float(row['fit_seconds']) + float(row['score_seconds']):.1f} s"
