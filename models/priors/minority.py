"""Priors of the minority weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..gram import Gram
from .base import as_location, require_points, require_positive, values_of_points
from .numbers import OnCube, Shares

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class TruncatedNormal:
    r"""Independent truncated normal minority weights, :math:`N(m_j, \sigma^2)` on [0, 1].

    Parameters
    ----------
    mean : float or tuple of float, default=0
        m: one number, or one for each minority row.
    sd : float, default=1
        sigma, of the normal before it is truncated.

    Raises
    ------
    ValueError, TypeError
        The mean is not finite, sd is not positive, or, in a fit, there is not one value for each
        minority row.

    References
    ----------
    Turkoz and Kim (2022), Multi-class Bayesian support vector data description with anomalies.
    Annals of Operations Research.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.TruncatedNormal(mean=0.5, sd=0.1)
    TruncatedNormal(mean=0.5, sd=0.1)
    """

    mean: float | tuple[float, ...] = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "sd", self.sd)
        object.__setattr__(self, "mean", as_location(self, "mean", self.mean))

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        from .pymc_distributions import Probit

        m, sd = values_of_points(self, "mean", gram, "minority"), float(self.sd)
        require_points(self, name, dims, len(m))
        mean, scale = pm.Data(f"{name}_mean", m, dims=dims), pm.Data(f"{name}_sd", sd)
        on_cube: Any = {"lower": 0.0, "upper": 1.0, "default_transform": Probit(), "dims": dims}
        return pm.TruncatedNormal(name, mean, scale, **on_cube)

    def numbers(self, gram: Gram, name: str) -> OnCube:
        """Return the variable in numbers."""
        return OnCube(name, values_of_points(self, "mean", gram, "minority"), float(self.sd))


@dataclass(frozen=True)
class Beta:
    r"""Beta prior of the minority weights, independent and scaled to a total.

    .. math:: \alpha_{1j} = \frac{c}{n_1} b_j, \qquad b_j \sim \mathrm{Beta}(a, b)

    Parameters
    ----------
    a, b : float, default=1
    total : float, optional
        c, the largest possible sum of the minority weights. ``None`` is the published prior,
        :math:`\alpha_{1j} = b_j`, whose sum grows with n1 (n1/2 on average) and whose chains do
        not always mix.

    Raises
    ------
    ValueError, TypeError
        a, b or the total is not a positive number.

    Notes
    -----
    The variable of the model is a ``pm.Beta``, ``alpha1`` itself or ``alpha1_share`` with a total.
    Samplers see its probit, a transform: it is normal for a = b = 1.

    References
    ----------
    Bae (2024), Minor class를 이용한 베이지안 Support vector data description (our translation:
    Bayesian support vector data description that uses the minor class). Master's thesis.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.Beta(total=1)
    Beta(a=1.0, b=1.0, total=1)
    """

    a: float = 1.0
    b: float = 1.0
    total: float | None = None

    def __post_init__(self) -> None:
        require_positive(self, "a", self.a)
        require_positive(self, "b", self.b)
        require_positive(self, "total", 1.0 if self.total is None else self.total)

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        from .pymc_distributions import Probit

        require_points(self, name, dims, gram.n1)
        share, scale = self._share(gram, name)
        u = pm.Beta(
            share,
            pm.Data(f"{name}_a", float(self.a)),
            pm.Data(f"{name}_b", float(self.b)),
            dims=dims,
            default_transform=Probit(),
        )
        if self.total is None:
            return u
        return pm.Deterministic(name, pm.Data(f"{name}_scale", scale) * u, dims=dims)

    def _share(self, gram: Gram, name: str) -> tuple[str, float]:
        """Return the name of the free variable, and the weight at a share of 1."""
        if self.total is None:
            return name, 1.0
        return f"{name}_share", float(self.total) / gram.n1

    def numbers(self, gram: Gram, name: str) -> Shares:
        """Return the variable in numbers."""
        share, scale = self._share(gram, name)
        return Shares(share, name, gram.n1, float(self.a), float(self.b), scale)
