"""Kernels k(x, y) as small value objects: call one on two sets of rows for the matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, override

import numpy as np
from scipy.linalg import eigvalsh
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel
from sklearn.preprocessing import StandardScaler

from . import bandwidth as _bandwidth
from .fields import is_number

BLOCK = 256  # rows at once where work is done in blocks
SUMMED = 2**17  # kernel values held at once when they are only summed: 1 MB, in the cache


@dataclass(frozen=True)
class Kernel:
    """A positive semi-definite function of two rows, the base class of all kernels.

    A subclass gives the matrix in ``_matrix`` and the diagonal in ``_diag``; shapes are
    checked here, once, for all of them.
    """

    pairwise: ClassVar[bool] = False  # whether the rows of X are kernel values already

    def resolve(self, X: np.ndarray) -> Self:
        """Return the kernel with everything that is learnt from the majority rows filled in."""
        return self

    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Return the training rows in the form that the kernel is called with."""
        return X

    def new_rows(self, Z: np.ndarray, n_rows: int) -> np.ndarray:
        """Return rows to be scored in the same form; ``n_rows`` were there in training."""
        return Z

    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Return the rows in the coordinates that distances between them are taken in."""
        return X

    @np.errstate(over="ignore", invalid="ignore")  # values that are not finite are an error
    def __call__(self, X: np.ndarray, Y: np.ndarray | None = None) -> np.ndarray:
        """Return k(x_i, y_j), shape (n, m); ``Y=None`` means Y = X.

        Raises
        ------
        ValueError
            X and Y are no tables of the same number of columns, or a value is not finite.
        """
        X = _rows("X", X)
        if Y is None:
            return self._checked(self._symmetric(X), (len(X), len(X)))
        Y = _rows("Y", Y)
        self._check_columns(X, Y)
        return self._checked(self._matrix(X, Y), (len(X), len(Y)))

    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return sum_i k(x_i, y_j), shape (m,), and hold no more than a part of the matrix."""
        total = np.zeros(len(Y))
        for rows in self._parts(X, Y):
            total += self(rows, Y).sum(axis=0)
        return total

    @staticmethod
    def _parts(X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        step = max(1, SUMMED // len(Y))
        for start in range(0, len(X), step):
            yield X[start : start + step]

    @np.errstate(over="ignore", invalid="ignore")
    def diag(self, X: np.ndarray) -> np.ndarray:
        """Return k(x_i, x_i), shape (n,)."""
        X = _rows("X", X)
        return self._checked(self._diag(X), (len(X),))

    def _check_columns(self, X: np.ndarray, Y: np.ndarray) -> None:
        if X.shape[1] != Y.shape[1]:
            raise ValueError(
                f"X and Y must have the same number of columns, got {X.shape[1]} and {Y.shape[1]}"
            )

    def _checked(self, values: Any, shape: tuple[int, ...]) -> np.ndarray:
        values = np.asarray(values, dtype=float)
        if values.shape != shape:
            raise ValueError(
                f"kernel {self!r} must return shape {shape}, but returned {values.shape}"
            )
        total = values.sum()  # finite where all values are: one pass without a mask
        if not np.isfinite(total) and not np.isfinite(values).all():
            raise ValueError(f"kernel {self!r} returned values that are not finite")
        return values

    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        """Return the matrix of X with itself, exactly symmetric."""
        K = self._matrix(X, X)
        return (K + K.T) / 2.0  # products of BLAS are symmetric up to rounding only

    def _diag(self, X: np.ndarray) -> np.ndarray:
        raise NotImplementedError


@dataclass(frozen=True)
class _DistanceKernel(Kernel):
    """A kernel exp(-distance) with a bandwidth; k(x, x) = 1."""

    bandwidth: float | str = "modified_mean"
    criterion: str | None = None

    @override
    def resolve(self, X: np.ndarray) -> Self:
        criterion = self.bandwidth if isinstance(self.bandwidth, str) else self.criterion
        return replace(self, bandwidth=_bandwidth.resolve(self.bandwidth, X), criterion=criterion)

    @property
    def gamma(self) -> float:
        """The factor of the distance in the exponent, as scikit-learn calls it."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        _bandwidth.check(self.bandwidth)

    @property
    def _s(self) -> float:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is not a number yet; call kernel.resolve(X) first"
            )
        return float(self.bandwidth)

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return np.ones(len(X))

    def __repr__(self) -> str:
        name = type(self).__name__
        if isinstance(self.bandwidth, str):
            return f"{name}(bandwidth={self.bandwidth!r})"
        source = "" if self.criterion is None else f", criterion={self.criterion!r}"
        return f"{name}(bandwidth={self.bandwidth:.6g}{source}, gamma={self.gamma:.6g})"


@dataclass(frozen=True, repr=False)
class RBF(_DistanceKernel):
    r"""Gaussian kernel.

    .. math:: k(x, y) = \exp\left(-\frac{\|x-y\|^2}{2 s^2}\right), \qquad \gamma = \frac1{2 s^2}

    Parameters
    ----------
    bandwidth : float or str, default="modified_mean"
        s, in the units of the columns, or a criterion of :mod:`bsvdd.models.bandwidth`.
    criterion : str, optional
        Where a number came from; filled in by :meth:`~bsvdd.kernels.Kernel.resolve`.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.RBF(bandwidth=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """

    @classmethod
    def from_gamma(cls, gamma: float) -> RBF:
        """Return the kernel exp(-gamma ||x - y||^2)."""
        if not (is_number(gamma) and 0 < gamma < np.inf):
            raise ValueError(f"gamma must be positive and finite, got {gamma!r}")
        return cls(bandwidth=float((2.0 * gamma) ** -0.5))

    @classmethod
    def from_width(cls, width: float) -> RBF:
        """Return the kernel exp(-||x - y||^2 / width), that is width = 2 s^2."""
        if not (is_number(width) and 0 < width < np.inf):
            raise ValueError(f"width must be positive and finite, got {width!r}")
        return cls(bandwidth=float((width / 2.0) ** 0.5))

    @property
    def gamma(self) -> float:
        """1 / (2 s^2)."""
        return 0.5 / self._s**2

    @property
    def width(self) -> float:
        """2 s^2."""
        return 2.0 * self._s**2

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        # the product form of the distances is fast, but loses digits far from the origin
        center = Y.mean(axis=0)
        Z, V = X - center, Y - center
        z, v = self.gamma * (Z * Z).sum(axis=1), self.gamma * (V * V).sum(axis=1)
        if self._loses_digits(z, v):
            return np.exp(-self.gamma * cdist(X, Y, "sqeuclidean"))
        # -gamma ||z - v||^2 = 2 gamma z'v - gamma z'z - gamma v'v as one product
        left = np.column_stack([2.0 * self.gamma * Z, z, np.ones_like(z)])
        right = np.column_stack([V, -np.ones_like(v), -v])
        K = left @ right.T
        np.minimum(K, 0.0, out=K)  # rounding above it is cut
        return np.exp(K, out=K)

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        Z = X - X.mean(axis=0)
        z = self.gamma * (Z * Z).sum(axis=1)
        if self._loses_digits(z):
            return super()._symmetric(X)
        K = Z @ Z.T  # BLAS mirrors one half of a product with its own transpose
        for start in range(0, len(K), BLOCK):  # blocks that stay in the cache
            k = K[start : start + BLOCK]
            k *= 2.0 * self.gamma
            k -= z[start : start + BLOCK, None] + z
            np.exp(np.minimum(k, 0.0, out=k), out=k)
        np.fill_diagonal(K, 1.0)
        return K

    @staticmethod
    def _loses_digits(*exponents: np.ndarray) -> bool:
        """Tell whether exponents of rows so large leave few digits to their differences."""
        largest = max(z.max(initial=0.0) for z in exponents)
        return bool(largest * np.finfo(float).eps > 1e-10)

    @override
    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        r"""Return sum_i k(x_i, y_j), shape (m,).

        With rows in units of s around the mean of Y, the exponent is one product,

        .. math:: -\|x - y\|^2 / 2 = [x, -\|x\|^2 / 2]^\top [y, 1] - \|y\|^2 / 2,

        whose rounding is of the size of :math:`\|y\|^2`. Kernel values of float32 rows are
        computed in float32; the sums are float64 always.
        """
        single = X.dtype == np.float32
        dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        center = Y.mean(axis=0).astype(dtype)
        s = np.array(self._s, dtype)
        V = ((Y.astype(dtype) - center) / s).astype(float)
        norm = (V * V).sum(axis=1) / 2
        # the exponent is rounded by norm times the spacing of floats, 2^-23 or 2^-52
        if norm.max() > (1e-5 * 2**23 if single else 1e-10 * 2**52):
            return super().summed(X, Y)
        offset = norm.astype(dtype)
        right = np.vstack([V.T, np.ones(len(V)), -offset]).astype(dtype)
        total = np.zeros(len(Y))
        left, product = np.empty((0, len(right)), dtype), np.empty((0, len(Y)), dtype)
        for rows in self._parts(X, Y):
            if len(left) != len(rows):
                left = np.ones((len(rows), len(right)), dtype)
                product = np.empty((len(rows), len(Y)), dtype)
            Z = left[:, :-2]
            np.subtract(rows, center, out=Z, casting="same_kind")
            Z /= s
            with np.errstate(over="ignore"):  # a row so far off has kernel values of 0
                np.einsum("ij,ij->i", Z, Z, out=left[:, -2])
                left[:, -2] /= -2
                np.exp(np.matmul(left, right, out=product), out=product)
            total += product.sum(axis=0, dtype=float)
        return total * np.exp(offset - norm)  # what rounding the offset to float32 has cost


@dataclass(frozen=True, repr=False)
class Laplacian(_DistanceKernel):
    r"""Laplacian kernel, :math:`k(x, y) = \exp(-\|x - y\|_1 / s)`.

    Parameters
    ----------
    bandwidth : float or str, default="modified_mean"
        s, in the units of the columns, or a criterion of :mod:`bsvdd.models.bandwidth`
        (made for the Gaussian kernel, here a rule of thumb).
    criterion : str, optional
        Where a number came from; filled in by :meth:`~bsvdd.kernels.Kernel.resolve`.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.Laplacian(bandwidth=2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    @property
    def gamma(self) -> float:
        """1 / s."""
        return 1.0 / self._s

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return laplacian_kernel(X, Y, gamma=self.gamma)


@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel, :math:`k(x, y) = x^\top y`: the centre is a point of the input space.

    d_z is then in the units of the columns.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

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
        A degree that is no whole number from 1, gamma not positive, or c negative.

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
        return polynomial_kernel(X, Y, degree=self.degree, gamma=self.gamma, coef0=self.coef0)

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return (self.gamma * (X * X).sum(axis=1) + self.coef0) ** self.degree


@dataclass(frozen=True)
class Standardized(Kernel):
    r"""A kernel of standardised columns, :math:`k((x - \mu) / \sigma, (y - \mu) / \sigma)`.

    Mean and standard deviation are those of the majority rows, so they stay with the kernel
    when a fit is saved; a constant column is centred only.

    Parameters
    ----------
    kernel : Kernel or callable, default=RBF()
        Its bandwidth is in standard deviations.
    mean, scale : tuple of float, optional
        Filled in by :meth:`~bsvdd.kernels.Kernel.resolve`.

    Raises
    ------
    ValueError
        The kernel is precomputed: it has no columns.

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
        object.__setattr__(self, "kernel", as_kernel(self.kernel))
        if as_kernel(self.kernel).pairwise:
            raise ValueError("Standardized needs rows; a precomputed kernel has no columns")

    @override
    def resolve(self, X: np.ndarray) -> Self:
        scaler = StandardScaler().fit(X)
        kernel = as_kernel(self.kernel).resolve(scaler.transform(X))
        mean, scale = tuple(scaler.mean_.tolist()), tuple(scaler.scale_.tolist())
        return replace(self, kernel=kernel, mean=mean, scale=scale)

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        return self._standardized(X)

    def _standardized(self, X: np.ndarray) -> np.ndarray:
        if self.mean is None:
            raise ValueError("Standardized has no mean and scale yet; call kernel.resolve(X) first")
        return (X - np.array(self.mean, X.dtype)) / np.array(self.scale, X.dtype)

    @override
    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        Z = self._standardized(X)
        return as_kernel(self.kernel).summed(Z, self._standardized(Y.astype(X.dtype)))

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        Z = self._standardized(X)
        return as_kernel(self.kernel)._matrix(Z, self._standardized(Y))

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        return as_kernel(self.kernel)._symmetric(self._standardized(X))

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return as_kernel(self.kernel)._diag(self._standardized(X))

    def __repr__(self) -> str:
        return f"Standardized({self.kernel!r})"


@dataclass(frozen=True)
class Precomputed(Kernel):
    """Kernel values computed by the user; the rows given to an estimator are kernel rows.

    ``fit`` takes the square matrix K (n, n) of the training rows. Scoring takes, for each
    new row z, its values k(z, x_1), ..., k(z, x_n) **and** k(z, z) as one more, last column:
    the distance d_z needs it. Where k(z, z) is one number for every z, give it as
    ``diagonal`` and leave the column out.

    Parameters
    ----------
    diagonal : float, optional
        k(z, z), when it is the same for every z (1 for a normalised kernel).

    Raises
    ------
    ValueError
        In ``fit``, where K is not square, symmetric and positive semi-definite; in scoring, for
        another number of columns.

    Notes
    -----
    Inside, a row is [k(z, x_1), ..., k(z, x_n), k(z, z), position]: with its position among
    the training rows (-1 for a new row) a fold or a dictionary is an ordinary choice of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import SVDD, kernels
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> Z = np.array([[0.0, 0.0], [9.0, 9.0]])
    >>> rbf = kernels.RBF(bandwidth=1.5)
    >>> est = SVDD(kernel=kernels.Precomputed(diagonal=1.0)).fit(rbf(X))
    >>> est.predict(rbf(Z, X))
    array([ 1, -1])
    """

    diagonal: float | None = None
    pairwise: ClassVar[bool] = True

    def __post_init__(self) -> None:
        diagonal: Any = self.diagonal
        if diagonal is not None and not (is_number(diagonal) and 0 <= diagonal < np.inf):
            raise ValueError(
                f"diagonal must be None or a number of at least 0, got {self.diagonal!r}"
            )

    @override
    def training_rows(self, X: np.ndarray) -> np.ndarray:
        """Return the rows of the square matrix X with their diagonal and their position."""
        K = _rows("X", X)
        if K.shape[0] != K.shape[1]:
            raise ValueError(f"a precomputed kernel is fitted on a square matrix, got {K.shape}")
        if not np.allclose(K, K.T, rtol=1e-8, atol=1e-10 * np.abs(K).max()):
            i, j = np.unravel_index(np.abs(K - K.T).argmax(), K.shape)
            raise ValueError(
                f"a precomputed kernel must be symmetric, but K[{i}, {j}] = {K[i, j]:.6g} "
                f"and K[{j}, {i}] = {K[j, i]:.6g}"
            )
        smallest = eigvalsh(K, subset_by_index=(0, 0))[0]
        if smallest < -1e-8 * np.abs(K).max() * len(K):
            raise ValueError(
                "a precomputed kernel must be positive semi-definite, but its smallest eigenvalue "
                f"is {smallest:.6g}; add at least {-smallest:.3g} to the diagonal"
            )
        return np.column_stack([K, np.diag(K), np.arange(len(K))])

    @override
    def new_rows(self, Z: np.ndarray, n_rows: int) -> np.ndarray:
        """Return the rows Z (q, n_rows + 1), last column k(z, z), with position -1."""
        Z = _rows("Z", Z)
        if self.diagonal is not None and Z.shape[1] == n_rows:
            Z = np.column_stack([Z, np.full(len(Z), float(self.diagonal))])
        if Z.shape[1] != n_rows + 1:
            raise ValueError(
                f"a precomputed kernel scores rows of {n_rows + 1} columns, k(z, x_1) to "
                f"k(z, x_{n_rows}) and then k(z, z), got {Z.shape[1]} columns; where k(z, z) is "
                "the same for every z, use Precomputed(diagonal=...)"
            )
        return np.column_stack([Z, np.full(len(Z), -1.0)])

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        raise ValueError("a precomputed kernel has no rows to take density weights of")

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return X[:, Y[:, -1].astype(int)]

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        return X[:, -2]


@dataclass(frozen=True)
class Custom(Kernel):
    """A user's function of two sets of rows that returns the matrix k(x_i, y_j).

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` with X (n, p), Y (m, p) returns shape (n, m); positive
        semi-definite, which is not checked.

    Raises
    ------
    ValueError
        When it is called: the values have another shape, or are not finite.

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
        name = getattr(self.function, "__qualname__", repr(self.function))  # no address of memory
        return f"Custom(function={name})"

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return self.function(X, Y)

    @override
    def _diag(self, X: np.ndarray) -> np.ndarray:
        blocks = [X[i : i + BLOCK] for i in range(0, len(X), BLOCK)]
        return np.concatenate([np.diag(self.function(block, block)) for block in blocks])


def as_kernel(kernel: Kernel | Callable[..., Any]) -> Kernel:
    """Return ``kernel`` as a :class:`Kernel`; a plain function becomes :class:`Custom`."""
    if isinstance(kernel, Kernel):
        return kernel
    if callable(kernel) and not isinstance(kernel, type):
        return Custom(kernel)
    raise TypeError(
        f"kernel must be a kernel such as kernels.RBF() or a function of two arrays, got {kernel!r}"
    )


def _rows(name: str, X: Any) -> np.ndarray:
    X = np.asarray(X, dtype=float)
    if X.ndim != 2:
        raise ValueError(f"{name} must be a table (rows, columns), got {X.ndim} dimension(s)")
    return X
