"""Gaps in a table: values in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd

NEAREST = 10  # rows whose values fill a gap
SPACED = (np.arange(NEAREST) + 0.5) / NEAREST  # where these lie among more rows as near
BLOCK = 2**24  # distances at once
SHOWN = 8  # columns that a line names


def counted(gaps: np.ndarray, columns: Iterable[object]) -> str:
    """Return how many rows (n, p) have gaps, and how many gaps each column has."""
    each = [f"{str(c)!r} ({k})" for c, k in zip(columns, gaps.sum(axis=0), strict=True) if k]
    more = f" and {len(each) - SHOWN} more" if len(each) > SHOWN else ""
    n = int(gaps.any(axis=1).sum())
    return f"{n} of {len(gaps)} rows have gaps, in {', '.join(each[:SHOWN])}{more}"


@dataclass(frozen=True, eq=False)
class Imputations:
    """Rows with gaps, completed in several ways: each has the values of another of the nearest.

    Attributes
    ----------
    which : ndarray of int, shape (g,)
        Which rows of a table have gaps, in ascending order.
    rows : ndarray of shape (10, g, p)
    donors : ndarray of int, shape (10, g, p)
        The number of the known row that each value is of; -1 for the row's own values.
    """

    which: np.ndarray
    rows: np.ndarray
    donors: np.ndarray

    def __len__(self) -> int:
        return len(self.which)

    def gaps(self, n: int) -> np.ndarray:
        """Return which values of a table of n rows are filled, shape (n, p)."""
        found = np.zeros((n, self.rows.shape[2]), dtype=bool)
        found[self.which] = self.donors[0] >= 0
        return found

    def among(self, numbers: np.ndarray) -> Self:
        """Return those of a table of the rows with these numbers."""
        lacking = np.flatnonzero(np.isin(numbers, self.which))
        return self.part(np.searchsorted(self.which, numbers[lacking]), lacking)

    def part(self, places: np.ndarray | slice, which: np.ndarray | None = None) -> Self:
        """Return some of these rows, by their places here; as rows ``which`` of another table."""
        which = self.which[places] if which is None else which
        return type(self)(which, self.rows[:, places], self.donors[:, places])


def filled(rows: np.ndarray, known: np.ndarray, categorical: Collection[int] = ()) -> np.ndarray:
    """Return rows in which each gap has the middle value of the nearest; see :func:`imputed`."""
    return imputed(rows, known, categorical)[0]


def imputed(
    rows: np.ndarray,
    known: np.ndarray,
    categorical: Collection[int] = (),
    numbers: np.ndarray | None = None,
) -> tuple[np.ndarray, Imputations | None]:
    """Return rows whose gaps have values of the nearest known rows: the middle one, and each.

    A gap takes the median of the 10 nearest rows that have a value there, in a column of categories
    their most frequent one. Rows as far as the tenth count too, so no order of rows matters. The
    distance of two rows is the mean over the columns that both have of 1 for categories that
    differ, and of the difference of ranks, relative to the number of rows, for numbers (Gower 1971,
    with ranks as Podani 1999 has it).

    The k-th of the 10 imputations has the values of the k-th nearest row in all gaps that have the
    same nearest rows. Of more than 10, evenly spaced ones are taken.

    Parameters
    ----------
    rows : ndarray of shape (m, p)
        Numbers and codes of categories, NaN where a value is missing.
    known : ndarray of shape (n, p)
        Rows of the same columns, with gaps of their own.
    categorical : collection of int
        Positions of the columns of categories.
    numbers : ndarray of int, shape (n,), optional
        Of the known rows, in a larger table; 0, ..., n - 1 by default.

    Returns
    -------
    filled : ndarray of shape (m, p)
    imputations : Imputations or None
        None if there is no gap.

    Raises
    ------
    ValueError
        A column has no value in any of the known rows, or a row has no value.

    References
    ----------
    Gower, J. C. (1971). A general coefficient of similarity and some of its properties. Biometrics
    27, 857-871. doi:10.2307/2528823

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.rows.gaps import imputed
    >>> known = np.array([[0.0, 5.0], [0.1, 6.0], [0.2, 7.0], *[[9.0, 9.0]] * 20])
    >>> known[3:10] = 0.0, 6.0
    >>> rows, imputations = imputed(np.array([[0.0, np.nan]]), known)
    >>> rows
    array([[0., 6.]])
    >>> imputations.rows[:, 0, 1]
    array([5., 6., 6., 6., 6., 6., 6., 6., 6., 7.])
    >>> imputations.donors[:, 0, 1]
    array([0, 3, 4, 5, 6, 7, 8, 9, 1, 2])
    """
    result, gaps, has = rows.copy(), np.isnan(rows), ~np.isnan(known)
    with_gaps = np.flatnonzero(gaps.any(axis=1))
    if not len(with_gaps):
        return result, None
    if gaps.all(axis=1).any():
        row = int(gaps.all(axis=1).argmax())
        raise ValueError(f"X[{row}] has no value in any column; leave such rows out")
    if not has.any(axis=0).all():
        column = int((~has.any(axis=0)).argmax())
        raise ValueError(
            f"column {column} (counted from 0) has no value in any of {len(known)} majority rows, "
            "so nothing can fill its gaps; leave the column out"
        )
    ways = np.repeat(rows[None, with_gaps], NEAREST, axis=0)
    of_rows = np.full(ways.shape, -1)
    number = np.empty(len(known), dtype=int)  # of known rows, whatever their order
    number[np.lexsort(known.T)] = np.arange(len(known))
    scaled = _ranks(rows[with_gaps], known, categorical), _ranks(known, known, categorical)
    step = max(1, BLOCK // len(known))
    for start in range(0, len(with_gaps), step):
        block = with_gaps[start : start + step]
        distance = _distances(scaled[0][start : start + step], scaled[1], categorical)
        for f in np.flatnonzero(gaps[block].any(axis=0)):
            lacking = np.flatnonzero(gaps[block, f])
            near = np.where(has[:, f], distance[lacking], np.inf)
            last = min(NEAREST, len(known)) - 1
            tenth = np.partition(near, last, axis=1)[:, [last]]
            beside = (near <= tenth * (1.0 + 1e-9)) & has[:, f]
            for i, near_row, is_beside in zip(lacking, near, beside, strict=True):
                donors = np.flatnonzero(is_beside)
                donors = donors[np.lexsort((number[donors], near_row[donors]))]
                chosen = donors[(SPACED * len(donors)).astype(int)]
                of_rows[:, start + i, f], ways[:, start + i, f] = chosen, known[chosen, f]
                values = known[donors, f]
                result[block[i], f] = (
                    pd.Series(values).mode()[0] if f in categorical else np.median(values)
                )
    if numbers is not None:
        of_rows = np.append(numbers, -1)[of_rows]
    return result, Imputations(with_gaps, ways, of_rows)


def _ranks(rows: np.ndarray, known: np.ndarray, categorical: Collection[int]) -> np.ndarray:
    """Return the shares of known values below those of rows, codes of categories as they are."""
    result = rows.copy()
    for f in range(rows.shape[1]):
        if f not in categorical:
            values = np.sort(known[~np.isnan(known[:, f]), f])
            sides = (np.searchsorted(values, rows[:, f], side) for side in ("left", "right"))
            result[:, f] = np.where(np.isnan(rows[:, f]), np.nan, sum(sides) / 2.0 / len(values))
    return result


def _distances(rows: np.ndarray, known: np.ndarray, categorical: Collection[int]) -> np.ndarray:
    """Return the distances (m, n) over the columns that both rows have; inf without one."""
    total, count = np.zeros((2, len(rows), len(known)))
    for f in range(rows.shape[1]):
        apart = np.abs(rows[:, None, f] - known[:, f])
        apart = np.where(np.isnan(apart), np.nan, apart != 0.0) if f in categorical else apart
        both = ~np.isnan(apart)
        np.add(total, apart, out=total, where=both)
        count += both
    return np.divide(total, count, out=np.full(total.shape, np.inf), where=count > 0)
