"""Which model for kinds of abnormal rows that are labelled, some of them labelled, or none."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from . import pages
from .findings import Finding, listed, model_rows

LABELLED = " labelled"  # the end of the name of a scenario of real data
FEW = r"^(.* labelled) by (\d+) rows$"  # the name of one with fewer labelled rows
WITHOUT_LABELS = "BSVDD"
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


def findings(results: pd.DataFrame) -> list[Finding]:
    """Return sentences on kinds that are labelled, and on those that are not.

    Parameters
    ----------
    results : pandas.DataFrame
        Of :func:`bsvdd.comparison.run.studies.kinds`.

    Raises
    ------
    ValueError
        There are no results of real data.
    """
    rows = real_rows(results)
    if rows.empty:
        raise ValueError("the results have no real data set with a labelled kind")
    table, n = summary(results), rows["set"].nunique()
    sentences = []
    for metric, what in (
        ("auc_seen", "for new rows of the labelled kind"),
        ("auc_unseen", "for rows of kinds that training has not seen"),
        ("auc_mean", "on average over both"),
    ):
        first, second = table[metric].nlargest(2).index
        sentences.append(
            f"Over {n} data sets {first} has the largest AUC {what}, {table[metric][first]:.3f}; "
            f"{second} has {table[metric][second]:.3f}."
        )
    fall = (table["auc_seen"] - table["auc_unseen"]).sort_values(ascending=False)
    sentences.append(
        "When a new kind comes, the AUC falls by "
        + listed([f"{value:.3f} for {model}" for model, value in fall.items()])
        + "."
    )
    first = table["answers_auc_mean"].idxmax()
    sentences.append(
        f"Ranked by P(normal) of est.kinds, {first} has the largest mean AUC, "
        f"{table['answers_auc_mean'][first]:.3f} "
        f"({table['answers_auc_seen'][first]:.3f} for the labelled kind, "
        f"{table['answers_auc_unseen'][first]:.3f} for others); by its own score it has "
        f"{table['auc_mean'][first]:.3f}."
    )
    for share in (25, 50):
        ours, platt = table[f"log_score_{share}"], table[f"platt_log_score_{share}"]
        better = (ours < platt).sum()
        sentences.append(
            f"If {share} % of the abnormal rows are of unseen kinds, the log score of P(normal) by "
            f"est.kinds is better than by Platt's sigmoid alone for {better} of {len(table)} "
            f"models; the best is {ours.idxmin()} by est.kinds with {ours.min():.3f}, and "
            f"{platt.idxmin()} by Platt's sigmoid with {platt.min():.3f}."
        )
    found = [Finding(sentence, table) for sentence in sentences]
    few, others = by_labelled_rows(results), generated(results)
    if WITHOUT_LABELS in few:
        found.append(Finding(_worth(few), few))
    if not others.empty:
        found.append(Finding(_generated(others), others))
    draws = rows[rows["model"].str.startswith("BSVDD-M")].groupby("model", sort=False)["r_hat"]
    r_hat = (
        "The largest R-hat of d_z is "
        + listed([f"{each.max():.4f} in {len(each)} fits of {model}" for model, each in draws])
        + "."
        if len(draws)
        else "BSVDD-M was not fitted."
    )
    return [*found, Finding(r_hat, table)]


def _worth(table: pd.DataFrame) -> str:
    """Return the sentence on what labels are worth."""
    parts = []
    for rows, values in table.iterrows():
        with_labels = values.drop(WITHOUT_LABELS)
        many = "up to a tenth of the normal rows" if rows == "all" else f"{rows} rows"
        parts.append(f"{with_labels.max():.3f} from {many} ({with_labels.idxmax()})")
    return (
        "The AUC for the labelled kind with labels, by the best model, is "
        f"{listed(parts)}; without labels {WITHOUT_LABELS} has "
        f"{table[WITHOUT_LABELS].iloc[-1]:.3f} for the same kinds."
    )


def _generated(table: pd.DataFrame) -> str:
    """Return the sentence on the generated settings."""
    best = [
        f"{values.max():.3f} for {name} ({values.idxmax()})" for name, values in table.iterrows()
    ]
    return f"In generated data the largest AUC of all abnormal rows is {'; '.join(best)}."


def text(results: pd.DataFrame) -> str:
    """Return the tables and the sentences as text."""
    table = summary(results).rename(columns=SUMMARY)
    parts = [finding.sentence for finding in findings(results)]
    for title, extra in (
        ("AUC for the labelled kind by its labelled rows:", by_labelled_rows(results)),
        ("AUC in generated data:", generated(results)),
    ):
        if not extra.empty:
            parts += [title, extra.to_string(float_format="%.3f")]
    return "\n\n".join(["Means over data sets:", table.T.to_string(float_format="%.3f"), *parts])


def save(folder: Path, results: pd.DataFrame) -> None:
    """Write the summary and the sentences to ``folder``."""
    content = summary(results).to_csv().encode()
    pages.save(folder / "kinds_summary.csv", content)
    pages.save(folder / "kinds_findings.txt", (text(results) + "\n").encode())
