"""Which model for kinds of abnormal rows that are labelled, some of them labelled, or none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from . import pages
from .table import model_rows

LABELLED = " labelled"  # the end of the name of a scenario of real data
FEW = r"^(.* labelled) by (\d+) rows$"  # the name of one with fewer labelled rows
SUMMARY = {
    "auc_seen": "AUC, seen",
    "auc_unseen": "AUC, unseen",
    "auc_mean": "AUC, mean",
    "answers_auc_seen": "kinds: AUC, seen",
    "answers_auc_unseen": "kinds: AUC, unseen",
    "answers_auc_mean": "kinds: AUC, mean",
    "g_mean_seen": "G-mean, seen",
    "g_mean_unseen": "G-mean, unseen",
    "log_score_25": "log score, 25%",
    "log_score_50": "log score, 50%",
    "platt_log_score_25": "Platt: log score, 25%",
    "platt_log_score_50": "Platt: log score, 50%",
    "brier_25": "Brier, 25%",
    "brier_50": "Brier, 50%",
    "platt_brier_25": "Platt: Brier, 25%",
    "platt_brier_50": "Platt: Brier, 50%",
    "answers_log_score_25": "three answers: log score, 25%",
    "answers_log_score_50": "three answers: log score, 50%",
}


def real_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models on real data, with the data set in the column "set"."""
    rows = model_rows(results)
    rows = rows[rows["data"].str.endswith(LABELLED)]
    for prefix in ("", "answers_"):
        mean = (rows[f"{prefix}auc_seen"] + rows[f"{prefix}auc_unseen"]) / 2.0
        rows = rows.assign(**{f"{prefix}auc_mean": mean})
    return rows.assign(set=rows["data"].str.split(", ").str[0])


def summary(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each metric over data sets, a row for each model.

    A data set counts once, however many of its kinds are labelled in turn.
    """
    rows = real_rows(results)
    by_set = rows.groupby(["model", "set"], sort=False)[list(SUMMARY)].mean()
    return by_set.groupby("model", sort=False).mean().sort_values("auc_mean", ascending=False)


def by_labelled_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the mean AUC for the labelled kind by the number of its labelled rows.

    A row for each number, the last one "all" (at most a tenth of the normal rows), over the same
    kinds, and a column for each model.
    """
    rows = model_rows(results)
    few = rows["data"].str.extract(FEW)
    same = rows["data"].isin(few[0].dropna())
    parts = [
        rows.assign(kind=few[0], rows=few[1])[few[0].notna()],
        rows.assign(kind=rows["data"], rows="all")[same],
    ]
    by_kind = pd.concat(parts).groupby(["rows", "model", "kind"], sort=False)["auc_seen"].mean()
    table = by_kind.groupby(["rows", "model"], sort=False).mean().unstack("model", sort=False)
    table.columns.name = table.index.name = None
    return table


def generated(results: pd.DataFrame) -> pd.DataFrame:
    """Return the AUC of all abnormal rows in each generated setting, a column for each model."""
    rows = model_rows(results)
    rows = rows[~rows["data"].str.contains(LABELLED)]
    table = rows.pivot_table("auc", "data", "model", sort=False)
    table.columns.name = table.index.name = None
    return table


def verdicts(results: pd.DataFrame) -> pd.DataFrame:
    """Return the best model by each metric of :func:`summary`, and the next one.

    Raises
    ------
    ValueError
        There are no results of real data.
    """
    table, rows = summary(results), {}
    if table.empty:
        raise ValueError("the results have no real data set with a labelled kind")
    for metric, title in SUMMARY.items():
        order = table[metric].sort_values(ascending="score" in metric or "brier" in metric)
        rows[title] = {
            f"{word}{part}": value
            for k, word in enumerate(("", "next "))
            if k < len(order)
            for part, value in (("best", order.index[k]), ("value", order.iloc[k]))
        }
    found = pd.DataFrame.from_dict(rows, orient="index")
    return found.rename(columns={"next best": "next"})


def text(results: pd.DataFrame) -> str:
    """Return the tables as text."""
    parts = []
    for title, table in (
        ("Best model, over data sets:", verdicts(results)),
        ("Means over data sets:", summary(results).rename(columns=SUMMARY).T),
        ("AUC for the labelled kind by its labelled rows:", by_labelled_rows(results)),
        ("AUC in generated data:", generated(results)),
    ):
        if not table.empty:
            parts += [title, table.to_string(float_format="%.3f", na_rep="-")]
    return "\n\n".join(parts)


def save(folder: Path, results: pd.DataFrame) -> None:
    """Write the summary and the tables to ``folder``."""
    pages.save(folder / "kinds_summary.csv", summary(results).to_csv().encode())
    pages.save(folder / "kinds_tables.txt", (text(results) + "\n").encode())
