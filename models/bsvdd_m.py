r"""BSVDD-M, Bayesian support vector data description with minority rows (Bae 2024).

Minority rows :math:`v_1, \dots, v_{n_1}` join the dictionary with negative weights, which push
the centre away from them. The majority weights compensate, so that all weights sum to one:

.. math::
    w = [\alpha_0, -\alpha_1], \quad
    \alpha_0 = \left(1 + \textstyle\sum_j \alpha_{1j}\right) \mathrm{softmax}(\tau), \quad
    \tau \sim N(m, \Sigma), \quad \alpha_{1j} \sim \mathrm{Beta}(a, b)

The likelihood is that of the majority rows; minority rows enter only through the centre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from . import model as base
from .bsvdd import Softmax
from .gram import Gram
from .potential import kernel_potential
from .priors import Beta, Prior
from .priors.base import make_variable

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class ScaledSoftmax:
    r"""The map of tau and alpha1 to the weights, :math:`w = [\alpha_0, -\alpha_1]`.

    With :math:`p = \mathrm{softmax}(\tau)` and :math:`s = 1 + \sum_j \alpha_{1j}`,

    .. math:: \alpha_0 = s p, \qquad \partial w / \partial \tau = s (\mathrm{diag}(p) - p p^\top),
        \qquad \partial w / \partial \alpha_1 = [p 1^\top, -I].

    Attributes
    ----------
    majority : int
        Number of majority points.
    """

    majority: int

    inputs: ClassVar[tuple[str, ...]] = ("tau", "alpha1")

    def weights(self, tau: np.ndarray, alpha1: np.ndarray) -> np.ndarray:
        """Return the weights of a batch, shape (S, M)."""
        alpha0 = Softmax().weights(tau) * (1.0 + alpha1.sum(axis=1, keepdims=True))
        return np.concatenate([alpha0, -alpha1], axis=1)

    def pull(self, w: np.ndarray, g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray, ...]:
        r"""Return :math:`\alpha_0 \circ (g_0 - p^\top g_0)` and :math:`p^\top g_0 - g_1`."""
        alpha0, g0, g1 = w[:, : self.majority], g[:, : self.majority], g[:, self.majority :]
        mean = (np.vecdot(alpha0, g0) / alpha0.sum(axis=1))[:, None]
        return alpha0 * (g0 - mean), mean - g1


@dataclass(frozen=True)
class Model(base.Model):
    r"""The model of BSVDD-M.

    Parameters
    ----------
    prior : prior of tau
    likelihood_scale, is_calibrated
        As in :class:`bsvdd.models.model.Model`.
    minority_prior : prior of alpha1
    """

    minority_prior: Any = Beta()

    log_weights: ClassVar[bool] = True

    @override
    def build(self, gram: Gram) -> pm.Model:
        import pymc as pm
        import pytensor.tensor as pt

        if gram.n1 < 1:
            raise ValueError(
                "BSVDD-M learns from minority rows, but there is none (n1 = 0); give y with at "
                "least one minority row, or use BSVDD"
            )
        with pm.Model(coords=gram.coords) as model:
            tau = make_variable(self.prior_of(gram), gram, "tau", "majority")
            alpha1 = make_variable(self.minority_prior, gram, "alpha1", "minority")
            alpha0 = (1 + pt.sum(alpha1)) * pm.math.softmax(tau)
            w = pm.Deterministic("w", pt.concatenate([alpha0, -alpha1]), dims="point")
            kernel_potential(w, gram, self.scale)
        return model

    @override
    def weight_map(self, gram: Gram) -> ScaledSoftmax:
        return ScaledSoftmax(gram.n_majority_points)


def build(
    gram: Gram,
    prior: Prior,
    minority_prior: Prior,
    likelihood_scale: float = 1.0,
) -> pm.Model:
    """Build the PyMC model of the weights ``w``, minority points last.

    The arguments are those of :class:`Model`.

    Raises
    ------
    ValueError
        There is no minority point.
    """
    return Model(prior, likelihood_scale, minority_prior=minority_prior).build(gram)
