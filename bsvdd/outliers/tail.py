r"""The tail of the surprises of a table, and its densities.

The surprise of a row is its surprisal in nats, :math:`t_i = -\log s_i`, with
:math:`s_i` the similarity of the row, left out, to the core. Let
:math:`u_i = \log t_i - Q_b(\log t)`, where :math:`Q_b` is the quantile b. The tail is
the m of n rows with :math:`u > 0`. Normal rows have a smooth tail, a generalised Pareto
distribution (Pickands 1975). Odd rows lie anywhere in the tail, or all far away. Each
stratum l has :math:`n_l` rows, :math:`m_l` of them in the tail, and its own share
:math:`\varepsilon_l` of odd rows:

.. math:: u \sim (1 - e_l)\, \mathrm{GPD}(h, \xi)
    + e_l \left(.9\, \frac{a u^{a - 1}}{U^a} + .1\, \frac{2 u}{U^2}\right), \qquad
    e_l = \varepsilon_l n_l / m_l, \qquad U = (1 + 1/m) \max_i u_i,

where the density of GPD is :math:`h (1 + \xi h u)^{-1/\xi - 1}`. By default all rows
are one stratum. The priors are

.. math:: \log h \text{ flat}, \quad \xi \sim N(-.05, .1^2), \quad
    \log a \text{ flat on } [\log 2, \log 32], \quad
    \varepsilon_l \sim p\, \delta_0 + (1 - p) \text{ log-uniform}(.5 / n_l, .3 n / n_l),

with :math:`p^L = .7` for L strata: the prior probability that no row is odd, for any
number of strata. It is .95 for the tail of single cells
(:mod:`bsvdd.outliers.cells`), so it is 2/3 for both. At most .3 of all rows are odd,
and :math:`e_l` is at most .99.

No tail is a GPD to the last row. Of 1,000 rows or more the rest would be taken for odd
rows: of clean tables of 20,000 rows nine in ten had a list. So a tail of more than 400
rows is halved, b = (1 + b) / 2, unless a quarter of it is odd (:mod:`.odd_rows`).

If the columns are normal, the tail of the log surprises is light. If they are skewed,
it is heavier. The prior of :math:`\xi` allows both. The density of odd rows has two
parts, because one is not enough. With a = 2 only, odd rows that are all far away would
have to be some of many odd rows, and the model would find odd rows near 0. With one a
for all odd rows, a far group of rows would make a large, and all nearer rows would be
normal. So a tenth of the odd rows has a = 2, and rows beyond a gap may be a group of
their own (:mod:`.odd_rows`). A row 100 times as surprising as the quantile is beyond
the tail: it is odd, and it does not count in the tail.

**References**

Pickands, J. (1975). Statistical inference using extreme order statistics. Annals of
Statistics 3, 119-131. doi:10.1214/aos/1176343003
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.special import betaln

# prior probabilities that no row is odd, by whole rows and by single cells
NO_ODD_ROW = 0.7
NO_ODD_CELL = 0.95
# ends of the share of odd rows: the least number of odd rows, and the largest share
LEAST_ROWS = 0.5
LARGEST_SHARE = 0.3
SHAPE = -0.05, 0.1  # prior mean and sd of xi
POWER = 2.0, 32.0  # ends of a
ANYWHERE = 0.1  # share of the odd rows that has the least a
SMALLEST_SHAPE = 1e-6  # replaces a smaller |xi|, for which the formula is 0 / 0
BEYOND_TAIL = math.log(100.0)  # u beyond any tail
GAP = math.log(2.0)  # between u of two groups of odd rows
# fewest rows of a group beyond a gap, and values of its a in the integral
FEWEST_BEYOND = 2
POWERS = 1000
FEWEST_SURPRISES = 20  # different ones in a tail
EQUAL = 1e-9  # difference of log surprises up to which they are equal
BELOW = 0.5  # b
LEAST_APART = 0.05  # b less the share of the rows that have the smallest surprise
# the largest surprises are values of their own, and the others are joined in bins
MOST_EXACT = 100
TAIL_BINS = 50


@dataclass(frozen=True, eq=False)
class Stratum:
    """The rows of one stratum in a tail.

    Attributes
    ----------
    level : int
        The number of the stratum.
    x, count : ndarray of shape (v,)
        The values of u in ascending order, and how many rows have each.
    end : float
        U of the whole tail.
    n : int
        The number of rows of the stratum, without rows beyond the tail.
    times : float
        The number of rows of all strata, without rows beyond the tail, divided by n.
    """

    level: int
    x: np.ndarray
    count: np.ndarray
    end: float
    n: int
    times: float

    @property
    def m(self) -> float:
        """The number of rows of the stratum in the tail."""
        return float(self.count.sum())

    @property
    def shares(self) -> tuple[float, float]:
        """The least and the largest share of odd rows."""
        largest = min(LARGEST_SHARE * self.times, 0.99 * self.m / self.n)
        return LEAST_ROWS / self.n, largest

    def log_normal(self, xi: np.ndarray, log_h: np.ndarray) -> np.ndarray:
        """Return the log of GPD, (xi, h, v); -inf where its density is 0."""
        xi = np.where(np.abs(xi) < SMALLEST_SHAPE, SMALLEST_SHAPE, xi)[:, None, None]
        log_h = log_h[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_y = np.log(np.maximum(1.0 + xi * np.exp(log_h) * self.x, 0.0))
            found = log_h - (1.0 / xi + 1.0) * log_y
        return np.where(np.isneginf(log_y), -np.inf, found)

    def log_odd(self, log_share: np.ndarray, log_a: np.ndarray) -> np.ndarray:
        """Return the log of the second term, e times a density, (share, a, v)."""
        log_a = log_a[:, None]
        log_x = np.log(self.x / self.end)
        far = math.log1p(-ANYWHERE) + log_a + np.expm1(log_a) * log_x
        anywhere = math.log(ANYWHERE * POWER[0]) + (POWER[0] - 1.0) * log_x
        density = np.logaddexp(far, anywhere) + math.log(self.n / self.m / self.end)
        return np.asarray(log_share[:, None, None] + density)

    def without_odd(self, xi: np.ndarray, log_h: np.ndarray) -> np.ndarray:
        """Return the log likelihood without odd rows, (xi, h)."""
        density = self.log_normal(xi, log_h)
        found = np.maximum(density, -1e300) @ self.count
        return np.where(np.isneginf(density).any(axis=-1), -np.inf, found)

    def with_odd(
        self,
        xi: np.ndarray,
        log_h: np.ndarray,
        log_share: np.ndarray,
        log_a: np.ndarray,
    ) -> np.ndarray:
        """Return the log likelihood with odd rows, (xi, h, share, a)."""
        odd = np.exp(self.log_odd(log_share, log_a))
        rest = (1.0 - np.exp(log_share) * self.n / self.m)[:, None, None]
        found = np.empty((len(xi), len(log_h), len(log_share), len(log_a)))
        normal = np.exp(self.log_normal(xi, log_h))
        for cell in np.ndindex(normal.shape[:2]):
            both = rest * normal[cell] + odd
            with np.errstate(divide="ignore"):
                found[cell] = np.log(both, out=both) @ self.count
        return found


@dataclass(frozen=True, eq=False)
class Tail:
    """The tail of the surprises of n rows, each of one of L strata.

    Attributes
    ----------
    u : ndarray of shape (n,)
    level : ndarray of int, shape (n,)
        The stratum of each row, from 0.
    x : ndarray of shape (v,)
        The values of u in the tail, in ascending order.
    count : ndarray of shape (L, v)
        How many rows of each stratum have each value.
    none : float
        The prior probability that no row is odd.
    """

    u: np.ndarray
    level: np.ndarray
    x: np.ndarray
    count: np.ndarray
    none: float

    @classmethod
    def of(
        cls,
        surprise: np.ndarray,
        below: float = BELOW,
        level: np.ndarray | None = None,
        none: float = NO_ODD_ROW,
    ) -> Self | None:
        """Return the tail of surprises.

        Parameters
        ----------
        surprise : ndarray of shape (n,)
        below : float, default=0.5
            b, the share of the rows that is not in the tail.
        level : ndarray of int, shape (n,), optional
            The stratum of each row, from 0. By default all rows are one stratum.
        none : float, default=0.7

        Returns
        -------
        Tail or None
            None if the tail has fewer than 20 different surprises, or if more than a
            share b - .05 of all rows has the smallest surprise.
        """
        level = np.zeros(len(surprise), dtype=int) if level is None else level
        log_t = np.log(np.maximum(surprise, surprise[surprise > 0.0].min(initial=1.0)))
        smallest = (log_t <= log_t.min() + EQUAL).mean()
        if smallest > below - LEAST_APART:
            return None
        return cls._beyond(log_t - np.quantile(log_t, below), level, none)

    @classmethod
    def _beyond(cls, u: np.ndarray, level: np.ndarray, none: float) -> Self | None:
        """Return the tail of the rows with u > 0; None if few of them differ."""
        inside = np.flatnonzero((u > 0.0) & (u < BEYOND_TAIL))
        inside = inside[np.lexsort((level[inside], u[inside]))]
        x = u[inside]
        if len(np.unique(x.round(9))) < FEWEST_SURPRISES:
            return None
        of_x = level[inside] == np.arange(level.max() + 1)[:, None]
        return cls(u, level, *_binned(x, of_x), none)

    @property
    def upper_half(self) -> Self | None:
        """The tail of the upper half of the rows; None if few of them differ."""
        return self._beyond(
            self.u - np.median(self.u[self.within]), self.level, self.none
        )

    @property
    def within(self) -> np.ndarray:
        """Which rows (n,) are in the tail."""
        return (self.u > 0.0) & ~self.far

    def until(self, v: int) -> Self:
        """Return the tail of the v smallest values, without rows with larger ones."""
        end = self.x[v - 1 : v + 1].mean() if v < len(self.x) else BEYOND_TAIL
        kept = self.u < end
        x = self.x[:v]
        return replace(
            self, u=self.u[kept], level=self.level[kept], x=x, count=self.count[:, :v]
        )

    @property
    def least(self) -> int:
        """The smallest v for which :meth:`until` has 20 different surprises."""
        first = np.unique(self.x.round(9), return_index=True)[1]
        enough = first[FEWEST_SURPRISES - 1 :]
        return int(enough[0]) + 1 if len(enough) else len(self.x)

    @property
    def gaps(self) -> list[int]:
        """The number of values below each gap with 2 to .3 n rows above it."""
        before = np.flatnonzero(np.diff(self.x) >= GAP) + 1
        beyond = self.m - self.count.sum(axis=0).cumsum()[before - 1]
        some = (beyond >= FEWEST_BEYOND) & (beyond <= LARGEST_SHARE * len(self.u))
        return before[some & (before >= self.least)].tolist()

    def log_group(self, v: int) -> float:
        """Return the log of p(u | G) of the rows above the v smallest values.

        The integral over U has a closed form, and the integral over a is a sum.
        """
        x = self.x[v:]
        count = self.count[:, v:].sum(axis=0)
        end = self.until(v).end
        r = count.sum()
        a = np.geomspace(*POWER, POWERS)
        of_a = (
            r * np.log(a)
            + (a - 1.0) * (count @ np.log(x / x[-1]))
            - np.log(r * a + 1.0)
        )
        widest = LARGEST_SHARE * len(self.u) / LEAST_ROWS
        log_share = betaln(r, self.m - r + 1.0) - math.log(math.log(widest))
        one_place = math.log(end) - (r + 1.0) * math.log(x[-1])
        largest = of_a.max()
        mean = np.trapezoid(np.exp(of_a - largest), dx=1.0 / (POWERS - 1))
        return float(log_share + one_place + largest + np.log(mean))

    @property
    def far(self) -> np.ndarray:
        """Which rows (n,) are beyond the tail: 100 times as surprising as Q_b."""
        return self.u >= BEYOND_TAIL

    @property
    def m(self) -> float:
        """The number of rows in the tail."""
        return float(self.count.sum())

    @property
    def end(self) -> float:
        """U."""
        return float(self.x[-1] * (1.0 + 1.0 / self.m))

    @property
    def strata(self) -> list[Stratum]:
        """The strata that have rows in the tail."""
        near = self.level[~self.far]
        found = []
        for level, count in enumerate(self.count):
            n = max(int((near == level).sum()), int(count.sum()))
            own = count > 0.0
            if own.any():
                times = len(near) / n
                stratum = Stratum(level, self.x[own], count[own], self.end, n, times)
                found.append(stratum)
        return found


def _binned(x: np.ndarray, of_x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values (v,), and how many rows of each stratum have them, (L, v).

    The 100 largest of x are values of their own. The others are joined in 50 bins, and
    the value of a bin is the mean of its rows. ``of_x`` (L, rows) says which stratum
    each row is in.
    """
    if len(x) <= MOST_EXACT + TAIL_BINS:
        return x, of_x.astype(float)
    low, high = np.split(x, [len(x) - MOST_EXACT])
    ends = 0.0, low[-1]
    count = np.array(
        [np.histogram(low[own[: len(low)]], TAIL_BINS, ends)[0] for own in of_x]
    )
    edges = np.histogram_bin_edges(low, TAIL_BINS, ends)
    total = count.sum(axis=0)
    sums = np.histogram(low, edges, weights=low)[0]
    filled = total > 0
    values = np.append(sums[filled] / total[filled], high)
    return values, np.hstack([count[:, filled], of_x[:, len(low) :]]).astype(float)
