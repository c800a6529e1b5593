r"""What p-values say of a batch: discoveries, and bounds of the number of abnormal rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from scipy.stats import false_discovery_control

from .. import new_rows
from . import p_values

ROUNDING = 1e-9  # relative; p-values and rates are often equal but for rounding
SPLITS = 10  # over which e-values are averaged


def select(est: Any, X: Any, fdr: float, method: str) -> np.ndarray:
    """Return the rows of a batch to call abnormal, a mask; see ``est.select``."""
    check_rate("fdr", fdr)
    if method == "e-values":
        return discoveries_by_e_values(_mean_e_values(est, X, fdr), fdr)
    return discoveries(computed(est.p_value(X, method)), fdr)


def computed(values: Any) -> np.ndarray:
    """Return the values; a dask collection is computed."""
    array: np.ndarray = values.compute() if hasattr(values, "compute") else values
    return array


def _mean_e_values(est: Any, X: Any, fdr: float) -> np.ndarray:
    """Return the means of the e-values of the rows of X over splits."""
    fit, e = est.fit_, []
    for seed in range(fit.data.seed, fit.data.seed + SPLITS):
        score, left_out = p_values.split(est, seed)
        scores = computed(
            new_rows.by_row(est, X, partial(_scores_of, split=score, level=fit.level))
        )
        # half the rate for each split, so that their mean can reach the whole (Bashari et al.)
        e.append(e_values(scores, left_out, fdr / 2.0))
    return np.mean(e, axis=0)


def _scores_of(score: Any, rows: np.ndarray, split: Any, level: float) -> np.ndarray:
    scores: np.ndarray = split.scores(rows, level)
    return scores


def discoveries(p: np.ndarray, fdr: float) -> np.ndarray:
    """Return the rows that Benjamini and Hochberg (1995) reject, a mask of shape (rows,).

    The expected share of normal rows among them is at most ``fdr`` if p-values are valid, and
    independent or positively dependent. The p-values of a split are (Bates et al. 2023).
    """
    check_rate("fdr", fdr)
    if not len(p):
        return np.zeros(0, dtype=bool)
    adjusted: np.ndarray = false_discovery_control(p, method="bh")
    return adjusted <= fdr * (1.0 + ROUNDING)  # adjusted p-values are often equal to the rate


def e_values(scores: np.ndarray, left_out: np.ndarray, fdr: float) -> np.ndarray:
    r"""Return the e-values of rows of a batch, shape (rows,), from the left-out rows of one split.

    .. math:: e_j = \frac{(n + 1)\, 1[s_j \le t]}{1 + \#\{i : s_i \le t\}}

    with t the largest score, of the batch or left out, at which the estimated false discovery
    proportion, :math:`m (1 + \#\{i : s_i \le t\}) / ((n + 1) \#\{j : s_j \le t\})`, is at most
    ``fdr``; all are 0 if there is none. The expected sum over the normal rows of the batch is at
    most their number, so the mean over several splits may go to
    :func:`discoveries_by_e_values`.

    Parameters
    ----------
    scores : ndarray of shape (rows,)
        Larger is more normal.
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.
    fdr : float

    References
    ----------
    Bashari, M., Epstein, A., Romano, Y. and Sesia, M. (2023). Derandomized novelty detection with
    FDR control via conformal e-values. Advances in Neural Information Processing Systems 36.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.batches import e_values
    >>> e_values(np.array([0.0, 5.0, 9.0]), np.arange(1.0, 40.0), fdr=0.1).tolist()
    [40.0, 0.0, 0.0]
    """
    # t among the scores of the batch only would make the expected sum larger than m
    t = np.unique(np.concatenate([scores, left_out]))
    below = 1.0 + np.searchsorted(left_out, t, side="right")
    rejected = np.searchsorted(np.sort(scores), t, side="right")
    estimate = len(scores) * below / (len(left_out) + 1.0)
    accepted = np.flatnonzero((rejected > 0) & (estimate <= fdr * (1.0 + ROUNDING) * rejected))
    if not len(accepted):
        return np.zeros(len(scores))
    last = accepted[-1]
    e: np.ndarray = np.where(scores <= t[last], (len(left_out) + 1.0) / below[last], 0.0)
    return e


def discoveries_by_e_values(e: np.ndarray, fdr: float) -> np.ndarray:
    """Return the rows that the procedure of Benjamini and Hochberg for e-values rejects, a mask.

    The expected share of normal rows among them is at most ``fdr`` under any dependence (Wang and
    Ramdas 2022). It is the procedure for p-values, with 1/e in their place.
    """
    with np.errstate(divide="ignore"):
        return discoveries(np.minimum(1.0 / e, 1.0), fdr)


def abnormal_at_least(p: np.ndarray, confidence: float = 0.9) -> int:
    r"""Return a lower bound of the number of abnormal rows in a batch.

    By closed testing with Simes' tests (Hommel 1988; Goeman and Solari 2011): m rows minus the size
    of the largest set of rows that may all be normal,

    .. math:: h = \max\{i : i\, p_{(m - i + j)} > j \alpha \text{ for } j = 1, \dots, i\},
        \qquad \alpha = 1 - \text{confidence}.

    The bound holds with the given confidence for p-values as in :func:`discoveries`. The
    p-values of n left-out rows are at least 1/(n + 1), so n has to be large for a small share of
    abnormal rows to be seen.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.batches import abnormal_at_least
    >>> abnormal_at_least(np.array([0.001, 0.002, 0.3, 0.6, 0.9]))
    2
    """
    check_rate("confidence", confidence)
    ordered = np.sort(p)
    alpha = (1.0 - confidence) * (1.0 + ROUNDING)  # 1 - .9 is .1, and not .09999999999999998
    low, high = 0, len(p)  # sets of up to low rows may all be normal, and none above high may
    while low < high:
        i = (low + high + 1) // 2
        if (i * ordered[len(p) - i :] > np.arange(1, i + 1) * alpha).all():
            low = i
        else:
            high = i - 1
    return len(p) - low


def check_rate(name: str, value: float) -> None:
    """Raise a ValueError if the value does not lie between 0 and 1."""
    if not (isinstance(value, int | float | np.floating) and 0 < value < 1):
        raise ValueError(f"{name} must lie between 0 and 1, without 0 and 1, got {value!r}")
