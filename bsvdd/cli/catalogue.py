"""``bsvdd models`` and ``bsvdd data``: what there is to fit, and to fit it to."""

from __future__ import annotations

import click
from rich.table import Table

from ..comparison import scenarios
from ..estimators.registry import BAYESIAN, REGISTRY, SHARED, YARDSTICKS
from .console import console_of_records

NEEDED = 150  # characters that a table of models needs


@click.command()
def models() -> None:
    """List models and yardsticks: what each learns from, its parameters, where it comes from."""
    console = console_of_records()
    narrow = console.width < NEEDED
    titles = ("model", "class", "learns from", "posterior", "parameters", "reference")
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=not narrow)
    for title in titles[: 2 if narrow else None]:
        table.add_column(title, overflow="fold", no_wrap=title == "model")
    for record in REGISTRY.values():
        doi = f", doi:{record.doi}" if record.doi else ""
        reference = f"{record.reference} ({record.year}){doi}"
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
    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("name", overflow="fold", no_wrap=True)
    for title in ("n", "p", "base rate"):
        table.add_column(title, overflow="fold", justify="right")
    for title in ("conversion", "source", "licence"):
        table.add_column(title, overflow="fold")
    for name, record in scenarios.datasets.records().items():
        dataset = scenarios.datasets.embedded(name)
        numbers = *map(str, dataset.X.shape), f"{dataset.base_rate:.3f}"
        origin = f"{record['origin']}; {record['url']}"
        table.add_row(name, *numbers, record["conversion"], origin, record["licence"])
    console_of_records().print(table)
