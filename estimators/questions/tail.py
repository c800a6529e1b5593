r"""p-values beyond the sample: a generalised Pareto distribution above a high threshold.

A rank among n left-out rows gives no p-value below 1/(n + 1). Excesses :math:`y = x - u` of
surprises x over a high threshold u are nearly of a generalised Pareto distribution for most
distributions of x (Pickands 1975; for surprises, Hyndman and Frazier 2026), here with
:math:`u` the .9 quantile of the left-out surprises:

.. math:: P(y > v \mid \theta, \xi) = (1 + \theta v)^{-1/\xi}, \qquad \theta = \xi / \sigma .

This is a model, and its p-values are no conformal ones. Few excesses tell :math:`\xi` badly: with
the estimates of maximum likelihood in their place, p-values are too small (of 200 rows, .004 of new
rows have p <= .001, and .003 have p <= .0001). So the p-value is the posterior predictive one, with
a prior that is flat in :math:`\xi` and :math:`\log \sigma`. With k excesses and
:math:`S(\theta) = \sum_i \log(1 + \theta y_i)` it is one sum over a grid of :math:`\theta`,

.. math:: p(v) = \frac{k + 1}{n + 1} \sum_\theta \pi(\theta)
    \left(1 + \frac{\log(1 + \theta v)}{S(\theta)}\right)^{-(k - 1)}, \qquad
    \pi(\theta) \propto \left|\frac{\theta}{S(\theta)}\right|^{k - 1} e^{-S(\theta)},

as :math:`1/\xi` is Gamma(k - 1, S) given :math:`\theta`. At the threshold it is the conformal
p-value, and below the threshold the conformal one is used.

The check: the statistic of Anderson and Darling of the excesses at the mode, against those of
samples of the mode that are fitted in the same way.

**References**

Hyndman, R. J. and Frazier, D. T. (2026). Anomaly detection using surprisals. arXiv:2603.09318.

Pickands, J. (1975). Statistical inference using extreme order statistics. Annals of Statistics 3,
119-131. doi:10.1214/aos/1176343003
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import softmax

from ...inference import ties
from ...inference.warning import DiagnosticWarning, warn

QUANTILE = 0.9  # of the left-out surprises: the threshold
LEAST = 10  # excesses
SAMPLES = 199  # of the check
DOUBTFUL = 0.01  # p-value of the check that is warned of
GRID = np.linspace(-15.0, 15.0, 1000)  # of log(1 + theta max(y)); 0 is no node
FEW = GRID[::5]  # for the samples of the check


@dataclass(frozen=True, eq=False)
class Tail:
    """The distribution of surprises above a threshold.

    Attributes
    ----------
    threshold : float
        u.
    excesses : ndarray of shape (k,)
        Of the left-out surprises over u.
    n : int
        Number of left-out rows.
    seed : int
        Of the check.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.tail import Tail
    >>> surprises = np.random.default_rng(0).exponential(size=200)
    >>> tail = Tail.of(surprises)
    >>> bool(1e-6 < tail.p_values(np.array([12.0]))[0] < 1 / 201), tail.check > 0.01
    (True, True)
    """

    threshold: float
    excesses: np.ndarray
    n: int
    seed: int = 0

    @classmethod
    def of(cls, surprises: np.ndarray, seed: int = 0, unit: float = 1.0) -> Tail:
        """Return the tail of left-out surprises; ``unit`` is theirs (:mod:`bsvdd.inference.ties`).

        Raises
        ------
        ValueError
            Fewer than 10 surprises lie above the threshold, or one is not finite.

        Warns
        -----
        DiagnosticWarning
            The distribution does not fit.
        """
        threshold = float(np.quantile(surprises, QUANTILE))
        above = surprises > threshold + ties.tolerance(threshold, unit)
        excesses = surprises[above] - threshold
        if len(excesses) < LEAST or not np.isfinite(excesses).all():
            raise ValueError(
                f"tail='pareto' needs at least {LEAST} finite left-out surprises above their "
                f"{QUANTILE} quantile, which some {10 * LEAST} training rows without copies have; "
                f"got {np.isfinite(excesses).sum()} of {len(surprises)}; use tail='rank'"
            )
        tail = cls(threshold, excesses, len(surprises), seed)
        if tail.check <= DOUBTFUL:
            warn(
                "tail='pareto': the largest left-out surprises are not of a generalised Pareto "
                f"distribution (Anderson-Darling, p = {tail.check:.2g}), so p-values below "
                f"{1 / (tail.n + 1):.2g} can be far off; use tail='rank'",
                DiagnosticWarning,
            )
        return tail

    def p_values(self, surprises: np.ndarray) -> np.ndarray:
        """Return the p-values of surprises above the threshold, shape (rows,)."""
        theta, S, log_weight = _posterior(self.excesses, GRID)
        weight = softmax(log_weight)
        kept = weight > 1e-12 * weight.max()
        theta, S, weight = theta[kept], S[kept], weight[kept]
        inside = np.maximum(np.multiply.outer(surprises - self.threshold, theta), -1.0)
        with np.errstate(divide="ignore"):  # beyond the end of a short tail
            log_ratio = np.log1p(np.log1p(inside) / S)
        k = len(self.excesses)
        share: np.ndarray = np.exp(-(k - 1.0) * log_ratio) @ weight
        return (k + 1.0) / (self.n + 1.0) * share

    @cached_property
    def check(self) -> float:
        """The p-value of "the excesses are of a generalised Pareto distribution"."""
        xi, theta = _mode(self.excesses)
        samples = np.random.default_rng(self.seed).exponential(size=(SAMPLES, len(self.excesses)))
        misfit = _misfit(self.excesses)
        worse = sum(_misfit(y) >= misfit for y in np.expm1(xi * samples) / theta)
        return (1 + worse) / (SAMPLES + 1)


def _posterior(y: np.ndarray, grid: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return theta, S and the log posterior of theta at the nodes of a grid."""
    theta = np.expm1(grid) / y.max()
    S = np.log1p(np.multiply.outer(theta, y)).sum(axis=1)
    return theta, S, (len(y) - 1) * np.log(theta / S) - S + grid


def _mode(y: np.ndarray) -> tuple[float, float]:
    """Return xi and theta at the mode."""
    theta, S, log_weight = _posterior(y, FEW)
    best = log_weight.argmax()
    return float(S[best]) / len(y), float(theta[best])


def _misfit(y: np.ndarray) -> float:
    """Return the statistic of Anderson and Darling at the mode."""
    xi, theta = _mode(y)
    k, z = len(y), np.log1p(theta * np.sort(y)) / xi  # of a standard exponential distribution
    terms = np.log(-np.expm1(-z)) - z[::-1]
    return float(-k - (2 * np.arange(k) + 1) @ terms / k)
