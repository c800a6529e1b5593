"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
seed = click.option("--seed", default=0, show_default=True, type=click.IntRange(0))


def sampling(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the sampler: --draws, --tune and --chains."""
    for option in (
        click.option("--chains", default=2, show_default=True, type=click.IntRange(1)),
        click.option("--tune", default=500, show_default=True, type=click.IntRange(1)),
        click.option("--draws", default=1000, show_default=True, type=click.IntRange(4)),
    ):
        command = option(command)
    return command


def given(*names: str) -> list[str]:
    """Return which of some options of the running command its caller gave, without defaults."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return [name for name in names if context.get_parameter_source(name) is not default]


def jobs(default: int) -> Callable[..., Any]:
    """Return the option --jobs, the number of worker processes."""
    return click.option(
        "--jobs",
        default=default,
        show_default=True,
        type=int,
        callback=_check_jobs,
        help="Worker processes; -1 is one for each processor.",
    )


def _check_jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    if value != -1 and value < 1:
        raise click.BadParameter(f"expected at least 1, or -1 for all processors; got {value}")
    return value
