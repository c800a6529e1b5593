r"""Bandwidths s of kernels of a distance, by a criterion of the rows and their weights.

Weights :math:`t_i` sum to one, and :math:`n = 1 / \sum_i t_i^2` is the effective number
of rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist, pdist

SAMPLE_SIZES = {"likelihood": 1000, "median": 3000, "wide": 3000}
N_CANDIDATES = 15  # candidates, between the best of which s is sought
PRECISION = 0.005  # of log s
SMALLEST_BANDWIDTH = 1e-100  # of numbers whose squares are needed
# distance, relative to the root mean square, up to which rows are copies
OF_COPIES = 1e-8


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows (n, q) from which a bandwidth is taken, with weights and groups (n,).

    ``dimensions`` is the number of columns of which the coordinates are made.
    """

    X: np.ndarray
    weight: np.ndarray
    group: np.ndarray
    dimensions: int

    def sample(self, size: int) -> Sample:
        """Return so many of the rows at most."""
        if len(self.X) <= size:
            return self
        i = np.sort(np.random.default_rng(0).choice(len(self.X), size, replace=False))
        return Sample(self.X[i], self.weight[i], self.group[i], self.dimensions)

    @property
    def share(self) -> np.ndarray:
        """Weights of sum 1, (n,)."""
        return self.weight / self.weight.sum()

    @property
    def n(self) -> float:
        """The effective number of rows."""
        return float(1.0 / (self.share**2).sum())

    @property
    def mean_square(self) -> float:
        """The mean squared distance of two rows."""
        t = self.share
        variance = t @ ((self.X - t @ self.X) ** 2).sum(axis=1)
        return float(2.0 * variance * self.n / (self.n - 1.0))

    def middle(self, power: float = 1.0) -> float:
        """Return the median of d^power over the distances d of rows, but of copies."""
        i, j = np.triu_indices(len(self.X), 1)
        d = pdist(self.X)
        t = self.weight[i] * self.weight[j]
        apart = d > OF_COPIES * d.max(initial=0.0)
        order = np.argsort(d[apart])
        d = d[apart][order] ** power
        t = t[apart][order]
        middle = np.cumsum(t) - t / 2.0
        return float(np.interp(t.sum() / 2.0, middle, d)) if len(d) else 0.0


def mean(rows: Sample) -> float:
    r"""Return s of the mean criterion (Chaudhuri et al. 2017).

    .. math:: s^2 = \bar D^2 / \ln((n-1)/\delta^2), \qquad \delta = \sqrt2 \cdot 10^{-6}
    """
    return math.sqrt(rows.mean_square / math.log((rows.n - 1.0) / 2e-12))


def modified_mean(rows: Sample) -> float:
    r"""Return s of the modified mean criterion (Liao et al. 2018).

    .. math::
        \delta &= -0.14818008 \phi^4 + 0.284623624 \phi^3 \\
               &\quad - 0.252853808 \phi^2 + 0.159059498 \phi - 0.001381145 \\
        \phi &= 1 / \ln(n - 1), \qquad s^2 = \bar D^2 / \ln((n-1)/\delta^2)
    """
    phi = 1.0 / math.log(rows.n - 1.0)
    delta = np.polyval(
        [-0.14818008, 0.284623624, -0.252853808, 0.159059498, -0.001381145], phi
    )
    return math.sqrt(rows.mean_square / math.log((rows.n - 1.0) / float(delta) ** 2))


def median_distance(rows: Sample) -> float:
    """Return the median distance of two rows (Garreau et al. 2017)."""
    return rows.sample(SAMPLE_SIZES["median"]).middle()


def wide(rows: Sample) -> float:
    """Return s, s^2 = m / 8 with m the median squared distance of two rows."""
    return math.sqrt(rows.sample(SAMPLE_SIZES["wide"]).middle(2.0) / 8.0)


def scale(rows: Sample) -> float:
    """Return s of scikit-learn's ``gamma="scale"``, s^2 = p var(X) / 2."""
    t = rows.share
    p = rows.X.shape[1]
    center = (t @ rows.X).mean()
    return math.sqrt(p * (t @ ((rows.X - center) ** 2).mean(axis=1)) / 2.0)


CRITERIA: dict[str, Callable[[Sample], float]] = {
    "mean": mean,
    "modified_mean": modified_mean,
    "median": median_distance,
    "scale": scale,
    "wide": wide,
}


def likelihood(rows: Sample, metric: str, power: int) -> float:
    r"""Return the s with the largest leave-one-out likelihood of the rows (Duin 1976).

    .. math:: \sum_i t_i \left[\log \sum_{j \in N_i} t_j\, e^{-(d_{ij} / s)^a / a}
        - p \log s\right]

    :math:`N_i` are the rows of other groups that are no copies of row i; d is the
    distance of the kernel, and a its power (2 for the Gaussian kernel). s is the best
    of a grid, from a quarter of the median distance to the fifth neighbour up to the
    root mean square distance of rows of two groups. Of more than 1,000 rows a sample of
    1,000 is used.
    """
    rows = rows.sample(SAMPLE_SIZES["likelihood"])
    d = cdist(rows.X, rows.X, metric)
    t = rows.weight
    others = rows.group[:, None] != rows.group
    pairs = t[:, None] * t * others
    high = math.sqrt((pairs * d**2).sum() / (pairs.sum() or 1.0))
    if not 0.0 < high < math.inf:
        return high
    low = min(_to_fifth(np.unique(rows.X, axis=0), metric) / 4.0, high / 2.0)
    d[(d <= OF_COPIES * high) | ~others] = np.inf
    some = np.isfinite(d).any(axis=1)
    d = d[some] ** power / power
    of = t[some]
    nearest = d.min(axis=1)
    d -= nearest[:, None]
    k = np.empty_like(d)

    def loss(log_s: float) -> float:
        s = math.exp(log_s)
        np.exp(np.multiply(d, -(s**-power), out=k), out=k)
        log_sum = np.log(k @ t) - nearest / s**power
        return float(rows.dimensions * log_s - of @ log_sum / of.sum())

    grid = np.linspace(math.log(low), math.log(high), N_CANDIDATES)
    best = int(np.argmin([loss(log_s) for log_s in grid]))
    between = grid[[max(best - 1, 0), min(best + 1, N_CANDIDATES - 1)]].tolist()
    found = minimize_scalar(
        loss, bounds=between, method="bounded", options={"xatol": PRECISION}
    )
    return math.exp(min(found.x, float(grid[best]), key=loss))


def _to_fifth(distinct: np.ndarray, metric: str) -> float:
    """Return the median distance of distinct rows to the fifth nearest."""
    fifth = min(5, len(distinct) - 1)
    by_row = np.partition(cdist(distinct, distinct, metric), fifth, axis=1)
    return float(np.median(by_row[:, fifth]))


def named(name: str) -> bool:
    """Return whether a criterion has this name."""
    return name == "likelihood" or name in CRITERIA


def of(name: str, rows: Sample, metric: str, power: int) -> float:
    """Return the bandwidth that a criterion gives to rows.

    Raises
    ------
    ValueError
        Too many of the rows are equal, or they are too large or small to be squared.
    """
    with np.errstate(all="ignore"):  # checked below
        if name == "likelihood":
            s = likelihood(rows, metric, power)
        else:
            s = CRITERIA[name](rows)
    if not SMALLEST_BANDWIDTH <= s <= 1.0 / SMALLEST_BANDWIDTH:
        raise ValueError(
            f"bandwidth={name!r} gives {s} on these {len(rows.X)} majority rows (too "
            "many of them are equal, or they are too large or small to be squared); "
            "scale the columns of X, or give the bandwidth as a number"
        )
    return s
