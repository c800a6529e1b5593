"""A kernel matrix that the user computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self, override

import numpy as np
import scipy

from .base import Kernel, as_table, is_number


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel matrix that the user computes; an estimator receives rows of kernel values.

    ``fit`` takes the square matrix K (n, n) of the training rows. Scoring takes for each
    new row z the values k(z, x_1), ..., k(z, x_n) **and**, as the last column, k(z, z), which
    the distance d_z needs. If k(z, z) is the same number for every z, give it as ``diagonal``
    and omit the column.

    Parameters
    ----------
    diagonal : float, optional
        k(z, z), when it is the same for every z (1 for a normalised kernel).

    Raises
    ------
    ValueError
        In ``fit``, K is not square, symmetric and positive semi-definite; in scoring, the rows
        have another number of columns.

    Notes
    -----
    Internally a row is [k(z, x_1), ..., k(z, x_n), k(z, z), position], with its position among
    the training rows (-1 for a new row). So a fold or a dictionary is a subset of rows, as for
    any other kernel.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> Z = np.array([[0.0, 0.0], [9.0, 9.0]])
    >>> rbf = kernels.RBF(bandwidth=1.5)
    >>> est = SVDD(kernel=kernels.Precomputed(diagonal=1.0)).fit(rbf(X))
    >>> est.predict(rbf(Z, X))
    array([ 1, -1])
    """

    diagonal: float | None = None
    pairwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        diagonal: Any = self.diagonal
        if diagonal is not None and not (is_number(diagonal) and 0 <= diagonal < np.inf):
            raise ValueError(
                f"diagonal must be None or a number of at least 0, got {self.diagonal!r}"
            )

    @override
    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Self:
        return self  # training_rows has checked the whole matrix

    @override
    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of the square matrix X with their diagonal and their position."""
        K = as_table("X", X)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"a precomputed kernel is fitted on a square matrix, got {K.shape}")
        if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max()):
            i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
            raise ValueError(
                f"a precomputed kernel must be symmetric, but K[{i}, {j}] = {K[i, j]:.6g} "
                f"and K[{j}, {i}] = {K[j, i]:.6g}"
            )
        smallest = scipy.linalg.eigvalsh(K, subset_by_index=(0, 0))[0]
        if smallest < -1e-8 * np.abs(K).max() * len(K):
            raise ValueError(
                "a precomputed kernel must be positive semi-definite, but its smallest eigenvalue "
                f"is {smallest:.6g}; add at least {-smallest:.3g} to the diagonal"
            )
        return np.column_stack([K, np.diag(K), np.arange(len(K))])

    @override
    def new_rows(self, Z: np.ndarray, n_rows: int) -> np.ndarray:
        """Return the rows Z (q, n_rows + 1), last column k(z, z), with position -1."""
        Z = as_table("Z", Z)
        if self.diagonal is not None and Z.shape[1] == n_rows:
            Z = np.column_stack([Z, np.full(len(Z), float(self.diagonal))])
        if Z.shape[1] != n_rows + 1:
            raise ValueError(
                f"a precomputed kernel scores rows of {n_rows + 1} columns, k(z, x_1) to "
                f"k(z, x_{n_rows}) and then k(z, z), got {Z.shape[1]} columns; if k(z, z) is "
                "the same for every z, use Precomputed(diagonal=...)"
            )
        return np.column_stack([Z, np.full(len(Z), -1.0)])

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        raise ValueError(
            "a precomputed kernel has no columns, which density weights need; use a kernel of rows "
            "such as kernels.RBF"
        )

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return X[:, Y[:, -1].astype(int)]

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return X[:, -2]
