r"""Priors of the weights, as values.

A prior of majority weights is a prior for one group of weight 1: ``of_group(gram)`` is
its mean and standard deviation at each atom. An atom of :math:`e_g` groups in effect,
whose rows weigh :math:`N_g`, has the sum of :math:`e_g` such weights, times
:math:`N_g / e_g`: see :func:`of_sums` for weights and :func:`of_log_sums` for log
weights. A user's own prior is a distribution of PreliZ, or a function ``prior(gram,
name, dims)`` that makes and returns the variable ``name`` inside a PyMC model. It has
one value for each row, and :mod:`bsvdd.models.pooled` adds up the rows of an atom.

In numbers a variable is a map of standard normals. ``of_normal(z)`` returns its values,
and a function from a gradient by the values to the gradient by z. So no density is
needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cached_property, lru_cache
from reprlib import Repr
from typing import Any, Protocol, override, runtime_checkable

import numpy as np
from scipy import stats
from scipy.linalg import cho_solve, cholesky
from scipy.special import betaincinv, betaln, ndtr, ndtri

from .dictionary import Dictionary
from .kernels.base import is_number
from .quadratic_program import minimize
from .rows import named_values

__all__ = [
    "Beta",
    "EqualWeights",
    "Flat",
    "InverseRowSum",
    "Normal",
    "RowSum",
    "SVDDWeights",
    "StandardizedRowSum",
    "TruncatedNormal",
]

TINIEST = float(np.finfo(float).tiny)
SHARES = (TINIEST, 1.0 - float(np.finfo(float).epsneg))
SHORTENED = Repr(maxother=80, maxstring=80)
Pull = Callable[[np.ndarray], np.ndarray]


def normal_density(z: np.ndarray) -> np.ndarray:
    """Return the density of a standard normal."""
    return np.exp(-(z**2) / 2.0) / np.sqrt(2.0 * np.pi)


# in numbers


class NormalMap:
    """A variable x (M,) as a map of standard normals z (M,)."""

    def build(self, name: str, dims: str) -> Any:
        """Make the variable in the PyMC model in context."""
        raise NotImplementedError

    def of_normal(self, z: np.ndarray) -> tuple[np.ndarray, Pull]:
        """Return x (S, M) of z (S, M), and the pull of a gradient."""
        raise NotImplementedError

    def named(self, name: str, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return x (S, M) by its name in PyMC, and the free variable first."""
        return {name: x}

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """Return the log density (S, M), or (S,), of the free variable."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Gaussian(NormalMap):
    """x ~ N(m, sd^2 I), or N(m, root root'); ``m`` and ``sd`` are of shape (M,)."""

    m: np.ndarray
    sd: np.ndarray
    root: np.ndarray | None = None

    @override
    def build(self, name: str, dims: str) -> Any:
        import pymc as pm

        if self.root is None:
            return pm.Normal(name, self.m, self.sd, dims=dims)
        return pm.MvNormal(name, self.m, chol=self.root, dims=dims)

    @override
    def of_normal(self, z: np.ndarray) -> tuple[np.ndarray, Pull]:
        root = self.root
        if root is None:
            return self.m + self.sd * z, lambda g: g * self.sd
        return self.m + z @ root.T, lambda g: g @ root

    @override
    def log_density(self, x: np.ndarray) -> np.ndarray:
        if self.root is None:
            return np.asarray(stats.norm.logpdf(x, self.m, self.sd))
        joint = stats.multivariate_normal(self.m, self.root @ self.root.T)
        return np.asarray(joint.logpdf(x))

    @cached_property
    def precision(self) -> np.ndarray:
        """The inverse of the covariance, (M, M)."""
        if self.root is None:
            return np.diag(self.sd**-2.0)
        return np.asarray(cho_solve((self.root, True), np.eye(len(self.m))))

    def times_covariance(self, v: np.ndarray) -> np.ndarray:
        """Return the covariance times v (M,)."""
        return self.sd**2 * v if self.root is None else self.root @ (self.root.T @ v)


@dataclass(frozen=True, eq=False)
class Shares(NormalMap):
    """x = scale u, u ~ Beta(a, b), independent."""

    a: float
    b: float
    scale: float = 1.0

    @override
    def build(self, name: str, dims: str) -> Any:
        import pymc as pm

        if self.scale == 1.0:
            return pm.Beta(name, self.a, self.b, dims=dims)
        share = pm.Beta(f"{name}_share", self.a, self.b, dims=dims)
        return pm.Deterministic(name, self.scale * share, dims=dims)

    @override
    def of_normal(self, z: np.ndarray) -> tuple[np.ndarray, Pull]:
        if self.a == self.b == 1.0:  # betaincinv is slow
            u = np.clip(ndtr(z), *SHARES)
            slope = normal_density(z)
        else:
            u = np.clip(betaincinv(self.a, self.b, ndtr(z)), *SHARES)
            log_f = (self.a - 1.0) * np.log(u) + (self.b - 1.0) * np.log1p(-u)
            slope = normal_density(z) / np.exp(log_f - betaln(self.a, self.b))
        return self.scale * u, lambda g: g * slope * self.scale

    @override
    def named(self, name: str, x: np.ndarray) -> dict[str, np.ndarray]:
        if self.scale == 1.0:
            return {name: x}
        return {f"{name}_share": x / self.scale, name: x}

    @override
    def log_density(self, x: np.ndarray) -> np.ndarray:
        return np.asarray(stats.beta.logpdf(x, self.a, self.b))


@dataclass(frozen=True, eq=False)
class OnCube(NormalMap):
    """x ~ N(m, sd^2) on [0, 1], independent; m of shape (M,)."""

    m: np.ndarray
    sd: float

    @override
    def build(self, name: str, dims: str) -> Any:
        import pymc as pm

        ends = {"lower": 0.0, "upper": 1.0}
        return pm.TruncatedNormal(name, self.m, self.sd, dims=dims, **ends)

    @override
    def of_normal(self, z: np.ndarray) -> tuple[np.ndarray, Pull]:
        low = ndtr(-self.m / self.sd)
        high = ndtr((1.0 - self.m) / self.sd)
        t = ndtri(np.clip(low + ndtr(z) * (high - low), *SHARES))
        slope = self.sd * (high - low) * normal_density(z) / normal_density(t)
        return np.clip(self.m + self.sd * t, 0.0, 1.0), lambda g: g * slope

    @override
    def log_density(self, x: np.ndarray) -> np.ndarray:
        ends = (-self.m / self.sd, (1.0 - self.m) / self.sd)
        return np.asarray(stats.truncnorm.logpdf(x, *ends, self.m, self.sd))


# of the majority


@dataclass(frozen=True)
class Flat:
    r"""Normal prior of mean zero, :math:`N(0, \sigma^2 I)`: all rows weigh the same.

    Parameters
    ----------
    sd : float, default=1
        sigma, of the weights of BDD, or of the log weights of BSVDD.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> from bsvdd import BSVDD, priors
    >>> BSVDD(prior=priors.Flat(sd=0.5))
    BSVDD(prior=Flat(sd=0.5))
    """

    sd: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "sd")

    def of_group(self, gram: Dictionary) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and standard deviation for a group at each atom, (m,) each."""
        return self.mean(gram), np.full(gram.m, float(self.sd))

    def mean(self, gram: Dictionary) -> np.ndarray:
        """Return the mean for a group at each atom, (m,)."""
        return np.zeros(gram.m)

    def root(self, gram: Dictionary) -> np.ndarray | None:
        """Return the Cholesky factor of the covariance of groups; None if diagonal."""
        return None


@dataclass(frozen=True)
class EqualWeights(Flat):
    r"""Normal prior of free weights around the mean of the rows.

    .. math:: m_j = N_j / n_0, \qquad \Sigma_{jj} = N_j (\sigma / n_0)^2

    of atom j, which stands for :math:`N_j` rows. It is for the weights of BDD, which
    need not sum to one.

    Parameters
    ----------
    sd : float, default=1.5
        sigma, a multiple of 1 / n0.

    Examples
    --------
    >>> from bsvdd import BDD, priors
    >>> BDD(prior=priors.EqualWeights(sd=2.0))
    BDD(prior=EqualWeights(sd=2.0))
    """

    sd: float = 1.5

    @override
    def of_group(self, gram: Dictionary) -> tuple[np.ndarray, np.ndarray]:
        return np.full(gram.m, 1.0 / gram.n0), np.full(gram.m, self.sd / gram.n0)


@dataclass(frozen=True)
class Normal(Flat):
    r"""Normal prior with a given mean and covariance, :math:`N(m, \sigma^2 \Sigma)`.

    Parameters
    ----------
    sd : float, default=1
        sigma, a factor of the whole covariance.
    m : float, array-like of shape (n,), Series, DataArray or dict, default=0
        One number, or one for each training row; minority rows do not count. Values
        with names are matched by the names of the rows, others by order. Rows of one
        atom have their mean.
    sigma : array-like of shape (n, n), optional
        Sigma, over the training rows; the identity by default.

    Raises
    ------
    ValueError
        m is not finite, Sigma is not symmetric and positive definite, or, in a fit,
        there is not one value for each training row.

    Examples
    --------
    >>> from bsvdd import priors
    >>> priors.Normal(m=[0.0, 1.0], sigma=[[1.0, 0.5], [0.5, 1.0]])
    Normal(sd=1.0, m=(0.0, 1.0), sigma=((1.0, 0.5), (0.5, 1.0)))
    """

    m: float | tuple[float, ...] | dict[str, float] = 0.0
    sigma: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "m", as_location(self, "m"))
        if self.sigma is None:
            return
        S = np.asarray(self.sigma, dtype=float)
        square = S.ndim == 2 and S.shape[0] == S.shape[1] and np.isfinite(S).all()
        if not square or not np.allclose(S, S.T) or np.linalg.eigvalsh(S)[0] <= 0.0:
            raise ValueError(
                "Normal: sigma must be a symmetric and positive definite matrix"
            )
        object.__setattr__(self, "sigma", tuple(map(tuple, S.tolist())))

    @override
    def mean(self, gram: Dictionary) -> np.ndarray:
        return gram.at_points("Normal: m", self.m)

    @override
    def root(self, gram: Dictionary) -> np.ndarray | None:
        if self.sigma is None:
            return None
        if not np.allclose(gram.effective[: gram.m], 1.0):
            raise ValueError(
                "Normal: sigma is a covariance of single rows, but atoms are means of "
                "several rows; remove repeated rows and use dictionary='all', or a "
                "prior without sigma"
            )
        S = gram.at_points("Normal: sigma", self.sigma)
        return np.asarray(float(self.sd) * cholesky(S, lower=True))


@dataclass(frozen=True)
class RowSum(Flat):
    r"""The prior of BDD and BSVDD as published, by row sums.

    .. math:: m_j = -\left(\sum_i k(u_j, x_i)\right)^\nu

    Remote rows have small row sums, so they get large weights. With the exponent 1 and
    a softmax, one or two rows get nearly all the weight on most data sets.

    Parameters
    ----------
    sd : float, default=1
    exponent : float, default=1
        nu, in (0, 1]. Ghasemi et al. (2012) require less than 1; Oh (2023) uses 1.

    Raises
    ------
    ValueError
        A row sum is negative, and the exponent is not 1.

    References
    ----------
    Ghasemi, A., Rabiee, H. R., Manzuri, M. T. and Rohban, M. H. (2012). A Bayesian
    approach to the data description problem. AAAI Conference on Artificial Intelligence
    26. doi:10.48550/arXiv.1602.07507

    Examples
    --------
    >>> from bsvdd import BSVDD, priors
    >>> BSVDD(prior=priors.RowSum(exponent=0.5))
    BSVDD(prior=RowSum(sd=1.0, exponent=0.5))
    """

    exponent: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "exponent", 0.0, 1.0)

    @override
    def mean(self, gram: Dictionary) -> np.ndarray:
        r = gram.r[: gram.m]
        if self.exponent != 1.0 and r.min() < 0.0:
            raise ValueError(
                f"RowSum: atom {int(r.argmin())} has the negative row sum "
                f"{r.min():.6g}, and its power {self.exponent:g} is undefined; use "
                "another kernel (RBF), exponent=1, or another prior "
                "(StandardizedRowSum)"
            )
        return -r if self.exponent == 1.0 else -(r**self.exponent)


@dataclass(frozen=True)
class StandardizedRowSum(Flat):
    r"""Standardised row sums, :math:`m_j = -(r_j - \bar r) / \mathrm{sd}(r)`.

    The rows have the same order as in the published prior, but the scale does not grow
    with their number, so the weights do not collapse. Equal row sums give m = 0.

    Parameters
    ----------
    sd : float, default=1

    Examples
    --------
    >>> from bsvdd import BSVDD, priors
    >>> BSVDD(prior=priors.StandardizedRowSum())
    BSVDD(prior=StandardizedRowSum(sd=1.0))
    """

    @override
    def mean(self, gram: Dictionary) -> np.ndarray:
        r = gram.r[: gram.m]
        share = gram.sizes[: gram.m] / gram.n0
        middle = share @ r
        spread = np.sqrt(share @ (r - middle) ** 2)
        equal = spread <= 1e-12 * np.abs(r).max()  # up to rounding
        return np.zeros(gram.m) if equal else -(r - middle) / spread


@dataclass(frozen=True)
class InverseRowSum(Flat):
    r"""Inverse row sums as weights, :math:`m_j = -\nu (\log r_j - \overline{\log r})`.

    For log weights: the prior median of w is proportional to :math:`r_j^{-\nu}`.

    Parameters
    ----------
    sd : float, default=1
    power : float, default=0.5
        nu, from 0 (equal weights) to 1.

    Raises
    ------
    ValueError
        A row sum is not positive, so it has no logarithm.

    Examples
    --------
    >>> from bsvdd import BSVDD, priors
    >>> BSVDD(prior=priors.InverseRowSum(sd=0.5))
    BSVDD(prior=InverseRowSum(sd=0.5, power=0.5))
    """

    power: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "power", -TINIEST, 1.0, "[0, 1]")

    @override
    def mean(self, gram: Dictionary) -> np.ndarray:
        r = gram.r[: gram.m]
        if r.min() <= 0.0:
            raise ValueError(
                f"InverseRowSum: atom {int(r.argmin())} has the row sum "
                f"{r.min():.6g}, and only a positive sum has a logarithm; use another "
                "kernel (RBF) or another prior (StandardizedRowSum)"
            )
        log_r = np.log(r)
        return -self.power * (log_r - gram.sizes[: gram.m] @ log_r / gram.n0)


@dataclass(frozen=True)
class SVDDWeights(Flat):
    r"""The weights of SVDD, :math:`m_j = \log(\alpha_j + \epsilon / n)` less a mean.

    For log weights: the prior median of the centre is near the centre of SVDD.

    Parameters
    ----------
    sd : float, default=1
    outlier_fraction : float, default=0.1
        Largest share of the rows outside the sphere of SVDD.
    floor : float, default=0.01
        epsilon, the total weight that is added in equal parts.

    Examples
    --------
    >>> from bsvdd import BSVDD, priors
    >>> BSVDD(prior=priors.SVDDWeights())
    BSVDD(prior=SVDDWeights(sd=1.0, outlier_fraction=0.1, floor=0.01))
    """

    outlier_fraction: float = 0.1
    floor: float = 0.01

    def __post_init__(self) -> None:
        super().__post_init__()
        require_between(self, "outlier_fraction", 0.0, 1.0)
        require_between(self, "floor", 0.0, 1.0)

    @override
    def mean(self, gram: Dictionary) -> np.ndarray:
        sizes = gram.sizes[: gram.m]
        alpha = sphere_weights(gram, self.outlier_fraction) / sizes
        m = np.log(alpha + self.floor / gram.n0)
        return np.asarray(m - sizes @ m / gram.n0)


@lru_cache(maxsize=1)  # a fit asks several times
def sphere_weights(gram: Dictionary, outlier_fraction: float) -> np.ndarray:
    """Return the weights of SVDD on the majority atoms, (m,)."""
    m = gram.m
    C = 1.0 / (gram.n0 * outlier_fraction)
    upper = np.minimum(C * gram.sizes[:m], 1.0)
    K = gram.K[:m, :m]
    order = gram.by_value[:m]
    return minimize(K, gram.diag[:m] / 2.0, np.zeros(m), upper, order=order)


# of the minority


@dataclass(frozen=True)
class Beta:
    r"""Beta prior of the minority weights, independent and scaled to a total.

    .. math:: \alpha_{1j} = \frac{c}{n_1} b_j, \qquad b_j \sim \mathrm{Beta}(a, b)

    Parameters
    ----------
    a, b : float, default=1
    total : float, optional
        c, the largest possible sum of the minority weights. ``None`` is the published
        prior, :math:`\alpha_{1j} = b_j`: its sum grows with n1, and its chains do not
        always mix.

    Examples
    --------
    >>> from bsvdd import BSVDDM, priors
    >>> BSVDDM(minority_prior=priors.Beta(1, 2))
    BSVDDM(prior=Flat(sd=0.83), minority_prior=Beta(a=1, b=2, total=None))
    """

    a: float = 1.0
    b: float = 1.0
    total: float | None = None

    def __post_init__(self) -> None:
        for name in ("a", "b") if self.total is None else ("a", "b", "total"):
            require_positive(self, name)

    def at_atoms(self, gram: Dictionary) -> Shares:
        """Return the variable in numbers."""
        scale = 1.0 if self.total is None else self.total / gram.n1
        return Shares(self.a, self.b, scale)


@dataclass(frozen=True)
class TruncatedNormal:
    r"""Truncated normal minority weights, :math:`N(m_j, \sigma^2)` on [0, 1].

    They are independent.

    Parameters
    ----------
    m : float, array-like of shape (n,), Series, DataArray or dict, default=0
        As in :class:`Normal`; majority rows do not count.
    sd : float, default=1
        sigma, of the normal before it is truncated.

    Examples
    --------
    >>> from bsvdd import BDDM, priors
    >>> BDDM(minority_prior=priors.TruncatedNormal(0.0, 0.5))
    BDDM(prior=EqualWeights(sd=1.5), minority_prior=TruncatedNormal(m=0.0, sd=0.5))
    """

    m: float | tuple[float, ...] | dict[str, float] = 0.0
    sd: float = 1.0

    def __post_init__(self) -> None:
        require_positive(self, "sd")
        object.__setattr__(self, "m", as_location(self, "m"))

    def at_atoms(self, gram: Dictionary) -> OnCube:
        """Return the variable in numbers."""
        m = gram.at_points("TruncatedNormal: m", self.m, minority=True)
        return OnCube(m, float(self.sd))


# of a user's own


class PriorFunction(Protocol):
    """A user's function that makes a variable in the PyMC model in context."""

    def __call__(self, gram: Dictionary, name: str, dims: str) -> Any:
        """Return the PyMC variable."""


@runtime_checkable
class PrelizPrior(Protocol):
    """A distribution of PreliZ."""

    is_frozen: bool
    param_names: tuple[str, ...]

    def to_pymc(self, name: str, dims: str) -> Any:
        """Return the PyMC variable."""


PriorLike = Flat | Beta | TruncatedNormal | PriorFunction | PrelizPrior
InNumbers = NormalMap | PriorFunction | PrelizPrior


def of_sums(prior: PriorLike, gram: Dictionary) -> InNumbers:
    """Return the prior of the weights of the atoms; a user's own prior as it is."""
    if not isinstance(prior, Flat):
        return require_prior(prior, "majority", "priors.Flat()")
    m, sd = prior.of_group(gram)
    root = prior.root(gram)
    N = gram.sizes[: gram.m]
    e = gram.effective[: gram.m]
    root = None if root is None else N[:, None] * root
    return Gaussian(N * m, N / np.sqrt(e) * sd, root)


def of_log_sums(prior: PriorLike, gram: Dictionary) -> InNumbers:
    r"""Return the prior of the log weights of the atoms.

    Mean and variance of the sums agree (Fenton 1960): :math:`\sigma_g^2 = \log(1 +
    (e^{\sigma^2} - 1) / e_g)` and :math:`m_g = \log N_g + m + (\sigma^2 - \sigma_g^2) /
    2`.
    """
    if not isinstance(prior, Flat):
        return require_prior(prior, "majority", "priors.Flat()")
    m, sd = prior.of_group(gram)
    N = gram.sizes[: gram.m]
    e = gram.effective[: gram.m]
    variance = sd**2 + np.log1p((1.0 - 1.0 / e) * np.expm1(-(sd**2)))
    mean = np.log(N) + m + (sd**2 - variance) / 2.0
    return Gaussian(mean, np.sqrt(variance), prior.root(gram))


def in_numbers(prior: PriorLike, gram: Dictionary) -> InNumbers:
    """Return the prior of the minority weights; a user's own prior as it is."""
    if isinstance(prior, Beta | TruncatedNormal):
        return prior.at_atoms(gram)
    return require_prior(prior, "minority", "priors.Beta()")


def require_prior(prior: PriorLike, of: str, example: str) -> InNumbers:
    """Return a user's own prior, or raise a TypeError."""
    other = isinstance(prior, Flat | Beta | TruncatedNormal | type)
    if not other and (callable(prior) or isinstance(prior, PrelizPrior)):
        return prior
    raise TypeError(
        f"prior of the {of} weights: expected a prior such as {example}, a "
        "distribution of PreliZ, or a function (gram, name, dims) that makes a PyMC "
        f"variable, got {prior!r}"
    )


def make(prior: InNumbers, gram: Dictionary, name: str, dims: str) -> Any:
    """Return the variable ``name`` that a prior makes in the PyMC model in context.

    A function may make other free variables, such as the scale of a hierarchical prior,
    if their names start with ``name`` and an underscore.

    Raises
    ------
    TypeError, ValueError
        The prior returns no variable of that name, with one value for each place of
        the dimension, or makes a free variable of another name.
    """
    import pymc as pm
    from pytensor.tensor.variable import TensorVariable

    if isinstance(prior, NormalMap):
        return prior.build(name, dims)
    model = pm.modelcontext(None)
    before = {v.name for v in model.free_RVs}
    about = f"prior of {name}: {describe(prior)}"
    if isinstance(prior, PrelizPrior):
        if not prior.is_frozen:
            raise ValueError(
                f"{about} lacks a value for some of its parameters "
                f"({', '.join(prior.param_names)}); give a value for each"
            )
        found = prior.to_pymc(name, dims=dims)
    else:
        require_signature(prior, name)
        found = prior(gram, name, dims)
    if not isinstance(found, TensorVariable) or name not in model.named_vars:
        raise TypeError(
            f"{about} must return the PyMC variable that it makes under the "
            f"name {name!r}, but returned {found!r}"
        )
    length = len(model.coords[dims])
    its_dims = model.named_vars_to_dims.get(name)
    if its_dims != (dims,) and found.type.shape != (length,):
        raise ValueError(
            f"{about} must make one value for each of the {length} names of "
            f"{dims!r} (pass dims=dims), but made a variable of dims {its_dims} and "
            f"shape {found.type.shape}"
        )
    new = [v.name for v in model.free_RVs if v.name not in before]
    others = [v for v in new if v != name and not v.startswith(f"{name}_")]
    if others:
        raise ValueError(
            f"{about} makes a second free variable, {others[0]!r}; if this is "
            f"intended, as in a hierarchical prior, name it '{name}_{others[0]}'"
        )
    return found


def require_signature(prior: Callable[..., Any], name: str) -> None:
    """Raise a TypeError unless a user's function takes (gram, name, dims)."""
    try:
        inspect.signature(prior).bind("gram", "name", "dims")
    except TypeError as error:
        raise TypeError(
            f"prior of {name}: {describe(prior)} is called with (gram, name, dims), "
            f"and cannot be ({error}); write def prior(gram, name, dims): return "
            "pm.Normal(name, 0, 1, dims=dims)"
        ) from error


def describe(prior: object) -> str:
    """Return the name of a prior and its parameters, without a memory address."""
    if hasattr(prior, "__qualname__"):  # a function
        return f"{prior.__module__}.{prior.__qualname__}"
    if is_dataclass(prior):  # a field may hold a matrix: shorten it
        values = vars(prior)
        shown = (f"{f.name}={SHORTENED.repr(values[f.name])}" for f in fields(prior))
        return f"{type(prior).__name__}({', '.join(shown)})"
    return repr(prior)


# checks of fields


def require_positive(prior: object, field: str) -> None:
    """Raise an error unless a field and its square are positive and finite."""
    value = vars(prior)[field]
    if not (is_number(value) and value > 0.0 and 0.0 < value**2 < np.inf):
        raise ValueError(
            f"{type(prior).__name__}: {field} must be a positive number whose square "
            f"is finite, got {value!r}"
        )


def require_between(
    prior: object, field: str, low: float, high: float, interval: str = "(0, 1]"
) -> None:
    """Raise a ValueError unless low < field <= high."""
    value = vars(prior)[field]
    if not (is_number(value) and low < value <= high):
        raise ValueError(
            f"{type(prior).__name__}: {field} must lie in {interval}, got {value!r}"
        )


def as_location(
    prior: object, field: str
) -> float | tuple[float, ...] | dict[str, float]:
    """Return a field as a finite number, a tuple of them, or a dict by names."""
    value = vars(prior)[field]
    about = f"{type(prior).__name__}: {field}"
    named = named_values(about, value)
    numbers = value if named is None else list(named.values())
    try:
        bad = isinstance(value, bool | str)
        v = np.asarray(np.nan if bad else numbers, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{about} must be numbers ({error})") from error
    wrong = np.flatnonzero(~np.isfinite(v))
    if named is not None and len(wrong):
        name = list(named)[wrong[0]]
        raise ValueError(f"{about} must be finite, and {name!r} has {v[wrong[0]]}")
    if v.ndim > 1 or len(wrong):
        raise ValueError(
            f"{about} must be a finite number, or a list of one for each row, got "
            f"{value!r:.80}"
        )
    if named is not None:
        return dict(zip(named, v.tolist(), strict=True))
    return tuple(v.tolist()) if v.ndim else float(v)
