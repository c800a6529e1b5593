"""``bsvdd outliers``: which rows of one table are odd."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import estimators
from ..comparison import run
from ..estimators import atomic, messages, report, rows
from . import options
from .console import as_cells, console_of_records, print_lines, table_of, waiting
from .errors import check_outputs, plain_errors
from .fit import fit_in_time, prepared

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from rich.table import Table

    from ..estimators.detector import Detector

SHARES = (0.05, 0.1)  # smallest shares of the first column and of others that are reasons
NAMED = 3  # groups of copies that are named


@click.command()
@click.argument("csv", type=options.FILE)
@options.of_table
@options.of_fit
@click.option(
    "--top", default=10, show_default=True, type=click.IntRange(1), help="Rows that are printed."
)
@click.option(
    "--given",
    metavar="COLUMN",
    multiple=True,
    help="Judge the other columns given this one; repeatable.",
)
@click.option("--out", type=options.NEW_FILE, help="CSV of all rows, the oddest first.")
@click.option("--picture", type=options.NEW_FILE, help="Picture of the rows, PNG.")
def outliers(
    csv: Path,
    table: options.TableOptions,
    own: options.FitOptions,
    top: int,
    given: tuple[str, ...],
    out: Path | None,
    picture: Path | None,
) -> None:
    """Print the odd rows of CSV, the oddest first, with the columns that make them odd.

    There are no labels: each row is judged by the others, as if it were new (left out). The
    surprise is 0 at the cutoff, .69 for a row that is half as similar to the others, and negative
    for normal rows. P(normal) is the probability that the row lies within the cutoff. p is the
    share of rows that are at least as odd. A reason is a column with its value and its share of the
    surprise. 90 %: the interval of the surprise; the low end allows for one row like it that the
    sample has not shown.

    With --given, "p given" is the p-value of the other columns given these: it is small if they are
    odd beside each other, though each may be usual. It orders the rows.

    p ranks the rows of one table, so one row has the smallest p in any table. To select rows at a
    false discovery rate, fit rows that are known to be normal (bsvdd fit), and give the others to
    bsvdd score --fdr.
    """
    with plain_errors():
        check_outputs({"--out": out, "--picture": picture}, csv)
        layout = table.layout()
        for name in given:
            if name in layout.others:
                raise ValueError(
                    f"--given {name!r}: the column is named by {layout.others[name]} and is no "
                    "feature"
                )
        est, X, _ = prepared(csv, layout, None, table.missing, own)
        rows.tables.require_columns(X, list(given))
        names, X = X.index, X.reset_index(drop=True)
        fit_in_time(est, X, None)
        with waiting("outliers") as step:
            step("left-out rows")
            found = run.cell.decided(est, X)
            odd, order = ~found["normal"], found["surprise"].argsort(kind="stable")[::-1].to_numpy()
            if given:
                found.insert(1, "p_given", p_given(est, X, given))
                odd = found["p_given"] <= est.fit_.cutoff.rate
                order = order[found["p_given"].iloc[order].argsort(kind="stable")]
            shown = order[:top]
            step("reasons")
            columns, lines = reasons(est, X, odd.to_numpy(), shown, given)
            texts = [reason(X.iloc[i], columns.loc[i], est) for i in shown]
            lines = [*summary(est, found, given), *lines, *copies(est, names)]
            found.insert(0, names.name or "row", names)
            if out is not None:
                step("result")
                written = found.join(columns.where(odd)).iloc[order]
                with atomic.atomic(out) as temporary:
                    written.to_csv(temporary, index=False, sep=layout.sep, decimal=table.decimal)
            if picture is not None:
                step("picture")
                import matplotlib

                matplotlib.use("agg")
                from ..estimators.plots.rows import draw_outliers

                figure = draw_outliers(found, names.to_numpy(), shown, texts, type(est).__name__)
                report.pages.save(picture, report.pages.png(figure))
    console = console_of_records()
    console.print(printed(found.iloc[shown], odd.to_numpy()[shown], texts))
    print_lines(console, lines)
    for path in (out, picture):
        if path is not None:
            click.echo(f"saved {path}")


def p_given(est: Detector, X: pd.DataFrame, given: tuple[str, ...]) -> pd.Series:
    """Return the p-values of the other columns of each row of X, to which ``est`` was fitted."""
    import pandas as pd

    from ..estimators.questions import given as conditional

    held = conditional.of_training_given(est.fit_, given)
    p = pd.Series(held, est.fit_.data.row_names).reindex(X.index)
    others = p.isna()
    if others.any():
        p[others] = conditional.given(est, X[others], given)
    return p


def reasons(
    est: Detector, X: pd.DataFrame, odd: np.ndarray, shown: np.ndarray, given: tuple[str, ...]
) -> tuple[pd.DataFrame, list[str]]:
    """Return the columns with the largest shares of odd and shown rows, and why there are none."""
    import numpy as np
    import pandas as pd

    from ..estimators.questions.explain import explain
    from ..estimators.questions.explanation import Explanation

    wanted = np.union1d(np.flatnonzero(odd), shown)
    inside = pd.Index(est.fit_.data.row_names).get_indexer(wanted)
    held, others = inside[inside >= 0], X.loc[wanted[inside < 0]]
    asked: list[dict[str, Any]] = [{"rows": held}] if len(held) else []
    asked += [{"X": others}] if len(others) else []
    found = []
    try:
        for each in asked:
            why = explain(est, **each, changes=False)
            assert isinstance(why, Explanation)  # no command fits views
            found.append(replace(why, given=given).top_columns())
    except ValueError as error:  # no centre, or no columns
        return pd.DataFrame(index=X.index), [f"No reasons: {error}."]
    return as_cells(pd.concat(found).reindex(X.index)), []


def reason(row: pd.Series, columns: pd.Series, est: Detector) -> str:
    """Return the columns that make a row odd, with their values and shares; - without any."""
    codes = {row.index[i] for i in est.kernel_.categorical_columns}
    parts: list[str] = []
    for column, share in columns.to_numpy().reshape(-1, 2):
        if share < SHARES[bool(parts)]:
            break
        value = row[column.removeprefix("'") if column not in row else column]
        is_code = column in codes and not isinstance(value, str) and -1.0 < value < 0.0  # of a text
        parts.append(f"{column}{'' if is_code else f' = {messages.of_value(value)}'} ({share:.0%})")
    return ", ".join(parts) or "-"


def summary(est: Detector, found: pd.DataFrame, given: tuple[str, ...]) -> list[str]:
    """Return how many rows are beyond the cutoff, how many are so by chance, and what is given."""
    n, odd = len(found), int((~found["normal"]).sum())
    rate = est.fit_.cutoff.rate
    chance = estimators.words.none_beyond(n, rate) or (
        f"{rate:.0%} of normal rows do so, about {rate * n:.0f} in a table without odd rows."
    )
    lines = [
        f"{odd} of {n} rows lie beyond the cutoff. {chance} p is the share of rows that are at "
        f"least as odd, {found['p_value'].min():.2g} or more; how far a row lies off is its "
        "surprise."
    ]
    if given:
        lines.append(
            f"p given: the other columns, given {' and '.join(given)}; P(normal), surprise and "
            "shares are of all columns."
        )
    return lines


def copies(est: Detector, names: pd.Index) -> list[str]:
    """Return which rows are normal beside their copies only, or that most rows have copies."""
    from ..estimators.questions.copies import copied, hidden_copies

    fit = est.fit_
    n, of_copies = len(fit.data.rows), int(copied(fit).sum())
    if 2 * of_copies > n:
        rows = f"All {n}" if of_copies == n else f"{of_copies} of {n}"
        return [f"{rows} rows have copies: each is judged beside its copy; drop duplicates first."]
    groups = hidden_copies(fit)
    if not groups:
        return []
    held = fit.data.row_names
    named = [", ".join(str(names[held[i]]) for i in group) for group in groups[:NAMED]]
    more = f" and {len(groups) - NAMED} more groups" if len(groups) > NAMED else ""
    return [
        f"{sum(map(len, groups))} rows hide each other: they have copies, equal or nearly so, "
        f"beside which they are normal, and without which they lie beyond the cutoff: rows "
        f"{'; '.join(named)}{more}."
    ]


def printed(found: pd.DataFrame, odd: np.ndarray, texts: list[str]) -> Table:
    """Return the table of the oddest rows; those that are not odd are dim."""
    ranks = [name for name in ("p_value", "p_given") if name in found]
    ends = [name for name in ("surprise_low", "surprise_high") if name in found]
    head = [str(found.columns[0]), *("p", "p given")[: len(ranks)], "P(normal)", "surprise"]
    cells = [
        [
            str(row.iloc[0]),
            *(f"{row[name]:.3f}" for name in ranks),
            f"{row['probability_normal']:.2f}",
            _nats(row["surprise"]),
            *([f"[{', '.join(_nats(row[name]) for name in ends)}]"] if ends else []),
            text,
        ]
        for (_, row), text in zip(found.iterrows(), texts, strict=True)
    ]
    return table_of([*head, *["90 %"][: len(ends)], "reason"], cells, ~odd, max_width=20)


def _nats(surprise: float) -> str:
    return f"{surprise:z.2f}" if surprise < 100.0 else f"{surprise:,.0f}"
