"""``bsvdd given``: which rows of one table have columns that do not go with some others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from ..estimators import atomic, rows
from . import options
from .console import console_of_records, print_lines, table_of, waiting
from .errors import check_outputs, plain_errors
from .fit import fit_in_time, prepared
from .reasons import reason, reasons

if TYPE_CHECKING:
    import pandas as pd

    from ..estimators.detector import Detector


@click.command()
@click.argument("csv", type=options.FILE)
@click.argument("columns", nargs=-1, required=True)
@options.of_table
@options.of_fit_without_cutoff
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(1), help="Rows that are printed."
)
@click.option("--out", type=options.NEW_FILE, help="CSV of all rows, the oddest first.")
def given(
    csv: Path,
    columns: tuple[str, ...],
    table: options.TableOptions,
    own: options.FitOptions,
    top: int,
    out: Path | None,
) -> None:
    """Print the rows of CSV whose other columns are odd beside their COLUMNS, the oddest first.

    Each value may be usual, and their combination odd: a weight that no person of that height has.
    p given is the p-value of the other columns given COLUMNS, each row left out. It ranks the rows
    of one table, so one row has the smallest p in any table.
    """
    with plain_errors():
        check_outputs({"--out": out}, csv)
        layout = table.layout()
        for name in columns:
            if name in layout.others:
                raise ValueError(f"column {name!r} is named by {layout.others[name]}: no feature")
        est, X, _ = prepared(csv, layout, None, table.missing, own)
        rows.tables.require_columns(X, list(columns))
        names, X = X.index, X.reset_index(drop=True)
        fit_in_time(est, X, None)
        with waiting("given") as step:
            step("left-out rows")
            p = p_given(est, X, columns)
            order = p.argsort(kind="stable").to_numpy()
            step("reasons")
            found, why_none = reasons(est, X, order[:top], columns)
            texts = [reason(est, X.loc[[i]], found.loc[[i]]) for i in order[:top]]
            if out is not None:
                step("result")
                written = p.to_frame("p_given").join(found).iloc[order]
                written.insert(0, names.name or "row", names[order])
                with atomic.atomic(out) as temporary:
                    written.to_csv(temporary, index=False, sep=layout.sep, decimal=table.decimal)
    console = console_of_records()
    head = [str(names.name or "row"), "p given", "reason"]
    cells = [[str(names[i]), f"{p[i]:.3f}", t] for i, t in zip(order, texts, strict=False)]
    console.print(table_of(head, cells, [False] * len(cells), max_width=20))
    print_lines(
        console,
        [
            f"p given: the other columns, given {' and '.join(columns)}; {p.min():.2g} or more. "
            "Shares are of the surprise of all columns.",
            *why_none,
        ],
    )
    if out is not None:
        click.echo(f"saved {out}")


def p_given(est: Detector, X: pd.DataFrame, columns: tuple[str, ...]) -> pd.Series:
    """Return the p-values of the other columns of each row of X, to which ``est`` was fitted."""
    import pandas as pd

    from ..estimators.questions import given as conditional

    held = conditional.of_training_given(est.fit_, columns)
    p = pd.Series(held, est.fit_.data.row_names).reindex(X.index)
    others = p.isna()
    if others.any():
        p[others] = conditional.given(est, X[others], columns)
    return p
