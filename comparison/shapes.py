r"""Two-dimensional settings with a boundary that no line and no single ball draws well.

- ``ring``: majority :math:`x = r (\cos t, \sin t)`, t uniform, r ~ N(1, noise^2). Minority: half
  of it inside, N(0, (0.35)^2 I), half outside at r ~ N(1.8, noise^2).
- ``moons``: two facing half circles, the majority on one and the minority on the other, plus
  N(0, noise^2 I).
- ``clover``: minority in five petals, majority around them (:func:`.generators.clover`); noise is
  the share of the minority that lies in the border of a petal.
- ``modes``: majority :math:`x \sim \frac15 \sum_k N(c_k, \mathrm{noise}^2 I)` with c_k five
  points on the circle of radius 2, minority uniform on the square [-3, 3]^2.
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
from .setting import Pair, Setting

HALF = 3.0  # of the side of the square that background rows are uniform on
MODES = 5


def ring(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows of the ring, then n1 inside and outside of it."""
    rng = np.random.default_rng(seed)
    outside = n1 // 2
    inside = rng.normal(scale=0.35, size=(n1 - outside, 2))
    return np.concatenate([_circle(rng, n0, 1.0, noise), inside, _circle(rng, outside, 1.8, noise)])


def moons(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows of one half circle, then n1 of the facing one."""
    X, _ = make_moons((n0, n1), shuffle=False, noise=noise, random_state=check_random_state(seed))
    return X


def modes(n0: int, n1: int, noise: float, seed: int) -> np.ndarray:
    """Return n0 rows in five clusters, then n1 all over the square."""
    rng = np.random.default_rng(seed)
    angles = 2 * np.pi * rng.integers(MODES, size=n0) / MODES
    centers = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.concatenate(
        [centers + noise * rng.normal(size=(n0, 2)), rng.uniform(-HALF, HALF, size=(n1, 2))]
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
class Shape(Setting):
    """Pairs of two-dimensional sets of a shape.

    Parameters
    ----------
    kind : {"ring", "moons", "clover", "modes"}
    n_train, n_test : int, default=300, 2000
    share : float, default=0.1
        Share of minority rows in both sets, rounded to whole rows.
    noise : float, default=0.15

    Examples
    --------
    >>> from bsvdd.comparison.shapes import Shape
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
