r"""Separating hyperplanes in kernel space, :math:`f(z) = \sum_i w_i k(x_i, z) + b`.

The one-class SVM (Schoelkopf et al. 2001) lies farthest from the origin:

.. math::
    \min_\alpha \tfrac12 \alpha^\top K \alpha, \qquad \sum_i \alpha_i = 1, \quad
    0 \le \alpha_i \le \frac{1}{\nu n}, \qquad f(z) = \sum_i \alpha_i k(x_i, z) - \rho

The others have a cost :math:`C_i` of an error on each row, and y = +1 for the majority.
The SVM, with :math:`w_i = y_i \alpha_i`, is

.. math::
    \max_\alpha \sum_i \alpha_i
    - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j), \qquad
    \sum_i y_i \alpha_i = 0, \quad 0 \le \alpha_i \le C_i,

and the least-squares SVM, whose error :math:`\phi_i` is squared, is

.. math::
    \min \tfrac12 \|w\|^2 + \tfrac12 \sum_i C_i \phi_i^2, \qquad
    y_i (w^\top \varphi(x_i) + b) = 1 - \phi_i.

Its optimality conditions, with the ridge :math:`D = \mathrm{diag}(1/C_i) + \epsilon I`,
are

.. math:: (K + D) w + b 1 = y, \qquad 1^\top w = 0.

They take two systems in one positive definite matrix :math:`A = K + D`:
:math:`A \eta = 1`, :math:`A \xi = y`, :math:`b = 1^\top \xi / 1^\top \eta`,
:math:`w = \xi - b \eta`. The ridge is added to the diagonal only; the note of A. Mohite
adds it to every entry, which solves another problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.spatial.distance import pdist, squareform

from .quadratic_program import minimize

ZERO_NORM = 1e-7  # ||w||^2 / max k(x, x) below this is 0 at the precision of libsvm
# of libsvm; single precision reaches the first
COARSE_TOLERANCE = 1e-6
FINE_TOLERANCE = 1e-8
AT_BOUND = 1e-6  # of its range, within which a weight is at its bound
INSIDE = "inside"
ON_PLANE = "on the hyperplane"
BEYOND = "beyond"


@dataclass(frozen=True, eq=False)
class Classes:
    """Rows of one class or two, majority rows first.

    Attributes
    ----------
    Z : ndarray of shape (n, q)
        The coordinates.
    y : ndarray of shape (n,)
        +1 for majority and -1 for minority rows.
    K : ndarray of shape (n, n)
        The kernel values.
    """

    Z: np.ndarray
    y: np.ndarray
    K: np.ndarray

    def shared(self, w: np.ndarray) -> np.ndarray:
        """Return the weights w with their mean in equal rows of a class; f is the same.

        Parameters
        ----------
        w : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        rows = np.column_stack([self.Z, self.y]) + 0.0  # -0.0 is 0.0
        number = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
        mean: np.ndarray = np.bincount(number, w) / np.bincount(number)
        return mean[number]


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
        ``"inside"`` (alpha = 0), ``"on the hyperplane"`` or ``"beyond"`` (alpha = 1/(nu
        n)).
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

        NaN where w = 0: the origin lies among the rows, and no hyperplane separates
        them.
        """
        return self.rho / self.norm if self.norm > 0 else float("nan")


def one_class_svm(rows: Classes, nu: float) -> Plane:
    """Return the hyperplane of rows of one class.

    Parameters
    ----------
    rows : Classes
    nu : float

    Returns
    -------
    Plane
    """
    coarse = _plane(rows, nu, COARSE_TOLERANCE)
    # where w = 0, libsvm would take a minute to the finer tolerance, because of its
    # rounding errors
    return _plane(rows, nu, FINE_TOLERANCE) if coarse.norm > 0.0 else coarse


def _plane(rows: Classes, nu: float, tol: float) -> Plane:
    K = rows.K
    n = len(K)
    zero = np.zeros(n)
    bound = 1.0 / (nu * n)
    largest = float(np.diag(K).max())
    alpha = rows.shared(minimize(K, zero, zero, np.full(n, bound), tol))
    near = AT_BOUND * min(bound, 1.0)
    case = np.where(
        alpha <= near, INSIDE, np.where(alpha >= bound - near, BEYOND, ON_PLANE)
    )
    g = K @ alpha
    # Rounding errors put about half of the rows on the hyperplane beyond it, and differ
    # when the same row is scored later. A slightly lower rho makes none of them a
    # margin error.
    rounding = np.finfo(float).eps * n * largest
    rho = g[case != BEYOND].min(initial=_level(g, case)) - 4.0 * rounding
    squared = alpha @ g
    norm = float(np.sqrt(squared)) if squared > ZERO_NORM * largest else 0.0
    return Plane(alpha, float(rho), g - rho, case, norm)


def _level(g: np.ndarray, case: np.ndarray) -> float:
    """Return rho, the mean of g on the hyperplane.

    Without rows on it, rho is the middle between the smallest g inside and the
    largest g beyond.
    """
    inside, on, beyond = (g[case == name] for name in (INSIDE, ON_PLANE, BEYOND))
    if len(on):
        return float(on.mean())
    ends = inside.min(initial=np.inf), beyond.max(initial=-np.inf)
    return float(np.mean([end for end in ends if np.isfinite(end)]))


def svm(rows: Classes, costs: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the weights and the offset of the SVM, by libsvm.

    Parameters
    ----------
    rows : Classes
    costs : ndarray of shape (n,)

    Returns
    -------
    weights : ndarray of shape (n,)
        w_i = y_i alpha_i; 0 for a row of cost 0.
    offset : float
        b.
    """
    from sklearn.svm import SVC  # slow

    i = np.flatnonzero(costs > 0.0)  # libsvm drops the other rows and renumbers
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-6, cache_size=500)
    svc.fit(rows.K[np.ix_(i, i)], rows.y[i], sample_weight=costs[i])
    w = np.zeros(len(costs))
    w[i[svc.support_]] = svc.dual_coef_[0]  # of its second class, y = +1
    return rows.shared(w), float(svc.intercept_[0])


@dataclass(frozen=True, eq=False)
class LeastSquares:
    """A solved least-squares SVM.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        w_i = y_i alpha_i.
    offset : float
        b.
    slack : ndarray of shape (n,)
        phi_i = 1 - y_i f(x_i).
    residual : float
        Largest violation of the system, ``|(K + D) w + b - y|`` and ``|sum w|``.
    """

    weights: np.ndarray
    offset: float
    slack: np.ndarray
    residual: float


def least_squares(rows: Classes, ridge: np.ndarray) -> LeastSquares:
    """Return the solution, by a Cholesky factor.

    Parameters
    ----------
    rows : Classes
    ridge : ndarray of shape (n,)
        The diagonal of D; a row with an infinite one has the weight 0.

    Returns
    -------
    LeastSquares

    Raises
    ------
    ValueError
        The system is singular in double precision.
    """
    keep = np.isfinite(ridge)
    y = rows.y
    A = rows.K[np.ix_(keep, keep)]
    A[np.diag_indices_from(A)] += ridge[keep]
    solutions = np.zeros((len(y), 2))
    right = np.column_stack([np.ones(len(y)), y])
    try:
        solutions[keep] = cho_solve(cho_factor(A), right[keep])
    except LinAlgError as error:
        raise ValueError(
            "the least-squares SVM is singular in double precision; use a smaller C, "
            "or epsilon > 0"
        ) from error
    eta, xi = solutions.T
    offset = float(xi.sum() / eta.sum())
    w = rows.shared(xi - offset * eta)
    f = rows.K @ w + offset
    violation = np.abs((f - y)[keep] + ridge[keep] * w[keep])
    residual = max(float(violation.max()), float(abs(w.sum())))
    return LeastSquares(w, offset, 1.0 - y * f, residual)


# costs


def balanced(costs: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""Return costs times :math:`n / (2 \sum_j c_j)`, a sum over its class.

    So all rows of either class together cost the same. Density weights are smaller in a
    small class, whose neighbours are farther apart: with factors of the number of its
    rows it would weigh less than the other class.

    Parameters
    ----------
    costs : ndarray of shape (n,)
    y : ndarray of shape (n,)
        +1 for majority and -1 for minority rows.

    Returns
    -------
    ndarray of shape (n,)
    """
    of_class = np.where(y > 0, costs[y > 0].sum(), costs[y < 0].sum())
    found: np.ndarray = costs * (len(costs) / (2.0 * of_class))
    return found


def density_weights(rows: Classes, k: int = 5, within_class: bool = True) -> np.ndarray:
    r"""Return the density weights d of the rows, each in [0, 1].

    .. math:: d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

    with :math:`x_i^{(k)}` the k-th nearest neighbour of x_i among the other rows.
    Neighbour and maximum are over the rows of its class, or over the whole training
    set, as the note on IDLSSVM-CIL prints it. Rows in dense regions have weights near
    one; the most remote row can have weight zero. Within its class, a weight does not
    depend on the size of the class, so it does not correct an imbalance.

    Parameters
    ----------
    rows : Classes
    k : int, default=5
    within_class : bool, default=True

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        There are fewer than k + 1 rows, or all rows of a class have weight zero.
    """
    majority = rows.y > 0
    parts = (rows.Z[majority], rows.Z[~majority]) if within_class else (rows.Z,)
    d = np.concatenate([_density(part, k) for part in parts])
    for name, part in (("majority", d[majority]), ("minority", d[~majority])):
        if not part.any():
            raise ValueError(
                f"the density weights of all {len(part)} {name} rows are zero with "
                f"neighbors={k}; use another number of neighbors, or more rows"
            )
    return d


def _density(Z: np.ndarray, k: int) -> np.ndarray:
    if len(Z) <= k:
        raise ValueError(
            f"density weights with neighbors={k} need at least {k + 1} rows of each "
            f"class (with density='train', in all), got {len(Z)}"
        )
    distance = squareform(pdist(Z))
    neighbour = np.argsort(distance, axis=1, kind="stable")[:, k]
    nearest = distance[np.arange(len(Z)), neighbour]
    farthest = distance.max(axis=1)[neighbour]
    # where all rows are equal, all weights are one
    share = np.zeros_like(nearest)
    return 1.0 - np.divide(nearest, farthest, out=share, where=farthest > 0)
