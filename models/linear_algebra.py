"""Linear algebra of normal weights: factors of precisions, and weights without each point."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, cholesky, eigh, solve_triangular

from .gram import Gram
from .kernels import Kernel

LOST = 0.05  # share of the spread of the draws that rounding may decide
WHAT_TO_DO = (
    "the kernel matrix is nearly singular, and the prior precision is too small compared with "
    "likelihood_scale x n0; use a smaller likelihood_scale or prior sd, or centre and scale the "
    "columns"
)


def cholesky_factor(precision: np.ndarray) -> np.ndarray:
    """Return the upper triangular U of the posterior precision U'U of BDD.

    Raises
    ------
    ValueError
        The precision is not positive definite in double precision.
    """
    try:
        return cholesky(precision)
    except LinAlgError as error:
        raise ValueError(
            "the posterior precision of BDD is not positive definite in double precision: "
            f"{WHAT_TO_DO}"
        ) from error


def factor_with_digits(
    precision: np.ndarray, gram: Gram, prior: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    r"""Return U as :func:`cholesky_factor` does.

    The spread of the draws around their mean adds :math:`\operatorname{tr}(K \Sigma)` to every
    d_z^2, with :math:`\Sigma = (\lambda n_0 K + P)^{-1}` and P the precision of the prior. An error
    of K moves it by :math:`\operatorname{tr}(\Sigma P \Sigma\, \delta K)`. Where K has eigenvalues
    near 0 and P is small, this is large: the wide prior is held in these directions by rounding.
    :math:`\delta K` is taken as :math:`\epsilon \max k\, I`; against 50 digits the true errors of
    the spread were .01 to 1 times this value (RBF, n = 30 to 150, bandwidths 3 to 30).

    Parameters
    ----------
    precision : ndarray of shape (M, M)
        Of the posterior.
    gram : Gram
    prior : tuple of ndarray of shape (M, M)
        Covariance and precision of the prior.

    Raises
    ------
    ValueError
        The precision is not positive definite, or the rounding of kernel values decides the spread
        of the draws.
    """
    upper, (covariance, of_prior) = cholesky_factor(precision), prior
    rounding = np.finfo(float).eps * gram.largest
    if rounding * np.trace(covariance) <= 1e-6 * gram.T / gram.n0:
        return upper  # Sigma P Sigma is at most the prior covariance
    root = solve_triangular(upper, np.eye(len(upper)))
    sigma = root @ root.T
    spread = np.sum(sigma * gram.K)
    lost = rounding * np.sum((sigma @ of_prior) * sigma) / spread
    if not lost <= LOST:
        raise ValueError(
            "the posterior of BDD has too few digits: rounding of kernel values may change "
            f"the spread of its distances by {lost:.2g} of itself, expected at most {LOST}: "
            f"{WHAT_TO_DO}"
        )
    return upper


@dataclass(frozen=True, eq=False)
class WithoutEach:
    r"""Covariances of normal weights without each point: all left-out posteriors from one factor.

    With the likelihood of all rows but one, weights of the precision

    .. math::
        \Lambda_* = \lambda (n_0 - 1) K + P, \qquad S = \Lambda_*^{-1}, \qquad P = \Sigma^{-1},

    stand for every point. Without point j the others have the marginal prior, of the precision
    :math:`P_{-j,-j} - P_{-j,j} P_{j,-j} / P_{jj}`, and the covariance of their posterior is S given
    :math:`\alpha_j = 0`, with one direction added where the prior is correlated:

    .. math::
        \Sigma_j = S - b_j b_j^\top + q_j q_j^\top, \qquad
        b_j = \frac{S_{\cdot j}}{\sqrt{S_{jj}}}, \qquad
        q_j = \frac{C_j P_{\cdot j}}{\sqrt{P_{jj} - P_{j \cdot} C_j P_{\cdot j}}}, \qquad
        C_j = S - b_j b_j^\top.

    Row and column j of :math:`\Sigma_j` are zero.

    Attributes
    ----------
    root : ndarray of shape (M, M)
        S = root root'.
    S : ndarray of shape (M, M)
    b, q : ndarray of shape (M, M)
        Column j is b_j, q_j; q is zero for an uncorrelated prior.
    """

    root: np.ndarray
    S: np.ndarray
    b: np.ndarray
    q: np.ndarray

    @classmethod
    def of(cls, upper: np.ndarray, P: np.ndarray) -> Self:
        """Return them for the upper Cholesky factor of Lambda_*, and the prior's precision."""
        root = solve_triangular(upper, np.eye(len(upper)))
        S = root @ root.T
        b = S / np.sqrt(np.diag(S))
        others = P - np.diag(np.diag(P))  # C_j takes nothing from point j
        CP = S @ others
        CP -= b * (b * others).sum(axis=0)
        np.fill_diagonal(CP, 0.0)
        return cls(root, S, b, CP / np.sqrt(np.diag(P) - (others * CP).sum(axis=0)))

    def times(self, Y: np.ndarray) -> np.ndarray:
        """Return the matrix with the columns Sigma_j Y_j, for Y of shape (M, M)."""
        return self.S @ Y - self.b * (self.b * Y).sum(axis=0) + self.q * (self.q * Y).sum(axis=0)


def kernel_sums(
    K: np.ndarray, w: np.ndarray, moves: list[tuple[np.ndarray, np.ndarray]]
) -> np.ndarray:
    r"""Return kernel sums (draws, M) of points, each with a centre of its own.

    .. math:: f_j = \sum_l v_{jl} k(u_l, u_j), \qquad v_j = w + \sum_a c_{aj} B_{aj}

    Parameters
    ----------
    K : ndarray of shape (M, M)
        Column j has the kernel values of point j, which may leave what the kernel has learned.
    w : ndarray of shape (draws, M)
        Weights that all of these centres have in common.
    moves : list of (c, B)
        c of shape (draws, M), or what broadcasts to it, and the columns B, shape (M, M).
    """
    f = w @ K
    for c, B in moves:
        f += c * (B * K).sum(axis=0)
    return f


def residual(kernel: Kernel, points: np.ndarray, rows: np.ndarray) -> float:
    r"""Return the share of the rows' squared norm in kernel space that the points do not span.

    .. math::
        \frac{\sum_i k(x_i, x_i) - k_{x_i U} K_{UU}^{-1} k_{U x_i}}{\sum_i k(x_i, x_i)},

    This is the relative Nystroem residual: 0 if the points span all rows, 1 if they span none.
    """
    values, U = eigh(kernel(points))
    kept = values > np.finfo(float).eps * len(values) * values[-1]
    spanned = np.square(kernel(rows, points) @ U[:, kept] / np.sqrt(values[kept])).sum()
    total = float(kernel.diag(rows).sum())
    return max(0.0, 1.0 - float(spanned) / total) if total > 0.0 else 0.0
