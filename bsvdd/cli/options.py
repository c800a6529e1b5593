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
    from ..estimators.machines import Machine

Decorator = Callable[[Callable[..., None]], Callable[..., None]]
Parameters = dict[str, object]  # of estimators
Options = dict[str, dict[str, Any]]  # each as ``click.option`` takes it, by parameter
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def option_set(name: str, kind: Callable[..., object], options: Options) -> Decorator:
    """Return a decorator that adds options to a command.

    Parameters
    ----------
    name : str
        Parameter of the command.
    kind : callable
        Makes its value of the values of the options, by their names.
    options : dict

    Returns
    -------
    callable
    """

    def add(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def with_options(**values: Any) -> None:
            own = {each: values.pop(each) for each in options}
            command(**{name: kind(**own)}, **values)

        for each, how in reversed(options.items()):
            click.option(as_option(each), **how)(with_options)
        return with_options

    return add


@dataclass(frozen=True, kw_only=True)
class ModelOptions:
    """Parameters of models and their cutoff; None where the default holds."""

    dictionary: int | None
    prior: str | None
    minority_prior: str | None
    false_alarm_rate: float | None = None

    def parameters(self, models: Collection[str]) -> Parameters:
        """Return the given parameters of estimators.

        Parameters
        ----------
        models : collection of str
            Names of models, one of which at least has each parameter.

        Returns
        -------
        dict

        Raises
        ------
        ValueError
            A prior cannot be read, or none of the models has one of the parameters.
        """
        found: Parameters = {}
        if self.dictionary is not None:
            found["dictionary"] = self.dictionary
        texts = {"prior": self.prior, "minority_prior": self.minority_prior}
        for name, text in texts.items():
            if text is not None:
                try:
                    found[name] = read_prior(text, name == "minority_prior")
                except (ValueError, TypeError) as error:
                    raise type(error)(f"{as_option(name)}: {error}") from error
        known = set[str]()
        for model in models:
            known |= comparison.models.model(model).get_params(deep=False).keys()
        for name in found:
            if name not in known:
                every = registry.REGISTRY.items()
                having = [n for n, each in every if name in each.parameters]
                has = "has" if len(models) == 1 else "have"
                raise ValueError(
                    f"{messages.quoted(models)} {has} no {as_option(name)}; it is for "
                    f"{messages.quoted(having)}"
                )
        return found

    def cutoff(self) -> Parameters:
        """Return the cutoff as a parameter; without a rate nothing, for the default."""
        if self.false_alarm_rate is None:
            return {}
        from ..inference.cutoffs import FalseAlarm

        return {"cutoff": FalseAlarm(self.false_alarm_rate)}


@dataclass(frozen=True, kw_only=True)
class FitOptions(ModelOptions):
    """One model, its parameters, its cutoff, and its draws."""

    model: str
    draws: int
    tune: int | None
    chains: int
    seed: int

    def estimator(self) -> Description | Machine:
        """Return the unfitted estimator.

        Raises
        ------
        ValueError
            The model is unknown, or one of its parameters is.
        """
        if registry.find(self.model) is None:
            comparison.datasets.require_known("model", self.model, registry.REGISTRY)
        found: Description | Machine = comparison.models.model(
            self.model,
            minor_label=1,
            random_state=self.seed,
            draws=self.draws,
            tune=self.tune,
            chains=self.chains,
            **self.cutoff(),
            **self.parameters([self.model]),
        )
        return found


def as_option(parameter: str) -> str:
    """Return the option that sets a parameter, such as ``--minority-prior``."""
    return f"--{parameter.replace('_', '-')}"


def given_options(*names: str) -> list[str]:
    """Return the options, of these, that the caller of the running command gave."""
    context = click.get_current_context()
    # the source is None if the command has no such option
    not_given = (None, click.core.ParameterSource.DEFAULT)
    each = dict.fromkeys(names)
    return [n for n in each if context.get_parameter_source(n) not in not_given]


def next_command(name: str, csv: Path, same: list[str], **others: list[str]) -> str:
    """Return another command for a table, as its user writes it.

    Parameters
    ----------
    name : str
        Of the command.
    csv : pathlib.Path
    same : list of str
        Options that have the values of the running command, if its caller gave them.
    **others : list of str
        Values of other options.

    Returns
    -------
    str
    """
    params = click.get_current_context().params
    words = ["bsvdd", name, str(csv)]
    options = {each: params[each] for each in given_options(*same)} | others
    for option, values in options.items():
        for value in values if isinstance(values, tuple | list) else [values]:
            words += [as_option(option), *[str(value)] * (value is not True)]
    return shlex.join(words)


def _valid_jobs(_: click.Context, __: click.Parameter, value: int) -> int:
    """Return the number of worker processes, which is at least 1, or -1."""
    if value != -1 and value < 1:
        raise click.BadParameter(
            f"expected at least 1, or -1 for all processors; got {value}"
        )
    return value


def with_value(metavar: str, text: str, **how: Any) -> dict[str, Any]:
    """Return the settings of an option whose value has a name in the help."""
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
    "skip": {
        "default": 0,
        "type": click.IntRange(0),
        "help": "Number of lines above the header.",
    },
    "no_header": {
        "is_flag": True,
        "help": "The first line is a row; columns are called 0, 1, ....",
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
        "VALUE",
        "Value that stands for 'not known', such as -999, or age=999 in the column age "
        "only; repeatable.",
    ),
    "cyclic": repeatable(
        "COLUMN=PERIOD",
        "Column of numbers that comes again, such as hour=24; repeatable.",
    ),
}
PRIOR = (
    "Prior of the weights: a name of bsvdd.priors, such as Flat or "
    "'InverseRowSum(sd=0.5)'."
)
MODEL: Options = {
    "dictionary": with_value(
        "NUMBER",
        "The most atoms of the dictionary: beyond it near rows are one; for many rows.",
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
WITHOUT_CUTOFF = {n: how for n, how in OF_FIT.items() if n != "false_alarm_rate"}
PRIORS = repeatable("PRIOR", f"{PRIOR} Repeatable: each model with each prior.")


def _each_prior(prior: tuple[str, ...], **others: Any) -> list[ModelOptions]:
    """Return the options with each of several priors."""
    return [ModelOptions(prior=each, **others) for each in prior or (None,)]


of_table = option_set("table", layout, TABLE)
of_models = option_set("own", _each_prior, {**MODEL, "prior": PRIORS})
of_sampler = option_set("sampling", dict, SAMPLER)
of_fit = option_set("own", FitOptions, OF_FIT)
of_fit_without_cutoff = option_set("own", FitOptions, WITHOUT_CUTOFF)
minor = click.option(
    "--minor", help="Value of the minority in that column (1 in 0/1, -1 in -1/+1)."
)
seed = click.option("--seed", **SEED)
jobs = click.option(
    "--jobs",
    default=-1,
    type=int,
    callback=_valid_jobs,
    help="Worker processes, each with one thread; -1 is one for each processor.",
)
new_file = partial(click.option, type=click.Path(dir_okay=False, path_type=Path))
folder = partial(
    click.option, "--out", type=click.Path(file_okay=False, path_type=Path)
)
