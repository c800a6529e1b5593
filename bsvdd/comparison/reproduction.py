"""The published table of the slides (Kim 2024) beside ours, and what both show."""

from __future__ import annotations

from importlib.resources import as_file

import numpy as np
import pandas as pd

from ..inference.metrics import rates
from .datasets import DATA
from .slides import Slides
from .table import METRIC_TITLES, mean_sd

_METRICS = ["accuracy", "f1", "fpr", "fnr", "ppv", "g_mean"]
COMPARED = {name: METRIC_TITLES[name] for name in _METRICS}
AS_FLAGGING_ALL = 0.02  # difference in F1


def published() -> pd.DataFrame:
    """Return means and standard deviations ("..._sd") as printed, rows (model, v).

    Returns
    -------
    pandas.DataFrame
    """
    with as_file(DATA / "slides.csv") as path:
        return pd.read_csv(path, index_col=["model", "v"])


def implied_share(printed: pd.DataFrame) -> pd.Series:
    r"""Return the share of positive test rows that each row of the table implies.

    .. math:: \mathrm{Accuracy} = p (1 - \mathrm{FNR}) + (1 - p)(1 - \mathrm{FPR})
        \quad\Rightarrow\quad
        p = \frac{\mathrm{Accuracy} - 1 + \mathrm{FPR}}{\mathrm{FPR} - \mathrm{FNR}}

    Parameters
    ----------
    printed : pandas.DataFrame
        As :func:`published`.

    Returns
    -------
    pandas.Series
    """
    p = (printed["accuracy"] - 1 + printed["fpr"]) / (printed["fpr"] - printed["fnr"])
    return p.rename("implied share")


def other_class_positive(printed: pd.DataFrame) -> pd.Series:
    """Return which models have the opposite class as positive.

    The implied share of such a model, averaged over v, is above one half if the share
    of most models is below, or the reverse.

    Parameters
    ----------
    printed : pandas.DataFrame
        As :func:`published`.

    Returns
    -------
    pandas.Series of bool
        By model.
    """
    above = implied_share(printed).groupby("model", sort=False).mean() > 0.5
    return above != (above.mean() > 0.5)


def recast(printed: pd.DataFrame) -> pd.DataFrame:
    """Return the table with the minority as the positive class in every row.

    If a row calls the other class positive, its FPR and FNR are exchanged, and F1 and
    PPV of the minority are computed from them and the implied share. Accuracy and
    G-mean stay.

    Parameters
    ----------
    printed : pandas.DataFrame
        As :func:`published`.

    Returns
    -------
    pandas.DataFrame
    """
    out = printed[_METRICS].copy()
    opposite = other_class_positive(printed)
    rows = [key for key in out.index if opposite[key[0]]]
    p = 1 - implied_share(printed).loc[rows]
    fpr = printed.loc[rows, "fnr"]
    fnr = printed.loc[rows, "fpr"]
    metrics = rates(p * (1 - fnr), (1 - p) * fpr, p * fnr, (1 - p) * (1 - fpr))
    for name in ("f1", "fpr", "fnr", "ppv"):
        out.loc[rows, name] = metrics[name]
    return out


def distance(printed: pd.DataFrame, ours: pd.DataFrame) -> pd.Series:
    """Return the mean absolute difference of each model over the metrics and v.

    A missing metric, as the PPV if no row is flagged, does not enter the mean.

    Parameters
    ----------
    printed, ours : pandas.DataFrame
        Rows (model, v).

    Returns
    -------
    pandas.Series
        By model.
    """
    both = printed.index.intersection(ours.index)
    difference = np.abs(printed.loc[both, _METRICS] - ours.loc[both, _METRICS])
    return difference.stack().groupby("model", sort=False).mean().rename("distance")


def flag_all_f1[Share: (float, pd.Series)](share: Share) -> Share:
    """Return 2p/(1 + p), the F1 of flagging every row.

    Parameters
    ----------
    share : float or pandas.Series
        p, the share of positive rows.

    Returns
    -------
    float or pandas.Series
    """
    return 2 * share / (1 + share)


def by_v(results: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the mean and the sd of all metrics, rows (model, v).

    Parameters
    ----------
    results : pandas.DataFrame
        Of the study of the slides.

    Returns
    -------
    tuple of two pandas.DataFrame
    """
    v = {Slides(v=v).name: v for v in (5.0, 10.0, 20.0)}
    rows = results.assign(v=results["data"].str.split(",").str[0].map(v))
    rows = rows.reindex(columns=["model", "v", *_METRICS, "auc", "base_rate"])
    groups = rows.groupby(["model", "v"], sort=False)
    return groups.mean(), groups.std()


def beside(ours: pd.DataFrame, sd: pd.DataFrame) -> pd.DataFrame:
    """Return both tables as texts, rows (model, v, source).

    Parameters
    ----------
    ours, sd : pandas.DataFrame
        The results of :func:`by_v`.

    Returns
    -------
    pandas.DataFrame
    """
    printed = published()
    sd_of_printed = printed[[f"{name}_sd" for name in _METRICS]]
    sources = {
        "slides": (printed, sd_of_printed.set_axis(_METRICS, axis=1)),
        "slides, recast": (recast(printed), printed[_METRICS] * np.nan),
        "ours": (ours, sd),
    }
    opposite = other_class_positive(printed)
    rows = {
        (*key, source): list(
            map(mean_sd, mean.loc[key, _METRICS], spread.loc[key, _METRICS])
        )
        for key in printed.index.intersection(ours.index)
        for source, (mean, spread) in sources.items()
        if source != "slides, recast" or opposite[key[0]]
    }
    index = pd.MultiIndex.from_tuples(rows, names=["model", "v", "source"])
    return pd.DataFrame(list(rows.values()), index, list(COMPARED.values()))


def verdicts(ours: pd.DataFrame) -> pd.DataFrame:
    """Return how far each model is from the printed table, and from flagging all rows.

    Parameters
    ----------
    ours : pandas.DataFrame
        The mean of :func:`by_v`.

    Returns
    -------
    pandas.DataFrame
        Rows (model, source): the ``distance`` of our row from the printed row with the
        minority as positive, the share of positive rows and F1 at each v, and the
        ``verdict``.
    """
    printed = published()
    turned = recast(printed)
    opposite = other_class_positive(printed)
    shares = {"slides": implied_share(printed), "ours": ours["base_rate"]}
    far = distance(turned, ours)
    rows = {}
    for m in far.index:
        for source, table in (("slides", turned), ("ours", ours)):
            other = source == "slides" and opposite[m]
            p = shares[source].loc[m]
            f1 = table.loc[m, "f1"]
            more = (f1 - flag_all_f1(1 - p if other else p)).abs().max()
            rows[m, source] = {
                "distance": far[m] if source == "ours" else np.nan,
                "share of positive rows": _listed(p),
                "F1": _listed(f1),
                "verdict": f"{'as' if more < AS_FLAGGING_ALL else 'other than'} "
                f"flagging all{'; calls the other class positive' if other else ''}",
            }
    index = pd.MultiIndex.from_tuples(rows, names=["model", "source"])
    return pd.DataFrame(list(rows.values()), index)


def both_tables(results: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the printed table beside ours, and what they show, by title.

    Parameters
    ----------
    results : pandas.DataFrame
        Of the study of the slides.

    Returns
    -------
    dict of str: pandas.DataFrame
    """
    ours, sd = by_v(results)
    return {
        "Both tables: mean (sd) over pairs of data sets": beside(ours, sd),
        "Ours is the reading nearest to the printed row, a choice in hindsight.\n"
        "distance: mean absolute difference over six metrics and all v, minority "
        "positive.\n"
        "Three numbers are those of v = 5, 10, 20.": verdicts(ours),
    }


def _listed(values: pd.Series) -> str:
    return ", ".join(f"{value:.3f}" for value in values)
