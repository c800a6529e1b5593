"""What commands show: tables, and the progress of runs."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ..estimators.atomic import atomic
from ..estimators.messages import as_cell, printable
from ..inference.threads import HEARTBEAT, duration, steps

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd


WIDE = 1000  # characters


def console_of_records() -> Console:
    """Return a console; in a pipe a record is one line, so that names can be searched."""
    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=WIDE)


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Print lines as they are."""
    for line in lines:
        console.print(line, markup=False, highlight=False)


def table_of(
    head: list[str], rows: Iterable[list[str]], dim: Iterable[bool], **first: Any
) -> Table:
    """Return a table of names, numbers and reasons; some rows are dim, ``first`` is of column 0."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(Text(printable(head[0])), overflow="fold", **first)
    for name in head[1:]:
        how: Any = {"justify": "right", "no_wrap": True}
        table.add_column(Text(name), **({"overflow": "fold"} if name == "reason" else how))
    for cells, is_dim in zip(rows, dim, strict=True):
        texts = [Text(printable(cell)) for cell in cells]
        table.add_row(*texts, style="dim" if is_dim else None)
    return table


def as_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table in whose CSV no name and no text is a formula to a spreadsheet."""

    def safe(value: Any) -> Any:
        return as_cell(value) if isinstance(value, str) else value

    texts = {c: table[c].map(safe) for c in table if table[c].dtype.kind not in "biuf"}
    return table.assign(**texts).rename(columns=safe)


def with_names(table: pd.DataFrame, names: Any, column: str) -> pd.DataFrame:
    """Return a table with the names of its rows first, as ``input_...`` beside such a column."""
    import numpy as np

    clash = "input_" if column in table.columns else ""
    found = table.reset_index(drop=True)
    found.insert(0, f"{clash}{column}", np.asarray(names))
    return found


def with_filled(found: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns of each row whose gaps (n, p) were filled, if any were."""
    if not gaps.to_numpy().any():
        return found
    names = gaps.columns
    filled = [", ".join(str(c) for c in names[row]) for row in gaps.to_numpy()]
    return found.assign(filled=filled)


def save_table(path: Path, table: pd.DataFrame, sep: str, decimal: str) -> None:
    """Write a table, all or nothing, and say so; the caller has printed what matters of it.

    Raises
    ------
    OSError
        The disk is full, for instance.
    """
    with atomic(path) as temporary:
        as_cells(table).to_csv(temporary, index=False, sep=sep, decimal=decimal)
    click.echo(f"saved {path}")


def save_named(path: Path, table: pd.DataFrame, names: pd.Index, sep: str, decimal: str) -> None:
    """Write a table as :func:`save_table` does, with the names of its rows first."""
    save_table(path, with_names(table, names, str(names.name or "row")), sep, decimal)


class Display:
    """The progress of a run: bars in a terminal, elsewhere a line for each finished cell.

    Parameters
    ----------
    console : rich.console.Console
    step : callable
        Names what runs, for the lines of a log between those of cells.
    clock : callable
        Seconds.
    """

    def __init__(
        self, console: Console, step: Callable[..., None], clock: Callable[[], float]
    ) -> None:
        self._console, self._step = console, step
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[count]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            get_time=clock,
            speed_estimate_period=math.inf,
        )

    def cells(self, name: str, total: int) -> Callable[[dict[str, Any], bool], None]:
        """Start a task of ``total`` cells; return what to call after each finished cell.

        It takes the row of results, and whether it was stored. Stored cells and failures count as
        done, but not as speed: they are no part of the bar.
        """
        task = self.bar.add_task(name, total=total, count=f"0/{total}")
        done = failed = skipped = 0
        told, width = set(), len(str(total))
        self._step(f"{name} 0/{total}")

        def advance(row: dict[str, Any], stored: bool) -> None:
            nonlocal done, failed, skipped
            error = row.get("error")
            done, failed, skipped = done + 1, failed + bool(error), skipped + bool(stored or error)
            count = f"{done:{width}d}/{total}"
            self.bar.update(
                task,
                total=total - skipped,
                completed=done - skipped,
                count=count + (f", {failed} failed" if failed else ""),
                description=f"{name}: {row['data']}, {row['model']}",
            )
            text = f"{row['data']}, {row['model']}, replicate {row['replicate']}: "
            if error:
                text = f"failed: {text}{' '.join(error.split())}"
            elif not stored:
                text += f"{row['fit_seconds'] + row['score_seconds']:.1f} s"
            if not self._console.is_terminal:
                left = next(t for t in self.bar.tasks if t.id == task).time_remaining
                more = f" (about {duration(left)} left)" if left else ""
                if not stored and not (error and row["model"] in told):
                    self._say(f"{name} {count}: {text}{more}")
                self._step(f"{name} {count}", said_already=True)
            elif error and row["model"] not in told:
                self._say(text)
            told.update([row["model"]] if error else [])

        return advance

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(
    task: str, console: Console, clock: Callable[[], float] = time.monotonic
) -> Iterator[Display]:
    """Give the display of a run; a log also has a line each 10 seconds without another."""
    with steps(task, threading.TIMEOUT_MAX if console.is_terminal else HEARTBEAT) as step:
        display = Display(console, step, clock)
        with display.bar:
            yield display


def time_so_far(task: str) -> AbstractContextManager[Any]:
    """Return a context in which a log, but no terminal, has lines of the time so far."""
    return nullcontext() if sys.stderr.isatty() else steps(task, HEARTBEAT)


@contextmanager
def waiting(task: str) -> Iterator[Callable[[str], None]]:
    """Give a function that names the step of a task that begins.

    A terminal shows it in a line that vanishes, and a log has a line each few seconds.
    """
    if not sys.stderr.isatty():
        with steps(task) as step:
            yield step
        return
    with Console(stderr=True).status(task) as status:
        yield lambda step: status.update(f"{task}: {step}")
