"""``bsvdd explore``: swaps priors in the browser, without Jupyter."""

from __future__ import annotations

import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import options, rows
from .console import HEARTBEAT, waiting
from .errors import plain_errors
from .fit import model_and_rows

if TYPE_CHECKING:
    import pandas as pd

    from ..explorer.server import Server
    from ..tables.files import Layout


@click.command("explore")
@click.argument("csv", type=options.FILE)
@click.option(
    "--label", help="Column of the classes; without it all rows are majority."
)
@options.minor
@options.of_table
@rows.known
@rows.keep
@options.of_fit
@click.option(
    "--port",
    default=0,
    type=click.IntRange(0, 65535),
    help="Port of the address; 0 takes a free one.",
)
@click.option(
    "--browser/--no-browser", default=True, help="Whether to open the browser."
)
@click.option(
    "--own-prior",
    is_flag=True,
    help="Let a prior be typed as Python code, which is run on this machine.",
)
@plain_errors()
def explore_command(
    csv: Path,
    label: str | None,
    minor: str | None,
    table: Layout,
    known: rows.RowOptions,
    keep: tuple[str, ...],
    own: options.FitOptions,
    port: int,
    browser: bool,
    own_prior: bool,
) -> None:
    """Show in the browser how priors change decisions on the rows of CSV.

    Only this machine can open the page: its address is 127.0.0.1, with a random token.
    """
    if label is None and minor is not None:
        raise click.UsageError("--minor is about a column; give --label COLUMN too")
    est: Any
    est, X, y = model_and_rows(csv, replace(table, label=label), minor, own)
    X, of_rows = known.taken(X)
    X, _ = rows.features(X, keep, est.table)
    from ..explorer.explorer import explore

    _say_one_column(X)
    with _served(csv.name, port) as server:
        with waiting(f"fit of {type(est).__name__}", HEARTBEAT):
            server.explorer = explore(X, y, est, own=own_prior, **of_rows)
        click.echo(f"{server.address}\nCtrl-C ends it")
        if browser and not webbrowser.open(server.address):
            click.echo("no browser was found: open this address in one", err=True)
        server.serve_forever()


def _say_one_column(X: pd.DataFrame) -> None:
    """Say what the page lacks with one column."""
    if X.shape[1] == 1:
        click.echo(
            f"{str(X.columns[0])!r} is the only column: there is no map, rows are "
            "shown by their surprise"
        )


def _served(name: str, port: int) -> Server:
    """Return the server; an error says what to do if the port is in use."""
    from ..explorer.server import Server

    try:
        return Server(f"bsvdd: {name}", port)
    except OSError as error:
        raise OSError(
            f"--port {port}: {error.strerror}; give another port, or none for a free "
            "one"
        ) from error
