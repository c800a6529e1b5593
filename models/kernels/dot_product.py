"""Kernels of the dot product of two rows: Linear and Polynomial."""

from __future__ import annotations

from dataclasses import dataclass
from typing import override

import numpy as np

from .base import Kernel, is_number


@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel, :math:`k(x, y) = x^\top y`.

    The centre is a point of the input space, and d_z is in the units of the columns.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    euclidean = True

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return X @ Y.T

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return (X * X).sum(axis=1)


@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""Polynomial kernel, :math:`k(x, y) = (\gamma\, x^\top y + c)^q`.

    Parameters
    ----------
    degree : int, default=2
        q.
    gamma : float, default=1
    coef0 : float, default=1
        c, at least 0 so that the kernel is positive semi-definite.

    Raises
    ------
    ValueError
        The degree is not a whole number of at least 1, gamma is not positive, or c is negative.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])
    array([[144.]])
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        whole = is_number(self.degree) and 1 <= self.degree < np.inf
        if not whole or int(self.degree) != self.degree:
            raise ValueError(f"degree must be a whole number of at least 1, got {self.degree!r}")
        if not (is_number(self.gamma) and 0 < self.gamma < np.inf):
            raise ValueError(f"gamma must be positive and finite, got {self.gamma!r}")
        if not (is_number(self.coef0) and 0 <= self.coef0 < np.inf):
            raise ValueError(f"coef0 must be at least 0 and finite, got {self.coef0!r}")

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return (self.gamma * (X @ Y.T) + self.coef0) ** self.degree

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return (self.gamma * (X * X).sum(axis=1) + self.coef0) ** self.degree
