"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

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

    from ..estimators.detector import Detector
    from ..estimators.rows.files import Layout

# those of estimators.p_values, which takes long to import
METHODS = ["left-out", "split"]


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
    "--input-columns", is_flag=True, help="Also write the columns of CSV, as they are in it."
)
@click.option(
    "--strict", is_flag=True, help="Stop at a row that cannot be scored; else it is marked."
)
@click.option(
    "--fdr",
    type=float,
    help="Also mark the rows to call abnormal at this false discovery rate, in a column selected.",
)
@click.option(
    "--p-value",
    "method",
    type=click.Choice(METHODS),
    default="left-out",
    show_default=True,
    help="Method of the p-values; split has the strictest guarantee, and refits the model.",
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
    input_columns: bool,
    strict: bool,
    fdr: float | None,
    method: str,
    explain: bool,
) -> None:
    """Score the rows of CSV by a saved MODEL: p-value, P(normal), surprise, decision.

    The columns of the fit are taken by their names, and other columns are ignored. Each row of the
    result has its number in CSV, counted from 0, and with --id its id. The p-value is that of "this
    row is normal". The surprise is 0 at the cutoff, .69 for a row that is half as similar to the
    training rows, and negative for normal rows; surprise_low and surprise_high are the ends of its
    90 % interval, whose low end allows for one row like it that the training rows have not shown.
    With --fdr the rows are decided as one batch.

    Gaps are filled by the nearest training rows, and the column filled names them. A row with text
    in a column of numbers, with a gap under --missing drop, or without any value cannot be scored.
    It stays in the result without numbers, and the column problem says why.
    """
    if strict and table.missing == "drop":
        raise click.UsageError("--strict stops at a gap, and --missing drop does not")
    with plain_errors():
        from ..estimators.p_values import check_rate
        from ..estimators.questions.selection import discoveries

        if fdr is not None:
            check_rate("fdr", fdr)
        check_outputs({"--out": out}, model, csv)
        layout = table.layout()
        with waiting("score") as step:
            step("reading")
            est: Detector = estimators.loading.load(model)
            categories = _categories_of_fit(est, layout)
            forms, features = est.fit_.data.forms, getattr(est, "feature_names_in_", [])
            levels = [features[i] for i, form in forms.items() if form.kind == "levels"]
            na = rows.categories.code(rows.files.NA)
            coded = [
                str(features[i])
                for i in est.kernel_.categorical_columns
                if len(features) and (est.fit_.data.rows[:, i] == na).any()
            ]
            new = rows.tables.read_own(csv, layout, [*categories, *levels], coded)
            with rows.files.naming(csv):
                names = _columns_of_fit(est, new, layout)
                X = _typed(est, new[names], layout.decimal)
                missing, fitted = table.missing or est.kernel_.missing, est.kernel_.missing
                if missing in ("fill", "level") and missing != fitted:
                    raise ValueError(
                        f"--missing {missing}: the model was fitted with --missing {fitted}, and "
                        f"so are its answers; fit it with --missing {missing}"
                    )
                stops, gaps = strict or table.missing == "error", new[names].isna().to_numpy()
                gaps = gaps & (missing == fitted) & est.kernel_.fills_gaps
                gaps &= ~gaps.all(axis=1, keepdims=True)
                problems = _problems(est, X, new, gaps)
                said = _first_problem(problems, new)
                if problems.ne("").all() or (stops and said):
                    texts = [c for c in names if c not in categories]
                    raise ValueError(said + _about_signs(new[texts], layout.decimal))
            usable = X[problems == ""]
            given = usable if hasattr(est, "feature_names_in_") else usable.to_numpy()
            step(f"decision on {len(usable)} rows")
            result: pd.DataFrame = est.decision(given, p_value=method).set_axis(usable.index)
            if fdr is not None:
                result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
            if explain:
                step("reasons")
                important = _important_columns(est, given, usable)
                result = result.join(important.where(~result["normal"]))
            found = result.reindex(X.index)
            found = found.join(as_cells(with_filled(found[[]], est, X.isna() & gaps)))
            found["problem"] = problems
            found.insert(0, "row", X.index)
            if table.id is not None:
                ids = as_cells(new.index.to_frame(False, table.id))
                found = with_names(found, ids.iloc[:, 0], ids.columns[0])
            if input_columns:
                found = _with_input(found, csv, layout)
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
        if said:
            click.echo(f"{said}; the column problem has all reasons", err=True)
        for line in _notes(est, given, usable, result, fdr, method):
            click.echo(line, err=True)


def _categories_of_fit(est: Detector, layout: Layout) -> list[str]:
    """Return the columns that are categories in the model."""
    names = getattr(est, "feature_names_in_", None)
    positions = list(est.kernel_.categorical_columns)
    found = [] if names is None else [str(name) for name in names[positions]]
    for other in layout.categories:
        if other not in found:
            has = messages.listed(found) if found else "no columns"
            raise ValueError(f"--category {other!r}: the model was fitted to {has} of categories")
    return found


def _columns_of_fit(est: Detector, new: pd.DataFrame, layout: Layout) -> list[str]:
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


def _typed(est: Detector, new: pd.DataFrame, decimal: str) -> pd.DataFrame:
    """Return numbers, and the cells of other columns that are as in training; rows from 0."""
    forms, categories = est.fit_.data.forms, est.kernel_.categorical_columns
    new = new.reset_index(drop=True)
    for i in range(new.shape[1]):
        column = new.iloc[:, i]
        if i in forms:
            column = rows.cells.with_points(column) if decimal == "," else column
            new.isetitem(i, column.where(forms[i].numbers(column).notna()))
        elif i not in categories:
            new.isetitem(i, rows.cells.as_numbers(column, decimal))
    return new


def _problems(est: Detector, X: pd.DataFrame, new: pd.DataFrame, filled: np.ndarray) -> pd.Series:
    """Return why each row cannot be scored, "" where it can; some gaps (n, p) are filled."""
    import pandas as pd

    bad, problems = rows.tables.gaps(X) & ~filled, pd.Series("", X.index, dtype=object)
    forms = est.fit_.data.forms
    expected = {c: f": no {forms[i].expected}" if i in forms else "" for i, c in enumerate(X)}
    for i in X.index[bad.any(axis=1)]:
        cells = {c: new[c].iat[i] for c in X.columns[bad[i]]}
        problems[i] = ", ".join(
            f"{str(c)!r} is missing"
            if pd.isna(value)
            else f"{str(c)!r} is {str(value)!r:.80}{expected[c]}"
            for c, value in cells.items()
        )
    return problems


def _first_problem(problems: pd.Series, new: pd.DataFrame) -> str:
    """Return how many rows cannot be scored, and why the first cannot; "" if all can."""
    bad = problems.index[problems != ""]
    if not len(bad):
        return ""
    first = f"{rows.tables.place(new, bad[0])}, where {problems[bad[0]]}"
    return f"{len(bad)} of {len(new)} rows cannot be scored, the first is {first}"


def _about_signs(numeric: pd.DataFrame, decimal: str) -> str:
    """Return the question whether columns of numbers have the other decimal sign."""
    if all(rows.columns.kind_of(numeric[c], decimal) != "decimal" for c in numeric):
        return ""
    sign = rows.cells.OTHER_SIGN[decimal]
    return f"; is {sign!r} the decimal sign, --decimal {sign!r}?"


def _important_columns(est: Detector, given: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Return the most important columns of rows, by their names in the file, with their shares."""
    from ..estimators.questions.explain import explain

    important = explain(est, given, changes=False).top_columns().set_axis(X.index)
    if given is not X:  # of rows without names
        places = [c for c in important if c.startswith("column_")]
        important[places] = important[places].map(X.columns.__getitem__, na_action="ignore")
    return as_cells(important)


def _with_input(found: pd.DataFrame, csv: Path, layout: Layout) -> pd.DataFrame:
    """Return the result with the columns of the file before it, as text.

    A column that has the name of a column of the result gets ``input_`` before its name.
    """
    texts = rows.files.read_file(csv, layout, None).drop(columns=list(layout.others))
    taken = {name: f"input_{name}" for name in texts.columns if name in found.columns}
    for name, other in taken.items():
        if other in found.columns or other in texts.columns:
            raise ValueError(
                f"--input-columns: the result and {csv} both have {name!r}, and {other!r} is there "
                "too; rename one of these columns"
            )
    first = list(found.columns[: 1 if layout.id is None else 2])
    own = as_cells(texts.rename(columns=taken))
    return found[first].join(own).join(found.drop(columns=first))


def _notes(
    est: Detector,
    given: Any,
    X: pd.DataFrame,
    result: pd.DataFrame,
    fdr: float | None,
    method: str,
) -> Iterator[str]:
    """Yield what is to be known of scored rows: unseen categories, training rows, none selected."""
    import numpy as np

    from ..inference.warning import collected

    n = len(X)
    data = est.fit_.data
    with collected():  # the answers have said what these rows lack
        numbers, known = estimators.inputs.table(data, given), data.rows
    categorical = list(est.kernel_.categorical_columns)
    unseen = np.array([~np.isin(numbers[:, i], known[:, i]) for i in categorical])
    if unseen.any():
        names = X.columns[categorical][unseen.any(axis=1)]
        yield (
            f"{int(unseen.any(axis=0).sum())} of {n} rows have a category that no training row "
            f"has, in {messages.quoted(names)}: such a category differs from all others"
        )
    equal = int(result["left_out"].sum())
    if equal:
        but = "" if method == "left-out" else ", but for its p-value"
        are = "is a training row" if equal == 1 else "are training rows"
        yield f"{equal} of {n} rows {are}, and each is answered without itself{but}"
    if fdr is not None and not result["selected"].any():  # by Benjamini and Hochberg
        smallest = ", ".join(f"{value:.3g}" for value in result["p_value"].nsmallest(3))
        alone = f"; {equal} of the {n} are training rows: score the new rows alone"
        yield (
            f"--fdr {fdr:g} selected none of {n} rows: k rows are selected if their p-values are "
            f"at most k * {fdr / n:.3g} ({fdr:g} / {n}), and the smallest are {smallest}; "
            f"bsvdd.select(est, X, tail='pareto') goes beyond ranks{alone if equal else ''}"
        )
