"""Priors of the minority weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..gram import Gram
from .base import as_covariance, as_location, inverse, require_positive, values_of_points
from .numbers import OnCube, Shares

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class TruncatedNormal:
    r"""Truncated normal minority weights, :math:`N(m, \sigma^2 \Sigma)` on :math:`[0, 1]^{n_1}`.

    Parameters
    ----------
    mean : float or tuple of float, default=0
        m: one number, or one for each minority row.
    sd : float, default=1
        sigma, a factor of the whole covariance.
    sigma : tuple of tuple of float, optional
        Sigma, a matrix over the minority rows: a list of rows or an array. The default is the
        identity, so that the weights are independent.

    Raises
    ------
    ValueError, TypeError
        The mean is not finite, sd is not positive, Sigma is not symmetric and positive definite,
        or, in a fit, there is not one value for each minority row.

    References
    ----------
    Turkoz and Kim (2022), Multi-class Bayesian support vector data description with anomalies.
    Annals of Operations Research.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.TruncatedNormal(mean=0.5, sd=0.1)
    TruncatedNormal(mean=0.5, sd=0.1, sigma=None)
    """

    mean: float | tuple[float, ...] = 0.0
    sd: float = 1.0
    sigma: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        require_positive(self, "sd", self.sd)
        object.__setattr__(self, "mean", as_location(self, "mean", self.mean))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", as_covariance(self, "sigma", self.sigma))

    def location(self, gram: Gram) -> np.ndarray:
        """Return m, one value for each minority point of the dictionary."""
        return values_of_points(self, "mean", gram, "minority")

    def covariance(self, gram: Gram) -> np.ndarray:
        """Return sigma^2 Sigma, a matrix over the minority points of the dictionary."""
        if self.sigma is None:
            return float(self.sd) ** 2 * np.eye(gram.n1)
        return float(self.sd) ** 2 * values_of_points(self, "sigma", gram, "minority")

    def precision(self, gram: Gram) -> np.ndarray:
        """Return the inverse of the covariance."""
        return inverse(self.covariance(gram))

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        from . import pymc_distributions

        m = self.location(gram)
        mean = pm.Data(f"{name}_mean", m, dims=dims)
        if self.sigma is None:
            sd = pm.Data(f"{name}_sd", float(self.sd))
            x = pm.TruncatedNormal(name, mean, sd, lower=0.0, upper=1.0, dims=dims)
            x.tag.numbers = OnCube(name, m, float(self.sd) ** -2)
        else:
            P = self.precision(gram)
            precision = pm.Data(f"{name}_precision", P)
            x = pymc_distributions.truncated_normal(name, mean, precision, dims)
            x.tag.numbers = OnCube(name, m, P)
        return x


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
    Bae (2024), Minor class를 이용한 베이지안 Support vector data description. Master's thesis.

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

        a, b = float(self.a), float(self.b)
        share = name if self.total is None else f"{name}_share"
        scale = 1.0 if self.total is None else float(self.total) / gram.n1
        u = pm.Beta(
            share,
            pm.Data(f"{name}_a", a),
            pm.Data(f"{name}_b", b),
            dims=dims,
            default_transform=Probit(),
        )
        u.tag.numbers = Shares(share, name, gram.n1, a, b, scale)
        if self.total is None:
            return u
        return pm.Deterministic(name, pm.Data(f"{name}_scale", scale) * u, dims=dims)
