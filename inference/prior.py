"""The prior of a model: its densities in draws, its weights, and draws of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .density import package_prior
from .draws import Draws

if TYPE_CHECKING:
    import pymc as pm

    from .density import PackagePrior
    from .prior_density import PriorDensity

Values = dict[str, np.ndarray]


def free(model: pm.Model) -> list[str]:
    """Return the names of the free variables of ``model``."""
    return [v.name for v in model.free_RVs]


def _prior(model: pm.Model) -> PackagePrior | PriorDensity:
    known = package_prior(model)
    if known is not None:
        return known
    from .prior_density import PriorDensity

    return PriorDensity.of(model, ())


def log_prior(model: pm.Model, draws: Draws) -> Values:
    """Return the log prior density of each free variable of ``model``, (chains, draws) each.

    The draws may be of another model with the same free variables. Potentials that the prior adds
    have a density too, by their name.
    """
    values = {name: draws.flat(name) for name in free(model)}
    found = _prior(model).log_prior(values)
    return {name: v.reshape(draws.shape) for name, v in found.items()}


def weights(model: pm.Model, draws: Draws) -> np.ndarray:
    """Return the weights (S, M) that ``model`` makes of the draws of its free variables."""
    return _prior(model).weights({name: draws.flat(name) for name in free(model)})


def prior_draws(model: pm.Model, n: int, seed: int | None = None) -> Values:
    """Return n draws of the free variables of ``model`` and of its weights ``w`` from the prior.

    Potentials that the prior adds are ignored.

    Raises
    ------
    NotImplementedError
        The prior of the weights is improper, so it has no draws.
    """
    return _prior(model).draw(n, seed)
