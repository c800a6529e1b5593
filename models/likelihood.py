r"""The likelihood of the centre a = sum_g w_g u_g, and its gradient.

.. math:: \log L(w) = -\frac\lambda2 \sum_i t_i \|\phi(x_i) - a\|^2
    = -\frac\lambda2 (T - 2 w^\top r + n_0 w^\top K w)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .gram import Gram


def potential(w: Any, gram: Gram, scale: float) -> Any:
    """Add log L to the PyMC model in context, as the potential "kernel"."""
    import pymc as pm

    squares = gram.T - 2.0 * (w @ gram.r) + gram.n0 * (w @ gram.K @ w)
    return pm.Potential("kernel", -scale / 2.0 * squares)


def value_and_gradient(
    w: np.ndarray, gram: Gram, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return log L (S,) of weights (S, M), and its gradient lambda (r - n0 K w) (S, M)."""
    gradient = w @ gram.K
    gradient *= -gram.n0 * scale
    gradient += scale * gram.r
    return (np.vecdot(w, gradient) + scale * (w @ gram.r - gram.T)) / 2.0, gradient
