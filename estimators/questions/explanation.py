"""Explanations of rows: why they are abnormal, and the smallest change that makes them normal."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from ...inference import threads
from ...inference.center import Center
from ...inference.draws import thinned
from ...models.kernels.base import SMALLEST
from ..fit import Fit, leaves_rows
from ..known import Rows
from ..rows.frames import as_frame
from . import terms as parts
from .reasons import Shares, cells_of, levels_of, reason, text_of
from .smallest_change import smallest_change

if TYPE_CHECKING:
    import xarray as xr

TYPICAL_ROWS = 200  # normal training rows whose terms are the typical ones
BLOCK = 512  # rows at once
SHOWN, NAMES_SHOWN = 10, 3  # rows that are printed; names in a sentence
ENDS = ("mean", "low", "high")


@dataclass(frozen=True, eq=False)
class Table:
    """Variables of rows, which become a dataset where one is asked for.

    Attributes
    ----------
    rows : array-like
        What names the rows, ``obs``.
    dim : str
        The dimension of the variables beside ``obs``.
    labels : ndarray
        Along ``dim``.
    variables : dict
        By name; a tuple has dims of its own, and a function returns what takes long.
    attrs : dict
    """

    rows: Any
    dim: str
    labels: np.ndarray
    variables: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)

    def dataset(self) -> xr.Dataset:
        """Return the variables, of dims ("obs", ``dim``)."""
        import xarray as xr

        dims = "obs", self.dim
        values = {k: v() if callable(v) else v for k, v in self.variables.items()}
        named = {k: v if isinstance(v, tuple) else (dims, v) for k, v in values.items()}
        return xr.Dataset(named, {"obs": np.asarray(self.rows), self.dim: self.labels}, self.attrs)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    r"""Why rows are abnormal, the result of :func:`bsvdd.explain`.

    Row numbers of training rows are positions in ``est.idata_["constant_data"]``: those in the X of
    ``fit``, if the fit holds all its rows. ``mean``, ``low`` and ``high`` are the posterior
    mean and the ends of an equal-tailed interval; they agree for a model without a posterior.

    Attributes
    ----------
    kind : {"surprise", "distance"}
        What is explained: the surprise, :math:`\log (s_{\mathrm{cut}} / s_z)`, or the squared
        distance less that of the cutoff; see :mod:`bsvdd.estimators.questions.terms`. Both are 0 at
        the cutoff.
    rows : pandas.DataFrame
        For each row ``normal``, the decision, and ``value``, ``low``, ``high`` of what is
        explained: the surprise of ``est.decision`` with its interval, or the mean over the draws.
        The value is the sum of ``base``, of ``remainder``, of ``unseen``, and of the terms of the
        columns (surprise) or of all points (distance). The base is
        :math:`\log s_{\mathrm{cut}}`, less what the mean of the surprise over the draws exceeds its
        median, or the mean of :math:`d^2 - D^2` over normal training rows; the remainder is the
        concentration, or k(z, z) less its mean over normal rows; ``unseen`` is what a row beside z
        that the sample has not shown takes off.
    columns : xarray.Dataset or None
        For each ``obs`` and ``column``: ``mean``, ``low``, ``high`` of its term; ``share``,
        ``share_low``, ``share_high`` of the surprise less the base, or of d_z^2 for a linear
        kernel; and
        ``typical``, the mean term of normal training rows, each without itself where weights are
        at least 0. None if the kernel has no terms of columns. The attribute ``dates``, here and in
        ``changes``, says which columns count days, and since when.
    points : xarray.Dataset
        For each ``obs`` and ``rank``: ``point``, the number of a point of the centre; ``row``, its
        training row, or -1 for a landmark that is no row; ``minority``; and ``mean``, ``low``,
        ``high`` of its share q_j (surprise) or its term (distance).
    nearest : xarray.Dataset
        For each ``obs`` and ``rank``: ``row``, the position of a normal training row, the nearest
        in kernel space first, and ``name``, its name;
        ``similarity``, k(z, x); and ``distance`` in standard deviations of the columns of numbers.
    changes : xarray.Dataset or None
        The change of few columns that makes a row normal, see
        :mod:`bsvdd.estimators.questions.smallest_change`, for each ``obs`` and ``column``:
        ``value`` after it, ``change``, and ``standardized``, the change in standard deviations of
        the majority training rows; ``size`` is the root of the sum of its squares. It is 0 in
        columns that stay, in all columns of a normal row, and NaN if no training row is normal.
        None if it was not asked for, and with columns of categories: the last part of a change is
        undone step by step, and there is no step between two categories.
    tables : dict of Table
        What these datasets are made of, by name, when they are asked for.
    draws : int
        Number of draws that the intervals are of.
    prob : float
        Probability of the intervals.
    without_columns : str
        Why there are no terms of columns; empty if there are.
    words : callable, optional
        Says the columns of a row, by its number and the shares, with their values and what is
        usual.
    cell : callable, optional
        Says a number of a column, by its position, as the table has it.
    """

    kind: str
    rows: pd.DataFrame
    tables: dict[str, Table]
    draws: int
    prob: float
    without_columns: str = ""
    words: Callable[[int, Shares], str] | None = None
    cell: Callable[[int, float], str] | None = None

    @cached_property
    def columns(self) -> xr.Dataset | None:
        """The terms and the shares of the columns."""
        return self._dataset("columns")

    @cached_property
    def points(self) -> xr.Dataset:
        """The points with the largest shares."""
        return self.tables["points"].dataset()

    @cached_property
    def nearest(self) -> xr.Dataset:
        """The nearest normal training rows."""
        return self.tables["nearest"].dataset()

    @cached_property
    def changes(self) -> xr.Dataset | None:
        """The changes that make the rows normal."""
        return self._dataset("changes")

    def _dataset(self, name: str) -> xr.Dataset | None:
        return self.tables[name].dataset() if name in self.tables else None

    def __repr__(self) -> str:
        """Return a sentence or two for each of the first rows."""
        lines = [self._sentence(i) for i in range(min(SHOWN, len(self.rows)))]
        more = len(self.rows) - len(lines)
        return "\n".join([*lines, *([f"... and {more} more rows"] if more else [])])

    def _sentence(self, i: int) -> str:
        row, name = self.rows.iloc[i], self.rows.index[i]
        what = self.kind if self.kind == "surprise" else "squared distance less that of the cutoff"
        interval = f" [{row['low']:.3g}, {row['high']:.3g}]" if row["low"] < row["high"] else ""
        text = (
            f"{name}: {'normal' if row['normal'] else 'abnormal'}, {what} {row['value']:.3g}"
            f"{interval}, 0 at the cutoff."
        )
        if reason := self.reason(i):
            text += f" Columns: {reason}."
        near = self.nearest["name"].values[i, :NAMES_SHOWN]
        if len(near):
            text += f" Nearest normal training rows: {', '.join(map(str, near))}."
        if self.changes is not None and not row["normal"]:
            change = self.change(i)
            text += f" Normal with {change}." if change else ""
        return text

    def change(self, i: int) -> str:
        """Return the columns that row number i changes, with their values; empty for no change."""
        of_row = cast("xr.Dataset", self.changes).isel(obs=i)
        size = np.abs(of_row["standardized"].values)
        if np.isnan(size).any():
            return ""
        changed = [f for f in np.argsort(-size, kind="stable") if size[f] > 0.0]
        names, values, cell = of_row["column"].values, of_row["value"].values, self.cell
        assert cell is not None  # of rows that can change
        parts = [f"{names[f]} = {cell(int(f), float(values[f]))}" for f in changed]
        more = f" and {len(parts) - NAMES_SHOWN} more changes" if len(parts) > NAMES_SHOWN else ""
        return ", ".join(parts[:NAMES_SHOWN]) + more

    def reason(self, i: int) -> str:
        """Return the columns with large shares of row number i, with their values and shares.

        And what rows have that are like it in the other columns; empty if no column has a share.
        """
        if self.words is None or "columns" not in self.tables:
            return ""
        columns = self.tables["columns"]
        pairs = zip(columns.labels.tolist(), columns.variables["share"][i].tolist(), strict=True)
        return self.words(i, list(pairs))

    def to_frame(self) -> pd.DataFrame:
        """Return the terms as a tidy table: a line for each row and column.

        With the columns ``obs``, ``column`` and the variables of ``columns``, and where there are
        changes their ``value`` and ``change``. Without terms of columns it has a line for each row
        and point, and the variables of ``points``.

        Examples
        --------
        >>> import numpy as np
        >>> from bsvdd import SVDD, explain
        >>> X = np.random.default_rng(0).normal(size=(99, 2))
        >>> explain(SVDD().fit(X), [[0.0, 6.0]]).to_frame()[["column", "share"]].round(2)
           column  share
        0       0    0.0
        1       1    0.9
        """
        if self.columns is None:
            return self.points.to_dataframe().reset_index()
        parts = self.columns
        if self.changes is not None:
            parts = parts.assign(self.changes[["value", "change"]])
        return parts.to_dataframe(dim_order=["obs", "column"]).reset_index()

    def top_columns(self, most: int = 3) -> pd.DataFrame:
        """Return the columns with the largest shares of each row.

        Parameters
        ----------
        most : int, default=3

        Returns
        -------
        pandas.DataFrame
            With the index of ``rows``, and ``column_1``, ``share_1``, ``column_2``, ...

        Raises
        ------
        ValueError
            There are no terms of columns; the message says why.
        """
        if "columns" not in self.tables:
            raise ValueError(self.without_columns)
        columns = self.tables["columns"]
        return largest_shares(columns.variables["share"], columns.labels, self.rows.index, most)


def largest_shares(share: np.ndarray, names: np.ndarray, rows: pd.Index, most: int) -> pd.DataFrame:
    """Return the columns with the largest shares (rows, columns) of each row."""
    order = np.argsort(-share, axis=1, kind="stable")[:, :most]
    table: dict[str, Any] = {}
    for rank in range(order.shape[1]):
        table[f"column_{rank + 1}"] = names[order[:, rank]]
        table[f"share_{rank + 1}"] = np.take_along_axis(share, order[:, rank, None], 1)[:, 0]
    return pd.DataFrame(table, rows)


@dataclass(frozen=True, eq=False)
class Asked:
    """What an explanation is asked for: the arguments of :func:`bsvdd.explain`, and rows.

    Attributes
    ----------
    X : array-like or None
    rows : Rows
    place : ndarray of int, shape (m,)
        The training row that each is, which is left out; -1 for a new row.
    names : array-like of shape (m,)
    """

    X: Any
    rows: Rows
    place: np.ndarray
    names: Any
    prob: float
    draws: int
    top: int
    changes: bool

    @property
    def table(self) -> np.ndarray:
        """The rows, in the form that the kernel expects, shape (m, p)."""
        return self.rows.table

    def decision(self, fit: Fit) -> np.ndarray:
        """Return what ``score.decision`` has of the rows, shape (4, m)."""
        if self.X is None:
            return fit.training_decision(self.prob, self.place)
        return fit.decision(self.rows, self.prob)


def explained_by(fit: Fit, asked: Asked) -> Explanation:
    """Return why rows are abnormal, by the centre of a fit."""
    decides = fit.require_center(
        "whose distance explain shares among columns and training rows; use a description such as "
        "BSVDD or SVDD"
    )
    table, index = asked.table, asked.names
    prob = asked.prob
    data, some = fit.data, some_draws(fit, asked.draws)
    center = decides.with_weights(decides.weights[some])
    center = center.with_boundary(parts.boundary_of(decides, some))
    decided, normal = asked.decision(fit), fit.training_scores >= 0.0
    terms = _terms(fit, center, asked)
    is_normal, has_surprise = decided[0] >= 0.0, parts.has_surprise(center)
    surprise = np.stack([-decided[0], *decided[2:]], axis=1)
    values = surprise
    if not has_surprise:  # d^2 - D^2 is twice the difference of similarities
        values = np.where(_are_filled(fit, asked)[:, None], 2.0 * surprise, terms["total"])
    found = pd.DataFrame({"normal": is_normal}, index)
    found[["value", "low", "high"]] = values
    excess = values[:, 0] - terms["total"][:, 0]  # of the median over the mean
    rounding = parts.ROUNDING * np.abs(terms["total"][:, 0])
    counts = np.isfinite(excess) & (np.abs(excess) > rounding)
    found["base"] = parts.base(center) + np.where(counts, excess, 0.0)
    found["remainder"] = terms["remainder"][:, 0]
    found["unseen"] = terms["unseen"][:, 0]
    names: Any = data.columns.labels

    point = data.gram.points.point_of_member[terms["member"]]
    points = {
        "point": point,
        "row": data.row_of_member[terms["member"]],
        "minority": point >= data.gram.n_majority_points,
        **_ends(terms["points"]),
    }
    majority, of_normal = data.majority_rows, np.flatnonzero(normal & ~data.minority)
    size = np.maximum(np.abs(majority).max(axis=0), SMALLEST)  # squares of large values overflow
    sd = np.where(np.ptp(majority, axis=0) > 0.0, size * (majority / size).std(axis=0), 1.0)
    nearest = _nearest(fit, asked, of_normal, sd)
    forms = {"forms": [f"{names[i]}: {each}" for i, each in data.forms.items()]}
    labels = np.asarray(names.tolist())
    tables = {
        name: Table(index, "rank", np.arange(of_rank["row"].shape[1]), of_rank)
        for name, of_rank in {"points": points, "nearest": nearest}.items()
    }
    if parts.has_columns(center):
        shares = _ends(terms["shares"], ("share", "share_low", "share_high"))
        typical = partial(_typical, fit, center)
        of_columns = {"typical": typical, **_ends(terms["columns"]), **shares}
        tables["columns"] = Table(index, "column", labels, of_columns, forms)
    if asked.changes and not data.kernel.categorical_columns:
        # a row with gaps is changed as it is filled, which may be normal
        filled = _are_filled(fit, asked)
        stays = is_normal | (filled & fit.is_normal(asked.rows.filled))
        value = _changed(fit, asked, stays, data.rows[of_normal], sd)
        change = value - table
        changed = {
            "value": value,
            "change": change,
            "standardized": change / sd,
            "size": ("obs", np.hypot.reduce(change / sd, axis=1)),
        }
        tables["changes"] = Table(index, "column", labels, changed, forms)
    return Explanation(
        kind="surprise" if has_surprise else "distance",
        rows=found,
        tables=tables,
        draws=len(some),
        prob=prob,
        without_columns=_why_no_columns(center),
        words=partial(_in_words, fit, replace(asked, X=as_frame(asked.X))),
        cell=partial(text_of, fit, {}),
    )


def _in_words(fit: Fit, asked: Asked, i: int, shares: Shares) -> str:
    """Return the reasons of row number i of X, or without X of the training rows."""
    X, table, one = asked.X, asked.table, slice(i, i + 1)
    if X is None:
        cells = cells_of(fit, table[one], members=asked.place[one])
    else:
        own = X.iloc[one] if isinstance(X, pd.DataFrame) else np.asarray(X)[one]
        cells = cells_of(fit, table[one], own)
    return reason(fit, table[i], cells, shares, levels_of(fit, X))


def _typical(fit: Fit, center: Center) -> tuple[str, np.ndarray]:
    """Return the mean terms of the columns of some normal training rows, with their dimension."""
    normal = np.flatnonzero(~fit.data.minority)
    sample = normal[:: -(-len(normal) // TYPICAL_ROWS)]
    return "column", parts.typical_columns(center, fit.data.leaving(sample))


def _ends(summary: np.ndarray, names: Sequence[str] = ENDS) -> dict[str, np.ndarray]:
    return {name: summary[..., i] for i, name in enumerate(names)}


def _are_filled(fit: Fit, asked: Asked) -> np.ndarray:
    """Return which rows are decided with several values in their gaps, shape (m,)."""
    found = np.zeros(len(asked.rows), dtype=bool)
    if asked.rows.imputations is not None:
        found[asked.rows.imputations.which] = True
    if fit.data.gaps is not None and leaves_rows(fit.cutoff):
        found |= (asked.place >= 0) & fit.data.gaps.any(axis=1)[asked.place]
    return found


def some_draws(fit: Fit, draws: int) -> np.ndarray:
    """Return the numbers, over all chains, of evenly spaced draws."""
    assert fit.learned.draws is not None  # of a centre
    chains, n = fit.learned.draws.shape
    kept = thinned(n, max(1, draws // chains))
    return (np.arange(chains)[:, None] * n + kept).ravel()


def _terms(fit: Fit, center: Center, asked: Asked) -> parts.Terms:
    """Return the terms of rows, training rows left out; the kernel learned from majority rows."""
    data, place, how = fit.data, asked.place, (asked.prob, asked.top)
    is_new, minority = place < 0, data.minority[place]
    found, order = [], []
    for group, of_group in (
        (is_new, center),
        (~is_new & ~minority, center.leaving_out),
        (~is_new & minority, center),
    ):
        if group.any():
            leaving = None if group is is_new else data.leaving(place[group])
            found.append(parts.terms(of_group, asked.table[group], *how, leaving))
            order.append(np.flatnonzero(group))
    back = np.argsort(np.concatenate(order))
    return {name: values[back] for name, values in parts.joined(found).items()}


def _changed(
    fit: Fit, asked: Asked, is_normal: np.ndarray, normal: np.ndarray, sd: np.ndarray
) -> np.ndarray:
    """Return the rows after their smallest changes; a training row is judged without itself."""
    center, value = fit.require_center("to which rows are moved"), asked.table.copy()
    leaves = (asked.place >= 0) & (fit.data.member_of_row[asked.place] >= 0)
    stays = ~is_normal & ~leaves
    value[stays] = smallest_change(center, value[stays], normal, fit.level, sd)
    for i in np.flatnonzero(~is_normal & leaves):
        judge = _without(fit, center, asked.place[i])
        value[i] = smallest_change(judge, value[[i]], normal, fit.level, sd)[0]
    return value


def _without(fit: Fit, center: Center, row: int) -> Center:
    """Return the centre without a training row."""
    leaving = fit.data.leaving(np.array([row]))
    if center.nonnegative:
        w = leaving.weights(center.weights)
        w = np.where(np.isfinite(w), w, 0.0)
    else:  # the others stay: the centre of a posterior has no other
        w = leaving.others(center.weights)
    points = center.gram.points.without(int(leaving.member[0]))
    return replace(center, weights=w, gram=replace(center.gram, points=points))


def _why_no_columns(center: Center) -> str:
    if parts.has_columns(center):
        return ""
    kernel = center.gram.kernel
    if kernel.separable:
        return (
            "there are no exact shares of columns for weights that may be negative; explanation."
            "points has the terms of the training rows. Models with weights of at least 0, such as "
            "BSVDD, SVDD and BDD(simplex=True), have shares of columns"
        )
    return (
        f"{kernel!r} is no product over columns, so there are no exact shares of columns; "
        "explanation.points has the terms of the training rows. kernels.RBF and "
        "kernels.Laplacian have shares of columns for weights of at least 0, and kernels.Linear "
        "for all weights"
    )


def _nearest(
    fit: Fit, asked: Asked, of_normal: np.ndarray, sd: np.ndarray
) -> dict[str, np.ndarray]:
    """Return the normal training rows, of these numbers, that are next to rows in kernel space.

    A training row is not next to itself.
    """
    data, kernel, normal_rows = fit.data, fit.data.kernel, fit.data.rows[of_normal]
    rows, place_of_rows = asked.table, asked.place
    top = max(0, min(asked.top, len(of_normal) - bool((place_of_rows >= 0).any())))
    place = np.empty((len(rows), top), dtype=int)
    similarity, distance = np.empty((2, len(rows), top))

    def of_block(block: slice) -> None:
        if kernel.normalized:  # the logarithm has all digits for remote rows
            nearness = kernel.log(rows[block], normal_rows)
            k = np.exp(nearness)
        else:
            k = kernel(rows[block], normal_rows)
            nearness = 2.0 * k - kernel.diag(normal_rows)
        nearness[place_of_rows[block, None] == of_normal] = -np.inf
        place[block] = parts.largest(nearness, top)
        similarity[block] = np.take_along_axis(k, place[block], axis=1)
        change = (rows[block, None] - normal_rows[place[block]]) / sd
        change[..., list(kernel.categorical_columns)] = 0.0
        distance[block] = np.hypot.reduce(change, axis=-1)

    threads.each(of_block, len(rows) if top else 0, BLOCK)
    row = of_normal[place]
    return {
        "row": row,
        "similarity": similarity,
        "distance": distance,
        "name": data.row_names[row],
    }
