"""Bandwidth criteria for kernels of a distance: from the rows to one length ``s``.

Each criterion maps the majority rows X (n, p) to the bandwidth ``s`` of
k(x, y) = exp(-||x - y||^2 / (2 s^2)), in the units of the columns of X.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

MEDIAN_ROWS = 5000  # pairs of this many rows (12.5 million) still fit in 100 MB


def mean_squared_pairwise_distance(X: np.ndarray) -> float:
    """D^2 = mean over i < j of ||x_i - x_j||^2 = 2/(n-1) sum_i ||x_i - mean||^2."""
    return float(2.0 * ((X - X.mean(axis=0)) ** 2).sum() / (len(X) - 1))


def _from_tolerance(X: np.ndarray, delta: float) -> float:
    return math.sqrt(mean_squared_pairwise_distance(X) / math.log((len(X) - 1) / delta**2))


def mean(X: np.ndarray) -> float:
    r"""Mean criterion of Chaudhuri et al. (2017).

    .. math:: s^2 = \bar D^2 / \ln((n-1)/\delta^2), \qquad \delta = \sqrt2 \cdot 10^{-6}
    """
    return _from_tolerance(X, math.sqrt(2.0) * 1e-6)


def modified_mean(X: np.ndarray) -> float:
    r"""Modified mean criterion of Liao et al. (2018): the tolerance depends on n.

    .. math::
        \delta &= -0.14818008 \phi^4 + 0.284623624 \phi^3 - 0.252853808 \phi^2
                  + 0.159059498 \phi - 0.001381145 \\
        \phi &= 1 / \ln(n - 1), \qquad s^2 = \bar D^2 / \ln((n-1)/\delta^2)
    """
    if len(X) < 3:
        raise ValueError(
            "bandwidth='modified_mean' needs at least 3 majority rows, got "
            f"{len(X)}; give the bandwidth as a number"
        )
    phi = 1.0 / math.log(len(X) - 1)
    delta = np.polyval([-0.14818008, 0.284623624, -0.252853808, 0.159059498, -0.001381145], phi)
    return _from_tolerance(X, float(delta))


def median(X: np.ndarray) -> float:
    r"""Median heuristic (Garreau et al. 2017), :math:`s = \sqrt{\mathrm{median}\, d_{ij}^2}`.

    Above 5,000 rows the pairs of 5,000 rows drawn with a fixed seed are used.
    """
    if len(X) > MEDIAN_ROWS:
        X = np.random.default_rng(0).choice(X, MEDIAN_ROWS, replace=False)
    return float(np.median(pdist(X)))


def scale(X: np.ndarray) -> float:
    r"""The bandwidth of scikit-learn's ``gamma='scale'``: :math:`s^2 = p\,\mathrm{var}(X)/2`."""
    return math.sqrt(X.shape[1] * X.var() / 2.0)


CRITERIA: dict[str, Callable[[np.ndarray], float]] = {
    "modified_mean": modified_mean,
    "mean": mean,
    "median": median,
    "scale": scale,
}


def check(bandwidth: Any) -> None:
    """Raise a ValueError unless ``bandwidth`` is a positive number or a criterion's name."""
    if isinstance(bandwidth, str):
        valid = bandwidth in CRITERIA
    else:
        number = isinstance(bandwidth, Real) and not isinstance(bandwidth, bool)
        valid = number and math.isfinite(bandwidth) and bandwidth > 0
    if not valid:
        raise ValueError(
            f"bandwidth must be a positive number or one of {sorted(CRITERIA)}, got {bandwidth!r}"
        )


def resolve(bandwidth: float | str, X: np.ndarray) -> float:
    """Return the bandwidth as a number: itself, or what the named criterion says of X.

    Raises
    ------
    ValueError
        Rows so few or so alike that the criterion gives no positive number.
    """
    check(bandwidth)
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    if len(X) < 2:
        raise ValueError(
            f"bandwidth={bandwidth!r} needs at least 2 majority rows, got {len(X)}; "
            "give the bandwidth as a number"
        )
    value = CRITERIA[bandwidth](np.asarray(X, dtype=float))
    if not (math.isfinite(value) and value > 0):
        raise ValueError(
            f"bandwidth={bandwidth!r} gives {value} on these {len(X)} majority rows "
            "(too many of them are equal); give the bandwidth as a number"
        )
    return value
