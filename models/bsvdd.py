r"""BSVDD, Bayesian support vector data description (Oh 2023).

.. math:: w = \mathrm{softmax}(\beta), \qquad \beta \sim N(m, \Sigma)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .gram import Gram
from .weights import Arrays, Weights


@dataclass(frozen=True, eq=False)
class BSVDD(Weights):
    """The model with Gram statistics, the prior of beta, and lambda."""

    gram: Gram
    prior: Any
    scale: float = 1.0

    on_simplex = True
    variable = "beta"

    def of(self, beta: Any) -> Any:
        import pymc as pm

        return pm.math.softmax(beta)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        return softmax(beta)

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


def build(gram: Gram, prior: Any, likelihood_scale: float = 1.0) -> Any:
    """Return the PyMC model of the weights ``w``."""
    return BSVDD(gram, prior, likelihood_scale).build()
