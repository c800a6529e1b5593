r"""BSVDD-M, BSVDD with minority rows (Bae 2024).

.. math:: w = \left[(1 + \textstyle\sum \alpha_1)\, \mathrm{softmax}(\tau),\; -\alpha_1\right],
    \qquad \tau \sim N(m, \Sigma), \qquad \alpha_1 \sim \mathrm{Beta}(a, b)

A minority row of weight t has one :math:`\alpha_1`, which counts t times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .bsvdd import softmax
from .gram import Gram
from .weights import Arrays, Weights


@dataclass(frozen=True, eq=False)
class BSVDDM(Weights):
    """The model with Gram statistics, the priors of tau and of alpha1, and lambda."""

    gram: Gram
    prior: Any
    minority_prior: Any
    scale: float = 1.0

    on_simplex = True
    variable = "tau"

    def of(self, tau: Any, alpha1: Any) -> Any:
        import pymc as pm

        alpha1 = self.gram.minority_weights * alpha1
        return pm.math.concatenate(
            [(1.0 + alpha1.sum()) * pm.math.softmax(tau), -alpha1]
        )

    def weights(self, tau: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        alpha1 = self.gram.minority_weights * alpha1
        return np.hstack([softmax(tau) * (1.0 + alpha1.sum(1, keepdims=True)), -alpha1])

    def pulled(
        self, g: np.ndarray, w: np.ndarray, tau: np.ndarray, alpha1: np.ndarray
    ) -> Arrays:
        """Return alpha0 (g0 - p'g0) and t (p'g0 - g1), p = softmax(tau)."""
        m = self.gram.m
        t = self.gram.minority_weights
        alpha0 = w[:, :m]
        g0 = g[:, :m]
        g1 = g[:, m:]
        mean = (np.vecdot(alpha0, g0) / alpha0.sum(axis=1))[:, None]
        return alpha0 * (g0 - mean), t * (mean - g1)


def build(
    gram: Gram, prior: Any, minority_prior: Any, likelihood_scale: float = 1.0
) -> Any:
    """Return the PyMC model of the weights ``w``."""
    return BSVDDM(gram, prior, minority_prior, likelihood_scale).build()
