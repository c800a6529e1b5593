r"""The posterior of BDD-M in closed form, for a truncated normal prior of alpha1.

:math:`\alpha_1` is normal on a cube, and :math:`\alpha_0` given :math:`\alpha_1` is normal on its
hyperplane; the model is in :mod:`.bdd_m`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve, solve, solve_triangular
from scipy.optimize import lsq_linear

from . import factor
from .geometry import squared_norm
from .gram import Gram
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
    factor.require_digits(factor.upper(precision0, "BDD-M"), gram, prior, "BDD-M")
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

    The chains of alpha1 are those of :mod:`.truncated`; alpha0 is drawn independently each time.
    """
    from . import truncated  # numba, which takes its time to import

    alpha1 = truncated.draw(form.precision1, form.shift1, draws, tune, chains, rng)
    upper = factor.upper(form.precision0, "BDD-M")
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
    upper = factor.upper(form.precision1, "BDD-M")
    target = solve_triangular(upper, form.shift1, trans="T")
    solved = lsq_linear(upper, target, bounds=(0.0, 1.0), method="bvls", tol=1e-14)
    if not solved.success:
        raise RuntimeError(
            f"the mode of BDD-M was not found in {solved.nit} iterations ({solved.message}); use a "
            "smaller likelihood_scale, or a smaller sd of minority_prior"
        )
    return form.weights(solved.x)


def require_normal(prior: Prior) -> GaussianPrior:
    """Return the prior of alpha0, or raise a TypeError if it is not normal."""
    if not isinstance(prior, GaussianPrior):
        raise TypeError(
            "prior of alpha0: BDD-M conditions a normal prior on the sum of its weights; expected "
            f"priors.Flat, RowSum, StandardizedRowSum, Normal or GraphLaplacian, got {prior!r}"
        )
    return prior
