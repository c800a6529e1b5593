r"""The core of rows among which some are odd: the most alike rows, by concentration.

The left-out similarity of row i to a core C is

.. math:: \frac{1}{|C \setminus i|} \sum_{j \in C,\ j \ne i} f_{ij}^{1/8}
    \exp\left(-\frac{d_{ij}^2}{2 s^2}\right),

with m the median of the squared distances of different rows, and f the factor of the
categories that differ. With all of f, a clump in a rare category would vouch for
itself, and all rows of a rare category that is normal would be outside the core.

The search starts with all rows. A step of concentration keeps the rows with the largest
similarity to the present core, as in the minimum covariance determinant (Rousseeuw and
Van Driessen 1999). The first steps take the mean of logarithms, the limit of a wide
kernel, so that odd rows that are alike do not vouch for each other. Then the bandwidth
falls from :math:`s^2 = m / 2` to :math:`m / 8`. The kernel is adjusted by this core
(:mod:`bsvdd.models.kernels.decorrelated`), and the core is found again.

**References**

Rousseeuw, P. J. and Van Driessen, K. (1999). A fast algorithm for the minimum
covariance determinant estimator. Technometrics 41, 212-223.
doi:10.1080/00401706.1999.10485670
"""

from __future__ import annotations

import math

import numpy as np

from ..base.threads import by_block
from ..models.kernels import Tabular
from ..models.kernels.decorrelated import (
    MOST_COMPARED_ROWS,
    NARROW,
    Decorrelated,
    median_of_different,
)

CORE_SHARE = 0.8  # of the rows, at least; a clump of odd rows can be the rest
# in the wide limit and at s^2 = m/2, m/4 and m/8; steps can cycle, so they are few
STEPS = 2, 2, 2, 6
POWER_OF_FACTOR = 0.125  # of the categories
TIE = 1e-9  # relative difference, below which similarities are equal
BLOCK_ROWS = 1000


def core_of(X: np.ndarray, asked: Tabular) -> tuple[np.ndarray, Decorrelated]:
    """Return which of the rows X (n, p) are the core, and the kernel adjusted by it.

    Of more than 3,000 rows, the core of a sample of so many judges all rows.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Without missing values.
    asked : Tabular
        Its categories, ``rho`` and ``scale`` are kept.

    Returns
    -------
    core : ndarray of bool, shape (n,)
    kernel : Decorrelated
    """
    order = np.lexsort(X.T)  # of values: no sum depends on the order of the rows
    rows = X[order]
    some = np.random.default_rng(0).permutation(len(rows))[:MOST_COMPARED_ROWS]
    kernel = Decorrelated.plain(asked, rows)
    inside = _concentrated(*_distances(kernel, rows[some]))
    kernel = kernel.adjusted(rows, rows[some[inside]])
    squared, log_f = _distances(kernel, rows[some])
    inside = some[_concentrated(squared, log_f)]
    if len(some) < len(rows):
        m = median_of_different(squared)
        blocks = np.array_split(np.arange(len(rows)), len(rows) // BLOCK_ROWS)
        found = by_block(lambda i: _similarity(kernel, rows, i, inside, m), blocks)
        inside = _most_similar(np.concatenate(found))
    core = np.zeros(len(X), dtype=bool)
    core[order[inside]] = True
    return core, kernel


def _distances(kernel: Decorrelated, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return squared distances and log f (n, n) of rows."""
    Z = kernel.inputs(X)
    return kernel.apart(Z, Z)


def _similarity(
    kernel: Decorrelated, X: np.ndarray, block: np.ndarray, core: np.ndarray, m: float
) -> np.ndarray:
    """Return the left-out similarity of a block of rows to the core, at m / 8."""
    squared, log_f = kernel.apart(kernel.inputs(X[block]), kernel.inputs(X[core]))
    others = block[:, None] != core
    k = np.exp(-squared * NARROW / (2.0 * m) + POWER_OF_FACTOR * log_f) * others
    return np.asarray(k.sum(axis=1) / others.sum(axis=1))


def _concentrated(squared: np.ndarray, log_f: np.ndarray) -> np.ndarray:
    """Return which rows (n,) are the core, by squared distances and log f (n, n)."""
    n = len(squared)
    factor = np.exp(POWER_OF_FACTOR * log_f)
    m = median_of_different(squared[np.triu_indices(n, 1)])
    k = -squared / (2.0 * m) + POWER_OF_FACTOR * log_f
    core = np.ones(n, dtype=bool)
    for stage, steps in enumerate(STEPS):
        if stage == 1:
            k = np.exp(k, out=k)
            np.fill_diagonal(k, 0.0)
        if stage:
            k = k**2 / factor  # half the squared bandwidth
        for _ in range(steps):
            mean = k @ core / np.maximum(core.sum() - core, 1)
            core = _most_similar(mean if stage else np.exp(mean - mean.max()))
    return core


def _most_similar(similarity: np.ndarray) -> np.ndarray:
    """Return which rows (n,) have the largest similarities, with ties of the last."""
    n = len(similarity)
    out = n - math.ceil(CORE_SHARE * n * (1.0 - TIE))
    return np.asarray(similarity >= np.partition(similarity, out)[out] * (1.0 - TIE))
