r"""BDD-M, BDD with minority rows (Turkoz and Kim 2022).

.. math:: w = [\alpha_0, -\alpha_1], \qquad \textstyle\sum \alpha_0 - \sum \alpha_1 = 1, \qquad
    0 \le \alpha_1 \le 1

:math:`\alpha_0` given :math:`\alpha_1` is :math:`N(m, \Sigma)` given its sum. It is made of
:math:`x \sim N(m, \Sigma)` without that condition: :math:`\alpha_0 = x + c\, (1 + \sum \alpha_1 -
\sum x)`, :math:`c = \Sigma 1 / 1^\top \Sigma 1`. A minority row of weight t has one
:math:`\alpha_1`, which counts t times.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from . import likelihood
from .gram import Gram
from .priors import Gaussian, make, of_minority, of_sums


@dataclass(frozen=True, eq=False)
class BDDM:
    """The model with Gram statistics, the priors of x and of alpha1, and lambda."""

    gram: Gram
    prior: Any
    minority_prior: Any
    scale: float = 1.0

    on_simplex: ClassVar[bool] = False

    @cached_property
    def variables(self) -> dict[str, tuple[Any, int]]:
        """The prior and the number of values of each variable."""
        x, alpha1 = of_sums(self.prior, self.gram), of_minority(self.minority_prior, self.gram)
        return {"x": (x, self.gram.m), "alpha1": (alpha1, self.gram.n1)}

    @cached_property
    def c(self) -> np.ndarray:
        """Sigma 1 / 1'Sigma 1 (m,); of a prior that is not normal, that of equal units."""
        prior = self.variables["x"][0]
        if isinstance(prior, Gaussian):
            columns = prior.times_covariance(np.ones(self.gram.m))
            return np.asarray(columns / columns.sum())
        return np.asarray(self.gram.root**2 / (self.gram.root**2).sum())

    def build(self) -> Any:
        """Return the PyMC model."""
        import pymc as pm
        import pytensor.tensor as pt

        M, m, t = len(self.gram.K), self.gram.m, self.gram.minority_weights
        coords = {"point": range(M), "majority": range(m), "minority": range(M - m)}
        with pm.Model(coords=coords) as model:
            x = make(self.variables["x"][0], self.gram, "x", "majority")
            alpha1 = t * make(self.variables["alpha1"][0], self.gram, "alpha1", "minority")
            alpha0 = x + self.c * (1.0 + pt.sum(alpha1) - pt.sum(x))
            w = pm.Deterministic("w", pt.concatenate([alpha0, -alpha1]), dims="point")
            likelihood.potential(w, self.gram, self.scale)
        return model

    def weights(self, x: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        alpha1 = self.gram.minority_weights * alpha1
        missing = 1.0 - x.sum(axis=1, keepdims=True) + alpha1.sum(axis=1, keepdims=True)
        return np.hstack([x + missing * self.c, -alpha1])

    def value_and_gradient(
        self, x: np.ndarray, alpha1: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return log L (S,) and its gradients g0 - c'g0 and t (c'g0 - g1)."""
        m = self.gram.m
        value, g = likelihood.value_and_gradient(self.weights(x, alpha1), self.gram, self.scale)
        mean = (g[:, :m] @ self.c)[:, None]
        return value, (g[:, :m] - mean, self.gram.minority_weights * (mean - g[:, m:]))


def build(gram: Gram, prior: Any, minority_prior: Any, likelihood_scale: float = 1.0) -> Any:
    """Return the PyMC model of the weights ``w``."""
    return BDDM(gram, prior, minority_prior, likelihood_scale).build()
