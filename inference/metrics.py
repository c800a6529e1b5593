"""Metrics of decisions on rows whose classes are known; abnormal rows are positive."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def rates(
    tp: ArrayLike, fp: ArrayLike, fn: ArrayLike, tn: ArrayLike
) -> dict[str, np.ndarray]:
    r"""Return the metrics that follow from the four counts, elementwise for arrays.

    A ratio with denominator 0 (PPV if no row is flagged, FNR without minority rows) is
    NaN.

    Parameters
    ----------
    tp, fp, fn, tn : array-like
        Minority rows flagged, majority rows flagged, and both not flagged.

    Returns
    -------
    dict
        ``accuracy``, ``f1`` = 2TP/(2TP+FP+FN), ``fpr`` = FP/(FP+TN) (majority rows
        flagged), ``fnr`` = FN/(FN+TP) (minority rows missed), ``ppv`` = TP/(TP+FP),
        ``g_mean`` = :math:`\sqrt{(1-FPR)(1-FNR)}`, ``balanced_accuracy`` = 1 -
        (FPR+FNR)/2.
    """
    tp, fp, fn, tn = (np.asarray(n, dtype=float) for n in (tp, fp, fn, tn))
    fpr = _ratio(fp, fp + tn)
    fnr = _ratio(fn, fn + tp)
    return {
        "accuracy": _ratio(tp + tn, tp + fp + fn + tn),
        "f1": _ratio(2 * tp, 2 * tp + fp + fn),
        "fpr": fpr,
        "fnr": fnr,
        "ppv": _ratio(tp, tp + fp),
        "g_mean": np.sqrt((1 - fpr) * (1 - fnr)),
        "balanced_accuracy": 1 - (fpr + fnr) / 2,
    }


def _ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    out = np.full(np.broadcast_shapes(numerator.shape, denominator.shape), np.nan)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def evaluate(
    minority: np.ndarray, flagged: np.ndarray, score: np.ndarray | None = None
) -> dict[str, float]:
    """Return all metrics of a decision, and the AUC of a score.

    Parameters
    ----------
    minority, flagged : ndarray of bool, shape (n,)
        The truth, and which rows are called abnormal.
    score : ndarray of shape (n,), optional
        Larger for more abnormal rows.

    Returns
    -------
    dict of str to float
    """
    counts = [
        int(np.sum(truth & called))
        for called in (flagged, ~flagged)
        for truth in (minority, ~minority)
    ]
    result = {name: float(value) for name, value in rates(*counts).items()}
    result["auc"] = np.nan
    if score is not None and minority.any() and not minority.all():
        from sklearn.metrics import roc_auc_score

        result["auc"] = float(roc_auc_score(minority, score))
    return result
