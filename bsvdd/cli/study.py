"""``bsvdd study``: the comparative studies; a stopped run goes on."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click
from rich.console import Console

from .. import comparison
from ..base.atomic import write
from . import options
from .console import progress, save_table
from .errors import plain_errors


@click.command()
@click.argument("name", type=click.Choice(["slides", "settings", "real"]))
@click.option("--data", "sets", multiple=True, help="Embedded set of real; repeatable.")
@click.option(
    "--quick", is_flag=True, help="Fewer settings, models and replicates: minutes."
)
@options.seed
@options.jobs
@options.folder(
    help="Folder of the finished cells and the tables.  [default: bsvdd-study-NAME]"
)
@plain_errors()
def study(
    name: str,
    sets: tuple[str, ...],
    quick: bool,
    seed: int,
    jobs: int,
    out: Path | None,
) -> None:
    """Run a comparative study.

    slides has the published table beside ours: four models, v = 5, 10, 20, 10 pairs of
    data sets. settings varies rows, features, imbalance, boundary and tails of
    generated data. real takes the 13 embedded data sets.

    Each finished cell is stored in --out; a study that was stopped goes on from there,
    with the same command.
    """
    if sets and name != "real":
        raise click.UsageError(f"--data is for real, and {name} has generated data")
    studies = comparison.studies
    real = partial(studies.real, sets)
    named = {"slides": studies.slides, "settings": studies.settings, "real": real}
    chosen = named[name](quick, seed)
    out = out or Path(f"bsvdd-study-{name}")
    log = Console(stderr=True)
    with progress("study", name, len(chosen.cells()), log) as on_cell:
        results = chosen.run(out / "cells", jobs, on_cell)
    text = f"{comparison.table.LEGEND}\n\n" + "\n\n".join(
        f"{title}\n\n{table.to_string(float_format='{:.3f}'.format, na_rep='-')}"
        for title, table in studies.tables(chosen, results).items()
    )
    text = "\n".join([f"{text}\n", *studies.failures_and_warnings(results)])
    click.echo(text)
    save_table(out / "results.csv", results)
    write(out / "table.txt", f"{text}\n".encode())
    click.echo(f"saved {out / 'table.txt'}")
