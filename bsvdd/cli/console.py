"""What commands show: tables, and the progress of runs."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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

from .. import tables
from ..base.atomic import atomic
from ..base.messages import as_cell, printable
from ..base.threads import HEARTBEAT, PATIENCE, duration, is_quiet, steps

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from ..comparison.runner import Row
    from ..tables.files import Layout

WIDE = 1000  # characters


def console_of_records() -> Console:
    """Return a console; a pipe gets one line per record, so that names can be found."""
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
    """Return a table whose first column has names, and the others numbers and reasons.

    Parameters
    ----------
    head : list of str
        Titles of the columns. The column ``reason`` has texts, the others numbers.
    rows : iterable of list of str
        Cells of each row.
    dim : iterable of bool
        Whether a row is printed dim.
    **first
        Settings of the first column, as ``rich.table.Table.add_column`` takes them.

    Returns
    -------
    rich.table.Table
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column(Text(printable(head[0])), overflow="fold", **first)
    for name in head[1:]:
        if name == "reason":
            table.add_column(Text(name), overflow="fold")
        else:
            table.add_column(Text(name), justify="right", no_wrap=True)
    for cells, is_dim in zip(rows, dim, strict=True):
        texts = [Text(printable(cell)) for cell in cells]
        table.add_row(*texts, style="dim" if is_dim else None)
    return table


def as_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names and texts are no formulas to a spreadsheet."""

    def safe(value: object) -> object:
        return as_cell(value) if isinstance(value, str) else value

    texts = {c: table[c].map(safe) for c in table if table[c].dtype.kind not in "biuf"}
    return table.assign(**texts).rename(columns=safe)


def with_names(table: pd.DataFrame, names: pd.Index) -> pd.DataFrame:
    """Return a table whose first column has the names of its rows.

    The column is called ``input_...`` if the table has a column of its name.
    """
    column = str(names.name or "row")
    found = table.reset_index(drop=True)
    found.insert(0, f"input_{column}" if column in table else column, names.to_numpy())
    return found


def with_filled(table: pd.DataFrame, missing: pd.DataFrame) -> pd.DataFrame:
    """Return a table with a column that names the filled columns of each row.

    Parameters
    ----------
    table : pandas.DataFrame
    missing : pandas.DataFrame of bool, shape (n, p)
        Which cells had no value. If all had one, the table stays as it is.

    Returns
    -------
    pandas.DataFrame
    """
    which = missing.to_numpy()
    if not which.any():
        return table
    names = missing.columns.map(str)
    return table.assign(filled=[", ".join(names[row]) for row in which])


def save_table(
    path: Path | None,
    table: pd.DataFrame,
    layout: Layout | None = None,
    said: str = "saved",
    as_they_are: Collection[str] = (),
) -> None:
    """Write a table as CSV, all or nothing, and say so.

    No name and no text of it is a formula to a spreadsheet.

    Parameters
    ----------
    path : pathlib.Path or None
        None for standard output.
    table : pandas.DataFrame
    layout : Layout, optional
        Has the separator and the decimal sign.
    said : str
        What is printed before the path; nothing is, if it is empty.
    as_they_are : collection of str
        Columns of text without numbers, whose points stay.

    Raises
    ------
    OSError
        The disk is full, for instance.
    """
    signs = {} if layout is None else {"sep": layout.sign, "decimal": layout.decimal}
    cells = as_cells(table)
    if layout is not None and layout.decimal == ",":
        texts = cells.select_dtypes(["object", "str"]).columns
        of_texts = texts.difference(as_they_are)
        commas = {c: tables.files.with_commas(cells[c].astype("str")) for c in of_texts}
        cells = cells.assign(**commas)
    if path is None:
        cells.to_csv(sys.stdout, index=False, **signs)
        sys.stdout.flush()  # here, where a closed pipe ends quietly
        return
    with atomic(path) as temporary:
        cells.to_csv(temporary, index=False, **signs)
    if said:
        click.echo(f"{said} {path}")


@dataclass
class FinishedCells:
    """The finished cells of a run: a bar in a terminal, elsewhere a line a data set.

    It is called with each row of results, and whether the row was stored. Stored cells
    and failures count as done, but the bar leaves them out: they say nothing of speed.
    The first failure of a model has a line of its own.
    """

    bar: Progress
    step: Callable[[str], None]
    name: str
    total: int
    rows: list[Row] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)  # models
    skipped: int = 0

    def __post_init__(self) -> None:
        self.tells = not (self.bar.console.is_terminal or is_quiet())
        count = f"0/{self.total}"
        self.task = self.bar.add_task(self.name, total=self.total, count=count)
        self.step(f"{self.name} {count}")

    def __call__(self, row: Row, stored: bool) -> None:
        """Keep a row, and tell it."""
        error = row.get("error")
        says = error and row["model"] not in self.failed
        begins = not any(row["data"] == each["data"] for each in self.rows)
        self.failed += [row["model"]] if error else []
        self.rows.append(row)
        self.skipped += bool(stored or error)
        count = f"{len(self.rows):{len(str(self.total))}d}/{self.total}"
        self.bar.update(
            self.task,
            total=self.total - self.skipped,
            completed=len(self.rows) - self.skipped,
            count=count + (f", {len(self.failed)} failed" if self.failed else ""),
            description=f"{self.name}: {row['data']}, {row['model']}",
        )
        left = self.bar.tasks[self.task].time_remaining
        about = f", about {duration(left)} left" if left else ""
        self.step(f"{self.name} {count}: {row['data']}{about}")
        if begins and self.tells:
            self.say(f"{self.name} {count}: {row['data']}{about}")
        if says:
            cell = f"{row['data']}, {row['model']}, replicate {row['replicate']}"
            self.say(f"failed: {cell}: {' '.join(str(error).split())}")

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        self.bar.console.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def progress(
    run: str,
    name: str,
    total: int,
    console: Console,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[FinishedCells]:
    """Show the progress of a run, in a log by :func:`bsvdd.base.threads.steps`.

    Parameters
    ----------
    run, name : str
        What runs, and what is counted.
    total : int
        Number of cells.
    console : rich.console.Console
    clock : callable
        Seconds.

    Yields
    ------
    FinishedCells
        Is called with each finished cell.
    """
    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal or is_quiet(),
        get_time=clock,
        speed_estimate_period=math.inf,
    )
    # a log has a line for each data set already
    patience = threading.TIMEOUT_MAX if console.is_terminal else 3.0 * HEARTBEAT
    with steps(run, patience) as step, bar:
        yield FinishedCells(bar, step, name, total)


@contextmanager
def waiting(task: str, every: float = PATIENCE) -> Iterator[Callable[[str], None]]:
    """Show the steps of a task: in a terminal one line that vanishes.

    Parameters
    ----------
    task : str
    every : float
        Seconds before the first line of a log.

    Yields
    ------
    callable
        Is called with the name of each step that begins.
    """
    if sys.stderr.isatty() and not is_quiet():
        with Console(stderr=True).status(task) as status:
            yield lambda step: status.update(f"{task}: {step}")
    else:
        with steps(task, every) as step:
            yield step
