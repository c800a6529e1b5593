"""The p-values of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, override

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...inference import ties
from .. import inputs
from ..detector import Detector
from ..p_values import Fold, fold_of, of_rows
from .tail import Tail


def p_value(
    est: Detector,
    X: Any,
    method: str = "left-out",
    tail: str = "rank",
) -> np.ndarray:
    r"""Return the conformal p-value of "this row is normal" for each row of X.

    .. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

    with :math:`s_z` the score of z and :math:`s_j` those of n left-out normal rows. A row with
    :math:`p(z) \le \alpha` is abnormal at a false-alarm rate of :math:`\alpha`. With the
    cutoff ``cutoffs.FalseAlarm(alpha)`` and the method "left-out", these
    are exactly those that ``predict`` calls abnormal.

    Parameters
    ----------
    est : Detector
        Fitted.
    X : array-like of shape (n, p)
        As in ``est.predict``.
    method : {"left-out", "split"}, default="left-out"
        How rows are left out. For a normal row, :math:`P(p(z) \le \alpha)` is

        - "left-out": about :math:`\alpha`, with the left-out scores that choose the cutoff;
        - "split": at most :math:`\alpha`; the model is refitted to half of the majority rows,
          and the other half is left out.
    tail : {"rank", "pareto"}, default="rank"
        "pareto" puts a model, a generalised Pareto distribution, above the .9 quantile of the
        left-out surprises, so that p-values can be smaller than 1/(n + 1). They are as good as
        this model, which is checked, see :mod:`bsvdd.estimators.questions.tail`.

    Returns
    -------
    ndarray of shape (n,)
        At least 1/(n + 1) with tail "rank", at most 1. It depends a little on the cutoff: the
        boundary of each draw is that of its false-alarm rate.

    Raises
    ------
    ValueError
        An unknown method; a tail of fewer than 10 rows; X as in ``est.predict``.

    Warns
    -----
    DiagnosticWarning
        With tail "pareto": the largest left-out surprises are of another distribution.
    DataWarning
        X has many training rows, which are answered as new ones.

    Notes
    -----
    Both methods need training rows that are normal, and new normal rows from the same
    distribution. Abnormal rows among the training rows make p-values too large, and drift makes
    them too small. "left-out" uses bandwidth, scaling and row sums of all rows; see
    :mod:`bsvdd.estimators.p_values`.

    References
    ----------
    Vovk, V., Gammerman, A. and Shafer, G. (2005). Algorithmic learning in a random world.
    Springer.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> est = bsvdd.BSVDD().fit(X)
    >>> bsvdd.p_value(est, [[9.0, 9.0]])
    array([0.01])
    >>> bool(bsvdd.p_value(est, [[9.0, 9.0]], tail="pareto")[0] < 0.01)
    True
    """
    check_is_fitted(est)
    fold = with_tail(fold_of(est.fit_, method), tail, est.fit_.data.seed)
    return of_rows(est.fit_, fold, *inputs.completed(est.fit_.data, X))


@dataclass(frozen=True, eq=False)
class TailFold(Fold):
    """Left-out rows whose largest surprises are a generalised Pareto distribution.

    Attributes
    ----------
    tail : Tail
    """

    tail: Tail = field(kw_only=True)

    @override
    def of_scores(self, scores: np.ndarray, itself: np.ndarray | bool = False) -> np.ndarray:
        p, u = super().of_scores(scores, itself), self.tail.threshold
        beyond = -scores > u + ties.tolerance(u, self.score.unit)
        p[beyond] = self.tail.p_values(-scores[beyond])
        return p


def with_tail(fold: Fold, tail: str, seed: int) -> Fold:
    """Return a fold whose p-values are ranks or those of a tail; a ValueError for another tail."""
    if tail not in ("rank", "pareto"):
        raise ValueError(f"tail must be 'rank' or 'pareto', got {tail!r}")
    if tail == "rank":
        return fold
    of_tail = Tail.of(-fold.left_out, seed, fold.score.unit)
    return TailFold(**vars(fold), tail=of_tail)
