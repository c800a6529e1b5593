r"""BSVDD, Bayesian support vector data description (Oh 2023).

.. math:: w = \mathrm{softmax}(\beta), \qquad \beta \sim N(m, \Sigma)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from . import likelihood
from .gram import Gram
from .priors import make, of_log_sums


@dataclass(frozen=True, eq=False)
class BSVDD:
    """The model with Gram statistics, the prior of beta, and lambda."""

    gram: Gram
    prior: Any
    scale: float = 1.0

    on_simplex: ClassVar[bool] = True

    @cached_property
    def variables(self) -> dict[str, tuple[Any, int]]:
        """The prior and the number of values of each variable."""
        return {"beta": (of_log_sums(self.prior, self.gram), self.gram.m)}

    def build(self) -> Any:
        """Return the PyMC model."""
        import pymc as pm

        with pm.Model(coords={"point": range(self.gram.m)}) as model:
            beta = make(self.variables["beta"][0], self.gram, "beta", "point")
            w = pm.Deterministic("w", pm.math.softmax(beta), dims="point")
            likelihood.potential(w, self.gram, self.scale)
        return model

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        return softmax(beta)

    def value_and_gradient(self, beta: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return log L (S,) and its gradient w (g - w'g)."""
        w = softmax(beta)
        value, g = likelihood.value_and_gradient(w, self.gram, self.scale)
        g -= np.vecdot(w, g)[:, None]
        return value, (w * g,)


def softmax(beta: np.ndarray) -> np.ndarray:
    """Return the shares (S, M) of log weights."""
    w = beta - beta.max(axis=1, keepdims=True)
    np.exp(w, out=w)
    w /= w.sum(axis=1, keepdims=True)
    return w


def build(gram: Gram, prior: Any, likelihood_scale: float = 1.0) -> Any:
    """Return the PyMC model of the weights ``w``."""
    return BSVDD(gram, prior, likelihood_scale).build()
