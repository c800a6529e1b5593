"""``bsvdd fit``: fits a model to a CSV file and saves it."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from . import options
from .errors import check_output, plain_errors


@click.command()
@click.argument("csv", type=options.FILE)
@click.option("--label", help="Column of the classes; without it all rows are majority.")
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@click.option("--model", default="BSVDD", show_default=True)
@options.sampling
@options.seed
@click.option(
    "--out",
    default="model.nc",
    show_default=True,
    type=options.NEW_FILE,
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
        from ..comparison.run.protocol import Protocol
        from ..comparison.scenarios import datasets

        check_output(out, csv)
        table = datasets.read_table(csv, label)
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
