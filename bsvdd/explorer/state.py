"""The state of the explorer: all that its controls set, as an estimator and as code."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from ..estimators.as_published import PUBLICATIONS, as_published
from ..estimators.bayesian import CALIBRATED, Bayesian
from ..estimators.registry import REGISTRY, Record
from ..inference.cutoff import Cutoff
from ..models import kernels, priors
from .call import Call, Given
from .ranges import Range

DEFAULT_MODEL = "BSVDD"
# Which numbers of a prior deserve a slider is a choice: GraphLaplacian, for one, needs rows too.
FAMILIES: dict[str, tuple[type, tuple[str, ...]]] = {
    "StandardizedRowSum": (priors.StandardizedRowSum, ("sd",)),
    "InverseRowSum": (priors.InverseRowSum, ("sd", "power")),
    "RowSum": (priors.RowSum, ("sd", "exponent")),
    "Flat": (priors.Flat, ("sd",)),
    "EqualWeights": (priors.EqualWeights, ("sd",)),
    "GaussianProcess": (priors.GaussianProcess, ("sd",)),
}
CRITERIA = ("g_mean", "balanced_accuracy", "f1", "cost", "false_alarm")
CRITERIA_WITHOUT_MINORITY = ("false_alarm",)
# what a published model leaves to the controls
OPEN = (
    *("model", "published", "bandwidth", "row", "z"),
    *("standardize", "random_state", "minor_label"),
)
LABELS = {
    "model": "model",
    "published": "as published",
    "prior": "prior",
    "sd": "prior sd",
    "exponent": "exponent ν",
    "power": "power ν",
    "a": "Beta a",
    "b": "Beta b",
    "bounded": "bound Σα1 by c",
    "total": "total c",
    "calibrated": "calibrate λ",
    "likelihood_scale": "likelihood scale λ",
    "bandwidth": "bandwidth s",
    "criterion": "cutoff by",
    "false_alarm_rate": "false-alarm rate",
    "miss_cost": "cost of a miss",
    "level": "normal above P",
    "row": "point z: row",
}


@dataclass(frozen=True)
class ExplorerState:
    """All that the controls of the explorer set.

    Parameters
    ----------
    bandwidth : float
        s of the RBF kernel; in standard deviations if ``standardize`` is true.
    model : str, default="BSVDD"
        A name in :func:`models`.
    published : bool, default=False
        Whether prior, sampler, cutoff and draws are those of :func:`bsvdd.as_published`, for a
        model that has a source. Only the kernel and the point z are then chosen by the controls.
    prior : str, default="Flat"
        A name in ``FAMILIES``.
    sd, exponent, power : float, default=1.5, 1, 0.5
        Parameters of the prior; only RowSum has ``exponent``, and only InverseRowSum ``power``.
    a, b : float, default=1
        Parameters of the Beta prior of the minority weights, for models that have one.
    bounded : bool, default=False
        Whether the minority weights sum to ``total`` at most.
    total : float, default=1
        Bound on the sum of the minority weights.
    calibrated : bool, default=True
        Whether lambda is calibrated, for models whose default it is; ``likelihood_scale`` is then
        not used.
    likelihood_scale : float, default=1
    criterion : str, default="g_mean"
        Criterion of the cutoff.
    false_alarm_rate : float, default=0.1
        For the criterion ``"false_alarm"``.
    miss_cost : float, default=10
        For the criterion ``"cost"``.
    level : float, default=0.5
        A row is normal if P(normal) exceeds this level.
    row : int, default=0
        The chosen point z: the position of a row of X, from 0.
    z : tuple of float, optional
        A new row that is the point z in place of a row of X.
    own_prior : prior, optional
        A prior that the user made, in place of the family and its numbers.
    standardize, dictionary, draws, chains, random_state, minor_label
        As in :func:`bsvdd.explore`.

    Examples
    --------
    >>> from bsvdd.explorer.state import ExplorerState
    >>> print(ExplorerState(bandwidth=0.8, prior="RowSum", sd=1.0, exponent=0.5).code())
    BSVDD(
        kernel=kernels.Tabular(kernel=kernels.RBF(bandwidth=0.8)),
        prior=priors.RowSum(sd=1.0, exponent=0.5),
        likelihood_scale='calibrated',
        cutoff=Cutoff(criterion='g_mean', level=0.5),
    )
    """

    bandwidth: float
    model: str = DEFAULT_MODEL
    published: bool = False
    prior: str = "Flat"
    sd: float = 1.5
    exponent: float = 1.0
    power: float = 0.5
    a: float = 1.0
    b: float = 1.0
    bounded: bool = False
    total: float = 1.0
    calibrated: bool = True
    likelihood_scale: float = 1.0
    criterion: str = "g_mean"
    false_alarm_rate: float = 0.1
    miss_cost: float = 10.0
    level: float = 0.5
    row: int = 0
    z: tuple[float, ...] | None = None
    standardize: bool = True
    dictionary: int | str | None = "auto"
    draws: int = 1000
    chains: int = 2
    random_state: int = 0
    minor_label: Any = None
    own_prior: Any = None

    RANGES: ClassVar[dict[str, Range]] = {
        "sd": Range(0.1, 10.0, 0.05, log=True),
        "exponent": Range(0.05, 1.0, 0.05),
        "power": Range(0.05, 1.0, 0.05),
        "a": Range(0.1, 10.0, 0.05, log=True),
        "b": Range(0.1, 10.0, 0.05, log=True),
        "total": Range(0.1, 10.0, 0.05, log=True),
        "likelihood_scale": Range(0.01, 100.0, 0.1, log=True),
        "false_alarm_rate": Range(0.01, 0.5, 0.01),
        "miss_cost": Range(1.0, 100.0, 0.1, log=True),
        "level": Range(0.05, 0.95, 0.05),
    }

    def __post_init__(self) -> None:
        for name, values in self.choices().items():
            if getattr(self, name) not in values:
                raise ValueError(
                    f"{name} must be one of {list(values)}, got {getattr(self, name)!r}"
                )
        for name, limits in self.RANGES.items():
            limits.check(name, getattr(self, name))

    @staticmethod
    def choices() -> dict[str, tuple[Any, ...]]:
        """Return the values of each field that has a few only."""
        return {
            "model": tuple(models()),
            "published": (False, True),
            "prior": tuple(FAMILIES),
            "bounded": (False, True),
            "calibrated": (False, True),
            "criterion": CRITERIA,
            "standardize": (False, True),
        }

    @property
    def relevant(self) -> frozenset[str]:
        """The fields that have an effect with this model, prior and criterion."""
        names = {f.name for f in fields(self)}
        if self.model not in PUBLICATIONS:  # a user's model
            names -= {"published"}
        elif self.published:
            return frozenset(OPEN)
        names -= {"exponent", "power", "false_alarm_rate", "miss_cost"}
        if self.own_prior is None:
            names |= set(FAMILIES[self.prior][1])
        else:
            names -= {"prior", "sd"}
        names |= {"cost": {"miss_cost"}, "false_alarm": {"false_alarm_rate"}}.get(
            self.criterion, set()
        )
        if not self._has_beta_prior:
            names -= {"a", "b", "bounded", "total"}
        elif not self.bounded:
            names -= {"total"}
        if not self._can_calibrate:
            names -= {"calibrated"}
        elif self.calibrated:
            names -= {"likelihood_scale"}
        return frozenset(names)

    @property
    def _record(self) -> Record:
        return models()[self.model]

    @property
    def _has_beta_prior(self) -> bool:
        """Whether the controls set the minority prior; another than Beta keeps its default."""
        return isinstance(self._record.parameters.get("minority_prior"), priors.Beta)

    @property
    def _can_calibrate(self) -> bool:
        return bool(self._record.parameters["likelihood_scale"] == CALIBRATED)

    @property
    def is_published(self) -> bool:
        """Whether the estimator is that of :func:`bsvdd.as_published`."""
        return self.published and "published" in self.relevant

    def _call(self) -> Call:
        kernel = Call(kernels.RBF, "kernels.RBF", {"bandwidth": self.bandwidth})
        if self.standardize:
            kernel = Call(kernels.Tabular, "kernels.Tabular", {"kernel": kernel})
        defaults = self._record.parameters
        if self.is_published:
            named: dict[str, Any] = {"name": self.model, "kernel": kernel}
            for name in ("random_state", "minor_label"):
                if getattr(self, name) != defaults[name]:
                    named[name] = getattr(self, name)
            return Call(as_published, "as_published", named)
        family, parameters = FAMILIES[self.prior]
        prior: Call | Given = Call(
            family, f"priors.{self.prior}", {p: getattr(self, p) for p in parameters}
        )
        if self.own_prior is not None:
            prior = Given(self.own_prior, "my_prior")
        arguments: dict[str, Any] = {"kernel": kernel, "prior": prior}
        if self._has_beta_prior:
            beta = {"a": self.a, "b": self.b} | ({"total": self.total} if self.bounded else {})
            arguments["minority_prior"] = Call(priors.Beta, "priors.Beta", beta)
        calibrated = self.calibrated and self._can_calibrate
        arguments["likelihood_scale"] = CALIBRATED if calibrated else self.likelihood_scale
        policy: dict[str, Any] = {"criterion": self.criterion, "level": self.level}
        for name in ("false_alarm_rate", "miss_cost"):
            if name in self.relevant:
                policy[name] = getattr(self, name)
        arguments["cutoff"] = Call(Cutoff, "Cutoff", policy)
        for name in ("dictionary", "draws", "chains", "random_state", "minor_label"):
            if getattr(self, name) != defaults[name]:
                arguments[name] = getattr(self, name)
        return Call(self._record.estimator(), self._record.class_name, arguments)

    def estimator(self) -> Bayesian:
        """Return the estimator, not yet fitted."""
        est: Bayesian = self._call().value()
        return est

    def code(self) -> str:
        """Return the constructor call as code, which evaluates to :meth:`estimator`.

        The names in it are the estimator's class, ``Cutoff``, ``kernels`` and ``priors``, or
        ``as_published`` and ``kernels``.
        """
        return self._call().block()


def models() -> dict[str, Record]:
    """Return the models that the explorer offers.

    These are all Bayesian models of the registry with a parameter ``prior``, those beside the
    default model first. The registry is read at each call: a user can add a model at any time.
    """
    records = [r for r in REGISTRY.values() if r.bayesian and "prior" in r.parameters]
    home = REGISTRY[DEFAULT_MODEL].estimator().__module__
    records.sort(key=lambda record: record.estimator().__module__ != home)
    return {record.name: record for record in records}
