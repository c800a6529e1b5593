"""Normal priors: of the mean that the user gives, of row sums of K, of the solution of SVDD."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, override

import numpy as np
import scipy

from .. import svdd
from ..gram import Gram
from .base import (
    GaussianPrior,
    Statistics,
    as_covariance,
    as_location,
    inverse,
    require_points,
    values_of_points,
)
from .numbers import Correlated, Gaussian

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


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

    by_rows: ClassVar[bool] = True


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

    by_rows: ClassVar[bool] = True

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        return np.full(gram.n_majority_points, 1.0 / gram.n_majority_points)

    @override
    def scale(self, gram: Statistics) -> float:
        return float(self.sd) / gram.n_majority_points


@dataclass(frozen=True)
class Normal(GaussianPrior):
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
        if self.m is not None:
            object.__setattr__(self, "m", as_location(self, "m", self.m))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", as_covariance(self, "sigma", self.sigma))

    @property
    def by_rows(self) -> bool:  # type: ignore[override]
        """Whether values are independent."""
        return self.sigma is None

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        if self.m is None:
            return super().mean(gram)
        return values_of_points(self, "m", gram, "majority")

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        if self.sigma is None:
            return super().covariance(gram)
        return float(self.sd) ** 2 * values_of_points(self, "sigma", gram, "majority")

    @override
    def precision(self, gram: Gram) -> np.ndarray:
        return inverse(self.covariance(gram))

    @override
    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        import pymc as pm

        mean, root = self.mean(gram), scipy.linalg.cholesky(self.covariance(gram), lower=True)
        require_points(self, name, dims, len(mean))
        mean_data = pm.Data(f"{name}_mean", mean, dims=dims)
        return pm.MvNormal(name, mean_data, chol=pm.Data(f"{name}_chol", root), dims=dims)

    @override
    def numbers(self, gram: Gram, name: str) -> Gaussian:
        root = scipy.linalg.cholesky(self.covariance(gram), lower=True)
        return Correlated(name, self.mean(gram), root)


@dataclass(frozen=True)
class RowSum(GaussianPrior):
    r"""The prior of BDD and BSVDD as published, :math:`m_j = -\left(\sum_i k(u_j, x_i)\right)^\nu`.

    Remote rows have small row sums, so they get large weights. With the exponent 1 of BSVDD
    and a softmax, one or two rows get nearly all the weight on most data sets: watch the
    effective number of support points (:mod:`bsvdd.inference.diagnostics`).

    Parameters
    ----------
    sd : float, default=1
    exponent : float, default=1
        nu, in (0, 1]. Ghasemi et al. (2012) require less than 1; Oh (2023) uses 1.

    Raises
    ------
    ValueError
        A row sum is negative (possible with a linear kernel), so its power is undefined, unless
        the exponent is 1.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian approach to
    the data description problem. AAAI Conference on Artificial Intelligence 26.
    doi:10.48550/arXiv.1602.07507

    Oh (2023), 이상치 탐지를 위한 베이지안 Support vector data description (our translation:
    Bayesian support vector data description for outlier detection). Master's thesis.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [3.0]]))
    >>> priors.RowSum().mean(gram)
    array([ -6., -12., -18.])
    >>> priors.RowSum(exponent=0.5).mean(gram).round(3)
    array([-2.449, -3.464, -4.243])
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.exponent <= 1:
            raise ValueError(f"RowSum: exponent must lie in (0, 1], got {self.exponent!r}")

    by_rows: ClassVar[bool] = True

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        row_sums = gram.r[: gram.n_majority_points]
        if self.exponent == 1:
            return -row_sums  # of any sign
        if row_sums.min() < 0:
            raise ValueError(
                f"RowSum: row {int(row_sums.argmin())} of the kernel matrix has the negative sum "
                f"{row_sums.min():.6g}, and its power {self.exponent:g} is undefined; use "
                "another kernel (RBF), exponent=1, or another prior (StandardizedRowSum)"
            )
        return -(row_sums**self.exponent)


@dataclass(frozen=True)
class StandardizedRowSum(GaussianPrior):
    r"""Standardised row sums, :math:`m_j = -(r_j - \bar r) / \mathrm{sd}(r)`.

    The rows have the same order as in the published prior, but the scale does not grow with
    their number, so the weights do not collapse. Equal row sums give m = 0. The row sums are r
    of :class:`bsvdd.models.gram.Gram`, over all majority rows.

    Parameters
    ----------
    sd : float, default=1
        sigma.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [3.0]]))
    >>> priors.StandardizedRowSum().mean(gram).round(3)
    array([ 1.225, -0.   , -1.225])
    """

    by_rows: ClassVar[bool] = True

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        r = gram.r[: gram.n_majority_points]
        spread = r.std()
        if spread <= 1e-12 * np.abs(r).max():  # equal up to rounding
            return np.zeros(len(r))
        return -(r - r.mean()) / spread


@dataclass(frozen=True)
class InverseRowSum(GaussianPrior):
    r"""Inverse row sums as weights, :math:`m_j = -\nu (\log r_j - \overline{\log r})`.

    For log weights, as those of BSVDD: the prior median of w is proportional to
    :math:`r_j^{-\nu}`. Remote rows weigh more, as in the published prior, but in proportion, so
    that the weights cannot collapse. With :math:`\nu = 1` they are the first step towards SVDD,
    whose weights make the rows on the sphere equally remote.

    Parameters
    ----------
    sd : float, default=1
        sigma, of the log weights.
    power : float, default=0.5
        nu, from 0 (equal weights) to 1.

    Raises
    ------
    ValueError
        A row sum is not positive (possible with a linear kernel), so it has no logarithm.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.Linear(), np.array([[1.0], [2.0], [4.0]]))
    >>> priors.InverseRowSum(power=1).mean(gram).round(3)
    array([ 0.693, -0.   , -0.693])
    """

    power: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.power <= 1:
            raise ValueError(f"InverseRowSum: power must lie in [0, 1], got {self.power!r}")

    by_rows: ClassVar[bool] = True

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        row_sums = gram.r[: gram.n_majority_points]
        if row_sums.min() <= 0:
            raise ValueError(
                f"InverseRowSum: row {int(row_sums.argmin())} of the kernel matrix has the sum "
                f"{row_sums.min():.6g}, and only a positive sum has a logarithm; use another "
                "kernel (RBF) or another prior (StandardizedRowSum)"
            )
        log_r = np.log(row_sums)
        return -self.power * (log_r - log_r.mean())


@dataclass(frozen=True)
class SVDDWeights(GaussianPrior):
    r"""The weights of SVDD, :math:`m_j = \log(\alpha_j + \epsilon / n)` less their mean.

    For log weights, as those of BSVDD. :math:`\alpha` solves SVDD with C = 1/(n
    ``outlier_fraction``), and the floor gives the rows inside the sphere, whose weights are 0, a
    finite logarithm. The prior median of the centre is near that of SVDD, and the posterior says
    how uncertain it is.

    Parameters
    ----------
    sd : float, default=1
        sigma, of the log weights.
    outlier_fraction : float, default=0.1
        Largest share of the rows outside the sphere of SVDD.
    floor : float, default=0.01
        epsilon, the total weight that is added in equal parts.

    Notes
    -----
    With given points, SVDD is solved on these points.

    References
    ----------
    Tax, D. M. J. and Duin, R. P. W. (2004). Support vector data description. Machine
    Learning 54, 45-66. doi:10.1023/B:MACH.0000008084.60811.49

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.Linear(), np.array([[0.0], [1.0], [3.0]]))
    >>> priors.SVDDWeights(outlier_fraction=0.5, floor=0.3).mean(gram).round(2)
    array([ 0.6 , -1.19,  0.6 ])
    """

    outlier_fraction: float = 0.1
    floor: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("outlier_fraction", self.outlier_fraction), ("floor", self.floor)):
            if not 0 < value <= 1:
                raise ValueError(f"SVDDWeights: {name} must lie in (0, 1], got {value!r}")

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        assert isinstance(gram, Gram)
        weights = _weights(gram, float(self.outlier_fraction))
        m = np.log(weights + self.floor / len(weights))
        return m - m.mean()


@lru_cache(maxsize=1)  # a fit asks for the mean several times
def _weights(gram: Gram, outlier_fraction: float) -> np.ndarray:
    """Return the weights of SVDD on the majority points."""
    m = gram.n_majority_points
    majority = replace(gram, K=gram.K[:m, :m], r=gram.r[:m], points=gram.points[:m], n1=0)
    return svdd.solve(majority, 1.0 / (m * outlier_fraction)).weights
