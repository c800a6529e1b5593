"""A normal prior of log weights whose mean is the solution of SVDD."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import override

import numpy as np

from .. import svdd
from ..gram import Gram
from .base import GaussianPrior


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
    With landmarks, SVDD is solved on the landmarks.

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
    def mean(self, gram: Gram) -> np.ndarray:
        weights = _weights(gram, float(self.outlier_fraction))
        m = np.log(weights + self.floor / len(weights))
        return m - m.mean()


@lru_cache(maxsize=1)  # a fit asks for the mean several times
def _weights(gram: Gram, outlier_fraction: float) -> np.ndarray:
    """Return the weights of SVDD on the majority points."""
    m = gram.n_majority_points
    majority = replace(gram, K=gram.K[:m, :m], r=gram.r[:m], points=gram.points[:m], n1=0)
    return svdd.solve(majority, 1.0 / (m * outlier_fraction)).weights
