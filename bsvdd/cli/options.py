"""Options and arguments that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ..estimators.rows.tables import Layout
    from ..inference.cutoff import Cutoff

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
seed = click.option("--seed", default=0, show_default=True, type=click.IntRange(0))


@dataclass(frozen=True)
class TableOptions:
    """How to read the user's own table; the same for all commands that take one."""

    id: str | None
    drop: tuple[str, ...]
    sep: str
    decimal: str
    category: tuple[str, ...]
    missing: str | None

    def layout(self, label: str | None = None) -> Layout:
        """Return what the columns of the table are; a ValueError if one is two things."""
        from ..estimators.rows.files import CsvFormat
        from ..estimators.rows.tables import Layout

        form = CsvFormat(self.sep, self.decimal)
        return Layout(label, self.id, self.drop, form, self.category)


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of models and their cutoff; None where the default holds."""

    dictionary: int | None
    prior: str | None
    minority_prior: str | None
    false_alarm_rate: float | None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of estimators that were given."""
        from .prior import read_prior

        given: dict[str, Any] = {}
        if self.dictionary is not None:
            given["dictionary"] = self.dictionary
        for name in ("prior", "minority_prior"):
            text = getattr(self, name)
            if text is not None:
                try:
                    given[name] = read_prior(text, name == "minority_prior")
                except (ValueError, TypeError) as error:
                    raise type(error)(f"{as_option(name)}: {error}") from error
        return given

    def cutoff(self) -> Cutoff:
        """Return the cutoff that was asked for; without a rate the default."""
        from ..inference.cutoff import Cutoff

        if self.false_alarm_rate is None:
            return Cutoff()
        return Cutoff("false_alarm", false_alarm_rate=self.false_alarm_rate)

    def for_models(self, models: list[str]) -> dict[str, dict[str, Any]]:
        """Return for each model those of the parameters that it has.

        Raises
        ------
        ValueError
            No model has one of the parameters.
        """
        from ..comparison.run.protocol import Candidate
        from ..estimators.messages import quoted
        from ..estimators.registry import MODELS

        parameters = self.parameters()
        known = {name: MODELS[Candidate(name, name).model].parameters for name in models}
        for parameter in parameters:
            if not any(parameter in own for own in known.values()):
                having = [name for name, record in MODELS.items() if parameter in record.parameters]
                raise ValueError(
                    f"{quoted(models)} {'has' if len(models) == 1 else 'have'} no "
                    f"{as_option(parameter)}; it is for {quoted(having)}"
                )
        return {
            name: {key: value for key, value in parameters.items() if key in own}
            for name, own in known.items()
        }


def as_option(parameter: str) -> str:
    """Return the option that sets a parameter."""
    return f"--{parameter.replace('_', '-')}"


_OF_TABLE = (
    click.option("--id", metavar="COLUMN", help="Column that names the rows; no feature."),
    click.option("--drop", metavar="COLUMN", multiple=True, help="Column left out; repeatable."),
    click.option(
        "--sep", default=",", show_default=True, help="Sign between two fields of CSV; or 'tab'."
    ),
    click.option(
        "--decimal",
        default=".",
        show_default=True,
        type=click.Choice([".", ","]),
        help="Decimal sign of CSV.",
    ),
    click.option(
        "--category",
        metavar="COLUMN",
        multiple=True,
        help="Column of numbers that name categories; repeatable. Columns of text are categories.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["error", "drop", "impute"]),
        help="What to do with gaps: stop, leave the row out, or fill them by the median (most "
        "frequent category) of the majority's training rows. Default: error; score leaves the "
        "numbers of such a row empty.",
    ),
)
_OF_MODEL = (
    click.option(
        "--dictionary",
        type=click.IntRange(1),
        metavar="NUMBER",
        help="Landmarks in place of all rows, for models with a posterior; for many rows.",
    ),
    click.option(
        "--prior",
        metavar="PRIOR",
        help="Prior of the weights: a name of bsvdd.priors, such as Flat or "
        "'InverseRowSum(sd=0.5)'.",
    ),
    click.option(
        "--minority-prior",
        metavar="PRIOR",
        help="Prior of the minority's weights, such as 'Beta(total=1)'.",
    ),
    click.option(
        "--false-alarm-rate",
        type=float,
        metavar="RATE",
        help="Choose the cutoff for this share of false alarms.",
    ),
)


def of_table(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the user's own table; ``command`` gets them as ``table``."""
    return _collected(command, "table", TableOptions, _OF_TABLE)


def of_model(command: Callable[..., None]) -> Callable[..., None]:
    """Add the parameters of models; ``command`` gets them as ``own``."""
    return _collected(command, "own", ModelOptions, _OF_MODEL)


def _collected(
    command: Callable[..., None], name: str, kind: Any, added: tuple[Any, ...]
) -> Callable[..., None]:
    """Return ``command`` with some options, which it gets as one object."""

    @wraps(command)
    def with_options(**values: Any) -> None:
        own = {f.name: values.pop(f.name) for f in fields(kind)}
        command(**{name: kind(**own)}, **values)

    result: Callable[..., None] = with_options
    for option in reversed(added):
        result = option(result)
    return result


def sampling(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of the sampler: --draws, --tune and --chains."""
    for option in (
        click.option("--chains", default=2, show_default=True, type=click.IntRange(1)),
        click.option("--tune", default=500, show_default=True, type=click.IntRange(1)),
        click.option("--draws", default=1000, show_default=True, type=click.IntRange(4)),
    ):
        command = option(command)
    return command


def given(*names: str) -> list[str]:
    """Return which of some options of the running command its caller gave, without defaults."""
    context = click.get_current_context()
    default = click.core.ParameterSource.DEFAULT
    return [name for name in names if context.get_parameter_source(name) is not default]


def _check_jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    if value != -1 and value < 1:
        raise click.BadParameter(f"expected at least 1, or -1 for all processors; got {value}")
    return value


jobs = click.option(
    "--jobs",
    default=-1,
    show_default=True,
    type=int,
    callback=_check_jobs,
    help="Worker processes, each with one thread; -1 is one for each processor.",
)
