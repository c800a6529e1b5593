"""Normal priors whose mean is made of row sums of the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import override

import numpy as np

from ..gram import Gram
from .base import GaussianPrior


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

    Oh (2023), 이상치 탐지를 위한 베이지안 Support vector data description. Master's thesis.

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

    @override
    def mean(self, gram: Gram) -> np.ndarray:
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

    @override
    def mean(self, gram: Gram) -> np.ndarray:
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

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        row_sums = gram.r[: gram.n_majority_points]
        if row_sums.min() <= 0:
            raise ValueError(
                f"InverseRowSum: row {int(row_sums.argmin())} of the kernel matrix has the sum "
                f"{row_sums.min():.6g}, and only a positive sum has a logarithm; use another "
                "kernel (RBF) or another prior (StandardizedRowSum)"
            )
        log_r = np.log(row_sums)
        return -self.power * (log_r - log_r.mean())
