"""Gram statistics: all that a kernel likelihood needs to know of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator

from .kernels import Kernel

BLOCK = 4096  # rows of a product K @ w whose kernel values are held at once


@dataclass(frozen=True, eq=False)
class Sums:
    r"""What a block of majority rows adds to the Gram statistics; blocks add up by ``+``.

    Attributes
    ----------
    n : int
        Number of rows.
    T : float
        :math:`\sum_i k(x_i, x_i)`.
    r : ndarray of shape (M,)
        :math:`\sum_i k(u_j, x_i)`.
    """

    n: int
    T: float
    r: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, rows: np.ndarray, points: np.ndarray) -> Sums:
        """Return the sums of one block of rows with the dictionary ``points``."""
        return cls(len(rows), float(kernel.diag(rows).sum()), kernel.summed(rows, points))

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.n + other.n, self.T + other.T, self.r + other.r)


@dataclass(frozen=True, eq=False)
class Gram:
    r"""The rows as the likelihood sees them: n0, T, r and K.

    .. math::
        T = \sum_{i \le n_0} k(x_i, x_i), \qquad r_j = \sum_{i \le n_0} k(u_j, x_i), \qquad
        K_{jl} = k(u_j, u_l)

    with :math:`x_i` the majority rows and :math:`u_1, \dots, u_M` the dictionary, whose last n1
    points are minority rows where a model learns from them. r, T and n0 are sums over rows, so
    they can be collected in one pass over blocks of rows, however many there are.

    Attributes
    ----------
    K : ndarray of shape (M, M)
    r : ndarray of shape (M,)
    T : float
    n0 : int
        Number of majority rows.
    points : ndarray of shape (M, p)
        The dictionary.
    kernel : Kernel
        That K, r and T are of, resolved.
    n1 : int
        Number of minority rows, the last points of the dictionary.
    place : ndarray of int or None
        In a fold, which of the whole fit's majority points its majority points are.
    minority_place : ndarray of int or None
        In a fold, which of the whole fit's minority points its minority points are.
    """

    K: np.ndarray
    r: np.ndarray
    T: float
    n0: int
    points: np.ndarray
    kernel: Kernel
    n1: int = 0
    place: np.ndarray | None = None
    minority_place: np.ndarray | None = None

    def __post_init__(self) -> None:
        M = len(self.r)
        if self.K.shape != (M, M):
            raise ValueError(f"K must have shape {(M, M)} as r has {M} values, got {self.K.shape}")
        if not 0 <= self.n1 < M:
            raise ValueError(f"n1 must lie between 0 and {M - 1}, got {self.n1}")
        if len(self.points) != M:
            raise ValueError(
                f"points must have {M} rows as r has {M} values, got {len(self.points)}"
            )
        if self.n0 < 1:
            raise ValueError(f"n0 must be at least 1, got {self.n0}")

    @property
    def n_points(self) -> int:
        """M, the number of dictionary points."""
        return len(self.r)

    @property
    def largest(self) -> float:
        """The largest absolute value in K: one of its diagonal, as K is semi-definite."""
        return float(np.diag(self.K).max())

    @property
    def rounding(self) -> float:
        """Of a value of K w, for weights of sum one: M eps times the largest absolute K."""
        return float(np.finfo(float).eps * self.n_points * self.largest)

    @property
    def n_majority_points(self) -> int:
        """Number of dictionary points that stand for the majority, the first ones."""
        return len(self.r) - self.n1

    @classmethod
    def from_rows(
        cls,
        kernel: Kernel,
        majority: np.ndarray,
        minority: np.ndarray | None = None,
        dictionary: np.ndarray | None = None,
    ) -> Gram:
        """Collect the statistics.

        Parameters
        ----------
        kernel : Kernel
            Resolved, so that it can be evaluated.
        majority : ndarray of shape (n0, p)
        minority : ndarray of shape (n1, p), optional
            Rows that join the dictionary as its last points.
        dictionary : ndarray of shape (M - n1, p), optional
            Points u_j for the majority; the majority rows themselves when left out.
        """
        minority = majority[:0] if minority is None else minority
        points = majority if dictionary is None else dictionary
        if len(minority):
            points = np.concatenate([points, minority])
        if dictionary is not None:
            return cls.from_sums(kernel, Sums.of(kernel, majority, points), points, len(minority))
        K = kernel(points)
        T = float(kernel.diag(majority).sum())
        r = K[:, : len(majority)].sum(axis=1)
        return cls(K, r, T, len(majority), points, kernel, len(minority))

    @classmethod
    def from_sums(cls, kernel: Kernel, sums: Sums, points: np.ndarray, n1: int = 0) -> Gram:
        """Return the statistics of rows that were summed in blocks.

        Parameters
        ----------
        kernel : Kernel
        sums : Sums
            Of all majority rows, with ``points``.
        points : ndarray of shape (M, p)
            The dictionary, minority points last.
        n1 : int, default=0
        """
        return cls(kernel(points), sums.r, sums.T, sums.n, points, kernel, n1)

    @classmethod
    def matrix_free(cls, kernel: Kernel, majority: np.ndarray, minority: np.ndarray) -> Gram:
        """Return the statistics with K as an operator that evaluates the kernel in blocks.

        For sizes at which n^2 numbers do not fit; only products K @ w can be taken.
        """
        points = np.concatenate([majority, minority])

        def product(w: np.ndarray) -> np.ndarray:
            return np.concatenate([kernel(rows, points) @ w for rows in _blocks(points)])

        K = LinearOperator((len(points), len(points)), matvec=product, dtype=float)
        is_majority = (np.arange(len(points)) < len(majority)).astype(float)
        T = float(kernel.diag(majority).sum())
        return cls(K, K @ is_majority, T, len(majority), points, kernel, len(minority))


def _blocks(rows: np.ndarray) -> Iterator[np.ndarray]:
    for start in range(0, len(rows), BLOCK):
        yield rows[start : start + BLOCK]
