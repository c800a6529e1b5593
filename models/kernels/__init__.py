"""Kernels k(x, y) as value objects: ``kernel(X, Y)`` returns the matrix of kernel values."""

from .base import Kernel
from .distance import RBF, Laplacian
from .dot_product import Linear, Polynomial
from .precomputed import Precomputed
from .tabular import Tabular
from .wrappers import Custom, Standardized, as_kernel

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
