"""The decision: z is normal when P(d_z <= D_opt | data) exceeds a level, 0.5 by default.

The similarity s_z of a row decides in place of its distance: d_z <= D_opt is s_z >= s_opt. In the
metrics of decisions, positive means minority, that is, abnormal.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike


def needed(level: float, draws: int) -> int:
    """Return the number of draws that must be exceeded for more than a share ``level`` of them."""
    rank = math.floor(level * draws + 1e-9)  # 0.3 * 10 is 3, not 2.9999999999999996
    return min(rank, draws - 1)  # a level near 1 needs all draws


def quantile_rank(level: float, draws: int) -> int:
    """Return the index of the similarity that decides, among the sorted draws of a row.

    More than a share ``level`` of the draws is at least the cutoff exactly if this draw is.
    """
    return draws - 1 - needed(level, draws)


def deciding_quantile(
    similarity: np.ndarray, level: float = 0.5, log_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the similarity that decides each row, (draws, rows) -> (rows,).

    At level 0.5 it is the (lower) median. A row is normal if it is at least the cutoff, so this
    one number per row is all that a cutoff, a ranking or a score needs.

    Parameters
    ----------
    similarity : ndarray of shape (draws, rows)
    level : float, default=0.5
    log_weight : ndarray of shape (draws, rows), optional
        Log weights of the draws. Then it is the largest similarity such that the draws that are
        at least as large have more than a share ``level`` of the weight of their row.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.decision import deciding_quantile
    >>> deciding_quantile(np.array([[1.0, 1.0], [1.0, 3.0], [3.0, 3.0]])).tolist()
    [1.0, 3.0]
    """
    if log_weight is None:
        rank = quantile_rank(level, len(similarity))
        quantile: np.ndarray = np.partition(similarity.T, rank, axis=1)[:, rank]
        return quantile
    order = np.argsort(-similarity, axis=0, kind="stable")
    weight = np.exp(log_weight - log_weight.max(axis=0))
    share = np.cumsum(np.take_along_axis(weight, order, axis=0), axis=0)
    share /= share[-1]
    ranks = np.minimum((share <= level + 1e-9).sum(axis=0), len(similarity) - 1)
    return np.take_along_axis(similarity, order, axis=0)[ranks, np.arange(similarity.shape[1])]


def three_way(
    probability: np.ndarray, standard_error: np.ndarray, low: float, high: float
) -> np.ndarray:
    """Return "normal", "abnormal" or "undecided" for each row.

    A row is abnormal if P(d_z <= D_opt | data) is at most ``low``, and normal if it is at least
    ``high``. It is undecided between the two, and also within two Monte Carlo standard errors of
    the one beyond which it lies.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.decision import three_way
    >>> three_way(np.array([0.1, 0.5, 0.99]), np.array([0.01, 0.02, 0.004]), 0.2, 0.8).tolist()
    ['abnormal', 'undecided', 'normal']
    """
    margin = 2.0 * standard_error
    normal = probability - margin >= high
    abnormal = probability + margin <= low
    return np.where(abnormal, "abnormal", np.where(normal, "normal", "undecided"))


def probability_error(probability: np.ndarray, ess: float) -> np.ndarray:
    r"""Return the Monte Carlo standard error :math:`\sqrt{P (1 - P) / \mathrm{ESS}}` of P(normal).

    ESS is the effective number of draws; 0 is returned for a single estimate (ESS is NaN).
    """
    if math.isnan(ess):
        return np.zeros_like(probability)
    return np.sqrt(probability * (1.0 - probability) / ess)


def rates(tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike) -> dict[str, np.ndarray]:
    r"""Return the metrics that follow from the four counts, elementwise for arrays.

    A ratio with denominator 0 (PPV if no row is flagged, FNR without minority rows) is NaN.

    Returns
    -------
    dict
        ``accuracy``, ``f1`` = 2TP/(2TP+FP+FN), ``fpr`` = FP/(FP+TN) (majority rows flagged),
        ``fnr`` = FN/(FN+TP) (minority rows missed), ``ppv`` = TP/(TP+FP),
        ``g_mean`` = :math:`\sqrt{(1-FPR)(1-FNR)}`, ``balanced_accuracy`` = 1 - (FPR+FNR)/2.
    """
    tp, fp, fn, tn = (np.asarray(n, dtype=float) for n in (tp, fp, fn, tn))
    fpr, fnr = _ratio(fp, fp + tn), _ratio(fn, fn + tp)
    return {
        "accuracy": _ratio(tp + tn, tp + fp + fn + tn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "fpr": fpr,
        "fnr": fnr,
        "ppv": _ratio(tp, tp + fp),
        "g_mean": np.sqrt((1 - fpr) * (1 - fnr)),
        "balanced_accuracy": 1 - (fpr + fnr) / 2,
    }


def evaluate(
    minority: np.ndarray, flagged: np.ndarray, score: np.ndarray | None = None
) -> dict[str, float]:
    """Return all metrics of a decision, and the AUC of ``score`` (larger = more abnormal).

    Parameters
    ----------
    minority, flagged : ndarray of bool, shape (n,)
        The truth, and what the rule calls abnormal.
    score : ndarray of shape (n,), optional
    """
    counts = [
        int(np.sum(a & b))
        for a, b in (
            (minority, flagged),
            (~minority, flagged),
            (minority, ~flagged),
            (~minority, ~flagged),
        )
    ]
    result = {name: float(value) for name, value in rates(*counts).items()}
    result["auc"] = np.nan
    if score is not None and minority.any() and not minority.all():
        from sklearn.metrics import roc_auc_score

        result["auc"] = float(roc_auc_score(minority, score))
    return result


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)
