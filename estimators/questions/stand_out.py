"""Which rows of one table stand out, how many do, and which of them are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import connected_components

from ...models import odd_rows
from ...models.kernels import Kernel
from ..detector import Detector
from ..one_table import Table
from ..p_values import check_rate
from ..table import require_one_fit

ALIKE = 0.25  # of the squared distance to the nearest core row: half as far from each other
FEWEST, MOST = 3, 5000  # rows that are a group, and rows that are compared with each other
BLOCK_VALUES = 2**21  # kernel values at once: 16 MB


@dataclass(frozen=True, eq=False)
class StandOut:
    """The rows of one table that stand out.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        P(odd) of each row; NaN where there are too few different rows for a tail.
    surprise : ndarray of shape (n,)
        -log of the similarity of the row, left out, to the core.
    listed : ndarray of bool, shape (n,)
        The rows that are called odd: of these a share ``fdr`` is expected to be normal.
    group : ndarray of int, shape (n,)
        The number of the group of listed rows that are alike, from 0; -1 for none.
    at_least : int
        So many rows are odd with a probability of .99.
    none : float
        The probability that no row is odd.
    fdr : float
    names : ndarray of shape (n,)
        The names of the rows.
    reason : str
        Why there is no P(odd); empty if there is.
    """

    probability: np.ndarray
    surprise: np.ndarray
    listed: np.ndarray
    group: np.ndarray
    at_least: int
    none: float
    fdr: float
    names: np.ndarray
    reason: str = ""

    @property
    def order(self) -> np.ndarray:
        """Positions of the rows by P(odd), then by the surprise, the oddest first; shape (n,)."""
        return np.lexsort([-self.surprise, -np.nan_to_num(self.probability)])

    @property
    def table(self) -> pd.DataFrame:
        """The rows in this order."""
        columns = {
            "probability_odd": self.probability,
            "surprise": self.surprise,
            "listed": self.listed,
            "group": self.group,
        }
        return pd.DataFrame(columns, self.names).iloc[self.order]

    def lines(self, most: int) -> list[np.ndarray]:
        """Return the rows of each of the first lines of a table: one row, or those of a group."""
        number = pd.Series(self.group[self.order], self.order)
        first = number[(number < 0) | ~number.duplicated()].head(most)
        return [
            self.order[number == group] if group >= 0 else np.array([row])
            for row, group in first.items()
        ]

    def title(self, rows: np.ndarray, names: Any = None, most: int = 3) -> str:
        """Return the names of some rows, and how many there are if these are not all."""
        names = self.names if names is None else names
        shown = ", ".join(str(names[i]) for i in rows[:most])
        return shown if len(rows) <= most else f"{shown}, ... ({len(rows)} rows)"

    @property
    def headline(self) -> str:
        """How many rows stand out."""
        if self.reason:
            return f"The rows have an order only: {self.reason}"
        if self.at_least > 1:
            return f"At least {self.at_least} of {len(self.listed)} rows stand out"
        if self.at_least:
            return f"At least one of {len(self.listed)} rows stands out"
        return f"It is not .99 sure that a row stands out: P(no row is odd) = {self.none:.2g}"

    def __str__(self) -> str:
        """Return what stands out, in sentences."""
        if self.reason:
            return f"{self.headline}."
        found = int(self.listed.sum())
        if found > 1:
            listed = f"{found} rows are listed, of which a share of {self.fdr:g} may be normal"
        elif found:
            listed = f"One row is listed, with P(odd) = {self.probability[self.listed][0]:.2f}"
        else:
            listed = "No row is listed"
        return (
            f"{self.headline}. {listed}. This assumes that the surprises of normal rows have a "
            "smooth tail; a group above a fifth of the rows, or one amid the others, counts as "
            "normal."
        )


def stand_out(est: Detector, X: Any = None, *, fdr: float = 0.1) -> StandOut:
    r"""Return which rows of one table stand out, and how many do.

    A model of the tail of the surprises (:mod:`bsvdd.models.odd_rows`) says how probable it is that
    a row is odd. The list is the longest head of the rows, in the order of this probability, of
    which a share ``fdr`` is expected to be normal; each of its rows is rather odd than normal.

    Parameters
    ----------
    est : Detector
        Fitted to one table with odd rows inside: by ``fit_predict``, or with ``core`` below 1.
    X : array-like of shape (n, p), optional
        That table; by default, the rows that the fit holds, which of many rows are a sample.
    fdr : float, default=0.1

    Returns
    -------
    StandOut
        Print it for the answer in sentences; ``table`` has the rows in order.

    Raises
    ------
    ValueError
        The fit counts all rows as normal, X is another table, or fdr does not lie between 0 and 1.

    Notes
    -----
    A rank of a row among the rows of its own table is no evidence: one row of any table has the
    smallest. There is no P(odd), and nothing is listed, with fewer than 20 different surprises
    in the tail, so below some 40 rows (SVDD, OCSVM: 100), or where more than .45 (.75) of the rows
    have the smallest surprise.

    Examples
    --------
    >>> import numpy as np
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> X[:12] = [3.0, -3.0, 3.0] + 0.1 * X[:12]
    >>> est = bsvdd.BDD(simplex=True, core=0.8).fit(X)
    >>> found = bsvdd.stand_out(est)
    >>> int(found.listed[:12].sum()), int(found.listed[12:].sum()), set(found.group[:12].tolist())
    (12, 0, {0})
    """
    require_one_fit(est, "P(odd)")
    check_rate("fdr", fdr)
    table = Table.of(est, X)
    odd = table.odd
    listed = odd.listed(fdr)
    return StandOut(
        probability=odd.probability,
        surprise=table.surprises,
        listed=listed,
        group=groups(est.kernel_, table, listed),
        at_least=odd.at_least,
        none=odd.none,
        fdr=float(fdr),
        names=table.names,
        reason="" if table.tail.is_known else odd_rows.TOO_FEW,
    )


def groups(kernel: Kernel, table: Table, listed: np.ndarray) -> np.ndarray:
    """Return the number of the group of alike rows that each listed row is in, (n,); -1 for none.

    Two rows are alike if they are half as far from each other as each is from the nearest row of
    the core. The largest group is number 0. Of more than 5,000 listed rows the most surprising are
    compared.
    """
    found = np.full(len(listed), -1)
    rows, inside = np.flatnonzero(listed), np.flatnonzero(table.core)
    rows = rows[np.argsort(-table.surprises[rows], kind="stable")[:MOST]]
    if len(rows) < FEWEST or kernel.pairwise:
        return found
    odd, core = table.rows[rows], table.rows[inside]
    nearest, step = np.empty(len(rows)), max(1, BLOCK_VALUES // len(core))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        of_numbers, of_categories = kernel.apart(odd[block], core)
        far = of_numbers - of_categories
        nearest[block] = np.where(rows[block, None] == inside, np.inf, far).min(axis=1)
    of_numbers, of_categories = kernel.apart(odd, odd)
    alike = of_numbers - of_categories <= ALIKE * np.minimum(nearest[:, None], nearest)
    _, number = connected_components(alike, directed=False)
    count = np.bincount(number)
    order = np.argsort(-count, kind="stable")
    place = np.full(len(count), -1)
    place[order] = np.where(count[order] >= FEWEST, np.arange(len(count)), -1)
    found[rows] = place[number]
    return found
