r"""Which columns of a table follow from the others, and which rows break that.

Each column is explained by the others, from rows other than the one that is judged
(:mod:`bsvdd.outliers.explained`). A column of numbers follows if a trimmed linear
regression of its values, their logarithms or square roots explains half of the
variation of the four fifths of the rows that fit best. A column of categories, or of
few different numbers, follows if one or two others save half of its surprise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from ..base import threads
from ..base.messages import listed
from ..outliers.cells import Cells
from ..outliers.explained import FOLLOWS
from ..tables.training import TrainingTable


@dataclass(frozen=True, eq=False, repr=False)
class Relations:
    """Which columns follow from others, and how far rows are from that.

    Attributes
    ----------
    follows : pandas.DataFrame
        A row for each column that follows: ``explained``, the share of its variation or
        surprise; ``how``, "linear", "log-linear", "square-root" or "counts"; and
        ``by``, the columns that it follows from.
    excess : pandas.DataFrame of shape (n, p)
        How far each cell is from its relation. 1 is the unit, which a hundredth of the
        rows exceed; an excess far above 1 tells a broken relation. NaN for a missing
        value, and for a column that does not follow. NaN too where a column that it
        follows from has a missing value, or a category in fewer than five rows.
    expected : pandas.DataFrame of shape (n, p)
        What the others predict, as a cell of the table; None where there is no excess.
    table : pandas.DataFrame
        The rows that have an excess, the strongest first: the largest ``excess``, its
        ``column``, the ``value`` and what was ``expected`` there. Beyond the unit
        ``column`` is the one that makes the row fit best when its cell is set to what
        is expected. In a relation any of its columns may make it fit: ``column`` is the
        one whose value is the most unusual, and ``also`` names the others.
    """

    follows: pd.DataFrame
    excess: pd.DataFrame
    expected: pd.DataFrame
    table: pd.DataFrame

    def __repr__(self) -> str:
        """Return a line for each column that follows."""
        lines = [
            f"{c} follows from {', '.join(map(str, by))} ({how}, {explained:.2f} "
            "explained)"
            for c, explained, how, by in self.follows.itertuples()
        ]
        return "\n".join(lines) or "No column follows from the others."


def relations(X: ArrayLike, on: ArrayLike | None = None) -> Relations:
    r"""Return which columns of a table follow from the others, and the excess of rows.

    Parameters
    ----------
    X : data frame or array-like of shape (n, p)
        Read as ``fit`` reads it: dates and ordered categories are numbers, other text
        names categories. Missing values are left as they are.
    on : name or list of names, optional
        The columns that explain; all others are explained by these, and not by each
        other. By default each column is explained by all others.

    Returns
    -------
    Relations

    Raises
    ------
    ValueError
        ``on`` names no column, all of them, or one that there is not; or X cannot be
        read.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import bsvdd
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"pieces": rng.integers(1, 30, 99)})
    >>> X["price"] = rng.uniform(1, 9, 99)
    >>> X["net"] = X["pieces"] * X["price"]
    >>> X.loc[7, "net"] = 50.0
    >>> found = bsvdd.relations(X, on=["pieces", "price"])
    >>> found
    net follows from pieces, price (log-linear, 1.00 explained)
    >>> row = found.table.iloc[0]
    >>> int(row.name), row["column"], float(row["value"]), f"{row['expected']:.2f}"
    (7, 'net', 50.0, '7.37')
    """
    given = TrainingTable.read(X)
    frame = given.frame
    names = list(frame)
    used = names if on is None else np.atleast_1d(on).tolist()
    if on is not None and not (used and set(used) < set(names)):
        raise ValueError(f"on={on!r}: expected some, and not all, of {listed(frame)}")
    is_category = np.isin(range(len(names)), given.table.categorical)
    by = None if on is None else [names.index(name) for name in used]
    learn = np.ones(len(frame), dtype=bool)
    with threads.one(), threads.steps("relations") as step:
        cells = Cells.of(given, is_category, learn, by, step)
    following = {f: e for f, e in cells.found.items() if e.explained >= FOLLOWS}
    cells = replace(cells, found=following)
    excess = given.values * np.nan
    expected = pd.DataFrame(None, excess.index, excess.columns, object)
    follows = {}
    for f, found in following.items():
        name = names[f]
        follows[name] = found.explained, found.how, [names[g] for g in found.by]
        excess[name] = found.size
        expected[name] = cells.expected(f)
    columns = ["explained", "how", "by"]
    named = pd.DataFrame.from_dict(follows, "index", columns=columns)
    return Relations(named, excess, expected, _table(cells, excess, expected))


def _table(cells: Cells, excess: pd.DataFrame, expected: pd.DataFrame) -> pd.DataFrame:
    """Return the rows that have an excess, the strongest first."""
    z = excess.fillna(-1.0).to_numpy()
    largest = z.max(axis=1)
    rows = np.argsort(-largest, kind="stable")[: (largest >= 0.0).sum()]
    own = {row: [int(z[row].argmax())] for row in rows}
    own |= cells.suspects(rows[largest[rows] > 1.0].tolist())
    at = [(row, own[row][0]) for row in rows]
    frame = cells.given.frame
    labels = [frame.columns[own[row]] for row in rows]
    columns = {
        "excess": largest[rows],
        "column": [each[0] for each in labels],
        "value": [frame.iat[cell] for cell in at],
        "expected": [expected.iat[cell] for cell in at],
        "also": [", ".join(map(str, each[1:])) for each in labels],
    }
    return pd.DataFrame(columns, excess.index[rows])
