"""The rows of a batch to call abnormal, at a false discovery rate."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import false_discovery_control

from ...inference.warning import DataWarning, warn

ROUNDING = 1e-9  # relative; p-values and rates are often equal but for rounding


def select(
    est: Any, X: Any, fdr: float, method: str, given: Any = None, tail: str = "rank"
) -> np.ndarray:
    """Return the rows of a batch to call abnormal, a mask; see ``est.select``."""
    check_rate("fdr", fdr)
    p = np.asarray(est.p_value(X, method, given, tail))  # of dask: computed
    found = discoveries(p, fdr)
    if tail == "rank" and len(p) and not found.any():
        _warn_of_ranks(p, fdr, int((~est.fit_.data.minority).sum()))
    return found


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


def check_rate(name: str, value: float) -> None:
    """Raise a ValueError if the value does not lie between 0 and 1."""
    if not (isinstance(value, int | float | np.floating) and 0 < value < 1):
        raise ValueError(f"{name} must lie between 0 and 1, without 0 and 1, got {value!r}")
