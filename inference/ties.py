r"""Ties: numbers that rounding alone tells apart count as equal.

A product of matrices rounds by the shape of its block, so the score of a row alone and that of the
row among others differ by some 1e-14 of what is summed. Rounding the scores would only move the
border. So two scores that differ by at most

.. math:: \delta = 10^{-9} \max(u, |s|)

are equal wherever scores are ranked, and a row is normal down to :math:`\delta` below a cutoff:
thresholds are lowered by it once, where they are made. The unit u of the scores is

- 1 for logarithms, whose error is that of the relative error of a similarity;
- a thousandth of the largest :math:`\sum_j |w_j|\, k(u_j, u_j)` for other weighted sums, which are
  differences of such terms: they can be small, and their rounding errors are not;
- the value at the cutoff for the scores of other detectors, of which nothing else is known.
"""

from __future__ import annotations

import numpy as np

RELATIVE = 1e-9
OF_SUMS = 1e-3  # of the terms of a sum, which makes the tolerance 1e-12 of them


def tolerance(values: float | np.ndarray, unit: float = 1.0) -> np.ndarray:
    r"""Return :math:`\delta`, elementwise; 0 for infinite values, which have no rounding error.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.ties import tolerance
    >>> tolerance(np.array([0.1, -4.0, -np.inf])).tolist()
    [1e-09, 4e-09, 0.0]
    """
    size = np.maximum(np.abs(values), unit)
    return RELATIVE * np.where(np.isfinite(values), size, 0.0)


def merged(values: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return the values (n,) with ties as one number, the smallest of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.ties import merged
    >>> merged(np.array([0.3, 0.1 + 0.2, 0.7])).tolist()
    [0.3, 0.3, 0.7]
    """
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    with np.errstate(invalid="ignore"):  # of minus infinity, each of which is by itself
        tied = np.diff(ordered, prepend=np.nan) <= tolerance(ordered, unit)
    found = np.empty_like(values)
    found[order] = ordered[~tied][np.cumsum(~tied) - 1]
    return found
