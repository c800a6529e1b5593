r"""Conformal p-values of "row z is normal".

.. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

compares the score of a new row z with the scores of n left-out normal rows, the same
that choose the cutoff. If z is normal, its score is as likely to have any rank among
these n + 1 as any other, so :math:`P(p(z) \le \alpha)` is about :math:`\alpha` (Vovk,
Gammerman and Shafer 2005).

The probability is over training rows and z. It needs normal training rows and new
normal rows from one distribution (exchangeable rows): abnormal training rows make
p-values too large, and drift makes them too small. Bandwidth and scaling are chosen by
all rows, and row sums in a prior are sums over all rows; no theorem covers this.

A row counts by its mass :math:`t_j`: the p-value is
:math:`(1 + \sum_{s_j \le s_z} t_j) / (1 + \sum t_j)`. The mass of a group is spread
over its rows. Scores that rounding alone tells apart are equal, so the p-value of a row
does not depend on the rows that it is asked with.
"""

from __future__ import annotations

import numpy as np

from .boundary import SCORE_TIE


def p_values(
    scores: np.ndarray,
    left_out: np.ndarray,
    mass: np.ndarray | float = 1.0,
    itself: np.ndarray | bool = False,
) -> np.ndarray:
    """Return the conformal p-values of scores.

    Parameters
    ----------
    scores : ndarray of shape (rows,)
        Larger is more normal.
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows.
    mass : float or ndarray of shape (n,), default=1
        Of these rows.
    itself : ndarray of bool, shape (rows,), default=False
        Which of the rows are left-out rows themselves, of mass 1.

    Returns
    -------
    ndarray of shape (rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.p_values import p_values
    >>> p_values(np.array([0.5, 2.0, 9.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [0.25, 0.75, 1.0]
    """
    order = np.argsort(left_out)
    below = np.append(0.0, np.broadcast_to(mass, left_out.shape)[order].cumsum())
    place = np.searchsorted(left_out[order], scores + SCORE_TIE, side="right")
    return np.asarray((1.0 + below[place] - itself) / (1.0 + below[-1] - itself))
