"""Progress bars of runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def progress_bar(console: Any) -> Any:
    """Return a progress bar with the number of finished and failed cells, and the time left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]} failed"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
    )


def show_cells(bar: Any, name: str, total: int) -> Callable[[Any], None]:
    """Add a task to ``bar``; return the function that advances it after each finished cell."""
    task = bar.add_task(name, total=total, failed=0)

    def advance(progress: Any) -> None:
        cell = progress.cell
        bar.update(
            task,
            completed=progress.done,
            failed=progress.failed,
            description=f"{name}: {cell.scenario.name}, {cell.candidate.name}",
        )

    return advance
