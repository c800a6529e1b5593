"""Priors of the minority weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from . import fields
from .gram import Gram

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class TruncatedNormal:
    r"""Normal minority weights, :math:`N(m, \sigma^2 \Sigma)` on :math:`[0, 1]^{n_1}`.

    Parameters
    ----------
    mean : float or tuple of float, default=0
        m: one number, or one for each minority row.
    sd : float, default=1
        sigma, a factor of the whole covariance.
    sigma : tuple of tuple of float, optional
        Sigma, a matrix over the minority rows; the identity when left out, and then the weights
        are independent. Arrays are taken too.

    Raises
    ------
    ValueError, TypeError
        The mean is not finite, sd not positive, Sigma not symmetric and positive definite, or,
        in a fit, there is not one value for each minority row.

    References
    ----------
    Turkoz and Kim (2022), Bayesian data description with minority rows.

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
        fields.require_positive(self, "sd", self.sd)
        if isinstance(self.mean, bool | str):
            raise TypeError(
                f"TruncatedNormal: mean must be a number, or one a minority row, got {self.mean!r}"
            )
        if not isinstance(self.mean, int | float | np.number):
            object.__setattr__(self, "mean", fields.vector(self, "mean", self.mean))
        elif not np.isfinite(self.mean):
            raise ValueError(f"TruncatedNormal: mean must be finite, got {self.mean!r}")
        if self.sigma is not None:
            object.__setattr__(self, "sigma", fields.covariance(self, "sigma", self.sigma))

    def location(self, gram: Gram) -> np.ndarray:
        """Return m, one value for each minority point of the dictionary."""
        if not isinstance(self.mean, tuple):
            return np.full(gram.n1, float(self.mean))
        return np.array(self.mean)[self._points("mean", len(self.mean), gram)]

    def covariance(self, gram: Gram) -> np.ndarray:
        """Return sigma^2 Sigma, a matrix over the minority points of the dictionary."""
        if self.sigma is None:
            return float(self.sd) ** 2 * np.eye(gram.n1)
        points = self._points("sigma", len(self.sigma), gram)
        return float(self.sd) ** 2 * np.array(self.sigma)[np.ix_(points, points)]

    def precision(self, gram: Gram) -> np.ndarray:
        """Return the inverse of the covariance."""
        return cho_solve(cho_factor(self.covariance(gram)), np.eye(gram.n1))

    def _points(self, field: str, given: int, gram: Gram) -> np.ndarray:
        return fields.points(self, field, given, gram.n1, gram.minority_place, "minority")

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        from .symbolic import truncated_normal

        mean = pm.Data(f"{name}_mean", self.location(gram), dims=dims)
        if self.sigma is not None:
            precision = pm.Data(f"{name}_precision", self.precision(gram))
            return truncated_normal(name, mean, precision, dims)
        sd = pm.Data(f"{name}_sd", float(self.sd))
        return pm.TruncatedNormal(name, mean, sd, lower=0.0, upper=1.0, dims=dims)


@dataclass(frozen=True)
class Beta:
    r"""Beta prior of the minority weights.

    .. math:: \alpha_{1j} = \frac{c}{n_1} b_j, \qquad b_j \sim \mathrm{Beta}(a, b)

    Parameters
    ----------
    a, b : float, default=1
    total : float, optional
        c, the most that the minority weights can sum to. ``None`` is the published prior,
        :math:`\alpha_{1j} = b_j`, whose total grows with n1 (n1/2 on average) and whose
        chains do not always mix.

    Raises
    ------
    ValueError, TypeError
        a, b or the total is no positive number.

    References
    ----------
    Bae (2024), Bayesian support vector data description with minority rows.

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
        fields.require_positive(self, "a", self.a)
        fields.require_positive(self, "b", self.b)
        if self.total is not None:
            fields.require_positive(self, "total", self.total)

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        from .symbolic import probit_beta

        scale = 1.0 if self.total is None else self.total / gram.n1
        a, b = pm.Data(f"{name}_a", float(self.a)), pm.Data(f"{name}_b", float(self.b))
        share = probit_beta(name, a, b, dims)
        return pm.Deterministic(name, pm.Data(f"{name}_scale", scale) * share, dims=dims)
