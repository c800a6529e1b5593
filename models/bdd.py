r"""BDD, Bayesian data description (Ghasemi et al. 2012).

.. math::
    w = \alpha, \qquad \alpha \sim N(m, \Sigma), \qquad
    \log p(x \mid w) = -\frac{\lambda}{2} \sum_i \|\phi(x_i) - a\|^2

With a normal prior the posterior is normal too, with

.. math::
    \Lambda = \lambda n_0 K + \Sigma^{-1}, \qquad
    \alpha \mid x \sim N\left(\Lambda^{-1} (\lambda r + \Sigma^{-1} m),\; \Lambda^{-1}\right).

Its weights do not sum to one. The mode on the simplex (sum 1, all at least 0) is another
estimator, a quadratic program.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from . import quadratic_program
from .gram import Gram
from .linear_algebra import WithoutEach, cholesky_factor, kernel_sums, require_digits
from .potential import kernel_potential
from .priors import GaussianPrior, Prior
from .priors.foreign import make_variable

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True)
class Identity:
    """The weights are a variable of the model, w = alpha."""

    variable: str = "alpha"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The variable that it takes."""
        return (self.variable,)

    def weights(self, alpha: np.ndarray) -> np.ndarray:
        """Return the weights of a batch, shape (S, M)."""
        return alpha

    def pull(self, w: np.ndarray, g: np.ndarray, *_: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return g."""
        return (g,)


def build(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> pm.Model:
    """Build the model of the weights ``w``.

    Parameters
    ----------
    gram : Gram
        Statistics of the majority rows; without minority points.
    prior : prior of alpha
    likelihood_scale : float, default=1
        lambda.
    """
    import pymc as pm

    with pm.Model(coords={"point": range(gram.n_points)}) as model:
        alpha = make_variable(prior, gram, "alpha", "point")
        w = pm.Deterministic("w", alpha, dims="point")
        w.tag.map = Identity()
        kernel_potential(w, gram, likelihood_scale)
    return model


def natural_parameters(
    gram: Gram, prior: Prior, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return :math:`\Lambda` and :math:`\lambda r + \Sigma^{-1} m` of the normal posterior.

    Raises
    ------
    TypeError
        The prior is not normal.
    """
    prior = _normal(prior)
    precision = prior.precision(gram)
    return (
        likelihood_scale * gram.n0 * gram.K + precision,
        likelihood_scale * gram.r + precision @ prior.mean(gram),
    )


def posterior(
    gram: Gram, prior: Prior, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return mean (= MAP), shape (M,), and upper Cholesky factor of the precision, (M, M).

    The covariance is :math:`\Lambda^{-1} = U^{-1} U^{-\top}` with :math:`\Lambda = U^\top U`.

    Raises
    ------
    ValueError
        The prior is so wide that rounding decides; see ``linear_algebra.require_digits``.
    """
    precision, shift = natural_parameters(gram, prior, likelihood_scale)
    upper = cholesky_factor(precision, "BDD")
    prior = _normal(prior)
    require_digits(upper, gram, prior.covariance(gram), prior.precision(gram), "BDD")
    mean = solve_triangular(upper, solve_triangular(upper, shift, trans="T"))
    return mean, upper


def draw(mean: np.ndarray, upper: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Return independent draws of the posterior of :func:`posterior`, shape (size, M)."""
    return mean + solve_triangular(upper, rng.standard_normal((len(mean), size))).T


def left_out(
    gram: Gram, prior: Prior, likelihood_scale: float = 1.0
) -> tuple[np.ndarray, WithoutEach]:
    r"""Return the posteriors without each point, and without the row that it is.

    Their means are the columns of the matrix (M, M), with 0 for the point itself. With
    :math:`\Sigma_j` and P of :class:`~bsvdd.models.linear_algebra.WithoutEach`,

    .. math::
        \mu_j = \Sigma_j \left(\lambda (r - K_{\cdot j}) + P m -
        P_{\cdot j} P_{j \cdot} m / P_{jj}\right).

    It is what a fit to the other n0 - 1 rows finds whose prior has the mean m and the covariance
    Sigma of their weights: the prior is that of all rows, and a mean of row sums, for instance,
    is not computed anew.

    Parameters
    ----------
    gram : Gram
        Whose points are majority rows.

    Raises
    ------
    TypeError
        The prior is not normal.
    """
    prior = _normal(prior)
    precision, shift = natural_parameters(gram, prior, likelihood_scale)
    P = prior.precision(gram)
    without = WithoutEach.of(cholesky_factor(precision - likelihood_scale * gram.K, "BDD"), P)
    shifts = shift[:, None] - likelihood_scale * gram.K - P * (P @ prior.mean(gram) / np.diag(P))
    return without.times(shifts), without


def leave_one_out(
    gram: Gram,
    prior: Prior,
    likelihood_scale: float,
    w: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    r"""Return draws (draws, M) of the kernel sum of each point with the centre fitted without it.

    The weights without point j, of :func:`left_out`, are

    .. math::
        v_j = z - \frac{z_j}{\sqrt{S_{jj}}} b_j + u q_j + \mu_j, \qquad z \sim N(0, S), \quad
        u \sim N(0, 1).

    z is made of a draw of the posterior of all rows, so that left-out and new rows have the noise
    of a draw in common.

    Parameters
    ----------
    gram : Gram
        Whose points are majority rows.
    w : ndarray of shape (draws, M)
        Draws of the posterior.
    """
    mean, upper = posterior(gram, prior, likelihood_scale)
    means, without = left_out(gram, prior, likelihood_scale)
    z = (w - mean) @ upper.T @ without.root.T
    u = rng.standard_normal((len(w), 1))
    moves = [
        (np.ones((1, 1)), means),
        (-z / np.sqrt(np.diag(without.S)), without.b),
        (u, without.q),
    ]
    return kernel_sums(gram.K, z, moves, np.arange(len(mean)))


@dataclass(frozen=True, eq=False)
class NormalPosterior:
    """The posterior for a normal prior, with its draws and what they need to be left out.

    Attributes
    ----------
    gram : Gram
    prior : GaussianPrior
    likelihood_scale : float
    """

    gram: Gram
    prior: GaussianPrior
    likelihood_scale: float = 1.0

    reason: ClassVar[str] = "the posterior is normal"
    dims: ClassVar[dict[str, tuple[str, ...]]] = {"w": ("point",), "alpha": ("point",)}

    def draw(
        self, draws: int, tune: int, chains: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Return independent draws; nothing needs tuning."""
        mean, upper = posterior(self.gram, self.prior, self.likelihood_scale)
        w = draw(mean, upper, chains * draws, rng).reshape(chains, draws, -1)
        return {"w": w, "alpha": w}

    def log_prior(self, w: np.ndarray) -> dict[str, np.ndarray]:
        """Return the log prior density of alpha = w, shape (..., M) -> (...)."""
        return {"alpha": self.prior.log_density(self.gram, w)}

    def leave_one_out(self, w: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, None]:
        """Return the kernel sums of :func:`leave_one_out`; all draws count the same."""
        return leave_one_out(self.gram, self.prior, self.likelihood_scale, w, rng), None


def has_closed_form(prior: Prior) -> bool:
    """Return whether the posterior is known for this prior: it must be normal."""
    return isinstance(prior, GaussianPrior)


def closed_form(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> NormalPosterior | None:
    """Return the closed form of the posterior, or None where the prior is not normal."""
    if not has_closed_form(prior):
        return None
    return NormalPosterior(gram, _normal(prior), likelihood_scale)


def simplex_map(gram: Gram, prior: Prior, likelihood_scale: float = 1.0) -> np.ndarray:
    """Return the posterior mode under sum w = 1, w >= 0, shape (M,)."""
    return quadratic_program.minimize(*natural_parameters(gram, prior, likelihood_scale))


def _normal(prior: Prior) -> GaussianPrior:
    if not isinstance(prior, GaussianPrior):
        raise TypeError(
            "the closed form of BDD needs a normal prior (priors.Flat, RowSum, "
            f"StandardizedRowSum), got {prior!r}; use draws with sampler='nuts', simplex=False"
        )
    return prior
