"""Prior health: the same summaries of the weights under the prior and the posterior."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from .diagnostics import effective_support
from .scoring import CenterDraws


def quantities(center: CenterDraws, n1: int, rows: np.ndarray) -> dict[str, np.ndarray]:
    r"""Return summaries of the weights and distances, one number per draw.

    - ``effective_support``: :math:`(\sum |w_j|)^2 / \sum w_j^2`, which is :math:`1 / \sum w_j^2`
      on the simplex;
    - ``largest_weight``: :math:`\max_j |w_j|`;
    - ``minority_total``: :math:`\sum_j \alpha_{1j}`, if there are minority points;
    - ``typical_distance``: the median of d over ``rows``.

    Parameters
    ----------
    center : CenterDraws
    n1 : int
        Number of minority points, which come last.
    rows : ndarray of shape (n, p)
    """
    w = center.weights
    summaries = {
        "effective_support": effective_support(w),
        "largest_weight": np.abs(w).max(axis=-1),
    }
    if n1:
        summaries["minority_total"] = -w[:, -n1:].sum(axis=-1)
    summaries["typical_distance"] = np.median(center.values(rows), axis=1)
    return summaries


def table(groups: dict[str, dict[str, np.ndarray]], prob: float = 0.9) -> pd.DataFrame:
    """Return median and central interval: a row per quantity, columns (group, quantile)."""
    tail = 50 * (1 - prob)
    columns = {
        (group, label): [np.percentile(v, q) for v in summaries.values()]
        for group, summaries in groups.items()
        for label, q in ((f"{tail:g}%", tail), ("median", 50.0), (f"{100 - tail:g}%", 100 - tail))
    }
    index = next(iter(groups.values()))
    return pd.DataFrame(columns, index=pd.Index(index, name="quantity"))


def weights(draws: xr.Dataset) -> np.ndarray:
    """Return the weights (S, M) of draws of the prior or the posterior.

    Raises
    ------
    ValueError
        The prior is improper.
    """
    if "w" not in draws:
        raise ValueError("the prior is improper, as pm.Flat is, so it has no draws to show")
    w: np.ndarray = draws["w"].values
    return w.reshape(-1, w.shape[-1])
