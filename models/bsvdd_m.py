r"""BSVDD-M, BSVDD with minority rows (Bae 2024).

.. math:: w = \left[(1 + \textstyle\sum \alpha_1)\, \mathrm{softmax}(\tau),\; -\alpha_1\right],
    \qquad \tau \sim N(m, \Sigma), \qquad \alpha_1 \sim \mathrm{Beta}(a, b)

A minority row of weight t has one :math:`\alpha_1`, which counts t times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from . import likelihood
from .bsvdd import softmax
from .gram import Gram
from .priors import make, of_log_sums, of_minority


@dataclass(frozen=True, eq=False)
class BSVDDM:
    """The model with Gram statistics, the priors of tau and of alpha1, and lambda."""

    gram: Gram
    prior: Any
    minority_prior: Any
    scale: float = 1.0

    on_simplex: ClassVar[bool] = True

    @cached_property
    def variables(self) -> dict[str, tuple[Any, int]]:
        """The prior and the number of values of each variable."""
        tau, alpha1 = (
            of_log_sums(self.prior, self.gram),
            of_minority(self.minority_prior, self.gram),
        )
        return {"tau": (tau, self.gram.m), "alpha1": (alpha1, self.gram.n1)}

    def build(self) -> Any:
        """Return the PyMC model."""
        import pymc as pm
        import pytensor.tensor as pt

        M, m, t = len(self.gram.K), self.gram.m, self.gram.minority_weights
        coords = {"point": range(M), "majority": range(m), "minority": range(M - m)}
        with pm.Model(coords=coords) as model:
            tau = make(self.variables["tau"][0], self.gram, "tau", "majority")
            alpha1 = t * make(self.variables["alpha1"][0], self.gram, "alpha1", "minority")
            alpha0 = (1.0 + pt.sum(alpha1)) * pm.math.softmax(tau)
            w = pm.Deterministic("w", pt.concatenate([alpha0, -alpha1]), dims="point")
            likelihood.potential(w, self.gram, self.scale)
        return model

    def weights(self, tau: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        alpha1 = self.gram.minority_weights * alpha1
        return np.hstack([softmax(tau) * (1.0 + alpha1.sum(axis=1, keepdims=True)), -alpha1])

    def value_and_gradient(
        self, tau: np.ndarray, alpha1: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return log L (S,) and its gradients alpha0 (g0 - p'g0) and t (p'g0 - g1)."""
        w, m = self.weights(tau, alpha1), self.gram.m
        value, g = likelihood.value_and_gradient(w, self.gram, self.scale)
        alpha0, g0, g1 = w[:, :m], g[:, :m], g[:, m:]
        mean = (np.vecdot(alpha0, g0) / alpha0.sum(axis=1))[:, None]
        return value, (alpha0 * (g0 - mean), self.gram.minority_weights * (mean - g1))


def build(gram: Gram, prior: Any, minority_prior: Any, likelihood_scale: float = 1.0) -> Any:
    """Return the PyMC model of the weights ``w``."""
    return BSVDDM(gram, prior, minority_prior, likelihood_scale).build()
