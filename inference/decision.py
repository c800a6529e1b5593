r"""The decision: z is normal when P(d_z <= D_opt | data) exceeds a level, 0.5 by default.

The similarity s_z of a row decides in place of its distance: d_z <= D_opt is s_z >= s_opt. In the
metrics of decisions, positive means minority, that is, abnormal.

P(normal) counts three uncertainties: of the weights, of the cutoff, and of rows that the sample has
not shown. In draw t, with g ~ Gamma(1/2),

.. math:: \tilde s_z = s_z + g\, u\, r_z, \qquad
    \tilde d_z^2 = k(z, z) + \|a\|^2 - 2 \tilde s_z, \qquad
    P(\mathrm{normal}) = P(\tilde d_z \le D_{\mathrm{opt}} \mid \mathrm{data}),

the share of draws with :math:`\tilde s_z \ge \tilde s_{\mathrm{opt}}`: the norm is that of the
same draw and cancels. The surprise is the median of
:math:`\log (\tilde s_{\mathrm{opt}} / \tilde s_z)`.

- **The row beside z that the sample has not shown** adds u at most, what one row near the cutoff
  adds to another:

  .. math:: u = \frac{1}{n_0} \operatorname{mean}_j
      \frac{\sum_i k_{ij}^2}{\sum_i k_{ij}}, \qquad
      r_z = \min\Big(1, \frac{m_z}{m_*}\Big), \qquad m_z = \max_j k(u_j, z),

  over the left-out rows j near the cutoff, times the total weight. These rows lie between the .3
  and the 3.3 fold of the rate of false alarms, a factor :math:`\sqrt{10}` to either side.
  :math:`m_*` is the smallest :math:`m_j` of these rows but one, so that one odd row among them says
  nothing. Farther from all rows than this the unseen row fades as the kernel does. Gamma(1/2) is
  Jeffreys' posterior of the rate of a Poisson distribution that has shown no event. The draw has
  one g, for all rows that are answered.
- **The cutoff** of the draw is what the criterion chooses from the left-out rows under weights
  Dirichlet(1, ..., 1), the Bayesian bootstrap (Rubin 1981): the quantile that a rate of false
  alarms asks for, or the best cut by the G-mean, F1 or a cost, with weights of either class. The
  left-out row j has :math:`\tilde s_j` too, with its own :math:`g_j` and its median similarity
  over the draws: with that of the draw a wide posterior lowers the quantile, and the rate. In a
  table whose odd rows are among the training rows, the weight of row j is multiplied by 1 - P(odd).
- **Intervals** of the surprise have the limits for a rate of which 0 or 1 events were seen in place
  of Gamma(1/2) (Garwood 1936): at the lower end z has Gamma(1) of an unseen row and the left-out
  rows have none, at the upper end z has none and they have Gamma(1).

A row with gaps, new or left out, has the values of another of the ten nearest rows in each draw t,
of way t mod 10 to fill it, as in multiple imputation (Rubin 1987).

Where weights may be negative, the margin is the difference
:math:`\tilde s_z - \tilde s_{\mathrm{opt}}`. Nothing is unseen for kernels whose values do not
lie between 0 and 1, nor for scores without a centre.

The printed rule, :math:`d_z \le D_{\mathrm{opt}}` in each draw with one number for all draws, is
:math:`\theta^{(t)} = (k(z, z) + \|a^{(t)}\|^2 - D_{\mathrm{opt}}^2) / 2` as the cutoff.

**References**

Garwood, F. (1936). Fiducial limits for the Poisson distribution. Biometrika 28, 437-442.

Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.

Rubin, D. B. (1987). Multiple imputation for nonresponse in surveys. Wiley.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..models.gram import Gram
from . import ties
from .center import (
    Boundary,
    Center,
    Unseen,
    decision_of,
    level_quantile,
    with_unseen,
)
from .cutoff import Cutoff
from .cutoffs import Chooser, rates

DRAWS = 2000  # of the cutoff, for one estimate of the weights
BLOCK_VALUES = 2_000_000
MOST_NEAR = 500  # rows near the cutoff, of which u is a mean
NEAR_RATES = 0.3, 3.3  # times the rate of false alarms: rows between lie near the cutoff


@dataclass(frozen=True, eq=False)
class LeftOut:
    """The values of rows by the fit without them, or of new rows with gaps, in each draw.

    Attributes
    ----------
    values : ndarray of shape (draws, n)
        Similarities, or their logarithms; NaN for a row that cannot be left out.
    log_nearest : ndarray of shape (1 or ways, n)
        Logarithm of the largest kernel value with another majority row; minus infinity where
        nothing is unseen. Draw t has way t mod 10 to fill the gaps of rows.
    of_distances : bool
        Whether the values are similarities, never logarithms, that rows have to the centre of all
        rows at the distance that they have to the centre of their fold.
    """

    values: np.ndarray
    log_nearest: np.ndarray
    of_distances: bool = False

    @cached_property
    def known(self) -> np.ndarray:
        """Which rows can be left out, shape (n,)."""
        return ~np.isnan(self.values).any(axis=0)

    def part(self, which: np.ndarray | slice) -> LeftOut:
        """Return the values of some rows."""
        return LeftOut(self.values[:, which], self.log_nearest[:, which], self.of_distances)

    @cached_property
    def _of_known(self) -> np.ndarray:
        return self.values if self.known.all() else self.values[:, self.known]

    def unseen(self, score: Center) -> np.ndarray:
        """Return what ``score.unseen`` has, of the rows that can be left out."""
        return score.boundary.unseen.log_added(self.log_nearest[:, self.known])

    @cached_property
    def _middle_nearest(self) -> np.ndarray:
        """The median of ``log_nearest`` over the ways, shape (n,)."""
        return level_quantile(self.log_nearest)

    def values_of(self, score: Center) -> np.ndarray:
        """Return the values of the rows that can be left out, as a score has them."""
        if not (self.of_distances and score.logarithmic):
            return self._of_known
        with np.errstate(divide="ignore"):
            values: np.ndarray = np.log(np.maximum(self._of_known, 0.0))
        return values

    def boundary(
        self,
        policy: Cutoff,
        score: Center,
        rows: np.ndarray,
        minority: np.ndarray,
        own: np.ndarray,
        weight: np.ndarray,
        seed: int,
    ) -> tuple[Boundary, float]:
        """Return the boundary that a cutoff chooses, and its distance D_opt.

        Parameters
        ----------
        policy : Cutoff
        score : Center
        rows : ndarray of shape (n, p)
        minority : ndarray of bool, shape (n,)
        own : ndarray of int, shape (n,)
            The members of the points that the rows are; -1 for none.
        weight : ndarray of shape (n,)
            Of the rows in the choice.
        seed : int
        """
        known, values = np.flatnonzero(self.known), self._of_known
        minority, weight = minority[known], weight[known]
        choose = policy.chooser(minority)
        if not policy.uncertain:
            as_logarithm = score.logarithmic and not self.of_distances
            similarity = np.exp(values) if as_logarithm else values
            similarity = similarity - score.squared_norm[:, None] / 2.0
            similarity = ties.merged(level_quantile(similarity, policy.level), score.unit_of_sums)
            distance = score.distance_of_own_norm(similarity)
            limit = -choose(-distance, minority, weight=weight) * (1.0 + ties.RELATIVE)
            return score.boundary_at(limit), limit
        middle = ties.merged(level_quantile(values), score.unit)
        fixed = choose(middle, minority, score.far, weight)  # as one number, or an error
        unseen = Unseen()
        if score.gram.kernel.normalized:
            rate = choose.rate_at(fixed, middle, minority)
            majority = np.flatnonzero(~minority)
            close = known[majority[near(middle[majority], rate, weight[majority])]]
            unseen = unseen_row(score, rows, own, close, self._middle_nearest)
        chosen = self._uncertain(choose, score, middle, fixed, minority, weight, unseen, seed)
        return chosen, score.with_boundary(chosen).distance_at_cutoff

    def _uncertain(
        self,
        choose: Chooser,
        score: Center,
        middle: np.ndarray,
        fixed: float,
        minority: np.ndarray,
        weight: np.ndarray,
        unseen: Unseen,
        seed: int,
    ) -> Boundary:
        """Return the boundary of draws of the cutoff, by the formula of this module.

        ``middle`` (rows,) are the medians of the values of the rows that can be left out, and
        ``fixed`` is their cutoff.
        """
        rng, draws = np.random.default_rng(seed), score.n_draws if score.n_draws > 1 else DRAWS
        log_unseen = unseen.log_added(self._middle_nearest[self.known])
        order = np.lexsort((minority, log_unseen, middle))  # draws are of ranks, whatever rows are
        middle, log_unseen, minority, weight = (
            of_rows[order] for of_rows in (middle, log_unseen, minority, weight)
        )
        half, whole = _gamma(rng, (draws,))
        found = np.empty((3, draws))
        for start in range(0, draws, step := max(1, BLOCK_VALUES // len(middle))):
            block = slice(start, min(start + step, draws))
            shape = block.stop - start, len(middle)
            of_rows = rng.standard_exponential(shape) * weight
            added = [log_g + log_unseen for log_g in _gamma(rng, shape)]
            raised = [with_unseen(middle, each, score.logarithmic) for each in added]
            for q, values in zip(found, (raised[0], middle, raised[1]), strict=True):
                q[block] = choose.in_draws(values, minority, of_rows, score.far, score.logarithmic)
        found = np.where(np.isfinite(found), found, fixed)  # of rows without a centre
        middle, least, most = found
        threshold = middle - ties.tolerance(middle, score.unit)
        return Boundary(threshold, least, most, half, whole, unseen)

    def scores(self, score: Center, level: float) -> np.ndarray:
        """Return the score of each row, shape (n,); NaN if it cannot be left out."""
        found = np.full(len(self.known), np.nan)
        margins = score.margins_of(self.values_of(score), self.unseen(score))
        found[self.known] = level_quantile(margins, level)
        return found

    def decision(self, score: Center, level: float, prob: float = 0.9) -> np.ndarray:
        """Return what ``score.decision`` has, (4, n); NaN for a row that cannot be left out."""
        found = np.full((4, len(self.known)), np.nan)
        given = self.values_of(score), self.unseen(score), score.boundary
        found[:, self.known] = decision_of(*given, level, prob, score.logarithmic)
        return found


def _gamma(rng: np.random.Generator, shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Return logarithms of g ~ Gamma(1/2) and of g ~ Gamma(1), which is this and another."""
    half, other = (np.square(rng.standard_normal(shape)) / 2.0 for _ in range(2))
    return np.log(half), np.log(half + other)


def near(values: np.ndarray, rate: float, weight: np.ndarray | None = None) -> np.ndarray:
    """Return the numbers of the rows near the cutoff, from their deciding values (n,).

    They are at least 3 rows, if there are so many.
    """
    order = np.argsort(values, kind="stable")
    below = np.arange(len(order)) if weight is None else np.cumsum(weight[order]) - weight[order]
    total = len(order) if weight is None else weight.sum()
    places = np.searchsorted(below, np.multiply(NEAR_RATES, rate * total), side="right")
    first, last = np.maximum(places - 1, 0)
    return order[first : max(last, first + 3)]


def unseen_row(
    center: Center,
    rows: np.ndarray,
    own: np.ndarray,
    near: np.ndarray,
    log_nearest: np.ndarray,
) -> Unseen:
    r"""Return what a row that the sample has not shown adds, from left-out rows near the cutoff.

    Parameters
    ----------
    center : Center
    rows : ndarray of shape (n, p)
    own : ndarray of int, shape (n,)
        The members of the points that the rows are; -1 for none.
    near : ndarray of int
        The rows near the cutoff.
    log_nearest : ndarray of shape (n,)
        log m_j.
    """
    gram, m = center.gram, center.gram.n_majority_points
    total = float(np.median(center.weights[:, :m].sum(axis=1)))
    nearest = np.sort(log_nearest[near])
    nearest = nearest[nearest > -np.inf]
    if total <= 0.0 or not len(nearest):
        return Unseen()
    some = near[:: max(1, len(near) // MOST_NEAR)]
    log_u = log_neighbour(gram, rows[some], own[some]) + np.log(total / gram.n0)
    return Unseen(np.array(log_u), nearest[min(1, len(nearest) - 1)])


def log_neighbour(gram: Gram, rows: np.ndarray, own: np.ndarray) -> float:
    r"""Return the logarithm of the mean of :math:`\sum_i k_{ij}^2 / \sum_i k_{ij}` over rows j.

    The sums are over the majority rows i without row j, which is the member ``own`` of the points.
    """
    members = gram.n_majority_members
    count = np.repeat(gram.points.copies[None, :members].astype(float), len(rows), axis=0)
    is_member = np.flatnonzero(own >= 0)
    count[is_member, own[is_member]] -= 1.0
    log_k = gram.kernel.leaving_out.log(rows, gram.points.rows[:members])
    log_k[count == 0.0] = -np.inf
    largest = log_k.max(axis=1, keepdims=True)
    k = np.exp(log_k - largest)
    ratio = np.vecdot(np.square(k), count) / np.vecdot(k, count)
    return float(np.logaddexp.reduce(largest[:, 0] + np.log(ratio)) - np.log(len(rows)))


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
