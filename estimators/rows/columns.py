"""What the columns of a table are: numbers, dates or categories, found on the whole column.

The same rules hold for a CSV file, a Parquet file and a data frame. A column of text is numbers if
each of its cells is one, in the ways that people write them: ``1,234.50``, ``€ 12``, ``12 %``, a
Unicode minus, a no-break space between thousands, ``07:30`` (7.5 hours). The signs are dropped, and
all cells must have the same one. Dates are days since the first one. Other text names categories.
What is neither one nor the other is an error that says what to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from ...inference.warning import DataWarning, warn
from ..messages import listed
from .categories import EXACT, codes, has_text

FEW = 10  # rows in which texts or whole numbers often differ by chance
OTHER_SIGN = {".": ",", ",": "."}
MINUS = str.maketrans(dict.fromkeys("\u2212\u2012\u2013\ufe63\uff0d", "-"))
GROUP = {".": ",", ",": r"\."}  # what stands between thousands, beside spaces and apostrophes
CURRENCY = r"[$¢£¥\u20a0-\u20c0]|EUR|USD|GBP|CHF|JPY|CNY|INR|KRW|SEK|NOK|DKK|PLN|CZK|AUD|CAD"
TIME = re.compile(r"(-?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?")
TRUTH = {"true": 1.0, "false": 0.0, **{f"{s}inf": float(f"{s}inf") for s in ("", "+", "-")}}
DATE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?!\d)|\d{1,2} [A-Za-z]{3}|[A-Za-z]{3,9} \d{1,2}, \d"
ISO = "ISO8601"
DAYS: tuple[str, ...] = ("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
DAYS += ("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y")
OBJECTS = {kind: "dates" for kind in ("date", "datetime", "datetime64")}
OBJECTS |= {kind: "numbers" for kind in ("decimal", "time", "integer", "boolean", "empty")}
GOOD = ("numbers", "dates", "category", "other")
FORMS = (ISO, *(day + clock for clock in ("", " %H:%M", " %H:%M:%S") for day in DAYS))


# numbers


class Cell(NamedTuple):
    """A number that a cell has, its unit, and the sign between thousands.

    The unit is a currency, "%", ":" of a time, or "truth" of true and false.
    """

    number: float = np.nan
    unit: str = ""
    group: str = ""


def _pattern(decimal: str) -> re.Pattern[str]:
    grouped = rf"(?P<first>[1-9]\d{{0,2}})(?P<group>[{GROUP[decimal]}'\u2019\s])\d{{3}}"
    return re.compile(
        rf"(?P<sign>[-+]?)(?P<before>{CURRENCY})?\s*(?P<inner>-?)"
        rf"(?P<whole>{grouped}(?:(?P=group)\d{{3}})*|\d*)"
        rf"(?:{re.escape(decimal)}(?P<part>\d*))?(?P<power>[eE][-+]?\d+)?"
        rf"\s*(?P<after>%|{CURRENCY})?"
    )


NUMBER = {decimal: _pattern(decimal) for decimal in GROUP}


def _cell(value: Any, decimal: str) -> Cell:
    """Return what a cell is; NaN if it is no number."""
    if not isinstance(value, str):
        return Cell(_number_of(value))
    text = value.strip().translate(MINUS)
    if time := TIME.fullmatch(text):
        sign, hours, minutes, seconds = time.groups()
        return Cell(
            float(f"{sign}1") * (int(hours) + int(minutes) / 60 + float(seconds or 0) / 3600), ":"
        )
    found = NUMBER[decimal].fullmatch(text)
    if found is None or not (found["whole"] or found["part"]):
        number = TRUTH.get(text.casefold(), np.nan)
        return Cell(number, "truth" if np.isfinite(number) else "")
    if (found["sign"] and found["inner"]) or (found["before"] and found["after"]):
        return Cell()
    whole = re.sub(r"\D", "", found["whole"])
    number = float(
        f"{found['sign']}{found['inner']}{whole or 0}.{found['part'] or 0}{found['power'] or ''}"
    )
    unit = found["before"] or found["after"] or ""
    return Cell(number if np.isfinite(number) else np.nan, unit, found["group"] or "")


def _number_of(value: Any) -> float:
    """Return the number that an object is: a Decimal, a whole number of any size, or a time."""
    if hasattr(value, "hour") and not hasattr(value, "day"):
        return float(value.hour + value.minute / 60 + value.second / 3600)
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


def as_numbers(values: pd.Series, decimal: str = ".") -> pd.Series:
    """Return a column as floats, NaN where there is no number.

    A unit that few cells have is none. A sign between thousands is none if other cells have
    thousands without it: "1,234" beside "1500" may be 1.234.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd.estimators.rows.columns import as_numbers
    >>> as_numbers(pd.Series(["$1,234.50", "$-12", "x"])).tolist()
    [1234.5, -12.0, nan]
    >>> as_numbers(pd.Series(["1.234,5", "7"]), ",").tolist()
    [1234.5, 7.0]
    >>> as_numbers(pd.Series(["07:30"])).tolist()
    [7.5]
    """
    if pd.api.types.is_numeric_dtype(values):
        return pd.Series(values.to_numpy(float, na_value=np.nan), values.index)
    place, distinct = pd.factorize(values.astype(object))
    cells = [_cell(value, decimal) for value in distinct]
    numbers = [cell for cell in cells if not np.isnan(cell.number)]
    unit = Counter(cell.unit for cell in numbers).most_common(1)[0][0] if numbers else ""
    doubtful = any(not cell.group and abs(cell.number) >= 1000 for cell in numbers)
    refused = OTHER_SIGN[decimal] if doubtful else None
    table = [c.number if c.unit == unit and c.group != refused else np.nan for c in cells]
    return pd.Series(np.array([*table, np.nan])[place], values.index)


# dates


@dataclass(frozen=True)
class Dates:
    """A column of dates as numbers: the days since a date.

    Attributes
    ----------
    origin : str
        The first date in training, as in ISO 8601.
    form : str
        How text has dates: a format of ``strptime``, or "ISO8601".
    """

    origin: str
    form: str = ISO

    def days(self, values: pd.Series) -> pd.Series:
        """Return the days since the first date, NaN where there is no date of this form."""
        return (moments(values, self.form) - pd.Timestamp(self.origin)) / pd.Timedelta(days=1)

    def moment(self, days: float) -> pd.Timestamp:
        """Return the date of so many days."""
        return pd.Timestamp(self.origin) + pd.Timedelta(days=days)

    def __str__(self) -> str:
        return f"days since {self.origin.removesuffix('T00:00:00')}"


def moments(values: pd.Series, form: str = ISO) -> pd.Series:
    """Return dates as datetime64, in UTC without saying so; NaT where there is none."""
    if not pd.api.types.is_datetime64_any_dtype(values):
        values = values.astype(object)
    return pd.to_datetime(values, format=form, errors="coerce", utc=True).dt.tz_localize(None)


def date_forms(values: pd.Series) -> tuple[list[str], int]:
    """Return the forms by which most of the texts are dates, and how many are."""
    counts = {form: int(moments(values, form).notna().sum()) for form in FORMS}
    most = max(counts.values())
    forms = [form for form, n in counts.items() if n == most]
    return forms[:1] if ISO in forms else forms, most


def dates_of(values: pd.Series) -> Dates:
    """Return how a column of dates becomes numbers."""
    texts = values.dropna()
    is_text = not pd.api.types.is_datetime64_any_dtype(values) and has_text(texts)
    form = date_forms(texts)[0][0] if is_text else ISO
    return Dates(moments(texts, form).min().isoformat(), form)


# columns


def kind_of(column: pd.Series, decimal: str = ".") -> str:
    """Return what a column is: numbers, dates, category or other (objects that are none of these).

    Trouble has names of its own: "decimal", "days or months", "some numbers", "some dates",
    "digits" and "id".
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        return "category"
    if pd.api.types.is_numeric_dtype(column):
        return (
            "digits" if _loses_digits(column, pd.api.types.is_integer_dtype(column)) else "numbers"
        )
    if pd.api.types.is_datetime64_any_dtype(column):
        return "dates" if column.notna().any() else "numbers"
    values = column.dropna()
    if not has_text(values):
        kind = pd.api.types.infer_dtype(values)
        return "digits" if _loses_digits(values, kind == "integer") else OBJECTS.get(kind, "other")
    try:
        n_numbers = int(as_numbers(values, decimal).notna().sum())
    except TypeError:  # values that have no hash
        return "other"
    texts = values.astype(str).str.strip()
    of_digits = texts.str.fullmatch(r"\d+")
    is_code = bool(of_digits.all() and texts.str.match(r"0\d").any())
    if n_numbers == len(values) and not is_code:
        return "digits" if _loses_digits(values, bool(of_digits.all())) else "numbers"
    if texts.str.match(DATE).mean() > 0.5:
        forms, n = date_forms(values)
        if n == len(values):
            return "dates" if len(forms) == 1 else "days or months"
        if n > len(values) / 2:
            return "some dates"
    if as_numbers(values, OTHER_SIGN[decimal]).notna().all() and not is_code:
        return "decimal"
    alone = np.array([not np.isnan(_cell(value, decimal).number) for value in values])
    if not is_code and (alone & ~texts.str.fullmatch(r"0\d+")).mean() > 0.5:
        return "some numbers"
    return "id" if values.is_unique and len(values) >= FEW else "category"


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
            case "id":
                yield (
                    f"{listed(names, 'names', 'name')} each row once: --id {first!r}, or "
                    f"--drop (in Python X.set_index({first!r}), or X.drop)"
                )
            case _:
                what = kind.removeprefix("some ")
                yield from (_cells_in_trouble(name, table[name], what, decimal) for name in names)


def _cells_in_trouble(name: Any, column: pd.Series, what: str, decimal: str) -> str:
    values = column.reset_index(drop=True).dropna()
    if what == "dates":
        bad = values[moments(values, date_forms(values)[0][0]).isna()]
    else:
        is_code = values.astype(str).str.strip().str.fullmatch(r"0\d+")  # such as 007
        bad = values[as_numbers(values, decimal).isna() | is_code]
    shown = ", ".join(f"{value!r:.40} of row {row}" for row, value in bad.head(3).items())
    more = f" and {len(bad) - 3} more" if len(bad) > 3 else ""
    text = (
        f"{str(name)!r} has {what} in {len(values) - len(bad)} of {len(column)} rows, but not "
        f"{shown}{more} (counted from 0): mend or empty "
        f"{'this cell' if len(bad) == 1 else 'these cells'}"
    )
    return text + (
        f", or --category {str(name)!r} if the values name categories (in Python "
        f"X[{str(name)!r}].astype('category'))"
        if what == "numbers"
        else ""
    )


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


def found(
    frame: pd.DataFrame, named: Iterable[int] = (), takes_categories: bool = True
) -> tuple[tuple[int, ...], dict[int, Dates]]:
    """Return the positions of the columns of categories, and the columns of dates.

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
        Whole numbers count the rows, as an id does.
    """
    own, names = set(named), list(frame.columns)
    by_name, wrong = kinds_of(frame, {names[i] for i in own})
    if wrong:
        raise ValueError("; ".join(wrong))
    kinds = list(by_name.values())
    categories = {i for i, kind in enumerate(kinds) if kind == "category"}
    others = [names[i] for i in sorted(categories - own)]
    if others and (own or not takes_categories):
        raise ValueError(
            f"{listed(others, 'is', 'are')} not numeric: for columns of categories use "
            "kernel=kernels.Tabular() (without categorical=, or with all of them), else convert or "
            "drop them; if one has the labels, name it: y='name'"
        )
    _warn_of_ids(frame.iloc[:, [i for i, kind in enumerate(kinds) if kind == "numbers"]])
    dates = {i: dates_of(frame.iloc[:, i]) for i, kind in enumerate(kinds) if kind == "dates"}
    return tuple(sorted(categories)), dates


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
    frame: pd.DataFrame, categorical: Iterable[int], dates: Mapping[int, Dates]
) -> pd.DataFrame:
    """Return a table whose columns are numbers: days, and codes of categories.

    Columns of other objects stay as they are. Gaps are NaN.

    Raises
    ------
    ValueError
        A cell is neither a number nor a gap, or no date of the form of training.
    TypeError
        A category is neither a text nor a number.
    """
    frame, named = frame.copy(deep=False), set(categorical)
    for i, name in enumerate(frame.columns):
        column = frame.iloc[:, i]
        if i in named:
            frame.isetitem(i, codes(column))
        elif i in dates or not pd.api.types.is_numeric_dtype(column):
            if i not in dates and not has_text(column) and kind_of(column) != "numbers":
                continue
            values = dates[i].days(column) if i in dates else as_numbers(column)
            _refuse_cells(name, column, values.isna() & column.notna(), dates.get(i))
            frame.isetitem(i, values)
    return frame


def _refuse_cells(name: Any, column: pd.Series, bad: pd.Series, dates: Dates | None) -> None:
    if bad.any():
        first = int(bad.to_numpy().argmax())
        what = "number" if dates is None else f"date as in training ({dates.form})"
        raise ValueError(
            f"column {str(name)!r} is not numeric: row {first} (counted from 0) has "
            f"{column.iloc[first]!r:.80}, which is no {what} ({int(bad.sum())} such rows); mend "
            "or leave out these rows"
        )
