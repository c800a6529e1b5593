"""Kernels of another kernel that sees other columns; of standardised columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, override

import numpy as np

from .base import Kernel
from .callable import as_kernel
from .distance import RBF


@dataclass(frozen=True)
class Wrapper(Kernel):
    """A kernel that calls another kernel with other columns, those of ``columns``."""

    kernel: Kernel | Callable[..., Any]

    def __post_init__(self) -> None:
        kernel = as_kernel(self.kernel)
        if kernel.pairwise:
            raise ValueError(
                f"{type(self).__name__} needs rows; a precomputed kernel has no columns"
            )
        vars(self).update(kernel=kernel, normalized=kernel.normalized, separable=kernel.separable)

    @property
    def _inner(self) -> Kernel:
        return as_kernel(self.kernel)

    def columns(self, X: np.ndarray) -> np.ndarray:
        """Return the rows as the inner kernel sees them."""
        raise NotImplementedError

    def _first(self, X: np.ndarray) -> np.ndarray:
        """Return the rows x of k(x, y) as the inner kernel sees them."""
        return self.columns(X)

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        return self._inner.inputs(self._first(X))

    @override
    def log(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._inner.log(self._first(X), self.columns(Y))

    @override
    def by_column(self, X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        return self._inner.by_column(self._first(X), self.columns(Y))

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._inner._matrix(self._first(X), self.columns(Y))

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        return self._inner._symmetric(self.columns(X))

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self._inner._diag(self.columns(X))


@dataclass(frozen=True)
class Standardized(Wrapper):
    r"""A kernel of standardised columns, :math:`k((x - \mu) / \sigma, (y - \mu) / \sigma)`.

    The mean and the standard deviation are those of the majority rows, and they are saved with
    the kernel. A constant column is only centred.

    Parameters
    ----------
    kernel : Kernel or callable, default=RBF()
        Its bandwidth is in units of standard deviations.
    mean, scale : tuple of float, optional
        Set by :meth:`~bsvdd.kernels.Kernel.resolve`.

    Raises
    ------
    ValueError
        The kernel is precomputed, so there are no columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> rows = np.array([[0.0, 100.0], [2.0, 300.0], [4.0, 500.0]])
    >>> kernel = kernels.Standardized(kernels.RBF(bandwidth=1.0)).resolve(rows)
    >>> kernel(rows[:1], rows[1:2]).round(4)
    array([[0.2231]])
    """

    kernel: Kernel | Callable[..., Any] = RBF()
    mean: tuple[float, ...] | None = None
    scale: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._inner.takes_categories:
            raise ValueError(
                f"Standardized would scale the numbers of categories of {self.kernel!r}, which "
                "standardises its columns of numbers itself"
            )
        vars(self)["euclidean"] = self._inner.euclidean

    @override
    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Self:
        from sklearn.preprocessing import StandardScaler

        scaler = StandardScaler().fit(X)
        kernel = self._inner.resolve(scaler.transform(X), dimensions)
        mean, scale = tuple(scaler.mean_.tolist()), tuple(scaler.scale_.tolist())
        return replace(self, kernel=kernel, mean=mean, scale=scale)

    @override
    def columns(self, X: np.ndarray) -> np.ndarray:
        if self.mean is None:
            raise ValueError("Standardized has no mean and scale yet; call kernel.resolve(X) first")
        return (X - np.array(self.mean, X.dtype)) / np.array(self.scale, X.dtype)

    @override
    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._inner.summed(self.columns(X), self.columns(Y.astype(X.dtype)))

    def __repr__(self) -> str:
        return f"Standardized({self.kernel!r})"
