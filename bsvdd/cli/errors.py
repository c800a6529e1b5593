"""Errors as a user of the command line reads them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ..base.atomic import require_replaceable
from ..base.messages import advising, printable
from .wording import in_options


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show an error as one line, and each warning of this package once, as a sentence.

    A pipe that its reader has closed is no error of the input: click ends quietly.
    """
    with warnings.catch_warnings(), advising(in_options):
        as_before = warnings.showwarning
        said = set[str]()

        def show(
            message: Warning | str, category: type[Warning], *place: object
        ) -> None:
            if category.__module__.startswith(f"{__name__.partition('.')[0]}."):
                sentence = printable(str(message))
                if sentence not in said:
                    click.echo(f"Warning: {sentence}", err=True)
                said.add(sentence)
            else:
                as_before(message, category, *place)  # type: ignore[arg-type]

        warnings.showwarning = show  # type: ignore[assignment]
        try:
            yield
        except BrokenPipeError:
            raise
        except (ValueError, TypeError, OSError) as error:
            raise click.ClickException(printable(str(error))) from error
        except MemoryError as error:
            raise click.ClickException(
                "the memory is full: "
                f"{str(error) or 'a step needs more than there is'}; use fewer rows, "
                "draws or jobs, or a machine with more memory"
            ) from error


def check_outputs(outputs: dict[str, Path | None], *inputs: Path) -> None:
    """Raise an error if an output cannot be written, or is an input or another output.

    Parameters
    ----------
    outputs : dict
        Path of each option; None if there is no such output.
    *inputs : pathlib.Path
        Files that are read.

    Raises
    ------
    ValueError
        Two outputs are the same file, one is an input, or its folder does not exist.
    OSError
        It is no file, but a folder, device or pipe.
    """
    named: dict[Path, str] = {}
    for option, out in outputs.items():
        if out is None:
            continue
        if not out.parent.is_dir():
            raise ValueError(f"{option} {out}: there is no folder {out.parent}")
        require_replaceable(out)
        for path in inputs:
            if out.exists() and out.samefile(path):
                raise ValueError(
                    f"{option} {out} would replace {path}, which is read; name another "
                    "file"
                )
        if (other := named.setdefault(out.absolute(), option)) != option:
            raise ValueError(f"{option} and {other} name the same file, {out}")
