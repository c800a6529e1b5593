r"""One-class SVM, the hyperplane farthest from the origin (Schoelkopf et al. 2001).

.. math::
    \min_\alpha \tfrac12 \alpha^\top K \alpha, \qquad \sum_i \alpha_i = 1, \quad
    0 \le \alpha_i \le \frac{1}{\nu n}, \qquad f(z) = \sum_i \alpha_i k(x_i, z) - \rho

At most a share nu of the rows are margin errors (f < 0), and at least a share nu are support
vectors (alpha > 0). A row with alpha = 0 lies on the majority's side of the hyperplane, one with
0 < alpha < 1/(nu n) on the hyperplane, and one with alpha = 1/(nu n) beyond it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import quadratic_program, repeats
from .gram import Gram

ZERO_NORM = 1e-7  # ||w||^2 / max k(x, x) below this is 0 at the precision of libsvm
COARSE_TOLERANCE = 1e-6  # single precision nearly always reaches it
MAX_ITER = 1_000_000  # scikit-learn then warns
INSIDE, ON_PLANE, BEYOND = CASES = ("inside", "on the hyperplane", "beyond")


@dataclass(frozen=True, eq=False)
class Plane:
    """A solved one-class SVM.

    Attributes
    ----------
    alpha : ndarray of shape (n,)
    rho : float
    values : ndarray of shape (n,)
        f of the training rows.
    case : ndarray of str, shape (n,)
        ``"inside"``, ``"on the hyperplane"`` or ``"beyond"``, by the weights.
    norm : float
        ||w||, the root of alpha'K alpha; 0 where it is within the precision of libsvm.
    """

    alpha: np.ndarray
    rho: float
    values: np.ndarray
    case: np.ndarray
    norm: float

    @property
    def support_vector_share(self) -> float:
        """Share of rows with alpha > 0; at least nu."""
        return float((self.case != INSIDE).mean())

    @property
    def margin_error_share(self) -> float:
        """Share of rows beyond the hyperplane; at most nu."""
        return float((self.case == BEYOND).mean())

    @property
    def distance_from_origin(self) -> float:
        """Distance rho/||w|| of the hyperplane from the origin of the kernel space.

        NaN where w = 0: the origin lies among the rows, and no hyperplane separates them.
        """
        return self.rho / self.norm if self.norm > 0 else float("nan")


def solve(gram: Gram, nu: float, tol: float = 1e-8) -> Plane:
    """Return the solution, by libsvm, which holds the matrix in single precision (about 1e-7)."""
    n = gram.n_points
    if max(nu, 1 / n) >= 1 - 1e-12:  # one feasible point, where libsvm gives no intercept
        return describe(np.full(n, 1.0 / n), gram, nu)
    plane = _libsvm(gram, nu, COARSE_TOLERANCE)
    # where w = 0, libsvm would not reach the finer tolerance because of its rounding errors
    return plane if plane.norm == 0.0 else _libsvm(gram, nu, tol)


def _libsvm(gram: Gram, nu: float, tol: float) -> Plane:
    from sklearn.svm import OneClassSVM  # slow

    n = gram.n_points
    # for nu < 1/n no weight can reach its bound, so nu = 1/n is the same problem
    svm = OneClassSVM(
        kernel="precomputed", nu=max(nu, 1.0 / n), tol=tol, cache_size=500, max_iter=MAX_ITER
    )
    svm.fit(gram.K if gram.largest in (0.0, 1.0) else gram.K / gram.largest)
    alpha = np.zeros(n)
    alpha[svm.support_] = svm.dual_coef_[0]
    return describe(repeats.shared(alpha / alpha.sum(), gram), gram, nu)


def describe(alpha: np.ndarray, gram: Gram, nu: float) -> Plane:
    """Return the hyperplane of the solved weights ``alpha``."""
    bound = 1.0 / (nu * len(alpha))
    tolerance = quadratic_program.BOUND_TOLERANCE * min(bound, 1.0)
    case = quadratic_program.classify(alpha, 0.0, bound, tolerance, CASES)
    g = gram.K @ alpha
    rho = -quadratic_program.level(-g, case, CASES)
    # Rounding errors put about half of the rows on the hyperplane beyond it, and differ when the
    # same row is scored later. Lower rho a little, so that none of them is a margin error.
    rho = min(rho, g[case != BEYOND].min(initial=rho)) - 4.0 * gram.rounding
    squared = alpha @ g
    norm = np.sqrt(squared) if squared > ZERO_NORM * np.diag(gram.K).max() else 0.0
    return Plane(alpha, float(rho), g - rho, case, float(norm))
