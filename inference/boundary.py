r"""The boundary of the normal class: the similarity of the cutoff in each draw.

P(normal) counts three uncertainties: of the weights, of the cutoff, and of rows that the sample has
not shown. In draw t a row z is normal if

.. math:: \log \frac{s + g^{(t)} u\, (s / s_0)^{1/9}}{q^{(t)}} \ge c, \qquad s = s_z^{(t)},

that is, if s is at least the root :math:`\theta^{(t)}` of the equality. It has three parts.

- :math:`s_z^{(t)}`, the similarity of z to the draw of the centre.
- :math:`q^{(t)}`, the cutoff of the draw: the quantile of its left-out similarities that the rate
  of false alarms asks for, with the rows weighted by Dirichlet(1, ..., 1).
- A row beside z that was not drawn, :math:`g \sim \mathrm{Gamma}(1/2)` of it. It adds
  :math:`u = \kappa / n_0` to a similarity that is :math:`s_0`, the cutoff as one number:
  :math:`\kappa` is what one neighbour adds to a sum of kernel values, the upper quartile of
  :math:`\sum_i k_{ij}^2 / \sum_i k_{ij}` over left-out rows near the cutoff. u is at most
  :math:`100\, s_0`. Far from all rows nothing is unseen: the addition falls off like a normal
  kernel of three times the bandwidth, whose logarithm is a ninth.

c is one number for all draws. It is chosen on the left-out rows themselves, with what is unseen
beside them, so that the rule P(normal) > level keeps the rate that was asked. Where weights or
kernel values may be negative, the margin is a difference,
:math:`s + g u (\max(s, 0) / s_0)^{1/9} - q \ge c`. Nothing is unseen where :math:`s_0 \le 0`, and
for kernels whose values do not lie between 0 and 1.

The printed rule, :math:`d_z \le D_{\mathrm{opt}}` in each draw with one number for all draws, is
:math:`\theta^{(t)} = (k(z, z) + \|a^{(t)}\|^2 - D_{\mathrm{opt}}^2) / 2`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit

from . import threads
from .cutoff import Cutoff
from .decision import deciding_quantile

DRAWS = 2000  # of the cutoff, for one estimate of the weights
# intervals by the median cover .75, by the upper quartile .81, and P(normal) is as good
QUARTILE = 0.75
MOST_UNSEEN = 100.0  # u, in units of the cutoff
# 1/2 and 1/4 (twice the bandwidth) give P(normal) a larger Brier score: benchmarks.posterior
FALL = 1.0 / 9.0
NEWTON_STEPS = 50
UNSEEN = 0.5  # shape of the Gamma distribution: half a row beside z was not drawn
AT_CUTOFF = 1e-12  # relative difference of two values that rounding explains
BLOCK_VALUES = 2_000_000
NEAR = (0.3, 3.3)  # of the rate of false alarms: rows between these shares lie near the cutoff


@dataclass(frozen=True, eq=False)
class Boundary:
    r"""Where rows are normal in each draw, on the scale of the values of a score.

    Attributes
    ----------
    threshold : ndarray of shape (draws,)
        :math:`\theta`, or its logarithm.
    reference : ndarray of shape (draws,)
        The threshold without an unseen row, :math:`q e^c`, or its logarithm; intervals of the
        surprise are relative to it.
    log_whole : ndarray of shape (draws,)
        Logarithm of :math:`g u\, s_0^{-1/9}` with :math:`g \sim \mathrm{Gamma}(1)`: what a whole
        unseen row adds at the upper end of intervals.
    """

    threshold: np.ndarray
    reference: np.ndarray
    log_whole: np.ndarray

    @property
    def middle(self) -> float:
        """The (upper) median of the threshold."""
        return float(np.sort(self.threshold)[len(self.threshold) // 2])

    def highest(self, values: np.ndarray, logarithmic: bool) -> np.ndarray:
        """Return values (..., draws) with a whole unseen row, less the reference.

        Where that is less than ``values - threshold``, which decides, it is the latter: so the
        interval of a surprise contains the surprise.
        """
        whole = with_unseen(values, self.log_whole, logarithmic) - self.reference
        return np.maximum(whole, values - self.threshold)

    @classmethod
    def at(cls, value: Any = 0.0) -> Self:
        """Return the boundary at one value, or at one for each draw, without an unseen row."""
        # a row at the cutoff is within it, whatever the rounding of its value
        values = np.atleast_1d(np.asarray(value, dtype=float))
        lowered = values - AT_CUTOFF * np.where(np.isfinite(values), np.abs(values), 0.0)
        return cls(lowered, values, np.full(values.shape, -np.inf))


def of_left_out(
    values: np.ndarray,
    minority: np.ndarray,
    policy: Cutoff,
    fixed: float,
    rate: float,
    logarithmic: bool,
    unseen: float,
    seed: int,
    log_weight: np.ndarray | None = None,
) -> Boundary:
    """Return the boundary that the values of left-out rows give.

    Parameters
    ----------
    values : ndarray of shape (draws, n)
        Of the rows that can be left out: similarities, or their logarithms.
    minority : ndarray of bool, shape (n,)
    policy : Cutoff
    fixed, rate : float
        The value that the policy chooses as one number for all draws, and its rate of false alarms.
    logarithmic : bool
        Whether the values are logarithms.
    unseen : float
        u.
    seed : int
    log_weight : ndarray of shape (draws, n), optional
        Log importance weights of the draws, for each row.
    """
    level, rng = policy.level, np.random.default_rng(seed)
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
        return deciding_quantile(m, level, None if log_weight is None else log_weight[:, rows])

    step = max(1, BLOCK_VALUES // draws)
    c = -policy.choose(-np.concatenate(threads.each(margins, values.shape[1], step)), minority)
    c -= AT_CUTOFF * max(abs(c), 1.0 if logarithmic else float(np.median(np.abs(q))))
    reference = q + c
    if logarithmic:
        return Boundary(_without_unseen(reference, log_half), reference, log_whole)
    threshold = reference.copy()
    positive = reference > 0.0
    log_threshold = _without_unseen(np.log(reference[positive]), log_half[positive])
    threshold[positive] = np.exp(log_threshold)
    return Boundary(threshold, reference, log_whole)


def with_unseen(values: np.ndarray, log_added: np.ndarray, logarithmic: bool) -> np.ndarray:
    """Return values with what is unseen beside their rows, of which ``log_added`` is the amount."""
    if logarithmic:
        with np.errstate(invalid="ignore"):  # minus infinity: no similarity, or nothing unseen
            return np.logaddexp(values, log_added + FALL * values)
    added: np.ndarray = values + np.exp(log_added) * np.maximum(values, 0.0) ** FALL
    return added


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
    first = int(NEAR[0] * rate * len(order))
    last = max(int(NEAR[1] * rate * len(order)), first + 3)
    return order[first:last]


def neighbour(k: np.ndarray) -> float:
    r"""Return :math:`\kappa`, the upper quartile of :math:`\sum_i k_{ij}^2 / \sum_i k_{ij}`.

    ``k`` (rows, M) has kernel values of left-out rows near the cutoff, 0 for the row itself.
    """
    largest = k.max(axis=1, keepdims=True)
    k = np.divide(k, largest, where=largest > 0.0, out=np.zeros_like(k))
    sums = k.sum(axis=1)
    with np.errstate(invalid="ignore"):
        ratio = largest[:, 0] * np.square(k).sum(axis=1) / sums
    found = ratio[sums > 0.0]
    return float(np.quantile(found, QUARTILE)) if len(found) else 0.0
