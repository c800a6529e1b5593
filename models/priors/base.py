"""What all priors share: their PyMC variable, the base classes of normal ones, checks of fields.

A prior is one of bsvdd, a function, or an object of another package.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, fields, is_dataclass
from numbers import Real
from reprlib import Repr
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np
import scipy

from ..gram import Gram, RowStatistics
from ..kernels.base import SMALLEST, is_number
from .numbers import Gaussian, Independent

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable

Statistics = Gram | RowStatistics

_short = Repr(maxtuple=4, maxother=100)


def is_foreign(prior: Any) -> bool:
    """Return whether ``prior`` is a distribution of PreliZ."""
    return hasattr(prior, "to_pymc") and not isinstance(prior, type)


def describe(prior: Any) -> str:
    """Return the name of ``prior`` and its parameters, without a memory address."""
    if hasattr(prior, "__qualname__"):  # a function
        return f"{prior.__module__}.{prior.__qualname__}"
    if is_dataclass(prior):  # a field may hold a matrix: shorten it
        shown = (f"{f.name}={_short.repr(getattr(prior, f.name))}" for f in fields(prior))
        return f"{type(prior).__name__}({', '.join(shown)})"
    return repr(prior)


def make_variable(prior: Any, gram: Gram, name: str, dims: str) -> TensorVariable:
    """Let ``prior`` make the variable ``name`` in the PyMC model in context, and check it.

    A prior is a callable ``prior(gram, name, dims)``, such as those of :mod:`bsvdd.priors`, or a
    distribution of PreliZ, whose numbers become ``pm.Data``.

    A prior may make other free variables, such as the scale of a hierarchical prior, if their
    names start with ``name`` and an underscore.

    Raises
    ------
    TypeError
        The prior is none of these, or it does not return a variable of the model.
    ValueError
        The variable has the wrong shape, or another free variable has a name that does not start
        so.
    """
    import pymc as pm
    from pytensor.tensor.variable import TensorVariable

    model = pm.modelcontext(None)
    before = {v.name for v in model.free_RVs}
    if is_foreign(prior):
        variable = _from_preliz(prior, name, dims)
    elif callable(prior) and not isinstance(prior, type):
        variable = prior(gram, name, dims)
    else:
        raise TypeError(
            f"prior of {name}: expected a prior such as priors.StandardizedRowSum() or a function "
            f"(gram, name, dims) that makes a PyMC variable, got {prior!r}"
        )
    if not isinstance(variable, TensorVariable) or name not in model.named_vars:
        raise TypeError(
            f"prior of {name}: {prior!r} must return the PyMC variable that it makes under the "
            f"name {name!r}, but returned {variable!r}"
        )
    length, found = len(model.coords[dims]), model.named_vars_to_dims.get(name)
    if found != (dims,) and variable.type.shape != (length,):
        raise ValueError(
            f"prior of {name}: {prior!r} must make one value for each of the {length} points of "
            f"{dims!r} (pass dims=dims), but made a variable of dims {found} and shape "
            f"{variable.type.shape}"
        )
    new = [v.name for v in model.free_RVs if v.name not in before]
    others = [other for other in new if other != name and not other.startswith(f"{name}_")]
    if others:
        raise ValueError(
            f"prior of {name}: {prior!r} makes a second free variable, {others[0]!r}; if this is "
            f"intended, as in a hierarchical prior, name it '{name}_{others[0]}'"
        )
    return variable


def _from_preliz(prior: Any, name: str, dims: str) -> TensorVariable:
    import pymc as pm

    if not prior.is_frozen:
        raise ValueError(
            f"prior of {name}: {prior!r} lacks a value for some of its parameters "
            f"({', '.join(prior.param_names)}); give a value for each"
        )
    if all(isinstance(value, Real) for value in prior.params):
        prior = copy.copy(prior)  # pm.Data, so that a prior of its family reuses the compilation
        prior.params = tuple(
            pm.Data(f"{name}_{field}", float(value))
            for field, value in zip(prior.param_names, prior.params, strict=True)
        )
    return prior.to_pymc(name, dims=dims)


@dataclass(frozen=True)
class GaussianPrior:
    r"""Base class of normal priors, :math:`N(m, \Sigma)` with :math:`\Sigma = \sigma^2 I`.

    A subclass gives the mean m, 0 by default.

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

    # whether values are independent and m takes nothing but row sums of K, so rows can be grouped
    by_rows: ClassVar[bool] = False

    def mean(self, gram: Statistics) -> np.ndarray:
        """Return m, one value for each majority point of the dictionary."""
        return np.zeros(gram.n_majority_points)

    def scale(self, gram: Statistics) -> float | np.ndarray:
        """Return the standard deviation of all values, or of each, if they are independent."""
        return float(self.sd)

    def covariance(self, gram: Gram) -> np.ndarray:
        """Return Sigma, a matrix over the majority points of the dictionary."""
        return self.scale(gram) ** 2 * np.eye(gram.n_majority_points)

    def precision(self, gram: Gram) -> np.ndarray:
        """Return the inverse of Sigma."""
        return self.scale(gram) ** -2.0 * np.eye(gram.n_majority_points)

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
        require_points(self, name, dims, len(mean))
        sds = pm.Data(f"{name}_sd", sd, dims=dims if np.ndim(sd) else None)
        return pm.Normal(name, pm.Data(f"{name}_mean", mean, dims=dims), sds, dims=dims)

    def numbers(self, gram: Gram, name: str) -> Gaussian:
        """Return the variable in numbers."""
        return Independent(name, self.mean(gram), self.scale(gram))


@dataclass(frozen=True, eq=False)
class OfGroups(GaussianPrior):
    """The prior of points that are groups of rows: that of the sum of the weights of its rows.

    See :mod:`bsvdd.models.groups` for the formula.

    Parameters
    ----------
    of_rows : GaussianPrior
        Independent.
    log_weights : bool
    """

    of_rows: Any = None
    log_weights: bool = True

    @override
    def mean(self, gram: Statistics) -> np.ndarray:
        return self._moments(gram)[0]

    @override
    def scale(self, gram: Statistics) -> float | np.ndarray:
        return self._moments(gram)[1]

    def _moments(self, gram: Statistics) -> tuple[np.ndarray, np.ndarray]:
        """Return the means and standard deviations, (M,) each."""
        assert isinstance(gram, Gram)
        rows, point, M = gram.of_rows, gram.point_of_row, gram.n_majority_points
        m, sd = self.of_rows.mean(rows), self.of_rows.scale(rows)
        if not self.log_weights:
            return np.bincount(point, m, M), sd * np.sqrt(np.bincount(point, minlength=M))
        largest = np.full(M, -np.inf)
        np.maximum.at(largest, point, m)
        weights = np.exp(m - largest[point])
        total, squares = np.bincount(point, weights, M), np.bincount(point, weights**2, M)
        variance = np.log1p(np.expm1(sd**2) * squares / total**2)
        return np.log(total) + largest + (sd**2 - variance) / 2.0, np.sqrt(variance)


def of_points(prior: Any, gram: Gram, log_weights: bool) -> Any:
    """Return the prior of the points of a model, whose weights or log weights it is a prior of.

    Raises
    ------
    ValueError
        A point is a group of rows, and the prior says nothing of groups.
    """
    if gram.member_of_row is None or (gram.points.sizes == 1).all():
        return prior
    if not can_group(prior):
        raise ValueError(
            f"prior {describe(prior)} says nothing of groups of rows, but {gram.n_majority_points} "
            f"points stand for {gram.n0} rows; use a prior of independent weights such as "
            "priors.Flat or priors.InverseRowSum, or fit with this prior from the start"
        )
    return OfGroups(of_rows=prior, log_weights=log_weights)


def can_group(prior: Any) -> bool:
    """Return whether a prior of rows has a prior of groups of rows."""
    return isinstance(prior, GaussianPrior) and prior.by_rows


def require_points(prior: Any, name: str, dims: str, values: int) -> None:
    """Raise a ValueError unless a prior has as many values as the model in context has points."""
    import pymc as pm

    length = len(pm.modelcontext(None).coords[dims])
    if values != length:
        raise ValueError(
            f"prior of {name}: {prior!r} has {values} values, and {dims!r} has {length} points; "
            "it is a prior of the points of the other class"
        )


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


def as_location(prior: Any, field: str, value: Any) -> float | tuple[float, ...]:
    """Return ``value`` as a finite number, or as a tuple of finite numbers."""
    v = np.asarray(np.nan if isinstance(value, bool | str) else value, dtype=float)
    if v.ndim > 1 or not np.isfinite(v).all():
        raise ValueError(
            f"{type(prior).__name__}: {field} must be a finite number, or a list of one for each "
            f"row, got {value!r}"
        )
    return tuple(v.tolist()) if v.ndim else float(v)


def as_covariance(prior: Any, field: str, value: Any) -> tuple[tuple[float, ...], ...]:
    """Return ``value`` as a symmetric and positive definite matrix."""
    name, S = type(prior).__name__, np.asarray(value, dtype=float)
    if S.ndim != 2 or S.shape[0] != S.shape[1]:
        raise ValueError(f"{name}: {field} must be a square matrix, got shape {S.shape}")
    symmetric = np.isfinite(S).all() and np.allclose(S, S.T)
    if not symmetric or np.linalg.eigvalsh(S)[0] <= 0:
        raise ValueError(f"{name}: {field} must be symmetric and positive definite")
    return tuple(map(tuple, S.tolist()))


def values_of_points(prior: Any, field: str, gram: Any, kind: str) -> np.ndarray:
    """Return the values of a field, a vector or a matrix, for the points of the dictionary.

    All points have the same number where the field is one. In a fold they are those of its own
    points, among the values of the whole fit.

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
    if not values.ndim:
        return np.full(n, float(values))
    if i is None or i.max() >= len(values):
        if len(values) != n:
            raise ValueError(
                f"{type(prior).__name__}: {field} has {len(values)} values, but there are {n} "
                f"{kind} rows"
            )
        i = np.arange(n)
    return values[np.ix_(*[i] * values.ndim)]
