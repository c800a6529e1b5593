"""Tables of results: means, paired differences with intervals, mean ranks.

**References**

Demsar, J. (2006). Statistical comparisons of classifiers over multiple data sets.
Journal of Machine Learning Research 7, 1-30.

Nadeau, C. and Bengio, Y. (2003). Inference for the generalization error. Machine
Learning 52, 239-281. doi:10.1023/A:1024068626366
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, studentized_range, t

ALPHA = 0.05
METRIC_TITLES = {
    "accuracy": "Accuracy",
    "f1": "F1",
    "fpr": "FPR",
    "fnr": "FNR",
    "ppv": "PPV",
    "g_mean": "G-mean",
    "balanced_accuracy": "balanced accuracy",
    "auc": "AUC",
    "average_precision": "AP",
    "brier": "Brier",
    "found": "found",
    "fit_seconds": "fit, s",
}
LEGEND = (
    "Positive = minority (abnormal). FPR: majority flagged. found: minority flagged (1 "
    "- FNR). PPV: minority among flagged. G-mean: root of (1 - FPR) found. AP: average "
    "precision."
)


def means(
    results: pd.DataFrame, metrics: Collection[str] = tuple(METRIC_TITLES)
) -> pd.DataFrame:
    """Return the mean of each metric over replicates, rows (data, model).

    Parameters
    ----------
    results : pandas.DataFrame
    metrics : list of str
        Default: all.

    Returns
    -------
    pandas.DataFrame
    """
    rows = results.reindex(columns=["data", "model", *metrics])
    return rows.groupby(["data", "model"], sort=False).mean()


def values_of(results: pd.DataFrame, metric: str, block: str = "data") -> pd.DataFrame:
    """Return the mean of a metric, blocks x models; NaN where a model has no result.

    Parameters
    ----------
    results : pandas.DataFrame
    metric : str
    block : {"data", "replicate"}
        A scenario, or a replicate of one scenario.

    Returns
    -------
    pandas.DataFrame
    """
    # where all failed, no metric is there
    rows = results.reindex(columns=[block, "model", metric])
    found = rows.pivot_table(metric, block, "model", "mean", sort=False, dropna=False)
    return found.astype(float)


def number(value: float, digits: int = 3) -> str:
    """Return a number as text, and a dash for NaN.

    Parameters
    ----------
    value : float
    digits : int, default=3
        Digits after the point.

    Returns
    -------
    str
    """
    return "-" if np.isnan(value) else f"{value:.{digits}f}"


def mean_sd(mean: float, sd: float) -> str:
    """Return "mean (sd)", a dash without a mean, and no brackets without an sd.

    Parameters
    ----------
    mean, sd : float

    Returns
    -------
    str
    """
    return number(mean) if np.isnan(mean) or np.isnan(sd) else f"{mean:.3f} ({sd:.3f})"


def lead(blocks: pd.DataFrame, test_ratio: float = 0.0) -> pd.DataFrame:
    r"""Return the models by their means, the best first, with differences to the best.

    The interval of a difference is the interval of the paired t-test on J blocks.
    Random splits of one data set share rows; for them the variance of the mean is
    corrected (Nadeau and Bengio 2003),

    .. math:: (1/J + n_{test}/n_{train})\, s^2

    Parameters
    ----------
    blocks : pandas.DataFrame
        Replicates or scenarios x models, larger is better. A model without a value in
        some block is left out.
    test_ratio : float, default=0
        Rows that test for each row that trains, 1 for halves; 0 is for independent
        blocks.

    Returns
    -------
    pandas.DataFrame
        For each model ``mean``, ``difference`` to the best with its 95 % interval
        ``low``, ``high`` (NaN for a single block), and ``worse``, whether the interval
        lies below 0.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd.comparison import table
    >>> blocks = pd.DataFrame({"A": [0.8, 0.9, 0.8], "B": [0.5, 0.6, 0.6]})
    >>> table.lead(blocks)["worse"].to_dict()
    {'A': False, 'B': True}
    """
    complete = blocks.dropna(axis=1)
    mean = complete.mean().sort_values(ascending=False, kind="stable")
    best = complete[mean.index[:1]].sum(axis=1)  # of no model: 0
    difference = complete[mean.index].sub(best, axis=0)
    n = len(complete)
    half = (
        t.ppf(1.0 - ALPHA / 2.0, n - 1)
        * difference.std(ddof=1)
        * np.sqrt(1.0 / max(n, 1) + test_ratio)
    )
    columns = {
        "mean": mean,
        "difference": difference.mean(),
        "low": difference.mean() - half,
        "high": difference.mean() + half,
    }
    found = pd.DataFrame(columns).loc[mean.index].rename_axis(None)
    return found.assign(worse=found["high"] < 0)


def mean_ranks(values: pd.DataFrame) -> pd.DataFrame:
    r"""Return the mean rank of each model over scenarios, and its p against the first.

    Nemenyi's test (Demsar 2006) of k models on n scenarios: the difference of two mean
    ranks, in units of :math:`\sqrt{k (k + 1) / (12 n)}`, has the distribution of the
    studentized range.

    Parameters
    ----------
    values : pandas.DataFrame
        Scenarios x models, larger is better. A model without a value in some scenario
        is left out.

    Returns
    -------
    pandas.DataFrame
        For each model ``mean rank`` (1 is best), ``mean``, ``p`` against the first,
        adjusted for all pairs, and ``worse``, whether p < .05.

    Raises
    ------
    ValueError
        There are fewer than 2 scenarios, or fewer than 3 models with a value in each.

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd.comparison import table
    >>> values = pd.DataFrame({"A": [0.8, 0.9], "B": [0.5, 0.6], "C": [0.7, 0.5]})
    >>> table.mean_ranks(values)["mean rank"].to_dict()
    {'A': 1.0, 'B': 2.5, 'C': 2.5}
    """
    complete = _complete(values)
    n, k = complete.shape
    rank = complete.rank(axis=1, ascending=False).mean().sort_values(kind="stable")
    difference = (rank - rank.iloc[0]) / np.sqrt(k * (k + 1) / (12.0 * n))
    p = pd.Series(studentized_range.sf(difference, k, np.inf), rank.index)
    columns = {"mean rank": rank, "mean": complete.mean(), "p": p, "worse": p < ALPHA}
    return pd.DataFrame(columns).loc[rank.index].rename_axis(None)


def friedman(values: pd.DataFrame) -> float:
    """Return the p-value of Friedman's test that all models have one mean rank.

    Parameters
    ----------
    values : pandas.DataFrame
        Scenarios x models. A model without a value in some scenario is left out.

    Returns
    -------
    float
        NaN if all models tie.

    Raises
    ------
    ValueError
        There are fewer than 2 scenarios, or fewer than 3 models with a value in each.
    """
    complete = _complete(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(friedmanchisquare(*(complete[m] for m in complete)).pvalue)


def _complete(values: pd.DataFrame) -> pd.DataFrame:
    complete = values.dropna(axis=1)
    n, k = complete.shape
    if n < 2 or k < 3:
        raise ValueError(
            "mean ranks need at least 2 data sets and 3 models with a result in each, "
            f"got {n} and {k}"
        )
    return complete


def not_told_apart(found: pd.DataFrame) -> list[str]:
    """Return the models that are not worse than the first.

    Parameters
    ----------
    found : pandas.DataFrame
        The result of :func:`lead` or :func:`mean_ranks`.

    Returns
    -------
    list of str
        Without the first.
    """
    return [str(m) for m in found.index[1:][~found["worse"].iloc[1:]]]


def situations(
    results: pd.DataFrame,
    scenarios: Mapping[tuple[str, str], Collection[str]],
    metric: str,
) -> pd.DataFrame:
    """Return the best model in each situation, and the models not told apart from it.

    Blocks are the replicates if a situation has one scenario, else the means of its
    scenarios.

    Parameters
    ----------
    results : pandas.DataFrame
    scenarios : dict
        Names of scenarios by (factor, value).
    metric : str

    Returns
    -------
    pandas.DataFrame
        Rows (factor, level): ``best``, its mean, ``not told apart``; fewer than 3
        blocks tell nothing apart.
    """
    rows = {}
    for situation, names in scenarios.items():
        mine = results[results["data"].isin(names)]
        blocks = values_of(mine, metric, "replicate" if len(names) == 1 else "data")
        if not blocks.dropna(axis=1).size:
            continue
        found = lead(blocks)
        same = not_told_apart(found) if len(blocks) > 2 else ["too few to test"]
        rows[situation] = {
            "best": found.index[0],
            METRIC_TITLES[metric]: found["mean"].iloc[0],
            "not told apart": ", ".join(same),
        }
    index = pd.MultiIndex.from_tuples(rows, names=["factor", "level"])
    return pd.DataFrame(list(rows.values()), index)
