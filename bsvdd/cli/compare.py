"""``bsvdd compare``: models on random halves of data sets, as a table and a page."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import click

from . import options
from .errors import check_output_folder, plain_errors
from .progress import progress_bar, show_cells


@click.command()
@click.argument("csv", type=options.FILE, required=False)
@click.option("--label", help="Column of the classes in CSV.")
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@click.option("--data", "names", multiple=True, help="Embedded data set instead; repeatable.")
@click.option("--model", "models", multiple=True, help="Model to compare; repeatable.")
@click.option(
    "--published",
    is_flag=True,
    help="Each model as its source has it: prior, sampler, decision and cutoff. BSVDD and BSVDD-M "
    "take random-walk Metropolis, minutes a fit; --draws, --tune and --chains hold if given.",
)
@click.option("--replicates", default=5, show_default=True, type=click.IntRange(1))
@options.sampling
@options.seed
@options.jobs(default=1)
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
    names: tuple[str, ...],
    models: tuple[str, ...],
    published: bool,
    replicates: int,
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
    if csv is not None and label is None:
        raise click.UsageError("CSV needs --label COLUMN, the column of the classes")
    if csv is None and (label is not None or minor is not None):
        raise click.UsageError("--label and --minor are about a CSV file, but none is given")
    if csv is not None and names:
        raise click.UsageError("give either CSV or --data, not both")

    from rich.console import Console

    console = Console()
    with plain_errors(), console.status("loading"):
        import matplotlib

        matplotlib.use("agg")
        from ..comparison import report
        from ..comparison.report import table
        from ..comparison.run import runner
        from ..comparison.run.protocol import Protocol, as_published
        from ..comparison.run.store import ensure_writable
        from ..comparison.run.workers import Workers
        from ..comparison.scenarios import datasets
        from ..inference.warning import DataWarning, DiagnosticWarning

        if csv is not None and label is not None:
            check_output_folder(out, csv, ("results.csv", "report.html"))
            data = [datasets.from_csv(csv, label, minor)]
        else:
            data = [datasets.embedded(name) for name in names or datasets.DEFAULT]
        protocol = Protocol(draws=draws, tune=tune, chains=chains)
        chosen = list(models) or None
        own = options.given("draws", "tune", "chains")
        candidates = as_published(chosen, own) if published else None
        study = runner.comparison(data, chosen, replicates, protocol, seed, candidates)
        study.check()
        ensure_writable(out)

    with plain_errors(), progress_bar(console) as bar:
        on_cell = show_cells(bar, "fits", len(study.cells()))
        results = study.run(workers=Workers(jobs), on_cell=on_cell)
        pictures = bar.add_task("pictures", total=None, failed=0)
        with warnings.catch_warnings():
            for category in (DataWarning, DiagnosticWarning):  # of fits that only make a picture
                warnings.simplefilter("ignore", category)
            pictured = as_published(own=own) if published else None
            figures = report.pictures(protocol, seed, pictured)
        page = report.write(out, results, data, protocol, seed, figures, published)
        bar.update(pictures, total=1, completed=1)

    print_table(console, table.summary(results), {d.name: d for d in data})
    console.print(f"report: {page}", soft_wrap=True, highlight=False)


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
            padding=(0, 1, 0, 0),
        )
        block.add_column("model", no_wrap=True)
        for title in summary.columns:
            block.add_column(title, justify="right", no_wrap=True)
        for model, row in summary.loc[name].iterrows():
            cells = [cell.replace(" (", "\n(") for cell in row] if narrow else row
            block.add_row(model, *cells, style="dim" if model.startswith("flag") else None)
        console.print(block)
