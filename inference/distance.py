"""Draws of the centre, and distances from it in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..models.kernels import Kernel
from ..models.potential import squared_distance, squared_norm

BLOCK_VALUES = 4_000_000  # distances held at once, 32 MB


@dataclass(frozen=True, eq=False)
class Center:
    r"""Draws of the centre :math:`a = \sum_j w_j \varphi(u_j)`.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    dictionary : ndarray of shape (M, p)
    kernel : Kernel
    """

    weights: np.ndarray
    squared_norm: np.ndarray
    dictionary: np.ndarray
    kernel: Kernel

    @classmethod
    def of(
        cls, weights: np.ndarray, K: np.ndarray, dictionary: np.ndarray, kernel: Kernel
    ) -> Center:
        """Return the centre of ``weights`` with its norm from the dictionary's matrix K."""
        return cls(weights, squared_norm(weights, K), dictionary, kernel)

    def blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the place of a block of rows and its distances d, (draws, rows in block)."""
        step = max(1, BLOCK_VALUES // max(len(self.weights), self.weights.shape[1]))
        for start in range(0, len(rows), step):
            place = slice(start, min(start + step, len(rows)))
            yield place, self._distance(rows[place])

    def distance(self, rows: np.ndarray) -> np.ndarray:
        """Return all distances d at once, shape (draws, rows)."""
        parts = [d for _, d in self.blocks(rows)]
        return np.concatenate(parts, axis=1)

    def _distance(self, rows: np.ndarray) -> np.ndarray:
        k_uz = self.kernel(rows, self.dictionary).T
        d2 = squared_distance(self.weights, self.squared_norm, k_uz, self.kernel.diag(rows))
        return np.sqrt(d2, out=d2)


def leave_one_out(
    d: np.ndarray, weights: np.ndarray, K: np.ndarray, sum_to_one: bool
) -> np.ndarray:
    r"""Return the distance of each dictionary point from the centre without that point.

    Where the weights sum to one and those left are scaled up to do so again,

    .. math::
        a_{-j} = \frac{a - w_j \varphi_j}{1 - w_j}, \qquad
        \|\varphi_j - a_{-j}\| = \frac{d_j}{1 - w_j},

    for negative weights of minority rows too. Weights that are free in their sum are left as
    they are, :math:`d_{-j}^2 = d_j^2 + 2 w_j (k_{jj} - (Kw)_j) + w_j^2 k_{jj}`.
    A point that holds all the weight is infinitely far from the centre without it.

    Parameters
    ----------
    d : ndarray of shape (draws, M)
        Distances of the dictionary points.
    weights : ndarray of shape (draws, M)
    K : ndarray of shape (M, M)
    sum_to_one : bool
    """
    if sum_to_one:
        rest = 1.0 - weights
        return np.divide(d, rest, out=np.full_like(d, np.inf), where=rest > 1e-12)
    k_jj = np.diag(K)
    d2 = d**2 + 2 * weights * (k_jj - weights @ K) + weights**2 * k_jj
    return np.sqrt(np.maximum(d2, 0.0))
