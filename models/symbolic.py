"""PyTensor's side of the models: w'Kw with one product, shares on the probit scale, the cube."""

from __future__ import annotations

import math
from typing import Any, override

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.transforms import Interval
from pytensor.compile.builders import SymbolicOp
from pytensor.compile.ops import ViewOp
from pytensor.gradient import DisconnectedType
from pytensor.graph.basic import Apply
from pytensor.graph.replace import _vectorize_node
from pytensor.tensor.variable import TensorVariable
from scipy.special import ndtri

from . import truncated

TRUNCATED_TUNE = 50  # steps of a chain that make one draw of a correlated truncated normal


class QuadraticForm(SymbolicOp):
    """w'Kw and Kw for a symmetric K; the gradient 2Kw of the first takes no other product."""

    inline = True

    @override
    def build_inner_graph(self, w: TensorVariable, K: TensorVariable) -> list[TensorVariable]:
        Kw = K @ w
        return [w @ Kw, Kw]

    @override
    def pullback(self, inputs: Any, outputs: Any, cotangents: Any) -> list[TensorVariable]:
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
    """Return w'Kw and Kw of each w of a batch, by one product of two matrices."""
    Kw = w @ K
    return [pt.sum(Kw * w, axis=-1), Kw]


@_vectorize_node.register(ViewOp)
def _view(op: ViewOp, node: Apply, x: TensorVariable) -> Apply:
    """Return a batch as it is, which PyTensor would go through one by one."""
    return op.make_node(x)


def probit_beta(name: str, a: TensorVariable, b: TensorVariable, dims: str) -> TensorVariable:
    r"""Make the share u = Phi(x), which is Beta(a, b), in the model in context; x is free.

    .. math::
        \log p(x) = (a - 1) \log \Phi(x) + (b - 1) \log \Phi(-x) + \log \varphi(x) - \log B(a, b)

    A uniform u is a normal x: a sampler and a normal approximation have it easier there than with
    log odds, whose tails are longer than normal ones. The density is one of x, and not of u, which
    has rounded to 1 from x = 8.3 on. Its part phi(x) comes from taking x for u, and is no part of
    the prior of u: as ``tag.log_jacobian`` it is known to who asks for that.
    """
    x = pm.CustomDist(
        f"{name}_probit",
        a,
        b,
        logp=_probit_beta_log_density,
        random=_probit_beta_draw,
        support_point=lambda rv, size, a, b: pt.zeros(rv.shape),
        dims=dims,
    )
    x.tag.log_jacobian = _log_normal(x)
    return pm.Deterministic(f"{name}_share", pt.exp(_log_phi(x)), dims=dims)


def _log_phi(x: TensorVariable) -> TensorVariable:
    # PyMC's normal_lcdf keeps 6 to 8 digits
    tail = pt.erfcx(-pt.minimum(x, 0.0) / math.sqrt(2.0)) / 2.0
    upper = pt.erfc(pt.maximum(x, 0.0) / math.sqrt(2.0)) / 2.0
    return pt.switch(x < 0.0, pt.log(tail) - x**2 / 2.0, pt.log1p(-upper))


def _log_normal(x: TensorVariable) -> TensorVariable:
    return -0.5 * x**2 - 0.5 * math.log(2.0 * math.pi)


def _probit_beta_log_density(
    x: TensorVariable, a: TensorVariable, b: TensorVariable
) -> TensorVariable:
    log_beta = pt.gammaln(a) + pt.gammaln(b) - pt.gammaln(a + b)
    return (a - 1.0) * _log_phi(x) + (b - 1.0) * _log_phi(-x) + _log_normal(x) - log_beta


def _probit_beta_draw(
    a: np.ndarray, b: np.ndarray, rng: np.random.Generator, size: Any = None
) -> np.ndarray:
    # by two gamma variables, so that u and 1 - u both keep their digits
    one, other = rng.gamma(a, size=size), rng.gamma(b, size=size)
    lower = one <= other
    x = ndtri(np.where(lower, one, other) / (one + other))
    return np.where(lower, x, -x)


class Cube(Interval):
    """The interval's transform of each coordinate of one vector."""

    def log_jac_det(self, value: TensorVariable, *inputs: Any) -> TensorVariable:
        """Return the log of the Jacobian's determinant."""
        return pt.sum(super().log_jac_det(value, *inputs), axis=-1)


def _log_density(
    x: TensorVariable, mean: TensorVariable, precision: TensorVariable
) -> TensorVariable:
    """Return the log density but for its constant, the probability of the cube."""
    e = x - mean
    inside = pt.all(pt.ge(x, 0.0) & pt.le(x, 1.0))
    return pt.switch(inside, -e @ precision @ e / 2, -np.inf)


def _draw(
    mean: np.ndarray, precision: np.ndarray, rng: np.random.Generator, size: Any = None
) -> np.ndarray:
    n = int(np.prod(size or ()))  # each draw ends a chain of its own
    x = truncated.draw(precision, precision @ mean, 1, TRUNCATED_TUNE, n, rng)
    return x.reshape(*(size or ()), len(mean))


def truncated_normal(
    name: str, mean: TensorVariable, precision: TensorVariable, dims: str
) -> TensorVariable:
    """Make a correlated normal vector on the cube [0, 1]^n in the model in context."""
    return pm.CustomDist(
        name,
        mean,
        precision,
        logp=_log_density,
        random=_draw,
        support_point=lambda rv, size, mean, precision: pt.full_like(mean, 0.5),
        signature="(n),(n,n)->(n)",
        transform=Cube(0.0, 1.0),
        dims=dims,
    )
