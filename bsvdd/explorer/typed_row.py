"""A row as text, a line for each column, which a user can change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..estimators.rows.categories import code

DIGITS = 10


def as_text(
    names: Sequence[Any], values: Sequence[float], categories: Mapping[int, Mapping[float, str]]
) -> str:
    """Return the lines ``name = value`` of a row.

    ``categories`` has, for the position of each column of categories, the categories by their
    numbers.

    Examples
    --------
    >>> from bsvdd.explorer.typed_row import as_text, parsed
    >>> text = as_text(["length", "width"], [1.5, 2.0], {})
    >>> print(text)
    length = 1.5
    width = 2
    >>> parsed(text, ["length", "width"], {})
    (1.5, 2.0)
    """
    texts = [categories.get(i, {}).get(v, f"{v:.{DIGITS}g}") for i, v in enumerate(values)]
    return "\n".join(f"{name} = {text}" for name, text in zip(names, texts, strict=True))


def parsed(
    text: str, names: Sequence[Any], categories: Mapping[int, dict[float, str]]
) -> tuple[float, ...]:
    """Return the values of a text, with a line for each column in the order of ``names``.

    A category may be one that no training row has; it is added to ``categories``.

    Raises
    ------
    ValueError
        The text has another number of lines, a line has another name, or its value is no number.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) != len(names):
        raise ValueError(f"a row has {len(names)} lines, one for each column; got {len(lines)}")
    values = []
    for i, (name, line) in enumerate(zip(names, lines, strict=True)):
        start, kind = f"{str(name).strip()} = ", "category" if i in categories else "number"
        try:
            if not line.startswith(start):
                raise ValueError
            value = line.removeprefix(start)
            values.append(code(value) if i in categories else float(value))
            if i in categories:
                categories[i].setdefault(values[-1], value)
        except ValueError:
            raise ValueError(f"expected '{name} = {kind}', got {line!r}") from None
    return tuple(values)
