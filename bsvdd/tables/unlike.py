"""New rows that no training row is like: unseen categories, columns that have moved."""

from __future__ import annotations

import numpy as np

from ..base.messages import advised, listed, quoted
from ..base.warning import DataWarning, warn
from .training import TrainingRows

FEWEST_MOVED = 10  # new rows: fewer say nothing of a column
MOVED = 0.5  # share of new rows beyond all training rows above which a column has moved


def warn_of_unlike(known: TrainingRows, rows: np.ndarray) -> None:
    """Warn of columns in which new rows differ from all training rows.

    Parameters
    ----------
    known : TrainingRows
    rows : ndarray of shape (m, q)
        As the kernel takes them: missing cells are filled by training rows. As
        floats, where groups have their own centres.

    Warns
    -----
    DataWarning
        New rows have a category that no training row has; or more than half of them lie
        above all training rows in a column, or below them, and it is not cyclic; of
        at least 10 new rows.

    Examples
    --------
    >>> import warnings
    >>> import pandas as pd
    >>> from bsvdd import SVDD
    >>> X = pd.DataFrame({"day": range(40), "city": ["Bonn", "Rom"] * 20})
    >>> X["day"] = (X["day"] * 7.5) % 31
    >>> est = SVDD().fit(X)
    >>> new = pd.DataFrame({"day": range(27, 39), "city": ["Bonn", "Rom"] * 6})
    >>> new.loc[3, "city"] = "Ulm"
    >>> with warnings.catch_warnings(record=True, action="always") as said:
    ...     table = est.decision(new)
    >>> for warning in said:
    ...     print(str(warning.message).partition(":")[0])
    1 of 12 rows has a category that no training row has, in 'city'
    most of the 12 rows lie beyond the training rows in column 'day'
    """
    table = known.table
    names = table.labels
    n = len(rows)
    X = known.X if known.centres is None else known.observed
    unseen = {
        f: ~(np.isin(rows[:, f], X[:, f]) | np.isnan(rows[:, f]))
        for f in table.categorical
    }
    if found := [f for f, is_unseen in unseen.items() if is_unseen.any()]:
        n_unseen = int(np.any([unseen[f] for f in found], axis=0).sum())
        warn(
            f"{n_unseen} of {n} rows {'has' if n_unseen == 1 else 'have'} a category "
            "that no training row has, in "
            f"{quoted(names[f] for f in found)}: such a category differs from all "
            "others",
            DataWarning,
        )
    if n < FEWEST_MOVED:
        return
    above = (rows > np.nanmax(X, axis=0)).mean(axis=0)
    below = (rows < np.nanmin(X, axis=0)).mean(axis=0)
    beyond = np.maximum(above, below)[: len(names)]
    beyond[[*table.categorical, *map(names.index, table.cyclic)]] = 0.0
    if (beyond > MOVED).any():
        moved = [names[f] for f in np.flatnonzero(beyond > MOVED)]
        python = f"X = X.drop(columns={moved[0]!r})"
        how = advised("without", python, repr(str(moved[0])))
        warn(
            f"{'all' if beyond.max() == 1.0 else 'most of the'} {n} rows lie beyond "
            f"the training rows in {listed(moved)}: if it counts on, as a date does, "
            f"fit without it, {how}",
            DataWarning,
        )
