"""What people know about rows: which belong together, and which they trust less."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from ..estimators import messages, tables
from .options import grouped

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd


@dataclass(frozen=True)
class RowOptions:
    """Columns that say which rows belong together, and what each counts; they are no features."""

    group: str | None
    weight: str | None
    recent: str | None
    suspect: tuple[str, ...]

    @property
    def said(self) -> list[str]:
        """The options that were given, in words."""
        one = {"group": self.group, "weight": self.weight, "recent": self.recent}
        found = [f"{name} {value}" for name, value in one.items() if value is not None]
        return found + [f"suspect {each}" for each in self.suspect]

    def taken(self, X: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Return the features of a table, and the weights and groups that ``fit`` takes.

        Raises
        ------
        ValueError
            A column is not in the table, or its values are no weights, dates, or levels.
        """
        found: dict[str, Any] = {}
        weights, columns = [], []
        if self.group is not None:
            found["groups"] = _column(X, "--group", self.group).to_numpy()
            columns.append(self.group)
        if self.weight is not None:
            weights.append(_numbers(_column(X, "--weight", self.weight), "--weight"))
            columns.append(self.weight)
        for option, text in [("--recent", self.recent), *(("--suspect", s) for s in self.suspect)]:
            if text is not None:
                name, _, value = text.rpartition("=")
                x = _column(X, option, name)
                weights.append(_recent(x, value) if option == "--recent" else _suspect(x, value))
                columns.append(name)
        if weights:
            found["sample_weight"] = math.prod(weights)
        rest = X.drop(columns=columns)
        if not rest.shape[1]:
            raise ValueError("the table has no feature columns besides those about rows")
        return rest, found


def _column(X: pd.DataFrame, option: str, name: str) -> pd.Series:
    """Return a column; a ValueError if there is none of that name."""
    if name not in X:
        of = {"--recent": "--recent COLUMN=HALF-LIFE", "--suspect": "--suspect COLUMN=VALUE"}
        raise ValueError(
            f"{of.get(option, option)}: column {name!r} is not in the table"
            f"{messages.did_you_mean(name, X)}; it has {messages.quoted(X)}"
        )
    return X[name]


def _numbers(x: pd.Series, option: str) -> np.ndarray:
    """Return a column as numbers; a ValueError that names the first cell that is none."""
    import pandas as pd

    numbers = pd.to_numeric(x, errors="coerce").to_numpy(dtype=float, na_value=math.nan)
    if (bad := numbers != numbers).any():  # NaN
        raise ValueError(
            f"{option} {x.name!r}: expected a number in each row, got {x.iloc[bad.argmax()]!r:.40} "
            f"in row {bad.argmax()} (counted from 0; {bad.sum()} such rows)"
        )
    return numbers


def _recent(x: pd.Series, half_life: str) -> np.ndarray:
    """Return weights that halve with each half-life before the latest row."""
    import pandas as pd

    column = tables.reading.column_of(x)
    unit = (
        "" if column.kind != "dates" else "a duration such as 90D or 12h, as the column has dates"
    )
    try:
        h = pd.Timedelta(half_life) / pd.Timedelta(days=1) if unit else float(half_life)
        if (unit and half_life.strip().isdigit()) or not h > 0.0:
            raise ValueError
    except ValueError as error:
        expected = unit or "a positive number, in the unit of the column"
        raise ValueError(f"--recent {x.name}={half_life}: expected {expected}") from error
    age = _numbers(column.floats(x), "--recent")
    weight: np.ndarray = 0.5 ** ((age.max() - age) / h)
    return weight


def _suspect(x: pd.Series, value: str) -> np.ndarray:
    """Return the weight 0 for rows of a value, 1 for the others."""
    cells = tables.columns.texts(x)
    if not (cells == value).any():
        known = cells.unique()
        raise ValueError(
            f"--suspect {x.name}={value}: no row has this value"
            f"{messages.did_you_mean(value, known)}; {x.name!r} has {messages.quoted(known[:20])}"
        )
    return (cells.reindex(x.index) != value).to_numpy(float)


known = grouped(
    "known",
    RowOptions,
    {
        "group": click.option(
            "--group",
            metavar="COLUMN",
            help="Column of batches, such as patients or days: answers are those of new batches.",
        ),
        "weight": click.option(
            "--weight", metavar="COLUMN", help="Column of weights, such as those of a survey."
        ),
        "recent": click.option(
            "--recent",
            metavar="COLUMN=HALF-LIFE",
            help="Column of dates, such as taken=90D: older rows count less.",
        ),
        "suspect": click.option(
            "--suspect",
            metavar="COLUMN=VALUE",
            multiple=True,
            help="Rows that count nothing, such as technician=T3; they are answered. Repeatable.",
        ),
    },
)
