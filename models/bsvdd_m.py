r"""BSVDD-M, BSVDD with minority rows (Bae 2024).

.. math::
    w = \left[(1 + \textstyle\sum \alpha_1)\, \mathrm{softmax}(\tau),\;
    -\alpha_1\right], \qquad \tau \sim N(m, \Sigma), \qquad
    \alpha_1 \sim \mathrm{Beta}(a, b)

A minority row of weight t has one :math:`\alpha_1`, which counts t times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

import numpy as np

from .bsvdd import softmax
from .dictionary import Dictionary
from .priors import PriorLike
from .similarities import Arrays
from .weights import Weights

if TYPE_CHECKING:
    import pymc as pm


class BSVDDM(Weights):
    """The model with Gram statistics, the priors of tau and of alpha1, and lambda."""

    on_simplex = True
    variable = "tau"

    @override
    def of(self, tau: Any, alpha1: Any) -> Any:
        import pymc as pm

        alpha1 = self.gram.minority_weights * alpha1
        alpha0 = (1.0 + alpha1.sum()) * pm.math.softmax(tau)
        return pm.math.concatenate([alpha0, -alpha1])

    @override
    def weights(self, tau: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        alpha1 = self.gram.minority_weights * alpha1
        alpha0 = softmax(tau) * (1.0 + alpha1.sum(axis=1, keepdims=True))
        return np.hstack([alpha0, -alpha1])

    @override
    def pulled(
        self, g: np.ndarray, w: np.ndarray, tau: np.ndarray, alpha1: np.ndarray
    ) -> Arrays:
        """Return alpha0 (g0 - p'g0) and t (p'g0 - g1), p = softmax(tau)."""
        alpha0, _ = np.hsplit(w, [self.gram.m])
        g0, g1 = np.hsplit(g, [self.gram.m])
        mean = (np.vecdot(alpha0, g0) / alpha0.sum(axis=1))[:, None]
        return alpha0 * (g0 - mean), self.gram.minority_weights * (mean - g1)


def build(
    gram: Dictionary,
    prior: PriorLike,
    minority_prior: PriorLike,
    likelihood_scale: float = 1.0,
) -> pm.Model:
    """Return the PyMC model of the weights ``w``."""
    return BSVDDM(gram, prior, likelihood_scale, minority_prior).build()
