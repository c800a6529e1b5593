r"""Conformal p-values of "row z is normal", by five methods.

.. math:: p(z) = \frac{1 + \#\{j : s_j \le s_z\}}{n + 1}

compares the score of a new row z with the scores of n left-out normal rows. If z is normal, its
score is as likely to have any rank among these n + 1 as any other, so
:math:`P(p(z) \le \alpha) \le \alpha` (Vovk, Gammerman and Shafer 2005). This needs scores that
treat z and the left-out rows alike. How far this holds depends on how the left-out rows get their
scores:

=============  ===================================================  ==========================
method         left-out rows                                        :math:`P(p(z) \le \alpha)`
=============  ===================================================  ==========================
"left-out"     one by one in closed form, or in refitted folds;     about :math:`\alpha`
               the same scores that choose the cutoff
"jackknife+"   j and z are both compared with the centre without    usually below :math:`\alpha`:
               j, whose other weights are rescaled                  an average over draws is
                                                                    rarely extreme
"cross"        in folds; j and z are both scored by the fit         at most :math:`2\alpha +
               without the fold of j                                \sqrt{2 / n}`, about
                                                                    :math:`\alpha`
"full"         BDD is fitted to the rows and z; no row is left out  at most :math:`\alpha`
"split"        half of the rows, which the fit never sees           at most :math:`\alpha`
=============  ===================================================  ==========================

A probability is over training rows and z. All methods need normal training rows and new normal rows
from one distribution (exchangeable rows): abnormal training rows make p-values too large, and drift
makes them too small. "split" and "cross" choose bandwidth, scaling and landmarks without the
left-out rows. The other methods choose them by all rows, and row sums in a prior are sums over all
rows; no theorem covers this. Points of the user must not be training rows.

Vovk, Gammerman and Shafer (2005) for "split" and "full"; Vovk (2015) and Barber et al. (2021) for
"cross" and "jackknife+".
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import xarray as xr
from scipy.linalg import cho_factor, cho_solve

from ...inference.center import Center, Score
from ...inference.left_out import folds, leave_one_out
from ...models.gram import Gram
from ...models.priors import CorrelatedPrior, GaussianPrior
from ..fit import Fit
from .given import Conditional, positions
from .given import left_out as conditional_left_out
from .tail import Tail

METHODS = ("left-out", "jackknife+", "cross", "full", "split")
FOR = {
    "jackknife+": "BSVDD, BSVDD-M and the simplex of BDD, whose other weights are rescaled when a "
    "point leaves",
    "full": "BDD, whose posterior mean has a closed form",
}
JACKKNIFE_DRAWS = 50  # draws over which the p-value is averaged: each is compared row by row
FOLDS = 10
BLOCK_VALUES = 4_000_000

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
        An unknown method or tail, or one that does not suit the model, its prior or ``given``.
    """
    fit: Fit = est.fit_
    if tail not in ("rank", "pareto"):
        raise ValueError(f"tail must be 'rank' or 'pareto', got {tail!r}")
    if tail == "pareto":
        fold = one_fold(est, method, given)
        return partial(_by_tail, fold=fold, tail=Tail.of(-fold.left_out, fit.data.seed))
    if method == "cross":
        return partial(_by_folds, folds=cross(est, positions(est, given)))
    if method in ("left-out", "split"):
        return partial(_by_folds, folds=[one_fold(est, method, given)])
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if given is not None:
        raise ValueError(f"given is for method='left-out', 'cross' and 'split', got {method!r}")
    lacking = {"jackknife+": est._leaves_out != "rescaled", "full": not est._has_full_conformal}
    if lacking[method]:
        has = ", ".join(repr(m) for m in METHODS if not lacking.get(m))
        raise ValueError(f"method={method!r} is for {FOR[method]}; {type(est).__name__} has {has}")
    if method == "jackknife+":
        return jackknife(fit)
    return full(fit, est.prior, est.likelihood_scale_)


# by scores: the ranks of new rows among left-out rows, or their place in a tail


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
        The method is not "left-out" or "split": others compare under several scores.
    """
    if method not in ("left-out", "split"):
        raise ValueError(
            "rows are compared under one score, which method='left-out' and 'split' have, got "
            f"{method!r}"
        )
    columns, fit = positions(est, given), est.fit_
    if method == "split":
        return split(est, fit.data.seed, columns)
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


def split(est: Any, seed: int, given: tuple[int, ...] = ()) -> Fold:
    """Return the fold of a fit to half of the majority rows."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(~est.fit_.data.minority))
    half = len(order) // 2
    return _fold(est, order[:half], order[half:], given)


def cross(est: Any, given: tuple[int, ...] = ()) -> list[Fold]:
    """Return the folds of fits without each part of the majority rows."""
    data = est.fit_.data
    majority = np.flatnonzero(~data.minority)
    nobody, n = np.zeros(len(majority), dtype=bool), max(2, min(FOLDS, len(majority)))
    parts = folds(nobody, n, data.seed)
    return [_fold(est, majority[train], majority[test], given) for train, test in parts]


def _fold(est: Any, train: np.ndarray, test: np.ndarray, given: tuple[int, ...]) -> Fold:
    """Return a fit to some majority rows and all minority rows, with its own bandwidth."""
    fit: Fit = est.fit_
    rows = np.sort(np.concatenate([train, np.flatnonzero(fit.data.minority)]))
    _, score = est._refit(fit.data, rows, own_kernel=True)
    if given:
        score = Conditional.of(score, given)
    return Fold(np.sort(score.scores(fit.data.rows[test], fit.level)), fit.level, score)


def _by_folds(score: Score, rows: np.ndarray, folds: list[Fold]) -> np.ndarray:
    count, n = np.ones(len(rows)), 1
    for fold in folds:
        count += np.searchsorted(fold.left_out, fold.scores(score, rows), side="right")
        n += len(fold.left_out)
    return count / n


def _by_tail(score: Score, rows: np.ndarray, fold: Fold, tail: Tail) -> np.ndarray:
    scores = fold.scores(score, rows)
    p, beyond = p_values(scores, fold.left_out), -scores > tail.threshold
    p[beyond] = tail.p_values(-scores[beyond])
    return p


# "jackknife+", and the p-values of single draws: comparisons under one centre


def jackknife(fit: Fit) -> Method:
    r"""Return the method that compares z and j under the centre without j.

    .. math:: p(z) = \frac{1 + \#\{j : s_j(a_{-j}) \le s_z(a_{-j})\}}{n + 1}

    It is the mean over draws. A ValueError is raised where weights do not sum to one.
    """
    center, points, further = _of_draws(fit, thinned(len(fit.center.weights), JACKKNIFE_DRAWS))
    gram = fit.data.gram
    left_out = leave_one_out(center.weights, gram.K_left_out, gram.n1)[:, points]
    left_out -= _half_diagonal(gram, gram.points[points])
    others = np.sort(further, axis=1)
    return partial(_by_jackknife, center=center, points=points, left_out=left_out, others=others)


def _by_jackknife(
    score: Score,
    rows: np.ndarray,
    center: Center,
    points: np.ndarray,
    left_out: np.ndarray,
    others: np.ndarray,
) -> np.ndarray:
    gram, w = center.gram, center.weights
    m, step = gram.n_majority_points, max(1, BLOCK_VALUES // gram.n_points)
    p = np.empty(len(rows))
    for block in (slice(i, i + step) for i in range(0, len(rows), step)):
        half = _half_diagonal(gram, rows[block])
        k_zu = gram.kernel(rows[block], gram.points)
        A, B = k_zu[:, :m] @ w[:, :m].T, k_zu[:, m:] @ w[:, m:].T
        of_points, count = k_zu[:, points], np.zeros(len(k_zu))
        for draw in range(len(w)):
            alpha, total = w[draw, points], w[draw, :m].sum()
            # the similarity of z to the centre without j; the other weights are rescaled
            s = A[:, draw, None] - alpha * of_points
            with np.errstate(divide="ignore", invalid="ignore"):
                s *= total / (total - alpha)
            s += (B[:, draw] - half)[:, None]
            # a point with all the weight, without which there is no centre, counts as remote
            count += (~(left_out[draw] > s)).sum(axis=1)
            whole = A[:, draw] + B[:, draw] - half
            count += np.searchsorted(others[draw], whole, side="right")
        p[block] = (1.0 + count / len(w)) / (len(points) + others.shape[1] + 1.0)
    return p


def some_draws(fit: Fit, draws: int) -> tuple[np.ndarray, np.ndarray]:
    """Return evenly spaced draws: their numbers in each chain, and over all chains."""
    chains, n = fit.draws.shape
    kept = thinned(n, max(1, draws // chains))
    return kept, (np.arange(chains)[:, None] * n + kept).ravel()


def draws_of(est: Any, rows: np.ndarray, draws: int) -> xr.DataArray:
    """Return draws of the p-values of rows; see ``est.p_value_draws``.

    Left-out and new rows are compared under the centre of a draw.
    """
    fit: Fit = est.fit_
    kept, numbers = some_draws(fit, draws)
    center, points, further = _of_draws(fit, numbers)
    sums = None
    if est._leaves_out != "refits":
        sums = est._left_out_sums(fit.data, center.weights)
    if sums is None:
        raise ValueError(
            f"{est!r} leaves rows out by refits only, so there are no p-values of single "
            "draws; use p_value(X)"
        )
    left_out = sums[0][:, points]
    left_out = left_out - _half_diagonal(fit.data.gram, fit.data.gram.points[points])
    left_out = np.sort(np.hstack([left_out, further]), axis=1)
    pairs = zip(center.similarity(rows), left_out, strict=True)
    p = np.stack([p_values(new, of_draw) for new, of_draw in pairs])
    of_rows = p.reshape(fit.draws.shape[0], len(kept), -1)
    return xr.DataArray(of_rows, dims=("chain", "draw", "obs")).assign_coords(
        chain=np.arange(len(of_rows)), draw=kept, obs=np.arange(len(rows))
    )


def thinned(n: int, most: int) -> np.ndarray:
    """Return up to ``most`` of n numbers, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def _of_draws(fit: Fit, draws: np.ndarray) -> tuple[Center, np.ndarray, np.ndarray]:
    """Return the centre of some draws, the majority points that are rows, and other similarities.

    These are of the majority rows that are no points, shape (draws, rows).
    """
    data, whole = fit.data, cast(Center, fit.center)
    center = whole.with_weights(whole.weights[draws])
    points = np.flatnonzero(data.row_of_point[: data.gram.n_majority_points] >= 0)
    further = ~data.minority
    further[data.row_of_point[points]] = False
    return center, points, center.leaving_out.similarity(data.rows[further])


def _half_diagonal(gram: Gram, rows: np.ndarray) -> np.ndarray:
    """Return the part k(z, z)/2 of a similarity, or 0 where it is the same for all rows."""
    k_zz = gram.kernel.diag(rows)
    return np.zeros_like(k_zz) if gram.kernel.normalized else k_zz / 2.0


# "full": each new row joins the rows of the fit


def full(fit: Fit, prior: object, likelihood_scale: float) -> Method:
    r"""Return full conformal p-values of BDD.

    The mean of the normal posterior of all n + 1 rows is

    .. math:: \Lambda_+ = \lambda (n_0 + 1) K_+ + \Sigma_+^{-1}, \qquad
        \mu_+ = \Lambda_+^{-1} (\lambda r_+ + \Sigma_+^{-1} m_+),

    and the rows are compared by their distances from it, where :math:`p(z)` is the share of rows
    at least as far as z. :math:`\Lambda_+` borders a matrix that is the same for all z, so a new
    row costs :math:`O(n_0^2)`.
    """
    if not isinstance(prior, GaussianPrior) or isinstance(prior, CorrelatedPrior):
        raise ValueError(
            "method='full' is for BDD with an independent normal prior (priors.Flat, RowSum, "
            f"StandardizedRowSum), got {prior!r}; use method='cross' or 'split'"
        )
    return partial(_by_full, gram=fit.data.gram, prior=prior, scale=likelihood_scale)


def _by_full(
    score: Score, rows: np.ndarray, gram: Gram, prior: GaussianPrior, scale: float
) -> np.ndarray:
    n = gram.n0
    factor_of_all = cho_factor(scale * (n + 1) * gram.K + prior.precision(gram))
    precision = float(prior.sd) ** -2
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
        shift = scale * r + precision * prior.mean(joined)
        # the bordered system: eliminate the n rows, then z
        border, v = scale * (n + 1) * k, scale * (n + 1) * solved[:, i]
        u = cho_solve(factor_of_all, shift[:n])
        last = (shift[n] - border @ u) / (scale * (n + 1) * kk + precision - border @ v)
        w = np.append(u - last * v, last)
        d2 = np.diag(K) - 2.0 * (K @ w)
        p[i] = (d2 >= d2[n]).mean()
    return p
