"""Paired comparison of models: over settings by ranks, within a setting over replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, ttest_rel

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Ranking:
    """Models ranked over settings (Demsar 2006).

    Attributes
    ----------
    values : pandas.DataFrame
        Settings x models, the mean over replicates; complete.
    ranks : pandas.Series
        Mean rank of each model, 1 at best, ascending.
    pvalue : float
        Of Friedman's test that all models rank alike; NaN below 3 models or 2 settings.
    agreement : float
        Kendall's W, from 0 (settings rank at random) to 1 (all rank alike); the effect size of
        Friedman's test.
    nemenyi : pandas.DataFrame
        p-values of all pairs by Nemenyi's test, adjusted for their number.
    incomplete : list of str
        Models without a result in some setting, which are not ranked.
    larger : bool
        Whether larger values are better.
    """

    values: pd.DataFrame
    ranks: pd.Series
    pvalue: float
    agreement: float
    nemenyi: pd.DataFrame
    incomplete: list[str]
    larger: bool

    @property
    def best(self) -> str:
        """The model of the smallest mean rank."""
        return str(self.ranks.index[0])

    def equals(self, model: str) -> list[str]:
        """Return the other models that Nemenyi's test does not tell apart from ``model``."""
        p = self.nemenyi.loc[model]
        return [m for m in self.ranks.index if m != model and not p[m] < ALPHA]

    def effects(self) -> pd.DataFrame:
        """Return each model's rank, median value, and paired difference to the best model."""
        gap = self.values.sub(self.values[self.best], axis=0)
        ahead = gap > 0 if self.larger else gap < 0
        return pd.DataFrame(
            {
                "mean rank": self.ranks,
                "median": self.values.median(),
                "median difference to the best": gap.median(),
                "settings where it is ahead of the best": ahead.sum(),
                "p (Nemenyi)": self.nemenyi[self.best],
            }
        ).loc[self.ranks.index]


def by_setting(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return settings x models, the mean over replicates; NaN where a model has no result."""
    values = results.pivot_table(metric, "data", "model", "mean", sort=False, dropna=False)
    return values.astype(float)


def rank(results: pd.DataFrame, metric: str, larger: bool = True) -> Ranking:
    """Rank the models of ``results`` by ``metric`` over the settings.

    Parameters
    ----------
    results : pandas.DataFrame
        One row a cell, without the trivial rules.
    metric : str
    larger : bool
        Whether larger is better.
    """
    from scikit_posthocs import posthoc_nemenyi_friedman

    values = by_setting(results, metric)
    incomplete = [str(m) for m in values.columns if values[m].isna().any()]
    values = values.drop(columns=incomplete)
    ranks = values.rank(axis=1, ascending=not larger).mean().sort_values(kind="stable")
    n, k = values.shape
    if k < 3 or n < 2:
        raise ValueError(
            f"ranking by {metric} needs at least 3 models with a result in each of at least 2 "
            f"settings, got {k} models and {n} settings"
            + (f"; without a result somewhere: {', '.join(incomplete)}" if incomplete else "")
        )
    with np.errstate(invalid="ignore", divide="ignore"):  # all tied: NaN
        test = friedmanchisquare(*(values[m] for m in values.columns))
    nemenyi = posthoc_nemenyi_friedman(values.reset_index(drop=True))
    return Ranking(
        values,
        ranks,
        float(test.pvalue),
        float(test.statistic / (n * (k - 1))),
        nemenyi,
        incomplete,
        larger,
    )


@dataclass(frozen=True)
class Lead:
    """The best model of a situation, and how far the others are behind.

    Attributes
    ----------
    best : str
    mean, sd : float
        Of the metric, over blocks.
    blocks : int
        Replicates of one setting, or several settings.
    behind : pandas.DataFrame
        For each other model: mean difference to the best, its 95 % interval (paired t), and
        whether that excludes zero. NaN for one block.
    """

    best: str
    mean: float
    sd: float
    blocks: int
    behind: pd.DataFrame

    @property
    def equals(self) -> list[str]:
        """Models that are not told apart from the best."""
        return [str(m) for m in self.behind.index[~self.behind["apart"]]]


def lead(blocks: pd.DataFrame) -> Lead:
    """Return the best column of ``blocks`` (blocks x models, larger is better).

    Models without a value in some block are left out.
    """
    whole = blocks.dropna(axis=1)
    if not whole.shape[1]:
        raise ValueError("no model has a value in every block")
    means = whole.mean().sort_values(ascending=False, kind="stable")
    best = str(means.index[0])
    rows = {}
    for m in means.index[1:]:
        gap = whole[m] - whole[best]
        low, high = _interval(gap)
        rows[m] = {"difference": gap.mean(), "low": low, "high": high, "apart": bool(high < 0)}
    columns = ["difference", "low", "high", "apart"]
    behind = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    behind["apart"] = behind["apart"].astype(bool)
    return Lead(best, float(means.iloc[0]), float(whole[best].std()), len(whole), behind)


def _interval(gap: pd.Series) -> tuple[float, float]:
    """Return the 95 % interval of a mean of paired differences."""
    if len(gap) < 2:
        return np.nan, np.nan
    if np.ptp(gap) == 0:
        return float(gap.iloc[0]), float(gap.iloc[0])
    found = ttest_rel(gap, np.zeros(len(gap))).confidence_interval(1 - ALPHA)
    return float(found.low), float(found.high)
