r"""The kernel of a whole table: columns of numbers are adjusted for each other by the core.

Standardised values and normal scores of the columns are multiplied by the symmetric
:math:`S^{-1/2}` each,

.. math:: S = (1 - \eta)\, \mathrm{Cov} + \eta I, \qquad \eta = \min(1, .1 + 2 p / n),

of the n rows of the core and p columns that vary. This root changes columns least
(Kessy, Lewin and Strimmer 2018), so coordinate f is still that of column f.
:math:`s^2 = m / 8`, with m the median squared distance of two rows.

In a column of flags, counts or amounts one value may hold more than half of the rows.
As a number all other rows would be far from it, and odd. Such a column is in two parts:
is it the common value, which is a category; and the number among the other rows, which
is 0 at the common value, has the scale of the other rows, and is not adjusted for other
columns. A share q of other rows is the less a sign of oddness the larger it is, and
would hide rows that are odd: the factor of this category is
:math:`\max(\rho, \min(1/2, 10 q))` in place of :math:`\rho`.

The long side of a skewed column is shortened by the inverse of Tukey's g distribution
(Hoaglin 1985). With :math:`q_{.1}, q_{.5}, q_{.9}` of a standardised column and
:math:`c = \Phi^{-1}(.9)`, a value v on the long side, here the upper one, becomes

.. math:: q_{.5} + \frac{u}{g} \log\left(1 + g\, \frac{v - q_{.5}}{u}\right), \qquad
    g = \frac1c \log \frac{q_{.9} - q_{.5}}{q_{.5} - q_{.1}}, \qquad
    u = \frac{g\, (q_{.5} - q_{.1})}{1 - e^{-g c}}.

Odd rows make a column look skewed, and so do clusters if a core lacks one of them. So g
is the one of the core or of all rows that is nearer to 0, each less two standard errors
(:math:`1.62 / \sqrt n` for normal values), and 0 if they differ in sign.

**References**

Hoaglin, D. C. (1985). Summarizing shape numerically: the g-and-h distributions. In
Exploring Data Tables, Trends, and Shapes, 461-513. Wiley.
doi:10.1002/9781118150702.ch11

Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. The
American Statistician 72, 309-314. doi:10.1080/00031305.2016.1277159
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self, override

import numpy as np
from scipy.spatial.distance import cdist, pdist
from scipy.special import ndtri

from .numeric import RBF
from .tabular import Column, Tabular

MOST_COMMON = 0.5  # share of rows at one value, above which a column is in two parts
NARROW = 8.0  # m / s^2
MOST_ROWS = 3000  # of which all pairs are compared
RIDGE = 0.1
RIDGE_OF_COLUMNS = 2.0
# of a part
LARGEST_FACTOR = 0.5
OF_SHARE = 10.0
NEAR = 0.8  # share of values that tell a scale, those nearest to the median
COPIES = 1e-16  # squared distance, relative to the largest, up to which rows are copies
# quantiles that tell g, and Phi^-1(.9)
EDGES = (0.1, 0.5, 0.9)
C = 1.2815515655446004
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
    middle, unit : float
        The median, and u.
    mean, sd : float
        Of the shortened values; they are standardised again.
    """

    g: float
    middle: float
    unit: float
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, core: np.ndarray, x: np.ndarray) -> Self | None:
        """Return that of values x (n,), of which (m,) are in the core; None if no side is long."""
        of_core = sure_skewness(core)
        of_all = sure_skewness(x)
        if of_core * of_all <= 0.0:
            return None
        g = math.copysign(min(abs(of_core), abs(of_all)), of_core)
        low, middle, high = np.quantile(core, EDGES)
        short = middle - low if g > 0.0 else high - middle
        return cls(g, float(middle), float(short * abs(g) / -math.expm1(-abs(g) * C)))

    def __call__(self, v: np.ndarray) -> np.ndarray:
        """Return the values v (m,) with the long side shortened."""
        scale = self.unit / self.g
        beyond = np.maximum((v - self.middle) / scale, 0.0)
        shortened = np.where(beyond > 0.0, self.middle + scale * np.log1p(beyond), v)
        return np.asarray((shortened - self.mean) / self.sd)


@dataclass(frozen=True, eq=False, repr=False)
class Decorrelated(Tabular):
    """The kernel of a table with odd rows inside, which no rows teach again.

    Attributes
    ----------
    common : ndarray of shape (p,)
        The common value of each column of numbers; NaN for none.
    weights : ndarray of shape (c,)
        What each category counts, and then each part: powers of rho.
    sides : tuple of LongSide or None
        Of the standardised values of the columns.
    roots : ndarray of shape (h, p, p), optional
        The matrices S^{-1/2} of values, of normal scores, or of both.
    """

    of_core = True

    common: np.ndarray | None = None
    weights: np.ndarray | None = None
    sides: tuple[LongSide | None, ...] = ()
    roots: np.ndarray | None = None

    @classmethod
    def plain(cls, asked: Tabular, X: np.ndarray) -> Self:
        """Return the kernel of rows X (n, p), whose columns are not adjusted for each other."""
        categorical = asked.categorical_columns
        numbers = np.delete(X, categorical, axis=1).T
        common = np.array([common_value(x) for x in numbers])
        taught = asked.rescaled(X, np.ones(len(X))).columns
        columns = tuple(
            column if np.isnan(value) else of_others(x[x != value])
            for x, value, column in zip(numbers, common, taught or (), strict=True)
        )
        shares = [
            (x != c).mean()
            for x, c in zip(numbers, common, strict=True)
            if not np.isnan(c)
        ]
        parts = [power_of(share, asked.rho) for share in shares]
        weights = np.append(np.ones(len(categorical)), parts)
        return cls(
            kernel=RBF("wide"),
            rho=asked.rho,
            categorical=categorical,
            scale=asked.scale,
            columns=columns,
            cyclic=asked.cyclic,
            common=common,
            weights=weights,
        )

    def adjusted(self, X: np.ndarray, core: np.ndarray) -> Self:
        """Return the kernel adjusted by the core (c, p) of rows X (n, p)."""
        assert self.columns is not None
        numbers = np.delete(core, self.categorical_columns, axis=1).T
        columns = tuple(
            scaled_by(column, x) if whole else column
            for column, x, whole in zip(self.columns, numbers, self.whole, strict=True)
        )
        plain = replace(self, columns=columns)
        if not any(column.span for column in columns):
            return replace(plain, kernel=RBF(1.0))  # nothing tells a bandwidth
        plain = replace(plain, sides=plain._sides(X, core))
        roots = [inverse_root(half, self.whole) for half in plain.halves(core)]
        plain = replace(plain, roots=np.array(roots))
        some = np.random.default_rng(0).permutation(X)[:MOST_ROWS]
        squared = pdist(plain.inputs(some)[:, : self.q], "sqeuclidean")
        return replace(plain, kernel=RBF(math.sqrt(middle(squared) / NARROW), "wide"))

    def _sides(self, X: np.ndarray, core: np.ndarray) -> tuple[LongSide | None, ...]:
        """Return the long sides; those of numbers beside a common value are told by all of them."""
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
                values = side(inside)
                mean, sd = (
                    (values.mean(), values.std()) if whole else of_nearest(values)
                )
                side = replace(side, mean=float(mean), sd=float(sd) or 1.0)
            found.append(side)
        return tuple(found)

    @override
    def fit(
        self, X: np.ndarray, weight: np.ndarray, group: np.ndarray, columns: int = 0
    ) -> Self:
        return self

    @override
    def rescaled(self, X: np.ndarray, weight: np.ndarray) -> Self:
        return self

    @property
    def whole(self) -> np.ndarray:
        """Which columns of numbers (p,) are in one part."""
        assert self.common is not None
        return np.isnan(self.common)

    def at_common(self, X: np.ndarray) -> np.ndarray:
        """Return which numbers (m, p) of rows X are the common value."""
        return np.asarray(np.delete(X, self.categorical_columns, axis=1) == self.common)

    def halves(self, X: np.ndarray) -> np.ndarray:
        """Return the standardised values or the normal scores of rows X, or both, (h, m, p)."""
        assert self.columns is not None
        numbers = np.delete(X, self.categorical_columns, axis=1).T
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
    def differ(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        weights = self.weights
        assert weights is not None
        share = cdist(Z[:, self.q :], Y[:, self.q :], "hamming", w=weights)
        return np.asarray(share * weights.sum())

    def apart(self, Z: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return squared distances of numbers, and log f of categories, (m, R) each."""
        squared = cdist(Z[:, : self.q], Y[:, : self.q], "sqeuclidean")
        if Z.shape[1] == self.q:
            return squared, np.zeros_like(squared)
        return squared, math.log(self.rho) * self.differ(Z, Y)

    def __repr__(self) -> str:
        return super().__repr__().replace("Tabular", "Decorrelated", 1)


def common_value(x: np.ndarray) -> float:
    """Return the value that more than half of the values x (n,) have, but not all; else NaN."""
    values, count = np.unique(x, return_counts=True)
    is_common = MOST_COMMON * len(x) < count.max() < len(x)
    return float(values[count.argmax()]) if is_common else math.nan


def power_of(share: float, rho: float) -> float:
    """Return the power of rho of a part in which a share of the rows differ from the others."""
    factor = max(rho, min(LARGEST_FACTOR, OF_SHARE * share))
    return min(1.0, math.log(factor) / math.log(rho))


def of_others(x: np.ndarray) -> Column:
    """Return the column of the values x (v,) beside a common one, on the scale of the nearest."""
    column = Column.of(x, np.ones(len(x)))
    mean, sd = of_nearest((x - column.low) / (column.span or 1.0))
    return replace(column, mean=mean, sd=sd) if sd else column


def of_nearest(x: np.ndarray) -> tuple[float, float]:
    """Return mean and sd by the .8 of the values x (v,) that are nearest to their median.

    The sd is that of a normal distribution of which they are the middle part.
    """
    apart = np.abs(x - np.median(x))
    near = apart <= np.quantile(apart, NEAR, method="inverted_cdf")
    share = near.mean()
    inner = x[near]
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
    """Return S^{-1/2} (p, p) of columns; constant ones stay, and those that are not ``whole``."""
    vary = (rows.std(axis=0) > 0.0) & whole
    p = int(vary.sum())
    root = np.eye(rows.shape[1])
    if not p:
        return root
    eta = min(1.0, RIDGE + RIDGE_OF_COLUMNS * p / len(rows))
    S = (1.0 - eta) * np.atleast_2d(np.cov(rows[:, vary].T)) + eta * np.eye(p)
    values, vectors = np.linalg.eigh(S)
    root[np.ix_(vary, vary)] = (vectors / np.sqrt(values)) @ vectors.T
    return root


def middle(squared: np.ndarray) -> float:
    """Return m, the median of squared distances of rows that differ; 1 if none do."""
    different = squared[squared > COPIES * squared.max(initial=0.0)]
    return float(np.median(different)) if len(different) else 1.0


def sure_skewness(x: np.ndarray) -> float:
    """Return g of values x (n,), nearer to 0 by two standard errors."""
    low, middle, high = np.quantile(x, EDGES)
    if not low < middle < high:
        return 0.0
    g = math.log((high - middle) / (middle - low)) / C
    return math.copysign(
        max(abs(g) - SURE * STANDARD_ERROR / math.sqrt(len(x)), 0.0), g
    )
