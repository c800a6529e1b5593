"""Hamiltonian Monte Carlo for densities N(z; 0, I) e^f(z), with chains side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..base import threads

ACCEPTED = 0.8  # share of the trajectories that adaptation aims at
LARGEST_ANGLE = 1.2  # of a step
LONGEST_TRAJECTORY = 64  # steps
QUARTERS = (0.8, 1.4)  # of a turn: a longer one is no new draw of squares
WALKERS = 8  # at least
WARM_UP_TRAJECTORY = 8  # steps, at most
DIVERGENCE = 1000.0  # error of the energy above which a trajectory diverges, as Stan's
STAGES = np.array([0.12, 0.24, 0.48, 0.16])  # of the warm-up
LogDensity = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
State = tuple[np.ndarray, np.ndarray, np.ndarray]
Stats = dict[str, np.ndarray]  # of each chain, by ArviZ's names


@np.errstate(all="ignore")  # a state that is not finite has density 0
def hmc(
    f: LogDensity,
    n: int,
    draws: int,
    tune: int,
    chains: int,
    rng: np.random.Generator,
) -> tuple[np.ndarray, Stats]:
    """Return draws z (chains, draws, n), and what is known of each trajectory.

    Each step solves the N(0, I) part exactly, as a rotation of (z, v); the gradient of
    the rest updates v (Neal 2010, 5.5.1). Eight walkers, or one for each chain, warm up
    for ``tune`` trajectories. After each stage but the last, their mean and their
    standard deviation become center and scale of z. The angle is adapted by dual
    averaging. The chains go on from the first walkers.

    Parameters
    ----------
    f : callable
        Takes z (S, n), and returns values (S,) and gradients (S, n).
    n, draws, tune, chains : int
    rng : Generator

    Returns
    -------
    z : ndarray of shape (chains, draws, n)
    stats : dict of str to ndarray of shape (chains, draws)
        ``acceptance_rate``; ``energy`` of the taken state; ``diverging``, whether
        the energy changed by more than 1,000; ``n_steps`` and ``step_size``.
    """
    walk = Walk(f, rng, np.zeros(n), np.ones(n))
    last = walk
    z = rng.standard_normal((max(WALKERS, chains), n))
    angle = 0.5
    with threads.steps(f"{chains} chains of {draws} draws") as step:
        lengths = np.maximum(np.round(STAGES * tune), 2).astype(int)
        for stage, trajectories in enumerate(lengths, 1):
            z, angle, found = walk.adapted(z, trajectories, angle)
            last = walk
            walk = Walk(f, rng, found.mean(axis=0), found.std(axis=0) + 1e-9)
            step(f"stage {stage} of {len(STAGES)} of the warm-up")
        state = last.state(last.standard(z[:chains]))
        states = []
        stats = []
        for i in range(draws):
            state, each = last.moved(state, angle, LONGEST_TRAJECTORY)
            states.append(last.z(state[0]))
            stats.append(each)
            step(f"draw {i + 1} of {draws}")
    by_name = {n: np.stack([each[n] for each in stats], axis=1) for n in stats[0]}
    return np.stack(states, axis=1), by_name


@dataclass(frozen=True, eq=False)
class Walk:
    """Trajectories of y, z = center + scale y."""

    f: LogDensity
    rng: np.random.Generator
    center: np.ndarray
    scale: np.ndarray

    def z(self, y: np.ndarray) -> np.ndarray:
        """Return z of y."""
        return self.center + self.scale * y

    def standard(self, z: np.ndarray) -> np.ndarray:
        """Return y of z."""
        return (z - self.center) / self.scale

    def state(self, y: np.ndarray) -> State:
        """Return y, its log density, and the force beside the rotation."""
        z = self.z(y)
        value, gradient = self.f(z)
        log_p = value - np.vecdot(z, z) / 2.0
        force = self.scale * (gradient - z) + y
        finite = np.isfinite(log_p + force.sum(axis=1))
        if not finite.all():
            log_p = np.where(finite, log_p, -np.inf)
            force = np.where(finite[:, None], force, 0.0)
        return y, log_p, force

    def moved(self, start: State, angle: float, most: int) -> tuple[State, Stats]:
        """Return the states after one trajectory each, and what is known of each."""
        y, log_p, force = start
        v = self.rng.standard_normal(y.shape)
        before = log_p - np.vecdot(v, v) / 2.0
        turn = self.rng.uniform(*QUARTERS) * np.pi / 2.0
        steps = min(most, int(np.ceil(turn / angle)))
        angle = min(angle, turn / steps)
        cos = np.cos(angle)
        sin = np.sin(angle)
        v = v + angle / 2.0 * force
        for i in range(steps):
            y, v = cos * y + sin * v, cos * v - sin * y
            y, log_p, force = self.state(y)
            v += angle * force * (1.0 if i + 1 < steps else 0.5)
        after = log_p - np.vecdot(v, v) / 2.0
        gain = after - before
        accept = np.nan_to_num(np.exp(np.minimum(gain, 0.0)))
        yes = self.rng.uniform(size=len(y)) < accept
        many = yes[:, None]
        taken = (
            np.where(many, y, start[0]),
            np.where(yes, log_p, start[1]),
            np.where(many, force, start[2]),
        )
        return taken, {
            "acceptance_rate": accept,
            "energy": -np.where(yes, after, before),
            "diverging": ~(gain > -DIVERGENCE),
            "n_steps": np.full(len(y), steps),
            "step_size": np.full(len(y), angle),
        }

    def adapted(
        self, z: np.ndarray, trajectories: int, angle: float
    ) -> tuple[np.ndarray, float, np.ndarray]:
        """Return the last z, the angle, and the z of the second half."""
        state = self.state(self.standard(z))
        kept = []
        error = 0.0
        mean = np.log(angle)
        middle = np.log(10.0 * angle)
        for t in range(1, trajectories + 1):
            state, stats = self.moved(state, angle, WARM_UP_TRAJECTORY)
            accept = stats["acceptance_rate"]
            rate = 1.0 / np.mean(1.0 / np.maximum(accept, 1e-10))
            error += (ACCEPTED - rate - error) / (t + 10)
            angle = min(float(np.exp(middle - np.sqrt(t) / 0.1 * error)), LARGEST_ANGLE)
            mean += t**-0.75 * (np.log(angle) - mean)
            kept.append(self.z(state[0]))
        return kept[-1], float(np.exp(mean)), np.concatenate(kept[trajectories // 2 :])
