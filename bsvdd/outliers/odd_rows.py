r"""Which rows of a table are odd, by the posterior of its tail.

A few extreme rows inflate the fitted tail and mask others. So P(odd) is an average over
models, weighted by their posterior probabilities. Model :math:`M_r`, r = 0, 1, ..., 5,
calls the r largest rows wild and fits the tail to the other rows. A wild row lies
anywhere beyond them:

.. math:: p(M_r) \propto 2^{-r-1}, \qquad
    p(u \mid M_r) = \frac{U_r}{m u^2} \text{ of each wild row},

with :math:`U_r` the end of the tail of the other rows, and m the number of rows in the
whole tail. A far group of rows that are alike masks other rows too. So each gap of log
2 in the tail has a model :math:`G`: the r rows beyond the gap are odd and form a group.
There are 2 to .3 n such rows. The end U of the group lies anywhere beyond the other
rows, and the larger a is, the nearer to U its rows are:

.. math:: p(G) \propto \tfrac12, \qquad
    p(u \mid G) = \frac{B(r, m - r + 1)}{\log(.6\, n)}
    \int \frac{d \log a}{\log 16} \int_{\max u}^\infty \frac{U_G}{U^2}
    \prod_i \frac{a u_i^{a - 1}}{U^a}\, dU \text{ of its rows},

with :math:`U_G` the end of the tail of the other rows. The share of the group among all
rows is log-uniform, and the first factor is the integral over this share. The posterior
of each tail (:mod:`.tail`) is a sum over the midpoints of a grid. The grid covers the
part of the parameters that has mass.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np
from scipy.special import logsumexp

from .tail import POWER, SHAPE, Stratum, Tail

RATES = 0.1, 20.0  # ends of h, relative to 1/median u: beyond them there is no mass
# axes of a grid; each stratum has its own log share, the last axis but one
XI = "xi"
LOG_H = "log h"
LOG_SHARE = "log share"
LOG_A = "log a"
SHARE_AXIS = -2
# cells on them, in the last grid and in coarse ones
CELLS = {XI: 10, LOG_H: 20, LOG_SHARE: 20, LOG_A: 8}
COARSE_CELLS = {XI: 6, LOG_H: 12, LOG_SHARE: 12, LOG_A: 4}
# coarse grids at most; they end when each axis keeps this share of its length
COARSE_PASSES = 4
ENOUGH = 0.7
# mass, relative to the largest, below which a slice of the grid, or a cell, is left out
MASS_OF_SLICE = 1e-5
MASS_OF_CELL = 1e-4
# the largest r; larger ones are left out after a model that has lost by these log odds
MOST_WILD = 5
LOST = 5.0
# a tail of more rows is halved unless this share of it is odd
MOST_IN_TAIL = 400
MANY_ODD = 0.25
NUMBER_DRAWS = 4000  # of the number of odd rows
AT_LEAST = 0.01  # its quantile, for all sources
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
        So many rows are odd, with a probability of .99. Only rows with P(odd) of at
        least .5 are counted.
    none : float
        The probability that no row is odd; NaN if there is no tail.
    numbers : ndarray of shape (L, 3)
        The number of odd rows of each stratum: its median, and the ends of its 90 %
        interval; NaN if there is no tail.
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
            The tail of the rows that are not set aside; None without a tail.
        aside : ndarray of bool, shape (n,)
            Rows that are set aside: they are odd and not in the tail.
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
        found = cls._of_tail(tail, aside, level)
        while tail.m > MOST_IN_TAIL:
            within = found.probability[~aside][tail.within]
            upper = tail.upper_half
            if upper is None or (within >= RATHER).mean() >= MANY_ODD:
                break
            tail = upper
            found = cls._of_tail(tail, aside, level)
        return found

    @classmethod
    def _of_tail(cls, tail: Tail, aside: np.ndarray, level: np.ndarray) -> Self:
        """Return the odd rows of a table by this tail."""
        strata = int(level.max()) + 1
        models = _averaged(tail)
        of_values = {}
        inside = np.zeros(len(tail.u))
        for stratum in tail.strata:
            odd = sum(weight * model.padded(stratum) for weight, model in models)
            # P(odd) does not fall with the surprise
            of_values[stratum.level] = np.maximum.accumulate(odd)
            rows = (tail.u > 0.0) & (tail.level == stratum.level)
            inside[rows] = np.interp(tail.u[rows], stratum.x, of_values[stratum.level])
        inside[tail.far] = 1.0
        probability = np.ones(len(aside))
        probability[~aside] = inside
        beyond = aside.copy()
        beyond[~aside] = tail.far
        sure = np.bincount(level[beyond], minlength=strata)
        none = 0.0 if beyond.any() else models[0][0] * models[0][1].none
        # rows that hide among normal ones are not counted: their number depends on the
        # form of the tail; half of .01 for each of two sources of evidence
        rather = {at: odd >= RATHER for at, odd in of_values.items()}
        shown = _numbers(models, tail, rather, sure).sum(axis=1)
        at_least = np.quantile(shown, AT_LEAST / 2.0, method="inverted_cdf")
        every = {at: odd >= 0.0 for at, odd in of_values.items()}
        numbers = _numbers(models, tail, every, sure)
        numbers = np.quantile(numbers, NUMBERS, axis=0, method="inverted_cdf").T
        return cls(probability, int(at_least), float(none), numbers)

    def joined(self, other: Self) -> Self:
        """Return the rows that are odd by one source of evidence, or by another.

        The sources are independent, so no row is odd with the product of the
        probabilities. The numbers of odd rows are at least the larger ones.

        Parameters
        ----------
        other : OddRows
            Without a tail it adds no odd rows but those set aside.

        Returns
        -------
        OddRows
        """
        parts = np.array([self.probability, other.probability])
        odd = 1.0 - np.nanprod(1.0 - parts, axis=0)
        unknown = np.isnan(parts).all(axis=0)
        both = self.none, other.none
        return type(self)(
            np.where(unknown, np.nan, odd),
            max(self.at_least, other.at_least),
            math.nan if np.isnan(both).all() else float(np.nanprod(both)),
            np.fmax(self.numbers, other.numbers),
        )

    def listed(self, fdr: float = 0.1) -> np.ndarray:
        """Return which rows are listed as odd.

        Rows are taken in the order of P(odd), as long as a share ``fdr`` of them is
        expected to be normal. Each has P(odd) of at least .5. Rows of equal P(odd) are
        listed together.

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
        # of rows of equal P(odd)
        last = np.append(p[order[1:]] < p[order[:-1]], True)
        least = p[order[last & (normal <= fdr)]].min(initial=math.inf)
        return np.asarray(p >= max(least, RATHER))


# grids

Ends = tuple[float, float]
Box = dict[str, Ends]  # the ends of each axis
Points = dict[str, np.ndarray]  # the midpoints of the cells on each axis


@dataclass(frozen=True, eq=False)
class Grid:
    """The logarithm of a likelihood, or of a posterior mass, in the cells of a grid.

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
        """Return the log of the sum of each slice across an axis."""
        others = set(range(len(self.axes))) - {self.axes.index(axis)}
        return np.asarray(logsumexp(self.values, axis=tuple(others)))


class GridCells(NamedTuple):
    """Cells of the grids of strata, (cells,) each: stratum, and place on each axis."""

    stratum: np.ndarray
    xi: np.ndarray
    log_h: np.ndarray
    log_share: np.ndarray
    log_a: np.ndarray

    @classmethod
    def heavy(cls, log_mass: np.ndarray) -> tuple[Self, np.ndarray]:
        """Return the cells with mass in (L, xi, h, share, a), and the share of each."""
        mass = np.exp(log_mass - log_mass.max())
        cells = cls(*np.nonzero(mass > MASS_OF_CELL))
        return cells, mass[cells] / mass[cells].sum()


Likelihood = Callable[[Points], list[Grid]]


def _narrowed(log_likelihood: Likelihood, whole: Box) -> tuple[Points, list[Grid]]:
    """Return points, and grids of the log mass, in the part of a box that has mass."""
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
        found.append(replace(grid, values=(grid.values.T + of_xi).T))
    return points, found


def _kept(grids: list[Grid], axis: str, ends: Ends) -> Ends:
    """Return the ends of the slices across an axis that have mass, and one beside."""
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
        The probability that no row of the tail is odd.
    evidence : float
        The log density of the tail.
    odd : dict of int to ndarray of shape (v,)
        P(odd) of each value of each stratum.
    strata : list of Stratum
    points : dict of str to ndarray
        The points on each axis of the grids.
    chance : ndarray of shape (L, xi, h, share, a)
        The probability that a stratum has this share of odd rows, given xi, h and a.
    cells : GridCells
        The first stratum that has an odd row, and a cell of its grid.
    mass : ndarray of shape (cells,)
        The posterior probability of each of the cells, given that a row is odd.
    """

    none: float
    evidence: float
    odd: dict[int, np.ndarray]
    strata: list[Stratum]
    points: Points
    chance: np.ndarray
    cells: GridCells
    mass: np.ndarray

    @classmethod
    def of(cls, tail: Tail) -> Self:
        """Return the posterior by sums over grids."""
        strata = tail.strata
        box = _whole_box(tail)
        log_none, some = _log_priors(tail.none, len(strata))
        without = partial(_without_odd, strata)
        _, of_nobody = _narrowed(without, {axis: box[axis] for axis in (XI, LOG_H)})
        nobody = math.log(tail.none) + logsumexp(of_nobody[0].values)
        points, grids = _narrowed(partial(_with_odd, strata, log_none, some), box)
        log_mass = np.array([grid.values for grid in grids])
        chance = np.array([grid.chance for grid in grids])
        some_odd = chance.sum(axis=SHARE_AXIS, keepdims=True)
        with np.errstate(divide="ignore"):
            clean = np.log(np.maximum(1.0 - some_odd, 0.0))
        # the strata before the first one with an odd row have none
        first = log_mass + np.insert(clean[:-1].cumsum(axis=0), 0, 0.0, axis=0)
        total = some + logsumexp([logsumexp(each) for each in first])
        evidence = np.logaddexp(nobody, total)
        none = float(np.exp(nobody - evidence))
        odd = {}
        for stratum, own in zip(strata, log_mass, strict=True):
            # the probability that only other strata have odd rows
            others = np.exp(total - evidence)
            others -= np.exp(some + logsumexp(own) - evidence)
            cells, mass = GridCells.heavy(own[None])
            share = _share_of_odd(stratum, points, cells)
            odd[stratum.level] = (1.0 - none - max(others, 0.0)) * (mass @ share)
        heavy = GridCells.heavy(first)
        return cls(none, float(evidence), odd, strata, points, chance, *heavy)

    def padded(self, stratum: Stratum) -> np.ndarray:
        """Return P(odd) (v,) of all values of a stratum: 1 beyond this shorter tail."""
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

        Only rows with some of the values are counted: ``among`` says which values (v,)
        of each stratum of the whole tail.
        """
        drawn = rng.choice(len(self.mass), draws, p=self.mass)
        cells = GridCells(*(each[drawn] for each in self.cells))
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


def _log_priors(none: float, strata: int) -> tuple[float, float]:
    """Return the log prior probability that one stratum has no odd row, or has some."""
    return math.log(none) / strata, math.log1p(-(none ** (1.0 / strata)))


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


def _without_odd(strata: list[Stratum], points: Points) -> list[Grid]:
    """Return the log likelihood without odd rows in any stratum."""
    found = sum(each.without_odd(points[XI], points[LOG_H]) for each in strata)
    return [Grid((XI, LOG_H), np.asarray(found))]


def _with_odd(
    strata: list[Stratum], log_none: float, log_some: float, points: Points
) -> list[Grid]:
    """Return the log likelihood of all rows if a stratum has odd rows, for each one.

    Given xi, h and a the strata are independent. So the likelihood of the other strata
    is a product, of a factor for each: the sum over its shares, with odd rows or not.
    """
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


def _share_of_odd(stratum: Stratum, points: Points, cells: GridCells) -> np.ndarray:
    """Return P(odd) (cells, v) of the values of a stratum with odd rows, in cells."""
    log_share = points[_share_axis(stratum)]
    odd = np.exp(stratum.log_odd(log_share, points[LOG_A]))
    odd = odd[cells.log_share, cells.log_a]
    normal = np.exp(stratum.log_normal(points[XI], points[LOG_H]))
    rest = 1.0 - np.exp(log_share[cells.log_share]) * stratum.n / stratum.m
    both = normal[cells.xi, cells.log_h]
    both *= rest[:, None]
    both += odd
    return np.asarray(np.divide(odd, both, out=both))


# models

Models = list[tuple[float, TailPosterior]]


def _averaged(tail: Tail) -> Models:
    """Return the models M_r and G: the weight and the tail's posterior of each."""
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
    models: Models, tail: Tail, among: dict[int, np.ndarray], sure: np.ndarray
) -> np.ndarray:
    """Return draws (draws, L) of the number of odd rows of each stratum.

    They are rows with the values ``among``, and the ``sure`` ones (L,) beyond any tail.
    """
    rng = np.random.default_rng(0)
    found = [
        model.numbers(rng, round(weight * NUMBER_DRAWS), tail, among)
        for weight, model in models
    ]
    # of the last strata all rows may be set aside, so that the tail is without them
    absent = len(sure) - len(tail.count)
    return sure + np.pad(np.concatenate(found), ((0, 0), (0, absent)))
