r"""BDD-M, Bayesian data description with minority rows (Turkoz and Kim 2022, one target class).

Minority rows join the dictionary with negative weights, and all weights sum to one:

.. math::
    w &= [\alpha_0, -\alpha_1], \qquad \alpha_1 \sim N(m_2, \Sigma_2) \text{ on } [0, 1]^{n_1}, \\
    \alpha_0 \mid \alpha_1 &\sim N(m_1, \Sigma_1) \text{ given } 1^\top \alpha_0 = 1 +
    1^\top \alpha_1

A normal vector given its sum is made from the same vector without that condition, x, by

.. math::
    \alpha_0 = x + \frac{\Sigma_1 1}{1^\top \Sigma_1 1} \left(1 + 1^\top\alpha_1 - 1^\top x\right),
    \qquad x \sim N(m_1, \Sigma_1),

so the constraint holds by construction. With a truncated normal :math:`\alpha_1` its posterior is
a truncated normal too, and :math:`\alpha_0` given :math:`\alpha_1` is normal on its hyperplane:
:class:`TruncatedNormalPosterior`.

In another reading both priors hold together, and the pair is restricted to weights that sum to one.
Its prior of :math:`\alpha_1` has the density of the required sum as a further factor,

.. math::
    p(\alpha_1) \propto N(\alpha_1; m_2, \Sigma_2)\, N(1 + 1^\top \alpha_1;\; 1^\top m_1,\,
    1^\top \Sigma_1 1) \text{ on } [0, 1]^{n_1},

so the means of :math:`\alpha_0` would change the prior of :math:`\alpha_1`: those of row sums,
which sum to a large negative number, would draw all :math:`\alpha_1` to 0. The model has
:math:`\alpha_0` given :math:`\alpha_1`, so this reading is not an option of its own. It needs
none: this product is a truncated normal again, with the precision :math:`\Sigma_2^{-1} + 1
1^\top / v`, :math:`v = 1^\top \Sigma_1 1`, and the mean that solves :math:`(\Sigma_2^{-1} + 1
1^\top / v)\, m = \Sigma_2^{-1} m_2 + 1 (1^\top m_1 - 1) / v`: a
:class:`bsvdd.priors.TruncatedNormal`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.linalg import cho_solve, solve, solve_triangular
from scipy.optimize import lsq_linear
from scipy.stats import truncnorm

from .gram import Gram, squared_norm
from .linear_algebra import WithoutEach, cholesky_factor, factor_with_digits, kernel_sums
from .potential import kernel_potential
from .priors import GaussianPrior, Normal, Prior, TruncatedNormal
from .priors.base import is_foreign, make_variable

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


def build(
    gram: Gram, prior: Prior, minority_prior: Prior, likelihood_scale: float = 1.0
) -> pm.Model:
    """Build the model of the weights ``w``, minority points last.

    Parameters
    ----------
    gram : Gram
        Without minority points it is BDD on the hyperplane of sum one.
    prior : GaussianPrior of alpha0
    minority_prior : prior of alpha1
    likelihood_scale : float, default=1
        lambda.

    Raises
    ------
    TypeError
        The prior of alpha0 is not normal: it could not be conditioned on its sum.
    """
    import pymc as pm
    import pytensor.tensor as pt

    with pm.Model(coords=gram.coords) as model:
        prior = require_normal(prior)
        x = make_variable(prior, gram, "x", "majority")
        total = prior.covariance(gram).sum(axis=1)
        c = total / total.sum()
        minority = [make_variable(minority_prior, gram, "alpha1", "minority")] if gram.n1 else []
        missing = 1 + sum(pt.sum(alpha1) for alpha1 in minority) - pt.sum(x)
        alpha0 = x + pm.Data("gain", c, dims="majority") * missing
        w = pm.Deterministic("w", pt.concatenate([alpha0, *(-v for v in minority)]), dims="point")
        w.tag.map = Affine(c, ("x", "alpha1")[: 1 + len(minority)])
        kernel_potential(w, gram, likelihood_scale)
    return model


def require_normal(prior: Prior) -> GaussianPrior:
    """Return the prior of alpha0 as a normal prior of the package; a TypeError if it is none."""
    if isinstance(prior, GaussianPrior):
        return prior
    foreign: Any = prior
    if is_foreign(foreign) and type(foreign).__name__ == "Normal" and foreign.is_frozen:  # PreliZ
        return Normal(sd=float(foreign.sigma), m=float(foreign.mu))
    raise TypeError(
        "prior of alpha0: BDD-M conditions a normal prior on the sum of its weights; expected a "
        "normal prior of bsvdd.priors (Flat, RowSum, Normal, GaussianProcess, ...) or "
        f"preliz.Normal(mu, sigma), got {prior!r}"
    )


def log_prior_of_majority(gram: Gram, prior: Prior, w: np.ndarray) -> np.ndarray:
    r"""Return the log prior density of alpha0 given alpha1, of weights (..., M).

    .. math::
        \log p(\alpha_0 \mid \alpha_1) = \log N(\alpha_0; m_1, \Sigma_1) - \log N(1^\top \alpha_0;
        1^\top m_1, 1^\top \Sigma_1 1)
    """
    prior, alpha0 = require_normal(prior), w[..., : gram.n_majority_points]
    variance = prior.covariance(gram).sum()
    away = alpha0.sum(axis=-1) - prior.mean(gram).sum()
    log_total = -(away**2 / variance + np.log(2 * np.pi * variance)) / 2
    return prior.log_density(gram, alpha0) - log_total


@dataclass(frozen=True, eq=False)
class TruncatedNormalPosterior:
    r"""The posterior for a truncated normal prior of alpha1.

    .. math::
        \alpha_1 \sim N(\Lambda_1^{-1} s_1, \Lambda_1^{-1}) \text{ on } [0, 1]^{n_1}, \qquad
        \alpha_0 \mid \alpha_1 \sim N(a + B \alpha_1, \Lambda_0^{-1}) \text{ given } 1^\top
        \alpha_0 = 1 + 1^\top \alpha_1

    Its minus log density is

    .. math::
        \tfrac12 w^\top H w - b^\top w, \quad
        H = \lambda n_0 K + Q, \quad b = \lambda r + Q \begin{pmatrix} m_1 \\ -m_2 \end{pmatrix},
        \quad Q = \begin{pmatrix} \Sigma_1^{-1} - \frac{1 1^\top}{1^\top \Sigma_1 1} & 0 \\
        0 & \Sigma_2^{-1} \end{pmatrix}.

    Given alpha1 it is least at an alpha0 that is linear in alpha1; what is left is a quadratic
    form in alpha1.

    Attributes
    ----------
    gram : Gram
    prior : GaussianPrior
        Of alpha0.
    minority_prior : TruncatedNormal
        Of alpha1.
    likelihood_scale : float
        lambda.

    Raises
    ------
    TypeError
        The prior of alpha0 is not normal, or that of alpha1 is not ``TruncatedNormal``.
    """

    gram: Gram
    prior: GaussianPrior
    minority_prior: TruncatedNormal
    likelihood_scale: float = 1.0

    reason: ClassVar[str] = "the posterior is normal on a cube"
    dims: ClassVar[dict[str, tuple[str, ...]]] = {"w": ("point",), "alpha1": ("minority",)}

    def __post_init__(self) -> None:
        require_normal(self.prior)
        if not isinstance(self.minority_prior, TruncatedNormal):
            raise TypeError(
                "the closed form of BDD-M needs priors.TruncatedNormal for the minority, got "
                f"{self.minority_prior!r}; use draws with sampler='nuts'"
            )

    @cached_property
    def quadratic(self) -> tuple[np.ndarray, np.ndarray]:
        """H, shape (M, M), and b, shape (M,)."""
        gram, m, scale = self.gram, self.gram.n_majority_points, self.likelihood_scale
        Q = np.zeros((gram.n_points, gram.n_points))
        Q[:m, :m] = self.prior.precision(gram) - 1.0 / self.prior.covariance(gram).sum()
        Q[m:, m:] = self.minority_prior.precision(gram)
        mean = np.concatenate([self.prior.mean(gram), -self.minority_prior.location(gram)])
        return scale * gram.n0 * gram.K + Q, scale * gram.r + Q @ mean

    @cached_property
    def precision0(self) -> np.ndarray:
        """Lambda_0, shape (M - n1, M - n1)."""
        gram, m = self.gram, self.gram.n_majority_points
        return self.likelihood_scale * gram.n0 * gram.K[:m, :m] + self.prior.precision(gram)

    @cached_property
    def upper0(self) -> np.ndarray:
        """The upper Cholesky factor of Lambda_0.

        Raises
        ------
        ValueError
            Lambda_0 is singular in double precision.
        """
        prior = self.prior.covariance(self.gram), self.prior.precision(self.gram)
        return factor_with_digits(self.precision0, self.gram, prior, "BDD-M")

    @cached_property
    def gain(self) -> np.ndarray:
        r""":math:`\Lambda_0^{-1} 1`, the direction in which the sum of alpha0 is corrected."""
        return cho_solve((self.upper0, False), np.ones(len(self.upper0)))

    @cached_property
    def line(self) -> tuple[np.ndarray, np.ndarray]:
        """The p (M,) and P (M, n1) of w = p + P alpha1, with the most probable alpha0.

        Their majority parts are a and B; the sums of a and of each column of B meet the condition.
        """
        m, n1 = len(self.upper0), self.gram.n1  # an error where the system has no digits either
        H, b = self.quadratic
        # H00 alpha0 + c 1 = b0 + H01 alpha1, 1' alpha0 = 1 + 1' alpha1
        one = np.ones((m, 1))
        system = np.block([[H[:m, :m], one], [one.T, np.zeros((1, 1))]])
        right = np.ones((m + 1, 1 + n1))
        right[:m, 0], right[:m, 1:] = b[:m], H[:m, m:]
        a, B = np.split(solve(system, right, assume_a="sym")[:m], [1], axis=1)
        return np.concatenate([a[:, 0], np.zeros(n1)]), np.vstack([B, -np.eye(n1)])

    @cached_property
    def precision1(self) -> np.ndarray:
        """Lambda_1, shape (n1, n1)."""
        (H, _), (_, P) = self.quadratic, self.line
        return P.T @ H @ P

    @cached_property
    def shift1(self) -> np.ndarray:
        """s_1, shape (n1,)."""
        (H, b), (p, P) = self.quadratic, self.line
        return P.T @ (b - H @ p)

    def weights(self, alpha1: np.ndarray) -> np.ndarray:
        """Return w of the most probable alpha0 given alpha1, (..., n1) -> (..., M)."""
        p, P = self.line
        return p + alpha1 @ P.T

    def draw(
        self, draws: int, tune: int, chains: int, rng: np.random.Generator
    ) -> dict[str, np.ndarray]:
        """Return chains of alpha1, each with independent draws of alpha0 given alpha1.

        The chains of alpha1 are exact (:mod:`.truncated_normal`); alpha0 is drawn anew each time.
        """
        from . import truncated_normal  # numba, which takes its time to import

        alpha1 = truncated_normal.draw(self.precision1, self.shift1, draws, tune, chains, rng)
        m = len(self.upper0)
        noise = solve_triangular(self.upper0, rng.standard_normal((m, chains * draws)))
        w = self.weights(alpha1)
        w[..., :m] += noise.T.reshape(chains, draws, -1)
        w[..., :m] += (1.0 - w.sum(axis=2, keepdims=True)) * self.gain / self.gain.sum()
        return {"w": w, "alpha1": alpha1}

    def log_prior(self, w: np.ndarray) -> dict[str, np.ndarray]:
        r"""Return the log prior densities of alpha0 given alpha1, and of alpha1, (..., M) -> (...).

        That of alpha1 is without its constant,
        :math:`-\tfrac12 (\alpha_1 - m_2)^\top \Sigma_2^{-1} (\alpha_1 - m_2)`.
        """
        gram, prior = self.gram, self.minority_prior
        e = -w[..., gram.n_majority_points :] - prior.location(gram)
        return {
            "alpha0": log_prior_of_majority(gram, self.prior, w),
            "alpha1": -squared_norm(e, prior.precision(gram)) / 2,
        }

    def mode(self) -> np.ndarray:
        """Return the posterior mode, shape (M,): least squares of alpha1 on the box.

        Raises
        ------
        RuntimeError
            The least-squares solver does not converge.
        """
        if not self.gram.n1:
            return self.line[0]
        upper = cholesky_factor(self.precision1, "BDD-M")
        target = solve_triangular(upper, self.shift1, trans="T")
        solved = lsq_linear(upper, target, bounds=(0.0, 1.0), method="bvls", tol=1e-14)
        if not solved.success:
            raise RuntimeError(
                f"the mode of BDD-M was not found in {solved.nit} iterations ({solved.message}); "
                "use a smaller likelihood_scale, or a smaller sd of minority_prior"
            )
        return self.weights(np.clip(solved.x, 0.0, 1.0))  # the solver may be 1e-17 outside

    def leave_one_out(
        self, w: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Return kernel sums (draws, M) of points with the centre without them, and log weights.

        The posterior without row j is again alpha1 on the cube and alpha0 given alpha1. Its alpha0
        given alpha1 is normal on a hyperplane, so each draw of the fit keeps its alpha1 and gets
        the alpha0 that belongs to it; and the draw counts by

        .. math:: \omega_j \propto \frac{f_j(\alpha_1)}{f(\alpha_1)},

        the ratio of the densities of alpha1 without row j and with it (importance weights).
        Nothing else is approximate: the weights are exact, and with more draws so are their
        quantiles.

        A minority row only leaves the dictionary. Where its weight is 0 the other weights have the
        posterior without it, so that by the rule of Savage and Dickey

        .. math:: \omega_j \propto \frac{p(\alpha_{1j} = 0 \mid \alpha_{1,-j}, x)}
            {N(0 \mid \text{the prior of } \alpha_{1j} \text{ given } \alpha_{1,-j})}

        with a normal on [0, 1] above, and a constant below where the minority weights are
        independent. A majority row leaves the likelihood too: ``_without_majority``.

        The posteriors are those of fits to the other rows whose priors have the means and
        covariances of their weights; a mean of row sums, for instance, is that of all rows. Where
        row j is the only majority point there is no centre without it, and its kernel sum is minus
        infinity.

        Parameters
        ----------
        w : ndarray of shape (draws, M)
            Draws of the posterior, whose points are rows.
        rng : Generator
        """
        both = zip(self._without_majority(w, rng), self._without_minority(w), strict=True)
        f, log_weight = map(np.hstack, both)
        return f, log_weight

    def _without_minority(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Leave out minority rows: alpha1_j goes to 0, and alpha0 follows by its slope."""
        gram, m, prior = self.gram, self.gram.n_majority_points, self.minority_prior
        alpha1 = -w[:, m:]
        f = kernel_sums(gram.K, w, [(alpha1, -self.line[1])], np.arange(m, gram.n_points))
        precision, P = np.diag(self.precision1), prior.precision(gram)
        mean = alpha1 - (alpha1 @ self.precision1 - self.shift1) / precision  # given the others
        prior_mean = alpha1 - (alpha1 - prior.location(gram)) @ P / np.diag(P)
        sd = precision**-0.5
        at_zero = truncnorm.logpdf(0.0, -mean / sd, (1.0 - mean) / sd, mean, sd)
        return f, at_zero + prior_mean**2 * np.diag(P) / 2

    def _without_majority(
        self, w: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        r"""Leave out majority rows, from the dictionary and from the likelihood.

        With :math:`\Sigma_j` and P of :class:`.WithoutEach`, alpha0 given alpha1 is normal given
        its sum :math:`s = 1 + 1^\top \alpha_1`; without that condition its covariance is
        :math:`\Sigma_j` and its mean

        .. math::
            \mu_j = \Sigma_j (y - g_j), \quad
            y = \lambda r_0 + P m + \lambda (n_0 - 1) K_{01} \alpha_1, \quad
            g_j = \lambda K_{\cdot j} + P_{\cdot j} P_{j \cdot} m / P_{jj},

        and the density of alpha1 is

        .. math::
            f_j \propto p(\alpha_1) \exp\left(-\lambda \alpha_1^\top (r_1 - K_{1j}) -
            \tfrac{\lambda (n_0 - 1)}{2} \alpha_1^\top K_{11} \alpha_1 + \tfrac12 (y - g_j)^\top
            \Sigma_j (y - g_j)\right) \frac{N(s \mid 1^\top \mu_j, 1^\top \Sigma_j 1)}
            {N(s \mid 1^\top m_{-j}, 1^\top \Sigma_{-j,-j} 1)}.
        """
        gram, prior, scale = self.gram, self.prior, self.likelihood_scale
        m, K, r = gram.n_majority_points, gram.K, gram.r
        alpha1 = -w[:, m:]
        s = 1.0 + alpha1.sum(axis=1, keepdims=True)
        if m == 1:
            return np.full(s.shape, -np.inf), np.zeros(s.shape)
        P, mean = prior.precision(gram), prior.mean(gram)
        upper = cholesky_factor(self.precision0 - scale * K[:m, :m], "BDD-M")
        without = WithoutEach.of(upper, P)
        b, q, root_jj = without.b, without.q, np.sqrt(np.diag(without.S))
        e = without.times(scale * K[:m, :m] + P * (P @ mean / np.diag(P)))  # Sigma_j g_j
        S1 = without.S.sum(axis=1, keepdims=True)
        gain = S1 - b * b.sum(axis=0) + q * q.sum(axis=0)  # Sigma_j 1
        total = gain.sum(axis=0)
        y = scale * r[:m] + P @ mean + scale * (gram.n0 - 1) * alpha1 @ K[m:, :m]

        def sums(base: np.ndarray, on_b: np.ndarray, on_q: np.ndarray) -> np.ndarray:
            of_base = base.sum(axis=1, keepdims=True)
            return of_base + on_b * b.sum(axis=0) + on_q * q.sum(axis=0) - e.sum(axis=0)

        # mu_j = Sy - (b_j'y) b_j + (q_j'y) q_j - e_j
        Sy = y @ without.S
        by, qy = Sy / root_jj, y @ q
        quadratic = (y * Sy).sum(axis=1, keepdims=True) - by**2 + qy**2 - 2.0 * y @ e
        Sigma = prior.covariance(gram)
        prior_total = Sigma.sum() - 2.0 * Sigma.sum(axis=0) + np.diag(Sigma)
        away = alpha1 - self.minority_prior.location(gram)
        of_others = squared_norm(away, self.minority_prior.precision(gram))
        of_others += scale * (gram.n0 - 1) * squared_norm(alpha1, K[m:, m:])
        log_f_j = (
            -of_others[:, None] / 2
            - scale * alpha1 @ (r[m:, None] - K[m:, :m])
            + quadratic / 2
            - (s - sums(Sy, -by, qy)) ** 2 / (2 * total)
            + (s - mean.sum() + mean) ** 2 / (2 * prior_total)
        )
        log_f = alpha1 @ self.shift1 - squared_norm(alpha1, self.precision1) / 2

        x = Sy + self._noise(upper, w, rng)
        on_b, on_q = -x / root_jj, qy + rng.standard_normal((len(w), 1))
        lacking = s - sums(x, on_b, on_q)
        moves = [(on_b, b), (on_q, q), (np.full((1, 1), -1.0), e), (lacking / total, gain)]
        moves = [(c, np.vstack([B, np.zeros((gram.n1, m))])) for c, B in moves]
        f = kernel_sums(gram.K_left_out.T, np.hstack([x, -alpha1]), moves, np.arange(m))
        return f, log_f_j - log_f[:, None]

    def _noise(self, upper: np.ndarray, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        r"""Return draws (draws, m) of N(0, S), made of the noise in draws of the posterior.

        The noise of alpha0 has no sum; with a draw of what its sum had been it is normal with the
        precision Lambda_0, and another factor makes its precision that of n0 - 1 rows. So what
        moves all distances of a draw alike moves those of left-out rows too.
        """
        m, gain = len(upper), self.gain
        noise = (w - self.weights(-w[:, m:]))[:, :m]
        noise += rng.standard_normal((len(w), 1)) * gain / np.sqrt(gain.sum())
        return solve_triangular(upper, self.upper0 @ noise.T).T
