r"""The core of rows among which some are odd: those that are most alike, found by concentration.

The left-out similarity of row i to a core C is

.. math:: \frac{1}{|C \setminus i|} \sum_{j \in C,\ j \ne i} f_{ij}^{1/8}
    \exp\left(-\frac{d_{ij}^2}{2 s^2}\right),

with m the median of the squared distances of different rows, and f the factor of the categories
that differ. With all of f, a clump in a rare category would vouch for itself, and all rows of a
rare category that is normal would be beside the core. Starting with all rows, a step of
concentration keeps the rows with the largest similarity to the present core. The first steps take
the mean of logarithms in place of the logarithm of the mean, the limit of a wide kernel: a row is
then as similar as it is near to the middle of the core, so odd rows that are alike do not vouch for
each other. Then the bandwidth falls from :math:`s^2 = m / 2` to :math:`m / 8`. Steps of
concentration are those of the minimum covariance determinant (Rousseeuw and Van Driessen 1999).

By the core, long sides of columns of numbers are shortened and columns are decorrelated, see
:class:`bsvdd.kernels.Tabular`. The core is then found again.

**References**

Rousseeuw, P. J. and Van Driessen, K. (1999). A fast algorithm for the minimum covariance
determinant estimator. Technometrics 41, 212-223. doi:10.1080/00401706.1999.10485670
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from .kernels import RBF, Kernel, Tabular
from .kernels.bandwidth import median_of_different

STEPS = 2, 2, 2, 6  # in the wide limit and at s^2 = m/2, m/4 and m/8; they can cycle, so few
NARROW = 8.0  # m / s^2 at the last bandwidth
OF_CATEGORIES = 0.125  # power of their factor
MOST_ROWS = 3000  # of which all pairs are compared: 72 MB
TIE = 1e-9  # relative difference, below which similarities are equal
BLOCK_VALUES = 2**21  # kernel values at once: 16 MB


@dataclass(frozen=True, eq=False)
class Core:
    """The rows that a description rests on.

    Attributes
    ----------
    share : float
        The least share of rows that was asked for, below 1.
    rows : ndarray of bool, shape (n,)
        Which rows are in the core.
    """

    share: float
    rows: np.ndarray

    @classmethod
    def find(cls, asked: Kernel, rows: np.ndarray, share: float, seed: int) -> tuple[Self, Kernel]:
        """Return the core of rows (n, p), and the kernel as it was found by.

        Of more than 3,000 rows, the core of a random sample of so many judges all rows.
        """
        n = len(rows)
        kernel = asked.resolve(rows)
        sample = np.arange(n)
        if n > MOST_ROWS:
            sample = np.sort(np.random.default_rng(seed).choice(n, MOST_ROWS, replace=False))
        some = rows[sample]
        if isinstance(kernel, Tabular) and kernel.adjusts:
            inside = concentrated(*kernel.plain.apart(some, some), share)
            kernel = kernel.adjusted_by(some[inside], some)
        squared, of_categories = kernel.apart(some, some)
        inside = concentrated(squared, of_categories, share)
        if n > MOST_ROWS:
            unit = _median(squared)
            inside = _kept(_similarity(kernel, rows, sample[inside], unit), share)
        return cls(share, inside), kernel

    def kernel(self, asked: Kernel, rows: np.ndarray) -> Kernel:
        """Return another kernel of the same rows (n, p), with columns adjusted by this core."""
        kernel = asked.resolve(rows)
        if isinstance(kernel, Tabular) and kernel.adjusts:
            return kernel.adjusted_by(rows[self.rows], rows)
        return kernel

    def part(self, which: np.ndarray | slice) -> Self:
        """Return the core among some of the rows."""
        return replace(self, rows=self.rows[which])


def wide(kernel: Kernel) -> Kernel:
    """Return the kernel for rows some of which are odd: the default is wide and decorrelated.

    A kernel with a bandwidth of the user stays as it is.
    """
    if isinstance(kernel, Tabular) and kernel.kernel == Tabular.kernel:
        return replace(kernel, kernel=RBF("wide"), decorrelated=True)
    return kernel


def concentrated(
    squared: np.ndarray, of_categories: np.ndarray | float, share: float
) -> np.ndarray:
    """Return which rows are the core, shape (n,).

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances of the rows, in any unit.
    of_categories : ndarray of shape (n, n), or 0.0
        The logarithm of the factor of their categories.
    share : float
        The least share of rows that are in the core.
    """
    n = len(squared)
    factor = np.exp(OF_CATEGORIES * of_categories)
    k = -squared / (2.0 * _median(squared)) + OF_CATEGORIES * of_categories
    core = np.ones(n, dtype=bool)
    for place, steps in enumerate(STEPS):
        if place == 1:
            k = np.exp(k, out=k)
            np.fill_diagonal(k, 0.0)
        if place:
            np.square(k, out=k)  # half the squared bandwidth
            k /= factor
        for _ in range(steps):
            mean = k @ core / np.maximum(core.sum() - core, 1)
            new = _kept(mean if place else np.exp(mean - mean.max()), share)
            if np.array_equal(new, core):
                break
            core = new
    return core


def _median(squared: np.ndarray) -> float:
    """Return m; 1 if no rows differ in numbers."""
    return median_of_different(squared[np.triu_indices(len(squared), 1)]) or 1.0


def _kept(similarity: np.ndarray, share: float) -> np.ndarray:
    """Return the rows with the largest similarities: all that tie with the last of them."""
    n = len(similarity)
    out = n - math.ceil(share * n * (1.0 - TIE))
    edge = np.partition(similarity, out)[out]
    kept: np.ndarray = similarity >= edge * (1.0 - TIE)
    return kept


def _similarity(kernel: Kernel, rows: np.ndarray, core: np.ndarray, unit: float) -> np.ndarray:
    """Return the left-out similarity of rows to the rows ``core``, at the last bandwidth."""
    found, place = np.empty(len(rows)), np.full(len(rows), -1)
    place[core] = np.arange(len(core))
    step = max(1, BLOCK_VALUES // len(core))
    for start in range(0, len(rows), step):
        block = slice(start, start + step)
        squared, of_categories = kernel.apart(rows[block], rows[core])
        k = np.exp(-squared * (NARROW / (2.0 * unit)) + OF_CATEGORIES * of_categories)
        own = np.flatnonzero(place[block] >= 0)
        k[own, place[block][own]] = 0.0
        others = np.full(len(k), float(len(core)))
        others[own] -= 1.0
        found[block] = k.sum(axis=1) / np.maximum(others, 1.0)
    return found
