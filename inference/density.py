r"""The log density of a model in numbers, for batches of unconstrained vectors.

With the map :math:`w(x)` of the model, and J its Jacobian,

.. math::
    \log p(x) = \log L(w) + \log \mathrm{prior}(x), \qquad
    \nabla \log p(x) = J^\top\, \mathrm{pull} + \nabla \log \mathrm{prior}(x), \qquad
    \mathrm{pull} = \partial \log L / \partial w,

and for the kernel potential :math:`\mathrm{pull} = \lambda (r - n_0 K w)`: one product with K for a
batch. Each model states its map beside its ``build``, and each prior of the package its density
(:mod:`bsvdd.models.priors.numbers`). Another prior, and the map of a model that states none, are
asked through PyTensor (:mod:`.prior_density`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..models import bsvdd
from ..models.bsvdd import Softmax
from ..models.bsvdd_m import ScaledSoftmax
from ..models.gram import Gram, squared_norm
from ..models.model import Identity, Model
from ..models.potential import (
    KernelLikelihood,
    NoDensityError,
    WeightMap,
    prior_potentials,
)
from ..models.priors import FAMILIES, GaussianPrior
from ..models.priors.numbers import Correlated, Independent
from .draws import Draws, SamplerReport, monitored_rows
from .warning import DiagnosticWarning, warn

if TYPE_CHECKING:
    import pymc as pm

    from ..models.priors.numbers import VariableDensity
    from .prior_density import PriorDensity

PRIOR_DRAWS = 200
Values = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class PackagePrior:
    """The prior of free variables that are all of this package.

    Attributes
    ----------
    blocks : dict of VariableDensity
        By the name of the free variable, in the order of the unconstrained vector.
    map : WeightMap
        Its inputs are the free variables, in the same order.
    """

    blocks: dict[str, VariableDensity]
    map: WeightMap
    parts: dict[str, slice] = field(init=False)

    def __post_init__(self) -> None:
        ends = np.cumsum([0, *(len(block.start) for block in self.blocks.values())]).tolist()
        parts = dict(zip(self.blocks, map(slice, ends[:-1], ends[1:]), strict=True))
        object.__setattr__(self, "parts", parts)

    @property
    def start(self) -> np.ndarray:
        """The middle of the points where chains start."""
        return np.concatenate([block.start for block in self.blocks.values()])

    def named(self, x: np.ndarray) -> Values:
        """Return the free variables on their own scale, and the deterministics of the priors."""
        found: Values = {}
        for name, block in self.blocks.items():
            found |= block.named(x[:, self.parts[name]])
        return found

    def variables(self, x: np.ndarray) -> list[np.ndarray]:
        """Return the inputs of the map, each of shape (S, ...)."""
        named = self.named(x)
        return [named[name] for name in self.map.inputs]

    def value_and_gradient(
        self, x: np.ndarray, pulls: Sequence[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the log prior (S,), and the gradient (S, n) of the log posterior.

        ``pulls`` are the gradients of the log-likelihood by the variables that it takes.
        """
        total, gradients = np.zeros(len(x)), np.empty_like(x)
        for (name, block), pull in zip(self.blocks.items(), pulls, strict=True):
            part = self.parts[name]
            value, gradient = block.value_and_gradient(x[:, part])
            total += value
            gradient += pull.reshape(gradient.shape) * block.slope(x[:, part])
            gradients[:, part] = gradient
        return total, gradients

    def log_prior(self, free: Values) -> Values:
        """Return the log prior densities (S,) of the free variables on their own scale."""
        return {name: block.log_prior(free) for name, block in self.blocks.items()}

    def draw(self, n: int, seed: int | None = None) -> Values:
        """Return n draws of the free variables, and of the weights ``w``."""
        rng = np.random.default_rng(seed)
        free: Values = {}
        for block in self.blocks.values():
            found = block.draw(n, rng)
            free |= found | block.deterministics(found)
        return {**free, "w": self.map.weights(*(free[name] for name in self.map.inputs))}


@dataclass(frozen=True, eq=False)
class Density:
    """The log density of a model for Gram statistics, and draws of its prior.

    Attributes
    ----------
    model : Model
    gram : Gram
    """

    model: Model
    gram: Gram

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields: what is made from them, such as a PyMC model, may not be pickled."""
        return {"model": self.model, "gram": self.gram}

    @cached_property
    def pymc(self) -> pm.Model:
        """The PyMC model; a NotImplementedError if it lacks the potential of the likelihood."""
        found, name = self.model.build(self.gram), self.likelihood.potential
        potentials = [potential.name for potential in found.potentials]
        if name not in potentials:
            raise NotImplementedError(
                f"the likelihood of the model in numbers is that of the potential {name!r}, and "
                f"the PyMC model that it builds has {', '.join(map(repr, potentials)) or 'none'}; "
                "let likelihood(gram) return the numbers of its own potential, with its name"
            )
        return found

    @cached_property
    def likelihood(self) -> Any:
        """The likelihood in numbers."""
        return self.model.likelihood(self.gram)

    @cached_property
    def map(self) -> WeightMap:
        """The map of variables to the weights."""
        return self.model.weight_map(self.gram)

    @cached_property
    def prior(self) -> PackagePrior | PriorDensity:
        """The prior of the free variables."""
        if self.dims is None:
            _ = self.pymc  # its priors are checked first
        if self._variables is not None:
            return PackagePrior(self._variables, self.map)
        from .prior_density import PriorDensity  # late: it imports PyMC

        return PriorDensity.of(self.pymc, self.map.inputs, self.likelihood)

    @cached_property
    def _variables(self) -> dict[str, VariableDensity] | None:
        return self.model.variables(self.gram)

    @cached_property
    def dims(self) -> dict[str, tuple[str, ...]] | None:
        """The dimensions of all variables, or None where only the PyMC model knows them.

        PyMC takes long to import. BSVDD with a normal prior of this package, of one value for each
        point, needs no PyMC model: its build can refuse nothing.
        """
        model = self.model
        if type(model) is not bsvdd.Model:
            return None
        if type(model.prior) not in FAMILIES or not isinstance(model.prior, GaussianPrior):
            return None
        variables = self._variables
        if variables is None or len(variables["beta"].start) != self.gram.n_points:
            return None
        return {"beta": ("point",), "w": ("point",), "squared_norm": ()}

    def require_numbers(self) -> None:
        """Raise a NoDensityError if the likelihood does not say its value and gradient."""
        if not hasattr(self.likelihood, "value_and_pull"):
            raise NoDensityError("the likelihood of the model says no value and gradient")

    @property
    def size(self) -> int:
        """Number of unconstrained parameters."""
        return len(self.prior.start)

    @property
    def blocks(self) -> dict[str, tuple[slice, VariableDensity]]:
        """The free variables of the package's priors, with their parts of the vector."""
        if not isinstance(self.prior, PackagePrior):
            return {}
        return {name: (self.prior.parts[name], b) for name, b in self.prior.blocks.items()}

    @property
    def is_softmax(self) -> bool:
        """Whether weights are proportional to the exponentials of the first free variable."""
        return isinstance(self.map, Softmax | ScaledSoftmax)

    def normal_precision(self, numbers: VariableDensity) -> np.ndarray | None:
        r"""Return :math:`\lambda n_0 K + \Sigma^{-1}` if the posterior is normal, else None.

        It is normal if the weights are one variable with a normal prior (BDD).
        """
        if not isinstance(numbers, Independent | Correlated):
            return None
        if not (isinstance(self.map, Identity) and isinstance(self.likelihood, KernelLikelihood)):
            return None
        return numbers.precision + self.likelihood.scale * self.gram.n0 * self.gram.K

    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log densities (S,) and gradients (S, n) of a batch (S, n)."""
        variables = self.prior.variables(x)
        w = self.map.weights(*variables)
        value, pull = self.likelihood.value_and_pull(w, self.gram)
        log_prior, gradient = self.prior.value_and_gradient(x, self.map.pull(w, pull, *variables))
        return value + log_prior, gradient

    def named(self, x: np.ndarray) -> Values:
        """Return all named quantities at a batch of unconstrained vectors, (S, n)."""
        named = self.prior.named(x)
        if "w" not in named:
            named["w"] = self.map.weights(*(named[name] for name in self.map.inputs))
        named["squared_norm"] = squared_norm(named["w"], self.gram.K)
        return named

    def monitored(self, named: Values) -> np.ndarray:
        """Return d^2 (S, q) of up to 20 points, by which draws are judged."""
        j = monitored_rows(self.gram.n_points)
        d2: np.ndarray = named["w"] @ self.gram.K[:, j]
        d2 *= -2.0
        d2 += named["squared_norm"][:, None] + np.diag(self.gram.K)[j]
        return d2


# draws of a model, the densities of its prior in them, and draws of the prior


def as_draws(
    density: Density, variables: Values, report: SamplerReport, statistics: Values | None = None
) -> Draws:
    """Return draws (chains, draws, ...) of variables with their dimensions and coordinates."""
    statistics = statistics or {}
    if density.dims is None:
        return Draws.of_model(variables, density.pymc, report, statistics)
    dims = {name: density.dims[name] for name in variables}
    coords = {"point": list(range(density.gram.n_points))}
    return Draws(variables, report, statistics=statistics, dims=dims, coords=coords)


def log_prior(density: Density, draws: Draws) -> Values:
    """Return the log prior density of each free variable, (chains, draws) each, in draws.

    Potentials that the prior adds have a density too, by their name.
    """
    names = ["beta"] if density.dims else [v.name for v in density.pymc.free_RVs]
    free = {name: draws.flat(name) for name in names}
    return {name: v.reshape(draws.shape) for name, v in density.prior.log_prior(free).items()}


def prior_draws(density: Density, n: int = PRIOR_DRAWS, seed: int | None = None) -> Draws | None:
    """Return n draws of the weights ``w`` and the free variables from the prior.

    Potentials that the prior adds are ignored, with a warning.

    Returns
    -------
    Draws
        One chain; None if the prior of the weights is improper, so that it has no draws.
    """
    added = []
    if density.dims is None:
        added = [v.name for v in prior_potentials(density.pymc, density.likelihood)]
    if added:
        warn(
            f"draws of the prior ignore the potential(s) {', '.join(added)} that the prior adds, "
            "so the prior in summary and in idata_ is the one without them",
            DiagnosticWarning,
        )
    try:
        values = density.prior.draw(n, seed)
    except NotImplementedError:
        return None
    one_chain = {name: v[None] for name, v in values.items()}
    return as_draws(density, one_chain, SamplerReport("prior"))


def proper(draws: Draws | None) -> Draws:
    """Return draws of the prior; a ValueError if it has none."""
    if draws is None:
        raise ValueError("the prior is improper, as pm.Flat is, so it has no draws to show")
    return draws
