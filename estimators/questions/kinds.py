r"""Three answers for a row: normal, of a labelled kind, or of a kind that nobody has labelled.

The odds against "normal" are the sum of two parts,

.. math::
    \frac{P(\text{abnormal} \mid z)}{P(\text{normal} \mid z)} = e^{A s(z) + B}
        + \left(\frac{q}{p(z)}\right)^{3/2},

- s(z) is the score of the model, within the range of the scores of left-out rows. A and B are
  Platt's sigmoid, fitted to the left-out rows of both classes (Platt 1999, in the form of Lin, Lin
  and Weng 2007).
- p(z) is the conformal p-value of z under the :class:`Description` of the normal class. So the
  background has a level that is calibrated: a row at the q-quantile of left-out normal rows
  is as likely of an unknown kind as normal. A density in many dimensions is far too sure of itself
  for such odds; a p-value is at least 1/(n + 1), so the odds are at most (q (n + 1))^(3/2). A
  normal row pays for the background with a log score of about 3.6 q. q = .01 and the power were
  chosen by log scores on data sets of several classes (docs/guide/unseen_kinds.md).

The second part is that of unknown kinds. The first part is that of the labelled kinds as far as z
is like their rows: it is of an unknown kind with the odds

.. math:: \frac{P(\text{unknown} \mid z)}{P(\text{known} \mid z)} = \left(\frac{q}{\max_k p_k(z)}
    \right)^{3/2},

where p_k(z) compares the proximity of z to the n_k rows of the kind with that of normal rows to
n_k other normal rows, drawn at random. All kinds borrow the bandwidth of the normal class in this
way, so one row is enough. Several kinds share P(known) by their numbers of rows and proximities,

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
from typing import Any

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit, log_expit, log_softmax, logsumexp, softmax

from ...inference.warning import DataWarning, warn
from ...models import bsvdd
from ...models.gram import Gram
from ...models.kernels import RBF
from ...models.priors import InverseRowSum
from ..training import TrainingData
from .p_values import p_values

NORMAL, UNKNOWN = "normal", "unknown"
DESCRIBED = 1000  # rows of a class that describe it, at most
POWER = 1.5  # of the background's odds
TEMPERATURES = (0.01, 1.0)


@dataclass(frozen=True, eq=False)
class Description:
    r"""The description of some rows: the centre of BSVDD at its posterior mode.

    Attributes
    ----------
    kernel : RBF
        With its bandwidth as a number.
    points : ndarray of shape (n, p)
    log_weights : ndarray of shape (n,)

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> from bsvdd.estimators.questions.kinds import Description
    >>> center = Description.of(kernels.RBF(1.0), np.array([[0.0], [2.0]]))
    >>> center.log_proximity(np.array([[1.0]])).round(3).tolist()
    [-0.5]
    """

    kernel: RBF
    points: np.ndarray
    log_weights: np.ndarray

    @classmethod
    def of(cls, kernel: RBF, rows: np.ndarray) -> Description:
        """Return the description of rows, shape (n, p)."""
        if len(rows) == 1:
            return cls(kernel, rows, np.zeros(1))
        with np.errstate(divide="ignore"):  # a weight may underflow
            weights = np.log(bsvdd.mode(Gram.from_rows(kernel, rows), InverseRowSum(sd=0.5)))
        return cls(kernel, rows, weights)

    def log_proximity(self, rows: np.ndarray) -> np.ndarray:
        r"""Return :math:`\log \sum_j w_j k(u_j, z)` of rows, shape (m,)."""
        values: np.ndarray = logsumexp(self.kernel.log(rows, self.points) + self.log_weights, 1)
        return values

    def left_out(self) -> np.ndarray:
        """Return the log proximity of each point to the centre without it, shape (n,).

        The other weights are rescaled to sum to one. A single point has none: NaN.
        """
        if len(self.points) == 1:
            return np.full(1, np.nan)
        values = self.kernel.log(self.points, self.points) + self.log_weights
        np.fill_diagonal(values, -np.inf)
        others = np.tile(self.log_weights, (len(values), 1))
        np.fill_diagonal(others, -np.inf)
        left_out: np.ndarray = logsumexp(values, 1) - logsumexp(others, 1)
        return left_out


@dataclass(frozen=True)
class Sigmoid:
    """Platt's sigmoid: the log odds of "minority" are ``slope * score + intercept``.

    Attributes
    ----------
    slope : float
        At most 0: a larger score is more normal.
    intercept : float
    """

    slope: float
    intercept: float

    @classmethod
    def of(cls, scores: np.ndarray, minority: np.ndarray) -> Sigmoid:
        r"""Return the sigmoid of scores of left-out rows, both of shape (n,).

        It maximises the log-likelihood of the targets :math:`(n_1 + 1)/(n_1 + 2)` for minority
        rows and :math:`1/(n_0 + 2)` for others, which keep the odds finite where the classes are
        apart.
        """
        n1, n0 = int(minority.sum()), int((~minority).sum())
        target = np.where(minority, (n1 + 1.0) / (n1 + 2.0), 1.0 / (n0 + 2.0))
        center, spread = float(scores.mean()), float(scores.std()) or 1.0
        x = (center - scores) / spread

        def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            odds = parameters[0] * x + parameters[1]
            error = expit(odds) - target
            gradient = np.array([error @ x, error.sum()])
            return float((np.logaddexp(0.0, odds) - target * odds).sum()), gradient

        start = np.array([1.0, math.log((n1 + 1.0) / (n0 + 1.0))])
        bounds = [(0.0, None), (None, None)]
        slope, intercept = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
        return cls(-slope / spread, intercept + slope * center / spread)

    def log_odds(self, scores: np.ndarray) -> np.ndarray:
        """Return the log odds of "minority", shape (n,)."""
        return self.slope * scores + self.intercept


@dataclass(frozen=True, eq=False)
class Kind:
    """A labelled kind.

    Attributes
    ----------
    center : Description
        The description of its rows.
    reference : ndarray of shape (n,)
        Log proximities of normal rows to as many other normal rows, in ascending order.
    """

    center: Description
    reference: np.ndarray

    @classmethod
    def of(
        cls, kernel: RBF, rows: np.ndarray, normal_rows: np.ndarray, rng: np.random.Generator
    ) -> Kind:
        """Return the kind of rows, shape (n_k, p)."""
        order = rng.permutation(len(normal_rows))
        n = min(len(rows), len(order) // 2)
        others = Description.of(kernel, normal_rows[order[:n]])
        return cls(
            Description.of(kernel, rows), np.sort(others.log_proximity(normal_rows[order[n:]]))
        )

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.center.points)


@dataclass(frozen=True, eq=False)
class Kinds:
    """What gives the probabilities of "normal", of each labelled kind, and of "unknown".

    Attributes
    ----------
    normal : Description
    left_out : ndarray of shape (n0,)
        Log proximities of the left-out normal rows, in ascending order.
    sigmoid : Sigmoid or None
        None without minority rows: then there are no kinds.
    span : tuple of float
        The smallest and the largest score of left-out rows.
    kinds : tuple of Kind
    temperature : float
        T.
    """

    normal: Description
    left_out: np.ndarray
    sigmoid: Sigmoid | None = None
    span: tuple[float, float] = (-math.inf, math.inf)
    kinds: tuple[Kind, ...] = ()
    temperature: float = 1.0

    @classmethod
    def of(
        cls,
        normal_rows: np.ndarray,
        rows_of_kinds: list[np.ndarray],
        scores: np.ndarray,
        minority: np.ndarray,
        rng: np.random.Generator,
    ) -> Kinds:
        """Return the rule.

        Parameters
        ----------
        normal_rows : ndarray of shape (n0, p)
            At least 2 different rows.
        rows_of_kinds : list of ndarray of shape (n_k, p)
        scores, minority : ndarray of shape (n,)
            Of left-out rows; a larger score is more normal.
        rng : Generator
            Draws the normal rows that a kind is compared with.
        """
        kernel = RBF("likelihood").resolve(normal_rows)
        normal = Description.of(kernel, normal_rows)
        left_out = np.sort(normal.left_out())
        if not rows_of_kinds:
            return cls(normal, left_out)
        finite = np.isfinite(scores)
        scores, minority = scores[finite], minority[finite]
        kinds = tuple(Kind.of(kernel, rows, normal_rows, rng) for rows in rows_of_kinds)
        return cls(
            normal,
            left_out,
            Sigmoid.of(scores, minority),
            (float(scores.min()), float(scores.max())),
            kinds,
            temperature([kind.center for kind in kinds]),
        )

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
        unknown = log_odds(background, self.normal.log_proximity(rows), self.left_out)
        if self.sigmoid is None:
            return softmax(np.column_stack([np.zeros(len(rows)), unknown]), axis=1)
        abnormal = self.sigmoid.log_odds(np.clip(scores, *self.span))
        near = np.column_stack([kind.center.log_proximity(rows) for kind in self.kinds])
        other = np.min(
            [
                log_odds(background, each, kind.reference)
                for each, kind in zip(near.T, self.kinds, strict=True)
            ],
            axis=0,
        )
        shares = log_shares(near, [kind.n for kind in self.kinds], self.temperature)
        known = abnormal + log_expit(-other)
        unknown = np.logaddexp(unknown, abnormal + log_expit(other))
        parts = [np.zeros(len(rows)), *(known + shares.T), unknown]
        values: np.ndarray = softmax(np.column_stack(parts), axis=1)
        return values


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
        level = np.log(background)
    values: np.ndarray = POWER * (level - np.log(p_values(proximity, left_out)))
    return values


def log_shares(proximities: np.ndarray, counts: list[int], T: float) -> np.ndarray:
    """Return log P(kind | known), shape (m, kinds), from the log proximities of that shape."""
    shares: np.ndarray = log_softmax(np.log(counts) + T * proximities, axis=1)
    return shares


def temperature(centers: list[Description]) -> float:
    """Return T: 1 if there is one kind only, or no kind of two rows."""
    counts = [len(center.points) for center in centers]
    proximities, own = [], []
    for k, center in enumerate(centers):
        if counts[k] > 1:
            values = np.column_stack([other.log_proximity(center.points) for other in centers])
            values[:, k] = center.left_out()
            proximities.append(values)
            own.append(np.full(len(values), k))
    if len(centers) < 2 or not own:
        return 1.0
    values, places = np.concatenate(proximities), np.concatenate(own)

    def loss(T: float) -> float:
        return -float(log_shares(values, counts, T)[np.arange(len(places)), places].mean())

    return float(minimize_scalar(loss, bounds=TEMPERATURES, method="bounded").x)


def rule_of(data: TrainingData, scores: np.ndarray) -> Kinds:
    """Return the rule for a fit to ``data``, whose left-out rows have ``scores`` (NaN: none)."""
    if data.kernel.pairwise:
        raise ValueError(
            "kinds describes the rows of each class, and a precomputed kernel has no rows; fit "
            "with a kernel of rows such as kernels.RBF"
        )
    rng = np.random.default_rng(data.seed)
    inputs, usable = data.kernel.inputs(data.rows), ~np.isnan(scores)
    classes = [_some(inputs[data.kind == k], rng) for k in range(len(data.kind_labels) + 1)]
    _warn_of_copies(classes, data.kind_labels)
    return Kinds.of(classes[0], classes[1:], scores[usable], data.minority[usable], rng)


def columns(data: TrainingData) -> list[Any]:
    """Return the names of the answers; a ValueError if two of them are the same."""
    taken = [label for label in data.kind_labels if str(label) in (NORMAL, UNKNOWN)]
    if taken:
        raise ValueError(
            f"a labelled kind has the name {taken[0]!r}, which is that of another answer; name it "
            "otherwise in y and minor_label"
        )
    return [NORMAL, *data.kind_labels, UNKNOWN]


def _some(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return rows if len(rows) <= DESCRIBED else rng.choice(rows, DESCRIBED, replace=False)


def _warn_of_copies(classes: list[np.ndarray], labels: tuple[Any, ...]) -> None:
    """Warn of kinds of which every row is a majority row too."""
    majority = {row.tobytes() for row in classes[0]}
    for rows, label in zip(classes[1:], labels, strict=True):
        if all(row.tobytes() in majority for row in rows):
            warn(
                f"all rows of the kind {label!r} are rows of the majority too, so nothing tells "
                "it from normal rows; look at the labels",
                DataWarning,
            )
