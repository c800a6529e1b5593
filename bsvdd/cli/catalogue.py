"""``bsvdd models`` and ``bsvdd data``: what there is to fit, and to fit it to."""

from __future__ import annotations

import os
from typing import Any

import click

WIDE = 1000  # characters
TABLE = 150  # characters that a table of models needs


def console_of_records() -> Any:
    """Return a console; in a pipe a record is one line, so that names can be searched."""
    from rich.console import Console

    console = Console()
    return console if console.is_terminal or "COLUMNS" in os.environ else Console(width=WIDE)


@click.command()
def models() -> None:
    """List models and yardsticks: what each learns from, its parameters, where it comes from."""
    from rich.table import Table

    from ..estimators.registry import BAYESIAN, REGISTRY, SHARED, YARDSTICKS

    console = console_of_records()
    narrow = console.width < TABLE
    titles = ("model", "class", "learns from", "posterior", "parameters", "reference")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=not narrow)
    for title in titles[: 2 if narrow else None]:
        table.add_column(title, overflow="fold", no_wrap=title == "model")
    for record in REGISTRY.values():
        reference = f"{record.reference} ({record.year})" + (
            f", doi:{record.doi}" if record.doi else ""
        )
        learns, posterior = ", ".join(record.learns_from), "yes" if record.bayesian else "no"
        if narrow:  # a record is a block of lines
            own = f"own parameters: {', '.join(record.own)}\n" if record.own else ""
            kind = f"{record.class_name}; learns from {learns}; posterior: {posterior}"
            table.add_row(record.name, f"{kind}\n{own}{reference}")
            continue
        parameters = ", ".join([*(BAYESIAN if record.bayesian else ()), *record.own])
        table.add_row(record.name, record.class_name, learns, posterior, parameters, reference)
    console.print(table)
    if narrow:
        console.print(f"parameters of models with a posterior: {', '.join(BAYESIAN)}")
    simple = ", ".join(f"{r.name} ({r.title}, {r.year})" for r in YARDSTICKS.values())
    console.print(f"yardsticks, simple methods of scikit-learn: {simple}", soft_wrap=not narrow)
    console.print(f"parameters of all models: {', '.join(SHARED)}")


@click.command()
def data() -> None:
    """List the embedded data sets: size, share of the minority, source, licence."""
    from rich.table import Table

    from ..comparison.scenarios import collection

    console = console_of_records()
    table = Table(box=None, padding=(0, 2, 0, 0))
    for title in ("name", "n", "p", "base rate", "conversion", "source", "licence"):
        right, whole = title in ("n", "p", "base rate"), title == "name"
        table.add_column(
            title, overflow="fold", justify="right" if right else "left", no_wrap=whole
        )
    for name, source in collection.sources().items():
        dataset = collection.embedded(name)
        n, p = dataset.X.shape
        table.add_row(
            name,
            str(n),
            str(p),
            f"{dataset.base_rate:.3f}",
            source.conversion,
            f"{source.origin}; {source.url}",
            source.licence,
        )
    console.print(table)
