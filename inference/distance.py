"""Draws of the centre, and distances from it in blocks of bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..models.geometry import squared_distance, squared_norm
from ..models.gram import Gram
from ..models.kernels import Kernel

NEARLY_ALL = 1e-4  # 1 - w_j below which d_j / (1 - w_j) is mostly rounding
BLOCK_VALUES = 4_000_000  # distances held at once, 32 MB


@dataclass(frozen=True, eq=False)
class Center:
    r"""Draws of the centre :math:`a = \sum_j w_j \varphi(u_j)`.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    gram : Gram
        With the dictionary u_1..u_M and its matrix K.
    kernel : Kernel
    """

    weights: np.ndarray
    squared_norm: np.ndarray
    gram: Gram
    kernel: Kernel

    @classmethod
    def of(cls, weights: np.ndarray, gram: Gram, kernel: Kernel) -> Center:
        """Return the centre of ``weights``."""
        return cls(weights, squared_norm(weights, gram.K), gram, kernel)

    def blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield which rows make a block, and their distances d, (draws, rows in block)."""
        step = max(1, BLOCK_VALUES // max(self.weights.shape))
        for start in range(0, len(rows), step):
            block = slice(start, min(start + step, len(rows)))
            yield block, self._distance(rows[block])

    def distance(self, rows: np.ndarray) -> np.ndarray:
        """Return all distances d at once, shape (draws, rows)."""
        parts = [d for _, d in self.blocks(rows)]
        return np.concatenate(parts, axis=1)

    def _distance(self, rows: np.ndarray) -> np.ndarray:
        k_uz = self.kernel(rows, self.gram.points).T
        d2 = squared_distance(self.weights, self.squared_norm, k_uz, self.kernel.diag(rows))
        return np.sqrt(d2, out=d2)


def leave_one_out(d: np.ndarray, weights: np.ndarray, K: np.ndarray) -> np.ndarray:
    r"""Return the distance of each dictionary point from the centre without that point.

    The weights sum to one, and those left are scaled up to do so again:

    .. math::
        a_{-j} = \frac{a - w_j \varphi_j}{1 - w_j}, \qquad
        \|\varphi_j - a_{-j}\| = \frac{d_j}{1 - w_j},

    for negative weights of minority rows too. Where a point holds (nearly) all the weight, d_j
    has lost its digits, and the distance is taken from the weights that are left; where these
    sum to nothing, or less, there is no centre without the point, and it is infinitely far.

    Parameters
    ----------
    d : ndarray of shape (draws, M)
        Distances of the dictionary points.
    weights : ndarray of shape (draws, M)
        Of sum one.
    K : ndarray of shape (M, M)
    """
    rest = 1.0 - weights
    out = np.divide(d, rest, out=np.full_like(d, np.inf), where=rest > NEARLY_ALL)
    for draw, j in np.argwhere(np.abs(rest) <= NEARLY_ALL):
        left = weights[draw].copy()
        left[j] = 0.0
        if left.sum() > 0.0:
            left /= left.sum()
            out[draw, j] = np.sqrt(max(K[j, j] - 2.0 * K[j] @ left + left @ K @ left, 0.0))
    return out
