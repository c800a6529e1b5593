"""The rows of a batch to call abnormal, at a false discovery rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...inference import ties
from ...inference.warning import DataWarning, warn
from .. import inputs
from ..detector import Detector
from ..p_values import check_rate, fold_of, of_rows
from .p_value import with_tail


def select(
    est: Detector,
    X: Any,
    fdr: float = 0.1,
    method: str = "left-out",
    tail: str = "rank",
) -> np.ndarray:
    """Return the rows of a batch to call abnormal, with the false discovery rate held.

    Benjamini and Hochberg's procedure on p-values: the expected share of normal rows among the
    rows that are called abnormal is to be at most ``fdr``. Rows of one batch are decided
    together: a row can be called abnormal in one batch and not in another.

    Parameters
    ----------
    est : Detector
        Fitted.
    X : array-like of shape (n, p)
    fdr : float, default=0.1
    method : {"left-out", "split"}, default="left-out"
        As in :func:`bsvdd.p_value`. There is a theorem for "split" (Bates et al. 2023); for
        "left-out" the rate was measured (docs/measurements.md) and not proved.
    tail : optional
        As in :func:`bsvdd.p_value`. Among m rows, p-values of at least 1/(n + 1) select at least
        m / (n + 1) / ``fdr`` rows or none; ``tail="pareto"`` has no such limit.

    Returns
    -------
    ndarray of bool, shape (n,)

    Raises
    ------
    ValueError
        fdr does not lie between 0 and 1; X and method as in :func:`bsvdd.p_value`.

    References
    ----------
    Bates, S., Candes, E., Lei, L., Romano, Y. and Sesia, M. (2023). Testing for outliers with
    conformal p-values. Annals of Statistics 51, 149-178. doi:10.1214/22-AOS2244

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
    check_is_fitted(est)
    check_rate("fdr", fdr)
    fit = est.fit_
    fold = fold_of(fit, method)
    fold = with_tail(fold, tail, fit.data.seed)
    p = of_rows(fit, fold, *inputs.completed(fit.data, X))
    found = discoveries(p, fdr)
    if tail == "rank" and len(p) and not found.any():
        _warn_of_ranks(p, fdr, int((~fit.data.minority).sum()))
    return found


def _warn_of_ranks(p: np.ndarray, fdr: float, n: int) -> None:
    """Warn if rows have the smallest possible p-value of n left-out rows, and are too few."""
    smallest, lowest = p.min(), int((p == p.min()).sum())
    needed = int(np.ceil(smallest * len(p) / fdr))
    if smallest * (n + 1) <= 2.0:  # 2: a split has half of the rows
        warn(
            f"no row is selected, though {lowest} of {len(p)} have the smallest possible p-value, "
            f"{smallest:.3g}: {needed} would have to at fdr={fdr:g}; "
            "fit more rows, use tail='pareto', or look at the surprise in est.decision(X)",
            DataWarning,
        )


def discoveries(p: np.ndarray, fdr: float) -> np.ndarray:
    """Return the rows that Benjamini and Hochberg (1995) reject, a mask of shape (rows,).

    The expected share of normal rows among them is at most ``fdr`` if p-values are valid, and
    independent or positively dependent. The p-values of a split are (Bates et al. 2023).
    """
    check_rate("fdr", fdr)
    if not len(p):
        return np.zeros(0, dtype=bool)
    from scipy.stats import false_discovery_control

    adjusted: np.ndarray = false_discovery_control(p, method="bh")
    # adjusted p-values are often equal to the rate but for rounding
    return adjusted <= fdr * (1.0 + ties.RELATIVE)
