r"""Two-dimensional scenarios whose boundary neither a line nor a single ball describes well.

- ``ring``: the majority is :math:`x = r (\cos t, \sin t)` with t uniform and r ~ N(1, noise^2).
  Half of the minority lies inside, N(0, 0.35^2 I), and half outside, at r ~ N(1.8, noise^2).
- ``moons``: two facing half circles, the majority on one and the minority on the other, plus
  N(0, noise^2 I).
- ``clover``: the minority lies in five petals, the majority around them
  (:func:`.generators.clover`); ``noise`` is the share of the minority in the border of a petal.
- ``modes``: the majority is :math:`x \sim \frac15 \sum_k N(c_k, \mathrm{noise}^2 I)` with five
  points c_k on the circle of radius 2; the minority is uniform on the square [-3, 3]^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import override

import numpy as np
from sklearn.datasets import make_moons
from sklearn.utils import check_random_state

from .datasets import Dataset
from .generators import clover
from .scenario import Pair, Scenario

REACH = 3.0  # background rows are uniform on the square [-3, 3]^2
MODES = 5


def ring(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows on the ring, then n1 rows inside and outside it."""
    rng = np.random.default_rng(seed)
    outside = n1 // 2
    inside = rng.normal(scale=0.35, size=(n1 - outside, 2))
    return np.concatenate([_circle(rng, n0, 1.0, noise), inside, _circle(rng, outside, 1.8, noise)])


def moons(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows on one half circle, then n1 rows on the facing one."""
    X, _ = make_moons((n0, n1), shuffle=False, noise=noise, random_state=check_random_state(seed))
    return X


def modes(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows in five clusters, then n1 rows uniform on the square."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * rng.integers(MODES, size=n0) / MODES
    centers = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate(
        [
            centers + noise * rng.normal(size=(n0, 2)),
            rng.uniform(-REACH, REACH, size=(n1, 2)),
        ]
    )


def _clover(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    data = clover(n0 + n1, n0 / n1, noise, seed)
    return np.concatenate([data.X[~data.minority], data.X[data.minority]])


def _circle(rng: np.random.Generator, n: int, radius: float, noise: float) -> np.ndarray:
    angles, r = rng.uniform(0, 2 * np.pi, n), rng.normal(radius, noise, n)
    return r[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


SHAPES: dict[str, Callable[[int, int, float, int], np.ndarray]] = {
    "ring": ring,
    "moons": moons,
    "clover": _clover,
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
    >>> from bsvdd.comparison.scenarios.shapes import Shape
    >>> Shape("ring").pair(seed=1).train.base_rate
    0.1
    """

    kind: str
    n_train: int = 300
    n_test: int = 2000
    share: float = 0.1
    noise: float = 0.15

    def __post_init__(self) -> None:
        if self.kind not in SHAPES:
            raise ValueError(f"Shape: kind must be one of {list(SHAPES)}, got {self.kind!r}")
        if not (0 < self.share < 1 and round(self.share * min(self.n_train, self.n_test)) >= 1):
            raise ValueError(
                f"Shape: share={self.share!r} of {self.n_train} and {self.n_test} rows must leave "
                "at least one row of each class"
            )
        if not 0 <= self.noise <= 1:
            raise ValueError(f"Shape: noise must lie in [0, 1], got {self.noise!r}")

    @property
    @override
    def name(self) -> str:
        return f"{self.kind} n={self.n_train} share={self.share:g} noise={self.noise:g}"

    @property
    @override
    def n_minority(self) -> int:
        return round(self.share * self.n_train)

    @override
    def pair(self, seed: int) -> Pair:
        train, test = (int(s) for s in np.random.SeedSequence(seed).generate_state(2))
        return Pair(self._draw(self.n_train, train), self._draw(self.n_test, test))

    def _draw(self, n: int, seed: int) -> Dataset:
        n1 = round(self.share * n)
        X = SHAPES[self.kind](n - n1, n1, self.noise, seed)
        order = np.random.default_rng([seed, 1]).permutation(n)
        return Dataset(self.name, X[order], (np.arange(n) >= n - n1)[order])
