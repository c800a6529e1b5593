r"""BDD, Bayesian data description (Ghasemi et al. 2012).

.. math::
    w = \alpha_0, \qquad \alpha_0 \sim N(m, \Sigma), \qquad
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2

With a normal prior the posterior is normal too, with

.. math::
    \Lambda = \lambda n_0 K + \Sigma^{-1}, \qquad
    \alpha_0 \mid x \sim N\left(\Lambda^{-1} (\lambda r + \Sigma^{-1} m),\; \Lambda^{-1}\right).

Its weights do not sum to one. The mode on the simplex (sum 1, all at least 0) is another
estimator, a quadratic program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np
from scipy.linalg import solve_triangular

from . import model as base
from . import quadratic_program
from .gram import Gram
from .linear_algebra import factor_with_digits
from .potential import kernel_potential
from .priors import GaussianPrior, Prior
from .priors.base import make_variable

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Model(base.Model):
    """The model of BDD.

    Parameters
    ----------
    prior : prior of alpha0
    likelihood_scale, is_calibrated
        As in :class:`bsvdd.models.model.Model`.
    simplex : bool, default=False
        Whether the estimate is the mode on the simplex.
    """

    simplex: bool = False

    on_simplex: ClassVar[bool] = False

    @property
    def sums_to_one(self) -> bool:  # type: ignore[override]
        """Whether the weights sum to one."""
        return self.simplex

    @property
    def nonnegative(self) -> bool:  # type: ignore[override]
        """Whether no weight is negative."""
        return self.simplex

    @override
    def build(self, gram: Gram) -> pm.Model:
        import pymc as pm

        with pm.Model(coords={"point": range(gram.n_points)}) as model:
            alpha0 = make_variable(self.prior_of(gram), gram, "alpha0", "point")
            w = pm.Deterministic("w", alpha0, dims="point")
            kernel_potential(w, gram, self.scale)
        return model

    @override
    def weight_map(self, gram: Gram) -> base.Identity:
        return base.Identity(("alpha0",))

    def posterior(self, gram: Gram) -> NormalPosterior | None:
        """Return the posterior in closed form, or None if the prior is not normal."""
        if not isinstance(self.prior, GaussianPrior):
            return None
        return NormalPosterior(gram, self.prior_of(gram), self.scale)


def build(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> pm.Model:
    """Build the PyMC model of the weights ``w``; the arguments are those of :class:`Model`."""
    return Model(prior, likelihood_scale).build(gram)


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    r"""The posterior for a normal prior, with its draws.

    Attributes
    ----------
    gram : Gram
    prior : GaussianPrior
    likelihood_scale : float
        lambda.

    Raises
    ------
    TypeError
        The prior is not normal.
    """

    gram: Gram
    prior: Any
    likelihood_scale: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.prior, GaussianPrior):
            raise TypeError(
                "the closed form of BDD needs a normal prior (priors.Flat, RowSum, "
                f"StandardizedRowSum), got {self.prior!r}; use draws with sampler='nuts', "
                "simplex=False"
            )

    @cached_property
    def natural_parameters(self) -> tuple[np.ndarray, np.ndarray]:
        r"""The precision :math:`\Lambda`, and :math:`\lambda r + \Sigma^{-1} m`."""
        gram, scale, precision = self.gram, self.likelihood_scale, self.prior.precision(self.gram)
        return (
            scale * gram.n0 * gram.K + precision,
            scale * gram.r + precision @ self.prior.mean(gram),
        )

    @cached_property
    def upper(self) -> np.ndarray:
        r"""The upper Cholesky factor U of the precision, :math:`\Lambda = U^\top U`, (M, M).

        Raises
        ------
        ValueError
            The prior is so wide that rounding decides; see :func:`.factor_with_digits`.
        """
        prior = self.prior.covariance(self.gram), self.prior.precision(self.gram)
        return factor_with_digits(self.natural_parameters[0], self.gram, prior)

    @cached_property
    def mean(self) -> np.ndarray:
        """The mean, which is the mode, shape (M,)."""
        shift = self.natural_parameters[1]
        return solve_triangular(self.upper, solve_triangular(self.upper, shift, trans="T"))

    def simplex_mode(self) -> np.ndarray:
        """Return the mode under sum w = 1, w >= 0, shape (M,)."""
        return quadratic_program.minimize(*self.natural_parameters)

    def draw(self, draws: int, chains: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent draws of the weights, (chains, draws, M)."""
        noise = rng.standard_normal((len(self.mean), chains * draws))
        w: np.ndarray = self.mean + solve_triangular(self.upper, noise).T
        return w.reshape(chains, draws, -1)
