"""Tables in files: CSV, Parquet, Feather and Excel by pandas."""

from __future__ import annotations

import codecs
import csv
import re
import stat
import zipfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from ...inference.warning import DataWarning, warn
from ..labels import read_labels
from ..messages import did_you_mean, quoted
from .cells import cell_of
from .forms import level
from .frames import OPTIONS

SEPARATORS = (";", "\t", "|", ",")  # that a header may have instead of the one that was named
LINE = 2**20  # bytes in which separator and header are looked for
FIRST_LINES, FIELD = 50, 2**16  # and lines, and characters of a line
TEXTS = (".csv", ".tsv", ".txt")
FRAMES = (".parquet", ".feather", ".xlsx")
OTHERS = {  # files that are not read, and how pandas reads them
    ".gz": "read_csv",
    ".zip": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".xls": "read_excel",
    ".ods": "read_excel",
    ".dta": "read_stata",
    ".sav": "read_spss",
    ".sas7bdat": "read_sas",
    ".h5": "read_hdf",
    ".html": "read_html",
    ".xml": "read_xml",
}
HEAD = 1000  # rows in which codes are looked for
CODE = r"0\d+|\+\d{7,}"  # 007, or a telephone number
GAPS = "|#N/A|#N/A N/A|#NA|-1.#IND|-1.#QNAN|-NaN|-nan|1.#IND|1.#QNAN|<NA>|N/A|NA|NULL|NaN|None"
GAPS += "|n/a|nan|null"  # as pandas has them
NA, FEWEST_CODES = "NA", 3  # a gap, or a code beside so many others


@dataclass(frozen=True)
class Layout:
    r"""What the columns of a CSV file are, besides features; and its signs.

    Parameters
    ----------
    label : str, optional
        Column of the classes.
    id : str, optional
        Column that names the rows. It is no feature, and is read as text.
    drop : tuple of str
        Columns to leave out.
    sep : str
        One character between two fields, or "tab".
    decimal : str
        "." or ",".
    categories : tuple of str
        Columns of categories that are numbers in the file, or could be an id. Other columns of text
        are categories without being named.
    orders : tuple of str
        Columns of ordered categories, each with its levels: "size=small<medium<large".

    Raises
    ------
    ValueError
        One column is two of these, or a sign is none of these.

    Examples
    --------
    >>> from bsvdd.estimators.rows.files import Layout
    >>> Layout(label="kind", id="name", drop=("remark",)).others
    {'kind': '--label', 'name': '--id', 'remark': '--drop'}
    """

    label: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    sep: str = ","
    decimal: str = "."
    categories: tuple[str, ...] = ()
    orders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.sep in ("tab", "\\t"):
            object.__setattr__(self, "sep", "\t")
        if len(self.sep) != 1 or self.sep in '"\r\n\0' or self.sep.isalnum():
            raise ValueError(
                f"sep must be one character between fields, such as ';', or 'tab'; got {self.sep!r}"
            )
        if self.decimal not in (".", ","):
            raise ValueError(f"decimal must be '.' or ',', got {self.decimal!r}")
        if self.sep == self.decimal:
            raise ValueError(
                f"sep and decimal are both {self.sep!r}, so a number with decimals and two "
                "fields look the same; files with decimal commas mostly have sep=';'"
            )
        for text, levels in zip(self.orders, self.levels.values(), strict=True):
            if not 1 < len(set(levels)) == len(levels) or "" in levels:
                raise ValueError(
                    "--order must name a column and its different levels, from the lowest to the "
                    f"highest, as in 'size=small<medium<large'; got {text!r}"
                )
        seen: dict[str, str] = {}
        for option, name in self._named:
            if (other := seen.setdefault(name, option)) != option:
                raise ValueError(
                    f"{other} and {option} both name the column {name!r}; it can be one of them"
                )

    @property
    def _named(self) -> list[tuple[str, str]]:
        """The options, each with the column that it names."""
        one = [("--label", self.label), ("--id", self.id)]
        many = [("--category", name) for name in self.categories]
        many += [("--drop", name) for name in self.drop]
        many += [("--order", name) for name in self.levels]
        return [(option, name) for option, name in [*one, *many] if name is not None]

    @property
    def levels(self) -> dict[str, list[str]]:
        """The columns of ordered categories, each with its levels."""
        named = [text.partition("=") for text in self.orders]
        return {name.strip(): [v.strip() for v in of.split("<")] for name, _, of in named}

    @property
    def others(self) -> dict[str, str]:
        """The columns that are no features, each with the option that names it."""
        features = ("--category", "--order")
        return {name: option for option, name in self._named if option not in features}

    def check(self, path: Path, columns: list[str]) -> None:
        """Raise a ValueError if a named column is not among those of the file."""
        for option, name in self._named:
            if name not in columns:
                kind = "label column" if option == "--label" else "column"
                raise ValueError(
                    f"{path}: {kind} {name!r} ({option}) is not in the table"
                    f"{did_you_mean(name, columns)}; it has {quoted(columns)}"
                )


PLAIN = Layout()


def kind_of_file(path: Path) -> str:
    """Return the suffix that says how a file is read, in small letters."""
    return path.suffix.lower()


def read_file(
    path: Path,
    layout: Layout = PLAIN,
    texts: Collection[str] = (),
    na: Collection[str] = (),
) -> pd.DataFrame:
    """Return the table in a file, by its suffix; a file of another one is read as CSV.

    A first column without a name is the index. Labels are read by the rule of
    :func:`bsvdd.estimators.labels.read_labels`. They and ids have no gaps in CSV: "NA" is a name. A
    column of codes such as ``007`` is text.

    Parameters
    ----------
    path : path
        ``.csv``, ``.tsv``, ``.txt``, ``.parquet``, ``.feather``, ``.xlsx``.
    layout : Layout
        Columns that it names need not be in the file.
    texts : collection of str
        Further columns that are read as text.
    na : collection of str
        Columns of CSV in which NA is a code and no gap, beside those that have at least five other
        values, all of them two capital letters.

    Raises
    ------
    ValueError
        The file is not of its format, its header lacks a name or repeats one, or its format is not
        read.
    ImportError
        A package for this format is not installed.

    Warns
    -----
    DataWarning
        The text is no UTF-8, or a workbook has other sheets.
    """
    kind = kind_of_file(path)
    if kind in OTHERS:
        raise ValueError(
            f"{path}: a file {kind!r} is not read; expected one of {quoted((*TEXTS, *FRAMES))}: "
            f"convert it, in Python pandas.{OTHERS[kind]}(path).to_csv('table.csv', index=False)"
        )
    require_file(path)
    if kind in FRAMES:
        table = _read_frame(path, kind)
        table = _with_index(table)
        named = [layout.id, *layout.levels, *texts]
        for name in (c for c in table if c in named):
            gap = table[name].isna()
            table[name] = table[name].astype(object).map(level).astype(object).mask(gap)
        return table
    table = _with_index(_read_csv(path, layout, texts, kind, na))
    if layout.label in table:
        labels = read_labels(table[layout.label].tolist())
        table[layout.label] = pd.Series(labels, table.index, labels.dtype)
    return table


def _with_index(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose first column is the index if it has no name, as R and pandas write."""
    if table.columns[0] != "" or table.shape[1] == 1:
        return table
    return table.set_index("").rename_axis(None)


def _has_codes(column: pd.Series) -> bool:
    """Return whether a column of text has codes of two letters, so that NA is one: Namibia."""
    codes, gaps = set(), GAPS.split("|")
    for text in column.dropna():  # most columns have a first text that is none
        if text not in gaps:
            if not re.fullmatch("[A-Z]{2}", text):
                return False
            codes.add(text)
    return len(codes) >= FEWEST_CODES


def _read_csv(
    path: Path,
    layout: Layout,
    texts: Collection[str],
    kind: str,
    na: Collection[str],
) -> pd.DataFrame:
    """Return a CSV file as a table; its labels are text."""
    errors = pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError
    expected = "CSV in UTF-8 with a header that names every field of the rows"
    with _readable(path, expected, *errors), path.open("rb") as file:
        encoding = _encoding(file, path)
        named = "\t" if kind == ".tsv" and layout.sep == PLAIN.sep else layout.sep
        sep, above = _start(file, path, named)
        how: dict[str, Any] = {"sep": sep, "skiprows": above, "encoding": encoding}
        file.seek(0)
        head = _head(file, path, how)
        names = list(head.columns)
        cells = pd.Series(head.to_numpy().ravel(), dtype="str").str.fullmatch(CODE, na=False)
        are_codes = cells.to_numpy().reshape(head.shape).any(axis=0)
        codes = [c for c, is_code in zip(names, are_codes, strict=True) if is_code]
        raw = [layout.label, layout.id]
        as_text = {*raw, *codes, *layout.categories, *layout.levels, *texts} & set(names)
        gaps = {c: [] if c in raw else GAPS.split("|") for c in names}
        coded = [c for c in names if c not in raw and _has_codes(head[c])]
        for name in {*coded, *na} & set(names):
            gaps[name] = [each for each in gaps[name] if each != NA]
        file.seek(0)
        table = pd.read_csv(
            file,
            header=0,
            names=names,
            decimal=layout.decimal,
            dtype=dict.fromkeys(as_text, str),
            keep_default_na=False,
            na_values=gaps,
            index_col=False,
            skip_blank_lines=len(names) > 1,  # in one column a blank line is a missing value
            low_memory=False,
            **how,
        )
    for name in table.select_dtypes(["object", "str"]).columns.difference(raw):
        table[name] = table[name].mask(_are_blank(table[name]))
    _warn_of_codes(table, coded)
    return table.copy()  # one block for all columns, which is faster where there are many


def _are_blank(column: pd.Series) -> pd.Series:
    """Return which cells are texts of blanks only."""
    return column.astype(str).str.isspace().eq(True)


def _warn_of_codes(table: pd.DataFrame, coded: Iterable[str]) -> None:
    """Warn of columns in which NA is one of the codes."""
    for name in coded:
        if count := int((table[name] == NA).sum()):
            warn(
                f"column {name!r} has codes of two letters, so NA in {count} of its cells is one "
                "and no gap; leave gaps empty",
                DataWarning,
            )


@contextmanager
def naming(path: str | Path) -> Iterator[None]:
    """Name the file in errors about its values."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if type(error) not in (ValueError, TypeError) or str(path) in str(error):
            raise
        raise type(error)(f"{path}: {error}") from error


def require_file(path: Path) -> None:
    """Raise a ValueError unless ``path`` is a regular file: a pipe would block, or end too soon."""
    if not stat.S_ISREG(path.stat().st_mode):
        raise ValueError(
            f"{path} is no regular file; expected a file on a disk, as it is read more than once"
        )


def _encoding(file: BinaryIO, path: Path) -> str:
    """Return the encoding of a text file: UTF-8, or else that of Windows in Western Europe.

    A NUL is an error, as a file with holes could be endless.
    """
    file.seek(0)
    decoder, lines = codecs.getincrementaldecoder("utf-8")(), 1
    while block := file.read(LINE):
        if b"\0" in block:
            raise ValueError(
                f"{path} has NUL bytes, so it is not CSV in UTF-8; expected a text file"
            )
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            before = error.object[: error.start]
            text = error.object[max(0, error.start - 9) : error.start + 9]
            warn(
                f"{path} is not UTF-8, and is read as Windows-1252 (Latin-1): "
                f"{text.decode('cp1252', 'replace')!r} in line {lines + before.count(b'\n')}; if "
                "that is wrong, save it as UTF-8",
                DataWarning,
            )
            return "cp1252"
        lines += block.count(b"\n")
    return "utf-8"


def _lines(file: BinaryIO) -> list[str]:
    """Return the first lines of a text file."""
    file.seek(0)
    lines = file.read(LINE).splitlines()[:FIRST_LINES]
    return [line.decode("utf-8-sig", "replace") for line in lines]


def _start(file: BinaryIO, path: Path, sep: str) -> tuple[str, int]:
    """Return the separator, and the number of lines above the header: that of Excel's hint."""
    lines = [line[:FIELD] for line in _lines(file)]
    named = re.fullmatch(r"sep=(.)\s*", lines[0]) if lines else None  # as Excel has it
    sep, hint = (named[1], 1) if named else (sep, 0)
    _check_separator(lines[hint : hint + 2], path, sep)
    return sep, hint


def _head(file: BinaryIO, path: Path, how: dict[str, Any]) -> pd.DataFrame:
    """Return the first rows of an open CSV file as text.

    The header is read as a row. If a row has more fields, this is an error; with a header, pandas
    would take the first fields of all rows as an index.
    """
    try:
        rows = pd.read_csv(
            file, header=None, nrows=HEAD + 1, dtype=str, keep_default_na=False, **how
        )
    except ValueError as error:
        lines, above = _lines(file), how["skiprows"]
        _check_separator(lines, path, how["sep"])
        fields = [len(row) for row in csv.reader(lines[above:], delimiter=how["sep"])]
        if fields and fields[0] < max(fields):
            raise ValueError(
                f"{path}: line {above + 1} has {fields[0]} fields, and line "
                f"{above + 1 + fields.index(max(fields))} has {max(fields)}; expected a header "
                "that names every field, without a title above it"
            ) from error
        raise
    if rows.shape[1] == 1:
        _check_separator(_lines(file), path, how["sep"])
    return _with_names(rows, path)


def _with_names(rows: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Return a table whose names are its first row; the first may be empty, above an index."""
    names = rows.iloc[0]
    if (names[1:] == "").any():
        raise ValueError(
            f"{path}: column {1 + int((names[1:] == '').argmax())} (counted from 0) has no name in "
            "the header; name it, or leave it out"
        )
    duplicates = names[names.duplicated()]
    if len(duplicates):  # pandas would rename one of them
        name = duplicates.iloc[0]
        raise ValueError(f"{path}: the header has the column {name!r} twice; rename one")
    of_numbers = [name for name in names if cell_of(name).number % 1.0 > 0.0]
    if len(of_numbers) > len(names) / 2:
        warn(
            f"{path}: names of columns are numbers, such as {of_numbers[0]!r}; if the file has no "
            "header, add a first line that names the columns",
            DataWarning,
        )
    return rows[1:].set_axis([re.sub("^'(.+)'$", r"\1", name) for name in names], axis=1)


def _check_separator(lines: Sequence[str], path: Path, sep: str) -> None:
    """Raise a ValueError if a line is one field, and another separator is in it and in the next."""
    for header, below in pairwise(lines):
        for sign in SEPARATORS:
            if sep not in header and sign in header and sign in below:
                name = "tab" if sign == "\t" else sign
                raise ValueError(
                    f"{path}: the header is one column if {sep!r} separates fields, but it has "
                    f"{sign!r} {header.count(sign)} times; name the separator: --sep {name!r} (in "
                    f"Python, pandas.read_csv with sep={sign!r})"
                )


@contextmanager
def _readable(path: Path, kind: str, *errors: type[Exception]) -> Iterator[None]:
    """Turn the errors of a parser into a ValueError that names the file."""
    try:
        yield
    except errors as error:
        raise ValueError(f"{path} is damaged, or not {kind}: {error}") from error


def _read_frame(path: Path, kind: str) -> pd.DataFrame:
    """Return the table in a file whose columns have types."""
    errors = OSError, ValueError, zipfile.BadZipFile, KeyError
    try:
        with _readable(path, kind.removeprefix(".").capitalize(), *errors):
            if kind == ".parquet":
                return pd.read_parquet(path, engine="pyarrow", to_pandas_kwargs=OPTIONS)
            if kind == ".feather":
                from pyarrow import feather

                return feather.read_table(path).to_pandas(**OPTIONS)
            with pd.ExcelFile(path, engine="openpyxl") as book:
                rows = pd.read_excel(
                    book, header=None, dtype=object, keep_default_na=False, na_values=[""]
                )
                sheets = book.sheet_names
    except ImportError as error:
        package, extra = ("openpyxl", "excel") if kind == ".xlsx" else ("pyarrow", "parquet")
        raise ImportError(
            f"reading {kind} needs {package}; install it: pip install 'bsvdd[{extra}]'"
        ) from error
    if len(sheets) > 1:
        warn(f"{path}: sheet {sheets[0]!r} is read, and not {quoted(sheets[1:])}", DataWarning)
    if rows.empty:
        raise ValueError(f"{path}: sheet {sheets[0]!r} is empty")
    names = rows.iloc[0].astype(object).where(rows.iloc[0].notna(), "").map(str)
    named = _with_names(pd.concat([names.to_frame().T, rows[1:]]), path).reset_index(drop=True)
    texts = named.map(lambda cell: cell if isinstance(cell, str) else None)
    coded = [c for c in named if _has_codes(texts[c].head(HEAD))]
    for name in named:
        gaps = set(GAPS.split("|")) - ({NA} if name in coded else set())
        named[name] = named[name].mask(named[name].isin(gaps) | _are_blank(named[name]))
    _warn_of_codes(named, coded)
    return named.infer_objects()


def split(frame: Any, label: str, argument: str, origin: str) -> tuple[Any, Any]:
    """Return a table without its column of labels, and this column.

    ``argument`` is what the user named the column by, and ``origin`` where the table is from.
    """
    if label not in frame.columns:
        raise ValueError(
            f"{argument}={label!r} is no column of {origin}{did_you_mean(label, frame.columns)}, "
            f"which has {quoted(frame.columns)}"
        )
    if frame.shape[1] == 1:
        raise ValueError(f"{origin} has no column besides that of the labels")
    return frame.drop(columns=label), frame[label]


def require_content(path: Path, argument: str) -> None:
    """Raise an error unless ``path``, given as ``argument``, is a file that is not empty."""
    if path.is_dir():
        raise ValueError(
            f"{argument}: {path} is a directory, expected one file; read a Parquet data set by "
            "pandas.read_parquet(path)"
        )
    if not path.exists():
        raise FileNotFoundError(f"{argument}: there is no file {path}")
    require_file(path)
    if not path.stat().st_size:
        raise ValueError(f"{path} is empty")
