"""Progress of runs: bars in a terminal, and a line for each finished cell elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import click


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
        yield Lines()
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
    )

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
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

    def cells(self, name: str, total: int) -> Callable[[Any], None]:
        """Start a task of ``total`` cells; return what to call after each finished cell."""
        task = self._bar.add_task(name, total=total, failed=0, left="")
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
                failed=progress.failed,
                left=remaining.after(progress),
                description=f"{name}: {progress.cell.scenario.name}, {model}",
            )

        return advance

    def step(self, name: str) -> None:
        """Say that a step without cells begins."""
        self._bar.add_task(name, total=None, failed=0, left="")


class Lines:
    """A line on stderr for each finished cell: for a log, where bars cannot move."""

    def cells(self, name: str, total: int) -> Callable[[Any], None]:
        """Start a task of ``total`` cells; return what to call after each finished cell."""
        remaining, width = Remaining(), len(str(total))

        def advance(progress: Any) -> None:
            state = "failed: " if "error" in progress.row else ""
            left = remaining.after(progress)
            click.echo(
                f"{name} {progress.done:{width}d}/{total}: {state}{described(progress)}"
                + (f" ({left})" if left else ""),
                err=True,
            )

        return advance

    def step(self, name: str) -> None:
        """Say that a step without cells begins."""
        click.echo(name, err=True)


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


def duration(seconds: float) -> str:
    """Return a time in words, such as 40 s, 3 min or 2.5 h."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def described(progress: Any) -> str:
    """Return which cell was finished, and its time or its error, in one line."""
    cell, row = progress.cell, progress.row
    name = f"{cell.scenario.name}, {cell.candidate.name}, replicate {cell.replicate}"
    if "error" in row:
        return f"{name}: {' '.join(str(row['error']).split())}"
    if progress.stored:
        return f"{name}: stored"
    return f"{name}: {float(row['fit_seconds']) + float(row['score_seconds']):.1f} s"
