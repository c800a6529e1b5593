"""The density of a model by standard normals, on which HMC walks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..models.priors import NormalMap, Pull
from ..models.weights import Weights
from .draws import Coords, Variables


class Density(Protocol):
    """A density N(z; 0, I) e^f(z) of z (n,)."""

    @property
    def model(self) -> Weights:
        """The model, whose atoms may stand in another order."""

    @property
    def size(self) -> int:
        """The number of values of z."""

    def draws(self, z: np.ndarray) -> tuple[np.ndarray, Variables, Coords]:
        """Return w (S, M) of z (S, n), the variables, and coordinates of the user's."""

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

    def draws(self, z: np.ndarray) -> tuple[np.ndarray, Variables, Coords]:
        """Return w (S, M) of z (S, n), the variables, and no coordinates."""
        values, _ = self.values(z)
        named: Variables = {}
        for (name, dim), (prior, _), x in zip(
            self.model.dims.items(), self.priors, values, strict=True
        ):
            each = prior.named(name, x)
            named |= {own: ((dim,), part) for own, part in each.items()}
        return self.model.of_variables(*values), named, {}

    def __call__(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f (S,) of z (S, n), and its gradient (S, n)."""
        values, pulls = self.values(z)
        value, gradients = self.model.value_and_gradient(*values)
        parts = [pull(g) for pull, g in zip(pulls, gradients, strict=True)]
        return value, parts[0] if len(parts) == 1 else np.hstack(parts)


def of_normals(model: Weights) -> OfNormals | None:
    """Return the density of a built-in model; None if a user wrote a part of it."""
    if model.is_own:
        return None
    priors = tuple(
        (prior, n)
        for prior, n in model.variables.values()
        if isinstance(prior, NormalMap)
    )
    return OfNormals(model, priors) if len(priors) == len(model.variables) else None
