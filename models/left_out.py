r"""Normal weights without each point in turn: all leave-one-out posteriors from one factor.

With the likelihood of all rows but one, weights of the precision

.. math:: \Lambda_* = \lambda (n_0 - 1) K + P, \qquad S = \Lambda_*^{-1}, \qquad P = \Sigma^{-1},

stand for every point. Without point j the others have the marginal prior, of the precision
:math:`P_{-j,-j} - P_{-j,j} P_{j,-j} / P_{jj}`, and the covariance of their posterior is S given
:math:`\alpha_j = 0`, with one direction added where the prior is correlated:

.. math::
    \Sigma_j = S - b_j b_j^\top + q_j q_j^\top, \qquad
    b_j = \frac{S_{\cdot j}}{\sqrt{S_{jj}}}, \qquad
    q_j = \frac{C_j P_{\cdot j}}{\sqrt{P_{jj} - P_{j \cdot} C_j P_{\cdot j}}}, \qquad
    C_j = S - b_j b_j^\top.

Row and column j of :math:`\Sigma_j` are zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular


@dataclass(frozen=True, eq=False)
class WithoutEach:
    """The covariances of normal weights without each point.

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
    K: np.ndarray,
    w: np.ndarray,
    moves: list[tuple[np.ndarray, np.ndarray]],
    points: np.ndarray,
) -> np.ndarray:
    r"""Return kernel sums (draws, J) of points, each with a centre of its own.

    .. math:: f_j = \sum_l v_{jl} k(u_l, u_j), \qquad v_j = w + \sum_a c_{aj} B_{aj}

    Parameters
    ----------
    K : ndarray of shape (M, M)
    w : ndarray of shape (draws, M)
        Weights that all of these centres have in common.
    moves : list of (c, B)
        c of shape (draws, J), or what broadcasts to it, and the columns B, shape (M, J).
    points : ndarray of int, shape (J,)
    """
    of_points = K[:, points]
    f = w @ of_points
    for c, B in moves:
        f += c * (B * of_points).sum(axis=0)
    return f
