r"""Copies: rows that equal another row, or nearly so.

Let :math:`d_1 \le d_2 \le \dots` be the distances of a row to its nearest rows. Where
rows are independent and fill m dimensions evenly, :math:`(d_k / d_{k+1})^m` is
Beta(k, 1), so a ratio lies below :math:`c = .02^{1/m}` for one row in 50 at most. The k
nearest rows are copies of a row if k is the first whose ratio does, and if they equal
it in all columns of few values. m is estimated by the mean of

.. math:: \log(d_{10} / d_5), \qquad
    \mathrm E \log(d_{10} / d_5) = \frac1m \sum_{i=5}^{9} \frac1i

(Levina and Bickel 2005). A column whose values have steps of g adds :math:`g^2 / 6` to
a squared distance, the mean square of the difference of two rounding errors: so equal
rows of counts or of rounded numbers are no copies, unless the next rows are many steps
away. There are no copies at all if they are as few as chance makes them.

**References**

Levina, E., and Bickel, P. J. (2005). Maximum likelihood estimation of intrinsic
dimension. Advances in Neural Information Processing Systems 17, 777-784.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from ..base.threads import by_block
from ..base.warning import collected
from ..models.similarities import blocks
from .training import TrainingTable

NEIGHBOURS = 10
BY_CHANCE = 0.02  # share of independent rows that seem to have copies, at most
LARGEST_RATIO = 0.45  # of distances: that of equal counts in two columns is .5
FEWEST_STEPS = 10  # between the deciles of a column, or it has few values
ROUNDED_STEP = 1e-9  # of the distance of the deciles
SIGNIFICANT = 4.0  # standard deviations
FARTHEST = 1e100  # its square is finite
MOST_ASKED = 1000  # rows that are equal to others, and any rows
FAR_MORE = 10  # times the median count of a value, as zeros may be


def copies(X: ArrayLike) -> np.ndarray:
    """Return a label for each row, equal for a row and its copies.

    Copies equal another row, or nearly so: joins, repeated measurements and
    oversampling make them. A row that is left out still has its copies, and a new row
    has none, so rates of false alarms hold only if copies leave together:
    ``est.fit(X, groups=bsvdd.copies(X))``. How they are found, and told from rows that
    are equal by chance, is described in :mod:`bsvdd.tables.copies`.

    Parameters
    ----------
    X : array-like of shape (n, p), or data frame
        As in ``fit``.

    Returns
    -------
    ndarray of int, shape (n,)
        All differ if there are no more copies than chance makes.

    Raises
    ------
    ValueError, TypeError
        X is not a table; the message says what X is, and what to do.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(20, 3))
    >>> bsvdd.copies(np.vstack([X, X + 1e-4]))[[0, 1, 20, 21]]
    array([0, 1, 0, 1], dtype=int32)
    """
    with collected():  # fit warns of these columns
        read = TrainingTable.read(X)
    rows = read.values.to_numpy(float)
    found = Pairs.of(rows, read.table.categorical)
    n = len(rows)
    ends = (found.row, found.copy)
    graph = coo_array((np.ones(len(found.row)), ends), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1])


@dataclass(frozen=True)
class Pairs:
    """Pairs of a row and its copy, itself among them; ``asked`` (s,) are the rows.

    ``place[i]`` is the place of ``row[i]`` in ``asked``.
    """

    asked: np.ndarray
    place: np.ndarray
    copy: np.ndarray

    @property
    def row(self) -> np.ndarray:
        """The row of each pair."""
        return self.asked[self.place]

    @classmethod
    def of(
        cls, rows: np.ndarray, categorical: Collection[int], most: int | None = None
    ) -> Self:
        """Return the copies of rows of floats (n, p), or of a sample of ``most``."""
        n = len(rows)
        asked = np.arange(n)
        if most is not None and n > most:
            asked = np.sort(np.random.default_rng(0).choice(n, most, replace=False))
        numbers, others, added = _parts(rows, categorical)
        none = cls(asked, np.empty(0, dtype=int), np.empty(0, dtype=int))
        if n <= NEIGHBOURS or not numbers.shape[1]:
            return none
        d, near = _nearest(numbers, asked)
        d = np.sqrt(d[:, 1:] ** 2 + added.sum())
        if not (m := _dimensions(d, numbers.shape[1])):
            return none
        gap = d[:, :-1] < min(BY_CHANCE ** (1.0 / m), LARGEST_RATIO) * d[:, 1:]
        k = np.where(gap.any(axis=1), gap.argmax(axis=1) + 1, -1)
        is_copy = np.arange(NEIGHBOURS + 1) <= k[:, None]
        is_copy &= (others[near] == others[asked][:, None]).all(axis=2)
        size = is_copy.sum(axis=1)
        groups = (1.0 / size[size > 1]).sum()
        by_chance = BY_CHANCE / 2.0 * len(asked)  # pairs
        if groups <= by_chance + SIGNIFICANT * np.sqrt(by_chance):
            return none
        place, column = np.nonzero(is_copy & (size > 1)[:, None])
        return cls(asked, place, near[place, column])


def _dimensions(d: np.ndarray, most: int) -> float:
    """Return m, from 1 to ``most``, of the distances (s, 10); 0 if all rows are one."""
    half = NEIGHBOURS // 2
    to_tenth = d[:, -1] / d[:, half - 1]
    apart = to_tenth[to_tenth > 1.0]
    if not len(apart):
        return 0.0
    m = (1.0 / np.arange(half, NEIGHBOURS)).sum() / np.log(apart).mean()
    return float(min(max(m, 1.0), most))


def _nearest(numbers: np.ndarray, asked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of rows to themselves and the 10 nearest, and these rows."""

    def of_block(i: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        d = cdist(numbers[asked[i]], numbers)
        near = np.argpartition(d, NEIGHBOURS)[:, : NEIGHBOURS + 1]
        return np.take_along_axis(d, near, 1), near

    found = by_block(of_block, blocks(len(asked), len(numbers)))
    d, near = map(np.concatenate, zip(*found, strict=True))
    order = d.argsort(axis=1)
    return np.take_along_axis(d, order, 1), np.take_along_axis(near, order, 1)


def _parts(
    rows: np.ndarray, categorical: Collection[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return numbers (n, q), all else (n, r), and what steps (q,) add to d^2.

    Numbers are in units of the distance of their deciles; missing ones are the median.
    """
    numbers = []
    others = []
    added = []
    for j, x in enumerate(rows.T):
        missing = np.isnan(x)
        values = np.unique(x[~missing])
        width = np.ptp(np.quantile(x[~missing], [0.1, 0.9])) if len(values) else 0.0
        width = width or np.ptp(values)
        steps = np.diff(values)
        step = steps[steps > ROUNDED_STEP * width].min(initial=np.inf)
        if j in categorical or FEWEST_STEPS * step > width:
            others.append(np.where(missing, np.inf, x))
            continue
        known = np.where(missing, np.median(x[~missing]), x) / width
        numbers.append(np.clip(known, -FARTHEST, FARTHEST))
        others.append(missing)
        added.append((step / width) ** 2 / 6.0)
    n = len(rows)
    shape = (n, len(numbers))
    exact = np.reshape(others, (len(others), n)).T
    return np.reshape(numbers, shape[::-1]).T, exact, np.array(added)


def equal_beyond_chance(
    rows: np.ndarray, categorical: Collection[int], group: np.ndarray
) -> np.ndarray:
    r"""Return which rows equal others, and would not by chance.

    Let d be the distance of a row to the nearest row that differs, and :math:`e_j^2`
    what the steps of column j add to squared distances. Chance makes equal rows of n
    different ones with the probability

    .. math:: n\, q \prod_{j = 1}^m \frac{e_j}{\sqrt{d^2 + \sum_k e_k^2}}

    at most, where q is the share of rows that equal a near row in all columns of few
    values, and m the number of dimensions: the m columns with the largest steps count,
    without those in which the value of the row is far more frequent than others, as
    zeros are.

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    categorical : collection of int
    group : ndarray of int, shape (n,)
        A label for each row, 0, 1, ..., the same for equal rows.

    Returns
    -------
    ndarray of bool, shape (n,)
    """
    _, first, size = np.unique(group, return_index=True, return_counts=True)
    repeated = np.flatnonzero(size > 1)
    found = np.zeros(len(first), dtype=bool)
    numbers, others, added = _parts(rows[first], categorical)
    if not len(repeated) or len(first) <= NEIGHBOURS or not numbers.shape[1]:
        return found[group]
    rng = np.random.default_rng(0)
    some = rng.permutation(len(first))[:MOST_ASKED]
    asked = rng.permutation(repeated)[:MOST_ASKED]
    both = np.r_[asked, some]
    d, near = _nearest(numbers, both)
    d = np.sqrt(d[:, 1:] ** 2 + added.sum())
    m = _dimensions(d[len(asked) :], numbers.shape[1])
    alike = (others[near[:, 1:]] == others[both][:, None]).all(axis=2)
    q = (alike.sum() + 1.0) / (alike.size + 1.0)
    usual = np.array([_is_usual(x)[asked] for x in numbers.T]).T
    ratio = np.where(usual, np.sqrt(added) / d[: len(asked), :1], 0.0)
    ratio = -np.sort(-ratio, axis=1)
    dimensions = np.minimum(m, usual.sum(axis=1))[:, None]
    counts = np.clip(dimensions - np.arange(ratio.shape[1]), 0.0, 1.0)
    chance = q * (ratio**counts).prod(axis=1)
    found[asked] = len(first) * chance < BY_CHANCE
    found[np.setdiff1d(repeated, asked)] = found[asked].mean() > 0.5
    return found[group]


def _is_usual(x: np.ndarray) -> np.ndarray:
    """Return which values (n,) are not far more frequent than others."""
    _, of, count = np.unique(x, return_inverse=True, return_counts=True)
    return np.asarray((count <= FAR_MORE * np.median(count))[of])
