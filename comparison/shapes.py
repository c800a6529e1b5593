r"""Generated shapes in the plane, whose boundary neither a line nor one ball describes well.

- ``ring``: the majority is :math:`x = r (\cos t, \sin t)` with t uniform and r ~ N(1, noise^2).
  Half of the minority lies inside, N(0, 0.35^2 I), and half outside, at r ~ N(1.8, noise^2).
- ``moons``: two facing half circles, the majority on one and the minority on the other, plus
  N(0, noise^2 I).
- ``modes``: the majority is :math:`x \sim \frac15 \sum_k N(c_k, \mathrm{noise}^2 I)` with five
  points c_k on the circle of radius 2; the minority is uniform on the square [-3, 3]^2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.datasets import make_moons

from .datasets import Dataset, Pair

MODES = 5
Draw = Callable[[np.random.Generator, int, int, float], np.ndarray]


def ring(rng: np.random.Generator, n0: int, n1: int, noise: float) -> np.ndarray:
    """Return n0 rows on the ring, then n1 rows inside and outside it."""
    outside = n1 // 2
    inside = rng.normal(scale=0.35, size=(n1 - outside, 2))
    return np.concatenate([_circle(rng, n0, 1.0, noise), inside, _circle(rng, outside, 1.8, noise)])


def _circle(rng: np.random.Generator, n: int, radius: float, noise: float) -> np.ndarray:
    angles, r = rng.uniform(0, 2 * np.pi, n), rng.normal(radius, noise, n)
    return r[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])


def moons(rng: np.random.Generator, n0: int, n1: int, noise: float) -> np.ndarray:
    """Return n0 rows on one half circle, then n1 rows on the facing one."""
    seed = int(rng.integers(2**31))
    X, _ = make_moons((n0, n1), shuffle=False, noise=noise, random_state=seed)
    return np.asarray(X)


def modes(rng: np.random.Generator, n0: int, n1: int, noise: float) -> np.ndarray:
    """Return n0 rows in five clusters, then n1 rows uniform on the square."""
    angles = 2 * np.pi * rng.integers(MODES, size=n0) / MODES
    centers = 2.0 * np.column_stack([np.cos(angles), np.sin(angles)])
    background = rng.uniform(-3.0, 3.0, size=(n1, 2))
    return np.concatenate([centers + noise * rng.normal(size=(n0, 2)), background])


SHAPES: dict[str, Draw] = {"ring": ring, "moons": moons, "modes": modes}


@dataclass(frozen=True)
class Shape:
    """Pairs of two-dimensional data sets with a given shape.

    Parameters
    ----------
    kind : {"ring", "moons", "modes"}
    n_train, n_test : int, default=300, 2000
    share : float, default=0.1
        Share of minority rows in both sets, rounded to whole rows.
    noise : float, default=0.15

    Raises
    ------
    ValueError
        The shape is unknown, or the share leaves a set without minority rows.

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
            raise ValueError(f"kind must be one of {', '.join(SHAPES)}, got {self.kind!r}")
        few = round(self.share * min(self.n_train, self.n_test))
        if not (0 < self.share < 1 and few >= 1):
            raise ValueError(
                f"share must be in (0, 1) and give one row or more, got {self.share!r}"
            )

    @property
    def name(self) -> str:
        """Name in tables."""
        return f"{self.kind} n={self.n_train} share={self.share:g} noise={self.noise:g}"

    def pair(self, seed: int) -> Pair:
        """Return the training and the test set of ``seed``."""
        streams = np.random.default_rng(seed).spawn(2)
        return Pair(self._drawn(streams[0], self.n_train), self._drawn(streams[1], self.n_test))

    def _drawn(self, rng: np.random.Generator, n: int) -> Dataset:
        n1 = round(self.share * n)
        X = SHAPES[self.kind](rng, n - n1, n1, self.noise)
        order = rng.permutation(n)
        return Dataset(self.name, X[order], (np.arange(n) >= n - n1)[order])
