"""What a comparison says of a table without labels: the rows that the models find odd.

Odd rows are among the rows, so each description rests on their core, as in ``bsvdd outliers``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from ...estimators.messages import as_cell
from ...inference.cutoff import as_cutoff
from ..run.runner import Study
from ..scenarios.datasets import Dataset
from .own_data import alike, warnings_of
from .table import heat_map, model_rows, number, write_page

SHOWN = 20  # rows on the page
ALIKE = 0.95  # agreement of models that order the rows alike
FIRST = 0.05, 10  # share of rows that are the oddest of a model, and their least number
LEGEND = (
    "listed: rows that the model calls odd, of which a tenth is expected to be normal; - for a "
    "method that only orders the rows. agrees: of the oddest rows of this model, {first} of them, "
    "the share that are so by another one, on average over the other models."
)
NO_WINNER = "No model is called best: nothing here tells which rows are abnormal."


@dataclass(frozen=True, eq=False)
class Votes:
    """What several models say of the rows of one table.

    Attributes
    ----------
    name : str
        Of the names of the rows.
    rows : pandas.DataFrame
        For each row its name, the mean of P(odd) and the number of lists that it is in, over the
        models that have these, and its median rank among the surprises of all models. The index is
        its position; the row with the largest P(odd), and of these with the first rank, comes
        first.
    probability, ranks : pandas.DataFrame
        P(odd), and the rank of the surprise: the same rows x models.
    models : pandas.DataFrame
        For each model the number of listed rows, the mean agreement with the others and the seconds
        of its fit; the model that agrees most comes first.
    agreement : pandas.DataFrame
        Models x models: of the oddest rows of a model, the share that are so by the other.
    n_oddest : int
        The number of the oddest rows of a model.
    """

    name: str
    rows: pd.DataFrame
    probability: pd.DataFrame
    ranks: pd.DataFrame
    models: pd.DataFrame
    agreement: pd.DataFrame
    n_oddest: int

    @property
    def n_lists(self) -> int:
        """The number of models that list rows."""
        return int(self.models["listed"].notna().sum())

    @property
    def count(self) -> str:
        """How many rows are listed by most models, in words."""
        if not self.n_lists:
            return "These methods only order the rows"
        n = int((2 * self.rows["listed_by"] > self.n_lists).sum())
        rows = f"{n or 'No'} {'row is' if n < 2 else 'rows are'}"
        return f"{rows} listed by most of the {self.n_lists} models that list rows"

    @property
    def legend(self) -> str:
        """What the columns of ``models`` are."""
        return LEGEND.format(first=self.n_oddest)

    @property
    def lines(self) -> list[str]:
        """What the tables do not say, in sentences."""
        return [NO_WINNER, *alike(self.agreement >= ALIKE)]


def votes(results: pd.DataFrame, data: Dataset, name: str = "row") -> Votes:
    """Return what the models that could be fitted say of the rows.

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
    surprise, odd = (
        pd.DataFrame({m: text.split() for m, text in fitted[what].items()}, dtype=float)
        for what in ("surprise", "probability_odd")
    )
    listed = pd.DataFrame({m: list(text) for m, text in fitted["listed"].items()}) == "1"
    ranks = surprise.rank(ascending=False, method="min").astype(int)
    n, (share, least) = len(ranks), FIRST
    n_oddest = min(n, max(least, round(share * n)))
    first = np.zeros(ranks.shape)
    for i, order in enumerate(np.argsort(-surprise.to_numpy(), axis=0, kind="stable").T):
        first[order[:n_oddest], i] = 1.0
    both = first.T @ first / n_oddest
    others = np.where(np.eye(len(both), dtype=bool), np.nan, both)
    agrees = pd.DataFrame(others, ranks.columns).mean(axis=1)
    has_list = odd.notna().any()
    models = pd.DataFrame(
        {
            "listed": listed.sum().where(has_list),
            "agrees": agrees,
            "seconds": fitted["fit_seconds"] + fitted["score_seconds"],
        }
    ).sort_values("agrees", ascending=False, kind="stable")
    rows = pd.DataFrame(
        {
            "row": ranks.index if data.row_names is None else data.row_names,
            "probability_odd": odd.mean(axis=1),
            "listed_by": listed.sum(axis=1),
            "rank": ranks.median(axis=1),
        }
    ).sort_values(["probability_odd", "rank"], ascending=[False, True], kind="stable")
    order, names = rows.index, models.index
    agreement = pd.DataFrame(both, ranks.columns, ranks.columns).loc[names, names]
    of_models = odd.loc[order, names], ranks.loc[order, names]
    return Votes(name, rows, *of_models, models, agreement, n_oddest)


def all_rows(found: Votes) -> str:
    """Return all rows, with P(odd) and the rank by each model, as CSV."""
    names = [as_cell(n) if isinstance(n, str) else n for n in found.rows["row"]]
    head = [found.name, "probability_odd", "listed_by", "median_rank"]
    rows = found.rows.assign(row=names).set_axis(head, axis=1)
    each = found.probability.dropna(axis=1, how="all").add_prefix("probability_odd ")
    return str(pd.concat([rows, each, found.ranks.add_prefix("rank ")], axis=1).to_csv(index=False))


def _fitted(results: pd.DataFrame) -> pd.DataFrame:
    return model_rows(results[results["error"] == ""])


def plot_agreement(found: Votes) -> Figure:
    """Show the agreement of all pairs of models."""
    size = 2.0 + 0.55 * len(found.models)
    style = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.5}
    figure, ax = heat_map(found.agreement, (size, size), partial(number, digits=2), **style)
    ax.set_title(
        f"of the {found.n_oddest} oddest rows of a model,\nthe share that are so by the other"
    )
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
        cutoff=as_cutoff(study.protocol.cutoff),
        notes=notes,
        shown=SHOWN,
        warnings=warnings_of(_fitted(results)),
        failed=warnings_of(results[results["error"] != ""]),
    )
