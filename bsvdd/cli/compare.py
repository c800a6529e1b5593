"""``bsvdd compare``: models on random halves of data sets, as a table and a page."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from . import options
from .errors import check_output_folder, plain_errors
from .progress import progress

REPLICATES, REPLICATES_OF_MANY, MANY_ROWS = 5, 2, 20_000
SUMS_OVER_PAIRS = "KDE"  # the yardstick that scores each row by all training rows


@click.command()
@click.argument("csv", type=options.FILE, required=False)
@click.option("--label", help="Column of the classes in CSV.")
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@options.of_table
@click.option("--data", "names", multiple=True, help="Embedded data set instead; repeatable.")
@click.option("--model", "models", multiple=True, help="Model to compare; repeatable.")
@options.of_model
@click.option(
    "--published",
    is_flag=True,
    help="Each model as its source has it: prior, sampler, decision and cutoff. BSVDD and BSVDD-M "
    "take random-walk Metropolis, minutes a fit; --draws, --tune and --chains hold if given.",
)
@click.option(
    "--replicates",
    default=None,
    show_default=f"{REPLICATES}; {REPLICATES_OF_MANY} for more than {MANY_ROWS:,} rows",
    type=click.IntRange(1),
    help="Random halves, each of which trains once.",
)
@options.sampling
@options.seed
@options.jobs
@click.option(
    "--out",
    default="bsvdd-report",
    show_default=True,
    type=options.FOLDER,
    help="Folder of the report.",
)
def compare(
    csv: Path | None,
    label: str | None,
    minor: str | None,
    table: options.TableOptions,
    names: tuple[str, ...],
    models: tuple[str, ...],
    own: options.ModelOptions,
    published: bool,
    replicates: int | None,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    jobs: int,
    out: Path,
) -> None:
    """Fit and compare the models, on CSV or on embedded real data sets.

    Prints a table and writes a report with pictures, into --out (what is there is replaced).
    """
    of_csv = [f"--{name}" for name in options.given("label", "minor", *vars(table))]
    if csv is not None and label is None:
        raise click.UsageError("CSV needs --label COLUMN, the column of the classes")
    if csv is None and of_csv:
        raise click.UsageError(f"no CSV file is given, which is needed for {' and '.join(of_csv)}")
    if csv is not None and names:
        raise click.UsageError("give either CSV or --data, not both")
    of_source = [options.as_option(name) for name in options.given(*vars(own))]
    if published and of_source:
        raise click.UsageError(
            f"--published has each model as its source has it, without {' and '.join(of_source)}"
        )

    from rich.console import Console

    console, log = Console(), Console(stderr=True)
    with plain_errors(), log.status("loading"):
        import matplotlib

        matplotlib.use("agg")
        from ..comparison import report
        from ..comparison.report import own_data
        from ..comparison.report import table as tables
        from ..comparison.run import runner
        from ..comparison.run.protocol import Candidate, Protocol, as_published
        from ..comparison.run.store import ensure_writable
        from ..comparison.run.workers import Workers
        from ..comparison.scenarios import datasets
        from ..inference.warning import DataWarning, DiagnosticWarning

        parameters = own.for_models(list(models) or runner.DEFAULT_MODELS)
        cutoff = own.cutoff()
        if csv is not None and label is not None:
            check_output_folder(out, csv, ("results.csv", "report.html"))
            layout = table.layout(label)
            options_of_csv = (
                layout.id,
                layout.drop,
                layout.form,
                layout.categories,
                table.missing or "error",
            )
            data = [datasets.from_csv(csv, label, minor, *options_of_csv)]
        else:
            data = [datasets.embedded(name) for name in names or datasets.DEFAULT]
        if replicates is None:  # halves of many rows differ little, and take long
            many = max(len(each.X) for each in data) > MANY_ROWS
            replicates = REPLICATES_OF_MANY if many else REPLICATES
        protocol = Protocol(cutoff=cutoff, draws=draws, tune=tune, chains=chains)
        given = options.given("draws", "tune", "chains")
        chosen = list(models) or runner.DEFAULT_MODELS
        candidates = [Candidate(name, name, parameters[name]) for name in chosen]
        if published:
            candidates = as_published(list(models) or None, given)
        study = runner.comparison(data, None, replicates, protocol, seed, candidates)
        study.check()
        refused = _left_out(study, bool(models))
        study = replace(study, left_out=frozenset(refused))
        ensure_writable(out)
    categories = [] if csv is None else _categories(csv, table.layout(label), data[0])
    for line in [*categories, *_plan(study, refused)]:
        click.echo(line, err=True)

    with plain_errors(), progress(log) as display:
        results = study.run(
            workers=Workers(jobs), on_cell=display.cells("fits", len(study.cells()))
        )
        display.step("pictures")
        with warnings.catch_warnings():
            for category in (DataWarning, DiagnosticWarning):  # of fits that only make a picture
                warnings.simplefilter("ignore", category)
            pictured = as_published(own=given) if published else None
            default = replace(protocol, cutoff=Protocol().cutoff)
            figures = report.pictures(default, seed, pictured)
            figures |= own_data.pictures(data, results, protocol, seed, study.candidates)
        notes = [*categories, *_notes(study, table, refused)]
        page = report.write(out, results, data, protocol, seed, figures, published, notes)

    print_table(console, tables.summary(results), {d.name: d for d in data})
    click.echo(f"report: {page}")


def _left_out(study: Any, chosen: bool) -> dict[tuple[str, str], str]:
    """Return why models are left out, by data set and model; nothing is fitted to know it.

    Raises
    ------
    ValueError
        The user chose these models, or none is left.
    """
    refused: dict[tuple[str, str], str] = study.refusals()
    if not refused:
        return {}
    reasons = "nothing was fitted: " + "; ".join(_grouped(refused))
    if not chosen:
        refused = _slow(study) | refused
    if chosen or not replace(study, left_out=frozenset(refused)).cells():
        raise ValueError(reasons)
    return refused


def _slow(study: Any) -> dict[tuple[str, str], str]:
    """Return the models that could be fitted to all rows, but take long for many."""
    from ..estimators.dictionary import MAX_POINTS
    from ..estimators.registry import YARDSTICKS

    return {
        (each.name, c.name): f"{len(each.data.X) // 2} rows train, and without landmarks more than "
        f"{MAX_POINTS} take long; name the model by --model to fit it all the same"
        for each in study.scenarios
        if len(each.data.X) // 2 > MAX_POINTS
        for c in study.candidates
        if c.model == SUMS_OVER_PAIRS or not (_takes_landmarks(c) or c.model in YARDSTICKS)
    }


def _takes_landmarks(candidate: Any) -> bool:
    from ..estimators.registry import MODELS

    return "dictionary" in MODELS[candidate.model].parameters


def _grouped(refused: dict[tuple[str, str], str]) -> list[str]:
    """Return each reason once, with the models and data sets that it is about."""
    from ..estimators.messages import quoted

    groups: dict[tuple[str, str], list[str]] = {}
    for (data, model), reason in refused.items():
        groups.setdefault((data, reason), []).append(model)
    return [f"{quoted(models)} on {data}: {reason}" for (data, reason), models in groups.items()]


def _plan(study: Any, refused: dict[tuple[str, str], str]) -> list[str]:
    """Return what will be computed, and what will not."""
    models = list(dict.fromkeys(cell.candidate.name for cell in study.cells()))
    sizes = [
        f"{each.name} ({len(each.data.X)} rows, {each.data.X.shape[1]} columns, "
        f"{int(each.data.minority.sum())} minority)"
        for each in study.scenarios
    ]
    lines = [f"data: {', '.join(sizes)}"]
    lines += [f"left out: {reason}" for reason in _grouped(refused)]
    lines += [f"parameters: {text}" for text in _changed(study)]
    lines.append(
        f"plan: {len(study.cells())} fits of {len(models)} models ({', '.join(models)}), "
        f"{study.replicates} for each model and data set; a random half of the rows trains"
    )
    return lines


def _categories(csv: Path, layout: Any, data: Any) -> list[str]:
    """Return which columns are categories, and how they are compared."""
    from ..estimators.messages import columns
    from ..estimators.rows.files import csv_head
    from ..models.kernels import Tabular

    if data.categorical is None:
        return []
    names = [c for c in csv_head(csv, layout.form) if c not in layout.others]
    found = columns([names[i] for i in data.categorical], "is a category", "are categories")
    return [
        f"{found}: kernels.Tabular(rho={Tabular.rho:g}) multiplies the kernel of the other columns "
        f"by {Tabular.rho:g} for each category in which two rows differ"
    ]


def _changed(study: Any) -> list[str]:
    """Return the parameters that are not the defaults, with their models."""
    from ..estimators.messages import quoted

    models: dict[str, list[str]] = {}
    for candidate in study.candidates:
        for name, value in candidate.parameters.items():
            models.setdefault(f"{name}={value!r}", []).append(candidate.name)
    return [f"{parameter} of {quoted(names, 20)}" for parameter, names in models.items()]


def _notes(
    study: Any, table: options.TableOptions, refused: dict[tuple[str, str], str]
) -> list[str]:
    """Return what the report says of columns, parameters and models."""
    from ..estimators.messages import columns

    dropped = [f"{columns(table.drop)} left out"] if table.drop else []
    ids = [f"column {table.id!r} names the rows, and is no feature"] if table.id else []
    return [
        *dropped,
        *ids,
        *_changed(study),
        *(f"not fitted: {reason}" for reason in _grouped(refused)),
    ]


def print_table(console: Any, summary: Any, data: dict[str, Any]) -> None:
    """Print the table of a comparison, one block for each data set."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    narrow = console.width < 8 + 15 * len(summary.columns)  # then the sd goes below the mean

    for name in dict.fromkeys(key[0] for key in summary.index):
        dataset = data[name]
        block = Table(
            title=Text(
                f"{name}: {len(dataset.X)} rows, {dataset.X.shape[1]} columns, base rate "
                f"{dataset.base_rate:.3f}; positive = minority; mean (sd) over splits"
            ),
            title_justify="left",
            box=box.SIMPLE_HEAD,
            padding=(0, 0 if narrow else 1, 0, 0),
        )
        block.add_column("model", no_wrap=True)
        for title in summary.columns:
            block.add_column(title, justify="right", no_wrap=True)
        for model, row in summary.loc[name].iterrows():
            cells = [cell.replace(" (", "\n(") for cell in row] if narrow else row
            block.add_row(model, *cells, style="dim" if model.startswith("flag") else None)
        console.print(block)
