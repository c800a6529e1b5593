"""What the columns of training rows are, what is said of them, and which are refused.

pandas says what is numbers, dates or ordered. Text is numbers if all its cells have one
unit, and dates if one format reads all of them. Codes such as 007, versions and
postcodes are categories. Any other text of which half begins with digits is refused,
with lines that work when pasted.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Hashable, Iterator
from datetime import time

import numpy as np
import pandas as pd
from pandas.api import types

from ..base.messages import advised, of_value
from . import columns
from .columns import TableColumn, amounts, moments, text_of, texts

FEWEST_CELLS = 10  # fewer texts differ by chance
MANY_CATEGORIES = 20  # more are hardly categories
CODES = 0.1  # share of cells with a leading zero above which a column has codes
LARGEST_EXACT = 2**53  # whole numbers below it are floats
FIRST_DAY = 19000101  # as a number of eight digits
LAST_DAY = 21001231
FIRST_DIGIT = r"[^A-Za-z0-9]{0,2}\d"
LIMIT = r"[<\u2264]\s*\d*\.?\d+"
CLOCK = rf"\d+:\d\d(:\d\d)?({columns.HALF})?"
SIGN_LAST = r"^(\D*)\((.+)\)$|^(.+)-$"  # (3) and 3-
SIGN_FIRST = r"-\1\2\3"
VERSION = r"\d+(?:\.\d+){2,}"
POSTCODE = (  # of the USA, Poland, Japan, Brazil, Sweden
    r"\d{5}-\d{4}|\d\d-\d{3}|\d{3}-\d{4}|\d{5}-\d{3}|\d{3} \d\d"
)
TOWN = r"^\d{4} ?([A-Z]{2})$"  # a Dutch postcode
FEWEST_ENDINGS = 4  # of Dutch postcodes, more than the units of a column
SEASON = r"^(\d{4})-(\d\d)$"
FEWEST_CODES = 3  # rows with a code for "not known"
NINES = re.compile(r"-?99[9.]*")
FEWEST_OTHERS = 3  # different values beside the codes
MOST_CODES = 3  # at one end, such as 97, 98, 99
MOST_CODED = 0.1  # share of rows; of negative numbers, and of nines, there may be more
TYPES = {  # that are no features as they are
    "timedelta": "has durations: X[{x}] = X[{x}] / pandas.Timedelta(days=1) makes days",
    "complex": "has complex numbers",
    "period": "has periods: X[{x}] = X[{x}].dt.to_timestamp() makes dates",
}

FINITE = (
    "X[{x}] = pandas.to_numeric(X[{x}]).replace([numpy.inf, -numpy.inf], numpy.nan)"
)
AS_DATES = "X[{x}] = pandas.to_datetime(X[{x}], format='{f}', errors='coerce')"
SIGNED = (
    f"X[{{x}}] = X[{{x}}].str.replace(r'{SIGN_LAST}', r'{SIGN_FIRST}', regex=True) "
    "makes -3 of (3) and 3-"
)
ONE_CASE = "X[{x}] = X[{x}].str.lower() makes one unit, if it is one"
AS_NUMBERS = "X[{x}] = pandas.to_numeric(X[{x}], errors='coerce')"
HALVES = (
    "X[{x}] = [float(v[1:]) / 2 if str(v)[0] in '<\u2264' else float(v) for v in "
    "X[{x}]] takes half the limit: these rows then have one value, and look more alike "
    "than they are"
)
HOURS = (
    "X[{x}] = pandas.to_timedelta(X[{x}]{s}, errors='coerce') / pandas.Timedelta("
    "hours=1) makes hours"
)
POINTS = "X[{x}] = X[{x}].str.replace('.', '').str.replace(',', '.')"
THOUSANDS = (
    " if that is a decimal sign, X[{x}] = X[{x}].str.replace(',', '') if it stands "
    "between thousands"
)

# forms of a text
LIMITED = "numbers below a limit"
COMMA = "numbers with a comma"
DATES = "dates"
NUMBERS = "numbers"
SIGNED_LAST = "numbers with the sign last"
TIMES = "times"


def _drop() -> str:
    """How to leave the column {x} out."""
    return advised("drop", "X = X.drop(columns={x})", "{x}") + " leaves it out"


def _category() -> str:
    """How to make categories of the column {x}."""
    python = "X[{x}] = X[{x}].astype('category')"
    return advised("category", python, "{x}") + " makes categories"


def _clock(code: str = "") -> str:
    """How to read the column {x} as the time of the day, without a code."""
    missing = f", missing=[{{x={code}}}]" if code else ""
    python = f"table=bsvdd.Table(cyclic={{{{x}}: 24}}{missing})"
    value = "{x}=24" + f" --missing {{x}}={shlex.quote(code)}" * bool(code)
    return advised("cyclic", python, value)


def of_column(name: Hashable, text: str) -> str:
    """Return a sentence on a column, without its subject, with the column's name.

    {x} is the name as code, and {x=value} a text of both.
    """
    filled = re.sub(
        r"\{x(=.*?)?\}", lambda found: repr(f"{name}{found[1] or ''}"), text
    )
    return f"column {name!r} {filled}"


def _refused(*what: str) -> ValueError:
    """The error of a column {x}: what is wrong with it, and what to do."""
    return ValueError("; ".join([*what, _drop()]))


def column_of(x: pd.Series, is_category: bool = False) -> TableColumn:
    """Return what a column is.

    Parameters
    ----------
    x : pandas.Series
    is_category : bool
        Whether its numbers are categories.

    Returns
    -------
    TableColumn

    Raises
    ------
    ValueError
        The column is refused; the message begins after its name.
    """
    x = columns.numbered(x)
    is_number = types.is_numeric_dtype(x)
    is_labels = isinstance(x.dtype, pd.CategoricalDtype)
    if is_labels and x.dtype.ordered:
        return TableColumn("levels", values=tuple(map(text_of, x.dtype.categories)))
    if not x.notna().any():
        raise _refused("has no value in any row")
    if is_category and is_number:
        return TableColumn("category")
    if is_category or is_labels:
        return TableColumn("category", values=tuple(sorted(texts(x).unique())))
    if (kind := types.infer_dtype(x).removesuffix("64")) in TYPES:
        raise _refused(TYPES[kind])
    if kind == "time":
        return TableColumn(format=columns.TIME)
    numeric = ("boolean", "integer", "floating", "decimal", "mixed-integer-float")
    if kind in numeric or is_number:
        return _of_values(x)
    if columns.are_dates(x):
        return columns.column_of_dates(x)
    simple = str | bool | float | int | time
    other = {type(v).__name__ for v in x.dropna() if not isinstance(v, simple)}
    if other:
        parts = "make columns of their parts (pandas.json_normalize)"
        raise _refused(f"has objects ({', '.join(sorted(other))}): {parts}")
    return _of_text(texts(x))


def _of_values(x: pd.Series) -> TableColumn:
    """Return what a column of numbers is: numbers, or days of eight digits."""
    values = TableColumn().floats(x)
    if (bad := np.isinf(values)).any():
        value = values[bad].iloc[0]
        raise _refused(
            f"has an infinite value: it is {value} in "
            f"{columns.first_row(columns.numbered(values), bad)}",
            advised("missing", FINITE, f"{{x}}={value}") + " makes it missing",
        )
    known = values.dropna()
    if known.abs().max() >= LARGEST_EXACT and known.nunique() < texts(x).nunique():
        raise _refused(
            "has whole numbers of 2^53 or more that floats cannot tell apart",
            _category(),
        )
    may_be_days = known.between(FIRST_DAY, LAST_DAY) & (known % 1 == 0)
    if types.is_bool_dtype(x) or not may_be_days.all():
        return TableColumn()
    days = moments(known, columns.EIGHT)
    if 0.5 < days.notna().mean() < 1.0:
        other = known[days.isna()].iloc[0]
        raise _refused(f"has days of eight digits, but {other:.0f}")
    if days.isna().any():
        return TableColumn()
    return columns.column_of_dates(x, columns.EIGHT)


def _of_text(cells: pd.Series) -> TableColumn:
    """Return what texts are: numbers, dates, names of rows, or categories."""
    known = cells[cells != columns.NO_VALUE]
    if len(known) and not is_code(known):
        if (found := columns.column_of_numbers(known)) is not None:
            return found if found.unit or found.grouped else _of_values(known)
        if len(formats := _formats(known)) > 1:
            ways = "; or ".join(AS_DATES.replace("{f}", form) for form in formats)
            raise ValueError(f"has {known.iloc[0]!r}, which may be two dates: {ways}")
        if formats:
            return columns.column_of_dates(known, formats[0])
        is_town = known.str.extract(TOWN)[0].nunique() >= FEWEST_ENDINGS
        forms = VERSION, POSTCODE
        are_labels = is_town or any(known.str.fullmatch(form).all() for form in forms)
        begin = known.str.match(FIRST_DIGIT) | known.str.fullmatch(LIMIT)
        if begin.mean() >= 0.5 and not are_labels:
            raise ValueError(_refusal(known))
    once = int((cells.value_counts() == 1).sum())
    if len(cells) >= FEWEST_CELLS and once > len(cells) / 2:
        return TableColumn("names")
    return TableColumn("category", values=tuple(sorted(cells.unique())))


def is_code(cells: pd.Series) -> bool:
    """Return whether digits are no numbers: 007, telephones, seasons such as 2019-20.

    Parameters
    ----------
    cells : pandas.Series of str

    Returns
    -------
    bool
    """
    if cells.str.fullmatch(SEASON).all():
        first, second = cells.str.extract(SEASON).astype(float).T.to_numpy()
        return bool(((first + 1.0) % 100.0 == second).all())
    zero = cells.str.fullmatch(r"0\d+|\+\d{7,}")
    are_digits = zero.any() and cells.str.fullmatch(r"\+?\d+").all()
    return bool(zero.mean() > CODES or are_digits)


def _formats(cells: pd.Series) -> list[str]:
    """Return the format that reads all cells as dates; two if the dates differ."""
    if not cells.str.contains(r"\d").all():
        return []
    iso = cells.str.match(r"\d{4}-\d\d").all()
    tried = _tried(cells[:1])[not iso :]
    read = {f: moments(cells, f) for f in tried if moments(cells[:1], f).notna().all()}
    found = [f for f, dates in read.items() if dates.notna().all()]
    return found[:1] + [f for f in found[1:] if not read[f].equals(read[found[0]])][:1]


def _tried(cells: pd.Series) -> list[str]:
    """Return the formats of dates that may read some of the cells."""
    has_half = any(re.search(columns.HALF, cell) for cell in cells)
    colons = {cell.count(":") for cell in cells}
    return [
        f
        for f in columns.FORMATS
        if f == columns.ISO or f.count(":") in colons
        if has_half or not f.endswith("%p")
    ]


# columns that are refused


def _refusal(cells: pd.Series) -> str:
    """Return what stands in a column that may be numbers or dates, and what to do."""
    n_dates = {f: moments(cells[:20], f).count() for f in _tried(cells[:20])}
    date = max(n_dates, key=n_dates.__getitem__)
    form = _forms(cells, date)
    forms = set(form)
    most = form.value_counts().index[0]
    if forms in ({NUMBERS, LIMITED}, {NUMBERS, SIGNED_LAST}):
        most = NUMBERS
    odd = form != most if len(forms) > 1 else form == most
    code = cells[odd].iloc[0] if cells[odd].nunique() == 1 else ""
    of = f"{form[odd].iloc[0]} beside {most}" if len(forms) > 1 else most
    ways = [*_cures(cells, form, most, date), _category(), _drop()]
    if most == TIMES and columns.times_of(cells[form == most]).notna().all():
        how = _clock(code if len(forms) > 1 else "")
        ways.insert(0, f"{how} reads the time of the day")
    elif len(forms) > 1 and code and SIGNED_LAST not in forms:
        ways.insert(0, _missing("missing", code))
    return (
        f"has {cells[odd].iloc[0]!r:.60} in {columns.first_row(cells, odd, 'cells')}, "
        f"{of}: {'; '.join(ways)}"
    )


def _missing(what: str, code: str) -> str:
    """How to tell that a code stands for "not known" in the column {x}."""
    python = f"table=bsvdd.Table(missing=[{{x={code}}}])"
    return advised(what, python, f"{{x}}={shlex.quote(code)}") + " makes it missing"


def _forms(cells: pd.Series, date: str) -> pd.Series:
    """Return what each cell is: the first of the causes that holds."""
    unit = amounts(cells)["unit"]
    swapped = amounts(cells.str.translate(columns.SWAPPED))["number"].notna()
    first = cells.str.replace(SIGN_LAST, SIGN_FIRST, regex=True)
    signed = amounts(first)["number"].notna()
    in_unit = unit.map(lambda u: f"{NUMBERS} in {u!r}" if u else NUMBERS)
    causes = (
        (cells.str.fullmatch(CLOCK), TIMES),
        (cells.str.fullmatch(LIMIT), LIMITED),
        (signed & unit.isna(), SIGNED_LAST),
        (unit.notna(), in_unit.astype(object)),
        (swapped & cells.str.contains(","), COMMA),
        (moments(cells, date).notna(), DATES),
    )
    holds = [holds.astype(bool) for holds, _ in causes]
    return pd.Series(
        np.select(holds, [form for _, form in causes], "texts"), cells.index, object
    )


def _cures(cells: pd.Series, form: pd.Series, most: str, date: str) -> list[str]:
    """Return the line of Python that makes one form of most cells, if there is one."""
    forms = set(form)
    others = " and all others missing" if len(forms) > 1 else ""
    good = cells[form == most]
    colons = good.str.count(":").unique()
    is_24_hours = good.str.fullmatch(r"[\d:]+").all()
    cures = (  # the first that holds
        (SIGNED_LAST in forms, SIGNED),
        (len({each.lower() for each in forms}) < len(forms), ONE_CASE),
        (forms - {NUMBERS} == {LIMITED}, HALVES),
        (forms - {NUMBERS} == {COMMA}, advised("decimal", POINTS, ",") + THOUSANDS),
        (
            most == TIMES and len(colons) == 1 and is_24_hours,
            HOURS.replace("{s}", " + ':00'" * (int(colons[0]) == 1)) + others,
        ),
        (
            most == NUMBERS and pd.to_numeric(good, errors="coerce").notna().all(),
            AS_NUMBERS + " makes all others missing",
        ),
        (most == DATES, AS_DATES.replace("{f}", date) + " makes all others missing"),
    )
    return [line for holds, line in cures if holds][:1]


# what is said of columns that are read


def notes_of_column(
    x: pd.Series,
    column: TableColumn,
    values: np.ndarray,
    no_feature: str = "",
    is_cyclic: bool = False,
) -> Iterator[str]:
    """Yield how a column is read, where a reader may doubt it.

    Parameters
    ----------
    x : pandas.Series
        The cells.
    column : TableColumn
    values : ndarray
        The floats of the cells.
    no_feature : str
        Why it is no feature, as ``bsvdd.tables.features`` says it.
    is_cyclic : bool
        Whether its values meet at the end of a period.

    Yields
    ------
    str
        A sentence without its subject, the column.
    """
    if column.kind == "names":
        yield f"{no_feature}, and does not count; {_category()}"
    elif no_feature:
        name = advised("index", "X = X.set_index({x})", "{x}")
        what = f"{no_feature}, and counts as a feature"
        yield f"{what}; if it is an id, {name} names the rows by it; {_drop()}"
    if column.unit or column.grouped:
        unit = f"in {column.unit}, as new rows must be too"
        how = unit if column.unit else "with thousands"
        yield f"is read as numbers {how}; {_category()}"
    if column.format == columns.TIME and not is_cyclic:
        yield f"has times, read as hours; at midnight they meet by {_clock()}"
    if column.kind == "levels":
        yield f"is read as numbers, the places in {' < '.join(column.values)}"
    if column.kind == "dates" and not columns.are_dates(x):
        first = f"the first, {column.first:%Y-%m-%d}, by the format {column.format}"
        yield f"has dates, read as days since {first}"
    n = len(column.values)
    many = n > MANY_CATEGORIES and x.dtype != "category"
    if many and texts(x).str.contains(r"\d").mean() > 0.5:
        one = of_value(column.values[0])
        what = f"has {n} different texts with digits, such as {one!r}, each a category"
        yield f"{what}; {_drop()}"
    if column.kind == "numbers":
        codes, others = codes_of(values)
        for code in codes:
            cell = text_of(x[values == code].iloc[0])
            yield (
                f"has {cell} in {(values == code).sum()} rows, alone beyond the others "
                f"({others}); if that means 'not known', {_missing('code', cell)}"
            )


def codes_of(
    x: np.ndarray, of_others: Collection[float] = ()
) -> tuple[list[float], str]:
    """Return numbers that may be codes for "not known", and the range of the others.

    At most three values at one end, which are farther from all others than these from
    each other; each in 3 rows or more, or written in nines, or a code of another
    column. Positive numbers that are not written in nines are in a tenth of the rows
    at most. Nines may be farther by their logarithms, or as far. One whole number
    below 0 is enough where all others are whole and none is negative.

    Parameters
    ----------
    x : ndarray of shape (n,)
    of_others : collection of float

    Returns
    -------
    codes : list of float
    others : str
    """
    u, count = np.unique(x[~np.isnan(x)], return_counts=True)
    few = (count <= MOST_CODED * count.sum()) | (u < 0.0)
    may_be = (count >= FEWEST_CODES) & few | np.isin(u, list(of_others))
    for k in range(1, MOST_CODES + 1):
        for end, rest in ((slice(k), slice(k, None)), (slice(-k, None), slice(-k))):
            codes, others = u[end], u[rest]
            nines = [bool(NINES.fullmatch(text_of(code))) for code in codes]
            if len(others) < FEWEST_OTHERS or not (may_be[end] | nines).all():
                continue
            if _beyond(codes, others):
                more, within = codes_of(x[np.isin(x, others)], of_others)
                return [*codes.tolist(), *more], within
    return [], f"{u[0]:g} to {u[-1]:g}" if len(u) else ""


def _beyond(codes: np.ndarray, others: np.ndarray) -> bool:
    """Whether codes lie beyond the other values of a column, see :func:`codes_of`."""
    far = np.abs(np.subtract.outer(codes, others)).min()
    if far > np.ptp(others):
        return True
    if all(set(text_of(code)) == {"9"} for code in codes):
        if far == np.ptp(others):
            return True
        if others.min() > 0.0:
            ratios = np.abs(np.log(np.divide.outer(codes, others)))
            return bool(ratios.min() > np.log(others.max() / others.min()))
    whole = not np.any(codes % 1.0) and not np.any(others % 1.0)
    return len(codes) == 1 and codes[0] < 0.0 <= others.min() and whole
