r"""BDD-M, Bayesian data description with minority rows (Turkoz and Kim 2022, one target class).

Minority rows join the dictionary with negative weights, and all weights sum to one:

.. math::
    w &= [\alpha_0, -\alpha_1], \qquad \alpha_1 \sim N(m_2, \sigma_2^2 I) \text{ on }
    [0, 1]^{n_1}, \\
    \alpha_0 \mid \alpha_1 &\sim N(m_1, \Sigma_1) \text{ given } 1^\top \alpha_0 = 1 +
    1^\top \alpha_1

A normal vector given its sum is made from the same vector without that condition, x, by

.. math::
    \alpha_0 = x + \frac{\Sigma_1 1}{1^\top \Sigma_1 1} \left(1 + 1^\top\alpha_1 - 1^\top x\right),
    \qquad x \sim N(m_1, \Sigma_1),

so the constraint holds by construction. The sum of x has no part in the weights: it keeps its
prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, override

import numpy as np

from . import model as base
from .gram import Gram
from .potential import kernel_potential
from .priors import GaussianPrior, Normal, Prior, TruncatedNormal
from .priors.base import can_group, is_foreign, make_variable, of_points
from .priors.numbers import VariableDensity

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, eq=False)
class Affine:
    r"""The map of x and alpha1 to the weights, with :math:`c = \Sigma_1 1 / 1^\top \Sigma_1 1`.

    .. math:: w = [x + c (1 + 1^\top \alpha_1 - 1^\top x), -\alpha_1]

    Attributes
    ----------
    gain : ndarray of shape (m,)
        c.
    inputs : tuple of str
        x, and alpha1 if there are minority points.
    """

    gain: np.ndarray
    inputs: tuple[str, ...] = ("x", "alpha1")

    def weights(self, x: np.ndarray, *alpha1: np.ndarray) -> np.ndarray:
        """Return the weights of a batch, shape (S, M)."""
        missing = 1.0 - x.sum(axis=1) + sum(v.sum(axis=1) for v in alpha1)
        alpha0 = x + missing[:, None] * self.gain
        return np.concatenate([alpha0, *(-v for v in alpha1)], axis=1)

    def pull(self, w: np.ndarray, g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray, ...]:
        r"""Return :math:`g_0 - c^\top g_0` and :math:`c^\top g_0 - g_1`."""
        m = len(self.gain)
        mean = (g[:, :m] @ self.gain)[:, None]
        return (g[:, :m] - mean, mean - g[:, m:])[: len(self.inputs)]


@dataclass(frozen=True)
class Model(base.Model):
    """The model of BDD-M.

    Parameters
    ----------
    prior : GaussianPrior of alpha0
    likelihood_scale, is_calibrated
        As in :class:`bsvdd.models.model.Model`.
    minority_prior : prior of alpha1
    """

    minority_prior: Any = TruncatedNormal()

    @property
    @override
    def groups_rows(self) -> bool:
        return can_group(require_normal(self.prior))

    @override
    def prior_of(self, gram: Gram) -> GaussianPrior:
        found: GaussianPrior = of_points(require_normal(self.prior), gram, self.log_weights)
        return found

    @override
    def build(self, gram: Gram) -> pm.Model:
        import pymc as pm
        import pytensor.tensor as pt

        with pm.Model(coords=gram.coords) as model:
            x = make_variable(self.prior_of(gram), gram, "x", "majority")
            alpha1 = []
            if gram.n1:
                alpha1 = [make_variable(self.minority_prior, gram, "alpha1", "minority")]
            missing = 1 + sum(pt.sum(v) for v in alpha1) - pt.sum(x)
            alpha0 = x + pm.Data("gain", self._gain(gram), dims="majority") * missing
            w = pm.Deterministic("w", pt.concatenate([alpha0, *(-v for v in alpha1)]), dims="point")
            kernel_potential(w, gram, self.scale)
        return model

    def _gain(self, gram: Gram) -> np.ndarray:
        """Return c, the share of each weight in a change of the sum."""
        total: np.ndarray = self.prior_of(gram).covariance(gram).sum(axis=1)
        return total / total.sum()

    @override
    def weight_map(self, gram: Gram) -> Affine:
        return Affine(self._gain(gram), ("x", "alpha1")[: 1 + (gram.n1 > 0)])

    @override
    def variables(self, gram: Gram) -> dict[str, VariableDensity] | None:
        priors = {"x": self.prior_of(gram), "alpha1": self.minority_prior}
        return base.numbers_of(gram, dict(list(priors.items())[: 1 + (gram.n1 > 0)]))


def build(
    gram: Gram, prior: Prior, minority_prior: Prior, likelihood_scale: float = 1.0
) -> pm.Model:
    """Build the PyMC model of the weights ``w``, minority points last.

    The arguments are those of :class:`Model`; without minority points it is BDD on the hyperplane
    of sum one.

    Raises
    ------
    TypeError
        The prior of alpha0 is not normal: it could not be conditioned on its sum.
    """
    return Model(prior, likelihood_scale, minority_prior=minority_prior).build(gram)


def require_normal(prior: Prior) -> GaussianPrior:
    """Return the prior of alpha0 as a normal prior of the package; a TypeError if it is none."""
    if isinstance(prior, GaussianPrior):
        return prior
    foreign: Any = prior
    if is_foreign(foreign) and type(foreign).__name__ == "Normal" and foreign.is_frozen:  # PreliZ
        return Normal(sd=float(foreign.sigma), m=float(foreign.mu))
    raise TypeError(
        "prior of alpha0: BDD-M conditions a normal prior on the sum of its weights; expected a "
        "normal prior of bsvdd.priors (Flat, RowSum, Normal, ...) or "
        f"preliz.Normal(mu, sigma), got {prior!r}"
    )
