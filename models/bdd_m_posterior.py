r"""The posterior of BDD-M in closed form, for a truncated normal prior of alpha1.

:math:`\alpha_1` is normal on a cube, and :math:`\alpha_0` given :math:`\alpha_1` is normal on its
hyperplane; the model is in :mod:`.bdd_m`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve, solve_triangular
from scipy.optimize import lsq_linear
from scipy.special import log_ndtr

from .geometry import squared_norm
from .gram import Gram
from .linear_algebra import WithoutEach, cholesky_factor, kernel_sums, require_digits
from .priors import GaussianPrior, Prior, TruncatedNormal


@dataclass(frozen=True, eq=False)
class Posterior:
    r"""The posterior for a truncated normal prior of alpha1.

    .. math::
        \alpha_1 \sim N(\Lambda_1^{-1} s_1, \Lambda_1^{-1}) \text{ on } [0, 1]^{n_1}, \qquad
        \alpha_0 \mid \alpha_1 \sim N(a + B \alpha_1, \Lambda_0^{-1}) \text{ given } 1^\top
        \alpha_0 = 1 + 1^\top \alpha_1

    Attributes
    ----------
    precision1 : ndarray of shape (n1, n1)
        Lambda_1.
    shift1 : ndarray of shape (n1,)
        s_1.
    base : ndarray of shape (M - n1,)
        a; the sums of a and of each column of B meet the condition.
    slope : ndarray of shape (M - n1, n1)
        B.
    precision0 : ndarray of shape (M - n1, M - n1)
        Lambda_0.
    """

    precision1: np.ndarray
    shift1: np.ndarray
    base: np.ndarray
    slope: np.ndarray
    precision0: np.ndarray

    def weights(self, alpha1: np.ndarray) -> np.ndarray:
        """Return w of the most probable alpha0 given alpha1, (..., n1) -> (..., M)."""
        return np.concatenate([self.base + alpha1 @ self.slope.T, -alpha1], axis=-1)


def posterior(
    gram: Gram, prior: Prior, minority_prior: Prior, likelihood_scale: float = 1.0
) -> Posterior:
    r"""Return the posterior on the hyperplane and the box.

    Its minus log density is

    .. math::
        \tfrac12 w^\top H w - b^\top w, \quad
        H = \lambda n_0 K + Q, \quad b = \lambda r + Q \begin{pmatrix} m_1 \\ -m_2 \end{pmatrix},
        \quad Q = \begin{pmatrix} \Sigma_1^{-1} - \frac{1 1^\top}{1^\top \Sigma_1 1} & 0 \\
        0 & \Sigma_2^{-1} \end{pmatrix}.

    Given alpha1 it is least at an alpha0 that is linear in alpha1; what is left is a quadratic
    form in alpha1.

    Raises
    ------
    TypeError
        The prior of alpha0 is not normal, or that of alpha1 is not ``TruncatedNormal``.
    ValueError
        Its precision is singular in double precision.
    """
    prior = require_normal(prior)
    if not isinstance(minority_prior, TruncatedNormal):
        raise TypeError(
            "the closed form of BDD-M needs priors.TruncatedNormal for the minority, got "
            f"{minority_prior!r}; use draws with sampler='nuts'"
        )
    m, n1 = gram.n_majority_points, gram.n1
    Q = np.zeros((m + n1, m + n1))
    Q[:m, :m] = prior.precision(gram) - 1.0 / prior.covariance(gram).sum()
    Q[m:, m:] = minority_prior.precision(gram)
    H = likelihood_scale * gram.n0 * gram.K + Q
    b = likelihood_scale * gram.r + Q @ np.concatenate(
        [prior.mean(gram), -minority_prior.location(gram)]
    )
    precision0 = likelihood_scale * gram.n0 * gram.K[:m, :m] + prior.precision(gram)
    # else the system below has no digits either
    upper = cholesky_factor(precision0, "BDD-M")
    require_digits(upper, gram, prior.covariance(gram), prior.precision(gram), "BDD-M")
    # H00 alpha0 + c 1 = b0 + H01 alpha1, 1' alpha0 = 1 + 1' alpha1
    one = np.ones((m, 1))
    system = np.block([[H[:m, :m], one], [one.T, np.zeros((1, 1))]])
    right = np.ones((m + 1, 1 + n1))
    right[:m, 0], right[:m, 1:] = b[:m], H[:m, m:]
    base, slope = np.split(solve(system, right, assume_a="sym")[:m], [1], axis=1)
    # w = p + P alpha1
    p, P = np.concatenate([base[:, 0], np.zeros(n1)]), np.vstack([slope, -np.eye(n1)])
    return Posterior(P.T @ H @ P, P.T @ (b - H @ p), base[:, 0], slope, precision0)


def draw(
    form: Posterior, draws: int, tune: int, chains: int, rng: np.random.Generator
) -> np.ndarray:
    """Return draws of w, shape (chains, draws, M): chains of alpha1, and alpha0 given alpha1.

    The chains of alpha1 are exact (:mod:`.truncated_normal`); alpha0 is drawn anew each time.
    """
    from . import truncated_normal  # numba, which takes its time to import

    alpha1 = truncated_normal.draw(form.precision1, form.shift1, draws, tune, chains, rng)
    upper = cholesky_factor(form.precision0, "BDD-M")
    gain = cho_solve((upper, False), np.ones(len(upper)))
    noise = solve_triangular(upper, rng.standard_normal((len(upper), chains * draws)))
    x = form.base + alpha1 @ form.slope.T + noise.T.reshape(chains, draws, -1)
    lacking = 1.0 + alpha1.sum(axis=2) - x.sum(axis=2)
    alpha0 = x + lacking[..., None] * gain / gain.sum()
    return np.concatenate([alpha0, -alpha1], axis=2)


def log_prior_of_majority(gram: Gram, prior: Prior, w: np.ndarray) -> np.ndarray:
    r"""Return the log prior density of alpha0 given alpha1, of weights (..., M).

    .. math::
        \log p(\alpha_0 \mid \alpha_1) = \log N(\alpha_0; m_1, \Sigma_1) - \log N(1^\top \alpha_0;
        1^\top m_1, 1^\top \Sigma_1 1)
    """
    prior, alpha0 = require_normal(prior), w[..., : gram.n_majority_points]
    variance = prior.covariance(gram).sum()
    away = alpha0.sum(axis=-1) - prior.mean(gram).sum()
    log_total = -(away**2 / variance + np.log(2 * np.pi * variance)) / 2
    return prior.log_density(gram, alpha0) - log_total


def log_prior_of_minority(gram: Gram, prior: TruncatedNormal, w: np.ndarray) -> np.ndarray:
    r"""Return the log prior density of alpha1, but for its constant, of weights (..., M).

    .. math:: -\tfrac12 (\alpha_1 - m_2)^\top \Sigma_2^{-1} (\alpha_1 - m_2)
    """
    e = -w[..., gram.n_majority_points :] - prior.location(gram)
    return -squared_norm(e, prior.precision(gram)) / 2


def map_weights(
    gram: Gram, prior: Prior, minority_prior: Prior, likelihood_scale: float = 1.0
) -> np.ndarray:
    """Return the posterior mode, shape (M,): least squares of alpha1 on the box.

    Raises
    ------
    TypeError
        As :func:`posterior`.
    RuntimeError
        The least-squares solver does not converge.
    """
    form = posterior(gram, prior, minority_prior, likelihood_scale)
    if not gram.n1:
        return form.base
    upper = cholesky_factor(form.precision1, "BDD-M")
    target = solve_triangular(upper, form.shift1, trans="T")
    solved = lsq_linear(upper, target, bounds=(0.0, 1.0), method="bvls", tol=1e-14)
    if not solved.success:
        raise RuntimeError(
            f"the mode of BDD-M was not found in {solved.nit} iterations ({solved.message}); use a "
            "smaller likelihood_scale, or a smaller sd of minority_prior"
        )
    return form.weights(np.clip(solved.x, 0.0, 1.0))  # the solver may be 1e-17 outside


def require_normal(prior: Prior) -> GaussianPrior:
    """Return the prior of alpha0, or raise a TypeError if it is not normal."""
    if not isinstance(prior, GaussianPrior):
        raise TypeError(
            "prior of alpha0: BDD-M conditions a normal prior on the sum of its weights; expected "
            f"priors.Flat, RowSum, StandardizedRowSum, Normal or GraphLaplacian, got {prior!r}"
        )
    return prior


def leave_one_out(
    gram: Gram,
    prior: GaussianPrior,
    minority_prior: TruncatedNormal,
    likelihood_scale: float,
    w: np.ndarray,
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the kernel sums (draws, M) of points with the centre without them, and log weights.

    The posterior without row j is again alpha1 on the cube and alpha0 given alpha1, as in
    :class:`Posterior`. Its alpha0 given alpha1 is normal on a hyperplane, so each draw
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

    The posteriors are those of fits to the other rows whose priors have the means and covariances
    of their weights; a mean of row sums, for instance, is that of all rows. Where row j is the
    only majority point there is no centre without it, and its kernel sum is minus infinity.

    Parameters
    ----------
    gram : Gram
        Whose points are rows.
    prior, minority_prior, likelihood_scale
        As in :func:`posterior`.
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

    With :math:`\Sigma_j` and P of :class:`.WithoutEach`, alpha0 given alpha1 is normal given its
    sum :math:`s = 1 + 1^\top \alpha_1`; without that condition its covariance is
    :math:`\Sigma_j` and its mean

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
    upper = cholesky_factor(form.precision0 - scale * K[:m, :m], "BDD-M")
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
    root = cholesky_factor(form.precision0, "BDD-M")
    gain = cho_solve((root, False), np.ones(m))
    noise = w[:, :m] - form.base + w[:, m:] @ form.slope.T
    noise += rng.standard_normal((len(w), 1)) * gain / np.sqrt(gain.sum())
    return solve_triangular(upper, root @ noise.T).T
