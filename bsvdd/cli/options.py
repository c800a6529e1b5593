"""Options and arguments that several commands share."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .. import comparison
from ..base import messages
from ..estimators import registry
from .prior import read_prior
from .wording import layout

if TYPE_CHECKING:
    from ..estimators.description import Description

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
Options = dict[
    str, dict[str, Any]
]  # by their parameters, each as ``click.option`` takes it
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def grouped(name: str, kind: Callable[..., Any], options: Options) -> Decorator:
    """Return a decorator that adds options, which the command gets as ``name=kind(...)``."""

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**values: Any) -> None:
            own = {each: values.pop(each) for each in options}
            command(**{name: kind(**own)}, **values)

        result: Callable[..., None] = with_options
        for each, how in reversed(options.items()):
            result = click.option(as_option(each), **how)(result)
        return result

    return add


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Parameters of models and their cutoff; None where the default holds."""

    dictionary: int | None
    prior: str | None
    minority_prior: str | None
    false_alarm_rate: float | None = None

    def parameters(self, models: Collection[str]) -> dict[str, Any]:
        """Return the parameters of estimators that were given.

        Raises
        ------
        ValueError
            A prior cannot be read, or none of the models has one of the parameters.
        """
        given: dict[str, Any] = (
            {} if self.dictionary is None else {"dictionary": self.dictionary}
        )
        for name in ("prior", "minority_prior"):
            text = getattr(self, name)
            if text is not None:
                try:
                    given[name] = read_prior(text, name == "minority_prior")
                except (ValueError, TypeError) as error:
                    raise type(error)(f"{as_option(name)}: {error}") from error
        known = [
            comparison.models.model(name).get_params(deep=False) for name in models
        ]
        for name in given:
            if not any(name in own for own in known):
                having = [
                    n
                    for n, each in registry.REGISTRY.items()
                    if name in each.parameters
                ]
                raise ValueError(
                    f"{messages.quoted(models)} "
                    f"{'has' if len(models) == 1 else 'have'} no {as_option(name)}; it "
                    f"is for {messages.quoted(having)}"
                )
        return given

    def cutoff(self) -> dict[str, Any]:
        """Return the cutoff, as estimators take it; nothing without a rate, for their own."""
        from ..inference.cutoffs import FalseAlarm

        return (
            {}
            if (rate := self.false_alarm_rate) is None
            else {"cutoff": FalseAlarm(rate)}
        )


@dataclass(frozen=True, kw_only=True)
class FitOptions(ModelOptions):
    """One model, its parameters, its cutoff, and its draws."""

    model: str
    draws: int
    tune: int | None
    chains: int
    seed: int

    def estimator(self) -> Description:
        """Return the estimator with what was given; a ValueError if the model is unknown."""
        if registry.find(self.model) is None:
            comparison.datasets.require_known("model", self.model, registry.REGISTRY)
        own = {name: getattr(self, name) for name in SAMPLER}
        own |= {**self.cutoff(), **self.parameters([self.model])}
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
    sources = (
        None,
        click.core.ParameterSource.DEFAULT,
    )  # None: the command has no such option
    known = dict.fromkeys(names)
    return [name for name in known if context.get_parameter_source(name) not in sources]


def command(name: str, csv: Path, same: list[str], **others: list[str]) -> str:
    """Return another command for a table, with options that the caller of this one gave."""
    params = click.get_current_context().params
    words = ["bsvdd", name, str(csv)]
    for option, values in (
        {each: params[each] for each in given(*same)} | others
    ).items():
        for value in values if isinstance(values, tuple | list) else [values]:
            words += [as_option(option), str(value)]
    return shlex.join(words)


def _check_jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    if value != -1 and value < 1:
        raise click.BadParameter(
            f"expected at least 1, or -1 for all processors; got {value}"
        )
    return value


def with_value(metavar: str, text: str, **how: Any) -> dict[str, Any]:
    """Return an option whose value has a name of its own."""
    return {"metavar": metavar, "help": text, **how}


repeatable = partial(with_value, multiple=True)


TABLE: Options = {
    "id": with_value("COLUMN", "Column that names the rows; no feature."),
    "drop": repeatable("COLUMN", "Column left out; repeatable."),
    "sep": {"default": ",", "help": "Sign between two fields of CSV; or 'tab'."},
    "decimal": {
        "default": ".",
        "type": click.Choice([".", ","]),
        "help": "Decimal sign of CSV.",
    },
    "category": repeatable(
        "COLUMN",
        "Column of numbers that name categories; repeatable. Columns of text are "
        "categories.",
    ),
    "order": repeatable(
        "COLUMN=LOW<...<HIGH",
        "Column of ordered categories, with its levels; repeatable.",
    ),
    "missing": repeatable(
        "VALUE", "Value that stands for 'not known', such as -999; repeatable."
    ),
    "cyclic": repeatable(
        "COLUMN=PERIOD",
        "Column of numbers that comes again, such as hour=24; repeatable.",
    ),
}
PRIOR = "Prior of the weights: a name of bsvdd.priors, such as Flat or 'InverseRowSum(sd=0.5)'."
MODEL: Options = {
    "dictionary": with_value(
        "NUMBER",
        "The most points of the centre: beyond it near rows are one; for many rows.",
        type=click.IntRange(1),
    ),
    "prior": with_value("PRIOR", PRIOR),
    "minority_prior": with_value(
        "PRIOR", "Prior of the minority's weights, such as 'Beta(total=1)'."
    ),
    "false_alarm_rate": with_value(
        "RATE", "Choose the cutoff for this share of false alarms.", type=float
    ),
}
SAMPLER: Options = {
    "draws": {"default": 500, "type": click.IntRange(4)},
    "tune": {
        "type": click.IntRange(1),
        "help": "Draws that only tune; by default what the sampler needs.",
    },
    "chains": {"default": 4, "type": click.IntRange(1)},
}
SEED: dict[str, Any] = {"default": 0, "type": click.IntRange(0)}
OF_FIT: Options = {
    "model": {"default": "BSVDD", "help": f"{', '.join(registry.REGISTRY)}."},
    **MODEL,
    **SAMPLER,
    "seed": SEED,
}
WITHOUT_CUTOFF = {
    name: how for name, how in OF_FIT.items() if name != "false_alarm_rate"
}
PRIORS = repeatable("PRIOR", f"{PRIOR} Repeatable: each model with each prior.")


def _each_prior(prior: tuple[str, ...], **others: Any) -> list[ModelOptions]:
    """Return the options with each of several priors."""
    return [ModelOptions(prior=each, **others) for each in prior or (None,)]


of_table = grouped("table", layout, TABLE)
of_models = grouped("own", _each_prior, {**MODEL, "prior": PRIORS})
of_sampler = grouped("sampling", dict, SAMPLER)
of_fit = grouped("own", FitOptions, OF_FIT)
of_fit_without_cutoff = grouped("own", FitOptions, WITHOUT_CUTOFF)
minor = click.option(
    "--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1)."
)
seed = click.option("--seed", **SEED)
jobs = click.option(
    "--jobs",
    default=-1,
    type=int,
    callback=_check_jobs,
    help="Worker processes, each with one thread; -1 is one for each processor.",
)
new_file = partial(click.option, type=click.Path(dir_okay=False, path_type=Path))
folder = partial(
    click.option, "--out", type=click.Path(file_okay=False, path_type=Path)
)
