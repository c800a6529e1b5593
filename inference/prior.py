"""The prior of a model: its densities in draws, its weights, and draws of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import xarray as xr

from ..models.potential import prior_potentials
from .density import package_prior
from .draws import Draws
from .warning import DiagnosticWarning, warn

if TYPE_CHECKING:
    import pymc as pm

    from .density import PackagePrior
    from .prior_density import PriorDensity

PRIOR_DRAWS = 200
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


def prior_weights(model: pm.Model, seed: int | None = None, draws: int = PRIOR_DRAWS) -> xr.Dataset:
    """Return draws of the weights ``w`` from their prior, dims (chain, draw, point).

    The dataset is empty for an improper prior, which has no draws. The draws ignore potentials
    that a prior adds, with a warning.
    """
    added = [v.name for v in prior_potentials(model)]
    if added:
        warn(
            f"draws of the prior ignore the potential(s) {', '.join(added)} that the prior adds, "
            "so prior_check and the prior's effective support describe the prior without them",
            DiagnosticWarning,
        )
    try:
        return as_dataset(prior_draws(model, draws, seed)["w"][None])
    except NotImplementedError:
        return as_dataset(None)


def as_dataset(w: np.ndarray | None) -> xr.Dataset:
    """Return draws of the weights (1, draws, M) as a dataset, which is empty without draws."""
    if w is None:
        return xr.Dataset()
    coords = {"chain": [0], "draw": np.arange(w.shape[1]), "point": np.arange(w.shape[2])}
    return xr.Dataset({"w": (("chain", "draw", "point"), w)}, coords)
