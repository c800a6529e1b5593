r"""Least-squares SVM with a cost of each row: class-weighted, and IDLSSVM-CIL.

.. math::
    \min \tfrac12 \|w\|^2 + \tfrac12 \sum_i C_i \phi_i^2, \qquad
    y_i (w^\top \varphi(x_i) + b) = 1 - \phi_i

The class-weighted machine has :math:`C_i = C n / (2 n_{y_i})`; IDLSSVM-CIL (Hazarika and Gupta
2021) has :math:`C_i = C d_i^2` with the density weights d of
:func:`bsvdd.models.svm.density_weights`, and with balanced classes
:math:`C_i = C d_i^2\, n / (2 \sum_{j: y_j = y_i} d_j^2)`.

The optimality conditions in :math:`\alpha` are
:math:`\begin{pmatrix} 0 & y^\top \\ y & \Omega + \mathrm{diag}(1/C_i) \end{pmatrix}
(b, \alpha) = (0, 1)`, with :math:`\Omega_{ij} = y_i y_j k(x_i, x_j)`. In the signed weights
:math:`w_i = y_i \alpha_i`, with ridge :math:`D = \mathrm{diag}(1/C_i) + \epsilon I`, they are

.. math:: (K + D) w + b 1 = y, \qquad 1^\top w = 0,

With :math:`A = K + D` the solution takes two systems in one positive definite matrix:
:math:`A \eta = 1`, :math:`A \xi = y`, :math:`b = 1^\top \xi / 1^\top \eta`,
:math:`w = \xi - b \eta`. The ridge is added to the diagonal only, as the optimality conditions have
it; the note of A. Mohite adds it to every entry, which solves another problem.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from . import repeats
from .gram import Gram
from .svm import labels


@dataclass(frozen=True, eq=False)
class Solution:
    """Weights of a least-squares SVM.

    Attributes
    ----------
    weights : ndarray of shape (n,)
        Signed, w_i = y_i alpha_i; zero for dropped rows.
    offset : float
        b.
    residual : float
        Largest violation of the system, ``|(K + D) w + b - y|`` and ``|sum w|``.
    """

    weights: np.ndarray
    offset: float
    residual: float


def solve(
    gram: Gram,
    costs: np.ndarray,
    epsilon: float = 0.0,
    zero_weight: str = "drop",
) -> Solution:
    """Return the solution, by a Cholesky factor.

    Parameters
    ----------
    gram : Gram
        The dictionary is all rows, minority rows last.
    costs : ndarray of shape (n,)
        C_i.
    epsilon : float, default=0
        Added to the whole diagonal.
    zero_weight : {"drop", "epsilon"}, default="drop"
        The rule for a row with C_i = 0, whose ridge would be infinite. ``"drop"``: its weight is
        zero. ``"epsilon"``: its ridge is epsilon only. The note of A. Mohite has
        no rule for it.

    Raises
    ------
    ValueError
        ``zero_weight="epsilon"`` with epsilon = 0, and a row has C_i = 0; or the system is singular
        in double precision.
    """
    zero = costs <= 0.0
    if zero.any() and zero_weight == "epsilon" and epsilon == 0.0:
        raise ValueError(
            f"zero_weight='epsilon' gives {int(zero.sum())} row(s) with density weight 0 the ridge "
            "epsilon, which is 0; use epsilon > 0 or zero_weight='drop'"
        )
    y = labels(gram)
    with np.errstate(divide="ignore"):
        ridge = np.where(zero, 0.0, 1.0 / costs) + epsilon
    keep = ~zero if zero_weight == "drop" else np.ones(len(costs), dtype=bool)
    right = np.column_stack([np.ones(len(costs)), y])[keep]
    solutions = np.zeros((len(costs), 2))
    A = gram.K[np.ix_(keep, keep)]
    A[np.diag_indices_from(A)] += ridge[keep]
    try:
        solutions[keep] = cho_solve(cho_factor(A), right)
    except LinAlgError as error:
        raise ValueError(
            "the least-squares SVM is singular in double precision; use a smaller C, or epsilon > 0"
        ) from error
    eta, xi = solutions.T
    offset = xi.sum() / eta.sum()
    w = repeats.shared(xi - offset * eta, gram)
    f = gram.K @ w + offset
    violation = np.abs(f + ridge * w - y)[keep]
    residual = max(float(violation.max()), float(abs(w.sum())))
    return Solution(w, float(offset), residual)
