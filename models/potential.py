r"""The one likelihood of all models: the kernel potential of a weighted centre.

With a = sum_j w_j phi(u_j) the majority rows contribute

.. math::
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2
                     = -\frac{\lambda}{2} \left(T - 2 w^\top r + n_0 w^\top K w\right).

In kernel space N(a, I) has no density, so this is a quasi-likelihood; its weight lambda
against the prior is a choice (Ghasemi et al. 2012 and the later models take 1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .gram import Gram

if TYPE_CHECKING:
    from pytensor.tensor.variable import TensorVariable


def quadratic_form(w: TensorVariable, K: TensorVariable) -> TensorVariable:
    """Return w'Kw for a symmetric K; value and gradient 2Kw share the one product K w."""
    import pytensor.tensor as pt
    from pytensor.compile.builders import OpFromGraph

    w_, K_ = w.type(), K.type()
    op = OpFromGraph(
        [w_, K_],
        [w_ @ (K_ @ w_)],
        inline=True,
        pullback=lambda inputs, outputs, cotangents: [
            2.0 * cotangents[0] * (inputs[1] @ inputs[0]),
            cotangents[0] * pt.outer(inputs[0], inputs[0]),
        ],
    )
    return op(w, K)


def kernel_potential(w: TensorVariable, gram: Gram, likelihood_scale: float = 1.0) -> None:
    """Add the potential of the weights ``w`` to the PyMC model in context.

    The statistics become ``pm.Data`` (``K``, ``r``, ``T``, ``n0``, ``likelihood_scale``), so
    that a compiled model serves other rows too.
    """
    import pymc as pm

    K, r = pm.Data("K", gram.K), pm.Data("r", gram.r, dims="point")
    T, n0 = pm.Data("T", float(gram.T)), pm.Data("n0", float(gram.n0))
    scale = pm.Data("likelihood_scale", float(likelihood_scale))
    pm.Potential("kernel", -scale / 2 * (T - 2 * w @ r + n0 * quadratic_form(w, K)))
