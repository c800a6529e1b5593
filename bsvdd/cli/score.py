"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from . import options
from .errors import check_output, plain_errors

# those of estimators.p_values, which takes long to import
METHODS = ["left-out", "jackknife+", "cross", "full", "split"]


@click.command()
@click.argument("model", type=options.FILE)
@click.argument("csv", type=options.FILE)
@click.option(
    "--out",
    type=options.NEW_FILE,
    help="CSV of the result; standard output when left out.",
)
@click.option(
    "--fdr",
    type=float,
    help="Also mark the rows to call abnormal at this false discovery rate, in a column selected.",
)
@click.option(
    "--p-value",
    "method",
    type=click.Choice(METHODS),
    default="left-out",
    show_default=True,
    help="Method of the p-values; split has the strictest guarantee, and refits the model.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Also write the three most important columns of each abnormal row, with their shares.",
)
def score(
    model: Path, csv: Path, out: Path | None, fdr: float | None, method: str, explain: bool
) -> None:
    """Score the rows of CSV by a saved MODEL: P(normal), distance, decision, p-value.

    The p-value is that of "this row is normal". With --fdr the rows are decided as one batch.
    """
    with plain_errors():
        from ..comparison.scenarios import datasets
        from ..estimators.storage.atomic import atomic
        from ..estimators.storage.loading import load
        from ..inference.conformal import check_rate, discoveries

        if out is not None:
            check_output(out, model, csv)
        est = load(model)
        names = getattr(est, "feature_names_in_", None)
        columns = None if names is None else list(names)
        X = datasets.features(datasets.read_table(csv), columns)
        if fdr is not None:
            check_rate("fdr", fdr)
        result = est.decision(X)
        result["p_value"] = est.p_value(X, method)
        if fdr is not None:
            result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
        if explain:
            important = est.explain(X, changes=False).top_columns()
            result = result.join(important.where(~result["normal"]))
        if out is None:
            result.to_csv(sys.stdout, index=False)
        else:
            with atomic(out) as temporary:
                result.to_csv(temporary, index=False)
            selected = "" if fdr is None else f", {int(result['selected'].sum())} selected"
            click.echo(
                f"{len(result)} rows scored, {int((~result['normal']).sum())} abnormal{selected}: "
                f"{out}"
            )
