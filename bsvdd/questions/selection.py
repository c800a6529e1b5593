"""The p-values of new rows, and the rows of a batch to call abnormal by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..base.messages import check_rate
from ..base.warning import DataWarning, warn
from ..estimators.checks import left_out_groups, require_description
from ..estimators.description import Description

P_VALUE_ROUNDING = 1e-9  # relative


def p_value(
    est: Description, X: ArrayLike, groups: ArrayLike | None = None
) -> np.ndarray:
    r"""Return the conformal p-value of "this row is normal" for each row.

    .. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

    with :math:`s_z` the score of z and :math:`s_j` the scores of n left-out normal
    rows. A row with :math:`p(z) \le \alpha` is abnormal at a false-alarm rate of about
    :math:`\alpha`. It is the column ``p_value`` of ``est.decision(X)``.

    Parameters
    ----------
    est : Description
        Fitted.
    X : array-like of shape (n, p)
        As in ``est.predict``.
    groups : array-like, or name of a column of X, optional
        As in ``est.decision``.

    Returns
    -------
    ndarray of shape (n,)
        At least 1/(n + 1) of n left-out majority rows, or groups, at most 1. It depends
        a little on the cutoff, whose false-alarm rate gives the boundary of each draw.

    Raises
    ------
    ValueError
        X as in ``est.predict``.

    Warns
    -----
    DataWarning
        X has many training rows, which are answered as new ones.

    Notes
    -----
    It needs training rows that are normal, and new normal rows from the same
    distribution. Abnormal rows among the training rows make p-values too large, and
    drift makes them too small. Bandwidth, scaling and row sums are estimated from all
    rows; see :mod:`bsvdd.inference.p_values`.

    References
    ----------
    Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random
    world. Springer.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> bsvdd.p_value(bsvdd.BSVDD().fit(X), [[9.0, 9.0]])
    array([0.01])
    """
    require_description(est, "p-value")
    if X is None:
        raise ValueError("X must be rows; a training row has no p-value")
    of_groups: dict[str, Any] = {} if groups is None else {"groups": groups}
    return np.asarray(est.decision(X, **of_groups)["p_value"])


def select(
    est: Description,
    X: ArrayLike,
    fdr: float = 0.1,
    groups: ArrayLike | None = None,
) -> np.ndarray:
    """Return the rows of a batch to call abnormal, with the false discovery rate held.

    Benjamini and Hochberg's procedure on p-values: the expected share of normal rows
    among the rows that are called abnormal is to be at most ``fdr``; this was measured
    (docs/measurements.md) and not proved. Rows of one batch are decided together: a row
    can be called abnormal in one batch and not in another.

    Parameters
    ----------
    est : Description
        Fitted.
    X : array-like of shape (n, p)
        As in ``est.predict``.
    fdr : float, default=0.1
        The share of normal rows among the selected ones that is expected, at most.
    groups : array-like, or name of a column of X, optional
        As in ``est.decision``.

    Returns
    -------
    ndarray of bool, shape (n,)
        Among m rows, p-values of at least 1/(n + 1) select at least m / (n + 1) /
        ``fdr`` rows or none.

    Raises
    ------
    ValueError
        fdr does not lie between 0 and 1; X as in ``est.predict``.

    Warns
    -----
    DataWarning
        No row is selected, and the smallest p-value that n left-out rows allow is too
        large for so many rows.

    References
    ----------
    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. Journal
    of the Royal Statistical Society B 57, 289-300.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> est = bsvdd.BSVDD().fit(rng.normal(size=(99, 2)))
    >>> batch = np.concatenate([rng.normal(size=(20, 2)) / 2, np.full((3, 2), 9.0)])
    >>> np.flatnonzero(bsvdd.select(est, batch, fdr=0.1)).tolist()
    [20, 21, 22]
    """
    check_rate("fdr", fdr)  # before all rows are answered
    p = p_value(est, X, groups)
    found = discoveries(p, fdr)
    if len(p) and not found.any():
        _warn_of_ranks(p, fdr, left_out_groups(est))
    return found


def _warn_of_ranks(p: np.ndarray, fdr: float, n: int) -> None:
    """Warn if too few rows have the smallest possible p-value of n left-out rows."""
    smallest = p.min()
    lowest = int((p == smallest).sum())
    if smallest * (n + 1) <= 1.0 + P_VALUE_ROUNDING:
        needed = int(np.ceil(smallest * len(p) / fdr))
        more = f": {needed} would have to at fdr={fdr:g}" if needed <= len(p) else ""
        warn(
            f"no row is selected, though {lowest} of {len(p)} have the smallest "
            f"possible p-value, {smallest:.3g}{more}; fit more rows, or look at the "
            "surprise in est.decision(X)",
            DataWarning,
        )


def discoveries(p: np.ndarray, fdr: float) -> np.ndarray:
    """Return the rows that Benjamini and Hochberg (1995) reject.

    The expected share of normal rows among them is at most ``fdr`` if p-values are
    valid, and independent or positively dependent.

    Parameters
    ----------
    p : ndarray of shape (m,)
        The p-value of each row.
    fdr : float

    Returns
    -------
    ndarray of bool, shape (m,)

    Raises
    ------
    ValueError
        fdr does not lie between 0 and 1.
    """
    check_rate("fdr", fdr)
    if not len(p):
        return np.zeros(0, dtype=bool)
    from scipy.stats import false_discovery_control

    adjusted: np.ndarray = false_discovery_control(p, method="bh")
    # adjusted p-values are often equal to the rate but for rounding
    return adjusted <= fdr * (1.0 + P_VALUE_ROUNDING)
