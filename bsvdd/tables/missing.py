"""Missing values of a table: values in their place."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import numpy as np
from scipy.stats import mode

from ..base.threads import by_block
from ..models.rows import CompleteRows
from ..models.similarities import blocks

DONORS = 10  # rows whose values fill a missing one
SPACED = (np.arange(DONORS) + 0.5) / DONORS  # where these lie among more rows as near
MOST_COLUMNS_NAMED = 8


def missing_text(missing: np.ndarray, columns: Iterable[object]) -> str:
    """Return how many rows have missing values, and how many each column has.

    Parameters
    ----------
    missing : ndarray of bool, shape (n, p)
    columns : iterable of length p
        The names of the columns.

    Returns
    -------
    str
    """
    counts = zip(columns, missing.sum(axis=0), strict=True)
    each = [f"{str(name)!r} ({k})" for name, k in counts if k]
    others = len(each) - MOST_COLUMNS_NAMED
    more = f" and {others} more" if others > 0 else ""
    n = int(missing.any(axis=1).sum())
    named = ", ".join(each[:MOST_COLUMNS_NAMED])
    have = "has" if n == 1 else "have"
    return f"{n} of {len(missing)} rows {have} missing values, in {named}{more}"


def imputed(
    rows: np.ndarray, known: np.ndarray, categorical: Collection[int] = ()
) -> CompleteRows:
    """Return rows with a value in place of each missing one.

    A missing number becomes the median of the 10 nearest rows that have a value there,
    a missing category their most frequent one. Rows as far as the tenth count too, so
    no order of rows matters. The distance of two rows is a mean over the columns that
    both have: 1 for categories that differ; for numbers the difference of ranks,
    relative to the number of rows (Gower 1971, with ranks as Podani 1999 has it).

    There are 10 versions. Version k has the values of the k-th nearest row, in all
    missing cells with the same nearest rows. Of more than 10 rows as near, evenly
    spaced ones are taken.

    Parameters
    ----------
    rows : ndarray of shape (m, p)
        Numbers and codes of categories, NaN where a value is missing.
    known : ndarray of shape (n, p)
        Rows of the same columns, which may lack values too.
    categorical : collection of int
        Positions of the columns of categories.

    Returns
    -------
    CompleteRows
        The middle of the versions, and each version.

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
    missing = np.isnan(rows)
    has = ~np.isnan(known)
    which = np.flatnonzero(missing.any(axis=1))
    if not len(which):
        return CompleteRows.of(rows)
    _require_values(missing, has)
    middle = rows.copy()
    versions = np.repeat(rows[None, which], DONORS, axis=0)
    order = np.lexsort(known.T)  # whatever the order of known rows
    known = known[order]
    has = has[order]
    ranks = _ranks(rows[which], known, categorical)
    known_ranks = _ranks(known, known, categorical)

    def fill(block: np.ndarray) -> None:
        distance = _distances(ranks[block], known_ranks, categorical)
        for i, f in np.argwhere(missing[which[block]]):
            near = _donors(distance[i], has[:, f])
            values = known[near, f]
            versions[:, block[i], f] = values[(SPACED * len(near)).astype(int)]
            typical = mode(values)[0] if f in categorical else np.median(values)
            middle[which[block[i]], f] = typical

    by_block(fill, blocks(len(which), len(known)))
    return CompleteRows(middle, which, versions)


def _require_values(missing: np.ndarray, has: np.ndarray) -> None:
    """Raise a ValueError for a row without values, or a column that no row knows."""
    if missing.all(axis=1).any():
        row = int(missing.all(axis=1).argmax())
        raise ValueError(f"X[{row}] has no value in any column; leave such rows out")
    if not has.any(axis=0).all():
        column = int((~has.any(axis=0)).argmax())
        raise ValueError(
            f"column {column} (counted from 0) has no value in any of {len(has)} "
            "majority rows, so nothing can fill its missing cells; leave the column out"
        )


def _donors(distance: np.ndarray, has: np.ndarray) -> np.ndarray:
    """Return the rows with a value that are as near as the tenth, the nearest first."""
    near = np.where(has, distance, np.inf)
    last = min(DONORS, len(near)) - 1
    tenth = np.partition(near, last)[last]
    found = np.flatnonzero((near <= tenth * (1.0 + 1e-9)) & has)
    return found[np.argsort(near[found], kind="stable")]


def _ranks(
    rows: np.ndarray, known: np.ndarray, categorical: Collection[int]
) -> np.ndarray:
    """Return the share of known values below each value; or codes of categories."""
    result = rows.copy()
    for f in range(rows.shape[1]):
        if f not in categorical:
            x = rows[:, f]
            values = np.sort(known[~np.isnan(known[:, f]), f])
            below = np.searchsorted(values, x, "left")
            up_to = np.searchsorted(values, x, "right")
            share = (below + up_to) / 2.0 / len(values)
            result[:, f] = np.where(np.isnan(x), np.nan, share)
    return result


def _distances(
    rows: np.ndarray, known: np.ndarray, categorical: Collection[int]
) -> np.ndarray:
    """Return the distances (m, n) over the columns both rows have; inf without one."""
    total, count = np.zeros((2, len(rows), len(known)))
    for f in range(rows.shape[1]):
        apart = np.abs(rows[:, None, f] - known[:, f])
        both = ~np.isnan(apart)
        if f in categorical:
            apart = apart != 0.0
        np.add(total, apart, out=total, where=both)
        count += both
    return np.divide(total, count, out=np.full(total.shape, np.inf), where=count > 0)
