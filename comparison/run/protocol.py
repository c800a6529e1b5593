"""The protocol that all models of a study share, and how it tunes each model.

Everything is chosen on the training rows. Columns are compared by :class:`bsvdd.kernels.Tabular`,
whose scales and ranks are those of the majority rows. The bandwidth (a model's own default is one
of the choices), each model's penalty (C, nu or outlier_fraction) and the cutoff are those whose
left-out scores are best by the criterion of the cutoff.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from ...estimators.as_published import CALLS
from ...estimators.bayesian import Bayesian
from ...estimators.description import Description
from ...estimators.machines import Machine
from ...estimators.registry import REGISTRY, Record, find
from ...inference.cutoffs import Best, Cost, FalseAlarm, Printed
from ...inference.metrics import evaluate
from ...models import priors
from ...models.kernels import RBF, Kernel, Tabular
from ..scenarios.datasets import Dataset, require_known
from .yardsticks import YARDSTICKS, Yardstick

FRACTIONS, PENALTIES = (0.02, 0.1, 0.3), (0.1, 1.0, 10.0)  # of outlier_fraction and nu; of C


@dataclass(frozen=True)
class Candidate:
    """A model in a study: its name in tables, and its parameters that are not the defaults.

    Parameters
    ----------
    name : str
        Name in tables.
    model : str
        Its name, that of a yardstick, or of a class of yours that is imported.
    parameters : dict
        Parameters of the estimator that differ from the defaults.
    grid : dict
        Parameters that a protocol may tune, with the values to choose from.
    choice : str
        The prior or the bandwidth, in a study that compares them. It is part of ``name`` too, so
        stored results do not repeat it.
    """

    name: str
    model: str
    parameters: dict[str, Any] = field(default_factory=dict, hash=False)
    grid: dict[str, tuple[Any, ...]] = field(default_factory=dict, hash=False)
    choice: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if find(self.model) is None:
            require_known("model", self.model, [*REGISTRY, *YARDSTICKS])

    @property
    def record(self) -> Record:
        """The record of the model."""
        found = find(self.model)
        assert found is not None  # or it would not have been made
        return found

    @property
    def is_yardstick(self) -> bool:
        """Whether it is a simple method beside which the models are measured."""
        return self.model in YARDSTICKS

    @property
    def needs_minority(self) -> bool:
        """Whether the model's weights depend on minority rows."""
        return not self.is_yardstick and self.record.needs_minority

    @property
    def accepts(self) -> dict[str, Any]:
        """The parameters of the estimator with their defaults; none of a yardstick."""
        return {} if self.is_yardstick else self.record.parameters


@dataclass(frozen=True)
class Protocol:
    """Kernel, cutoff, sampling and tuning, the same for all models of a study.

    Parameters
    ----------
    kernel : Kernel, optional
        Default: each model's own default kernel.
    cutoff : object of bsvdd.cutoffs, optional
        Default: each model's own default, which is f = 0 for machines that separate classes.
    draws, tune, chains : int
        For models with a posterior; by default those of the classes.
    alternatives : tuple of Kernel
        Further kernels to choose from; one that is a model's first is tried once.
    tuned : bool
        Whether to search the candidates' grids.
    categorical : tuple of int, optional
        Positions of the columns of categories, for :class:`bsvdd.kernels.Tabular`. See
        :meth:`for_data`.

    Examples
    --------
    >>> from bsvdd.comparison.run.protocol import Protocol
    >>> Protocol(draws=200).estimator("BSVDD", seed=1).get_params()["draws"]
    200
    """

    kernel: Kernel | None = None
    cutoff: FalseAlarm | Best | Cost | Printed | None = None
    draws: int = 500
    tune: int | None = None
    chains: int = 4
    alternatives: tuple[Kernel, ...] = ()
    tuned: bool = False
    categorical: tuple[int, ...] | None = None

    def for_data(self, data: Dataset) -> Protocol:
        """Return the protocol with the columns of categories of ``data``."""
        return self if data.categorical is None else replace(self, categorical=data.categorical)

    def _with_categories(self, kernel: Kernel) -> Kernel:
        if not self.categorical:
            return kernel
        tabular = kernel if isinstance(kernel, Tabular) else Tabular(kernel)
        return replace(tabular, categorical=self.categorical)

    def estimator(self, model: str | Candidate, seed: int, **changes: Any) -> Description | Machine:
        """Return the unfitted estimator of ``model`` under this protocol."""
        candidate = Candidate(model, model) if isinstance(model, str) else model
        est: Description | Machine = candidate.record.estimator()()
        shared = {
            "kernel": self.kernel_of(candidate),
            "minor_label": 1,
            "random_state": seed,
            "draws": self.draws,
            "tune": self.tune,
            "chains": self.chains,
        }
        if self.cutoff is not None:
            shared["cutoff"] = self.cutoff
        own = {name: shared[name] for name in est.get_params(deep=False) if name in shared}
        return est.set_params(**own | candidate.parameters | changes)

    def yardstick(self, candidate: Candidate, seed: int) -> Yardstick:
        """Return the unfitted yardstick under this protocol."""
        return Yardstick(candidate.model, self.kernel_of(candidate), self.cutoff, seed)

    def kernel_of(self, candidate: Candidate) -> Kernel:
        """Return the kernel of a candidate, or the first of those to choose from."""
        own: Kernel = candidate.accepts.get("kernel", Yardstick.kernel)
        return self._with_categories(own if self.kernel is None else self.kernel)

    def choices(self, candidate: Candidate) -> list[dict[str, Any]]:
        """Return the parameter settings to choose from; the first has the candidate's kernel."""
        grid = candidate.grid if self.tuned else {}
        kernels: list[dict[str, Any]] = [{}]
        if self.alternatives:
            first = self.kernel_of(candidate)
            others = map(self._with_categories, self.alternatives)
            kernels = [{"kernel": k} for k in (first, *(k for k in others if k != first))]
        settings = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        return [kernel | setting for kernel in kernels for setting in settings]

    def fit(
        self, candidate: Candidate, X: np.ndarray, minority: np.ndarray, seed: int
    ) -> tuple[Description | Machine | Yardstick, dict[str, Any]]:
        """Return the fitted estimator that is best on left-out rows, and the chosen parameters.

        Bandwidth and kernel matrix do not depend on the prior, so choices that differ in the prior
        share them. Without minority rows no metric ranks them, and the first choice is taken.
        """
        if candidate.is_yardstick:  # its kernel has no bandwidth, and it has no penalty
            simple = self.yardstick(candidate, seed).fit(X, minority)
            return simple, {"kernel": str(simple.kernel_)}
        choices = self.choices(candidate)[: None if minority.any() else 1]
        self.check(len(choices))
        errors: list[ValueError] = []

        def value(fitted: tuple[Description | Machine, Any]) -> float:
            return 0.0 if len(choices) == 1 else self._value(fitted[0], X, minority)

        data = X, minority.astype(int), seed
        best = max(self._fits(candidate, choices, data, errors), key=value, default=None)
        if best is None:
            raise errors[0]
        est, choice = best
        tuned = {name: value for name, value in choice.items() if name != "kernel"}
        return est, {**tuned, "kernel": str(est.kernel_)}

    def _fits(
        self,
        candidate: Candidate,
        choices: list[dict[str, Any]],
        data: tuple[np.ndarray, np.ndarray, int],
        errors: list[ValueError],
    ) -> Iterator[tuple[Description | Machine, dict[str, Any]]]:
        """Yield the fit of each choice to data (X, y, seed); those that fail go to ``errors``."""
        X, y, seed = data
        last: tuple[Bayesian, dict[str, Any]] | None = None  # a fit, its choices but the priors
        for choice in choices:
            prior = {name: value for name, value in choice.items() if name.endswith("prior")}
            others = {name: value for name, value in choice.items() if name not in prior}
            try:
                if prior and last is not None and last[1] == others:
                    est: Description | Machine = last[0].with_prior(**prior)
                else:
                    est = self.estimator(candidate, seed, **choice).fit(X, y)
                    if isinstance(est, Bayesian):
                        last = est, others
            except ValueError as error:  # a penalty may be infeasible; others may not
                errors.append(error)
            else:
                yield est, choice

    def check(self, choices: int) -> None:
        """Raise a ValueError if there are several choices and the cutoff's metric ranks none."""
        if choices > 1 and not isinstance(self.cutoff, Best | None):
            raise ValueError(
                f"a protocol that tunes needs a cutoff by cutoffs.Best, got {self.cutoff!r}"
            )

    def _value(self, est: Description | Machine, X: np.ndarray, minority: np.ndarray) -> float:
        """Return the cutoff's metric on left-out rows; of a machine, by five folds."""
        if isinstance(est, Machine):
            from sklearn.model_selection import StratifiedKFold, cross_val_predict  # slow

            folds = StratifiedKFold(5, shuffle=True, random_state=0)
            y = minority.astype(int)
            flagged = cross_val_predict(clone(est), X, y, cv=folds) == -1
            return evaluate(minority, flagged)[self._metric]
        flagged = ~est.decision()["normal"].to_numpy(bool)
        return evaluate(minority, flagged)[self._metric]

    @property
    def _metric(self) -> str:
        """The metric that ranks choices; that of the default cutoff is the G-mean."""
        return self.cutoff.metric if isinstance(self.cutoff, Best) else Best().metric


FAIR = Protocol(
    alternatives=tuple(
        Tabular(RBF(criterion)) for criterion in ("likelihood", "modified_mean", "median", "scale")
    ),
    tuned=True,
)
# D_opt by cross-validation is published (slide 20 of Kim 2024); F1, and leave-one-out by rescaling
# the other weights, are our choice
PUBLISHED = Protocol(
    kernel=Tabular(RBF(), scale="standardised"), cutoff=Printed(Best("f1", max_fpr=1.0))
)
PROTOCOLS = {"fair": FAIR, "published": PUBLISHED}

# BSVDD's prior puts more and more of the weights on the boundary, as does a smaller nu of SVDD
_BOUNDARY = (
    priors.Flat(sd=1.5),
    priors.InverseRowSum(sd=0.5, power=1.0),
    priors.SVDDWeights(sd=0.5, outlier_fraction=FRACTIONS[0]),
)
_GRIDS: dict[str, dict[str, tuple[Any, ...]]] = {
    "BSVDD": {"prior": _BOUNDARY},
    "SVDD": {"outlier_fraction": FRACTIONS},
    "SVDD-M": {"outlier_fraction": FRACTIONS},
    "OCSVM": {"nu": FRACTIONS},
    **{name: {"C": PENALTIES} for name in ("SVM", "DSVM-CIL", "LS-SVM", "IDLSSVM-CIL")},
}
PRIORS: dict[str, Any] = {
    "inverse row sum": priors.InverseRowSum(sd=0.5),
    "published": priors.RowSum(),
    "scaled": priors.StandardizedRowSum(),
    "flat": priors.Flat(sd=1.5),
    "equal weights": priors.EqualWeights(),
}


def candidates() -> list[Candidate]:
    """Return all models of the registry, then the yardsticks."""
    return [Candidate(name, name, {}, _GRIDS.get(name, {})) for name in [*REGISTRY, *YARDSTICKS]]


def published() -> list[Candidate]:
    """Return the four models of the slides as published: priors and lambda = 1, one protocol.

    SVDD decides by its own sphere. The others take the samplers of this package and the cutoff of
    the protocol, which their sources do not: :func:`as_published` has random-walk Metropolis for
    BSVDD and BSVDD-M, and for BDD the posterior mode with its own rule. The posterior of BSVDD-M
    with Beta(1, 1) takes seconds to sample, so it has fewer draws, and 100 tuning draws.
    """
    ours = {"BSVDD-M": {"draws": 300, "tune": 100}}
    bayesian = ["prior", "likelihood_scale"]
    models = {"SVDD": ["cutoff"], "BDD": bayesian, "BSVDD": bayesian}
    models["BSVDD-M"] = ["prior", "minority_prior"]
    return [
        Candidate(name, name, {n: CALLS[name][1][n] for n in names} | ours.get(name, {}))
        for name, names in models.items()
    ]


def as_published(models: list[str] | None = None, own: Collection[str] = ()) -> list[Candidate]:
    """Return models as their sources have them, :func:`bsvdd.as_published`, as candidates.

    Parameters
    ----------
    models : list of str, optional
        Names in the registry. Default: all models with a source.
    own : collection of str
        Parameters that the protocol sets, such as "draws". The kernel is always the
        protocol's.

    Raises
    ------
    ValueError
        A model is unknown, or has no source.
    """
    of_protocol = {"kernel", *own}
    for name in models or ():
        if Candidate(name, name).model not in CALLS:
            raise ValueError(
                f"{name} is here for comparison, and no source sets its parameters; leave it "
                "out of the models as published"
            )
    return [
        Candidate(name, name, {n: v for n, v in parameters.items() if n not in of_protocol})
        for name, (_, parameters) in CALLS.items()
        if models is None or name in models
    ]
