r"""BDD-M without each row in turn: kernel sums and weights of the draws of one fit.

The posterior without row j is again alpha1 on the cube and alpha0 given alpha1, as in
:mod:`.bdd_m_posterior`. Its alpha0 given alpha1 is normal on a hyperplane, so each draw
of the fit keeps its alpha1 and gets the alpha0 that belongs to it; and the draw counts by

.. math:: \omega_j \propto \frac{f_j(\alpha_1)}{f(\alpha_1)},

the ratio of the densities of alpha1 without row j and with it (importance weights). Nothing
else is approximate: the weights are exact, and with more draws so are their quantiles.

A minority row only leaves the dictionary. Where its weight is 0 the other weights have the
posterior without it, so that by the rule of Savage and Dickey

.. math:: \omega_j \propto \frac{p(\alpha_{1j} = 0 \mid \alpha_{1,-j}, x)}
    {N(0 \mid \text{the prior of } \alpha_{1j} \text{ given } \alpha_{1,-j})}

with a normal on [0, 1] above, and a constant below where the minority weights are independent.
A majority row leaves the likelihood too: ``_majority``.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import log_ndtr

from . import factor
from .bdd_m_posterior import Posterior, posterior
from .geometry import squared_norm
from .gram import Gram
from .left_out import WithoutEach, kernel_sums
from .priors import GaussianPrior, TruncatedNormal


def leave_one_out(
    gram: Gram,
    prior: GaussianPrior,
    minority_prior: TruncatedNormal,
    likelihood_scale: float,
    w: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the kernel sums (draws, M) of points with the centre without them, and log weights.

    The posteriors are those of fits to the other rows whose priors have the means and covariances
    of their weights; a mean of row sums, for instance, is that of all rows. Where row j is the
    only majority point there is no centre without it, and its kernel sum is minus infinity.

    Parameters
    ----------
    gram : Gram
        Whose points are rows.
    prior, minority_prior, likelihood_scale
        As in :func:`.bdd_m_posterior.posterior`.
    w : ndarray of shape (draws, M)
        Draws of the posterior.
    rng : Generator
    """
    form = posterior(gram, prior, minority_prior, likelihood_scale)
    majority = _majority(gram, prior, minority_prior, likelihood_scale, form, w, rng)
    minority = _minority(gram, minority_prior, form, w)
    f, log_weight = (np.hstack(both) for both in zip(majority, minority, strict=True))
    return f, log_weight


def _minority(
    gram: Gram, prior: TruncatedNormal, form: Posterior, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Leave out minority rows: alpha1_j goes to 0, and alpha0 follows by its slope."""
    m, n1 = gram.n_majority_points, gram.n1
    alpha1 = -w[:, m:]
    there = np.vstack([-form.slope, np.eye(n1)])
    f = kernel_sums(gram.K, w, [(alpha1, there)], np.arange(m, m + n1))
    precision, P = np.diag(form.precision1), prior.precision(gram)
    mean = alpha1 - (alpha1 @ form.precision1 - form.shift1) / precision  # given the others
    prior_mean = alpha1 - (alpha1 - prior.location(gram)) @ P / np.diag(P)
    return f, _log_density_at_zero(mean, precision) + prior_mean**2 * np.diag(P) / 2


def _log_density_at_zero(mean: np.ndarray, precision: np.ndarray) -> np.ndarray:
    """Return log N(0 | mean, 1/precision) on [0, 1], but for a constant."""
    root = np.sqrt(precision)
    low, high = -mean * root, (1.0 - mean) * root
    flip = low > 0.0  # to the tail where Phi is small, and keeps its digits
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    log_mass = log_ndtr(high) + np.log(-np.expm1(log_ndtr(low) - log_ndtr(high)))
    return -(mean**2) * precision / 2 - log_mass


def _majority(
    gram: Gram,
    prior: GaussianPrior,
    minority_prior: TruncatedNormal,
    likelihood_scale: float,
    form: Posterior,
    w: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Leave out majority rows, from the dictionary and from the likelihood.

    With :math:`\Sigma_j` and P of :mod:`.left_out`, alpha0 given alpha1 is normal given its sum
    :math:`s = 1 + 1^\top \alpha_1`; without that condition its covariance is :math:`\Sigma_j`
    and its mean

    .. math::
        \mu_j = \Sigma_j (y - g_j), \quad
        y = \lambda r_0 + P m + \lambda (n_0 - 1) K_{01} \alpha_1, \quad
        g_j = \lambda K_{\cdot j} + P_{\cdot j} P_{j \cdot} m / P_{jj},

    and the density of alpha1 is

    .. math::
        f_j \propto p(\alpha_1) \exp\left(-\lambda \alpha_1^\top (r_1 - K_{1j}) -
        \tfrac{\lambda (n_0 - 1)}{2} \alpha_1^\top K_{11} \alpha_1 + \tfrac12 (y - g_j)^\top
        \Sigma_j (y - g_j)\right) \frac{N(s \mid 1^\top \mu_j, 1^\top \Sigma_j 1)}
        {N(s \mid 1^\top m_{-j}, 1^\top \Sigma_{-j,-j} 1)}.
    """
    m, scale = gram.n_majority_points, likelihood_scale
    K, r = gram.K, gram.r
    alpha1 = -w[:, m:]
    s = 1.0 + alpha1.sum(axis=1, keepdims=True)
    if m == 1:
        return np.full(s.shape, -np.inf), np.zeros(s.shape)
    P, mean = prior.precision(gram), prior.mean(gram)
    upper = factor.upper(form.precision0 - scale * K[:m, :m], "BDD-M")
    without = WithoutEach.of(upper, P)
    b, q, root_jj = without.b, without.q, np.sqrt(np.diag(without.S))
    e = without.times(scale * K[:m, :m] + P * (P @ mean / np.diag(P)))  # Sigma_j g_j
    S1 = without.S.sum(axis=1, keepdims=True)
    gain = S1 - b * b.sum(axis=0) + q * q.sum(axis=0)  # Sigma_j 1
    total = gain.sum(axis=0)
    y = scale * r[:m] + P @ mean + scale * (gram.n0 - 1) * alpha1 @ K[m:, :m]

    def sums(base: np.ndarray, on_b: np.ndarray, on_q: np.ndarray) -> np.ndarray:
        of_base = base.sum(axis=1, keepdims=True)
        return of_base + on_b * b.sum(axis=0) + on_q * q.sum(axis=0) - e.sum(axis=0)

    # mu_j = Sy - (b_j'y) b_j + (q_j'y) q_j - e_j
    Sy = y @ without.S
    by, qy = Sy / root_jj, y @ q
    quadratic = (y * Sy).sum(axis=1, keepdims=True) - by**2 + qy**2 - 2.0 * y @ e
    Sigma = prior.covariance(gram)
    prior_total = Sigma.sum() - 2.0 * Sigma.sum(axis=0) + np.diag(Sigma)
    of_others = squared_norm(alpha1 - minority_prior.location(gram), minority_prior.precision(gram))
    of_others += scale * (gram.n0 - 1) * squared_norm(alpha1, K[m:, m:])
    log_f_j = (
        -of_others[:, None] / 2
        - scale * alpha1 @ (r[m:, None] - K[m:, :m])
        + quadratic / 2
        - (s - sums(Sy, -by, qy)) ** 2 / (2 * total)
        + (s - mean.sum() + mean) ** 2 / (2 * prior_total)
    )
    log_f = alpha1 @ form.shift1 - squared_norm(alpha1, form.precision1) / 2

    x = Sy + _noise(form, upper, w, rng)
    on_b, on_q = -x / root_jj, qy + rng.standard_normal((len(w), 1))
    lacking = s - sums(x, on_b, on_q)
    moves = [(on_b, b), (on_q, q), (np.full((1, 1), -1.0), e), (lacking / total, gain)]
    nothing = np.zeros((gram.n1, m))
    moves = [(c, np.vstack([B, nothing])) for c, B in moves]
    f = kernel_sums(K, np.hstack([x, -alpha1]), moves, np.arange(m))
    return f, log_f_j - log_f[:, None]


def _noise(
    form: Posterior, upper: np.ndarray, w: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    r"""Return draws (draws, m) of N(0, S), made of the noise in draws of the posterior.

    The noise of alpha0 has no sum; with a draw of what its sum had been it is normal with the
    precision Lambda_0, and another factor makes its precision that of n0 - 1 rows. So what moves
    all distances of a draw alike moves those of left-out rows too.
    """
    m = len(form.base)
    root = factor.upper(form.precision0, "BDD-M")
    gain = cho_solve((root, False), np.ones(m))
    noise = w[:, :m] - form.base + w[:, m:] @ form.slope.T
    noise += rng.standard_normal((len(w), 1)) * gain / np.sqrt(gain.sum())
    return solve_triangular(upper, root @ noise.T).T
