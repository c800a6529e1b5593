"""Gram statistics: what the likelihood and the priors take from the rows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from .kernels import Kernel
from .points import Points


@dataclass(frozen=True, eq=False)
class Gram:
    r"""Gram statistics of the rows: n0, T, r and K.

    .. math::
        T = \sum_i t_i k(x_i, x_i), \qquad r_g = \sum_i t_i k(u_g, x_i), \qquad
        K_{gh} = k(u_g, u_h)

    over majority rows :math:`x_i` of weight :math:`t_i` (of mean 1) and points
    :math:`u_1, \dots, u_M`, of which the last n1 are minority rows.

    Attributes
    ----------
    K : ndarray of shape (M, M)
    T : float
    diag : ndarray of shape (M,)
        The mean of k(x, x) over the rows of each point.
    sizes, effective : ndarray of shape (M,)
        The weight N_g of each point, and its number e_g of equal units.
    n1 : int
        The number of minority points.
    of_row : ndarray of int, shape (n,)
        The point of each training row; -1 for rows that are of none.
    """

    K: np.ndarray
    T: float
    diag: np.ndarray
    sizes: np.ndarray
    effective: np.ndarray
    n1: int
    of_row: np.ndarray

    @classmethod
    def of(cls, kernel: Kernel, Y: np.ndarray, points: Points) -> Self:
        """Return those of the points of members with coordinates Y (R, q)."""
        rows = points.rows(kernel, Y, Y, np.full(len(Y), -1))
        A = points.share.T * points.weights
        majority = points.majority
        K = A @ (rows.k * np.exp(rows.L)[:, None])
        T = float(points.weights[majority] @ rows.diag[majority])
        sizes = points.sizes
        effective = points.effective
        return cls(
            (K + K.T) / 2.0,
            T,
            A @ rows.diag,
            sizes,
            effective,
            points.n1,
            points.of_row,
        )

    @property
    def m(self) -> int:
        """The number of majority points."""
        return len(self.K) - self.n1

    @property
    def n0(self) -> float:
        """The weight of the majority, which is its number of rows."""
        return float(self.sizes[: self.m].sum())

    @property
    def units(self) -> float:
        """The effective number of units of the majority."""
        return float(self.effective[: self.m].sum())

    @property
    def minority_weights(self) -> np.ndarray:
        """The weight (n1,) of each minority row."""
        return self.sizes[self.m :]

    @cached_property
    def r(self) -> np.ndarray:
        """The sums of kernel values with the majority rows, (M,)."""
        return self.K[:, : self.m] @ self.sizes[: self.m]

    @cached_property
    def root(self) -> np.ndarray:
        """N_g / sqrt(e_g), (m,): how a point's weight varies if that of a unit varies by 1."""
        return (self.sizes / np.sqrt(self.effective))[: self.m]

    def squared_norm(self, w: np.ndarray) -> np.ndarray:
        r"""Return :math:`w^\top K w` of weights w (S, M), (S,)."""
        found: np.ndarray = np.vecdot(w @ self.K, w)
        return found

    def at_points(self, name: str, values: Any, minority: bool = False) -> np.ndarray:
        """Return values of training rows, (n,) or (n, n), at the points of a class.

        Raises
        ------
        ValueError
            There is not one value for each training row, or rows of one point differ.
        """
        v = np.asarray(values, dtype=float)
        if not v.ndim:
            return np.full(self.n1 if minority else self.m, float(v))
        if v.shape != (len(self.of_row),) * v.ndim:
            raise ValueError(
                f"{name} must be a number or have one value for each of the "
                f"{len(self.of_row)} training rows, got shape {v.shape}"
            )
        points = np.arange(self.m, len(self.K)) if minority else np.arange(self.m)
        first = np.array(
            [np.flatnonzero(self.of_row == g)[0] for g in points], dtype=int
        )
        known = np.flatnonzero(np.isin(self.of_row, points))
        at = first[self.of_row[known] - points[0]] if len(points) else first
        if not np.array_equal(v[np.ix_(*[known] * v.ndim)], v[np.ix_(*[at] * v.ndim)]):
            raise ValueError(
                f"{name}: rows of one point have different values; equal rows are one "
                f"point, and so are similar rows where there are many: {len(known)} "
                f"rows are {len(points)} points. Give such rows one value, or keep "
                "each row a point by dictionary='all'"
            )
        return v[np.ix_(*[first] * v.ndim)]
