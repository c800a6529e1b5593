r"""The core of rows among which some are odd: those that are most alike, found by concentration.

The left-out similarity of row i to a core C is

.. math:: \frac{1}{|C \setminus i|} \sum_{j \in C,\ j \ne i} f_{ij}^{1/8}
    \exp\left(-\frac{d_{ij}^2}{2 s^2}\right),

with m the median of the squared distances of different rows, and f the factor of the
categories that differ. With all of f, a clump in a rare category would vouch for
itself, and all rows of a rare category that is normal would be beside the core.
Starting with all rows, a step of concentration keeps the rows with the largest
similarity to the present core, as in the minimum covariance determinant (Rousseeuw and
Van Driessen 1999). The first steps take the mean of logarithms, the limit of a wide
kernel, so that odd rows that are alike do not vouch for each other; then the bandwidth
falls from :math:`s^2 = m / 2` to :math:`m / 8`. By this core the kernel is adjusted
(:mod:`bsvdd.models.kernels.decorrelated`), and the core is found again.

**References**

Rousseeuw, P. J. and Van Driessen, K. (1999). A fast algorithm for the minimum
covariance determinant estimator. Technometrics 41, 212-223.
doi:10.1080/00401706.1999.10485670
"""

from __future__ import annotations

import math

import numpy as np

from ..models.kernels import Tabular
from ..models.kernels.decorrelated import MOST_ROWS, NARROW, Decorrelated, middle

SHARE = 0.8  # of the rows, at least; a clump of odd rows can be the rest
STEPS = (
    2,
    2,
    2,
    6,
)  # in the wide limit and at s^2 = m/2, m/4 and m/8; they can cycle, so few
OF_CATEGORIES = 0.125  # power of their factor
TIE = 1e-9  # relative difference, below which similarities are equal


def core_of(X: np.ndarray, asked: Tabular) -> tuple[np.ndarray, Decorrelated]:
    """Return which of the rows X (n, p) are the core, and the kernel adjusted by it.

    The kernel has categories, ``rho`` and ``scale`` of the one that was asked for. Of
    more than 3,000 rows, the core of a sample of so many judges all rows.
    """
    order = np.lexsort(X.T)  # of values: no sum depends on the order of the rows
    rows = X[order]
    core = np.zeros(len(X), dtype=bool)
    some = np.random.default_rng(0).permutation(len(rows))[:MOST_ROWS]
    kernel = Decorrelated.plain(asked, rows)
    inside = concentrated(*_apart(kernel, rows[some]))
    kernel = kernel.adjusted(rows, rows[some[inside]])
    squared, log_f = _apart(kernel, rows[some])
    inside = some[concentrated(squared, log_f)]
    if len(some) < len(rows):
        unit = middle(squared)
        blocks = np.array_split(np.arange(len(rows)), len(rows) // 1000)
        found = [_similarity(kernel, rows, block, inside, unit) for block in blocks]
        inside = kept(np.concatenate(found))
    core[order[inside]] = True
    return core, kernel


def _apart(kernel: Decorrelated, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    Z = kernel.inputs(X)
    return kernel.apart(Z, Z)


def _similarity(
    kernel: Decorrelated,
    X: np.ndarray,
    block: np.ndarray,
    core: np.ndarray,
    unit: float,
) -> np.ndarray:
    """Return the left-out similarity of rows of a block to the core, at the last bandwidth."""
    squared, log_f = kernel.apart(kernel.inputs(X[block]), kernel.inputs(X[core]))
    others = block[:, None] != core
    k = np.exp(-squared * NARROW / (2.0 * unit) + OF_CATEGORIES * log_f) * others
    return np.asarray(k.sum(axis=1) / others.sum(axis=1))


def concentrated(squared: np.ndarray, log_f: np.ndarray) -> np.ndarray:
    """Return which rows (n,) are the core, by squared distances and log f (n, n)."""
    n = len(squared)
    factor = np.exp(OF_CATEGORIES * log_f)
    k = (
        -squared / (2.0 * middle(squared[np.triu_indices(n, 1)]))
        + OF_CATEGORIES * log_f
    )
    core = np.ones(n, dtype=bool)
    for place, steps in enumerate(STEPS):
        if place == 1:
            k = np.exp(k, out=k)
            np.fill_diagonal(k, 0.0)
        if place:
            k = k**2 / factor  # half the squared bandwidth
        for _ in range(steps):
            mean = k @ core / np.maximum(core.sum() - core, 1)
            core = kept(mean if place else np.exp(mean - mean.max()))
    return core


def kept(similarity: np.ndarray) -> np.ndarray:
    """Return which rows (n,) have the largest similarities: all that tie with the last of them."""
    n = len(similarity)
    out = n - math.ceil(SHARE * n * (1.0 - TIE))
    return np.asarray(similarity >= np.partition(similarity, out)[out] * (1.0 - TIE))
