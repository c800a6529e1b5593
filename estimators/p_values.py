r"""Conformal p-values of "row z is normal", by five methods.

A method compares the score of a new row z with those of left-out normal rows. What is promised
for a normal row z depends on how the left-out rows get their scores:

=============  ===================================================  ==========================
method         left-out rows                                        :math:`P(p(z) \le \alpha)`
=============  ===================================================  ==========================
"left-out"     one by one in closed form, or in refitted folds;     about :math:`\alpha`
               the same scores that choose the cutoff
"jackknife+"   j and z are both compared with the centre without    below a small
               j, whose other weights are rescaled                  :math:`\alpha`, because a mean
                                                                    over draws is seldom small
"cross"        in folds; j and z are both scored by the fit         at most :math:`2\alpha +
               without the fold of j                                \sqrt{2 / n}`, about
                                                                    :math:`\alpha`
"full"         BDD is fitted to the rows and z; no row is left out  at most :math:`\alpha`
"split"        half of the rows, which the fit never sees           at most :math:`\alpha`
=============  ===================================================  ==========================

A probability is over training rows and z. All need normal training rows and new normal rows from
one distribution (exchangeable rows): abnormal rows among them make p-values too large, and drift
makes them too small. "split" and "cross" choose bandwidth, scaling and landmarks without the rows
that they leave out. The other methods use those of all rows, which no theorem covers; so do row
sums in a prior. Landmarks by k-means are means of rows, so only "split" and "cross" take a row
out of them. Points that the user gives must not be training rows. The smallest p-value is
1/(n + 1) for n left-out rows.

Vovk, Gammerman and Shafer (2005) for "split" and "full"; Vovk (2015) and Barber et al. (2021) for
"cross" and "jackknife+".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from ..inference.conformal import p_values
from ..inference.cross_validation import folds
from ..inference.leave_one_out import leave_one_out
from ..inference.scoring import CenterDraws, ScoringRule
from ..models.gram import Gram
from ..models.priors import CorrelatedPrior, GaussianPrior
from .training import TrainingData

METHODS = ("left-out", "jackknife+", "cross", "full", "split")
JACKKNIFE_DRAWS = 50  # draws over which the p-value is averaged: each is compared row by row
FOLDS = 10
SPLITS = 10  # over which e-values are averaged
BLOCK_VALUES = 4_000_000


def thinned(n: int, most: int) -> np.ndarray:
    """Return up to ``most`` of n numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


@dataclass(frozen=True, eq=False)
class ByScores:
    """p-values by the scores of one rule; "left-out" and "split"."""

    left_out: np.ndarray
    level: float
    rule: ScoringRule | None = None

    def __call__(self, rule: ScoringRule, rows: np.ndarray) -> np.ndarray:
        """Return the p-values of rows; ``rule`` is that of the fit."""
        return self.of_scores(self.scores(rule, rows))

    def of_scores(self, scores: np.ndarray) -> np.ndarray:
        """Return the p-values of rows with these scores."""
        return p_values(scores, self.left_out)

    def scores(self, rule: ScoringRule, rows: np.ndarray) -> np.ndarray:
        """Return the scores of rows, on the scale of those of the left-out rows."""
        return (self.rule or rule).scores(rows, self.level)


@dataclass(frozen=True, eq=False)
class Cross:
    """p-values by the fits without each fold, and the scores of the rows of that fold."""

    folds: list[tuple[ScoringRule, np.ndarray]]
    level: float

    def __call__(self, rule: ScoringRule, rows: np.ndarray) -> np.ndarray:
        """Return the p-values of rows."""
        count, n = np.ones(len(rows)), 1
        for fold_rule, left_out in self.folds:
            scores = fold_rule.scores(rows, self.level)
            count += np.searchsorted(left_out, scores, side="right")
            n += len(left_out)
        return count / n


@dataclass(frozen=True, eq=False)
class Jackknife:
    r"""p-values by the comparison of z and j under the centre without j.

    .. math:: p(z) = \frac{1 + \#\{j : d_j(a_{-j}) \ge d_z(a_{-j})\}}{n + 1}

    The norm of :math:`a_{-j}` cancels. It is the mean over draws.

    Attributes
    ----------
    center : CenterDraws
        A few draws.
    points : ndarray of int
        The majority points that are left out.
    left_out : ndarray of shape (draws, len(points))
        :math:`-2 f_j`, with :math:`f_j` the kernel sum of j with the centre without j; and
        :math:`k_{jj}` in addition if it differs between rows.
    others : ndarray of shape (draws, n)
        The same of further rows, which are no points and always left out; in ascending order.
    """

    center: CenterDraws
    points: np.ndarray
    left_out: np.ndarray
    others: np.ndarray

    @classmethod
    def of(cls, rule: ScoringRule, data: TrainingData) -> Jackknife:
        """Return the method for a fit to ``data``; a ValueError where weights do not sum to one."""
        center = some_draws(rule, thinned(len(rule.weights), JACKKNIFE_DRAWS))
        f = leave_one_out(center.weights, data.gram.K, data.gram.n1)
        points, further = left_out_rows(data)
        k_jj = center.self_similarity(np.diag(data.gram.K)[points])
        left_out = k_jj - 2.0 * f[:, points]
        return cls(center, points, left_out, np.sort(center.raw(further), axis=1))

    def __call__(self, rule: ScoringRule, rows: np.ndarray) -> np.ndarray:
        """Return the p-values of rows."""
        step = max(1, BLOCK_VALUES // self.center.gram.n_points)
        blocks = [self._of_block(rows[i : i + step]) for i in range(0, len(rows), step)]
        return np.concatenate([np.empty(0), *blocks])

    def _of_block(self, rows: np.ndarray) -> np.ndarray:
        gram, w = self.center.gram, self.center.weights
        m = gram.n_majority_points
        k_zz = self.center.self_similarity(gram.kernel.diag(rows))
        k_zu = gram.kernel(rows, gram.points)
        A, B = k_zu[:, :m] @ w[:, :m].T, k_zu[:, m:] @ w[:, m:].T
        of_points, count = k_zu[:, self.points], np.zeros(len(rows))
        for draw in range(len(w)):
            alpha, total = w[draw, self.points], w[draw, :m].sum()
            # the kernel sum of z with the centre without j; the other weights are rescaled
            f = A[:, draw, None] - alpha * of_points
            with np.errstate(divide="ignore", invalid="ignore"):
                f *= total / (total - alpha)
            f += B[:, draw, None]
            # a point with all the weight, without which there is no centre, counts as remote
            count += (~(self.left_out[draw] < k_zz[:, None] - 2.0 * f)).sum(axis=1)
            d2 = k_zz - 2.0 * (A[:, draw] + B[:, draw])
            count += self.others.shape[1] - np.searchsorted(self.others[draw], d2)
        n = len(self.points) + self.others.shape[1]
        return (1.0 + count / len(w)) / (n + 1.0)


def some_draws(rule: ScoringRule, draws: np.ndarray) -> CenterDraws:
    """Return some draws of a centre; a ValueError for a hyperplane, which has one estimate."""
    if not isinstance(rule, CenterDraws):
        raise ValueError(
            "a hyperplane has no centre to leave a row out of; use method='left-out', 'cross' or "
            "'split'"
        )
    return CenterDraws.of(rule.weights[draws], rule.gram, rule.squared_norm[draws])


def left_out_rows(data: TrainingData) -> tuple[np.ndarray, np.ndarray]:
    """Return the majority points that are rows, and the majority rows that are no points."""
    points = np.flatnonzero(data.row_of_point[: data.gram.n_majority_points] >= 0)
    further = ~data.minority
    further[data.row_of_point[points]] = False
    return points, data.rows[further]


def by_draw(
    rule: ScoringRule,
    data: TrainingData,
    kernel_sums: Callable[[np.ndarray], np.ndarray],
    draws: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    """Return the p-values of rows in each of some draws, shape (draws, rows).

    Left-out and new rows are compared under the centre of a draw, whose norm cancels.
    ``kernel_sums`` takes weights (draws, M) and returns those of the left-out points.
    """
    center = some_draws(rule, draws)
    points, further = left_out_rows(data)
    k_jj = center.self_similarity(np.diag(data.gram.K)[points])
    left_out = k_jj - 2.0 * kernel_sums(center.weights)[:, points]
    left_out = np.sort(-np.hstack([left_out, center.raw(further)]), axis=1)
    new = -center.raw(rows)
    return np.stack([p_values(z, j) for z, j in zip(new, left_out, strict=True)])


@dataclass(frozen=True, eq=False)
class Full:
    r"""Full conformal p-values of BDD: each new row joins the rows of the fit.

    The mean of the normal posterior of all n + 1 rows is

    .. math:: \Lambda_+ = \lambda (n_0 + 1) K_+ + \Sigma_+^{-1}, \qquad
        \mu_+ = \Lambda_+^{-1} (\lambda r_+ + \Sigma_+^{-1} m_+),

    and the rows are compared by their distances from it, where :math:`p(z)` is the share of rows
    at least as far as z. :math:`\Lambda_+` borders a matrix that is the same for all z, so a new
    row costs :math:`O(n_0^2)`.
    """

    gram: Gram
    prior: GaussianPrior
    likelihood_scale: float

    @classmethod
    def of(cls, gram: Gram, prior: object, likelihood_scale: float) -> Full:
        """Return the method; a ValueError for a model or a prior that it does not suit."""
        if not isinstance(prior, GaussianPrior) or isinstance(prior, CorrelatedPrior):
            raise ValueError(
                "method='full' is for BDD with an independent normal prior (priors.Flat, RowSum, "
                f"StandardizedRowSum), got {prior!r}; use method='cross' or 'split'"
            )
        return cls(gram, prior, likelihood_scale)

    def __call__(self, rule: ScoringRule, rows: np.ndarray) -> np.ndarray:
        """Return the p-values of rows."""
        gram, scale = self.gram, self.likelihood_scale
        n = gram.n0
        factor_of_all = cho_factor(scale * (n + 1) * gram.K + self.prior.precision(gram))
        precision = float(self.prior.sd) ** -2
        k_zu, k_zz = gram.kernel(rows, gram.points), gram.kernel.diag(rows)
        solved = cho_solve(factor_of_all, k_zu.T)  # the inverse times the border of each row
        K, p = np.empty((n + 1, n + 1)), np.empty(len(rows))
        K[:n, :n] = gram.K
        for i, (k, kk) in enumerate(zip(k_zu, k_zz, strict=True)):
            K[n, :n] = K[:n, n] = k
            K[n, n] = kk
            r = np.append(gram.r + k, k.sum() + kk)
            points = np.concatenate([gram.points, rows[i : i + 1]])
            joined = Gram(K, r, gram.T + kk, n + 1, points, gram.kernel)
            shift = scale * r + precision * self.prior.mean(joined)
            # the bordered system: eliminate the n rows, then z
            border, v = scale * (n + 1) * k, scale * (n + 1) * solved[:, i]
            u = cho_solve(factor_of_all, shift[:n])
            last = (shift[n] - border @ u) / (scale * (n + 1) * kk + precision - border @ v)
            w = np.append(u - last * v, last)
            d2 = np.diag(K) - 2.0 * (K @ w)
            p[i] = (d2 >= d2[n]).mean()
        return p


def cross(data: TrainingData, refit: Callable[[np.ndarray], ScoringRule], level: float) -> Cross:
    """Return the cross-conformal method; ``refit`` takes row numbers and returns a rule.

    The folds are of majority rows; all minority rows stay in each fit.
    """
    majority, minority = np.flatnonzero(~data.minority), np.flatnonzero(data.minority)
    nobody = np.zeros(len(majority), dtype=bool)
    n_folds = max(2, min(FOLDS, len(majority)))
    parts = []
    for train, test in folds(nobody, n_folds, data.seed):
        rule = refit(np.sort(np.concatenate([majority[train], minority])))
        parts.append((rule, np.sort(rule.scores(data.rows[majority[test]], level))))
    return Cross(parts, level)


def split(
    rows: np.ndarray,
    minority: np.ndarray,
    refit: Callable[[np.ndarray], ScoringRule],
    level: float,
    seed: int,
) -> ByScores:
    """Return the split method: a fit to half of the majority rows, and scores of the others."""
    majority = np.random.default_rng(seed).permutation(np.flatnonzero(~minority))
    half = len(majority) // 2
    rule = refit(np.sort(np.concatenate([majority[:half], np.flatnonzero(minority)])))
    return ByScores(np.sort(rule.scores(rows[majority[half:]], level)), level, rule)
