"""What the source of a model says of its parameters, and what it leaves open.

A model of the registry with a :class:`Source` can be had as published:
:func:`bsvdd.as_published`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..inference.cutoff import as_cutoff
from ..models.priors import Beta, GaussianPrior, RowSum, TruncatedNormal

SETTLED = {"draws": 5000, "tune": 5000, "chains": 2}  # of random-walk Metropolis


@dataclass(frozen=True)
class Said:
    """A parameter that the source fixes.

    Attributes
    ----------
    value : object
        What the source has, or a case of it.
    words : str
        What the source says, and where.
    allows : callable, optional
        Whether the source allows another value too. Default: an equal value only.
    """

    value: Any
    words: str
    allows: Callable[[Any], bool] | None = None

    def agrees(self, value: Any) -> bool:
        """Return whether the source allows this value."""
        return bool(value == self.value) if self.allows is None else self.allows(value)


@dataclass(frozen=True)
class Open:
    """A parameter that the source leaves open.

    Attributes
    ----------
    value : object
        Our choice.
    words : str
        What the choice means.
    """

    value: Any
    words: str


@dataclass(frozen=True)
class Source:
    """A model as its source has it.

    Attributes
    ----------
    said : dict of Said
        By the name of the parameter.
    open : dict of Open
        What the source leaves open; the kernel is always open.
    """

    said: dict[str, Said]
    open: dict[str, Open] = field(default_factory=dict)

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the estimator, without the kernel."""
        said = {name: each.value for name, each in self.said.items()}
        return said | {name: each.value for name, each in self.open.items()}


# what a source allows


def is_own_boundary(cutoff: Any) -> bool:
    """Return whether the cutoff is the model's own boundary."""
    return as_cutoff(cutoff).criterion == "model"


def is_training_rank(cutoff: Any) -> bool:
    """Return whether the cutoff is the c-th smallest training distance."""
    policy = as_cutoff(cutoff)
    return policy.criterion == "rank" and policy.cv == "train"


def is_cross_validated(cutoff: Any) -> bool:
    """Return whether D_opt comes from left-out rows, and normal means P > .5."""
    policy = as_cutoff(cutoff)
    by_rows = isinstance(policy.criterion, str) and policy.criterion != "model"
    return by_rows and policy.cv != "train" and policy.level == 0.5


def is_power_of_row_sums(prior: Any) -> bool:
    """Return whether the prior has the mean -(sum_j K_ij)^nu with 0 < nu < 1."""
    return isinstance(prior, RowSum) and prior.exponent < 1


def is_row_sums(prior: Any) -> bool:
    """Return whether the prior has the mean -K 1."""
    return isinstance(prior, RowSum) and prior.exponent == 1


def is_normal(prior: Any) -> bool:
    """Return whether the prior is normal."""
    return isinstance(prior, GaussianPrior)


def is_truncated_normal(prior: Any) -> bool:
    """Return whether the prior is a normal one on [0, 1]."""
    return isinstance(prior, TruncatedNormal)


def is_unbounded_beta(prior: Any) -> bool:
    """Return whether the minority weights are Beta variables, with no bound on their sum."""
    return isinstance(prior, Beta) and prior.total is None


# what several sources have

LIKELIHOOD = {
    "likelihood_scale": Said(1.0, "the likelihood has the weight 1"),
    "dictionary": Said(None, "all rows are points of the centre", lambda value: value is None),
}
BOUNDARY = {"cutoff": Said("model", "the boundary is the model's own", is_own_boundary)}
DRAWN = {
    "draws": Open(SETTLED["draws"], "draws per chain; see R-hat in idata_['diagnostics']"),
    "tune": Open(SETTLED["tune"], "draws per chain before them"),
    "chains": Open(SETTLED["chains"], "so that R-hat compares chains"),
}
DENSITY = {
    "neighbors": Said(5, "k = 5"),
    "density": Said("train", "neighbour and maximum over the whole training set, as printed"),
    "count_self": Said(True, "a row is its own first neighbour, in the code"),
}
