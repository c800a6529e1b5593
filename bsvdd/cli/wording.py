"""What the command says in place of Python: its options, and the layout they give."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from .. import tables
from ..base.messages import printable

if TYPE_CHECKING:
    from ..tables.files import Layout

WORDS = {  # by what is advised
    "group column": "as a column {value!r} of the file",
    "category": "--category {value} ({python})",
    "blocks": "a column that numbers blocks of {value} rows for --group (in Python "
    "{python})",
    "centres": "--group-centres",
    "code": "--missing {value} (in Python {python})",
    "cyclic": "--cyclic {value} (in Python {python})",
    "copies": "--group-copies (in Python {python})",
    "decimal": "--decimal {value!r} ({python})",
    "drop": "--drop {value} (in Python {python})",
    "group": "--group {value} (in Python {python})",
    "header": "--no-header (in Python {python})",
    "index": "--id {value} (in Python {python})",
    "minor_label": "{python}, in the command line --minor",
    "missing": "--missing {value} ({python})",
    "parameter": "--{value}",
    "recent": "--recent COLUMN=HALF-LIFE (in Python {python})",
    "sep": "--sep {value} (in Python {python})",
    "separator": "--sep",
    "skip": "--skip {value} (in Python {python})",
    "text": "--category {value} (in Python {python})",
    "wider": "",
    "without": "--drop {value}",
}


def in_options(what: str, python: str, value: object) -> str:
    """Return advice in words of the command, for :func:`bsvdd.base.messages.advising`.

    Parameters
    ----------
    what, python : str
    value : object
        As :func:`bsvdd.base.messages.advised` has them.

    Returns
    -------
    str
    """
    return WORDS[what].format(python=python, value=value)


def layout(
    order: tuple[str, ...] = (),
    cyclic: tuple[str, ...] = (),
    **given: Any,
) -> Layout:
    """Return the layout of a table that options give.

    Parameters
    ----------
    order : tuple of str
        Each a column with its levels, "size=small<medium<large".
    cyclic : tuple of str
        Each a column with its period, "hour=24".
    **given : str or tuple of str
        The other fields of the layout.

    Returns
    -------
    Layout

    Raises
    ------
    click.ClickException
        An order or a period is not written like this.
    """
    levels = {}
    for name, _, of in (text.partition("=") for text in order):
        levels[name.strip()] = [level.strip() for level in of.split("<")]
        if "<" not in of:
            raise click.ClickException(
                printable(
                    "--order must be as 'size=small<medium<large', got "
                    f"{name.strip()!r}"
                )
            )
    parts = [text.rpartition("=") for text in cyclic]
    try:
        periods = {name: float(period) for name, _, period in parts}
        if cyclic:
            tables.table.Table(periods)
    except ValueError as error:
        raise click.ClickException(
            printable(f"--cyclic COLUMN=PERIOD, such as hour=24: {error}")
        ) from error
    return tables.files.Layout(order=levels, cyclic=periods, **given)
