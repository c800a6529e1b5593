"""Categories as numbers: the same category has the same number in every file and every process.

No table of categories is kept, so that blocks of a file, workers and saved models agree, and a
category that training has not seen needs no rule of its own.
"""

from __future__ import annotations

import hashlib
import math
from typing import Any

import numpy as np
import pandas as pd

EXACT = 2**53  # whole numbers below it are floats


def code(category: Any) -> float:
    r"""Return the number of a category.

    A number below 2^53 is its own number, and so is a text that is such a number as Python writes
    it. A larger whole number is a text, because floats cannot tell it from its neighbours. Any text
    t has the number :math:`-(h + 1/2) / 2^{52}`, between -1 and 0, with h the first 52 bits of
    the BLAKE2b hash of t: two of m texts have the same one with a probability below
    :math:`m^2 / 2^{53}`, 1e-6 for 100,000 texts.

    Parameters
    ----------
    category : str, number or bool

    Raises
    ------
    TypeError
        The category is neither a text nor a number.

    Examples
    --------
    >>> from bsvdd.estimators.rows.categories import code
    >>> code("7") == code(7) == 7.0, code("007") == 7.0
    (True, False)
    """
    if isinstance(category, bool | np.bool_ | int | float | np.integer | np.floating):
        number: Any = category
        if not EXACT <= abs(number) < math.inf:
            return float(number)
        category = str(int(number))
    if not isinstance(category, str):
        raise TypeError(f"a category must be a text or a number, got {category!r:.80}")
    if category in ("True", "False"):  # as a file has what a data frame has as a boolean
        return float(category == "True")
    number = _number(category)
    if number is not None:
        return number
    digest = hashlib.blake2b(category.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return -((int.from_bytes(digest, "big") >> 12) + 0.5) / 2.0**52


def _number(text: str) -> float | None:
    """Return the number that a text is, if Python writes it like this."""
    try:
        number = float(text)
    except ValueError:
        return None
    if not math.isfinite(number):
        return None
    written = {repr(number), str(int(number))} if number.is_integer() else {repr(number)}
    return number if text in written and abs(number) < EXACT else None


def codes(column: pd.Series) -> np.ndarray:
    """Return the numbers of the categories in a column, shape (n,); NaN for missing ones.

    Raises
    ------
    TypeError
        A category is neither a text nor a number; the message names the column.
    """
    place, categories = pd.factorize(column.astype(object))
    try:
        table = [code(category) for category in categories]
    except TypeError as error:
        raise TypeError(f"column {str(column.name)!r}: {error}") from error
    return np.array([*table, np.nan], dtype=float)[place]  # the place of a missing one is -1


def has_text(values: pd.Series) -> bool:
    """Return whether a value is a text."""
    return any(isinstance(value, str) for value in values)
