"""The user's own table: its columns, its label, its ids, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...inference.warning import DataWarning, warn
from ..inputs import naming
from ..labels import minority_rows, read_labels
from ..messages import columns as the_columns
from ..messages import did_you_mean, quoted
from .columns import as_numbers, dates_of, kinds_of
from .files import COMMAS, CsvFormat, read_csv

MISSING = ("error", "drop", "impute")
is_numeric = pd.api.types.is_numeric_dtype


@dataclass(frozen=True)
class Layout:
    """What the columns of a CSV file are, besides features; and its signs.

    Parameters
    ----------
    label : str, optional
        Column of the classes.
    id : str, optional
        Column that names the rows. It is no feature, and is read as text.
    drop : tuple of str
        Columns to leave out.
    form : CsvFormat
        Separator and decimal sign.
    categories : tuple of str
        Columns of categories that are numbers in the file, or could be an id or the label. Other
        columns of text are categories without being named.
    may_have_classes : bool, default=True
        Without a label, whether a column of two values may be the classes, and is asked about.

    Raises
    ------
    ValueError
        One column is two of these.

    Examples
    --------
    >>> from bsvdd.estimators.rows.tables import Layout
    >>> Layout(label="kind", id="name", drop=("remark",)).others
    {'kind': '--label', 'name': '--id', 'remark': '--drop'}
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    form: CsvFormat = COMMAS
    categories: tuple[str, ...] = ()
    may_have_classes: bool = True

    def __post_init__(self) -> None:
        seen: dict[str, str] = {}
        for option, name in self._named:
            if (other := seen.setdefault(name, option)) != option:
                raise ValueError(
                    f"{other} and {option} both name the column {name!r}; it can be one of them"
                )

    @property
    def _named(self) -> list[tuple[str, str]]:
        """The options, each with the column that it names."""
        one = [(f"--{name}", getattr(self, name)) for name in ("label", "id")]
        many = [("--category", name) for name in self.categories]
        many += [("--drop", name) for name in self.drop]
        return [(option, name) for option, name in [*one, *many] if name is not None]

    @property
    def others(self) -> dict[str, str]:
        """The columns that are no features, each with the option that names it."""
        return {name: option for option, name in self._named if option != "--category"}

    def check(self, path: Path, columns: list[str]) -> None:
        """Raise a ValueError if a named column is not among those of the file."""
        for option, name in self._named:
            if name not in columns:
                kind = "label column" if option == "--label" else "column"
                raise ValueError(
                    f"{path}: {kind} {name!r} ({option}) is not in the table"
                    f"{did_you_mean(name, columns)}; it has {quoted(columns)}"
                )


def read_table(
    path: str | Path, layout: Layout | None = None, texts: Collection[str] = ()
) -> pd.DataFrame:
    """Read a CSV file with a header.

    Labels are read by the rule of :func:`bsvdd.estimators.labels.read_labels`. Columns to drop are
    left out, and the ids, as text, are the index of the table; without ids it counts rows, from 0.

    Parameters
    ----------
    path : str or path
    layout : Layout, optional
        Columns that the file must have.
    texts : collection of str
        Further columns that are categories, and so are read as text; they need not be in the file.

    Raises
    ------
    ValueError
        The file is not CSV, its header lacks a name or repeats one, it has no rows, or it lacks a
        column of the layout.

    Warns
    -----
    DataWarning
        An id is repeated.
    """
    path, layout = Path(path), layout or Layout()
    label, id_ = layout.label, layout.id
    raw = [name for name in (label, id_) if name is not None]
    table = read_csv(path, layout.form, [*texts, *layout.categories], raw)
    layout.check(path, list(table.columns))
    if table.empty:
        raise ValueError(f"{path} has a header but no rows")
    if label is not None:
        table[label] = pd.Series(read_labels(table[label].tolist()), table.index)
    if id_ is not None:
        table.index = pd.Index(table.pop(id_), name=id_)
        _warn_of_repeated(path, table.index)
    return table.drop(columns=list(layout.drop))


def _warn_of_repeated(path: Path, ids: pd.Index) -> None:
    shared = ids.duplicated(keep=False) & (ids != "")
    if shared.any():
        first = np.flatnonzero(ids == ids[shared][0])
        warn(
            f"{path}: ids in the column {ids.name!r} repeat: {ids[first[0]]!r:.80} names rows "
            f"{first[0]} and {first[1]} (counted from 0), and {int(shared.sum())} of {len(ids)} "
            "rows share their id with another; a comparison can train on one row of an id and test "
            "on another",
            DataWarning,
        )


def place(table: pd.DataFrame | pd.Series, number: int) -> str:
    """Return how a message names a row: by its number, counted from 0, and by its id."""
    name = table.index.name
    of_id = "" if name is None else f"; {str(name)!r} is {table.index[number]!r:.80}"
    return f"row {number} (counted from 0{of_id})"


def require_columns(table: pd.DataFrame, names: list[str]) -> None:
    """Raise a ValueError if the table lacks one of the columns."""
    lacking = [name for name in names if name not in table.columns]
    if lacking:
        raise ValueError(
            f"the table lacks {the_columns(lacking)}{did_you_mean(lacking[0], table.columns)}; it "
            f"has {quoted(table.columns)}"
        )


def features(table: pd.DataFrame, layout: Layout) -> pd.DataFrame:
    """Return a table whose columns are numbers, dates as they are, and categories.

    Raises
    ------
    ValueError
        The table has no column, one is neither of these, or, without a label, one of text has two
        values and may be the classes.
    """
    if not table.shape[1]:
        raise ValueError("the table has no feature columns")
    kinds = kinds_of(table, layout.categories, layout.form.decimal)
    categories = [c for c, kind in kinds.items() if kind == "category"]
    two = [c for c in categories if c not in layout.categories and table[c].nunique() == 2]
    if two and layout.label is None and layout.may_have_classes:
        raise ValueError(
            f"{the_columns(two, 'is', 'are')} not numeric; {the_columns(two, 'has', 'have')} two "
            f"values: --label {str(two[0])!r} --minor VALUE if this is the class, else --category "
            f"{str(two[0])!r}"
        )
    dates = [c for c, kind in kinds.items() if kind == "dates"]
    if dates:
        first = dates_of(table[dates[0]]).moment(0.0)
        warn(
            f"{the_columns(dates, 'has', 'have')} dates, read as days since the first, "
            f"{first:%Y-%m-%d}; if they should not count: "
            + " ".join(f"--drop {str(c)!r}" for c in dates),
            DataWarning,
        )
    texts = [c for c, kind in kinds.items() if kind == "numbers" and not is_numeric(table[c])]
    numbers = {c: as_numbers(table[c], layout.form.decimal) for c in texts}
    return table.assign(**numbers).astype(dict.fromkeys(categories, "category"))


def gaps(X: pd.DataFrame) -> np.ndarray:
    """Return which values are missing or infinite, shape (n, p)."""
    text = [c for c in X if not is_numeric(X[c])]
    return X.isna().to_numpy() | np.isinf(X.assign(**dict.fromkeys(text, 0.0)).to_numpy(float))


def check_gaps(X: pd.DataFrame, bad: np.ndarray) -> None:
    """Raise a ValueError if a feature has gaps or infinite values, ``bad``; it counts them."""
    if not bad.any():
        return
    empty = X.columns[X.isna().all()]
    if len(empty):
        raise ValueError(
            f"{the_columns(empty, 'has', 'have')} no value in any row; leave out by "
            + " ".join(f"--drop {str(c)!r}" for c in empty[:3])
        )
    number, column = np.argwhere(bad)[0]
    counts = [f"{str(c)!r} ({n})" for c, n in zip(X.columns, bad.sum(axis=0), strict=True) if n]
    raise ValueError(
        f"{int(bad.any(axis=1).sum())} of {len(X)} rows have gaps or infinite values, in "
        f"{', '.join(counts[:8])}{f' and {len(counts) - 8} more' if len(counts) > 8 else ''}; the "
        f"first is {place(X, number)}, whose {str(X.columns[column])!r} is "
        f"{X.iat[number, column]}; drop or impute these rows, by --missing drop or --missing impute"
    )


def minority_of(y: pd.Series, minor: str | None = None, unlabelled: bool = False) -> np.ndarray:
    """Return which rows belong to the minority.

    Parameters
    ----------
    y : pandas.Series
        The column of the classes.
    minor : str, optional
        Value of the minority class. If None, the labels must be {0, 1} or {-1, 1} and are read by
        the rules of :mod:`bsvdd.estimators.labels`.
    unlabelled : bool, default=False
        Whether rows may lack a label. If there are any, the classes are 1.0 for the minority, 0.0
        for the majority and NaN.

    Raises
    ------
    ValueError
        The value does not occur, a row has no label, or the labels are ambiguous.
    """
    missing = y.isna().to_numpy()
    if missing.any() and not (unlabelled and not missing.all()):
        raise ValueError(
            f"label column {y.name!r} has no label in {place(y, int(missing.argmax()))}, and in "
            f"{int(missing.sum())} of {len(y)} rows in all; leave these rows out, by --missing "
            "drop, or give them a label; bsvdd fit takes unlabelled rows by --prior "
            "GraphLaplacian, and so does prior=priors.GraphLaplacian() in Python"
        )
    labels = y.to_numpy() if not missing.any() else np.array(y[~missing].tolist())
    value: Any = minor
    if minor is not None:
        value = minor if any(isinstance(v, str) for v in labels) else read_labels([minor])[0]
        if isinstance(value, np.bool_) != (labels.dtype == bool) or not (labels == value).any():
            values = pd.unique(labels)
            raise ValueError(
                f"the minority value {minor!r} never occurs in column {y.name!r}"
                f"{did_you_mean(minor, values)}; it has {quoted(values)}"
            )
    minority = minority_rows(labels, len(labels), value)
    if not missing.any():
        return minority
    classes = np.full(len(y), np.nan)
    classes[~missing] = minority
    return classes


def read_features(
    path: str | Path,
    layout: Layout,
    minor: str | None = None,
    missing: str = "error",
    unlabelled: bool = False,
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the features of a CSV file, and which rows are minority (None without a label).

    Parameters
    ----------
    path : str or path
    layout : Layout
    minor : str, optional
        As in :func:`minority_of`.
    missing : {"error", "drop", "impute"}, default="error"
        What gaps are: an error; a reason to leave the row out, in the label too; or values that
        the caller imputes, which are NaN in the result.
    unlabelled : bool, default=False
        As in :func:`minority_of`; not with "drop", which leaves such rows out.

    Raises
    ------
    ValueError
        As in :func:`read_table`, :func:`features` and :func:`minority_of`, or a feature has gaps
        and ``missing`` is "error", or has no value at all. The message names the file.

    Warns
    -----
    DataWarning
        As in :func:`read_table`; columns of dates, and without a label columns of two values, are
        named; rows with gaps are counted.
    """
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {quoted(MISSING)}, got {missing!r}")
    table, label, minority = read_table(path, layout), layout.label, None
    n_rows = len(table)
    with naming(path):
        if label is not None:
            if missing == "drop":
                table = table[table[label].notna().to_numpy()]
            minority = minority_of(table.pop(label), minor, unlabelled)
        X = features(table, layout)
        bad = gaps(X)
        with_gaps, n_gaps = bad.any(axis=1), int(bad.sum())
        if missing == "error" or X.isna().all().any():
            check_gaps(X, bad)
        elif missing == "impute":
            check_gaps(X, bad & ~X.isna().to_numpy())  # infinite values are an error still
        elif with_gaps.all():
            raise ValueError(
                f"all {n_rows} rows have a gap, so that none is left; leave out the columns with "
                "most gaps by --drop, or use --missing impute"
            )
    if missing == "impute" and n_gaps:
        warn(
            f"{int(with_gaps.sum())} of {len(X)} rows have gaps ({n_gaps} values), filled by the "
            "median of the majority's training rows, or by their most frequent category: left-out "
            "distances, false-alarm rates and p-values take these values as if they had been "
            "observed, so they hold approximately, and less so with many gaps",
            DataWarning,
        )
    if missing == "drop":
        X, minority = X[~with_gaps], None if minority is None else minority[~with_gaps]
        if len(X) < n_rows:
            warn(
                f"{n_rows - len(X)} of {n_rows} rows have gaps and are left out; if rows with gaps "
                "are of another kind, nothing here is about them",
                DataWarning,
            )
    if label is None and layout.may_have_classes:
        _warn_of_classes(X)
    return X, minority


def _warn_of_classes(X: pd.DataFrame) -> None:
    """Warn of columns of numbers with two values, which may be the label."""
    two = [c for c in X.select_dtypes(["number", "bool"]) if X[c].nunique() == 2]
    if two:
        low, high = sorted(X[two[0]].unique().tolist())
        warn(
            f"{the_columns(two, 'has', 'have')} two values ({str(two[0])!r}: {low} and {high}), "
            "and no label is named: all rows count as majority, and the column as a feature; if "
            f"it is the class, give --label {str(two[0])!r} --minor VALUE",
            DataWarning,
        )
