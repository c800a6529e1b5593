r"""SVDD, support vector data description (Tax and Duin 2004).

The smallest ball around the majority rows, with slack priced at C; its dual is

.. math::
    \max_w \sum_i w_i K_{ii} - w^\top K w, \qquad \sum_i w_i = 1, \quad 0 \le w_i \le C,

feasible for C >= 1/n0 and without slack for C >= 1. Rows with w_i = 0 lie inside, with
0 < w_i < C on the sphere, with w_i = C outside.
"""

from __future__ import annotations

import numpy as np

from . import qp
from .geometry import squared_distance, squared_norm
from .gram import Gram

BOUND_TOLERANCE = 1e-6  # a weight within this share of C counts as being at 0 or at C


def solve(gram: Gram, C: float) -> np.ndarray:
    """Return the weights, shape (n0,).

    Parameters
    ----------
    gram : Gram
        With the majority rows as dictionary.
    C : float
        Price of slack and largest weight.

    Raises
    ------
    ValueError
        C < 1/n0: no weights sum to one.
    """
    n = gram.n_points
    if not C * n >= 1.0 - 1e-12:
        raise ValueError(
            f"C must be at least 1/n0 = {1 / n:.6g} for {n} majority rows (weights of at most C "
            f"must sum to 1), got {C!r}"
        )
    return qp.minimize(2.0 * gram.K, np.diag(gram.K), upper=C)


def boundary(w: np.ndarray, gram: Gram, C: float) -> float:
    """Return the distance up to which a row belongs to the description.

    The radius, or the largest distance of a row with w < C where that is larger: such rows are
    on the sphere or inside, and only rounding takes half of those on it outside. The rounding
    of d^2 is added, because a row that is scored has not just the same digits.
    """
    kept = w < (1.0 - BOUND_TOLERANCE) * min(C, 1.0)
    d2 = max(_squared_distances(w, gram)[kept].max(initial=0.0), radius(w, gram, C) ** 2)
    rounding = 4.0 * np.finfo(float).eps * gram.n_points * np.abs(gram.K).max()
    return float(np.sqrt(d2 + rounding))


def radius(w: np.ndarray, gram: Gram, C: float) -> float:
    """Return the radius R: root of the mean d^2 over rows with 0 < w < C, strictly.

    Without such a row the optimality conditions leave an interval for R^2, from the farthest
    row inside (w = 0) to the nearest row outside (w = C): its middle is taken, or its one end
    where it has only one.
    """
    C = min(C, 1.0)
    d2 = _squared_distances(w, gram)
    inside, outside = w <= BOUND_TOLERANCE * C, w >= (1.0 - BOUND_TOLERANCE) * C
    free = ~inside & ~outside
    if free.any():
        return float(np.sqrt(d2[free].mean()))
    ends = [d2[inside].max()] if inside.any() else []
    ends += [d2[outside].min()] if outside.any() else []
    return float(np.sqrt(np.mean(ends)))


def _squared_distances(w: np.ndarray, gram: Gram) -> np.ndarray:
    return squared_distance(w[None], squared_norm(w[None], gram.K), gram.K, np.diag(gram.K))[0]
