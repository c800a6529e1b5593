"""Metrics of scores and probabilities, in addition to those of the decision."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import average_precision_score, brier_score_loss

from ...inference.decision import evaluate

BINS = 10
UNSEEN_SHARES = (0.25, 0.5)
LEAST = 1e-15  # probability in a log score


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
        P(abnormal); 0 or 1 for separating machines.

    Returns
    -------
    dict
        The metrics of :func:`bsvdd.inference.decision.evaluate`, ``average_precision`` (of the
        minority; the base rate for a constant score), ``brier`` and ``calibration_error``.
    """
    both = minority.any() and not minority.all()
    return {
        **evaluate(minority, flagged, score),
        "average_precision": float(average_precision_score(minority, score)) if both else np.nan,
        "brier": float(brier_score_loss(minority.astype(int), probability, pos_label=1)),
        "calibration_error": calibration_error(minority, probability),
    }


def measure_kinds(
    minority: np.ndarray, unseen: np.ndarray, flagged: np.ndarray, score: np.ndarray
) -> dict[str, float]:
    """Return AUC and G-mean of normal rows and seen kinds, and of normal rows and unseen kinds.

    Parameters
    ----------
    minority, unseen, flagged : ndarray of bool, shape (n,)
        Abnormal rows, those of them whose kind is not in training, and those that the rule flags.
    score : ndarray of shape (n,)
        Larger is more abnormal.

    Returns
    -------
    dict
        ``auc_seen``, ``g_mean_seen``, ``auc_unseen``, ``g_mean_unseen``; without rows, NaN.
    """
    values: dict[str, float] = {}
    for name, others in (("seen", unseen), ("unseen", minority & ~unseen)):
        part = ~others
        found = evaluate(minority[part], flagged[part], score[part])
        values |= {f"{metric}_{name}": found[metric] for metric in ("auc", "g_mean")}
    return values


def scores_of_answers(
    answers: np.ndarray, minority: np.ndarray, unseen: np.ndarray, base_rate: float, prefix: str
) -> dict[str, float]:
    r"""Return proper scores of P(normal) and of three answers; lower is better.

    The test rows are weighted so that the base rate is :math:`\pi` and a share s of the abnormal
    rows is of unseen kinds,

    .. math:: (1 - \pi)\, \overline{S}_{\text{normal}} + \pi (1 - s)\, \overline{S}_{\text{seen}}
        + \pi s\, \overline{S}_{\text{unseen}}.

    Parameters
    ----------
    answers : ndarray of shape (n, 3)
        P(normal), P(known kind), P(unknown kind).
    minority, unseen : ndarray of bool, shape (n,)
    base_rate : float
        pi.
    prefix : str
        Of the names.

    Returns
    -------
    dict
        For s = .25 and .5, in per cent at the end of the names: ``log_score`` and ``brier`` of
        P(normal) (of the two answers normal and abnormal), and ``answers_log_score`` of all three.
        NaN if there is no row of seen or of unseen kinds.
    """
    normal, truth = answers[:, 0], np.where(unseen, 2, minority.astype(int))
    of_truth = np.where(minority, 1.0 - normal, normal)
    losses = {
        "log_score": -np.log(np.maximum(of_truth, LEAST)),
        "brier": (1.0 - of_truth) ** 2,
        "answers_log_score": -np.log(np.maximum(answers[np.arange(len(truth)), truth], LEAST)),
    }
    present = all((truth == answer).any() for answer in range(3))
    values = {}
    for name, loss in losses.items():
        means = [loss[truth == answer].mean() if present else np.nan for answer in range(3)]
        for s in UNSEEN_SHARES:
            weights = [1.0 - base_rate, base_rate * (1.0 - s), base_rate * s]
            values[f"{prefix}{name}_{s:.0%}".rstrip("%")] = float(np.dot(weights, means))
    return values


def calibration_error(minority: np.ndarray, probability: np.ndarray) -> float:
    r"""Return the expected calibration error (Naeini et al. 2015), 0 at best.

    .. math:: \sum_b \frac{n_b}{n} \left|\bar p_b - \bar y_b\right|

    over 10 bins of equal width, [0, .1), ..., [.9, 1].
    """
    bins = np.minimum((probability * BINS).astype(int), BINS - 1)
    excess = np.bincount(bins, probability - minority, minlength=BINS)
    return float(np.abs(excess).sum() / len(minority))
