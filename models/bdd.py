r"""BDD, Bayesian data description (Ghasemi et al. 2012).

.. math:: w = \alpha_0, \qquad \alpha_0 \sim N(m, \Sigma)

The posterior is normal, with the precision
:math:`\Lambda = \lambda n_0 K + \Sigma^{-1}` and the mean
:math:`\Lambda^{-1} (\lambda r + \Sigma^{-1} m)`. Its mode on the simplex,
:math:`\sum w = 1, w \ge 0`, is another estimator, a quadratic program.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, override

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from .dictionary import Dictionary
from .priors import Gaussian, PriorLike
from .quadratic_program import minimize
from .similarities import Arrays
from .weights import Weights

if TYPE_CHECKING:
    import pymc as pm


class BDD(Weights):
    """The model with Gram statistics, the prior of alpha0, and lambda."""

    variable = "alpha0"

    @override
    def of(self, alpha0: Any) -> Any:
        return alpha0

    @override
    def weights(self, alpha0: np.ndarray) -> np.ndarray:
        return alpha0

    @override
    def pulled(self, g: np.ndarray, w: np.ndarray, alpha0: np.ndarray) -> Arrays:
        return (g,)

    @property
    @override
    def normal_prior(self) -> Gaussian | None:
        """The prior if it is normal, so that the posterior is normal."""
        prior = self.variables["alpha0"][0]
        return prior if isinstance(prior, Gaussian) else None

    @cached_property
    def posterior(self) -> tuple[np.ndarray, np.ndarray]:
        """Lambda (M, M), and Lambda times the mean (M,), of the normal posterior.

        Raises
        ------
        TypeError
            The prior is not normal.
        """
        prior = self.normal_prior
        gram = self.gram
        if prior is None:
            raise TypeError(
                "the posterior of BDD is normal for a normal prior only, got "
                f"{self.prior!r}; use draws, sampler='nuts' or 'auto', with "
                "simplex=False"
            )
        D = prior.precision
        scale = self.likelihood_scale
        return scale * gram.n0 * gram.K + D, scale * gram.r + D @ prior.m

    @override
    def draw(self, draws: int, rng: np.random.Generator) -> np.ndarray:
        """Return independent draws (draws, M)."""
        precision, shift = self.posterior
        U = cholesky(precision)
        mean = solve_triangular(U, solve_triangular(U, shift, trans="T"))
        noise = rng.standard_normal((len(mean), draws))
        return np.asarray(mean + solve_triangular(U, noise).T)

    def mode(self) -> np.ndarray:
        """Return the mode of free weights, (M,)."""
        return np.linalg.solve(*self.posterior)

    def simplex_mode(self) -> np.ndarray:
        """Return the mode under sum w = 1, w >= 0, (M,)."""
        precision, shift = self.posterior
        ends = np.zeros(len(shift)), np.ones(len(shift))
        return minimize(precision, shift, *ends, order=self.gram.by_value)


def build(
    gram: Dictionary, prior: PriorLike, likelihood_scale: float = 1.0
) -> pm.Model:
    """Return the PyMC model of the weights ``w``."""
    return BDD(gram, prior, likelihood_scale).build()
