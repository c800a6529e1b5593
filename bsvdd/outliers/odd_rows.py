r"""Which rows of a table are odd, by the posterior of its tail.

Wild rows stretch a tail and hide others. So all is averaged over models :math:`M_r`, r
= 0, 1, ..., 5, in which the r largest rows of the tail are wild and not of it:

.. math:: p(M_r) \propto 2^{-r-1}, \qquad
    p(u \mid M_r) = \frac{U_r}{m u^2} \text{ of each wild row},

with :math:`U_r` the end of the tail of the others. Alike rows far away hide others too.
So for each gap of log 2 in the tail there is a model :math:`G`, in which the r rows
beyond it, 2 to .3 n, are a group of odd rows of their own, anywhere beyond the others,
and as near each other as a says:

.. math:: p(G) \propto \tfrac12, \qquad p(u \mid G) = \frac{B(r, m - r + 1)}{\log(.6\, n)}
    \int \frac{d \log a}{\log 16} \int_{\max u}^\infty \frac{U_G}{U^2}
    \prod_i \frac{a u_i^{a - 1}}{U^a}\, dU \text{ of these},

with :math:`U_G` as :math:`U_r`, and a share of all rows that is log-uniform, over which
the first factor is the integral. The posterior of :mod:`.tail` is a sum over a grid of
midpoints, which is made finer where the posterior is narrow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from scipy.special import logsumexp

from .tail import NONE, POWER, SHAPE, Stratum, Tail

RATES = 0.1, 20.0  # of h, relative to 1/median u: beyond them the data leave nothing
CELLS = np.array([10, 20, 20, 8])  # xi, log h, log share, log a
COARSE = np.array([6, 12, 12, 4])
# coarse grids at most, and the share of a box that is narrow enough
PASSES = 4
ENOUGH = 0.7
MASS = (
    1e-5  # of a slice of the grid, relative to the largest, below which it is left out
)
MASS_OF_CELL = 1e-4  # the same of a cell
# r, and the log odds at which larger ones are left out
MOST_WILD = 5
LOST = 5.0
DRAWS = 4000  # of the number of odd rows
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
        Of the number of odd rows of each stratum the median, and the ends of the
        interval of .9; NaN if there is no tail.
    """

    probability: np.ndarray
    at_least: int
    none: float
    numbers: np.ndarray

    @classmethod
    def of(
        cls, tail: Tail | None, aside: np.ndarray, level: np.ndarray | None = None
    ) -> Self:
        """Return the odd rows; rows ``aside`` (n,) are odd whatever the tail, and not in it.

        All rows are one stratum without ``level`` (n,), from 0.
        """
        level = np.zeros(len(aside), dtype=int) if level is None else level
        strata = int(level.max()) + 1
        if tail is None:
            unknown = np.full((strata, len(NUMBERS)), np.nan)
            return cls(
                np.where(aside, 1.0, np.nan), int(aside.sum()), math.nan, unknown
            )
        models = averaged(tail)
        of_values = {}
        inside = np.zeros(len(tail.u))
        for stratum in tail.strata:
            odd = sum(weight * model.padded(stratum) for weight, model in models)
            # a row that is more surprising is not less odd, whatever the tails of both
            # densities
            of_values[stratum.level] = np.maximum.accumulate(odd)
            rows = (tail.u > 0.0) & (tail.level == stratum.level)
            inside[rows] = np.interp(tail.u[rows], stratum.x, of_values[stratum.level])
        probability = np.ones(len(aside))
        probability[~aside] = np.where(tail.far, 1.0, inside)
        beyond = aside.copy()
        beyond[~aside] = tail.far
        sure = np.bincount(level[beyond], minlength=strata)
        none = 0.0 if beyond.any() else models[0][0] * models[0][1].none
        # how many hide among the others hangs on the form of the tail
        rather = _drawn(
            models, tail, {at: odd >= RATHER for at, odd in of_values.items()}
        )
        at_least = np.quantile(rather.sum(axis=1), AT_LEAST, method="inverted_cdf")
        every = _drawn(models, tail, {at: odd >= 0.0 for at, odd in of_values.items()})
        every = np.pad(
            every, ((0, 0), (0, strata - every.shape[1]))
        )  # the last may all be aside
        numbers = np.quantile(every + sure, NUMBERS, axis=0, method="inverted_cdf").T
        found = int(sure.sum()) + int(at_least)
        return cls(probability, found, float(none), numbers)

    def listed(self, fdr: float = 0.1) -> np.ndarray:
        """Return the longest head of rows of which a share ``fdr`` is expected to be normal, (n,).

        Each of them is rather odd than normal. Rows that are equally odd are in
        together.
        """
        p = np.nan_to_num(self.probability)
        order = np.argsort(-p, kind="stable")
        normal = np.cumsum(1.0 - p[order]) / np.arange(1, len(p) + 1)
        last = np.append(
            p[order[1:]] < p[order[:-1]], True
        )  # of rows that are equally odd
        least = p[order[last & (normal <= fdr)]].min(initial=math.inf)
        return np.asarray(p >= max(least, RATHER))


@dataclass(frozen=True, eq=False)
class Posterior:
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
    points : list of ndarray
        The axes of the grid: xi, log h, log share of each stratum, log a.
    chance : list of ndarray of shape (xi, h, share, a)
        The probability that a stratum has this share of odd rows, given xi, h and a.
    cells : ndarray of int, shape (5, cells)
        The first stratum with odd rows, and its places on the axes xi, h, share, a.
    mass : ndarray of shape (cells,)
        The share of the posterior of each cell, if a row is odd.
    """

    none: float
    evidence: float
    odd: dict[int, np.ndarray]
    strata: list[Stratum]
    points: list[np.ndarray]
    chance: list[np.ndarray]
    cells: np.ndarray
    mass: np.ndarray

    @classmethod
    def of(cls, tail: Tail) -> Self:
        """Return the posterior by sums over a grid."""
        strata = tail.strata
        count = tail.count.sum(axis=0).astype(int)
        some = log_priors(len(strata))[1]
        middle = np.median(np.repeat(tail.x, count))
        xi = SHAPE[0] - 4.0 * SHAPE[1], SHAPE[0] + 4.0 * SHAPE[1]
        shares = [np.log(stratum.shares) for stratum in strata]
        box = np.array([xi, np.log(RATES) - np.log(middle), *shares, np.log(POWER)])
        of_nobody = integral(lambda *at: ([tail.without_odd(*at)], []), box[:2])[1]
        nobody = math.log(NONE) + logsumexp(of_nobody)
        points, log_mass, chance = integral(partial(with_odd, strata), box)
        with np.errstate(divide="ignore"):
            clean = [
                np.log(np.maximum(1.0 - c.sum(axis=2, keepdims=True), 0.0))
                for c in chance
            ]
        first = [
            of_cells + sum(clean[:place]) for place, of_cells in enumerate(log_mass)
        ]
        total = some + logsumexp([logsumexp(each) for each in first])
        evidence = np.logaddexp(nobody, total)
        none = float(np.exp(nobody - evidence))
        odd = {}
        for place, (stratum, of_cells) in enumerate(zip(strata, log_mass, strict=True)):
            others = np.exp(total - evidence) - np.exp(
                some + logsumexp(of_cells) - evidence
            )
            cells, mass = _heavy([of_cells])
            share = share_of_odd(stratum, points, place, tuple(cells[1:]))
            odd[stratum.level] = (1.0 - none - max(others, 0.0)) * (mass @ share)
        return cls(none, float(evidence), odd, strata, points, chance, *_heavy(first))

    def padded(self, stratum: Stratum) -> np.ndarray:
        """Return P(odd) (v,) of a stratum, 1 for its values beyond those of this tail."""
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
        first, i, j, k, a = self.cells[
            :, rng.choice(len(self.mass), draws, p=self.mass)
        ]
        uniform = np.column_stack(
            [np.ones(draws), rng.random((draws, len(self.strata) - 1))]
        )
        number = np.zeros((draws, len(tail.count)), dtype=int)
        for place, stratum in enumerate(self.strata):
            chance = self.chance[place].cumsum(axis=2)[i, j, :, a]
            last = chance.shape[1] - 1
            own = np.where(
                first == place, k, (chance < uniform[:, [place]]).sum(axis=1)
            )
            share = share_of_odd(
                stratum, self.points, place, (i, j, np.minimum(own, last), a)
            )
            some = among[stratum.level][: len(stratum.x)]
            count = stratum.count[some].astype(int)
            has = (first <= place) & (own <= last)
            number[:, stratum.level] = (
                rng.binomial(count, share[:, some]).sum(axis=1) * has
            )
        number[rng.random(draws) < self.none] = 0
        for stratum in tail.strata:
            beyond = slice(len(self.odd.get(stratum.level, ())), None)
            sure = stratum.count[beyond] @ among[stratum.level][beyond]
            number[:, stratum.level] += int(sure)
        return number


def log_priors(strata: int) -> tuple[float, float]:
    """Return the log prior probabilities that one of so many strata has no, or an, odd row."""
    return math.log(NONE) / strata, math.log1p(-(NONE ** (1.0 / strata)))


def with_odd(
    strata: list[Stratum], xi: np.ndarray, log_h: np.ndarray, *others: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return of each stratum the log likelihood with odd rows in it, and ``Posterior.chance``.

    Given xi, h and a the strata are independent, so that of the others is a product of
    sums over their shares. ``others`` are the points of the log share of each stratum,
    and of log a.
    """
    log_none, log_some = log_priors(len(strata))
    some = []
    either = []
    chance = []
    for stratum, log_share in zip(strata, others[:-1], strict=True):
        found = stratum.with_odd(xi, log_h, log_share, others[-1])
        width = (log_share[1] - log_share[0]) / np.ptp(np.log(stratum.shares))
        mass = log_some + math.log(width) + found
        none = log_none + stratum.without_odd(xi, log_h)[:, :, None, None]
        total = np.logaddexp(none, logsumexp(mass, axis=2, keepdims=True))
        chance.append(np.exp(mass - np.where(np.isneginf(total), 0.0, total)))
        some.append(found)
        either.append(total)
    others_too = [own + sum(either[:k] + either[k + 1 :]) for k, own in enumerate(some)]
    return others_too, chance


def share_of_odd(
    stratum: Stratum,
    points: list[np.ndarray],
    place: int,
    cells: tuple[np.ndarray, ...],
) -> np.ndarray:
    """Return P(odd) (cells, v) of the values of a stratum with odd rows, in cells of the grid."""
    i, j, k, a = cells
    odd = stratum.log_odd(points[2 + place], points[-1])[k, a]
    normal = stratum.log_normal(*points[:2])[i, j]
    rest = np.log1p(-np.exp(points[2 + place][k]) * stratum.n / stratum.m)[:, None]
    return np.asarray(np.exp(odd - np.logaddexp(odd, rest + normal)))


def _heavy(log_mass: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return part and places (5, cells) of the cells of grids that have mass, and their shares."""
    largest = max(each.max() for each in log_mass)
    mass = [np.exp(each - largest) for each in log_mass]
    places = [np.nonzero(each > MASS_OF_CELL) for each in mass]
    cells = [[np.full(len(p[0]), part), *p] for part, p in enumerate(places)]
    kept = np.concatenate([each[p] for each, p in zip(mass, places, strict=True)])
    return np.hstack(cells), kept / kept.sum()


Models = list[tuple[float, Posterior]]
Parts = tuple[list[np.ndarray], list[np.ndarray]]


def averaged(tail: Tail) -> Models:
    """Return weight and posterior of each M_r, up to the first that has lost e^5, and of each G."""
    models: list[Posterior] = []
    log_weight: list[float] = []
    for r in range(min(MOST_WILD, len(tail.x) - tail.least) + 1):
        others = tail.until(len(tail.x) - r)
        models.append(Posterior.of(others))
        wild = np.log(others.end / tail.m) - 2.0 * np.log(tail.x[len(tail.x) - r :])
        log_weight.append(models[-1].evidence + wild.sum() - (r + 1) * math.log(2.0))
        if log_weight[-1] < max(log_weight) - LOST:
            break
    for v in tail.gaps:
        models.append(Posterior.of(tail.until(v)))
        log_weight.append(models[-1].evidence + tail.log_group(v) - math.log(2.0))
    weight = np.exp(log_weight - logsumexp(log_weight))
    return list(zip(weight.tolist(), models, strict=True))


def _drawn(models: Models, tail: Tail, among: dict[int, np.ndarray]) -> np.ndarray:
    """Return draws (draws, L) of the number of odd rows ``among`` values of each stratum."""
    rng = np.random.default_rng(0)
    return np.concatenate(
        [m.numbers(rng, round(w * DRAWS), tail, among) for w, m in models]
    )


def integral(
    log_likelihood: Callable[..., Parts], box: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return the points of each axis, the log mass of the cells of grids in a box, and the rest.

    The axes of the box (axes, 2) are xi, log h, and, if there are odd rows, the log
    share of each stratum, and log a. ``log_likelihood`` takes their points, and returns
    a grid for each stratum, over xi, log h, its own share and a, and what else it has.
    By coarse grids the box is narrowed to where the posterior has mass.
    """
    whole = box
    for _ in range(PASSES):
        _, log_mass, _ = _grid(log_likelihood, box, whole, COARSE)
        narrower = np.array([_kept(log_mass, axis, box) for axis in range(len(box))])
        ratio = np.ptp(narrower, axis=1) / np.ptp(box, axis=1)
        box = narrower
        if (ratio > ENOUGH).all():
            break
    return _grid(log_likelihood, box, whole, CELLS)


def _grid(
    log_likelihood: Callable[..., Parts],
    box: np.ndarray,
    whole: np.ndarray,
    cells: np.ndarray,
) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    """Return points and log mass of so many cells; log h has the same improper prior anywhere."""
    cells = np.array([*cells[:2], *cells[2:3].repeat(max(len(box) - 3, 0)), cells[3]])[
        : len(box)
    ]
    width = np.ptp(box, axis=1) / cells
    middles = [np.arange(c) + 0.5 for c in cells]
    points = [
        low + w * at for low, w, at in zip(box[:, 0], width, middles, strict=True)
    ]
    z = (points[0] - SHAPE[0]) / SHAPE[1]
    log_prior = -(z**2) / 2.0 - math.log(SHAPE[1] * math.sqrt(2.0 * math.pi))
    found, rest = log_likelihood(*points)
    for part, each in enumerate(found):
        axes = _axes(part, len(box))
        constant = (
            np.log(width[axes]).sum() - np.log(np.ptp(whole[axes[2:]], axis=1)).sum()
        )
        found[part] = each + (log_prior + constant).reshape(-1, *[1] * (each.ndim - 1))
    return points, found, rest


def _axes(part: int, axes: int) -> list[int]:
    """Return which axes of a box a grid has."""
    return [0, 1, 2 + part, axes - 1][:axes]


def _kept(
    log_mass: list[np.ndarray], axis: int, box: np.ndarray
) -> tuple[float, float]:
    """Return the ends of an axis between which the slices of the grids have mass."""
    slices = []
    for part, each in enumerate(log_mass):
        axes = _axes(part, len(box))
        if axis in axes:
            others = set(range(each.ndim)) - {axes.index(axis)}
            slices.append(logsumexp(each, axis=tuple(others)))
    mass = logsumexp(slices, axis=0)
    (low, high) = box[axis]
    first, last = np.flatnonzero(mass > mass.max() + math.log(MASS))[[0, -1]]
    width = (high - low) / len(mass)
    return low + max(first - 1, 0) * width, low + min(last + 2, len(mass)) * width
