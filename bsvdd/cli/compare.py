"""``bsvdd compare``: models on random halves of data sets, as a table and a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from .. import comparison
from . import options, rows
from .console import (
    console_of_records,
    print_lines,
    progress,
    save_table,
    table_of,
)
from .errors import plain_errors

if TYPE_CHECKING:
    import pandas as pd

    from ..comparison.advice import Advice
    from ..comparison.datasets import Dataset
    from ..comparison.runner import Study
    from ..tables.files import Layout

REPLICATES = 5
REPLICATES_OF_MANY = 2
MANY_ROWS = 20_000


@click.command("compare")
@click.argument("csv", type=options.FILE, required=False)
@click.option("--label", help="Column of the classes in CSV.")
@options.minor
@options.of_table
@rows.known
@click.option(
    "--data", "names", multiple=True, help="Embedded data set instead; repeatable."
)
@click.option("--model", "models", multiple=True, help="Model to compare; repeatable.")
@options.of_models
@click.option(
    "--replicates",
    show_default=f"{REPLICATES}; {REPLICATES_OF_MANY} for more than {MANY_ROWS:,} rows",
    type=click.IntRange(1),
    help="Random halves, each of which trains once.",
)
@options.of_sampler
@options.seed
@options.jobs
@options.folder(
    default="bsvdd-report", help="Folder of the page, the table and the finished fits."
)
@plain_errors()
def compare_command(
    csv: Path | None,
    label: str | None,
    minor: str | None,
    table: Layout,
    known: rows.RowOptions,
    names: tuple[str, ...],
    models: tuple[str, ...],
    own: list[options.ModelOptions],
    replicates: int | None,
    sampling: options.Parameters,
    seed: int,
    jobs: int,
    out: Path,
) -> None:
    """Say which model to take for CSV, or for embedded real data sets.

    Models train on random halves and are measured on the other halves, by the classes
    of --label.

    Prints a table and writes results.csv and report.html into --out (what is there is
    replaced). Each finished fit is stored in --out; a comparison that was stopped
    prints the table of what is done, and goes on from there with the same command.
    """
    _require_rows(csv, label, names)
    log = Console(stderr=True)
    with log.status("loading"):
        data = _data(csv, names, replace(table, label=label), minor, known, out)
        asked = {"table": table.table} if table.cyclic or table.missing else {}
        compared = _models(models or comparison.models.NAMES, own, sampling | asked)
        halves = [comparison.datasets.Halves(each) for each in data]
        # halves of many rows differ little
        many = max(len(each.X) for each in data) > MANY_ROWS
        replicates = replicates or (REPLICATES_OF_MANY if many else REPLICATES)
        study = comparison.runner.Study(halves, compared, replicates, seed)
        total = len(study.cells())
    lines = _plan(data, study, table)
    print_lines(log, [f"{total} fits: {lines[0]}", *lines[1:]])
    results, stopped = _results(study, out, jobs, log)
    cutoff: Any = own[0].cutoff().get("cutoff")
    found = [comparison.advice.Advice.of(each, results, cutoff) for each in data]
    _print(found)
    saved = out / "results.csv"
    save_table(saved, results, said="")
    if stopped is not None:
        n = f"{len(results)} of {total} fits"
        click.echo(f"stopped after {n}, saved {saved}; the same command goes on")
        raise stopped
    comparison.advice.write_page(out / "report.html", found, lines)
    click.echo(f"report: {out / 'report.html'}; saved {saved}")
    click.echo(_next(csv, found[0], study, sampling))


def _require_rows(csv: Path | None, label: str | None, names: tuple[str, ...]) -> None:
    """Raise a usage error if the rows are not named in one way."""
    given = options.given_options("label", "minor", *options.TABLE, *rows.OF_ROWS)
    if csv is None and given:
        of_csv = " and ".join(map(options.as_option, given))
        raise click.UsageError(f"no CSV file is given, which is needed for {of_csv}")
    if csv is not None and names:
        raise click.UsageError("give either CSV or --data, not both")
    if csv is not None and label is None:
        raise click.UsageError(
            f"{csv} needs --label COLUMN, the column of the classes; which rows of a "
            "table without classes are odd, bsvdd outliers says"
        )


def _data(
    csv: Path | None,
    names: tuple[str, ...],
    layout: Layout,
    minor: str | None,
    known: rows.RowOptions,
    out: Path,
) -> list[Dataset]:
    """Return the data set in CSV, or the embedded ones; no file of ``out`` is CSV."""
    datasets = comparison.datasets
    if csv is None:
        return [datasets.embedded(name) for name in names or datasets.DEFAULT]
    for path in (out / "results.csv", out / "report.html"):
        if path.exists() and path.samefile(csv):
            raise ValueError(
                f"--out {out}: its {path.name} would replace the file that is read; "
                "name another folder"
            )
    data = datasets.read_dataset(csv, layout, minor)
    X, of_rows = known.taken(data.X)
    return [replace(data, X=X, of_rows=of_rows)]


def _models(
    names: Sequence[str], own: list[options.ModelOptions], sampling: options.Parameters
) -> dict[str, Any]:
    """Return the models by name; a model with a prior is there once for each prior."""
    parameters = [each.parameters(names) | each.cutoff() for each in own]
    found = {}
    for name in names:
        for each, given in zip(own, parameters, strict=True):
            est = comparison.models.model(name, **sampling, **given)
            of_prior = len(own) > 1 and "prior" in est.get_params(deep=False)
            found[f"{name}, {each.prior}" if of_prior else name] = est
    return found


def _plan(data: list[Dataset], study: Study, table: Layout) -> list[str]:
    """Return lines on the models, the rows, and the columns that are no feature."""
    one = data[0]
    size = f"{len(one.X)} rows, {one.X.shape[1]} columns, {one.minority.sum()} minority"
    of_one = f" ({size})" * (len(data) == 1)  # the titles have those of several
    names = f"{', '.join(each.name for each in data)}{of_one}"
    left = [f"left out: {', '.join(map(repr, table.drop))}"] if table.drop else []
    left += [f"{table.id!r} names the rows, and is no feature"] if table.id else []
    halves = "random halves" if study.replicates > 1 else "random half"
    if "groups" in data[0].of_rows:
        left.append("groups stay whole")
    if "sample_weight" in data[0].of_rows:
        none = int((~data[0].counts).sum())
        left.append(f"rows count by their weights; {none} of weight 0 measure nothing")
    return [
        f"{len(study.models)} models on {names}, {study.replicates} {halves} each",
        *left,
    ]


def _results(
    study: Study, out: Path, jobs: int, log: Console
) -> tuple[pd.DataFrame, BaseException | None]:
    """Return the results, and the error that stopped the run, or None."""
    from joblib.externals.loky.process_executor import TerminatedWorkerError

    stopped: BaseException
    with progress("compare", "fits", len(study.cells()), log) as cells:
        try:
            return study.run(out / "cells", jobs, cells), None
        except (KeyboardInterrupt, OSError) as error:
            stopped = error
        except TerminatedWorkerError:
            stopped = ValueError(
                "a worker process ended: most often the memory was full; use fewer "
                "--jobs or leave a model out"
            )
    if not cells.rows:
        raise stopped
    return comparison.runner.frame(cells.rows), stopped


def _print(found: list[Advice]) -> None:
    """Print the best models of all data sets as one table, and sentences on each."""
    console = console_of_records()
    of_all = set(found[0].said).intersection(*(each.said for each in found[1:]))
    once = [said for said in found[0].said if said in of_all and len(found) > 1]
    shown: list[list[str]] = []
    sentences = []
    for each in found:
        blocks = each.blocks
        name = f"{each.data.name}, " * (len(found) > 1)
        for title, block in blocks.items():
            shown += [[name + title]] * bool(name or len(blocks) > 1) + block
        more = len(each.rows) - sum(map(len, blocks.values()))
        said = [f"{each.title}.", *(said for said in each.said if said not in once)]
        said += [f"{more} more are in the report."] * bool(more)
        sentences.append(" ".join(said))
    if shown:
        is_title = [len(cells) == 1 for cells in shown]
        console.print(table_of(found[0].heads, shown, is_title, min_width=16))
    legend = " ".join([*once, comparison.table.LEGEND])
    print_lines(console, [*sentences, "", legend, comparison.advice.UNADJUSTED])


def _next(
    csv: Path | None, found: Advice, study: Study, sampling: options.Parameters
) -> str:
    """Return a sentence on the next command: a fit of the best description."""
    from ..estimators.description import Description

    order = found.found.index.map(str)
    names = [name for name in order if isinstance(study.models[name], Description)]
    if csv is None or not names:
        return (
            "next, your own table: bsvdd outliers TABLE.csv; with labels: "
            "bsvdd compare TABLE.csv --label COLUMN --minor VALUE"
        )
    model, _, prior = names[0].partition(", ")
    own = study.models[names[0]].get_params(deep=False)
    given = click.get_current_context().params
    priors = [prior] if prior else [each for each in given["prior"] if "prior" in own]
    kept = [name for name in ("dictionary", "minority_prior", *sampling) if name in own]
    kept = ["label", "minor", *options.TABLE, *rows.OF_ROWS, *kept, "false_alarm_rate"]
    command = options.next_command("fit", csv, kept, model=[model], prior=priors)
    is_best = names[0] == order[0]
    why = "" if is_best else f" (the best that it can fit is {model})"
    return f"next, for new rows{why}: {command}; bsvdd score model.safetensors NEW.csv"
