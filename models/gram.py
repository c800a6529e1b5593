"""Gram statistics, the sufficient statistics of a kernel likelihood: n0, T, r and K."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy

from .kernels import Kernel

BLOCK = 4096  # rows per block of a product K @ w


@dataclass(frozen=True, eq=False)
class Sums:
    r"""The sums over a block of majority rows; ``+`` gives the sums over both blocks.

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
        """Return the sums over one block of rows, with the dictionary ``points``."""
        return cls(len(rows), float(kernel.diag(rows).sum()), kernel.summed(rows, points))

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.n + other.n, self.T + other.T, self.r + other.r)


@dataclass(frozen=True, eq=False)
class Gram:
    r"""Gram statistics of the rows: n0, T, r and K.

    .. math::
        T = \sum_{i \le n_0} k(x_i, x_i), \qquad r_j = \sum_{i \le n_0} k(u_j, x_i), \qquad
        K_{jl} = k(u_j, u_l)

    with :math:`x_i` the majority rows and :math:`u_1, \dots, u_M` the dictionary. If a model
    learns from minority rows, they are the last n1 points of the dictionary. r, T and n0 are
    sums over rows, so one pass over blocks of rows computes them for any number of rows.

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
        The resolved kernel of K, r and T.
    n1 : int
        Number of minority rows, the last points of the dictionary.
    index_in_full_fit : ndarray of int or None
        In a fold, the indices of its majority points among those of the whole fit.
    minority_index_in_full_fit : ndarray of int or None
        In a fold, the indices of its minority points among those of the whole fit.
    unlabelled : ndarray of shape (u, p) or None
        Rows without a label; no statistic has them, but a prior may.
    """

    K: np.ndarray
    r: np.ndarray
    T: float
    n0: int
    points: np.ndarray
    kernel: Kernel
    n1: int = 0
    index_in_full_fit: np.ndarray | None = None
    minority_index_in_full_fit: np.ndarray | None = None
    unlabelled: np.ndarray | None = None

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

    @cached_property
    def K_left_out(self) -> np.ndarray:
        """K with rows of majority points that leave what the kernel has learned from them."""
        kernel, m = self.kernel.leaving_out, self.n_majority_points
        if kernel is self.kernel:
            return self.K
        return np.concatenate([kernel(self.points[:m], self.points), self.K[m:]])

    @property
    def n_points(self) -> int:
        """M, the number of dictionary points."""
        return len(self.r)

    @property
    def largest(self) -> float:
        """The largest absolute value in K; it is on the diagonal, as K is semi-definite."""
        return float(np.diag(self.K).max())

    @property
    def rounding(self) -> float:
        r"""Rounding error of a value of K w if sum w = 1: :math:`M \epsilon \max_{jl} |K_{jl}|`."""
        return float(np.finfo(float).eps * self.n_points * self.largest)

    @property
    def n_majority_points(self) -> int:
        """Number of majority points, the first points of the dictionary."""
        return len(self.r) - self.n1

    @property
    def coords(self) -> dict[str, range]:
        """The coordinates of a PyMC model: all points, majority points and minority points."""
        counts = {"point": self.n_points, "majority": self.n_majority_points, "minority": self.n1}
        return {name: range(n) for name, n in counts.items()}

    @classmethod
    def from_rows(
        cls,
        kernel: Kernel,
        majority: np.ndarray,
        minority: np.ndarray | None = None,
        dictionary: np.ndarray | None = None,
    ) -> Gram:
        """Return the statistics of the rows.

        Parameters
        ----------
        kernel : Kernel
            Resolved.
        majority : ndarray of shape (n0, p)
        minority : ndarray of shape (n1, p), optional
            Rows that join the dictionary as its last points.
        dictionary : ndarray of shape (M - n1, p), optional
            The majority points u_j; by default the majority rows.
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
        """Return the statistics from sums over blocks of rows.

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

        For so many rows that K does not fit in memory; the operator computes products K @ w only.
        """
        points = np.concatenate([majority, minority])
        product = functools.partial(_product, kernel, points)
        shape = (len(points), len(points))
        K = scipy.sparse.linalg.LinearOperator(shape, matvec=product, dtype=float)
        is_majority = (np.arange(len(points)) < len(majority)).astype(float)
        T = float(kernel.diag(majority).sum())
        return cls(K, K @ is_majority, T, len(majority), points, kernel, len(minority))


def squared_norm(w: np.ndarray, K: np.ndarray) -> np.ndarray:
    r"""Return :math:`\|a\|^2 = w^\top K w`, shape (..., M) -> (...)."""
    return np.einsum("...j,...j->...", w @ K, w)


def _product(kernel: Kernel, points: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return K w without K."""
    if kernel.euclidean:
        inputs = kernel.inputs(points)
        return inputs @ (inputs.T @ w)
    blocks = (points[start : start + BLOCK] for start in range(0, len(points), BLOCK))
    return np.concatenate([kernel(rows, points) @ w for rows in blocks])
