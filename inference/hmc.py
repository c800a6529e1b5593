r"""Hamiltonian Monte Carlo with parallel chains.

In the coordinates y of :class:`Coordinates` the posterior is nearly the standard normal. A chain at
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

The coordinates y of x are

.. math:: x = c + L f(y), \qquad
    f(y) = s_1 y - (s_1 - s_2)\, \delta \log\left(1 + e^{(y - y_0) / \delta}\right)

L is the factor of a prior's covariance, and f works on each coordinate: its slope falls from
:math:`s_1` to :math:`s_2`, so it has linear tails. With :math:`s_1 = s_2` it is a scale.

The log weights of a softmax are skewed: a weight that is small hardly counts, so its log has the
prior's width below, and the likelihood's width above. :func:`mapped` takes f from the conditional
density of each log weight given all others,

.. math::
    \log p(\beta_i) = -\frac{(\beta_i - m_i)^2}{2 \sigma^2}
    - \frac{\lambda n_0}{2} \left(k_{ii} w_i^2 - 2 b_i w_i\right), \qquad
    w_i = c\, e^{\beta_i}, \qquad
    b_i = \frac{r_i}{n_0} - \sum_{j \ne i} k_{ij} \bar w_j
    - \bar p^\top \left(\frac{r}{n_0} - K \bar w\right),

with c and the mean weights :math:`\bar w = [s \bar p, \dots]` from a short run.

References
----------
Hoffman, M. D., Radul, A. and Sountsov, P. (2021). An adaptive-MCMC scheme for setting trajectory
lengths in Hamiltonian Monte Carlo. AISTATS, PMLR 130.

Shahbaba, B., Lan, S., Johnson, W. O. and Neal, R. M. (2014). Split Hamiltonian Monte Carlo.
Statistics and Computing 24, 339-349.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.special import logit, ndtr

from ..models.potential import KernelLikelihood
from ..models.priors.numbers import Correlated, Independent
from .density import Density
from .threads import checkpoint

QUARTER = math.pi / 2
SHORTEST, LONGEST = 0.5, 1.5  # of a trajectory, in quarters of a turn
MAX_STEPS = 64  # of a trajectory
WARM_UP_STEPS = 8  # the same, of the warm-up: its angles are at times much too small
FIRST_ANGLE, LARGEST_ANGLE = 0.5, 1.2
TARGET = 0.7  # harmonic mean of the acceptance probabilities
GAMMA, KAPPA, T0 = 0.1, 0.75, 10  # of dual averaging; Stan's gamma of .05 is for a single chain
DIVERGED = 1000.0  # error of the energy, as in Stan
LOST = 10.0  # sd of the log density below the other chains: a start that failed
# of the coordinates
GRID = np.linspace(-9.0, 9.0, 361)  # prior sd from the prior mean, for the conditionals
AT = np.array([-4.0, -1.0, 0.0, 2.0, 4.0])  # where f meets the quantiles of the conditional
NEGLIGIBLE = 0.1  # fall of the slope, as a share
TINY = np.finfo(float).tiny
UPPER_SLOPE = 0.98  # s2, as a share of the slope at 4, so that it lies below all slopes in between
SHARES = (0.02, 0.98)  # of the fall of the slope at -1 and at 2
NEWTON_STEPS = 30
MAX_SPREAD = 10.0  # prior sd between prior means: beyond it few weights count, and the map is poor


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


class Kernel(NamedTuple):
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
        checkpoint()
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
    moved: Callable[[], None] = lambda: None,
) -> tuple[Kernel, State]:
    """Return the kernel with its coordinates and its angle, and the states of the chains.

    The first half of the trajectories is in the coordinates of the prior, and starts there. Its
    second half says the coordinates for the draws. ``moved`` is called after each trajectory.
    """
    coordinates, half = Coordinates.of_prior(density), trajectories // 2
    kernel = Kernel(density, coordinates)
    state = kernel.init(rng.standard_normal((chains, density.size)))
    kernel, state, _ = adapted(kernel, state, half // 2, rng, moved)
    kernel, state, y = adapted(kernel, found(state, rng), half - half // 2, rng, moved)
    x = coordinates.x(np.concatenate(y))
    new = mapped(density, coordinates, x) if can_map(density) else coordinates.scaled(x)
    kernel = Kernel(density, new)
    state = kernel.init(new.of(coordinates.x(state.y)))
    kernel, state, _ = adapted(kernel, state, trajectories - half, rng, moved)
    return kernel, state


def adapted(
    kernel: Kernel,
    state: State,
    trajectories: int,
    rng: np.random.Generator,
    moved: Callable[[], None],
) -> tuple[Kernel, State, list[np.ndarray]]:
    """Return the kernel with the angle that its trajectories suggest, the states, and all y."""
    center, error, log_mean = math.log(10.0 * kernel.angle), 0.0, math.log(kernel.angle)
    moving, y = kernel._replace(max_steps=WARM_UP_STEPS), []
    for t in range(1, trajectories + 1):
        state, info = moving.step(state, rng)
        y.append(state.y)
        moved()
        with np.errstate(divide="ignore", over="ignore"):  # of a chain that does not move
            harmonic = 1.0 / np.mean(1.0 / info.acceptance_rate)
        error += (TARGET - harmonic - error) / (t + T0)
        log_angle = min(center - math.sqrt(t) / GAMMA * error, math.log(LARGEST_ANGLE))
        log_mean += t**-KAPPA * (log_angle - log_mean)
        moving = moving._replace(angle=math.exp(log_angle))
    return kernel._replace(angle=math.exp(log_mean)), state, y


def found(state: State, rng: np.random.Generator) -> State:
    """Return the states with those of lost chains replaced by those of others.

    A chain is lost if its log density lies far below the best: its start failed.
    """
    lost = ~(state.logp >= state.logp.max() - LOST * math.sqrt(state.y.shape[1] / 2.0))
    if not lost.any() or lost.all():
        return state
    source = np.where(lost, rng.choice(np.flatnonzero(~lost), len(lost)), np.arange(len(lost)))
    return State(*(v[source] for v in state))


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The coordinates y of x.

    Attributes
    ----------
    center, slope, fall, knee, width : ndarray of shape (n,)
        c, s1, s1 - s2, y0 and delta.
    roots : list of (slice, ndarray)
        L, for each part of x whose L is not the identity.
    """

    center: np.ndarray
    slope: np.ndarray
    fall: np.ndarray
    knee: np.ndarray
    width: np.ndarray
    roots: list[tuple[slice, np.ndarray]]

    @classmethod
    def of_prior(cls, density: Density) -> Self:
        """Return coordinates in which normal priors are standard normal.

        Where the weights are the parameters themselves, so is the posterior.
        """
        n, roots = density.size, []
        scale = np.ones(n)
        for part, numbers in density.blocks.values():
            precision = density.normal_precision(numbers)
            if precision is not None:
                covariance = cho_solve(cho_factor(precision), np.eye(len(precision)))
                roots.append((part, cholesky(covariance, lower=True)))
                continue
            if isinstance(numbers, Independent):
                scale[part] = numbers.sd
            elif isinstance(numbers, Correlated):
                roots.append((part, numbers.root))
        zero = np.zeros(n)
        return cls(density.prior.start.astype(float), scale, zero, zero, np.ones(n), roots)

    def scaled(self, x: np.ndarray) -> Self:
        """Return coordinates in which draws x (S, n) have mean 0 and standard deviation 1."""
        y = self.of(x)
        sd = y.std(axis=0)
        sd[~(sd > 0)] = 1.0
        center = self.x(y.mean(axis=0)[None])[0]
        return replace(self, center=center, slope=self.slope * sd)

    @property
    def is_scale(self) -> bool:
        """Whether f is a scale."""
        return not self.fall.any()

    def x(self, y: np.ndarray) -> np.ndarray:
        """Return x at y, (S, n)."""
        z = self.slope * y
        if not self.is_scale:
            z -= self.fall * self.width * np.log1p(np.exp((y - self.knee) / self.width))
        return self._times_root(z)

    def _times_root(self, z: np.ndarray) -> np.ndarray:
        for part, root in self.roots:
            z[:, part] = z[:, part] @ root.T
        z += self.center
        return z

    def of(self, x: np.ndarray) -> np.ndarray:
        """Return y at x, (S, n)."""
        z = x - self.center
        for part, root in self.roots:
            z[:, part] = solve_triangular(root, z[:, part].T, lower=True).T
        y = z / self.slope
        if self.is_scale:
            return y
        for _ in range(NEWTON_STEPS):  # f is concave, and y starts below the root
            e = np.exp((y - self.knee) / self.width)
            f = self.slope * y - self.fall * self.width * np.log1p(e)
            y -= (f - z) / (self.slope - self.fall * e / (1.0 + e))
        return y

    def value_and_gradient(self, density: Density, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the log densities (S,) of y up to a constant, and their gradients (S, n)."""
        z, slope = self.slope * y, self.slope
        kept = np.empty(0)
        if not self.is_scale:
            kept = 1.0 / (1.0 + np.exp((y - self.knee) / self.width))  # share of the fall to come
            z += self.fall * self.width * np.log(kept)
            slope = slope - self.fall * (1.0 - kept)
        value, gradient = density.value_and_gradient(self._times_root(z))
        for part, root in self.roots:
            gradient[:, part] = gradient[:, part] @ root
        gradient *= slope
        if not self.is_scale:
            value += np.log(slope).sum(axis=1)
            gradient -= self.fall / self.width * kept * (1.0 - kept) / slope
        return value, gradient


def can_map(density: Density) -> bool:
    """Return whether :func:`mapped` is for this density."""
    _, numbers = next(iter(density.blocks.values()), (None, None))
    if not (density.is_softmax and isinstance(numbers, Independent)):
        return False
    is_kernel = isinstance(density.likelihood, KernelLikelihood)
    return is_kernel and bool(np.ptp(numbers.mean) <= MAX_SPREAD * numbers.sd)


def mapped(density: Density, coordinates: Coordinates, x: np.ndarray) -> Coordinates:
    """Return coordinates with f from the conditional densities, and draws x (S, n) for the rest."""
    rest = coordinates.scaled(x)
    gram, (part, numbers) = density.gram, next(iter(density.blocks.values()))
    assert isinstance(numbers, Independent)  # by can_map
    n, w = part.stop, density.named(x)["w"]
    log_c = float(np.mean(np.log(w[:, :1]) - x[:, part][:, :1]))
    mean = w.mean(axis=0)
    pull = gram.r / gram.n0 - gram.K @ mean
    own = np.diag(gram.K)[:n]
    b = pull[:n] + own * mean[:n] - mean[:n] @ pull[:n] / mean[:n].sum()
    scale = density.likelihood.scale * gram.n0
    beta = numbers.mean + numbers.sd * GRID[:, None]  # (grid, n)
    weight = np.exp(beta + log_c)
    log_p = -(GRID[:, None] ** 2) / 2 - scale / 2 * weight * (own * weight - 2.0 * b)
    median, slopes = _at_quantiles(beta, log_p)
    first, second = slopes[0], UPPER_SLOPE * np.minimum(slopes[4], slopes[0])
    fall = first - second
    if (fall <= NEGLIGIBLE * first).all():  # the conditionals are nearly normal: a scale will do
        first, fall = slopes[2], np.zeros(n)
    low, high = (
        logit(np.clip((first - slopes[i]) / np.maximum(fall, TINY), *SHARES)) for i in (1, 3)
    )
    width = 3.0 / np.maximum(high - low, 0.3)
    knee = -1.0 - width * low
    at_0 = -fall * width * np.log1p(np.exp(-knee / width))
    new = replace(
        rest, **{k: getattr(rest, k).copy() for k in ("center", "slope", "fall", "knee", "width")}
    )
    new.center[part], new.slope[part], new.fall[part] = median - at_0, first, fall
    new.knee[part], new.width[part] = knee, width
    return new


def _at_quantiles(beta: np.ndarray, log_p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the medians (n,), and the slopes of the normal quantiles at ``AT``, (5, n)."""
    p = np.exp(log_p - log_p.max(axis=0))
    step = beta[1] - beta[0]
    total = np.cumsum((p[1:] + p[:-1]) / 2, axis=0)
    total = np.concatenate([np.zeros((1, total.shape[1])), total]) * step
    mass = total[-1]
    median, slopes = np.empty(len(mass)), np.empty((len(AT), len(mass)))
    normal = np.exp(-(AT**2) / 2) / np.sqrt(2 * np.pi)
    for i in range(len(mass)):
        at = np.interp(ndtr(AT) * mass[i], total[:, i], beta[:, i])
        slopes[:, i] = normal * mass[i] / np.interp(at, beta[:, i], p[:, i])
        median[i] = at[2]
    return median, slopes
