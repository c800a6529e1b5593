"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .errors import check_output, plain_errors
from .progress import waiting

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

# those of estimators.questions.p_values, which takes long to import
METHODS = ["left-out", "jackknife+", "cross", "full", "split"]


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
    "--watch",
    is_flag=True,
    help="Also tell whether the rows, in their order, stay like the training rows.",
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
    watch: bool,
    explain: bool,
) -> None:
    """Score the rows of CSV by a saved MODEL: p-value, P(normal), surprise, decision.

    The columns of the fit are taken by their names, and other columns are ignored. Each row of the
    result has its number in CSV, counted from 0, and with --id its id. The p-value is that of "this
    row is normal". The surprise is 0 at the cutoff, .69 for a row that is half as similar to the
    training rows, and negative for normal rows; surprise_low and surprise_high are the ends of its
    90 % interval, whose low end allows for one row like it that the training rows have not shown.
    With --fdr the rows are decided as one batch. With --watch one line tells whether they differ
    from the training rows, and since which row; of streams without a change at most 1 % are said to
    differ.

    A row with a gap, or with text in a column of the fit, cannot be scored. It stays in the result
    without numbers, and the column problem says why. With --missing impute gaps are filled by what
    the model's majority rows have, and the column imputed names them; a row without any value is
    not scored.
    """
    if strict and table.missing in ("drop", "impute"):
        raise click.UsageError(f"--strict stops at a gap, and --missing {table.missing} does not")
    with plain_errors():
        from ..estimators.atomic import atomic
        from ..estimators.questions.batches import check_rate
        from ..estimators.rows.files import naming
        from ..estimators.rows.tables import read_table
        from ..estimators.saved_file import load

        if fdr is not None:
            check_rate("fdr", fdr)
        if out is not None:
            check_output(out, model, csv)
        layout = table.layout()
        with waiting("score") as step:
            step("reading")
            est = load(model)
            categories = _categories_of_fit(est, layout)
            rows = read_table(csv, layout=layout, texts=categories)
            with naming(csv):
                taken = _columns_of_fit(est, rows, layout)
                X = table_of_numbers(est, rows, taken, categories, layout.form)
                imputed: list[str] | None = None
                if table.missing == "impute":
                    X, imputed = filled_by(est, X, rows[taken].isna().to_numpy())
                problems, stops = problems_of(X, rows), strict or table.missing == "error"
                if problems.ne("").all() or (stops and problems.ne("").any()):
                    raise_problem(problems, rows, [c for c in taken if c not in categories], layout)
            usable = X[problems == ""]
            step(f"decision on {len(usable)} rows")
            result = scored(est, usable, fdr, method)
            if explain:
                step("reasons")
                result = result.join(important_columns(est, usable).where(~result["normal"]))
            found = result.reindex(range(len(rows)))
            if imputed is not None:
                found["imputed"] = imputed
            found["problem"] = problems.to_numpy()
            found.insert(0, "row", range(len(rows)))
            if table.id is not None:
                clash = "input_" if table.id in found.columns else ""
                found.insert(0, f"{clash}{table.id}", rows.index.to_numpy())
            if input_columns:
                found = with_input(found, csv, layout)
            written: dict[str, Any] = {
                "index": False,
                "sep": layout.form.sep,
                "decimal": table.decimal,
            }
        if out is None:
            found.to_csv(sys.stdout, **written)
            sys.stdout.flush()  # here, where a closed pipe ends quietly
        else:
            with atomic(out) as temporary:
                found.to_csv(temporary, **written)
            selected = "" if fdr is None else f", {int(result['selected'].sum())} selected"
            click.echo(
                f"{len(result)} rows scored, {int((~result['normal']).sum())} abnormal{selected}: "
                f"{out}"
            )
    if watch:
        click.echo(_watched(est, usable), err=True)
    _count_problems(problems)
    _count_unseen(est, usable)
    equal = _count_training_rows(est, usable)
    if fdr is not None and not result["selected"].any():
        _say_why_none(result["p_value"], fdr, equal)


def _categories_of_fit(est: Any, layout: Any) -> list[str]:
    """Return the columns that are categories in the model."""
    from ..estimators.messages import columns

    positions = list(est.kernel_.categorical_columns)
    names = getattr(est, "feature_names_in_", None)
    found = [] if names is None else [str(name) for name in names[positions]]
    others = [c for c in layout.categories if c not in found]
    if others:
        has = columns(found) if found else "no columns"
        raise ValueError(f"--category {others[0]!r}: the model was fitted to {has} of categories")
    return found


def _columns_of_fit(est: Any, rows: pd.DataFrame, layout: Any) -> list[str]:
    """Return the columns that the model takes; all, if its fit was to rows without names."""
    from ..estimators.messages import columns
    from ..estimators.rows.tables import require_columns

    names = getattr(est, "feature_names_in_", None)
    if names is None:
        if rows.shape[1] != est.n_features_in_:
            raise ValueError(
                f"the model was fitted to {est.n_features_in_} columns without names, and here are "
                f"{rows.shape[1]}, {columns(rows.columns)}; leave columns out by --drop"
            )
        return list(rows.columns)
    for name in names:
        if name in layout.others and name not in rows.columns:
            raise ValueError(
                f"{layout.others[name]} {name!r}: the model was fitted to this column, and cannot "
                f"score without it; it takes {columns(names)}"
            )
    require_columns(rows, list(names))
    return list(names)


def table_of_numbers(
    est: Any, rows: pd.DataFrame, columns: list[str], categories: list[str], form: Any
) -> pd.DataFrame:
    """Return the columns as numbers, dates, and text of categories; rows are counted from 0."""
    import pandas as pd

    from ..estimators.rows.columns import as_numbers, moments

    dates, X = est.fit_.data.dates, {}
    for i, c in enumerate(columns):
        if c in categories:
            X[c] = rows[c]
        elif i in dates:
            X[c] = moments(rows[c], dates[i].form)
        else:
            X[c] = as_numbers(rows[c], form.decimal)
    return pd.DataFrame(X, rows.index).set_axis(pd.RangeIndex(len(rows)))


def filled_by(est: Any, X: pd.DataFrame, gaps: np.ndarray) -> tuple[pd.DataFrame, list[str]]:
    """Return rows with what the model's majority rows have in place of gaps, and which they were.

    A row that has no value keeps its gaps.
    """
    from ..estimators.rows.gaps import filled_table, typical_values

    gaps = gaps & ~gaps.all(axis=1, keepdims=True)
    categorical = est.kernel_.categorical_columns
    values = typical_values(est.fit_.data.majority_rows, categorical)
    X = filled_table(X, gaps, values, categorical, est.fit_.data.dates)
    return X, [", ".join(repr(str(c)) for c in X.columns[row]) for row in gaps]


def problems_of(X: pd.DataFrame, rows: pd.DataFrame) -> pd.Series:
    """Return why each row cannot be scored, "" where it can."""
    import pandas as pd

    from ..estimators.rows.tables import gaps

    bad, problems = gaps(X), pd.Series("", X.index, dtype=object)
    for i in X.index[bad.any(axis=1)]:
        problems[i] = ", ".join(_problem(c, rows[c].iat[i]) for c in X.columns[bad[i]])
    return problems


def raise_problem(problems: pd.Series, rows: pd.DataFrame, typed: list[str], layout: Any) -> None:
    """Raise a ValueError that names the first row that cannot be scored.

    ``typed`` are the columns of numbers, whose decimal sign may be another one.
    """
    from ..estimators.rows.columns import OTHER_SIGN, kind_of
    from ..estimators.rows.tables import place

    bad = problems.index[problems != ""]
    sign = OTHER_SIGN[layout.form.decimal]
    hint = f"; is {sign!r} the decimal sign, --decimal {sign!r}?"
    raise ValueError(
        f"{len(bad)} of {len(rows)} rows cannot be scored, the first is {place(rows, bad[0])}, "
        f"where {problems[bad[0]]}"
        + (hint if any(kind_of(rows[c], layout.form.decimal) == "decimal" for c in typed) else "")
    )


def _problem(column: str, value: Any) -> str:
    import pandas as pd

    if pd.isna(value):
        return f"{str(column)!r} is missing"
    return f"{str(column)!r} is {str(value)!r:.80}"


def as_in_fit(est: Any, X: pd.DataFrame) -> Any:
    """Return rows with names of columns, if the rows of the fit had names."""
    return X if hasattr(est, "feature_names_in_") else X.to_numpy()


def important_columns(est: Any, X: pd.DataFrame) -> pd.DataFrame:
    """Return the most important columns of rows, by their names in the file, with their shares."""
    from ..estimators.messages import as_cell

    important: pd.DataFrame = est.explain(as_in_fit(est, X), changes=False).top_columns()
    named = hasattr(est, "feature_names_in_")
    for place in [name for name in important if name.startswith("column_")]:
        important[place] = important[place].map(
            lambda column: as_cell(str(column if named else X.columns[column])), na_action="ignore"
        )
    return important.set_axis(X.index)


def scored(est: Any, X: pd.DataFrame, fdr: float | None, method: str) -> pd.DataFrame:
    """Return the decision on rows with the selection."""
    from ..estimators.questions.batches import discoveries

    rows = as_in_fit(est, X)
    result: pd.DataFrame = est.decision(rows, p_value=method).set_axis(X.index)
    if fdr is not None:
        result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
    return result


def with_input(found: pd.DataFrame, csv: Path, layout: Any) -> pd.DataFrame:
    """Return the result with the columns of the file before it, as text.

    A column that has the name of a column of the result gets ``input_`` before its name.
    """
    import pandas as pd

    from ..estimators.rows.files import read_csv

    texts = read_csv(csv, layout.form, raw=None).drop(columns=list(layout.others))
    taken = {name: f"input_{name}" for name in texts.columns if name in found.columns}
    for name, other in taken.items():
        if other in found.columns or other in texts.columns:
            raise ValueError(
                f"--input-columns: the result and {csv} both have {name!r}, and {other!r} is there "
                "too; rename one of these columns"
            )
    first = 2 if layout.id is not None else 1
    return pd.concat(
        [found.iloc[:, :first], texts.rename(columns=taken), found.iloc[:, first:]], axis=1
    )


def _watched(est: Any, X: pd.DataFrame) -> str:
    """Return what the rows say as a stream; rows that cannot be scored are not of it."""
    monitor = est.monitor()
    monitor.update(as_in_fit(est, X))
    if monitor.alarm is not None:
        monitor.alarm = int(X.index[monitor.alarm])  # its number in the file
    return str(monitor)


def _count_unseen(est: Any, X: pd.DataFrame) -> None:
    """Say on stderr how many rows have a category that the rows of the fit do not have."""
    import numpy as np

    from ..estimators.messages import quoted
    from ..estimators.rows.categories import codes

    known = est.fit_.data.rows
    unseen = {
        str(X.columns[i]): ~np.isin(codes(X.iloc[:, i]), known[:, i])
        for i in est.kernel_.categorical_columns
    }
    columns = [name for name, rows in unseen.items() if rows.any()]
    if columns:
        n = int(np.any(list(unseen.values()), axis=0).sum())
        click.echo(
            f"{n} of {len(X)} rows have a category that no training row has, in {quoted(columns)}: "
            "such a category differs from all others",
            err=True,
        )


def _say_why_none(p: pd.Series, fdr: float, equal: int) -> None:
    """Say on stderr why no row of a batch is selected (Benjamini and Hochberg)."""
    smallest = ", ".join(f"{value:.3g}" for value in p.nsmallest(3))
    n = len(p)
    click.echo(
        f"--fdr {fdr:g} selected none of {n} rows: k rows are selected if their p-values are at "
        f"most k * {fdr / n:.3g} ({fdr:g} / {n}), and the smallest are {smallest}"
        + (f"; {equal} of the {n} are training rows: score the new rows alone" if equal else ""),
        err=True,
    )


def _count_training_rows(est: Any, X: pd.DataFrame) -> int:
    """Say on stderr how many rows are training rows, which their own fit finds too normal."""
    from ..estimators import new_rows
    from ..estimators.questions.copies import are_training_rows

    equal = int(are_training_rows(est, new_rows.table(est, as_in_fit(est, X))).sum())
    if equal:
        click.echo(
            f"{equal} of {len(X)} rows equal a training row in all columns: a fit finds its own "
            "rows too normal; bsvdd outliers judges each row of one table by the others, and so "
            "does est.training_decision()",
            err=True,
        )
    return equal


def _count_problems(problems: pd.Series) -> None:
    """Say on stderr how many rows could not be scored."""
    bad = problems[problems != ""]
    if len(bad):
        click.echo(
            f"{len(bad)} of {len(problems)} rows not scored, the first is row {bad.index[0]} "
            f"(counted from 0): {bad.iloc[0]}; the column problem has all reasons",
            err=True,
        )
