r"""SVDD, support vector data description, without and with minority rows (Tax and Duin 2004).

The smallest ball around the majority rows, with slack priced at C1; minority rows are to lie
outside of it, with slack priced at C2. In signed weights w = [alpha0, -alpha1] the dual is

.. math::
    \max_w \sum_j w_j K_{jj} - w^\top K w, \qquad \sum_j w_j = 1, \quad
    0 \le \alpha_0 \le C_1, \quad 0 \le \alpha_1 \le C_2,

feasible for n0 C1 >= 1. By a row's weight it lies, for both classes, inside the sphere where
w is at its lower bound, on it where w is free, and outside where w is at its upper bound.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import qp
from .gram import Gram

INSIDE, ON_SPHERE, OUTSIDE = "inside", "on the sphere", "outside"


@dataclass(frozen=True, eq=False)
class Sphere:
    """A solved description.

    Attributes
    ----------
    weights : ndarray of shape (M,)
        Signed: those of minority rows are at most 0.
    squared_distances : ndarray of shape (M,)
        d^2 of the dictionary points.
    case : ndarray of str, shape (M,)
        ``"inside"``, ``"on the sphere"`` or ``"outside"``, by the weights.
    n_majority : int
        Number of majority points, the first ones.
    rounding : float
        Of a d^2.
    """

    weights: np.ndarray
    squared_distances: np.ndarray
    case: np.ndarray
    n_majority: int
    rounding: float

    @property
    def radius(self) -> float:
        """R: the root of the mean d^2 over rows on the sphere.

        Without such a row the optimality conditions leave an interval for R^2, from the
        farthest row inside to the nearest row outside: its middle is taken, or its one end
        where it has only one.
        """
        d2, case = self.squared_distances, self.case
        if (case == ON_SPHERE).any():
            return float(np.sqrt(d2[case == ON_SPHERE].mean()))
        ends = [d2[case == INSIDE].max()] if (case == INSIDE).any() else []
        ends += [d2[case == OUTSIDE].min()] if (case == OUTSIDE).any() else []
        return float(np.sqrt(np.mean(ends)))

    @property
    def boundary(self) -> float:
        """The distance up to which a row belongs to the description.

        The radius, or the largest distance of a majority row on the sphere or inside where that
        is larger: only rounding takes half of those on it outside. The rounding of d^2 is added,
        because a row that is scored has not just the same digits.
        """
        majority = np.arange(len(self.case)) < self.n_majority
        kept = self.squared_distances[majority & (self.case != OUTSIDE)]
        return float(np.sqrt(max(self.radius**2, kept.max(initial=0.0)) + self.rounding))

    @property
    def kkt_residual(self) -> float:
        """The largest violation of the optimality conditions, on the scale of d^2.

        Inside: d^2 <= R^2; on the sphere: d^2 = R^2; outside: d^2 >= R^2.
        """
        excess = self.squared_distances - self.radius**2
        wrong = np.where(self.case == INSIDE, np.maximum(excess, 0.0), np.abs(excess))
        wrong = np.where(self.case == OUTSIDE, np.maximum(-excess, 0.0), wrong)
        return float(wrong.max())


def solve(gram: Gram, C1: float, C2: float | None = None) -> Sphere:
    """Return the description.

    Parameters
    ----------
    gram : Gram
        With the majority rows as dictionary, and minority rows where the description is to
        learn from them.
    C1 : float
        Price of a majority row's slack, and its largest weight.
    C2 : float, optional
        The same for a minority row; needed when there are some.

    Raises
    ------
    ValueError
        n0 C1 < 1: no weights sum to one.
    """
    if gram.n1 and C2 is None:
        raise ValueError(f"C2, the price of a minority row's slack, is needed for n1 = {gram.n1}")
    m = gram.n_majority_points
    if not C1 * m >= 1.0 - 1e-12:
        raise ValueError(
            f"C must be at least 1/n0 = {1 / m:.6g} for {m} majority rows (their weights, of at "
            f"most C each, must sum to 1 or more), got {C1!r}: n0 C = {m * C1:.6g}"
        )
    w = qp.minimize(gram.K, np.diag(gram.K) / 2.0, *_bounds(gram, C1, C2))
    return describe(w, gram, C1, C2)


def describe(w: np.ndarray, gram: Gram, C1: float, C2: float | None = None) -> Sphere:
    """Return the sphere that the solved weights ``w`` describe."""
    Kw = gram.K @ w
    d2 = np.maximum(np.diag(gram.K) - 2.0 * Kw + w @ Kw, 0.0)
    lower, upper = _bounds(gram, C1, C2)
    near = qp.BOUND_TOLERANCE * (upper - lower)
    case = qp.cases(w, lower, upper, near, (INSIDE, ON_SPHERE, OUTSIDE))
    return Sphere(w, d2, case, gram.n_majority_points, 4.0 * gram.rounding)


def _bounds(gram: Gram, C1: float, C2: float | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest signed weights."""
    counts = [gram.n_majority_points, gram.n1]
    most = 1.0 + gram.n1 * (C2 or 0.0)  # no weight can exceed what the others leave
    return np.repeat([0.0, -(C2 or 0.0)], counts), np.repeat([min(C1, most), 0.0], counts)
