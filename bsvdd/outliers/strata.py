"""Strata: rows that share one unknown share of odd rows, such as those of one technician."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd

FEWEST = 5  # rows of a level that is a stratum by itself
MOST = 50  # of these levels
REST = "others"  # the stratum of the other levels
SHOWN = 5  # strata that a sentence has


@dataclass(frozen=True, eq=False)
class Strata:
    """The strata of n rows.

    Attributes
    ----------
    names : list of str
    level : ndarray of int, shape (n,)
        The place of each row's stratum among the names.
    """

    names: list[str]
    level: np.ndarray

    @classmethod
    def of(cls, strata: Any, n: int) -> Self:
        """Return the strata of n rows by labels (n,), or None for one stratum.

        Levels of fewer than 5 rows are joined, and those beyond the 50 largest.

        Raises
        ------
        ValueError
            A length differs, or a row has no label.

        Examples
        --------
        >>> from bsvdd.outliers.strata import Strata
        >>> Strata.of([*"aaaaabbbbbbcd"], 13).names
        ['a', 'b', 'others']
        """
        if strata is None:
            return cls(["all"], np.zeros(n, dtype=int))
        labels = pd.Series(np.asarray(strata, dtype=object))
        if labels.shape != (n,):
            raise ValueError(
                f"strata must be {n} labels, one for each row, got {len(labels)}"
            )
        if labels.isna().any():
            row = int(labels.isna().argmax())
            raise ValueError(
                f"strata: row {row} has no level; name it, or give such rows a level "
                "of their own"
            )
        names = labels.map(str)
        count = names.value_counts()
        known = count[count >= FEWEST].index[:MOST]
        level, found = pd.factorize(names.where(names.isin(known), REST), sort=True)
        if not len(known):
            raise ValueError(
                f"strata: none of {len(count)} levels has {FEWEST} rows or more; give "
                "fewer levels"
            )
        return cls(list(found), np.asarray(level))

    def table(self, numbers: np.ndarray) -> pd.DataFrame:
        """Return how many rows of each stratum are odd, by median, low and high (L, 3)."""
        found = pd.DataFrame(numbers, columns=["odd", "low", "high"]).astype("Int64")
        found.insert(0, "level", self.names)
        found.insert(1, "rows", np.bincount(self.level, minlength=len(self.names)))
        return found


def sentence(table: pd.DataFrame) -> str:
    """Return how many rows of each stratum are odd, the largest share first; nothing for one."""
    if len(table) < 2 or table["odd"].isna().any():
        return ""
    order = np.argsort(-table["odd"] / table["rows"], kind="stable")
    parts = [
        f"{row.level}: {row.odd} of {row.rows}{'' if place else ' rows odd'} "
        f"({row.low} to {row.high})"
        for place, row in enumerate(table.iloc[order[:SHOWN]].itertuples())
    ]
    more = len(table) - SHOWN
    parts += [f"{more} more strata"] if more > 0 else []
    return f"{'; '.join(parts)}."
