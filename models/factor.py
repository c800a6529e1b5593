"""Cholesky factors of posterior precisions, with errors that say what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

if TYPE_CHECKING:
    from .gram import Gram
    from .priors import GaussianPrior

LOST = 0.05  # share of the spread of the draws that rounding may decide
WHAT_TO_DO = (
    "the kernel matrix is nearly singular, and the prior precision is too small compared with "
    "likelihood_scale x n0; use a smaller likelihood_scale or prior sd, or centre and scale the "
    "columns"
)


def upper(precision: np.ndarray, model: str) -> np.ndarray:
    """Return the upper triangular U of the posterior precision U'U of ``model``.

    Raises
    ------
    ValueError
        The precision is not positive definite in double precision.
    """
    try:
        factor: np.ndarray = cholesky(precision)
    except LinAlgError as error:
        raise ValueError(
            f"the posterior precision of {model} is not positive definite in double precision: "
            f"{WHAT_TO_DO}"
        ) from error
    return factor


def require_digits(upper: np.ndarray, gram: Gram, prior: GaussianPrior, model: str) -> None:
    r"""Raise a ValueError if the rounding of kernel values decides the spread of the draws.

    The spread of the draws around their mean adds :math:`\operatorname{tr}(K \Sigma)` to every
    d_z^2, with :math:`\Sigma = (\lambda n_0 K + P)^{-1}` and P the precision of the prior. An error
    of K moves it by :math:`\operatorname{tr}(\Sigma P \Sigma\, \delta K)`. Where K has eigenvalues
    near 0 and P is small, this is large: the wide prior is held in these directions by rounding.
    :math:`\delta K` is taken as :math:`\epsilon \max k\, I`; against 50 digits the true errors of
    the spread were .01 to 1 times this value (RBF, n = 30 to 150, bandwidths 3 to 30).

    Parameters
    ----------
    upper : ndarray of shape (m, m)
        Cholesky factor of the precision of the weights of the majority points.
    gram : Gram
    prior : GaussianPrior
    model : str
    """
    m = len(upper)
    rounding = np.finfo(float).eps * gram.largest
    covariance = prior.covariance(gram)
    if rounding * np.trace(covariance) <= 1e-6 * gram.T / gram.n0:
        return  # Sigma P Sigma is at most the prior covariance
    root = solve_triangular(upper, np.eye(m))
    sigma = root @ root.T
    spread = np.sum(sigma * gram.K[:m, :m])
    lost = rounding * np.sum((sigma @ prior.precision(gram)) * sigma) / spread
    if not lost <= LOST:
        raise ValueError(
            f"the posterior of {model} has too few digits: rounding of kernel values may change "
            f"the spread of its distances by {lost:.2g} of itself, expected at most {LOST}: "
            f"{WHAT_TO_DO}"
        )
