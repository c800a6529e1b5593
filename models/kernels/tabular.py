"""The kernel of tables: columns of numbers on two scales, and columns of categories."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self, override

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import ndtri

from ..rows import midranks
from .base import Kernel, as_kernel, is_number
from .numeric import RBF, OfDistance

# standard deviations from the value of a constant column to another value
CONSTANT_DISTANCE = 5.0
# range of a column, relative to its values, below which it is constant
ROUNDED_RANGE = 1e-12
# ranges of a column from its smallest value, at most: the squared distances of other
# rows keep their digits beside it
REMOTE = 1e6
JUMP = 10.0  # ratio of two distances to the median, beyond which values are far
MOST_FAR = 0.1  # of the values that differ from the median
COLUMN_SCALES = ("both", "standardised", "normal scores")


@dataclass(frozen=True, eq=False)
class Column:
    """A column of numbers, as majority rows have it, with values v scaled to [0, 1].

    Far values count as the nearest that is not far, see :class:`Tabular`.

    Attributes
    ----------
    low, span : float
        The smallest value and the range; the range of a constant column is 0.
    mean, sd : float
        Of v.
    values, scores : ndarray of shape (u,)
        The distinct v in ascending order, and their standardised normal scores.
    score_sd : float
        The standard deviation of the normal scores before.
    """

    low: float
    span: float
    mean: float
    sd: float
    values: np.ndarray
    scores: np.ndarray
    score_sd: float

    @classmethod
    def of(cls, x: np.ndarray, weight: np.ndarray) -> Self:
        """Return the column of values x (n,) with weights (n,)."""
        low = float(x.min())
        high = float(x.max())
        if high - low <= ROUNDED_RANGE * max(abs(low), abs(high)):
            return cls(low, 0.0, 0.0, 0.0, np.zeros(1), np.zeros(1), 1.0)
        values, place = np.unique((x - low) / (high - low), return_inverse=True)
        counts = np.bincount(place, weight)
        n = len(x)
        counts *= n / counts.sum()
        share = counts / n
        scores = ndtri((np.cumsum(counts) - counts / 2.0 + 0.5) / (n + 1.0))
        mean = share @ scores
        center = share @ values
        score_sd = np.sqrt(share @ (scores - mean) ** 2)
        sd = np.sqrt(share @ (values - center) ** 2)
        scores = (scores - mean) / score_sd
        own = (float(center), float(sd), values, scores, float(score_sd))
        return cls(low, high - low, *own)

    @classmethod
    def cyclic(cls, x: np.ndarray, weight: np.ndarray) -> Self:
        """Return the column of cosines or sines x (n,), whose scores are values."""
        own = cls.of(x, weight)
        if not own.span:
            return own
        ends = np.array([0.0, 1.0])
        scores = (ends - own.mean) / own.sd
        return replace(own, values=ends, scores=scores, score_sd=1.0)

    def coordinates(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the standardised values and the normal scores of x (m,)."""
        if not self.span:
            differs = np.abs(x - self.low) > ROUNDED_RANGE * abs(self.low)
            return CONSTANT_DISTANCE * differs, CONSTANT_DISTANCE * differs
        with np.errstate(over="ignore"):
            v = np.clip((x - self.low) / self.span, -REMOTE, REMOTE)
        beyond = (v - np.clip(v, 0.0, 1.0)) / self.sd / self.score_sd
        scores = np.interp(v, self.values, self.scores) + beyond
        return (v - self.mean) / self.sd, scores

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Column):
            return False
        return all(map(np.array_equal, vars(self).values(), vars(other).values()))

    def __hash__(self) -> int:
        return hash((self.low, self.span, self.mean, self.sd, self.score_sd))


def without_far(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return values x (n,), each far one replaced by the nearest that is not far.

    Up to a tenth of the values that differ from the median, by their weights (n,), is
    far: from where, by distance to the median, one is 10 times as far as the one
    before.
    """
    order = np.argsort(x)
    t = weight[order]
    with np.errstate(over="ignore"):  # infinity is far too
        apart = np.abs(x[order] - np.interp(t.sum() / 2.0, midranks(t), x[order]))
        by_distance = np.argsort(apart, kind="stable")  # quick: two sorted runs
        d = apart[by_distance]
        beyond = np.cumsum((t * (apart > 0.0))[by_distance[::-1]])[::-1]
        few = beyond[1:] <= MOST_FAR * beyond[0] * (1.0 + 1e-9)
        jumps = few & (d[1:] > JUMP * d[:-1]) & (d[:-1] > 0.0)
    if not jumps.any():
        return x
    near = x[order][apart <= d[jumps.argmax()]]
    return np.clip(x, near[0], near[-1])


@dataclass(frozen=True)
class Tabular(Kernel):
    r"""The kernel of a table: numbers on two scales, constant columns, and categories.

    .. math:: k(x, z) = k_0(\tilde x_N, \tilde z_N)\;
        \rho^{\,\#\{c \in C:\ x_c \ne z_c\}}

    with N the columns of numbers and C the columns of categories. A column f of numbers
    has two coordinates,

    .. math:: \tilde x_f = \sqrt{\tfrac12} \left(\frac{x_f - \mu_f}{\sigma_f},\;
        \frac{g_f(x_f) - \bar g_f}{s_f}\right), \qquad
        g_f(v) = \Phi^{-1}\left(
        \frac{(\#\{x < v\} + \#\{x \le v\}) / 2 + 1/2}{n + 1}\right).

    So a squared distance is the mean of two: between standardised values, and between
    normal scores (van der Waerden 1952), which no long tail stretches. Between two
    values of majority rows g is linear, and beyond them it grows as the standardised
    value. Rows count by their weights.

    A far value counts as the nearest that is not, for the scales of its column and for
    the bandwidth, so no wild value hides other rows. Up to a tenth of the values that
    differ from the median is far: from where, by distance to the median, one is 10
    times as far as the one before. Flags, counts and long tails have no such jump.

    In a constant column the coordinate is 0, and 5 for any other value: such a row is
    abnormal. A factor :math:`\rho` is positive definite (Aitchison and Aitken 1976).

    Parameters
    ----------
    kernel : Kernel or callable, default=RBF("likelihood")
        :math:`k_0` of the coordinates, whose bandwidth is in standard deviations.
    rho : float, default=0.01
        The factor, between 0 and 1, for each column whose categories differ.
    categorical : sequence of int, optional
        Positions of the columns of categories. Default: in a data frame or a file,
        columns of text and of pandas' type ``category``.
    scale : {"both", "standardised", "normal scores"}, default="both"
        The coordinates of a column of numbers; one of them counts fully.
    columns : tuple of Column, optional
        The columns of numbers, as majority rows have them; set by ``fit``.
    cyclic : tuple of int
        Positions of cosines and sines, which have standardised values only; set by a
        :class:`bsvdd.Table`.

    Raises
    ------
    ValueError
        A parameter is out of its range.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 1000.0]
    >>> est = SVDD(kernel=kernels.Tabular(scale="standardised")).fit(X)
    >>> est.predict([[0.0, 0.0], [0.0, 9000.0]])
    array([ 1, -1])
    """

    kernel: Kernel | Callable[..., np.ndarray] = RBF("likelihood")
    rho: float = 0.01
    categorical: tuple[int, ...] | None = None
    scale: str = "both"
    columns: tuple[Column, ...] | None = None
    cyclic: tuple[int, ...] = ()

    of_tables = True

    def __post_init__(self) -> None:
        inner = as_kernel(self.kernel)
        if inner.pairwise or isinstance(inner, Tabular):
            raise ValueError(
                f"Tabular needs a kernel of columns of numbers, got {inner!r}"
            )
        if not (is_number(self.rho) and 0.0 < self.rho < 1.0):
            raise ValueError(f"rho must lie between 0 and 1, got {self.rho!r}")
        if self.scale not in COLUMN_SCALES:
            raise ValueError(
                f"scale must be one of {list(COLUMN_SCALES)}, got {self.scale!r}"
            )
        positions = self.categorical
        if positions is not None:
            if np.ndim(positions) != 1 or not all(
                is_number(c) and c >= 0 and int(c) == c for c in positions
            ):
                raise ValueError(
                    "categorical must be a sequence of positions of columns, 0 or "
                    f"more, such as (0, 2), got {positions!r}"
                )
            categorical = tuple(sorted({int(c) for c in positions}))
            object.__setattr__(self, "categorical", categorical)
        object.__setattr__(self, "kernel", inner)

    @property
    @override
    def inner(self) -> Kernel:
        return as_kernel(self.kernel)

    @override
    def with_inner(self, kernel: Kernel) -> Self:
        return replace(self, kernel=kernel)

    @property
    @override
    def normalized(self) -> bool:
        return self.inner.normalized

    @property
    @override
    def categorical_columns(self) -> tuple[int, ...]:
        return self.categorical or ()

    @property
    def q(self) -> int:
        """The number of coordinates of numbers."""
        return len(self.columns or ()) * (2 if self.scale == "both" else 1)

    @override
    def fit(
        self, X: np.ndarray, weight: np.ndarray, group: np.ndarray, columns: int = 0
    ) -> Self:
        if max(self.categorical_columns, default=0) >= X.shape[1]:
            raise ValueError(
                f"categorical={self.categorical}: there are {X.shape[1]} columns, from "
                "0 on"
            )
        plain = self.rescaled(X, weight)
        assert plain.columns is not None
        varying = sum(column.span > 0.0 for column in plain.columns)
        inner = self.inner
        if varying:
            Z = plain.inputs(self.without_far(X, weight))[:, : plain.q]
            inner = inner.fit(Z, weight, group, varying)
        elif isinstance(inner, OfDistance):  # any will do: other values are far away
            inner = replace(inner, bandwidth=1.0)
        return replace(plain, kernel=inner)

    @override
    def rescaled(self, X: np.ndarray, weight: np.ndarray) -> Self:
        numbers = (f for f in range(X.shape[1]) if f not in self.categorical_columns)
        of = {f: Column.cyclic if f in self.cyclic else Column.of for f in numbers}
        X = self.without_far(X, weight)
        return replace(self, columns=tuple(of[f](X[:, f], weight) for f in of))

    def without_far(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return rows X (n, p) of weights (n,) without the far values of a column."""
        found = X.copy()
        for f in range(X.shape[1]):
            if f not in (*self.categorical_columns, *self.cyclic):
                found[:, f] = without_far(X[:, f], weight)
        return found

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        assert self.columns is not None
        numbers = np.delete(X, self.categorical_columns, axis=1).T
        both = [c.coordinates(x) for c, x in zip(self.columns, numbers, strict=True)]
        kept = {"both": (0, 1), "standardised": (0,), "normal scores": (1,)}[self.scale]
        each = [pair[i] / np.sqrt(len(kept)) for pair in both for i in kept]
        return np.column_stack([*each, X[:, list(self.categorical_columns)]])

    @override
    def log(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        q = self.q
        found = self.inner.log(Z[:, :q], Y[:, :q]) if q else np.zeros((len(Z), len(Y)))
        if Z.shape[1] > q:
            found += np.log(self.rho) * self.differ(Z, Y)
        return found

    @override
    def __call__(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        if self.normalized:
            return np.exp(self.log(Z, Y))
        k = self.inner(Z[:, : self.q], Y[:, : self.q])
        return k * self.rho ** self.differ(Z, Y) if Z.shape[1] > self.q else k

    def differ(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return in how many categories rows differ, (m, R)."""
        share = cdist(Z[:, self.q :], Y[:, self.q :], "hamming")
        return np.asarray(share * (Z.shape[1] - self.q))

    @override
    def diag(self, Z: np.ndarray) -> np.ndarray:
        return self.inner.diag(Z[:, : self.q])

    def __repr__(self) -> str:
        more = "" if self.rho == 0.01 else f", rho={self.rho}"
        more += "" if self.categorical is None else f", categorical={self.categorical}"
        more += "" if self.scale == "both" else f", scale={self.scale!r}"
        return f"Tabular({self.kernel!r}{more})"
