r"""BDD, Bayesian data description (Ghasemi et al. 2012).

.. math::
    w = \alpha, \qquad \alpha \sim N(m, \Sigma), \qquad
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2

With a normal prior the posterior is normal too, with

.. math::
    \Lambda = \lambda n_0 K + \Sigma^{-1}, \qquad
    \alpha \mid x \sim N\left(\Lambda^{-1} (\lambda r + \Sigma^{-1} m),\; \Lambda^{-1}\right).

Its weights do not sum to one. The mode on the simplex (sum 1, all at least 0) is another
estimator, a quadratic program.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from . import qp
from .gram import Gram
from .potential import kernel_potential
from .priors import GaussianPrior, Prior
from .variable import make_variable

if TYPE_CHECKING:
    import pymc as pm


def build(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> pm.Model:
    """Build the model of the weights ``w``.

    Parameters
    ----------
    gram : Gram
        Statistics of the majority rows; without minority points.
    prior : prior of alpha
    likelihood_scale : float, default=1
        lambda.
    """
    import pymc as pm

    with pm.Model(coords={"point": range(gram.n_points)}) as model:
        alpha = make_variable(prior, gram, "alpha", "point")
        w = pm.Deterministic("w", alpha, dims="point")
        kernel_potential(w, gram, likelihood_scale)
    return model


def natural_parameters(
    gram: Gram, prior: Prior, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\Lambda` and :math:`\lambda r + \Sigma^{-1} m` of the normal posterior.

    Raises
    ------
    TypeError
        The prior is not normal.
    """
    if not isinstance(prior, GaussianPrior):
        raise TypeError(
            "the closed form of BDD needs a normal prior (priors.Flat, RowSum, "
            f"StandardizedRowSum), got {prior!r}; use draws with sampler='nuts', simplex=False"
        )
    precision = prior.precision(gram)
    return (
        likelihood_scale * gram.n0 * gram.K + precision,
        likelihood_scale * gram.r + precision @ prior.mean(gram),
    )


def posterior(
    gram: Gram, prior: Prior, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return mean (= MAP), shape (M,), and upper Cholesky factor of the precision, (M, M).

    The covariance is :math:`\Lambda^{-1} = U^{-1} U^{-\top}` with :math:`\Lambda = U^\top U`.
    """
    precision, shift = natural_parameters(gram, prior, likelihood_scale)
    upper = _cholesky(precision)
    mean = solve_triangular(upper, solve_triangular(upper, shift, trans="T"))
    return mean, upper


def draw(mean: np.ndarray, upper: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent draws of the posterior of :func:`posterior`, shape (size, M)."""
    return mean + solve_triangular(upper, rng.standard_normal((len(mean), size))).T


def leave_one_out(
    gram: Gram, prior: Prior, likelihood_scale: float, size: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Return draws (size, M) of the distance of each point from the centre fitted without it.

    Without the row that is point j, and that point, the posterior is the normal one of n0 - 1
    rows, given that :math:`\alpha_j = 0`. With
    :math:`\Lambda_* = \lambda (n_0 - 1) K + \Sigma^{-1}`, :math:`S = \Lambda_*^{-1}` and
    :math:`b_j = S_{\cdot j} / S_{jj}`, its draws are

    .. math::
        v_j = z - z_j b_j + \mu_j, \qquad z \sim N(0, S), \qquad
        \mu_j = (S - S_{\cdot j} b_j^\top)(\lambda (r - K_{\cdot j}) + \Sigma^{-1} m).

    One Cholesky factor serves all rows. The prior stays that of all rows, given that
    :math:`\alpha_j = 0`; for a diagonal Sigma this is the prior of the other weights.

    Parameters
    ----------
    gram : Gram
        Whose points are majority rows.
    """
    K, k_jj = gram.K, np.diag(gram.K)
    precision, shift = natural_parameters(gram, prior, likelihood_scale)
    upper = _cholesky(precision - likelihood_scale * K)
    root = solve_triangular(upper, np.eye(len(K)))  # S = root root'
    S = root @ root.T
    b = S / np.diag(S)  # column j is b_j
    shifts = shift[:, None] - likelihood_scale * K  # column j: without row j
    mu = S @ shifts - b * (S * shifts).sum(axis=0)  # S_.j (b_j' shift_j) = b_j (S_j. shift_j)
    z = rng.standard_normal((size, len(K))) @ root.T
    Kz, Kb, Kmu = z @ K, K @ b, K @ mu
    cross = (k_jj - np.diag(Kmu)) - Kz + z * np.diag(Kb)  # k_jj - (K v_j)_j
    norm = (
        (z * Kz).sum(axis=1, keepdims=True)
        - 2 * z * (Kz @ b)
        + z**2 * (b * Kb).sum(axis=0)
        + 2 * (Kz @ mu)
        - 2 * z * (mu * Kb).sum(axis=0)
        + (mu * Kmu).sum(axis=0)
    )
    return np.sqrt(np.maximum(2 * cross - k_jj + norm, 0.0))


def simplex_map(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> np.ndarray:
    """Return the posterior mode under sum w = 1, w >= 0, shape (M,)."""
    return qp.minimize(*natural_parameters(gram, prior, likelihood_scale))


def _cholesky(precision: np.ndarray) -> np.ndarray:
    try:
        return cholesky(precision)
    except LinAlgError as error:
        raise ValueError(
            "the posterior precision of BDD is not positive definite in double precision: the "
            "kernel matrix is nearly singular beside likelihood_scale x n0; use a smaller "
            "likelihood_scale or prior sd, or centre and scale the columns"
        ) from error
