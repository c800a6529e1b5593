"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

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
    from collections.abc import Hashable

    import numpy as np
    import pandas as pd

    from ..estimators.description import Description
    from ..tables.files import Layout
    from ..tables.table import Table

NAMED = 3  # groups of the fit
ALREADY = "the model reads its columns as it was fitted; leave the option out"


@click.command()
@click.argument("model", type=options.FILE)
@click.argument("csv", type=options.FILE)
@options.of_table
@options.new_file("--out", help="CSV of the result; standard output when left out.")
@click.option(
    "--fdr",
    type=float,
    help=(
        "Also mark the rows to call abnormal at this false discovery rate, in a column "
        "selected."
    ),
)
@click.option(
    "--explain",
    is_flag=True,
    help=(
        "Also write the three most important columns of each abnormal row, with their "
        "shares."
    ),
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
    row of the result has its line in CSV, or its id with --id. The p-value is that of
    "this row is normal". The surprise is 0 at the cutoff, .69 for a row that is half as
    similar to the training rows, and negative for normal rows; low and high are the
    ends of its 90 % interval, whose low end allows for one row like it that the
    training rows have not shown. With --fdr the rows are decided as one batch.

    A cell that cannot be read, such as text in a column of numbers, is missing. Missing
    cells are filled by the nearest training rows, and the column filled names them. A
    row without any value is left out.
    """
    from ..questions.selection import discoveries

    if fdr is not None:
        messages.check_rate("fdr", fdr)
    check_outputs({"--out": out}, model, csv)
    with waiting("score") as step:
        step("reading")
        est = _loaded(model)
        known = est.table_.table
        _require_as_fitted(known, table)
        layout = replace(table, category=_of_text(known, table))
        new = tables.files.read_own(csv, layout)
        with messages.naming(csv):
            names = _columns_of_fit(est, new, layout)
            X, notes = _read(known, new[names], layout)
            left = X.isna().all(axis=1).to_numpy()
            if left.all():
                raise ValueError("no row has a value in a column of the model")
        usable = X[~left]
        of_rows, own, unknown = _groups(est, new[~left])
        notes += unknown
        given = usable.to_numpy() if known.names is None else usable
        step(f"decision on {len(usable)} rows")
        result: pd.DataFrame = est.decision(given, **of_rows).set_axis(usable.index)
        result = result.assign(**own)
        if fdr is not None:
            result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
        if explain:
            step("reasons")
            reasons = _reasons(est, given, usable.columns, result["normal"], **of_rows)
            result = result.join(reasons)
        found = with_names(with_filled(result, usable.isna()), new.index[~left])
    save_table(out, found, table, _said(found))
    if n := int(left.sum()):
        notes.append(f"{n} of {len(left)} rows have no value, and are left out")
    if fdr is not None and not result["selected"].any():
        notes.append(_none_selected(est, result["p_value"], fdr))
    for line in notes:
        click.echo(line, err=True)


def _groups(
    est: Description, new: pd.DataFrame
) -> tuple[dict[str, Any], dict[str, list[str]], list[str]]:
    """The groups of new rows, what is known of each, as a column ``own``, and a note.

    The note says how many rows are of groups that the fit has not.
    """
    from ..tables.group_centres import group_texts

    name = est.group_column_
    if name is None:
        return {}, {}, []
    if name not in {*new.columns, new.index.name}:
        return {}, {"own": [f"new {name}"] * len(new)}, []
    labels = new.get(name, new.index)  # --id may have named it
    if (missing := labels.isna()).any():
        raise ValueError(
            f"{new.index.name or 'row'} {new.index[missing.argmax()]} has no {name!r}: "
            "write it, or a label that the fit has not, such as 'new'"
        )
    known = dict(est.groups_["rows"])
    counts = [known.get(label, 0) for label in group_texts(labels)]
    said = [
        f"{n} earlier row{'s' if n > 1 else ''}" if n else f"new {name}" for n in counts
    ]
    note = (
        f"{counts.count(0)} of {len(new)} rows have a {name!r} without rows that count "
        "in the fit, and are answered as new; the fit has "
        f"{', '.join(list(known)[:NAMED])}, ..."
    )
    return {"groups": labels.to_numpy()}, {"own": said}, [note] * (0 in counts)


def _loaded(model: Path) -> Description:
    """The model in a file; a ValueError if its kernel takes no rows."""
    est: Description = estimators.files.load(model)
    if est.kernel_.pairwise:
        raise ValueError(
            f"{model}: its kernel is precomputed; use est.decision in Python"
        )
    return est


def _require_as_fitted(table: Table, layout: Layout) -> None:
    """Raise a ValueError for an option that reads a column in another way."""
    known = dict(zip(map(str, table.labels), table.columns, strict=True))
    for name, levels in layout.order.items():
        if name not in known or known[name].values != tuple(levels):
            raise ValueError(f"--order {name!r}: {ALREADY}")
    for name, period in layout.cyclic.items():
        if table.cyclic.get(name) != period:
            raise ValueError(f"--cyclic {name!r}: {ALREADY}")


def _of_text(table: Table, layout: Layout) -> tuple[str, ...]:
    """Columns of the model in which a sign such as NA is a category."""
    for name in layout.category:
        if table.kinds.get(name) != "category":
            others = [each for each, kind in table.kinds.items() if kind == "category"]
            has = messages.listed(others) if others else "no columns"
            raise ValueError(
                f"--category {name!r}: the model was fitted to {has} of categories"
            )
    columns = zip(table.labels, table.columns, strict=True)
    signs = tables.files.MISSING
    return tuple(str(name) for name, column in columns if signs & set(column.values))


def _columns_of_fit(
    est: Description, new: pd.DataFrame, layout: Layout
) -> list[Hashable]:
    """The columns that the model takes: all, if its training rows had no names."""
    table = est.table_.table
    names = list(new.columns if table.names is None else table.names)
    if len(names) != est.n_features_in_:
        raise ValueError(
            f"the model was fitted to {est.n_features_in_} columns without names, and "
            f"here are {len(names)}, {messages.listed(names)}; leave columns out by "
            "--drop"
        )
    named = layout.named()
    for name in names:
        if name in named and name not in new.columns:
            raise ValueError(
                f"{named[name]} {name!r}: the model was fitted to this column, and "
                f"cannot score without it; it takes {messages.listed(names)}"
            )
    table.require(new)
    return names


def _read(
    table: Table, new: pd.DataFrame, layout: Layout
) -> tuple[pd.DataFrame, list[str]]:
    """New rows, numbered from 0, and how many of their cells cannot be read.

    A ValueError if no cell of a column can be read.
    """
    X = table.known(new).reset_index(drop=True)
    bad = table.unreadable(X)
    found = X.mask(bad)
    if not bad.any(axis=None):
        return found, []
    row, place = divmod(int(bad.to_numpy().argmax()), bad.shape[1])
    column = table.columns[place]
    of_row = f"{new.index.name or 'row'!s} {new.index[row]!s:.80}"
    first = (
        f"the first is {X.iat[row, place]!r:.80} in {str(X.columns[place])!r} of "
        f"{of_row}, no {column.expected}"
    )
    nothing = X.columns[bad.any() & found.isna().all()]
    texts = X.where(bad).astype(str).loc[:, bad.any()]
    commas = texts.columns[texts.apply(lambda x: x.str.contains(r"\d,\d").any())]
    if len(nothing) or (len(commas) and layout.decimal == "."):
        sign = "; is ',' the decimal sign, --decimal ','?" if len(commas) else ""
        what = messages.listed(nothing if len(nothing) else commas)
        raise ValueError(f"{what} cannot be read; {first}{sign}")
    n = int(bad.to_numpy().sum())
    return found, [f"{n} cells cannot be read and count as missing; {first}"]


def _reasons(
    est: Description,
    given: pd.DataFrame | np.ndarray,
    columns: pd.Index,
    normal: pd.Series,
    groups: np.ndarray | None = None,
) -> pd.DataFrame:
    """The most important columns of abnormal rows, by their names in the file."""
    from ..questions.why import explain

    asked = ~normal.to_numpy()
    asked[:1] = True  # the columns are there if all rows are normal
    own = {} if groups is None else {"groups": groups[asked]}
    why = explain(est, given[asked], **own)
    important = why.top_columns().set_axis(normal.index[asked])
    if est.group_column_ is not None:
        important["reason"] = [why.reason(i) for i in range(len(important))]
    if est.table_.table.names is None:
        places = [c for c in important if c.startswith("column_")]
        of_file = important[places].map(columns.__getitem__, na_action="ignore")
        important[places] = of_file
    return important.where(~normal)


def _said(found: pd.DataFrame) -> str:
    """How many rows were scored, and how many are abnormal or selected."""
    said = f"{len(found)} rows scored, {int((~found['normal']).sum())} abnormal"
    if "selected" in found:
        said += f", {int(found['selected'].sum())} selected"
    return f"{said}:"


def _none_selected(est: Description, p_values: pd.Series, fdr: float) -> str:
    """What p-values Benjamini and Hochberg would select, where none is selected."""
    from ..estimators.facts import facts

    n = len(p_values)
    smallest = ", ".join(f"{value:.3g}" for value in p_values.nsmallest(3))
    return (
        f"--fdr {fdr:g} selected none of {n} rows: k rows are selected if their "
        f"p-values are at most k * {fdr / n:.3g} ({fdr:g} / {n}), and the smallest "
        f"are {smallest}; the smallest rate that the fit can hold is "
        f"{facts(est).smallest_rate:.3g}"
    )
