r"""A model in one file: data description with softplus weights.

.. math::
    w_j = \frac{s(\beta_j)}{\sum_l s(\beta_l)}, \qquad s(\beta) = \log(1 + e^\beta), \qquad
    \beta \sim N(m, \Sigma), \qquad
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2

As BSVDD, but a large beta makes a weight larger in proportion, and not by its exponential, so that
the published prior collapses less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, override

import numpy as np
import pymc as pm
from bsvdd.estimators.bayesian import CALIBRATED, Bayesian
from bsvdd.estimators.bsvdd import BSVDD
from bsvdd.models import model
from bsvdd.models.gram import Gram
from bsvdd.models.potential import kernel_potential
from bsvdd.models.priors.base import make_variable


class SoftplusMap:
    """The map of beta to the weights in numbers, for batches; J is its Jacobian."""

    inputs: ClassVar[tuple[str, ...]] = ("beta",)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return the weights, shape (S, M)."""
        s = np.logaddexp(0.0, beta)
        w: np.ndarray = s / s.sum(axis=1, keepdims=True)
        return w

    def pull(self, w: np.ndarray, g: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return J'g, from s'(beta) = 1 / (1 + exp(-beta))."""
        s = np.logaddexp(0.0, beta)
        slope = np.exp(beta - s) / s.sum(axis=1, keepdims=True)
        return (slope * (g - np.vecdot(w, g)[:, None]),)


class Model(model.Model):
    """The model of the weights: its definition, and its map in numbers."""

    nonnegative: ClassVar[bool] = True

    @override
    def build(self, gram: Gram) -> pm.Model:
        with pm.Model(coords={"point": range(gram.n_points)}) as built:
            s = pm.math.log1pexp(make_variable(self.prior, gram, "beta", "point"))
            w = pm.Deterministic("w", s / s.sum(), dims="point")
            kernel_potential(w, gram, self.scale)
        return built

    @override
    def weight_map(self, gram: Gram) -> SoftplusMap:
        return SoftplusMap()


@dataclass(kw_only=True, eq=False, repr=False)
class SoftplusDD(Bayesian):
    """Data description with softplus weights; parameters as in :class:`bsvdd.BSVDD`.

    References
    ----------
    The contributor's guide of bsvdd (2026).
    """

    likelihood_scale: float | str = CALIBRATED
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = BSVDD._parameter_constraints
    _model = Model
