r"""BDD-M, Bayesian data description with minority rows (Turkoz and Kim 2022, one target class).

Minority rows join the dictionary with negative weights, and all weights sum to one:

.. math::
    w = [\alpha_0, -\alpha_1], \qquad \alpha_1 \sim N(m_2, \Sigma_2) \text{ on } [0, 1]^{n_1},
    \qquad \alpha_0 \mid \alpha_1 \sim N(m_1, \Sigma_1) \text{ given } 1^\top \alpha_0 = 1 +
    1^\top \alpha_1

A normal vector given its sum is made from the same vector without that condition, x, by

.. math::
    \alpha_0 = x + \frac{\Sigma_1 1}{1^\top \Sigma_1 1} \left(1 + 1^\top\alpha_1 - 1^\top x\right),
    \qquad x \sim N(m_1, \Sigma_1),

so the constraint holds by construction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.linalg import cholesky, solve, solve_triangular
from scipy.optimize import lsq_linear

from .gram import Gram
from .potential import kernel_potential
from .priors import GaussianPrior, Prior, TruncatedNormal, make_variable

if TYPE_CHECKING:
    import pymc as pm


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

    coords = {
        "point": range(gram.n_points),
        "majority": range(gram.n_majority_points),
        "minority": range(gram.n1),
    }
    with pm.Model(coords=coords) as model:
        prior = _normal(prior)
        x = make_variable(prior, gram, "x", "majority")
        gain = pm.Data("gain", _gain(prior, gram), dims="majority")
        if gram.n1:
            alpha1 = make_variable(minority_prior, gram, "alpha1", "minority")
            alpha0 = x + gain * (1 + pt.sum(alpha1) - pt.sum(x))
            w = pm.Deterministic("w", pt.concatenate([alpha0, -alpha1]), dims="point")
        else:
            w = pm.Deterministic("w", x + gain * (1 - pt.sum(x)), dims="point")
        kernel_potential(w, gram, likelihood_scale)
    return model


def map_weights(
    gram: Gram,
    prior: Prior,
    minority_prior: Prior,
    likelihood_scale: float = 1.0,
) -> np.ndarray:
    r"""Return the posterior mode, shape (M,), by a quadratic program.

    .. math::
        \tfrac12 w^\top (\lambda n_0 K + Q) w - (\lambda r + q)^\top w, \qquad
        Q = \begin{pmatrix} \Sigma_1^{-1} - \frac{1 1^\top}{1^\top \Sigma_1 1} & 0 \\
        0 & \Sigma_2^{-1} \end{pmatrix}, \quad
        q = Q \begin{pmatrix} m_1 \\ -m_2 \end{pmatrix}

    The majority weights follow linearly from the minority weights, which leaves a least-squares
    problem on the box.
    """
    if not isinstance(minority_prior, TruncatedNormal):
        raise TypeError(
            "the mode of BDD-M needs priors.TruncatedNormal for the minority, got "
            f"{minority_prior!r}"
        )
    prior = _normal(prior)
    m = gram.n_majority_points
    H, b = likelihood_scale * gram.n0 * gram.K, likelihood_scale * gram.r
    precision = prior.precision(gram)
    Q = precision - 1.0 / prior.covariance(gram).sum()
    H[:m, :m] += Q
    H[m:, m:] += np.eye(gram.n1) / minority_prior.sd**2
    b = b + np.concatenate(
        [Q @ prior.mean(gram), np.full(gram.n1, -minority_prior.mean / minority_prior.sd**2)]
    )
    # majority weights as an affine function of the minority's: [H00 1; 1' 0] bordered system
    border = np.ones((m, 1))
    system = np.block([[H[:m, :m], border], [border.T, np.zeros((1, 1))]])
    right = np.zeros((m + 1, gram.n1 + 1))
    right[:m, 0], right[m, 0] = b[:m], 1.0
    right[:m, 1:], right[m, 1:] = -H[:m, m:], -1.0
    affine = solve(system, right, assume_a="sym")[:m]
    base, slope = affine[:, 0], affine[:, 1:]
    if not gram.n1:
        return base
    # w = p + P w1 over w1 = -alpha1 in [-1, 0]: minimise w1'P'HPw1/2 - w1'P'(b - Hp)
    P = np.vstack([slope, np.eye(gram.n1)])
    p = np.concatenate([base, np.zeros(gram.n1)])
    upper = cholesky(P.T @ H @ P)
    target = solve_triangular(upper, P.T @ (b - H @ p), trans="T")
    w1 = lsq_linear(upper, target, bounds=(-1.0, 0.0), method="bvls", tol=1e-14).x
    return p + P @ w1


def _gain(prior: GaussianPrior, gram: Gram) -> np.ndarray:
    total = prior.covariance(gram).sum(axis=1)
    return total / total.sum()


def _normal(prior: Prior) -> GaussianPrior:
    if not isinstance(prior, GaussianPrior):
        raise TypeError(
            "prior of alpha0: BDD-M conditions a normal prior on the sum of its weights; expected "
            f"priors.Flat, RowSum, StandardizedRowSum, Normal or GraphLaplacian, got {prior!r}"
        )
    return prior
