"""The state of the explorer: what its controls set, as an estimator, code, fit and numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple, Self, override

import numpy as np
import pandas as pd
from scipy import ndimage

from ..estimators.as_published import CALLS, as_published
from ..estimators.bayesian import CALIBRATED, Bayesian
from ..estimators.detector import fitted_to
from ..estimators.plots.common import with_feature_names
from ..estimators.questions.explain import explain
from ..estimators.questions.explanation import Explanation
from ..estimators.reading import read
from ..estimators.registry import REGISTRY, Record
from ..inference import cutoffs
from ..inference.cutoff import Cutoff
from ..inference.diagnostics import effective_support
from ..inference.draws import Draws
from ..inference.warning import DataWarning, Messages, collected
from ..models import kernels, priors

DEFAULT_MODEL = "BSVDD"
DIGITS = 3  # of a number on a slider; the code has the same digits
GRID = 40  # points of the grid of the picture along each axis
REUSES_STATISTICS = {"prior", "minority_prior", "likelihood_scale", "cutoff"}


@dataclass(frozen=True)
class Range:
    """The numbers that a slider can reach.

    Attributes
    ----------
    low, high : float
        The smallest and the largest number.
    step : float
        Distance between two numbers; with ``log``, between their logarithms to base 10.
    log : bool
        Whether the slider is logarithmic.
    whole : bool
        Whether the slider has whole numbers only.
    """

    low: float
    high: float
    step: float
    log: bool = False
    whole: bool = False

    def check(self, name: str, value: Any) -> None:
        """Raise an error unless ``value`` is a number in the range."""
        number = int | np.integer if self.whole else int | float | np.number
        if isinstance(value, bool) or not isinstance(value, number):
            kind = "a whole number" if self.whole else "a number"
            raise TypeError(f"{name} must be {kind}, got {value!r}")
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{name} must lie between {self.low:g} and {self.high:g}, got {value!r}"
            )

    def rounded(self, value: float) -> float | int:
        """Return ``value`` as the slider shows it."""
        return int(value) if self.whole else min(max(_rounded(value), self.low), self.high)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


# Which priors have controls is a choice.
FAMILIES = (*("StandardizedRowSum", "InverseRowSum", "RowSum", "Flat", "EqualWeights"),)
WITHOUT_MINORITY = ("false_alarm",)  # criteria
# The label of each control, and what it can take; the models are those of the registry, and
# bandwidths and rows follow from the data.
CONTROLS: dict[str, tuple[str, Range | tuple[Any, ...]]] = {
    "model": ("model", ()),
    "published": ("as published", (False, True)),
    "prior": ("prior", FAMILIES),
    "sd": ("prior sd", Range(0.1, 10.0, 0.05, log=True)),
    "exponent": ("exponent ν", Range(0.05, 1.0, 0.05)),
    "power": ("power ν", Range(0.05, 1.0, 0.05)),
    "a": ("Beta a", Range(0.1, 10.0, 0.05, log=True)),
    "b": ("Beta b", Range(0.1, 10.0, 0.05, log=True)),
    "bounded": ("bound Σα1 by c", (False, True)),
    "total": ("total c", Range(0.1, 10.0, 0.05, log=True)),
    "calibrated": ("calibrate λ", (False, True)),
    "likelihood_scale": ("likelihood scale λ", Range(0.01, 100.0, 0.1, log=True)),
    "bandwidth": ("bandwidth s", ()),
    "criterion": ("cutoff by", ("g_mean", "balanced_accuracy", "f1", "cost", *WITHOUT_MINORITY)),
    "false_alarm_rate": ("false-alarm rate", Range(0.01, 0.5, 0.01)),
    "miss_cost": ("cost of a miss", Range(1.0, 100.0, 0.1, log=True)),
    "level": ("normal above P", Range(0.05, 0.95, 0.05)),
    "row": ("point z: row", ()),
}


class Code(NamedTuple):
    """An object, and the code that makes it."""

    value: Any
    text: str


def _call(
    constructor: Callable[..., Any], name: str, arguments: dict[str, Any], block: bool = False
) -> Code:
    """Return what a constructor gives, and its call; a block has a line for each argument."""
    known = {k: v if isinstance(v, Code) else Code(v, repr(v)) for k, v in arguments.items()}
    texts = [f"{k}={v.text}" for k, v in known.items()]
    text = "\n" + "".join(f"    {each},\n" for each in texts) if block else ", ".join(texts)
    return Code(constructor(**{k: v.value for k, v in known.items()}), f"{name}({text})")


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
    calibrated : bool, default=True
        Whether lambda is calibrated, for models whose default it is; ``likelihood_scale`` is then
        not used.
    likelihood_scale : float, default=1
    criterion : str, default="g_mean"
        Criterion of the cutoff, with ``false_alarm_rate`` or ``miss_cost``.
    level : float, default=0.5
        A row is normal if P(normal) exceeds this level.
    row : int, default=0
        The chosen point z: the position of a row of X, from 0.
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
        cutoff=Cutoff(choose=cutoffs.Best(metric='g_mean'), level=0.5),
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
    own_prior: Any = None
    standardize: bool = True
    dictionary: int | str | None = "auto"
    draws: int = 1000
    chains: int = 2
    random_state: int = 0
    minor_label: Any = None

    @property
    def is_published(self) -> bool:
        """Whether the estimator is that of :func:`bsvdd.as_published`."""
        return self.published and self.model in CALLS

    @property
    def relevant(self) -> set[str]:
        """The controls that have an effect with this model, prior and criterion."""
        names = {"model", "bandwidth", "row"}
        if self.model in CALLS:
            names |= {"published"}
        if self.is_published:
            return names
        if self.own_prior is None:
            numbers = {field.name for field in fields(getattr(priors, self.prior))}
            names |= {"prior"} | (numbers & set(CONTROLS))
        names |= {"criterion", "level"}
        names |= {"cost": {"miss_cost"}, "false_alarm": {"false_alarm_rate"}}.get(
            self.criterion, set()
        )
        defaults = models()[self.model].parameters
        if isinstance(defaults.get("minority_prior"), priors.Beta):  # another keeps its default
            names |= {"a", "b", "bounded"} | ({"total"} if self.bounded else set())
        if defaults["likelihood_scale"] == CALIBRATED:
            names |= {"calibrated"}
        if not (self.calibrated and "calibrated" in names):
            names |= {"likelihood_scale"}
        return names

    def _estimator(self) -> Code:
        record, relevant = models()[self.model], self.relevant

        def shown(*names: str) -> dict[str, Any]:
            return {name: getattr(self, name) for name in names if name in relevant}

        def changed(*names: str) -> dict[str, Any]:
            values = {name: getattr(self, name) for name in names}
            return {n: value for n, value in values.items() if value != record.parameters[n]}

        kernel = _call(kernels.RBF, "kernels.RBF", shown("bandwidth"))
        if self.standardize:
            kernel = _call(kernels.Tabular, "kernels.Tabular", {"kernel": kernel})
        arguments: dict[str, Any] = {"kernel": kernel}
        if self.is_published:
            arguments = {"name": self.model} | arguments | changed("random_state", "minor_label")
            return _call(as_published, "as_published", arguments, block=True)
        arguments["prior"] = Code(self.own_prior, "my_prior")
        if self.own_prior is None:
            family, numbers = getattr(priors, self.prior), shown("sd", "exponent", "power")
            arguments["prior"] = _call(family, f"priors.{self.prior}", numbers)
        if "a" in relevant:
            beta = _call(priors.Beta, "priors.Beta", shown("a", "b", "total"))
            arguments["minority_prior"] = beta
        arguments |= {"likelihood_scale": CALIBRATED} | shown("likelihood_scale")
        arguments["cutoff"] = _call(
            Cutoff, "Cutoff", {"choose": self._chooser(), "level": self.level}
        )
        arguments |= changed("dictionary", "draws", "chains", "random_state", "minor_label")
        return _call(record.estimator(), record.class_name, arguments, block=True)

    def changed_from(self, other: Self) -> set[str]:
        """Return the fields with an effect in which this state differs from another one."""
        names = {each.name for each in fields(self) if each.compare}
        names -= set(CONTROLS) - self.relevant - other.relevant
        return {name for name in names if getattr(self, name) != getattr(other, name)}

    def _chooser(self) -> Code:
        if self.criterion == "cost":
            return _call(cutoffs.Cost, "cutoffs.Cost", {"miss": self.miss_cost})
        if self.criterion == "false_alarm":
            return _call(cutoffs.FalseAlarm, "cutoffs.FalseAlarm", {"rate": self.false_alarm_rate})
        return _call(cutoffs.Best, "cutoffs.Best", {"metric": self.criterion})

    def estimator(self) -> Bayesian:
        """Return the estimator, not yet fitted."""
        est: Bayesian = self._estimator().value
        return est

    def code(self) -> str:
        """Return the constructor call as code, which evaluates to :meth:`estimator`.

        The names in it are the estimator's class, ``Cutoff``, the modules of its parts, or
        ``as_published`` and ``kernels``.
        """
        return self._estimator().text

    def cell(self) -> str:
        """Return the code of a cell: imports, constructor call and fit."""
        model = models()[self.model].estimator()
        names, of_user = ["Cutoff", "cutoffs", "kernels", "priors"], ""
        if self.is_published:
            names = ["as_published", "kernels"]
        elif model.__module__.startswith(f"{__name__.partition('.')[0]}."):
            names.insert(0, model.__name__)
        else:
            of_user = f"from {model.__module__} import {model.__name__}\n"
        imports = f"from bsvdd import {', '.join(names)}\n{of_user}"
        return f"{imports}\nest = {self.code()}\nest.fit(X, y)\n"


def models() -> dict[str, Record]:
    """Return the models that the explorer offers.

    These are all Bayesian models of the registry with a parameter ``prior``, those beside the
    default model first. The registry is read at each call: a user can add a model at any time.
    """
    records = [r for r in REGISTRY.values() if r.bayesian and "prior" in r.parameters]
    home = REGISTRY[DEFAULT_MODEL].estimator().__module__
    records.sort(key=lambda record: record.estimator().__module__ != home)
    return {record.name: record for record in records}


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted estimator, with message and category of each warning of its fit."""

    est: Bayesian
    warnings: Messages

    @property
    def draws(self) -> Draws:
        """The draws of the weights, or their one estimate."""
        draws = self.est.fit_.learned.draws
        assert draws is not None  # of a centre
        return draws


def refit(state: ExplorerState, previous: Fitted, X: Any, y: Any = None) -> Fitted:
    """Fit a state after the one on the screen, with as little work as their differences allow.

    Parameters
    ----------
    state : ExplorerState
    previous : Fitted
        The fit on the screen, to the same X and y. If only the cutoff has changed, its draws are
        reused; if only priors, the likelihood scale or the cutoff have changed, its Gram statistics
        are reused.
    X, y
        Training rows and labels.

    Returns
    -------
    Fitted
    """
    new, fit = state.estimator(), previous.est.fit_
    with collected() as warnings:
        if type(previous.est) is not type(new):
            return Fitted(new.fit(X, y), warnings)
        after = new.get_params(deep=False)
        changed = {name for name, v in after.items() if fit.spec.parameters[name] != v}
        if not changed:
            return previous
        if changed == {"cutoff"}:
            est = previous.est.with_cutoff(new.cutoff)
            return Fitted(est, list(dict.fromkeys(previous.warnings + warnings)))
        if changed - REUSES_STATISTICS:
            return Fitted(new.fit(X, y), warnings)
        est = fitted_to(new, fit.data)
        of_rows = [warning for warning in previous.warnings if warning[1] is DataWarning]
        return Fitted(est, of_rows + warnings)


@dataclass(frozen=True, repr=False)
class _RoundedRBF(kernels.RBF):
    """An RBF kernel that rounds the bandwidth of its criterion as the slider shows it."""

    @override
    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Any:
        return kernels.RBF(_rounded(float(super().resolve(X, dimensions).bandwidth)))


def first_fit(X: Any, y: Any, options: dict[str, Any]) -> tuple[Fitted, ExplorerState]:
    """Return the first fit and its state.

    The bandwidth and the criterion of the cutoff depend on the rows. So these are read with a
    kernel that finds its bandwidth, and fitted with a kernel that has it.

    Parameters
    ----------
    X, y
        Training rows and labels.
    options : dict
        Fields of the state that have no control.
    """
    state = ExplorerState(bandwidth=1.0, **options)  # the rows are read with another kernel
    kernel: kernels.Kernel = _RoundedRBF(
        REGISTRY[DEFAULT_MODEL].parameters["kernel"].kernel.bandwidth
    )
    kernel = kernels.Tabular(kernel) if state.standardize else kernel
    with collected() as warnings:
        # any number is a cutoff here: the criterion is not known yet
        data = read(state.estimator().set_params(kernel=kernel, cutoff=1.0)._asked(), X, y)
        found: Any = data.kernel
        state = replace(state, bandwidth=(found.kernel if state.standardize else found).bandwidth)
        if not data.minority.any():
            state = replace(state, criterion=WITHOUT_MINORITY[0])
        return Fitted(fitted_to(state.estimator(), data), warnings), state


def allowed(state: ExplorerState, fit: Fitted) -> dict[str, Range | tuple[Any, ...]]:
    """Return what each control can take, from the state and the rows of the first fit."""
    minority = fit.est.fit_.data.minority
    names = [name for name, r in models().items() if minority.any() or not r.needs_minority]
    low, high = _rounded(state.bandwidth / 5), _rounded(state.bandwidth * 10)
    found = {name: values for name, (_, values) in CONTROLS.items()} | {
        "model": tuple(names),
        "bandwidth": Range(low, high, 0.02, log=True),
        "row": Range(0, len(minority) - 1, 1, whole=True),
    }
    return found if minority.any() else found | {"criterion": WITHOUT_MINORITY}


@dataclass(frozen=True, eq=False)
class View:
    """The numbers of one state of the explorer.

    Attributes
    ----------
    state : ExplorerState
    fit : Fitted
    decision : Series
        The decision on the point z, a row of ``est.decision``.
    d : ndarray of shape (draws,)
        d_z of the point z.
    margin : ndarray of shape (draws,)
        D_opt - d_z, by which the point z lies within the cutoff; its share from 0 on is P(normal).
    why : Explanation
        Why the point z is normal or abnormal.
    p : ndarray of shape (GRID, GRID)
        P(normal) over the plane.
    score : ndarray of shape (GRID, GRID)
        The score beside the boundary, where it is 0; elsewhere 1 for normal, -1 for abnormal.
    weights : ndarray of shape (3, M)
        Posterior mean of each weight, and its 5 % and 95 % quantiles.
    support, prior_support : ndarray
        Draws of the effective number of support points; empty for an improper prior.
    counts : ndarray of shape (2, 2)
        Rows by class (majority, minority) and left-out decision (normal, abnormal).
    """

    state: ExplorerState
    fit: Fitted
    decision: pd.Series
    d: np.ndarray
    margin: np.ndarray
    why: Explanation
    p: np.ndarray
    score: np.ndarray
    weights: np.ndarray
    support: np.ndarray
    prior_support: np.ndarray
    counts: np.ndarray

    @classmethod
    def of(
        cls, state: ExplorerState, fit: Fitted, grid: np.ndarray, previous: Self | None = None
    ) -> Self:
        """Return the numbers of a fit.

        Parameters
        ----------
        state : ExplorerState
        fit : Fitted
        grid : ndarray of shape (GRID^2, p)
            The rows of a plane.
        previous : View, optional
            If it has the same estimator, only the numbers of the point z are new.
        """
        est, data = fit.est, fit.est.fit_.data
        same = previous if previous is not None and previous.est is est else None
        if same is not None and same.state.row == state.row:
            return replace(same, state=state)
        row = data.rows[[state.row]]
        named = with_feature_names(est, row)
        prior, prior_support = est.fit_.prior, np.empty(0)
        if prior is not None:  # one estimate, such as a mode, has none
            prior_support = effective_support(prior.weights, data.gram.points.sizes)
        of_point: dict[str, Any] = {
            "state": state,
            "decision": est.decision(named).iloc[0],
            "d": est.distance(named).values.ravel(),
            "margin": est.fit_.margins(est.fit_.asked(row)).ravel(),
            "why": explain(est, named, top=3),
        }
        if same is not None:
            return replace(same, **of_point)
        on_plane, w = with_feature_names(est, grid), fit.draws.weights
        classes = (~data.minority, data.minority)
        p = est.probability_normal(on_plane).reshape(GRID, GRID)
        normal = p > est.fit_.level
        score = np.where(normal, 1.0, -1.0)
        near = ndimage.maximum_filter(normal, 3) != ndimage.minimum_filter(normal, 3)
        if near.any():
            score[near] = est.score_samples(with_feature_names(est, grid[near.ravel()]))
        left_out = est.fit_.left_out  # NaN is a row that cannot be left out
        return cls(
            **of_point,
            fit=fit,
            p=p,
            score=score,
            weights=np.stack([w.mean(axis=0), *np.quantile(w, [0.05, 0.95], axis=0)]),
            support=effective_support(w, data.gram.points.sizes),
            prior_support=prior_support,
            counts=np.array(
                [[(left_out[c] >= 0.0).sum(), (left_out[c] < 0.0).sum()] for c in classes]
            ),
        )

    @property
    def est(self) -> Bayesian:
        """The fitted estimator."""
        return self.fit.est

    @property
    def minority(self) -> np.ndarray:
        """Which training rows are minority, shape (n,)."""
        return self.est.fit_.data.minority

    @property
    def name(self) -> str:
        """The point z, with the user's name of a row."""
        return f"row {self.est.fit_.data.row_names[self.state.row]}"

    @property
    def class_name(self) -> str:
        """The class of the point z: "majority" or "minority"."""
        return "minority" if self.minority[self.state.row] else "majority"
