r"""BDD-M, BDD with minority rows (Turkoz and Kim 2022).

.. math:: w = [\alpha_0, -\alpha_1], \qquad
    \textstyle\sum \alpha_0 - \sum \alpha_1 = 1, \qquad 0 \le \alpha_1 \le 1

:math:`\alpha_0` given :math:`\alpha_1` is :math:`N(m, \Sigma)` given its sum. It is
made of :math:`x \sim N(m, \Sigma)` without that condition: :math:`\alpha_0 = x + c\,
(1 + \sum \alpha_1 - \sum x)`, :math:`c = \Sigma 1 / 1^\top \Sigma 1`. A minority row
of weight t has one :math:`\alpha_1`, which counts t times.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, override

import numpy as np

from .dictionary import Dictionary
from .priors import Gaussian, PriorLike
from .similarities import Arrays
from .weights import Weights

if TYPE_CHECKING:
    import pymc as pm


class BDDM(Weights):
    """The model with Gram statistics, the priors of x and of alpha1, and lambda."""

    variable = "x"

    @cached_property
    def c(self) -> np.ndarray:
        """Sigma 1 / 1'Sigma 1, (m,); equal groups give it for a prior not normal."""
        prior, _ = self.variables["x"]
        if isinstance(prior, Gaussian):
            columns = prior.times_covariance(np.ones(self.gram.m))
            return np.asarray(columns / columns.sum())
        return np.asarray(self.gram.root**2 / (self.gram.root**2).sum())

    @override
    def of(self, x: Any, alpha1: Any) -> Any:
        import pymc as pm

        alpha1 = self.gram.minority_weights * alpha1
        alpha0 = x + self.c * (1.0 + alpha1.sum() - x.sum())
        return pm.math.concatenate([alpha0, -alpha1])

    @override
    def weights(self, x: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        alpha1 = self.gram.minority_weights * alpha1
        rest = 1.0 - x.sum(axis=1, keepdims=True) + alpha1.sum(axis=1, keepdims=True)
        return np.hstack([x + rest * self.c, -alpha1])

    @override
    def pulled(
        self, g: np.ndarray, w: np.ndarray, x: np.ndarray, alpha1: np.ndarray
    ) -> Arrays:
        """Return g0 - c'g0 and t (c'g0 - g1)."""
        g0, g1 = np.hsplit(g, [self.gram.m])
        mean = (g0 @ self.c)[:, None]
        return g0 - mean, self.gram.minority_weights * (mean - g1)


def build(
    gram: Dictionary,
    prior: PriorLike,
    minority_prior: PriorLike,
    likelihood_scale: float = 1.0,
) -> pm.Model:
    """Return the PyMC model of the weights ``w``."""
    return BDDM(gram, prior, likelihood_scale, minority_prior).build()
