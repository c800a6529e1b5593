r"""Hamiltonian Monte Carlo around Laplace's approximation, many chains in step.

Let :math:`N(\hat x, H^{-1})` be Laplace's approximation, and y coordinates in which :math:`\hat x`
is 0 and the curvature H is nearly the identity (:mod:`.whitening`). A chain at y draws a velocity v
from :math:`N(0, I)`, follows a trajectory, and accepts its end by Metropolis's rule. The energy is
split as in Shahbaba et al. (2014),

.. math:: -\log p(y) + \tfrac12 v^\top v = \Big[\tfrac12 y^\top y + \tfrac12 v^\top v\Big] + R(y).

The part in brackets has an exact solution: y and v rotate into each other. The rest R kicks the
velocity, by :math:`-h \nabla R(y)` for an angle h. So a step of the trajectory kicks and rotates by
the angle h, and h is as large as R is small. A quarter of a turn makes a new point of a normal
posterior that does not depend on the old one.

All chains take the same steps, so the products of K with their weights are one product of matrices
for each step. Each chain that is asked for is made of several chains in step, one after another.
They start at the same point, so R-hat of the joined chains is large if they have not forgotten it
(nested R-hat, Margossian et al. 2024). The angle is adapted during warm-up by dual averaging of the
harmonic mean of the acceptance probabilities, which is near zero if one chain does not move
(Hoffman et al. 2021).

A draw is the end of a trajectory. If the chains move the active points only, as many trajectories
lead to a draw as all points outnumber them, but at most ``TO_A_DRAW``: a trajectory of few points
costs less than the quantities of all points at its end.

Besides the draws there are about ten matrices of (chains in step, n) numbers, for n parameters, and
at first two of (n, n). There are at most ``MAX_CHAINS`` chains in step, or the number that is asked
for.

References
----------
Hoffman, M. D., Radul, A. and Sountsov, P. (2021). An adaptive-MCMC scheme for setting trajectory
lengths in Hamiltonian Monte Carlo. AISTATS, PMLR 130.

Margossian, C. C., Hoffman, M. D., Sountsov, P., Riou-Durand, L., Vehtari, A. and Gelman, A. (2024).
Nested R-hat: assessing the convergence of Markov chain Monte Carlo when running many short chains.
Bayesian Analysis.

Shahbaba, B., Lan, S., Johnson, W. O. and Neal, R. M. (2014). Split Hamiltonian Monte Carlo.
Statistics and Computing 24, 339-349.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from pymc.step_methods.step_sizes import DualAverageAdaptation
from scipy.stats import hmean

from ..active_points import ActivePoints, AllPoints
from ..diagnostics import MIN_ESS_PER_CHAIN, mixing, reliable
from ..draws import SamplerSettings
from ..log_density import LogDensity
from .laplace import MIN_STEPS, Laplace, NoApproximationError
from .whitening import Whitening

CHAINS_IN_STEP = 8  # for each chain that is asked for
MAX_CHAINS = 64  # in step
MIN_WARM_UP = 25  # trajectories
ATTEMPTS = 2  # to make reliable draws; the second continues the first, and takes each 2nd draw
TUNE_DRAWS = 16  # that are asked for, for each trajectory of the warm-up
TO_A_DRAW = 4  # trajectories, at most
QUARTER = math.pi / 2
SHORTEST, LONGEST = 0.5, 1.5  # of a trajectory, in quarters of a turn
FIRST_ANGLE = 0.1
LARGEST_ANGLE = QUARTER / 2
TARGET = 0.6  # harmonic mean of the acceptance probabilities
MAX_STEPS = 64  # of a trajectory
WARM_UP_STEPS = 8  # the same, of the warm-up: its angles are at times much too small
MIN_ANGLE = LONGEST * QUARTER / MAX_STEPS  # smaller ones cut trajectories short
ADAPTATION = {"gamma": 0.1, "k": 0.75, "t0": 10}  # PyMC's gamma of .05 is for a single chain
DIVERGED = 1000.0  # error of the energy, as in Stan


@dataclass(frozen=True)
class TrajectoryDiagnostics:
    """Diagnostics of the draws.

    Attributes
    ----------
    angle, acceptance, r_hat, ess : float
        R-hat is that of all draws, and the effective sample size that of the draws that count.
    divergences, chains : int
    """

    angle: float
    acceptance: float
    r_hat: float
    ess: float
    divergences: int
    chains: int

    @property
    def safe(self) -> bool:
        """Whether the draws are reliable."""
        return not self.divergences and reliable(self.r_hat, self.ess, self.chains)

    @property
    def may_improve(self) -> bool:
        """Whether more draws might make them reliable."""
        return not (self.safe or self.divergences) and self.ess >= MIN_ESS_PER_CHAIN

    def __str__(self) -> str:
        return (
            f"angle {self.angle:.2f}, acceptance {self.acceptance:.2f}, R-hat {self.r_hat:.3f}, "
            f"effective draws {self.ess:.0f}, divergences {self.divergences}"
        )


class ChainsInStep:
    """The states of the chains, and their next trajectories.

    Positions, velocities and forces are in the coordinates of :class:`.Whitening`, in which the
    approximation is the standard normal distribution.
    """

    def __init__(
        self,
        density: LogDensity,
        whitening: Whitening,
        starts: np.ndarray,
        rng: np.random.Generator,
    ):
        self._logps_and_gradients, self._rng = density.batches_in_machine_code(), rng
        self._whitening = whitening
        # positions, velocities and forces, (3, chains, n); a force is minus the gradient of R
        self._state = np.zeros((3, *starts.shape))
        self._next = np.empty_like(self._state)
        self._state[0] = self._whitening.coordinates(starts)
        self._logp = self._set_force(self._state)

    @property
    def x(self) -> np.ndarray:
        """The states, shape (chains, n)."""
        return self._whitening.parameters(self._state[0])

    def _set_force(self, state: np.ndarray) -> np.ndarray:
        """Set the forces at the positions, and return the log densities."""
        position, _, force = state
        logp, gradient = self._logps_and_gradients(self._whitening.parameters(position))
        np.add(self._whitening.gradient(gradient), position, out=force)
        return logp

    def _follow(self, angle: float, steps: int) -> np.ndarray:
        """Follow the trajectories from positions and velocities, and return the log densities."""
        logp = self._logp
        for step in range(steps):
            kick = angle / 2.0 if step == 0 else angle
            _kick_and_rotate(self._state, kick, angle, out=self._next)
            self._state, self._next = self._next, self._state
            logp = self._set_force(self._state)
        _, velocity, force = self._state
        velocity += angle / 2.0 * force
        return logp

    def move(self, angle: float, max_steps: int = MAX_STEPS) -> dict[str, np.ndarray]:
        """Move each chain by one trajectory, and return its statistics, each of shape (chains,)."""
        length = self._rng.uniform(SHORTEST, LONGEST) * QUARTER
        steps = min(math.ceil(length / angle), max_steps)
        position, velocity, force = self._state
        velocity[...] = self._rng.standard_normal(velocity.shape)
        energy = np.vecdot(velocity, velocity) / 2.0 - self._logp
        start = position.copy(), force.copy()
        with np.errstate(all="ignore"):  # a trajectory that diverges is not accepted
            logp = self._follow(angle, steps)
            position, velocity, force = self._state
            new_energy = np.vecdot(velocity, velocity) / 2.0 - logp
            error = new_energy - energy
        error[np.isnan(error)] = np.inf
        rejected = np.log(self._rng.uniform(size=len(error))) > -error
        for end, first in zip((position, force), start, strict=True):
            end[rejected] = first[rejected]
        self._logp = np.where(rejected, self._logp, logp)
        return {
            "acceptance_rate": np.exp(np.minimum(-error, 0.0)),
            "diverging": error > DIVERGED,
            "energy": np.where(rejected, energy, new_energy),
            "n_steps": np.full(len(error), steps),
            "step_size": np.full(len(error), angle),
        }

    def warm_up(self, trajectories: Iterable[int]) -> float:
        """Move the chains once for each of ``trajectories``, and return the angle for draws."""
        adaptation = DualAverageAdaptation(FIRST_ANGLE, TARGET, **ADAPTATION)
        for _ in trajectories:
            angle = min(adaptation.current(tune=True), LARGEST_ANGLE)
            statistics = self.move(angle, WARM_UP_STEPS)
            with np.errstate(over="ignore"):  # of the inverse of a probability
                adaptation.update(hmean(statistics["acceptance_rate"]), tune=True)
        return min(float(adaptation.current(tune=False)), LARGEST_ANGLE)


def _kick_and_rotate(state: np.ndarray, kick: float, angle: float, out: np.ndarray) -> None:
    """Add ``kick`` times the force to the velocity, and rotate deviation and velocity."""
    c, s = math.cos(angle), math.sin(angle)
    step = np.array([[c, s, s * kick], [-s, c, c * kick]])
    np.matmul(step, state.reshape(3, -1), out=out[:2].reshape(2, -1))


def _counted(n: int, what: str, settings: SamplerSettings) -> Iterator[int]:
    """Count to n, with a progress bar of ``what`` on stderr if it is asked for."""
    if not settings.progressbar:
        return iter(range(n))
    from rich.console import Console
    from rich.progress import track

    return iter(track(range(n), f"chains in step, {what}", console=Console(stderr=True)))


def _joined(values: list[np.ndarray], chains: int) -> np.ndarray:
    """Join the chains in step that make up a chain, (chains, draws, ...).

    ``values`` are those of one trajectory after another, each of shape (chains in step, ...).
    """
    by_chain = np.stack(values, axis=1)
    return by_chain.reshape(chains, -1, *by_chain.shape[2:])


def sample(
    moved: AllPoints | ActivePoints,
    q: Laplace,
    starts: np.ndarray,
    settings: SamplerSettings,
    rng: np.random.Generator,
    monitor: Callable[[dict[str, np.ndarray]], np.ndarray],
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], TrajectoryDiagnostics]:
    """Return the named quantities of draws, statistics of the draws, and diagnostics.

    Quantities and statistics have the shape (chains, draws, ...). ``moved`` are the points that
    the chains move, and ``starts`` (chains, size) the parameters of all points where they start.
    The statistics of a draw are those of the trajectory that ends at it.
    ``monitor`` is that of :func:`.laplace.sample`. If R-hat or effective draws are not good enough
    yet, the chains are continued, and every second draw counts.

    Raises
    ------
    NoApproximationError
        The angle is too small: the posterior is too far from its approximation.
    NotSeparateError
        The draws of the active points are not those of all points.
    """
    chains, of_moved = settings.chains, moved.parameters
    to_a_draw = min(TO_A_DRAW, len(q.mode) // len(of_moved))
    in_step = max(1, min(CHAINS_IN_STEP, MAX_CHAINS // chains))
    trajectories = math.ceil(max(settings.draws, MIN_STEPS) / in_step)
    whitening = Whitening.of(q.mode[of_moved], q.curvature[np.ix_(of_moved, of_moved)])
    first = np.repeat(starts[:, of_moved], in_step, axis=0)
    run = ChainsInStep(moved.density, whitening, first, rng)
    warm_up = max(MIN_WARM_UP, settings.tune // TUNE_DRAWS)
    angle = run.warm_up(_counted(warm_up, "warm-up", settings))
    if angle < MIN_ANGLE:
        raise NoApproximationError(
            f"a trajectory around Laplace's approximation needs steps of {angle:.2g} radian"
        )
    x, statistics, thin = [], [], 0
    while True:
        thin += 1
        for _ in _counted(trajectories, "draws", settings):
            statistics += [run.move(angle) for _ in range(to_a_draw)]
            x.append(run.x)
        flat = moved.named(_joined(x, chains).reshape(-1, moved.density.size), rng)
        monitored = monitor(flat)
        monitored = monitored.reshape(chains, -1, monitored.shape[-1])
        r_hat, ess = mixing(monitored)
        if thin > 1:
            _, ess = mixing(monitored[:, thin - 1 :: thin])
        diagnostics = TrajectoryDiagnostics(
            angle,
            float(np.mean([each["acceptance_rate"] for each in statistics])),
            r_hat,
            ess,
            int(np.sum([each["diverging"] for each in statistics])),
            chains,
        )
        if thin == ATTEMPTS or not diagnostics.may_improve:
            break
    kept = np.linspace(0, in_step * trajectories - 1, settings.draws).round().astype(int)
    kept = kept * thin + thin - 1
    named = {name: _kept(v.reshape(chains, -1, *v.shape[1:]), kept) for name, v in flat.items()}
    last = statistics[to_a_draw - 1 :: to_a_draw]
    of_draws = {
        name: _kept(_joined([each[name] for each in last], chains), kept) for name in last[0]
    }
    return named, of_draws, diagnostics


def _kept(values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the draws ``kept`` of values (chains, draws, ...), without a copy if these are all."""
    # np.take is quicker than an index, and its result is in the order of memory
    return values if len(kept) == values.shape[1] else values.take(kept, axis=1)
