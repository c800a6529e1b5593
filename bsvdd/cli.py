"""The command line: ``bsvdd compare``, ``fit``, ``score``, ``models``, ``data``, ``study``."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

import click

from .cli_study import follow, plain_errors, progress, study
from .cli_study import jobs as number_of_jobs

# Heavy imports stand inside the commands, so that --help and errors of usage are quick.

CSV = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bsvdd")
def main() -> None:
    """Bayesian support vector data description."""


main.add_command(study)


def check_out(out: Path, *inputs: Path) -> None:
    """Refuse a file to write that is one to read, or lies in no folder."""
    if not out.parent.is_dir():
        raise ValueError(f"--out {out}: there is no folder {out.parent}")
    for each in inputs:
        if out.exists() and out.samefile(each):
            raise ValueError(f"--out {out} would replace {each}, which is read; name another file")


@main.command()
@click.argument("csv", type=CSV, required=False)
@click.option("--label", help="Column of the classes in CSV.")
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@click.option("--data", "names", multiple=True, help="Embedded data set instead; repeatable.")
@click.option("--model", "models", multiple=True, help="Model to compare; repeatable.")
@click.option("--replicates", default=5, show_default=True, type=click.IntRange(1))
@click.option("--draws", default=1000, show_default=True, type=click.IntRange(4))
@click.option("--tune", default=500, show_default=True, type=click.IntRange(1))
@click.option("--chains", default=2, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
@click.option(
    "--jobs",
    default=1,
    show_default=True,
    type=int,
    callback=number_of_jobs,
    help="Worker processes; -1 is one for each processor.",
)
@click.option(
    "--out",
    default="bsvdd-report",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the report.",
)
def compare(
    csv: Path | None,
    label: str | None,
    minor: str | None,
    names: tuple[str, ...],
    models: tuple[str, ...],
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
        from bsvdd.comparison import datasets, report, runner, store, table
        from bsvdd.comparison.protocol import Protocol
        from bsvdd.comparison.workers import Workers
        from bsvdd.inference.warning import DataWarning, DiagnosticWarning

        if csv is not None and label is not None:
            data = [datasets.from_csv(csv, label, minor)]
        else:
            data = [datasets.embedded(name) for name in names or datasets.DEFAULT]
        protocol = Protocol(draws=draws, tune=tune, chains=chains)
        chosen = runner.comparison(data, list(models) or None, replicates, protocol, seed)
        chosen.check()
        store.usable(out)

    with plain_errors(), progress(console) as bar:
        told = follow(bar, "fits", len(chosen.cells()))
        results = chosen.run(workers=Workers(jobs), on_cell=told)
        pictures = bar.add_task("pictures", total=None, failed=0)
        with warnings.catch_warnings():
            for category in (DataWarning, DiagnosticWarning):  # of fits that only make a picture
                warnings.simplefilter("ignore", category)
            figures = report.pictures(protocol, seed)
        page = report.write(out, results, data, protocol, seed, figures)
        bar.update(pictures, total=1, completed=1)

    print_table(console, table.summary(results), {d.name: d for d in data})
    console.print(f"report: {page}", soft_wrap=True, highlight=False)


def print_table(console: Any, summary: Any, data: dict[str, Any]) -> None:
    """Print the table of a comparison, a block a data set."""
    from rich import box
    from rich.table import Table

    narrow = console.width < 8 + 15 * len(summary.columns)  # then the sd goes below the mean

    for name in dict.fromkeys(key[0] for key in summary.index):
        each = data[name]
        block = Table(
            title=f"{name}: {len(each.X)} rows, {each.X.shape[1]} columns, base rate "
            f"{each.base_rate:.3f}; positive = minority; mean (sd) over splits",
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


@main.command()
def models() -> None:
    """List the models: what each learns from, its parameters, and where it comes from."""
    from rich.console import Console
    from rich.table import Table

    from bsvdd.models.registry import REGISTRY

    console = Console()
    with console.status("loading the models"):
        parameters = {name: list(record.parameters) for name, record in REGISTRY.items()}
    shared = [p for p in parameters["SVDD"] if all(p in own for own in parameters.values())]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("model", "class", "learns from", "posterior", "parameters", "reference"):
        table.add_column(title, overflow="fold")
    for record in REGISTRY.values():
        reference = f"{record.reference} ({record.year})" + (
            f", doi:{record.doi}" if record.doi else ""
        )
        table.add_row(
            record.name,
            record.class_name,
            ", ".join(record.learns_from),
            "yes" if record.bayesian else "no",
            ", ".join(p for p in parameters[record.name] if p not in shared),
            reference,
        )
    console.print(table)
    console.print(f"parameters of all models: {', '.join(shared)}")


@main.command()
def data() -> None:
    """List the embedded data sets: size, share of the minority, source, licence."""
    from rich.console import Console
    from rich.table import Table

    from bsvdd.comparison import datasets

    console = Console()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("name", "n", "p", "base rate", "conversion", "source", "licence"):
        right = title in ("n", "p", "base rate")
        table.add_column(title, overflow="fold", justify="right" if right else "left")
    for name, source in datasets.sources().items():
        each = datasets.embedded(name)
        n, p = each.X.shape
        table.add_row(
            name,
            str(n),
            str(p),
            f"{each.base_rate:.3f}",
            source.conversion,
            f"{source.origin}; {source.url}",
            source.licence,
        )
    console.print(table)


@main.command()
@click.argument("csv", type=CSV)
@click.option("--label", help="Column of the classes; without it all rows are majority.")
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@click.option("--model", default="BSVDD", show_default=True)
@click.option("--draws", default=1000, show_default=True, type=click.IntRange(4))
@click.option("--tune", default=500, show_default=True, type=click.IntRange(1))
@click.option("--chains", default=2, show_default=True, type=click.IntRange(1))
@click.option("--seed", default=0, show_default=True, type=click.IntRange(0))
@click.option(
    "--out",
    default="model.nc",
    show_default=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="File of the fitted model.",
)
def fit(
    csv: Path,
    label: str | None,
    minor: str | None,
    model: str,
    draws: int,
    tune: int,
    chains: int,
    seed: int,
    out: Path,
) -> None:
    """Fit MODEL to the rows of CSV (columns standardised) and save it."""
    if label is None and minor is not None:
        raise click.UsageError("--minor is about a column; give --label COLUMN too")
    with plain_errors():
        from bsvdd.comparison import datasets
        from bsvdd.comparison.protocol import Protocol

        check_out(out, csv)
        table = datasets.read_table(csv)
        if label is None:
            X, y = datasets.features(table), None
        else:
            X, minority = datasets.split_label(table, label, minor)
            y = minority.astype(int)
        est = Protocol(draws=draws, tune=tune, chains=chains).estimator(model, seed)
        if "progressbar" in est.get_params():
            est.set_params(progressbar=sys.stderr.isatty())
        est.fit(X, y)
        est.save(out)
    n1 = 0 if y is None else int(y.sum())
    doubt = "" if n1 <= len(X) / 2 else ", which is not the rarer class"
    columns = ", ".join(X.columns[:8]) + (", ..." if X.shape[1] > 8 else "")
    click.echo(f"{len(X) - n1} majority and {n1} minority rows{doubt}; columns {columns}")
    click.echo(f"{est.kernel_}")
    click.echo(f"cutoff {est.cutoff_:.6g}; saved {out}")


@main.command()
@click.argument("model", type=CSV)
@click.argument("csv", type=CSV)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="CSV of the result; standard output when left out.",
)
def score(model: Path, csv: Path, out: Path | None) -> None:
    """Score the rows of CSV by a saved MODEL: P(normal), distance, decision."""
    with plain_errors():
        from bsvdd.comparison import datasets
        from bsvdd.inference.files import atomic
        from bsvdd.inference.storage import load

        if out is not None:
            check_out(out, model, csv)
        est = load(model)
        named = getattr(est, "feature_names_in_", None)
        columns = None if named is None else list(named)
        X = datasets.features(datasets.read_table(csv), columns)
        result = est.decision(X)
        if out is None:
            result.to_csv(sys.stdout, index=False)
        else:
            with atomic(out) as temporary:
                result.to_csv(temporary, index=False)
            click.echo(
                f"{len(result)} rows scored, {int((~result['normal']).sum())} abnormal: {out}"
            )
