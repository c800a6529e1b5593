"""The product K w for a symmetric K by BLAS's ``dsymv``, which reads one triangle of K only.

Reading K takes most of the time, so this halves it. The graph of a model has ``K @ w``, which is
readable and works with PyMC's samplers. When this package compiles a log density itself,
:func:`by_one_triangle` replaces the product by ``dsymv``.
"""

from __future__ import annotations

from typing import Any, override

import numba
import numpy as np
from llvmlite.binding import add_symbol
from numba import types
from numba.extending import get_cython_function_address
from pytensor.graph.basic import Apply, Variable
from pytensor.graph.op import Op
from pytensor.graph.rewriting.basic import node_rewriter
from pytensor.link.numba.dispatch.basic import numba_njit, register_funcify_default_op_cache_key
from scipy.linalg.blas import dsymv

from ..models.quadratic_form import QuadraticForm


class SymmetricProduct(Op):
    """K w for a symmetric K in float64."""

    __props__ = ()

    @override
    def make_node(self, K: Variable, w: Variable) -> Apply:
        return Apply(self, [K, w], [w.type()])

    @override
    def perform(self, node: Apply, inputs: Any, output_storage: Any) -> None:
        K, w = inputs
        output_storage[0][0] = dsymv(1.0, K.T, w, lower=True)  # K.T is in BLAS's order


@node_rewriter([QuadraticForm])
def by_one_triangle(fgraph: Any, node: Apply) -> list[Variable]:
    """Replace w'Kw and Kw by operations that read one triangle of K."""
    w, K = node.inputs
    Kw = SymmetricProduct()(K, w)
    return [w @ Kw, Kw]


# machine code cached on disk finds the function by this name; addresses differ by process
add_symbol("bsvdd_dsymv", get_cython_function_address("scipy.linalg.cython_blas", "dsymv"))
_DSYMV: Any = types.ExternalFunction("bsvdd_dsymv", types.void(*[types.uintp] * 10))
_LOWER, _ONE, _STEP = np.array([ord("L")], np.int8), np.ones(1), np.ones(1, np.int32)


@numba.njit  # pragma: no cover - runs as machine code, which no tracer follows
def _add_product(K: np.ndarray, w: np.ndarray, y: np.ndarray, n: np.ndarray) -> None:
    """Add K w to y. The caller holds all arrays, so none is freed while BLAS has its address."""
    _DSYMV(
        _LOWER.ctypes.data,
        n.ctypes.data,
        _ONE.ctypes.data,
        K.ctypes.data,
        n.ctypes.data,
        w.ctypes.data,
        _STEP.ctypes.data,
        _ONE.ctypes.data,
        y.ctypes.data,
        _STEP.ctypes.data,
    )


@register_funcify_default_op_cache_key(SymmetricProduct)
def _in_machine_code(op: SymmetricProduct, node: Apply, **kwargs: Any) -> tuple[Any, int]:
    @numba_njit
    def product(K: np.ndarray, w: np.ndarray) -> np.ndarray:  # pragma: no cover
        rows, vector = np.ascontiguousarray(K), np.ascontiguousarray(w)
        y, n = np.zeros(len(vector)), np.array([len(vector)], np.int32)
        _add_product(rows, vector, y, n)
        return y

    return product, 1  # version in the key of the disk cache
