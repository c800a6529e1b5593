"""The group of commands: ``bsvdd outliers``, ``fit``, ``score``, ``compare``, ....

Heavy imports stand inside the commands, so that --help and usage errors are quick.
"""

from __future__ import annotations

import signal
import threading
from functools import partial

import click

from ..base import threads
from .catalogue import data, words
from .compare import compare_command
from .explore import explore_command
from .fit import fit_command
from .outliers import outliers
from .score import score
from .study import study

# signals that end a command: kill, and a terminal that is closed
ENDING = ("SIGTERM", "SIGHUP")


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(package_name="bsvdd")
@click.pass_context
def main(context: click.Context) -> None:
    """Bayesian support vector data description."""
    # only the main thread may handle signals
    if threading.current_thread() is not threading.main_thread():
        return
    known = signal.Signals.__members__  # Windows has no SIGHUP
    for number in (known[name] for name in ENDING if name in known):
        if signal.getsignal(number) is not signal.SIG_IGN:  # by nohup
            before = signal.signal(number, _interrupt)
            context.call_on_close(partial(signal.signal, number, before))


def _interrupt(*_: object) -> None:
    """End as by Ctrl-C: worker processes end, and no file stays half written."""
    raise KeyboardInterrupt


@main.result_callback()
@click.pass_context
def _point_to_words(context: click.Context, *_: object, **__: object) -> None:
    """Say where the printed numbers are explained."""
    if context.invoked_subcommand not in ("data", "words"):
        click.echo("what the numbers mean: bsvdd words", err=True)


def _be_quiet(context: click.Context, _: click.Parameter, asked: bool) -> None:
    """Write no progress until the command ends."""
    if asked:
        context.with_resource(threads.quiet())


QUIET = click.Option(
    ["--quiet"],
    is_flag=True,
    expose_value=False,
    callback=_be_quiet,
    help="Write no progress.",
)
COMMANDS = (
    *(outliers, fit_command, score, explore_command),
    *(compare_command, data, words, study),
)
for command in COMMANDS:
    command.params.append(QUIET)
    main.add_command(command)
