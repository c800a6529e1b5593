"""``bsvdd models`` and ``bsvdd data``: what there is to fit, and to fit it to."""

from __future__ import annotations

import click
from rich.table import Table

from ..comparison import run, scenarios
from ..estimators.registry import BAYESIAN, REGISTRY, SHARED
from .console import console_of_records


@click.command()
def models() -> None:
    """List models and yardsticks: what each learns from, its parameters, where it comes from."""
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for record in REGISTRY.values():
        posterior = "with" if record.bayesian else "no"
        doi = f", doi:{record.doi}" if record.doi else ""
        parts = [record.class_name, f"learns from {', '.join(record.learns_from)}"]
        parts += [f"{posterior} posterior", f"{record.reference} ({record.year}){doi}"]
        parts += [f"own parameters: {', '.join(record.own)}"] if record.own else []
        table.add_row(record.name, "; ".join(parts))
    console = console_of_records()
    console.print(table)
    yardsticks = run.yardsticks.YARDSTICKS.items()
    simple = ", ".join(f"{name} ({method.title})" for name, method in yardsticks)
    console.print(f"yardsticks of compare and study, simple methods of scikit-learn: {simple}")
    console.print(f"parameters of models with a posterior: {', '.join(BAYESIAN)}")
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
