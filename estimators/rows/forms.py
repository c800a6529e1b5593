"""How the cells of a column become numbers, and numbers cells: a fit keeps it for new rows."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from functools import cached_property
from typing import Any, ClassVar, Self, override

import numpy as np
import pandas as pd

from .categories import codes, has_text
from .cells import TIMES, Cells, text_of, unquoted

ISO = "ISO8601"
DAYS: tuple[str, ...] = ("%Y/%m/%d", "%Y%m%d", "%m/%Y", "%d.%m.%Y", "%d.%m.%y")
DAYS += tuple(
    sign.join(f"%{part}" for part in order)
    for sign in "/-"
    for order in ("dmY", "mdY", "dmy", "mdy")
)
DAYS += (
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
    "%a %b %d %Y",
    "%d-%b-%Y",
    "%d-%b-%y",
    "%b-%d-%Y",
)
DAYS += ("%b %Y", "%B %Y", "%b-%Y", "%b-%y")
CLOCKS = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# a quarter, and a week of ISO 8601: a pattern, and the first day of what it matches
PERIODS = {
    "YYYYQn": (r"(?P<y>\d{4})[ -]?Q(?P<q>[1-4])", lambda m: f"{m['y']}-{3 * int(m['q']) - 2:02d}"),
    "YYYY-Www": (r"(?P<y>\d{4})-?W(?P<w>\d\d)", lambda m: f"{m['y']}-{m['w']}-1"),
}
FORMS = (ISO, *PERIODS, *(day + clock for clock in CLOCKS for day in DAYS))
TRIED = 100  # values by which a form that no date has is known
FIRST, LAST = 19000101, 21001231  # days as numbers of eight digits
ZONE = r".*[T ]\d.*(Z|[+-]\d\d(:?\d\d)?)"  # a clock, and at its end the time zone


class Form:
    """How the cells of a column become numbers."""

    kind: ClassVar[str]  # in a saved file

    def numbers(self, column: pd.Series) -> pd.Series:
        """Return the numbers of a column, NaN where a cell is not as in training."""
        raise NotImplementedError

    def cell(self, number: float) -> Any:
        """Return a cell that has a number."""
        raise NotImplementedError

    @property
    def expected(self) -> str:
        """What a cell of training is, as an error says it."""
        raise NotImplementedError

    def saved(self) -> list[str]:
        """Return the form as texts, which :func:`form_of` reads."""
        return [self.kind, *astuple(self)]  # type: ignore[call-overload]


@dataclass(frozen=True)
class Amounts(Form):
    """A column of numbers with a unit.

    Attributes
    ----------
    unit : str
        What stands behind each number, or before it.
    """

    kind: ClassVar[str] = "amounts"
    unit: str

    @classmethod
    def of(cls, column: pd.Series, decimal: str = ".") -> Self:
        """Return how a column becomes numbers whose cells have one unit."""
        return cls(Cells(column.dropna(), decimal).units().most_common(1)[0][0])

    @override
    def numbers(self, column: pd.Series) -> pd.Series:
        return Cells(column).numbers(self.unit)

    @override
    def cell(self, number: float) -> str:
        return text_of(float(number), self.unit)

    @property
    @override
    def expected(self) -> str:
        return f"number in {self.unit!r} as in training"

    def __str__(self) -> str:
        return f"in {self.unit}"


@dataclass(frozen=True)
class Times(Form):
    """A column of times of the day, or of durations, as hours.

    Attributes
    ----------
    parts : {"h:m", "h:m:s", "m:s"}
        What two or three numbers of a cell are. With "m:s" a cell may have three, with hours.
    """

    kind: ClassVar[str] = "times"
    parts: str

    @override
    def numbers(self, column: pd.Series) -> pd.Series:
        cells = Cells(column)
        if self.parts != "m:s":
            return cells.numbers(TIMES[self.parts == "h:m:s"])
        return cells.numbers(TIMES[1]).fillna(cells.numbers(TIMES[0]) / 60.0)

    @override
    def cell(self, number: float) -> str:
        seconds = round(abs(number) * 3600.0, 6)
        minutes, rest = divmod(seconds, 60.0)
        text = f"{'-' if number < 0.0 else ''}{int(minutes) // 60:02d}:{int(minutes) % 60:02d}"
        return text if self.parts == "h:m" else f"{text}:{f'{rest:09.6f}'.rstrip('0').rstrip('.')}"

    @property
    @override
    def expected(self) -> str:
        return f"time as in training ({self.parts})"

    def __str__(self) -> str:
        return f"hours ({self.parts})"


def level(value: Any) -> str:
    """Return the text of a level; a whole number has no decimals in any file."""
    return str(int(value) if isinstance(value, float) and value.is_integer() else value)


@dataclass(frozen=True)
class Levels(Form):
    """A column of ordered categories, as their places.

    Attributes
    ----------
    levels : tuple of str
        From the lowest to the highest.
    """

    kind: ClassVar[str] = "levels"
    levels: tuple[str, ...]

    @override
    def numbers(self, column: pd.Series) -> pd.Series:
        place = {level: float(i) for i, level in enumerate(self.levels)}
        cells = column.astype(object)
        return cells.map(lambda v: place.get(level(v), np.nan), na_action="ignore").astype(float)

    @override
    def cell(self, number: float) -> str:
        return self.levels[round(number)]

    @property
    @override
    def expected(self) -> str:
        return f"level as in training ({self})"

    @override
    def saved(self) -> list[str]:
        return [self.kind, *self.levels]

    def __str__(self) -> str:
        return " < ".join(self.levels)


@dataclass(frozen=True)
class Categories(Form):
    """A column of categories, as their codes.

    Attributes
    ----------
    labels : tuple of str
        The categories of training, in alphabetical order.
    """

    kind: ClassVar[str] = "category"
    labels: tuple[str, ...]

    @classmethod
    def of(cls, column: pd.Series) -> Self:
        """Return the form of a column of training."""
        return cls(tuple(sorted(map(str, column.dropna().astype(object).unique()))))

    @override
    def numbers(self, column: pd.Series) -> pd.Series:
        return pd.Series(codes(column), column.index)

    @cached_property
    def _label(self) -> dict[float, str]:
        return dict(zip(codes(pd.Series(self.labels, dtype=object)), self.labels, strict=True))

    @override
    def cell(self, number: float) -> Any:
        known = number if number >= 0.0 or number <= -1.0 else None
        return self._label.get(number, known)

    @property
    @override
    def expected(self) -> str:
        return "category"

    @override
    def saved(self) -> list[str]:
        return [self.kind, *self.labels]

    def __str__(self) -> str:
        return "categories"


@dataclass(frozen=True)
class Names(Form):
    """A column that names the rows: it does not count, and is the number 0 in each row."""

    kind: ClassVar[str] = "names"

    @override
    def numbers(self, column: pd.Series) -> pd.Series:
        return pd.Series(0.0, column.index)

    @override
    def cell(self, number: float) -> None:
        return None

    @property
    @override
    def expected(self) -> str:
        return "name"

    def __str__(self) -> str:
        return "names of rows, which do not count"


@dataclass(frozen=True)
class Dates(Form):
    """A column of dates as numbers: the days since a date.

    Attributes
    ----------
    origin : str
        The first date in training, as in ISO 8601. In UTC, and saying so, if all dates of training
        have a time zone; then new ones must have one too, any, else none.
    form : str
        How text has dates: a format of ``strptime``, "ISO8601", or one of ``PERIODS``.
    """

    kind: ClassVar[str] = "dates"
    origin: str
    form: str = ISO

    @classmethod
    def of(cls, column: pd.Series) -> Self:
        """Return how a column of dates becomes numbers."""
        dates = column.dropna()
        is_typed = pd.api.types.is_datetime64_any_dtype(column)
        form = ISO if is_typed or _is_objects(dates) else date_forms(dates)[0][0]
        first = moments(dates, form).min()
        return cls(first.tz_localize("UTC" if have_zone(dates).all() else None).isoformat(), form)

    @cached_property
    def first(self) -> pd.Timestamp:
        """The first date in training, in UTC without saying so."""
        return pd.to_datetime(self.origin, utc=True).tz_localize(None)

    @cached_property
    def zone(self) -> str | None:
        """The time zone of dates: UTC if those of training had one."""
        return None if pd.Timestamp(self.origin).tz is None else "UTC"

    @override
    def numbers(self, column: pd.Series) -> pd.Series:
        dates = moments(column, self.form).where(have_zone(column) == (self.zone is not None))
        return (dates - self.first) / pd.Timedelta(days=1)

    @override
    def cell(self, number: float) -> pd.Timestamp:
        return (self.first + pd.Timedelta(days=number)).round("us").tz_localize(self.zone)

    @property
    @override
    def expected(self) -> str:
        zone = "without" if self.zone is None else "with"
        return f"date as in training ({self.form}, {zone} a time zone)"

    def __str__(self) -> str:
        return f"days since {self.origin.replace('T00:00:00', '').replace('+00:00', ' in UTC')}"


def _is_objects(values: pd.Series) -> bool:
    """Return whether values are objects other than text."""
    return not pd.api.types.is_numeric_dtype(values) and not has_text(values)


def form_of(saved: list[str]) -> Form:
    """Return the form that was saved as texts; a ValueError if it is none."""
    kind, *texts = saved
    if not all(isinstance(each, str) for each in saved):
        raise ValueError(f"forms: expected texts, got {saved!r:.80}")
    if kind == Levels.kind and len(set(texts)) == len(texts) > 0:
        return Levels(tuple(texts))
    if kind == Categories.kind and len(set(texts)) == len(texts):
        return Categories(tuple(texts))
    if kind == Names.kind and not texts:
        return Names()
    if kind == Amounts.kind and len(texts) == 1:
        return Amounts(*texts)
    if kind == Times.kind and len(texts) == 1 and texts[0] in ("h:m", "h:m:s", "m:s"):
        return Times(*texts)
    is_of_dates = kind == Dates.kind and len(texts) == 2 and texts[1] in FORMS
    if is_of_dates and not pd.isna(pd.Timestamp(texts[0])):  # an error if it is no date
        return Dates(*texts)
    raise ValueError(f"forms: no form of a column, {saved!r:.80}")


# dates


def moments(values: pd.Series, form: str = ISO) -> pd.Series:
    """Return dates as datetime64, in UTC without saying so; NaT where there is none.

    :func:`have_zone` says which of them have a time zone.
    """
    if pd.api.types.is_numeric_dtype(values):  # days of eight digits
        whole = values.where(values.between(FIRST, LAST) & (values % 1 == 0))
        values = whole.astype("Int64").astype("string")
    values = _unmarked(values)
    if form in PERIODS and has_text(values):
        pattern, written = PERIODS[form]
        texts = values.where(values.astype(str).str.fullmatch(pattern))
        values = texts.astype("string").str.replace(pattern, written, regex=True).astype(object)
        form = ISO if form == "YYYYQn" else "%G-%V-%u"
    return pd.to_datetime(values, format=form, errors="coerce", utc=True).dt.tz_localize(None)


def have_zone(dates: pd.Series) -> pd.Series:
    """Return which dates have a time zone: a type, an object or a text that says one."""
    if pd.api.types.is_datetime64_any_dtype(dates):
        return pd.Series(isinstance(dates.dtype, pd.DatetimeTZDtype), dates.index)
    if pd.api.types.is_numeric_dtype(dates):
        return pd.Series(False, dates.index)
    values = _unmarked(dates)
    is_text = values.map(lambda v: isinstance(v, str)).astype(bool)
    of_objects = values.map(lambda v: getattr(v, "tzinfo", None) is not None).astype(bool)
    return of_objects | (is_text & values.astype(str).str.fullmatch(ZONE))


def _unmarked(values: pd.Series) -> pd.Series:
    """Return the cells of a column; texts are without the marks of a spreadsheet."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return values
    return values.astype(object).map(lambda v: unquoted(v) if isinstance(v, str) else v)


def date_forms(values: pd.Series) -> tuple[list[str], int]:
    """Return the forms by which most of the values are dates, and how many are.

    There are several if they read days as months.
    """
    distinct = values.astype(object).value_counts()
    texts = pd.Series(distinct.index, dtype=object)
    if pd.api.types.is_numeric_dtype(values):
        texts = pd.Series(distinct.index.to_numpy(float))
    head, counts = texts.head(TRIED), {}
    for form in ("%Y%m%d",) if pd.api.types.is_numeric_dtype(texts) else FORMS:
        if moments(head, form).notna().any():
            counts[form] = int(distinct.to_numpy()[moments(texts, form).notna()].sum())
    most = max(counts.values(), default=0)
    forms = [form for form, n in counts.items() if n == most]
    if ISO in forms:
        return [ISO], most
    return list({form.replace("%B", "%b"): form for form in reversed(forms)}.values()), most
