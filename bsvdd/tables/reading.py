"""What the columns of training rows are, what is said of them, and which are refused.

pandas says what is numbers, dates or ordered. Text is numbers if all its cells have one
unit, and dates if one format reads all of them. Codes such as 007, versions and
postcodes are categories. Any other text of which half begins with digits is refused,
with lines that work when pasted.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from pandas.api import types

from ..base.messages import of_value
from . import columns
from .columns import TableColumn, amounts, level, moments, texts

# rows in which texts differ by chance; categories that are hardly ones
FEW = 10
MANY = 20
CODES = 0.1  # share of cells with a leading zero above which a column has codes
EXACT = 2**53  # whole numbers below it are floats
# days as numbers of eight digits
FIRST = 19000101
LAST = 21001231
DIGITS = r"[^A-Za-z0-9]{0,2}\d"
LIMIT = r"[<\u2264]\s*\d*\.?\d+"
CLOCK = r"\d+:\d\d(:\d\d)?"
# versions; postcodes of the USA, Poland, Japan, Brazil, Sweden; of the Netherlands;
# seasons
LABELS = (
    r"\d+(?:\.\d+){2,}",
    r"\d{5}-\d{4}|\d\d-\d{3}|\d{3}-\d{4}|\d{5}-\d{3}|\d{3} \d\d",
)
TOWN = r"^\d{4} ?([A-Z]{2})$"
SEASON = r"^(\d{4})-(\d\d)$"
ENDINGS = 4  # of Dutch postcodes, more than the units of a column
# rows with a code for "not known", and different values beside it
AGAIN = 3
OTHERS = 3
DROP = "--drop {x} (in Python X = X.drop(columns={x})) leaves it out"
CATEGORY = "--category {x} (X[{x}] = X[{x}].astype('category')) makes categories"
MISSING = "--missing {v} (table=bsvdd.Table(missing=[{v}])) makes a gap of it"
NUMBER = "X[{x}] = pandas.to_numeric(X[{x}], errors='coerce') makes gaps of all that are no numbers"
DATE = "X[{x}] = pandas.to_datetime(X[{x}], format='{f}', errors='coerce')"
HALF = (
    "X[{x}] = [float(v[1:]) / 2 if str(v)[0] in '<\u2264' else float(v) for v in "
    "X[{x}]] takes half the limit: these rows then have one value, and look more alike "
    "than they are"
)
HOURS = (
    "X[{x}] = pandas.to_timedelta(X[{x}]{s}) / pandas.Timedelta(hours=1) makes hours"
)
COMMAS = (
    "--decimal ',' (X[{x}] = X[{x}].str.replace('.', '').str.replace(',', '.')) if "
    "that is a decimal sign, X[{x}] = X[{x}].str.replace(',', '') if it stands between "
    "thousands"
)
TYPES = {  # that are no features as they are
    "timedelta": "has durations: X[{x}] = X[{x}] / pandas.Timedelta(days=1) makes days",
    "complex": "has complex numbers",
    "period": "has periods: X[{x}] = X[{x}].dt.to_timestamp() makes dates",
    "time": "has times: X[{x}] = X[{x}].map(lambda t: t.hour + t.minute / 60, 'ignore')",
}


def column_of(x: pd.Series, is_category: bool = False) -> TableColumn:
    """Return what a column is; a ValueError, which begins after its name, if it is refused."""
    is_number = types.is_numeric_dtype(x)
    is_labels = isinstance(x.dtype, pd.CategoricalDtype)
    if is_labels and x.dtype.ordered:
        return TableColumn("levels", values=tuple(map(level, x.dtype.categories)))
    if not x.notna().any():
        raise ValueError(f"has no value in any row; {DROP}")
    if is_category and is_number:
        return TableColumn("category")
    if is_category or is_labels:
        return TableColumn("category", values=tuple(sorted(texts(x).unique())))
    if (kind := types.infer_dtype(x).removesuffix("64")) in TYPES:
        raise ValueError(f"{TYPES[kind]}; {DROP}")
    if (
        kind in ("boolean", "integer", "floating", "decimal", "mixed-integer-float")
        or is_number
    ):
        return _of_values(x)
    if columns.are_dates(x):
        return columns.of_dates(x)
    other = {
        type(v).__name__
        for v in x.dropna()
        if not isinstance(v, str | bool | float | int)
    }
    if other:
        parts = "make columns of their parts (pandas.json_normalize)"
        raise ValueError(f"has objects ({', '.join(sorted(other))}): {parts}; {DROP}")
    return _of_text(texts(x))


def _of_values(x: pd.Series) -> TableColumn:
    values = TableColumn().floats(x)
    if (bad := np.isinf(values)).any():
        gaps = "X[{x}] = pandas.to_numeric(X[{x}]).replace([numpy.inf, -numpy.inf], numpy.nan)"
        where = f"has an infinite value: it is {values[bad].iloc[0]} in row {values.index[bad][0]}"
        raise ValueError(
            f"{where} (counted from 0; {bad.sum()} such rows); {gaps}; {DROP}"
        )
    known = values.dropna()
    if known.abs().max() >= EXACT and known.nunique() < texts(x).nunique():
        why = "has whole numbers of 2^53 or more that floats cannot tell apart"
        raise ValueError(f"{why}; {CATEGORY}; {DROP}")
    if (
        types.is_bool_dtype(x)
        or not (known.between(FIRST, LAST) & (known % 1 == 0)).all()
    ):
        return TableColumn()
    days = moments(known, columns.EIGHT)
    if 0.5 < days.notna().mean() < 1.0:
        raise ValueError(
            f"has days of eight digits, but {known[days.isna()].iloc[0]:.0f}; {DROP}"
        )
    return columns.of_dates(x, columns.EIGHT) if days.notna().all() else TableColumn()


def _of_text(cells: pd.Series) -> TableColumn:
    known = cells[cells != columns.GAP]
    if len(known) and not is_code(known):
        if (found := columns.of_numbers(known)) is not None:
            return found if found.unit or found.grouped else _of_values(known)
        if len(formats := _formats(known)) > 1:
            ways = "; or ".join(DATE.replace("{f}", f) for f in formats)
            raise ValueError(f"has {known.iloc[0]!r}, which may be two dates: {ways}")
        if formats:
            return columns.of_dates(known, formats[0])
        is_town = known.str.extract(TOWN)[0].nunique() >= ENDINGS
        are_labels = is_town or any(known.str.fullmatch(each).all() for each in LABELS)
        begin = known.str.match(DIGITS) | known.str.fullmatch(LIMIT)
        if begin.mean() >= 0.5 and not are_labels:
            raise ValueError(_why(known))
    once = int((cells.value_counts() == 1).sum())
    if len(cells) >= FEW and once > len(cells) / 2:
        return TableColumn("names")
    return TableColumn("category", values=tuple(sorted(cells.unique())))


def is_code(cells: pd.Series) -> bool:
    """Return whether texts are digits that are no number: 007, telephones, seasons as 2019-20."""
    if cells.str.fullmatch(SEASON).all():
        first, second = cells.str.extract(SEASON).astype(float).T.to_numpy()
        return bool(((first + 1.0) % 100.0 == second).all())
    zero = cells.str.fullmatch(r"0\d+|\+\d{7,}")
    return bool(
        zero.mean() > CODES or (zero.any() and cells.str.fullmatch(r"\+?\d+").all())
    )


def _formats(cells: pd.Series) -> list[str]:
    """Return the format that reads all cells as dates; two if they are different dates."""
    tried = columns.FORMATS[
        not cells.str.match(r"\d{4}-\d\d").all() :
    ]  # ISO 8601 is the first
    read = {f: moments(cells, f) for f in tried if moments(cells[:1], f).notna().all()}
    found = [f for f, dates in read.items() if dates.notna().all()]
    return found[:1] + [f for f in found[1:] if not read[f].equals(read[found[0]])][:1]


def _why(cells: pd.Series) -> str:
    """Return what stands in a column that may be numbers or dates, and what to do."""
    unit = amounts(cells)["unit"]
    form = unit.map(
        lambda u: f"numbers in {u!r}" if u else "numbers", na_action="ignore"
    )
    form = form.astype(object)
    form = form.mask(cells.str.fullmatch(LIMIT), "numbers below a limit")
    form = form.mask(cells.str.fullmatch(CLOCK), "times")
    swapped = amounts(cells.str.translate(columns.SWAPPED))["number"].notna()
    form = form.mask(
        form.isna() & swapped & cells.str.contains(","), "numbers with a comma"
    )
    date = max(columns.FORMATS, key=lambda f: moments(cells[:MANY], f).notna().sum())
    form = form.mask(form.isna() & moments(cells, date).notna(), "dates").fillna(
        "texts"
    )
    most = form.value_counts().index[0]
    kinds = set(form)
    lines = []
    most = "numbers" if kinds == {"numbers", "numbers below a limit"} else most
    bad = (form != most) | (len(kinds) == 1)
    parts = cells.str.count(":")
    cell = cells[bad].iloc[0]
    row = cells.index[bad][0]
    n = int(bad.sum())
    if kinds - {"numbers"} == {"numbers below a limit"}:
        lines = [HALF]
    elif kinds - {"numbers"} == {"numbers with a comma"}:
        lines = [COMMAS]
    elif kinds == {"times"} and parts.nunique() == 1:
        lines = [HOURS.replace("{s}", " + ':00'" * (int(parts.iloc[0]) == 1))]
    elif most in ("numbers", "dates"):
        lines = [NUMBER] if most == "numbers" else [DATE.replace("{f}", date)]
    if len(kinds) > 1 and cells[bad].nunique() == 1:
        lines = [MISSING.replace("{v}", repr(cell)), *lines]
    of = f"{form[bad].iloc[0]} beside {most}" if len(kinds) > 1 else most
    ways = "; ".join([*lines, CATEGORY, DROP])
    return (
        f"has {cell!r:.60} in row {row} (counted from 0; {n} such cells), {of}: {ways}"
    )


def said(x: pd.Series, column: TableColumn) -> Iterator[str]:
    """Yield how a column is read, where a reader may doubt it, without its name."""
    if column.kind == "names":
        yield f"names the rows, as most values occur once, and does not count; {CATEGORY}"
    if column.unit or column.grouped:
        unit = (
            f"in {column.unit}, as new rows must be too"
            if column.unit
            else "with thousands"
        )
        yield f"is read as numbers {unit}; {CATEGORY}"
    if column.kind == "levels":
        yield f"is read as numbers, the places in {' < '.join(column.values)}"
    if column.kind == "dates" and not columns.are_dates(x):
        first = f"the first, {column.first:%Y-%m-%d}, by the format {column.format}"
        yield f"has dates, read as days since {first}"
    many = len(column.values) > MANY and x.dtype != "category"
    if many and texts(x).str.contains(r"\d").mean() > 0.5:
        n = len(column.values)
        one = of_value(column.values[0])
        yield f"has {n} different texts with digits, such as {one!r}, each a category; {DROP}"
    if column.kind in ("numbers", "dates"):
        yield from _of_numbers(column, column.floats(x).to_numpy())


def _of_numbers(column: TableColumn, x: np.ndarray) -> Iterator[str]:
    """Yield what to know of numbers or dates: they count on, or have a code for "not known"."""
    u, count = np.unique(x[~np.isnan(x)], return_counts=True)
    steps = np.diff(x[~np.isnan(x)])
    is_date = column.kind == "dates"
    counts_on = (steps > 0.0).all() or (steps < 0.0).all()
    if (
        is_date
        and len(u) >= FEW
        and (counts_on or (steps >= 0.0).all() or (steps <= 0.0).all())
    ):
        yield f"counts on from row to row, so all later rows will be abnormal; {DROP}"
    is_range = len(u) == len(x) == np.ptp(u) + 1
    if (
        not is_date
        and len(u) == len(x) >= FEW
        and (u % 1 == 0).all()
        and (counts_on or is_range)
    ):
        name = "--id {x} (in Python X = X.set_index({x})) names the rows by it"
        yield f"counts the rows, like an id, and counts as a feature; if it is one, {name}; {DROP}"
    for i, others in (
        ((0, u[1:]), (-1, u[:-1])) if len(u) > OTHERS and not is_date else ()
    ):
        if count[i] >= AGAIN and np.abs(others - u[i]).min() > np.ptp(others):
            where = f"in {count[i]} rows, alone beyond the others ({others[0]:g} to {others[-1]:g})"
            code = level(float(u[i]))
            missing = (
                f"--missing {code} (in Python table=bsvdd.Table(missing=[{code}]))"
            )
            yield f"has {code} {where}; if that means 'not known', {missing} makes gaps"
