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

import numpy as np
import pymc as pm
from scipy.linalg import cholesky, solve_triangular

from . import qp
from .gram import Gram
from .potential import kernel_potential
from .priors import GaussianPrior, Prior, StandardizedRowSum, make_variable


def build(gram: Gram, prior: Prior | None = None, likelihood_scale: float = 1.0) -> pm.Model:
    """Build the model of the weights ``w``.

    Parameters
    ----------
    gram : Gram
        Statistics of the majority rows; without minority points.
    prior : prior of alpha, default=StandardizedRowSum()
    likelihood_scale : float, default=1
        lambda.
    """
    with pm.Model(coords={"point": range(gram.n_points)}) as model:
        alpha = make_variable(prior or StandardizedRowSum(), gram, "alpha", "point")
        w = pm.Deterministic("w", alpha, dims="point")
        kernel_potential(w, gram, likelihood_scale)
    return model


def natural_parameters(
    gram: Gram, prior: Prior | None = None, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\Lambda` and :math:`\lambda r + \Sigma^{-1} m` of the normal posterior.

    Raises
    ------
    TypeError
        The prior is not normal.
    """
    prior = prior or StandardizedRowSum()
    if not isinstance(prior, GaussianPrior):
        raise TypeError(
            "the closed form of BDD needs a normal prior (priors.Flat, RowSum, "
            f"StandardizedRowSum), got {prior!r}; sample it with sampler='nuts'"
        )
    prior_precision = prior.sd**-2
    precision = likelihood_scale * gram.n0 * gram.K
    precision[np.diag_indices_from(precision)] += prior_precision
    return precision, likelihood_scale * gram.r + prior_precision * prior.mean(gram)


def posterior(
    gram: Gram, prior: Prior | None = None, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return mean (= MAP), shape (M,), and upper Cholesky factor of the precision, (M, M).

    The covariance is :math:`\Lambda^{-1} = U^{-1} U^{-\top}` with :math:`\Lambda = U^\top U`.
    """
    precision, shift = natural_parameters(gram, prior, likelihood_scale)
    upper = cholesky(precision)
    mean = solve_triangular(upper, solve_triangular(upper, shift, trans="T"))
    return mean, upper


def draw(mean: np.ndarray, upper: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent draws of the posterior of :func:`posterior`, shape (size, M)."""
    return mean + solve_triangular(upper, rng.standard_normal((len(mean), size))).T


def simplex_map(
    gram: Gram, prior: Prior | None = None, likelihood_scale: float = 1.0
) -> np.ndarray:
    """Return the posterior mode under sum w = 1, w >= 0, shape (M,)."""
    return qp.minimize(*natural_parameters(gram, prior, likelihood_scale))
