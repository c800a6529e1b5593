r"""Why rows are abnormal: walks from a row to normal rows that are like it.

The ten known normal rows u that are most like a row z are the ends of ten walks. A walk
gives z the values of u, a column at a time, and at each step the estimator is asked for
the surprise S. The mean fall of S over the walks when column f changes is the share of
the column,

.. math:: \phi_f = \frac{1}{10} \sum_{j=1}^{10}
    \bigl[S(z_{A_j} u_j) - S(z_{A_j \cup f} u_j)\bigr],

with :math:`A_j` the columns that walk j changes before f. These are Shapley values
whose ends are rows that exist, by sampled orders (Castro, Gomez and Tejada 2009), each
beside its reverse (Mitchell et al. 2022). They sum to the mean fall
:math:`S(z) - S(u)`. Where S is a sum over columns, each share is the mean fall of the
term of its column, whatever the orders are.

The values of the ten rows in a column are the usual ones, and replace a missing value.
The change that makes a row normal is the shortest walk with a normal row on it, the
columns with the largest shares first. A column is named if it has a tenth of the
shares. It is also named if three of ten walks become normal with it, as a column that
is far off has a small share beside one that is further off. Columns that follow from
each other are named together, and their shares are added: some walks give the fall to
one of them, and some to another. Where no column is named, the words say so, and have
the three columns with the largest shares.

**References**

Castro, J., Gomez, D. and Tejada, J. (2009). Polynomial calculation of the Shapley value
based on sampling. Computers & Operations Research 36, 1726-1730.
doi:10.1016/j.cor.2008.04.004

Mitchell, R., Cooper, J., Frank, E. and Holmes, G. (2022). Sampling permutations for
Shapley value estimation. Journal of Machine Learning Research 23, 1-46.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..base.messages import of_value
from ..estimators.checks import positions
from ..estimators.protocols import HasGroups, HasTable, LeavesOut, RowScorer
from ..tables.table import frame_of
from ..tables.training import TrainingTable

WALKS = 10  # and as many rows that are like a row
# columns that are reasons, and the least part of one
MOST_REASONS = 3
LEAST_PART = 0.1
LEAST_SHOWN = 0.01  # a smaller part is shown by this limit
# share of the walks that become normal with a column: a reason with any part
TURNS = 0.3
# of what the falls of two columns differ by, at most, that their sum varies by
TWINS = 0.4
STEP_VALUES = 5_000_000  # of steps in memory at once
MOST_COLUMNS = 100  # that walks change one by one
# rows, names of rows and categories that are printed
PRINTED_ROWS = 10
PRINTED_NAMES = 3
PRINTED_CATEGORIES = 2
MOST_OF_LINE = 30  # rows of a line that are explained
# digits of usual and of own values
USUAL_DIGITS = 4
OWN_DIGITS = 6
TINY = np.finfo(float).tiny
TIE = 1e-9  # of surprises, which are equal but for rounding
USUAL_SHARE = 0.5  # of the rows that are alike have a usual value


@dataclass(frozen=True, eq=False, repr=False)
class Walks:
    """Walks from m rows to known rows that are like them.

    Attributes
    ----------
    estimator : estimator
        It is asked for the surprise of each step.
    cells : pandas.DataFrame of shape (n + m, p)
        The n known rows of the majority, by their surprise, then the m rows.
    values : ndarray of shape (n + m, p)
        The same as floats: codes of categories, and NaN for missing values.
    is_category : ndarray of bool, shape (p,)
    start, end : ndarray of int, shape (m, 10, p)
        The rows of ``cells`` whose values walks begin and end with.
    known : ndarray of shape (n,)
        The surprises of the known rows.
    own : ndarray of bool, shape (m, n)
        Which known rows are others of the row's own group; none without groups.
    groups : ndarray of shape (m,), optional
        The group by whose centre all rows on the walks of a row are answered.
    """

    estimator: RowScorer
    cells: pd.DataFrame
    values: np.ndarray
    is_category: np.ndarray
    start: np.ndarray
    end: np.ndarray
    known: np.ndarray
    own: np.ndarray
    groups: np.ndarray | None = None

    def surprise(
        self, rank: np.ndarray, steps: Sequence[int], rows: Sequence[int]
    ) -> np.ndarray:
        """Return the surprise (rows, 10, k) at k steps of the walks of some rows.

        At step t a walk has changed the columns with a ``rank`` (rows, 10, p) below t.
        """
        found = []
        f = np.arange(rank.shape[-1])
        blocks = min(rank.size * len(steps) // STEP_VALUES + 1, len(rows))
        for i in np.array_split(np.arange(len(rows)), blocks):
            some = np.asarray(rows)[i]
            changed = rank[i][:, :, None] < np.asarray(steps)[:, None]
            end = self.end[some][:, :, None]
            place = np.where(changed, end, self.start[some][:, :, None])
            place = place.reshape(-1, len(f))
            values = self.values[place, f]
            of_row = np.repeat(some, changed[0, ..., 0].size)
            if self.groups is not None:
                codes, _ = pd.factorize(self.groups)
                values = np.column_stack([values, codes[of_row]])
            _, first, step = np.unique(
                values, axis=0, return_index=True, return_inverse=True
            )
            columns = {
                c: self.cells[c].array.take(place[first, i])
                for i, c in enumerate(self.cells)
            }
            groups = None if self.groups is None else self.groups[of_row[first]]
            asked = _surprise(self.estimator, pd.DataFrame(columns), groups)
            found.append(asked[step].reshape(changed.shape[:3]))
        return np.concatenate(found)

    def text(self, place: np.ndarray, f: int, digits: int) -> str:
        """Return the ends of some cells of column f, or its main categories."""
        place = np.ravel(place)
        place = place[~np.isnan(self.values[place, f])]
        values = self.values[place, f]
        cells = self.cells.iloc[place, f]
        if not len(place):
            return "missing"
        if self.is_category[f]:
            counts = cells.sort_values(key=lambda x: x.map(str)).value_counts()
            frequent = counts.index[:PRINTED_CATEGORIES]
            return " or ".join(of_value(cell, digits) for cell in frequent)
        ends = cells.iloc[[values.argmin(), values.argmax()]]
        return " to ".join(dict.fromkeys(of_value(cell, digits) for cell in ends))

    def is_odd(self, rows: np.ndarray, f: int) -> bool:
        """Return whether less than half of some rows have a usual value in column f."""
        usual = []
        for row in rows:
            own = self.values[len(self.known) + row, f]
            near = self.values[self.of_group(row, f), f]
            if not len(near):
                near = self.values[self.end[row, :, f], f]
            within = near.min() <= own <= near.max()
            is_one = (near == own).any() if self.is_category[f] else within
            usual.append(is_one or np.isnan(own))
        return bool(np.mean(usual) < USUAL_SHARE)

    def of_group(self, row: int, f: int) -> np.ndarray:
        """Return the other rows of a row's own group that have a value in column f."""
        return np.flatnonzero(
            self.own[row] & ~np.isnan(self.values[: len(self.known), f])
        )

    def nearest(self, rows: np.ndarray, f: int, surprise: float) -> np.ndarray:
        """Return ten known rows nearest in column f to rows beyond all; else none.

        All are the normal rows. The nearest are less surprising than ``surprise``, that
        of the rows, and may be abnormal. None are returned if ten have the same value,
        or if the value lies amid them.
        """
        normal, less = np.searchsorted(self.known, [0.0, surprise - TIE], "right")
        own = self.values[len(self.known) + rows, f]
        first, last = own.min(), own.max()
        usual = self.values[:normal, f]
        low, high = np.fmin.reduce(usual), np.fmax.reduce(usual)
        beyond = low < high and (first > high or last < low)
        if self.is_category[f] or not beyond:
            return np.empty(0, dtype=int)
        near = self.values[:less, f]
        off = np.maximum(first - near, near - last)
        found = np.lexsort([near, off])[:WALKS]
        found = found[~np.isnan(near[found])]
        amid = near[found].min() <= first and last <= near[found].max()
        return found[: len(found) * bool((off[found] > 0.0).any() and not amid)]


@dataclass(frozen=True, eq=False, repr=False)
class Why:
    """Why m rows are abnormal, the result of :func:`bsvdd.explain`.

    Print it for some sentences on each row.

    Attributes
    ----------
    surprise : pandas.Series
        The surprise of each row, 0 at the cutoff: minus ``est.decision_function``. A
        row with missing values has the mean over its walks. A training row has the
        surprise of ``est.decision()``, which leaves it out.
    falls : ndarray of shape (m, 10, p)
        By how much the surprise falls on each walk where each column changes.
    turns : ndarray of shape (m, p)
        In which share of the walks the row becomes normal there.
    together : ndarray of bool, shape (m, p)
        Which columns the walks change together: those beyond the 100 in which the row
        is farthest from the rows like it. Each has an equal part of their fall.
    nearest : pandas.DataFrame of shape (m, 10)
        The names of the normal known rows that are most like each row, the nearest
        first; the same ones again if there are fewer.
    walks : Walks
    """

    surprise: pd.Series
    falls: np.ndarray
    turns: np.ndarray
    together: np.ndarray
    nearest: pd.DataFrame
    walks: Walks

    @property
    def normal(self) -> pd.Series:
        """Whether the surprise of each row is at most 0."""
        return (self.surprise <= 0.0).rename("normal")

    @cached_property
    def shares(self) -> pd.DataFrame:
        """The mean fall where each column changes, (m, p): Shapley values."""
        columns = self.walks.cells.columns
        return pd.DataFrame(self.falls.mean(axis=1), self.surprise.index, columns)

    @cached_property
    def parts(self) -> np.ndarray:
        """The part of each column in the sum of the shares above 0, (m, p)."""
        above = np.maximum(self.shares.to_numpy(), 0.0)
        return above / (above.sum(axis=1, keepdims=True) + TINY)

    def top_columns(self, most: int = MOST_REASONS) -> pd.DataFrame:
        """Return the columns with the largest parts of each row.

        Parameters
        ----------
        most : int, default=3
            How many columns each row has.

        Returns
        -------
        pandas.DataFrame
            With the columns column_1, share_1, column_2, ...; a column without a part
            is missing.
        """
        order = np.argsort(-self.parts, axis=1, kind="stable")[:, :most]
        part = np.take_along_axis(self.parts, order, axis=1)
        columns = self.shares.columns.to_numpy(object)[order]
        found: dict[str, object] = {}
        for j, (column, share) in enumerate(zip(columns.T, part.T, strict=True), 1):
            found[f"column_{j}"] = np.where(share > 0.0, column, None)
            found[f"share_{j}"] = np.where(share > 0.0, share, np.nan)
        return pd.DataFrame(found, self.nearest.index)

    def change(self, i: int) -> dict[Hashable, object]:
        """Return the fewest columns found that make a row normal.

        Parameters
        ----------
        i : int
            The position of the row.

        Returns
        -------
        dict
            The new values, all of one row like it, by column. Empty for a normal row,
            and if no walk is normal.
        """
        if self.normal.iloc[i]:
            return {}
        values = self.walks.values
        end = self.walks.end[i]
        f = np.arange(values.shape[1])
        differs = np.abs(values[self.walks.start[i], f] - values[end, f]) > 0.0
        last = np.where(differs, -self.parts[i], 1.0)
        order = np.argsort(last, axis=1, kind="stable")
        rank = np.argsort(order, axis=1)
        cells = self.walks.cells
        most = differs.sum(axis=1).max()
        for count in sorted({*range(1, min(most, MOST_COLUMNS) + 1), most}):
            changed = differs & (rank < count)
            kept = np.where(changed, 0, 1)[None]
            surprise = self.walks.surprise(kept, [1], [i])[0, :, 0]
            for j in np.flatnonzero((surprise <= 0.0) & changed.any(axis=1)):
                found = order[j][changed[j, order[j]]]
                return {cells.columns[f]: cells.iat[end[j, f], f] for f in found}
        return {}

    # in words

    def reason(self, rows: int | Sequence[int] | np.ndarray) -> str:
        """Return the columns that make a row odd, or rows that are alike, in words.

        Parameters
        ----------
        rows : int or sequence of int
            Positions.

        Returns
        -------
        str
            Columns with values and parts, the largest part first, and what rows like it
            have there, if its value is none of these; if it lies beyond all normal
            rows, the nearest ten values of rows that are less surprising. Where no
            column has a tenth, the words say so. Empty without any part.
        """
        rows = np.atleast_1d(rows)
        part = self.parts[rows].mean(axis=0)
        order = np.argsort(-part, kind="stable")
        named = (part >= LEAST_PART) | (self.turns[rows].mean(axis=0) >= TURNS)
        left = order[named[order]].tolist()
        alone = ""
        if not left and part.any():
            largest = order[:MOST_REASONS]
            left = largest[part[largest] > 0.0].tolist()
            alone = "no column alone; the largest: "
        groups = []
        while left:
            twins = self._twins(rows, left[0])
            groups.append([left[0], *(f for f in left[1:] if twins[f])])
            left = [f for f in left if f not in groups[-1]]
        groups.sort(key=lambda group: -part[group].sum())
        texts = [
            self._group_text(rows, group, part[group].sum())
            for group in groups[:MOST_REASONS]
        ]
        rest = self.together[rows].all(axis=0)
        if (of_rest := part[rest].sum()) >= LEAST_PART:
            texts.append(f"{rest.sum()} other columns together ({of_rest:.0%})")
        return alone + ", ".join(texts)

    def _twins(self, rows: np.ndarray, f: int) -> np.ndarray:
        """Return which columns (p,) share their falls with column f on the walks."""
        falls = self.falls[rows]
        both = falls + falls[..., [f]]
        still = both.std(axis=1).mean(axis=0)
        swing = (falls - falls[..., [f]]).std(axis=1).mean(axis=0)
        least = TWINS**2 * both.mean(axis=(0, 1))
        return np.asarray(np.maximum(still, least) <= TWINS * swing)

    def _group_text(self, rows: np.ndarray, group: list[int], part: float) -> str:
        """Return columns that are named together, with their values and their part."""
        several = len(group) > 1
        own = []
        surprise = self.surprise.iloc[rows].min()
        others: dict[str, list[str]] = {}
        for f in group:
            name = of_value(self.shares.columns[f], OWN_DIGITS)
            own.append(f"{name} = {self.value(rows, f)}")
            head = f"{name} " * several
            what, place = self._beside(rows, f, surprise)
            if len(place):
                text = self.walks.text(place, f, USUAL_DIGITS)
                others.setdefault(what, []).append(head + text)
        other = "".join(f"; {what}{', '.join(texts)}" for what, texts in others.items())
        share = f"{part:.0%}" if part >= LEAST_SHOWN else f"<{LEAST_SHOWN:.0%}"
        return f"{' and '.join(own)}{' together' * several} ({share}{other})"

    def _beside(
        self, rows: np.ndarray, f: int, surprise: float
    ) -> tuple[str, np.ndarray]:
        """Return what an odd value is told beside, and the rows that have that.

        None if the value is not odd.
        """
        what, place = "rows like it: ", self.walks.end[rows, :, f].ravel()
        own = self.walks.of_group(rows[0], f)
        if len(rows) == 1 and len(own):
            many = f"{len(own)} rows" if len(own) > 1 else "other row"
            what, place = f"its {many}: ", own
        elif len(near := self.walks.nearest(rows, f, surprise)):
            return "nearest ", near
        return what, place if self.walks.is_odd(rows, f) else place[:0]

    def value(self, rows: int | Sequence[int] | np.ndarray, f: int) -> str:
        """Return what some rows have in a column, in words.

        Parameters
        ----------
        rows : int or sequence of int
            Positions.
        f : int
            The position of the column.

        Returns
        -------
        str
        """
        place = len(self.walks.known) + np.asarray(rows)
        return self.walks.text(place, f, OWN_DIGITS)

    def usual(self, rows: int | Sequence[int] | np.ndarray, f: int) -> str:
        """Return what the rows like some rows have in a column, in words.

        Parameters
        ----------
        rows : int or sequence of int
            Positions.
        f : int
            The position of the column.

        Returns
        -------
        str
        """
        return self.walks.text(self.walks.end[rows, :, f], f, USUAL_DIGITS)

    def __repr__(self) -> str:
        """Return some sentences for each of the first rows."""
        lines = []
        for i, value in enumerate(self.surprise.to_numpy()[:PRINTED_ROWS]):
            state = "abnormal" if value > 0.0 else "normal"
            different = list(dict.fromkeys(map(str, self.nearest.iloc[i])))
            near = ", ".join(different[:PRINTED_NAMES])
            change = ", ".join(
                f"{of_value(column, OWN_DIGITS)} = {of_value(cell, OWN_DIGITS)}"
                for column, cell in self.change(i).items()
            )
            sentences = [
                f"{self.surprise.index[i]}: {state}, surprise {value:.3g}, 0 at the "
                "cutoff",
                self.reason(i) if value > 0.0 else "",
                f"Rows like it: {near}",
                f"Normal with {change}" * bool(change),
            ]
            lines.append(". ".join(filter(None, sentences)) + ".")
        more = len(self.surprise) - PRINTED_ROWS
        return "\n".join(lines + [f"... and {more} more rows"] * (more > 0))


def explain(
    est: RowScorer,
    Z: ArrayLike | None = None,
    X: ArrayLike | None = None,
    rows: Sequence[int] | np.ndarray | None = None,
    groups: ArrayLike | None = None,
) -> Why:
    """Return why rows are abnormal: by walks to normal rows that are like them.

    Parameters
    ----------
    est : fitted estimator
        One of this package, or any other that has ``decision_function``, at least 0 for
        normal rows, such as a pipeline of scikit-learn.
    Z : array-like or data frame of shape (m, p), optional
        New rows. By default the known rows are explained.
    X : array-like or data frame of shape (n, p), optional
        The known rows. By default the rows of the fit, ``est.table_``.
    rows : sequence of int, optional
        Positions of the known rows to explain where there is no Z. Default: all.
    groups : array-like of shape (m,), or name of a column of Z, optional
        Of a fit with ``group_centres``, as in ``est.decision``: walks end at normal
        rows of the row's own group, where there are any.

    Returns
    -------
    Why

    Raises
    ------
    ValueError
        There are no known rows, or none of them is normal; Z has other columns; the
        kernel is precomputed: there are no columns to change.
    TypeError
        The estimator has no ``decision_function``.
    sklearn.exceptions.NotFittedError

    Notes
    -----
    A walk has p steps, so m rows ask for 10 m p answers. With more than 100 columns,
    those in which a row is farthest from the rows like it are changed one by one, 100
    of them, and the others in one step: the time grows with p, not with its square.
    Steps from a row of the fit
    are new rows: the fit, which holds the row itself, finds them less odd than the row
    left out.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 3))
    >>> est = bsvdd.SVDD().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    >>> odd = pd.DataFrame({"a": [0.0], "b": [6.0], "c": [0.0]}, index=["odd"])
    >>> why = bsvdd.explain(est, odd)
    >>> why.top_columns(1)["column_1"].tolist(), list(why.change(0))
    (['b'], ['b'])
    """
    check_is_fitted(est)
    if Z is not None and rows is not None:
        raise ValueError("rows are positions of known rows; give them without Z")
    table, surprise = _known(est, X)
    known = table.frame
    some = np.argsort(surprise, kind="stable")
    some = some[~table.minority[some]]
    normal = some[surprise[some] <= 0.0]
    if not len(normal):
        raise ValueError(
            f"{type(est).__name__} finds none of {len(known)} known rows normal: no "
            "row is like Z"
        )
    own = np.arange(len(known))
    own = own if rows is None else positions(rows, len(known))
    new_rows = known.iloc[own] if Z is None and X is not None else Z
    labels, near_labels = _groups(est, new_rows, own, groups)
    if isinstance(groups, str) and isinstance(Z, pd.DataFrame):
        Z = Z.drop(columns=groups)
    asked = known.iloc[own] if Z is None else Z
    floats = table.floats(asked)
    values = np.concatenate([table.values.to_numpy()[some], floats])
    new = frame_of(asked, known.columns)
    if X is None:
        new = _as_of_fit(table, new, floats)
    cells = _cells(known.iloc[some], new)
    is_category = np.isin(np.arange(len(table.kinds)), table.table.categorical)
    n = len(normal)
    of_group = np.zeros((len(new), len(some)), dtype=bool)
    if labels is not None and X is None:
        of_group = labels[:, None] == near_labels[some]
        if Z is None:
            of_group &= own[:, None] != some
    like = _most_alike(values[:n], values[len(some) :], is_category, of_group[:, :n])
    ends = _ends(values, like)
    walks = Walks(
        est, cells, values, is_category, *ends, surprise[some], of_group, labels
    )
    start, falls, turns, together = _walked(walks, len(new))
    now = pd.Series(surprise[own] if Z is None else start, new.index)
    nearest = pd.DataFrame(known.index.to_numpy()[normal[like]], new.index)
    return Why(now, falls, turns, together, nearest, walks)


def _as_of_fit(
    table: TrainingTable, new: pd.DataFrame, floats: np.ndarray
) -> pd.DataFrame:
    """Return new rows with dates, and 1,234.50, written as the fit has them."""
    columns = zip(table.table.labels, table.table.columns, strict=True)
    some = [c for c, column in columns if column.kind == "dates" or column.grouped]
    written = table.table.frame(floats, new.index)
    return pd.concat([new.drop(columns=some), written[some]], axis=1)


def _cells(known: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Return known and new rows as one table; flags beside 0 and 1 are flags too."""
    flags = {
        c: bool for c in known if new[c].dtype == bool and known[c].isin([0, 1]).all()
    }
    return pd.concat([known.astype(flags), new[list(known)]], ignore_index=True)


def _walked(
    walks: Walks, m: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return the first surprise of m rows (m,), and the fields of Why by column.

    They are ``falls`` (m, 10, p), ``turns`` and ``together`` (m, p).
    """
    p = len(walks.is_category)
    unit = np.minimum(_places(walks), MOST_COLUMNS)
    rank = walk_steps(min(p, MOST_COLUMNS + 1))[:, unit].swapaxes(0, 1)
    steps = walks.surprise(rank, range(rank.max() + 2), range(m))
    together = unit == MOST_COLUMNS
    falls = _by_column(steps, rank)
    falls /= np.where(together, p - MOST_COLUMNS, 1)[:, None]
    turns = _by_column((steps > 0.0).astype(float), rank).mean(axis=1)
    turns[together] = 0.0
    return steps[..., 0].mean(axis=1), falls, turns, together


def _groups(
    est: RowScorer, Z: ArrayLike | None, rows: np.ndarray, groups: ArrayLike | None
) -> tuple[np.ndarray | None, np.ndarray]:
    """Return the groups of the rows that are asked, and of all rows of the fit."""
    labels = est.known_groups() if isinstance(est, HasGroups) else None
    if not isinstance(est, HasGroups) or labels is None:
        if groups is not None:
            raise ValueError("explain: groups= needs a fit with group_centres=True")
        return None, np.empty(0)
    return labels[rows] if Z is None else est.known_groups(Z, groups), labels


def reasons(est: RowScorer, lines: Sequence[np.ndarray]) -> tuple[list[str], Why]:
    """Return a reason for each line of known rows, and why the rows asked for are odd.

    Of a long line 30 rows are asked for, and the reason says so.
    """
    some = []
    for rows in lines:
        place = np.linspace(0, len(rows) - 1, min(len(rows), MOST_OF_LINE))
        some.append(rows[place.round().astype(int)])
    asked = np.unique(np.concatenate(some))
    why = explain(est, rows=asked)
    found = []
    for rows, part in zip(lines, some, strict=True):
        text = why.reason(np.searchsorted(asked, part))
        of_some = f"{len(part)} of them: " * bool(text and len(part) < len(rows))
        found.append(of_some + text)
    return found, why


def _known(est: RowScorer, X: ArrayLike | None) -> tuple[TrainingTable, np.ndarray]:
    """Return the known rows of an estimator, and their surprise."""
    name = type(est).__name__
    if not hasattr(est, "decision_function"):
        raise TypeError(
            f"{name} has no decision_function, by which explain asks how odd rows are"
        )
    if get_tags(est).input_tags.pairwise:
        raise ValueError(
            "explain changes columns of rows, and a precomputed kernel has no columns"
        )
    if X is not None:
        table = TrainingTable.read(X)
    elif isinstance(est, LeavesOut):
        return est.table_, est.surprise_
    elif isinstance(est, HasTable):
        table = est.table_
    else:
        raise ValueError(
            f"{name} keeps no training rows; give known rows, explain(est, Z, X)"
        )
    return table, _surprise(est, table.frame)


def _surprise(
    est: RowScorer, frame: pd.DataFrame, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return the surprise of rows, without warnings of rows on the way."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        if groups is not None and isinstance(est, HasGroups):
            return -est.decision_function(frame, groups)
        return -np.asarray(est.decision_function(frame), dtype=float)


def walk_steps(p: int) -> np.ndarray:
    """Return at which step each walk changes each column.

    Parameters
    ----------
    p : int
        The number of columns.

    Returns
    -------
    ndarray of int, shape (10, p)
        From 0: five random orders, and their reverses.
    """
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(p) for _ in range(WALKS // 2)])
    return np.argsort(np.concatenate([order, order[:, ::-1]]), axis=1)


def _places(walks: Walks) -> np.ndarray:
    """Return the place of each column (m, p); above 100, the farthest is the first.

    A number is as far as it is from the mean of the ten rows, in sd; a category, as the
    share of them with another one, in sd of the flag of this category.
    """
    m, _, p = walks.start.shape
    if p <= MOST_COLUMNS:
        return np.tile(np.arange(p), (m, 1))
    far = np.empty((m, p))
    for f, is_category in enumerate(walks.is_category):
        own = walks.values[walks.start[:, :, f], f]
        near = walks.values[walks.end[:, :, f], f]
        known = walks.values[: len(walks.values) - m, f]
        if is_category:
            known = own[:, :1] == known
            own = own != near
            near = 0.0
        apart = np.abs(np.mean(own - near, axis=1))
        far[:, f] = apart / (np.nanstd(known, axis=-1) + TINY)
    return np.argsort(np.argsort(-np.nan_to_num(far), axis=1, kind="stable"), axis=1)


def _by_column(steps: np.ndarray, rank: np.ndarray) -> np.ndarray:
    """Return the falls (m, 10, p) where columns change, from values at each step."""
    return np.take_along_axis(-np.diff(steps), rank, axis=2)


def _most_alike(
    normal: np.ndarray, rows: np.ndarray, is_category: np.ndarray, same: np.ndarray
) -> np.ndarray:
    """Return the ten normal known rows most like each row, (m, 10), the nearest first.

    They are of its group, as ``same`` (m, n) says: others count only where there is
    none. If rows are few they are repeated. A number that is d
    sd away adds d / (1 + d) to the distance: one far value counts little, and the
    farther of two still counts more. Another category, or a missing value in one of the
    rows, adds 1. Rows at one distance stand in the order of their values, so no order
    of the rows counts. A known row that is equal is the row itself, and not like it.
    """
    order = np.lexsort(normal.T)
    same = same[:, order]
    distance = np.zeros(same.shape)
    for known, x, category in zip(normal[order].T, rows.T, is_category, strict=True):
        sd = 1.0 if category else np.nanstd(np.sort(known)) or 1.0
        off = np.abs(x[:, None] - known) / sd
        off = np.where(off > 0.0, 1.0, off) if category else off / (1.0 + off)
        off[np.isnan(x[:, None]) & np.isnan(known)] = 0.0
        distance += np.nan_to_num(off, nan=1.0)
    distance[distance == 0.0] = np.inf
    own = (same & np.isfinite(distance)).sum(axis=1)
    distance[(own > 0)[:, None] & ~same] = np.inf
    place = np.arange(WALKS) % np.where(own > 0, own, len(normal))[:, None]
    nearest = np.argsort(distance, axis=1, kind="stable")
    return np.asarray(order[np.take_along_axis(nearest, place, axis=1)])


def _ends(values: np.ndarray, like: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows whose values walks start and end with, (m, 10, p) each.

    The last m rows walk to rows ``like`` them (m, 10). A missing value of the end is
    taken from the nearest of the ten that has one; a missing value of the row is the
    value of the end.
    """
    missing = np.isnan(values)
    f = np.arange(values.shape[1])
    own = np.arange(len(values) - len(like), len(values))[:, None, None]
    end = np.repeat(like[..., None], len(f), axis=2)
    nearest = missing[end, f].argmin(axis=1)[:, None]
    end = np.where(missing[end, f], np.take_along_axis(end, nearest, axis=1), end)
    end = np.where(missing[end, f], own, end)  # none of the ten has a value
    return np.where(missing[own, f], end, own), end
