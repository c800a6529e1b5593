r"""The priors of this package as numbers, beside the PyMC variables that they make.

A prior's ``__call__`` makes a PyMC variable, and its ``numbers`` says here what that variable is. x
is the unconstrained vector of the variable, as PyMC's value variable is. All methods take batches
of S vectors.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, override

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import betaln, log_ndtr, ndtr

LOG_2PI = math.log(2.0 * math.pi)
SHARES = (np.finfo(float).tiny, 1.0 - np.finfo(float).epsneg)  # smallest and largest
Values = dict[str, np.ndarray]


class VariableDensity:
    """A free variable in numbers; by default it is x itself, and the model takes it."""

    name: str

    @property
    def start(self) -> np.ndarray:
        """The middle of the points where chains start, shape (n,)."""
        raise NotImplementedError

    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log density (S,) of x and its gradient (S, n)."""
        raise NotImplementedError

    def log_prior(self, free: Values) -> np.ndarray:
        """Return the log prior density (S,) of the free variable on its own scale."""
        return self.value_and_gradient(free[self.name])[0]

    def draw(self, n: int, rng: np.random.Generator) -> Values:
        """Return n draws of the free variable on its own scale."""
        raise NotImplementedError

    def free(self, x: np.ndarray) -> np.ndarray:
        """Return the free variable on its own scale."""
        return x

    def deterministics(self, free: Values) -> Values:
        """Return the deterministics of the prior from the free variable."""
        return {}

    def named(self, x: np.ndarray) -> Values:
        """Return the free variable on its own scale, and the deterministics of the prior."""
        free = {self.name: self.free(x)}
        return {**free, **self.deterministics(free)}

    def slope(self, x: np.ndarray) -> np.ndarray | float:
        """Return the slope of the variable that the model takes by x."""
        return 1.0


@dataclass(frozen=True, eq=False)
class Gaussian(VariableDensity):
    """Normal variables, of a mean of shape (n,)."""

    name: str
    mean: np.ndarray

    @property
    @override
    def start(self) -> np.ndarray:
        return self.mean


@dataclass(frozen=True, eq=False)
class Independent(Gaussian):
    r"""Independent normal variables, :math:`N(m_j, \sigma_j^2)`.

    Attributes
    ----------
    sd : float, or ndarray of shape (n,)
    """

    sd: float | np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """The inverse of the covariance."""
        precision: np.ndarray = np.eye(len(self.mean)) / self.sd**2
        return precision

    @override
    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        e = x - self.mean
        gradient = e * (-1.0 / self.sd**2)
        log_sd = np.broadcast_to(np.log(self.sd), len(self.mean)).sum()
        return np.vecdot(gradient, e) / 2 - log_sd - len(self.mean) * LOG_2PI / 2, gradient

    @override
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        return {self.name: self.mean + self.sd * rng.standard_normal((n, len(self.mean)))}


@dataclass(frozen=True, eq=False)
class Correlated(Gaussian):
    r"""A normal vector, :math:`N(m, L L^\top)`.

    Attributes
    ----------
    root : ndarray of shape (n, n)
        L, lower triangular.
    """

    root: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """The inverse of the covariance."""
        inverse = solve_triangular(self.root, np.eye(len(self.mean)), lower=True)
        product: np.ndarray = inverse.T @ inverse
        return product

    @override
    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        z = solve_triangular(self.root, (x - self.mean).T, lower=True, check_finite=False)
        gradient = -solve_triangular(self.root, z, lower=True, trans=1, check_finite=False).T
        constant = np.log(np.diag(self.root)).sum() + len(self.mean) * LOG_2PI / 2
        return -np.square(z).sum(axis=0) / 2 - constant, gradient

    @override
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        return {self.name: self.mean + rng.standard_normal((n, len(self.mean))) @ self.root.T}


class Probits(VariableDensity):
    r"""Variables on [0, 1], with x their probits, :math:`u = \Phi(x)`: x is normal for a uniform u.

    Its tails are short. Log odds would have long ones, in which chains lose their way.
    """

    scale = 1.0

    @override
    def free(self, x: np.ndarray) -> np.ndarray:
        return np.clip(ndtr(x), *SHARES)

    @override
    def slope(self, x: np.ndarray) -> np.ndarray | float:
        return self.scale * np.exp(-0.5 * (x**2 + LOG_2PI))


@dataclass(frozen=True, eq=False)
class Shares(Probits):
    r"""Independent beta variables u, with x the probits, :math:`u = \Phi(x)`; the model takes c u.

    .. math::
        \log p(x) = (a - 1) \log \Phi(x) + (b - 1) \log \Phi(-x) + \log \varphi(x) - \log B(a, b)

    The density is written in x because u rounds to 1 for x > 8.3.

    Attributes
    ----------
    name : str
        The name of u.
    variable : str
        The name of c u; that of u if c is 1.
    n : int
    a, b, scale : float
        c is ``scale``.
    """

    name: str
    variable: str
    n: int
    a: float
    b: float
    scale: float

    @property
    @override
    def start(self) -> np.ndarray:
        return np.zeros(self.n)

    @override
    def deterministics(self, free: Values) -> Values:
        return {} if self.name == self.variable else {self.variable: self.scale * free[self.name]}

    @override
    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        log_normal, below, above = -0.5 * (x**2 + LOG_2PI), log_ndtr(x), log_ndtr(-x)
        gradient = (self.a - 1.0) * np.exp(log_normal - below)
        gradient -= (self.b - 1.0) * np.exp(log_normal - above)
        gradient -= x
        value = (self.a - 1.0) * below + (self.b - 1.0) * above + log_normal
        return value.sum(axis=1) - self.n * betaln(self.a, self.b), gradient

    @override
    def log_prior(self, free: Values) -> np.ndarray:
        from scipy.stats import beta

        return beta.logpdf(free[self.name], self.a, self.b).sum(axis=1)

    @override
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        return {self.name: np.clip(rng.beta(self.a, self.b, (n, self.n)), *SHARES)}


@dataclass(frozen=True, eq=False)
class OnCube(Probits):
    """Independent normal variables on [0, 1].

    Attributes
    ----------
    name : str
    mean : ndarray of shape (n,)
    sd : float
    """

    name: str
    mean: np.ndarray
    sd: float

    @property
    @override
    def start(self) -> np.ndarray:
        return np.zeros(len(self.mean))

    @property
    def _law(self) -> Any:
        """The distribution of SciPy."""
        from scipy.stats import truncnorm

        return truncnorm(-self.mean / self.sd, (1.0 - self.mean) / self.sd, self.mean, self.sd)

    @cached_property
    def _constant(self) -> float:
        """The log density at the mean, without the bounds."""
        at = np.clip(self.mean, 0.0, 1.0)
        return float((self._law.logpdf(at) + ((at - self.mean) / self.sd) ** 2 / 2).sum())

    def _of_alpha(self, alpha: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log density of the variable, and its gradient by the variable."""
        e = alpha - self.mean
        gradient = -e / self.sd**2
        return np.vecdot(gradient, e) / 2 + self._constant, gradient

    @override
    def value_and_gradient(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = self._of_alpha(self.free(x))
        log_normal = -0.5 * (x**2 + LOG_2PI)
        return value + log_normal.sum(axis=1), gradient * np.exp(log_normal) - x

    @override
    def log_prior(self, free: Values) -> np.ndarray:
        alpha = free[self.name]
        inside = ((alpha >= 0.0) & (alpha <= 1.0)).all(axis=1)
        return np.where(inside, self._of_alpha(alpha)[0], -np.inf)

    @override
    def draw(self, n: int, rng: np.random.Generator) -> Values:
        return {self.name: self._law.rvs((n, len(self.mean)), random_state=rng)}
