"""New rows that no training row is like: unseen categories, columns that have moved."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from ..base.messages import advice, listed, quoted
from .training import TrainingTable

MOVED = 0.5  # share of new rows beyond all training rows above which a column has moved


@dataclass(frozen=True, eq=False)
class Unlike:
    """How new rows differ from all training rows.

    Attributes
    ----------
    unseen : pandas.DataFrame of bool, shape (m, p)
        Which cells have a category that no training row has.
    beyond : pandas.Series of shape (p,)
        The share of rows above all training rows or below them, whichever is larger; 0
        for categories and cyclic columns.
    """

    unseen: pd.DataFrame
    beyond: pd.Series

    @property
    def notes(self) -> list[str]:
        """Sentences on the columns with unseen categories, and on those that moved."""
        n = len(self.unseen)
        found = []
        if self.unseen.any(axis=None):
            names = self.unseen.columns[self.unseen.any()]
            found.append(
                f"{int(self.unseen.any(axis=1).sum())} of {n} rows have a category "
                f"that no training row has, in {quoted(names)}: such a category "
                "differs from all others"
            )
        if n > 1 and (self.beyond > MOVED).any():
            moved = self.beyond.index[self.beyond > MOVED]
            column = repr(moved[0])
            how = advice(
                "without", f"X = X.drop(columns={column})", repr(str(moved[0]))
            )
            found.append(
                f"{'all' if self.beyond.max() == 1.0 else 'most of the'} {n} rows lie "
                f"beyond the training rows in {listed(moved)}: if it counts on, as a "
                f"date does, fit without it, {how}"
            )
        return found


def unlike(
    known: TrainingTable, rows: np.ndarray, columns: Sequence[Hashable] | None = None
) -> Unlike:
    """Return how new rows differ from all training rows.

    Parameters
    ----------
    known : TrainingTable
        The training rows, ``est.table_``.
    rows : ndarray of shape (m, p)
        The new rows as floats, ``est.table_.floats(X)``.
    columns : sequence of length p, optional
        The names of the columns; by default those of the training rows.

    Returns
    -------
    Unlike

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd import SVDD
    >>> from bsvdd.tables.unlike import unlike
    >>> X = pd.DataFrame({"day": range(40), "city": ["Bonn", "Rom"] * 20})
    >>> X["day"] = (X["day"] * 7.5) % 31
    >>> est = SVDD().fit(X)
    >>> new = pd.DataFrame({"day": [50.0, 60.0, 3.0], "city": ["Bonn", "Ulm", "Rom"]})
    >>> found = unlike(est.table_, est.table_.floats(new))
    >>> found.unseen["city"].tolist(), round(float(found.beyond["day"]), 2)
    ([False, True, False], 0.67)
    """
    seen = known.values.to_numpy()
    names = known.values.columns if columns is None else columns
    is_category = np.array([kind == "category" for kind in known.kinds.values()])
    pairs = zip(rows.T, seen.T, is_category, strict=True)
    unseen = [is_of & ~np.isin(new, old) & ~np.isnan(new) for new, old, is_of in pairs]
    above = (rows > np.nanmax(seen, axis=0)).mean(axis=0)
    below = (rows < np.nanmin(seen, axis=0)).mean(axis=0)
    beyond = np.maximum(above, below)
    beyond[is_category | np.isin(list(known.kinds), list(known.table.cyclic))] = 0.0
    return Unlike(
        pd.DataFrame(np.transpose(unseen), columns=names), pd.Series(beyond, names)
    )
