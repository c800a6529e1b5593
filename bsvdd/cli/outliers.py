"""``bsvdd outliers``: which rows of one table are odd."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from .. import tables
from ..base import atomic, messages
from ..estimators import registry
from . import console, options, rows
from .errors import check_outputs, plain_errors
from .fit import model_and_rows

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from ..estimators.description import Description
    from ..outliers.stand_out import StandOut
    from ..tables.files import Layout

NAMED_BELOW = 20  # rows of a group that are named below the table
CLEAR = 2.0  # excess of rows that are not dim
CAP = 1000.0  # largest excess that is printed
EXCESS = (
    "excess: the distance of a value from that which the others lead to; in each "
    "column about one row in a hundred exceeds 1, and an excess far above 1 tells a "
    "broken relation."
)


@click.command()
@click.argument("csv", type=options.FILE)
@options.of_table
@rows.known
@rows.keep
@options.of_fit_without_cutoff
@click.option("--label", metavar="COLUMN", help="Column of labels, which are not used.")
@click.option(
    "--strata",
    metavar="COLUMN",
    help="Column of labels: rows of one label have a share of odd rows of their own; "
    "no feature.",
)
@click.option(
    "--fdr",
    default=0.1,
    metavar="SHARE",
    help="Share of the listed rows that may be normal.",
)
@click.option(
    "--top", default=10, type=click.IntRange(1), help="Lines that are printed."
)
@options.new_file(
    "--out", help="CSV of all rows, the oddest first; those printed have reasons."
)
@click.option(
    "--relations",
    is_flag=True,
    help="Fit nothing: print the rows whose columns do not go with each other.",
)
@options.new_file("--picture", help="Picture of at most 50 lines, PNG.")
@options.new_file("--kept", help="CSV of the rows that are not listed, to fit them.")
@plain_errors()
def outliers(
    csv: Path,
    table: Layout,
    own: options.FitOptions,
    label: str | None,
    known: rows.RowOptions,
    keep: tuple[str, ...],
    strata: str | None,
    fdr: float,
    top: int,
    out: Path | None,
    relations: bool,
    picture: Path | None,
    kept: Path | None,
) -> None:
    """Print the odd rows of CSV, the oddest first, with the columns that make them odd.

    There are no labels, and odd rows may be among the others: the description rests on
    the core of the rows. P(odd) is the probability that a row does not belong to the
    smooth tail of the normal ones. The surprise is -log of the similarity of the row to
    the core. A reason is a column with its value and its share of the surprise. Rows
    that are alike have one line, with their medians.

    Listed rows are those that are called odd: of these a share --fdr is expected to be
    normal. Often none is. Other rows are printed dim.

    Each value may be usual, and their combination odd: a net price that is not price
    times pieces, a unit that does not go with the product. With --relations each column
    is explained by the others, and a row is named by the column that is farthest from
    what these lead to.

    Rows are judged one by one: to judge new rows use bsvdd fit and bsvdd score.
    """
    if relations:
        return print_relations(csv, table, label, top, out)
    check_outputs({"--out": out, "--picture": picture, "--kept": kept}, csv)
    _require_core(own.model)
    est, X, _ = model_and_rows(csv, _without(table, label), None, own)
    names = X.index
    X, of_rows = _features(X, known, strata, csv)
    X, wrong = _checked(X, keep, est)
    with console.waiting("outliers") as step:
        from ..outliers.stand_out import stand_out
        from ..questions.why import reasons

        step("which rows stand out")
        found = stand_out(est, X, fdr=fdr, **of_rows)
        lines = found.lines(top)
        if out is not None:  # reasons may take long; a full disk is told below the list
            written = _written(found, found.table, wrong, X, names)
            with suppress(OSError):
                console.save_table(out, written, table, said="")
        step("reasons")
        texts, why = reasons(found.estimator, lines)
        texts = [
            found.cell_reason(rows) or text
            for rows, text in zip(lines, texts, strict=True)
        ]
        said = [str(found), *_alike(found, names, lines)]
        said += [f"Column {label!r} is left out: no label is used."] * bool(label)
    screen = console.console_of_records()
    screen.print(_lines(found, names, lines, texts))
    console.print_lines(screen, said)
    _print_findings(screen, wrong, found.title, names, top)
    if out is not None:
        reasoned = found.table.join(why.top_columns())
        written = _written(found, reasoned, wrong, X, names)
        console.save_table(out, written, table)
    _draw(picture, found, names, lines, texts, own.model)
    _keep_others(kept, found.listed, csv, table, label)


def _keep_others(
    kept: Path | None,
    listed: np.ndarray,
    csv: Path,
    table: Layout,
    label: str | None,
) -> None:
    """Write the rows that are not listed, if there is a file for them; or say how."""
    if kept is not None:
        whole = tables.files.read_own(csv, replace(table, id=None, drop=()), label)
        console.save_table(kept, whole[~listed], table)
    of_rows = [*options.TABLE, *rows.OF_ROWS, "keep"]
    fit = options.next_command("fit", kept or Path("kept.csv"), of_rows)
    if kept is not None:
        of = f"{int((~listed).sum())} of {len(listed)} rows"
        click.echo(f"next, these {of}: {fit}")
    elif listed.any():
        same = [*of_rows, *options.OF_FIT, "label", "strata", "fdr"]
        again = options.next_command("outliers", csv, same, kept=["kept.csv"])
        click.echo(f"next, the other rows: {again} && {fit}")


def _written(
    found: StandOut,
    rows: pd.DataFrame,
    wrong: pd.DataFrame,
    X: pd.DataFrame,
    names: pd.Index,
) -> pd.DataFrame:
    """Return rows in order as they are written: names, filled columns, findings."""
    if not wrong.empty:
        each = wrong.explode("rows").groupby("rows")["finding"].unique().str.join(", ")
        rows = rows.assign(findings=each.reindex(found.order).fillna("").to_numpy())
    filled = console.with_filled(rows, X.iloc[found.order].isna())
    return console.with_names(filled, names[found.order])


def _without(table: Layout, label: str | None) -> Layout:
    """Return the layout of a table without its column of labels."""
    return replace(table, drop=(*table.drop, *filter(None, [label])))


def _features(
    X: pd.DataFrame, known: rows.RowOptions, strata: str | None, csv: Path
) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
    """Return the features, and the weights, groups and strata of the rows."""
    features, of_rows = known.taken(X)
    if strata is not None:
        _, labels = tables.files.split(X, strata, "--strata", str(csv))
        of_rows["strata"] = labels.to_numpy()
        features = features.drop(columns=strata, errors="ignore")
    return features, of_rows


def _checked(
    X: pd.DataFrame, keep: tuple[str, ...], est: Description
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the columns that are features, rows numbered, and what is wrong."""
    features, read = rows.features(X, keep, est.table)
    return features.reset_index(drop=True), tables.findings.findings(read)


def _print_findings(
    screen: Console,
    wrong: pd.DataFrame,
    title: Callable[..., str],
    names: pd.Index,
    top: int,
) -> None:
    """Print copies, misspelt words and codes, a line for each."""
    if wrong.empty:
        return
    cells = [
        [title(rows, names), finding, f"{column} = {value}, else {expected}"]
        if expected
        else [title(rows, names), finding, value]
        for rows, finding, column, value, expected in wrong.head(top).to_numpy()
    ]
    head = [str(names.name or "row"), "finding", "reason"]
    screen.print(console.table_of(head, cells, [False] * len(cells), max_width=28))
    if (more := len(wrong) - top) > 0:
        are = "finding is" if more == 1 else "findings are"
        console.print_lines(screen, [f"{more} more {are} not printed: see --top."])


def _draw(
    picture: Path | None,
    found: StandOut,
    names: pd.Index,
    lines: list[np.ndarray],
    texts: list[str],
    model: str,
) -> None:
    """Write the picture of the lines, if there is a file for it."""
    if picture is None:
        return
    import matplotlib

    matplotlib.use("agg")
    from ..plots.common import figure_of
    from ..plots.outliers import draw_outliers
    from ..plots.report import png

    atomic.write(
        picture, png(figure_of(draw_outliers(found, names, lines, texts, model)))
    )
    click.echo(f"saved {picture}")


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
        "kept",
    )
    if unused := options.given_options(*of_fit):
        named = ", ".join(map(options.as_option, unused))
        raise click.UsageError(f"--relations fits no model: leave out {named}")
    check_outputs({"--out": out}, csv)
    X, _ = tables.files.read_features(csv, _without(table, label))
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


def _broken(
    excess: float, column: str, value: object, expected: object, also: str
) -> list[str]:
    """Return the cells of a row: its excess, and the reason."""
    own = messages.of_value(value)
    usual = messages.of_value(expected)
    reason = f"{column} = {own} (the others lead to {usual})"
    return [
        f"{excess:.1f}" if excess < CAP else f"> {CAP:.0f}",
        f"{reason}; or {also}" if also else reason,
    ]


def _require_core(model: str) -> None:
    """Raise a ValueError if a model is known, but does not describe a core of rows."""
    record = registry.find(model)
    if record is not None and not _finds_odd_rows(record):
        every = registry.REGISTRY.items()
        able = [name for name, each in every if _finds_odd_rows(each)]
        raise ValueError(
            f"--model {model}: it does not look for odd rows in one table; use one of "
            f"{messages.quoted(able)}"
        )


def _finds_odd_rows(record: registry.Record) -> bool:
    """Return whether a model describes the core of one table without labels."""
    from ..estimators.description import Description

    return issubclass(record.estimator(), Description) and not record.needs_minority


def _alike(found: StandOut, names: pd.Index, lines: list[np.ndarray]) -> list[str]:
    """Return sentences on rows that are alike, and on listed rows without a line."""
    said = []
    for line in lines:
        if len(line) > 1:
            common = found.common(line)
            title = found.title(line, names, NAMED_BELOW)
            said.append(f"Alike: {title}{common and f'; {common}'}.")
    more = int(found.listed.sum()) - sum(int(found.listed[r].sum()) for r in lines)
    are = "row is" if more == 1 else "rows are"
    return [*said, f"{more} more {are} listed: see --top and --out."] if more else said


def _lines(
    found: StandOut,
    names: pd.Index,
    lines: list[np.ndarray],
    texts: list[str],
) -> Table:
    """Return the table of lines; lines that are not listed are dim, below a space."""
    import pandas as pd

    values = pd.DataFrame({"odd": found.probability, "surprise": found.surprise})
    cells = []
    for line, text in zip(lines, texts, strict=True):
        median = values.iloc[line].median()
        odd = "-" if math.isnan(median["odd"]) else f"{median['odd']:.2f}"
        nats = median["surprise"]
        surprise = f"{nats:z.2f}" if nats < 100.0 else f"{nats:,.0f}"
        cells.append([found.title(line, names), odd, surprise, text or "-"])
    dim = [not found.listed[line[0]] for line in lines]
    head = [str(names.name or "row"), "P(odd)", "surprise", "reason"]
    table = console.table_of(head, cells, dim, max_width=28)
    if any(dim) and not dim[0]:
        table.rows[dim.index(True) - 1].end_section = True
    return table
