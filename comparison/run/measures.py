"""Metrics of scores and probabilities, in addition to those of the decision."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, brier_score_loss

from ...inference.metrics import evaluate

BINS = 10


def measure(
    minority: np.ndarray, flagged: np.ndarray, score: np.ndarray, probability: np.ndarray
) -> dict[str, float]:
    """Return the metrics of a decision, of a ranking and of P(abnormal).

    Parameters
    ----------
    minority, flagged : ndarray of bool, shape (n,)
        The true classes, and the rows that the rule calls abnormal.
    score : ndarray of shape (n,)
        Larger is more abnormal.
    probability : ndarray of shape (n,)
        P(abnormal); 0 or 1 for a model without a posterior.

    Returns
    -------
    dict
        The metrics of :func:`bsvdd.inference.metrics.evaluate`, ``average_precision`` (of the
        minority; the base rate for a constant score), ``brier`` and ``calibration_error``.
    """
    both = minority.any() and not minority.all()
    return {
        **evaluate(minority, flagged, score),
        "average_precision": float(average_precision_score(minority, score)) if both else np.nan,
        "brier": float(brier_score_loss(minority.astype(int), probability, pos_label=1)),
        "calibration_error": calibration_error(minority, probability),
    }


def calibration_error(minority: np.ndarray, probability: np.ndarray) -> float:
    r"""Return the expected calibration error (Naeini et al. 2015), 0 at best.

    .. math:: \sum_b \frac{n_b}{n} \left|\bar p_b - \bar y_b\right|

    over 10 bins of equal width, [0, .1), ..., [.9, 1].
    """
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    excess = np.bincount(bins, probability - minority, minlength=BINS)
    return float(np.abs(excess).sum() / len(minority))
