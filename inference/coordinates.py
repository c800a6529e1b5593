r"""Coordinates in which a posterior is nearly the standard normal.

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

Many rows with few points make a posterior that is much narrower than its prior, and nearly normal
in the log weights. :meth:`Coordinates.of_mode` takes c from its mode, which Newton's method finds,
and L from the curvature there,

.. math:: (L L^\top)^{-1} = \lambda n_0 J^\top K J + \Sigma^{-1}, \qquad
    J = s (\mathrm{diag}(p) - p p^\top).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve, cholesky, solve_triangular
from scipy.special import logit, ndtr

from ..models.potential import KernelLikelihood
from ..models.priors.numbers import Correlated, Independent
from .density import Density

GRID = np.linspace(-9.0, 9.0, 361)  # prior sd from the prior mean, for the conditionals
AT = np.array([-4.0, -1.0, 0.0, 2.0, 4.0])  # where f meets the quantiles of the conditional
NEGLIGIBLE = 0.1  # fall of the slope, as a share
TINY = np.finfo(float).tiny
UPPER_SLOPE = 0.98  # s2, as a share of the slope at 4, so that it lies below all slopes in between
SHARES = (0.02, 0.98)  # of the fall of the slope at -1 and at 2
NEWTON_STEPS = 30
MAX_SPREAD = 10.0  # prior sd between prior means: beyond it few weights count, and the map is poor
NARROW = 100.0  # information of the likelihood about a log weight, over that of the prior
MODE_STEPS = 50  # of Newton's method to the mode, at most
PARTS_OF_A_STEP = 0.5 ** np.arange(8)  # of which the best is taken
LEAST = 1e-10  # precision in units of their sum: rounding hides less, as of a shift of log weights
AT_MODE = 0.1  # gain of the log density that a step would have


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
                roots.append((part, _root(precision)))
                continue
            if isinstance(numbers, Independent):
                scale[part] = numbers.sd
            elif isinstance(numbers, Correlated):
                roots.append((part, numbers.root))
        zero = np.zeros(n)
        return cls(density.prior.start.astype(float), scale, zero, zero, np.ones(n), roots)

    @classmethod
    def of_mode(cls, density: Density) -> Self:
        """Return coordinates in which the normal approximation at the mode is standard normal.

        They are for the log weights of :func:`is_narrow`; other parameters stay at their start.
        """
        prior = cls.of_prior(density)
        part, numbers = next(iter(density.blocks.values()))
        assert isinstance(numbers, Independent | Correlated)  # by is_narrow
        scale, K = density.likelihood.scale * density.gram.n0, density.gram.K[part, part]
        least = numbers.precision.diagonal().min()

        def precision(x: np.ndarray) -> np.ndarray:
            w = density.named(x[None])["w"][0, part]
            J = np.diag(w) - np.outer(w, w) / w.sum()
            found: np.ndarray = scale * J @ K @ J + numbers.precision
            found[np.diag_indices(len(w))] += max(0.0, LEAST * np.trace(found) - least)
            return found

        x = prior.center
        gradient = density.value_and_gradient(x[None])[1][0]
        for _ in range(MODE_STEPS):
            step = cho_solve(cho_factor(precision(x)), gradient[part])
            if gradient[part] @ step < AT_MODE:
                break
            tried = np.repeat(x[None], len(PARTS_OF_A_STEP), axis=0)
            tried[:, part] += np.outer(PARTS_OF_A_STEP, step)
            values, gradients = density.value_and_gradient(tried)
            best = values.argmax()
            x, gradient = tried[best], gradients[best]
        slope = prior.slope.copy()
        slope[part] = 1.0
        others = [(of, root) for of, root in prior.roots if of != part]
        return replace(prior, center=x, slope=slope, roots=[*others, (part, _root(precision(x)))])

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


def _root(precision: np.ndarray) -> np.ndarray:
    """Return the lower triangular L of the covariance L L'."""
    covariance = cho_solve(cho_factor(precision), np.eye(len(precision)))
    root: np.ndarray = cholesky(covariance, lower=True)
    return root


def _log_weights(density: Density) -> Independent | Correlated | None:
    """Return the prior of the log weights, None if :class:`Coordinates` has no map for them."""
    _, numbers = next(iter(density.blocks.values()), (None, None))
    of_kernel = density.is_softmax and isinstance(density.likelihood, KernelLikelihood)
    return numbers if of_kernel and isinstance(numbers, Independent | Correlated) else None


def has_mode(density: Density) -> bool:
    """Return whether :meth:`Coordinates.of_mode` can be used for this density."""
    return _log_weights(density) is not None


def is_narrow(density: Density) -> bool:
    """Return whether :meth:`Coordinates.of_mode` is best for this density.

    It is if the data say ``NARROW`` times as much as the prior about a log weight, at equal
    weights.
    """
    numbers = _log_weights(density)
    if numbers is None:
        return False
    n, gram = len(numbers.mean), density.gram
    share = gram.points.sizes[:n] / gram.points.sizes[:n].sum()
    of_data = density.likelihood.scale * gram.n0 * (np.diag(gram.K)[:n] * share**2).mean()
    return bool(of_data >= NARROW * np.diag(numbers.precision).mean())


def can_map(density: Density) -> bool:
    """Return whether :func:`mapped` is for this density."""
    numbers = _log_weights(density)
    if not isinstance(numbers, Independent):
        return False
    of_a_row = numbers.mean - np.log(density.gram.points.sizes[: len(numbers.mean)])
    return bool(np.ptp(of_a_row) <= MAX_SPREAD * np.max(numbers.sd))


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
    mass, column = total[-1], np.arange(total.shape[1])
    slopes, quantiles = np.empty((2, len(AT), len(column)))
    for i, at in enumerate(AT):
        target = ndtr(at) * mass
        low = np.clip((total < target).sum(axis=0) - 1, 0, len(total) - 2)
        below, above = total[low, column], total[low + 1, column]
        share = np.clip((target - below) / np.maximum(above - below, TINY), 0.0, 1.0)
        density = p[low, column] * (1.0 - share) + p[low + 1, column] * share
        slopes[i] = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi) * mass / density
        quantiles[i] = beta[low, column] + share * step
    return quantiles[AT == 0.0][0], slopes
