r"""Draws of a centre whose spread is that of samples from the population.

The posterior of a quasi-likelihood has no frequency meaning. With :math:`\lambda = 1` intervals of
:math:`d_z` are several times too wide for BDD and, as draws scatter in all directions of kernel
space, shifted by :math:`\operatorname{tr}(K \Sigma)` in :math:`d_z^2` on average, with
:math:`\Sigma` the posterior covariance of w. Three steps give the draws a meaning.

**The weight of the likelihood.** With a flat prior and free weights the posterior of :math:`d_z^2`
has the variance :math:`4 \|\Pi \varphi_z - a\|^2 / (\lambda n_0)`, with :math:`\Pi` the projection
on the span of the training rows; over samples of n0 rows, the variance is
:math:`4 \operatorname{Var}_x \langle \varphi_z - a, \varphi_x \rangle / n_0`. They are equal for

.. math::
    \lambda = \operatorname{median}_z \frac{\|\Pi \varphi_z - a\|^2}
    {\operatorname{Var}_x \langle \varphi_z - a, \varphi_x \rangle},

where each training row z is left out of the other rows. This :math:`\lambda` is then multiplied by
:math:`\sqrt{10}`, at most 8 times, until the prior moves :math:`d_z^2` by less than a tenth of its
standard error, in the median over the rows.

**The spread in each direction.** One number cannot match the spread in all directions. So the draws
are those of the Bayesian bootstrap (Rubin 1981) of the posterior mode :math:`\hat w`: row i counts
:math:`n_0 \pi_i` times,

.. math:: w_i = n_0 \pi_i \hat w_i, \qquad \pi \sim \mathrm{Dirichlet}(1, \dots, 1),

divided by their sum for weights on the simplex. This is the loss-likelihood bootstrap of Lyddon,
Holmes and Walker (2019) where the prior moves nothing.

**The norm.** A row is similar to itself, which adds about :math:`2 / n_0` to the squared norm of
each drawn centre. The norm of the population's centre has no such term, so pairs of a row with
itself are left out, see :func:`norm_of_pairs`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from .gram import Gram, squared_norm
from .priors import GaussianPrior, Prior

PULL = 0.1  # of the prior on d_z^2, in standard errors, that is accepted
STEP, MOST_STEPS = 10.0**0.5, 8
MOST_RATIO = 1e6  # where rows are similar to none but themselves, the ratio has no limit
JITTER = 1e-10  # of the projection, relative to the largest kernel value

Mode = Callable[[float], np.ndarray]  # the weights at the posterior mode, from lambda


@dataclass(frozen=True, eq=False)
class Calibrated:
    r"""The weight of the likelihood, and the weights of the centre under it.

    Attributes
    ----------
    gram : Gram
        Whose points are the majority rows.
    scale : float
        lambda.
    ratio : float
        The ratio of the variances with :math:`\lambda = 1` and a flat prior, median over rows.
    pull : float
        The median change of :math:`d_z^2` by the prior, in standard errors.
    mode : ndarray of shape (n0,)
        The weights at the posterior mode.
    on_simplex : bool
        Whether the weights are at least 0 and sum to one.
    """

    gram: Gram
    scale: float
    ratio: float
    pull: float
    mode: np.ndarray
    on_simplex: bool

    @classmethod
    def of(cls, gram: Gram, mode: Mode, on_simplex: bool) -> Calibrated:
        """Return the smallest lambda of the sequence where the prior pulls little enough."""
        ratio, equal = variance_ratio(gram), np.full(gram.n0, 1.0 / gram.n0)
        d2 = _left_out(gram, equal, equal)
        error = 2.0 * np.sqrt(sampling_variance(gram) / gram.n0)

        def at(scale: float) -> Calibrated:
            w = mode(scale)
            moved = _left_out(gram, w, w if on_simplex else equal)
            pull = float(np.median(np.abs(moved - d2) / error))
            return cls(gram, scale, ratio, pull, w, on_simplex)

        found, steps = at(ratio), 0
        while found.pull > PULL and steps < MOST_STEPS:
            found, steps = at(found.scale * STEP), steps + 1
        return found

    def draw(self, size: int, rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Return ``size`` draws of the weights, and the squared norms of their centres."""
        shares = rng.dirichlet(np.ones(self.gram.n0), size)
        w = self.gram.n0 * shares * self.mode
        if self.on_simplex:
            w /= w.sum(axis=1, keepdims=True)
            shares = w
        return {"w": w, "squared_norm": norm_of_pairs(w, shares, self.gram.K)}


def reason_against(gram: Gram, prior: Prior) -> str | None:
    """Return why lambda cannot be calibrated for this dictionary and prior, or None if it can."""
    if not isinstance(prior, GaussianPrior):
        return f"the prior must be normal, such as priors.Flat or InverseRowSum, got {prior!r}"
    if gram.n_points != gram.n0 or not np.allclose(gram.r, gram.K.sum(axis=1)):
        return "the points of the centre must be the majority rows, so dictionary must be None"
    if gram.n0 < 3 or not (sampling_variance(gram) > 0.0).all():
        return "the kernel values of the rows do not vary"
    return None


def norm_of_pairs(w: np.ndarray, shares: np.ndarray, K: np.ndarray) -> np.ndarray:
    r"""Return the squared norm of the centre from pairs of different rows, (..., n0) -> (...).

    .. math::
        w^\top K w + s^2 \left(U - \pi^\top K \pi\right), \qquad
        U = \frac{\sum_{i \ne j} \pi_i \pi_j k_{ij}}{1 - \sum_i \pi_i^2}, \qquad
        s = \textstyle\sum_j w_j

    with :math:`\pi` the shares of the rows, which sum to one. For :math:`w = \pi` it is U; for
    equal weights U is the U-statistic, without bias for the norm of the population's mean. Free
    weights of one centre can differ where K is nearly singular, and then
    :math:`\sum_i w_i^2 k_{ii}` says nothing of the centre; the shares do.
    """
    total, own = squared_norm(shares, K), np.square(shares) @ np.diag(K)
    of_pairs = (total - own) / (1.0 - np.square(shares).sum(axis=-1))
    return squared_norm(w, K) + np.square(w.sum(axis=-1)) * (of_pairs - total)


def _others(K: np.ndarray) -> np.ndarray:
    others = K.copy()
    np.fill_diagonal(others, 0.0)
    return others


def _left_out(gram: Gram, w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return d_z^2 of each row, up to k(z, z), from the centre of the other rows."""
    f = (_others(gram.K) @ w) / (1.0 - shares)
    return norm_of_pairs(w, shares, gram.K) - 2.0 * f


def sampling_variance(gram: Gram) -> np.ndarray:
    r"""Return :math:`\operatorname{Var}_x \langle \varphi_z - a, \varphi_x \rangle`, shape (n0,).

    x runs over the rows other than z, and a is the mean of the rows other than x.
    """
    n, others = gram.n0, _others(gram.K)
    A = others - others.sum(axis=1) / (n - 1)
    np.fill_diagonal(A, 0.0)
    mean = A.sum(axis=1) / (n - 1)
    return np.square(A).sum(axis=1) / (n - 1) - mean**2


def variance_ratio(gram: Gram) -> float:
    r"""Return the median ratio of the variances, posterior to sampling, for lambda = 1.

    .. math:: \|\Pi_{-z} \varphi_z - a_{-z}\|^2 = k_{zz} - 1 / (K^{-1})_{zz} - 2 f_z + \|a_{-z}\|^2

    It is at most ``MOST_RATIO``.
    """
    n, K = gram.n0, gram.K
    inverse = cho_solve(cho_factor(K + JITTER * gram.largest * n * np.eye(n)), np.eye(n))
    own, sums = np.diag(K), K.sum(axis=1)
    f = (sums - own) / (n - 1)
    norm = (sums.sum() - 2.0 * sums + own) / (n - 1) ** 2
    projected = np.maximum(own - 1.0 / np.diag(inverse) - 2.0 * f + norm, 0.0)
    return min(float(np.median(projected / sampling_variance(gram))), MOST_RATIO)
