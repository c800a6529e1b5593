r"""SVDD, support vector data description, without and with minority rows (Tax and Duin 2004).

The smallest ball that contains the majority rows, with penalty C1 on their slack, and excludes
the minority rows, with penalty C2 on theirs. In signed weights w = [alpha0, -alpha1] the dual is

.. math::
    \max_w \sum_j w_j K_{jj} - w^\top K w, \qquad \sum_j w_j = 1, \quad
    0 \le \alpha_0 \le C_1, \quad 0 \le \alpha_1 \le C_2.

It is feasible for n0 C1 >= 1. In both classes, a row whose signed weight is at its lower bound
lies inside the sphere, one whose weight is free lies on the sphere, and one whose weight is at
its upper bound lies outside.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import quadratic_program, repeats
from .gram import Gram

INSIDE, ON_SPHERE, OUTSIDE = CASES = ("inside", "on the sphere", "outside")


@dataclass(frozen=True, eq=False)
class Sphere:
    """The solution of SVDD.

    Attributes
    ----------
    weights : ndarray of shape (M,)
        Signed; the weights of minority rows are at most 0.
    squared_distances : ndarray of shape (M,)
        d^2 of the dictionary points.
    case : ndarray of str, shape (M,)
        ``"inside"``, ``"on the sphere"`` or ``"outside"``, by the weights.
    n_majority : int
        Number of majority points, the first ones.
    rounding : float
        Rounding error of a d^2.
    """

    weights: np.ndarray
    squared_distances: np.ndarray
    case: np.ndarray
    n_majority: int
    rounding: float

    @property
    def radius(self) -> float:
        """R: the root of the mean d^2 over rows on the sphere.

        Without such a row, any R^2 between the farthest row inside and the nearest row outside
        is optimal. R^2 is then the middle of this interval, or its only end.
        """
        return float(np.sqrt(quadratic_program.level(self.squared_distances, self.case, CASES)))

    @property
    def boundary(self) -> float:
        """The largest distance of a normal row.

        It is the radius, or the largest distance of a majority row on or inside the sphere if
        that is larger: rounding errors put about half of the rows on the sphere outside. The
        rounding error of d^2 is added, as it differs when the same row is scored later.
        """
        majority = np.arange(len(self.case)) < self.n_majority
        d2 = self.squared_distances[majority & (self.case != OUTSIDE)]
        return float(np.sqrt(max(self.radius**2, d2.max(initial=0.0)) + self.rounding))

    @property
    def kkt_residual(self) -> float:
        """The largest violation of the optimality conditions, on the scale of d^2.

        Inside: d^2 <= R^2; on the sphere: d^2 = R^2; outside: d^2 >= R^2.
        """
        excess = self.squared_distances - self.radius**2
        violation = np.where(self.case == INSIDE, np.maximum(excess, 0.0), np.abs(excess))
        violation = np.where(self.case == OUTSIDE, np.maximum(-excess, 0.0), violation)
        return float(violation.max())


def solve(gram: Gram, C1: float, C2: float | None = None) -> Sphere:
    """Return the solution.

    Parameters
    ----------
    gram : Gram
        The dictionary is the majority rows, followed by the minority rows if there are any.
    C1 : float
        Penalty on the slack of a majority row, and its largest weight.
    C2 : float, optional
        The same for a minority row; required if there are minority rows.

    Raises
    ------
    ValueError
        n0 C1 < 1, so that no weights sum to one; or C2 is missing.
    """
    if gram.n1 and C2 is None:
        raise ValueError(
            "C2, the penalty on the slack of a minority row, is required where there are minority "
            f"rows, got C2=None and n1 = {gram.n1}"
        )
    m = gram.n_majority_points
    if not C1 * m >= 1.0 - 1e-12:
        raise ValueError(
            f"C must be at least 1/n0 = {1 / m:.6g} for {m} majority rows (their weights, of at "
            f"most C each, must sum to 1 or more), got {C1!r}: n0 C = {m * C1:.6g}"
        )
    w = quadratic_program.minimize(gram.K, np.diag(gram.K) / 2.0, *_bounds(gram, C1, C2))
    return describe(repeats.shared(w, gram), gram, C1, C2)


def describe(w: np.ndarray, gram: Gram, C1: float, C2: float | None = None) -> Sphere:
    """Return the sphere of the solved weights ``w``."""
    Kw = gram.K @ w
    d2 = np.maximum(np.diag(gram.K) - 2.0 * Kw + w @ Kw, 0.0)
    lower, upper = _bounds(gram, C1, C2)
    tolerance = quadratic_program.BOUND_TOLERANCE * (upper - lower)
    case = quadratic_program.classify(w, lower, upper, tolerance, CASES)
    return Sphere(w, d2, case, gram.n_majority_points, 4.0 * gram.rounding)


def _bounds(gram: Gram, C1: float, C2: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the lower and the upper bounds of the signed weights."""
    counts = [gram.n_majority_points, gram.n1]
    largest = 1.0 + gram.n1 * (C2 or 0.0)  # as all weights sum to one
    return np.repeat([0.0, -(C2 or 0.0)], counts), np.repeat([min(C1, largest), 0.0], counts)
