"""Clumps: listed rows that are alike."""

from __future__ import annotations

import numpy as np
from scipy.sparse.csgraph import connected_components

from .decorrelated import Decorrelated

ALIKE = 0.25  # of the squared distance to the nearest core row: half as far from each other
FEWEST, MOST = 3, 5000  # rows that are a clump, and rows that are compared with each other
BLOCK_VALUES = 2**21  # distances at once: 16 MB


def clumps(
    kernel: Decorrelated, X: np.ndarray, core: np.ndarray, listed: np.ndarray, surprise: np.ndarray
) -> np.ndarray:
    """Return the number of the clump that each listed row of X is in, (n,); -1 for none.

    Two rows are alike if they are half as far from each other as each is from the nearest row of
    the core. The largest clump is number 0. Of more than 5,000 listed rows the most surprising are
    compared.
    """
    found, rows = np.full(len(listed), -1), np.flatnonzero(listed)
    rows = rows[np.argsort(-surprise[rows], kind="stable")[:MOST]]
    if len(rows) < FEWEST:
        return found
    Z = kernel.inputs(X[rows])
    nearest = _nearest(kernel, Z, kernel.inputs(X[core]), rows[:, None] == np.flatnonzero(core))
    alike = _far(kernel, Z, Z) <= ALIKE * np.minimum(nearest[:, None], nearest)
    _, number = connected_components(alike, directed=False)
    count = np.bincount(number)
    order = np.argsort(-count, kind="stable")
    place = np.full(len(count), -1)
    place[order] = np.where(count[order] >= FEWEST, np.arange(len(count)), -1)
    found[rows] = place[number]
    return found


def _far(kernel: Decorrelated, Z: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Return -log k of rows, which grows with their squared distance, (m, R)."""
    return -kernel.log(Z, Y)


def _nearest(kernel: Decorrelated, Z: np.ndarray, core: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return how far each row (m,) is from the nearest row of the core but itself."""
    steps = -(-len(Z) * len(core) // BLOCK_VALUES)
    blocks = np.array_split(np.arange(len(Z)), steps)
    far = (np.where(own[i], np.inf, _far(kernel, Z[i], core)).min(axis=1) for i in blocks)
    return np.concatenate(list(far))
