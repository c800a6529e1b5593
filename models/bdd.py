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
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from . import quadratic_program
from .gram import Gram
from .linear_algebra import WithoutEach, cholesky_factor, factor_with_digits, kernel_sums
from .potential import kernel_potential
from .priors import GaussianPrior, Prior
from .priors.base import make_variable

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Identity:
    """The weights are a variable of the model, w = alpha0."""

    inputs: tuple[str, ...] = ("alpha0",)

    def weights(self, alpha0: np.ndarray) -> np.ndarray:
        """Return the weights of a batch, shape (S, M)."""
        return alpha0

    def pull(self, w: np.ndarray, g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return g."""
        return (g,)


def build(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> pm.Model:
    """Build the model of the weights ``w``.

    Parameters
    ----------
    gram : Gram
        Statistics of the majority rows; without minority points.
    prior : prior of alpha0
    likelihood_scale : float, default=1
        lambda.
    """
    import pymc as pm

    with pm.Model(coords={"point": range(gram.n_points)}) as model:
        alpha0 = make_variable(prior, gram, "alpha0", "point")
        w = pm.Deterministic("w", alpha0, dims="point")
        w.tag.map = Identity()
        kernel_potential(w, gram, likelihood_scale)
    return model


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    r"""The posterior for a normal prior, with its draws and what they need to be left out.

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

    reason: ClassVar[str] = "the posterior is normal"
    dims: ClassVar[dict[str, tuple[str, ...]]] = {"w": ("point",), "alpha0": ("point",)}

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

    def draw(
        self, draws: int, tune: int, chains: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Return independent draws; nothing needs tuning."""
        noise = rng.standard_normal((len(self.mean), chains * draws))
        w = (self.mean + solve_triangular(self.upper, noise).T).reshape(chains, draws, -1)
        return {"w": w, "alpha0": w}

    def log_prior(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Return the log prior density of alpha0 = w, shape (..., M) -> (...)."""
        return {"alpha0": self.prior.log_density(self.gram, w)}

    def left_out(self) -> tuple[np.ndarray, WithoutEach]:
        r"""Return the posteriors without each point, and without the row that it is.

        Their means are the columns of the matrix (M, M), with 0 for the point itself. With
        :math:`\Sigma_j` and P of :class:`~bsvdd.models.linear_algebra.WithoutEach`,

        .. math::
            \mu_j = \Sigma_j \left(\lambda (r - K_{\cdot j}) + P m -
            P_{\cdot j} P_{j \cdot} m / P_{jj}\right).

        It is what a fit to the other n0 - 1 rows finds whose prior has the mean m and the
        covariance Sigma of their weights: the prior is that of all rows, and a mean of row sums,
        for instance, is not computed anew. The points must be majority rows.
        """
        (precision, shift), P = self.natural_parameters, self.prior.precision(self.gram)
        scaled = self.likelihood_scale * self.gram.K
        without = WithoutEach.of(cholesky_factor(precision - scaled), P)
        shifts = shift[:, None] - scaled - P * (P @ self.prior.mean(self.gram) / np.diag(P))
        return without.times(shifts), without

    def leave_one_out(self, w: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, None]:
        r"""Return kernel sums (draws, M) of points with the centre without them, for draws w.

        The weights without point j, of :meth:`left_out`, are

        .. math::
            v_j = z - \frac{z_j}{\sqrt{S_{jj}}} b_j + u q_j + \mu_j, \qquad z \sim N(0, S), \quad
            u \sim N(0, 1).

        z is made of a draw of the posterior of all rows, so that left-out and new rows have the
        noise of a draw in common. All draws count the same.
        """
        means, without = self.left_out()
        z = (w - self.mean) @ self.upper.T @ without.root.T
        u = rng.standard_normal((len(w), 1))
        moves = [
            (np.ones((1, 1)), means),
            (-z / np.sqrt(np.diag(without.S)), without.b),
            (u, without.q),
        ]
        return kernel_sums(self.gram.K_left_out.T, z, moves), None
