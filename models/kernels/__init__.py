"""Kernels k(x, y) as value objects: ``kernel(X, Y)`` returns the matrix of kernel values."""

from .base import Custom, Kernel, as_kernel
from .numeric import RBF, Laplacian, Linear, Polynomial, Standardized
from .precomputed import Precomputed
from .tabular import Tabular

__all__ = [
    "RBF",
    "Custom",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Standardized",
    "Tabular",
    "as_kernel",
]
