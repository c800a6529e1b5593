"""Words of messages and cells: names, values, advice, files; a check of rates."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from numbers import Real
from pathlib import Path

MOST_NAMES = 12  # that a message lists
LONGEST_NAME = 200  # characters that a message shows
LONGEST_VALUE = 30
FIRST_EXPONENT = 1e15  # whole numbers below it have all their digits
SIGNED_NUMBER = re.compile(r"[-+]?[\d.,]*\d(?:[eE][-+]?\d+)?")
FORMULA = tuple("=+-@\t\r'")  # the signs with which a spreadsheet starts a formula

AdviceWords = Callable[[str, str, object], str]
_advice: ContextVar[AdviceWords | None] = ContextVar("advice", default=None)


@contextmanager
def advising(words: AdviceWords | None) -> Iterator[None]:
    """In the block, let :func:`advised` return ``words(what, python, value)``."""
    token = _advice.set(words)
    try:
        yield
    finally:
        _advice.reset(token)


def words_of_advice() -> AdviceWords | None:
    """Return the words of the caller's :func:`advising`, for a worker process."""
    return _advice.get()


def advised(what: str, python: str, value: object = "") -> str:
    """Return what a user can write: code, unless the caller has :func:`advising` words.

    Parameters
    ----------
    what : str
        The parameter that is set, for these words.
    python : str
        The code.
    value : object
        The value that the parameter gets.

    Returns
    -------
    str

    Examples
    --------
    >>> from bsvdd.base.messages import advised, advising
    >>> advised("sep", "read_table(path, sep=';')", ";")
    "read_table(path, sep=';')"
    >>> with advising(lambda what, python, value: f"--{what} {value}"):
    ...     advised("sep", "read_table(path, sep=';')", ";")
    '--sep ;'
    """
    words = _advice.get()
    return python if words is None else words(what, python, value)


def quoted(names: Iterable[object]) -> str:
    """Return names in quotes; of more than 12, the first 12 and how many more.

    Examples
    --------
    >>> from bsvdd.base.messages import quoted
    >>> quoted(["a", "b"]), quoted(range(14))[-16:]
    ("'a', 'b'", " '11' and 2 more")
    """
    every = list(names)
    text = ", ".join(f"{str(name)!r:.{LONGEST_NAME}}" for name in every[:MOST_NAMES])
    more = len(every) - MOST_NAMES
    return f"{text} and {more} more" if more > 0 else text


def listed(names: Iterable[object], one: str = "", many: str = "") -> str:
    """Return "column 'a'" or "columns 'a', 'b'", with the verb for one or for many.

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
    """Return the question whether a similar name was meant; nothing if none is similar.

    Examples
    --------
    >>> from bsvdd.base.messages import did_you_mean
    >>> did_you_mean("BSVD", ["BDD", "BSVDD"]), did_you_mean("forest", ["BDD", "BSVDD"])
    (" (did you mean 'BSVDD'?)", '')
    """
    by_upper = {str(n).upper(): str(n) for n in names if len(str(n)) <= LONGEST_NAME}
    near = difflib.get_close_matches(str(name).upper(), by_upper, 1)
    return f" (did you mean {by_upper[near[0]]!r}?)" if near else ""


def printable(text: str) -> str:
    r"""Return a text with its control characters escaped: a terminal would obey them.

    Ends of lines and tabs stay as they are.

    Examples
    --------
    >>> from bsvdd.base.messages import printable
    >>> printable("a\x1b[2Jb"), printable("\u03bc = 1")
    ('a\\x1b[2Jb', 'μ = 1')
    """
    return "".join(c if c.isprintable() or c in "\n\t" else repr(c)[1:-1] for c in text)


def of_value(value: object, digits: int = 8) -> str:
    """Return a value for a sentence: floats have few digits, dates no 00:00:00.

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
        has_all_digits = is_whole and abs(value) < FIRST_EXPONENT
        text = f"{value:.0f}" if has_all_digits else f"{value:.{digits}g}"
    return shortened(printable(text.removesuffix(" 00:00:00")), LONGEST_VALUE)


def shortened(text: str, length: int) -> str:
    """Return a text without its middle if it is longer than ``length``.

    Examples
    --------
    >>> from bsvdd.base.messages import shortened
    >>> shortened("temperature of the first sensor", 15)
    'tempera… sensor'
    """
    end = (length - 1) // 2
    return text if len(text) <= length else f"{text[: length - 1 - end]}…{text[-end:]}"


def as_cell(text: str) -> str:
    """Return a text as a cell of CSV: a formula gets a quote before it.

    A number, which may begin with a sign, is no formula.

    Examples
    --------
    >>> from bsvdd.base.messages import as_cell
    >>> as_cell("=1+1"), as_cell("1+1"), as_cell("-1.5")
    ("'=1+1", '1+1', '-1.5')
    """
    is_formula = text.startswith(FORMULA) and not SIGNED_NUMBER.fullmatch(text)
    return f"'{text}" if is_formula else text


def check_rate(name: str, value: object) -> None:
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
