"""The group of commands: ``bsvdd outliers``, ``fit``, ``score``, ``compare``, ....

Heavy imports stand inside the commands, so that --help and usage errors are quick.
"""

from __future__ import annotations

import signal
import threading
from functools import partial
from typing import Any

import click

from .catalogue import data, words
from .compare import compare
from .fit import fit
from .outliers import outliers
from .score import score
from .study import study

ENDING = (
    "SIGTERM",
    "SIGHUP",
)  # signals that end a command: kill, and a terminal that is closed


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="bsvdd")
@click.pass_context
def main(context: click.Context) -> None:
    """Bayesian support vector data description."""
    if (
        threading.current_thread() is threading.main_thread()
    ):  # only there are signals handled
        for name in ENDING:
            number = getattr(signal, name, None)  # Windows has no SIGHUP
            if (
                number is not None and signal.getsignal(number) is not signal.SIG_IGN
            ):  # nohup
                before = signal.signal(number, _interrupt)
                context.call_on_close(partial(signal.signal, number, before))


def _interrupt(*_: Any) -> None:
    """End as by Ctrl-C: worker processes end, and no file stays half written."""
    raise KeyboardInterrupt


@main.result_callback()
@click.pass_context
def _point_to_words(context: click.Context, *_: Any, **__: Any) -> None:
    """Say where the printed numbers are explained."""
    if context.invoked_subcommand not in ("data", "words"):
        click.echo("what the numbers mean: bsvdd words", err=True)


for command in (outliers, fit, score, compare, data, words, study):
    main.add_command(command)
