r"""BSVDD, Bayesian support vector data description (Oh 2023).

The centre is a convex combination of the dictionary, so its weights live on the simplex:

.. math::
    w = \mathrm{softmax}(\beta), \qquad \beta \sim N(m, \Sigma), \qquad
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, override

import numpy as np

from . import model as base
from .gram import Gram
from .potential import kernel_potential
from .priors import Prior
from .priors.base import make_variable

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Softmax:
    r"""The map of beta to the weights, :math:`w = \mathrm{softmax}(\beta)`.

    Its Jacobian is :math:`J = \mathrm{diag}(w) - w w^\top`.
    """

    inputs: ClassVar[tuple[str, ...]] = ("beta",)

    def weights(self, beta: np.ndarray) -> np.ndarray:
        """Return the weights of a batch, shape (S, M)."""
        w = beta - beta.max(axis=1, keepdims=True)
        np.exp(w, out=w)
        w /= w.sum(axis=1, keepdims=True)
        return w

    def pull(self, w: np.ndarray, g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray, ...]:
        r"""Return :math:`J^\top g = w \circ (g - w^\top g)`."""
        pull = g - np.vecdot(w, g)[:, None]
        pull *= w
        return (pull,)


@dataclass(frozen=True)
class Model(base.Model):
    r"""The model of BSVDD.

    Parameters
    ----------
    prior : prior of beta
    likelihood_scale, is_calibrated
        As in :class:`bsvdd.models.model.Model`.

    Examples
    --------
    >>> import numpy as np
    >>> from bsvdd import kernels, priors
    >>> from bsvdd.models import Gram, bsvdd
    >>> rows = np.random.default_rng(0).normal(size=(20, 2))
    >>> model = bsvdd.Model(priors.Flat()).build(Gram.from_rows(kernels.RBF(1.0), rows))
    >>> [variable.name for variable in model.free_RVs]
    ['beta']
    """

    log_weights: ClassVar[bool] = True
    nonnegative: ClassVar[bool] = True

    @override
    def build(self, gram: Gram) -> pm.Model:
        import pymc as pm

        with pm.Model(coords={"point": range(gram.n_points)}) as model:
            beta = make_variable(self.prior_of(gram), gram, "beta", "point")
            w = pm.Deterministic("w", pm.math.softmax(beta), dims="point")
            kernel_potential(w, gram, self.scale)
        return model

    @override
    def weight_map(self, gram: Gram) -> Softmax:
        return Softmax()


def build(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> pm.Model:
    """Build the PyMC model of the weights ``w``; the arguments are those of :class:`Model`."""
    return Model(prior, likelihood_scale).build(gram)
