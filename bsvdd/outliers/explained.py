r"""What the other columns say of a column of a table, and how far each cell is off.

Each cell is explained by the other columns of its row, from rows other than its own.

A column of numbers has the residuals r of a trimmed regression on the others (Rousseeuw
and Van Driessen 2006), of its values, their logarithms or square roots: those with the
largest likelihood, with the derivative counted (Box and Cox 1964). Counts have square
roots, :math:`\sqrt{v + .375 g}` with the step g (Anscombe 1948). With the
quantiles q of the m sizes :math:`|r|` on its side of the median, the excess is

.. math:: z = 1.645\, (|r| / q_{.9})^c, \qquad
    c = \min(2, .637 / l), \qquad l = \log(q_{.95} / q_{.7}).

It is a standard normal size where the residuals are normal, for which l is .637. For
other residuals l is moved by up to its standard error :math:`1.08 / \sqrt m` towards
.637, so a tail is shortened, or stretched, only as far as the data are sure of it. A
column has steps, the least difference g of its values, which make a tail look short:
:math:`g / q_{.7}` is added to the standard error of a stretched one, no quantile is
below g, and :math:`|r|` is that of the inner end of a value, half a step nearer. A
relation may hold in most rows only, as of a sum of products. So no more than 5 rows of
a side, or 1 %, may be far: c is at most such that the next one has the size of a normal
variable. What is expected beyond all values is the nearest of them.

A column of categories is explained by the counts of rows that are alike in one or two
other columns. Of n rows that are alike, without the row itself, :math:`n_y` have its
category y, whose share in the whole column is :math:`p_0`,

.. math:: p_1 = \frac{n_y + m p_0}{n + m}, \qquad
    s = \max\Bigl(0, \log \frac{p_0}{p_1}\Bigr), \qquad
    z = 2.576 \sqrt{s / \max(\min(Q_{.99}(s), 4 Q_{.95}(s)), \log K)},

with K categories, and m one more than the rows that have not the most frequent category
of the n: where categories vary, a new one is no surprise. Two columns are shrunk to the
better one of them: :math:`p_1` is in place of :math:`p_0`. So s is what the others say
against y, beyond its rarity. In bins of numbers categories may meet, and 3.32 is in
place of log K: :math:`s = z^2 / 2`, as of a normal variable. Here too no more than 10
rows, or 1 %, may be far: a combination that more rows have is no error. So s is divided
by at least what gives each other row of the upper 5 % the size of a normal variable.

**References**

Anscombe, F. J. (1948). The transformation of Poisson, binomial and negative-binomial
data. Biometrika 35, 246-254. doi:10.1093/biomet/35.3-4.246

Box, G. E. P. and Cox, D. R. (1964). An analysis of transformations. Journal of the
Royal Statistical Society B 26, 211-252.

Donoho, D. L. and Johnstone, I. M. (1994). Ideal spatial adaptation by wavelet
shrinkage. Biometrika 81, 425-455. doi:10.1093/biomet/81.3.425

Rousseeuw, P. J. and Van Driessen, K. (2006). Computing LTS regression for large data
sets. Data Mining and Knowledge Discovery 12, 29-45. doi:10.1007/s10618-005-0024-4

Schwarz, G. (1978). Estimating the dimension of a model. Annals of Statistics 6,
461-464. doi:10.1214/aos/1176344136
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, Self

import numpy as np
from scipy.stats import norm

FOLLOWS = 0.5  # share of its variation, or surprise, that the others explain
SECOND_EXPLAINS = 0.02  # more than one column, at least
LEAST_EFFECT = 0.1  # sd of a column by which a named column moves it
ANSCOMBE = 0.375  # of a step, added below the root
LINEAR = "linear"
ROOT = "square-root"
LOG_LINEAR = "log-linear"
COUNTS = "counts"
ENOUGH_ROWS = 5  # for each regressor, and of a category that tells something
# rows, or different numbers, that are many; bins of these
MANY = 20
NUMBER_BINS = 10
MOST_PAIRED = 10  # columns whose pairs are counted
MOST_BODIES = 4.0  # several broken rows do not hide each other
# of a regression
TRIM = 0.8
TRIM_STEPS = 10
RIDGE = 1e-9  # relative: columns of one equation have a unique solution
MOST_SD = 10.0  # of a regressor
MOST_LEVERAGE = 0.9
ROUNDING = 1e-6  # relative to the values: normal equations are solved
# standard normal sizes: quantiles .9 and .99, l, its standard error times sqrt(m)
NORMAL_90 = 1.645
NORMAL_99 = 2.576
NORMAL_RATIO = 0.637
RATIO_ERROR = 1.08
# degrees of freedom of Student's t, and its median size
T_FREEDOM = 4.0
T_MEDIAN = 0.741
MOST_POWER = 2.0  # c
FEWEST_SIZES = 10  # on one side, that have quantiles
# rows of one side that may be wrong: so many, or this share
FEW_WRONG = 5
WRONG = 0.01
UPPER = 0.05  # share of all rows that may be exceptions
BEYOND_90 = 0.1  # share of a side beyond the quantile .9, its unit
MOST_NEGATIVE = 0.1  # share of values below 0 of a column with logarithms
FEW_STEPS = 10.0  # from 0 to the least value, of a column whose zeros are rounded
SMALL = 0.05  # quantile of the positive values, below which the logarithm is linear
LARGEST_EXCESS = 1000.0
NO_SIZE = np.finfo(float).tiny  # in place of 0 below a fraction


class Explained(NamedTuple):
    """What explains a column, and how far each of its cells is from that.

    ``excess`` is z, and ``size`` the residual, or s, in units that 1 % exceed.
    """

    explained: float
    how: str
    by: list[int]
    excess: np.ndarray
    size: np.ndarray
    expected: np.ndarray


@dataclass(frozen=True, eq=False)
class CellColumn:
    """A column of a table, and how it explains others.

    Attributes
    ----------
    v : ndarray of shape (n,)
        Numbers or codes of categories; NaN for missing cells.
    is_category : bool
    linear, log : ndarray of shape (n, k)
        The regressors of a column, and of the logarithms of a column.
    code : ndarray of int, shape (n,)
        The number of the category, or of the bin.
    tells : ndarray of bool, shape (n,)
        Which cells are not missing, and no category that is rare in the rows learned
        from.
    is_binned : bool
        Whether codes are bins of numbers.
    """

    v: np.ndarray
    is_category: bool
    linear: np.ndarray
    log: np.ndarray
    code: np.ndarray
    tells: np.ndarray
    is_binned: bool = False

    @classmethod
    def of(cls, v: np.ndarray, is_category: bool, learn: np.ndarray) -> Self:
        """Return a column of values v (n,), by those of some rows."""
        seen = v[~np.isnan(v) & learn]
        level, count = np.unique(seen, return_counts=True)
        usual = level[count >= ENOUGH_ROWS] if is_category else level
        tells = np.isin(v, usual) if is_category else ~np.isnan(v)
        if is_category or len(level) < MANY:
            code = np.searchsorted(usual, v)
            code = np.where(np.isin(v, usual), code, len(usual))
        else:
            inner = np.arange(1, NUMBER_BINS) / NUMBER_BINS
            edges = np.unique(np.quantile(seen, inner))
            code = np.where(tells, np.searchsorted(edges, v), len(edges) + 1)
        if is_category:
            flags = (v[:, None] == usual) * 1.0
            flags = flags[:, : len(v) // MANY]
            return cls(v, True, flags, flags, code, tells)
        linear = standard(v)
        scale = Logarithm.of(v)
        log = standard(scale.of_values(v)) if scale else linear
        return cls(v, False, linear, log, code, tells, len(level) >= MANY)


class Logarithm(NamedTuple):
    """The logarithm of a column; asinh(v / c) if a few values are not positive.

    Zeros are near the small values. At most 1 % or 5 of them are far from all, as
    negative values are, unless the least value is some steps above 0 only.
    """

    c: float
    mean_log_derivative: float

    @classmethod
    def of(cls, v: np.ndarray) -> Self | None:
        """Return the logarithm of values v (n,); None if many are not positive."""
        seen = v[~np.isnan(v)]
        if not len(seen) or (seen <= 0.0).mean() > MOST_NEGATIVE:
            return None
        positive = seen[seen > 0.0]
        zeros = (seen == 0.0).sum()
        small = zeros and positive.min() < FEW_STEPS * _step(seen)
        c = 0.0
        if small or zeros > max(FEW_WRONG, WRONG * len(seen)):
            c = 2.0 * np.quantile(positive, SMALL)
        elif seen.min() <= 0.0:  # a wrong sign, or 0, is far from all logarithms
            c = ROUNDING * positive.min()
        return cls(c, -float(np.log(np.hypot(seen, c)).mean()))

    def of_values(self, v: np.ndarray) -> np.ndarray:
        """Return the logarithms of values."""
        return np.asarray(np.arcsinh(v / self.c) if self.c else np.log(v))

    def back(self, log: np.ndarray) -> np.ndarray:
        """Return the values of logarithms."""
        return np.asarray(np.sinh(log) * self.c if self.c else np.exp(log))


class Root(NamedTuple):
    """The square root of a column of values that are not negative."""

    shift: float
    mean_log_derivative: float

    @classmethod
    def of(cls, v: np.ndarray) -> Self | None:
        """Return the root of values v (n,); None if one is negative."""
        seen = v[~np.isnan(v)]
        if not len(seen) or seen.min() < 0.0 or seen.min() == seen.max():
            return None
        shift = ANSCOMBE * _step(seen)
        return cls(shift, -float(np.log(2.0 * np.sqrt(seen + shift)).mean()))

    def of_values(self, v: np.ndarray) -> np.ndarray:
        """Return the roots of values."""
        return np.asarray(np.sqrt(np.maximum(v + self.shift, 0.0)))

    def back(self, root: np.ndarray) -> np.ndarray:
        """Return the values of roots."""
        return np.square(np.maximum(root, 0.0)) - self.shift


def standard(v: np.ndarray) -> np.ndarray:
    """Return values in units of their middle.

    Parameters
    ----------
    v : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n, 1)
        0 for missing values.
    """
    low, middle, high = np.nanquantile(v, [0.1, 0.5, 0.9])
    unit = (high - low) / (2.0 * 1.282) or np.nanstd(v) or 1.0
    return np.clip(np.nan_to_num((v - middle) / unit), -MOST_SD, MOST_SD)[:, None]


def explanations(
    values: np.ndarray,
    is_category: np.ndarray,
    learn: np.ndarray,
    judged: Iterable[int],
    by: Sequence[int] | None,
) -> Iterator[tuple[int, Explained | None]]:
    """Yield columns, and what explains each.

    Parameters
    ----------
    values : ndarray of shape (n, p)
        Numbers and codes of categories; NaN for missing cells.
    is_category : ndarray of bool, shape (p,)
    learn : ndarray of bool, shape (n,)
        The rows that are learned from.
    judged : iterable of int
        The columns.
    by : sequence of int or None
        The columns that explain all others; None if each explains all others.

    Yields
    ------
    column : int
    explained : Explained or None
        None if the column has few values.
    """
    pairs = zip(values.T, is_category, strict=True)
    columns = [CellColumn.of(*pair, learn) for pair in pairs]
    used = range(len(columns)) if by is None else by
    for f in judged:
        others = {g: columns[g] for g in used if g != f}
        yield f, _explained(others, columns[f], learn)


def _explained(
    others: dict[int, CellColumn], column: CellColumn, learn: np.ndarray
) -> Explained | None:
    """Return what explains a column best; None if it has few values.

    A row with a missing value, a rare category or a far number in a column by which it
    is explained is not judged.
    """
    judged = ~np.isnan(column.v)
    learn = learn & judged
    different = len(np.unique(column.v[learn]))
    if learn.sum() < MANY or different < 2:
        return None
    best = None
    if column.is_category or different < MANY:
        best = _by_counts(others, column, learn)
    if not column.is_category and different > 2:
        numbers = _by_regression(others, column, learn)
        if best is None or best.explained < max(numbers.explained, FOLLOWS):
            best = numbers
    assert best is not None
    for g in best.by:
        judged = judged & others[g].tells
        if best.how != COUNTS and not others[g].is_category:
            part = others[g].log if best.how == LOG_LINEAR else others[g].linear
            judged = judged & (np.abs(part) < MOST_SD).all(axis=1)
    excess, size = np.where(judged, [best.excess, best.size], np.nan)
    return best._replace(excess=excess, size=size)


class Regression(NamedTuple):
    """A trimmed regression of a column, or of its logarithm, on regressors D (n, k).

    ``owner`` (k,) is the place of the column of each regressor, ``r`` (n,) are left-out
    residuals of ``v``, and residuals below ``floor`` are rounding.
    """

    scale: Logarithm | Root | None
    v: np.ndarray
    floor: float
    D: np.ndarray
    owner: np.ndarray
    r: np.ndarray
    slope: np.ndarray

    def cost(self, learn: np.ndarray) -> float:
        """Return the mean -log likelihood of rows, with the penalty of Schwarz."""
        n = learn.sum()
        cost = _minus_log_t(self.r[learn], self.floor)
        cost += self.D.shape[1] * np.log(n) / (2.0 * n)
        return float(cost - (self.scale.mean_log_derivative if self.scale else 0.0))

    def unit(self, learn: np.ndarray) -> float:
        """Return the unit of the residuals of rows."""
        return max(_unit(np.abs(self.r[learn])), self.floor)

    def sd(self, learn: np.ndarray) -> float:
        """Return the trimmed standard deviation of v in rows."""
        return _trimmed_sd(self.v[learn] - np.median(self.v[learn]))

    def used(self, learn: np.ndarray) -> np.ndarray:
        """Return the places of the columns that move v."""
        moved = np.square(self.slope * self.D[learn].std(axis=0))
        effect = np.sqrt(np.bincount(self.owner, moved))
        least = min(LEAST_EFFECT * self.sd(learn), self.unit(learn))
        return np.flatnonzero(effect >= least)

    def of_columns(self, used: np.ndarray, learn: np.ndarray) -> Self:
        """Return the regression on the regressors of some columns only."""
        own = np.isin(self.owner, used)
        D = self.D[:, own]
        r, slope = _residuals(D, self.v, learn)
        return self._replace(D=D, owner=self.owner[own], r=r, slope=slope)

    def expected(self, learn: np.ndarray) -> np.ndarray:
        """Return what is expected, at most by the range of some rows beyond them."""
        low, high = self.v[learn].min(), self.v[learn].max()
        reach = high - low
        return np.clip(self.v - self.r, low - reach, high + reach)

    def within(self, learn: np.ndarray) -> Self:
        """Return the same where nothing is expected beyond the values of some rows.

        A value between these and what was expected beyond them is as expected.
        """
        ends = self.v[learn].min(), self.v[learn].max()
        r = self.v - np.clip(self.v - self.r, *ends)
        r = np.where(r * self.r < 0.0, 0.0, r)
        return self._replace(r=np.where(np.abs(r) < np.abs(self.r), r, self.r))

    def nearer(self, half: float, values: np.ndarray) -> np.ndarray:
        """Return the sizes of r of the inner ends of values, half a step nearer."""
        expected = self.v - self.r
        of_value = self.scale.back(expected) if self.scale else expected
        inner = np.clip(of_value, values - half, values + half)
        inner = self.scale.of_values(inner) if self.scale else inner
        return np.abs(inner - expected)


HOW = {Logarithm: LOG_LINEAR, Root: ROOT, type(None): LINEAR}


def _regressions(
    others: dict[int, CellColumn], column: CellColumn, learn: np.ndarray
) -> Iterator[Regression]:
    """Yield regressions of a column of numbers, its logarithms and square roots."""
    known = [Logarithm.of(column.v), Root.of(column.v)]
    scales: list[Logarithm | Root | None] = [None]
    scales += [scale for scale in known if scale is not None]
    for scale in scales:
        v = scale.of_values(column.v) if scale else column.v
        v = np.where(np.isnan(v), np.median(v[learn]), v)
        parts = [
            each.log if isinstance(scale, Logarithm) else each.linear
            for each in others.values()
        ]
        floor = ROUNDING * np.abs(v).max() + NO_SIZE
        for D, owner in _regressors(parts, v, learn):
            yield Regression(scale, v, floor, D, owner, *_residuals(D, v, learn))


def _by_regression(
    others: dict[int, CellColumn], column: CellColumn, learn: np.ndarray
) -> Explained:
    """Return what a trimmed regression explains of a column of numbers.

    Of several, the one with the least cost. It is learned again from all rows that have
    the columns that it uses, whatever else they lack.
    """
    others, complete = _complete(others, learn)
    if not np.ptp(column.v[complete]):
        others, complete = {}, learn
    found = min(
        _regressions(others, column, complete), key=lambda each: each.cost(complete)
    )
    used = found.used(complete)
    by = [list(others)[i] for i in used]
    known = learn & ~np.any([np.isnan(others[g].v) for g in by], axis=0)
    if known.sum() > complete.sum():
        found = found.of_columns(used, known)
    else:
        known = complete
    expected = found.expected(known)
    found = found.within(known)
    unit = found.unit(known)
    sd = found.sd(known)
    explains = 1.0 - (_trimmed_sd(found.r[known]) / sd) ** 2 if sd > 0.0 else 0.0
    expected = found.scale.back(expected) if found.scale else expected
    if column.v[known].min() >= 0.0:
        expected = np.maximum(expected, 0.0)
    step = _step(found.v[known])
    return Explained(
        float(explains),
        HOW[type(found.scale)],
        by,
        _sizes(
            found.r,
            found.nearer(_step(column.v[known]) / 2.0, column.v),
            _unusual(column.v, known),
            max(found.floor, 0.1 * unit, step),
            step,
        ),
        np.minimum(np.abs(found.r) / unit, LARGEST_EXCESS),
        expected,
    )


def _complete(
    others: dict[int, CellColumn], learn: np.ndarray
) -> tuple[dict[int, CellColumn], np.ndarray]:
    """Return columns, and the rows to learn from, without missing values.

    Columns with the most missing values are left out until enough rows are complete.
    """
    missing = {g: np.isnan(each.v) for g, each in others.items()}
    while missing:
        complete = learn & ~np.any(list(missing.values()), axis=0)
        if complete.sum() >= min(2 * ENOUGH_ROWS * len(missing), learn.sum()):
            return {g: others[g] for g in missing}, complete
        del missing[max(missing, key=lambda g: missing[g].sum())]
    return {}, learn


def _unit(off: np.ndarray) -> float:
    """Return the unit of residuals or surprises."""
    tail, body = np.quantile(off, [0.99, 0.95])
    return float(min(tail, MOST_BODIES * body))


def _unit_of_many(s: np.ndarray) -> float:
    """Return the least unit of surprises s for which only a few rows are far.

    10 rows, or 1 %, may be far. The others of the upper 5 % have at most the size of a
    normal variable.
    """
    few = 2 * max(FEW_WRONG, int(WRONG * len(s) / 2.0))
    rank = np.arange(few, int(UPPER * len(s)))
    size = norm.isf((rank + 0.5) / len(s) / 2.0)
    many = np.sort(s)[::-1][rank]
    return float((many * np.square(NORMAL_99 / size)).max(initial=0.0))


def _trimmed_sd(off: np.ndarray) -> float:
    """Return the root mean square of the four fifths that are smallest."""
    smallest = np.sort(np.abs(off))[: int(TRIM * len(off))]
    return float(np.sqrt(np.square(smallest).mean()))


def _minus_log_t(r: np.ndarray, floor: float) -> float:
    """Return the mean of -log density of residuals, but for a constant.

    By Student's t, so that a few wrong values do not choose the scale of a column.
    """
    unit = max(np.median(np.abs(r)) / T_MEDIAN, floor)
    half = (T_FREEDOM + 1.0) / 2.0
    return float(np.log(unit) + half * np.log1p((r / unit) ** 2 / T_FREEDOM).mean())


def _regressors(
    parts: list[np.ndarray], v: np.ndarray, learn: np.ndarray
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield regressors of v (n, k), and the number of the part of each.

    They are one for 5 rows, those with the largest correlations by ranks. If this is
    more than one for 20 rows, only those come first whose correlation exceeds the
    largest of as many independent ones, sqrt(2 log(k) / n) (Donoho and Johnstone 1994).
    """
    owner = np.repeat(np.arange(len(parts)), [part.shape[1] for part in parts])
    D = np.hstack([*parts, np.empty((len(v), 0))])
    n = int(learn.sum())
    if len(owner) > n // MANY:
        centred = D[learn] - D[learn].mean(axis=0)
        rank = np.argsort(np.argsort(v[learn])) - (n - 1) / 2.0
        length = np.linalg.norm(centred, axis=0) * np.linalg.norm(rank) + NO_SIZE
        r = np.abs(rank @ centred) / length
        tell = np.flatnonzero(r > np.sqrt(2.0 * np.log(len(r)) / n))
        most = np.sort(np.argsort(-r, kind="stable")[: n // ENOUGH_ROWS])
        tell = np.intersect1d(tell, most)
        yield D[:, tell], owner[tell]
        D, owner = D[:, most], owner[most]
    yield D, owner


def _residuals(
    D: np.ndarray, v: np.ndarray, learn: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return left-out residuals of v, about their median, and the slopes."""
    D = np.column_stack([D, np.ones(len(D))])
    kept = learn
    steps = 0
    while True:
        A = D[kept]
        G = A.T @ A
        G[np.diag_indices(len(G) - 1)] += RIDGE * len(A)  # not the constant
        slope = np.linalg.solve(G, A.T @ v[kept])
        r = v - D @ slope
        before = kept
        kept = learn & (np.abs(r) <= np.quantile(np.abs(r[learn]), TRIM))
        steps += 1
        if steps == TRIM_STEPS or (kept == before).all():
            break
    leverage = np.einsum("ij,ji->i", D, np.linalg.solve(G, D.T))
    r = np.where(before, r / (1.0 - np.minimum(leverage, MOST_LEVERAGE)), r)
    return r - np.median(r[learn]), slope[:-1]


def _unusual(v: np.ndarray, learn: np.ndarray) -> np.ndarray:
    """Return the rows that units are learned from: without a value of half of them."""
    level, count = np.unique(v[learn], return_counts=True)
    most = count.argmax()
    if count[most] <= learn.sum() / 2:
        return learn
    return learn & (v != level[most])


def _step(v: np.ndarray) -> float:
    """Return the least difference of values."""
    return float(np.diff(np.unique(v)).min())


def _sizes(
    r: np.ndarray, nearer: np.ndarray, learn: np.ndarray, floor: float, step: float
) -> np.ndarray:
    """Return the standard normal sizes z of residuals r, by their own tail.

    ``nearer`` (n,) are the sizes of the inner ends of the values, which have steps.
    """
    z = np.zeros(len(r))
    for sign in (1.0, -1.0):
        side = sign * r > 0.0
        size = np.abs(r[learn & side])
        if not len(size):
            size = np.array([floor])
        power = 1.0
        unit = size.max()
        if len(size) >= FEWEST_SIZES:
            low, unit, high = np.maximum(np.quantile(size, [0.7, 0.9, 0.95]), floor)
            error = RATIO_ERROR / np.sqrt(len(size))
            ratio = np.log(high / low)
            ratio = np.clip(NORMAL_RATIO, ratio - error, ratio + error + step / low)
            power = min(NORMAL_RATIO / ratio, MOST_POWER)
            few = max(FEW_WRONG, int(WRONG * len(size)))
            share = (few + 0.5) / len(size)
            ratio = np.log(max(np.sort(size)[-few - 1], floor) / unit) - error
            if share < BEYOND_90 and ratio > 0.0:
                power = min(power, np.log(norm.isf(share / 2.0) / NORMAL_90) / ratio)
        z[side] = NORMAL_90 * (nearer[side] / max(unit, floor)) ** power
    return np.minimum(z, LARGEST_EXCESS)


class Counted(NamedTuple):
    """A column by counts of rows that are alike: P(category) of each row, and cells.

    ``base`` is the cost without counts.
    """

    base: float
    cost: float
    by: tuple[int, ...]
    p: np.ndarray
    cell: np.ndarray


def _by_counts(
    others: dict[int, CellColumn], column: CellColumn, learn: np.ndarray
) -> Explained:
    """Return what counts of one or two columns explain of a column of categories."""
    level, count = np.unique(column.v[learn], return_counts=True)
    usual = level[count >= ENOUGH_ROWS]
    k = len(usual)
    # k is the code of rare categories
    y = np.where(np.isin(column.v, usual), np.searchsorted(usual, column.v), k)
    share = np.bincount(y[learn], minlength=k + 1) / learn.sum()
    alone = np.maximum(share, 1.0 / learn.sum() / (k + 1))[y]
    base = -np.log(alone[learn]).mean()
    best = Counted(base, base, (), alone, np.zeros(len(y), dtype=int))
    single = {g: _counted(best, g, each.code, y, learn) for g, each in others.items()}
    order = sorted(single, key=lambda g: single[g].cost)
    best = min([best, *single.values()], key=lambda each: each.cost)
    for a, b in combinations(order[:MOST_PAIRED], 2):
        pair = _counted(single[a], b, others[b].code, y, learn)
        pair = pair._replace(cost=pair.cost + SECOND_EXPLAINS * base)
        best = min(best, pair, key=lambda each: each.cost)
    s = np.maximum(np.log(alone / best.p), 0.0)
    is_binned = any(others[g].is_binned for g in best.by)
    least = NORMAL_99**2 / 2.0 if is_binned else np.log(max(k, 2))
    unit = max(_unit(s[learn]), least)
    table = _table(best.cell, y, learn, k + 1)[best.cell, :k]
    table[learn & (y < k), y[learn & (y < k)]] -= 1.0
    expected = usual[table.argmax(axis=1)] if k else column.v
    return Explained(
        float(1.0 - best.cost / base) if k > 1 else 0.0,
        COUNTS,
        sorted(best.by),
        NORMAL_99 * np.sqrt(s / max(unit, _unit_of_many(s[learn]))),
        s / unit,
        expected,
    )


def _table(cell: np.ndarray, y: np.ndarray, learn: np.ndarray, k: int) -> np.ndarray:
    """Return the counts (cells, k) of categories."""
    size = (int(cell.max()) + 1) * k
    found = np.bincount(cell[learn] * k + y[learn], minlength=size)
    return found.reshape(-1, k).astype(float)


def _counted(
    before: Counted, g: int, code: np.ndarray, y: np.ndarray, learn: np.ndarray
) -> Counted:
    """Return what column g adds to the counts by the columns before."""
    both = before.cell * (int(code.max()) + 1) + code
    cell = np.unique(both, return_inverse=True)[1] if before.by else code
    table = _table(cell, y, learn, int(y.max()) + 1)
    own = table[cell, y] - learn
    all_ = table.sum(axis=1)[cell] - learn
    most = table.max(axis=1)[cell] - (learn & (table.argmax(axis=1)[cell] == y))
    m = 1.0 + all_ - most
    p = (own + m * before.p) / (all_ + m)
    if -np.log(p[learn]).mean() <= (1.0 - FOLLOWS) * before.base:
        # exceptions are as frequent as in the cell, and in all cells without the row
        odd = (own < most) & learn
        share = (1.0 + odd.sum() - odd) / (1.0 + learn.sum())
        m += np.minimum(np.maximum(all_, 1.0) * share, 1.0) - 1.0
        p = (own + m * before.p) / (all_ + m)
    cost = float(-np.log(p[learn]).mean())
    return Counted(before.base, cost, (*before.by, g), p, cell)
