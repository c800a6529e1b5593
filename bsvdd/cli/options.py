"""Options and arguments that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import comparison
from ..estimators import messages, registry, tables
from .prior import read_prior

if TYPE_CHECKING:
    from ..estimators.description import Description
    from ..estimators.tables.files import Layout as TableOptions  # noqa: F401  of commands

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
NEW_FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


def grouped(name: str, kind: Callable[..., Any], options: dict[str, Any]) -> Decorator:
    """Return a decorator that adds options, which the command gets as ``name=kind(...)``."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**values: Any) -> None:
            own = {each: values.pop(each) for each in options}
            command(**{name: kind(**own)}, **values)

        result: Callable[..., None] = with_options
        for option in reversed(options.values()):
            result = option(result)
        return result

    return add


@dataclass(frozen=True)
class ModelOptions:
    """Parameters of models and their cutoff; None where the default holds."""

    dictionary: int | None
    prior: str | None
    minority_prior: str | None
    false_alarm_rate: float | None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of estimators that were given."""
        given: dict[str, Any] = {} if self.dictionary is None else {"dictionary": self.dictionary}
        for name in ("prior", "minority_prior"):
            text = getattr(self, name)
            if text is not None:
                try:
                    given[name] = read_prior(text, name == "minority_prior")
                except (ValueError, TypeError) as error:
                    raise type(error)(f"{as_option(name)}: {error}") from error
        return given

    def cutoff(self) -> Any:
        """Return the cutoff that was asked for; None without a rate, for the model's own."""
        from ..inference.cutoffs import FalseAlarm

        return None if self.false_alarm_rate is None else FalseAlarm(self.false_alarm_rate)

    def for_models(self, models: list[str]) -> dict[str, dict[str, Any]]:
        """Return for each model those of the parameters that it has.

        Raises
        ------
        ValueError
            No model has one of the parameters.
        """
        known = {n: comparison.models.model(n).get_params(deep=False) for n in models}
        parameters = self.parameters()
        for parameter in parameters:
            if not any(parameter in own for own in known.values()):
                having = [
                    n for n, each in registry.REGISTRY.items() if parameter in each.parameters
                ]
                raise ValueError(
                    f"{messages.quoted(models)} {'has' if len(models) == 1 else 'have'} no "
                    f"{as_option(parameter)}; it is for {messages.quoted(having)}"
                )
        return {
            name: {key: value for key, value in parameters.items() if key in own}
            for name, own in known.items()
        }


@dataclass(frozen=True)
class FitOptions(ModelOptions):
    """One model, its parameters, its cutoff, and its draws."""

    model: str
    draws: int
    tune: int | None
    chains: int
    seed: int

    def own_parameters(self) -> dict[str, Any]:
        """Return the parameters that were given; a ValueError if the model is unknown."""
        if registry.find(self.model) is None:
            comparison.datasets.require_known("model", self.model, registry.REGISTRY)
        return self.for_models([self.model])[self.model]

    def estimator(self, parameters: dict[str, Any]) -> Description:
        """Return the estimator with these parameters, the draws and the cutoff."""
        own = {name: getattr(self, name) for name in SAMPLER} | parameters
        if (cutoff := self.cutoff()) is not None:
            own["cutoff"] = cutoff
        found: Description = comparison.models.model(
            self.model, minor_label=1, random_state=self.seed, **own
        )
        return found


def as_option(parameter: str) -> str:
    """Return the option that sets a parameter."""
    return f"--{parameter.replace('_', '-')}"


def given(*names: str) -> list[str]:
    """Return which of some options of the running command its caller gave, without defaults."""
    context = click.get_current_context()
    sources = None, click.core.ParameterSource.DEFAULT  # None: the command has no such option
    known = dict.fromkeys(names)
    return [name for name in known if context.get_parameter_source(name) not in sources]


def command(name: str, csv: Path, same: list[str], **others: list[str]) -> str:
    """Return another command for a table, with options that the caller of this one gave."""
    params, words = click.get_current_context().params, ["bsvdd", name, str(csv)]
    for option, values in ({each: params[each] for each in given(*same)} | others).items():
        for value in values if isinstance(values, tuple | list) else [values]:
            words += [as_option(option), str(value)]
    return shlex.join(words)


def _check_jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    if value != -1 and value < 1:
        raise click.BadParameter(f"expected at least 1, or -1 for all processors; got {value}")
    return value


of_table = grouped(
    "table",
    lambda **given: tables.files.Layout(**given),
    {
        "id": click.option(
            "--id", metavar="COLUMN", help="Column that names the rows; no feature."
        ),
        "drop": click.option(
            "--drop", metavar="COLUMN", multiple=True, help="Column left out; repeatable."
        ),
        "sep": click.option(
            "--sep",
            default=",",
            show_default=True,
            help="Sign between two fields of CSV; or 'tab'.",
        ),
        "decimal": click.option(
            "--decimal",
            default=".",
            show_default=True,
            type=click.Choice([".", ","]),
            help="Decimal sign of CSV.",
        ),
        "category": click.option(
            "--category",
            metavar="COLUMN",
            multiple=True,
            help="Column of numbers that name categories; repeatable. Columns of text are "
            "categories.",
        ),
        "order": click.option(
            "--order",
            metavar="COLUMN=LOW<...<HIGH",
            multiple=True,
            help="Column of ordered categories, with its levels; repeatable.",
        ),
        "missing": click.option(
            "--missing",
            metavar="VALUE",
            multiple=True,
            help="Value that stands for 'not known', such as -999; repeatable.",
        ),
        "cyclic": click.option(
            "--cyclic",
            metavar="COLUMN=PERIOD",
            multiple=True,
            help="Column of numbers that comes again, such as hour=24; repeatable.",
        ),
    },
)
MODEL = {
    "dictionary": click.option(
        "--dictionary",
        type=click.IntRange(1),
        metavar="NUMBER",
        help="The most points of the centre: beyond it near rows are one; for many rows.",
    ),
    "prior": click.option(
        "--prior",
        metavar="PRIOR",
        help="Prior of the weights: a name of bsvdd.priors, such as Flat or "
        "'InverseRowSum(sd=0.5)'.",
    ),
    "minority_prior": click.option(
        "--minority-prior",
        metavar="PRIOR",
        help="Prior of the minority's weights, such as 'Beta(total=1)'.",
    ),
    "false_alarm_rate": click.option(
        "--false-alarm-rate",
        type=float,
        metavar="RATE",
        help="Choose the cutoff for this share of false alarms.",
    ),
}


def _number(name: str, default: int | None, least: int, text: str | None = None) -> Any:
    shown = default is not None
    kind = click.IntRange(least)
    return click.option(f"--{name}", default=default, show_default=shown, type=kind, help=text)


SAMPLER = {
    "draws": _number("draws", 500, 4),
    "tune": _number("tune", None, 1, "Draws that only tune; by default what the sampler needs."),
    "chains": _number("chains", 4, 1),
}
seed = _number("seed", 0, 0)


def _each_prior(prior: tuple[str, ...], **others: Any) -> list[ModelOptions]:
    """Return the options with each of several priors."""
    return [ModelOptions(prior=each, **others) for each in prior or (None,)]


PRIORS = click.option(
    "--prior",
    metavar="PRIOR",
    multiple=True,
    help="Prior of the weights: a name of bsvdd.priors, such as Flat or 'InverseRowSum(sd=0.5)'. "
    "Repeatable: each model with each prior.",
)
of_models = grouped("own", _each_prior, {**MODEL, "prior": PRIORS})
of_sampler = grouped("sampling", dict, SAMPLER)
one_model = {
    "model": click.option(
        "--model",
        default="BSVDD",
        show_default=True,
        help=f"{', '.join(registry.REGISTRY)}.",
    )
}
OF_FIT = {**one_model, **MODEL, **SAMPLER, "seed": seed}
of_fit = grouped("own", FitOptions, OF_FIT)
of_fit_without_cutoff = grouped(
    "own",
    partial(FitOptions, false_alarm_rate=None),
    {name: option for name, option in OF_FIT.items() if name != "false_alarm_rate"},
)
jobs = click.option(
    "--jobs",
    default=-1,
    show_default=True,
    type=int,
    callback=_check_jobs,
    help="Worker processes, each with one thread; -1 is one for each processor.",
)


def folder(default: str | None, text: str) -> Any:
    """Return the option --out of a command that writes several files."""
    shown = default is not None
    return click.option("--out", default=default, show_default=shown, type=FOLDER, help=text)
