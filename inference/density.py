"""The density of a model by standard normals, on which HMC walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..base import threads
from ..models.priors import NormalMap, Pull
from ..models.weights import Weights


class Density(Protocol):
    """A density N(z; 0, I) e^f(z) of z (n,)."""

    @property
    def size(self) -> int:
        """The number of values of z."""

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Return w (S, M) of z (S, n)."""

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (S,) of z (S, n), and its gradient (S, n)."""


@dataclass(frozen=True, eq=False)
class OfNormals:
    """A model whose variables are maps of standard normals z (S, n)."""

    model: Weights
    priors: tuple[tuple[NormalMap, int], ...]

    @property
    def size(self) -> int:
        """The number of values of z."""
        return sum(n for _, n in self.priors)

    def values(self, z: np.ndarray) -> tuple[list[np.ndarray], list[Pull]]:
        """Return the values of each variable, and the pull of a gradient by each."""
        start = 0
        found = []
        for prior, n in self.priors:
            found.append(prior.of_normal(z[:, start : start + n]))
            start += n
        return [x for x, _ in found], [pull for _, pull in found]

    def weights(self, z: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        return self.model.weights(*self.values(z)[0])

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (S,) of z (S, n), and its gradient (S, n)."""
        values, pulls = self.values(z)
        value, gradients = self.model.value_and_gradient(*values)
        parts = [pull(g) for pull, g in zip(pulls, gradients, strict=True)]
        return value, parts[0] if len(parts) == 1 else np.hstack(parts)


def of_normals(model: Weights) -> OfNormals | None:
    """Return the density of a model of built-in priors; None if a user wrote one."""
    priors = tuple(
        (prior, n)
        for prior, n in model.variables.values()
        if isinstance(prior, NormalMap)
    )
    return OfNormals(model, priors) if len(priors) == len(model.variables) else None


def density(model: Weights) -> Density:
    """Return the density of a model."""
    found = of_normals(model)
    if found is not None:
        return found
    from .user_priors import OfPyMC  # PyTensor is slow to import

    with threads.steps("density of the prior"):
        return OfPyMC.of(model)
