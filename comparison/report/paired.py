"""Paired comparison of models: by ranks over scenarios, by differences over replicates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, t

ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class Ranking:
    """Models ranked over scenarios (Demsar 2006).

    Attributes
    ----------
    values : pandas.DataFrame
        Mean over replicates, scenarios x models, without gaps.
    ranks : pandas.Series
        Mean rank of each model, ascending; 1 is best.
    pvalue : float
        Of Friedman's test that all models have the same mean rank; NaN if all values are tied.
    agreement : float
        Kendall's W, the effect size of Friedman's test: 0 if ranks are random, 1 if all scenarios
        rank the models alike.
    nemenyi : pandas.DataFrame
        p-values of Nemenyi's test for all pairs of models, adjusted for the number of pairs.
    incomplete : list of str
        Models without a result in some scenario, which are not ranked.
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
        """The model with the smallest mean rank."""
        return str(self.ranks.index[0])

    def indistinguishable(self, model: str) -> list[str]:
        """Return the models that do not differ significantly from ``model`` (Nemenyi's test)."""
        p = self.nemenyi.loc[model]
        return [m for m in self.ranks.index if m != model and not p[m] < ALPHA]

    def effects(self) -> pd.DataFrame:
        """Return each model's rank, median value, and paired difference to the best model."""
        gap = self.values.sub(self.values[self.best], axis=0)
        better = gap > 0 if self.larger else gap < 0
        return pd.DataFrame(
            {
                "mean rank": self.ranks,
                "median": self.values.median(),
                "median difference to the best": gap.median(),
                "settings where it is better than the best": better.sum(),
                "p (Nemenyi)": self.nemenyi[self.best],
            }
        ).loc[self.ranks.index]


def scenario_means(results: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Return the mean over replicates, scenarios x models; NaN where a model has no result."""
    values = results.pivot_table(metric, "data", "model", "mean", sort=False, dropna=False)
    return values.astype(float)


def rank(results: pd.DataFrame, metric: str, larger: bool = True) -> Ranking:
    """Rank the models of ``results`` by ``metric`` over the scenarios.

    Parameters
    ----------
    results : pandas.DataFrame
        One row for each cell, without the trivial rules.
    metric : str
    larger : bool
        Whether larger is better.
    """
    from scikit_posthocs import posthoc_nemenyi_friedman

    values = scenario_means(results, metric)
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
    agreement = float(test.statistic / (n * (k - 1)))
    return Ranking(values, ranks, float(test.pvalue), agreement, nemenyi, incomplete, larger)


@dataclass(frozen=True)
class Lead:
    """The best model of a situation, and the differences of the others to it.

    Attributes
    ----------
    best : str
    mean : float
        Of its metric, over blocks.
    blocks : int
        Number of replicates of one scenario, or of scenarios.
    others : pandas.DataFrame
        For each other model: mean difference to the best, its 95 % interval by the paired t-test,
        and whether it is significantly worse, that is the interval lies below zero. The interval
        of a single block is NaN.
    """

    best: str
    mean: float
    blocks: int
    others: pd.DataFrame

    @property
    def indistinguishable(self) -> list[str]:
        """Models that are not significantly worse than the best."""
        return [str(m) for m in self.others.index[~self.others["significant"]]]


def lead(blocks: pd.DataFrame, test_ratio: float = 0.0) -> Lead:
    """Return the best model of ``blocks`` (blocks x models, larger is better).

    Models without a value in some block are left out.

    Parameters
    ----------
    blocks : pandas.DataFrame
        Replicates or scenarios x models.
    test_ratio : float, default=0
        For blocks that are random splits of one data set, which share rows: the number of rows that
        test for each row that trains, 1 for halves. 0 is for independent blocks.

    Notes
    -----
    The interval is that of the paired t-test on J blocks, with the variance of the mean corrected
    for splits that share rows (Nadeau and Bengio 2003),

    .. math:: (1/J + n_{test}/n_{train}) s^2

    References
    ----------
    Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine Learning 52,
    239-281. doi:10.1023/A:1024068626366
    """
    complete = blocks.dropna(axis=1)
    if not complete.shape[1]:
        raise ValueError("no model has a value in every block")
    means = complete.mean().sort_values(ascending=False, kind="stable")
    best = str(means.index[0])
    gap = complete[means.index[1:].tolist()].sub(complete[best], axis=0)
    n = len(gap)
    half = t.ppf(1.0 - ALPHA / 2.0, n - 1) * gap.std(ddof=1) * np.sqrt(1.0 / n + test_ratio)
    low, high = gap.mean() - half, gap.mean() + half
    others = {"difference": gap.mean(), "low": low, "high": high, "significant": high < 0}
    return Lead(best, float(means.iloc[0]), n, pd.DataFrame(others).rename_axis(None))
