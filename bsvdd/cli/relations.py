"""``bsvdd outliers --relations``: rows whose columns do not go with each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import tables
from ..base import messages
from . import console, options, rows
from .errors import check_outputs

if TYPE_CHECKING:
    from ..tables.files import Layout

CLEAR = 2.0  # excess of rows that are not dim
EXPECTED_DIGITS = 6
CAP = 1000.0  # largest excess that is printed
EXCESS = (
    "excess: the distance of a value from that which other columns lead to; in each "
    "column about one row in a hundred exceeds 1, and an excess far above 1 tells a "
    "broken relation."
)


def print_relations(
    csv: Path, table: Layout, label: str | None, top: int, out: Path | None
) -> None:
    """Print the columns that follow from others, and the rows that break this most."""
    from ..questions.relations import relations

    of_fit = (
        *options.OF_FIT,
        *rows.OF_ROWS,
        "keep",
        "strata",
        "fdr",
        "picture",
        "report",
        "kept",
    )
    if unused := options.given_options(*of_fit):
        named = ", ".join(map(options.as_option, unused))
        raise click.UsageError(f"--relations fits no model: leave out {named}")
    check_outputs({"--out": out}, csv)
    X, _ = tables.files.read_features(csv, without(table, label))
    found = relations(X)
    far = found.table[found.table["excess"] > 1.0].head(top)
    cells = [[str(name), *_broken(*row)] for name, *row in far.itertuples()]
    screen = console.console_of_records()
    name = str(X.index.name or "row")
    if cells:
        dim = (far["excess"] <= CLEAR).tolist()
        screen.print(console.table_of([name, "excess", "reason"], cells, dim))
    said = [str(found), EXCESS] if len(found.follows) else [str(found)]
    console.print_lines(screen, said)
    if out is not None:
        written = console.with_names(found.table, found.table.index)
        console.save_table(out, written, table)


def without(table: Layout, label: str | None) -> Layout:
    """Return the layout of a table without its column of labels."""
    return replace(table, drop=(*table.drop, *filter(None, [label])))


def _broken(
    excess: float, column: str, value: object, expected: object, also: str
) -> list[str]:
    """Return the cells of a row: its excess, and the reason."""
    own = messages.of_value(value)
    usual = messages.of_value(expected, EXPECTED_DIGITS)
    reason = f"{column} = {own} (other columns lead to {usual})"
    return [
        f"{excess:.1f}" if excess < CAP else f"> {CAP:.0f}",
        f"{reason}; or {also}" if also else reason,
    ]
