"""Kernels k(x, y) as values: ``kernel(Z, Y)`` returns the matrix of kernel values."""

from .base import Custom, Kernel, Precomputed, as_kernel
from .numeric import RBF, Laplacian, Linear, Polynomial
from .tabular import Tabular

__all__ = [
    "RBF",
    "Custom",
    "Kernel",
    "Laplacian",
    "Linear",
    "Polynomial",
    "Precomputed",
    "Tabular",
    "as_kernel",
]
