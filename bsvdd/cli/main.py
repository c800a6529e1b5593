"""The group of commands: ``bsvdd compare``, ``fit``, ``score``, ``models``, ``data``, ``study``.

Heavy imports stand inside the commands, so that --help and usage errors are quick.
"""

from __future__ import annotations

import click

from .catalogue import data, models
from .compare import compare
from .fit import fit
from .score import score
from .study import study


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="bsvdd")
def main() -> None:
    """Bayesian support vector data description."""


for command in (compare, fit, score, models, data, study):
    main.add_command(command)
