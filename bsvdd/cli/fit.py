"""``bsvdd fit``: fits a model to a CSV file and saves it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import tables
from ..base import messages
from ..base.warning import DataWarning, warn
from . import options, rows
from .console import HEARTBEAT, waiting
from .errors import check_outputs, plain_errors

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..estimators.description import Description
    from ..tables.files import Layout


@click.command("fit")
@click.argument("csv", type=options.FILE)
@click.option(
    "--label", help="Column of the classes; without it all rows are majority."
)
@options.minor
@options.of_table
@rows.known
@rows.keep
@click.option(
    "--group-centres",
    is_flag=True,
    help=(
        "Each group has its own centre, shrunk to that of all: a row of a known group "
        "is normal if it is so for this group."
    ),
)
@options.of_fit
@options.new_file(
    "--out", default="model.safetensors", help="File of the fitted model."
)
@options.new_file(
    "--report", help="Also write a report of the fitted model, one HTML file."
)
@plain_errors()
def fit_command(
    csv: Path,
    label: str | None,
    minor: str | None,
    table: Layout,
    known: rows.RowOptions,
    keep: tuple[str, ...],
    group_centres: bool,
    own: options.FitOptions,
    out: Path,
    report: Path | None,
) -> None:
    """Fit MODEL to the rows of CSV and save it."""
    if label is None and minor is not None:
        raise click.UsageError("--minor is about a column; give --label COLUMN too")
    check_outputs({"--out": out, "--report": report}, csv)
    layout = replace(table, label=label)
    est, X, y = model_and_rows(csv, layout, minor, own)
    whole = X
    X, of_rows = known.taken(X)
    X, _ = rows.features(X, keep, est.table, of_rows.get("groups"))
    if label is None:
        _warn_of_labels(X)
    if group_centres:
        X, of_rows = _with_groups(est, X, whole, known, of_rows)
    with waiting(f"fit of {type(est).__name__}", HEARTBEAT):
        est.fit(X, y, **of_rows)
    est.save(out)
    from ..estimators import facts, sentences  # a fit needs no sentences

    found = facts.facts(est)
    read = "; ".join([_read(est, X, y, layout), *known.said])
    about = [read, *([sentences.job(found)] if of_rows else [])]
    click.echo(
        "\n".join([*about, found.kernel, sentences.cutoff_text(found), f"saved {out}"])
    )
    if report is not None:
        import matplotlib

        matplotlib.use("agg")
        from ..plots.report import report as write_report

        write_report(est, report)
        click.echo(f"report: {report}")


def _warn_of_labels(X: pd.DataFrame) -> None:
    """Warn of columns of two values, which may be the label."""
    if two := [c for c in X if X[c].nunique() == 2]:
        warn(
            f"{messages.listed(two, 'has', 'have')} two values, and no label is named: "
            "all rows count as majority, and the column as a feature; if it is the "
            f"class, give --label {str(two[0])!r} --minor VALUE",
            DataWarning,
        )


def _with_groups(
    est: Description,
    X: pd.DataFrame,
    whole: pd.DataFrame,
    known: rows.RowOptions,
    of_rows: dict[str, Any],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return features with the column of groups, by whose name the model finds it."""
    if not known.group:
        raise click.UsageError(
            "--group-centres is about groups; give --group COLUMN too"
        )
    if "group_centres" not in est.get_params():
        raise ValueError(
            f"--group-centres: {type(est).__name__} has one centre, without draws; "
            "use --model BSVDD"
        )
    est.set_params(group_centres=True)
    (name,) = known.group
    return X.assign(**{name: whole[name]}), of_rows | {"groups": name}


def _read(
    est: Description, X: pd.DataFrame, y: np.ndarray | None, layout: Layout
) -> str:
    """Return a sentence on a file: its rows, features, and other columns."""
    rows = f"{len(X)} rows"
    if y is not None:
        n0 = int((y == 0).sum())
        n1 = int((y == 1).sum())
        doubt = "" if n1 <= n0 else " (the minority is the larger class: check --minor)"
        rows = f"{n0} majority and {n1} minority rows{doubt}"
    table = est.table_.table
    text = messages.quoted(table.labels[i] for i in table.categorical)
    others = {
        "categories": text,
        "label": layout.label,
        "id": layout.id,
        "dropped": messages.quoted(layout.drop),
    }
    parts = [f"{what} {name}" for what, name in others.items() if name]
    return "; ".join([rows, messages.listed(table.labels), *parts])


def model_and_rows(
    csv: Path, layout: Layout, minor: str | None, own: options.FitOptions
) -> tuple[Description, pd.DataFrame, np.ndarray | None]:
    """Return an unfitted estimator, and the rows and labels of a file for its fit.

    Parameters
    ----------
    csv : pathlib.Path
    layout : Layout
    minor : str or None
        Value of the minority; not needed for 0/1 and -1/+1.
    own : FitOptions

    Returns
    -------
    est : Description
    X : pandas.DataFrame of shape (n, p)
    y : ndarray of int, shape (n,)
        1 for the minority, 0 for the majority; None without a label.

    Raises
    ------
    ValueError
        The model has no draws and no cutoff, or the file cannot be read.
    """
    from ..estimators.description import Description

    est = own.estimator()
    if not isinstance(est, Description):
        raise ValueError(
            f"--model {own.model}: a separating machine has no draws and no cutoff, "
            "and cannot be saved; use a description such as BSVDD, or the class in "
            "Python"
        )
    X, y = tables.files.read_features(csv, layout, minor)
    if y is not None and y.dtype == bool:
        y = y.astype(int)
    asked = layout.table if layout.cyclic or layout.missing else None
    return est.set_params(table=asked), X, y
