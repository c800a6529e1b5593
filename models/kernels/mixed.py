"""A kernel of numbers times one of categories, for tables with columns of both kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, override

import numpy as np
import scipy

from .base import Kernel, is_number
from .standardized import Standardized, Wrapper

INDICATORS = 100  # categories of a column that have an indicator of their own in ``inputs``


@dataclass(frozen=True)
class Mixed(Wrapper):
    r"""A kernel of numbers times a kernel of categories.

    .. math:: k(x, z) = k_0(x_N, z_N)\; \rho^{\,\#\{c \in C:\ x_c \ne z_c\}}

    with N the columns of numbers and C those of categories. The factor of a column is
    :math:`\rho` times the matrix of ones, and :math:`1 - \rho` times the matrix of "is the same
    category", so it is positive definite, and so is the product. A category that no training row
    has differs from all others.

    Parameters
    ----------
    kernel : Kernel or callable, default=Standardized()
        :math:`k_0`. It sees the columns of numbers only, and so do its bandwidth and its scaling.
    rho : float, default=0.05
        :math:`\rho`, by which the similarity of two rows falls for each column whose categories
        differ. The default, near exp(-3), counts another category as much as a difference of 2.4
        bandwidths in a column of numbers under an RBF kernel. The guide compares it with others.
    categorical : sequence of int, optional
        Positions of the columns of categories. Default: in a data frame or a file, the columns of
        text and those of pandas' type ``category``; booleans count as numbers. In an array name
        the positions; there a category is a number.
    categories : tuple of tuple of float, optional
        The most frequent categories of the majority rows; set by
        :meth:`~bsvdd.kernels.Kernel.resolve`.

    Raises
    ------
    ValueError
        :math:`\rho` does not lie between 0 and 1, a position is no whole number of at least 0, the
        kernel is precomputed; in ``fit``, no column is one of numbers, or none is one of
        categories.

    Notes
    -----
    Inside, a category is a number: see :func:`bsvdd.estimators.rows.categories.codes`. Equal
    numbers are the same category, and their size does not matter.

    References
    ----------
    Aitchison, J. and Aitken, C. G. G. (1976). Multivariate binary discrimination by the kernel
    method. Biometrika 63, 413-420. doi:10.1093/biomet/63.3.413

    Examples
    --------
    >>> import pandas as pd
    >>> from bsvdd import SVDD, kernels
    >>> X = pd.DataFrame({"size": [1.0, 1.2, 0.9, 1.1] * 9, "colour": ["red", "blue"] * 18})
    >>> est = SVDD(kernel=kernels.Mixed()).fit(X)
    >>> est.predict(pd.DataFrame({"size": [1.0, 1.0], "colour": ["red", "green"]}))
    array([ 1, -1])
    """

    takes_categories: ClassVar[bool] = True
    kernel: Kernel | Callable[..., Any] = Standardized()
    rho: float = 0.05
    categorical: tuple[int, ...] | None = None
    categories: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._inner.takes_categories:
            raise ValueError(f"Mixed needs a kernel of numbers, got {self.kernel!r}")
        if not (is_number(self.rho) and 0.0 < self.rho < 1.0):
            raise ValueError(f"rho must lie between 0 and 1, got {self.rho!r}")
        if self.categorical is not None:
            vars(self)["categorical"] = _positions(self.categorical)

    @property
    @override
    def categorical_columns(self) -> tuple[int, ...]:
        return self.categorical or ()

    @override
    def with_categorical(self, columns: tuple[int, ...]) -> Self:
        return replace(self, categorical=columns) if self.categorical is None else self

    @override
    def resolve(self, X: np.ndarray) -> Self:
        if not self.categorical:
            raise ValueError(
                "Mixed needs columns of categories, and X has none: X is a data frame or file "
                "without columns of text or of the type category, or an array, which has no types "
                "of columns; name their positions, kernels.Mixed(categorical=(0, 3)), or use a "
                "kernel of numbers such as kernels.Standardized()"
            )
        p = X.shape[1]
        if max(self.categorical) >= p:
            raise ValueError(
                f"categorical: {max(self.categorical)} is no column of X, which has {p} columns, "
                f"0 to {p - 1}"
            )
        if len(self.categorical) == p:
            raise ValueError(
                "Mixed needs a column of numbers, but all columns of X are categories; encode them "
                "as indicators, by pandas.get_dummies or scikit-learn's OneHotEncoder, and use "
                "kernels.RBF"
            )
        frequent = []
        for column in X[:, list(self.categorical)].T:
            codes, counts = np.unique(column, return_counts=True)
            order = np.argsort(-counts, kind="stable")[:INDICATORS]
            frequent.append(tuple(np.sort(codes[order]).tolist()))
        kernel = self._inner.resolve(self._columns(X))
        return replace(self, kernel=kernel, categories=tuple(frequent))

    @override
    def _columns(self, X: np.ndarray) -> np.ndarray:
        return np.delete(X, self.categorical_columns, axis=1)

    def _differ(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return in how many columns the categories of x_i and y_j differ, shape (n, m)."""
        columns = list(self.categorical_columns)
        shares = scipy.spatial.distance.cdist(X[:, columns], Y[:, columns], "hamming")
        return np.rint(shares * len(columns)).astype(np.intp)

    def _factor(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        powers = self.rho ** np.arange(len(self.categorical_columns) + 1.0)
        return powers[self._differ(X, Y)]

    @override
    def inputs(self, X: np.ndarray) -> np.ndarray:
        """Return the inputs of the kernel of numbers, then indicators of the categories.

        Rows of different categories are sqrt(2) apart in their indicators, as two rows are on
        average in a standardised column of numbers. Beyond the 100 most frequent categories of a
        column, all others have one indicator in common.
        """
        if self.categories is None:
            raise ValueError("Mixed has no categories yet; call kernel.resolve(X) first")
        parts = [super().inputs(X)]
        for column, codes in zip(self.categorical_columns, self.categories, strict=True):
            own = (X[:, column, None] == np.array(codes)).astype(float)
            parts += [own, 1.0 - own.sum(axis=1, keepdims=True)]
        return np.concatenate(parts, axis=1)

    @override
    def log(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return super().log(X, Y) + np.log(self.rho) * self._differ(X, Y)

    @override
    def by_column(self, X: np.ndarray, Y: np.ndarray) -> Iterator[np.ndarray]:
        of_numbers = super().by_column(X, Y)
        for f in range(X.shape[1]):
            if f in self.categorical_columns:
                yield -np.log(self.rho) * (X[:, f, None] != Y[:, f])
            else:
                yield next(of_numbers)

    @override
    def _matrix(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        return super()._matrix(X, Y) * self._factor(X, Y)

    @override
    def _symmetric(self, X: np.ndarray) -> np.ndarray:
        return super()._symmetric(X) * self._factor(X, X)

    def __repr__(self) -> str:
        columns = "" if self.categorical is None else f", categorical={self.categorical}"
        return f"Mixed({self.kernel!r}, rho={self.rho:.6g}{columns})"


def _positions(columns: Any) -> tuple[int, ...]:
    given = (columns,) if is_number(columns) else tuple(columns)
    if not all(is_number(c) and c >= 0 and int(c) == c for c in given):
        raise ValueError(
            "categorical must be positions of columns, whole numbers of at least 0, got "
            f"{columns!r}; for a data frame, columns.get_loc(name) is the position of a column"
        )
    return tuple(sorted({int(c) for c in given}))
