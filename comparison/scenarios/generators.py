"""Two-dimensional imbalanced data with a nonlinear class boundary: clover and paw."""

from __future__ import annotations

import numpy as np

from .datasets import Dataset

SQUARE = 2.0  # rows lie in [-2, 2]^2
BORDER = 1.6  # a region's border reaches out to this multiple of its half axes


def _ellipse(center: tuple[float, float], axes: tuple[float, float], angle: float) -> np.ndarray:
    """Return the 2 x 3 affine map [A | c] from the unit disc to an ellipse."""
    c, s = np.cos(angle), np.sin(angle)
    return np.column_stack([np.array([[c, -s], [s, c]]) * axes, center])


def _petals() -> list[np.ndarray]:
    angles = 2 * np.pi * np.arange(5) / 5 + np.pi / 2
    return [_ellipse((0.9 * np.cos(a), 0.9 * np.sin(a)), (0.62, 0.3), a) for a in angles]


def _pads() -> list[np.ndarray]:
    return [
        _ellipse((0.0, -0.6), (0.95, 0.6), 0.0),
        _ellipse((-0.55, 0.75), (0.3, 0.42), 0.3),
        _ellipse((0.55, 0.75), (0.3, 0.42), -0.3),
    ]


def clover(n: int = 600, ratio: float = 5.0, overlap: float = 0.0, seed: int = 0) -> Dataset:
    """Return minority rows in the five petals of a clover, and majority rows around them.

    After the clover of Napierala, Stefanowski and Wilk (2010).

    Parameters
    ----------
    n : int, default=600
        Number of rows of both classes.
    ratio : float, default=5
        Majority rows per minority row.
    overlap : float, default=0
        Share of the minority rows that lie outside their petal, in its border, among majority
        rows.
    seed : int
    """
    return _regions("clover", _petals(), n, ratio, overlap, seed)


def paw(n: int = 600, ratio: float = 5.0, overlap: float = 0.0, seed: int = 0) -> Dataset:
    """Return minority rows in the three pads of a paw. Parameters as in :func:`clover`."""
    return _regions("paw", _pads(), n, ratio, overlap, seed)


def depth(maps: list[np.ndarray], X: np.ndarray) -> np.ndarray:
    """Return min ||A^-1 (x - c)|| over the regions [A | c], (n,): below 1 inside a region."""
    radii = [np.linalg.norm(np.linalg.solve(m[:, :2], (X - m[:, 2]).T), axis=0) for m in maps]
    return np.min(radii, axis=0)


def _regions(
    name: str, maps: list[np.ndarray], n: int, ratio: float, overlap: float, seed: int
) -> Dataset:
    if not 0.0 <= overlap <= 1.0:
        raise ValueError(f"overlap must lie in [0, 1], got {overlap!r}")
    n1 = round(n / (ratio + 1.0))
    if not 0 < n1 < n:
        raise ValueError(f"n={n} rows with ratio={ratio} leave no row for one of the classes")
    rng = np.random.default_rng(seed)
    in_border = round(overlap * n1)
    inside = _uniform(rng, maps, 0.0, 1.0, n1 - in_border)
    border = _uniform(rng, maps, 1.0, BORDER, in_border)
    around = _uniform(rng, maps, 1.0, np.inf, n - n1)
    X = np.concatenate([inside, border, around])
    return Dataset(f"{name}_{ratio:g}to1_overlap{overlap:.0%}", X, np.arange(n) < n1)


def _uniform(
    rng: np.random.Generator, maps: list[np.ndarray], low: float, high: float, n: int
) -> np.ndarray:
    """Return n rows, uniform over the part of the square where low <= depth < high."""
    rows = np.empty((0, 2))
    while len(rows) < n:
        X = rng.uniform(-SQUARE, SQUARE, size=(4 * n + 100, 2))
        d = depth(maps, X)
        rows = np.concatenate([rows, X[(d >= low) & (d < high)]])
    return rows[:n]
