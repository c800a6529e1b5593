r"""Hamiltonian Monte Carlo with parallel chains.

In the coordinates y of :mod:`.coordinates` the posterior is nearly the standard normal. A chain at
y draws a velocity v from :math:`N(0, I)`, follows a trajectory, and accepts its end by Metropolis's
rule. The energy is split as in Shahbaba et al. (2014),

.. math:: -\log p(y) + \tfrac12 v^\top v = \Big[\tfrac12 y^\top y + \tfrac12 v^\top v\Big] + R(y).

The part in brackets has an exact solution: y and v rotate into each other. The rest R kicks the
velocity, by :math:`-h \nabla R(y)` for an angle h. So a step of the trajectory kicks and rotates by
the angle h, and h is as large as R is small. A quarter of a turn makes a new point of a normal
posterior that does not depend on the old one.

All chains take the same steps, so the products of K with their weights are one product of matrices
for each step. The angle is adapted during warm-up by dual averaging of the harmonic mean of the
acceptance probabilities, which is near zero if one chain does not move (Hoffman et al. 2021).

References
----------
Hoffman, M. D., Radul, A. and Sountsov, P. (2021). An adaptive-MCMC scheme for setting trajectory
lengths in Hamiltonian Monte Carlo. AISTATS, PMLR 130.

Shahbaba, B., Lan, S., Johnson, W. O. and Neal, R. M. (2014). Split Hamiltonian Monte Carlo.
Statistics and Computing 24, 339-349.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from .coordinates import Coordinates, can_map, is_narrow, mapped
from .density import Density

QUARTER = math.pi / 2
SHORTEST, LONGEST = 0.5, 1.5  # of a trajectory, in quarters of a turn
MAX_STEPS = 64  # of a trajectory
WARM_UP_STEPS = 8  # the same, of the warm-up: its angles are at times much too small
FIRST_ANGLE, LARGEST_ANGLE = 0.5, 1.2
TARGET = 0.7  # harmonic mean of the acceptance probabilities
GAMMA, KAPPA, T0 = 0.1, 0.75, 10  # of dual averaging; Stan's gamma of .05 is for a single chain
DIVERGED = 1000.0  # error of the energy, as in Stan
LOST = 10.0  # sd of the log density below the other chains: a start that failed


class State(NamedTuple):
    """The states of the chains.

    Attributes
    ----------
    y : ndarray of shape (chains, n)
    logp : ndarray of shape (chains,)
        Log densities of y, up to a constant.
    force : ndarray of shape (chains, n)
        Minus the gradient of R.
    """

    y: np.ndarray
    logp: np.ndarray
    force: np.ndarray


class Info(NamedTuple):
    """What happened in one trajectory of each chain, each of shape (chains,)."""

    acceptance_rate: np.ndarray
    diverging: np.ndarray
    energy: np.ndarray
    n_steps: np.ndarray
    step_size: np.ndarray


class Transition(NamedTuple):
    """What moves the chains.

    Attributes
    ----------
    density : Density
    coordinates : Coordinates
    angle : float
    max_steps : int
    """

    density: Density
    coordinates: Coordinates
    angle: float = FIRST_ANGLE
    max_steps: int = MAX_STEPS

    def init(self, y: np.ndarray) -> State:
        """Return the states at y; a density that is not finite counts as 0, without a force."""
        with np.errstate(all="ignore"):
            logp, force = self.coordinates.value_and_gradient(self.density, y)
            force += y
        finite = np.isfinite(logp) & np.isfinite(force).all(axis=1)
        if not finite.all():
            logp, force = np.where(finite, logp, -np.inf), np.where(finite[:, None], force, 0.0)
        return State(y, logp, force)

    def step(self, state: State, rng: np.random.Generator) -> tuple[State, Info]:
        """Return the states after one trajectory, and what happened in it."""
        length = rng.uniform(SHORTEST, LONGEST) * QUARTER
        steps = min(math.ceil(length / self.angle), self.max_steps)
        cos, sin = math.cos(self.angle), math.sin(self.angle)
        v = rng.standard_normal(state.y.shape)
        energy = np.vecdot(v, v) / 2.0 - state.logp
        end = state
        v += self.angle / 2.0 * state.force
        with np.errstate(over="ignore", invalid="ignore"):  # of a trajectory that diverges
            for i in range(steps):
                y = sin * v
                v *= cos
                v -= sin * end.y
                y += cos * end.y
                end = self.init(y)
                v += (self.angle if i + 1 < steps else self.angle / 2.0) * end.force
            new_energy = np.vecdot(v, v) / 2.0 - end.logp
            error = new_energy - energy
        error[np.isnan(error)] = -np.inf
        accepted = np.log(rng.uniform(size=len(error))) <= -error
        kept = State(
            np.where(accepted[:, None], end.y, state.y),
            np.where(accepted, end.logp, state.logp),
            np.where(accepted[:, None], end.force, state.force),
        )
        full = np.full(len(error), 1.0)
        info = Info(
            np.exp(np.minimum(-error, 0.0)),
            error > DIVERGED,
            np.where(accepted, new_energy, energy),
            (full * steps).astype(int),
            full * self.angle,
        )
        return kept, info


def warm_up(
    density: Density,
    chains: int,
    trajectories: int,
    rng: np.random.Generator,
    at_mode: bool = False,
) -> tuple[Transition, State]:
    """Return the kernel with its coordinates and its angle, and the states of the chains.

    The first half of the trajectories is in the coordinates of the prior, and starts there. Its
    second half says the coordinates for the draws. A narrow posterior has those of its mode from
    the start, and another has them with ``at_mode``.
    """
    start = rng.standard_normal((chains, density.size))
    if at_mode or is_narrow(density):
        kernel = Transition(density, Coordinates.of_mode(density))
        kernel, state, _ = adapted(kernel, kernel.init(start), trajectories, rng)
        return kernel, state
    coordinates, half = Coordinates.of_prior(density), trajectories // 2
    kernel = Transition(density, coordinates)
    kernel, state, _ = adapted(kernel, kernel.init(start), half // 2, rng)
    kernel, state, y = adapted(kernel, revived(state, rng), half - half // 2, rng)
    x = coordinates.x(np.concatenate(y))
    new = mapped(density, coordinates, x) if can_map(density) else coordinates.scaled(x)
    kernel = Transition(density, new)
    state = kernel.init(new.of(coordinates.x(state.y)))
    kernel, state, _ = adapted(kernel, state, trajectories - half, rng)
    return kernel, state


def adapted(
    kernel: Transition,
    state: State,
    trajectories: int,
    rng: np.random.Generator,
) -> tuple[Transition, State, list[np.ndarray]]:
    """Return the kernel with the angle that its trajectories suggest, the states, and all y."""
    center, error, log_mean = math.log(10.0 * kernel.angle), 0.0, math.log(kernel.angle)
    moving, y = kernel._replace(max_steps=WARM_UP_STEPS), []
    for t in range(1, trajectories + 1):
        state, info = moving.step(state, rng)
        y.append(state.y)
        with np.errstate(divide="ignore", over="ignore"):  # of a chain that does not move
            harmonic = 1.0 / np.mean(1.0 / info.acceptance_rate)
        error += (TARGET - harmonic - error) / (t + T0)
        log_angle = min(center - math.sqrt(t) / GAMMA * error, math.log(LARGEST_ANGLE))
        log_mean += t**-KAPPA * (log_angle - log_mean)
        moving = moving._replace(angle=math.exp(log_angle))
    return kernel._replace(angle=math.exp(log_mean)), state, y


def revived(state: State, rng: np.random.Generator) -> State:
    """Return the states with those of lost chains replaced by those of others.

    A chain is lost if its log density lies far below the best: its start failed.
    """
    lost = ~(state.logp >= state.logp.max() - LOST * math.sqrt(state.y.shape[1] / 2.0))
    if not lost.any() or lost.all():
        return state
    source = np.where(lost, rng.choice(np.flatnonzero(~lost), len(lost)), np.arange(len(lost)))
    return State(*(v[source] for v in state))
