"""The base classes of normal priors, independent and correlated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, override

import numpy as np
import scipy

from ..gram import Gram
from . import checks
from .numbers import Correlated, Independent

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class GaussianPrior:
    r"""Base class of normal priors, :math:`N(m, \Sigma)` with :math:`\Sigma = \sigma^2 I`.

    A subclass gives the mean m, and :class:`bsvdd.priors.CorrelatedPrior` another covariance.

    Parameters
    ----------
    sd : float, default=1
        sigma, in the units of the weights of BDD, or of the log weights of BSVDD.

    Raises
    ------
    TypeError, ValueError
        sd is not a positive number.
    """

    sd: float = 1.0

    def __post_init__(self) -> None:
        checks.require_positive(self, "sd", self.sd)

    def mean(self, gram: Gram) -> np.ndarray:
        """Return m, one value for each majority point of the dictionary."""
        raise NotImplementedError

    def covariance(self, gram: Gram) -> np.ndarray:
        """Return Sigma, a matrix over the majority points of the dictionary."""
        return float(self.sd) ** 2 * np.eye(gram.n_majority_points)

    def precision(self, gram: Gram) -> np.ndarray:
        """Return the inverse of Sigma."""
        return float(self.sd) ** -2 * np.eye(gram.n_majority_points)

    def log_density(self, gram: Gram, x: np.ndarray) -> np.ndarray:
        """Return log N(x; m, Sigma), shape (..., M) -> (...)."""
        U = scipy.linalg.cholesky(self.precision(gram))  # the precision is U'U
        e = (x - self.mean(gram)) @ U.T
        constant = np.log(np.diag(U)).sum() - len(U) / 2 * np.log(2 * np.pi)
        value: np.ndarray = constant - np.square(e).sum(axis=-1) / 2
        return value

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        mean, sd = self.mean(gram), float(self.sd)
        x = pm.Normal(
            name, pm.Data(f"{name}_mean", mean, dims=dims), pm.Data(f"{name}_sd", sd), dims=dims
        )
        x.tag.numbers = Independent(name, mean, sd)
        return x


@dataclass(frozen=True)
class CorrelatedPrior(GaussianPrior):
    """Base class of normal priors with a full covariance; a subclass gives mean and covariance."""

    @override
    def precision(self, gram: Gram) -> np.ndarray:
        return scipy.linalg.cho_solve(
            scipy.linalg.cho_factor(self.covariance(gram)), np.eye(gram.n_majority_points)
        )

    @override
    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        import pymc as pm

        mean, root = self.mean(gram), scipy.linalg.cholesky(self.covariance(gram), lower=True)
        mean_data = pm.Data(f"{name}_mean", mean, dims=dims)
        x = pm.MvNormal(name, mean_data, chol=pm.Data(f"{name}_chol", root), dims=dims)
        x.tag.numbers = Correlated(name, mean, root)
        return x
