"""The quadratic form w'Kw as a PyTensor operation: one product with K gives value and gradient."""

from __future__ import annotations

from typing import Any, override

import pytensor.tensor as pt
from pytensor.compile.builders import SymbolicOp
from pytensor.compile.ops import ViewOp
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.replace import _vectorize_node
from pytensor.tensor.variable import TensorVariable


class QuadraticForm(SymbolicOp):
    r"""The values :math:`w^\top K w` and :math:`K w` for a symmetric K.

    The gradient :math:`2 K w` of the first needs no other product with K.
    """

    inline = True

    @override
    def build_inner_graph(self, w: TensorVariable, K: TensorVariable) -> list[TensorVariable]:
        """Return w'Kw and Kw."""
        Kw = K @ w
        return [w @ Kw, Kw]

    @override
    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[TensorVariable]:
        """Return the gradients of c w'Kw + v'Kw by w and by K, for the cotangents c and v."""
        (w, K), (_, Kw), (c, v) = inputs, outputs, cotangents
        of_w, of_K = [], []
        if not isinstance(c.type, DisconnectedType):
            of_w, of_K = [2.0 * c * Kw], [c * pt.outer(w, w)]
        if not isinstance(v.type, DisconnectedType):
            of_w, of_K = [*of_w, K @ v], [*of_K, pt.outer(v, w)]
        return [pt.add(*of_w), pt.add(*of_K)]


@_vectorize_node.register(QuadraticForm)
def _batch(
    op: QuadraticForm, node: Apply, w: TensorVariable, K: TensorVariable
) -> list[TensorVariable]:
    """Return w'Kw and Kw for each w of a batch, by one matrix product."""
    Kw = w @ K
    return [pt.sum(Kw * w, axis=-1), Kw]


@_vectorize_node.register(ViewOp)
def _view(op: ViewOp, node: Apply, x: TensorVariable) -> Apply:
    """Return the view of a batch; PyTensor's default is a loop over its members."""
    return op.make_node(x)
