r"""Coordinates in which a curvature is nearly the identity.

With :math:`S^2` the diagonal of the curvature H,

.. math:: S^{-1} H S^{-1} = I + V \,\mathrm{diag}(e)\, V^\top + \text{a rest}

has few eigenvalues that are far from 1: each weight has its own prior, and the likelihood ties them
by a smooth kernel. The coordinates y of x, around the centre :math:`\hat x`,

.. math:: x = \hat x + S^{-1} \left(I + V\, \mathrm{diag}((1 + e)^{-1/2} - 1)\, V^\top\right) y,

keep the rest, which is small. With r columns in V they take O(nr) for each vector; a triangular
factor of H takes O(n\ :sup:`2`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackError, eigsh

REST = 0.1  # largest eigenvalue of the rest
DIRECTIONS = 16  # if they leave a larger rest, there are as many as parameters
FEW = 64  # parameters, whose directions are all kept
ACCURACY = 0.1  # of these eigenvalues, relative; their errors are a part of the rest


@dataclass(frozen=True, eq=False)
class Whitening:
    """The map between parameters x and coordinates y; vectors are rows of a batch (S, n).

    Attributes
    ----------
    center, scale : ndarray of shape (n,)
        The scale is the diagonal of 1/S.
    directions : ndarray of shape (r, n)
        Orthonormal rows, those of V'.
    shrinkage : ndarray of shape (r,)
        (1 + e)^(-1/2) - 1.
    """

    center: np.ndarray
    scale: np.ndarray
    directions: np.ndarray
    shrinkage: np.ndarray

    @classmethod
    def of(cls, center: np.ndarray, curvature: np.ndarray) -> Self:
        """Return the coordinates around ``center`` in which ``curvature`` is nearly identity."""
        n, scale = len(center), 1.0 / np.sqrt(np.diag(curvature))
        deviation = scale[:, None] * curvature * scale - np.eye(n)
        e, V = _few_eigenvectors(deviation) if n > FEW else eigh(deviation)
        if len(e) < n and np.abs(e).min() > REST:
            e, V = eigh(deviation)
        return cls(center, scale, np.ascontiguousarray(V.T), 1.0 / np.sqrt(1.0 + e) - 1.0)

    def _times(self, factor: np.ndarray, vectors: np.ndarray) -> np.ndarray:
        """Return the products of I + V diag(factor) V' with vectors."""
        along = vectors @ self.directions.T
        along *= factor
        products: np.ndarray = along @ self.directions
        products += vectors
        return products

    def parameters(self, y: np.ndarray) -> np.ndarray:
        """Return x."""
        x = self._times(self.shrinkage, y)
        x *= self.scale
        x += self.center
        return x

    def coordinates(self, x: np.ndarray) -> np.ndarray:
        """Return y."""
        stretch = 1.0 / (1.0 + self.shrinkage) - 1.0
        return self._times(stretch, (x - self.center) / self.scale)

    def gradient(self, by_x: np.ndarray) -> np.ndarray:
        """Return derivatives by y from those by x."""
        return self._times(self.shrinkage, by_x * self.scale)


def _few_eigenvectors(deviation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the ``DIRECTIONS`` largest eigenvalues, in size, and their eigenvectors; or all."""
    start = np.ones(len(deviation))  # else ARPACK draws one
    try:
        e, V = eigsh(deviation, DIRECTIONS, tol=ACCURACY, v0=start)
    except ArpackError:  # the start is an eigenvector of 0, such as that of a zero matrix
        e, V = eigh(deviation)
    return e, V
