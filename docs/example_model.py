r"""A model in one file: data description with softplus weights.

.. math::
    w_j = \frac{s(\beta_j)}{\sum_l s(\beta_l)}, \qquad
    s(\beta) = \log(1 + e^\beta), \qquad
    \beta \sim N(m, \Sigma), \qquad
    \log L(w) = -\frac{\lambda}{2} \sum_i t_i \|\phi(x_i) - a\|^2

As BSVDD, but a large beta makes a weight larger in proportion, and not by its
exponential, so that the published prior collapses less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from bsvdd.models import likelihood
from bsvdd.models.gram import Gram
from bsvdd.models.priors import Flat, make, of_log_sums

from bsvdd.estimators.bayesian import Bayesian


@dataclass(frozen=True, eq=False)
class Softplus:
    """The model: Gram statistics, the prior of beta, and lambda."""

    gram: Gram
    prior: Any
    likelihood_scale: float = 1.0

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
            s = pm.math.log1pexp(beta)
            w = pm.Deterministic("w", s / s.sum(), dims="point")
            likelihood.potential(w, self.gram, self.likelihood_scale)
        return model

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return w (S, M)."""
        s = np.logaddexp(0.0, beta)
        return np.asarray(s / s.sum(axis=1, keepdims=True))

    def value_and_gradient(
        self, beta: np.ndarray
    ) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        """Return log L (S,) and its gradient s'(beta) (g - w'g) / sum s."""
        s = np.logaddexp(0.0, beta)
        total = s.sum(axis=1, keepdims=True)
        value, g = likelihood.value_and_gradient(
            s / total, self.gram, self.likelihood_scale
        )
        g -= np.vecdot(s / total, g)[:, None]
        return value, (np.exp(beta - s) * g / total,)


@dataclass(kw_only=True, eq=False, repr=False)
class SoftplusDD(Bayesian):
    """Data description with softplus weights; parameters as in :class:`bsvdd.BSVDD`.

    References
    ----------
    The contributor's guide of bsvdd (2026).
    """

    prior: Any = Flat(sd=1.5)

    _Model = Softplus
