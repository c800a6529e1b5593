"""Gaps in a table: values in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from scipy.stats import mode

from ..models.rows import CompleteRows

NEAREST = 10  # rows whose values fill a gap
SPACED = (np.arange(NEAREST) + 0.5) / NEAREST  # where these lie among more rows as near
BLOCK = 2**24  # distances at once
SHOWN = 8  # columns that a line names


def counted(gaps: np.ndarray, columns: Iterable[object]) -> str:
    """Return how many rows (n, p) have gaps, and how many gaps each column has."""
    each = [
        f"{str(c)!r} ({k})" for c, k in zip(columns, gaps.sum(axis=0), strict=True) if k
    ]
    more = f" and {len(each) - SHOWN} more" if len(each) > SHOWN else ""
    n = int(gaps.any(axis=1).sum())
    return f"{n} of {len(gaps)} rows have gaps, in {', '.join(each[:SHOWN])}{more}"


def imputed(
    rows: np.ndarray, known: np.ndarray, categorical: Collection[int] = ()
) -> CompleteRows:
    """Return rows whose gaps have values of the nearest known rows: the middle one, and each.

    A gap takes the median of the 10 nearest rows that have a value there, in a column
    of categories their most frequent one. Rows as far as the tenth count too, so no
    order of rows matters. The distance of two rows is the mean over the columns that
    both have of 1 for categories that differ, and of the difference of ranks, relative
    to the number of rows, for numbers (Gower 1971, with ranks as Podani 1999 has it).

    The k-th of the 10 versions has the values of the k-th nearest row in all gaps that
    have the same nearest rows. Of more than 10, evenly spaced ones are taken.

    Parameters
    ----------
    rows : ndarray of shape (m, p)
        Numbers and codes of categories, NaN where a value is missing.
    known : ndarray of shape (n, p)
        Rows of the same columns, with gaps of their own.
    categorical : collection of int
        Positions of the columns of categories.

    Raises
    ------
    ValueError
        A column has no value in any of the known rows, or a row has no value.

    References
    ----------
    Gower, J. C. (1971). A general coefficient of similarity and some of its properties.
    Biometrics 27, 857-871. doi:10.2307/2528823

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.tables.missing import imputed
    >>> known = np.array([[0.0, 5.0], [0.1, 6.0], [0.2, 7.0], *[[9.0, 9.0]] * 20])
    >>> known[3:10] = 0.0, 6.0
    >>> found = imputed(np.array([[0.0, np.nan]]), known)
    >>> found.X
    array([[0., 6.]])
    >>> found.copies[:, 0, 1]
    array([5., 6., 6., 6., 6., 6., 6., 6., 6., 7.])
    """
    gaps = np.isnan(rows)
    has = ~np.isnan(known)
    which = np.flatnonzero(gaps.any(axis=1))
    if not len(which):
        return CompleteRows.of(rows)
    _require_values(gaps, has)
    middle = rows.copy()
    versions = np.repeat(rows[None, which], NEAREST, axis=0)
    order = np.lexsort(known.T)  # whatever the order of known rows
    known = known[order]
    has = has[order]
    scaled = _ranks(rows[which], known, categorical), _ranks(known, known, categorical)
    step = max(1, BLOCK // len(known))
    for start in range(0, len(which), step):
        block = slice(start, start + step)
        distance = _distances(scaled[0][block], scaled[1], categorical)
        for i, f in np.argwhere(gaps[which[block]]):
            near = _nearest(distance[i], has[:, f])
            values = known[near, f]
            is_code = f in categorical
            versions[:, start + i, f] = values[(SPACED * len(near)).astype(int)]
            middle[which[start + i], f] = (
                mode(values)[0] if is_code else np.median(values)
            )
    return CompleteRows(middle, which, versions)


def _require_values(gaps: np.ndarray, has: np.ndarray) -> None:
    if gaps.all(axis=1).any():
        row = int(gaps.all(axis=1).argmax())
        raise ValueError(f"X[{row}] has no value in any column; leave such rows out")
    if not has.any(axis=0).all():
        column = int((~has.any(axis=0)).argmax())
        raise ValueError(
            f"column {column} (counted from 0) has no value in any of {len(has)} "
            "majority rows, so nothing can fill its gaps; leave the column out"
        )


def _nearest(distance: np.ndarray, has: np.ndarray) -> np.ndarray:
    """Return the rows as near as the tenth among those that have a value, the nearest first."""
    near = np.where(has, distance, np.inf)
    tenth = np.partition(near, min(NEAREST, len(near)) - 1)[min(NEAREST, len(near)) - 1]
    found = np.flatnonzero((near <= tenth * (1.0 + 1e-9)) & has)
    return found[np.argsort(near[found], kind="stable")]


def _ranks(
    rows: np.ndarray, known: np.ndarray, categorical: Collection[int]
) -> np.ndarray:
    """Return the shares of known values below those of rows, codes of categories as they are."""
    result = rows.copy()
    for f in range(rows.shape[1]):
        if f not in categorical:
            values = np.sort(known[~np.isnan(known[:, f]), f])
            sides = (
                np.searchsorted(values, rows[:, f], side) for side in ("left", "right")
            )
            result[:, f] = np.where(
                np.isnan(rows[:, f]), np.nan, sum(sides) / 2.0 / len(values)
            )
    return result


def _distances(
    rows: np.ndarray, known: np.ndarray, categorical: Collection[int]
) -> np.ndarray:
    """Return the distances (m, n) over the columns that both rows have; inf without one."""
    total, count = np.zeros((2, len(rows), len(known)))
    for f in range(rows.shape[1]):
        apart = np.abs(rows[:, None, f] - known[:, f])
        apart = (
            np.where(np.isnan(apart), np.nan, apart != 0.0)
            if f in categorical
            else apart
        )
        both = ~np.isnan(apart)
        np.add(total, apart, out=total, where=both)
        count += both
    return np.divide(total, count, out=np.full(total.shape, np.inf), where=count > 0)
