"""A kernel that the user writes as a function."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, override

import numpy as np

from .base import Kernel

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
