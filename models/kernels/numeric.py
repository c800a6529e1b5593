"""Kernels of columns of numbers: of a distance, and of a dot product."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self, override

import numpy as np
from scipy.spatial.distance import cdist

from . import bandwidth as criteria
from .base import Kernel, is_number

# squared distance from the mean, below which a difference of products is exact to 1e-10
EXACT_PRODUCTS = 1e5


def squared(Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return squared distances (m, R), by one product where it has the digits."""
    center = Y.mean(axis=0)
    Z = Z - center
    Y = Y - center
    z = np.vecdot(Z, Z)
    y = np.vecdot(Y, Y)
    if not max(z.max(initial=0.0), y.max(initial=0.0)) < EXACT_PRODUCTS:
        return np.asarray(cdist(Z, Y, "sqeuclidean"))
    left = np.column_stack([-2.0 * Z, z, np.ones(len(z))])
    d = left @ np.column_stack([Y, np.ones(len(y)), y]).T
    return np.maximum(d, 0.0, out=d)


@dataclass(frozen=True)
class OfDistance(Kernel):
    r"""A kernel :math:`e^{-(d / s)^a / a}` of a distance d."""

    bandwidth: float | str = "modified_mean"
    criterion: str | None = None  # that gave the number

    metric: ClassVar[str] = "euclidean"
    power: ClassVar[int] = 2

    def __post_init__(self) -> None:
        s = self.bandwidth
        low = criteria.SMALLEST_BANDWIDTH
        if (
            criteria.named(s)
            if isinstance(s, str)
            else is_number(s) and low <= s <= 1.0 / low
        ):
            return
        raise ValueError(
            f"bandwidth must be a number from {low:g} to {1.0 / low:g}, whose square "
            f"is needed, or one of {sorted(['likelihood', *criteria.CRITERIA])}, got "
            f"{s!r}"
        )

    @property
    @override
    def normalized(self) -> bool:
        return True

    @property
    def s(self) -> float:
        """The bandwidth as a number."""
        if isinstance(self.bandwidth, str):
            raise ValueError(
                f"bandwidth={self.bandwidth!r} is no number yet; fit the kernel first"
            )
        return float(self.bandwidth)

    @property
    def gamma(self) -> float:
        """The factor of d^a in the exponent, named as in scikit-learn."""
        return 1.0 / (self.power * self.s**self.power)

    @override
    def fit(
        self, X: np.ndarray, weight: np.ndarray, group: np.ndarray, columns: int = 0
    ) -> Self:
        if not isinstance(self.bandwidth, str):
            return self
        dimensions = columns or int((np.ptp(X, axis=0) > 0).sum())
        rows = criteria.Sample(X, weight, group, dimensions)
        s = criteria.of(self.bandwidth, rows, self.metric, self.power)
        return replace(self, bandwidth=s, criterion=self.bandwidth)

    @override
    def log(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        d = squared(Z, Y) if self.power == 2 else cdist(Z, Y, self.metric)
        d *= -self.gamma
        return d

    def __repr__(self) -> str:
        name = type(self).__name__
        if isinstance(self.bandwidth, str):
            return f"{name}(bandwidth={self.bandwidth!r})"
        if self.criterion is None:
            return f"{name}(bandwidth={float(self.bandwidth)!r})"
        return f"{name}(bandwidth={self.bandwidth:.6g}, criterion={self.criterion!r})"


@dataclass(frozen=True, repr=False)
class RBF(OfDistance):
    r"""Gaussian kernel.

    .. math:: k(x, y) = \exp\left(-\frac{\|x-y\|^2}{2 s^2}\right), \qquad
        \gamma = \frac1{2 s^2}

    Parameters
    ----------
    bandwidth : float or str, default="modified_mean"
        s, in the units of the columns, or a criterion: "likelihood", "mean",
        "modified_mean", "median", "scale" or "wide".
    criterion : str, optional
        The criterion that gave the number; set by ``fit``.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> kernels.RBF(bandwidth=2.0)(np.array([[0.0]]), np.array([[2.0]])).round(4)
    array([[0.6065]])
    """


@dataclass(frozen=True, repr=False)
class Laplacian(OfDistance):
    r"""Laplacian kernel, :math:`k(x, y) = \exp(-\|x - y\|_1 / s)`.

    Parameters
    ----------
    bandwidth : float or str, default="modified_mean"
        As of :class:`RBF`. The criteria but for "likelihood" were derived for the
        Gaussian kernel.
    criterion : str, optional
        As of :class:`RBF`.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> kernel = kernels.Laplacian(bandwidth=2.0)
    >>> kernel(np.array([[0.0, 0.0]]), np.array([[1.0, 1.0]])).round(4)
    array([[0.3679]])
    """

    metric = "cityblock"
    power = 1


@dataclass(frozen=True)
class Polynomial(Kernel):
    r"""Polynomial kernel, :math:`k(x, y) = (\gamma\, x^\top y + c)^q`.

    Parameters
    ----------
    degree : int, default=2
        q, at least 1.
    gamma : float, default=1
        Above 0.
    coef0 : float, default=1
        c, at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> kernels.Polynomial(degree=2)(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[144.]])
    """

    degree: int = 2
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        q = self.degree
        if not (is_number(q) and q >= 1 and int(q) == q):
            raise ValueError(f"degree must be a whole number of at least 1, got {q!r}")
        if not (is_number(self.gamma) and self.gamma > 0):
            raise ValueError(f"gamma must be positive and finite, got {self.gamma!r}")
        if not (is_number(self.coef0) and self.coef0 >= 0):
            raise ValueError(f"coef0 must be at least 0 and finite, got {self.coef0!r}")

    @override
    def __call__(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.asarray((self.gamma * (Z @ Y.T) + self.coef0) ** self.degree)

    @override
    def diag(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray((self.gamma * np.vecdot(Z, Z) + self.coef0) ** self.degree)


@dataclass(frozen=True)
class Linear(Kernel):
    r"""Linear kernel, :math:`k(x, y) = x^\top y`: the centre is a mean of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels
    >>> kernels.Linear()(np.array([[1.0, 2.0]]), np.array([[3.0, 4.0]]))
    array([[11.]])
    """

    @override
    def __call__(self, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return np.asarray(Z @ Y.T)

    @override
    def diag(self, Z: np.ndarray) -> np.ndarray:
        return np.asarray(np.vecdot(Z, Z))
