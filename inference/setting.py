"""A setting of the explorer: all that is on its screen, as an estimator and as code."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ..models import kernels, priors
from .bayesian import BayesianDescription
from .cutoff import Cutoff
from .estimators import BDD, BSVDD, BSVDDM

MODELS: dict[str, type[BayesianDescription]] = {"BSVDD": BSVDD, "BSVDD-M": BSVDDM, "BDD": BDD}
FAMILIES: dict[str, tuple[type, tuple[str, ...]]] = {
    "StandardizedRowSum": (priors.StandardizedRowSum, ("sd",)),
    "RowSum": (priors.RowSum, ("sd", "exponent")),
    "Flat": (priors.Flat, ("sd",)),
    "GaussianProcess": (priors.GaussianProcess, ("sd",)),
}
CRITERIA = ("g_mean", "balanced_accuracy", "f1", "cost", "false_alarm")
CRITERIA_WITHOUT_MINORITY = ("false_alarm",)
LABELS = {
    "model": "model",
    "prior": "prior",
    "sd": "prior sd",
    "exponent": "exponent ν",
    "a": "Beta a",
    "b": "Beta b",
    "bounded": "bound Σα1 by c",
    "total": "total c",
    "likelihood_scale": "likelihood scale",
    "bandwidth": "bandwidth s",
    "criterion": "cutoff by",
    "false_alarm_rate": "false-alarm rate",
    "miss_cost": "cost of a miss",
    "level": "normal above P",
    "row": "point z: row",
}
DIGITS = 3  # of a number: as many as a slider shows, so that the code says what is read


@dataclass(frozen=True)
class Range:
    """Which numbers a slider reaches.

    Attributes
    ----------
    low, high, step : float
        ``step`` is one of the logarithm to base 10 where ``log`` is set.
    log : bool
    whole : bool
        Whole numbers only.
    """

    low: float
    high: float
    step: float
    log: bool = False
    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise an error unless ``value`` is a number of the range."""
        kind = int | np.integer if self.whole else int | float | np.number
        if isinstance(value, bool) or not isinstance(value, kind):
            what = "a whole number" if self.whole else "a number"
            raise TypeError(f"{name} must be {what}, got {value!r}")
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{name} must lie between {self.low:g} and {self.high:g}, got {value!r}"
            )

    def rounded(self, value: float) -> float | int:
        """Return ``value`` as its slider shows it."""
        if self.whole:
            return int(value)
        return float(min(max(significant(value), self.low), self.high))


@dataclass(frozen=True)
class Call:
    """A constructor call: carried out it is a value, written down it is code."""

    make: type
    shown: str
    arguments: dict[str, Any]

    def value(self) -> Any:
        """Return the object."""
        given = {k: v.value() if isinstance(v, Call) else v for k, v in self.arguments.items()}
        return self.make(**given)

    def text(self) -> str:
        """Return the call on one line."""
        return f"{self.shown}({', '.join(self._lines())})"

    def block(self) -> str:
        """Return the call with one line for each argument."""
        return f"{self.shown}(\n" + "".join(f"    {line},\n" for line in self._lines()) + ")"

    def _lines(self) -> list[str]:
        return [
            f"{k}={v.text() if isinstance(v, Call) else repr(v)}" for k, v in self.arguments.items()
        ]


@dataclass(frozen=True)
class Setting:
    """All that is on the explorer's screen.

    Parameters
    ----------
    bandwidth : float
        s of the RBF kernel; in standard deviations where ``standardize`` is set.
    model : {"BSVDD", "BSVDD-M", "BDD"}, default="BSVDD"
    prior : {"StandardizedRowSum", "RowSum", "Flat", "GaussianProcess"}, \
default="StandardizedRowSum"
    sd, exponent : float, default=1
        Of the prior; ``exponent`` is for RowSum only.
    a, b : float, default=1
        Of the Beta prior of the minority weights, as ``bounded`` and ``total``: for BSVDD-M only.
    bounded : bool, default=False
        Whether the minority weights sum to ``total`` at most.
    total : float, default=1
    likelihood_scale : float, default=1
    criterion : str, default="g_mean"
        Of the cutoff, with ``false_alarm_rate`` and ``miss_cost`` for two of them.
    false_alarm_rate : float, default=0.1
    miss_cost : float, default=10
    level : float, default=0.5
    row : int, default=0
        The chosen point z, a row of X.
    standardize, dictionary, draws, chains, random_state, minor_label
        As given to :func:`bsvdd.explore`.

    Examples
    --------
    >>> from bsvdd.inference.setting import Setting
    >>> print(Setting(bandwidth=0.8, prior="RowSum", exponent=0.5).code())
    BSVDD(
        kernel=kernels.Standardized(kernel=kernels.RBF(bandwidth=0.8)),
        prior=priors.RowSum(sd=1.0, exponent=0.5),
        likelihood_scale=1.0,
        cutoff=Cutoff(criterion='g_mean', level=0.5),
    )
    """

    bandwidth: float
    model: str = "BSVDD"
    prior: str = "StandardizedRowSum"
    sd: float = 1.0
    exponent: float = 1.0
    a: float = 1.0
    b: float = 1.0
    bounded: bool = False
    total: float = 1.0
    likelihood_scale: float = 1.0
    criterion: str = "g_mean"
    false_alarm_rate: float = 0.1
    miss_cost: float = 10.0
    level: float = 0.5
    row: int = 0
    standardize: bool = True
    dictionary: int | None = None
    draws: int = 1000
    chains: int = 2
    random_state: int = 0
    minor_label: Any = None

    CHOICES: ClassVar[dict[str, tuple[Any, ...]]] = {
        "model": tuple(MODELS),
        "prior": tuple(FAMILIES),
        "bounded": (False, True),
        "criterion": CRITERIA,
        "standardize": (False, True),
    }
    RANGES: ClassVar[dict[str, Range]] = {
        "sd": Range(0.1, 10.0, 0.05, log=True),
        "exponent": Range(0.05, 1.0, 0.05),
        "a": Range(0.1, 10.0, 0.05, log=True),
        "b": Range(0.1, 10.0, 0.05, log=True),
        "total": Range(0.1, 10.0, 0.05, log=True),
        "likelihood_scale": Range(0.01, 100.0, 0.1, log=True),
        "false_alarm_rate": Range(0.01, 0.5, 0.01),
        "miss_cost": Range(1.0, 100.0, 0.1, log=True),
        "level": Range(0.05, 0.95, 0.05),
    }

    def __post_init__(self) -> None:
        for name, choices in self.CHOICES.items():
            if getattr(self, name) not in choices:
                raise ValueError(
                    f"{name} must be one of {list(choices)}, got {getattr(self, name)!r}"
                )
        for name, numbers in self.RANGES.items():
            numbers.check(name, getattr(self, name))

    @property
    def relevant(self) -> frozenset[str]:
        """The fields that matter where the model, the prior and the criterion are these."""
        names = {f.name for f in fields(self)} - {"exponent", "false_alarm_rate", "miss_cost"}
        names |= set(FAMILIES[self.prior][1])
        names |= {"cost": {"miss_cost"}, "false_alarm": {"false_alarm_rate"}}.get(
            self.criterion, set()
        )
        if self.model != "BSVDD-M":
            names -= {"a", "b", "bounded", "total"}
        elif not self.bounded:
            names -= {"total"}
        return frozenset(names)

    def _call(self) -> Call:
        kernel = Call(kernels.RBF, "kernels.RBF", {"bandwidth": self.bandwidth})
        if self.standardize:
            kernel = Call(kernels.Standardized, "kernels.Standardized", {"kernel": kernel})
        family, parameters = FAMILIES[self.prior]
        model = MODELS[self.model]
        arguments: dict[str, Any] = {
            "kernel": kernel,
            "prior": Call(
                family, f"priors.{self.prior}", {p: getattr(self, p) for p in parameters}
            ),
        }
        if self.model == "BSVDD-M":
            beta = {"a": self.a, "b": self.b} | ({"total": self.total} if self.bounded else {})
            arguments["minority_prior"] = Call(priors.Beta, "priors.Beta", beta)
        arguments["likelihood_scale"] = self.likelihood_scale
        policy: dict[str, Any] = {"criterion": self.criterion, "level": self.level}
        for name in ("false_alarm_rate", "miss_cost"):
            if name in self.relevant:
                policy[name] = getattr(self, name)
        arguments["cutoff"] = Call(Cutoff, "Cutoff", policy)
        defaults = {f.name: f.default for f in fields(model)}
        for name in ("dictionary", "draws", "chains", "random_state", "minor_label"):
            if getattr(self, name) != defaults[name]:
                arguments[name] = getattr(self, name)
        return Call(model, model.__name__, arguments)

    def estimator(self) -> BayesianDescription:
        """Return the estimator, not yet fitted."""
        est: BayesianDescription = self._call().value()
        return est

    def code(self) -> str:
        """Return the constructor call; evaluated it is :meth:`estimator`.

        Its names are those of ``from bsvdd import BDD, BSVDD, BSVDDM, Cutoff, kernels, priors``.
        """
        return self._call().block()


def significant(value: float) -> float:
    """Return ``value`` with as many digits as a slider shows."""
    return float(f"{value:.{DIGITS}g}")


def bandwidths(modified_mean: float) -> Range:
    """Return the bandwidths around what the modified mean criterion says, from 1/5 to 10 times."""
    return Range(significant(modified_mean / 5), significant(modified_mean * 10), 0.02, log=True)


def logarithms(numbers: Range) -> tuple[float, float]:
    """Return the ends of a range as exponents of 10."""
    return math.log10(numbers.low), math.log10(numbers.high)
