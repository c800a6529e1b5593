r"""The kernel of a whole table: columns of numbers are adjusted by the core.

Standardised values and normal scores of the columns are multiplied by the symmetric
:math:`S^{-1/2}` each,

.. math:: S = (1 - \eta)\, \mathrm{Cov} + \eta I, \qquad \eta = \min(1, .1 + 2 p / n),

of the n rows of the core and p columns that vary. This root changes columns least
(Kessy, Lewin and Strimmer 2018), so coordinate f is still that of column f.
:math:`s^2 = m / 8`, with m the median squared distance of two rows.

In a column of flags, counts or amounts one value may hold more than half of the rows.
As a number all other rows would be far from it, and odd. Such a column has two parts.
The first is a category: whether a row has the common value. The second is the number.
It is 0 at the common value, has the scale of the other rows, and is not adjusted for
other columns. If a large share q of rows has other values, these values are no sign of
oddness, and the factor :math:`\rho` would hide rows that are odd. So the factor of this
category is :math:`\max(\rho, \min(1/2, 10 q))`.

The values of a count have steps. So its quantiles are those of the mid-distribution
(Ma, Genton and Parzen 2011), and they tell the scale where most other values are equal.

The long side of a skewed column is shortened by the inverse of Tukey's g distribution
(Hoaglin 1985). With :math:`q_{.1}, q_{.5}, q_{.9}` of a standardised column and
:math:`c = \Phi^{-1}(.9)`, a value v on the long side, here the upper one, becomes

.. math:: q_{.5} + \frac{u}{g} \log\left(1 + g\, \frac{v - q_{.5}}{u}\right), \qquad
    g = \frac1c \log \frac{q_{.9} - q_{.5}}{q_{.5} - q_{.1}}, \qquad
    u = \frac{g\, (q_{.5} - q_{.1})}{1 - e^{-g c}}.

Odd rows make a column look skewed, and so do clusters if a core is without one of them.
So g is estimated from the core and from all rows, and two standard errors
(:math:`1.62 / \sqrt n` for normal values) are taken off each. The one nearer to 0 is
used, and 0 if they differ in sign.

**References**

Hoaglin, D. C. (1985). Summarizing shape numerically: the g-and-h distributions. In
Exploring Data Tables, Trends, and Shapes, 461-513. Wiley.
doi:10.1002/9781118150702.ch11

Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. The
American Statistician 72, 309-314. doi:10.1080/00031305.2016.1277159

Ma, Y., Genton, M. G. and Parzen, E. (2011). Asymptotic properties of sample quantiles
of discrete distributions. Annals of the Institute of Statistical Mathematics 63,
227-243. doi:10.1007/s10463-008-0215-z
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, override

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtri

from .base import Kernel
from .numeric import RBF
from .tabular import Column, Tabular, without_far

MOST_COMMON = 0.5  # share of rows at one value, above which a column has two parts
NARROW = 8.0  # m / s^2
MOST_COMPARED_ROWS = 3000  # of which all pairs are compared
# eta
SHRINKAGE = 0.1
SHRINKAGE_OF_COLUMNS = 2.0
# of a part
LARGEST_FACTOR = 0.5
FACTOR_OF_SHARE = 10.0
FEWEST_VALUES = 5  # among the nearest ones, that tell a scale by their variance
NEAREST_SHARE = 0.8  # share of values that tell a scale: those nearest to the median
COPIES = 1e-16  # squared distance, relative to the largest, up to which rows are copies
# quantiles that tell g, and Phi^-1(.9)
EDGES = (0.1, 0.5, 0.9)
NORMAL_EDGE = 1.2815515655446004
# of g, times sqrt n, for normal values, by the delta method
SURE = 2.0
STANDARD_ERROR = 1.62


@dataclass(frozen=True)
class LongSide:
    """How the long side of a standardised column is shortened.

    Attributes
    ----------
    g : float
        Below 0 if the lower side is the long one.
    middle, step : float
        The median, and u.
    mean, sd : float
        Of the shortened values; they are standardised again.
    """

    g: float
    middle: float
    step: float
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, core: np.ndarray, x: np.ndarray) -> Self | None:
        """Return the shortening of ``x`` (n,), estimated from ``core`` (m,).

        None if the skewness is within two standard errors of 0.
        """
        of_core = sure_skewness(core)
        of_all = sure_skewness(x)
        if of_core * of_all <= 0.0:
            return None
        g = math.copysign(min(abs(of_core), abs(of_all)), of_core)
        low, middle, high = mid_quantiles(core)
        short = middle - low if g > 0.0 else high - middle
        u = short * abs(g) / -math.expm1(-abs(g) * NORMAL_EDGE)
        return cls(g, float(middle), float(u))

    def __call__(self, v: np.ndarray) -> np.ndarray:
        """Return the values v (m,) with the long side shortened."""
        scale = self.step / self.g
        beyond = np.maximum((v - self.middle) / scale, 0.0)
        shortened = np.where(beyond > 0.0, self.middle + scale * np.log1p(beyond), v)
        return np.asarray((shortened - self.mean) / self.sd)


@dataclass(frozen=True, repr=False)
class Decorrelated(Kernel):
    """The kernel of a table with odd rows inside, fitted to its core once and for all.

    Attributes
    ----------
    tabular : Tabular
        The kernel whose coordinates are adjusted, with the bandwidth of the core.
    common : ndarray of shape (p,)
        The common value of each column of numbers; NaN for none.
    powers : ndarray of shape (c,)
        The power of rho of each part that is a category.
    sides : tuple of LongSide or None
        Of the standardised values of the columns.
    roots : ndarray of shape (h, p, p), optional
        The matrices S^{-1/2} of values, of normal scores, or of both.
    """

    tabular: Tabular
    common: np.ndarray = field(compare=False)
    powers: np.ndarray = field(compare=False)
    sides: tuple[LongSide | None, ...] = ()
    roots: np.ndarray | None = field(default=None, compare=False)

    of_tables: ClassVar[bool] = True
    of_core: ClassVar[bool] = True

    @classmethod
    def plain(cls, asked: Tabular, X: np.ndarray) -> Self:
        """Return the kernel of rows X (n, p), not yet adjusted by a core."""
        categorical = asked.categorical_columns
        numbers = np.delete(X, categorical, axis=1).T
        common = np.array([common_value(x) for x in numbers])
        fitted = asked.rescaled(X, np.ones(len(X))).columns or ()
        columns = tuple(
            column if np.isnan(value) else of_others(x[x != value])
            for x, value, column in zip(numbers, common, fitted, strict=True)
        )
        parts = [
            power_of((x != value).mean(), asked.rho)
            for x, value in zip(numbers, common, strict=True)
            if not np.isnan(value)
        ]
        tabular = replace(
            asked, kernel=RBF("wide"), categorical=categorical, columns=columns
        )
        return cls(tabular, common, np.array(parts, dtype=float))

    def adjusted(self, X: np.ndarray, core: np.ndarray) -> Self:
        """Return the kernel adjusted by the core (c, p) of rows X (n, p)."""
        columns = tuple(
            scaled_by(column, x) if whole else column
            for column, x, whole in zip(
                self.columns, self.numbers(core).T, self.whole, strict=True
            )
        )
        plain = replace(self, tabular=replace(self.tabular, columns=columns))
        if not any(column.span for column in columns):
            return plain.with_inner(RBF(1.0))  # nothing tells a bandwidth
        plain = replace(plain, sides=plain._sides(X, core))
        roots = np.array([inverse_root(v, self.whole) for v in plain.halves(core)])
        if (roots != np.eye(roots.shape[1])).any():
            plain = replace(plain, roots=roots)
        some = np.random.default_rng(0).permutation(X)[:MOST_COMPARED_ROWS]
        squared = pdist(plain.inputs(some)[:, : self.q], "sqeuclidean")
        bandwidth = math.sqrt(median_of_different(squared) / NARROW)
        return plain.with_inner(RBF(bandwidth, "wide"))

    def _sides(self, X: np.ndarray, core: np.ndarray) -> tuple[LongSide | None, ...]:
        """Return the long sides of the columns.

        A column beside a common value is estimated from all rows with other values.
        """
        if self.scale == "normal scores":
            return ()
        z = self.halves(X)[0].T
        of_core = self.halves(core)[0].T
        found = []
        for x, inside, other, whole in zip(
            z, of_core, ~self.at_common(X).T, self.whole, strict=True
        ):
            inside = inside if whole else x[other]
            side = LongSide.of(inside, x[other])
            if side is not None:
                v = side(inside)
                mean, sd = (v.mean(), v.std()) if whole else of_nearest(v)
                side = replace(side, mean=float(mean), sd=float(sd) or 1.0)
            found.append(side)
        return tuple(found)

    @property
    @override
    def normalized(self) -> bool:
        return True

    @property
    @override
    def categorical_columns(self) -> tuple[int, ...]:
        return self.tabular.categorical_columns

    @property
    @override
    def inner(self) -> Kernel:
        return self.tabular.inner

    @override
    def with_inner(self, kernel: Kernel) -> Self:
        return replace(self, tabular=self.tabular.with_inner(kernel))

    @property
    @override
    def scale(self) -> str:
        return self.tabular.scale

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of numbers."""
        return self.tabular.columns or ()

    @property
    def q(self) -> int:
        """The number of coordinates of numbers."""
        return self.tabular.q

    @property
    def whole(self) -> np.ndarray:
        """Which columns of numbers (p,) have one part."""
        return np.isnan(self.common)

    def numbers(self, X: np.ndarray) -> np.ndarray:
        """Return the columns of numbers (m, p) of rows X."""
        return np.delete(X, self.categorical_columns, axis=1)

    def at_common(self, X: np.ndarray) -> np.ndarray:
        """Return which numbers (m, p) of rows X are the common value."""
        return np.asarray(self.numbers(X) == self.common)

    def halves(self, X: np.ndarray) -> np.ndarray:
        """Return the standardised values or normal scores of X, or both, (h, m, p)."""
        numbers = self.numbers(X).T
        both = [c.coordinates(x) for c, x in zip(self.columns, numbers, strict=True)]
        kept = {"both": (0, 1), "standardised": (0,), "normal scores": (1,)}[self.scale]
        found = np.array([[pair[i] for pair in both] for i in kept])
        found = found.reshape(len(kept), len(both), len(X)).swapaxes(1, 2)
        for f, side in enumerate(self.sides):
            if side is not None:
                found[0, :, f] = side(found[0, :, f])
        return np.where(self.at_common(X), 0.0, found)

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        halves = self.halves(X)
        if self.roots is not None:
            halves = halves @ self.roots
        parts = self.at_common(X)[:, ~self.whole]
        numbers = halves / math.sqrt(len(halves))
        return np.hstack([*numbers, X[:, list(self.categorical_columns)], parts])

    @override
    def log(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        q = self.q
        found = self.inner.log(Z[:, :q], Y[:, :q]) if q else np.zeros((len(Z), len(Y)))
        if Z.shape[1] > q:
            found += self.log_factor(Z, Y)
        return found

    def apart(self, Z: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of numbers, and log f of categories, (m, R) each."""
        squared = cdist(Z[:, : self.q], Y[:, : self.q], "sqeuclidean")
        return squared, self.log_factor(Z, Y)

    def log_factor(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log f (m, R) of the categories and parts that differ."""
        found = np.zeros((len(Z), len(Y)))
        p = len(self.categorical_columns)
        z = Z[:, self.q :]
        y = Y[:, self.q :]
        if p:
            found += p * cdist(z[:, :p], y[:, :p], "hamming")
        if z.shape[1] > p:
            found += cdist(z[:, p:] * self.powers, y[:, p:] * self.powers, "cityblock")
        found *= math.log(self.tabular.rho)
        return found

    def __repr__(self) -> str:
        return repr(self.tabular).replace("Tabular", "Decorrelated", 1)


def common_value(x: np.ndarray) -> float:
    """Return the value of more than half of x (n,), but not of all; NaN for none."""
    values, count = np.unique(x, return_counts=True)
    is_common = MOST_COMMON * len(x) < count.max() < len(x)
    return float(values[count.argmax()]) if is_common else math.nan


def power_of(share: float, rho: float) -> float:
    """Return the power of rho of a part, by the share of rows with other values."""
    factor = max(rho, min(LARGEST_FACTOR, FACTOR_OF_SHARE * share))
    return min(1.0, math.log(factor) / math.log(rho))


def of_others(x: np.ndarray) -> Column:
    """Return the column of the values x (v,) beside a common one.

    Its scale is the scale of the values nearest to the median. Its normal scores are
    not standardised: where nearly all values are equal, the others would be far.
    """
    ones = np.ones(len(x))
    x = without_far(x, ones)
    column = Column.of(x, ones)
    column = replace(column, scores=column.scores * column.score_sd, score_sd=1.0)
    mean, sd = of_nearest((x - column.low) / (column.span or 1.0))
    return replace(column, mean=mean, sd=sd) if sd else column


def of_nearest(x: np.ndarray) -> tuple[float, float]:
    """Return mean and sd of x (v,) by the .8 of the values nearest to the median.

    These are taken as the middle part of a normal distribution, whose sd is returned.
    Where fewer than 5 values differ, as of counts, quantiles tell them.
    """
    apart = np.abs(x - np.median(x))
    near = apart <= np.quantile(apart, NEAREST_SHARE, method="inverted_cdf")
    share = near.mean()
    inner = x[near]
    if len(np.unique(inner)) < FEWEST_VALUES:
        low, middle, high = mid_quantiles(x)
        return middle, (high - low) / (2.0 * NORMAL_EDGE)
    if share == 1.0 or inner.std() == 0.0:
        return float(x.mean()), float(x.std())
    end = ndtri((1.0 + share) / 2.0)
    lost = 2.0 * end * np.exp(-(end**2) / 2.0) / math.sqrt(2.0 * math.pi) / share
    return float(inner.mean()), float(inner.std() / np.sqrt(1.0 - lost))


def scaled_by(column: Column, core: np.ndarray) -> Column:
    """Return the column with mean and sd of the values (c,) of the core."""
    if not column.span or not np.ptp(core):
        return column
    v = (core - column.low) / column.span
    return replace(column, mean=float(v.mean()), sd=float(v.std()))


def inverse_root(rows: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return S^{-1/2} (p, p) of the columns of rows (n, p).

    Columns that are constant, or not ``whole``, stay as they are.
    """
    vary = (rows.std(axis=0) > 0.0) & whole
    p = int(vary.sum())
    root = np.eye(rows.shape[1])
    if not p:
        return root
    eta = min(1.0, SHRINKAGE + SHRINKAGE_OF_COLUMNS * p / len(rows))
    if eta == 1.0:  # S is I, and thousands of columns take minutes
        return root
    S = (1.0 - eta) * np.atleast_2d(np.cov(rows[:, vary].T)) + eta * np.eye(p)
    values, vectors = np.linalg.eigh(S)
    root[np.ix_(vary, vary)] = (vectors / np.sqrt(values)) @ vectors.T
    return root


def mid_quantiles(x: np.ndarray) -> list[float]:
    """Return the quantiles .1, .5 and .9 of values x (n,) that may have steps.

    The share of a value is the share of smaller ones, and half of its own (Ma, Genton
    and Parzen 2011). Between and beyond the values it is linear.
    """
    values, count = np.unique(x, return_counts=True)
    if len(values) == 1:
        return [float(values[0])] * len(EDGES)
    share = (np.cumsum(count) - count / 2.0) / len(x)
    place = np.clip(np.searchsorted(share, EDGES), 1, len(values) - 1)
    slope = np.diff(values) / np.diff(share)
    found = values[place] + slope[place - 1] * (np.array(EDGES) - share[place])
    return [float(value) for value in found]


def median_of_different(squared: np.ndarray) -> float:
    """Return m, the median squared distance of rows that differ; 1 if none do."""
    different = squared[squared > COPIES * squared.max(initial=0.0)]
    return float(np.median(different)) if len(different) else 1.0


def sure_skewness(x: np.ndarray) -> float:
    """Return g of values x (n,), nearer to 0 by two standard errors."""
    low, middle, high = mid_quantiles(x)
    if not low < middle < high:
        return 0.0
    g = math.log((high - middle) / (middle - low)) / NORMAL_EDGE
    error = STANDARD_ERROR / math.sqrt(len(x))
    return math.copysign(max(abs(g) - SURE * error, 0.0), g)
