"""The p-values of new rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..description import Description
from ..fitted import require_description


def p_value(est: Description, X: Any) -> np.ndarray:
    r"""Return the conformal p-value of "this row is normal" for each row of X, shape (n,).

    .. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

    with :math:`s_z` the score of z and :math:`s_j` those of n left-out normal rows. A row with
    :math:`p(z) \le \alpha` is abnormal at a false-alarm rate of about :math:`\alpha`. It is the
    column ``p_value`` of ``est.decision(X)``.

    Parameters
    ----------
    est : Description
        Fitted.
    X : array-like of shape (n, p)
        As in ``est.predict``.

    Returns
    -------
    ndarray of shape (n,)
        At least 1/(n + 1), at most 1. It depends a little on the cutoff: the boundary of each draw
        is that of its false-alarm rate.

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
    It needs training rows that are normal, and new normal rows from the same distribution. Abnormal
    rows among the training rows make p-values too large, and drift makes them too small. Bandwidth,
    scaling and row sums are those of all rows; see :mod:`bsvdd.inference.p_values`.

    References
    ----------
    Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random world.
    Springer.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> bsvdd.p_value(bsvdd.BSVDD().fit(X), [[9.0, 9.0]])
    array([0.01])
    """
    require_description(est, "p-value")
    found: np.ndarray = est.decision(X)["p_value"].to_numpy()
    return found
