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


def kernel_potential(w: TensorVariable, gram: Gram, likelihood_scale: float = 1.0) -> None:
    r"""Add the potential of the weights ``w`` to the PyMC model in context.

    The statistics become ``pm.Data`` (``K``, ``r``, ``T``, ``n0``, ``likelihood_scale``), so
    that a compiled model serves other rows too. ``squared_norm`` is
    :math:`\|a\|^2 = w^\top K w`, and ``Kw`` holds the products of a with the points, by which
    their distances cost nothing more.
    """
    import pymc as pm

    from .symbolic import QuadraticForm

    K, r = pm.Data("K", gram.K), pm.Data("r", gram.r, dims="point")
    T, n0 = pm.Data("T", float(gram.T)), pm.Data("n0", float(gram.n0))
    scale = pm.Data("likelihood_scale", float(likelihood_scale))
    norm, Kw = QuadraticForm()(w, K)
    pm.Deterministic("squared_norm", norm)
    pm.Deterministic("Kw", Kw, dims="point")
    pm.Potential("kernel", -scale / 2 * (T - 2 * (w @ r) + n0 * norm))
