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
from typing import Any

import numpy as np

from .gram import Gram
from .priors import Gaussian
from .weights import Arrays, Weights


@dataclass(frozen=True, eq=False)
class BDDM(Weights):
    """The model with Gram statistics, the priors of x and of alpha1, and lambda."""

    gram: Gram
    prior: Any
    minority_prior: Any
    scale: float = 1.0

    variable = "x"

    @cached_property
    def c(self) -> np.ndarray:
        """Sigma 1 / 1'Sigma 1 (m,); of a prior that is not normal, that of equal units."""
        prior = self.variables["x"][0]
        if isinstance(prior, Gaussian):
            columns = prior.times_covariance(np.ones(self.gram.m))
            return np.asarray(columns / columns.sum())
        return np.asarray(self.gram.root**2 / (self.gram.root**2).sum())

    def of(self, x: Any, alpha1: Any) -> Any:
        import pymc as pm

        alpha1 = self.gram.minority_weights * alpha1
        return pm.math.concatenate(
            [x + self.c * (1.0 + alpha1.sum() - x.sum()), -alpha1]
        )

    def weights(self, x: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        alpha1 = self.gram.minority_weights * alpha1
        missing = 1.0 - x.sum(axis=1, keepdims=True) + alpha1.sum(axis=1, keepdims=True)
        return np.hstack([x + missing * self.c, -alpha1])

    def pulled(
        self, g: np.ndarray, w: np.ndarray, x: np.ndarray, alpha1: np.ndarray
    ) -> Arrays:
        """Return g0 - c'g0 and t (c'g0 - g1)."""
        m = self.gram.m
        mean = (g[:, :m] @ self.c)[:, None]
        return g[:, :m] - mean, self.gram.minority_weights * (mean - g[:, m:])


def build(
    gram: Gram, prior: Any, minority_prior: Any, likelihood_scale: float = 1.0
) -> Any:
    """Return the PyMC model of the weights ``w``."""
    return BDDM(gram, prior, minority_prior, likelihood_scale).build()
