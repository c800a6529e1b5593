"""The base class of all kernels, and those of a function and of another kernel."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from numbers import Real
from sys import float_info
from typing import Any, ClassVar, Self, override

import numpy as np
import scipy

BLOCK_VALUES = 2**18  # kernel values per block of a sum: 2 MB, which stays in the cache
BLOCK = 256  # rows per block of the diagonal of a function
SAMPLE = 100  # rows on which a kernel is checked
LARGEST = float_info.max
SMALLEST = 1e-100  # its square and the inverse of its square are finite
_one_thread = threading.RLock()  # a compiled function, for example, can be for one thread only


@dataclass(frozen=True)
class Kernel:
    """A positive semi-definite function of two rows, the base class of all kernels.

    A subclass computes the matrix in ``_matrix``, and its diagonal in ``_diag`` if it is not
    ``normalized``. This class checks the shapes and the values for all of them.

    Attributes
    ----------
    pairwise : bool
        Whether the rows of X hold kernel values already.
    takes_categories : bool
        Whether columns can be categories, see :class:`~bsvdd.kernels.Tabular`.
    normalized : bool
        Whether k(x, x) = 1 and k >= 0, with the logarithm in :meth:`log`.
    separable : bool
        Whether k(x, y) is a product of one function for each column, see :meth:`by_column`.
    adjusts : bool
        Whether these functions are of a column that is adjusted for the other columns.
    euclidean : bool
        Whether k(x, y) is the dot product of :meth:`inputs` of x and y.
    """

    pairwise: ClassVar[bool] = False
    takes_categories: ClassVar[bool] = False
    # class attributes, not fields: Wrapper takes them from its inner kernel
    normalized = False
    separable = False
    euclidean = False
    fills_gaps = False  # whether rows may have gaps, which are filled before the kernel sees them

    @property
    def adjusts(self) -> bool:
        """Whether the terms of :meth:`by_column` are of columns adjusted for each other."""
        return False

    @property
    def categorical_columns(self) -> tuple[int, ...]:
        """Positions of the columns of categories, whose numbers only name them."""
        return ()

    @property
    def leaving_out(self) -> Kernel:
        """The kernel k(x, y) of a row x, one of those of ``resolve``, that is left out of it.

        It is not symmetric: x is seen as if the coordinates of ``inputs`` were learned without it,
        and y as always. A kernel that learns little from one row returns itself.
        """
        return self

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name, as scikit-learn's estimators do.

        With ``deep``, those of an inner kernel too: ``kernel__bandwidth``.
        """
        params = {each.name: getattr(self, each.name) for each in fields(self)}
        if deep:
            for name, value in list(params.items()):
                if isinstance(value, Kernel):
                    params |= {f"{name}__{inner}": v for inner, v in value.get_params().items()}
        return params

    def with_params(self, **params: Any) -> Self:
        """Return the kernel with other parameters, by the names of :meth:`get_params`.

        Raises
        ------
        ValueError
            There is no parameter of that name.
        """
        unknown = [name for name in params if name not in self.get_params()]
        if unknown:
            raise ValueError(
                f"{unknown[0]!r} is no parameter of {self!r}, which has "
                f"{', '.join(self.get_params())}"
            )
        new = replace(self, **{k: value for k, value in params.items() if "__" not in k})
        for name, value in params.items():
            field, _, inner = name.partition("__")
            if inner:
                changed = getattr(new, field).with_params(**{inner: value})
                new = replace(new, **{field: changed})
        return new

    def __sklearn_clone__(self) -> Self:
        return copy.deepcopy(self)  # a user's function may have a state

    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Self:
        """Return the kernel with its bandwidth, mean and scale estimated from majority rows X.

        ``dimensions`` is the number of columns that a density counts: by default those of X that
        vary, and fewer if several columns of X are made from one.

        Raises
        ------
        ValueError
            On a sample of these rows it is no kernel: values of two rows that are not symmetric or
            depend on other rows, or a matrix with negative eigenvalues.
        """
        require_kernel(self, X)
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
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}"
            )
        return self._check_values(self._matrix(X, Y), (len(X), len(Y)))

    def log(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log k(x_i, y_j), shape (n, m), also where k underflows to 0.

        Raises
        ------
        NotImplementedError
            The kernel is not ``normalized``.
        """
        raise NotImplementedError(f"{self!r} has no logarithm")

    def by_column(self, X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        r"""Yield :math:`-\log k_f(x_{if}, y_{jf})`, shape (n, m), for each column f, in one array.

        The array of a column is overwritten by the next column.

        .. math:: k(x, y) = \prod_f k_f(x_f, y_f), \qquad 0 < k_f \le 1

        Raises
        ------
        NotImplementedError
            The kernel is not ``separable``.
        """
        raise NotImplementedError(f"{self!r} is no product over columns")

    def apart(self, X: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray | float]:
        r"""Return how far rows are apart in numbers, and the log factor of categories, (n, m).

        In numbers it is -log k, which of an RBF kernel is the squared distance but for a factor. A
        kernel without a logarithm has the squared distance in kernel space,
        :math:`k(x, x) - 2 k(x, y) + k(y, y)`.
        """
        if self.normalized:
            return -self.log(X, Y), 0.0
        squared = self.diag(X)[:, None] - 2.0 * self(X, Y) + self.diag(Y)
        return np.maximum(squared, 0.0), 0.0

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
        if self.normalized:
            return np.ones(len(X))
        return self._check_values(self._diag(X), (len(X),))

    def _check_values(self, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        if np.iscomplexobj(values):
            raise ValueError(f"kernel {self!r} must return real values, but returned complex ones")
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
    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._inner.summed(self.columns(X), self.columns(Y.astype(X.dtype)))

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self._inner._matrix(self._first(X), self.columns(Y))

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        return self._inner._symmetric(self.columns(X))

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return self._inner._diag(self.columns(X))


def require_kernel(kernel: Kernel, X: np.ndarray) -> None:
    """Raise a ValueError if ``kernel`` is no kernel on a sample of the rows X.

    It must be symmetric, a function of two rows alone, and positive semi-definite.
    """
    rows = X[np.linspace(0, len(X) - 1, min(len(X), SAMPLE)).astype(int)]
    n, half = len(rows), len(rows) // 2
    K = kernel(rows, rows)  # not made symmetric
    largest = np.abs(K).max()

    def require_equal(a: np.ndarray, b: np.ndarray, problem: str) -> None:
        if not np.allclose(a, b, rtol=1e-6, atol=1e-8 * largest):
            worst = np.unravel_index(np.abs(a - b).argmax(), a.shape)
            raise ValueError(f"kernel {kernel!r} {problem}: {a[worst]:.6g} and {b[worst]:.6g}")

    require_equal(K, K.T, "must be symmetric, but k(x, y) and k(y, x) differ")
    if half:
        problem = (
            "must be a function of two rows alone, but k(x, y) depends on the other rows of a "
            "call; fix what it computes from them, or use kernels.Standardized for their scale"
        )
        require_equal(K[:half, half:], kernel(rows[:half], rows[half:]), problem)
    require_equal(np.diag(K), kernel.diag(rows), "has a diagonal that is not k(x, x)")
    smallest = scipy.linalg.eigvalsh(K, subset_by_index=(0, 0))[0]
    if smallest < -1e-8 * largest * n:
        is_distance = (np.diag(K) <= K.min(axis=1)).all()
        advice = (
            "its values are least at k(x, x), as those of a distance; a kernel is a similarity: "
            "use lambda A, B: np.exp(-distance(A, B) / scale)"
            if is_distance
            else "use another kernel, such as kernels.RBF()"
        )
        raise ValueError(
            f"kernel {kernel!r} must be positive semi-definite, but its matrix of {n} training "
            f"rows has the eigenvalue {smallest:.6g}; {advice}"
        )


def as_table(name: str, X: Any) -> np.ndarray:
    """Return ``X`` as a float array of two dimensions; ``name`` is its name in the error."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"{name} must be a table (rows, columns), got {X.ndim} dimension(s)")
    return X


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number; a boolean is not, nor what no float can be."""
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) > LARGEST):
        return False
    return isinstance(value, Real)
