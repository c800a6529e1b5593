"""The base classes of normal priors, and the checks of the fields of all priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, override

import numpy as np
import scipy

from ..gram import Gram
from ..kernels.base import SMALLEST, is_number
from .numbers import Correlated, Independent

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class GaussianPrior:
    r"""Base class of normal priors, :math:`N(m, \Sigma)` with :math:`\Sigma = \sigma^2 I`.

    A subclass gives the mean m, 0 by default, and :class:`bsvdd.priors.CorrelatedPrior` another
    covariance.

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
        require_positive(self, "sd", self.sd)

    def mean(self, gram: Gram) -> np.ndarray:
        """Return m, one value for each majority point of the dictionary."""
        return np.zeros(gram.n_majority_points)

    def scale(self, gram: Gram) -> float:
        """Return the standard deviation of each value, for Sigma = sigma^2 I."""
        return float(self.sd)

    def covariance(self, gram: Gram) -> np.ndarray:
        """Return Sigma, a matrix over the majority points of the dictionary."""
        return self.scale(gram) ** 2 * np.eye(gram.n_majority_points)

    def precision(self, gram: Gram) -> np.ndarray:
        """Return the inverse of Sigma."""
        return self.scale(gram) ** -2 * np.eye(gram.n_majority_points)

    def log_density(self, gram: Gram, x: np.ndarray) -> np.ndarray:
        """Return log N(x; m, Sigma), shape (..., M) -> (...)."""
        U = scipy.linalg.cholesky(self.precision(gram))  # the precision is U'U
        e = (x - self.mean(gram)) @ U.T
        constant = np.log(np.diag(U)).sum() - len(U) / 2 * np.log(2 * np.pi)
        return constant - np.square(e).sum(axis=-1) / 2

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        mean, sd = self.mean(gram), self.scale(gram)
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
        return inverse(self.covariance(gram))

    @override
    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        import pymc as pm

        mean, root = self.mean(gram), scipy.linalg.cholesky(self.covariance(gram), lower=True)
        mean_data = pm.Data(f"{name}_mean", mean, dims=dims)
        x = pm.MvNormal(name, mean_data, chol=pm.Data(f"{name}_chol", root), dims=dims)
        x.tag.numbers = Correlated(name, mean, root)
        return x


def inverse(S: np.ndarray) -> np.ndarray:
    """Return the inverse of a symmetric and positive definite matrix."""
    return scipy.linalg.cho_solve(scipy.linalg.cho_factor(S), np.eye(len(S)))


def require_positive(prior: Any, field: str, value: Any) -> None:
    """Raise an error unless ``value`` and its square are positive and finite."""
    if not is_number(value):
        raise TypeError(f"{type(prior).__name__}: {field} must be a number, got {value!r}")
    if not SMALLEST <= value <= 1 / SMALLEST:
        square = " (its square is not)" if 0 < value < np.inf else ""
        raise ValueError(
            f"{type(prior).__name__}: {field} must be positive and finite, got {value!r}{square}"
        )


# The next two return tuples, so that a prior stays a value that can be compared and saved.


def as_vector(prior: Any, field: str, value: Any) -> tuple[float, ...]:
    """Return ``value`` as a tuple of finite numbers."""
    v = np.asarray(value, dtype=float)
    if v.ndim != 1 or not np.isfinite(v).all():
        raise ValueError(
            f"{type(prior).__name__}: {field} must be a list of finite numbers, got {value!r}"
        )
    return tuple(v.tolist())


def as_covariance(prior: Any, field: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Return ``value`` as a symmetric and positive definite matrix."""
    name, S = type(prior).__name__, np.asarray(value, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{name}: {field} must be a square matrix, got shape {S.shape}")
    symmetric = np.isfinite(S).all() and np.allclose(S, S.T)
    if not symmetric or np.linalg.eigvalsh(S)[0] <= 0:
        raise ValueError(f"{name}: {field} must be symmetric and positive definite")
    return tuple(map(tuple, S.tolist()))


def values_of_points(prior: Any, field: str, gram: Gram, kind: str) -> np.ndarray:
    """Return the values of a field, a vector or a matrix, for the points of the dictionary.

    In a fold they are those of its own points, among the values of the whole fit.

    Parameters
    ----------
    prior : prior
    field : str
    gram : Gram
    kind : {"majority", "minority"}
        The class of the points.

    Raises
    ------
    ValueError
        The number of values is not the number of points.
    """
    values = np.array(getattr(prior, field))
    n, i = gram.n_majority_points, gram.index_in_full_fit
    if kind == "minority":
        n, i = gram.n1, gram.minority_index_in_full_fit
    if i is None or i.max() >= len(values):
        if len(values) != n:
            raise ValueError(
                f"{type(prior).__name__}: {field} has {len(values)} values, but there are {n} "
                f"{kind} rows"
            )
        i = np.arange(n)
    return values[np.ix_(*[i] * values.ndim)]
