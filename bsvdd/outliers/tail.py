r"""The tail of the surprises of a table, and its densities.

The surprise of a row is its surprisal in nats, :math:`t_i = -\log s_i`, with
:math:`s_i` the similarity of the row, left out, to the core. Rows with :math:`u > 0`
are the tail, m of n, where :math:`u_i = \log t_i - Q_b(\log t)` with a quantile b.
Normal rows have a smooth tail, a generalised Pareto distribution (Pickands 1975); odd
rows lie anywhere in it, or all far away. Each stratum l of the rows, with :math:`n_l`
rows and :math:`m_l` in the tail, has its own share :math:`\varepsilon_l` of odd rows:

.. math:: u \sim (1 - e_l)\, \mathrm{GPD}(h, \xi)
    + e_l \left(.9\, \frac{a u^{a - 1}}{U^a} + .1\, \frac{2 u}{U^2}\right), \qquad
    e_l = \varepsilon_l n_l / m_l, \qquad U = (1 + 1/m) \max_i u_i,

with the density :math:`h (1 + \xi h u)^{-1/\xi - 1}` of the first. By default all rows
are one stratum. The priors are

.. math:: \log h \text{ flat}, \quad \xi \sim N(-.05, .1^2), \quad
    \log a \text{ flat on } [\log 2, \log 32], \quad
    \varepsilon_l \sim p\, \delta_0 + (1 - p) \text{ log-uniform}(.5 / n_l, .3 n / n_l),

where :math:`p^L = 1/2` for L strata: that no row is odd has the probability 1/2,
whatever the strata. At most .3 of all rows are odd, and :math:`e_l` is at most .99.

The logarithm of a surprise has a tail that is light for rows of a normal distribution
and heavier for skewed ones; the prior of :math:`\xi` allows both. With a = 2 alone, odd
rows that all lie far away would make the model count hidden odd rows near the beginning
of the tail. With one a for all, alike rows that lie far away would make all nearer rows
normal. So a tenth of the odd rows lies anywhere, and rows beyond a gap may be a group
of their own (:mod:`.odd_rows`). A row 100 times as surprising as the quantile is beyond
any tail, and not in it.

**References**

Pickands, J. (1975). Statistical inference using extreme order statistics. Annals of
Statistics 3, 119-131. doi:10.1214/aos/1176343003
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.special import betaln

NO_ODD_ROW = 0.5  # prior probability that no row is odd
# ends of the share of odd rows: so many of the n, and a share
LEAST_ROWS = 0.5
LARGEST_SHARE = 0.3
SHAPE = -0.05, 0.1  # prior mean and sd of xi
POWER = 2.0, 32.0  # ends of a
ANYWHERE = 0.1  # share of the odd rows that has the least a
SMALLEST_SHAPE = 1e-6  # xi for a smaller one, whose formula would be 0 / 0
BEYOND_TAIL = math.log(100.0)  # u beyond any tail
GAP = math.log(2.0)  # between u of two groups of odd rows
# rows of a group beyond a gap, and values of its a
FEWEST_BEYOND = 2
POWERS = 1000
FEWEST_SURPRISES = 20  # different ones in a tail
EQUAL = 1e-9  # difference, up to which the log of a surprise is the smallest
# b, larger where the tail has so many rows
BELOW = 0.5
MOST_BELOW = 0.7
MOST_IN_TAIL = 1000
LEAST_APART = 0.05  # of b from the share of rows with the smallest surprise
# largest surprises that count by themselves, and bins of the others
MOST_EXACT = 200
TAIL_BINS = 100


@dataclass(frozen=True, eq=False)
class Stratum:
    """The rows of one stratum in a tail.

    Attributes
    ----------
    level : int
        Its number.
    x, count : ndarray of shape (v,)
        Its values in ascending order, and how many of its rows each stands for.
    end : float
        U of the whole tail.
    n : int
        The number of its rows that are not beyond the tail.
    times : float
        How many times as many such rows the table has.
    """

    level: int
    x: np.ndarray
    count: np.ndarray
    end: float
    n: int
    times: float

    @property
    def m(self) -> float:
        """The number of its rows in the tail."""
        return float(self.count.sum())

    @property
    def shares(self) -> tuple[float, float]:
        """The least and the largest share of odd rows."""
        largest = min(LARGEST_SHARE * self.times, 0.99 * self.m / self.n)
        return LEAST_ROWS / self.n, largest

    def log_normal(self, xi: np.ndarray, log_h: np.ndarray) -> np.ndarray:
        """Return the log density of normal rows, (xi, h, v); -inf beyond its end."""
        xi = np.where(np.abs(xi) < SMALLEST_SHAPE, SMALLEST_SHAPE, xi)[:, None, None]
        log_h = log_h[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_y = np.log(np.maximum(1.0 + xi * np.exp(log_h) * self.x, 0.0))
            found = log_h - (1.0 / xi + 1.0) * log_y
        return np.where(np.isneginf(log_y), -np.inf, found)

    def log_odd(self, log_share: np.ndarray, log_a: np.ndarray) -> np.ndarray:
        """Return the log of e times the density of odd rows, (share, a, v)."""
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
        The values of the tail in ascending order.
    count : ndarray of shape (L, v)
        How many rows of each stratum a value stands for.
    """

    u: np.ndarray
    level: np.ndarray
    x: np.ndarray
    count: np.ndarray

    @classmethod
    def of(
        cls,
        surprise: np.ndarray,
        below: float | None = None,
        level: np.ndarray | None = None,
    ) -> Self | None:
        """Return the tail of surprises.

        Parameters
        ----------
        surprise : ndarray of shape (n,)
        below : float, optional
            The share of the rows that is not in the tail.
        level : ndarray of int, shape (n,), optional
            The stratum of each row, from 0. By default all rows are one stratum.

        Returns
        -------
        Tail or None
            None if fewer than 20 surprises in it differ, or too many rows have the
            smallest one.
        """
        if below is None:
            below = float(
                np.clip(1.0 - MOST_IN_TAIL / len(surprise), BELOW, MOST_BELOW)
            )
        level = np.zeros(len(surprise), dtype=int) if level is None else level
        log_t = np.log(np.maximum(surprise, surprise[surprise > 0.0].min(initial=1.0)))
        u = log_t - np.quantile(log_t, below)
        inside = np.flatnonzero((u > 0.0) & (u < BEYOND_TAIL))
        inside = inside[np.lexsort((level[inside], u[inside]))]
        x = u[inside]
        of_x = level[inside] == np.arange(level.max() + 1)[:, None]
        smallest = (log_t <= log_t.min() + EQUAL).mean()
        if (
            len(np.unique(x.round(9))) < FEWEST_SURPRISES
            or smallest > below - LEAST_APART
        ):
            return None
        return cls(u, level, *_binned(x, of_x))

    def until(self, v: int) -> Self:
        """Return the tail of the first v values, without the rows beyond them."""
        end = self.x[v - 1 : v + 1].mean() if v < len(self.x) else BEYOND_TAIL
        kept = self.u < end
        return type(self)(self.u[kept], self.level[kept], self.x[:v], self.count[:, :v])

    @property
    def least(self) -> int:
        """The number of values of the shortest tail, in which enough of them differ."""
        first = np.unique(self.x.round(9), return_index=True)[1]
        return (
            int(first[FEWEST_SURPRISES - 1]) + 1
            if len(first) >= FEWEST_SURPRISES
            else len(self.x)
        )

    @property
    def gaps(self) -> list[int]:
        """How many values are before each gap that has 2 to .3 n rows beyond it."""
        before = np.flatnonzero(np.diff(self.x) >= GAP) + 1
        beyond = self.m - self.count.sum(axis=0).cumsum()[before - 1]
        some = (beyond >= FEWEST_BEYOND) & (beyond <= LARGEST_SHARE * len(self.u))
        return before[some & (before >= self.least)].tolist()

    def log_group(self, v: int) -> float:
        """Return the log density of a group: the rows beyond the first v values."""
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
        """Which rows (n,) are beyond the tail."""
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

    def without_odd(self, xi: np.ndarray, log_h: np.ndarray) -> np.ndarray:
        """Return the log likelihood without odd rows in any stratum, (xi, h)."""
        each = [stratum.without_odd(xi, log_h) for stratum in self.strata]
        return np.asarray(sum(each))


def _binned(x: np.ndarray, of_x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return values (v,), and how many rows of each stratum have them, (L, v).

    All but the 200 largest are means of 100 bins. ``of_x`` (L, rows) says which rows
    are in which stratum.
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
