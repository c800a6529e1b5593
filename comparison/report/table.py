"""Tables of results, and what pages share: heat maps, one HTML file with figures.

A table has the mean (sd) over replicates of each metric, for models and trivial rules.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ...estimators.atomic import write as save
from ...estimators.report.report import image, png, render
from ..run.cell import TRIVIAL

Figures = dict[str, tuple[Figure, str]]  # name: (figure, caption)

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
    cells = {title: list(map(mean_sd, mean[m], sd[m])) for m, title in metrics.items()}
    return pd.DataFrame(cells, index=mean.index)


def moments(results: pd.DataFrame, metrics: dict[str, str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return mean and sd (n - 1) of each metric, rows (data, model) in the order of ``results``."""
    place = pd.factorize(results["data"])[0].argsort(kind="stable")
    rows = results.reindex(columns=["data", "model", *metrics]).iloc[place]
    groups = rows.groupby(["data", "model"], sort=False)[list(metrics)]
    return groups.mean(), groups.std(ddof=1)


def full(results: pd.DataFrame) -> pd.DataFrame:
    """Return the full table as text: base rate, each metric, and how many fits succeeded."""
    table = summary(results, ALL)
    table.insert(0, "base rate", [f"{rate:.3f}" for rate in _base_rates(results, table)])
    good = results["error"].eq("").groupby([results["data"], results["model"]])
    table["fits"] = good.agg(lambda fits: f"{fits.sum()} of {len(fits)}").reindex(table.index)
    return table.rename_axis(index=["setting", "model"])


def _base_rates(results: pd.DataFrame, table: pd.DataFrame) -> pd.Series:
    """Return the mean share of minority rows in the test sets, for each row (data, model)."""
    rates = results.groupby("data")["base_rate"].mean()
    return rates[table.index.get_level_values(0)]


def formats(results: pd.DataFrame) -> dict[str, str]:
    """Return the full table in the formats "txt" and "csv".

    The CSV has a column of numbers for each mean and each sd; the text has mean (sd).
    """
    table = full(results)
    mean, sd = (each.set_axis(table.index) for each in moments(results, ALL))
    numbers = mean.add_suffix("_mean").join(sd.add_suffix("_sd"))
    numbers = numbers[[f"{metric}_{each}" for metric in ALL for each in ("mean", "sd")]]
    numbers.insert(0, "base_rate", _base_rates(results, table).to_numpy())
    return {
        "txt": f"{LEGEND}\n\n{table.to_string()}\n",
        "csv": numbers.assign(fits=table["fits"]).to_csv(),
    }


def model_rows(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of models, without those of the trivial rules."""
    return results[~results["model"].isin(TRIVIAL)]


def mean_sd(mean: float, sd: float) -> str:
    """Return "mean (sd)"; a dash without a mean, and no brackets without a sd."""
    return number(mean) if np.isnan(mean) or np.isnan(sd) else f"{mean:.3f} ({sd:.3f})"


def number(value: float, digits: int = 3) -> str:
    """Return a number as a table has it; a dash for NaN."""
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


# pages


def write_page(folder: Path, page: str, template: str, figures: Figures, **values: Any) -> Path:
    """Write a page, then its figures as PNG into ``folder``; return the page's path.

    Parameters
    ----------
    folder : path
    page : str
        Name of the file.
    template : str
        Name of the template in this package.
    figures : dict
        Figures and captions by name; the template shows them with the macro ``figure``.
    values
        Values of the template's variables; ``number`` is there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = {name: png(figure) for name, (figure, _) in figures.items()}
    images = {name: image(name, files[name], caption) for name, (_, caption) in figures.items()}
    save(folder / page, render(template, __package__, figures=images, number=number, **values))
    for name, content in files.items():
        save(folder / f"{name}.png", content)
    return folder / page


def heat_map(
    values: pd.DataFrame, size: tuple[float, float], said: Callable[[float], str], **style: Any
) -> tuple[Figure, Axes]:
    """Return a figure of a table in colours, with its values in words; NaN is grey."""
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    color = plt.get_cmap(style.pop("cmap")).with_extremes(bad="#cccccc")
    image = ax.imshow(np.ma.masked_invalid(values), cmap=color, aspect="auto", **style)
    for (i, j), value in np.ndenumerate(values.to_numpy()):
        dark = np.mean(image.to_rgba(value)[:3]) < 0.5
        shade = "white" if dark else "black"
        ax.text(j, i, said(value), ha="center", va="center", fontsize=8, color=shade)
    names: dict[str, Any] = {"fontsize": 8, "parse_math": False}
    ax.set_xticks(range(values.shape[1]), values.columns, rotation=45, ha="right", **names)
    ax.set_yticks(range(len(values)), values.index, **names)
    return figure, ax
