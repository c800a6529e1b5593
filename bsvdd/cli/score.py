"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import estimators, tables
from ..base import messages
from . import options
from .console import save_table, waiting, with_filled, with_names
from .errors import check_outputs, plain_errors

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..estimators.description import Description
    from ..tables.files import Layout
    from ..tables.training import TrainingTable

MOVED = (
    0.5  # share of new rows beyond all training rows, above which a column has moved
)


@click.command()
@click.argument("model", type=options.FILE)
@click.argument("csv", type=options.FILE)
@options.of_table
@options.new_file("--out", help="CSV of the result; standard output when left out.")
@click.option(
    "--fdr",
    type=float,
    help="Also mark the rows to call abnormal at this false discovery rate, in a column selected.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Also write the three most important columns of each abnormal row, with their shares.",
)
@plain_errors()
def score(
    model: Path,
    csv: Path,
    table: Layout,
    out: Path | None,
    fdr: float | None,
    explain: bool,
) -> None:
    """Score the rows of CSV by a saved MODEL: p-value, P(normal), surprise, decision.

    The columns of the fit are taken by their names, and other columns are ignored. Each
    row of the result has its number in CSV, counted from 0, and with --id its id. The
    p-value is that of "this row is normal". The surprise is 0 at the cutoff, .69 for a
    row that is half as similar to the training rows, and negative for normal rows; low
    and high are the ends of its 90 % interval, whose low end allows for one row like it
    that the training rows have not shown. With --fdr the rows are decided as one batch.

    A cell that cannot be read, such as text in a column of numbers, is a gap. Gaps are
    filled by the nearest training rows, and the column filled names them. A row without
    any value is left out.
    """
    from ..base.messages import check_rate
    from ..questions.selection import discoveries

    if fdr is not None:
        check_rate("fdr", fdr)
    check_outputs({"--out": out}, model, csv)
    with waiting("score") as step:
        step("reading")
        est: Description = estimators.files.load(model)
        if est.kernel_.pairwise:
            raise ValueError(
                f"{model}: its kernel is precomputed; use est.decision in Python"
            )
        known = est.table_
        layout = replace(table, category=tuple(_of_text(est, table)))
        new = tables.files.read_own(csv, layout)
        with messages.naming(csv):
            names = _columns_of_fit(est, new, layout)
            X, unread = _read(known, new[names], layout)
            left = _left_out(X)
        usable = X[~left]
        new = new[~left]
        given = usable if hasattr(est, "feature_names_in_") else usable.to_numpy()
        step(f"decision on {len(usable)} rows")
        result: pd.DataFrame = est.decision(given).set_axis(usable.index)
        if fdr is not None:
            result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
        if explain:
            step("reasons")
            result = result.join(_reasons(est, given, usable, result["normal"]))
        found = with_names(with_filled(result, usable.isna()), usable.index)
        found = found if table.id is None else with_names(found, new.index)
    save_table(out, found, table, _said(found))
    n = int(left.sum())
    out_of = f"{n} of {len(left)} rows have no value, and are left out" if n else ""
    for line in filter(
        None, (unread, out_of, *_notes(known, given, usable, result, fdr))
    ):
        click.echo(line, err=True)


def _of_text(est: Description, layout: Layout) -> list[str]:
    """Return the columns of categories of the model in which a sign such as NA is one."""
    table = est.table_.table
    for name in layout.category:
        if table.kinds.get(name) != "category":
            known = [each for each, kind in table.kinds.items() if kind == "category"]
            has = messages.listed(known) if known else "no columns"
            raise ValueError(
                f"--category {name!r}: the model was fitted to {has} of categories"
            )
    columns = zip(table.labels, table.columns, strict=True)
    return [name for name, column in columns if tables.files.GAPS & set(column.values)]


def _columns_of_fit(est: Description, new: pd.DataFrame, layout: Layout) -> list[str]:
    """Return the columns that the model takes; all, if its fit was to rows without names."""
    names = list(getattr(est, "feature_names_in_", new.columns))
    if len(names) != est.n_features_in_:
        raise ValueError(
            f"the model was fitted to {est.n_features_in_} columns without names, and "
            f"here are {len(names)}, {messages.listed(names)}; leave columns out by "
            "--drop"
        )
    for name in names:
        if name in layout.named() and name not in new.columns:
            raise ValueError(
                f"{layout.named()[name]} {name!r}: the model was fitted to this "
                "column, and cannot score without it; it takes "
                f"{messages.listed(names)}"
            )
    est.table_.table.matched(new)
    return names


def _read(
    known: TrainingTable, new: pd.DataFrame, layout: Layout
) -> tuple[pd.DataFrame, str]:
    """Return new rows, numbered from 0, and how many of their cells cannot be read and are gaps.

    A ValueError if no cell of a column can be read.
    """
    X = known.table.known(new).reset_index(drop=True)
    bad = known.table.read(X)[1]
    found = X.mask(bad)
    if not bad.any(axis=None):
        return found, ""
    row, place = divmod(int(bad.to_numpy().argmax()), bad.shape[1])
    column = known.table.columns[place]
    name = new.index.name
    of_id = "" if name is None else f"; {str(name)!r} is {new.index[row]!r:.80}"
    first = (
        f"the first is {X.iat[row, place]!r:.80} in {str(X.columns[place])!r} of row "
        f"{row} (counted from 0{of_id}), no {column.expected}"
    )
    nothing = X.columns[bad.any() & found.isna().all()]
    commas = [
        c
        for c in X.columns[bad.any()]
        if X[c][bad[c]].astype(str).str.contains(r"\d,\d").any()
    ]
    if len(nothing) or (commas and layout.decimal == "."):
        sign = "; is ',' the decimal sign, --decimal ','?" if commas else ""
        what = messages.listed(nothing if len(nothing) else commas)
        raise ValueError(f"{what} cannot be read; {first}{sign}")
    return (
        found,
        f"{int(bad.to_numpy().sum())} cells cannot be read and count as gaps; {first}",
    )


def _left_out(X: pd.DataFrame) -> np.ndarray:
    """Return which rows (n,) have no value at all; a ValueError if none is left."""
    left = X.isna().to_numpy().all(axis=1)
    if left.all():
        raise ValueError("no row has a value in a column of the model")
    return left


def _reasons(
    est: Description, given: Any, X: pd.DataFrame, normal: pd.Series
) -> pd.DataFrame:
    """Return the most important columns of abnormal rows, by their names in the file."""
    from ..questions.why import explain

    asked = ~normal.to_numpy()
    asked[:1] = True  # the columns are there if all rows are normal
    important = explain(est, given[asked]).top_columns().set_axis(X.index[asked])
    if not hasattr(given, "columns"):  # of rows without names
        places = [c for c in important if c.startswith("column_")]
        important[places] = important[places].map(
            X.columns.__getitem__, na_action="ignore"
        )
    return important.where(~normal)


def _said(found: pd.DataFrame) -> str:
    """Return how many rows were scored, and how many are abnormal or selected."""
    said = f"{len(found)} rows scored, {int((~found['normal']).sum())} abnormal"
    selected = (
        f", {int(found['selected'].sum())} selected" if "selected" in found else ""
    )
    return f"{said}{selected}:"


def _notes(
    known: TrainingTable,
    given: Any,
    X: pd.DataFrame,
    result: pd.DataFrame,
    fdr: float | None,
) -> Iterator[str]:
    """Yield what is to be known of scored rows: unseen categories, none selected."""
    import numpy as np

    n = len(X)
    codes = known.floats(given)
    seen = known.values.to_numpy()
    is_category = np.array([kind == "category" for kind in known.kinds.values()])
    pairs = zip(codes.T[is_category], seen.T[is_category], strict=True)
    unseen = np.array([~np.isin(new, old) & ~np.isnan(new) for new, old in pairs])
    if unseen.any():
        names = X.columns[is_category][unseen.any(axis=1)]
        yield (
            f"{int(unseen.any(axis=0).sum())} of {n} rows have a category that no "
            f"training row has, in {messages.quoted(names)}: such a category differs "
            "from all others"
        )
    low = np.nanmin(seen, axis=0)
    high = np.nanmax(seen, axis=0)
    away = np.maximum((codes > high).mean(axis=0), (codes < low).mean(axis=0))
    away[is_category | np.isin(list(known.kinds), list(known.table.cyclic))] = 0.0
    if n > 1 and (away > MOVED).any():
        moved = X.columns[away > MOVED]
        yield (
            f"{'all' if away.max() == 1.0 else 'most of the'} {n} rows lie beyond the "
            f"training rows in {messages.listed(moved)}: if it counts on, as a date "
            f"does, fit without it, --drop {str(moved[0])!r}"
        )
    if fdr is not None and not result["selected"].any():  # by Benjamini and Hochberg
        smallest = ", ".join(f"{value:.3g}" for value in result["p_value"].nsmallest(3))
        yield (
            f"--fdr {fdr:g} selected none of {n} rows: k rows are selected if their "
            f"p-values are at most k * {fdr / n:.3g} ({fdr:g} / {n}), and the smallest "
            f"are {smallest}"
        )
