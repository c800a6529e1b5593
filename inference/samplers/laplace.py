r"""Laplace's approximation of a posterior, and the chains that correct it.

Let :math:`\hat x` be the mode of the log density and :math:`H` its negative Hessian there. The
proposals are draws of q: most from :math:`N(\hat x, H^{-1})`, a small share wider. Independence
Metropolis-Hastings chains (Tierney 1994) move from x to a proposal y with probability

.. math:: \min\left(1, \frac{p(y)\, q(x)}{p(x)\, q(y)}\right).

The densities of all proposals are computed at once, in one product of matrices; a chain then only
compares ratios p/q. Where q is narrower than p, a chain gets stuck, and the Pareto k of the ratios
(Vehtari et al. 2024) is large.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.optimize import OptimizeResult, minimize

from .. import threads
from ..diagnostics import MIN_ESS_PER_CHAIN, mixing, reliable
from ..log_density import LogDensity

STARTS = 3  # random starts of the search for the mode, to find several modes
DISPERSION = 4.0  # smallest dispersion of these starts, on the unconstrained scale
CLOSE = 0.01  # posterior sd from the mode, where a search has converged
OPTIONS = {"maxiter": 300}  # of each search; those of usual priors take up to 70
AT_LIMIT = 1  # L-BFGS-B's status of a search that ended at ``maxiter``
NEWTON_STEPS = 50
ROUNDING = 10 * np.finfo(float).eps  # error of a pivot per row, relative to the largest curvature
SAME_MODE = 1.0  # posterior sd: two searches that end within this distance found the same mode
DISPERSED = 2.0  # posterior sd of the NUTS starts around a mode
WIDER_SHARE = 0.05  # of the proposals
WIDER_BY = 3.0  # about so many sd of the radius of a normal vector
ENERGY = "energy"  # a statistic of the states, by the name that ArviZ reads
BLOCK = 256  # proposals that are computed at once
WARM_UP = 50  # discarded steps of each chain
MIN_STEPS = 500  # of a chain, for its diagnostics; fewer draws are a part of them
THIN = 4  # steps per draw, if one step is not enough

MAX_PARETO_K = 0.5  # the ratios have a finite variance up to 0.5; Vehtari et al. (2024) allow 0.7
MIN_ACCEPTANCE = 0.1
HOPELESS = 2.0  # Pareto k of the warm-up's proposals, which are few, above which no others are made


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
        The points where the searches for the mode ended, highest density first.
    """

    mode: np.ndarray
    upper: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, density: LogDensity, rng: np.random.Generator) -> Self:
        """Return the approximation of ``density``.

        The search for the mode starts from PyMC's initial point and from dispersed points. If a
        search takes too many steps, it and those after it use coordinates in which the curvature
        at the initial point is the identity.

        Raises
        ------
        NoApproximationError
            A search fails, or the curvature at the mode is not positive.
        """
        searches: list[OptimizeResult] = []
        root = None
        starts = density.dispersed_points(STARTS, DISPERSION, rng)
        for start in starts:
            search = _search(density, start, root)
            if root is None and search.status == AT_LIMIT:  # a stiff density
                root = _root_of_curvature(density, starts[0])
                search = _search(density, start, root)
            if not (search.success and np.isfinite(search.fun)):
                raise NoApproximationError(f"the search for the mode failed: {search.message}")
            searches.append(search)
        searches.sort(key=lambda search: search.fun)
        best = searches[0].x
        upper = _root_of_curvature(density, best)
        mode = _newton(density, best, upper)
        if np.linalg.norm(upper @ (mode - best)) > CLOSE:  # a stiff density: the search ended early
            upper = _root_of_curvature(density, mode)
        ends = np.array([_newton(density, search.x, upper) for search in searches])
        return cls(mode, upper, ends)

    @property
    def curvature(self) -> np.ndarray:
        """H, shape (n, n)."""
        return self.upper.T @ self.upper

    @property
    def largest_distance(self) -> float:
        """The largest distance of a search's end from the mode, in posterior sd."""
        return float(self._distance(self.ends, self.mode).max(initial=0))

    @cached_property
    def modes(self) -> np.ndarray:
        """The modes, each more than ``SAME_MODE`` from those before it; the highest first."""
        modes = self.mode[None]
        for end in self.ends:
            # "not any <=", so that an end with NaN is a mode of its own
            if not (self._distance(modes, end) <= SAME_MODE).any():
                modes = np.concatenate([modes, end[None]])
        return modes

    def _distance(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the distance of each row of x from y, in posterior sd."""
        length: np.ndarray = np.linalg.norm((x - y) @ self.upper.T, axis=1)
        return length

    @cached_property
    def _inverse_of_lower(self) -> np.ndarray:
        """The inverse of U', for products on many threads: SciPy solves on one at a time."""
        inverse: np.ndarray = solve_triangular(self.upper, np.eye(len(self.mode)), trans=1)
        return inverse

    @property
    def several_modes(self) -> bool:
        """Whether the searches found more than one mode."""
        return len(self.modes) > 1

    def starts(self, chains: int, rng: np.random.Generator) -> np.ndarray:
        """Return a starting point for each chain, (chains, n).

        The points are dispersed around the modes, which take turns. If all chains started in one
        mode and stayed there, they would agree, and R-hat would not detect the other modes.
        """
        z = DISPERSED * rng.standard_normal((len(self.mode), chains))
        modes = self.modes[np.arange(chains) % len(self.modes)]
        return modes + solve_triangular(self.upper, z).T

    def draw_at_modes(self, size: int, rng: np.random.Generator) -> np.ndarray:
        """Return ``size`` draws around each mode, with the curvature of the highest one."""
        z = rng.standard_normal((len(self.mode), size * len(self.modes)))
        return np.repeat(self.modes, size, axis=0) + solve_triangular(self.upper, z).T

    def draw(self, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return proposals (size, n), and their log densities (size,) up to a constant.

        A share of the proposals is wider, just enough to leave the shell around the mode where
        normal vectors lie: with a bounded likelihood the posterior has the wider tails of its
        prior.
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
        inverse = self._inverse_of_lower

        def to_x(rows: slice) -> None:
            z[rows] = z[rows] @ inverse
            z[rows] += self.mode

        threads.each(to_x, size, BLOCK)
        return z, log_density


def _search(density: LogDensity, start: np.ndarray, root: np.ndarray | None) -> OptimizeResult:
    """Return the result of a search for the mode.

    ``root`` is the upper triangular factor of a curvature. The search uses coordinates in which
    this curvature is the identity. Without it, the search uses the parameters themselves.
    """

    def minus_logp(z: np.ndarray) -> tuple[float, np.ndarray]:
        x = z if root is None else solve_triangular(root, z)
        logp, gradient = density.logp_and_gradient(x)
        slope = gradient if root is None else solve_triangular(root, gradient, trans=1)
        return -logp, -slope

    z = start if root is None else root @ start
    search = minimize(minus_logp, z, jac=True, method="L-BFGS-B", options=OPTIONS)
    if root is not None:
        search.x = solve_triangular(root, search.x)
    return search


def _root_of_curvature(density: LogDensity, x: np.ndarray) -> np.ndarray:
    curvature = -density.hessian(x)
    try:
        # the transpose of the lower factor is in the order of LAPACK: cho_solve would copy another
        upper = cholesky(curvature, lower=True).T
    except (LinAlgError, ValueError) as error:
        raise NoApproximationError("the curvature is not positive definite") from error
    pivots = np.square(np.diag(upper))
    if pivots.min() <= ROUNDING * len(pivots) * np.diag(curvature).max():
        raise NoApproximationError("the curvature is zero in some direction")
    return upper


def _newton(density: LogDensity, x: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return the end of Newton steps from x, with fixed curvature and at most one sd each."""
    for _ in range(NEWTON_STEPS):
        gradient = density.logp_and_gradient(x)[1]
        step = cho_solve((upper, False), gradient, check_finite=False)
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
        The named quantities of the states, and ``ENERGY``, minus their log density up to a
        constant.
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
    def warm_up(
        cls, density: LogDensity, q: Laplace, chains: int, rng: np.random.Generator
    ) -> Self:
        """Return the warm-up of chains, each of which starts at its own draw of q."""
        named, first = _proposals(density, q, (chains, 1), rng)
        start = cls(named, np.ones((chains, 1), dtype=bool), first, first[:, 0])
        return start.next(density, q, WARM_UP, rng)

    def next(self, density: LogDensity, q: Laplace, steps: int, rng: np.random.Generator) -> Self:
        """Return the next steps of the chains."""
        chains = len(self.last)
        named, log_ratio = _proposals(density, q, (chains, steps), rng)
        threshold = np.log(rng.uniform(size=(chains, steps)))
        state, last = np.empty((chains, steps), dtype=int), []  # index of each state's proposal
        for chain in range(chains):
            current, ratio = -1, float(self.last[chain])
            rows = zip(log_ratio[chain].tolist(), threshold[chain].tolist(), strict=True)
            for step, (new, limit) in enumerate(rows):
                if limit <= new - ratio:
                    current, ratio = step, new
                state[chain, step] = current
            last.append(ratio)
        accepted = state == np.arange(steps)
        rejected = np.nonzero(~accepted)
        before = np.nonzero(state < 0)  # steps that stay in the last state of the run before
        for name, values in named.items():  # accepted proposals are in place
            values[rejected] = values[rejected[0], state[rejected]]
            values[before] = self.named[name][before[0], -1]
        return type(self)(named, accepted, log_ratio, np.array(last))

    @property
    def pareto_k(self) -> float:
        """Pareto k of the ratios p/q of the proposals."""
        from arviz_stats.base import array_stats

        # psislw takes log likelihoods, whose negative is the log ratio
        return float(array_stats.psislw(-self.log_ratio.ravel())[1])

    def select(self, steps: slice) -> Self:
        """Return the chains with some of their steps only."""
        named = {name: values[:, steps].copy() for name, values in self.named.items()}
        return type(self)(named, self.accepted[:, steps], self.log_ratio[:, steps], self.last)

    @classmethod
    def joined(cls, parts: list[Self]) -> Self:
        """Return the chains that join ``parts``, one after the other."""
        named, accepted, log_ratio = (
            [getattr(part, name) for part in parts] for name in ("named", "accepted", "log_ratio")
        )
        joined_named = {
            name: np.concatenate([values[name] for values in named], axis=1) for name in named[0]
        }
        return cls(
            joined_named,
            np.concatenate(accepted, axis=1),
            np.concatenate(log_ratio, axis=1),
            parts[-1].last,
        )


def _proposals(
    density: LogDensity, q: Laplace, shape: tuple[int, int], rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return the named quantities of proposals, and their log p/q."""
    x, log_q = q.draw(shape[0] * shape[1], rng)
    logp, named = density.evaluate(x)
    named = {**named, ENERGY: -logp}
    named = {name: values.reshape(*shape, *values.shape[1:]) for name, values in named.items()}
    return named, (logp - log_q).reshape(shape)


@dataclass(frozen=True, eq=False)
class ProposalDiagnostics:
    """Diagnostics of the chains and their proposals.

    Attributes
    ----------
    pareto_k, acceptance, r_hat, ess : float
    chains : int
    """

    pareto_k: float
    acceptance: float
    r_hat: float
    ess: float
    chains: int

    @classmethod
    def of(cls, run: Chains, monitored: np.ndarray) -> Self:
        """Return the diagnostics of ``run`` and of its monitored values (chains, steps, q)."""
        return cls(run.pareto_k, float(run.accepted.mean()), *mixing(monitored), len(monitored))

    @property
    def unusable(self) -> bool:
        """Whether the proposals are so poor that more steps would not help."""
        # "not <=" instead of ">", so that NaN is unusable
        return not (self.pareto_k <= MAX_PARETO_K and self.acceptance >= MIN_ACCEPTANCE)

    @property
    def safe(self) -> bool:
        """Whether the chains are reliable."""
        return reliable(self.r_hat, self.ess, self.chains) and not self.unusable

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
    may_stop: bool = False,
) -> tuple[Chains, ProposalDiagnostics]:
    """Return chains of ``draws`` steps, and their diagnostics.

    ``monitor`` turns the named quantities of S draws into the values (S, q) whose R-hat and
    effective sample size count. If these are not good enough yet, each draw takes THIN steps. With
    ``may_stop`` the chains end with their warm-up if its proposals are hopeless.
    """

    def assess(run: Chains) -> ProposalDiagnostics:
        flat = {name: v.reshape(-1, *v.shape[2:]) for name, v in run.named.items()}
        monitored = monitor(flat)
        return ProposalDiagnostics.of(run, monitored.reshape(chains, -1, monitored.shape[-1]))

    steps = max(draws, MIN_STEPS)
    run = Chains.warm_up(density, q, chains, rng)
    if may_stop and run.pareto_k > HOPELESS:
        return run, assess(run)
    run = run.next(density, q, steps, rng)
    diagnostics = assess(run)
    if not (diagnostics.safe or diagnostics.unusable or diagnostics.ess < MIN_ESS_PER_CHAIN):
        parts = [run.select(slice(THIN - 1, None, THIN))]
        for n in range(1, THIN):
            run = run.next(density, q, steps, rng)
            parts.append(run.select(slice((THIN - 1 - n * steps) % THIN, None, THIN)))
        run = Chains.joined(parts)
        diagnostics = assess(run)
    return (run if draws == steps else run.select(slice(-draws, None))), diagnostics
