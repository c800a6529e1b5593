"""The prior of a model: its densities in draws, its weights, and draws of itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..models.potential import prior_potentials
from .density import package_prior
from .diagnostics import effective_support
from .draws import Draws, SamplerReport
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


def prior_draws(model: pm.Model, n: int = PRIOR_DRAWS, seed: int | None = None) -> Draws | None:
    """Return n draws of the weights ``w`` and the free variables of ``model`` from the prior.

    Potentials that the prior adds are ignored, with a warning.

    Returns
    -------
    Draws
        One chain; None if the prior of the weights is improper, so that it has no draws.
    """
    added = [v.name for v in prior_potentials(model)]
    if added:
        warn(
            f"draws of the prior ignore the potential(s) {', '.join(added)} that the prior adds, "
            "so the prior in summary and in idata_ is the one without them",
            DiagnosticWarning,
        )
    try:
        values = _prior(model).draw(n, seed)
    except NotImplementedError:
        return None
    one_chain = {name: v[None] for name, v in values.items()}
    return Draws.of_model(one_chain, model, SamplerReport("prior"), {})


def proper(draws: Draws | None) -> Draws:
    """Return draws of the prior; a ValueError if it has none."""
    if draws is None:
        raise ValueError("the prior is improper, as pm.Flat is, so it has no draws to show")
    return draws


@dataclass(frozen=True, eq=False)
class LazyPrior:
    """The prior of a fit, with draws that are made when they are first asked for.

    Attributes
    ----------
    build : callable
        Returns the PyMC model.
    seed : int
    """

    build: Callable[[], pm.Model]
    seed: int

    @cached_property
    def draws(self) -> Draws | None:
        """See :func:`prior_draws`."""
        return prior_draws(self.build(), seed=self.seed)

    def effective_support(self) -> float:
        """Return the median effective number of support points, NaN for an improper prior."""
        return np.nan if self.draws is None else float(np.median(effective_support(self.draws.w)))
