r"""The decision: z is normal when P(d_z <= D_opt | data) exceeds a level, 0.5 by default.

The similarity s_z of a row decides in place of its distance: d_z <= D_opt is s_z >= s_opt. In the
metrics of decisions, positive means minority, that is, abnormal.

P(normal) counts three uncertainties: of the weights, of the cutoff, and of rows that the sample has
not shown. In draw t a row z is normal if

.. math:: \log \frac{s + g^{(t)} u\, (s / s_0)^{1/9}}{q^{(t)}} \ge c, \qquad s = s_z^{(t)},

that is, if s is at least the root :math:`\theta^{(t)}` of the equality. It has three parts.

- :math:`s_z^{(t)}`, the similarity of z to the draw of the centre.
- :math:`q^{(t)}`, the cutoff of the draw: the quantile of its left-out similarities that the rate
  of false alarms asks for, with the rows weighted by Dirichlet(1, ..., 1). A criterion that
  compares the classes, such as the G-mean, asks for the rate of the cutoff that is best on all
  rows, so P(normal) does not count that another sample would have another best rate.
- A row beside z that was not drawn, :math:`g \sim \mathrm{Gamma}(1/2)` of it. It adds
  :math:`u = \kappa / n_0` to a similarity that is :math:`s_0`, the cutoff as one number:
  :math:`\kappa` is what one neighbour adds to a sum of kernel values, the upper quartile of
  :math:`\sum_i k_{ij}^2 / \sum_i k_{ij}` over left-out rows near the cutoff. u is at most
  :math:`100\, s_0`. Far from all rows nothing is unseen: the addition falls off like a normal
  kernel of three times the bandwidth, whose logarithm is a ninth.

c is one number for all draws. It is chosen on the left-out rows themselves, with what is unseen
beside them, so that the rule P(normal) > level keeps the rate that was asked, or is best by the
G-mean or another criterion that compares the classes. Where weights or kernel values may be
negative, the margin is a difference, :math:`s + g u (\max(s, 0) / s_0)^{1/9} - q \ge c`. There a
row that resembles no training row has s = 0, and a criterion that compares the classes takes the
best c that calls this row abnormal. Nothing is unseen where :math:`s_0 \le 0`, and for kernels
whose values do not lie between 0 and 1.

The printed rule, :math:`d_z \le D_{\mathrm{opt}}` in each draw with one number for all draws, is
:math:`\theta^{(t)} = (k(z, z) + \|a^{(t)}\|^2 - D_{\mathrm{opt}}^2) / 2`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import expit

from . import threads, ties
from .center import (
    FALL,
    Boundary,
    Center,
    Score,
    decision_of,
    level_quantile,
    with_unseen,
)
from .cutoff import Cutoff
from .cutoffs import rates

DRAWS = 2000  # of the cutoff, for one estimate of the weights
# intervals by the median cover .75, by the upper quartile .81, and P(normal) is as good
QUARTILE = 0.75
MOST_UNSEEN = 100.0  # u, in units of the cutoff
NEWTON_STEPS = 50
UNSEEN = 0.5  # shape of the Gamma distribution: half a row beside z was not drawn
BLOCK_VALUES = 2_000_000
NEGLIGIBLE = 1e-150
MOST_NEAR = 500  # rows near the cutoff, of which kappa is a quantile
NEAR_RATES = 0.3, 3.3  # times the rate of false alarms: rows between lie near the cutoff


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The values of training rows by the fit without them, in each draw.

    Attributes
    ----------
    values : ndarray of shape (draws, n)
        Similarities, or their logarithms; NaN for a row that cannot be left out.
    """

    values: np.ndarray

    @cached_property
    def known(self) -> np.ndarray:
        """Which rows can be left out, shape (n,)."""
        return ~np.isnan(self.values).any(axis=0)

    @cached_property
    def _of_known(self) -> np.ndarray:
        return self.values if self.known.all() else self.values[:, self.known]

    def boundary(
        self,
        policy: Cutoff,
        score: Score,
        rows: np.ndarray,
        minority: np.ndarray,
        own: np.ndarray,
        seed: int,
    ) -> tuple[Boundary, float]:
        """Return the boundary that a cutoff chooses, and its distance D_opt.

        Parameters
        ----------
        policy : Cutoff
        score : Score
        rows : ndarray of shape (n, p)
        minority : ndarray of bool, shape (n,)
        own : ndarray of int, shape (n,)
            The members of the points that the rows are; -1 for none.
        seed : int
        """
        known, values = np.flatnonzero(self.known), self._of_known
        minority = minority[known]
        choose = policy.chooser(minority)
        if isinstance(score, Center) and not policy.uncertain:
            similarity = np.exp(values) if score.logarithmic else values
            similarity = similarity - score.squared_norm[:, None] / 2.0
            similarity = ties.merged(level_quantile(similarity, policy.level), score.unit_of_sums)
            distance = score.distance_of_own_norm(similarity)
            limit = -choose(-distance, minority) * (1.0 + ties.RELATIVE)
            return score.boundary_at(limit), limit
        middle = ties.merged(level_quantile(values, policy.level), score.unit)
        fixed = choose(middle, minority, score.far)  # as one number, or an error
        if score.uncertain and policy.uncertain:
            rate = choose.rate_at(fixed, middle, minority)
            unseen = 0.0
            if isinstance(score, Center):
                majority = np.flatnonzero(~minority)
                close = known[majority[near(middle[majority], rate)]]
                close = close[:: max(1, len(close) // MOST_NEAR)]
                unseen = unseen_row(score, rows[close], own[close])
            chosen = self._uncertain(policy, score, minority, fixed, rate, unseen, seed)
        else:
            chosen = Boundary.at(fixed, score.unit)
        return chosen, score.with_boundary(chosen).distance_at_cutoff

    def _uncertain(
        self,
        policy: Cutoff,
        score: Score,
        minority: np.ndarray,
        fixed: float,
        rate: float,
        unseen: float,
        seed: int,
    ) -> Boundary:
        """Return the boundary of draws of the cutoff, by the formula of this module.

        ``fixed`` is s_0, or its logarithm, ``rate`` its rate of false alarms, and ``unseen`` is u.
        """
        values, logarithmic = self._of_known, score.logarithmic
        rng = np.random.default_rng(seed)
        draws = len(values) if len(values) > 1 else DRAWS
        q = _quantiles(values[:, ~minority], rate, draws, rng)
        q = np.where(np.isfinite(q), q, fixed)  # without a row there may be no centre
        with np.errstate(divide="ignore"):
            cutoff = fixed if logarithmic else np.log(max(fixed, 0.0))
            log_u = min(np.log(unseen), np.log(MOST_UNSEEN) + cutoff)
            log_half, log_whole = (
                np.log(rng.gamma(shape, size=draws))
                + log_u
                - (FALL * cutoff if log_u > -np.inf else 0.0)
                for shape in (UNSEEN, 1.0)
            )

        def margins(rows: slice) -> np.ndarray:
            m = with_unseen(values[:, rows], log_half[:, None], logarithmic) - q[:, None]
            return level_quantile(m, policy.level)

        step = max(1, BLOCK_VALUES // draws)
        m = np.concatenate(threads.each(margins, values.shape[1], step))
        m = ties.merged(m, score.unit)
        far = level_quantile((score.far - q)[:, None], policy.level)[0]
        if math.isfinite(far):
            # more than c loses below: a far row stays beyond
            far += 2.0 * float(ties.tolerance(far, score.unit))
        c = policy.chooser(minority)(m, minority, far)
        c -= float(ties.tolerance(c, score.unit))
        reference = q + c
        if logarithmic:
            return Boundary(_without_unseen(reference, log_half), reference, log_whole)
        threshold = reference.copy()
        positive = reference > 0.0
        log_threshold = _without_unseen(np.log(reference[positive]), log_half[positive])
        threshold[positive] = np.exp(log_threshold)
        return Boundary(threshold, reference, log_whole)

    def scores(self, at: Boundary, level: float) -> np.ndarray:
        """Return the score of each row, shape (n,); NaN if it cannot be left out."""
        found = np.full(len(self.known), np.nan)
        found[self.known] = level_quantile(self._of_known - at.threshold[:, None], level)
        return found

    def decision(self, score: Score, level: float, prob: float = 0.9) -> np.ndarray:
        """Return what ``score.decision`` has, (4, n); NaN for a row that cannot be left out."""
        found = np.full((4, len(self.known)), np.nan)
        at = score.boundary
        found[:, self.known] = decision_of(self._of_known, at, level, prob, score.logarithmic)
        return found


def _without_unseen(values: np.ndarray, log_added: np.ndarray) -> np.ndarray:
    """Return the logarithms that :func:`with_unseen` raises to these values."""
    t = values.copy()
    for _ in range(NEWTON_STEPS):  # of a convex function, from above its root
        share = expit((1.0 - FALL) * t - log_added)
        t -= (with_unseen(t, log_added, True) - values) / (share + (1.0 - share) * FALL)
    return t


def _quantiles(values: np.ndarray, rate: float, draws: int, rng: np.random.Generator) -> np.ndarray:
    """Return the quantiles (draws,) of values (draws or 1, n) under Dirichlet weights of the rows.

    A value stands at the weight below it and half its own. Between two values the quantile is
    linear, so that it ties with no row.
    """
    n, q = values.shape[1], np.empty(draws)
    if n == 1:
        return np.broadcast_to(values[:, 0], draws)
    step = max(1, BLOCK_VALUES // n)
    ordered = np.sort(values, axis=1) if len(values) == 1 else None
    for start in range(0, draws, step):
        block = slice(start, min(start + step, draws))
        of_block = np.sort(values[block], axis=1) if ordered is None else ordered
        weights = rng.standard_exponential((block.stop - start, n))
        places = weights.cumsum(axis=1)
        target = rate * places[:, -1]
        places -= weights / 2.0
        draw = np.arange(len(places))
        above = np.clip((places < target[:, None]).sum(axis=1), 1, n - 1)
        low, high = places[draw, above - 1], places[draw, above]
        rows = draw if ordered is None else 0
        below = of_block[rows, above - 1]
        share = np.clip((target - low) / (high - low), 0.0, 1.0)
        with np.errstate(invalid="ignore"):  # minus infinity, of which the caller takes care
            q[block] = below + share * (of_block[rows, above] - below)
    return q


def near(values: np.ndarray, rate: float) -> np.ndarray:
    """Return the numbers of the rows near the cutoff, from their deciding values (n,).

    They are some 3 rows at least.
    """
    order = np.argsort(values, kind="stable")
    first = int(NEAR_RATES[0] * rate * len(order))
    last = max(int(NEAR_RATES[1] * rate * len(order)), first + 3)
    return order[first:last]


def neighbour(k: np.ndarray, count: np.ndarray) -> float:
    r"""Return :math:`\kappa`, the upper quartile of :math:`\sum_i k_{ij}^2 / \sum_i k_{ij}`.

    ``k`` (rows, R) has kernel values of left-out rows near the cutoff with members, each of which
    stands for ``count`` (rows, R) others.
    """
    k = np.where(count > 0.0, k, 0.0)
    largest = k.max(axis=1, keepdims=True)
    k = np.divide(k, largest, where=largest > 0.0, out=np.zeros_like(k))
    k[k < NEGLIGIBLE] = 0.0  # whose squares have no digits, and take long
    sums = np.vecdot(k, count)
    with np.errstate(invalid="ignore"):
        ratio = largest[:, 0] * np.vecdot(np.square(k), count) / sums
    found = ratio[sums > 0.0]
    return float(np.quantile(found, QUARTILE)) if len(found) else 0.0


def unseen_row(center: Center, rows: np.ndarray, own: np.ndarray) -> float:
    r"""Return u, what an unseen row adds at the cutoff: :math:`\kappa / n_0` of the total weight.

    Parameters
    ----------
    center : Center
    rows : ndarray of shape (rows, p)
        Left-out rows near the cutoff.
    own : ndarray of int, shape (rows,)
        The members of the points that these rows are; -1 for none.
    """
    gram, m = center.gram, center.gram.n_majority_points
    members, points = center.gram.n_majority_members, center.gram.points
    if not gram.kernel.normalized:
        return 0.0
    k, copies = gram.kernel.leaving_out(rows, points.rows[:members]), points.copies[:members]
    count = np.repeat(copies[None].astype(float), len(rows), axis=0)
    is_member = np.flatnonzero(own >= 0)
    count[is_member, own[is_member]] -= 1.0
    total = float(np.median(center.weights[:, :m].sum(axis=1)))
    return neighbour(k, count) * max(total, 0.0) / gram.n0


def three_way(
    probability: np.ndarray, standard_error: np.ndarray, low: float, high: float
) -> np.ndarray:
    """Return "normal", "abnormal" or "undecided" for each row.

    A row is abnormal if P(d_z <= D_opt | data) is at most ``low``, and normal if it is at least
    ``high``. It is undecided between the two, and also within two Monte Carlo standard errors of
    the one beyond which it lies.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.inference.decision import three_way
    >>> three_way(np.array([0.1, 0.5, 0.99]), np.array([0.01, 0.02, 0.004]), 0.2, 0.8).tolist()
    ['abnormal', 'undecided', 'normal']
    """
    margin = 2.0 * standard_error
    normal = probability - margin >= high
    abnormal = probability + margin <= low
    return np.where(abnormal, "abnormal", np.where(normal, "normal", "undecided"))


def probability_error(probability: np.ndarray, ess: float) -> np.ndarray:
    r"""Return the Monte Carlo standard error :math:`\sqrt{P (1 - P) / \mathrm{ESS}}` of P(normal).

    ESS is the effective number of draws, of the cutoff for a single estimate of the weights.
    """
    return np.sqrt(probability * (1.0 - probability) / ess)


def evaluate(
    minority: np.ndarray, flagged: np.ndarray, score: np.ndarray | None = None
) -> dict[str, float]:
    """Return all metrics of a decision, and the AUC of ``score`` (larger = more abnormal).

    Parameters
    ----------
    minority, flagged : ndarray of bool, shape (n,)
        The truth, and what the rule calls abnormal.
    score : ndarray of shape (n,), optional
    """
    counts = [
        int(np.sum(a & b))
        for a, b in (
            (minority, flagged),
            (~minority, flagged),
            (minority, ~flagged),
            (~minority, ~flagged),
        )
    ]
    result = {name: float(value) for name, value in rates(*counts).items()}
    result["auc"] = np.nan
    if score is not None and minority.any() and not minority.all():
        from sklearn.metrics import roc_auc_score

        result["auc"] = float(roc_auc_score(minority, score))
    return result
