"""A row as text, a line for each column, which a user can change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

DIGITS = 10


def as_text(names: Sequence[Any], values: Sequence[float]) -> str:
    """Return the lines ``name = value`` of a row.

    Examples
    --------
    >>> from bsvdd.explorer.typed_row import as_text, parsed
    >>> text = as_text(["length", "width"], [1.5, 2.0])
    >>> print(text)
    length = 1.5
    width = 2
    >>> parsed(text, ["length", "width"])
    (1.5, 2.0)
    """
    return "\n".join(f"{name} = {v:.{DIGITS}g}" for name, v in zip(names, values, strict=True))


def parsed(text: str, names: Sequence[Any]) -> tuple[float, ...]:
    """Return the values of a text, with a line for each column in the order of ``names``.

    Raises
    ------
    ValueError
        The text has another number of lines, a line has another name, or its value is no number.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(names):
        raise ValueError(f"a row has {len(names)} lines, one for each column; got {len(lines)}")
    values = []
    for name, line in zip(names, lines, strict=True):
        before, equals, number = line.rpartition("=")
        try:
            if not equals or before.strip() != str(name).strip():
                raise ValueError
            values.append(float(number))
        except ValueError:
            raise ValueError(f"expected '{name} = number', got {line!r}") from None
    return tuple(values)
