r"""BSVDD, Bayesian support vector data description (Oh 2023).

.. math:: w = \mathrm{softmax}(\beta), \qquad \beta \sim N(m, \Sigma)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

import numpy as np

from .dictionary import Dictionary
from .priors import PriorLike
from .similarities import Arrays
from .weights import Weights

if TYPE_CHECKING:
    import pymc as pm


class BSVDD(Weights):
    """The model with Gram statistics, the prior of beta, and lambda."""

    on_simplex = True
    variable = "beta"

    @override
    def of(self, beta: Any) -> Any:
        import pymc as pm

        return pm.math.softmax(beta)

    @override
    def weights(self, beta: np.ndarray) -> np.ndarray:
        return softmax(beta)

    @override
    def pulled(self, g: np.ndarray, w: np.ndarray, beta: np.ndarray) -> Arrays:
        """Return w (g - w'g)."""
        g -= np.vecdot(w, g)[:, None]
        return (w * g,)


def softmax(beta: np.ndarray) -> np.ndarray:
    """Return the shares (S, M) of log weights."""
    w = beta - beta.max(axis=1, keepdims=True)
    np.exp(w, out=w)
    w /= w.sum(axis=1, keepdims=True)
    return w


def build(
    gram: Dictionary, prior: PriorLike, likelihood_scale: float = 1.0
) -> pm.Model:
    """Return the PyMC model of the weights ``w``."""
    return BSVDD(gram, prior, likelihood_scale).build()
