"""Normal priors whose mean is made of row sums of the kernel matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import override

import numpy as np

from ..gram import Gram
from .gaussian import GaussianPrior


@dataclass(frozen=True)
class RowSum(GaussianPrior):
    r"""The published prior, :math:`m_j = -\left(\sum_i k(u_j, x_i)\right)^\nu`.

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
        A row sum is negative (possible with a linear kernel), so its power is undefined.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian approach to
    the data description problem. AAAI Conference on Artificial Intelligence 26.
    doi:10.48550/arXiv.1602.07507

    Oh (2023), Bayesian support vector data description.

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
        if row_sums.min() < 0:
            raise ValueError(
                f"RowSum: row {int(row_sums.argmin())} of the kernel matrix has the negative sum "
                f"{row_sums.min():.6g}, and a power of it is undefined; use another kernel "
                "(RBF) or another prior (StandardizedRowSum)"
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
