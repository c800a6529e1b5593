r"""Why rows are abnormal: walks from a row to normal rows that are like it.

The ten known normal rows u that are most like a row z are the ends of ten walks. A walk
gives z the values of u, a column at a time, and at each step the estimator is asked for
the surprise S. By how much S falls when column f changes, on average over the walks, is
the share of the column,

.. math:: \phi_f = \frac{1}{10} \sum_{j=1}^{10} \bigl[S(z_{A_j} u_j) - S(z_{A_j \cup f} u_j)\bigr],

with :math:`A_j` the columns that walk j changes before f. These are Shapley values
whose ends are rows that exist, by sampled orders (Castro, Gomez and Tejada 2009), each
beside its reverse (Mitchell et al. 2022). They sum to the mean fall
:math:`S(z) - S(u)`, and where S is a sum over columns each is the mean fall of its own
term, whatever the orders are.

What is usual in a column are the values of the ten, a gap has their values, and the
change that makes a row normal is the shortest walk with a normal row on it, the columns
with the largest shares first. A column is named if it has a tenth of the shares, or if
three of ten walks become normal with it: beside a value that is further off, one that
is far keeps a row abnormal. Columns that follow from each other are named together, and
their shares are added: walks give the same fall, some to one of them and some to the
other. Where no column is named, the words say so, and have the three with the largest
shares.

**References**

Castro, J., Gomez, D. and Tejada, J. (2009). Polynomial calculation of the Shapley value
based on sampling. Computers & Operations Research 36, 1726-1730.
doi:10.1016/j.cor.2008.04.004

Mitchell, R., Cooper, J., Frank, E. and Holmes, G. (2022). Sampling permutations for
Shapley value estimation. Journal of Machine Learning Research 23, 1-46.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, cast

import numpy as np
import pandas as pd
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from ..base.messages import of_value
from ..tables.table import frame_of
from ..tables.training import TrainingTable

WALKS = 10  # and as many rows that are like a row
# columns that are reasons, and the least part of one
MOST = 3
LEAST = 0.1
TURNS = 0.3  # of the walks, where a row becomes normal with a column: a reason with any part
TWINS = 0.4  # of what their falls differ by, at most, that the falls of two columns together vary
CELLS = 5_000_000  # of steps in memory at once
# rows, names of rows and categories that are printed
SHOWN = 10
NEAREST = 3
LEVELS = 2
# of usual and of own values
DIGITS = 4
MOST_DIGITS = 6
# of rows that are alike have a usual value
TINY = np.finfo(float).tiny
HALF = 0.5


@dataclass(frozen=True, eq=False, repr=False)
class Why:
    """Why m rows are abnormal, the result of :func:`bsvdd.explain`.

    Print it for some sentences on each row.

    Attributes
    ----------
    surprise : pandas.Series
        Of each row, 0 at the cutoff: minus ``est.decision_function``, of a row with
        gaps the mean over its walks, and of a training row that of ``est.decision()``,
        which leaves it out.
    shares : pandas.DataFrame of shape (m, p)
        By how much the surprise falls on average where each column changes: Shapley
        values.
    falls : ndarray of shape (m, 10, p)
        On each walk.
    turns : ndarray of shape (m, p)
        In which share of the walks the row becomes normal there.
    nearest : pandas.DataFrame of shape (m, 10)
        The names of the normal known rows that are most like each row, the nearest
        first.
    cells : pandas.DataFrame of shape (n + m, p)
        The n normal known rows, then the m rows.
    values : ndarray of shape (n + m, p)
        The same as floats: codes of categories, and NaN for gaps.
    is_category : ndarray of bool, shape (p,)
    start, end : ndarray of int, shape (m, 10, p)
        The rows of ``cells`` whose values walks begin and end with.
    walk : callable
        Takes which columns are changed at each of k steps of the walks (10, k, p), and
        numbers of rows, and returns the surprise there (rows, 10, k).
    """

    surprise: pd.Series
    shares: pd.DataFrame
    falls: np.ndarray
    turns: np.ndarray
    nearest: pd.DataFrame
    cells: pd.DataFrame
    values: np.ndarray
    is_category: np.ndarray
    start: np.ndarray
    end: np.ndarray
    walk: Callable[[np.ndarray, Any], np.ndarray]

    @property
    def normal(self) -> pd.Series:
        """Whether the surprise of each row is at most 0."""
        return (self.surprise <= 0.0).rename("normal")

    @cached_property
    def parts(self) -> np.ndarray:
        """The part of each column in the sum of the shares that are above 0, shape (m, p)."""
        above = np.maximum(self.shares.to_numpy(), 0.0)
        return above / (above.sum(axis=1, keepdims=True) + TINY)

    def top_columns(self, most: int = MOST) -> pd.DataFrame:
        """Return column_1, share_1, column_2, ... of each row: the columns with the largest parts.

        Columns without a part are missing.
        """
        order = np.argsort(-self.parts, axis=1, kind="stable")[:, :most]
        part = np.take_along_axis(self.parts, order, axis=1)
        names = np.where(part > 0.0, self.cells.columns.to_numpy(object)[order], None)
        pairs: Any = ("column", names), ("share", np.where(part > 0.0, part, np.nan))
        found = {
            f"{c}_{j + 1}": v[:, j] for j in range(order.shape[1]) for c, v in pairs
        }
        return pd.DataFrame(found, self.nearest.index)

    def change(self, i: int) -> dict[Any, Any]:
        """Return the fewest columns found that make row number i normal, with their new values.

        They are those of one row like it. Empty for a normal row, and if no walk is
        normal.
        """
        if self.normal.iloc[i]:
            return {}
        start = self.start[i]
        end = self.end[i]
        f = np.arange(len(self.is_category))
        differs = np.abs(self.values[start, f] - self.values[end, f]) > 0.0
        order = np.argsort(
            np.where(differs, -self.parts[i], 1.0), axis=1, kind="stable"
        )
        for count in range(1, differs.sum(axis=1).max() + 1):
            changed = differs & (np.argsort(order, axis=1) < count)
            normal = (self.walk(changed[:, None], [i])[0, :, 0] <= 0.0) & changed.any(
                axis=1
            )
            if normal.any():
                j = normal.argmax()
                found = [f for f in order[j] if changed[j, f]]
                return {
                    self.cells.columns[f]: self.cells.iat[end[j, f], f] for f in found
                }
        return {}

    # in words

    def reason(self, rows: Any) -> str:
        """Return the columns that make a row odd, or rows that are alike, with values and parts.

        And what rows like it have there, if its value is none of these. The largest
        parts are first, also where no column has a tenth: then the words say so. Empty
        without any part.
        """
        rows = np.atleast_1d(rows)
        part = self.parts[rows].mean(axis=0)
        falls = self.falls[rows]
        order = np.argsort(-part, kind="stable")
        named = (part >= LEAST) | (self.turns[rows].mean(axis=0) >= TURNS)
        left = [f for f in order if named[f]] or [
            f for f in order[:MOST] if part[f] > 0.0
        ]
        alone = "" if named.any() or not left else "no column alone; the largest: "
        groups = []
        while left:
            both = falls + falls[..., [left[0]]]
            apart = falls - falls[..., [left[0]]]
            still, swing = (of.std(axis=1).mean(axis=0) for of in (both, apart))
            twins = (
                np.maximum(still, TWINS**2 * both.mean(axis=(0, 1))) <= TWINS * swing
            )
            groups.append([left[0], *(f for f in left[1:] if twins[f])])
            left = [f for f in left if f not in groups[-1]]
        groups.sort(key=lambda group: -part[group].sum())
        said = (self._said(rows, group, part[group].sum()) for group in groups[:MOST])
        return alone + ", ".join(said)

    def _said(self, rows: np.ndarray, group: list[int], part: float) -> str:
        """Return columns that are named together, with their values and their part."""
        names = {f: of_value(self.cells.columns[f], MOST_DIGITS) for f in group}
        text = " and ".join(
            f"{name} = {self.value(rows, f)}" for f, name in names.items()
        )
        odd = {
            f: f"{names[f]} " * (len(group) > 1) for f in group if self._is_odd(rows, f)
        }
        like = ", ".join(name + self.usual(rows, f) for f, name in odd.items())
        together = " together" * (len(group) > 1)
        other = "; rows like it: " * bool(like)
        return f"{text}{together} ({part:.0%}{other}{like})"

    def value(self, rows: Any, f: int) -> str:
        """Return what some rows have in column number f, in words."""
        return self._range(
            np.arange(len(self.values))[-len(self.falls) :][rows], f, MOST_DIGITS
        )

    def usual(self, rows: Any, f: int) -> str:
        """Return what the rows like some rows have in column number f, in words."""
        return self._range(self.end[rows, :, f], f, DIGITS)

    def _is_odd(self, rows: np.ndarray, f: int) -> bool:
        own, near = (
            self.values[place[rows, :, f], f] for place in (self.start, self.end)
        )
        low = near.min(axis=1, keepdims=True)
        high = near.max(axis=1, keepdims=True)
        usual = own == near if self.is_category[f] else (own >= low) & (own <= high)
        return bool(usual.any(axis=1).mean() < HALF)

    def _range(self, place: Any, f: int, digits: int) -> str:
        """Return the ends of some cells of a column, or the most frequent categories."""
        place = np.ravel(place)[~np.isnan(self.values[np.ravel(place), f])]
        values = self.values[place, f]
        cells = self.cells.iloc[place, f]
        if not len(place):
            return "missing"
        if self.is_category[f]:
            return " or ".join(
                of_value(cell, digits) for cell in cells.value_counts().index[:LEVELS]
            )
        ends = cells.iloc[[values.argmin(), values.argmax()]]
        return " to ".join(dict.fromkeys(of_value(cell, digits) for cell in ends))

    def normal_with(self, i: int) -> str:
        """Return the change that makes row number i normal, in words; empty if there is none."""
        change = self.change(i).items()
        return ", ".join(
            " = ".join(of_value(v, MOST_DIGITS) for v in pair) for pair in change
        )

    def __repr__(self) -> str:
        """Return some sentences for each of the first rows."""
        said = []
        for i, value in enumerate(self.surprise.to_numpy()[:SHOWN]):
            state = f"{'abnormal' if value > 0.0 else 'normal'}, surprise {value:.3g}"
            texts = [
                f"{self.surprise.index[i]}: {state}, 0 at the cutoff",
                self.reason(i),
            ]
            texts.append(
                f"Rows like it: {', '.join(map(str, self.nearest.iloc[i, :NEAREST]))}"
            )
            texts.append(f"Normal with {self.normal_with(i)}" * bool(self.change(i)))
            said.append(". ".join(filter(None, texts)) + ".")
        more = len(self.surprise) - SHOWN
        return "\n".join(said + [f"... and {more} more rows"] * (more > 0))


def explain(est: Any, Z: Any = None, X: Any = None, rows: Any = None) -> Why:
    """Return why rows are abnormal: by walks to normal rows that are like them.

    Parameters
    ----------
    est : fitted estimator
        One of this package, or any other that has ``decision_function``, at least 0 for
        normal rows, such as a pipeline of scikit-learn.
    Z : array-like or data frame of shape (m, p), optional
        New rows. By default the known rows are explained.
    X : array-like or data frame of shape (n, p), optional
        The known rows. By default those of the fit, ``est.table_``.
    rows : sequence of int, optional
        Positions of the known rows to explain where there is no Z. Default: all.

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
    A walk has p steps, so m rows ask for 10 m p answers. Steps from a row of the fit
    are new rows: the fit, which holds the row itself, finds them less odd than the row
    left out.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> import bsvdd
    >>> X = np.random.default_rng(0).normal(size=(99, 3))
    >>> est = bsvdd.SVDD().fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    >>> why = bsvdd.explain(est, pd.DataFrame({"a": [0.0], "b": [6.0], "c": [0.0]}, index=["odd"]))
    >>> why.top_columns(1)["column_1"].tolist(), list(why.change(0))
    (['b'], ['b'])
    """
    check_is_fitted(est)
    name = type(est).__name__
    table = cast(Any, getattr(est, "table_", None))
    if not hasattr(est, "decision_function"):
        raise TypeError(
            f"{name} has no decision_function, by which explain asks how odd rows are"
        )
    if get_tags(est).input_tags.pairwise:
        raise ValueError(
            "explain changes columns of rows, and a precomputed kernel has no columns"
        )
    if Z is not None and rows is not None:
        raise ValueError("rows are positions of known rows; give them without Z")
    if X is None and table is None:
        raise ValueError(
            f"{name} keeps no training rows; give known rows, explain(est, Z, X)"
        )

    def ask(frame: pd.DataFrame) -> np.ndarray:
        with warnings.catch_warnings(
            action="ignore", category=UserWarning
        ):  # of rows on the way
            return -np.asarray(est.decision_function(frame), dtype=float)

    left_out = X is None and hasattr(est, "decision")
    table = table if X is None else TrainingTable.read(X)
    known = table.frame
    surprise = est.decision()["surprise"].to_numpy() if left_out else ask(known)
    normal = np.flatnonzero(~table.minority & (surprise <= 0.0))
    if not len(normal):
        raise ValueError(
            f"{name} finds none of {len(known)} known rows normal: no row is like Z"
        )
    own = np.arange(len(known)) if rows is None else np.asarray(rows)
    asked = known.iloc[own] if Z is None else Z
    values = np.concatenate([table.values.to_numpy()[normal], table.floats(asked)])
    new = frame_of(asked, known.columns)
    flags = {
        c: bool for c in known if new[c].dtype == bool and known[c].isin([0, 1]).all()
    }
    near = known.iloc[normal].astype(flags)
    cells = pd.concat([near, new[list(known)]], ignore_index=True)
    is_category = np.array([kind == "category" for kind in table.kinds.values()])
    like, start, end = between(values, len(normal), is_category)
    walk = partial(walked, ask, cells, values, (start, end))
    rank = ranks(cells.shape[1])
    steps = walk(rank[:, None] < np.arange(len(rank[0]) + 1)[:, None], range(len(new)))
    levels = steps, (steps > 0.0).astype(float)
    falls, turns = (
        np.take_along_axis(-np.diff(of), rank[None], axis=2) for of in levels
    )
    now = pd.Series(
        steps[..., 0].mean(axis=1) if Z is not None else surprise[own], new.index
    )
    shares = pd.DataFrame(falls.mean(axis=1), new.index, known.columns)
    nearest = pd.DataFrame(known.index.to_numpy()[normal[like]], new.index)
    found = now, shares, falls, turns.mean(axis=1), nearest
    return Why(*found, cells, values, is_category, start, end, walk)


def ranks(p: int) -> np.ndarray:
    """Return when each walk changes each of p columns, (10, p): some orders and their reverses."""
    rng = np.random.default_rng(0)
    order = np.array([rng.permutation(p) for _ in range(WALKS // 2)])
    return np.argsort(np.concatenate([order, order[:, ::-1]]), axis=1)


def between(
    values: np.ndarray, n: int, is_category: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Return the places of the ten known rows most like each row, (m, 10), the nearest first.

    And the places of the values that walks start and end with, (m, 10, p). The first n
    rows are the known ones. Columns of numbers count by their standard deviations, and
    one odd value as much as another category or a gap. A known row that is equal is the
    row itself; few are repeated. A gap has the value of the end, and a gap there that
    of the nearest of the ten with one.
    """
    far = np.zeros((len(values) - n, n))
    gap = np.isnan(values)
    f = np.arange(values.shape[1])
    for x, category in zip(values.T, is_category, strict=True):
        off = np.abs(x[n:, None] - x[:n]) / (
            1.0 if category else np.nanstd(x[:n]) or 1.0
        )
        off = np.where(off > 0.0, 1.0, off) if category else np.minimum(off, 1.0)
        off[np.isnan(x[n:, None]) & np.isnan(x[:n])] = 0.0
        far += np.nan_to_num(off, nan=1.0)
    far[far == 0.0] = np.inf
    like = np.argsort(far, axis=1, kind="stable")[:, np.arange(WALKS) % n]
    own = np.arange(n, len(values))[:, None, None]
    end = np.repeat(like[..., None], len(f), axis=2)
    donor = np.take_along_axis(end, gap[end, f].argmin(axis=1)[:, None], axis=1)
    end = np.where(gap[end, f], donor, end)
    end = np.where(gap[end, f], own, end)  # none of the ten has a value
    return like, np.where(gap[own, f], end, own), end


def walked(
    ask: Any,
    cells: pd.DataFrame,
    values: np.ndarray,
    ends: Any,
    changed: np.ndarray,
    rows: Any,
) -> np.ndarray:
    """Return the surprise at each step of the walks of some rows; see :class:`Why`."""
    found = []
    f = np.arange(changed.shape[-1])
    for some in np.array_split(np.asarray(rows), len(rows) * changed.size // CELLS + 1):
        start, end = (of[some][:, :, None] for of in ends)
        place = np.where(changed, end, start).reshape(-1, len(f))
        _, one, of = np.unique(
            values[place, f], axis=0, return_index=True, return_inverse=True
        )
        asked = pd.DataFrame(
            {c: cells[c].array.take(place[one, i]) for i, c in enumerate(cells)}
        )
        found.append(ask(asked)[of].reshape(len(some), *changed.shape[:2]))
    return np.concatenate(found)
