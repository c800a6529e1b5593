"""The base class of all kernels: checks of shapes, symmetry and sums over rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

BLOCK_VALUES = 2**17  # kernel values per block of a sum: 1 MB, which stays in the cache


@dataclass(frozen=True)
class Kernel:
    """A positive semi-definite function of two rows, the base class of all kernels.

    A subclass computes the matrix in ``_matrix`` and its diagonal in ``_diag``. This class
    checks the shapes and the values for all of them.
    """

    pairwise: ClassVar[bool] = False  # True where the rows of X hold kernel values already

    @property
    def normalized(self) -> bool:
        """Whether k(x, x) = 1 and k >= 0, with the logarithm in :meth:`log`."""
        return False

    def resolve(self, X: np.ndarray) -> Self:
        """Return the kernel with its bandwidth, mean and scale estimated from majority rows X."""
        return self

    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Return training rows in the form that the kernel is called with."""
        return X

    def new_rows(self, Z: np.ndarray, n_rows: int) -> np.ndarray:
        """Return new rows in that form; ``n_rows`` is the number of training rows."""
        return Z

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Return the rows in the coordinates in which distances between them are measured."""
        return X

    @np.errstate(over="ignore", invalid="ignore")  # values that are not finite raise an error
    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Return k(x_i, y_j), shape (n, m); ``Y=None`` means Y = X.

        Raises
        ------
        ValueError
            X and Y are not tables with the same number of columns, or a value is not finite.
        """
        X = as_table("X", X)
        if Y is None:
            return self._check_values(self._symmetric(X), (len(X), len(X)))
        Y = as_table("Y", Y)
        self._check_columns(X, Y)
        return self._check_values(self._matrix(X, Y), (len(X), len(Y)))

    def log(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log k(x_i, y_j), shape (n, m), also where k underflows to 0.

        Raises
        ------
        NotImplementedError
            The kernel is not :attr:`normalized`.
        """
        raise NotImplementedError(f"{self!r} has no logarithm")

    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return sum_i k(x_i, y_j), shape (m,), without holding the whole matrix."""
        total = np.zeros(len(Y))
        for rows in self._blocks(X, Y):
            total += self(rows, Y).sum(axis=0)
        return total

    @staticmethod
    def _blocks(X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        step = max(1, BLOCK_VALUES // len(Y))
        for start in range(0, len(X), step):
            yield X[start : start + step]

    @np.errstate(over="ignore", invalid="ignore")
    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return k(x_i, x_i), shape (n,)."""
        X = as_table("X", X)
        return self._check_values(self._diag(X), (len(X),))

    def _check_columns(self, X: np.ndarray, Y: np.ndarray) -> None:
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}"
            )

    def _check_values(self, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        values = np.asarray(values, dtype=float)
        if values.shape != shape:
            raise ValueError(
                f"kernel {self!r} must return shape {shape}, but returned {values.shape}"
            )
        total = values.sum()  # a finite sum needs no check of each value
        if not np.isfinite(total) and not np.isfinite(values).all():
            raise ValueError(f"kernel {self!r} returned values that are not finite")
        return values

    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        """Return the exactly symmetric matrix k(x_i, x_j)."""
        K = self._matrix(X, X)
        return (K + K.T) / 2.0  # a BLAS product is symmetric only up to rounding

    def _diag(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError


def as_table(name: str, X: Any) -> np.ndarray:
    """Return ``X`` as a float array of two dimensions; ``name`` is its name in the error."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"{name} must be a table (rows, columns), got {X.ndim} dimension(s)")
    return X
