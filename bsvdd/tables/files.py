"""Tables in files: CSV, TSV, Parquet and Excel by pandas."""

from __future__ import annotations

import io
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from ..base.messages import did_you_mean, naming, quoted
from ..base.warning import DataWarning, warn
from .columns import GAP, SWAPPED, amounts, level
from .labels import read_labels, read_minority, split
from .reading import EXACT, is_code
from .table import Table

# any other file but Parquet and Excel is CSV, but for these
OTHERS = ".gz .zip .json .jsonl .xls .ods .dta .sav .sas7bdat .h5 .html .xml .npy .npz .feather"
SEPARATORS = ";\t|, "  # that a header may have instead of the one that was named
SIGNS = "|#N/A|#N/A N/A|#NA|-NaN|-nan|<NA>|N/A|NA|NULL|NaN|n/a|nan|null"  # as pandas has them
GAPS = set(SIGNS.split("|"))
TRUTH = {"true": True, "false": False}


@dataclass(frozen=True)
class Layout:
    """What the columns of a file are, beside what they say themselves; and its signs.

    Parameters
    ----------
    label, id : str, optional
        Columns of the classes, and of names of the rows. They are texts, and no
        features.
    drop : tuple of str
        Columns to leave out.
    sep, decimal : str
        Of CSV: the sign between two fields, or "tab"; "." or ",".
    category : tuple of str
        Columns of categories, though they may look like numbers.
    order : tuple of str
        Columns of ordered categories, each with its levels: "size=small<medium<large".
    missing : tuple of str
        Values that stand for "not known".
    cyclic : tuple of str
        Columns that come again, with their periods: "hour=24".
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    sep: str = ","
    decimal: str = "."
    category: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    cyclic: tuple[str, ...] = ()

    @property
    def sign(self) -> str:
        """The sign between two fields."""
        return self.sep.replace("tab", "\t")

    @property
    def levels(self) -> dict[str, list[str]]:
        """The columns of ordered categories, each with its levels."""
        parts = [text.partition("=") for text in self.order]
        return {
            name.strip(): [v.strip() for v in of.split("<")] for name, _, of in parts
        }

    @property
    def table(self) -> Table:
        """How the features are read; a ValueError for a period that is none."""
        parts = [text.rpartition("=") for text in self.cyclic]
        try:
            return Table(
                {name: float(period) for name, _, period in parts}, self.missing
            )
        except ValueError as error:
            raise ValueError(
                f"--cyclic COLUMN=PERIOD, such as hour=24: {error}"
            ) from error

    def named(self) -> dict[str, str]:
        """Return the columns that are named, each with its option.

        Raises
        ------
        ValueError
            One column is two things, or a sign or an order is none.
        """
        if len(self.sign) != 1 or self.sign == self.decimal:
            raise ValueError(
                f"--sep must be one sign, not that of --decimal, got {self.sep!r}"
            )
        if wrong := [name for name, levels in self.levels.items() if len(levels) < 2]:
            raise ValueError(
                f"--order must be as 'size=small<medium<large', got {wrong[0]!r}"
            )
        one = {"--label": [self.label], "--id": [self.id], "--category": self.category}
        many = one | {"--drop": self.drop, "--order": self.levels}
        found: dict[str, str] = {}
        for option, name in (
            (o, n) for o, names in many.items() for n in names if n is not None
        ):
            if (other := found.setdefault(name, option)) != option:
                raise ValueError(
                    f"{other} and {option} both name {name!r}; it can be one of them"
                )
        return found


def read_table(
    path: str | Path,
    label: str | None = None,
    *,
    sep: str | None = None,
    decimal: str = ".",
    text: Collection[str] = (),
) -> Any:
    r"""Return the table in a file; every estimator takes it.

    Parameters
    ----------
    path : str or path
        ``.csv``, ``.tsv`` or ``.txt`` with a header; ``.parquet``; ``.xlsx``. A first
        column without a name is the index.
    label : str, optional
        Name of the column of the labels.
    sep : str, optional
        The sign between two fields. Default: a tab in ``.tsv``, else a comma.
    decimal : {".", ","}
        The decimal sign.
    text : collection of str
        Columns that are texts as they stand, in which NA is no gap. Other columns of
        digits are numbers, but codes such as ``007`` are texts.

    Returns
    -------
    X : pandas.DataFrame of shape (n, p)
    y : pandas.Series of shape (n,)
        With ``label`` only: the labels, which are no column of X then.

    Raises
    ------
    ValueError
        The file is not of its format or has no rows, its header lacks a name or repeats
        one, or ``label`` is no column.
    FileNotFoundError
    ImportError
        Parquet needs pyarrow, Excel needs openpyxl.

    Warns
    -----
    DataWarning
        A sign in a column of text is read as a gap; text is not UTF-8; a workbook has
        more sheets.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import bsvdd
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "people.csv"
    ...     _ = path.write_text("size,city,kind\n1.7,Bonn,0\n1.8,Rom,1\n")
    ...     X, y = bsvdd.read_table(path, label="kind")
    >>> X["city"].tolist(), y.tolist()
    (['Bonn', 'Rom'], [0, 1])
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"path: there is no file {path}")
    sep = sep or ("\t" if path.suffix == ".tsv" else ",")
    table = read_own(
        path, Layout(sep=sep, decimal=decimal, category=tuple(text)), label
    )
    return table if label is None else split(table, label, "label", str(path))


def read_own(
    path: str | Path, layout: Layout, label: str | None = None
) -> pd.DataFrame:
    """Return the table in a file as the commands read it, with the ids as its index.

    Columns to drop are left out, and ``label`` is the name of the labels, if they are
    no features.

    Raises
    ------
    ValueError
        As :func:`bsvdd.read_table`, or the file lacks a column of the layout.
    """
    kind = Path(path).suffix.lower()
    path = Path(path)
    named = layout.named()
    if kind in OTHERS.split() or not path.is_file():
        what = (
            f"a file {kind!r}, which is not read"
            if path.is_file()
            else "no regular file"
        )
        raise ValueError(
            f"{path} is {what}; expected .csv, .tsv, .txt, .parquet or .xlsx: read it "
            "by pandas, and give the data frame, or write it by .to_csv('table.csv', "
            "index=False)"
        )
    text = {label, layout.label, layout.id, *layout.category, *layout.levels}
    if kind == ".parquet":
        table = _by_pandas(path, "pyarrow", "parquet")
        for name in text.intersection(table) - {label, layout.label}:
            table[name] = table[name].astype(object).map(level, na_action="ignore")
    else:
        rows = (
            _by_pandas(path, "openpyxl", "excel")
            if kind == ".xlsx"
            else _csv(path, layout.sign)
        )
        table = _with_names(path, rows)
        with naming(path):
            each = {n: _typed(table[n], layout.decimal, n in text) for n in table}
        table = pd.DataFrame(each, table.index)
        for name in {label, layout.label}.intersection(table):
            labels = read_labels(table[name].fillna("").tolist())
            table[name] = pd.Series(labels, table.index, labels.dtype)
    if table.empty:
        raise ValueError(f"{path} has no rows")
    for name, option in named.items():
        if name not in table:
            near = f"{did_you_mean(name, table)}; it has {quoted(table)}"
            raise ValueError(
                f"{path}: column {name!r} ({option}) is not in the table{near}"
            )
    if layout.id is not None:
        table.index = pd.Index(table.pop(layout.id).fillna(""), name=layout.id)
        again = table.index[table.index.duplicated() & (table.index != "")]
        if len(again):
            warn(
                f"{path}: several rows have the id {again[0]!r:.80} in {layout.id!r}",
                DataWarning,
            )
    return table.drop(columns=list(layout.drop))


def read_features(
    path: str | Path, layout: Layout, minor: str | None = None
) -> tuple[Any, Any]:
    """Return the features of a file, and which rows are minority; None without a label.

    Raises
    ------
    ValueError
        As :func:`read_own` and :func:`~bsvdd.tables.labels.read_minority`.
    """
    known = layout.table.known
    table = read_own(path, layout)
    minority = None
    with naming(path):
        if layout.label is not None:
            minority = read_minority(table.pop(layout.label), minor)
        if not table.shape[1]:
            raise ValueError("the table has no feature columns")
        table = known(table)
        if (lacking := table.isna().all(axis=1).to_numpy()).any():
            raise ValueError(
                f"{lacking.sum()} of {len(table)} rows have no value in any column, "
                f"the first is row {lacking.argmax()} (counted from 0); leave them out"
            )
        for name, levels in layout.levels.items():
            if (
                bad := (table[name].notna() & ~table[name].isin(levels)).to_numpy()
            ).any():
                raise ValueError(
                    f"--order: {name!r} is {table[name][bad].iloc[0]!r:.40} in row "
                    f"{bad.argmax()} (counted from 0; {bad.sum()} such rows), no level "
                    f"of {' < '.join(levels)}"
                )
            table[name] = table[name].astype(pd.CategoricalDtype(levels, ordered=True))
        return table.astype(dict.fromkeys(layout.category, "category")), minority


def _by_pandas(path: Path, package: str, extra: str) -> pd.DataFrame:
    """Return a Parquet file, or the cells of the first sheet of a workbook."""
    try:
        if extra == "parquet":
            return pd.read_parquet(
                path, to_pandas_kwargs={"integer_object_nulls": True}
            )
        with pd.ExcelFile(path, engine=package) as book:
            if len(sheets := book.sheet_names) > 1:
                warn(
                    f"{path}: sheet {sheets[0]!r} is read, not {quoted(sheets[1:])}",
                    DataWarning,
                )
            return pd.read_excel(book, header=None, dtype=object, keep_default_na=False)
    except ImportError as error:
        raise ImportError(
            f"{path} needs {package}: pip install 'bsvdd[{extra}]'"
        ) from error
    except Exception as error:  # of any reader that pandas calls
        raise ValueError(f"{path} is damaged, or no {extra} file: {error}") from error


def _csv(path: Path, sep: str) -> pd.DataFrame:
    """Return the cells of CSV as texts, the header first."""
    content = path.read_bytes()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = content.decode("cp1252", "replace")
        shown = text[max(0, error.start - 9) : error.start + 9]
        warn(
            f"{path} is not UTF-8, and is read as Windows-1252: {shown!r}", DataWarning
        )
    if sign := _other_sign(text[: 2**16].splitlines()[:2], sep):
        name = "tab" if sign == "\t" else sign
        raise ValueError(
            f"{path}: the header has {sign!r} and not {sep!r}; name the separator: "
            f"--sep {name!r} (in Python read_table(path, sep={sign!r}))"
        )
    how: Any = {
        "dtype": str,
        "keep_default_na": False,
        "skip_blank_lines": sep in text[: 2**16],
    }
    try:
        if "\0" in text:
            raise ValueError("it has NUL bytes")
        return pd.read_csv(io.StringIO(text), header=None, sep=sep, **how)
    except ValueError as error:  # of the parser, or no rows
        why = str(error).partition("\n")[0]
        raise ValueError(
            f"{path} is no CSV in UTF-8 with a header that names every field of the "
            f"rows: {why}"
        ) from error


def _other_sign(lines: list[str], sep: str) -> str:
    """Return the sign between fields that the first two lines have instead of ``sep``, if any.

    A blank, which may be in a name, is one if it parts as many cells as names, with a
    number.
    """
    if len(lines) < 2 or sep in lines[0]:
        return ""
    names, cells = (line.split(" ") for line in lines)
    parted = len(names) == len(cells) and any(
        cell.replace(".", "").isdigit() for cell in cells
    )
    signs = SEPARATORS if parted else SEPARATORS.strip(" ")
    return next((sign for sign in signs if all(sign in line for line in lines)), "")


def _with_names(path: Path, rows: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose names are its first row; a first one without a name is the index."""
    names = rows.iloc[0].fillna("").map(level) if len(rows) else pd.Series([""])
    if (names[1:] == "").any() or not names.any():
        raise ValueError(
            f"{path}: the header, {quoted(names)}, has a column without a name"
        )
    if names.duplicated().any():
        name = names[names.duplicated()].iloc[0]
        raise ValueError(
            f"{path}: the header has the column {name!r} twice; rename one"
        )
    table = rows[1:].set_axis(list(names), axis=1).reset_index(drop=True)
    return table.set_index("").rename_axis(None) if names[0] == "" else table


def _typed(x: pd.Series, decimal: str, is_text: bool) -> pd.Series:
    """Return a column of cells as numbers or as true and false, if all of them are."""
    if x.dtype != "str" and not x.map(lambda v: isinstance(v, str) or pd.isna(v)).all():
        x = x.mask(x.isin(GAPS)).infer_objects()  # of a workbook
        return x.map(level, na_action="ignore") if is_text else x
    cells = x.astype("str") if is_text else x.astype("str").str.strip()
    known = cells[cells.notna() & ~cells.isin({""} if is_text else GAPS)]
    if decimal == "," and not is_text:
        swapped = known.str.translate(SWAPPED)
        fits, points = (amounts(each)["number"].notna() for each in (swapped, known))
        if len(bad := known[points & ~fits]):
            raise ValueError(
                f"column {x.name!r} has {bad.iloc[0]!r}, without a decimal comma"
            )
        known = swapped.where(fits, known)
    plain = known[known != GAP]
    if len(plain) and not is_text and not is_code(plain):
        numbers = pd.to_numeric(plain, errors="coerce")
        truth = plain.str.lower().map(TRUTH)
        if truth.notna().all():
            return truth.reindex(x.index)
        exact = (
            numbers.abs().max() < EXACT or not plain.str.fullmatch(r"[-+]?\d+").all()
        )
        if numbers.notna().all() and exact:
            return numbers.reindex(x.index)
    signs = (
        cells[cells.isin(GAPS - {""})].value_counts()
        if len(known) and not is_text
        else {}
    )
    for sign, n in signs.items():
        python = f"in Python read_table(path, text=[{x.name!r}])"
        category = f"if it is a category, --category {x.name!r} ({python})"
        warn(
            f"column {x.name!r}: {sign!r} in {n} rows is read as a gap; {category}",
            DataWarning,
        )
    return known.reindex(x.index)
