"""Kernels k(x, y) as value objects: ``kernel(X, Y)`` returns the matrix of kernel values."""

from .base import Custom, Kernel, as_kernel
from .distance import RBF, Laplacian, Standardized
from .dot_product import Linear, Polynomial
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
