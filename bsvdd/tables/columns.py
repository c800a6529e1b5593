"""What a column of a table is: its cells become floats, and floats its cells."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from pandas.api import types

NO_VALUE = (
    "None"  # is missing in a column of numbers or dates, and a category elsewhere
)
CURRENCY = (
    r"[A-Z]{0,2}[$¢£¥\u20a0-\u20c0]"
    "|EUR|USD|GBP|CHF|JPY|CNY|INR|SEK|NOK|DKK|PLN|CZK|AUD|CAD"
)
# no powers and no halves either
NO_LETTER = r"[\d_\W\u00b2\u00b3\u00b9\u00bc-\u00be\u2070-\u2089\u2150-\u215e]"
AMOUNT = (
    rf"^(?P<sign>[-+\u2212]?)(?P<before>{CURRENCY})?\s?(?=\.?\d)"
    r"(?P<number>(?:(?P<grouped>[1-9]\d{0,2}(?P<mark>[,\s'\u2019])\d{3}"
    r"(?:(?P=mark)\d{3})*)|\d*)(?:\.\d*)?(?:[eE][-+]?\d+)?)"
    rf"\s?(?P<after>{CURRENCY}|(?!{NO_LETTER})\w[^\s\d]*|[%‰°][A-Z]?)?\Z"
)
SWAPPED = str.maketrans(".,", ",.")
LINE = "line"  # what the index of a table is called that has the lines of its file
MIDNIGHT = pd.Timestamp("1900-01-01")  # of a clock without a day, to pandas
DAY = pd.Timedelta(days=1)
HOUR = pd.Timedelta(hours=1)
ISO = "ISO8601"
EIGHT = "%Y%m%d"
DAYS = (
    "%Y/%m/%d|%d.%m.%Y|%d.%m.%y|%d/%m/%Y|%m/%d/%Y|%d-%m-%Y|%m-%d-%Y|%d/%m/%y|%m/%d/%y"
    "|%d %b %Y|%d %B %Y|%b %d, %Y|%B %d, %Y|%b %d %Y|%d-%b-%Y|%d-%b-%y|%b-%d-%Y"
    "|%a %b %d %Y|%b %Y|%B %Y|%b-%y|%m/%Y"
)
CLOCKS = "", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p"
TIME = "%H:%M:%S"
HALF = r"\s*(?i:([ap])\.?m\.?)$"  # of a day, at the end of a clock
FORMATS = (ISO, *(day + clock for clock in CLOCKS for day in DAYS.split("|")))
ZONE = r".*[T ]\d.*(?:Z|[+-]\d\d(?::?\d\d)?)"  # a clock, and at its end the time zone


def text_of(value: object) -> str:
    """Return the text of a value; a whole number has no decimals, as in a file."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


def texts(x: pd.Series) -> pd.Series:
    """Return the cells of a column as texts, without missing cells and blanks."""
    cells = x.dropna().astype(object).map(text_of)
    return cells[cells != ""]


def numbered[Cells: (pd.Series, pd.DataFrame)](x: Cells) -> Cells:
    """Return cells by the lines of their file, or by the numbers of their rows."""
    is_line = x.index.name == LINE and x.index.is_unique
    return x if is_line else x.reset_index(drop=True)


def first_row(x: pd.Series, bad: np.ndarray, what: str = "rows") -> str:
    """Return what the first bad row of a numbered column is called, and their number.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from bsvdd.tables.columns import first_row
    >>> x = pd.Series(["a", "b", "c"])
    >>> first_row(x, x > "a")
    'row 1 (counted from 0; 2 such rows)'
    >>> first_row(x.set_axis(pd.RangeIndex(2, 5, name="line")), x.to_numpy() > "a")
    'line 3 (2 such rows)'
    """
    rows = x.index[np.asarray(bad)]
    such = f"{len(rows)} such {what if len(rows) > 1 else what[:-1]}"
    if x.index.name == LINE:
        return f"line {rows[0]} ({such})"
    return f"row {rows[0]} (counted from 0; {such})"


def amounts(cells: pd.Series) -> pd.DataFrame:
    """Return the ``number``, ``unit`` and ``grouped`` of texts; NaN where no number is.

    Thousands may have a comma, a blank or an apostrophe. A number with a comma does not
    count if other cells have thousands without one: "1,234" beside "1500" may be 1.234.

    Parameters
    ----------
    cells : pandas.Series of str

    Returns
    -------
    pandas.DataFrame
        Of the same index.
    """
    found = cells.astype(object).str.extract(AMOUNT)
    number = found["number"].str.replace(r"[,\s'\u2019]", "", regex=True).astype(float)
    number = number.where(found["sign"].isin(["", "+"]), -number)
    unit = found["before"].fillna("") + found["after"].fillna("")
    grouped = found["grouped"].notna()
    known = number.notna()
    if (number.abs()[~grouped] >= 1000.0).any():
        known &= found["mark"] != ","
    values = {
        "number": number.where(known),
        "unit": unit.where(known),
        "grouped": grouped,
    }
    return pd.DataFrame(values)


@dataclass(frozen=True)
class TableColumn:
    """What a column of training rows is.

    Attributes
    ----------
    kind : {"numbers", "dates", "levels", "category", "names"}
        Names of the rows do not count: their float is 0.
    unit : str
        The measuring unit of all numbers, or "".
    grouped : bool
        Whether thousands have a mark between them.
    origin : str
        The first training date, from which days are counted. It is in UTC, and says
        so, if the training dates have a time zone; new dates then need one too.
    format : str
        Of dates that are text; numbers with a format are hours since midnight.
    values : tuple of str
        Ordered levels or categories, whose floats are 0, 1, ...; any other category is
        the next number. Categories without values are numbers.
    """

    kind: str = "numbers"
    unit: str = ""
    grouped: bool = False
    origin: str = ""
    format: str = ISO
    values: tuple[str, ...] = ()

    @property
    def first(self) -> pd.Timestamp:
        """The first training date."""
        return pd.Timestamp(self.origin)

    @property
    def expected(self) -> str:
        """What a cell of new rows is, as an error says it."""
        if self.format == TIME:
            return "time of the day as in training"
        if self.kind == "dates":
            zone = "without" if self.first.tz is None else "with"
            return f"date as in training ({self.format}, {zone} a time zone)"
        if self.kind == "levels":
            return f"level as in training ({' < '.join(self.values)})"
        unit = f"in {self.unit!r}" if self.unit else "without a unit"
        return f"number {unit} as in training"

    def floats(self, x: pd.Series) -> pd.Series:
        """Return the floats of cells.

        Parameters
        ----------
        x : pandas.Series
            Cells of training rows or of new rows.

        Returns
        -------
        pandas.Series
            Of the same index; NaN where a cell is missing or not as in training.
        """
        if self.kind == "names":
            return pd.Series(0.0, x.index)
        if self.kind == "dates":
            zone = zoned(x).reindex(x.index) == (self.first.tz is not None)
            since = moments(x, self.format).where(zone) - self.first.tz_localize(None)
            return since / DAY
        if self.format == TIME:
            return (times_of(x) - MIDNIGHT) / HOUR
        if self.values:
            code = {value: float(i) for i, value in enumerate(self.values)}
            other = np.nan if self.kind == "levels" else float(len(code))
            codes = texts(x).map(lambda cell: code.get(cell, other))
            return codes.astype(float).reindex(x.index)
        if types.is_numeric_dtype(x):
            return pd.Series(x.to_numpy(float, na_value=np.nan), x.index)
        cells = texts(x).replace({"True": "1", "False": "0"})
        values = pd.to_numeric(cells, errors="coerce").astype(float)
        if self.unit or values.isna().any():
            found = amounts(cells)
            fits = (found["unit"] == self.unit) & (~found["grouped"] | self.grouped)
            values = (values * np.nan if self.unit else values).fillna(
                found["number"].where(fits)
            )
        return values.reindex(x.index)

    def cell(self, number: float) -> str | float | pd.Timestamp | None:
        """Return the cell that has a float.

        Parameters
        ----------
        number : float

        Returns
        -------
        str, float, pandas.Timestamp or None
            None if no cell has it.
        """
        if self.kind == "names" or np.isnan(number):
            return None
        if self.kind == "dates":
            return (self.first + DAY * number).round("us")
        if self.format == TIME:
            time = (MIDNIGHT + HOUR * number).round("s").strftime(TIME)
            return time.removesuffix(":00")
        if self.values:
            return self.values[round(number)] if number < len(self.values) else None
        if re.fullmatch(CURRENCY, self.unit):
            return f"{'-' if number < 0 else ''}{self.unit} {abs(float(number))!r}"
        return f"{float(number)!r} {self.unit}" if self.unit else float(number)


def column_of_numbers(cells: pd.Series) -> TableColumn | None:
    """Return the column of numbers that are texts in one unit; None if they are not."""
    if pd.to_numeric(cells, errors="coerce").notna().all():
        return TableColumn()
    found = amounts(cells)
    if found["number"].isna().any() or found["unit"].nunique() > 1:
        return None
    return TableColumn(unit=found["unit"].iloc[0], grouped=bool(found["grouped"].any()))


def column_of_dates(x: pd.Series, form: str = ISO) -> TableColumn:
    """Return the column of dates; a ValueError if only some have a time zone."""
    if (zone := zoned(x)).nunique() > 1:
        utc = "X[{x}] = pandas.to_datetime(X[{x}], format='ISO8601', utc=True)"
        raise ValueError(
            f"has dates with and without a time zone: {utc} takes UTC for none"
        )
    first = moments(x, form).min().tz_localize("UTC" if zone.all() else None)
    return TableColumn("dates", origin=first.isoformat(), format=form)


def times_of(x: pd.Series) -> pd.Series:
    """Return the times of a column, all of one day; NaT where there is none."""
    cells = texts(x)
    found = moments(cells, TIME)
    for form in CLOCKS[1:]:
        found = found.fillna(moments(cells, form.strip()))
    return found.reindex(x.index)


def are_dates(x: pd.Series) -> bool:
    """Return whether pandas says that a column has dates."""
    return types.infer_dtype(x) in ("date", "datetime", "datetime64")


def moments(x: pd.Series, form: str | None) -> pd.Series:
    """Return dates in UTC, without saying so; NaT where there is none."""
    typed = are_dates(x)
    cells = x if typed else texts(x)
    form = None if typed else form
    if form == ISO:
        cells = cells[cells.str.match(r"\d{4}-?\d\d")]  # 1187-9 is none
    elif form and form.endswith("%p"):
        cells = cells.str.replace(HALF, r" \1m", regex=True)
    found = pd.to_datetime(cells, format=form, utc=True, errors="coerce")
    return found.reindex(x.index).dt.tz_localize(None)


def zoned(x: pd.Series) -> pd.Series:
    """Return which of the dates have a time zone, without missing dates."""
    if are_dates(x):
        has_zone = x.dropna().map(lambda v: getattr(v, "tzinfo", None) is not None)
        return has_zone.astype(bool)
    return texts(x).str.fullmatch(ZONE).astype(bool)
