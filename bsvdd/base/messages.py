"""Names in messages and cells: quoted, counted, made printable; files named; rates checked."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from typing import Any

SHOWN = 12  # names that a message lists
LENGTH = 200  # characters of a name that it shows
# characters of a value; floats with all their digits
VALUE = 30
EXACT = 1e15
NUMBER = re.compile(r"[-+]?[\d.,]*\d(?:[eE][-+]?\d+)?")
FORMULA = (
    "=",
    "+",
    "-",
    "@",
    "\t",
    "\r",
    "'",
)  # with which a spreadsheet starts a formula


def quoted(names: Iterable[object]) -> str:
    """Return names in quotes; of more than 12, the first of them and the number of the others.

    Examples
    --------
    >>> from bsvdd.base.messages import quoted
    >>> quoted(["a", "b"]), quoted(range(14))[-16:]
    ("'a', 'b'", " '11' and 2 more")
    """
    every = list(names)
    text = ", ".join(f"{str(name)!r:.{LENGTH}}" for name in every[:SHOWN])
    more = len(every) - SHOWN
    return f"{text} and {more} more" if more > 0 else text


def listed(names: Iterable[object], one: str = "", many: str = "") -> str:
    """Return "column 'a'" or "columns 'a', 'b'", with the verb for one or for many of them.

    Examples
    --------
    >>> from bsvdd.base.messages import listed
    >>> listed(["a"], "is", "are"), listed("ab", "is", "are")
    ("column 'a' is", "columns 'a', 'b' are")
    """
    every = list(names)
    text, verb = ("column ", one) if len(every) == 1 else ("columns ", many)
    return f"{text}{quoted(every)}{verb and ' '}{verb}"


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """Return the question whether another of ``names`` was meant, or nothing if none is near.

    Examples
    --------
    >>> from bsvdd.base.messages import did_you_mean
    >>> did_you_mean("BSVD", ["BDD", "BSVDD"]), did_you_mean("forest", ["BDD", "BSVDD"])
    (" (did you mean 'BSVDD'?)", '')
    """
    by_upper = {str(n).upper(): str(n) for n in names if len(str(n)) <= LENGTH}
    near = difflib.get_close_matches(str(name).upper(), by_upper, 1)
    return f" (did you mean {by_upper[near[0]]!r}?)" if near else ""


def printable(text: str) -> str:
    r"""Return a text whose control characters are escaped: a terminal would obey them.

    Ends of lines and tabs stay as they are.

    Examples
    --------
    >>> from bsvdd.base.messages import printable
    >>> printable("a\x1b[2Jb"), printable("\u03bc = 1")
    ('a\\x1b[2Jb', 'μ = 1')
    """
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def of_value(value: object, digits: int = 8) -> str:
    """Return a value as a sentence has it: a float with few digits, a date without 00:00:00.

    A whole number has all its digits.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd.base.messages import of_value
    >>> of_value(250000.0), of_value(pd.Timestamp("2024-05-06")), of_value("north")
    ('250000', '2024-05-06', 'north')
    """
    text = str(value)
    if isinstance(value, float):
        is_whole = value.is_integer() or abs(value) >= 10.0**digits
        text = (
            f"{value:.0f}" if is_whole and abs(value) < EXACT else f"{value:.{digits}g}"
        )
    return printable(text.removesuffix(" 00:00:00"))[:VALUE]


def as_cell(text: str) -> str:
    """Return a text as a cell of CSV that is no formula to a spreadsheet: with a quote before it.

    A number, which may begin with a sign, is none.

    Examples
    --------
    >>> from bsvdd.base.messages import as_cell
    >>> as_cell("=1+1"), as_cell("1+1"), as_cell("-1.5")
    ("'=1+1", '1+1', '-1.5')
    """
    return (
        f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text
    )


def check_rate(name: str, value: Any) -> None:
    """Raise a ValueError if the value does not lie between 0 and 1."""
    if not (isinstance(value, Real) and 0 < float(value) < 1):
        raise ValueError(
            f"{name} must lie between 0 and 1, without 0 and 1, got {value!r}"
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
