r"""Draws of a normal vector on the unit cube, by exact Hamiltonian Monte Carlo.

.. math:: p(x) \propto \exp\left(-\tfrac12 (x - \mu)^\top \Sigma^{-1} (x - \mu)\right)
    \text{ on } [0, 1]^n

With the mass matrix :math:`\Sigma^{-1}` each coordinate moves along

.. math:: x_i(t) = \mu_i + (x_i(0) - \mu_i) \cos t + v_i(0) \sin t, \qquad v(0) \sim N(0, \Sigma)

until a coordinate i meets a wall of the cube, where the velocity is reflected,
:math:`v \to v - 2 (v_i / \Sigma_{ii})\, \Sigma_{\cdot i}`. The motion is computed exactly, so no
proposal is rejected (Pakman and Paninski 2014, Journal of Computational and Graphical Statistics
23, 518-542, doi:10.1080/10618600.2013.788448).

Without walls, the time pi/2 gives an independent draw. Where the mean lies far outside the cube,
the reflections are nearly periodic, and a fixed time can be a multiple of their period (an R-hat
of 1.5 was measured). So the time of each move is random.
"""

from __future__ import annotations

import math

import numba
import numpy as np
from scipy.linalg import solve_triangular

from .linear_algebra import cholesky_factor

TIMES = (math.pi / 4, math.pi / 2)  # range of the random time of a move
BOUNCES = 1_000_000  # in one move; 40 minority rows with likelihood_scale=1e6 need 16,661
ROUNDING = 1e-9  # a hit that is at most so long in the past is a hit now


def draw(
    precision: np.ndarray,
    shift: np.ndarray,
    draws: int,
    tune: int,
    chains: int,
    rng: np.random.Generator,
) -> np.ndarray:
    r"""Return draws (chains, draws, n) of chains that start at uniform points of the cube.

    Parameters
    ----------
    precision : ndarray of shape (n, n)
        The inverse of Sigma.
    shift : ndarray of shape (n,)
        :math:`\Sigma^{-1} \mu`.
    draws, tune, chains : int
        The first ``tune`` draws of each chain are dropped.
    rng : Generator
    """
    n = len(shift)
    if n == 0:
        return np.empty((chains, draws, 0))
    root = solve_triangular(cholesky_factor(precision, "BDD-M"), np.eye(n))  # Sigma = root root'
    covariance = root @ root.T
    mean = covariance @ shift
    out = np.empty((chains, tune + draws, n))
    for chain in out:
        x = rng.random(n)
        velocities = rng.standard_normal((tune + draws, n)) @ root.T
        times = rng.uniform(*TIMES, tune + draws)
        for v, time, state in zip(velocities, times, chain, strict=True):
            if not _move(x, v, time, mean, covariance):
                raise ValueError(
                    f"BDD-M: a chain met the bounds of the minority weights {BOUNCES} times in one "
                    "move: the posterior is too narrow for the exact sampler; use a smaller "
                    "likelihood_scale, or sampler='nuts'"
                )
            state[:] = x
    return out[:, tune:]


@numba.njit  # pragma: no cover - runs as machine code, which no tracer follows
def _move(x, v, time, mean, covariance):  # type: ignore[no-untyped-def]
    """Move for ``time``; x and v are changed in place. False after too many bounces."""
    n, wall, bounces = len(x), 0, 0
    while wall >= 0:
        step, wall, side = time, -1, 0.0
        for i in range(n):
            # x_i(t) = mean_i + r cos(t - phase) leaves through the upper wall where the cosine
            # rises to q, and through the lower wall where it falls to q
            r, phase = math.hypot(x[i] - mean[i], v[i]), math.atan2(v[i], x[i] - mean[i])
            for s in (0.0, 1.0):
                q = (s - mean[i]) / r
                if -1.0 < q < 1.0:
                    t = phase - math.acos(q) if s else phase + math.acos(q)
                    t = max((t + ROUNDING) % (2.0 * math.pi) - ROUNDING, 0.0)
                    if t < step:
                        step, wall, side = t, i, s
        cos, sin = math.cos(step), math.sin(step)
        for i in range(n):
            e = x[i] - mean[i]
            x[i] = min(max(mean[i] + e * cos + v[i] * sin, 0.0), 1.0)
            v[i] = v[i] * cos - e * sin
        if wall >= 0:
            bounces += 1
            if bounces > BOUNCES:
                return False
            x[wall] = side
            twice = 2.0 * v[wall] / covariance[wall, wall]
            for i in range(n):
                v[i] -= twice * covariance[wall, i]
            time -= step
    return True
