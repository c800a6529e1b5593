"""What commands show: tables, and the progress of runs."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

from ..base.atomic import atomic
from ..base.messages import as_cell, printable
from ..base.threads import HEARTBEAT, PATIENCE, duration, steps

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from ..tables.files import Layout

WIDE = 1000  # characters


def console_of_records() -> Console:
    """Return a console; in a pipe a record is one line, so that names can be searched."""
    console = Console()
    return (
        console
        if console.is_terminal or "COLUMNS" in os.environ
        else Console(width=WIDE)
    )


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
        table.add_column(
            Text(name), **({"overflow": "fold"} if name == "reason" else how)
        )
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


def with_names(table: pd.DataFrame, names: pd.Index) -> pd.DataFrame:
    """Return a table with the names of its rows first, as ``input_...`` beside such a column."""
    import numpy as np

    column = str(names.name or "row")
    found = table.reset_index(drop=True)
    found.insert(0, f"{'input_' if column in table else ''}{column}", np.asarray(names))
    return found


def with_filled(found: pd.DataFrame, gaps: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns of each row whose gaps (n, p) were filled, if any were."""
    if not gaps.to_numpy().any():
        return found
    names = gaps.columns
    filled = [", ".join(str(c) for c in names[row]) for row in gaps.to_numpy()]
    return found.assign(filled=filled)


def save_table(
    path: Path | None,
    table: pd.DataFrame,
    layout: Layout | None = None,
    said: str = "saved",
) -> None:
    """Write a table, all or nothing, and say so; without a path to standard output.

    It has the signs of the layout. No name and no text is a formula to a spreadsheet.

    Raises
    ------
    OSError
        The disk is full, for instance.
    """
    signs = {} if layout is None else {"sep": layout.sign, "decimal": layout.decimal}
    cells = as_cells(table)
    if path is None:
        cells.to_csv(sys.stdout, index=False, **signs)
        sys.stdout.flush()  # here, where a closed pipe ends quietly
        return
    with atomic(path) as temporary:
        cells.to_csv(temporary, index=False, **signs)
    click.echo(f"{said} {path}")


class Cells:
    """What is shown of finished cells: a bar in a terminal, elsewhere a line for each.

    It is called with each row of results, and whether it was stored. Stored cells and
    failures count as done, but not as speed: they are no part of the bar.
    """

    def __init__(
        self, bar: Progress, step: Callable[..., None], name: str, total: int
    ) -> None:
        self.bar = bar
        self.step = step
        self.name = name
        self.total = total
        self.done = self.failed = self.skipped = 0
        self.told: set[str] = set()  # models whose failure was told
        self.task = bar.add_task(name, total=total, count=f"0/{total}")
        step(f"{name} 0/{total}")

    def __call__(self, row: dict[str, Any], stored: bool) -> None:
        """Count a cell, and tell what is new: in a terminal the first failure of each model."""
        error = row.get("error")
        self.done += 1
        self.failed += bool(error)
        self.skipped += bool(stored or error)
        count = f"{self.done:{len(str(self.total))}d}/{self.total}"
        self.bar.update(
            self.task,
            total=self.total - self.skipped,
            completed=self.done - self.skipped,
            count=count + (f", {self.failed} failed" if self.failed else ""),
            description=f"{self.name}: {row['data']}, {row['model']}",
        )
        text = f"{row['data']}, {row['model']}, replicate {row['replicate']}: "
        if error:
            text = f"failed: {text}{' '.join(error.split())}"
        elif not stored:
            text += f"{row['fit_seconds'] + row['score_seconds']:.1f} s"
        is_new = not stored
        is_log = not self.bar.console.is_terminal
        if error:
            is_new = row["model"] not in self.told
            self.told.add(row["model"])
        if is_log:
            left = self.bar.tasks[self.task].time_remaining
            text = f"{self.name} {count}: {text}"
            text += f" (about {duration(left)} left)" if left else ""
            self.step(f"{self.name} {count}", said_already=True)
        if is_new and (is_log or error):
            self.bar.console.print(text, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(
    run: str,
    name: str,
    total: int,
    console: Console,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Cells]:
    """Show the progress of a run; a log also has a line each 10 seconds without another.

    Parameters
    ----------
    run, name : str
        What runs, and what is counted.
    total : int
        Number of cells.
    console : rich.console.Console
    clock : callable
        Seconds.
    """
    bar = Progress(
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
    patience = threading.TIMEOUT_MAX if console.is_terminal else HEARTBEAT
    with steps(run, patience) as step, bar:
        yield Cells(bar, step, name, total)


@contextmanager
def waiting(task: str, every: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Give a function that names the step of a task that begins.

    A terminal shows it in a line that vanishes, and a log has a line each ``every``
    seconds.
    """
    if not sys.stderr.isatty():
        with steps(task, every) as step:
            yield step
        return
    with Console(stderr=True).status(task) as status:
        yield lambda step: status.update(f"{task}: {step}")
