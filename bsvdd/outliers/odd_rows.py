r"""Which rows of a table are odd, by the posterior of its tail.

A few extreme rows inflate the fitted tail and mask others. So the answer is an average
over models :math:`M_r`, r = 0, 1, ..., 5. :math:`M_r` fits the tail without the r
largest rows, which are wild:

.. math:: p(M_r) \propto 2^{-r-1}, \qquad
    p(u \mid M_r) = \frac{U_r}{m u^2} \text{ of each wild row},

with :math:`U_r` the end of the tail of the others. A group of alike rows far away masks
others too. So there is a model :math:`G` for each gap of log 2 in the tail. In it the r
rows beyond the gap, 2 to .3 n, are a group of odd rows of their own. It lies anywhere
beyond the others, and a says how near each other its rows are:

.. math:: p(G) \propto \tfrac12, \qquad
    p(u \mid G) = \frac{B(r, m - r + 1)}{\log(.6\, n)}
    \int \frac{d \log a}{\log 16} \int_{\max u}^\infty \frac{U_G}{U^2}
    \prod_i \frac{a u_i^{a - 1}}{U^a}\, dU \text{ of these},

with :math:`U_G` as :math:`U_r`. The group has a share of all rows that is log-uniform,
and the first factor is the integral over this share. The posterior of :mod:`.tail` is a
sum over a grid of midpoints, which is made finer where the posterior is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.special import logsumexp

from .tail import NO_ODD_ROW, POWER, SHAPE, Stratum, Tail

RATES = 0.1, 20.0  # of h, relative to 1/median u: beyond them the data leave nothing
# axes of a grid; each stratum has its own log share, the third axis of its grid
XI = "xi"
LOG_H = "log h"
LOG_SHARE = "log share"
LOG_A = "log a"
SHARE_AXIS = 2
# cells on them, in the last grid and in coarse ones
CELLS = {XI: 10, LOG_H: 20, LOG_SHARE: 20, LOG_A: 8}
COARSE_CELLS = {XI: 6, LOG_H: 12, LOG_SHARE: 12, LOG_A: 4}
# coarse grids at most, and the share of a box that is narrow enough
COARSE_PASSES = 4
ENOUGH = 0.7
# mass, relative to the largest, below which a slice of the grid, or a cell, is left out
MASS_OF_SLICE = 1e-5
MASS_OF_CELL = 1e-4
# r, and the log odds at which larger ones are left out
MOST_WILD = 5
LOST = 5.0
NUMBER_DRAWS = 4000  # of the number of odd rows
AT_LEAST = 0.01  # its quantile
NUMBERS = 0.5, 0.05, 0.95  # quantiles of the number of odd rows of a stratum
RATHER = 0.5  # P(odd) of a row that is rather odd than normal


@dataclass(frozen=True, eq=False)
class OddRows:
    """Which rows of a table are odd, and how many.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        P(odd); NaN if there is no tail.
    at_least : int
        The 1 % quantile of the number of odd rows among those that are rather odd than
        normal.
    none : float
        The probability that no row is odd; NaN if there is no tail.
    numbers : ndarray of shape (L, 3)
        The number of odd rows of each stratum: its median, and the ends of the interval
        of .9; NaN if there is no tail.
    """

    probability: np.ndarray
    at_least: int
    none: float
    numbers: np.ndarray

    @classmethod
    def of(
        cls, tail: Tail | None, aside: np.ndarray, level: np.ndarray | None = None
    ) -> Self:
        """Return the odd rows of a table by its tail.

        Parameters
        ----------
        tail : Tail, optional
            The tail of the rows that are not set aside. None if there is none.
        aside : ndarray of bool, shape (n,)
            Rows that are odd whatever the tail, and not in it.
        level : ndarray of int, shape (n,), optional
            The stratum of each row, from 0. By default all rows are one stratum.

        Returns
        -------
        OddRows
        """
        level = np.zeros(len(aside), dtype=int) if level is None else level
        strata = int(level.max()) + 1
        if tail is None:
            unknown = np.full((strata, len(NUMBERS)), np.nan)
            probability = np.where(aside, 1.0, np.nan)
            return cls(probability, int(aside.sum()), math.nan, unknown)
        models = _averaged(tail)
        of_values = {}
        inside = np.zeros(len(tail.u))
        for stratum in tail.strata:
            odd = sum(weight * model.padded(stratum) for weight, model in models)
            # a row that is more surprising is not less odd, whatever the tails of both
            # densities
            of_values[stratum.level] = np.maximum.accumulate(odd)
            rows = (tail.u > 0.0) & (tail.level == stratum.level)
            inside[rows] = np.interp(tail.u[rows], stratum.x, of_values[stratum.level])
        beyond = aside.copy()
        beyond[~aside] = tail.far
        probability = np.ones(len(aside))
        probability[~aside] = np.where(tail.far, 1.0, inside)
        sure = np.bincount(level[beyond], minlength=strata)
        none = 0.0 if beyond.any() else models[0][0] * models[0][1].none
        # how many rows hide among the others depends on the form of the tail
        rather = {at: odd >= RATHER for at, odd in of_values.items()}
        hidden = _numbers(models, tail, rather, strata).sum(axis=1)
        at_least = np.quantile(hidden, AT_LEAST, method="inverted_cdf")
        every = {at: odd >= 0.0 for at, odd in of_values.items()}
        numbers = sure + _numbers(models, tail, every, strata)
        numbers = np.quantile(numbers, NUMBERS, axis=0, method="inverted_cdf").T
        return cls(probability, int(sure.sum()) + int(at_least), float(none), numbers)

    def listed(self, fdr: float = 0.1) -> np.ndarray:
        """Return which rows are called odd: the longest head with so few normal ones.

        Each of them is rather odd than normal. Rows that are equally odd are listed
        together.

        Parameters
        ----------
        fdr : float, default=0.1
            The share of the listed rows that is expected to be normal, at most.

        Returns
        -------
        ndarray of bool, shape (n,)
        """
        p = np.nan_to_num(self.probability)
        order = np.argsort(-p, kind="stable")
        normal = np.cumsum(1.0 - p[order]) / np.arange(1, len(p) + 1)
        # of rows that are equally odd
        last = np.append(p[order[1:]] < p[order[:-1]], True)
        least = p[order[last & (normal <= fdr)]].min(initial=math.inf)
        return np.asarray(p >= max(least, RATHER))


# grids

Ends = tuple[float, float]
Box = dict[str, Ends]  # the ends of each axis
Points = dict[str, np.ndarray]  # the middles of the cells on each axis


@dataclass(frozen=True, eq=False)
class Grid:
    """The logarithm of a likelihood, or of a mass, in the cells of a grid.

    Attributes
    ----------
    axes : tuple of str
        The names of the axes of ``values``.
    values : ndarray
    chance : ndarray of shape (xi, h, share, a), optional
        The probability that the stratum has this share of odd rows, given xi, h and a.
    """

    axes: tuple[str, ...]
    values: np.ndarray
    chance: np.ndarray | None = None

    def sums(self, axis: str) -> np.ndarray:
        """Return the sums over all other axes, as logarithms."""
        others = set(range(len(self.axes))) - {self.axes.index(axis)}
        return np.asarray(logsumexp(self.values, axis=tuple(others)))


class Cells(NamedTuple):
    """Cells of grids, (cells,) each: a stratum, and positions on its axes."""

    stratum: np.ndarray
    xi: np.ndarray
    log_h: np.ndarray
    log_share: np.ndarray
    log_a: np.ndarray

    @classmethod
    def heavy(cls, log_mass: list[np.ndarray]) -> tuple[Self, np.ndarray]:
        """Return the cells of the strata that have mass, and their shares of it."""
        largest = max(each.max() for each in log_mass)
        mass = [np.exp(each - largest) for each in log_mass]
        places = [np.nonzero(each > MASS_OF_CELL) for each in mass]
        stratum = np.repeat(range(len(places)), [len(place[0]) for place in places])
        kept = np.concatenate([each[at] for each, at in zip(mass, places, strict=True)])
        return cls(stratum, *np.hstack(places)), kept / kept.sum()


Likelihood = Callable[[Points], list[Grid]]


def _narrowed(log_likelihood: Likelihood, whole: Box) -> tuple[Points, list[Grid]]:
    """Return points, and grids of the log mass, where a whole box has mass."""
    box = whole
    for _ in range(COARSE_PASSES):
        before = box
        _, grids = _integrated(log_likelihood, before, whole, COARSE_CELLS)
        box = {axis: _kept(grids, axis, ends) for axis, ends in before.items()}
        if all(np.ptp(box[axis]) / np.ptp(before[axis]) > ENOUGH for axis in box):
            break
    return _integrated(log_likelihood, box, whole, CELLS)


def _integrated(
    log_likelihood: Likelihood, box: Box, whole: Box, cells: dict[str, int]
) -> tuple[Points, list[Grid]]:
    """Return points, and grids of the log mass, in a box; log h has a flat prior."""
    points = {}
    width = {}
    for axis, (low, high) in box.items():
        number = cells.get(axis, cells[LOG_SHARE])
        width[axis] = (high - low) / number
        points[axis] = low + width[axis] * (np.arange(number) + 0.5)
    z = (points[XI] - SHAPE[0]) / SHAPE[1]
    log_prior = -(z**2) / 2.0 - math.log(SHAPE[1] * math.sqrt(2.0 * math.pi))
    found = []
    for grid in log_likelihood(points):
        uniform = [np.ptp(whole[axis]) for axis in grid.axes if axis not in (XI, LOG_H)]
        log_cell = np.log([width[axis] for axis in grid.axes]).sum()
        of_xi = log_prior + (log_cell - np.log(uniform).sum())
        of_xi = of_xi.reshape(-1, *[1] * (len(grid.axes) - 1))
        found.append(replace(grid, values=grid.values + of_xi))
    return points, found


def _kept(grids: list[Grid], axis: str, ends: Ends) -> Ends:
    """Return the ends of an axis between which the slices of the grids have mass."""
    mass = logsumexp([grid.sums(axis) for grid in grids if axis in grid.axes], axis=0)
    low, high = ends
    first, last = np.flatnonzero(mass > mass.max() + math.log(MASS_OF_SLICE))[[0, -1]]
    width = (high - low) / len(mass)
    return low + max(first - 1, 0) * width, low + min(last + 2, len(mass)) * width


# the posterior


@dataclass(frozen=True, eq=False)
class TailPosterior:
    """The posterior of a tail.

    Attributes
    ----------
    none : float
        The probability that no row of it is odd.
    evidence : float
        The log density of the tail.
    odd : dict of int to ndarray of shape (v,)
        P(odd) of each value of each stratum.
    strata : list of Stratum
    points : dict of str to ndarray
        The points on each axis of the grids.
    chance : list of ndarray of shape (xi, h, share, a)
        The probability that a stratum has this share of odd rows, given xi, h and a.
    cells : Cells
        The first stratum with odd rows, and its cell.
    mass : ndarray of shape (cells,)
        The share of the posterior of each cell, if a row is odd.
    """

    none: float
    evidence: float
    odd: dict[int, np.ndarray]
    strata: list[Stratum]
    points: Points
    chance: list[np.ndarray]
    cells: Cells
    mass: np.ndarray

    @classmethod
    def of(cls, tail: Tail) -> Self:
        """Return the posterior by sums over grids."""
        strata = tail.strata
        box = _whole_box(tail)
        some = _log_priors(len(strata))[1]
        without = partial(_without_odd, tail)
        _, of_nobody = _narrowed(without, {axis: box[axis] for axis in (XI, LOG_H)})
        nobody = math.log(NO_ODD_ROW) + logsumexp(of_nobody[0].values)
        points, grids = _narrowed(partial(_with_odd, strata), box)
        log_mass = [grid.values for grid in grids]
        chance = [grid.chance for grid in grids if grid.chance is not None]
        with np.errstate(divide="ignore"):
            clean = [
                np.log(np.maximum(1.0 - c.sum(axis=SHARE_AXIS, keepdims=True), 0.0))
                for c in chance
            ]
        first = [own + sum(clean[:place]) for place, own in enumerate(log_mass)]
        total = some + logsumexp([logsumexp(each) for each in first])
        evidence = np.logaddexp(nobody, total)
        none = float(np.exp(nobody - evidence))
        odd = {}
        for stratum, own in zip(strata, log_mass, strict=True):
            # the probability that only other strata have odd rows
            others = np.exp(total - evidence)
            others -= np.exp(some + logsumexp(own) - evidence)
            cells, mass = Cells.heavy([own])
            share = _share_of_odd(stratum, points, cells)
            odd[stratum.level] = (1.0 - none - max(others, 0.0)) * (mass @ share)
        heavy = Cells.heavy(first)
        return cls(none, float(evidence), odd, strata, points, chance, *heavy)

    def padded(self, stratum: Stratum) -> np.ndarray:
        """Return P(odd) (v,) of a stratum, 1 for its values beyond this tail."""
        p = self.odd.get(stratum.level, np.empty(0))
        return np.append(p, np.ones(len(stratum.x) - len(p)))

    def numbers(
        self,
        rng: np.random.Generator,
        draws: int,
        tail: Tail,
        among: dict[int, np.ndarray],
    ) -> np.ndarray:
        """Return draws (draws, L) of the number of odd rows of each stratum.

        They count ``among`` some values (v,) of each stratum of the whole tail.
        """
        drawn = rng.choice(len(self.mass), draws, p=self.mass)
        cells = Cells(*(each[drawn] for each in self.cells))
        uniform = rng.random((draws, len(self.strata) - 1))
        uniform = np.column_stack([np.ones(draws), uniform])
        number = np.zeros((draws, len(tail.count)), dtype=int)
        for place, stratum in enumerate(self.strata):
            chance = self.chance[place].cumsum(axis=SHARE_AXIS)
            chance = chance[cells.xi, cells.log_h, :, cells.log_a]
            last = chance.shape[1] - 1
            own = (chance < uniform[:, [place]]).sum(axis=1)
            own = np.where(cells.stratum == place, cells.log_share, own)
            of_own = cells._replace(log_share=np.minimum(own, last))
            share = _share_of_odd(stratum, self.points, of_own)
            some = among[stratum.level][: len(stratum.x)]
            count = stratum.count[some].astype(int)
            has = (cells.stratum <= place) & (own <= last)
            odd = rng.binomial(count, share[:, some]).sum(axis=1)
            number[:, stratum.level] = odd * has
        number[rng.random(draws) < self.none] = 0
        for stratum in tail.strata:
            beyond = slice(len(self.odd.get(stratum.level, ())), None)
            sure = stratum.count[beyond] @ among[stratum.level][beyond]
            number[:, stratum.level] += int(sure)
        return number


def _log_priors(strata: int) -> tuple[float, float]:
    """Return the log prior probabilities of no, and of some, odd row in one stratum."""
    return math.log(NO_ODD_ROW) / strata, math.log1p(-(NO_ODD_ROW ** (1.0 / strata)))


def _share_axis(stratum: Stratum) -> str:
    return f"{LOG_SHARE} {stratum.level}"


def _whole_box(tail: Tail) -> Box:
    """Return the ends of each axis of the grids of a tail."""
    middle = np.median(np.repeat(tail.x, tail.count.sum(axis=0).astype(int)))
    return {
        XI: (SHAPE[0] - 4.0 * SHAPE[1], SHAPE[0] + 4.0 * SHAPE[1]),
        LOG_H: np.log(RATES) - np.log(middle),
        **{_share_axis(each): np.log(each.shares) for each in tail.strata},
        LOG_A: np.log(POWER),
    }


def _without_odd(tail: Tail, points: Points) -> list[Grid]:
    """Return the log likelihood without odd rows."""
    return [Grid((XI, LOG_H), tail.without_odd(points[XI], points[LOG_H]))]


def _with_odd(strata: list[Stratum], points: Points) -> list[Grid]:
    """Return the log likelihood with odd rows in each stratum, and its chances.

    Given xi, h and a the strata are independent. So the likelihood of the other strata
    is a product of sums over their shares.
    """
    log_none, log_some = _log_priors(len(strata))
    xi = points[XI]
    log_h = points[LOG_H]
    some = []
    either = []
    chance = []
    for stratum in strata:
        log_share = points[_share_axis(stratum)]
        found = stratum.with_odd(xi, log_h, log_share, points[LOG_A])
        width = (log_share[1] - log_share[0]) / np.ptp(np.log(stratum.shares))
        mass = log_some + math.log(width) + found
        none = log_none + stratum.without_odd(xi, log_h)[:, :, None, None]
        total = np.logaddexp(none, logsumexp(mass, axis=SHARE_AXIS, keepdims=True))
        chance.append(np.exp(mass - np.where(np.isneginf(total), 0.0, total)))
        some.append(found)
        either.append(total)
    grids = []
    for place, stratum in enumerate(strata):
        others = sum(either[:place] + either[place + 1 :])
        axes = XI, LOG_H, _share_axis(stratum), LOG_A
        grids.append(Grid(axes, some[place] + others, chance[place]))
    return grids


def _share_of_odd(stratum: Stratum, points: Points, cells: Cells) -> np.ndarray:
    """Return P(odd) (cells, v) of the values of a stratum with odd rows, in cells."""
    log_share = points[_share_axis(stratum)]
    odd = stratum.log_odd(log_share, points[LOG_A])[cells.log_share, cells.log_a]
    normal = stratum.log_normal(points[XI], points[LOG_H])[cells.xi, cells.log_h]
    rest = np.log1p(-np.exp(log_share[cells.log_share]) * stratum.n / stratum.m)
    return np.asarray(np.exp(odd - np.logaddexp(odd, rest[:, None] + normal)))


# models

Models = list[tuple[float, TailPosterior]]


def _averaged(tail: Tail) -> Models:
    """Return weight and posterior of each M_r, until one has lost, and each G."""
    models: list[TailPosterior] = []
    log_weight: list[float] = []
    for r in range(min(MOST_WILD, len(tail.x) - tail.least) + 1):
        others = tail.until(len(tail.x) - r)
        models.append(TailPosterior.of(others))
        wild = np.log(others.end / tail.m) - 2.0 * np.log(tail.x[len(tail.x) - r :])
        log_weight.append(models[-1].evidence + wild.sum() - (r + 1) * math.log(2.0))
        if log_weight[-1] < max(log_weight) - LOST:
            break
    for v in tail.gaps:
        models.append(TailPosterior.of(tail.until(v)))
        log_weight.append(models[-1].evidence + tail.log_group(v) - math.log(2.0))
    weight = np.exp(log_weight - logsumexp(log_weight))
    return list(zip(weight.tolist(), models, strict=True))


def _numbers(
    models: Models, tail: Tail, among: dict[int, np.ndarray], strata: int
) -> np.ndarray:
    """Return draws (draws, L) of the number of odd rows among values of each stratum.

    Of the last strata all rows may be set aside, so that the tail is without them.
    """
    rng = np.random.default_rng(0)
    found = [
        model.numbers(rng, round(weight * NUMBER_DRAWS), tail, among)
        for weight, model in models
    ]
    return np.pad(np.concatenate(found), ((0, 0), (0, strata - len(tail.count))))
