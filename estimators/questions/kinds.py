r"""Three answers for a row: normal, of a labelled kind, or of a kind that nobody has labelled.

The odds against "normal" are the sum of two parts,

.. math::
    \frac{P(\text{abnormal} \mid z)}{P(\text{normal} \mid z)} = e^{A s(z) + B}
        + \left(\frac{q}{p(z)}\right)^{3/2},

- s(z) is the score of the model, within the range of the scores of left-out rows. A and B are
  Platt's sigmoid, fitted to the left-out rows of both classes (Platt 1999, in the form of Lin, Lin
  and Weng 2007).
- p(z) is the conformal p-value of z under the :func:`description` of the normal class. So the
  background is calibrated: a row at the q-quantile of left-out normal rows is as likely of an
  unknown kind as normal. A p-value is at least 1/(n + 1), so the odds are at most
  (q (n + 1))^(3/2). A normal row pays for the background with a log score of about 3.6 q. Log
  scores on data sets of several classes chose q = .01 and the power (docs/measurements.md).

The second part belongs to unknown kinds. The first part belongs to the labelled kinds as far as z
is like their rows. Its odds of an unknown kind are

.. math:: \frac{P(\text{unknown} \mid z)}{P(\text{known} \mid z)} = \left(\frac{q}{\max_k p_k(z)}
    \right)^{3/2},

where p_k(z) compares two proximities: of z to the n_k rows of the kind, and of normal rows to n_k
other normal rows, drawn at random. All kinds have the bandwidth of the normal class, so one row is
enough. Several kinds share P(known) by their numbers of rows and proximities,

.. math:: P(k \mid z, \text{known}) \propto n_k \Big(\sum_j w_{kj} k(v_{kj}, z)\Big)^T.

T in (0, 1] is the temperature with the best log score of left-out minority rows (Guo et al. 2017).

Guo, C., Pleiss, G., Sun, Y. and Weinberger, K. Q. (2017). On calibration of modern neural networks.
International Conference on Machine Learning 34.

Lin, H.-T., Lin, C.-J. and Weng, R. C. (2007). A note on Platt's probabilistic outputs for support
vector machines. Machine Learning 68, 267-276. doi:10.1007/s10994-007-5018-6

Platt, J. (1999). Probabilistic outputs for support vector machines and comparisons to regularized
likelihood methods. Advances in Large Margin Classifiers, MIT Press.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar
from scipy.special import log_expit, log_softmax, logit, softmax
from sklearn.utils.validation import check_is_fitted

from ...inference.center import Center
from ...inference.leave import Leaving
from ...inference.warning import DataWarning, warn
from ...models.gram import Gram
from ...models.kernels import RBF
from .. import inputs, known
from ..detector import Detector
from ..fit import Fit
from ..p_values import check_rate, p_values
from ..training import TrainingData
from .terms import REMOTE

NORMAL, UNKNOWN = "normal", "unknown"
DESCRIBED = 1000  # rows of a class that describe it, at most
POWER = 1.5  # of the background's odds
TEMPERATURES = (0.01, 1.0)


@dataclass(frozen=True, eq=False)
class Kinds:
    """What gives the probabilities of "normal", of each labelled kind, and of "unknown".

    Attributes
    ----------
    normal : Center
        The description of the normal rows.
    left_out : ndarray of shape (n0,)
        Log proximities of the left-out normal rows, in ascending order.
    kinds : list of Center
        The descriptions of the labelled kinds.
    references : list of ndarray of shape (n,)
        For each kind, log proximities of normal rows to as many other normal rows, in ascending
        order.
    slope, intercept : float
        Of the log odds of "minority", by the score.
    span : tuple of float
        The smallest and the largest score of left-out rows.
    temperature : float
        T.
    """

    normal: Center
    left_out: np.ndarray
    kinds: list[Center]
    references: list[np.ndarray]
    slope: float = 0.0
    intercept: float = -math.inf
    span: tuple[float, float] = (0.0, 0.0)
    temperature: float = 1.0

    def probabilities(
        self, rows: np.ndarray, scores: np.ndarray, background: float = 0.01
    ) -> np.ndarray:
        """Return P(normal), P(kind) of each kind and P(unknown), shape (m, kinds + 2).

        Parameters
        ----------
        rows : ndarray of shape (m, p)
        scores : ndarray of shape (m,)
            Of the model for these rows.
        background : float, default=0.01
            q.
        """
        parts = [np.zeros(len(rows))]
        unknown = log_odds(background, log_proximity(self.normal, rows), self.left_out)
        if self.kinds:
            abnormal = self.slope * np.clip(scores, *self.span) + self.intercept
            near = [log_proximity(kind, rows) for kind in self.kinds]
            pairs = zip(near, self.references, strict=True)
            other = np.min([log_odds(background, *pair) for pair in pairs], axis=0)
            counts = [kind.gram.n_points for kind in self.kinds]
            shares = log_shares(np.column_stack(near), counts, self.temperature)
            parts += list(abnormal + log_expit(-other) + shares.T)
            unknown = np.logaddexp(unknown, abnormal + log_expit(other))
        values: np.ndarray = softmax(np.column_stack([*parts, unknown]), axis=1)
        return values


def kinds(est: Detector, X: Any, background: float = 0.01) -> pd.DataFrame:
    r"""Return the probability that a row is normal, of each labelled kind, or of another kind.

    P(normal) follows from the score of this model, calibrated on left-out rows, and from the
    p-value of the row under a description of the normal class by BSVDD, which no minority row
    has part in: at the p-value ``background`` the odds of an unknown kind to normal are 1. A
    row that the score calls abnormal is of a labelled kind as far as it is like the rows of
    that kind. See :mod:`bsvdd.estimators.questions.kinds`.

    The shares of normal and labelled rows are taken to be those of the training rows. The
    p-value of a row far from all training rows is 1/(n0 + 1), so with fewer than
    1/``background`` normal rows it does not make a row more likely unknown than normal. With
    few labelled rows the score is not sure of them either, and a row in their midst that is
    far from all normal rows can be more likely unknown than known.

    Parameters
    ----------
    est : Detector
        Fitted.
    X : array-like of shape (n, p)
        Training rows among them are answered as new rows.
    background : float, default=0.01
        The p-value at which a row is as likely of an unknown kind as normal, in [0, 1): about
        this share of normal rows is more likely unknown. With 0 no row is unknown: P(normal) is
        then the score alone, calibrated by Platt's sigmoid.

    Returns
    -------
    pandas.DataFrame
        A row for each row of X, with its index if X is a data frame. The columns are "normal",
        the labels of the minority, and "unknown"; each row sums to one.

    Raises
    ------
    ValueError
        The kernel is precomputed, a label is "normal" or "unknown", ``background`` is out of
        range, or X is invalid as in ``est.predict``.

    Warns
    -----
    DataWarning
        All rows of a kind are majority rows too.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(size=(150, 2)), rng.normal([5, 0], 0.5, (20, 2))])
    >>> est = bsvdd.LSSVM(minor_label="leak").fit(X, ["ok"] * 150 + ["leak"] * 20)
    >>> bsvdd.kinds(est, [[0.0, 0.0], [5.0, 0.0], [-9.0, 9.0]]).idxmax(axis=1).tolist()
    ['normal', 'leak', 'unknown']
    """
    check_is_fitted(est)
    if background != 0:
        check_rate("background", background)
    fit = est.fit_
    rule = rule_of(fit)  # first: without rows of the kernel there is none
    rows = fit.asked(*inputs.completed(fit.data, X), known.AS_NEW)
    scores, Z = fit.scores(rows), fit.data.kernel.inputs(rows.table)
    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame(rule.probabilities(Z, scores, background), index, columns(fit.data))


@lru_cache(maxsize=1)  # of the fit that was asked last
def rule_of(fit: Fit) -> Kinds:
    """Return the rule for a fit."""
    data, scores = fit.data, fit.left_out
    if data.kernel.pairwise:
        raise ValueError(
            "kinds describes the rows of each class, and a precomputed kernel has no rows; fit "
            "with a kernel of rows such as kernels.RBF"
        )
    rng, Z = np.random.default_rng(data.seed), data.kernel.inputs(data.rows)
    every = (Z[data.kind == k] for k in range(len(data.kind_labels) + 1))
    normal_rows, *classes = [
        rows if len(rows) <= DESCRIBED else rng.choice(rows, DESCRIBED, replace=False)
        for rows in every
    ]
    majority = {row.tobytes() for row in normal_rows}
    for rows, label in zip(classes, data.kind_labels, strict=True):
        if all(row.tobytes() in majority for row in rows):
            warn(
                f"all rows of the kind {label!r} are rows of the majority too, so nothing tells "
                "it from normal rows; look at the labels",
                DataWarning,
            )
    dimensions = getattr(data.kernel, "dimensions", None)  # of columns with several coordinates
    kernel = RBF("likelihood").resolve(normal_rows, dimensions)
    normal, kinds, references = description(kernel, normal_rows), [], []
    left_out = np.sort(left_out_proximity(normal))
    for rows in classes:
        order = rng.permutation(len(normal_rows))
        n = min(len(rows), len(order) // 2)
        others = description(kernel, normal_rows[order[:n]])
        references.append(np.sort(log_proximity(others, normal_rows[order[n:]])))
        kinds.append(description(kernel, rows))
    if not kinds:
        return Kinds(normal, left_out, kinds, references)
    finite = np.isfinite(scores)
    scores, minority = scores[finite], data.minority[finite]
    span = float(scores.min()), float(scores.max())
    slope, intercept = sigmoid(scores, minority)
    T = temperature(kinds)
    return Kinds(normal, left_out, kinds, references, slope, intercept, span, T)


def description(kernel: RBF, rows: np.ndarray) -> Center:
    """Return the centre with equal weights, for rows (n, p) and a kernel of them.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> from bsvdd.estimators.questions.kinds import description, log_proximity
    >>> center = description(kernels.RBF(1.0), np.array([[0.0], [2.0]]))
    >>> log_proximity(center, np.array([[1.0]])).round(3).tolist()
    [-0.5]
    """
    gram = Gram.from_rows(kernel, rows)
    return Center(np.full((1, len(rows)), 1.0 / len(rows)), gram, nonnegative=True)


def log_proximity(center: Center, rows: np.ndarray) -> np.ndarray:
    r"""Return :math:`\log \sum_j w_j k(u_j, z)` of rows, shape (m,)."""
    return np.maximum(center.log_similarity(rows)[:, 0], -REMOTE)


def left_out_proximity(center: Center) -> np.ndarray:
    """Return the log proximity of each point to the centre without it, shape (n,).

    The other weights are rescaled to sum to one.
    """
    rows, n = center.gram.points.rows, center.gram.n_points
    leaving = Leaving(center.gram, rows, np.arange(n), np.zeros(n, dtype=bool))
    return center.log_similarity(rows, leaving)[:, 0]


def sigmoid(scores: np.ndarray, minority: np.ndarray) -> tuple[float, float]:
    r"""Return slope and intercept of Platt's sigmoid, from left-out rows, both of shape (n,).

    The log odds of "minority" are ``slope * score + intercept``. The slope is at most 0: a larger
    score is more normal. They maximise the log-likelihood of the targets
    :math:`(n_1 + 1)/(n_1 + 2)` for minority rows and :math:`1/(n_0 + 2)` for others, which keep the
    odds finite where the classes are apart.
    """
    from sklearn.linear_model import LogisticRegression

    n1, n0 = int(minority.sum()), int((~minority).sum())
    target = np.where(minority, (n1 + 1.0) / (n1 + 2.0), 1.0 / (n0 + 2.0))
    center, spread = float(scores.mean()), float(scores.std()) or 1.0
    x, each = np.tile((scores - center) / spread, 2)[:, None], np.repeat([1, 0], len(scores))
    weight = np.concatenate([target, 1.0 - target])  # of a row with either label
    fitted = LogisticRegression(C=np.inf, tol=1e-8).fit(x, each, weight)
    slope, intercept = float(fitted.coef_[0, 0]) / spread, float(fitted.intercept_[0])
    if slope > 0.0:
        return 0.0, float(logit(target.mean()))
    return slope, intercept - slope * center


def log_odds(background: float, proximity: np.ndarray, left_out: np.ndarray) -> np.ndarray:
    """Return the log odds of "unknown" against a class, shape (m,).

    Parameters
    ----------
    background : float
        q.
    proximity : ndarray of shape (m,)
    left_out : ndarray of shape (n,)
        Proximities of left-out rows of the class, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.kinds import log_odds
    >>> np.exp(log_odds(0.1, np.array([-5.0, 0.0]), np.arange(19.0))).round(6).tolist()
    [2.828427, 1.0]
    """
    with np.errstate(divide="ignore"):  # without a background the odds are 0
        return POWER * (np.log(background) - np.log(p_values(proximity, left_out)))


def log_shares(proximities: np.ndarray, counts: list[int], T: float) -> np.ndarray:
    """Return log P(kind | known), shape (m, kinds), from the log proximities of that shape."""
    shares: np.ndarray = log_softmax(np.log(counts) + T * proximities, axis=1)
    return shares


def temperature(kinds: list[Center]) -> float:
    """Return T: 1 if there is one kind only, or no kind of two rows."""
    counts = [kind.gram.n_points for kind in kinds]
    several = [k for k, count in enumerate(counts) if count > 1]
    if len(kinds) < 2 or not several:
        return 1.0
    proximities = []
    for k in several:
        points = kinds[k].gram.points.rows
        proximities.append(np.column_stack([log_proximity(other, points) for other in kinds]))
        proximities[-1][:, k] = left_out_proximity(kinds[k])
    values = np.concatenate(proximities)
    own = np.repeat(several, [counts[k] for k in several])

    def loss(T: float) -> float:
        return -float(log_shares(values, counts, T)[np.arange(len(own)), own].mean())

    return float(minimize_scalar(loss, bounds=TEMPERATURES, method="bounded").x)


def columns(data: TrainingData) -> list[Any]:
    """Return the names of the answers; a ValueError if two of them are the same."""
    taken = [label for label in data.kind_labels if str(label) in (NORMAL, UNKNOWN)]
    if taken:
        raise ValueError(
            f"a labelled kind has the name {taken[0]!r}, which is the name of another answer; name "
            "it otherwise in y and minor_label"
        )
    return [NORMAL, *data.kind_labels, UNKNOWN]
