"""Which model for kinds of abnormal rows that are labelled, some of them labelled, or none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from .table import model_rows, save

LABELLED = " labelled"  # the end of the name of a scenario of real data
FEW = r"^(.* labelled) by (\d+) rows$"  # the name of one with fewer labelled rows
PROPER = {
    "log_score": "log score",
    "platt_log_score": "Platt: log score",
    "brier": "Brier",
    "platt_brier": "Platt: Brier",
    "answers_log_score": "three answers: log score",
}
SUMMARY = {
    **{f"auc_{of}": f"AUC, {of}" for of in ("seen", "unseen", "mean")},
    **{f"answers_auc_{of}": f"kinds: AUC, {of}" for of in ("seen", "unseen", "mean")},
    **{f"g_mean_{of}": f"G-mean, {of}" for of in ("seen", "unseen")},
    **{f"{name}_{s}": f"{title}, {s}%" for name, title in PROPER.items() for s in (25, 50)},
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
    return table.rename_axis(index=None, columns=None)


def generated(results: pd.DataFrame) -> pd.DataFrame:
    """Return the AUC of all abnormal rows in each generated setting, a column for each model."""
    rows = model_rows(results)
    rows = rows[~rows["data"].str.contains(LABELLED)]
    table = rows.pivot_table("auc", "data", "model", sort=False)
    return table.rename_axis(index=None, columns=None)


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
        rows[title] = [each for pair in order.head(2).items() for each in pair]
    columns = ["best", "value", "next", "next value"][: 2 * len(table)]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def text(results: pd.DataFrame) -> str:
    """Return the tables as text."""
    tables = {
        "Best model, over data sets:": verdicts(results),
        "Means over data sets:": summary(results).rename(columns=SUMMARY).T,
        "AUC for the labelled kind by its labelled rows:": by_labelled_rows(results),
        "AUC in generated data:": generated(results),
    }
    return "\n\n".join(
        f"{title}\n\n{table.to_string(float_format='%.3f', na_rep='-')}"
        for title, table in tables.items()
        if not table.empty
    )


def write(folder: Path, results: pd.DataFrame) -> None:
    """Write the summary and the tables to ``folder``."""
    save(folder / "kinds_summary.csv", summary(results).to_csv().encode())
    save(folder / "kinds_tables.txt", (text(results) + "\n").encode())
