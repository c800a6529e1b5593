"""Explanations of rows by several views: which view is surprised, by which columns and rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ...inference import ties
from .. import inputs
from ..fit import Fit
from ..messages import of_value, printable
from ..p_values import of_rows
from .explanation import NAMES_SHOWN, SHOWN, Asked, Explanation, explained_by, largest_shares

RARE = 0.05  # share of training rows with so rare a value in one of their columns: it is odd
COLUMN, COMBINATION, SEVERAL = "column", "combination", "columns"
COLUMN_VIEWS = ("columns", "rarest column")
NONE_ALONE = f"No single value is among the rarest {RARE:.0%}"


@dataclass(frozen=True, eq=False, repr=False)
class ViewsExplanation:
    """Why rows are abnormal, the result of ``bsvdd.explain`` of ``Views``.

    Attributes
    ----------
    rows : pandas.DataFrame
        For each row ``normal``, ``p_value`` (of a fit to normal rows) and ``surprise``, the joined
        answer; ``view``, the one with the smallest p-value; ``cause``: "column" if a value of the
        row is as rare as the rarest values of 5 % of the training rows, or rarer than all of them,
        and else "combination" if a description is most surprised, "columns" if several values are
        rather rare, or the name of a further view; ``column``, the one with the rarest value, and
        ``near``, the number of training rows with a value near to it, of ``of`` described rows,
        without the row itself.
    p_values : pandas.DataFrame
        The p-value of each row under each view; of a view with draws, their median.
    values, near : pandas.DataFrame
        The value of the row in each column, and how many training rows have a value near to it.
        A category of text is None in training rows: a fit keeps no texts.
    larger : pandas.DataFrame
        How many training rows have a larger value that is not near; 0 of a category.
    rarity : pandas.DataFrame
        The share of each column in the sum of log frequencies.
    odd : pandas.DataFrame
        Which values are odd by themselves.
    parts : dict of str to Explanation
        The explanations by the descriptions among the views.
    failed : dict of str to str
        Views without a part in the answer, and why.
    """

    rows: pd.DataFrame
    p_values: pd.DataFrame
    values: pd.DataFrame
    near: pd.DataFrame
    larger: pd.DataFrame
    rarity: pd.DataFrame
    odd: pd.DataFrame
    parts: Mapping[str, Explanation]
    failed: Mapping[str, str]

    def __repr__(self) -> str:
        """Return a sentence or two for each of the first rows."""
        lines = [
            f"{name}: {'normal' if row['normal'] else 'abnormal'}"
            + (f", p = {row['p_value']:.3g}" if "p_value" in row else "")
            + f". {self.reason(i)}.{self._nearest(i)}"
            for i, (name, row) in enumerate(self.rows.iloc[:SHOWN].iterrows())
        ]
        more = len(self.rows) - len(lines)
        lines += [f"... and {more} more rows"] if more else []
        return "\n".join(
            lines + [f"View {v!r} has no part: {why}" for v, why in self.failed.items()]
        )

    def reason(self, i: int) -> str:
        """Return what is odd about row number i, sentences without the last point."""
        row = self.rows.iloc[i]
        if row["normal"] and row["cause"] != COLUMN:
            return NONE_ALONE
        if row["cause"] in (COLUMN, SEVERAL):
            order = np.argsort(-self.rarity.iloc[i].to_numpy(), kind="stable")
            if row["cause"] == COLUMN:
                order = order[self.odd.iloc[i].to_numpy()[order]]
            seen = self._seen(i, order[:NAMES_SHOWN])
            if row["cause"] == COLUMN:
                return seen
            return f"Several values are rare together. {seen}. {NONE_ALONE}"
        if row["cause"] != COMBINATION:
            return f"The view {row['view']!r} finds the row odd. {NONE_ALONE}"
        part = self.parts[row["view"]]
        if part.columns is None:
            return f"The combination is odd (by {row['view']}). {NONE_ALONE}"
        return f"The combination is odd: {part.reason(i)} (by {row['view']}). {NONE_ALONE}"

    def _seen(self, i: int, order: np.ndarray) -> str:
        """Return how often the values of some columns were seen."""
        values, of = self.values.iloc[i], self.rows["of"].iloc[i]
        parts = []
        for f in order:
            value = values.iloc[f]
            shown = "" if value is None else f" ({of_value(value)})"
            near, larger = self.near.iat[i, f], self.larger.iat[i, f]
            beyond, which = min((larger, "larger"), (of - near - larger, "smaller"))
            tail = f" ({100.0 * beyond / of:.2g}% are {which})" if beyond else ""
            parts.append((printable(str(values.index[f])), shown, near, tail))
        (name, shown, count, tail), *others = parts
        more = "".join(f", {other}{value} in {k}{beyond}" for other, value, k, beyond in others)
        what = f"value{shown}" if shown else "category"
        return f"Column {name} has a {what} seen in {count} of {of} rows{tail}{more}"

    def _nearest(self, i: int) -> str:
        view = self.rows["view"].iloc[i]
        part = self.parts.get(view) or next(iter(self.parts.values()), None)
        near: Any = [] if part is None else part.nearest["name"].values[i, :NAMES_SHOWN]
        return f" Nearest normal training rows: {', '.join(map(str, near))}." if len(near) else ""

    def top_columns(self, most: int = 3) -> pd.DataFrame:
        """Return the columns with the largest shares of each row.

        Of a row with the cause "combination", the shares of the surprise of the view; of another,
        the shares of the columns in the log frequencies.

        Parameters
        ----------
        most : int, default=3

        Returns
        -------
        pandas.DataFrame
            With the index of ``rows``, and ``column_1``, ``share_1``, ``column_2``, ...
        """
        share = self.rarity.to_numpy().copy()
        for i, row in enumerate(self.rows.itertuples()):
            part = self.parts.get(row.view) if row.cause == COMBINATION else None
            if part is not None and part.columns is not None:
                share[i] = part.columns["share"].values[i]
        return largest_shares(share, self.near.columns.to_numpy(), self.rows.index, most)


def explained(fit: Fit, asked: Asked) -> ViewsExplanation:
    """Return why rows are abnormal, by the views of a fit; see :func:`bsvdd.explain`."""
    score: Any = fit.score
    data, views, table, place = fit.data, score.views, asked.table, asked.place
    itself = (place >= 0) & ~data.minority[place]
    counted = (place >= 0) & data.described[place]  # by the views of single columns
    values = [
        view.values(table) if asked.X is not None else view.left_out[:, place] for view in views
    ]
    score_of_rows = asked.decision(fit)[0]
    parts = {
        name: explained_by(each, asked) for name, each in score.fits.items() if each.has_center
    }
    p = pd.DataFrame(
        {
            view.name: np.median(view.p_values(of_rows, itself), axis=0)
            for view, of_rows in zip(views, values, strict=True)
        },
        asked.names,
    )
    near, larger, frequency = score.rarity.counts(table, counted)
    larger[:, list(data.kernel.categorical_columns)] = 0  # categories have no order
    rarest = np.sort(score.rarity.counts(data.rows[data.described], True)[2].min(axis=1))
    n, others = len(rarest), ~counted[:, None]
    upto = frequency + ties.tolerance(frequency)
    as_rare = np.searchsorted(rarest, upto, side="right") + others  # with the row itself
    odd = (as_rare <= RARE * (n + others)) | (as_rare == 1)
    first = frequency.argmin(axis=1)
    # ties: a description is sure of a row that a column alone explains too
    view = p[sorted(p, key=lambda name: name in COLUMN_VIEWS)].idxmin(axis=1)
    causes = dict.fromkeys(parts, COMBINATION) | dict.fromkeys(COLUMN_VIEWS, SEVERAL)
    shown = inputs.shown(data, table, asked.X).set_axis(p.index)
    found = pd.DataFrame({"normal": score_of_rows >= 0.0}, p.index)
    if data.core is None or asked.X is not None:  # a rank among the rows of one table is none
        found["p_value"] = of_rows(fit, score_of_rows, itself)
    found["surprise"] = -score_of_rows
    found["view"] = view
    found["cause"] = view.map(lambda v: causes.get(v, v)).mask(odd.any(axis=1), COLUMN)
    found["column"] = pd.Series([shown.columns[f] for f in first], found.index, dtype=object)
    found["near"] = near[np.arange(len(found)), first].astype(int)
    found["of"] = n - counted
    rare = np.maximum(np.log(n) - frequency, 0.0)
    total = rare.sum(axis=1, keepdims=True)
    rarity = np.divide(rare, total, where=total > 0.0, out=np.zeros_like(rare))
    of_columns = {"near": near.astype(int), "larger": larger.astype(int), "rarity": rarity}
    return ViewsExplanation(
        rows=found,
        p_values=p,
        values=shown,
        **{k: pd.DataFrame(v, shown.index, shown.columns) for k, v in of_columns.items()},
        odd=pd.DataFrame(odd, shown.index, shown.columns),
        parts=parts,
        failed=score.failed,
    )
