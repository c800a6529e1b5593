r"""How many rows of one table are odd, by a model of the tail of their surprises.

The surprise of row i is :math:`t_i = -\log s_i`, with s the left-out similarity to the core, and

.. math:: u_i = \min(\log t_i - Q_b(\log t_1, \ldots, \log t_n),\; \log 100),

the quantile of a share b of the rows: the median, and of more than 2,000 rows a higher one, beyond
which are 1,000 rows or a share of .3, the largest that may be odd. With 10,000 rows beyond the
median, the model of the tail would make up for its misfit there by odd rows. A row that is 100
times as surprising is beyond every tail, and how far it is says no more: without an end, one wild
value of 1,000 sd would make odd rows at 6 sd look like normal ones beside it. A sphere has all its
points at one distance, so the tail of SVDD and OCSVM begins beyond the share of the core.

Of the n rows, those with :math:`u > 0` are the tail, m of them. The tail of normal rows is smooth:
a generalised Pareto distribution. Odd rows lie anywhere in it, or all far away,

.. math:: u \sim (1 - e)\, \mathrm{GPD}(h, \xi) + e\, \frac{a u^{a - 1}}{U^a}, \qquad
    e = \varepsilon n / m, \qquad U = (1 + 1/m) \max_i u_i,

with the density :math:`h (1 + \xi h u)^{-1/\xi - 1}` of the first. The priors are

.. math:: \log h \text{ flat}, \quad \xi \sim N(-.05, .1^2), \quad \log a \text{ flat on }
    [\log 2, \log 32], \quad \varepsilon \sim \tfrac12 \delta_0 + \tfrac12
    \text{ log-uniform}(.5 / n, .3).

The logarithm of a surprise has a tail that is light for rows of a normal distribution and heavier
for skewed ones; the prior of :math:`\xi` has both. With a = 2 alone, odd rows that all lie far away
would make the model count hidden ones near its beginning.

The posterior is a sum over a grid of midpoints, which is made finer where the posterior is narrow.
Surprises but the largest are counted in bins.

**References**

Pickands, J. (1975). Statistical inference using extreme order statistics. Annals of Statistics 3,
119-131. doi:10.1214/aos/1176343003
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy.special import logsumexp

if TYPE_CHECKING:
    import pymc as pm

NONE = 0.5  # prior probability that no row is odd
LEAST_ROWS, LARGEST_SHARE = 0.5, 0.3  # ends of the share of odd rows: so many of the n, and a share
SHAPE = -0.05, 0.1  # prior mean and sd of xi
POWER = 2.0, 32.0  # ends of a
RATES = 0.1, 20.0  # of h, relative to 1/median u: beyond them the data leave nothing
FEWEST = 20  # different surprises in a tail
BELOW, MOST_BELOW = 0.5, 0.7  # b
MOST_ROWS = 1000  # in the tail, where b is between them
FAR = math.log(100.0)  # u beyond which all rows are alike
LEAST_APART = 0.05  # of b from the share of rows with the smallest surprise
EXACT, BINS = 200, 100  # largest surprises that count by themselves, and bins of the others
CELLS = {"xi": 12, "log_h": 24, "log_share": 24, "log_a": 8}
PASSES = 4
SMALLEST_SHAPE = 1e-6  # xi for a smaller one, whose formula would be 0 / 0
MASS = 1e-5  # of a slice of the grid, relative to the largest, below which it is left out
DRAWS = 4000  # of the number of odd rows
AT_LEAST = 0.01  # its quantile
RATHER = 0.5  # P(odd) of a row that is rather odd than normal
TOO_FEW = "too few different rows"


@dataclass(frozen=True, eq=False)
class Tail:
    """The tail of the surprises of a table.

    Attributes
    ----------
    u : ndarray of shape (n,)
        Logarithms of the surprises, less their quantile of the share ``below``.
    smallest : float
        The share of rows with the smallest surprise.
    below : float
        b.
    """

    u: np.ndarray
    smallest: float
    below: float

    @classmethod
    def of(cls, surprise: np.ndarray, below: float | None = None) -> Self:
        """Return the tail of surprises t (n,), which are at least 0, beyond a share of them."""
        if below is None:
            below = max(BELOW, min(1.0 - MOST_ROWS / len(surprise), MOST_BELOW))
        positive = surprise[surprise > 0.0]
        t = np.maximum(surprise, positive.min() if len(positive) else 1.0)
        log_t = np.log(t)
        equal = log_t <= log_t.min() + 1e-9
        u = np.minimum(log_t - np.quantile(log_t, below), FAR)
        return cls(u, float(equal.mean()), below)

    @cached_property
    def inside(self) -> np.ndarray:
        """Which rows are in the tail, shape (n,)."""
        return self.u > 0.0

    @cached_property
    def x(self) -> np.ndarray:
        """The values of the tail in ascending order, shape (m,)."""
        return np.sort(self.u[self.inside])

    @property
    def is_known(self) -> bool:
        """Whether there are enough different rows for a model of the tail."""
        known = np.isfinite(self.u).all() and self.smallest <= self.below - LEAST_APART
        return bool(known) and len(np.unique(self.x.round(9))) >= FEWEST

    @property
    def end(self) -> float:
        """U."""
        return float(self.x[-1] * (1.0 + 1.0 / len(self.x)))

    @property
    def shares(self) -> tuple[float, float]:
        """The least and the largest share of odd rows."""
        n = len(self.u)
        return LEAST_ROWS / n, min(LARGEST_SHARE, 0.99 * len(self.x) / n)

    @cached_property
    def _binned(self) -> tuple[np.ndarray, np.ndarray]:
        """Values, and how many rows each stands for: bins have their means."""
        x = self.x
        if len(x) <= EXACT + BINS:
            return x, np.ones(len(x))
        low, high = np.split(x, [len(x) - EXACT])
        edges = np.linspace(0.0, low[-1], BINS + 1)
        place = np.clip(np.searchsorted(edges, low) - 1, 0, BINS - 1)
        counts = np.bincount(place, minlength=BINS)
        sums = np.bincount(place, low, BINS)
        filled = counts > 0
        values = np.concatenate([sums[filled] / counts[filled], high])
        return values, np.concatenate([counts[filled], np.ones(len(high))]).astype(float)


@dataclass(frozen=True, eq=False)
class OddRows:
    """Which rows of a table are odd, and how many.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        P(odd) of each row; NaN if there is no tail.
    at_least : int
        The 1 % quantile of the number of odd rows among those that are rather odd than normal.
    none : float
        The probability that no row is odd; NaN if there is no tail.
    """

    probability: np.ndarray
    at_least: int
    none: float

    @classmethod
    def of(cls, tail: Tail) -> Self:
        """Return the posterior of the model of this module, by its grid."""
        n = len(tail.u)
        if not tail.is_known:
            return cls(np.full(n, np.nan), 0, math.nan)
        (x, count), box = tail._binned, _box(tail)
        of_normal = {name: box[name] for name in ("xi", "log_h")}
        nobody = _integral(lambda *at: _without(x, count, *at), of_normal)
        somebody = _integral(lambda *at: _with(x, count, tail, *at), box)
        log_odds = nobody.log_total - somebody.log_total  # even prior odds
        none = float(1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0))))
        cells, weights = somebody.cells()
        share = _share(x, tail, *cells)  # P(odd) of each value, in each cell
        of_values = (1.0 - none) * (weights @ share)
        # a row that is more surprising is not less odd, whatever the tails of both densities
        of_values = np.maximum.accumulate(of_values)
        probability = np.zeros(n)
        probability[tail.inside] = np.interp(tail.u[tail.inside], x, of_values)
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(weights), DRAWS, p=weights)
        # of rows that are rather odd: how many hide among the others hangs on the form of the tail
        rather = of_values >= RATHER
        number = rng.binomial(count[rather].astype(int), share[chosen][:, rather]).sum(axis=1)
        number[rng.random(DRAWS) < none] = 0
        at_least = int(np.quantile(number, AT_LEAST, method="inverted_cdf"))
        return cls(probability, at_least, none)

    def listed(self, fdr: float) -> np.ndarray:
        """Return the longest head of rows of which a share ``fdr`` is expected to be normal, (n,).

        Each of them is rather odd than normal. Rows that are equally odd are in together.
        """
        p = np.where(np.isnan(self.probability), 0.0, self.probability)
        order = np.argsort(-p, kind="stable")
        normal = np.cumsum(1.0 - p[order]) / np.arange(1, len(p) + 1)
        heads = np.flatnonzero(normal <= fdr)
        least = p[order[heads[-1]]] if len(heads) else math.inf
        found: np.ndarray = p >= max(least, RATHER)
        if found.any() and (1.0 - p[found]).mean() > fdr:  # rows that tie with the last
            found = p > least
        return found


def build(tail: Tail) -> pm.Model:
    """Return the model of a tail in PyMC, whether any row is odd summed out.

    Its deterministic variables are ``none``, the probability that no row is odd, and ``odd`` (m,),
    that of the rows of the tail in ascending order, both given the parameters.
    """
    import pymc as pm
    import pytensor.tensor as pt

    x = tail.x
    with pm.Model(coords={"tail": range(len(x))}) as model:
        log_h: Any = pm.Flat("log_h", initval=-math.log(float(np.median(x))))
        xi: Any = pm.Normal("xi", *SHAPE)
        log_share: Any = pm.Uniform("log_share", *np.log(tail.shares))
        log_a: Any = pm.Uniform("log_a", *np.log(POWER))
        e = pt.exp(log_share) * (len(tail.u) / len(x))
        y = 1.0 + xi * pt.exp(log_h) * x
        inside = pt.gt(y, 0.0)
        normal = log_h - (1.0 / xi + 1.0) * pt.log(pt.switch(inside, y, 1.0))
        normal = pt.switch(inside, normal, -np.inf)
        odd = log_a + pt.expm1(log_a) * np.log(x / tail.end) - math.log(tail.end)
        both = pt.logaddexp(pt.log1p(-e) + normal, pt.log(e) + odd)
        somebody = math.log1p(-NONE) + both.sum()
        total = pt.logaddexp(somebody, math.log(NONE) + normal.sum())
        pm.Potential("likelihood", total)
        none = pm.Deterministic("none", 1.0 - pt.exp(somebody - total))
        pm.Deterministic("odd", (1.0 - none) * pt.exp(pt.log(e) + odd - both), dims="tail")
    return model


# densities at the points of a grid


def _log_normal(x: np.ndarray, xi: Any, log_h: Any) -> np.ndarray:
    """Return the log density of normal rows, which is minus infinity beyond the end of a tail."""
    h = np.exp(log_h)
    xi = np.where(np.abs(xi) < SMALLEST_SHAPE, SMALLEST_SHAPE, xi)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_y = np.log(np.maximum(1.0 + xi * h * x, 0.0))
        found: np.ndarray = log_h - (1.0 / xi + 1.0) * log_y
    return np.where(np.isneginf(log_y), -np.inf, found)


def _log_odd(x: np.ndarray, tail: Tail, log_a: Any) -> np.ndarray:
    """Return the log density of odd rows."""
    found: np.ndarray = log_a + np.expm1(log_a) * np.log(x / tail.end) - math.log(tail.end)
    return found


def _without(x: np.ndarray, count: np.ndarray, xi: np.ndarray, log_h: np.ndarray) -> np.ndarray:
    """Return the log-likelihood without odd rows, (xi, h)."""
    density = _log_normal(x, xi[:, None, None], log_h[:, None])
    return np.where(np.isneginf(density).any(axis=-1), -np.inf, np.maximum(density, -1e300) @ count)


def _with(
    x: np.ndarray,
    count: np.ndarray,
    tail: Tail,
    xi: np.ndarray,
    log_h: np.ndarray,
    log_share: np.ndarray,
    log_a: np.ndarray,
) -> np.ndarray:
    """Return the log-likelihood with odd rows, (xi, h, share, a)."""
    e = np.exp(log_share) * (len(tail.u) / len(tail.x))
    odd = np.exp(_log_odd(x, tail, log_a[:, None]))[None] * e[:, None, None]  # share, a, value
    found = np.empty((len(xi), len(log_h), len(log_share), len(log_a)))
    for i, of_shape in enumerate(xi):
        normal = np.exp(_log_normal(x, of_shape, log_h[:, None]))  # h, value
        for j, density in enumerate(normal):
            both = (1.0 - e)[:, None, None] * density + odd
            with np.errstate(divide="ignore"):
                found[i, j] = np.log(both, out=both) @ count
    return found


def _share(x: np.ndarray, tail: Tail, *cells: np.ndarray) -> np.ndarray:
    """Return P(odd) of values at the points of some cells, (cells, values)."""
    xi, log_h, log_share, log_a = (at[:, None] for at in cells)
    log_e = log_share + math.log(len(tail.u) / len(tail.x))
    odd = log_e + _log_odd(x, tail, log_a)
    normal = np.log1p(-np.exp(log_e)) + _log_normal(x, xi, log_h)
    found: np.ndarray = np.exp(odd - np.logaddexp(odd, normal))
    return found


# sums over a grid


@dataclass(frozen=True, eq=False)
class _Grid:
    """The points of a grid, and the logarithm of the posterior mass of its cells."""

    points: tuple[np.ndarray, ...]
    log_mass: np.ndarray

    @property
    def log_total(self) -> float:
        return float(logsumexp(self.log_mass))

    def cells(self) -> tuple[list[np.ndarray], np.ndarray]:
        """Return the points of the cells that count, and their shares of the mass."""
        mass = np.exp(self.log_mass - self.log_mass.max())
        chosen = np.nonzero(mass > MASS * mass.max())
        kept = mass[chosen]
        points = [at[i] for at, i in zip(self.points, chosen, strict=True)]
        return points, kept / kept.sum()


def _box(tail: Tail) -> dict[str, tuple[float, float]]:
    """Return the ends of the parameters."""
    middle, sd = SHAPE
    ends = {
        "log_h": np.log(RATES) - math.log(float(np.median(tail.x))),
        "log_share": np.log(tail.shares),
        "log_a": np.log(POWER),
    }
    return {"xi": (middle - 4.0 * sd, middle + 4.0 * sd), **{k: tuple(v) for k, v in ends.items()}}


def _integral(
    log_likelihood: Callable[..., np.ndarray], box: dict[str, tuple[float, float]]
) -> _Grid:
    """Return the posterior on a grid whose box is narrowed to where it has mass."""
    whole, names, passes, (middle, sd) = dict(box), list(box), 0, SHAPE
    while True:
        points, log_cell = [], 0.0
        for name, (low, high) in box.items():
            width = (high - low) / CELLS[name]
            points.append(low + width * (np.arange(CELLS[name]) + 0.5))
            flat = name in ("log_share", "log_a")  # log h has the same improper prior in both
            first, last = whole[name]
            log_cell += math.log(width / (last - first) if flat else width)
        log_mass = log_likelihood(*points) + log_cell
        z = (points[names.index("xi")] - middle) / sd
        log_prior = -0.5 * z**2 - math.log(sd * math.sqrt(2.0 * math.pi))
        log_mass += log_prior.reshape(-1, *[1] * (log_mass.ndim - 1))
        grid, narrower = _Grid(tuple(points), log_mass), {}
        for axis, (name, (low, high)) in enumerate(box.items()):
            others = tuple(each for each in range(log_mass.ndim) if each != axis)
            of_slices = logsumexp(log_mass, axis=others)
            kept = np.flatnonzero(of_slices > of_slices.max() + math.log(MASS))
            width, cells = (high - low) / CELLS[name], CELLS[name]
            first, last = max(kept[0] - 1, 0), min(kept[-1] + 2, cells)
            narrower[name] = (low + first * width, low + last * width)
        passes += 1
        if passes == PASSES or all(
            narrower[name][1] - narrower[name][0] > 0.7 * (high - low)
            for name, (low, high) in box.items()
        ):
            return grid
        box = narrower
