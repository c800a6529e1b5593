"""What a kernel is, and kernels that are a user's function or matrix."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, ClassVar, Self, override

import numpy as np
import scipy

CHECKED_ROWS = 100  # training rows on which a function is checked


@dataclass(frozen=True)
class Kernel:
    """A positive definite kernel k(x, y), a frozen value that ``fit`` fits to rows.

    ``kernel(Z, Y)`` returns the values (m, R) of coordinates Z (m, q) and Y (R, q).
    """

    pairwise: ClassVar[bool] = False  # whether kernel values stand in place of rows
    # whether columns may be categories, and values missing
    of_tables: ClassVar[bool] = False
    of_core: ClassVar[bool] = False  # whether the core of one table made it

    @property
    def categorical_columns(self) -> tuple[int, ...]:
        """The positions of the columns of categories."""
        return ()

    @property
    def inner(self) -> Kernel:
        """The kernel of the numbers of a table; itself if it is of none."""
        return self

    @property
    def in_threads(self) -> bool:
        """Whether several threads may call it: not a kernel of the user's."""
        own = type(self).__module__.startswith(__package__ or "")
        return own and (self.inner is self or self.inner.in_threads)

    @property
    def scale(self) -> str:
        """The scale of the numbers of a table; empty if it is of none."""
        return ""

    @property
    def normalized(self) -> bool:
        """Whether 0 < k <= 1 = k(x, x), with the logarithm in :meth:`log`."""
        return False

    def fit(
        self, X: np.ndarray, weight: np.ndarray, group: np.ndarray, columns: int = 0
    ) -> Self:
        """Return the kernel fitted to majority rows.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        weight : ndarray of shape (n,)
        group : ndarray of int, shape (n,)
            Rows of one group say nothing of each other.
        columns : int, default=0
            How many columns the p coordinates are made of, if it is not p.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            A bandwidth cannot be estimated, or a function is no kernel on these rows.
        """
        return self

    def rescaled(self, X: np.ndarray, weight: np.ndarray) -> Self:
        """Return the kernel with the column scales of other rows.

        Parameters
        ----------
        X : ndarray of shape (n, p)
        weight : ndarray of shape (n,)

        Returns
        -------
        Kernel
        """
        return self

    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Return training rows as the kernel takes them.

        Parameters
        ----------
        X : ndarray of shape (n, p)
            What a user gave to ``fit``, as floats.

        Returns
        -------
        ndarray of shape (n, p')
        """
        return X

    def new_rows(self, Z: np.ndarray, n: int) -> np.ndarray:
        """Return new rows as the kernel takes them.

        Parameters
        ----------
        Z : ndarray of shape (m, p)
        n : int
            The number of columns in ``fit``.

        Returns
        -------
        ndarray of shape (m, p')
        """
        return Z

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates of rows.

        Parameters
        ----------
        X : ndarray of shape (m, p)

        Returns
        -------
        ndarray of shape (m, q)
        """
        return X

    def log(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return log k of a normalised kernel, also where k underflows.

        Parameters
        ----------
        Z : ndarray of shape (m, q)
            Coordinates.
        Y : ndarray of shape (R, q)

        Returns
        -------
        ndarray of shape (m, R)
        """
        raise NotImplementedError

    def __call__(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return k (m, R) of coordinates Z (m, q) and Y (R, q)."""
        return np.exp(self.log(Z, Y))

    def diag(self, Z: np.ndarray) -> np.ndarray:
        """Return k(z, z).

        Parameters
        ----------
        Z : ndarray of shape (m, q)
            Coordinates.

        Returns
        -------
        ndarray of shape (m,)
        """
        return np.ones(len(Z))

    def with_inner(self, kernel: Kernel) -> Kernel:
        """Return the kernel with another kernel of the numbers of a table.

        Parameters
        ----------
        kernel : Kernel

        Returns
        -------
        Kernel
        """
        return kernel

    def __sklearn_clone__(self) -> Self:
        """Return a copy: a user's function may have a state."""
        return copy.deepcopy(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether parameters of an inner kernel are among them, as
            ``kernel__bandwidth``.

        Returns
        -------
        dict of str
        """
        found = {each.name: vars(self)[each.name] for each in fields(self)}
        inner = found.get("kernel")
        if deep and isinstance(inner, Kernel):
            found |= {f"kernel__{name}": v for name, v in inner.get_params().items()}
        return found

    def with_params(self, **params: Any) -> Self:
        """Return the kernel with other parameters.

        Parameters
        ----------
        **params : object
            By the names of :meth:`get_params`.

        Returns
        -------
        Kernel

        Raises
        ------
        ValueError
            There is no parameter of that name.
        """
        for name in params:
            if name not in self.get_params():
                raise ValueError(
                    f"{name!r} is no parameter of {self!r}, which has "
                    f"{', '.join(self.get_params())}"
                )
        own = {k: v for k, v in params.items() if "__" not in k}
        of_inner = {k.removeprefix("kernel__"): params[k] for k in params.keys() - own}
        new = replace(self, **own)
        if not of_inner:
            return new
        inner = vars(new)["kernel"].with_params(**of_inner)
        return replace(new, **{"kernel": inner})


@dataclass(frozen=True)
class Custom(Kernel):
    """A kernel that is a user's function of rows.

    Parameters
    ----------
    function : callable
        Takes rows X (n, p) and Y (m, p), and returns k(x, y), (n, m).

    Raises
    ------
    ValueError
        The values have another shape, are complex or not finite, or in ``fit`` the
        function is no kernel on 100 of the training rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD
    >>> from sklearn.metrics.pairwise import cosine_similarity as cosine
    >>> X = np.random.default_rng(0).normal([3.0, 0.0], size=(50, 2))
    >>> SVDD(kernel=cosine).fit(X).predict([[3.0, 0.0], [-3.0, 0.0]])
    array([ 1, -1])
    """

    function: Callable[..., np.ndarray]

    @property
    @override
    def in_threads(self) -> bool:
        return False

    def __repr__(self) -> str:
        # without the address of a function
        name = getattr(self.function, "__qualname__", repr(self.function))
        return f"Custom(function={name})"

    def fit(
        self, X: np.ndarray, weight: np.ndarray, group: np.ndarray, columns: int = 0
    ) -> Self:
        """Check the function on the rows."""
        require_kernel(self, X)
        return self

    @override
    def __call__(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        found = np.asarray(self.function(Z, Y))
        if found.shape != (len(Z), len(Y)) or np.iscomplexobj(found):
            raise ValueError(
                f"{self!r} must return real values of shape {(len(Z), len(Y))}, but "
                f"returned {found.dtype} of shape {found.shape}"
            )
        if not np.isfinite(found).all():
            raise ValueError(f"{self!r} returned values that are not finite")
        return np.array(found, dtype=float)

    @override
    def diag(self, Z: np.ndarray) -> np.ndarray:
        blocks = np.array_split(Z, -(-len(Z) // CHECKED_ROWS)) if len(Z) else []
        parts = [np.diag(self(block, block)) for block in blocks]
        return np.concatenate([np.empty(0), *parts])


@dataclass(frozen=True)
class Precomputed(Kernel):
    """A kernel matrix that the user computes, in place of rows.

    ``fit`` takes K (n, n) of the training rows. A new row z is [k(z, x_1), ..., k(z,
    x_n), k(z, z)]. Coordinates are these n + 1 values and the position of a training
    row, -1 for a new one.

    Parameters
    ----------
    diagonal : float, optional
        k(z, z), where it is the same for each z; then new rows are without it.

    Raises
    ------
    ValueError
        K is not square, symmetric and positive semi-definite, or new rows have other
        columns.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> k = kernels.RBF(1.0)
    >>> est = SVDD(kernel=kernels.Precomputed()).fit(k(X, X))
    >>> len(est.decision())
    50
    """

    diagonal: float | None = None

    pairwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        value = self.diagonal
        if value is not None and not (is_number(value) and value >= 0):
            raise ValueError(f"diagonal must be a number of at least 0, got {value!r}")

    @override
    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Return the coordinates (n, n + 2) of training rows, from K (n, n)."""
        K = X
        if K.ndim != 2 or K.shape[0] != K.shape[1]:
            raise ValueError(
                f"a precomputed kernel is fitted on a square matrix, got {K.shape}"
            )
        if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max()):
            i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
            raise ValueError(
                f"a precomputed kernel must be symmetric, but K[{i}, {j}] = "
                f"{K[i, j]:.6g} and K[{j}, {i}] = {K[j, i]:.6g}"
            )
        require_definite(self, K)
        return np.column_stack([K, np.diag(K), np.arange(len(K))])

    @override
    def new_rows(self, Z: np.ndarray, n: int) -> np.ndarray:
        """Return the coordinates (m, n + 2) of new rows beside n training rows."""
        if self.diagonal is not None and Z.shape[1] == n:
            Z = np.column_stack([Z, np.full(len(Z), float(self.diagonal))])
        if Z.shape[1] != n + 1:
            raise ValueError(
                f"a precomputed kernel scores rows of {n + 1} columns, k(z, x_1) to "
                f"k(z, x_{n}) and then k(z, z), got {Z.shape[1]} columns; if k(z, z) "
                "is the same for every z, use Precomputed(diagonal=...)"
            )
        return np.column_stack([Z, np.full(len(Z), -1.0)])

    @override
    def __call__(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return Z[:, Y[:, -1].astype(int)]

    @override
    def diag(self, Z: np.ndarray) -> np.ndarray:
        return Z[:, -2]


def as_kernel(kernel: Kernel | Callable[..., np.ndarray]) -> Kernel:
    """Return a kernel, or a function as a kernel.

    Parameters
    ----------
    kernel : Kernel or callable

    Returns
    -------
    Kernel
        A function becomes :class:`bsvdd.kernels.Custom`.

    Raises
    ------
    TypeError
        It is neither.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, type):
        raise TypeError(
            f"kernel is the class {kernel.__name__}; make one: {kernel.__name__}()"
        )
    if callable(kernel):
        return Custom(kernel)
    raise TypeError(
        "kernel must be a kernel such as kernels.RBF() or a function of two arrays, "
        f"got {kernel!r}"
    )


def require_kernel(kernel: Kernel, X: np.ndarray) -> None:
    """Raise an error unless a function of two rows is a kernel on rows X (n, p)."""
    rows = X[np.linspace(0, len(X) - 1, min(len(X), CHECKED_ROWS)).astype(int)]
    half = len(rows) // 2
    K = kernel(rows, rows)
    largest = np.abs(K).max()

    def require_equal(a: np.ndarray, b: np.ndarray, problem: str) -> None:
        if not np.allclose(a, b, rtol=1e-6, atol=1e-8 * largest):
            worst = np.unravel_index(np.abs(a - b).argmax(), a.shape)
            raise ValueError(
                f"kernel {kernel!r} {problem}: {a[worst]:.6g} and {b[worst]:.6g}"
            )

    require_equal(K, K.T, "must be symmetric, but k(x, y) and k(y, x) differ")
    require_equal(
        K[:half, half:],
        kernel(rows[:half], rows[half:]) if half else K[:half, half:],
        "must be a function of two rows alone, but k(x, y) depends on the other rows "
        "of a call",
    )
    require_definite(kernel, K)


def require_definite(kernel: Kernel, K: np.ndarray) -> None:
    """Raise an error unless K (n, n) of a kernel is positive semi-definite."""
    smallest = scipy.linalg.eigvalsh(K, subset_by_index=(0, 0))[0]
    if smallest < -1e-8 * np.abs(K).max() * len(K):
        is_distance = (np.diag(K) <= K.min(axis=1)).all()
        raise ValueError(
            f"kernel {kernel!r} must be positive semi-definite, but its matrix of "
            f"{len(K)} training rows has the eigenvalue {smallest:.6g}; "
            + (
                "its values are least at k(x, x), as those of a distance; a kernel is "
                "a similarity: use lambda A, B: np.exp(-distance(A, B) / scale)"
                if is_distance
                else "use another kernel, such as kernels.RBF()"
            )
        )


def is_number(value: object) -> bool:
    """Return whether ``value`` is a finite real number; a boolean is not."""
    if isinstance(value, bool):
        return False
    return isinstance(value, Real) and math.isfinite(value)
