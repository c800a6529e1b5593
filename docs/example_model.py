r"""A model in one file: data description with softplus weights.

.. math::
    w_j = \frac{s(\beta_j)}{\sum_l s(\beta_l)}, \qquad
    s(\beta) = \log(1 + e^\beta), \qquad \beta \sim N(m, \Sigma), \qquad
    \log L(w) = -\frac{\lambda}{2} \sum_i t_i \|\phi(x_i) - a\|^2

As BSVDD, but a large beta makes a weight larger in proportion, and not by its
exponential, so that the published prior collapses less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, override

import numpy as np
from bsvdd.models.priors import Flat
from bsvdd.models.weights import Weights

from bsvdd.estimators.bayesian import Bayesian


class Softplus(Weights):
    """The model with Gram statistics, the prior of beta, and lambda."""

    on_simplex = True
    variable = "beta"

    @override
    def of(self, beta: Any) -> Any:
        import pymc as pm

        s = pm.math.log1pexp(beta)
        return s / s.sum()

    @override
    def weights(self, beta: np.ndarray) -> np.ndarray:
        s = np.logaddexp(0.0, beta)
        return np.asarray(s / s.sum(axis=1, keepdims=True))

    @override
    def pulled(
        self, g: np.ndarray, w: np.ndarray, beta: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Return s'(beta) (g - w'g) / sum s."""
        s = np.logaddexp(0.0, beta)
        g = g - np.vecdot(w, g)[:, None]
        return (np.exp(beta - s) * g / s.sum(axis=1, keepdims=True),)


@dataclass(kw_only=True, eq=False, repr=False)
class SoftplusDD(Bayesian):
    """Data description with softplus weights; parameters as in :class:`bsvdd.BSVDD`.

    References
    ----------
    The contributor's guide of bsvdd (2026).
    """

    prior: Any = Flat(sd=1.5)

    _Model = Softplus
