"""The points with some weight, apart from the others, whose parameters keep their prior.

If the weights of some points are negligible, the likelihood does not depend on their parameters. If
these are independent and normal before the data, they are so after the data, and independent of
the parameters of the active points. So a sampler moves the active points only, and the others are
drawn from their prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.tensor.elemwise import DimShuffle
from pytensor.tensor.random.basic import NormalRV

from ..models.potential import prior_potentials
from .log_density import LogDensity

MAX_GAP = 1e-3  # range over the draws of the log density's error when points are left out


class NotSeparateError(Exception):
    """The draws of the active points are not those of all points."""


@dataclass(frozen=True, eq=False)
class AllPoints:
    """All points, moved by a sampler; the interface of :class:`ActivePoints`."""

    density: LogDensity

    @property
    def points(self) -> int:
        """Number of points that a sampler moves."""
        return self.density.n_points

    @property
    def parameters(self) -> np.ndarray:
        """Their unconstrained parameters among all."""
        return np.arange(self.density.size)

    @property
    def products(self) -> float:
        """Number of products of K with a vector so far."""
        return self.density.products

    def named(self, x: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the named quantities at draws of the parameters that are moved."""
        return self.density.named(x)


@dataclass(frozen=True, eq=False)
class ActivePoints:
    """The log density of the active points, and the normal prior of the other parameters.

    Attributes
    ----------
    whole : LogDensity
        Of the model with all points.
    density : LogDensity
        Of the model with the active points only.
    points : int
        Number of active points.
    parameters : ndarray of int
        Their unconstrained parameters among all.
    mean : ndarray of shape (size,)
        Of the normal prior; of no meaning for ``parameters``.
    sd : float
    """

    whole: LogDensity
    density: LogDensity
    points: int
    parameters: np.ndarray
    mean: np.ndarray
    sd: float

    @classmethod
    def of(cls, density: LogDensity, active: np.ndarray) -> Self | None:
        """Return the parts, or None if the prior does not separate the points.

        The prior separates them if a variable with one parameter for each point, or for each
        majority point, is normal with a mean in ``pm.Data`` for each point, and one sd in
        ``pm.Data``, and if priors add no potential. A second variable of the same points does not
        separate them. All points of other variables are active. The result is also None if more
        than half of the points are active: the parts would cost more than they save.
        """
        model = density.model
        if prior_potentials(model):
            return None
        for variable in model.free_RVs:
            dim = next(iter(model.named_vars_to_dims.get(variable.name, ())), "")
            if dim in ("point", "majority") and isinstance(variable.owner.op, NormalRV):
                break
        else:
            return None
        mean, sd = (_data(v) for v in variable.owner.op.dist_params(variable.owner))
        n = len(model.coords[dim])
        if mean is None or sd is None or mean.shape != (n,) or sd.shape != ():
            return None
        if any(n in shape for shape in density.shapes_without_dims):
            return None
        first = active[active < n]
        points = len(first) + density.n_points - n
        if points > density.n_points / 2:
            return None
        of_variable = density.parameters_of(variable)
        if of_variable.stop - of_variable.start != n:  # several parameters for each point
            return None
        all_means, is_active = np.zeros(density.size), np.ones(density.size, dtype=bool)
        all_means[of_variable] = mean
        is_active[of_variable] = False
        is_active[of_variable.start + first] = True
        part = density.of_points(dim, first)
        if part.size != is_active.sum():  # another variable has these points too
            return None
        return cls(density, part, points, np.flatnonzero(is_active), all_means, float(sd))

    @property
    def products(self) -> float:
        """Number of products of K with a vector so far."""
        return self.whole.products + self.density.products

    def completed(self, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return draws of all parameters from draws of the active ones, and log densities (S,).

        The other parameters are drawn from their prior. The log density is that of all parameters,
        up to a constant.
        """
        z = rng.standard_normal((len(x), len(self.mean)))
        z[:, self.parameters] = 0.0
        logp = self.density.logp(x) - np.vecdot(z, z) / 2.0
        z *= self.sd
        z += self.mean
        z[:, self.parameters] = x
        return z, logp

    def named(self, x: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return the named quantities at draws of the active parameters.

        Raises
        ------
        NotSeparateError
            The log density of all points minus that of the active ones varies by more than
            ``MAX_GAP`` over the draws, or it is not a number.
        """
        x, expected = self.completed(x, rng)
        logp, named = self.whole.evaluate(x)
        if not np.ptp(logp - expected) <= MAX_GAP:  # or it is NaN
            raise NotSeparateError
        return named


def _data(parameter: Variable) -> np.ndarray | None:
    """Return the value of a distribution's parameter if it is ``pm.Data``, else None."""
    while parameter.owner is not None and isinstance(parameter.owner.op, DimShuffle):
        parameter = parameter.owner.inputs[0]  # an axis of length one
    if not isinstance(parameter, SharedVariable):
        return None
    value: np.ndarray = parameter.get_value(borrow=True)
    return value
