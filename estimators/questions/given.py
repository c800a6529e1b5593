r"""Whether some columns of a row are odd, given its other columns.

With weights of at least 0 and a kernel that is a product over columns, the description has

.. math:: f(x, y) = \sum_j w_j k_x(u_j, x)\, k_y(u_j, y), \qquad f(x) = \sum_j w_j k_x(u_j, x),
    \qquad f(y) = \sum_j w_j k_y(u_j, y)

in each draw, with the same rows, weights and bandwidths. The surprise of y given x is

.. math:: S(y \mid x) = -\log \frac{f(x, y) + \epsilon f(y)}{f(x) + \epsilon},

with :math:`\epsilon` the 1 % quantile of f(x) over left-out points, by the mean weights. Where some
points are like x, :math:`\epsilon` hardly counts. Where x is farther from all points than theirs
are from each other, S is the surprise of y alone: no point tells which y is usual there.

Left-out rows have this surprise too, and its rank among them is the p-value. King et al.
(2025) say when an anomaly depends on a context, and learn it by an autoencoder; here nothing is
fitted.

**References**

King, S., Zhang, Z., Yu, R., Coskun, B., Ding, W. and Cui, Q. (2025). Contextual learning for
anomaly detection in tabular data. arXiv:2509.09030.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, override

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...inference import threads
from ...inference.center import Center, Score, Weighted, level_quantile, log_sums
from ...inference.cutoff import Cutoff
from ...inference.leave import Leaving
from ...inference.left_out import choose_cv, folds
from ...models.kernels.base import is_number
from .. import inputs, known
from ..detector import Detector
from ..fit import Fit, auto_cv, refitted
from ..joined import Joined
from ..messages import listed
from ..p_values import Fold, check_method, of_rows, of_training, split
from . import terms
from .p_value import with_tail

EPSILON_QUANTILE = 0.01  # of the points have a smaller f(x) than epsilon
MOST_POINTS = 1000  # whose f(x) gives epsilon
BLOCK_VALUES = 2_000_000  # rows x (points + draws) in memory of a thread at once: 16 MB


@dataclass(frozen=True, eq=False)
class Conditional(Weighted):
    """The score of some columns given others: the quantile over the draws of minus S(y | x).

    Attributes
    ----------
    given : tuple of int
        The columns x; y are the others.
    log_epsilon : float
    """

    given: tuple[int, ...]
    log_epsilon: float

    @property
    @override
    def unit(self) -> float:
        return 1.0  # a difference of logarithms

    @classmethod
    def of(cls, center: Score, given: tuple[int, ...]) -> Conditional:
        """Return the score by the draws of a centre."""
        assert isinstance(center, Weighted)  # by positions
        points, kernel = center.gram.points, center.gram.kernel
        rows = points.rows
        some = np.unique(np.linspace(0, len(rows) - 1, MOST_POINTS).astype(int))
        of_given = np.zeros((len(some), len(rows)))
        for f, cost in enumerate(kernel.by_column(rows[some], rows)):
            if f in given:
                of_given -= cost
        with np.errstate(divide="ignore"):  # each without itself
            of_given[np.arange(len(some)), some] += np.log1p(-1.0 / points.copies[some])
        mean = center.weights.mean(axis=0, keepdims=True)
        log_f = log_sums(points.log_mean(of_given), mean)
        log_epsilon = float(np.quantile(log_f, EPSILON_QUANTILE, method="lower"))
        return cls(center.weights, center.gram, given, log_epsilon)

    @override
    def scores(
        self, rows: np.ndarray, level: float = 0.5, leaving: Leaving | None = None
    ) -> np.ndarray:
        """Return the scores, shape (rows,); training rows that are ``leaving`` leave the sums."""
        weights, points = self.supported_points

        def of_block(block: slice) -> np.ndarray:
            of_x, of_y = np.zeros((2, block.stop - block.start, len(points.rows)))
            for f, cost in enumerate(self.gram.kernel.by_column(rows[block], points.rows)):
                if f in self.given:
                    of_x -= cost
                else:
                    of_y -= cost
            logs = of_x + of_y, of_x, of_y
            if leaving is not None:
                for each in logs:
                    leaving.part(block).hide(each, self.support)
            means = (points.log_mean(each) for each in logs)
            xy, x, y = (log_sums(each, weights) for each in means)
            with np.errstate(invalid="ignore"):
                score = np.logaddexp(xy, self.log_epsilon + y) - np.logaddexp(x, self.log_epsilon)
            score[np.isnan(score)] = -np.inf  # no point is left
            return level_quantile(score.T, level)

        step = max(1, BLOCK_VALUES // (len(points.rows) + len(weights)))
        return np.concatenate([np.empty(0), *threads.each(of_block, len(rows), step)])


def given(
    est: Detector,
    X: Any,
    columns: Any,
    method: str = "left-out",
    tail: str = "rank",
    training: str = known.AUTO,
) -> np.ndarray:
    r"""Return the p-value of the other columns of each row, given some columns.

    The score is :math:`\log f(x, y) - \log f(x)`, see the module.

    Parameters
    ----------
    est : Detector
        Fitted, with weights of at least 0 and a kernel that is a product over columns.
    X : array-like of shape (n, p)
    columns : name or position of a column, or a sequence of these
        The given columns, x.
    method, tail, training
        As in :func:`bsvdd.p_value`.

    Returns
    -------
    ndarray of shape (n,)

    Raises
    ------
    ValueError
        A column that there is not, or all columns; a model or kernel that has no such score; others
        as in :func:`bsvdd.p_value`.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 2))
    >>> X[:, 1] += 2.0 * X[:, 0]
    >>> est = bsvdd.BSVDD().fit(X)
    >>> row = [[0.0, 3.0]]  # no column is odd, but the second is far off for this first
    >>> bool(bsvdd.given(est, row, [0])[0] < bsvdd.p_value(est, row)[0])
    True
    """
    check_is_fitted(est)
    known.check(training)
    fold = with_tail(fold_given(est.fit_, columns, method), tail, est.fit_.data.seed)
    return of_rows(est.fit_, fold, training, *inputs.completed(est.fit_.data, X))


def fold_given(fit: Fit, columns: Any, method: str = "left-out") -> Fold:
    """Return the left-out rows that are compared with new rows, given some columns."""
    check_method(method)
    x = positions(fit, columns)
    if method == "split":
        return split(fit, lambda score: Conditional.of(score, x))
    scores = left_out_given(fit, x)
    normal = np.sort(scores[~fit.data.minority])
    return Fold(Conditional.of(fit.score, x), normal, fit.level, scores)


def of_training_given(fit: Fit, columns: Any) -> np.ndarray:
    """Return the p-values of training rows given some columns, each left out, shape (n,)."""
    return of_training(left_out_given(fit, positions(fit, columns)), ~fit.data.minority)


def positions(fit: Fit, given: Any) -> tuple[int, ...]:
    """Return the positions of the given columns, after all checks; none for None.

    Raises
    ------
    ValueError
        A name or position is no column of the fit, no or all columns are given, or the model has
        no such surprise.
    """
    if given is None:
        return ()
    if isinstance(fit.score, Joined):
        raise ValueError("Views has no p-value given other columns; use est.views_['standardised']")
    names = fit.data.columns.labels.tolist()
    asked = [given] if isinstance(given, str | bool) or is_number(given) else list(given)
    found = set()
    for column in asked:
        if isinstance(column, bool | np.bool_):
            raise ValueError(f"given: columns are named, or numbered from 0; got {column!r}")
        if column in names or str(column) in names:
            found.add(names.index(column if column in names else str(column)))
        elif is_number(column) and column in range(len(names)):
            found.add(int(column))
        else:
            raise ValueError(
                f"given: {column!r} is no column of the fit, which has {listed(names)}"
            )
    if not 0 < len(found) < len(names):
        raise ValueError(
            f"given names {len(found)} of {len(names)} columns; name at least one, and leave at "
            "least one, which is judged given these"
        )
    center = fit.score
    if not (isinstance(center, Center) and terms.has_surprise(center)):
        raise ValueError(
            "given needs weights of at least 0 (BSVDD, SVDD, BDD(simplex=True)) and a kernel that "
            "is a product over columns: kernels.Tabular, Standardized, RBF or Laplacian; got "
            f"{fit.spec.name} with {fit.data.kernel!r}"
        )
    if center.gram.kernel.adjusts:
        raise ValueError(
            f"given needs columns that count one by one, but {fit.data.kernel!r} adjusts each for "
            "the others; give a kernel with a bandwidth, such as kernels.Tabular(kernels.RBF(1.0)),"
            " or fit all rows, core=1"
        )
    return tuple(sorted(found))


def left_out_given(fit: Fit, given: tuple[int, ...]) -> np.ndarray:
    """Return the scores of training rows, shape (n,), of normal rows without themselves.

    They are left out as for the cutoff: in closed form, or in refitted folds.
    """
    data, majority = fit.data, np.flatnonzero(~fit.data.minority)
    scores, whole = np.empty(len(data.rows)), Conditional.of(fit.score, given)
    others = data.rows[data.minority]  # no model that has these scores learns from them
    scores[data.minority] = whole.scores(others, fit.level)
    cv = choose_cv(Cutoff(), data.minority, data.all_rows, auto_cv(fit))
    if not isinstance(cv, int):
        rows, leaving = data.rows[majority], data.leaving(majority)
        scores[majority] = whole.leaving_out.scores(rows, fit.level, leaving)
        return scores
    for train, test in folds(data.minority, cv, data.seed):
        score = Conditional.of(refitted(fit, train).score, given).leaving_out
        normal = test[~data.minority[test]]
        scores[normal] = score.scores(data.rows[normal], fit.level)
    return scores
