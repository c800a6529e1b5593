r"""Which rows of a table are odd, by the posterior of its tail.

Wild rows stretch a tail and hide others. So all is averaged over models :math:`M_r`, r = 0, 1, ...,
5, in which the r largest rows of the tail are wild and not of it:

.. math:: p(M_r) = 2^{-r-1}, \qquad p(u \mid M_r) = \frac{U_r}{m u^2} \text{ of each wild row},

with :math:`U_r` the end of the tail of the others. The posterior of :mod:`.tail` is a sum over a
grid of midpoints, which is made finer where the posterior is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import logsumexp

from .tail import FEWEST, NONE, POWER, SHAPE, Tail

RATES = 0.1, 20.0  # of h, relative to 1/median u: beyond them the data leave nothing
CELLS = np.array([10, 20, 20, 8])  # xi, log h, log share, log a
COARSE = np.array([6, 12, 12, 4])
PASSES, ENOUGH = 4, 0.7  # coarse grids at most, and the share of a box that is narrow enough
MASS = 1e-5  # of a slice of the grid, relative to the largest, below which it is left out
MASS_OF_CELL = 1e-4  # the same of a cell
MOST_WILD, LOST = 5, 5.0  # r, and the log odds at which larger ones are left out
DRAWS = 4000  # of the number of odd rows
AT_LEAST = 0.01  # its quantile
RATHER = 0.5  # P(odd) of a row that is rather odd than normal


@dataclass(frozen=True, eq=False)
class OddRows:
    """Which rows of a table are odd, and how many.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        P(odd); NaN if there is no tail.
    at_least : int
        The 1 % quantile of the number of odd rows among those that are rather odd than normal.
    expected : float
        The expected number of odd rows; NaN if there is no tail.
    none : float
        The probability that no row is odd; NaN if there is no tail.
    """

    probability: np.ndarray
    at_least: int
    expected: float
    none: float

    @classmethod
    def of(cls, tail: Tail | None, aside: np.ndarray) -> Self:
        """Return the odd rows; rows ``aside`` (n,) are odd whatever the tail, and not in it."""
        if tail is None:
            return cls(np.where(aside, 1.0, np.nan), int(aside.sum()), math.nan, math.nan)
        models = averaged(tail)
        of_values = sum(weight * model.padded(len(tail.x)) for weight, model in models)
        # a row that is more surprising is not less odd, whatever the tails of both densities
        of_values = np.maximum.accumulate(of_values)
        probability = np.ones(len(aside))
        inside = np.where(tail.u > 0.0, np.interp(tail.u, tail.x, of_values), 0.0)
        probability[~aside] = np.where(tail.far, 1.0, inside)
        sure = int(tail.far.sum() + aside.sum())
        none = 0.0 if sure else models[0][0] * models[0][1].none
        found = sure + _at_least(models, of_values, tail.count)
        return cls(probability, found, float(probability.sum()), float(none))

    def listed(self, fdr: float = 0.1) -> np.ndarray:
        """Return the longest head of rows of which a share ``fdr`` is expected to be normal, (n,).

        Each of them is rather odd than normal. Rows that are equally odd are in together.
        """
        p = np.nan_to_num(self.probability)
        order = np.argsort(-p, kind="stable")
        normal = np.cumsum(1.0 - p[order]) / np.arange(1, len(p) + 1)
        last = np.append(p[order[1:]] < p[order[:-1]], True)  # of rows that are equally odd
        least = p[order[last & (normal <= fdr)]].min(initial=math.inf)
        return np.asarray(p >= max(least, RATHER))


@dataclass(frozen=True, eq=False)
class Posterior:
    """The posterior of a tail.

    Attributes
    ----------
    none : float
        The probability that no row of it is odd.
    share : ndarray of shape (cells, v)
        P(odd) of each value in each cell of the grid, if a row is odd.
    mass : ndarray of shape (cells,)
        The share of the posterior of each cell.
    evidence : float
        The log density of the tail.
    """

    none: float
    share: np.ndarray
    mass: np.ndarray
    evidence: float

    @classmethod
    def of(cls, tail: Tail) -> Self:
        """Return the posterior by sums over a grid."""
        middle = np.median(np.repeat(tail.x, tail.count.astype(int)))
        xi = SHAPE[0] - 4.0 * SHAPE[1], SHAPE[0] + 4.0 * SHAPE[1]
        box = np.array([xi, np.log(RATES) - np.log(middle), np.log(tail.shares), np.log(POWER)])
        nobody = math.log(NONE) + logsumexp(integral(tail.without_odd, box[:2])[1])
        points, log_mass = integral(tail.with_odd, box)
        evidence = np.logaddexp(nobody, math.log1p(-NONE) + logsumexp(log_mass))
        mass = np.exp(log_mass - log_mass.max())
        i, j, k, a = np.nonzero(mass > MASS_OF_CELL)
        odd, normal = tail.log_odd(*points[2:])[k, a], tail.log_normal(*points[:2])[i, j]
        rest = np.log1p(-np.exp(points[2][k]) * tail.n / tail.m)[:, None]
        share = np.exp(odd - np.logaddexp(odd, rest + normal))
        kept = mass[i, j, k, a]
        return cls(float(np.exp(nobody - evidence)), share, kept / kept.sum(), float(evidence))

    def padded(self, v: int) -> np.ndarray:
        """Return P(odd) (v,), 1 for the values beyond those of this tail."""
        p = (1.0 - self.none) * (self.mass @ self.share)
        return np.append(p, np.ones(v - len(p)))

    def numbers(
        self, rng: np.random.Generator, draws: int, rather: np.ndarray, count: np.ndarray
    ) -> np.ndarray:
        """Return draws of the number of odd rows among those that are ``rather`` odd (v,)."""
        chosen, v = rng.choice(len(self.mass), draws, p=self.mass), self.share.shape[1]
        some = rather[:v]
        number = rng.binomial(count[:v][some].astype(int), self.share[chosen][:, some]).sum(axis=1)
        number[rng.random(draws) < self.none] = 0
        return np.asarray(number + rather[v:].sum())


Models = list[tuple[float, Posterior]]


def averaged(tail: Tail) -> Models:
    """Return weight and posterior of each M_r, up to the first that has lost e^5 to the best."""
    models, log_weight = [], np.empty(0)
    for r in range(min(MOST_WILD, len(tail.x) - FEWEST) + 1):
        others = tail.without_largest(r)
        models.append(Posterior.of(others))
        wild = np.log(others.end / tail.m) - 2.0 * np.log(tail.x[len(tail.x) - r :])
        new = models[-1].evidence + wild.sum() - (r + 1) * math.log(2.0)
        log_weight = np.append(log_weight, new)
        if new < log_weight.max() - LOST:
            break
    weight = np.exp(log_weight - logsumexp(log_weight))
    return list(zip(weight.tolist(), models, strict=True))


def _at_least(models: Models, of_values: np.ndarray, count: np.ndarray) -> int:
    """Return the quantile of the number of odd rows among those that are rather odd.

    How many hide among the others hangs on the form of the tail.
    """
    rng, rather = np.random.default_rng(0), of_values >= RATHER
    drawn = [m.numbers(rng, round(weight * DRAWS), rather, count) for weight, m in models]
    return int(np.quantile(np.concatenate(drawn), AT_LEAST, method="inverted_cdf"))


def integral(
    log_likelihood: Callable[..., np.ndarray], box: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the points of each axis, and the log mass of the cells of a grid in a box (axes, 2).

    By coarse grids the box is narrowed to where the posterior has mass.
    """
    whole, cells = box, CELLS[: len(box)]
    for _ in range(PASSES):
        _, log_mass = _grid(log_likelihood, box, whole, COARSE[: len(box)])
        narrower = np.array([_kept(log_mass, axis, *box[axis]) for axis in range(len(box))])
        ratio = np.ptp(narrower, axis=1) / np.ptp(box, axis=1)
        box = narrower
        if (ratio > ENOUGH).all():
            break
    return _grid(log_likelihood, box, whole, cells)


def _grid(
    log_likelihood: Callable[..., np.ndarray], box: np.ndarray, whole: np.ndarray, cells: np.ndarray
) -> tuple[list[np.ndarray], np.ndarray]:
    """Return points and log mass of so many cells; log h has the same improper prior anywhere."""
    width = np.ptp(box, axis=1) / cells
    middles = [np.arange(c) + 0.5 for c in cells]
    points = [low + w * at for low, w, at in zip(box[:, 0], width, middles, strict=True)]
    z = (points[0] - SHAPE[0]) / SHAPE[1]
    log_prior = -(z**2) / 2.0 - math.log(SHAPE[1] * math.sqrt(2.0 * math.pi))
    log_prior += np.log(width).sum() - np.log(np.ptp(whole[2:], axis=1)).sum()
    return points, log_likelihood(*points) + log_prior.reshape(-1, *[1] * (len(box) - 1))


def _kept(log_mass: np.ndarray, axis: int, low: float, high: float) -> tuple[float, float]:
    """Return the ends of an axis between which the slices of a grid have mass."""
    cells, others = log_mass.shape[axis], tuple(set(range(log_mass.ndim)) - {axis})
    slices = logsumexp(log_mass, axis=others)
    first, last = np.flatnonzero(slices > slices.max() + math.log(MASS))[[0, -1]]
    width = (high - low) / cells
    return low + max(first - 1, 0) * width, low + min(last + 2, cells) * width
