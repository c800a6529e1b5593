"""``bsvdd score``: scores the rows of a CSV file by a saved model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options
from .errors import check_output, plain_errors

if TYPE_CHECKING:
    import pandas as pd

# those of estimators.p_values, which takes long to import
METHODS = ["left-out", "jackknife+", "cross", "full", "split"]
INTERVAL = (0.05, 0.95)  # shares of the draws of d_z


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
    """Score the rows of CSV by a saved MODEL: P(normal), distance, decision, p-value.

    The columns of the fit are taken by their names, and other columns are ignored. Each row of the
    result has its number in CSV, counted from 0, and with --id its id. distance_q05 and
    distance_q95 are the 5 % and the 95 % quantile of the draws whose median is the distance; models
    without a posterior have none. The p-value is that of "this row is normal". With --fdr the rows
    are decided as one batch.

    A row with a gap, or with text in a column of the fit, cannot be scored. It stays in the result
    without numbers, and the column problem says why.
    """
    with plain_errors():
        from ..comparison.scenarios.tables import read_table
        from ..estimators.names import as_cell
        from ..estimators.rows.files import naming
        from ..estimators.storage.atomic import atomic
        from ..estimators.storage.loading import load
        from ..inference.conformal import check_rate

        if fdr is not None:
            check_rate("fdr", fdr)
        if out is not None:
            check_output(out, model, csv)
        layout = table.layout()
        est = load(model)
        rows = read_table(csv, layout=layout)
        with naming(csv):
            X, problems = numbers(rows, _columns_of_fit(est, rows, layout), layout.form, strict)
        usable = X[problems == ""]
        result = scored(est, usable, fdr, method)
        if explain:
            important = est.explain(usable, changes=False).top_columns()
            names = [name for name in important if name.startswith("column_")]
            important[names] = important[names].map(as_cell, na_action="ignore")
            result = result.join(important.where(~result["normal"]))
        found = result.reindex(range(len(rows)))
        found["problem"] = problems.to_numpy()
        found.insert(0, "row", range(len(rows)))
        if table.id is not None:
            clash = "input_" if table.id in found.columns else ""
            found.insert(0, f"{clash}{table.id}", rows.index.to_numpy())
        if input_columns:
            found = with_input(found, csv, layout)
        written: dict[str, Any] = {"index": False, "sep": layout.form.sep, "decimal": table.decimal}
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
    _count_problems(problems)


def _columns_of_fit(est: Any, rows: pd.DataFrame, layout: Any) -> list[str]:
    """Return the columns that the model takes; all, if its fit was to rows without names."""
    from ..comparison.scenarios.tables import require_columns
    from ..estimators.names import columns

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


def numbers(
    rows: pd.DataFrame, columns: list[str], form: Any, strict: bool
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the columns as numbers, and why a row cannot be scored ("" where it can).

    Raises
    ------
    ValueError
        No row can be scored; with ``strict``, some row cannot.
    """
    import numpy as np
    import pandas as pd

    from ..comparison.scenarios.tables import OTHER_SIGN, has_other_sign, place

    X = pd.DataFrame({c: form.numbers(rows[c]) for c in columns}, rows.index)
    bad = ~np.isfinite(X.to_numpy(dtype=float))
    problems = np.full(len(rows), "", dtype=object)
    unscored = np.flatnonzero(bad.any(axis=1))
    for i in unscored:
        problems[i] = ", ".join(_problem(c, rows[c].iat[i]) for c in X.columns[bad[i]])
    if len(unscored) and (strict or len(unscored) == len(rows)):
        sign = OTHER_SIGN[form.decimal]
        hint = f"; is {sign!r} the decimal sign, --decimal {sign!r}?"
        first = f"{place(rows, unscored[0])}, where {problems[unscored[0]]}"
        raise ValueError(
            f"{len(unscored)} of {len(rows)} rows cannot be scored, the first is {first}"
            + (hint if any(has_other_sign(rows[c], form) for c in columns) else "")
        )
    numbered = pd.RangeIndex(len(rows))
    return X.set_axis(numbered), pd.Series(problems, numbered)


def _problem(column: str, value: Any) -> str:
    import pandas as pd

    if pd.isna(value):
        return f"{str(column)!r} is missing"
    return f"{str(column)!r} is {str(value)!r:.80}"


def scored(est: Any, X: pd.DataFrame, fdr: float | None, method: str) -> pd.DataFrame:
    """Return the decision on rows with the interval of d_z, the p-value and the selection."""
    from ..inference.conformal import discoveries

    rows = X if hasattr(est, "feature_names_in_") else X.to_numpy()
    result: pd.DataFrame = est.decision(rows, INTERVAL, method).set_axis(X.index)
    if fdr is not None:
        result["selected"] = discoveries(result["p_value"].to_numpy(), fdr)
    return result


def with_input(found: pd.DataFrame, csv: Path, layout: Any) -> pd.DataFrame:
    """Return the result with the columns of the file before it, as text.

    A column that has the name of a column of the result gets ``input_`` before its name.
    """
    import pandas as pd

    from ..comparison.scenarios.tables import read_texts

    texts = read_texts(csv, layout.form).drop(columns=list(layout.others))
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


def _count_problems(problems: pd.Series) -> None:
    """Say on stderr how many rows could not be scored."""
    bad = problems[problems != ""]
    if len(bad):
        click.echo(
            f"{len(bad)} of {len(problems)} rows not scored, the first is row {bad.index[0]} "
            f"(counted from 0): {bad.iloc[0]}; the column problem has all reasons",
            err=True,
        )
