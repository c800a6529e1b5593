"""What a comparison says of a table without labels: which rows most models call odd.

Each model is fitted to all rows, and judges each row by the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...estimators.messages import as_cell
from ...estimators.registry import MODELS
from ...estimators.words import none_beyond
from ..run.runner import Study
from ..scenarios.datasets import Dataset
from .own_data import alike, warnings_of
from .table import heat_map, number, write_page

SHOWN = 20  # rows on the page
ALIKE = 0.95  # agreement of models that decide alike
LEGEND = (
    "odd: rows beyond the cutoff of the model, each left out when it is judged, and their share. "
    "agrees: of the rows that this model or another one calls odd, the share that both do, on "
    "average over the other models; - if no row is odd."
)
NO_WINNER = "No model is called best: nothing here tells which rows are abnormal."
SHARES = (
    "Each cutoff is chosen on left-out rows, so all shares are near the asked one; models differ "
    "in which rows these are."
)


@dataclass(frozen=True, eq=False)
class Votes:
    """The decisions of several models on the rows of one table.

    Attributes
    ----------
    name : str
        Of the names of the rows.
    rows : pandas.DataFrame
        For each row its name, the number of models that call it odd, and the median of their
        p-values. The index is its position; the row that most models call odd comes first.
    p_values, odd : pandas.DataFrame
        The same rows x models.
    models : pandas.DataFrame
        For each model the number of odd rows, their share, the mean agreement with the others and
        the seconds of its fit; the model that agrees most comes first.
    agreement : pandas.DataFrame
        Models x models: of the rows that either calls odd, the share that both call odd; NaN if
        there is none.
    """

    name: str
    rows: pd.DataFrame
    p_values: pd.DataFrame
    odd: pd.DataFrame
    models: pd.DataFrame
    agreement: pd.DataFrame

    @property
    def by_most(self) -> int:
        """The number of rows that more than half of the models call odd."""
        return int((2 * self.rows["odd_by"] > len(self.models)).sum())

    @property
    def count(self) -> str:
        """How many rows are odd by most models, in words."""
        n = self.by_most
        rows = f"{n or 'No'} {'row is' if n < 2 else 'rows are'}"
        return f"{rows} odd by most of the {len(self.models)} models"

    @property
    def odd_rows(self) -> pd.DataFrame:
        """The ``rows`` that at least one model calls odd."""
        return self.rows[self.rows["odd_by"] > 0]

    def lines(self, rate: float) -> list[str]:
        """Return what the tables do not say, in sentences, for the asked share of odd rows."""
        shares = none_beyond(len(self.rows), rate) or SHARES
        return [f"{NO_WINNER} {shares}", *alike(self.agreement >= ALIKE)]


def votes(results: pd.DataFrame, data: Dataset, name: str = "row") -> Votes:
    """Return the decisions of the models that could be fitted.

    Parameters
    ----------
    results : pandas.DataFrame
        Of the comparison of a table without labels.
    data : Dataset
        The table.
    name : str
        Of the names of the rows.

    Raises
    ------
    ValueError
        All fits failed.
    """
    fitted = _fitted(results).set_index("model")
    if fitted.empty:
        raise ValueError(f"no model could be fitted: {results['error'].iloc[0]}")
    p = pd.DataFrame({m: text.split() for m, text in fitted["p_values"].items()}, dtype=float)
    odd = pd.DataFrame({m: list(text) for m, text in fitted["odd"].items()}) == "1"
    members = odd.to_numpy(dtype=float)
    both = members.T @ members
    either = members.sum(axis=0)[:, None] + members.sum(axis=0) - both
    share = np.divide(both, either, out=np.full_like(both, np.nan), where=either > 0.0)
    np.fill_diagonal(share, np.nan)
    agrees = pd.DataFrame(share, odd.columns).mean(axis=1)
    np.fill_diagonal(share, 1.0)
    models = pd.DataFrame(
        {
            "odd": odd.sum(),
            "share": odd.mean(),
            "agrees": agrees,
            "seconds": fitted["fit_seconds"] + fitted["score_seconds"],
        }
    ).sort_values("agrees", ascending=False, kind="stable")
    rows = pd.DataFrame({"odd_by": odd.sum(axis=1), "p_value": p.median(axis=1)})
    rows.insert(0, "row", rows.index if data.row_names is None else data.row_names)
    rows = rows.sort_values(["odd_by", "p_value"], ascending=[False, True], kind="stable")
    order, names = rows.index, models.index
    agreement = pd.DataFrame(share, odd.columns, odd.columns).loc[names, names]
    return Votes(name, rows, p.loc[order, names], odd.loc[order, names], models, agreement)


def all_rows(found: Votes) -> str:
    """Return all rows with their number of votes and the p-value by each model, as CSV."""
    names = [as_cell(n) if isinstance(n, str) else n for n in found.rows["row"]]
    rows = found.rows.assign(row=names).set_axis([found.name, "odd_by", "median_p_value"], axis=1)
    each = found.p_values.add_prefix("p_value ")
    return str(pd.concat([rows, each], axis=1).to_csv(index=False))


def _fitted(results: pd.DataFrame) -> pd.DataFrame:
    return results[(results["error"] == "") & results["model"].isin(list(MODELS))]


def plot_agreement(found: Votes) -> Figure:
    """Show the agreement of all pairs of models."""
    size = 2.0 + 0.55 * len(found.models)
    style = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.5}
    figure, ax = heat_map(found.agreement, (size, size), partial(number, digits=2), **style)
    ax.set_title("of the rows that either calls odd,\nthe share that both do")
    return figure


def write(
    folder: Path, results: pd.DataFrame, found: Votes, study: Study, notes: list[str]
) -> Path:
    """Write report.html and the picture into ``folder``; return the report.

    Parameters
    ----------
    folder : path
    results : pandas.DataFrame
    found : Votes
    study : Study
        Of one table.
    notes : list of str
        What differs from the defaults.
    """
    (data,) = study.data
    caption = f"{data.name}: agreement of the models on the odd rows."
    return write_page(
        folder,
        "report.html",
        "unlabelled.html",
        {"agreement": (plot_agreement(found), caption)},
        data=data,
        found=found,
        study=study,
        notes=notes,
        legend=LEGEND,
        shown=SHOWN,
        warnings=warnings_of(_fitted(results)),
        failed=warnings_of(results[results["error"] != ""]),
    )
