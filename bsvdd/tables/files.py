"""Tables in files: CSV, TSV, Parquet and Excel by pandas."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mode

import numpy as np
import pandas as pd

from ..base.messages import advised, did_you_mean, naming, quoted
from ..base.warning import DataWarning, warn
from .columns import LINE, NO_VALUE, SWAPPED, amounts, first_row, numbered, text_of
from .labels import TRUTH, read_labels, read_minority, split
from .reading import LARGEST_EXACT, is_code
from .table import Table

# any other file but Parquet and Excel is CSV
NOT_READ = {
    *(".gz", ".zip", ".json", ".jsonl", ".xls", ".ods", ".dta", ".sav", ".sas7bdat"),
    *(".h5", ".html", ".xml", ".npy", ".npz", ".feather"),
}
SEPARATORS = ";\t|, "  # that a header may have instead of the one that was named
UTF_16 = {  # by how text in Latin letters begins
    "utf-16-le": rb"\xff\xfe|[^\0]\0",
    "utf-16-be": rb"\xfe\xff|\0[^\0]",
}
MISSING = {  # signs for "not known", as pandas has them
    *("", "#N/A", "#N/A N/A", "#NA", "-NaN", "-nan", "<NA>", "N/A", "NA", "NULL"),
    *("NaN", "n/a", "nan", "null"),
}


def _parameter(name: str) -> str:
    """A parameter as the user knows it: the field category is ``text``."""
    return advised("parameter", "text" if name == "category" else name, name)


@dataclass(frozen=True)
class Layout:
    """What the columns of a file are, beside what they say themselves; and its signs.

    Parameters
    ----------
    label, id : str, optional
        Columns of the classes, and of names of the rows, which are texts. They are no
        features.
    drop : tuple of str
        Columns to leave out.
    sep, decimal : str
        Of CSV: the sign between two fields, or "tab"; "." or ",".
    category : tuple of str
        Columns of categories, though they may look like numbers.
    order : mapping of str to sequence of str
        Columns of ordered categories, each with its levels, the lowest first.
    missing : tuple of str
        Values that stand for "not known".
    cyclic : mapping of str to float
        Columns of numbers that come again, with their periods: hours 24.
    skip : int
        Number of lines above the header.
    no_header : bool
        Whether the first line is a row; the columns are 0, 1, ... then.
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    sep: str = ","
    decimal: str = "."
    category: tuple[str, ...] = ()
    order: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    cyclic: Mapping[str, float] = field(default_factory=dict)
    skip: int = 0
    no_header: bool = False

    @property
    def sign(self) -> str:
        """The sign between two fields."""
        return self.sep.replace("tab", "\t")

    @property
    def table(self) -> Table:
        """How the features are read; a ValueError for a period that is none."""
        return Table(self.cyclic, self.missing)

    def named(self) -> dict[str, str]:
        """Return the columns that are named, each with the parameter that names it.

        Returns
        -------
        dict of str

        Raises
        ------
        ValueError
            One column is two things, or ``sep`` is no sign.
        """
        if len(self.sign) != 1 or self.sign == self.decimal:
            raise ValueError(
                f"{_parameter('sep')} must be one sign, not that of "
                f"{_parameter('decimal')}, got {self.sep!r}"
            )
        found: dict[str, str] = {}
        columns = {
            "label": [self.label],
            "id": [self.id],
            "category": self.category,
            "drop": self.drop,
            "order": self.order,
        }
        for name, by in (
            (n, _parameter(f)) for f, names in columns.items() for n in names
        ):
            if name is not None and (other := found.setdefault(name, by)) != by:
                raise ValueError(
                    f"{other} and {by} both name {name!r}; it can be one of them"
                )
        return found


def read_table(
    path: str | Path,
    label: str | None = None,
    *,
    sep: str | None = None,
    decimal: str = ".",
    text: Collection[str] = (),
    skip: int = 0,
) -> pd.DataFrame | tuple[pd.DataFrame, pd.Series]:
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
        Columns that are texts as they stand, in which NA is a text. Other columns of
        digits are numbers, but codes such as ``007`` are texts.
    skip : int
        The number of lines above the header.

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
        A sign in a column of text is read as missing; text is not UTF-8; a workbook has
        more sheets; the header may be a row.

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
    layout = Layout(sep=sep, decimal=decimal, category=tuple(text), skip=skip)
    table = read_own(path, layout, label)
    if table.index.name == LINE:
        table = table.reset_index(drop=True)
    if label is None:
        return table
    return split(table, label, "label", str(path))


def read_own(
    path: str | Path, layout: Layout, label: str | None = None
) -> pd.DataFrame:
    """Return the table in a file as the commands read it.

    Parameters
    ----------
    path : str or path
    layout : Layout
    label : str, optional
        Name of the column of the labels, if they are no features.

    Returns
    -------
    pandas.DataFrame
        Without the columns to drop, and with the ids as its index.

    Raises
    ------
    ValueError
        As :func:`bsvdd.read_table`, or the file lacks a column of the layout.
    """
    path = Path(path)
    named = layout.named()
    table = _read(path, layout, label)
    if table.empty:
        raise ValueError(f"{path} has no rows")
    for name, by in named.items():
        if name not in table:
            raise ValueError(
                f"{path}: column {name!r} ({by}) is not in the table"
                f"{did_you_mean(name, table)}; it has {quoted(table)}"
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


def _read(path: Path, layout: Layout, label: str | None) -> pd.DataFrame:
    """All columns of a file, with their types."""
    kind = path.suffix.lower()
    if kind in NOT_READ or not path.is_file():
        is_file = path.is_file()
        what = f"a file {kind!r}, which is not read" if is_file else "no regular file"
        raise ValueError(
            f"{path} is {what}; expected .csv, .tsv, .txt, .parquet or .xlsx: read it "
            "by pandas, and give the data frame, or write it by .to_csv('table.csv', "
            "index=False)"
        )
    labels = {label, layout.label}
    text = labels | {layout.id, *layout.category, *layout.order}
    if kind == ".parquet":
        table = _by_pandas(path, "pyarrow", "parquet")
        for name in text.intersection(table) - labels:
            table[name] = table[name].astype(object).map(text_of, na_action="ignore")
        return table
    with naming(path):
        cells = _cells(path, layout)
        own = cells.reset_index(drop=True)  # names of rows may be equal
        untyped = {*text, *layout.drop}
        each = {n: _typed(own[n], layout.decimal, n in untyped) for n in own}
    table = pd.DataFrame(each, own.index).set_axis(cells.index)
    for name in labels.intersection(table):
        values = read_labels(table[name].fillna("").tolist())
        table[name] = pd.Series(values, table.index, values.dtype)
    return table


def _cells(path: Path, layout: Layout) -> pd.DataFrame:
    """Return the cells of CSV or of a workbook, in named columns."""
    if path.suffix.lower() == ".xlsx":
        rows = _by_pandas(path, "openpyxl", "excel")
        above = _above(rows.fillna("").map(text_of).to_numpy().tolist(), layout)
        rows = rows.set_axis(pd.RangeIndex(1, len(rows) + 1, name=LINE))[layout.skip :]
        by = "excel(path"
    else:
        rows, above = _csv(path, layout)
        by = f"csv(path, sep={layout.sign!r}"
    if layout.no_header:
        names = [str(i) for i in range(rows.shape[1])]
        return rows.set_axis(names, axis=1)
    no_header = advised("header", f"pandas.read_{by}, header=None)")
    cells = _with_names(rows, f"{above}; if it is a row: {no_header}")
    if _may_be_row(cells):
        said = f"{path}: the header, {quoted(cells)}, has numbers as the rows below"
        warn(f"{said}; if it is a row: {no_header}", DataWarning)
    return cells


def read_features(
    path: str | Path, layout: Layout, minor: str | None = None
) -> tuple[pd.DataFrame, np.ndarray | None]:
    """Return the features of a file, and which rows are minority.

    Parameters
    ----------
    path : str or path
    layout : Layout
    minor : str, optional
        The label of the minority, as a text.

    Returns
    -------
    X : pandas.DataFrame of shape (n, p)
    minority : ndarray of bool, shape (n,)
        None if the layout has no label.

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
        if (empty := table.isna().all(axis=1).to_numpy()).any():
            first = first_row(numbered(table.iloc[:, 0]), empty)
            raise ValueError(
                f"of {len(table)} rows, {first} has no value; leave it out"
            )
        for name, levels in layout.order.items():
            _require_levels(table[name], levels)
            table[name] = table[name].astype(pd.CategoricalDtype(levels, ordered=True))
        return table.astype(dict.fromkeys(layout.category, "category")), minority


def _require_levels(x: pd.Series, levels: Sequence[str]) -> None:
    """Raise a ValueError for the first cell that is no level."""
    if (bad := (x.notna() & ~x.isin(levels)).to_numpy()).any():
        raise ValueError(
            f"{_parameter('order')}: {x.name!r} is {x[bad].iloc[0]!r:.40} in "
            f"{first_row(numbered(x), bad)}, no level of {' < '.join(levels)}"
        )


def _by_pandas(path: Path, package: str, extra: str) -> pd.DataFrame:
    """Return a Parquet file, or the cells of the first sheet of a workbook."""
    try:
        if extra == "parquet":
            return pd.read_parquet(
                path, to_pandas_kwargs={"integer_object_nulls": True}
            )
        with pd.ExcelFile(path, engine=package) as book:
            if len(sheets := book.sheet_names) > 1:
                said = f"{path}: sheet {sheets[0]!r} is read, not {quoted(sheets[1:])}"
                warn(said, DataWarning)
            return pd.read_excel(book, header=None, dtype=object, keep_default_na=False)
    except ImportError as error:
        raise ImportError(
            f"{path} needs {package}: pip install 'bsvdd[{extra}]'"
        ) from error
    except Exception as error:  # of any reader that pandas calls
        raise ValueError(f"{path} is damaged, or no {extra} file: {error}") from error


def _text(path: Path) -> str:
    """Return the text of a file in UTF-8, UTF-16 or Windows-1252."""
    content = path.read_bytes()
    for encoding, begins in UTF_16.items():
        if re.match(begins, content, re.DOTALL):
            warn(f"{path} is UTF-16, and is read so", DataWarning)
            return content.decode(encoding, "replace").removeprefix("\ufeff")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        text = content.decode("cp1252", "replace")
        shown = text[max(0, error.start - 9) : error.start + 9]
        said = f"{path} is not UTF-8, and is read as Windows-1252: {shown!r}"
        warn(said, DataWarning)
        return text


def _csv(path: Path, layout: Layout) -> tuple[pd.DataFrame, str]:
    """Return the cells of CSV as texts, and what :func:`_above` says of its header."""
    text = _text(path)
    named = re.match(r"sep=(.)\s*\n", text)  # by Excel
    sep = named[1] if named else layout.sign
    skip = max(layout.skip, 1 if named else 0)
    begin = io.StringIO(text[: 2**16], newline=None)
    above = _above([*csv.reader(begin, delimiter=sep)], layout)
    if sign := _other_sign(text[: 2**16].splitlines()[skip : skip + 2], sep):
        name = "tab" if sign == "\t" else sign
        raise ValueError(
            f"{path}: the header has {sign!r} and not {sep!r}; name the separator: "
            f"{advised('sep', f'read_table(path, sep={sign!r})', repr(name))}"
        )
    try:
        if "\0" in text:
            raise ValueError("it has NUL bytes")
        blank_too = sep not in text[: 2**16]
        rows = pd.read_csv(
            io.StringIO(text),
            header=None,
            sep=sep,
            dtype=str,
            keep_default_na=False,
            skip_blank_lines=not blank_too,
            skiprows=skip,
        )
        lines = enumerate(io.StringIO(text, newline=None), 1)
        number = [i for i, line in lines if i > skip and (blank_too or line.strip())]
        if len(number) == len(rows):  # not where a cell has a line break
            rows.index = pd.Index(number, name=LINE)
        return rows, above
    except ValueError as error:  # of the parser, or no rows
        why = str(error).partition("\n")[0]
        raise ValueError(
            f"{path} is no CSV in UTF-8 with a header that names every field of the "
            f"rows: {why}{above}"
        ) from error


def _other_sign(lines: list[str], sep: str) -> str:
    """Return the sign between fields of the first two lines, if it is not ``sep``.

    A blank, which may be in a name, counts if it parts as many cells as names, and a
    cell is a number.
    """
    if len(lines) < 2 or sep in lines[0]:
        return ""
    names, cells = (line.split(" ") for line in lines)
    has_number = any(cell.replace(".", "").isdigit() for cell in cells)
    may_be_blank = len(names) == len(cells) and has_number
    signs = SEPARATORS if may_be_blank else SEPARATORS.strip(" ")
    return next((sign for sign in signs if all(sign in line for line in lines)), "")


def _above(records: list[list[str]], layout: Layout) -> str:
    """Return how to skip the lines above the first one that has all names."""
    width = mode([0, *map(len, records)])
    full = [len(cells) == width and all(cells[1:]) for cells in records]
    n = full.index(True) if any(full) else 0
    if n <= layout.skip:
        return ""
    how = advised("skip", f"read_table(path, skip={n})", n)
    return f"; if line {n + 1} is the header: {how}"


def _may_be_row(cells: pd.DataFrame) -> bool:
    """Return whether most of the names that are numbers lie within their columns.

    Names that count on, such as years, are names.
    """
    names = pd.to_numeric(cells.columns.to_series(), errors="coerce").dropna()
    X = cells[names.index].apply(pd.to_numeric, errors="coerce")
    inside = names.between(X.min(), X.max())
    counts_on = (names % 1 == 0).all() and set(names.diff()[1:]) == {1.0}
    return bool(inside.mean() > 0.5 and not counts_on)


def _with_names(rows: pd.DataFrame, ways: str) -> pd.DataFrame:
    """Return a table whose names are its first row; "" is the name of an index."""
    if len(rows):  # each line may end with a separator
        named = ~(rows.isna() | (rows == "")).all()
        named.iloc[0] = True  # an index
        rows = rows.loc[:, named]
    names = rows.iloc[0].fillna("").map(text_of) if len(rows) else pd.Series([""])
    if (names[1:] == "").any() or not names.any():
        raise ValueError(
            f"the header, {quoted(names)}, has a column without a name{ways}"
        )
    if names.duplicated().any():
        name = names[names.duplicated()].iloc[0]
        raise ValueError(f"the header has the column {name!r} twice; rename one{ways}")
    table = _with_cells(rows[1:].set_axis(list(names), axis=1))
    if table.index.name != LINE:
        table = table.reset_index(drop=True)
    return table.set_index("").rename_axis(None) if names[0] == "" else table


def _with_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have a cell, as lines of separators have none."""
    if table.shape[1] < 2:
        return table
    texts = table.fillna("").astype(str)
    empty = texts.apply(lambda x: x.str.strip() == "").all(axis=1)
    if empty.any():
        first = first_row(numbered(texts.iloc[:, 0]), empty.to_numpy())
        warn(f"{first} has no cell; such rows are left out", DataWarning)
    return table[~empty]


def _typed(x: pd.Series, decimal: str, is_text: bool) -> pd.Series:
    """Return a column of cells as numbers or as true and false, if all of them are."""
    if x.dtype != "str" and not x.map(lambda v: isinstance(v, str) or pd.isna(v)).all():
        x = x.mask(x.isin(MISSING)).infer_objects()  # of a workbook
        return x.map(text_of, na_action="ignore") if is_text else x
    if is_text:
        cells = x.astype("str")
        return cells[cells.notna() & (cells != "")].reindex(x.index)
    cells = x.astype("str").str.strip()
    known = cells[cells.notna() & ~cells.isin(MISSING)]
    if decimal == ",":
        known = _with_points(known)
    plain = known[known != NO_VALUE]
    if len(plain) and not is_code(plain):
        truth = plain.str.lower().map(TRUTH)
        if truth.notna().all():
            return truth.reindex(x.index)
        numbers = pd.to_numeric(plain, errors="coerce")
        are_whole = plain.str.fullmatch(r"[-+]?\d+").all()
        exact = numbers.abs().max() < LARGEST_EXACT or not are_whole
        if numbers.notna().all() and exact:
            return numbers.reindex(x.index)
    signs = cells[cells.isin(MISSING - {""})].value_counts() if len(known) else {}
    for sign, n in signs.items():
        column = repr(x.name)
        how = advised("text", f"read_table(path, text=[{column}])", column)
        warn(
            f"column {column}: {sign!r} in {n} rows is read as missing; if it is a "
            f"category, {how}",
            DataWarning,
        )
    return known.reindex(x.index)


def with_commas(cells: pd.Series) -> pd.Series:
    """Return texts as a file with decimal commas has them: 1,238.79 as 1.238,79."""
    are_amounts = amounts(cells)["number"].notna()
    return cells.mask(are_amounts, cells.str.translate(SWAPPED))


def _with_points(cells: pd.Series) -> pd.Series:
    """Return cells whose numbers have a decimal comma with a point in its place."""
    swapped = cells.str.translate(SWAPPED)
    fits, points = (amounts(each)["number"].notna() for each in (swapped, cells))
    if len(bad := cells[points & ~fits]):
        column = repr(cells.name)
        how = advised("text", f"read_table(path, text=[{column}])", column)
        raise ValueError(
            f"column {column} has {bad.iloc[0]!r}, without a decimal comma; if it is a "
            f"category, {how}"
        )
    return swapped.where(fits, cells)
