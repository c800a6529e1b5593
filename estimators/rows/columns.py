"""What the columns of a table are: numbers, dates, times or categories, found on the whole column.

The same rules hold for a CSV file, a Parquet file and a data frame. A column of text is numbers if
each of its cells is one, in the ways that people write them: ``1,234.50``, ``(12)``, ``€ 12``,
``95.1 kg``, a Unicode minus, a no-break space between thousands. All cells must have the same
unit, which a fit keeps. Dates are days since the first one, times are hours. Other text names
categories, or the rows. Numbers whose units differ, two numbers in a cell, and what is neither one
nor the other are errors that say what to do.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from ...inference.warning import DataWarning, warn
from ..messages import listed, of_value
from .categories import EXACT, codes, has_text
from .cells import HEXADECIMAL, OTHER_SIGN, PAIR, TIMES, Cells, as_numbers, unquoted
from .forms import (
    FIRST,
    LAST,
    Amounts,
    Categories,
    Dates,
    Form,
    Levels,
    Names,
    Times,
    date_forms,
    have_zone,
    level,
    moments,
)

SHOWN = 3  # cells that a sentence names
FEW = 10  # rows in which texts or whole numbers often differ by chance
CODES = 0.1  # share of cells with a leading zero above which a column has codes
FEWEST_ENDINGS = 3  # of postcodes such as 1012 AB, more than the units of one column
MANY = 20  # different values, or units, above which a column is hardly one of categories
DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?!\d)|\d{1,2}[ -][A-Za-z]{3}|[A-Za-z]{3,9} \d{1,2}, \d"
DATE += r"|[A-Za-z]{3} [A-Za-z]{3} \d|[A-Za-z]{3}-\d{1,2}-\d{4}|[A-Za-z]{3,9}[ -]\d{2,4}$"
DATE += r"|\d{4}-\d\d$|\d\d?/\d{4}$|\d{4}[ -]?Q[1-4]$|\d{4}-?W\d\d$"
OBJECTS = {kind: "dates" for kind in ("date", "datetime", "datetime64")}
OBJECTS |= {kind: "numbers" for kind in ("decimal", "integer", "boolean", "empty")}
OBJECTS |= {"time": "times"}
GOOD = ("numbers", "amounts", "times", "dates", "levels", "category", "few", "names", "other")
# what a column in trouble has, and how its cells become numbers
TROUBLE = {
    "units": ("numbers with different units", "write them in one unit"),
    "pairs": ("two numbers in a cell", "make two columns of them"),
    "hexadecimal": ("hexadecimal numbers", "write them as decimal numbers"),
    "clock": ("times of two and of three parts", "write them alike, as in 00:59:30"),
    "zones": ("dates with and without a time zone", "give all of them one, or none"),
}


# columns


def kind_of(column: pd.Series, decimal: str = ".") -> str:
    """Return what a column is: one of ``GOOD``, where "other" is objects that are none of these.

    Trouble has names of its own: "decimal", "days or months", "some numbers", "some dates",
    "digits", and those of ``TROUBLE``.
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "levels" if column.dtype.ordered else "category"
    if pd.api.types.is_numeric_dtype(column):
        if _loses_digits(column, pd.api.types.is_integer_dtype(column)):
            return "digits"
        return _of_digits(column)
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates" if column.notna().any() else "numbers"
    values = column.dropna()
    if not has_text(values):
        kind = pd.api.types.infer_dtype(values)
        if _loses_digits(values, kind == "integer"):
            return "digits"
        return _of_zones(values) if kind == "datetime" else OBJECTS.get(kind, "other")
    try:
        cells = Cells(values, decimal)
    except TypeError:  # values that have no hash
        return "other"
    texts = values.astype(str).map(unquoted)
    if _are_codes(texts):
        return _kind_of_text(texts)
    plain = cells.numbers("truth" if "truth" in cells.units() else "")
    if plain.notna().all():
        of_digits = bool(texts.str.fullmatch(r"\d+").all())
        if _loses_digits(values, of_digits):
            return "digits"
        return _of_digits(plain) if of_digits else "numbers"
    if texts.str.match(DATE).mean() > 0.5 and not _are_versions(texts):
        forms, n = date_forms(texts)
        if n == len(values):
            return _of_zones(values) if len(forms) == 1 else "days or months"
        if n > len(values) / 2:
            return "some dates"
    return _kind_with_units(cells, texts)


def _kind_with_units(cells: Cells, texts: pd.Series) -> str:
    """Return what a column of text is that is neither plain numbers nor dates."""
    units, n = cells.units(), len(texts)
    if len(units) == 1 and units.total() == n:
        unit = next(iter(units))
        if cells.numbers(unit).notna().all():
            return "times" if unit in TIMES else "amounts"
    if set(units) == set(TIMES) and units.total() == n:
        return "times" if _are_minutes(cells) else "clock"
    other = Cells(texts, OTHER_SIGN[cells.decimal])
    if len(other.units()) == 1 and all(cell.is_number for cell in other.found):
        return "decimal"
    are_few, of_numbers = len(cells.found) <= MANY, units.total() == n and "truth" not in units
    if of_numbers and len(units) > 1 and are_few:
        return "few"
    if max(units.values(), default=0) > n / 2 or (units.total() > n / 2 and "truth" in units):
        return "some numbers"
    doubtful = {
        "units": units.total() > n / 2
        and len(units) <= MANY
        and not any(re.search(r"[\d\s]", unit) for unit in units),
        "hexadecimal": texts.str.fullmatch(HEXADECIMAL).mean() > 0.5,
        "pairs": texts.str.fullmatch(PAIR).mean() > 0.5,
    }
    for kind, is_kind in doubtful.items():
        if is_kind:
            return "few" if are_few else kind
    return _kind_of_text(texts)


def _of_zones(dates: pd.Series) -> str:
    """Return what a column of dates is: all of them have a time zone, or none has."""
    return "zones" if have_zone(dates).nunique() > 1 else "dates"


def _kind_of_text(texts: pd.Series) -> str:
    once = int((texts.value_counts() == 1).sum())
    return "names" if len(texts) >= FEW and once > len(texts) / 2 else "category"


def _are_codes(texts: pd.Series) -> bool:
    """Return whether texts are digits that are no number: 007, telephones, Dutch postcodes."""
    digits, zeros = texts.str.fullmatch(r"\d+"), texts.str.fullmatch(r"0\d+")
    telephones = texts.str.fullmatch(r"\d{3}(?:\s\d{3}){2}")
    postcodes = texts.str.extract(r"^[1-9]\d{3} ?([A-Z]{2})$")[0]
    return bool(
        (digits.all() and zeros.any())
        or zeros.mean() > CODES
        or telephones.all()
        or (postcodes.notna().all() and postcodes.nunique() > FEWEST_ENDINGS)
    )


def _are_versions(texts: pd.Series) -> bool:
    """Return whether texts are versions, some like 1.2.0, or seasons such as 2019-20."""
    parts = texts.str.extract(r"(\d{4})-(\d\d)").astype(float)
    are_seasons = bool(((parts[0] + 1.0) % 100.0 == parts[1]).all())
    versions, digit = (texts.str.fullmatch(rf"\d+\.\d+\.{last}") for last in (r"\d+", r"\d"))
    return bool(versions.all() and digit.any()) or are_seasons


def _of_digits(values: pd.Series) -> str:
    """Return what numbers are: "dates" if all are days of eight digits, such as 20240124."""
    x = values.to_numpy(float, na_value=np.nan)
    x = x[~np.isnan(x)]
    is_bool = pd.api.types.is_bool_dtype(values)
    if is_bool or not len(x) or not ((x >= FIRST) & (x <= LAST) & (x == np.floor(x))).all():
        return "numbers"
    share = moments(values.dropna(), "%Y%m%d").notna().mean()
    return "dates" if share == 1.0 else "some dates" if share > 0.5 else "numbers"


def _are_minutes(cells: Cells) -> bool:
    """Return whether times of two parts, beside those of three, are minutes and seconds."""
    return any(abs(cell.number) >= 24.0 for cell in cells.found if cell.unit == TIMES[0])


def form_of(column: pd.Series, kind: str) -> Form | None:
    """Return how the cells of a column of this kind become numbers; None for plain numbers."""
    match kind:
        case "dates":
            return Dates.of(column)
        case "times":
            units = Cells(column.dropna()).units()
            return Times("m:s" if len(units) == 2 else "h:m" if TIMES[0] in units else "h:m:s")
        case "amounts":
            return Amounts.of(column)
        case "levels":
            return Levels(tuple(map(level, column.dtype.categories)))
        case "category" | "few" if not pd.api.types.is_numeric_dtype(column):
            return Categories.of(column)
        case "names":
            return Names()
    return None


def _loses_digits(values: pd.Series, are_whole: bool) -> bool:
    """Return whether floats cannot tell two whole numbers apart."""
    if not are_whole:
        return False
    numbers = as_numbers(values)
    return bool(numbers.abs().max() >= EXACT and numbers.nunique() < values.nunique())


def _advice(table: pd.DataFrame, trouble: Mapping[Any, str], decimal: str) -> Iterator[str]:
    """Yield what to do with the columns in trouble, whose kinds are given by their names."""
    of_kind: dict[str, list[Any]] = {}
    for name, kind in trouble.items():
        of_kind.setdefault(kind, []).append(name)
    for kind, names in of_kind.items():
        first = str(names[0])
        match kind:
            case "decimal":
                sign = OTHER_SIGN[decimal]
                yield (
                    f"{listed(names, 'has', 'have')} {sign!r} as decimal sign: --decimal "
                    f"{sign!r} (in Python pandas.read_csv(..., decimal={sign!r})); if it stands "
                    "between thousands, write it in all cells or in none"
                )
            case "days or months":
                yield (
                    f"{listed(names)}: {table[names[0]].dropna().iloc[0]!r:.40} may be two "
                    "dates; write year-month-day, as in 2024-01-31"
                )
            case "digits":
                yield (
                    f"{listed(names, 'has', 'have')} whole numbers of 2^53 or more that "
                    f"floats cannot tell apart: --category {first!r} if they name something (in "
                    f"Python X[{first!r}].astype('category')), else --drop"
                )
            case _:
                of = _cells_in_doubt if kind in TROUBLE else _cells_in_trouble
                yield from (of(name, table[name], kind, decimal) for name in names)


def _ways_out(name: Any) -> str:
    return f"{_as_category(name)}, --id {str(name)!r} or --drop {str(name)!r}"


def _as_category(name: Any) -> str:
    shown = repr(str(name))
    return f"--category {shown} (in Python X[{shown}].astype('category'))"


def _cells_in_trouble(name: Any, column: pd.Series, kind: str, decimal: str) -> str:
    values, what = column.reset_index(drop=True).dropna(), kind.removeprefix("some ")
    if what == "dates":
        bad = values[moments(values, date_forms(values)[0][0]).isna()]
    else:
        cells = Cells(values, decimal)
        bad = values[cells.numbers(cells.units().most_common(1)[0][0]).isna()]
    more = f" and {len(bad) - SHOWN} more" if len(bad) > SHOWN else ""
    text = (
        f"{str(name)!r} has {what} in {len(values) - len(bad)} of {len(column)} rows, but not "
        f"{_with_rows(bad)}{more} (counted from 0): mend or empty "
        f"{'this cell' if len(bad) == 1 else 'these cells'}"
    )
    return f"{text}, or {_ways_out(name)}"


def _cells_in_doubt(name: Any, column: pd.Series, kind: str, decimal: str) -> str:
    values, (what, remedy) = column.reset_index(drop=True).dropna(), TROUBLE[kind]
    patterns = {"pairs": PAIR, "hexadecimal": HEXADECIMAL}
    if kind in patterns:
        texts = values.astype(str).map(unquoted)
        shown = values[texts.str.fullmatch(patterns[kind])]
    else:  # one cell of each unit, first those that few rows have
        cells = Cells(values, decimal)
        unit = pd.Series(cells.each(lambda _, cell: cell.unit), values.index)
        unit = have_zone(values) if kind == "zones" else unit
        order = unit.map(unit.value_counts()).sort_values(kind="stable").index
        shown = values[order][~unit[order].duplicated()]
    return (
        f"{str(name)!r} has {what}: {_with_rows(shown)} (counted from 0): {remedy}; or "
        f"{_ways_out(name)}"
    )


def _with_rows(cells: pd.Series) -> str:
    return ", ".join(f"{value!r:.40} of row {row}" for row, value in cells.head(SHOWN).items())


def kinds_of(
    table: pd.DataFrame, categories: Collection[Any] = (), decimal: str = "."
) -> tuple[dict[Any, str], list[str]]:
    """Return what each column is, by its name, and what is wrong with the others, a sentence each.

    ``categories`` are known to be categories. A sentence names the columns, their cells and what to
    do.
    """
    kinds = {c: "category" if c in categories else kind_of(table[c], decimal) for c in table}
    trouble = {c: kinds.pop(c) for c in table if kinds[c] not in GOOD}
    if not trouble:
        return kinds, []
    first = f"{listed(trouble, 'is', 'are')} not numeric"
    return kinds, [first, *_advice(table, trouble, decimal)]


def said(table: pd.DataFrame, kinds: Mapping[Any, str], decimal: str = ".") -> Iterator[str]:
    """Yield how columns are read, by their kinds, where a reader may doubt it."""
    names = [c for c, kind in kinds.items() if kind == "names"]
    if names:
        yield (
            f"{listed(names, 'names', 'name')} the rows, as most values occur once, and "
            f"{'does' if len(names) == 1 else 'do'} not count; to count one as categories: "
            f"{_as_category(names[0])}"
        )
    for c in (c for c, kind in kinds.items() if kind == "few"):
        values = table[c].dropna()
        yield (
            f"column {str(c)!r} has {values.nunique()} different values such as "
            f"{of_value(values.iloc[0])!r}, and is read as categories"
        )
    for c in (c for c, kind in kinds.items() if kind == "category" and has_text(table[c].dropna())):
        values = table[c].dropna().astype(str)
        if values.nunique() > MANY and values.str.contains(r"\d").mean() > 0.5:
            yield (
                f"column {str(c)!r} has {values.nunique()} different texts with digits, such as "
                f"{of_value(values.iloc[0])!r}, each a category; if they are numbers, write them "
                f"alike, else --drop {str(c)!r} if they only name rows"
            )
    amounts = {c: Amounts.of(table[c], decimal) for c, kind in kinds.items() if kind == "amounts"}
    if amounts:
        each = ", ".join(f"{str(c)!r} {form}" for c, form in amounts.items())
        yield (
            f"numbers with a unit, which new rows must have too: {each}; to count one as "
            f"categories: {_as_category(next(iter(amounts)))}"
        )
    for c in (c for c, kind in kinds.items() if kind == "levels"):
        yield f"column {str(c)!r} is read as numbers, the places in {form_of(table[c], 'levels')}"
    times = [c for c, kind in kinds.items() if kind == "times" and has_text(table[c].dropna())]
    if times:
        yield (
            f"{listed(times, 'has', 'have')} times, read as hours, so 23:59 and 00:00 are far apart"
        )
    dates = {c: table[c] for c, kind in kinds.items() if kind == "dates"}
    dates = {c: v for c, v in dates.items() if pd.api.types.is_numeric_dtype(v) or has_text(v)}
    if dates:
        first = min(Dates.of(column).first for column in dates.values())
        yield (
            f"{listed(dates, 'has', 'have')} dates, read as days since the first, "
            f"{first:%Y-%m-%d}; if they should not count: "
            + " ".join(f"--drop {str(c)!r}" for c in dates)
            + f" (in Python X.drop(columns={list(map(str, dates))!r}))"
        )
    for c, kind in kinds.items():
        if kind in ("numbers", "amounts") and not pd.api.types.is_numeric_dtype(table[c]):
            cells = Cells(table[c].dropna(), decimal)
            unusual = [
                f"{value!r} is read as {cell.number:.12g}"
                for value, cell in zip(cells.values, cells.found, strict=True)
                if cell.unusual
            ]
            if unusual:
                yield f"column {str(c)!r}: {', '.join(unusual[:SHOWN])}"


def found(
    frame: pd.DataFrame, named: Iterable[int] = (), takes_categories: bool = True
) -> tuple[tuple[int, ...], dict[int, Form]]:
    """Return the positions of the columns of categories, and the forms of all columns.

    Columns of plain numbers have no form.

    Parameters
    ----------
    frame : pandas.DataFrame
    named : iterable of int
        Positions that are known to be categories; then no other column may be one.
    takes_categories : bool, default=True
        Whether columns may be categories.

    Raises
    ------
    ValueError
        A column is neither one nor the other; the message names it, its cells and what to do.

    Warns
    -----
    DataWarning
        Cells are read in a way that a reader may doubt, a column names the rows, or whole numbers
        count them, as an id does.
    """
    own, names = set(named), list(frame.columns)
    kinds, wrong = kinds_of(frame, {names[i] for i in own})
    if wrong:
        raise ValueError("; ".join(wrong))
    of_text = {i for i, name in enumerate(names) if kinds[name] in ("category", "few")}
    others = [names[i] for i in sorted(of_text - own)]
    if not takes_categories:
        others = [name for name in names if name in others or kinds[name] == "names"]
    if others and (own or not takes_categories):
        raise ValueError(
            f"{listed(others, 'is', 'are')} not numeric: for columns of categories use "
            "kernel=kernels.Tabular() (without categorical=, or with all of them), else convert or "
            "drop them; if one has the labels, name it: y='name'"
        )
    for line in said(frame, kinds):
        warn(line, DataWarning)
    _warn_of_ids(frame[[name for name in names if kinds[name] == "numbers"]])
    forms = {i: form_of(frame[name], kinds[name]) for i, name in enumerate(names)}
    return tuple(sorted(of_text)), {i: form for i, form in forms.items() if form is not None}


def _warn_of_ids(numbers: pd.DataFrame) -> None:
    """Warn of columns of whole numbers that count the rows."""
    ids = [c for c in numbers if _counts_rows(numbers[c])]
    if ids:
        warn(
            f"{listed(ids, 'counts', 'count')} the rows, like an id, and counts as a feature; "
            f"if it is an id, name it by --id {str(ids[0])!r}, or leave it out by --drop "
            f"{str(ids[0])!r} (in Python X.set_index({str(ids[0])!r}), or X.drop)",
            DataWarning,
        )


def _counts_rows(column: pd.Series) -> bool:
    """Return whether whole numbers rise or fall from row to row, or are a range in any order."""
    if not pd.api.types.is_integer_dtype(column) or len(column) < FEW or column.isna().any():
        return False
    values = column.to_numpy(float)
    steps = np.diff(values)
    is_range = len(np.unique(values)) == len(values) == np.ptp(values) + 1
    return bool((steps > 0).all() or (steps < 0).all() or is_range)


def numbers(
    frame: pd.DataFrame, categorical: Iterable[int], forms: Mapping[int, Form]
) -> pd.DataFrame:
    """Return a table whose columns are numbers, by the forms of training; categories are codes.

    Columns of other objects stay as they are. Gaps are NaN.

    Raises
    ------
    ValueError
        A cell is neither a gap nor of the form of training.
    TypeError
        A category is neither a text nor a number.
    """
    frame, named = frame.copy(deep=False), set(categorical)
    for i, (name, dtype) in enumerate(zip(frame.columns, frame.dtypes, strict=True)):
        if not (i in named or i in forms) and pd.api.types.is_numeric_dtype(dtype):
            continue
        column = frame.iloc[:, i]
        if i in named and i not in forms:
            frame.isetitem(i, codes(column))
        else:
            if i not in forms and not has_text(column) and kind_of(column) == "other":
                continue
            values = forms[i].numbers(column) if i in forms else as_numbers(column)
            _refuse_cells(name, column, values.isna() & column.notna(), forms.get(i))
            frame.isetitem(i, values)
    return frame


def _refuse_cells(name: Any, column: pd.Series, bad: pd.Series, form: Form | None) -> None:
    if bad.any():
        first = int(bad.to_numpy().argmax())
        expected = "number without a unit, as in training" if form is None else form.expected
        cell = f"{str(column.iloc[first])!r:.80}"
        raise ValueError(
            f"column {str(name)!r}: row {first} (counted from 0) has {cell}, "
            f"which is no {expected} ({int(bad.sum())} such rows); mend or leave out these rows"
        )
