"""``bsvdd data``: the embedded data sets."""

from __future__ import annotations

import click
from rich.table import Table

from .. import comparison
from .console import console_of_records


@click.command()
def data() -> None:
    """List the embedded data sets: size, share of the minority, source, licence."""
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", overflow="fold", no_wrap=True)
    for title in ("n", "p", "base rate"):
        table.add_column(title, overflow="fold", justify="right")
    for title in ("conversion", "source", "licence"):
        table.add_column(title, overflow="fold")
    for name, record in comparison.datasets.records().items():
        dataset = comparison.datasets.embedded(name)
        numbers = *map(str, dataset.X.shape), f"{dataset.base_rate:.3f}"
        origin = f"{record['origin']}; {record['url']}"
        table.add_row(name, *numbers, record["conversion"], origin, record["licence"])
    console_of_records().print(table)
