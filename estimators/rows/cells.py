"""Cells of text that are numbers, in the ways that people and spreadsheets write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

OTHER_SIGN = {".": ",", ",": "."}
TIMES = (":", "::")  # units of a time of two parts and of one of three
MINUS = str.maketrans(dict.fromkeys("\u2212\u2012\u2013\ufe63\uff0d", "-"))
GROUP = {".": ",", ",": r"\."}  # what stands between thousands, beside spaces and apostrophes
CURRENCY = r"[A-Z]{0,2}[$¢£¥\u20a0-\u20c0]|Rs\.?|"
CURRENCY += "EUR|USD|GBP|CHF|JPY|CNY|INR|KRW|SEK|NOK|DKK|PLN|CZK|AUD|CAD"
BEFORE = re.compile(rf"{CURRENCY}|[~±]")
POWER_OR_FRACTION = r"[\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215e]"
ENDING = rf"(?:(?!{POWER_OR_FRACTION})[^\W\d_]|[°%‰])\S*(?:\s\S+)?"
QUOTED = re.compile(r"=\"(.*)\"|'(.*)", re.DOTALL)  # marks by which spreadsheets keep text
TIME = re.compile(r"(-?)(\d+):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?(?:\s*([ap])\.?m\.?)?", re.I)
TRUTH = {"true": 1.0, "false": 0.0, **{f"{s}inf": float(f"{s}inf") for s in ("", "+", "-")}}
CALLED = re.compile(r"\+(?:[\s()/-]*\d){7,}|0\d+(?:[a-zA-Z]\S*)?")  # telephone numbers, codes
HEXADECIMAL = re.compile(r"0x[0-9a-f]+", re.IGNORECASE)
SIZE = r"(?:0|[1-9]\d*)(?:[.,]\d+)?"
PAIR = re.compile(rf"-?{SIZE}\s*(?:[x\u00d7*/'\u2032]|±|\+/-)\s*-?{SIZE}(?:\"|'')?", re.IGNORECASE)


class Cell(NamedTuple):
    """A number that a cell has, its unit, and how it is written.

    The unit is what stands behind the number or before it, ":" or "::" for a time of two or three
    parts, or "truth" for true and false. ``group`` is the sign between thousands. ``unusual`` says
    whether the number is written so that a reader may doubt it.
    """

    number: float = np.nan
    unit: str = ""
    group: str = ""
    unusual: bool = False

    @property
    def is_number(self) -> bool:
        """Whether the cell has a number."""
        return not np.isnan(self.number)


def _pattern(decimal: str) -> re.Pattern[str]:
    thousands = rf"[1-9]\d{{0,2}}(?P<group>[{GROUP[decimal]}'\u2019\s])\d{{3}}"
    thousands += r"(?:(?P=group)\d{3})*"
    indian = rf"(?P<indian>[1-9]\d?(?:{GROUP[decimal]}\d{{2}})+{GROUP[decimal]}\d{{3}})"
    return re.compile(
        rf"(?P<sign>[-+]?)(?P<before>{BEFORE.pattern})?\s*(?P<inner>-?)"
        rf"(?P<whole>{indian}|{thousands}|\d*)"
        rf"(?:{re.escape(decimal)}(?P<part>\d*))?(?:[eE](?P<power>[-+]?\d+)|[dD](?P<D>[-+]\d+))?"
        rf"\s*(?P<after>{CURRENCY}|{ENDING})?"
    )


NUMBER = {decimal: _pattern(decimal) for decimal in GROUP}


def unquoted(text: str) -> str:
    """Return a text without blanks around it, and without the marks of a spreadsheet."""
    text = text.strip()
    marked = QUOTED.fullmatch(text)
    return text if marked is None else (marked[1] or marked[2] or "").strip()


def cell_of(value: Any, decimal: str = ".") -> Cell:
    """Return what a cell is; NaN if it is no number."""
    if not isinstance(value, str):
        is_time = hasattr(value, "hour") and not hasattr(value, "day")
        return Cell(_number_of(value), TIMES[1] if is_time else "")
    text = unquoted(value).translate(MINUS)
    if time := TIME.fullmatch(text):
        return _time(*time.groups())
    in_parentheses = text.startswith("(") and text.endswith(")")
    text = text[1:-1] if in_parentheses else text
    found = NUMBER[decimal].fullmatch(text)
    if found is None or not (found["whole"] or found["part"]):
        number = TRUTH.get(text.casefold(), np.nan)
        return Cell(number, "truth" if np.isfinite(number) else "")
    sign, inner = found["sign"], found["inner"]
    before, after = found["before"], found["after"]
    if (sign and inner) or (before and after) or (in_parentheses and (sign or inner)):
        return Cell()
    if CALLED.fullmatch(text) or (after and (HEXADECIMAL.fullmatch(text) or PAIR.fullmatch(text))):
        return Cell()
    whole = re.sub(r"\D", "", found["whole"])
    power = found["power"] or found["D"] or 0
    number = float(f"{sign}{inner}{whole or 0}.{found['part'] or 0}e{power}")
    return Cell(
        np.nan if not np.isfinite(number) else -number if in_parentheses else number,
        one_unit(before or after or ""),
        GROUP[decimal].removeprefix("\\") if found["indian"] else found["group"] or "",
        bool(in_parentheses or found["indian"] or found["D"]),
    )


def one_unit(text: str) -> str:
    """Return a unit as it is compared: a word without its plural, without a full stop.

    Examples
    --------
    >>> from bsvdd.estimators.rows.cells import one_unit
    >>> one_unit("dollars"), one_unit("boxes"), one_unit("ms"), one_unit("m/s"), one_unit("US$")
    ('dollar', 'box', 'ms', 'm/s', 'US$')
    """
    text = " ".join(text.split()).removesuffix(".")
    if len(text) < 3 or not text.isalpha() or not text.endswith("s"):
        return text
    return text[:-2] if text.endswith(("xes", "ches", "shes", "sses")) else text[:-1]


def text_of(number: float, unit: str) -> str:
    """Return the cell that has a number and a unit."""
    return f"{unit} {number!r}" if BEFORE.fullmatch(unit) else f"{number!r} {unit}".strip()


def _time(sign: str, hours: str, minutes: str, seconds: str | None, half: str | None) -> Cell:
    whole = int(hours)
    if half is not None:
        if not 1 <= whole <= 12:
            return Cell()
        whole = whole % 12 + (12 if half.casefold() == "p" else 0)
    number = whole + int(minutes) / 60 + float(seconds or 0) / 3600
    return Cell(float(f"{sign}1") * number, TIMES[seconds is not None])


def _number_of(value: Any) -> float:
    """Return the number that an object is: a Decimal, a whole number of any size, or a time."""
    if hasattr(value, "hour") and not hasattr(value, "day"):
        seconds = value.second + value.microsecond / 1e6
        return float(value.hour + value.minute / 60 + seconds / 3600)
    try:
        return float(value)
    except OverflowError:
        return np.inf
    except (TypeError, ValueError):
        return np.nan


class Cells:
    """The cells of a column: those that differ, what each is, and which one each row has.

    Attributes
    ----------
    place : ndarray of int
        Of the cell of each row among those that differ; -1 for a gap.
    values : array of object
        The cells that differ.
    found : list of Cell
    """

    def __init__(self, column: pd.Series, decimal: str = ".") -> None:
        self.place, self.values = pd.factorize(column.astype(object))
        self.found = [cell_of(value, decimal) for value in self.values]
        self.decimal, self._index = decimal, column.index

    def units(self) -> Counter[str]:
        """Return how many rows have each unit; only cells that are numbers count."""
        rows = np.bincount(self.place[self.place >= 0], minlength=len(self.found))
        counts: Counter[str] = Counter()
        for cell, n in zip(self.found, rows.tolist(), strict=True):
            if cell.is_number:
                counts[cell.unit] += n
        return counts

    def each(self, of: Callable[[Any, Cell], Any]) -> np.ndarray:
        """Return a value of each row that has no gap, a function of its cell."""
        table = np.array([of(v, c) for v, c in zip(self.values, self.found, strict=True)])
        filled: np.ndarray = table[self.place[self.place >= 0]]
        return filled

    def numbers(self, *units: str) -> pd.Series:
        """Return the numbers of the cells with one of these units, NaN for others.

        A sign between thousands is none if other cells have thousands without it: "1,234" beside
        "1500" may be 1.234.
        """
        doubtful = any(not c.group and abs(c.number) >= 1000 for c in self.found if c.is_number)
        refused = OTHER_SIGN[self.decimal] if doubtful else None
        table = [c.number if c.unit in units and c.group != refused else np.nan for c in self.found]
        return pd.Series(np.array([*table, np.nan])[self.place], self._index)


def as_numbers(values: pd.Series, decimal: str = ".") -> pd.Series:
    """Return a column as floats, NaN where there is no number without a unit.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd.estimators.rows.cells import as_numbers
    >>> as_numbers(pd.Series(["1,234.50", "(12)", "5 kg", "x"])).tolist()
    [1234.5, -12.0, nan, nan]
    >>> as_numbers(pd.Series(["1.234,5", "7"]), ",").tolist()
    [1234.5, 7.0]
    """
    if pd.api.types.is_numeric_dtype(values):
        return pd.Series(values.to_numpy(float, na_value=np.nan), values.index)
    return Cells(values, decimal).numbers("", "truth")


def with_points(values: pd.Series) -> pd.Series:
    """Return a column of text whose numbers have decimal commas with decimal points."""

    def written(value: Any) -> Any:
        cell = cell_of(value, ",") if isinstance(value, str) else Cell()
        if not cell.is_number or cell.unit in (*TIMES, "truth"):
            return value
        return text_of(cell.number, cell.unit)

    place, distinct = pd.factorize(values.astype(object))
    table = np.array([*map(written, distinct), None], dtype=object)
    return pd.Series(table[place], values.index, name=values.name, dtype=object)
