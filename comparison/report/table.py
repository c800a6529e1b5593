"""Tables of results: mean (sd) over replicates of each metric, for models and trivial rules."""

from __future__ import annotations

import numpy as np
import pandas as pd

from ..run.cell import TRIVIAL

METRICS = {
    "accuracy": "Accuracy",
    "f1": "F1",
    "fpr": "FPR",
    "fnr": "FNR",
    "ppv": "PPV",
    "g_mean": "G-mean",
    "auc": "AUC",
}
PROBABILITY = {
    "average_precision": "AP",
    "brier": "Brier",
    "calibration_error": "ECE",
}
COST = {
    "fit_seconds": "fit, s",
    "score_seconds": "score, s",
    "effective_support": "support",
    "r_hat": "R-hat",
}
ALL = METRICS | PROBABILITY | COST
LEGEND = (
    "Positive = minority (abnormal). Mean (sd) over replicates. AP: average precision; ECE: "
    "expected calibration error of P(abnormal), 10 bins; support: effective number of support "
    "points; base rate: share of minority rows in the test sets; fits: fits that succeeded, of all."
)


def summary(results: pd.DataFrame, metrics: dict[str, str] = METRICS) -> pd.DataFrame:
    """Return mean (sd) of each metric, rows (data, model), in the order of ``results``.

    The sd is over the replicates. Replicates of a real data set share rows, so it is not a
    standard error. A metric without a value in any replicate (PPV if nothing is flagged) is shown
    as a dash.

    Parameters
    ----------
    results : pandas.DataFrame
    metrics : dict
        Columns of ``results`` and their titles.
    """
    mean, sd = moments(results, metrics)
    table = pd.DataFrame(index=mean.index)
    for metric, title in metrics.items():
        table[title] = [mean_sd(m, s) for m, s in zip(mean[metric], sd[metric], strict=True)]
    return table


def moments(results: pd.DataFrame, metrics: dict[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean and sd (n - 1) of each metric, rows (data, model) in the order of ``results``."""
    columns = list(metrics)
    groups = results.reindex(columns=["data", "model", *columns]).groupby(
        ["data", "model"], sort=False
    )[columns]
    mean, sd = groups.mean(), groups.std(ddof=1)
    keys = [key for name in pd.unique(results["data"]) for key in mean.index if key[0] == name]
    return mean.loc[keys], sd.loc[keys]


def base_rates(results: pd.DataFrame) -> pd.Series:
    """Return the mean share of minority rows in the test sets of each scenario."""
    return results.groupby("data", sort=False)["base_rate"].mean()


def success_counts(results: pd.DataFrame) -> pd.Series:
    """Return "8 of 10", the number of successful fits and of all, for each (data, model)."""
    groups = results.assign(good=results["error"] == "").groupby(["data", "model"], sort=False)
    return groups["good"].agg(lambda good: f"{int(good.sum())} of {len(good)}")


def full(results: pd.DataFrame) -> pd.DataFrame:
    """Return the full table as text: base rate, each metric, and how many fits succeeded."""
    table = summary(results, ALL)
    rates = base_rates(results)
    table.insert(0, "base rate", [f"{rates[data]:.3f}" for data, _ in table.index])
    table["fits"] = success_counts(results).reindex(table.index)
    return table.rename_axis(index=["setting", "model"])


def formats(results: pd.DataFrame) -> dict[str, str]:
    """Return the full table in the formats "txt", "csv", "tex" and "html".

    The CSV has a column of numbers for each mean and each sd; the others have mean (sd).
    """
    table = full(results)
    mean, sd = moments(results, ALL)
    numbers = pd.DataFrame({"base_rate": [base_rates(results)[d] for d, _ in mean.index]})
    numbers.index = mean.index.rename(["setting", "model"])
    for metric in ALL:
        numbers[f"{metric}_mean"], numbers[f"{metric}_sd"] = mean[metric], sd[metric]
    numbers["fits"] = table["fits"]
    return {
        "txt": f"{LEGEND}\n\n{table.to_string()}\n",
        "csv": numbers.to_csv(),
        "tex": table.to_latex(escape=True, longtable=True, caption=LEGEND),
        "html": as_html(table),
    }


def html(results: pd.DataFrame) -> str:
    """Return the full table as HTML."""
    return as_html(full(results))


def as_html(table: pd.DataFrame) -> str:
    """Return a table as HTML."""
    return str(table.to_html(border=0, classes="table", float_format="{:.3f}".format, na_rep="-"))


def model_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models, without those of the trivial rules."""
    return results[~results["model"].isin(TRIVIAL)]


def listed(items: list[str]) -> str:
    """Return the items as an enumeration: "a, b and c"."""
    return items[0] if len(items) == 1 else ", ".join(items[:-1]) + " and " + items[-1]


def mean_sd(mean: float, sd: float) -> str:
    """Return "mean (sd)"; a dash without a mean, and no brackets without a sd."""
    if np.isnan(mean):
        return "-"
    return f"{mean:.3f}" if np.isnan(sd) else f"{mean:.3f} ({sd:.3f})"
