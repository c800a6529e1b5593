"""Kernels made of something else: of a user's function, or of a kernel that sees other columns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self, override

import numpy as np

from .base import Kernel
from .distance import RBF

BLOCK = 256  # rows per block of the diagonal
_one_thread = threading.RLock()  # a compiled function, for example, can be for one thread only


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's function of two sets of rows that returns the matrix k(x_i, y_j).

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` with X (n, p) and Y (m, p) returns shape (n, m). It must be symmetric,
        a function of two rows alone, and positive semi-definite. Two threads never call it at the
        same time.

    Raises
    ------
    ValueError
        In a call, the values have another shape, are complex or are not finite; in ``fit``, the
        function is no kernel on a sample of 100 training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD
    >>> def cosine(X, Y):
    ...     return (X @ Y.T) / np.outer(np.linalg.norm(X, axis=1), np.linalg.norm(Y, axis=1))
    >>> X = np.random.default_rng(0).normal(5.0, 1.0, size=(50, 2))
    >>> est = SVDD(kernel=cosine).fit(X)
    >>> est.kernel_
    Custom(function=cosine)
    >>> est.predict([[5.0, 5.0], [-5.0, 5.0]])
    array([ 1, -1])
    """

    function: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __repr__(self) -> str:
        name = getattr(self.function, "__qualname__", repr(self.function))  # without an address
        return f"Custom(function={name})"

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        with _one_thread:
            return self.function(X, Y)

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        blocks = [X[i : i + BLOCK] for i in range(0, len(X), BLOCK)]
        return np.concatenate([np.diag(self._matrix(block, block)) for block in blocks])


def as_kernel(kernel: Kernel | Callable[..., Any]) -> Kernel:
    """Return ``kernel`` as a :class:`Kernel`; a plain function becomes :class:`Custom`."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type):
        raise TypeError(f"kernel is the class {kernel.__name__}; make one: {kernel.__name__}()")
    if callable(kernel):
        return Custom(kernel)
    raise TypeError(
        f"kernel must be a kernel such as kernels.RBF() or a function of two arrays, got {kernel!r}"
    )


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
