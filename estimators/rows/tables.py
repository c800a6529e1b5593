"""The user's own table: its columns, its label, its ids, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ...inference.warning import DataWarning, warn
from ..labels import minority_rows, read_labels
from ..messages import columns as the_columns
from ..messages import did_you_mean, quoted
from .columns import advice, as_numbers, dates_of, kind_of, moments
from .files import COMMAS, CsvFormat, naming, read_csv
from .gaps import MISSING


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
        pairs = [("--label", self.label), ("--id", self.id)]
        pairs += [("--category", name) for name in dict.fromkeys(self.categories)]
        named = [(option, name) for option, name in pairs if name is not None]
        for i, (option, name) in enumerate(named):
            for other, same in [*named[i + 1 :], *(("--drop", each) for each in self.drop)]:
                if name == same:
                    raise ValueError(
                        f"{option} and {other} both name the column {name!r}; it can be one of them"
                    )

    @property
    def others(self) -> dict[str, str]:
        """The columns that are no features, each with the option that names it."""
        named = [(self.label, "--label"), (self.id, "--id")]
        named += [(name, "--drop") for name in self.drop]
        return {name: option for name, option in named if name is not None}

    def check(self, path: Path, columns: list[str]) -> None:
        """Raise a ValueError if a named column is not among those of the file."""
        named = self.others | dict.fromkeys(self.categories, "--category")
        for name, option in named.items():
            if name not in columns:
                kind = "label column" if option == "--label" else "column"
                raise ValueError(
                    f"{path}: {kind} {name!r} ({option}) is not in the table"
                    f"{did_you_mean(name, columns)}; it has {quoted(columns)}"
                )


def read_table(
    path: str | Path,
    label: str | None = None,
    layout: Layout | None = None,
    texts: Collection[str] = (),
) -> pd.DataFrame:
    """Read a CSV file with a header.

    Parameters
    ----------
    path : str or path
    label : str, optional
        The class column, which is read by the rule of :func:`bsvdd.estimators.labels.read_labels`.
        It need not be in the file.
    layout : Layout, optional
        In place of ``label``: columns that the file must have. Those to drop are left out, and the
        ids, as text, are the index of the table. Without ids the index counts rows, from 0.
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
    path = Path(path)
    form = COMMAS if layout is None else layout.form
    if layout is not None:
        label = layout.label
        texts = [*texts, *layout.categories]
    id_ = None if layout is None else layout.id
    table = read_csv(path, form, texts, [name for name in (label, id_) if name is not None])
    if layout is not None:
        layout.check(path, list(table.columns))
    if table.empty:
        raise ValueError(f"{path} has a header but no rows")
    if label is not None and label in table:
        table[label] = pd.Series(read_labels(table[label].tolist()), table.index)
    if layout is None:
        return table
    if id_ is not None:
        table.index = pd.Index(table[id_], name=id_)
        _warn_of_repeated(path, table.index)
    return table.drop(columns=[*layout.drop, *([] if id_ is None else [id_])])


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


def place(table: pd.DataFrame, number: int) -> str:
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


def features(
    table: pd.DataFrame,
    columns: list[str] | None = None,
    asks_for_label: bool = True,
    form: CsvFormat = COMMAS,
    categories: Collection[str] | None = None,
) -> pd.DataFrame:
    """Return the named columns, or all; raise a ValueError if one is missing or not numeric.

    Parameters
    ----------
    table : pandas.DataFrame
    columns : list of str, optional
    asks_for_label : bool, default=True
        Whether a column of text with two values may be the classes, and is an error.
    form : CsvFormat
    categories : collection of str, optional
        Columns that are categories; others of text are too, unless they look like numbers, an id or
        a label. Default: no column is.
    """
    if columns is not None:
        require_columns(table, columns)
        table = table[columns]
    known = set(categories or ())
    kinds = {c: "category" if c in known else kind_of(table[c], form.decimal) for c in table}
    trouble = {c: kind for c, kind in kinds.items() if kind not in ("numbers", "dates", "category")}
    texts = [c for c, kind in kinds.items() if kind == "category" and c not in known]
    two = [c for c in texts if asks_for_label and table[c].nunique() == 2]
    if categories is None or not texts:
        two = []
    lines = advice(table, trouble, form.decimal)
    if two:
        lines.append(
            f"{the_columns(two, 'has', 'have')} two values: --label {str(two[0])!r} --minor VALUE "
            f"if this is the class, else --category {str(two[0])!r}"
        )
    if categories is None and texts:
        options = " ".join(f"--drop {str(c)!r}" for c in texts[:3])
        more = " ..." if len(texts) > 3 else ""
        lines.append(f"encode categories as numbers, or leave them out: {options}{more}")
    if lines:
        named = [*trouble, *(texts if categories is None else two)]
        raise ValueError(f"{the_columns(named, 'is', 'are')} not numeric; {'; '.join(lines)}")
    if not table.shape[1]:
        raise ValueError("the table has no feature columns")
    dates = [c for c, kind in kinds.items() if kind == "dates"]
    if dates:
        first = moments(table[dates[0]].dropna(), dates_of(table[dates[0]]).form).min()
        warn(
            f"{the_columns(dates, 'has', 'have')} dates, read as days since the first, "
            f"{first:%Y-%m-%d}; leave out by --drop {str(dates[0])!r}",
            DataWarning,
        )
    numbers = {c: as_numbers(table[c], form.decimal) for c, k in kinds.items() if k == "numbers"}
    typed = {c: v for c, v in numbers.items() if not pd.api.types.is_numeric_dtype(table[c])}
    categorical = [c for c, kind in kinds.items() if kind == "category"]
    return table.assign(**typed).astype(dict.fromkeys(categorical, "category"))


def gaps(X: pd.DataFrame) -> np.ndarray:
    """Return which values are missing or infinite, shape (n, p)."""
    text = [c for c in X if not pd.api.types.is_numeric_dtype(X[c])]
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


def warn_of_columns(X: pd.DataFrame) -> None:
    """Warn of columns of numbers with two values, which may be the label."""
    numeric = X.select_dtypes(["number", "bool"])
    two = [c for c in numeric if X[c].nunique() == 2]
    if two:
        low, high = sorted(X[two[0]].unique().tolist())
        warn(
            f"{the_columns(two, 'has', 'have')} two values ({str(two[0])!r}: {low} and {high}), "
            "and no label is named: all rows count as majority, and the column as a feature; if "
            f"it is the class, give --label {str(two[0])!r} --minor VALUE",
            DataWarning,
        )


def split_label(
    table: pd.DataFrame,
    label: str,
    minor: str | None,
    form: CsvFormat = COMMAS,
    categories: Collection[str] | None = None,
    unlabelled: bool = False,
) -> tuple[pd.DataFrame, np.ndarray]:
    """Return the features, and which rows belong to the minority.

    Parameters
    ----------
    table : pandas.DataFrame
    label : str
        Name of the class column.
    minor : str or None
        Value of the minority class. If None, the labels must be {0, 1} or {-1, 1} and are read by
        the rules of :mod:`bsvdd.estimators.labels`.
    form, categories
        As in :func:`features`.
    unlabelled : bool, default=False
        Whether rows without a label stay. If there are any, the classes are 1.0 for the minority,
        0.0 for the majority and NaN.

    Raises
    ------
    ValueError
        The table has no such column, the value does not occur in it, a row has no label, another
        column is not numeric, or the labels are ambiguous.
    """
    if label not in table.columns:
        raise ValueError(
            f"label column {label!r} is not in the table{did_you_mean(label, table.columns)}; it "
            f"has {quoted(table.columns)}"
        )
    y = table[label].to_numpy()
    labelled = ~np.asarray(pd.isna(y))
    gaps = np.flatnonzero(~labelled)
    if len(gaps) and unlabelled and labelled.any():
        y = np.array(y[labelled].tolist())  # with gaps it holds objects
    elif len(gaps):
        raise ValueError(
            f"label column {label!r} has no label in {place(table, gaps[0])}, and in {len(gaps)} "
            f"of {len(y)} rows in all; leave these rows out, by --missing drop, or give them a "
            "label; bsvdd fit takes unlabelled rows by --prior GraphLaplacian, and so does "
            "prior=priors.GraphLaplacian() in Python"
        )
    value: Any = minor
    if minor is not None:
        texts = any(isinstance(each, str) for each in y)
        value = minor if texts else read_labels([minor])[0]
        if isinstance(value, np.bool_) != (y.dtype == bool) or not (y == value).any():
            values = pd.unique(y)
            raise ValueError(
                f"the minority value {minor!r} never occurs in column {label!r}"
                f"{did_you_mean(minor, values)}; it has {quoted(values)}"
            )
    X = features(table.drop(columns=label), None, False, form, categories)
    minority = minority_rows(y, len(y), value)
    if labelled.all():
        return X, minority
    classes = np.full(len(labelled), np.nan)
    classes[labelled] = minority
    return X, classes


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
        As in :func:`split_label`.
    missing : {"error", "drop", "impute"}, default="error"
        What gaps are: an error; a reason to leave the row out, in the label too; or values that
        the caller imputes, which are NaN in the result.
    unlabelled : bool, default=False
        As in :func:`split_label`; not with "drop", which leaves such rows out.

    Raises
    ------
    ValueError
        As in :func:`read_table` and :func:`split_label`, or a feature has gaps and ``missing`` is
        "error", or has no value at all. The message names the file.

    Warns
    -----
    DataWarning
        As in :func:`read_table` and :func:`warn_of_columns`; rows with gaps are counted.
    """
    if missing not in MISSING:
        raise ValueError(f"missing must be one of {quoted(MISSING)}, got {missing!r}")
    table = read_table(path, layout=layout)
    n_rows = len(table)
    if missing == "drop" and layout.label is not None:
        table = table[table[layout.label].notna().to_numpy()]
    with naming(path):
        if layout.label is None:
            X = features(table, None, layout.may_have_classes, layout.form, layout.categories)
            minority = None
        else:
            X, minority = split_label(
                table, layout.label, minor, layout.form, layout.categories, unlabelled
            )
        X, minority = _without_gaps(X, minority, n_rows, missing)
    if layout.label is None and layout.may_have_classes:
        warn_of_columns(X)
    return X, minority


def _without_gaps(
    X: pd.DataFrame, minority: np.ndarray | None, n_rows: int, missing: str
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the rows by the policy ``missing``, and warn of their number."""
    bad = gaps(X)
    with_gaps = bad.any(axis=1)
    if missing == "error" or X.isna().all().any():
        check_gaps(X, bad)
    elif missing == "impute":
        check_gaps(X, bad & ~X.isna().to_numpy())  # infinite values are an error still
        if with_gaps.any():
            warn(
                f"{int(with_gaps.sum())} of {len(X)} rows have gaps ({int(bad.sum())} values), "
                "filled by the median of the majority's training rows, or by their most frequent "
                "category: left-out distances, false-alarm rates and p-values take these values as "
                "if they had been observed, so they hold approximately, and less so with many gaps",
                DataWarning,
            )
    else:
        kept = ~with_gaps
        if not kept.any():
            raise ValueError(
                f"all {n_rows} rows have a gap, so that none is left; leave out the columns with "
                "most gaps by --drop, or use --missing impute"
            )
        if kept.sum() < n_rows:
            warn(
                f"{n_rows - int(kept.sum())} of {n_rows} rows have gaps and are left out; if rows "
                "with gaps are of another kind, nothing here is about them",
                DataWarning,
            )
        X, minority = X[kept], None if minority is None else minority[kept]
    return X, minority
