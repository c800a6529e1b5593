"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from . import options
from .errors import check_output, plain_errors


@click.command()
@click.argument("model", type=options.FILE)
@click.argument("csv", type=options.FILE)
@click.option(
    "--out",
    type=options.NEW_FILE,
    help="CSV of the result; standard output when left out.",
)
def score(model: Path, csv: Path, out: Path | None) -> None:
    """Score the rows of CSV by a saved MODEL: P(normal), distance, decision."""
    with plain_errors():
        from ..comparison.scenarios import datasets
        from ..estimators.storage.atomic import atomic
        from ..estimators.storage.loading import load

        if out is not None:
            check_output(out, model, csv)
        est = load(model)
        names = getattr(est, "feature_names_in_", None)
        columns = None if names is None else list(names)
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
