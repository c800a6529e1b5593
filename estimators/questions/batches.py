r"""What p-values say of a batch: discoveries, and bounds that hold for all thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import betabinom, false_discovery_control

from ...inference.warning import DataWarning, warn
from .. import inputs
from . import p_values

ROUNDING = 1e-9  # relative; p-values and rates are often equal but for rounding
SPLITS = 10  # over which e-values are averaged
FEW = 40  # thresholds of the envelope: the first ranks, and as many at equal ratios
SAMPLES = 9_999  # of the urn


def select(
    est: Any, X: Any, fdr: float, method: str, given: Any = None, tail: str = "rank"
) -> np.ndarray:
    """Return the rows of a batch to call abnormal, a mask; see ``est.select``."""
    check_rate("fdr", fdr)
    if method != "e-values":
        p = np.asarray(est.p_value(X, method, given, tail))  # of dask: computed
        found = discoveries(p, fdr)
        if tail == "rank" and len(p) and not found.any():
            _warn_of_ranks(p, fdr, int((~est.fit_.data.minority).sum()))
        return found
    if tail != "rank":
        raise ValueError(f"method='e-values' needs tail='rank', got {tail!r}")
    columns, e = p_values.positions(est, given), []
    for seed in range(est.fit_.data.seed, est.fit_.data.seed + SPLITS):
        split = p_values.split(est, seed, columns)
        scores = np.asarray(inputs.by_row(est, X, split.scores))
        # half the rate for each split, so that their mean can reach the whole (Bashari et al.)
        e.append(e_values(scores, split.left_out, fdr / 2.0))
    return discoveries_by_e_values(np.mean(e, axis=0), fdr)


def _warn_of_ranks(p: np.ndarray, fdr: float, n: int) -> None:
    """Warn if rows have the smallest possible p-value of n left-out rows, and are too few."""
    smallest, lowest = p.min(), int((p == p.min()).sum())
    needed = int(np.ceil(smallest * len(p) / fdr))
    if smallest * (n + 1) <= 2.0:  # 2: a split has half of the rows
        warn(
            f"no row is selected, though {lowest} of {len(p)} have the smallest possible p-value, "
            f"{smallest:.3g}: {needed} would have to at fdr={fdr:g}; "
            "fit more rows, use tail='pareto', or look at the surprise in est.decision(X)",
            DataWarning,
        )


def bounds(est: Any, X: Any, confidence: float, method: str, given: Any = None) -> pd.DataFrame:
    """Return the bounds of a batch; see ``est.false_discoveries``."""
    fold = p_values.one_fold(est, method, given)
    scores = np.asarray(inputs.by_row(est, X, fold.scores))
    return false_discoveries(
        p_values.p_values(scores, fold.left_out), len(fold.left_out), confidence
    )


def discoveries(p: np.ndarray, fdr: float) -> np.ndarray:
    """Return the rows that Benjamini and Hochberg (1995) reject, a mask of shape (rows,).

    The expected share of normal rows among them is at most ``fdr`` if p-values are valid, and
    independent or positively dependent. The p-values of a split are (Bates et al. 2023).
    """
    check_rate("fdr", fdr)
    if not len(p):
        return np.zeros(0, dtype=bool)
    adjusted: np.ndarray = false_discovery_control(p, method="bh")
    return adjusted <= fdr * (1.0 + ROUNDING)  # adjusted p-values are often equal to the rate


def e_values(scores: np.ndarray, left_out: np.ndarray, fdr: float) -> np.ndarray:
    r"""Return the e-values of rows of a batch, shape (rows,), from the left-out rows of one split.

    They are those of Bashari et al. (2023), see ``est.select``.

    .. math:: e_j = \frac{(n + 1)\, 1[s_j \le t]}{1 + \#\{i : s_i \le t\}}

    with t the largest score, of the batch or left out, at which the estimated false discovery
    proportion, :math:`m (1 + \#\{i : s_i \le t\}) / ((n + 1) \#\{j : s_j \le t\})`, is at most
    ``fdr``; all are 0 if there is none. The expected sum over the normal rows of the batch is at
    most their number, so the mean over several splits may go to
    :func:`discoveries_by_e_values`.

    Parameters
    ----------
    scores : ndarray of shape (rows,)
        Larger is more normal.
    left_out : ndarray of shape (n,)
        Scores of left-out normal rows, in ascending order.
    fdr : float

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.batches import e_values
    >>> e_values(np.array([0.0, 5.0, 9.0]), np.arange(1.0, 40.0), fdr=0.1).tolist()
    [40.0, 0.0, 0.0]
    """
    # t among the scores of the batch only would make the expected sum larger than m
    t = np.unique(np.concatenate([scores, left_out]))
    below = 1.0 + np.searchsorted(left_out, t, side="right")
    rejected = np.searchsorted(np.sort(scores), t, side="right")
    estimate = len(scores) * below / (len(left_out) + 1.0)
    accepted = np.flatnonzero((rejected > 0) & (estimate <= fdr * (1.0 + ROUNDING) * rejected))
    if not len(accepted):
        return np.zeros(len(scores))
    last = accepted[-1]
    e: np.ndarray = np.where(scores <= t[last], (len(left_out) + 1.0) / below[last], 0.0)
    return e


def discoveries_by_e_values(e: np.ndarray, fdr: float) -> np.ndarray:
    """Return the rows that the procedure of Benjamini and Hochberg for e-values rejects, a mask.

    The expected share of normal rows among them is at most ``fdr`` under any dependence (Wang and
    Ramdas 2022). It is the procedure for p-values, with 1/e in their place.
    """
    with np.errstate(divide="ignore"):
        return discoveries(np.minimum(1.0 / e, 1.0), fdr)


def false_discoveries(p: np.ndarray, n: int, confidence: float = 0.9) -> pd.DataFrame:
    r"""Return bounds of the number of normal rows among those with small p-values.

    They hold together for all thresholds (Song, Jin and Candes 2026). Of m normal rows,
    :math:`V_k` have at most the p-value k/(n + 1). In a random order of n left-out and m normal
    rows, :math:`V_k` is the number of the latter before number k of the former: a Polya urn, which
    is easily sampled. The envelope is

    .. math:: V_k \le b_m(k) = \max\{v : P(V_k \ge v) \ge \lambda\} \quad \text{for all } k,

    with the beta-binomial distribution of :math:`V_k`, and :math:`\lambda` the largest number for
    which a share ``confidence`` of 9,999 samples of the urn lie within. As the rows that must be
    abnormal, :math:`\max_k R_k - b_m(k)` of the R_k rows with such p-values, are not among
    the m normal ones, m starts at the number of all rows and falls until it stays.

    Parameters
    ----------
    p : ndarray of shape (rows,)
        Conformal p-values of a batch, ranks among the same left-out rows.
    n : int
        Number of left-out rows.
    confidence : float, default=0.9
        Probability with which all bounds hold.

    Returns
    -------
    pandas.DataFrame
        A row for each p-value in the batch, as in ``est.false_discoveries``.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd.estimators.questions.batches import false_discoveries
    >>> p = np.array([1, 1, 1, 1, 1, 1, 40, 70, 80, 90]) / 100
    >>> false_discoveries(p, n=99)[["p_value", "selected", "false_at_most"]].head(1)
       p_value  selected  false_at_most
    0     0.01         6              1
    """
    check_rate("confidence", confidence)
    if confidence > SAMPLES / (SAMPLES + 1):
        raise ValueError(
            f"confidence must be at most {SAMPLES / (SAMPLES + 1):.4f}, which {SAMPLES:,} samples "
            f"can tell, got {confidence!r}"
        )
    found, selected = np.unique(p, return_counts=True)
    selected = np.cumsum(selected)
    rank = np.round(found * (n + 1)).astype(int)
    few = np.arange(1, min(n, FEW) + 1)
    ranks = np.unique([*few, *np.geomspace(1, n, FEW).round().astype(int), n + 1])
    after = np.searchsorted(ranks, rank)  # the first of these thresholds that is not smaller
    m, fewer = len(p), len(p)
    abnormal = np.zeros(len(found), dtype=int)
    while m:
        bound = _envelope(m, n, ranks[:-1], 1.0 - confidence)[after]
        abnormal = np.maximum.accumulate(np.maximum(selected - bound, 0))
        fewer = len(p) - abnormal.max(initial=0)
        if fewer >= m:
            break
        m = fewer
    columns = {"p_value": found, "selected": selected, "abnormal_at_least": abnormal}
    columns["false_at_most"] = selected - abnormal
    return pd.DataFrame(columns | {"false_share_at_most": (selected - abnormal) / selected})


def _envelope(m: int, n: int, ranks: np.ndarray, alpha: float) -> np.ndarray:
    """Return b_m of ranks in ascending order, and m as the last: all rows have p <= 1."""
    rng, v = np.random.default_rng(0), np.arange(m + 1)
    pmf = betabinom.pmf(v[::-1], m, ranks[:, None], n + 1 - ranks[:, None])
    at_least = pmf.cumsum(axis=1)[:, ::-1]  # P(V_k >= v)
    normal, last, level = np.zeros(SAMPLES, dtype=int), 0, np.ones(SAMPLES)
    for k, of_rank in zip(ranks, at_least, strict=True):
        normal += rng.binomial(m - normal, rng.beta(k - last, n + 1 - k, SAMPLES))
        level, last = np.minimum(level, of_rank[normal]), k
    number = int(alpha * (SAMPLES + 1) * (1.0 + ROUNDING))
    lowest = np.sort(level)[number - 1] if number else 0.0
    return np.append((at_least >= lowest).sum(axis=1) - 1, m)


def check_rate(name: str, value: float) -> None:
    """Raise a ValueError if the value does not lie between 0 and 1."""
    if not (isinstance(value, int | float | np.floating) and 0 < value < 1):
        raise ValueError(f"{name} must lie between 0 and 1, without 0 and 1, got {value!r}")
