"""A Bayesian model as a value: its priors, its likelihood, and its map to the weights."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from . import calibration
from .gram import Gram
from .potential import KernelLikelihood, Likelihood, WeightMap
from .priors.base import can_group, of_points
from .priors.numbers import VariableDensity

if TYPE_CHECKING:
    import pymc as pm

CALIBRATED = "calibrated"  # a likelihood_scale


@dataclass(frozen=True)
class Identity:
    """The weights are a variable of the model."""

    inputs: tuple[str, ...] = ("w",)

    def weights(self, w: np.ndarray) -> np.ndarray:
        """Return the weights of a batch, shape (S, M)."""
        return w

    def pull(self, w: np.ndarray, g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return g."""
        return (g,)


@dataclass(frozen=True)
class Model:
    """A model of the weights, the base class of all Bayesian models.

    A subclass is one file: its fields are priors and numbers, and it makes the PyMC model in
    :meth:`build`, which is its definition. What it also says in numbers, :meth:`weight_map`,
    :meth:`likelihood` and :meth:`variables`, lets it be sampled without a compiler.

    Parameters
    ----------
    prior : prior
        Of the majority's weights.
    likelihood_scale : float or "calibrated", default=1
        lambda; with "calibrated" the model must be :meth:`resolved` before it is built.
    is_calibrated : bool, default=False
        Whether the number was calibrated to Gram statistics.
    """

    prior: Any
    likelihood_scale: float | str = 1.0
    is_calibrated: bool = False

    log_weights: ClassVar[bool] = False  # whether the prior is one of log weights
    on_simplex: ClassVar[bool] = True  # whether lambda is calibrated for weights on the simplex
    sums_to_one: ClassVar[bool] = True  # whether the weights do
    nonnegative: ClassVar[bool] = False  # whether no weight is negative

    @property
    def scale(self) -> float:
        """Lambda as a number."""
        return float(self.likelihood_scale)

    @property
    def priors(self) -> dict[str, Any]:
        """The priors by the names of their fields, that of the majority first."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name.endswith("prior")}

    def prior_of(self, gram: Gram) -> Any:
        """Return the prior of the points, which may be groups of rows."""
        return of_points(self.prior, gram, self.log_weights)

    @property
    def groups_rows(self) -> bool:
        """Whether points can be groups of rows."""
        return can_group(self.prior)

    def resolved(self, gram: Gram, rows: np.ndarray | None = None) -> tuple[Self, str | None]:
        """Return the model with lambda as a number, and why it could not be calibrated, if so.

        Parameters
        ----------
        gram, rows
            As in :func:`.calibration.calibrated`.
        """
        if self.likelihood_scale != CALIBRATED and not self.is_calibrated:
            return replace(self, likelihood_scale=self.scale), None
        found = calibration.calibrated(gram, rows, self.on_simplex)
        return replace(self, likelihood_scale=found.scale, is_calibrated=True), found.reason

    def build(self, gram: Gram) -> pm.Model:
        """Return the PyMC model of the weights ``w``."""
        raise NotImplementedError

    def weight_map(self, gram: Gram) -> WeightMap:
        """Return the map of variables of the model to the weights; here, they are a variable."""
        return Identity()

    def likelihood(self, gram: Gram) -> Likelihood:
        """Return the likelihood in numbers."""
        return KernelLikelihood(self.scale)

    def variables(self, gram: Gram) -> dict[str, VariableDensity] | None:
        """Return the free variables in numbers, by name, or None where one has no numbers.

        Here they are the inputs of the map, in the order of the priors; a model that states no map
        has none. The variables that the likelihood takes beside the weights come last.
        """
        if type(self).weight_map is Model.weight_map:
            return None
        names = self.weight_map(gram).inputs
        priors = {**self.priors, "prior": self.prior_of(gram)}
        return numbers_of(gram, dict(zip(names, priors.values(), strict=True)))


def numbers_of(gram: Gram, priors: dict[str, Any]) -> dict[str, VariableDensity] | None:
    """Return variables in numbers, from their priors by name; None if a prior is not ours."""
    ours = (callable(getattr(prior, "numbers", None)) for prior in priors.values())
    if not all(ours) or any(isinstance(prior, type) for prior in priors.values()):
        return None
    found = [prior.numbers(gram, name) for name, prior in priors.items()]
    return {each.name: each for each in found}
