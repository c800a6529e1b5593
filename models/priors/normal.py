"""Normal priors whose mean and covariance the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import override

import numpy as np

from ..gram import Gram
from ..kernels.base import is_number
from .base import CorrelatedPrior, GaussianPrior, as_covariance, as_vector, values_of_points


@dataclass(frozen=True)
class Flat(GaussianPrior):
    r"""Normal prior of mean zero, :math:`N(0, \sigma^2 I)`: all majority points weigh the same.

    Parameters
    ----------
    sd : float, default=1
        sigma.

    Examples
    --------
    >>> from bsvdd import BSVDD, priors
    >>> BSVDD(prior=priors.Flat(sd=0.5))
    BSVDD(prior=Flat(sd=0.5))
    """


@dataclass(frozen=True)
class EqualWeights(GaussianPrior):
    r"""Normal prior of free weights around the mean of the points.

    .. math:: m_j = 1 / M, \qquad \Sigma = (\sigma / M)^2 I

    with M the number of majority points: the centre is near their mean, and sigma is in units of
    one weight. It is for the weights of BDD, which need not sum to one.

    Parameters
    ----------
    sd : float, default=1.5
        sigma, in units of 1/M.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.RBF(1.0), np.array([[0.0], [1.0], [2.0], [3.0]]))
    >>> priors.EqualWeights().mean(gram)
    array([0.25, 0.25, 0.25, 0.25])
    """

    sd: float = 1.5

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        return np.full(gram.n_majority_points, 1.0 / gram.n_majority_points)

    @override
    def scale(self, gram: Gram) -> float:
        return float(self.sd) / gram.n_majority_points


@dataclass(frozen=True)
class Normal(CorrelatedPrior):
    r"""Normal prior whose mean and covariance are parameters, :math:`N(m, \sigma^2 \Sigma)`.

    Parameters
    ----------
    sd : float, default=1
        sigma, a factor of the whole covariance.
    m : float or tuple of float, optional
        One number, or one for each majority row; zero by default.
    sigma : tuple of tuple of float, optional
        Sigma, a list of rows or an array; the identity by default.

    Raises
    ------
    ValueError
        m is not finite, Sigma is not symmetric and positive definite, or, in a
        fit, there is not one value for each majority row.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.Normal(m=[0.0, 1.0], sigma=[[1.0, 0.5], [0.5, 1.0]])
    Normal(sd=1.0, m=(0.0, 1.0), sigma=((1.0, 0.5), (0.5, 1.0)))
    """

    m: float | tuple[float, ...] | None = None
    sigma: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if is_number(self.m):
            object.__setattr__(self, "m", as_vector(self, "m", [self.m])[0])
        elif self.m is not None:
            object.__setattr__(self, "m", as_vector(self, "m", self.m))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", as_covariance(self, "sigma", self.sigma))

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        if not isinstance(self.m, tuple):
            return np.full(gram.n_majority_points, self.m or 0.0)
        return values_of_points(self, "m", gram, "majority")

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        if self.sigma is None:
            return super().covariance(gram)
        return float(self.sd) ** 2 * values_of_points(self, "sigma", gram, "majority")
