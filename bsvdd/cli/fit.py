"""``bsvdd fit``: fits a model to a CSV file and saves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..estimators import messages, tables
from ..inference.warning import DataWarning, warn
from . import options, rows
from .console import time_so_far
from .errors import check_outputs, plain_errors

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..estimators.description import Description
    from ..estimators.tables.files import Layout


@click.command()
@click.argument("csv", type=options.FILE)
@click.option(
    "--label",
    help="Column of the classes; without it all rows are majority.",
)
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@options.of_table
@rows.known
@options.of_fit
@click.option(
    "--out",
    default="model.safetensors",
    show_default=True,
    type=options.NEW_FILE,
    help="File of the fitted model.",
)
@click.option(
    "--report",
    type=options.NEW_FILE,
    help="Also write a report of the fitted model, one HTML file.",
)
def fit(
    csv: Path,
    label: str | None,
    minor: str | None,
    table: options.TableOptions,
    known: rows.RowOptions,
    own: options.FitOptions,
    out: Path,
    report: Path | None,
) -> None:
    """Fit MODEL to the rows of CSV and save it."""
    if label is None and minor is not None:
        raise click.UsageError("--minor is about a column; give --label COLUMN too")
    with plain_errors():
        check_outputs({"--out": out, "--report": report}, csv)
        est, X, y = prepared(csv, table.layout(label), minor, own)
        X, of_rows = known.taken(X)
        if label is None and (two := [c for c in X if X[c].nunique() == 2]):
            warn(
                f"{messages.listed(two, 'has', 'have')} two values, and no label is named: all "
                "rows count as majority, and the column as a feature; if it is the class, give "
                f"--label {str(two[0])!r} --minor VALUE",
                DataWarning,
            )
        fit_in_time(est, X, y, **of_rows)
        est.save(out)
    from ..estimators.questions import facts  # a fit needs no sentences

    found = facts.facts(est)
    read = "; ".join([_read(est, X, y, table.layout(label)), *known.said])
    about = [read, *([facts.job(found)] if of_rows else [])]
    click.echo("\n".join([*about, found["kernel"], facts.decided(found), f"saved {out}"]))
    if report is not None:
        with plain_errors():
            import matplotlib

            matplotlib.use("agg")
            from ..estimators.report import report as write_report

            write_report(est, report)
        click.echo(f"report: {report}")


def _read(est: Description, X: pd.DataFrame, y: np.ndarray | None, layout: Layout) -> str:
    """Return what was read of a file: rows, columns, and what is no feature."""
    rows = f"{len(X)} rows"
    if y is not None:
        n0, n1 = int((y == 0).sum()), int((y == 1).sum())
        doubt = "" if n1 <= n0 else " (the minority is the larger class: check --minor)"
        rows = f"{n0} majority and {n1} minority rows{doubt}"
    text = messages.quoted(X.columns[i] for i in est.kernel_.categorical_columns)
    others = {"categories": text, "label": layout.label, "id": layout.id}
    others["dropped"] = messages.quoted(layout.drop)
    parts = [f"{what} {name}" for what, name in others.items() if name]
    return "; ".join([rows, messages.listed(X.columns), *parts])


def prepared(
    csv: Path,
    layout: Layout,
    minor: str | None,
    own: options.FitOptions,
) -> tuple[Description, pd.DataFrame, np.ndarray | None]:
    """Return an estimator, and the rows and labels of CSV that it is to be fitted to.

    The labels are 1 for the minority and 0 for the majority.
    """
    parameters = own.own_parameters()
    X, y = tables.files.read_features(csv, layout, minor)
    if y is not None and y.dtype == bool:
        y = y.astype(int)
    table = layout.table
    asked = table if table.cyclic or table.missing else None
    est = own.estimator(parameters).set_params(table=asked)
    if not hasattr(est, "save"):
        raise ValueError(
            f"--model {own.model}: a separating machine has no draws and no cutoff, and cannot be "
            "saved; use a description such as BSVDD, or the class in Python"
        )
    return est, X, y


def fit_in_time(est: Description, X: pd.DataFrame, y: np.ndarray | None, **of_rows: Any) -> None:
    """Fit an estimator, and say on stderr what it does."""
    with time_so_far(f"fit of {type(est).__name__}"):
        est.fit(X, y, **of_rows)
