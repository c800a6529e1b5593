"""``bsvdd given``: which rows of one table have columns that do not go with the others."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from ..estimators import messages, rows
from . import options
from .console import console_of_records, print_lines, save_table, table_of, waiting, with_names
from .errors import check_outputs, plain_errors
from .fit import fit_in_time, prepared

if TYPE_CHECKING:
    import pandas as pd

    from ..estimators.detector import Detector

MOST_EXCESS = 1000  # that is printed


@click.command()
@click.argument("csv", type=options.FILE)
@click.argument("columns", nargs=-1)
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
    """Print the rows of CSV whose columns do not go with each other, the oddest first.

    Each value may be usual, and their combination odd: a net price that is not price times
    quantity, a unit that does not go with the product.

    Without COLUMNS each column is judged given all others, where it follows from them. A column is
    named with the value that the others lead to; in a relation of several columns any one of them
    may be wrong. The excess is the distance from this value, relative to that which one row in a
    hundred exceeds.

    With COLUMNS all other columns are judged together given these: a weight that no person of that
    height and age has.

    p ranks the rows of one table, so one row has the smallest p in any table.
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
            answer = (given_some if columns else given_all)(est, X, columns, top)
            order = answer.table.index
            written = with_names(answer.table, names[order], str(names.name or "row"))
    console = console_of_records()
    cells = [[str(names[i]), *row] for i, row in zip(order, answer.cells, strict=False)]
    head = [str(names.name or "row"), *answer.head]
    if cells:
        console.print(table_of(head, cells, [False] * len(cells), max_width=20))
    print_lines(console, answer.lines)
    if out is not None:
        with plain_errors():
            save_table(out, written, layout.sep, table.decimal)


class Answer(NamedTuple):
    """What is printed and written: all rows in order, and the cells of the first ones."""

    table: pd.DataFrame
    head: list[str]
    cells: list[list[str]]
    lines: list[str]


def given_some(est: Detector, X: pd.DataFrame, columns: tuple[str, ...], top: int) -> Answer:
    """Return the p-values of the other columns of each row of X given some, and the reasons."""
    import pandas as pd

    from ..estimators.questions import given as conditional
    from ..estimators.questions.reasons import FILLED
    from ..estimators.questions.table_reasons import Reasons

    held = conditional.of_training_given(est.fit_, columns)
    p = pd.Series(held, est.fit_.data.row_names, name="p_given").reindex(X.index)
    others = p.isna()
    if others.any():
        p[others] = conditional.given(est, X[others], columns)
    order = p.argsort(kind="stable").to_numpy()
    found = Reasons.of(est, X, order[:top], columns)
    cells = []
    for k, i in enumerate(order[:top]):
        filled = [f"{name}{FILLED}" for name in columns if pd.isna(X.at[i, name])]
        cells.append([f"{p[i]:.3f}", "; ".join([found.text(order[k : k + 1]), *filled])])
    said = (
        f"p given: the other columns, given {' and '.join(columns)}; {p.min():.2g} or more. "
        "Shares are of the surprise of all columns."
    )
    table = p.to_frame().join(found.columns).iloc[order]
    return Answer(table, ["p given", "reason"], cells, [said, *found.why_none])


def given_all(est: Detector, X: pd.DataFrame, _: tuple[str, ...], top: int) -> Answer:
    """Return the column of each row that least goes with the others."""
    from ..estimators.questions.relations import relations
    from ..estimators.questions.table_reasons import Reasons

    found = relations(est, X if len(X) > len(est.fit_.data.rows) else None)
    table = found.table.set_axis(X.index).sort_values("excess", ascending=False, kind="stable")
    if not found.follows:
        return Answer(table, ["p", "reason"], [], ["No column follows from the others."])
    pairs = zip(table["column"], table["expected"], strict=True)
    value = Reasons(est, X, table, []).value
    table["expected"] = ["" if v != v else value(column, v) for column, v in pairs]
    cells = []
    for i, row in table[table["column"].notna()].head(top).iterrows():
        excess = f"{row.excess:.1f}" if row.excess < MOST_EXCESS else f"> {MOST_EXCESS}"
        cells.append([f"{row.p_value:.3f}", excess, _reason(X, i, row.column, row.expected)])
    said = (
        f"Columns that follow from the others: {messages.quoted(found.follows)}. excess: the "
        "distance of a value from that which the others lead to; in each column at most about "
        "one row in a hundred exceeds 1."
    )
    return Answer(table, ["p", "excess", "reason"], cells, [said])


def _reason(X: pd.DataFrame, row: int, column: str, expected: str) -> str:
    own = f"{column} = {messages.of_value(X.at[row, column])}"
    return f"{own} (the others lead to {expected})" if expected else own
