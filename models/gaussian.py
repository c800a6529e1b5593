"""Normal priors of the weights: of BDD as they are, of BSVDD before the softmax."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, override

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky
from scipy.sparse.csgraph import laplacian
from sklearn.neighbors import NearestNeighbors

from . import fields
from .gram import Gram
from .kernels import Kernel, as_kernel

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


@dataclass(frozen=True)
class GaussianPrior:
    r"""Normal weights, :math:`N(m, \Sigma)`: the base class, a subclass says what they are.

    Here :math:`\Sigma = \sigma^2 I`.

    Parameters
    ----------
    sd : float, default=1
        sigma, on the scale of the weights of BDD or of the log weights of BSVDD.

    Raises
    ------
    TypeError, ValueError
        sd is no positive number.
    """

    sd: float = 1.0

    def __post_init__(self) -> None:
        fields.require_positive(self, "sd", self.sd)

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
        factor = cholesky(self.precision(gram))  # P = factor' factor
        e = (x - self.mean(gram)) @ factor.T
        constant = np.log(np.diag(factor)).sum() - len(factor) / 2 * np.log(2 * np.pi)
        value: np.ndarray = constant - np.square(e).sum(axis=-1) / 2
        return value

    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        """Make the variable in the PyMC model in context."""
        import pymc as pm

        mean = pm.Data(f"{name}_mean", self.mean(gram), dims=dims)
        sd = pm.Data(f"{name}_sd", float(self.sd))
        return pm.Normal(name, mean, sd, dims=dims)


@dataclass(frozen=True)
class Flat(GaussianPrior):
    r"""Mean zero, :math:`N(0, \sigma^2 I)`: every majority point weighs the same a priori.

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

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        return np.zeros(gram.n_majority_points)


@dataclass(frozen=True)
class RowSum(GaussianPrior):
    r"""The published prior, :math:`m_j = -\left(\sum_i k(u_j, x_i)\right)^\nu`.

    Remote rows have small row sums, so they get the larger weights. With the exponent 1 of
    BSVDD and a softmax the weights fall on one or two rows on most data sets: watch the
    effective number of support points (:mod:`bsvdd.inference.diagnostics`).

    Parameters
    ----------
    sd : float, default=1
    exponent : float, default=1
        nu, in (0, 1]: Ghasemi et al. (2012) ask for less than 1, Oh (2023) takes 1.

    Raises
    ------
    ValueError
        A row sum is negative (possible with a linear kernel): its power is undefined.

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

    The published prior's order of the rows on a scale that does not grow with their number,
    so that the weights do not collapse. Equal row sums give m = 0. The sums are r of
    :class:`bsvdd.models.gram.Gram`, over all majority rows.

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
        if spread <= 1e-12 * np.abs(r).max():  # equal but for rounding
            return np.zeros(len(r))
        return -(r - r.mean()) / spread


@dataclass(frozen=True)
class CorrelatedPrior(GaussianPrior):
    """Normal weights with a full covariance matrix; a subclass gives mean and covariance."""

    @override
    def precision(self, gram: Gram) -> np.ndarray:
        return cho_solve(cho_factor(self.covariance(gram)), np.eye(gram.n_majority_points))

    @override
    def __call__(self, gram: Gram, name: str, dims: str) -> TensorVariable:
        import pymc as pm

        mean = pm.Data(f"{name}_mean", self.mean(gram), dims=dims)
        chol = pm.Data(f"{name}_chol", cholesky(self.covariance(gram), lower=True))
        return pm.MvNormal(name, mean, chol=chol, dims=dims)


@dataclass(frozen=True)
class Normal(CorrelatedPrior):
    r"""A prior with mean and covariance given, :math:`N(m, \sigma^2 \Sigma)`.

    Parameters
    ----------
    sd : float, default=1
        sigma, a factor of the whole covariance.
    m : tuple of float, optional
        One value for each majority row; zero when left out.
    sigma : tuple of tuple of float, optional
        Sigma; the identity when left out. Arrays are taken too.

    Raises
    ------
    ValueError
        m is no list of finite numbers, Sigma is not symmetric and positive definite, or, in a
        fit, there is not one value for each majority row.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.Normal(m=[0.0, 1.0], sigma=[[1.0, 0.5], [0.5, 1.0]])
    Normal(sd=1.0, m=(0.0, 1.0), sigma=((1.0, 0.5), (0.5, 1.0)))
    """

    m: tuple[float, ...] | None = None
    sigma: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.m is not None:
            object.__setattr__(self, "m", fields.vector(self, "m", self.m))
        if self.sigma is not None:
            object.__setattr__(self, "sigma", fields.covariance(self, "sigma", self.sigma))

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        if self.m is None:
            return np.zeros(gram.n_majority_points)
        return np.array(self.m)[self._points("m", len(self.m), gram)]

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        if self.sigma is None:
            return super().covariance(gram)
        points = self._points("sigma", len(self.sigma), gram)
        return float(self.sd) ** 2 * np.array(self.sigma)[np.ix_(points, points)]

    def _points(self, field: str, given: int, gram: Gram) -> np.ndarray:
        return fields.points(self, field, given, gram.n_majority_points, gram.place, "majority")


@dataclass(frozen=True)
class GaussianProcess(CorrelatedPrior):
    r"""Weights that vary smoothly over the rows, with a covariance from a kernel.

    .. math:: m = 0, \qquad \Sigma = \sigma^2 (C + \varepsilon I), \qquad C_{jl} = c(u_j, u_l)

    Parameters
    ----------
    sd : float, default=1
        sigma.
    kernel : Kernel or callable, optional
        c, with its bandwidth as a number or as a criterion's name; the kernel of the model when
        left out. A wider one makes neighbours' weights more alike.
    nugget : float, default=1e-6
        epsilon: the variance, beside that of the kernel, by which each row's weight differs from
        its neighbours'. It also keeps Sigma regular where rows are equal.

    Raises
    ------
    ValueError
        The nugget is not positive, or the kernel needs rows that there are not.

    References
    ----------
    Rasmussen, C. E. and Williams, C. K. I. (2006). Gaussian processes for machine learning. MIT
    Press.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram
    >>> gram = Gram.from_rows(kernels.RBF(1.0), np.array([[0.0], [1.0], [9.0]]))
    >>> priors.GaussianProcess(kernel=kernels.RBF(2.0), nugget=0.1).covariance(gram).round(2)
    array([[1.1 , 0.88, 0.  ],
           [0.88, 1.1 , 0.  ],
           [0.  , 0.  , 1.1 ]])
    """

    kernel: Kernel | Callable[..., Any] | None = None
    nugget: float = 1e-6

    def __post_init__(self) -> None:
        super().__post_init__()
        fields.require_positive(self, "nugget", self.nugget)
        if self.kernel is not None and as_kernel(self.kernel).pairwise:
            raise ValueError(
                "GaussianProcess: kernel must be a function of rows; where the model's kernel is "
                "precomputed, leave it out to take that, or give priors.Normal(sigma=...)"
            )

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        return np.zeros(gram.n_majority_points)

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        n = gram.n_majority_points
        if self.kernel is None:
            C = gram.K[:n, :n]
        elif gram.kernel.pairwise:
            raise ValueError(
                "GaussianProcess: kernel needs the rows, which these statistics do not hold; "
                "leave it out"
            )
        else:
            rows = gram.points[:n]
            C = as_kernel(self.kernel).resolve(rows)(rows)
        return float(self.sd) ** 2 * (C + self.nugget * np.eye(n))


@dataclass(frozen=True)
class GraphLaplacian(CorrelatedPrior):
    r"""Semi-supervised prior: neighbours, labelled or not, have weights alike.

    With L the Laplacian of the k-nearest-neighbour graph (in kernel space) over the majority
    rows and the unlabelled rows,

    .. math:: \Sigma = \sigma^2 \left[(\kappa L + I)^{-1}\right]_{\text{majority}}, \qquad m = 0,

    the covariance that a smooth function on all rows has at the majority rows. kappa = 0 is
    :class:`bsvdd.priors.Flat`.

    Parameters
    ----------
    sd : float, default=1
        sigma.
    unlabelled : tuple of tuple of float, default=()
        Rows without a label, as the kernel takes them. Arrays are taken too.
    neighbors : int, default=5
        k.
    smoothness : float, default=1
        kappa.

    Raises
    ------
    ValueError
        Numbers out of their range, unlabelled rows of another number of columns, or as many
        neighbours as rows.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian approach to
    the data description problem. AAAI Conference on Artificial Intelligence 26.
    doi:10.48550/arXiv.1602.07507

    Zhu, X., Ghahramani, Z. and Lafferty, J. (2003). Semi-supervised learning using Gaussian
    fields and harmonic functions. ICML 20.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import BDD, priors
    >>> rng = np.random.default_rng(0)
    >>> X, unlabelled = rng.normal(size=(30, 2)), rng.normal(size=(60, 2))
    >>> est = BDD(prior=priors.GraphLaplacian(unlabelled=unlabelled)).fit(X)
    >>> est.predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])
    """

    unlabelled: tuple[tuple[float, ...], ...] = ()
    neighbors: int = 5
    smoothness: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if int(self.neighbors) != self.neighbors or self.neighbors < 1:
            raise ValueError(f"GraphLaplacian: neighbors must be at least 1, got {self.neighbors}")
        if not 0 <= self.smoothness < np.inf:
            raise ValueError(
                f"GraphLaplacian: smoothness must be at least 0 and finite, got {self.smoothness}"
            )
        rows = np.asarray(self.unlabelled, dtype=float)
        if rows.size and (rows.ndim != 2 or not np.isfinite(rows).all()):
            raise ValueError(
                "GraphLaplacian: unlabelled must be a table of finite numbers, got an array of "
                f"{rows.ndim} dimension(s)"
            )
        object.__setattr__(self, "unlabelled", tuple(map(tuple, rows.tolist())))

    @override
    def mean(self, gram: Gram) -> np.ndarray:
        return np.zeros(gram.n_majority_points)

    @override
    def covariance(self, gram: Gram) -> np.ndarray:
        if self.unlabelled and gram.kernel.pairwise:
            raise ValueError(
                "GraphLaplacian: a precomputed kernel has no values between unlabelled rows; use "
                "a kernel of rows such as kernels.RBF, or a function of two arrays"
            )
        n = gram.n_majority_points
        rows = gram.points[:n]
        if self.unlabelled:
            unlabelled = np.array(self.unlabelled)
            if unlabelled.shape[1] != rows.shape[1]:
                raise ValueError(
                    f"GraphLaplacian: unlabelled has {unlabelled.shape[1]} columns, but the "
                    f"majority rows have {rows.shape[1]}"
                )
            rows = np.concatenate([rows, unlabelled])
        if self.neighbors >= len(rows):
            raise ValueError(
                f"GraphLaplacian: neighbors={self.neighbors} needs more than that many rows, got "
                f"{len(rows)}"
            )
        k = gram.kernel.diag(rows)
        distance = np.sqrt(np.maximum(k[:, None] + k[None, :] - 2 * gram.kernel(rows), 0.0))
        np.fill_diagonal(distance, 0.0)
        graph = (
            NearestNeighbors(n_neighbors=self.neighbors, metric="precomputed")
            .fit(distance)
            .kneighbors_graph()
        )
        L = laplacian(graph.maximum(graph.T)).toarray()
        inverse = cho_solve(cho_factor(self.smoothness * L + np.eye(len(rows))), np.eye(len(rows)))
        return float(self.sd) ** 2 * inverse[:n, :n]
