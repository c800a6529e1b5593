r"""Conformal p-values of "row z is normal".

.. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

compares the score of a new row z with the scores of n left-out normal rows, the same that choose
the cutoff. If z is normal, its score is as likely to have any rank among these n + 1 as any other,
so :math:`P(p(z) \le \alpha)` is about :math:`\alpha` (Vovk, Gammerman and Shafer 2005).

The probability is over training rows and z. It needs normal training rows and new normal rows from
one distribution (exchangeable rows): abnormal training rows make p-values too large, and drift
makes them too small. Bandwidth and scaling are chosen by all rows, and row sums in a prior are sums
over all rows; no theorem covers this. Points of the user must not be training rows.

Rows with weights, and batches, count as :meth:`bsvdd.inference.fit.Fit.p_values` has it. Scores
that rounding alone tells apart are equal, so the p-value of a row does not depend on the rows that
it is asked with.
"""

from __future__ import annotations

import numpy as np

from ..inference.decision import TIE


def p_values(
    scores: np.ndarray,
    left_out: np.ndarray,
    itself: np.ndarray | bool = False,
) -> np.ndarray:
    """Return the conformal p-values of scores, shape (rows,) -> (rows,).

    Parameters
    ----------
    scores : ndarray of shape (rows,)
        Larger is more normal.
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.
    itself : ndarray of bool, shape (rows,), default=False
        Which of the rows are left-out rows themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.p_values import p_values
    >>> p_values(np.array([0.5, 2.0, 9.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [0.25, 0.75, 1.0]
    """
    below = np.searchsorted(left_out, scores + TIE, side="right")
    return (1.0 + below - itself) / (len(left_out) + 1.0 - itself)


def check_rate(name: str, value: float) -> None:
    """Raise a ValueError if the value does not lie between 0 and 1."""
    if not (isinstance(value, int | float | np.floating) and 0 < value < 1):
        raise ValueError(f"{name} must lie between 0 and 1, without 0 and 1, got {value!r}")
