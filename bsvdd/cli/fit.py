"""``bsvdd fit``: fits a model to a CSV file and saves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..estimators import messages, rows
from ..inference.warning import DataWarning, warn
from . import options
from .console import time_so_far
from .errors import check_outputs, plain_errors

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..estimators.description import Description
    from ..estimators.rows.files import Layout


@click.command()
@click.argument("csv", type=options.FILE)
@click.option(
    "--label",
    help="Column of the classes; without it all rows are majority.",
)
@click.option("--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1).")
@options.of_table
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
        if label is None and (two := [c for c in X if X[c].nunique() == 2]):
            warn(
                f"{messages.listed(two, 'has', 'have')} two values, and no label is named: all "
                "rows count as majority, and the column as a feature; if it is the class, give "
                f"--label {str(two[0])!r} --minor VALUE",
                DataWarning,
            )
        fit_in_time(est, X, y)
        est.save(out)
    from ..estimators.questions import facts  # a fit needs no sentences

    n1 = 0 if y is None else int((y == 1).sum())
    n0 = len(X) if y is None else int((y == 0).sum())
    doubt = "" if n1 <= n0 else " (the minority is the larger class: check --minor)"
    text = [X.columns[i] for i in est.kernel_.categorical_columns]
    others = {"categories": messages.quoted(text) or None, "label": label, "id": table.id}
    others["dropped"] = messages.quoted(table.drop) or None
    click.echo(
        f"{n0} majority and {n1} minority rows{doubt}; {messages.listed(X.columns)}"
        + "".join(f"; {what} {name}" for what, name in others.items() if name is not None)
    )
    click.echo(f"{est.kernel_}\n{facts.decided(facts.facts(est))}\nsaved {out}")
    if report is not None:
        with plain_errors():
            import matplotlib

            matplotlib.use("agg")
            from ..estimators.report.report import report as write_report

            write_report(est, report)
        click.echo(f"report: {report}")


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
    X, y = rows.tables.read_features(csv, layout, minor)
    if y is not None and y.dtype == bool:
        y = y.astype(int)
    est = own.estimator(parameters)
    if not hasattr(est, "save"):
        raise ValueError(
            f"--model {own.model}: a separating machine has no draws and no cutoff, and cannot be "
            "saved; use a description such as BSVDD, or the class in Python"
        )
    return est, X, y


def fit_in_time(est: Description, X: pd.DataFrame, y: np.ndarray | None) -> None:
    """Fit an estimator, and say on stderr what it does."""
    with time_so_far(f"fit of {type(est).__name__}"):
        est.fit(X, y)
