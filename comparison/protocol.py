"""What is the same for all models of a study, and how each is tuned.

Everything is chosen on the training rows: columns are standardised on their majority, the
bandwidth and each model's price (C, nu, the fraction outside) are the ones whose left-out
distances are best by the criterion of the cutoff, and so is the cutoff.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import numpy as np

from ..inference.cutoff import Cutoff
from ..inference.detector import Detector
from ..inference.metrics import evaluate
from ..models import priors
from ..models.kernels import RBF, Kernel, Standardized
from ..models.registry import REGISTRY

TUNED_BY = ("g_mean", "balanced_accuracy", "f1")
FRACTIONS, PRICES = (0.02, 0.1, 0.3), (0.1, 1.0, 10.0)


@dataclass(frozen=True)
class Candidate:
    """A model in a study: its name there, and how it differs from the registry's defaults.

    Parameters
    ----------
    name : str
        As tables show it.
    model : str
        In the registry.
    parameters : dict
        Of its estimator, which differ from the defaults.
    grid : dict
        Parameters that a protocol may tune, with the values to choose from.
    """

    name: str
    model: str
    parameters: dict[str, Any] = field(default_factory=dict)
    grid: dict[str, tuple[float, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.model not in REGISTRY:
            raise ValueError(f"unknown model {self.model!r}; expected one of {', '.join(REGISTRY)}")

    @property
    def learns_from_minority(self) -> bool:
        """Whether its weights depend on minority rows."""
        return "minority" in REGISTRY[self.model].learns_from


@dataclass(frozen=True)
class Protocol:
    """What is the same for all models.

    Parameters
    ----------
    kernel : Kernel
    cutoff : Cutoff
    draws, tune, chains : int
        Of the models that have a posterior.
    alternatives : tuple of Kernel
        Kernels to choose from beside ``kernel``.
    tuned : bool
        Whether the candidates' grids are searched.

    Examples
    --------
    >>> from bsvdd.comparison.protocol import Protocol
    >>> Protocol(draws=500).estimator("BSVDD", seed=1).get_params()["draws"]
    500
    """

    kernel: Kernel = Standardized(RBF())
    cutoff: Cutoff = Cutoff()
    draws: int = 1000
    tune: int = 500
    chains: int = 2
    alternatives: tuple[Kernel, ...] = ()
    tuned: bool = False

    def estimator(self, model: str | Candidate, seed: int, **changes: Any) -> Detector:
        """Return the unfitted estimator of ``model`` under this protocol."""
        candidate = Candidate(model, model) if isinstance(model, str) else model
        est: Detector = REGISTRY[candidate.model].estimator()()
        shared = {
            "kernel": self.kernel,
            "cutoff": self.cutoff,
            "minor_label": 1,
            "random_state": seed,
            "draws": self.draws,
            "tune": self.tune,
            "chains": self.chains,
        }
        known = est.get_params(deep=False)
        here = {name: value for name, value in shared.items() if name in known}
        return est.set_params(**here | candidate.parameters | changes)

    def choices(self, candidate: Candidate) -> list[dict[str, Any]]:
        """Return the changes of parameters to choose from; the first has the protocol's kernel."""
        grid = candidate.grid if self.tuned else {}
        kernels = (self.kernel, *self.alternatives) if self.alternatives else ()
        return [
            {**kernel, **dict(zip(grid, values, strict=True))}
            for kernel in ([{"kernel": k} for k in kernels] or [{}])
            for values in product(*grid.values())
        ]

    def fit(
        self, candidate: Candidate, X: np.ndarray, minority: np.ndarray, seed: int
    ) -> tuple[Detector, dict[str, Any]]:
        """Return the fitted estimator that is best on left-out rows, and what was chosen.

        Without minority rows there is nothing to choose by, and the first choice is taken.
        """
        choices = self.choices(candidate)
        if not minority.any():
            choices = choices[:1]
        self.check(len(choices))
        best: tuple[float, Detector, dict[str, Any]] | None = None
        errors = []
        for choice in choices:
            est = self.estimator(candidate, seed, **choice)
            try:
                est.fit(X, minority.astype(int))
            except ValueError as error:  # a price may be infeasible in one fold; others are not
                errors.append(error)
                continue
            value = 0.0 if len(choices) == 1 else self._value(est, minority)
            if best is None or value > best[0]:
                best = value, est, choice
        if best is None:
            raise errors[0]
        _, est, choice = best
        said = {name: value for name, value in choice.items() if name != "kernel"}
        return est, {**said, "kernel": str(est.kernel_)}

    def check(self, choices: int) -> None:
        """Raise a ValueError where the cutoff's criterion cannot rank several choices."""
        if choices > 1 and self._criterion not in TUNED_BY:
            raise ValueError(
                f"a protocol that tunes needs a cutoff by one of {', '.join(TUNED_BY)}, got "
                f"{self.cutoff.criterion!r}"
            )

    @property
    def _criterion(self) -> str | float:
        return "g_mean" if self.cutoff.criterion == "auto" else self.cutoff.criterion

    def _value(self, est: Detector, minority: np.ndarray) -> float:
        """Return the criterion over the left-out distances, at the cutoff that they chose."""
        left_out = est.idata_.children["decision"].dataset["left_out"].values
        known = ~np.isnan(left_out)
        metrics = evaluate(minority[known], left_out[known] > est.cutoff_)
        return metrics[str(self._criterion)]


_RBF = Standardized(RBF())
FAIR = Protocol(
    cutoff=Cutoff("auto"),
    # wider ones: of a much narrower kernel all distances agree to so many digits that what a row
    # adds to the norm of its own centre decides between left-out ones: their cutoff is of no use
    alternatives=(replace(_RBF, kernel=RBF("median")), replace(_RBF, kernel=RBF("scale"))),
    tuned=True,
)
PUBLISHED = Protocol(cutoff=Cutoff("f1", cv=5))
PROTOCOLS = {"fair": FAIR, "published": PUBLISHED}

_GRIDS: dict[str, dict[str, tuple[float, ...]]] = {
    "SVDD": {"outlier_fraction": FRACTIONS},
    "SVDD-M": {"outlier_fraction": FRACTIONS},
    "OCSVM": {"nu": FRACTIONS},
    **{name: {"C": PRICES} for name in ("SVM", "DSVM-CIL", "LS-SVM", "IDLSSVM-CIL")},
}
PRIORS = {
    "published": priors.RowSum(),
    "scaled": priors.StandardizedRowSum(),
    "flat": priors.Flat(),
    # with the default nugget, 1e-6, the covariance is so near to singular that NUTS hardly moves
    "Gaussian process": priors.GaussianProcess(nugget=0.1),
}


def candidates() -> list[Candidate]:
    """Return all models of the registry, with the minority weights of BSVDD-M bounded.

    As published, Beta(1, 1), they take minutes where a bounded total takes seconds, and their
    chains do not always mix.
    """
    bounded = {"BSVDD-M": {"minority_prior": priors.Beta(total=1)}}
    return [Candidate(name, name, bounded.get(name, {}), _GRIDS.get(name, {})) for name in REGISTRY]


def published() -> list[Candidate]:
    """Return the four models of the slides as their papers have them.

    SVDD decides by its own sphere, and the Bayesian models, which have no boundary of their own,
    by the cutoff of the protocol; the priors are the published ones. BSVDD-M with Beta(1, 1)
    needs NUTS, which is slow, so it takes fewer draws, and tunes for 100: after 300 the effective
    draws were as many.
    """
    row_sum = {"prior": priors.RowSum()}
    unbounded = {"minority_prior": priors.Beta(), "draws": 300, "tune": 100}
    return [
        Candidate("SVDD", "SVDD", {"cutoff": "model"}),
        Candidate("BDD", "BDD", {"prior": priors.RowSum(exponent=0.5)}),
        Candidate("BSVDD", "BSVDD", row_sum),
        Candidate("BSVDD-M", "BSVDD-M", {**row_sum, **unbounded}),
    ]
