r"""Conformal p-values of "row z is normal".

.. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

compares the score of a new row z with the scores of n left-out normal rows. If z is normal, its
score is as likely to have any rank among these n + 1 as any other, so
:math:`P(p(z) \le \alpha) \le \alpha` (Vovk, Gammerman and Shafer 2005). This needs scores that
treat z and the left-out rows alike:

=============  ===================================================  ==========================
method         left-out rows                                        :math:`P(p(z) \le \alpha)`
=============  ===================================================  ==========================
"left-out"     one by one in closed form, or in refitted folds;     about :math:`\alpha`
               the same scores that choose the cutoff
"split"        half of the rows, which the fit never sees           at most :math:`\alpha`
=============  ===================================================  ==========================

A probability is over training rows and z. Both methods need normal training rows and new normal
rows from one distribution (exchangeable rows): abnormal training rows make p-values too large, and
drift makes them too small. "split" chooses bandwidth, scaling and groups without the left-out
rows. "left-out" chooses them by all rows, and row sums in a prior are sums over all rows; no
theorem covers this. Points of the user must not be training rows.

Scores that rounding alone tells apart are equal (:mod:`bsvdd.inference.ties`), so the p-value of a
row does not depend on the rows that it is asked with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..inference import ties
from ..inference.center import Score
from .fit import Fit, refitted
from .known import Rows
from .rows.gaps import Imputations

METHODS = ("left-out", "split")

View = Callable[[Score], Score]  # another way to look at the score of a fit


def p_values(
    scores: np.ndarray,
    left_out: np.ndarray,
    itself: np.ndarray | bool = False,
    unit: float = 1.0,
) -> np.ndarray:
    """Return the conformal p-values of scores, shape (rows,) -> (rows,).

    Parameters
    ----------
    scores : ndarray of shape (rows,)
        Larger is more normal.
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.
    itself : ndarray of bool, shape (rows,), default=False
        Which of the rows are left-out rows themselves.
    unit : float, default=1.0
        Of the scores, see :mod:`bsvdd.inference.ties`; 1 for logarithms.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.p_values import p_values
    >>> p_values(np.array([0.5, 2.0, 9.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [0.25, 0.75, 1.0]
    """
    below = np.searchsorted(left_out, scores + ties.tolerance(scores, unit), side="right")
    return (1.0 + below - itself) / (len(left_out) + 1.0 - itself)


@dataclass(frozen=True, eq=False)
class Fold:
    """Left-out rows, and the score that is compared with theirs.

    Attributes
    ----------
    score : Score
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.
    level : float
    of_training : ndarray of shape (n,), optional
        Scores of all training rows, each left out; None if some of them cannot be.
    """

    score: Score
    left_out: np.ndarray
    level: float
    of_training: np.ndarray | None = None

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Return the scores of rows."""
        return self.score.scores(rows, self.level)

    def p_values(self, rows: np.ndarray) -> np.ndarray:
        """Return the p-values of rows."""
        return self.of_scores(self.scores(rows))

    def of_scores(self, scores: np.ndarray, itself: np.ndarray | bool = False) -> np.ndarray:
        """Return the p-values of rows with these scores, some of which are left-out rows."""
        return p_values(scores, self.left_out, itself, self.score.unit)


def fold_of(fit: Fit, method: str = "left-out") -> Fold:
    """Return the left-out rows that are compared with new rows.

    Raises
    ------
    ValueError
        An unknown method.
    """
    check_method(method)
    if method == "split":
        return split(fit)
    return Fold(fit.score, normal_left_out(fit), fit.level, fit.left_out)


def of_rows(
    fit: Fit, fold: Fold, table: np.ndarray, imputations: Imputations | None = None
) -> np.ndarray:
    """Return the p-values of new rows."""
    rows = fit.asked(table, imputations)
    fit.warn_of_training(rows)
    return at(fit, fold, rows)


def at(fit: Fit, fold: Fold, rows: Rows) -> np.ndarray:
    """Return the p-values of new rows.

    Gaps have their middle values where those of the left-out rows have.
    """
    own = fold.score is fit.score
    return fold.of_scores(fit.scores(rows) if own else fold.scores(rows.table))


def check_method(method: str) -> None:
    """Raise a ValueError for an unknown method."""
    if method not in METHODS:
        raise ValueError(f"method must be {' or '.join(map(repr, METHODS))}, got {method!r}")


def normal_left_out(fit: Fit) -> np.ndarray:
    """Return the left-out scores of the normal training rows, in ascending order."""
    return np.sort(fit.left_out[~fit.data.minority & ~np.isnan(fit.left_out)])


def of_training(scores: np.ndarray, itself: np.ndarray, unit: float = 1.0) -> np.ndarray:
    """Return the p-values of training rows, each among the other left-out rows, shape (n,).

    ``itself`` says which scores are those of left-out normal rows.
    """
    return p_values(scores, np.sort(scores[itself]), itself, unit)


def split(fit: Fit, view: View = lambda score: score) -> Fold:
    """Return the fold of a fit to half of the majority rows, with its own bandwidth."""
    data, level = fit.data, fit.level
    order = np.random.default_rng(data.seed).permutation(np.flatnonzero(~data.minority))
    train, test = np.split(order, [len(order) // 2])
    rows = np.sort(np.concatenate([train, np.flatnonzero(data.minority)]))
    score = view(refitted(fit, rows, own_kernel=True).score)
    return Fold(score, np.sort(score.scores(data.rows[test], level)), level)


def check_rate(name: str, value: float) -> None:
    """Raise a ValueError if the value does not lie between 0 and 1."""
    if not (isinstance(value, int | float | np.floating) and 0 < value < 1):
        raise ValueError(f"{name} must lie between 0 and 1, without 0 and 1, got {value!r}")
