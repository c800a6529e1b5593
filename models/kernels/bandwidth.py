r"""Bandwidth criteria of distance kernels.

Each criterion maps the majority rows X (n, p) to the bandwidth s, in the units of the columns of
X, of the kernel

.. math:: k(x, y) = \exp\left(-\frac{\|x - y\|^2}{2 s^2}\right).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy

from .base import SMALLEST, is_number

MEDIAN_ROWS = 5000  # the 12.5 million distances of so many rows fit in 100 MB
WIDE_ROWS = 3000
LIKELIHOOD_ROWS, LIKELIHOOD_GRID = 1000, 25  # largest sample, and number of candidates
COPIES = 1e-16  # squared distance, relative to that of two rows, below which rows are copies


def mean_squared_pairwise_distance(X: np.ndarray) -> float:
    r"""Mean squared pairwise distance.

    .. math:: \bar D^2 = \mathrm{mean}_{i<j} \|x_i - x_j\|^2
        = \frac{2}{n - 1} \sum_i \|x_i - \bar x\|^2
    """
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
        \delta &= -0.14818008 \phi^4 + 0.284623624 \phi^3 \\
               &\quad - 0.252853808 \phi^2 + 0.159059498 \phi - 0.001381145 \\
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

    With more than 5,000 rows, a sample of 5,000 with a fixed seed is used.
    """
    return float(np.median(scipy.spatial.distance.pdist(_sample(X, MEDIAN_ROWS))))


def wide(X: np.ndarray) -> float:
    r"""A wide bandwidth, :math:`s^2 = m / 8`, for rows some of which are odd.

    m is the median of the squared distances of different rows. The likelihood would choose a narrow
    bandwidth, by which some odd rows that are alike resemble each other as much as normal rows do.
    With more than 3,000 rows, a sample of 3,000 with a fixed seed is used.
    """
    return math.sqrt(
        median_of_different(scipy.spatial.distance.pdist(_sample(X, WIDE_ROWS)) ** 2) / 8
    )


def median_of_different(squared: np.ndarray) -> float:
    """Return the median of the squared distances of rows that are no copies; 0 without any."""
    different = squared[squared > COPIES * squared.max(initial=0.0)]
    return float(np.median(different)) if len(different) else 0.0


def scale(X: np.ndarray) -> float:
    r"""The bandwidth of scikit-learn's ``gamma='scale'``: :math:`s^2 = p\,\mathrm{var}(X)/2`."""
    return math.sqrt(X.shape[1] * X.var() / 2.0)


def likelihood(X: np.ndarray, dimensions: int | None = None) -> float:
    r"""The s with the largest leave-one-out log density of the rows (Duin 1976).

    .. math:: s = \mathrm{arg\,max}_s \sum_i \log \frac{s^{-p}}{n_i} \sum_{j \in N_i}
        \exp\left(-\frac{\|x_i - x_j\|^2}{2 s^2}\right)

    :math:`N_i` are the :math:`n_i` rows that differ from row i: a row is left out with its copies,
    as duplicates would let the density grow without bound as s goes to zero. p is ``dimensions``,
    by default the number of columns that vary. s is searched between a quarter of the median
    distance of different rows to their 5th neighbour and the root mean squared distance of two
    rows. With more than 1,000 rows, a sample of 1,000 with a fixed seed is used, so s suits a
    centre of so many points at most.
    """
    grid, values = log_density(X, dimensions)
    return float(grid[np.argmax(values)])


def log_density(X: np.ndarray, dimensions: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return bandwidths, and the mean leave-one-out log density of the rows for each of them.

    It is the criterion of :func:`likelihood`, but for a constant.
    """
    X = X[:, np.ptp(X, axis=0) > 0.0]
    p = X.shape[1] if dimensions is None else dimensions
    rows = _sample(X, LIKELIHOOD_ROWS)
    if len(rows) and not np.ptp(rows, axis=0).any():  # nearly all rows are equal
        rows = _sample(np.unique(X, axis=0), LIKELIHOOD_ROWS)
    high = math.sqrt(mean_squared_pairwise_distance(X))
    if not 0.0 < high < math.inf:
        return np.array([high]), np.zeros(1)
    different = np.unique(rows, axis=0)
    fifth = min(5, len(different) - 1)  # the row itself is the first
    distance = scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(different))
    low = min(float(np.median(np.partition(distance, fifth, axis=1)[:, fifth])) / 4.0, high / 2.0)
    grid = np.geomspace(low, high, LIKELIHOOD_GRID)
    d2 = scipy.spatial.distance.squareform(scipy.spatial.distance.pdist(rows / high, "sqeuclidean"))
    d2[d2 <= COPIES] = np.inf  # the row itself, and its copies
    d2 = d2[np.isfinite(d2).any(axis=1)]
    nearest = d2.min(axis=1, keepdims=True)
    d2 -= nearest  # so that no sum underflows
    values, k = [], np.empty_like(d2)  # one array for all: new ones of this size take time
    for u in grid / high:
        np.divide(d2, -2.0 * u**2, out=k)
        np.exp(k, out=k)
        density = np.log(k.sum(axis=1)) - nearest[:, 0] / (2.0 * u**2)
        values.append(density.mean() - p * math.log(u))
    return grid, np.array(values)


def _sample(X: np.ndarray, size: int) -> np.ndarray:
    """Return ``size`` rows drawn without replacement, or all rows where there are no more."""
    return X if len(X) <= size else np.random.default_rng(0).choice(X, size, replace=False)


CRITERIA: dict[str, Callable[..., float]] = {
    "likelihood": likelihood,
    "modified_mean": modified_mean,
    "mean": mean,
    "median": median,
    "wide": wide,
    "scale": scale,
}


def check(bandwidth: Any) -> None:
    """Raise a ValueError unless ``bandwidth`` is a positive number or the name of a criterion."""
    if isinstance(bandwidth, str):
        valid = bandwidth in CRITERIA
    else:
        valid = is_number(bandwidth) and 0 < bandwidth < math.inf
    if not valid:
        raise ValueError(
            f"bandwidth must be a positive number or one of {sorted(CRITERIA)}, got {bandwidth!r}"
        )
    if not isinstance(bandwidth, str) and not SMALLEST <= float(bandwidth) <= 1 / SMALLEST:
        raise ValueError(
            f"bandwidth must lie between {SMALLEST:g} and {1 / SMALLEST:g}, as its square is "
            f"needed, got {bandwidth!r}; scale the columns of X"
        )


def resolve(bandwidth: float | str, X: np.ndarray, dimensions: int | None = None) -> float:
    """Return the bandwidth as a number: ``bandwidth`` itself, or the criterion of X.

    ``dimensions`` is the number of columns that :func:`likelihood` counts.

    Raises
    ------
    ValueError
        The bandwidth is no positive number and no criterion, or there are too few different
        rows for the criterion.
    """
    check(bandwidth)
    if not isinstance(bandwidth, str):
        return float(bandwidth)
    if len(X) < 2:
        raise ValueError(
            f"bandwidth={bandwidth!r} needs at least 2 majority rows, got {len(X)}; "
            "give the bandwidth as a number"
        )
    with np.errstate(over="ignore", invalid="ignore"):  # the result is checked below
        X = np.asarray(X, dtype=float)
        more = (dimensions,) if bandwidth == "likelihood" else ()
        value = CRITERIA[bandwidth](X, *more)
    if not SMALLEST <= value <= 1 / SMALLEST:
        raise ValueError(
            f"bandwidth={bandwidth!r} gives {value} on these {len(X)} majority rows (too many of "
            "them are equal, or they are too large or small to be squared); scale the columns of "
            "X, or give the bandwidth as a number"
        )
    return value
