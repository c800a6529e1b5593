"""Kernels of columns of numbers: of a distance, of a dot product, and of standardised columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, override

import numpy as np
import scipy

from . import bandwidth as criteria
from .base import Kernel, Wrapper, as_table, is_number

GROUP = 64  # rows whose kernel values are added in their own precision, by BLAS


@dataclass(frozen=True)
class DistanceKernel(Kernel):
    """A kernel exp(-gamma x distance) whose gamma follows from a bandwidth; k(x, x) = 1."""

    normalized = True
    separable = True
    bandwidth: float | str = "modified_mean"
    criterion: str | None = None

    _metric: ClassVar[str]  # of scipy's cdist: log k(x, y) = -gamma distance(x, y)

    @override
    def resolve(self, X: np.ndarray, dimensions: int | None = None) -> Self:
        criterion = self.bandwidth if isinstance(self.bandwidth, str) else self.criterion
        bandwidth = criteria.resolve(self.bandwidth, X, dimensions)
        return replace(self, bandwidth=bandwidth, criterion=criterion)

    @property
    def gamma(self) -> float:
        """The factor of the distance in the exponent, named as in scikit-learn."""
        raise NotImplementedError

    def __post_init__(self) -> None:
        criteria.check(self.bandwidth)

    @property
    def _s(self) -> float:
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is not a number yet; call kernel.resolve(X) first"
            )
        return float(self.bandwidth)

    @override
    def log(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        distance = scipy.spatial.distance
        if X is Y:  # half of the work
            apart = distance.squareform(distance.pdist(as_table("X", X), self._metric))
        else:
            apart = distance.cdist(as_table("X", X), as_table("Y", Y), self._metric)
        return -self.gamma * apart

    @override
    def by_column(self, X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        squared = self._metric == "sqeuclidean"
        unit = self.gamma**0.5 if squared else self.gamma
        cost = np.empty((len(X), len(Y)))
        for x, y in zip(unit * as_table("X", X).T, unit * as_table("Y", Y).T, strict=True):
            np.subtract(x[:, None], y.copy(), out=cost)  # side by side, its values are read faster
            yield np.square(cost, out=cost) if squared else np.abs(cost, out=cost)

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.exp(self.log(X, Y))

    def __repr__(self) -> str:
        name = type(self).__name__
        if isinstance(self.bandwidth, str):
            return f"{name}(bandwidth={self.bandwidth!r})"
        source = "" if self.criterion is None else f", criterion={self.criterion!r}"
        return f"{name}(bandwidth={self.bandwidth:.6g}{source}, gamma={self.gamma:.6g})"


@dataclass(frozen=True, repr=False)
class RBF(DistanceKernel):
    r"""Gaussian kernel.

    .. math:: k(x, y) = \exp\left(-\frac{\|x-y\|^2}{2 s^2}\right), \qquad \gamma = \frac1{2 s^2}

    Parameters
    ----------
    bandwidth : float or str, default="modified_mean"
        s, in the units of the columns, or the name of a criterion of
        :mod:`bsvdd.models.kernels.bandwidth`.
    criterion : str, optional
        The criterion that the number came from; set by :meth:`~bsvdd.kernels.Kernel.resolve`.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.RBF(bandwidth=2.0)([[0.0]], [[2.0]]).round(4)
    array([[0.6065]])
    """

    _metric = "sqeuclidean"

    @classmethod
    def from_gamma(cls, gamma: float) -> RBF:
        """Return the kernel exp(-gamma ||x - y||^2)."""
        if not (is_number(gamma) and 0 < gamma < np.inf):
            raise ValueError(f"gamma must be positive and finite, got {gamma!r}")
        return cls(bandwidth=float((2.0 * gamma) ** -0.5))

    @property
    def gamma(self) -> float:
        """1 / (2 s^2)."""
        return 0.5 / self._s**2

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        # ||z||^2 - 2 z'v + ||v||^2 is fast, but loses digits far from the origin
        center = Y.mean(axis=0)
        Z, V = X - center, Y - center
        z, v = self.gamma * (Z * Z).sum(axis=1), self.gamma * (V * V).sum(axis=1)
        if self._loses_digits(z, v):
            return super()._matrix(X, Y)
        # -gamma ||z - v||^2 = 2 gamma z'v - gamma z'z - gamma v'v as one product
        left = np.column_stack([2.0 * self.gamma * Z, z, np.ones_like(z)])
        right = np.column_stack([V, -np.ones_like(v), -v])
        K = left @ right.T
        np.minimum(K, 0.0, out=K)  # rounding can make the exponent positive
        return np.exp(K, out=K)

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        Z = X - X.mean(axis=0)
        z = self.gamma * (Z * Z).sum(axis=1)
        if self._loses_digits(z):
            return super()._symmetric(X)
        K = Z @ Z.T  # exactly symmetric: BLAS computes one triangle and copies it
        K *= 2.0 * self.gamma
        K -= z[:, None] + z
        np.exp(np.minimum(K, 0.0, out=K), out=K)
        np.fill_diagonal(K, 1.0)
        return K

    @staticmethod
    def _loses_digits(*exponents: np.ndarray) -> bool:
        """Return whether the exponents are so large that their differences lose digits."""
        largest = max(z.max(initial=0.0) for z in exponents)
        return bool(largest * np.finfo(float).eps > 1e-10)

    @override
    def summed(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        r"""Return sum_i k(x_i, y_j), shape (m,).

        With rows centred at the mean of Y and divided by s, the exponent is one product,

        .. math:: -\|x - y\|^2 / 2 = [x, -\|x\|^2 / 2]^\top [y, 1] - \|y\|^2 / 2,

        whose rounding error grows with :math:`\|y\|^2`. For float32 rows the kernel values are
        float32, and so are the sums over ``GROUP`` rows; the sums of these are always float64.
        """
        single = X.dtype == np.float32
        dtype: np.dtype[Any] = np.dtype(np.float32 if single else np.float64)
        center = Y.mean(axis=0).astype(dtype)
        s = np.array(self._s, dtype)
        V = ((Y.astype(dtype) - center) / s).astype(float)
        norm = (V * V).sum(axis=1) / 2
        # the exponent has a rounding error of norm times 2^-23 (float32) or 2^-52 (float64)
        if norm.max() > (1e-5 * 2**23 if single else 1e-10 * 2**52):
            return super().summed(X, Y)
        offset = norm.astype(dtype)
        right = np.vstack([V.T, np.ones(len(V)), -offset]).astype(dtype)
        total = np.zeros(len(Y))
        left, groups = np.empty((0, len(right)), dtype), np.empty((0, GROUP, len(Y)), dtype)
        for rows in self._blocks(X, Y):
            if len(left) != len(rows):
                left = np.ones((len(rows), len(right)), dtype)
                groups = np.zeros((-(-len(rows) // GROUP), GROUP, len(Y)), dtype)
            Z, product = left[:, :-2], groups.reshape(-1, len(Y))[: len(rows)]
            np.subtract(rows, center, out=Z, casting="same_kind")
            Z /= s
            with np.errstate(over="ignore"):  # a row that overflows has kernel values of 0
                np.einsum("ij,ij->i", Z, Z, out=left[:, -2])
                left[:, -2] /= -2
                np.exp(np.matmul(left, right, out=product), out=product)
            total += (np.ones(GROUP, dtype) @ groups).sum(axis=0, dtype=float)
        return total * np.exp(offset - norm)  # undo the rounding of the offset to float32


@dataclass(frozen=True, repr=False)
class Laplacian(DistanceKernel):
    r"""Laplacian kernel, :math:`k(x, y) = \exp(-\|x - y\|_1 / s)`.

    Parameters
    ----------
    bandwidth : float or str, default="modified_mean"
        s, in the units of the columns, or a criterion of :mod:`bsvdd.models.kernels.bandwidth`. The
        criteria were derived for the Gaussian kernel; here they are rules of thumb.
    criterion : str, optional
        The criterion that the number came from; set by :meth:`~bsvdd.kernels.Kernel.resolve`.

    Examples
    --------
    >>> from bsvdd import kernels
    >>> kernels.Laplacian(bandwidth=2.0)([[0.0, 0.0]], [[1.0, 1.0]]).round(4)
    array([[0.3679]])
    """

    _metric = "cityblock"

    @property
    def gamma(self) -> float:
        """1 / s."""
        return 1.0 / self._s


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

    def __repr__(self) -> str:
        return f"Standardized({self.kernel!r})"
