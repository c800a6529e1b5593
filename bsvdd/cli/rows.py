"""What people know about rows: which belong together, and which they trust less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from .. import tables
from ..base import messages
from ..base.warning import DataWarning, collected, warn
from .options import Options, option_set, repeatable

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


HALF_LIFE = {  # what is expected, by the kind of the column
    "dates": (
        "more than 0 weeks, days or hours, such as 2W, 90D or 12h, as there are dates"
    ),
    "numbers": "a positive number, in the unit of the column",
}


@dataclass(frozen=True)
class RowOptions:
    """Columns about rows, and no features: which belong together, what each counts."""

    group: tuple[str, ...] = ()
    weight: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    suspect: tuple[str, ...] = ()
    group_copies: bool = False

    def __post_init__(self) -> None:
        if len(self.group) + self.group_copies > 1:
            raise click.UsageError(
                "--group is one column, without --group-copies; join several into one"
            )

    @property
    def said(self) -> list[str]:
        """The options that were given, in words."""
        given = {**vars(self), "group_copies": ()}
        found = [f"{name} {v}" for name, values in given.items() for v in values]
        return [*found, *["copies leave together"] * self.group_copies]

    def taken(self, X: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, np.ndarray]]:
        """Return the features of a table, and what ``fit`` takes of rows.

        Parameters
        ----------
        X : pandas.DataFrame

        Returns
        -------
        rest : pandas.DataFrame
        of_rows : dict
            The ``groups`` and ``sample_weight`` of the rows, if they are given.

        Raises
        ------
        ValueError
            A column is not in the table, or its values are no weights, dates, or
            levels.
        """
        columns = [*self.group, *self.weight]
        found: dict[str, Any] = {}
        for name in self.group:
            found["groups"] = _column(X, "--group", name).to_numpy()
        weights = [_weights(_column(X, "--weight", name)) for name in self.weight]
        for text in self.recent:
            x, value = _named(X, "--recent", text)
            weights.append(_recent(x, value))
            columns.append(x.name)
        for text in self.suspect:
            x, value = _named(X, "--suspect", text)
            weights.append(_suspect(x, value))
            columns.append(x.name)
        if weights:
            found["sample_weight"] = math.prod(weights)
        rest = X.drop(columns=columns)
        if not rest.shape[1]:
            raise ValueError(
                "the table has no feature columns besides those about rows"
            )
        if self.group_copies:
            found["groups"] = tables.copies.copies(rest)
        return rest, found


def features(
    X: pd.DataFrame,
    keep: tuple[str, ...],
    table: tables.table.Table | None,
    groups: np.ndarray | None = None,
) -> tuple[pd.DataFrame, tables.training.TrainingTable]:
    """Return the columns of a table that are features, and all as they are read.

    Parameters
    ----------
    X : pandas.DataFrame
    keep : tuple of str
        Columns that are features in any case; texts among them are categories.
    table : Table, optional
        How the columns are read.
    groups : ndarray of shape (n,), optional
        The groups of the rows, if they are given.

    Returns
    -------
    features : pandas.DataFrame
    read : TrainingTable

    Raises
    ------
    ValueError
        There is no such column, or none is a feature.
    """
    for name in keep:
        _column(X, "--keep", name)
    with collected():  # the fit has the same warnings
        read = tables.training.TrainingTable.read(X, table)
    none = tables.features.no_features(
        read.frame, read.table.columns, read.values, groups
    )
    texts = [name for name in keep if read.kinds[name] == "names"]
    out = [each for each in none if each not in (*keep, *read.table.cyclic)]
    if len(out) == X.shape[1]:
        why = "; ".join(f"{each!r} {none[each]}" for each in out)
        raise ValueError(f"no column is a feature: {why}; --keep COLUMN makes it one")
    for column in out:
        warn(
            f"column {column!r} {none[column]}: it is left out; --keep {column!r} "
            f"makes it a feature, --id {column!r} names the rows by it",
            DataWarning,
        )
    return X.drop(columns=out).astype(dict.fromkeys(texts, "category")), read


def _named(X: pd.DataFrame, option: str, text: str) -> tuple[pd.Series, str]:
    """Return the column and the value of COLUMN=VALUE; both may have the sign."""
    parts = [text[:i] for i, sign in enumerate(text) if sign == "="]
    if not parts:
        raise ValueError(f"{option} {text}: expected COLUMN=VALUE")
    name = next((each for each in parts if each in X), parts[0])
    return _column(X, option, name), text[len(name) + 1 :]


def _column(X: pd.DataFrame, option: str, name: str) -> pd.Series:
    """Return a column; a ValueError if there is none of that name."""
    if name not in X:
        raise ValueError(
            f"{option}: {name!r} is no column beside the label, the id and those that "
            f"are dropped{messages.did_you_mean(name, X)}; there are "
            f"{messages.quoted(X)}"
        )
    return X[name]


def _weights(x: pd.Series) -> np.ndarray:
    """Return a column as numbers; a ValueError for the first cell that is none."""
    import pandas as pd

    from ..tables.columns import first_row, numbered

    numbers = pd.to_numeric(x, errors="coerce").to_numpy(dtype=float, na_value=math.nan)
    if (bad := numbers != numbers).any():  # NaN
        value = x[bad].iloc[0]
        cell = "no value" if pd.isna(value) else f"{value!r:.40}"
        raise ValueError(
            f"--weight {x.name!r}: expected a number in each row, got {cell} in "
            f"{first_row(numbered(x), bad)}"
        )
    return numbers


def _recent(x: pd.Series, half_life: str) -> np.ndarray:
    """Return weights that halve with each half-life before the latest row."""
    import pandas as pd

    from ..tables.columns import first_row, numbered

    with collected():  # what is said of features
        table, floats = tables.table.Table().fit_floats(x.to_frame())
    column = table.columns[0]
    if column.kind not in HALF_LIFE:
        raise ValueError(
            f"--recent {x.name!r}: expected dates or numbers, got {x.iloc[0]!r:.40}"
        )
    of_dates = column.kind == "dates"
    expected = HALF_LIFE[column.kind]
    try:
        days = pd.Timedelta(half_life) / pd.Timedelta(days=1) if of_dates else None
        h = float(half_life) if days is None else days
        if (of_dates and half_life.strip().isdigit()) or not h > 0.0:
            raise ValueError
    except ValueError as error:
        raise ValueError(
            f"--recent {x.name}={half_life}: expected {expected}"
        ) from error
    values = floats[:, 0]
    if (missing := values != values).any():  # NaN
        raise ValueError(
            f"--recent {x.name!r}: {first_row(numbered(x), missing)} has "
            f"none of the {column.kind}; fill it, or leave such rows out"
        )
    weight: np.ndarray = 0.5 ** ((values.max() - values) / h)
    return weight


def _suspect(x: pd.Series, value: str) -> np.ndarray:
    """Return the weight 0 for rows of a value, 1 for the others."""
    cells = tables.columns.texts(x.reset_index(drop=True))
    # as a whole number is written
    wanted = value if (cells == value).any() else value.removesuffix(".0")
    if not (cells == wanted).any():
        known = cells.unique()
        raise ValueError(
            f"--suspect {x.name}={value}: no row has this value"
            f"{messages.did_you_mean(value, known)}; {x.name!r} has "
            f"{messages.quoted(known[:20])}"
        )
    return (cells.reindex(range(len(x))) != wanted).to_numpy(float)


OF_ROWS: Options = {
    "group": repeatable(
        "COLUMN",
        "Column of groups, such as patients or days: answers are for rows of a new "
        "group.",
    ),
    "group_copies": {
        "is_flag": True,
        "help": "Rows that are equal, or nearly so, are one group.",
    },
    "weight": repeatable("COLUMN", "Column of weights, such as those of a survey."),
    "recent": repeatable(
        "COLUMN=HALF-LIFE", "Column of dates, such as taken=90D: older rows count less."
    ),
    "suspect": repeatable(
        "COLUMN=VALUE",
        "Rows that count nothing, such as technician=T3; they are answered. "
        "Repeatable.",
    ),
}
known = option_set("known", RowOptions, OF_ROWS)
keep = click.option(
    "--keep",
    metavar="COLUMN",
    multiple=True,
    help="Column that is a feature, though it names rows, has free text, counts on or "
    "is nearly empty; repeatable.",
)
