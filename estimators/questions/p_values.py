r"""Conformal p-values of "row z is normal", by two methods.

.. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

compares the score of a new row z with the scores of n left-out normal rows. If z is normal, its
score is as likely to have any rank among these n + 1 as any other, so
:math:`P(p(z) \le \alpha) \le \alpha` (Vovk, Gammerman and Shafer 2005). This needs scores that
treat z and the left-out rows alike. How far this holds depends on how the left-out rows get their
scores:

===========  ==============================================  ==========================
method       left-out rows                                   :math:`P(p(z) \le \alpha)`
===========  ==============================================  ==========================
"left-out"   one by one in closed form, or in refitted       about :math:`\alpha`
             folds; the same scores that choose the cutoff
"split"      half of the rows, which the fit never sees      at most :math:`\alpha`
===========  ==============================================  ==========================

A probability is over training rows and z. Both methods need normal training rows and new normal
rows from one distribution (exchangeable rows): abnormal training rows make p-values too large, and
drift makes them too small. "split" chooses bandwidth, scaling and landmarks without the left-out
rows. "left-out" chooses them by all rows, and row sums in a prior are sums over all rows; no
theorem covers this. Points of the user must not be training rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...inference.center import Score
from ..fit import Fit
from .given import Conditional, positions
from .given import left_out as conditional_left_out
from .tail import Tail

METHODS = ("left-out", "split")

Method = Callable[[Score, np.ndarray], np.ndarray]  # the p-values of rows, by the score of the fit


def p_values(
    scores: np.ndarray, left_out: np.ndarray, itself: np.ndarray | bool = False
) -> np.ndarray:
    """Return the conformal p-values of scores, shape (rows,) -> (rows,).

    Parameters
    ----------
    scores : ndarray of shape (rows,)
        Larger is more normal.
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.p_values import p_values
    >>> p_values(np.array([0.5, 2.0, 9.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [0.25, 0.75, 1.0]
    """
    below = np.searchsorted(left_out, scores, side="right")
    return (1.0 + below - itself) / (len(left_out) + 1.0 - itself)


def method_of(est: Any, method: str, given: Any = None, tail: str = "rank") -> Method:
    """Return the method of that name for a fitted estimator; see ``est.p_value``.

    Raises
    ------
    ValueError
        An unknown method or tail, or a model that ``given`` does not suit.
    """
    if tail not in ("rank", "pareto"):
        raise ValueError(f"tail must be 'rank' or 'pareto', got {tail!r}")
    fold = one_fold(est, method, given)
    if tail == "rank":
        return partial(_by_rank, fold=fold)
    return partial(_by_tail, fold=fold, tail=Tail.of(-fold.left_out, est.fit_.data.seed))


@dataclass(frozen=True, eq=False)
class Fold:
    """Left-out rows and the score that is compared with theirs.

    Attributes
    ----------
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.
    level : float
    score : Score or None
        Of new rows; None for that of the fit.
    """

    left_out: np.ndarray
    level: float
    score: Score | None = None

    def scores(self, of_fit: Score, rows: np.ndarray) -> np.ndarray:
        """Return the scores of rows; ``of_fit`` is the score of the fit."""
        return (of_fit if self.score is None else self.score).scores(rows, self.level)


def one_fold(est: Any, method: str = "left-out", given: Any = None) -> Fold:
    """Return the left-out rows that are compared under one score.

    Raises
    ------
    ValueError
        An unknown method, or a model that ``given`` does not suit.
    """
    if method not in METHODS:
        raise ValueError(f"method must be {' or '.join(map(repr, METHODS))}, got {method!r}")
    columns, fit = positions(est, given), est.fit_
    if method == "split":
        return _split(est, columns)
    if not columns:
        return Fold(normal_left_out(est), fit.level)
    scores = conditional_left_out(est, columns)[~fit.data.minority]
    return Fold(np.sort(scores), fit.level, Conditional.of(fit.center, columns))


def normal_left_out(est: Any) -> np.ndarray:
    """Return the left-out scores of the normal training rows, in ascending order."""
    scores = est.left_out_scores()
    return np.sort(scores[~est.fit_.data.minority & ~np.isnan(scores)])


def of_training(scores: np.ndarray, itself: np.ndarray) -> np.ndarray:
    """Return the p-values of training rows, each among the other left-out rows, shape (n,).

    ``itself`` says which scores are those of left-out normal rows.
    """
    return p_values(scores, np.sort(scores[itself]), itself)


def of_training_given(est: Any, given: Any) -> np.ndarray:
    """Return the p-values of training rows for ``given``, each left out, shape (n,)."""
    scores = conditional_left_out(est, positions(est, given))
    return of_training(scores, ~est.fit_.data.minority)


def _split(est: Any, given: tuple[int, ...]) -> Fold:
    """Return the fold of a fit to half of the majority rows, with its own bandwidth."""
    data, level = est.fit_.data, est.fit_.level
    order = np.random.default_rng(data.seed).permutation(np.flatnonzero(~data.minority))
    train, test = np.split(order, [len(order) // 2])
    rows = np.sort(np.concatenate([train, np.flatnonzero(data.minority)]))
    _, score = est._refit(data, rows, own_kernel=True)
    if given:
        score = Conditional.of(score, given)
    return Fold(np.sort(score.scores(data.rows[test], level)), level, score)


def _by_rank(score: Score, rows: np.ndarray, fold: Fold) -> np.ndarray:
    return p_values(fold.scores(score, rows), fold.left_out)


def _by_tail(score: Score, rows: np.ndarray, fold: Fold, tail: Tail) -> np.ndarray:
    scores = fold.scores(score, rows)
    p, beyond = p_values(scores, fold.left_out), -scores > tail.threshold
    p[beyond] = tail.p_values(-scores[beyond])
    return p


def some_draws(fit: Fit, draws: int) -> np.ndarray:
    """Return the numbers, over all chains, of evenly spaced draws."""
    chains, n = fit.draws.shape
    kept = thinned(n, max(1, draws // chains))
    return (np.arange(chains)[:, None] * n + kept).ravel()


def thinned(n: int, most: int) -> np.ndarray:
    """Return up to ``most`` of n numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))
