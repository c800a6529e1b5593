"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import estimators
from ..estimators import messages, rows
from . import options
from .console import as_cells, waiting, with_filled, with_names
from .errors import check_outputs, plain_errors

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from ..estimators.description import Description
    from ..estimators.rows.files import Layout
    from ..estimators.table import TrainingTable


@click.command()
@click.argument("model", type=options.FILE)
@click.argument("csv", type=options.FILE)
@options.of_table
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
    "--explain",
    is_flag=True,
    help="Also write the three most important columns of each abnormal row, with their shares.",
)
def score(
    model: Path,
    csv: Path,
    table: options.TableOptions,
    out: Path | None,
    fdr: float | None,
    explain: bool,
) -> None:
    """Score the rows of CSV by a saved MODEL: p-value, P(normal), surprise, decision.

    The columns of the fit are taken by their names, and other columns are ignored. Each row of the
    result has its number in CSV, counted from 0, and with --id its id. The p-value is that of "this
    row is normal". The surprise is 0 at the cutoff, .69 for a row that is half as similar to the
    training rows, and negative for normal rows; low and high are the ends of its
    90 % interval, whose low end allows for one row like it that the training rows have not shown.
    With --fdr the rows are decided as one batch.

    A cell that cannot be read, such as text in a column of numbers, is a gap. Gaps are filled by
    the nearest training rows, and the column filled names them. A row without any value is left
    out.
    """
    with plain_errors():
        from ..estimators.p_values import check_rate
        from ..estimators.questions.selection import discoveries

        if fdr is not None:
            check_rate("fdr", fdr)
        check_outputs({"--out": out}, model, csv)
        layout = table.layout()
        with waiting("score") as step:
            step("reading")
            est: Description = estimators.files.load(model)
            if est.kernel_.pairwise:
                raise ValueError(f"{model}: its kernel is precomputed; use est.decision in Python")
            categories = _categories_of_fit(est, layout)
            known = est.table_
            levels = [name for name, kind in known.kinds.items() if kind == "levels"]
            na = rows.categories.code(rows.files.NA)
            coded = [c for c in categories if (known.values[c] == na).any()]
            new = rows.tables.read_own(csv, layout, [*categories, *levels], coded)
            with rows.files.naming(csv):
                names = _columns_of_fit(est, new, layout)
                X = _typed(known, new[names], layout.decimal)
                unread = _unread(known, X, new[names], layout.decimal)
                left = _left_out(X)
            usable, new = X[~left], new[~left]
            given = usable if hasattr(est, "feature_names_in_") else usable.to_numpy()
            step(f"decision on {len(usable)} rows")
            result: pd.DataFrame = est.decision(given).set_axis(usable.index)
            if fdr is not None:
                result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
            if explain:
                step("reasons")
                asked = ~result["normal"].to_numpy()
                asked[:1] = True  # the columns are there if all rows are normal
                important = _important_columns(est, given[asked], usable[asked])
                result = result.join(important.where(~result["normal"]))
            found = result.join(as_cells(with_filled(result[[]], usable.isna())))
            found.insert(0, "row", usable.index)
            if table.id is not None:
                ids = as_cells(new.index.to_frame(False, table.id))
                found = with_names(found, ids.iloc[:, 0], ids.columns[0])
            how: Any = {"index": False, "sep": layout.sep, "decimal": table.decimal}
        if out is None:
            found.to_csv(sys.stdout, **how)
            sys.stdout.flush()  # here, where a closed pipe ends quietly
        else:
            with estimators.atomic.atomic(out) as temporary:
                found.to_csv(temporary, **how)
            selected = "" if fdr is None else f", {int(result['selected'].sum())} selected"
            click.echo(
                f"{len(result)} rows scored, {int((~result['normal']).sum())} abnormal{selected}: "
                f"{out}"
            )
        lines = [unread] if unread else []
        if left.any():
            lines.append(f"{int(left.sum())} of {len(left)} rows have no value, and are left out")
        for line in (*lines, *_notes(known, given, usable, result, fdr)):
            click.echo(line, err=True)


def _categories_of_fit(est: Description, layout: Layout) -> list[str]:
    """Return the columns that are categories in the model."""
    names = getattr(est, "feature_names_in_", None)
    positions = list(est.kernel_.categorical_columns)
    found = [] if names is None else [str(name) for name in names[positions]]
    for other in layout.categories:
        if other not in found:
            has = messages.listed(found) if found else "no columns"
            raise ValueError(f"--category {other!r}: the model was fitted to {has} of categories")
    return found


def _columns_of_fit(est: Description, new: pd.DataFrame, layout: Layout) -> list[str]:
    """Return the columns that the model takes; all, if its fit was to rows without names."""
    names = list(getattr(est, "feature_names_in_", new.columns))
    if len(names) != est.n_features_in_:
        raise ValueError(
            f"the model was fitted to {est.n_features_in_} columns without names, and here are "
            f"{len(names)}, {messages.listed(names)}; leave columns out by --drop"
        )
    for name in names:
        if name in layout.others and name not in new.columns:
            raise ValueError(
                f"{layout.others[name]} {name!r}: the model was fitted to this column, and cannot "
                f"score without it; it takes {messages.listed(names)}"
            )
    rows.tables.require_columns(new, names)
    return names


def _typed(known: TrainingTable, new: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """Return numbers, and cells of other columns that are as in training; else NaN; rows from 0."""
    forms, kinds = known.forms, list(known.kinds.values())
    new = new.reset_index(drop=True)
    for i in range(new.shape[1]):
        column = new.iloc[:, i]
        if i in forms:
            column = rows.cells.with_points(column) if decimal == "," else column
            new.isetitem(i, column.where(forms[i].numbers(column).notna()))
        elif kinds[i] != "category":
            values = rows.cells.as_numbers(column, decimal)
            new.isetitem(i, values.where(values.abs() < math.inf))
    return new


def _unread(known: TrainingTable, X: pd.DataFrame, new: pd.DataFrame, decimal: str) -> str:
    """Return how many cells of the file cannot be read; a ValueError if no gaps are meant."""
    empty = X.isna().to_numpy()
    bad = empty & new.notna().to_numpy()
    if not bad.any():
        return ""
    row = int(bad.any(axis=1).argmax())
    column = int(bad[row].argmax())
    form = known.forms.get(column)
    first = (
        f"the first is {new.iat[row, column]!r:.80} in {str(new.columns[column])!r} of "
        f"{rows.tables.place(new, row)}{f', no {form.expected}' if form else ''}"
    )
    concerned = new.columns[bad.any(axis=0)]
    signs = _about_signs(new[concerned], decimal)
    nothing = new.columns[bad.any(axis=0) & empty.all(axis=0)]
    if signs or len(nothing):
        what = f"no cell of {messages.listed(nothing)}"
        if not len(nothing):
            what = f"not every cell of {messages.listed(concerned)}"
        raise ValueError(f"{what} can be read; {first}{signs}")
    return f"{int(bad.sum())} cells cannot be read and count as gaps; {first}"


def _left_out(X: pd.DataFrame) -> np.ndarray:
    """Return which rows (n,) have no value at all; a ValueError if none is left."""
    left = X.isna().to_numpy().all(axis=1)
    if left.all():
        raise ValueError("no row has a value in a column of the model")
    return left


def _about_signs(numeric: pd.DataFrame, decimal: str) -> str:
    """Return the question whether columns of numbers have the other decimal sign."""
    if all(rows.columns.kind_of(numeric[c], decimal) != "decimal" for c in numeric):
        return ""
    sign = rows.cells.OTHER_SIGN[decimal]
    return f"; is {sign!r} the decimal sign, --decimal {sign!r}?"


def _important_columns(est: Description, given: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Return the most important columns of rows, by their names in the file, with their shares."""
    from ..estimators.questions.why import explain

    important = explain(est, given).top_columns().set_axis(X.index)
    if not hasattr(given, "columns"):  # of rows without names
        places = [c for c in important if c.startswith("column_")]
        important[places] = important[places].map(X.columns.__getitem__, na_action="ignore")
    return as_cells(important)


def _notes(
    known: TrainingTable, given: Any, X: pd.DataFrame, result: pd.DataFrame, fdr: float | None
) -> Iterator[str]:
    """Yield what is to be known of scored rows: unseen categories, none selected."""
    import numpy as np

    n, codes, seen = len(X), known.floats(given), known.values.to_numpy()
    is_category = np.array([kind == "category" for kind in known.kinds.values()])
    pairs = zip(codes.T[is_category], seen.T[is_category], strict=True)
    unseen = np.array([~np.isin(new, old) & ~np.isnan(new) for new, old in pairs])
    if unseen.any():
        names = X.columns[is_category][unseen.any(axis=1)]
        yield (
            f"{int(unseen.any(axis=0).sum())} of {n} rows have a category that no training row "
            f"has, in {messages.quoted(names)}: such a category differs from all others"
        )
    if fdr is not None and not result["selected"].any():  # by Benjamini and Hochberg
        smallest = ", ".join(f"{value:.3g}" for value in result["p_value"].nsmallest(3))
        yield (
            f"--fdr {fdr:g} selected none of {n} rows: k rows are selected if their p-values are "
            f"at most k * {fdr / n:.3g} ({fdr:g} / {n}), and the smallest are {smallest}"
        )
