"""PyTensor's side of the models: w'Kw with one product, and the probit scale for shares."""

from __future__ import annotations

import math
from typing import Any, override

import pytensor.tensor as pt
from pymc.distributions.transforms import Transform
from pytensor.compile.builders import SymbolicOp
from pytensor.graph.basic import Apply
from pytensor.graph.replace import _vectorize_node
from pytensor.tensor.variable import TensorVariable


class QuadraticForm(SymbolicOp):
    """w'Kw for a symmetric K: its value, and its gradient 2Kw, take one product with K."""

    inline = True

    @override
    def build_inner_graph(self, w: TensorVariable, K: TensorVariable) -> list[TensorVariable]:
        return [w @ (K @ w)]

    @override
    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[TensorVariable]:
        (w, K), (c,) = inputs, cotangents
        return [2.0 * c * (K @ w), c * pt.outer(w, w)]


@_vectorize_node.register(QuadraticForm)
def _batch(op: QuadraticForm, node: Apply, w: TensorVariable, K: TensorVariable) -> Apply:
    """Return the form of each w of a batch, by one product of two matrices."""
    return pt.sum((w @ K) * w, axis=-1).owner


class Probit(Transform):
    r"""Shares u in (0, 1) on the scale :math:`x = \Phi^{-1}(u)`, where a uniform u is N(0, 1).

    A sampler and a normal approximation have it easier there than with log odds, whose tails
    are longer than normal ones.
    """

    name = "probit"

    @override
    def forward(self, value: Any, *inputs: Any) -> TensorVariable:
        return math.sqrt(2.0) * pt.erfinv(2.0 * value - 1.0)

    @override
    def backward(self, value: Any, *inputs: Any) -> TensorVariable:
        return 0.5 * pt.erfc(-value / math.sqrt(2.0))

    @override
    def log_jac_det(self, value: Any, *inputs: Any) -> TensorVariable:
        return -0.5 * value**2 - 0.5 * math.log(2.0 * math.pi)
