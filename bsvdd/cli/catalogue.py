"""``bsvdd data``: the embedded data sets; ``bsvdd words``: what the numbers mean."""

from __future__ import annotations

from pathlib import Path

import click
from rich.console import Console
from rich.markdown import Markdown
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


@click.command()
@click.argument("term", required=False)
def words(term: str | None) -> None:
    """Say what each printed word and number means, or those with TERM in them."""
    package = Path(__file__).parents[1]
    of_checkout = package.parent / "docs" / "guide" / "words.md"
    path = of_checkout if of_checkout.exists() else package / "words.md"
    text = path.read_text(encoding="utf-8").partition("## Questions")[0]
    if term is not None:
        each = (line for part in text.split("\n## ") for line in part.split("\n- ")[1:])
        found = [f"- {line.strip()}" for line in each if term.lower() in line.lower()]
        if not found:
            raise click.UsageError(
                f"no word or number has {term!r} in it; bsvdd words has all"
            )
        text = "\n".join(found)
    Console().print(Markdown(text))
