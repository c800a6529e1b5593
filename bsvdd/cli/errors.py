"""Errors as a user of the command line reads them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

import click

from ..estimators.atomic import require_replaceable
from ..estimators.messages import printable


@contextmanager
def plain_errors() -> Iterator[None]:
    """Show an error of the input as one line, without a traceback, and so a warning of ours.

    A pipe that its reader has closed is no error of the input: click ends quietly.
    """
    try:
        with plain_warnings():
            yield
    except BrokenPipeError:
        raise
    except (ValueError, TypeError, OSError) as error:
        raise click.ClickException(printable(str(error))) from error


@contextmanager
def plain_warnings() -> Iterator[None]:
    """Show this package's warnings on stderr as a sentence, without a file and its line."""
    with warnings.catch_warnings():
        as_before = warnings.showwarning

        def show(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if category.__module__.startswith(f"{__name__.partition('.')[0]}."):
                click.echo(f"Warning: {printable(str(message))}", err=True)
            else:
                as_before(message, category, filename, lineno, file, line)

        warnings.showwarning = show
        yield


def check_output(out: Path, *inputs: Path, option: str = "--out") -> None:
    """Raise an error if ``out`` is an input file or no file, or its folder does not exist."""
    if not out.parent.is_dir():
        raise ValueError(f"{option} {out}: there is no folder {out.parent}")
    require_replaceable(out)
    for path in inputs:
        if out.exists() and out.samefile(path):
            raise ValueError(
                f"{option} {out} would replace {path}, which is read; name another file"
            )


def check_outputs(outputs: dict[str, Path | None], *inputs: Path) -> None:
    """Check each output that is named, by its option; a ValueError if two are the same file."""
    named: dict[Path, str] = {}
    for option, out in outputs.items():
        if out is None:
            continue
        check_output(out, *inputs, option=option)
        if (other := named.setdefault(out.absolute(), option)) != option:
            raise ValueError(f"{option} and {other} name the same file, {out}")


def check_output_folder(out: Path, source: Path, outputs: tuple[str, ...] = ()) -> None:
    """Raise a ValueError if ``out`` is the folder ``source``, or an output would replace it.

    Parameters
    ----------
    out : path
        Folder of the outputs.
    source : path
        A file or a folder that is read.
    outputs : tuple of str
        Names of the files that are written.
    """
    if source.is_dir() and out.exists() and out.samefile(source):
        raise ValueError(
            f"--out {out} is the folder that is read: results would be read as data the next time; "
            "name another folder"
        )
    for name in outputs:
        if (out / name).exists() and (out / name).samefile(source):
            raise ValueError(
                f"--out {out}: its {name} would replace {source}, which is read; name another "
                "folder"
            )
