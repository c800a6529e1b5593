"""The kernel of tables: columns of numbers on two scales, and columns of categories."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, override

import numpy as np
from scipy.special import ndtri

from .base import Kernel, Wrapper, is_number
from .numeric import RBF, DistanceKernel

INDICATORS = 100  # categories of a column that have an indicator of their own in ``inputs``
KNOTS = 1000  # largest number of values of a column that are kept for its normal scores
FAR = 5.0  # standard deviations from a column that was constant to a value that differs
# shares of the identity in a covariance of standardised columns: whatever its rows are, and for
# each column relative to their number, as few rows make columns look dependent that are not
RIDGE, RIDGE_OF_COLUMNS = 0.1, 2.0
SCALES = ("both", "standardised", "normal scores")
DENORMAL, REMOTE = 1e-290, 1e150  # sd of a column that needs another unit; values there, at most
ROUNDING = 1e-12  # difference, relative to the values, below which values are equal
EDGES = 0.1, 0.5, 0.9  # quantiles that tell how skewed a column is
EDGE = float(ndtri(EDGES[-1]))
SKEW_ERROR = 1.62  # standard error of g, times the root of n: of normal values, by the delta method
SURE = 2.0  # standard errors


@dataclass(frozen=True)
class LongSide:
    """The long side of a standardised column, which counts as shortened; see :class:`Tabular`.

    Attributes
    ----------
    g : float
        Below 0 if the lower side is the long one.
    middle, unit : float
        The median, and u.
    mean, sd : float
        Of the values with the long side shortened, which have 0 and 1 after it.
    """

    g: float
    middle: float
    unit: float
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, core: np.ndarray, x: np.ndarray) -> LongSide | None:
        """Return that of standardised values x (n,), of which (m,) are in the core; or None."""
        of_core, of_all = _sure_skewness(core), _sure_skewness(x)
        g = math.copysign(min(abs(of_core), abs(of_all)), of_core)
        if g == 0.0 or of_core * of_all < 0.0:
            return None
        low, middle, high = np.quantile(core, EDGES)
        short = middle - low if g > 0.0 else high - middle
        unit = float(short * abs(g) / -math.expm1(-abs(g) * EDGE))
        new = cls(g, float(middle), unit)
        values = new.shortened(x)
        return replace(new, mean=float(values.mean()), sd=float(values.std()))

    def shortened(self, v: np.ndarray) -> np.ndarray:
        """Return the values v (m,) with the long side shortened, standardised again."""
        scale = self.unit / self.g
        beyond = np.maximum((v - self.middle) / scale, 0.0)
        shortened = np.where(beyond > 0.0, self.middle + scale * np.log1p(beyond), v)
        found: np.ndarray = (shortened - self.mean) / self.sd
        return found


def _sure_skewness(x: np.ndarray) -> float:
    """Return the g of values x (n,), nearer to 0 by two standard errors; 0 if nothing is left."""
    low, middle, high = np.quantile(x, EDGES)
    if not low < middle < high:
        return 0.0
    g = math.log((high - middle) / (middle - low)) / EDGE
    return math.copysign(max(abs(g) - SURE * SKEW_ERROR / math.sqrt(len(x)), 0.0), g)


@dataclass(frozen=True)
class Column:
    """What the majority rows say of a column of numbers.

    Attributes
    ----------
    mean, sd : float
        Of its values; the sd of a constant column is 0.
    n : int
        Number of rows.
    values, ranks : tuple of float
        Distinct values in ascending order, and (#{x < v} + #{x <= v}) / 2 for each of them.
    mean_score, sd_score : float
        Mean and standard deviation of the normal scores of the rows.
    long_side : LongSide, optional
        The side of the standardised values that is shortened.
    """

    mean: float
    sd: float = 0.0
    n: int = 0
    values: tuple[float, ...] = ()
    ranks: tuple[float, ...] = ()
    mean_score: float = 0.0
    sd_score: float = 1.0
    long_side: LongSide | None = None

    @classmethod
    def of(cls, x: np.ndarray) -> Column:
        """Return what is learned from the values x (n,) of the majority rows."""
        low, high = float(x.min()), float(x.max())
        if high - low <= ROUNDING * max(abs(low), abs(high)):
            return cls(mean=low / 2.0 + high / 2.0)
        unit = (x - low) / (high - low)  # whose squares are of a size that numbers have
        values, counts = np.unique(x, return_counts=True)
        ranks = np.cumsum(counts) - counts / 2.0
        scores = ndtri((ranks + 0.5) / (len(x) + 1.0))
        center = counts @ scores / len(x)
        spread = np.sqrt(counts @ np.square(scores - center) / len(x))
        if len(values) > KNOTS:  # scores at equal steps, so that none between them is far off
            inner = np.searchsorted(scores, np.linspace(scores[0], scores[-1], KNOTS - 4))
            last = len(values) - 1
            kept = np.unique([0, 1, *np.minimum(inner, last), last - 1, last])
            values, ranks = values[kept], ranks[kept]
        return cls(
            mean=low + (high - low) * float(unit.mean()),
            sd=(high - low) * float(unit.std()),
            n=len(x),
            values=tuple(values.tolist()),
            ranks=tuple(ranks.tolist()),
            mean_score=float(center),
            sd_score=float(spread),
        )

    @cached_property
    def _table(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The values, their ranks and their normal scores."""
        ranks = np.array(self.ranks)
        return np.array(self.values), ranks, ndtri((ranks + 0.5) / (self.n + 1.0))

    def coordinates(self, v: np.ndarray, left_out: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Return the standardised values and the standardised normal scores of v (m,).

        With ``left_out``, v has values of majority rows, each of which leaves the mean, the
        standard deviation and the ranks.
        """
        if self.sd == 0.0:
            differs = FAR * (np.abs(v - self.mean) > ROUNDING * abs(self.mean))
            return differs, differs
        if self.sd < DENORMAL:  # the reciprocals of differences are beyond all numbers
            values = np.array(self.values) / self.sd
            own = replace(self, mean=self.mean / self.sd, sd=1.0, values=tuple(values.tolist()))
            with np.errstate(over="ignore"):
                return own.coordinates(np.clip(v / self.sd, -REMOTE, REMOTE), left_out)
        values, _, table = self._table
        tails = (v - np.minimum(np.maximum(v, values[0]), values[-1])) / self.sd
        score = np.interp(v, values, table) + tails
        score = (score - self.mean_score) / self.sd_score
        z = (v - self.mean) / self.sd
        if left_out:  # of a column that has no long side
            return self._left_out(v, z, score)
        return (z if self.long_side is None else self.long_side.shortened(z)), score

    def _left_out(
        self, v: np.ndarray, z: np.ndarray, own_score: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the coordinates of each value by the other rows.

        One that differs from others that are all equal has those of a constant column.
        """
        rest = self.n - 1.0
        share = 1.0 - np.square(z) / rest  # of the sum of squares that the others keep
        alone = share <= ROUNDING
        ratio = np.sqrt(rest / self.n / np.where(alone, 1.0, share))  # of the standard deviations
        values, ranks, _ = self._table
        score = np.asarray(ndtri(np.interp(v, values, ranks) / self.n))
        if ranks[0] == 0.5:  # one row has the smallest value
            first, edge = v <= values[0], ndtri((ranks[1] - 0.5) / self.n)
            score[first] = edge - (values[1] - values[0]) / self.sd * ratio[first]
        if ranks[-1] == self.n - 0.5:
            last, edge = v >= values[-1], ndtri((ranks[-2] + 0.5) / self.n)
            score[last] = edge + (values[-1] - values[-2]) / self.sd * ratio[last]
        score = (score - self.mean_score) / self.sd_score - own_score / rest
        z = z * (self.n * ratio - 1.0) / rest  # from the mean of the others, which is -z / rest
        return np.where(alone, FAR, z), np.where(alone, FAR, score)


@dataclass(frozen=True)
class Tabular(Wrapper):
    r"""The kernel of a table: numbers on two scales, constant columns, and categories.

    .. math:: k(x, z) = k_0(\tilde x_N, \tilde z_N)\; \rho^{\,\#\{c \in C:\ x_c \ne z_c\}}

    with N the columns of numbers and C those of categories. Each column f of numbers has two
    coordinates,

    .. math:: \tilde x_f = \sqrt{\tfrac12} \left(\frac{x_f - \mu_f}{\sigma_f},\;
        \frac{g_f(x_f) - \bar g_f}{s_f}\right), \qquad
        g_f(v) = \Phi^{-1}\left(\frac{(\#\{x < v\} + \#\{x \le v\}) / 2 + 1/2}{n + 1}\right),

    so squared distances of k_0 are means of those of the standardised values and of those of the
    normal scores (van der Waerden 1952), which no long tail stretches. Between two values of
    majority rows g is linear, beyond the largest it is that of the largest plus
    :math:`(v - x_{max}) / \sigma`, and below the smallest alike. Mean, standard deviation and ranks
    are those of the majority rows. A column that is constant in them has the coordinates 0, and 5
    for any other value: such a row is abnormal.

    With ``decorrelated``, the long side of a skewed column is shortened, and the column is
    standardised again. With :math:`q_{.1}, q_{.5}, q_{.9}` of its standardised values and
    :math:`c = \Phi^{-1}(.9)`, a value v on the long side, here the upper one, becomes

    .. math:: q_{.5} + \frac{u}{g} \log\left(1 + g\, \frac{v - q_{.5}}{u}\right), \qquad
        g = \frac1c \log \frac{q_{.9} - q_{.5}}{q_{.5} - q_{.1}}, \qquad
        u = \frac{g\, (q_{.5} - q_{.1})}{1 - e^{-g c}},

    the inverse of Tukey's g distribution (Hoaglin 1985); the other side stays as it is. Odd rows
    make a column look skewed, and so do clusters if a core lacks one of them. So g is the one of
    the core or of all rows that is nearer to 0, each less two standard errors
    (:math:`1.62 / \sqrt n` for normal values), and 0 if they differ in sign.

    Then each half of the coordinates is multiplied by the symmetric :math:`S^{-1/2}`,

    .. math:: S = (1 - \eta)\, \mathrm{Cov} + \eta I, \qquad \eta = \min(1, .1 + 2 p / n),

    with the covariance of n rows in this half and p the number of columns that vary. The root is
    the one that changes columns least (Kessy, Lewin and Strimmer 2018), so coordinate f is still
    that of column f, adjusted for the others.

    A gap of a row has the median (a category: the most frequent one) of the 10 training rows that
    are nearest in the other columns. Scores, P(normal), intervals and the p-values of left-out rows
    of a description have the value of another of the 10 in each draw.

    The factor of a column of categories is :math:`\rho` times the matrix of ones, and
    :math:`1 - \rho` times the matrix of "is the same category", so it is positive definite, and so
    is the product. A category that no majority row has differs from all others.

    Parameters
    ----------
    kernel : Kernel or callable, default=RBF("likelihood")
        :math:`k_0`, which sees the coordinates. Its bandwidth is in standard deviations; the
        criterion "likelihood" counts a column once.
    rho : float, default=0.01
        :math:`\rho`, by which the similarity of two rows falls for each column whose categories
        differ. The default, exp(-4.6), counts another category as much as a difference of three
        bandwidths in a column of numbers under an RBF kernel. The guide compares it with others.
    categorical : sequence of int, optional
        Positions of the columns of categories. Default: in a data frame or a file, the columns of
        text and those of pandas' type ``category``; booleans count as numbers. In an array name
        the positions; there a category is a number.
    scale : {"both", "standardised", "normal scores"}, default="both"
        The coordinates of a column of numbers. With one of them, it counts fully and not by 1/2;
        :class:`bsvdd.Views` sets it.
    decorrelated : bool, default=False
        Whether long sides are shortened and columns of numbers adjusted for each other; set where
        odd rows are among the training rows.
    numbers : tuple of Column, optional
        What the majority rows say of the columns of numbers; set by
        :meth:`~bsvdd.kernels.Kernel.resolve`.
    categories : tuple of tuple of float, optional
        The most frequent categories of the majority rows; set there too.
    adjustment : tuple, optional
        The matrices :math:`S^{-1/2}`, for each half; set there too.

    Raises
    ------
    ValueError
        :math:`\rho` does not lie between 0 and 1, a position is no whole number of at least
        0 or no column, a scale is unknown, or the kernel is precomputed.

    Notes
    -----
    At most 1,000 values of a column are kept, at equal steps of their scores. Inside, a category
    is a number: see :func:`bsvdd.estimators.rows.categories.codes`. Equal numbers are the same
    category, and their size does not matter.

    References
    ----------
    Aitchison, J. and Aitken, C. G. G. (1976). Multivariate binary discrimination by the kernel
    method. Biometrika 63, 413-420. doi:10.1093/biomet/63.3.413

    Hoaglin, D. C. (1985). Summarizing shape numerically: the g-and-h distributions. In Exploring
    Data Tables, Trends, and Shapes, 461-513. Wiley. doi:10.1002/9781118150702.ch11

    Kessy, A., Lewin, A. and Strimmer, K. (2018). Optimal whitening and decorrelation. The American
    Statistician 72, 309-314. doi:10.1080/00031305.2016.1277159

    van der Waerden, B. L. (1952). Order tests for the two-sample problem and their power.
    Indagationes Mathematicae 14, 453-458.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd import SVDD, kernels
    >>> X = pd.DataFrame({"size": [1.0, 1.2, 0.9, 1.1] * 9, "colour": ["red", "blue"] * 18})
    >>> est = SVDD(kernel=kernels.Tabular(kernels.RBF("median"))).fit(X)
    >>> est.predict(pd.DataFrame({"size": [1.0, 1.0], "colour": ["red", "green"]}))
    array([ 1, -1])
    """

    takes_categories: ClassVar[bool] = True
    fills_gaps = True

    kernel: Kernel | Callable[..., Any] = RBF("likelihood")
    rho: float = 0.01
    categorical: tuple[int, ...] | None = None
    scale: Literal["both", "standardised", "normal scores"] = "both"
    decorrelated: bool = False
    numbers: tuple[Column, ...] | None = None
    categories: tuple[tuple[float, ...], ...] | None = None
    adjustment: tuple[tuple[tuple[float, ...], ...], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._inner.takes_categories:
            raise ValueError(f"Tabular needs a kernel of numbers, got {self.kernel!r}")
        if not (is_number(self.rho) and 0.0 < self.rho < 1.0):
            raise ValueError(f"rho must lie between 0 and 1, got {self.rho!r}")
        if not isinstance(self.decorrelated, bool):
            raise TypeError(f"decorrelated must be True or False, got {self.decorrelated!r}")
        if self.scale not in SCALES:
            raise ValueError(f"scale must be one of {SCALES}, got {self.scale!r}")
        if self.categorical is not None:
            vars(self)["categorical"] = _positions(self.categorical)

    @property
    @override
    def categorical_columns(self) -> tuple[int, ...]:
        return self.categorical or ()

    @override
    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Self:
        p = X.shape[1]
        if self.categorical_columns and self.categorical_columns[-1] >= p:
            raise ValueError(
                f"categorical: {self.categorical_columns[-1]} is no column of X, which has {p} "
                f"columns, 0 to {p - 1}"
            )
        frequent = []
        for column in X[:, list(self.categorical_columns)].T:
            codes, counts = np.unique(column, return_counts=True)
            order = np.argsort(-counts, kind="stable")[:INDICATORS]
            frequent.append(tuple(np.sort(codes[order]).tolist()))
        of_numbers = np.delete(X, self.categorical_columns, axis=1).T
        new = replace(
            self,
            numbers=tuple(map(Column.of, of_numbers)),
            categories=tuple(frequent),
            adjustment=None,
        )
        inner = self._inner
        if new.dimensions or not self.categorical_columns:
            if self.decorrelated:
                return new.adjusted_by(X, X)
            return replace(new, kernel=inner.resolve(new.columns(X), new.dimensions))
        # only categories vary: nothing tells a bandwidth, and a standard deviation is one
        if isinstance(inner, DistanceKernel) and isinstance(inner.bandwidth, str):
            inner = replace(inner, bandwidth=1.0, criterion=inner.bandwidth)
        return replace(new, kernel=inner)

    def adjusted_by(self, core: np.ndarray, X: np.ndarray) -> Self:
        """Return the kernel with columns that are adjusted by some rows.

        Parameters
        ----------
        core : ndarray of shape (m, p)
            The rows of the covariance, and of the long sides.
        X : ndarray of shape (n, p)
            All rows, of which the bandwidth follows by its criterion.
        """
        new, inner, found = self.plain, self._inner, []
        vary = np.array([column.sd > 0.0 for column in new.numbers or ()])
        if _ridge(len(core), int(vary.sum())) < 1.0:  # else S is the identity
            if 0 in self._chosen:
                of_core, z = (
                    new._standardised(rows.astype(float), False)[..., 0].T for rows in (core, X)
                )
                pairs = zip(new.numbers or (), map(LongSide.of, of_core, z), strict=True)
                new = replace(new, numbers=tuple(replace(c, long_side=side) for c, side in pairs))
            halves = new._standardised(core.astype(float), False)
            for half in np.moveaxis(halves, 2, 0):
                matrix = np.eye(len(vary))  # columns that are constant in all rows stay as they are
                matrix[np.ix_(vary, vary)] = _inverse_root(half[:, vary])
                found.append(tuple(map(tuple, matrix.tolist())))
            new = replace(new, adjustment=tuple(found))
        if isinstance(inner, DistanceKernel) and inner.criterion is not None:
            inner = replace(inner, bandwidth=inner.criterion)
        return replace(new, kernel=inner.resolve(new.columns(X), self.dimensions))

    @property
    def plain(self) -> Self:
        """The kernel with columns as they are."""
        numbers = tuple(replace(column, long_side=None) for column in self.numbers or ())
        return replace(self, numbers=numbers, adjustment=None)

    @property
    @override
    def adjusts(self) -> bool:
        return self.adjustment is not None

    @cached_property
    def _adjustment(self) -> np.ndarray:
        return np.array(self.adjustment)

    @property
    def dimensions(self) -> int:
        """The number of columns of numbers that vary."""
        return sum(column.sd > 0.0 for column in self.numbers or ())

    @cached_property
    @override
    def leaving_out(self) -> Kernel:
        # where odd rows are inside, scales and ranks are those of the whole table: without its own
        # row, one that is far off gets so far that the tail of all surprises looks heavy
        if self.decorrelated:
            return self
        return _LeavingOut(**{each.name: getattr(self, each.name) for each in fields(self)})

    @override
    def columns(self, X: np.ndarray) -> np.ndarray:
        return self._coordinates(X, False)

    def _coordinates(self, X: np.ndarray, left_out: bool) -> np.ndarray:
        """Return the coordinates of each column of numbers, (n, columns of k_0), side by side."""
        factor = np.sqrt(1.0 / len(self._chosen))
        if self.adjustment is None:
            result = self._standardised(X, left_out, factor)
        else:
            result = self._standardised(X, left_out)
            for place, matrix in enumerate(self._adjustment):
                result[:, :, place] = result[:, :, place] @ matrix * factor
        return result.reshape(len(X), result.shape[1] * result.shape[2])

    def _standardised(self, X: np.ndarray, left_out: bool, factor: float = 1.0) -> np.ndarray:
        """Return the standardised values and normal scores times a factor.

        Shape (n, columns of numbers, 1 or 2); in the precision of X, but at least single.
        """
        if self.numbers is None:
            raise ValueError("Tabular has learned no columns yet; call kernel.resolve(X) first")
        of_numbers = [f for f in range(X.shape[1]) if f not in self.categorical_columns]
        chosen = self._chosen
        shape = (len(X), len(of_numbers), len(chosen))
        result = np.empty(shape, np.result_type(X.dtype, np.float32))
        values = np.array(X.T, dtype=float, order="C")
        for i, (f, column) in enumerate(zip(of_numbers, self.numbers, strict=True)):
            both = column.coordinates(values[f], left_out)
            for place, which in enumerate(chosen):
                result[:, i, place] = factor * both[which]
        return result

    @property
    def _chosen(self) -> tuple[int, ...]:
        """The numbers of the coordinates of a column: 0 standardised, 1 normal scores."""
        return (0, 1) if self.scale == "both" else (SCALES.index(self.scale) - 1,)

    def _differing(self, X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        """Yield, for each column of categories, which x_i and y_j differ, (n, m)."""
        for f in self.categorical_columns:
            yield X[:, f, None] != Y[:, f]

    def _plus_categories(self, log_k: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return logarithms (n, m), plus those of the factors of the categories."""
        for differ in self._differing(X, Y):
            np.add(log_k, math.log(self.rho), out=log_k, where=differ)
        return log_k

    def _times_categories(self, K: np.ndarray, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return kernel values (n, m) of numbers, times the factors of the categories."""
        for differ in self._differing(X, Y):
            np.multiply(K, self.rho, out=K, where=differ)
        return K

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Return the inputs of the kernel of numbers, then indicators of the categories.

        Rows of different categories are sqrt(2) apart in their indicators, as two rows are on
        average in a column of numbers. Beyond the 100 most frequent categories of a column, all
        others have one indicator in common.
        """
        parts = [super().inputs(X)]
        for f, codes in zip(self.categorical_columns, self.categories or (), strict=True):
            own = (X[:, f, None] == np.array(codes)).astype(float)
            parts.append(np.column_stack([own, 1.0 - own.sum(axis=1)]))
        return np.concatenate(parts, axis=1)

    @override
    def log(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._plus_categories(super().log(X, Y), X, Y)

    @override
    def apart(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
        others = self.columns(Y)
        of_numbers, _ = self._inner.apart(others if X is Y else self.columns(X), others)
        if not self.categorical_columns:
            return of_numbers, 0.0
        return of_numbers, self._plus_categories(np.zeros(of_numbers.shape), X, Y)

    @override
    def by_column(self, X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        of_numbers = super().by_column(X, Y)
        for f in range(X.shape[1]):
            if f in self.categorical_columns:
                yield -math.log(self.rho) * (X[:, f, None] != Y[:, f])
            else:
                terms = next(of_numbers)
                if self.scale == "both":
                    terms = terms.copy()
                    terms += next(of_numbers)
                yield terms

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._times_categories(super()._matrix(X, Y), X, Y)

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        return self._times_categories(super()._symmetric(X), X, X)

    @override
    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        if self.categorical_columns:  # a factor of each pair of rows
            return Kernel.summed(self, X, Y)
        return super().summed(X, Y)

    def __repr__(self) -> str:
        rho = f", rho={self.rho:.6g}" if self.categorical or self.rho != Tabular.rho else ""
        columns = "" if not self.categorical else f", categorical={self.categorical}"
        scale = "" if self.scale == "both" else f", scale={self.scale!r}"
        decorrelated = ", decorrelated=True" if self.decorrelated else ""
        return f"Tabular({self.kernel!r}{rho}{columns}{scale}{decorrelated})"


@dataclass(frozen=True, repr=False)
class _LeavingOut(Tabular):
    """The kernel of rows that are left out of the ranks of the columns, with other points."""

    @override
    def _first(self, X: np.ndarray) -> np.ndarray:
        return self._coordinates(X, True)


def _ridge(n: int, p: int) -> float:
    """Return the share of the identity in S."""
    return min(1.0, RIDGE + RIDGE_OF_COLUMNS * p / n)


def _inverse_root(rows: np.ndarray) -> np.ndarray:
    """Return S^(-1/2) of standardised columns (n, p), shape (p, p), see :class:`Tabular`."""
    n, p = rows.shape
    ridge = _ridge(n, p)
    covariance = np.atleast_2d(np.cov(rows.T)) if n > 1 else np.zeros((p, p))
    values, vectors = np.linalg.eigh((1.0 - ridge) * covariance + ridge * np.eye(p))
    root: np.ndarray = (vectors / np.sqrt(values)) @ vectors.T
    return root


def _is_position(column: Any) -> bool:
    return is_number(column) and column >= 0 and int(column) == column


def _positions(columns: Any) -> tuple[int, ...]:
    given = (columns,) if is_number(columns) else tuple(columns)
    if not all(map(_is_position, given)):
        raise ValueError(
            "categorical must be positions of columns, whole numbers of at least 0, got "
            f"{columns!r}; for a data frame, columns.get_loc(name) is the position of a column"
        )
    return tuple(sorted({int(c) for c in given}))
