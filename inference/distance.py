"""Rules: draws of a weighted sum in kernel space, and one number for each draw and row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import override

import numpy as np

from ..models.geometry import squared_distance, squared_norm
from ..models.gram import Gram
from ..models.kernels import Kernel

NEARLY_ALL = 1e-4  # share of the weight left below which differences are mostly rounding
BLOCK_VALUES = 4_000_000  # values held at once, 32 MB


@dataclass(frozen=True, eq=False)
class Expansion:
    r"""Draws of :math:`a = \sum_j w_j \varphi(u_j)`, and what a cutoff is compared with.

    Attributes
    ----------
    weights : ndarray of shape (draws, M)
    gram : Gram
        With the dictionary u_1..u_M.
    kernel : Kernel
    """

    weights: np.ndarray
    gram: Gram
    kernel: Kernel

    def blocks(self, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield which rows make a block, and their values, (draws, rows in block)."""
        step = max(1, BLOCK_VALUES // max(self.weights.shape))
        for start in range(0, len(rows), step):
            block = slice(start, min(start + step, len(rows)))
            yield block, self._values(rows[block])

    def values(self, rows: np.ndarray) -> np.ndarray:
        """Return all values at once, shape (draws, rows); larger is more abnormal."""
        out = np.empty((len(self.weights), len(rows)))
        for block, values in self.blocks(rows):
            out[:, block] = values
        return out

    def _values(self, rows: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Center(Expansion):
    """Draws of the centre a of a description; the value of a row is its distance d_z.

    Attributes
    ----------
    squared_norm : ndarray of shape (draws,)
        w'Kw.
    """

    squared_norm: np.ndarray

    @classmethod
    def of(cls, weights: np.ndarray, gram: Gram, kernel: Kernel) -> Center:
        """Return the centre of ``weights``."""
        return cls(weights, gram, kernel, squared_norm(weights, gram.K))

    @override
    def _values(self, rows: np.ndarray) -> np.ndarray:
        k_uz = self.kernel(rows, self.gram.points).T
        d2 = squared_distance(self.weights, self.squared_norm, k_uz, self.kernel.diag(rows))
        return np.sqrt(d2, out=d2)


@dataclass(frozen=True, eq=False)
class Hyperplane(Expansion):
    r"""A separating hyperplane; the value of a row is :math:`-f(z)`.

    .. math:: f(z) = \sum_j w_j k(u_j, z) + b, \qquad f > 0 \text{ on the majority's side}

    Attributes
    ----------
    offset : ndarray of shape (draws,)
        b.
    """

    offset: np.ndarray

    @override
    def _values(self, rows: np.ndarray) -> np.ndarray:
        return -(self.weights @ self.kernel(rows, self.gram.points).T) - self.offset[:, None]


def leave_one_out(weights: np.ndarray, K: np.ndarray, n1: int = 0) -> np.ndarray:
    r"""Return the distance of each dictionary point from the centre without that point.

    The weights sum to one, and those of the majority that are left are scaled so that they do
    so again. Without minority points that is

    .. math::
        a_{-j} = \frac{a - w_j \varphi_j}{1 - w_j}, \qquad
        \|\varphi_j - a_{-j}\| = \frac{d_j}{1 - w_j}.

    With them, :math:`a = A - B`, of the majority points with weights :math:`\alpha_0`, which sum
    to s, and of the minority points with weights :math:`\alpha_1`. A majority point leaves A
    only, whose other weights grow by c = s/(s - \alpha_{0j}); a minority point leaves B, and A
    shrinks by c = (s - \alpha_{1j})/s:

    .. math::
        \|\varphi_j - a_{-j}\|^2 = \|g \varphi_j - c A + B\|^2, \qquad
        g = 1 + c\,\alpha_{0j} \text{ or } 1 - \alpha_{1j}.

    Parameters
    ----------
    weights : ndarray of shape (draws, M)
        Of sum one; the last n1 of them are :math:`-\alpha_1`.
    K : ndarray of shape (M, M)
    n1 : int, default=0

    Returns
    -------
    ndarray of shape (draws, M)
        Infinite for a point that holds all of the majority's weight: there is no centre
        without it.
    """
    m = weights.shape[1] - n1
    alpha0, alpha1 = weights[:, :m], -weights[:, m:]
    s = alpha0.sum(axis=1, keepdims=True)
    rest = s - alpha0
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.concatenate([s / rest, (s - alpha1) / s], axis=1)
        g = np.concatenate([1.0 + s / rest * alpha0, 1.0 - alpha1], axis=1)
        A, B = alpha0 @ K[:m], alpha1 @ K[m:]  # products with each point
        AA = (alpha0 * A[:, :m]).sum(axis=1, keepdims=True)
        AB = (alpha1 * A[:, m:]).sum(axis=1, keepdims=True)
        BB = (alpha1 * B[:, m:]).sum(axis=1, keepdims=True)
        d2 = g**2 * np.diag(K) + c**2 * AA + BB - 2 * g * c * A + 2 * g * B - 2 * c * AB
    # where a point holds nearly all the weight the sum above has lost its digits
    for draw, j in np.argwhere(rest <= NEARLY_ALL * s):
        left = weights[draw].copy()
        left[j] = 0.0
        total = left[:m].sum()
        d2[draw, j] = np.inf
        if total > 0.0:
            left[:m] *= s[draw, 0] / total
            d2[draw, j] = K[j, j] - 2.0 * K[j] @ left + left @ K @ left
    return np.sqrt(np.maximum(d2, 0.0))
