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
from ..inference.warning import DataWarning, warn
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
    fit: Fit,
    fold: Fold,
    training: str,
    table: np.ndarray,
    imputations: Imputations | None = None,
) -> np.ndarray:
    """Return the p-values of rows, each training row among the others.

    ``training`` is as in :func:`bsvdd.p_value`.

    Raises
    ------
    ValueError
        There are rows of the table that the fit found the core of.

    Warns
    -----
    DataWarning
        There are training rows, and the fold has no left-out scores of these.
    """
    rows = fit.asked(table, imputations, training)
    if of_one_table(fit, rows).any():
        raise ValueError(
            "these are training rows of one table, in which one row has the smallest p-value "
            "whatever the rows are; use stand_out(est), which says which of them are odd"
        )
    if fold.of_training is not None:
        return at(fit, fold, rows)
    warn_of_seen(rows.place)
    return fold.p_values(table)


def of_one_table(fit: Fit, rows: Rows) -> np.ndarray:
    """Return which rows (m,) are of the table that the fit found the core of: ranks say nothing."""
    if fit.data.core is None:
        return np.zeros(len(rows), dtype=bool)
    return (rows.place >= 0) | np.array_equal(rows.table, fit.data.rows)


def warn_of_seen(place: np.ndarray) -> None:
    """Warn of training rows, by their numbers, of which a fit to half of the rows has seen half."""
    n = int((place >= 0).sum())
    if n:
        warn(
            f"{n} of {len(place)} rows are training rows, of which a fit to half of the rows has "
            "seen half, so they look too normal; give new rows (p-values: method='left-out')",
            DataWarning,
        )


def at(fit: Fit, fold: Fold, rows: Rows) -> np.ndarray:
    """Return the p-values of rows by a fold that has left-out scores of all training rows.

    Gaps have their middle values where those of the left-out rows have.
    """
    of_training = fold.of_training
    assert of_training is not None  # scores of left-out rows
    if fold.score is fit.score:
        scores = fit.scores(rows)
    else:
        scores = rows.answered(fold.scores, lambda i: of_training[i])
    return fold.of_scores(scores, (rows.place >= 0) & ~fit.data.minority[rows.place])


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
