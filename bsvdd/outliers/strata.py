"""Strata: rows with one unknown share of odd rows, such as rows of one technician."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

FEWEST_IN_STRATUM = 5  # rows of a level that is a stratum by itself
MOST_STRATA = 50  # of these levels
REST = "others"  # the stratum of the other levels
NAMED_STRATA = 5  # in a sentence


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
    def of(cls, strata: ArrayLike | None, n: int) -> Self:
        """Return the strata of n rows.

        Levels of fewer than 5 rows are joined, and all beyond the 50 largest levels.

        Parameters
        ----------
        strata : array-like of shape (n,), optional
            The label of each row. By default all rows are one stratum.
        n : int

        Returns
        -------
        Strata

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
        known = count[count >= FEWEST_IN_STRATUM].index[:MOST_STRATA]
        level, found = pd.factorize(names.where(names.isin(known), REST), sort=True)
        if not len(known):
            raise ValueError(
                f"strata: none of {len(count)} levels has {FEWEST_IN_STRATUM} rows or "
                "more; give fewer levels"
            )
        return cls(list(found), np.asarray(level))

    def table(self, numbers: np.ndarray) -> pd.DataFrame:
        """Return a table of the strata.

        Parameters
        ----------
        numbers : ndarray of shape (L, 3)
            How many rows of each stratum are odd: median, low and high.

        Returns
        -------
        pandas.DataFrame
        """
        found = pd.DataFrame(numbers, columns=["odd", "low", "high"]).astype("Int64")
        found.insert(0, "level", self.names)
        found.insert(1, "rows", np.bincount(self.level, minlength=len(self.names)))
        return found


def sentence(table: pd.DataFrame) -> str:
    """Return how many rows of each stratum are odd, in words.

    Parameters
    ----------
    table : pandas.DataFrame
        The strata, see :meth:`Strata.table`.

    Returns
    -------
    str
        The largest share of odd rows is first. Empty for one stratum.
    """
    if len(table) < 2 or table["odd"].isna().any():
        return ""
    order = np.argsort(-table["odd"] / table["rows"], kind="stable")
    parts = [
        f"{row.level}: {row.odd} of {row.rows}{'' if place else ' rows odd'} "
        f"({row.low} to {row.high})"
        for place, row in enumerate(table.iloc[order[:NAMED_STRATA]].itertuples())
    ]
    more = len(table) - NAMED_STRATA
    parts += [f"{more} more strata"] * (more > 0)
    return f"{'; '.join(parts)}. "
