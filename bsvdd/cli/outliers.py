"""``bsvdd outliers``: which rows of one table are odd."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import click

from .. import tables
from ..base import atomic, messages
from ..estimators import registry
from . import console, options, rows
from .errors import check_outputs, plain_errors
from .fit import model_and_rows
from .relations import print_relations, without

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from rich.console import Console
    from rich.table import Table

    from ..estimators.description import Description
    from ..outliers.stand_out import StandOut
    from ..tables.files import Layout

NAMED_BELOW = 20  # rows of a group that are named below the table
# options that name a column of their own
NAMING = ("group", "weight", "suspect", "recent", "category", "order", "cyclic")
SURPRISES = "The surprise of each row beside the core; the oddest rows with reasons."
CELLS = "Columns in which rows are odd by one cell: crosses, with the names of rows."


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
@options.new_file("--report", help="Page of the list, with pictures, HTML.")
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
    report: Path | None,
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
    files = {"--out": out, "--picture": picture, "--report": report, "--kept": kept}
    check_outputs(files, csv)
    _require_core(own.model)
    est, X, _ = model_and_rows(csv, without(table, label), None, own)
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
        answer = Answer(found, names, wrong, lines, texts, top, label)
        said = answer.said
    screen = console.console_of_records()
    screen.print(answer.ranking)
    console.print_lines(screen, said)
    answer.print_findings(screen)
    if out is not None:
        reasoned = found.table.join(why.top_columns())
        written = _written(found, reasoned, wrong, X, names)
        console.save_table(out, written, table)
    text = _next(kept, found.listed, csv)
    if picture is not None or report is not None:
        answer.draw(picture, report, csv.name, text)
    if kept is not None:
        _save_kept(kept, csv, table, label, ~found.listed)
    if text:
        click.echo(text)


def _save_kept(
    path: Path, csv: Path, table: Layout, label: str | None, kept: np.ndarray
) -> None:
    """Write some rows of a file, its names of rows and dropped columns as they are."""
    others = [table.id] if table.id else []
    as_text = dict.fromkeys([*table.category, *others, *table.drop])
    layout = replace(table, id=None, drop=(), category=tuple(as_text))
    whole = tables.files.read_own(csv, layout, label)
    console.save_table(path, whole[kept], table, as_they_are=layout.category)


@dataclass(frozen=True)
class Answer:
    """The rows that stand out, as they are printed, drawn and written as a page.

    Attributes
    ----------
    found : StandOut
    names : pandas.Index
    wrong : pandas.DataFrame
        Copies, misspelt words and codes.
    lines : list of ndarray of int
        The rows of each line.
    reasons : list of str
        Of each line, by the columns of its rows.
    top : int
    label : str or None
        The column of labels.
    """

    found: StandOut
    names: pd.Index
    wrong: pd.DataFrame
    lines: list[np.ndarray]
    reasons: list[str]
    top: int
    label: str | None

    @cached_property
    def texts(self) -> list[str]:
        """The reason of each line; a cell that is odd alone tells all."""
        return self.found.told(self.lines, self.reasons)

    @cached_property
    def said(self) -> list[str]:
        """Sentences on the whole list."""
        said = [str(self.found), *_alike(self.found, self.names, self.lines)]
        left = f"Column {self.label!r} is left out: no label is used."
        return said + [left] * bool(self.label)

    @property
    def head(self) -> list[str]:
        """The titles of ``cells``."""
        return [str(self.names.name or "row"), "P(odd)", "surprise", "reason"]

    @property
    def cells(self) -> list[list[str]]:
        """The lines as texts."""
        found = self.found
        cells = []
        for line, text in zip(self.lines, self.texts, strict=True):
            nats = median(found.surprise[line].tolist())
            surprise = f"{nats:z.2f}" if nats < 100.0 else f"{nats:,.0f}"
            shown = found.shown_probability(line) or "-"
            cells.append([found.title(line, self.names), shown, surprise, text or "-"])
        return cells

    @property
    def dim(self) -> list[bool]:
        """Which lines are not listed."""
        return [not self.found.listed[line[0]] for line in self.lines]

    @property
    def ranking(self) -> Table:
        """The table of lines; lines that are not listed are dim, below a space."""
        table = console.table_of(self.head, self.cells, self.dim, max_width=28)
        if any(self.dim) and not self.dim[0]:
            table.rows[self.dim.index(True) - 1].end_section = True
        return table

    @property
    def wrong_cells(self) -> list[list[str]]:
        """Copies, misspelt words and codes as texts, a line for each."""
        title = self.found.title
        return [
            [title(rows, self.names), finding, f"{column} = {value}, else {expected}"]
            if expected
            else [title(rows, self.names), finding, value]
            for rows, finding, column, value, expected in self.wrong.to_numpy()
        ]

    def print_findings(self, screen: Console) -> None:
        """Print copies, misspelt words and codes."""
        cells = self.wrong_cells[: self.top]
        if not cells:
            return
        head = [self.head[0], "finding", "reason"]
        screen.print(console.table_of(head, cells, [False] * len(cells), max_width=28))
        if (more := len(self.wrong) - self.top) > 0:
            are = "finding is" if more == 1 else "findings are"
            console.print_lines(screen, [f"{more} more {are} not printed: see --top."])

    def draw(
        self, picture: Path | None, report: Path | None, name: str, text: str
    ) -> None:
        """Write the picture and the page, those that have a file."""
        import matplotlib

        matplotlib.use("agg")
        from ..plots.common import figure_of
        from ..plots.outliers import draw_cells, draw_outliers
        from ..plots.report import image, png

        model = type(self.found.estimator).__name__
        given = self.found, self.names, self.lines, self.texts, model
        if picture is not None:
            atomic.write(picture, png(figure_of(draw_outliers(*given))))
            click.echo(f"saved {picture}")
        if report is None:
            return
        pictures = [image("surprises", draw_outliers(*given), SURPRISES)]
        if self.found.cells["column"].notna().any():
            drawn = draw_cells(self.found, self.names)
            pictures.append(image("cells", drawn, CELLS))
        atomic.write(report, self.page(name, text, pictures))
        click.echo(f"saved {report}")

    def page(self, name: str, text: str, pictures: Sequence[dict[str, str]]) -> bytes:
        """Return the page of a file of this name."""
        from ..estimators.facts import facts
        from ..plots.report import render

        of_fit = facts(self.found.estimator)
        return render(
            "page_of_outliers.html",
            __package__,
            name=name,
            said=self.said,
            head=self.head,
            lines=list(zip(self.cells, self.dim, strict=True)),
            wrong_head=[self.head[0], "finding", "reason"],
            wrong=[(cells, False) for cells in self.wrong_cells],
            pictures=pictures,
            any_listed=bool(self.found.listed.any()),
            next=text,
            columns=of_fit.columns,
            missing=of_fit.missing,
            warnings=of_fit.warnings,
        )


def _next(kept: Path | None, listed: np.ndarray, csv: Path) -> str:
    """Return a line on the next command: a fit of the rows that are not listed."""
    of_rows = [*options.TABLE, *rows.OF_ROWS, "keep"]
    drop = _left_out()
    fit = options.next_command("fit", kept or Path("kept.csv"), of_rows, **drop)
    if kept is not None:
        return f"next, these {int((~listed).sum())} of {len(listed)} rows: {fit}"
    if not listed.any():
        fit = options.next_command("fit", csv, of_rows, **drop)
        return f"next, if all rows are normal: {fit}"
    same = [*of_rows, *options.OF_FIT, "label", "strata", "fdr"]
    again = options.next_command("outliers", csv, same, kept=["kept.csv"])
    return f"next, the other rows: {again} && {fit}"


def _left_out() -> dict[str, list[str]]:
    """Return --drop of what the list left out, but for what other options name."""
    given = click.get_current_context().params
    named = set()
    for option in NAMING:
        value = given[option] or ()
        texts = value if isinstance(value, tuple) else (value,)
        named |= {text.partition("=")[0] for text in texts}
    own = [given["label"], given["strata"]]
    left = [*given["drop"], *(each for each in own if each and each not in named)]
    return {"drop": left} if left else {}


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
