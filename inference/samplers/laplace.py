r"""Laplace's approximation of a posterior, and the chains that correct it.

With :math:`\hat x` the mode of the log density and :math:`H` minus its second derivatives there,
draws of q, :math:`N(\hat x, H^{-1})` with a share of wider ones, are the proposals of
independence Metropolis-Hastings chains (Tierney 1994), which move from x to a proposal y with
probability

.. math:: \min\left(1, \frac{p(y)\, q(x)}{p(x)\, q(y)}\right).

All proposals are scored at once, in one product of matrices, and a chain is a walk along their
ratios p/q. Where q is narrower than p it sticks, and the Pareto k of the ratios (Vehtari et al.
2024) says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import minimize

from ..diagnostics import MAX_R_HAT, MIN_ESS_PER_CHAIN, mixing
from ..log_density import LogDensity

STARTS = 3  # of the search for the mode, at random: several modes are to be seen
DISPERSION = 4.0  # of these starts, at least, on the unconstrained scale
CLOSE = 0.01  # posterior sd from the mode at which a search has come to it
NEWTON_STEPS = 50
ROUNDING = 10 * np.finfo(float).eps  # of a pivot, a row, as a share of the largest curvature
SAME_MODE = 1.0  # posterior sd between two ends of searches that have found the same mode
DISPERSED = 2.0  # times a posterior sd around the modes, from where chains of NUTS start
WIDER_SHARE = 0.05  # of the proposals
WIDER_BY = 3.0  # sd of the radius of a normal vector, about
WARM_UP = 50  # steps of each chain that are not kept
MIN_STEPS = 500  # of a chain that is judged
THIN = 4  # steps for each draw, where one is not enough

MAX_PARETO_K = 0.5  # up to which the ratios have a variance; Vehtari et al. (2024) take 0.7
MIN_ACCEPTANCE = 0.1


class NoApproximationError(Exception):
    """The posterior has no normal approximation; the message says why."""


@dataclass(frozen=True, eq=False)
class Laplace:
    """The approximation N(mode, (U'U)^-1), with U upper triangular, and its proposals.

    Attributes
    ----------
    mode : ndarray of shape (n,)
    upper : ndarray of shape (n, n)
    ends : ndarray of shape (k, n)
        Where the searches for the mode ended, the highest density first.
    """

    mode: np.ndarray
    upper: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, density: LogDensity, rng: np.random.Generator) -> Self:
        """Return the approximation of ``density``.

        The mode is searched for from PyMC's initial point and from dispersed ones.

        Raises
        ------
        NoApproximationError
            A search fails, or the curvature at the mode is not positive.
        """

        def minus(x: np.ndarray) -> tuple[float, np.ndarray]:
            logp, gradient = density.logp_and_gradient(x)
            return -logp, -gradient

        found = []
        for start in density.dispersed_points(STARTS, DISPERSION, rng):
            search = minimize(minus, start, jac=True, method="L-BFGS-B", options={"maxiter": 2000})
            if not (search.success and np.isfinite(search.fun)):
                raise NoApproximationError(f"the search for the mode ended with: {search.message}")
            found.append(search)
        found.sort(key=lambda search: search.fun)
        best = found[0].x
        upper = _root_of_curvature(density, best)
        mode = _newton(density, best, upper)
        if np.linalg.norm(upper @ (mode - best)) > CLOSE:  # stiff, so that the search ended early
            upper = _root_of_curvature(density, mode)
        ends = np.array([_newton(density, search.x, upper) for search in found])
        return cls(mode, upper, ends)

    @property
    def apart(self) -> float:
        """How far the ends of the searches lie from the mode, in posterior sd, at most."""
        return float(self._distance(self.ends, self.mode).max(initial=0))

    @cached_property
    def modes(self) -> np.ndarray:
        """The modes found, each more than ``SAME_MODE`` from those before it; the highest first."""
        modes = self.mode[None]
        for end in self.ends:
            # written so that a NaN, which no comparison holds for, is a mode of its own
            if not (self._distance(modes, end) <= SAME_MODE).any():
                modes = np.concatenate([modes, end[None]])
        return modes

    def _distance(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return how far the rows of x lie from y, in posterior sd."""
        length: np.ndarray = np.linalg.norm((x - y) @ self.upper.T, axis=1)
        return length

    @property
    def several_modes(self) -> bool:
        """Whether the searches have found other modes too."""
        return len(self.modes) > 1

    def starts(self, chains: int, rng: np.random.Generator) -> np.ndarray:
        """Return a point for each chain to start at, (chains, n).

        They lie dispersed around the modes, which take turns: chains that start in one mode
        agree, and R-hat says nothing of the others, unless they go there by themselves.
        """
        z = DISPERSED * rng.standard_normal((len(self.mode), chains))
        around = self.modes[np.arange(chains) % len(self.modes)]
        return around + solve_triangular(self.upper, z).T

    def around(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return draws around each end of the searches, of the one curvature."""
        z = rng.standard_normal((len(self.mode), size * len(self.ends)))
        return np.repeat(self.ends, size, axis=0) + solve_triangular(self.upper, z).T

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return proposals (size, n), and their log densities (size,) up to a constant.

        A share of them is wider, by as much as takes them just out of the shell around the
        mode in which a normal vector lies: a likelihood that is bounded leaves the posterior the
        wider tails of its prior.
        """
        n = len(self.mode)
        z = rng.standard_normal((size, n))
        width = 1.0 + WIDER_BY / math.sqrt(n)
        z[rng.uniform(size=size) < WIDER_SHARE] *= width
        square = np.vecdot(z, z)
        log_density = np.logaddexp(
            math.log1p(-WIDER_SHARE) - square / 2.0,
            math.log(WIDER_SHARE) - n * math.log(width) - square / (2.0 * width**2),
        )
        x = solve_triangular(self.upper, z.T, overwrite_b=True, check_finite=False).T
        x += self.mode
        return x, log_density


def _root_of_curvature(density: LogDensity, x: np.ndarray) -> np.ndarray:
    curvature = -density.hessian(x)
    try:
        upper = cholesky(curvature)
    except (LinAlgError, ValueError) as error:
        raise NoApproximationError("the curvature at the mode is not positive") from error
    pivots = np.square(np.diag(upper))
    if pivots.min() <= ROUNDING * len(pivots) * np.diag(curvature).max():
        raise NoApproximationError("the curvature at the mode is zero in some direction")
    return upper


def _newton(density: LogDensity, x: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the end of Newton's steps from x, of one curvature and at most one sd each."""
    for _ in range(NEWTON_STEPS):
        gradient = density.logp_and_gradient(x)[1]
        step = cho_solve((upper, False), gradient)
        length = math.sqrt(max(float(gradient @ step), 0.0))  # in posterior sd
        if length <= CLOSE:
            break
        x = x + step / max(length, 1.0)
    return x


@dataclass(frozen=True, eq=False)
class Chains:
    """Independence Metropolis-Hastings chains.

    Attributes
    ----------
    named : dict of ndarray of shape (chains, steps, ...)
        The named quantities of the states.
    accepted : ndarray of bool, shape (chains, steps)
    log_ratio : ndarray of shape (chains, steps)
        log p/q of the proposals, up to a constant.
    last : ndarray of shape (chains,)
        log p/q of the last states.
    """

    named: dict[str, np.ndarray]
    accepted: np.ndarray
    log_ratio: np.ndarray
    last: np.ndarray

    @classmethod
    def start(
        cls, density: LogDensity, q: Laplace, chains: int, steps: int, rng: np.random.Generator
    ) -> Self:
        """Return chains that start at draws of q, each its own, after a warm-up."""
        named, first = _proposals(density, q, (chains, 1), rng)
        start = cls(named, np.ones((chains, 1), dtype=bool), first, first[:, 0])
        return start.next(density, q, WARM_UP, rng).next(density, q, steps, rng)

    def next(self, density: LogDensity, q: Laplace, steps: int, rng: np.random.Generator) -> Self:
        """Return the next steps of the chains."""
        chains = len(self.last)
        named, log_ratio = _proposals(density, q, (chains, steps), rng)
        threshold = np.log(rng.uniform(size=(chains, steps)))
        state, last = np.empty((chains, steps), dtype=int), []  # the proposal that each state is
        for chain in range(chains):
            at, ratio = -1, float(self.last[chain])
            rows = zip(log_ratio[chain].tolist(), threshold[chain].tolist(), strict=True)
            for step, (new, limit) in enumerate(rows):
                if limit <= new - ratio:
                    at, ratio = step, new
                state[chain, step] = at
            last.append(ratio)
        accepted = state == np.arange(steps)
        rejected = np.nonzero(~accepted)
        before = np.nonzero(state < 0)  # the state that these steps go on from
        for name, values in named.items():  # the accepted are where they should be
            values[rejected] = values[rejected[0], state[rejected]]
            values[before] = self.named[name][before[0], -1]
        return type(self)(named, accepted, log_ratio, np.array(last))

    def taken(self, which: slice) -> Self:
        """Return some of the steps only."""
        named = {name: values[:, which].copy() for name, values in self.named.items()}
        return type(self)(named, self.accepted[:, which], self.log_ratio[:, which], self.last)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return chains of which these are the parts, one after the other."""
        named, accepted, log_ratio = (
            [getattr(part, name) for part in parts] for name in ("named", "accepted", "log_ratio")
        )
        together = {
            name: np.concatenate([values[name] for values in named], axis=1) for name in named[0]
        }
        return cls(
            together,
            np.concatenate(accepted, axis=1),
            np.concatenate(log_ratio, axis=1),
            parts[-1].last,
        )


def _proposals(
    density: LogDensity, q: Laplace, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return proposals as their named quantities, and their log p/q."""
    x, log_q = q.draw(shape[0] * shape[1], rng)
    logp, named = density.evaluate(x)
    named = {name: values.reshape(*shape, *values.shape[1:]) for name, values in named.items()}
    return named, (logp - log_q).reshape(shape)


@dataclass(frozen=True, eq=False)
class ProposalDiagnostics:
    """Whether chains can be trusted.

    Attributes
    ----------
    pareto_k, acceptance, r_hat, ess : float
    """

    pareto_k: float
    acceptance: float
    r_hat: float
    ess: float
    chains: int

    @classmethod
    def of(cls, run: Chains, monitored: np.ndarray) -> Self:
        """Judge by the steps of ``run`` and values (chains, steps, q) of interest there."""
        from arviz_stats.base import array_stats

        # psislw takes log likelihoods, whose negative is the log ratio
        k = array_stats.psislw(-run.log_ratio.ravel())[1]
        return cls(float(k), float(run.accepted.mean()), *mixing(monitored), len(monitored))

    @property
    def unusable(self) -> bool:
        """Whether more steps would not help."""
        # written so that a NaN, which no comparison holds for, is not safe
        return not (self.pareto_k <= MAX_PARETO_K and self.acceptance >= MIN_ACCEPTANCE)

    @property
    def safe(self) -> bool:
        """Whether the chains can be trusted."""
        mixed = (
            self.r_hat <= MAX_R_HAT or self.chains == 1
        ) and self.ess >= MIN_ESS_PER_CHAIN * self.chains
        return mixed and not self.unusable

    def __str__(self) -> str:
        return (
            f"Pareto k {self.pareto_k:.2f}, acceptance {self.acceptance:.2f}, R-hat "
            f"{self.r_hat:.3f}, effective draws {self.ess:.0f}"
        )


def sample(
    density: LogDensity,
    q: Laplace,
    draws: int,
    chains: int,
    rng: np.random.Generator,
    monitor: Callable[[dict[str, np.ndarray]], np.ndarray],
) -> tuple[Chains, ProposalDiagnostics]:
    """Return chains of ``draws`` steps, and a quality.

    ``monitor`` takes named quantities of S draws to the values (S, q) by which is judged. Where
    that helps, more steps are taken than there are draws.
    """

    def assess(run: Chains) -> ProposalDiagnostics:
        flat = {name: v.reshape(-1, *v.shape[2:]) for name, v in run.named.items()}
        monitored = monitor(flat)
        return ProposalDiagnostics.of(run, monitored.reshape(chains, -1, monitored.shape[-1]))

    steps = max(draws, MIN_STEPS)
    run = Chains.start(density, q, chains, steps, rng)
    quality = assess(run)
    if not (quality.safe or quality.unusable or quality.ess < MIN_ESS_PER_CHAIN):
        parts = [run.taken(slice(THIN - 1, None, THIN))]
        for n in range(1, THIN):
            run = run.next(density, q, steps, rng)
            parts.append(run.taken(slice((THIN - 1 - n * steps) % THIN, None, THIN)))
        run = Chains.joined(parts)
        quality = assess(run)
    return (run if draws == steps else run.taken(slice(-draws, None))), quality
