r"""Generated scenarios: shapes in the plane.

The boundary of a shape is one that neither a line nor a single ball describes well.

- ``ring``: the majority is :math:`x = r (\cos t, \sin t)` with t uniform and r ~ N(1, noise^2).
  Half of the minority lies inside, N(0, 0.35^2 I), and half outside, at r ~ N(1.8, noise^2).
- ``moons``: two facing half circles, the majority on one and the minority on the other, plus
  N(0, noise^2 I).
- ``clover``: the minority lies in the five petals of a clover, the majority around them, after
  Napierala, Stefanowski and Wilk (2010); ``noise`` is the share of the minority in the border of a
  petal, among majority rows.
- ``modes``: the majority is :math:`x \sim \frac15 \sum_k N(c_k, \mathrm{noise}^2 I)` with five
  points c_k on the circle of radius 2; the minority is uniform on the square [-3, 3]^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import override

import numpy as np
from sklearn.datasets import make_moons

from .datasets import Dataset
from .scenario import Pair, Scenario

REACH = 3.0  # background rows are uniform on the square [-3, 3]^2
MODES = 5
SQUARE = 2.0  # rows of clover lie in [-2, 2]^2
BORDER = 1.6  # a petal's border reaches out to this multiple of its half axes


def ring(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows on the ring, then n1 rows inside and outside it."""
    rng = np.random.default_rng(seed)
    outside = n1 // 2
    inside = rng.normal(scale=0.35, size=(n1 - outside, 2))
    return np.concatenate([_circle(rng, n0, 1.0, noise), inside, _circle(rng, outside, 1.8, noise)])


def _circle(rng: np.random.Generator, n: int, radius: float, noise: float) -> np.ndarray:
    angles, r = rng.uniform(0, 2 * np.pi, n), rng.normal(radius, noise, n)
    return r[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def moons(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows on one half circle, then n1 rows on the facing one."""
    X, _ = make_moons((n0, n1), shuffle=False, noise=noise, random_state=seed)
    return X


def modes(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows in five clusters, then n1 rows uniform on the square."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * rng.integers(MODES, size=n0) / MODES
    centers = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    majority = centers + noise * rng.normal(size=(n0, 2))
    return np.concatenate([majority, rng.uniform(-REACH, REACH, size=(n1, 2))])


def _ellipse(center: tuple[float, float], axes: tuple[float, float], angle: float) -> np.ndarray:
    """Return the 2 x 3 affine map [A | c] from the unit disc to an ellipse."""
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([np.array([[c, -s], [s, c]]) * axes, center])


PETALS = [
    _ellipse((0.9 * np.cos(a), 0.9 * np.sin(a)), (0.62, 0.3), a)
    for a in 2 * np.pi * np.arange(5) / 5 + np.pi / 2
]


def depth(X: np.ndarray) -> np.ndarray:
    """Return min ||A^-1 (x - c)|| over the petals [A | c], (n,): below 1 inside a petal."""
    radii = [np.linalg.norm(np.linalg.solve(m[:, :2], (X - m[:, 2]).T), axis=0) for m in PETALS]
    return np.min(radii, axis=0)


def clover(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows around the petals, then n1 rows in them."""
    rng, in_border = np.random.default_rng(seed), round(noise * n1)

    def uniform(low: float, high: float, n: int) -> np.ndarray:
        """Return n rows, uniform over the part of the square where low <= depth < high."""
        rows = np.empty((0, 2))
        while len(rows) < n:
            X = rng.uniform(-SQUARE, SQUARE, size=(4 * n + 100, 2))
            d = depth(X)
            rows = np.concatenate([rows, X[(d >= low) & (d < high)]])
        return rows[:n]

    minority = [uniform(0.0, 1.0, n1 - in_border), uniform(1.0, BORDER, in_border)]
    return np.concatenate([uniform(1.0, np.inf, n0), *minority])


SHAPES: dict[str, Callable[[int, int, float, int], np.ndarray]] = {
    "ring": ring,
    "moons": moons,
    "clover": clover,
    "modes": modes,
}


@dataclass(frozen=True)
class Shape(Scenario):
    """Pairs of two-dimensional data sets with a given shape.

    Parameters
    ----------
    kind : {"ring", "moons", "clover", "modes"}
    n_train, n_test : int, default=300, 2000
    share : float, default=0.1
        Share of minority rows in both sets, rounded to whole rows.
    noise : float, default=0.15

    Examples
    --------
    >>> from bsvdd.comparison.scenarios.generators import Shape
    >>> Shape("ring").pair(seed=1).train.base_rate
    0.1
    """

    kind: str
    n_train: int = 300
    n_test: int = 2000
    share: float = 0.1
    noise: float = 0.15

    @override
    def __post_init__(self) -> None:
        super().__post_init__()
        few = round(self.share * min(self.n_train, self.n_test))
        self.require("kind", self.kind in SHAPES, f"one of {', '.join(SHAPES)}")
        self.require("share", 0 < self.share < 1 and few >= 1, "in (0, 1) and one row or more")
        self.require("noise", 0 <= self.noise <= 1, "in [0, 1]")

    @property
    @override
    def base_name(self) -> str:
        return f"{self.kind} n={self.n_train} share={self.share:g} noise={self.noise:g}"

    @override
    def drawn(self, seed: int) -> Pair:
        train, test = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
        return Pair(self._draw(self.n_train, train), self._draw(self.n_test, test))

    def _draw(self, n: int, seed: int) -> Dataset:
        n1 = round(self.share * n)
        X = SHAPES[self.kind](n - n1, n1, self.noise, seed)
        order = np.random.default_rng([seed, 1]).permutation(n)
        return Dataset(self.base_name, X[order], (np.arange(n) >= n - n1)[order])
