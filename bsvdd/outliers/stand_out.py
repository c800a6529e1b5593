"""Which rows of one table stand out, how many do, and which of them are alike."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone

from ..base import threads
from ..base.messages import check_rate, of_value
from ..base.warning import collected
from ..estimators.description import Description
from ..models.kernels import Tabular, as_kernel
from ..models.kernels.decorrelated import MOST_COMPARED_ROWS, Decorrelated
from ..tables.columns import DAY, TIME, TableColumn
from ..tables.findings import findings
from ..tables.table import frame_of
from ..tables.training import TrainingRows, TrainingTable, without_columns
from .cells import Cells
from .core_rows import CORE_SHARE, core_of
from .odd_rows import AT_LEAST, RATHER, OddRows
from .strata import Strata, sentence
from .tail import BELOW, Tail

MOST_FITS = 3  # rows beyond any tail are set aside before the next one
FEWEST_IN_TABLE = 5  # rows
# squared distance, relative to the nearest core row: half as far from each other
ALIKE_ROWS = 0.25
# rows that are a clump, and that are compared with each other
FEWEST_IN_CLUMP = 3
MOST_LISTED = 5000
BLOCK_VALUES = 2**21  # distances at once: 16 MB
# kinds of listed rows
ODD = "odd"
BREAKS = "breaks a relation"
# rows that the core has cut off: -log k of a step of one bandwidth, rows of a piece,
# and the share of the list from which none is given
STEP = 0.5
NO_STEP = 1e300  # between rows that no step links
FEWEST_IN_PIECE = 4
MOST_CUT_OFF = 0.5
THIN = (
    "they lie on a thin or curved shape, and a list would depend on where the core "
    "cuts it"
)
# a clump that may be another state: its share of the rows, and the quantiles of its
# values that are printed
LARGE_CLUMP = 0.15
# of a category, or a number of so many, of which nearly all rows are listed
FEWEST_OF_CATEGORY = 5
LEVELS_OF_NUMBERS = 20
WHOLE = 0.8
RANKED = 0.1  # a smaller P(odd) tells less of the order than the surprise does
OTHERS = (0.01, 0.99)  # quantiles of the rows that are not listed
MIDDLE = (0.1, 0.9)
# of a clump that has a category, and of other rows, at most
USUAL = 0.5
RARE = 0.2
EVEN = 0.5  # P(no row is odd), below which a row is rather odd
MOST_VALUES = 3


@dataclass(frozen=True, eq=False)
class StandOut:
    """The rows of one table that stand out.

    Attributes
    ----------
    probability : ndarray of shape (n,)
        P(odd) of each row; NaN where there are too few different rows for a tail.
    surprise : ndarray of shape (n,)
        The surprisal in nats: -log of the similarity of the row, left out, to the core;
        at least 0.
    listed : ndarray of bool, shape (n,)
        The rows that are called odd. A share ``fdr`` of them is expected to be normal.
    clump : ndarray of int, shape (n,)
        Listed rows that are alike are a clump: its number, from 0; -1 for none.
    at_least : int
        So many rows are odd, with a probability of .99 by the model; at most the number
        of listed rows, without those of a category that is listed nearly whole.
    none : float
        The probability that no row is odd.
    fdr : float
    names : pandas.Index of length n
        The names of the rows.
    weight : ndarray of shape (n,)
        The weights of the fit: 0 for rows outside the core; in it 1, or the
        ``sample_weight`` of the row (of mean 1).
    estimator : Description
        Fitted with these weights and the kernel of the core.
    reason : str
        Why there is no P(odd), but for rows beyond any tail; empty if there is.
    strata : pandas.DataFrame
        For each stratum ``level``, ``rows``, and how many of them are ``odd``: the
        median, and ``low`` and ``high`` of the interval of .9. They count rows that
        hide amid the others too.
    cells : pandas.DataFrame
        For each row its ``finding``, where it is listed: "breaks a relation" if one of
        its cells is not what the other columns lead to, else "odd". Where a cell alone
        is odd, its ``column`` and ``value``, what is ``expected`` there, and ``also``
        the columns that may be wrong in its place.
    """

    probability: np.ndarray
    surprise: np.ndarray
    listed: np.ndarray
    clump: np.ndarray
    at_least: int
    none: float
    fdr: float
    names: pd.Index
    weight: np.ndarray
    estimator: Description
    reason: str
    strata: pd.DataFrame
    cells: pd.DataFrame

    @property
    def order(self) -> np.ndarray:
        """Positions of the rows (n,), the oddest first.

        They are in the order of P(odd) from .1, and then of the surprise.
        """
        odd = np.nan_to_num(self.probability)
        return np.lexsort([-self.surprise, -np.where(odd >= RANKED, odd, 0.0)])

    @property
    def table(self) -> pd.DataFrame:
        """The rows in the order of :attr:`order`, as a data frame."""
        columns = {
            "probability_odd": self.probability,
            "surprise": self.surprise,
            "listed": self.listed,
            "clump": self.clump,
            "weight": self.weight,
        }
        found = {name: values.array for name, values in self.cells.items()}
        return pd.DataFrame({**columns, **found}, self.names).iloc[self.order]

    @property
    def findings(self) -> pd.DataFrame:
        """Copies, misspelt words and codes, as ``bsvdd.tables.findings`` finds them.

        They have no probability, and are not listed by themselves.
        """
        return findings(self.estimator.table_)

    def lines(self, most: int) -> list[np.ndarray]:
        """Return the rows of the first lines of a printed table.

        Parameters
        ----------
        most : int
            The number of lines.

        Returns
        -------
        list of ndarray of int
            The positions of the rows of each line: one row, or all rows of a clump.
        """
        number = pd.Series(self.clump[self.order], self.order)
        first = number[(number < 0) | ~number.duplicated()].head(most)
        return [
            self.order[number == clump] if clump >= 0 else np.array([row])
            for row, clump in first.items()
        ]

    def cell_reason(self, rows: np.ndarray) -> str:
        """Return the cell by which rows are odd, and what is expected, in words.

        Parameters
        ----------
        rows : ndarray of int
            Positions.

        Returns
        -------
        str
            Empty unless all rows are odd by their cells in one column.
        """
        found = self.cells.iloc[rows]
        if found["column"].isna().any() or found["column"].nunique() > 1:
            return ""
        name = found["column"].iloc[0]
        table = self.estimator.table_
        column = _column(table, name)
        value, expected = found["value"], found["expected"]
        lead = "other columns lead to"
        if column.kind in ("numbers", "dates"):
            value, expected = (column.floats(each) for each in (value, expected))
            usual = table.values[name][~self.listed].quantile(OTHERS, "nearest")
            is_odd = (found["finding"] == ODD).all()
            if is_odd and not value.between(*usual).any():
                lead, expected = "other rows mostly", usual
        others = found["also"].iloc[0] if found["also"].nunique() == 1 else ""
        also = f"; or {others}" * bool(others)
        own, usual = _from_to(value, 6, column), _from_to(expected, 4, column)
        return f"{name} = {own} ({lead} {usual}){also}"

    def told(self, lines: Sequence[np.ndarray], reasons: Sequence[str]) -> list[str]:
        """Return the reason of each line of rows: a cell that is odd alone tells all.

        Parameters
        ----------
        lines : sequence of ndarray of int
            Positions.
        reasons : sequence of str
            By all columns of the rows.

        Returns
        -------
        list of str
        """
        pairs = zip(lines, reasons, strict=True)
        return [self.cell_reason(rows) or text for rows, text in pairs]

    def title(
        self,
        rows: np.ndarray,
        names: Sequence[object] | Mapping[int, str] | None = None,
        most: int = 3,
    ) -> str:
        """Return the names of some rows.

        Parameters
        ----------
        rows : ndarray of int
            Positions.
        names : sequence or dict of int to str, optional
            The names of the rows by position. By default ``self.names``.
        most : int, default=3
            How many names are written. If there are more rows, their number follows.

        Returns
        -------
        str
        """
        names = self.names if names is None else names
        shown = ", ".join(str(names[i]) for i in rows[:most])
        return shown if len(rows) <= most else f"{shown}, ... ({len(rows)} rows)"

    def shown_probability(self, rows: np.ndarray) -> str:
        """Return the middle P(odd) of some rows as a text; empty without one.

        One that orders no rows is shown by its limit.

        Parameters
        ----------
        rows : ndarray of int
            Positions.

        Returns
        -------
        str
        """
        odd = median(self.probability[rows].tolist())
        shown = f"{odd:.2f}" if odd >= RANKED else f"<{RANKED:.2f}"
        return "" if np.isnan(odd) else shown

    @property
    def headline(self) -> str:
        """How many rows stand out."""
        if self.at_least > 1:
            return f"At least {self.at_least} of {len(self.listed)} rows stand out"
        if self.at_least:
            return f"At least one of {len(self.listed)} rows stands out"
        if self.reason:
            return f"The rows have an order only: {self.reason}"
        none = f": P(no row is odd) = {self.none:.2g}" * (self.none > AT_LEAST)
        some = "No single row stands out"
        if self.none < EVEN:
            some = "Some rows may be odd"
        if self.listed.any():
            some = "Some rows seem odd"
        return f"{some}{none}"

    def __str__(self) -> str:
        """Return what stands out, in sentences."""
        if self.reason:
            others = f" The others have an order only: {self.reason}."
            return f"{self.headline}.{others * (self.at_least > 0)}"
        found = int(self.listed.sum())
        listed = "No row is listed"
        if found == 1:
            p = self.probability[self.listed][0]
            listed = f"One row is listed, with P(odd) = {p:.2f}"
        if found > 1:
            normal = f"a share of {self.fdr:g} may be normal"
            listed = f"{found} rows are listed, of which {normal}"
        assumed = (
            "This assumes that the surprises of normal rows have a smooth tail; a "
            "clump of a fifth of the rows, or one amid the others, may count as normal."
        )
        whole = f"{self._large_clump()}{self._whole_categories()}"
        said = f"{whole}{sentence(self.strata)}{self._long_tails()}{assumed}"
        return f"{self.headline}. {listed}. {said}"

    def _long_tails(self) -> str:
        """Return a sentence on the columns whose long tails are shortened."""
        kernel = self.estimator.kernel
        assert isinstance(kernel, Decorrelated)
        names = np.delete(
            list(map(str, self.estimator.table_.kinds)), kernel.categorical_columns
        )
        long = [name for name, side in zip(names, kernel.sides, strict=False) if side]
        if not long:
            return ""
        more = f" and {len(long) - MOST_VALUES} more" * (len(long) > MOST_VALUES)
        return f"Long tails are shortened in {', '.join(long[:MOST_VALUES])}{more}. "

    def _large_clump(self) -> str:
        """Return a sentence on a clump that may be another state, with its values."""
        own = np.flatnonzero(self.clump == 0)
        if len(own) < LARGE_CLUMP * len(self.clump):
            return ""
        such = self.common(own)
        share = f"{len(own)} rows ({len(own) / len(self.clump):.0%})"
        return f"{share} are a clump: another state, or odd{such and f'; {such}'}. "

    def _whole_categories(self) -> str:
        """Return a sentence on categories of which nearly all rows are listed."""
        found = [
            f"{own.sum()} of {len(own)} rows with {name} = {of_value(level)}"
            for name, level, own in _whole_levels(
                self.estimator.table_.measured, self.listed
            )
        ]
        such = ", ".join(found[:MOST_VALUES])
        return f"{such} are listed: perhaps normal, and rare. " * bool(found)

    def common(self, rows: np.ndarray) -> str:
        """Return the values that rows have in common, and others mostly have not.

        Parameters
        ----------
        rows : ndarray of int
            Positions.

        Returns
        -------
        str
            Empty if there are none.
        """
        own = np.isin(np.arange(len(self.clump)), rows)
        values = []
        table = self.estimator.table_
        for name, column in table.measured.items():
            inside = column[own]
            others = column[~own]
            if is_numeric_dtype(column) and not is_bool_dtype(column):
                own_ends, ends = (
                    each.quantile(MIDDLE, "nearest") for each in (inside, others)
                )
                if own_ends.min() > ends.max() or own_ends.max() < ends.min():
                    mostly = "mostly" if np.ptp(own_ends) else "="
                    each, usual = (
                        _from_to(some, 3, _column(table, name))
                        for some in (own_ends, ends)
                    )
                    values.append(f"{name} {mostly} {each} (other rows mostly {usual})")
            else:
                most = next(iter(inside.mode()), None)
                if (others == most).mean() < RARE and (inside == most).mean() > USUAL:
                    n = f"{(inside == most).sum()} of {(column == most).sum()} rows"
                    values.append(f"{n} with {name} = {of_value(most)}")
        return ", ".join(values[:MOST_VALUES])


def _whole_levels(
    frame: pd.DataFrame, listed: np.ndarray
) -> Iterator[tuple[Hashable, object, pd.Series]]:
    """Yield categories, or one of few numbers, of which nearly all rows are listed.

    With its column, and which of its rows are listed, by their positions.
    """
    for name, column in frame.items():
        if is_numeric_dtype(column) and column.nunique() > LEVELS_OF_NUMBERS:
            continue
        each = pd.Series(listed).groupby(column.to_numpy(), observed=True)
        for level, own in each:
            if len(own) >= FEWEST_OF_CATEGORY and own.mean() >= WHOLE:
                yield name, level, own


def _column(table: TrainingTable, name: Hashable) -> TableColumn:
    """Return what a column of a table is."""
    return table.table.columns[list(table.kinds).index(name)]


def _from_to(values: pd.Series, digits: int, column: TableColumn) -> str:
    """Return the least and the largest of some values of a column, as a text.

    Numbers have so many digits, and their unit; clocks have seconds.
    """
    known = values.dropna()
    ends = sorted({min(known), max(known)}) if len(known) else []
    if column.kind == "dates":
        ends = [(column.first + DAY * end).round("s") for end in ends]
    elif column.unit:
        ends = [column.cell(float(of_value(end, digits))) for end in ends]
    elif column.format == TIME:
        ends = [column.cell(end) for end in ends]
    return " to ".join(of_value(end, digits) for end in ends)


@dataclass(frozen=True, eq=False)
class CoreFit:
    """A description of a table, fitted to the core of some of its rows.

    Attributes
    ----------
    estimator : Description
    kernel : Decorrelated
    core : ndarray of bool, shape (n,)
    surprise : ndarray of shape (n,)
    """

    estimator: Description
    kernel: Decorrelated
    core: np.ndarray
    surprise: np.ndarray

    @classmethod
    def of(
        cls, est: Description, X: ArrayLike, rows: TrainingRows, aside: np.ndarray
    ) -> Self:
        """Return the fit to X, whose numbers are ``rows``, without rows ``aside``."""
        counted = ~aside & (rows.weight > 0.0)
        core = np.zeros(len(counted), dtype=bool)
        assert isinstance(rows.kernel, Tabular)  # by _asked
        core[counted], kernel = core_of(rows.X[counted], rows.kernel)
        fitted = clone(est).set_params(kernel=kernel)
        fitted.fit(X, sample_weight=core * rows.weight, groups=rows.group_labels)
        with threads.one():
            surprise = np.maximum(-fitted.fit_.left_out[0], 0.0)
        return cls(fitted, kernel, core, surprise)

    def clumps(self, X: np.ndarray, listed: np.ndarray) -> np.ndarray:
        """Return the number of the clump (n,) of each listed row of X; -1 for none.

        Two rows are alike if they are half as far from each other as each is from the
        nearest row of the core that is not listed. The largest clump is number 0. Of
        more than 5,000 listed rows the most surprising are compared.
        """
        found = np.full(len(listed), -1)
        rows = np.flatnonzero(listed)
        rows = rows[np.argsort(-self.surprise[rows], kind="stable")[:MOST_LISTED]]
        if len(rows) < FEWEST_IN_CLUMP:
            return found
        Z = self.kernel.inputs(X[rows])
        far = self._nearest(Z, X, self.core & ~listed)
        alike = -self.kernel.log(Z, Z) <= ALIKE_ROWS * np.minimum(far[:, None], far)
        _, component = connected_components(alike, directed=False)
        size = np.bincount(component)
        rank = np.argsort(np.argsort(-size, kind="stable"))
        found[rows] = np.where(size >= FEWEST_IN_CLUMP, rank, -1)[component]
        return found

    def cut_off(self, X: np.ndarray, odd: np.ndarray) -> np.ndarray:
        """Return which odd rows (n,) of X continue the core, which has cut them off.

        A chain of rows leads from them to the core. Its steps are no longer than those
        that link rows of the core of equal categories, or than one bandwidth. Fewer
        than four linked rows make no bump in the tail, and are not counted, but in a
        table of categories alone, whose distances are few. The core is linked by 3,000
        of its rows at most, and 5,000 rows outside are compared, the most surprising
        ones.
        """
        inside = self.core & ~odd
        some = np.random.default_rng(0).permutation(np.flatnonzero(inside))
        core = self.kernel.inputs(X[some[:MOST_COMPARED_ROWS]])
        apart = -self.kernel.log(core, core)
        if self.kernel.q:  # a step between categories is no step along a shape
            _, log_f = self.kernel.apart(core, core)
            apart[log_f < 0.0] = NO_STEP
        links = linkage(apart[np.triu_indices(len(core), 1)], "single")[:, 2]
        step = max(links[links < NO_STEP].max(initial=0.0), STEP)
        rows = np.flatnonzero(~inside)
        rows = rows[np.argsort(-self.surprise[rows], kind="stable")[:MOST_LISTED]]
        Z = self.kernel.inputs(X[rows])
        linked = -self.kernel.log(Z, Z) <= step
        _, chain = connected_components(linked, directed=False)
        near = self._nearest(Z, X, inside) <= step
        some = odd[rows] & np.isin(chain, chain[near])
        _, piece = connected_components(linked[np.ix_(some, some)], directed=False)
        found = np.zeros(len(odd), dtype=bool)
        fewest = FEWEST_IN_PIECE if self.kernel.q else 1
        found[rows[some]] = np.bincount(piece)[piece] >= fewest
        return found

    def _nearest(self, Z: np.ndarray, X: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return -log k of each of some other rows to the nearest of ``inside``."""
        core = self.kernel.inputs(X[inside])
        blocks = np.array_split(Z, -(-len(Z) * len(core) // BLOCK_VALUES))
        near = threads.by_block(lambda z: self.kernel.log(z, core).max(axis=1), blocks)
        return -np.concatenate(near)


def stand_out(
    est: Description,
    X: ArrayLike,
    *,
    fdr: float = 0.1,
    strata: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    groups: ArrayLike | None = None,
) -> StandOut:
    r"""Return which rows of one table stand out, and how many do.

    The rows that are most alike are the core. A clone of the estimator is fitted to all
    rows, with the weights 1 in the core and 0 outside. A model of the tail of the
    surprises (:mod:`bsvdd.outliers.tail`) says how probable it is that a row is odd.
    Rows are listed in the order of this probability, as long as a share ``fdr`` of the
    list is expected to be normal; each listed row is rather odd than normal. Rows
    beyond any tail are set aside, and the table is described again without them. Four
    rows or more that a chain of neighbours links to the core are the end of a shape
    that the core has cut, and are not listed. Where this is half of a list, nothing is
    listed but rows beyond any tail.

    Parameters
    ----------
    est : Description
        Such as BSVDD, BDD or SVDD, fitted or not: its parameters count. Its kernel is
        replaced by :class:`~bsvdd.models.kernels.decorrelated.Decorrelated`, fitted to
        the core; ``rho``, ``scale`` and ``categorical`` of a Tabular stay.
    X : array-like of shape (n, p)
        The table, with odd rows inside.
    fdr : float, default=0.1
        The share of the listed rows that is expected to be normal, at most.
    strata : array-like of shape (n,), or name of a column, optional
        Rows of one label, such as rows of one technician, have an unknown share of odd
        rows of their own, which P(odd) and the list use. Levels of fewer than 5 rows
        are joined, and all beyond the 50 largest levels.
    sample_weight : array-like of shape (n,), or name of a column, optional
        What rows count in the description, as in ``fit``. Rows of weight 0 are never in
        the core, and are answered.
    groups : array-like of shape (n,), or name of a column, optional
        Rows of one label leave the description together, as in ``fit``. Columns that
        are named are no features.

    Returns
    -------
    StandOut
        Print it for the answer in sentences; ``table`` has the rows in order.

    Raises
    ------
    TypeError
        The estimator is no description.
    ValueError
        Its kernel is precomputed, its groups have own centres, ``fdr`` does not lie
        between 0 and 1, a row has no value or no stratum, there is no such column, a
        length differs, or fewer than 5 rows count.

    Notes
    -----
    A rank of a row among the rows of its own table is no evidence: one row of any table
    has the smallest. There is no P(odd), and nothing is listed, with fewer than 20
    different surprises in the tail, so below some 40 rows (SVDD: 100), or where more
    than .45 (.75) of the rows have the smallest surprise.

    With strata, P(odd) of a row counts how many rows of its stratum lie far in the
    tail:

    .. math:: P(\mathrm{odd}_i) = E\left[\frac{e_l\, a u_i^{a-1} / U^a}
        {(1 - e_l)\, \mathrm{GPD}(u_i) + e_l\, a u_i^{a-1} / U^a}\right], \quad
        l = l(i).

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, stand_out
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> X[7] = 20.0
    >>> found = stand_out(SVDD(), X)
    >>> int(found.table.index[0])
    7
    >>> X[:20] += [3.0, -3.0]
    >>> stand_out(SVDD(), X, strata=["T3"] * 30 + ["T1"] * 270).strata["level"].tolist()
    ['T1', 'T3']
    """
    check_rate("fdr", fdr)
    of_rows = {"strata": strata, "sample_weight": sample_weight, "groups": groups}
    X, of, _ = without_columns(X, **of_rows)
    rows = _rows(est, X, of["sample_weight"], of["groups"])
    known = Strata.of(of["strata"], len(rows.minority))
    found, tail, aside = _core_fit(est, X, rows, known.level)
    odd = OddRows.of(tail, aside, known.level)
    reason = "" if tail else "too few different rows"
    beyond = aside.copy()
    if tail is not None:
        beyond[~aside] = tail.far
    cut_off = np.zeros(len(aside), dtype=bool)
    within = odd.listed(fdr) & ~beyond
    if within.any():
        cut_off = found.cut_off(rows.X, odd.probability >= RATHER) & ~beyond
        if (within & cut_off).sum() >= MOST_CUT_OFF * within.sum():
            reason = THIN
            odd = OddRows.of(None, beyond, known.level)
            cut_off[:] = False
    odd = replace(odd, at_least=max(odd.at_least - int(cut_off.sum()), 0))
    normal = ~(np.nan_to_num(odd.probability) >= RATHER)  # a clump would teach its own
    cells = _cells(rows, normal)
    by_cell = cells.odd_rows(known.level, normal, far_only=bool(reason))
    named = by_cell.probability >= RATHER
    odd = odd.joined(by_cell)
    shown = np.where(cut_off & ~named, 0.0, odd.probability)
    listed = replace(odd, probability=shown).listed(fdr)
    return StandOut(
        probability=odd.probability,
        surprise=found.surprise,
        listed=listed,
        clump=found.clumps(rows.X, listed),
        at_least=_at_least(odd, listed, rows.given.measured),
        none=odd.none,
        fdr=float(fdr),
        names=frame_of(X).index,
        weight=found.core * rows.weight,
        estimator=found.estimator,
        reason=reason,
        strata=known.table(odd.numbers),
        cells=_kinds(cells, listed, listed & named),
    )


def _at_least(odd: OddRows, listed: np.ndarray, frame: pd.DataFrame) -> int:
    """Return L, without rows that may be a rare state: a category listed whole."""
    rare = {row for *_, own in _whole_levels(frame, listed) for row in own.index[own]}
    return max(min(odd.at_least, int(listed.sum())) - len(rare), 0)


def _cells(rows: TrainingRows, normal: np.ndarray) -> Cells:
    """Return the cells of a table, explained by the normal rows that count."""
    assert isinstance(rows.kernel, Tabular)  # by _asked
    given = rows.given
    is_category = np.isin(range(len(given.kinds)), rows.kernel.categorical_columns)
    return Cells.of(given, is_category, normal & (rows.weight > 0.0))


def _kinds(cells: Cells, listed: np.ndarray, named: np.ndarray) -> pd.DataFrame:
    """Return the kind of each listed row, and the cell by which a row is ``named``."""
    shown = ["column", "value", "expected", "also"]
    found = pd.DataFrame(None, range(len(listed)), ["finding", *shown], object)
    found.loc[listed, "finding"] = ODD
    frame = cells.given.frame
    of_row = cells.suspects(np.flatnonzero(named).tolist())
    expected = {f: cells.expected(f) for f in {each[0] for each in of_row.values()}}
    for row, (f, *others) in of_row.items():
        if cells.breaks(f):
            found.at[row, "finding"] = BREAKS
        also = ", ".join(map(str, frame.columns[others]))
        cell = frame.columns[f], frame.iat[row, f], expected[f][row], also
        for name, value in zip(shown, cell, strict=True):
            found.at[row, name] = value
    return found


def _rows(
    est: Description,
    X: ArrayLike,
    weight: ArrayLike | None,
    groups: ArrayLike | None,
) -> TrainingRows:
    """Return the rows of a table with missing values filled."""
    if est.group_centres:
        raise ValueError(
            "group_centres=True: stand_out judges rows by all rows of one table, "
            "without centres; which rows are odd for their own group say fit(X, "
            "groups=...) and decision()"
        )
    kernel = _asked(est)
    asked = clone(est).set_params(kernel=kernel)
    with collected():  # the fit has the same warnings
        rows = TrainingRows.read(asked, X, sample_weight=weight, groups=groups)
    if (n := int((rows.weight > 0.0).sum())) < FEWEST_IN_TABLE:
        raise ValueError(
            f"one table needs {FEWEST_IN_TABLE} rows or more with a weight above 0, "
            f"got {n}"
        )
    return rows


def _core_fit(
    est: Description, X: ArrayLike, rows: TrainingRows, level: np.ndarray
) -> tuple[CoreFit, Tail | None, np.ndarray]:
    """Return the last fit to a table, its tail, and which rows (n,) were set aside."""
    aside = np.zeros(len(level), dtype=bool)
    # a sphere has a share of rows outside, and the others lie at one distance: so its
    # tail begins beyond the share of the core
    below = CORE_SHARE if "outlier_fraction" in est.get_params(deep=False) else BELOW
    found = CoreFit.of(est, X, rows, aside)
    for _ in range(MOST_FITS - 1):
        tail = Tail.of(found.surprise[~aside], below, level[~aside])
        if tail is None or not tail.far.any():
            return found, tail, aside
        aside[np.flatnonzero(~aside)[tail.far]] = True
        with collected():  # all fits have the same warnings
            found = CoreFit.of(est, X, rows, aside)
    return found, Tail.of(found.surprise[~aside], below, level[~aside]), aside


def _asked(est: Description) -> Tabular:
    """Return the kernel of a table that an estimator asks for."""
    if not isinstance(est, Description):
        raise TypeError(
            f"{type(est).__name__} has no similarities of left-out rows; use a "
            "description such as BSVDD, BDD or SVDD"
        )
    kernel = as_kernel(est.kernel)
    if isinstance(kernel, Decorrelated):
        return kernel.tabular
    if kernel.pairwise:
        raise ValueError(
            f"one table needs its rows, and {kernel!r} has kernel values in their "
            "place; use kernel=kernels.Tabular()"
        )
    return kernel if isinstance(kernel, Tabular) else Tabular()
