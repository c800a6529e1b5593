r"""The centre of random row weights: draws whose spread is that of samples from the population.

The posterior of a quasi-likelihood has no frequency meaning: with :math:`\lambda = 1` its intervals
are several times too wide for BDD. Two steps give the draws a meaning.

**The weight of the likelihood.** With a flat prior the posterior of :math:`d_z^2` has about the
variance :math:`4 \|\Pi \varphi_z - a\|^2 / (\lambda n_0)`, with :math:`\Pi` the projection on the
span of the training rows; over samples of n0 rows, the variance is
:math:`4 \operatorname{Var}_x \langle \varphi_z - a, \varphi_x \rangle / n_0`. They are equal for

.. math::
    \lambda = \operatorname{median}_z \frac{\|\Pi \varphi_z - a\|^2}
    {\operatorname{Var}_x \langle \varphi_z - a, \varphi_x \rangle},

where each training row z is left out of the other rows. This :math:`\lambda` is then multiplied by
:math:`\sqrt{10}` until the prior moves :math:`d_z^2` by less than a tenth of its standard error.

**The spread in each direction.** One number cannot match the spread in all directions, so the draws
are those of the weighted likelihood bootstrap (Newton and Raftery 1994; Lyddon, Holmes and Walker
2019): row i counts :math:`n_0 \pi_i` times in the likelihood, in the dictionary and in the prior's
mean, with :math:`\pi \sim \mathrm{Dirichlet}(1, \dots, 1)`, and the draw is the posterior mode, by
one Newton step.

A row is similar to itself, which adds about :math:`1 / n_0` to the norm of every centre of
training rows. The norm of the population's centre has no such term, so pairs of equal rows are left
out, see :func:`norm_of_pairs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize
from scipy.special import softmax

from . import bdd, factor
from .geometry import squared_norm
from .gram import Gram
from .priors import GaussianPrior, Prior
from .priors.gaussian import CorrelatedPrior

PULL = 0.1  # of the prior on d_z^2, in standard errors, that is accepted
STEP, MOST_STEPS = 10.0**0.5, 8
ACCURACY, MOST_ITERATIONS = 1e-8, 1000  # of the search for the mode
JITTER = 1e-10  # of the projection, relative to the largest kernel value


NOT_INDEPENDENT = (
    "the prior must be an independent normal one (priors.Flat, RowSum, StandardizedRowSum or "
    "InverseRowSum), got {!r}"
)


def _is_independent(prior: Prior) -> TypeGuard[GaussianPrior]:
    return isinstance(prior, GaussianPrior) and not isinstance(prior, CorrelatedPrior)


def _independent(prior: Prior) -> GaussianPrior:
    """Return the prior; a TypeError if it is not independent and normal."""
    if not _is_independent(prior):
        raise TypeError(NOT_INDEPENDENT.format(prior))
    return prior


class Weights(Protocol):
    """The posterior mode of the weights, and the mode when rows get random weights."""

    @property
    def mode(self) -> np.ndarray:
        """The weights at the mode, shape (M,)."""
        ...

    def draw(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """Return the modes for the shares of the rows, (draws, n0), by name of the variable."""
        ...


@dataclass(frozen=True, eq=False)
class Calibrated:
    r"""The weight of the likelihood, and the weights of the centre under it.

    Attributes
    ----------
    scale : float
        lambda.
    ratio : float
        The ratio of the variances with :math:`\lambda = 1` and a flat prior, median over rows.
    pull : float
        The median change of :math:`d_z^2` by the prior, in standard errors.
    weights : Weights
    gram : Gram
    """

    scale: float
    ratio: float
    pull: float
    weights: Weights
    gram: Gram

    @classmethod
    def of(cls, gram: Gram, make: Callable[[float], Weights]) -> Calibrated:
        """Return the smallest lambda of the sequence where the prior pulls little enough."""
        d2, variance = _left_out(gram, np.full(gram.n0, 1.0 / gram.n0)), sampling_variance(gram)
        ratio = variance_ratio(gram)
        error = 2.0 * np.sqrt(variance / gram.n0)

        def at(scale: float) -> Calibrated:
            weights = make(scale)
            pull = float(np.median(np.abs(_left_out(gram, weights.mode) - d2) / error))
            return cls(scale, ratio, pull, weights, gram)

        found, steps = at(ratio), 0
        while found.pull > PULL and steps < MOST_STEPS:
            found, steps = at(found.scale * STEP), steps + 1
        return found

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return ``size`` draws of the variables, with the squared norm of their centres."""
        variables = self.weights.draw(rng.dirichlet(np.ones(self.gram.n0), size))
        return variables | {"squared_norm": norm_of_pairs(variables["w"], self.gram.K)}


def reason_against(gram: Gram, prior: Prior) -> str | None:
    """Return why lambda cannot be calibrated for this dictionary and prior, or None if it can."""
    if not _is_independent(prior):
        return NOT_INDEPENDENT.format(prior)
    if gram.n_points != gram.n0:
        return "every majority row must be a point of the centre, so dictionary must be None"
    if gram.n0 < 3 or not (sampling_variance(gram) > 0.0).all():
        return "the kernel values of the rows do not vary"
    return None


def norm_of_pairs(w: np.ndarray, K: np.ndarray) -> np.ndarray:
    r"""Return the squared norm of the centre from pairs of different rows, (..., M) -> (...).

    .. math:: \frac{\sum_{i \ne j} w_i w_j k_{ij}}{1 - \sum_i v_i^2}, \qquad
        v = w / \textstyle\sum_j w_j

    For equal weights this is the U-statistic, without bias for the norm of the population's mean.
    """
    own = np.square(w)
    share = own.sum(axis=-1) / np.square(w.sum(axis=-1))
    value: np.ndarray = (squared_norm(w, K) - own @ np.diag(K)) / (1.0 - share)
    return value


def _others(K: np.ndarray) -> np.ndarray:
    others = K.copy()
    np.fill_diagonal(others, 0.0)
    return others


def _left_out(gram: Gram, w: np.ndarray) -> np.ndarray:
    """Return d_z^2 of each row, up to k(z, z), from the centre of the other rows."""
    total = w.sum()
    f = (_others(gram.K) @ w) * (total / (total - w))
    return norm_of_pairs(w, gram.K) - 2.0 * f


def sampling_variance(gram: Gram) -> np.ndarray:
    r"""Return :math:`\operatorname{Var}_x \langle \varphi_z - a, \varphi_x \rangle`, shape (n0,).

    a is the mean of the rows, and x runs over the rows other than z.
    """
    n, others = gram.n0, _others(gram.K)
    f = others.sum(axis=1) / (n - 1)  # of each row with the centre of the others
    A = others - f
    np.fill_diagonal(A, 0.0)
    mean = A.sum(axis=1) / (n - 1)
    value: np.ndarray = np.square(A).sum(axis=1) / (n - 1) - mean**2
    return value


def variance_ratio(gram: Gram) -> float:
    r"""Return the median ratio of the variances, posterior to sampling, for lambda = 1.

    .. math:: \|\Pi_{-z} \varphi_z - a\|^2 = k_{zz} - 1 / (K^{-1})_{zz} - 2 f_z + \|a\|^2
    """
    n, K = gram.n0, gram.K
    inverse = cho_solve(cho_factor(K + JITTER * gram.largest * n * np.eye(n)), np.eye(n))
    d2 = _left_out(gram, np.full(n, 1.0 / n))
    projected = np.diag(K) - 1.0 / np.diag(inverse) + d2
    return float(np.median(np.maximum(projected, 0.0) / sampling_variance(gram)))


def _with_shares(gram: Gram, prior: GaussianPrior, shares: np.ndarray) -> np.ndarray:
    """Return the prior's mean for shares of the rows, shape (..., n0)."""
    r = gram.n0 * shares @ gram.K
    return np.apply_along_axis(lambda each: prior.mean(replace(gram, r=each)), -1, r)


@dataclass(frozen=True, eq=False)
class FreeWeights:
    r"""The weights of BDD.

    With row i counted :math:`n_0 \pi_i = 1 + \epsilon_i` times, the mode moves by

    .. math:: \Lambda^{-1} \left(\lambda K \epsilon + \Sigma^{-1} (\epsilon \hat w + \delta m)
        \right), \qquad \Lambda = \lambda n_0 K + \Sigma^{-1},

    to first order, with :math:`\delta m` the change of the prior's mean.
    """

    gram: Gram
    prior: GaussianPrior
    scale: float
    mode: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, gram: Gram, prior: Prior, scale: float) -> FreeWeights:
        """Return the weights with lambda = ``scale``."""
        return cls(gram, _independent(prior), scale, *bdd.posterior(gram, prior, scale))

    def draw(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """Return the modes for the shares of the rows."""
        gram, prior = self.gram, self.prior
        e = gram.n0 * shares - 1.0
        moved = e * self.mode + _with_shares(gram, prior, shares) - prior.mean(gram)
        shift = self.scale * e @ gram.K + float(prior.sd) ** -2 * moved
        w = self.mode + cho_solve((self.upper, False), shift.T).T
        return {"w": w, "alpha": w}


@dataclass(frozen=True, eq=False)
class SoftmaxWeights:
    r"""The weights of BSVDD, :math:`w = \mathrm{softmax}(\beta)`.

    With row i counted :math:`n_0 \pi_i` times, the log weights :math:`\beta` minimise

    .. math:: \frac{\lambda n_0}{2} \left(w^\top K w - 2 w^\top K \pi\right) + \frac{1}{2 \sigma^2}
        \sum_i n_0 \pi_i \left(\beta_i - \log n_0 \pi_i - m_i(\pi)\right)^2.

    The draw is one Newton step from :math:`\hat\beta + \log n_0 \pi`, with the Hessian at
    :math:`\hat\beta`.
    """

    gram: Gram
    prior: GaussianPrior
    scale: float
    beta: np.ndarray

    @classmethod
    def of(cls, gram: Gram, prior: Prior, scale: float) -> SoftmaxWeights:
        """Return the weights with lambda = ``scale``, by a search from the prior's mean."""
        prior = _independent(prior)
        m, precision, equal = prior.mean(gram), float(prior.sd) ** -2, np.ones(gram.n0) / gram.n0

        def loss(beta: np.ndarray) -> tuple[float, np.ndarray]:
            at, w = cls(gram, prior, scale, beta), softmax(beta)
            fit = scale / 2 * (gram.n0 * squared_norm(w, gram.K) - 2 * w @ gram.r)
            return float(fit + precision / 2 * np.square(beta - m).sum()), at.gradient(beta, equal)

        found = minimize(
            loss,
            m,
            method="trust-ncg",
            jac=True,
            hessp=lambda beta, v: cls(gram, prior, scale, beta).hessian_times(v),
            options={"gtol": ACCURACY * precision, "maxiter": MOST_ITERATIONS},
        )
        return cls(gram, prior, scale, found.x)

    @property
    def mode(self) -> np.ndarray:
        """The weights at the mode."""
        w: np.ndarray = softmax(self.beta)
        return w

    def gradient(self, beta: np.ndarray, shares: np.ndarray) -> np.ndarray:
        """Return the gradient of the loss at log weights (..., n0), for shares of the rows."""
        n, prior = self.gram.n0, self.prior
        w = softmax(beta, axis=-1)
        residual = self.scale * n * (w - shares) @ self.gram.K
        m = _with_shares(self.gram, prior, shares)
        deviation = n * shares * (beta - np.log(n * shares) - m)
        fit = w * (residual - (w * residual).sum(axis=-1, keepdims=True))
        gradient: np.ndarray = fit + float(prior.sd) ** -2 * deviation
        return gradient

    def hessian_times(self, v: np.ndarray) -> np.ndarray:
        """Return the product of the Hessian of the loss, for equal shares, with v (n0, ...)."""
        gram, w = self.gram, self.mode
        u = w * (self.scale * (gram.n0 * gram.K @ w - gram.r))  # of the likelihood's curvature
        u -= w * u.sum()
        columns = v.reshape(len(w), -1)

        def turned(x: np.ndarray) -> np.ndarray:  # (diag(w) - w w') x
            return w[:, None] * (x - w @ x)

        product = self.scale * gram.n0 * turned(gram.K @ turned(columns))
        product += u[:, None] * columns - np.outer(w, u @ columns) - np.outer(u, w @ columns)
        product += float(self.prior.sd) ** -2 * columns
        return product.reshape(v.shape)

    def draw(self, shares: np.ndarray) -> dict[str, np.ndarray]:
        """Return the modes for the shares of the rows."""
        n = self.gram.n0
        shares = np.maximum(shares, np.finfo(float).tiny)
        start = self.beta + np.log(n * shares)
        upper = factor.upper(self.hessian_times(np.eye(n)), "BSVDD")
        beta = start - cho_solve((upper, False), self.gradient(start, shares).T).T
        return {"w": softmax(beta, axis=-1), "beta": beta}
