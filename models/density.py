r"""Density weights of rows, for DSVM-CIL and IDLSSVM-CIL (Hazarika and Gupta 2021).

.. math:: d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

with :math:`x_i^{(k)}` the k-th nearest neighbour of x_i, and j over the rows of its class. Rows
in dense regions have weights near one; the most remote row can have weight zero. The weights do
not depend on the size of a class, so they do not correct an imbalance.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

BLOCK = 1024  # rows per block of the distance matrix


def weights(rows: np.ndarray, k: int = 5, count_self: bool = False) -> np.ndarray:
    """Return the density weights d of the rows of one class, shape (n,), each in [0, 1].

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    k : int, default=5
    count_self : bool, default=False
        Whether a row is its own first neighbour, as in the authors' code.

    Raises
    ------
    ValueError
        There are fewer than k + 1 rows (k with ``count_self``).
    """
    rank = k - 1 if count_self else k
    if len(rows) <= rank:
        raise ValueError(
            f"density weights with neighbors={k} need at least {rank + 1} rows of each class, got "
            f"{len(rows)}"
        )
    d = np.empty(len(rows))
    for start in range(0, len(rows), BLOCK):
        block = slice(start, start + BLOCK)
        distance = cdist(rows[block], rows)
        neighbour = np.argsort(distance, axis=1, kind="stable")[:, rank]
        nearest = distance[np.arange(len(neighbour)), neighbour]
        farthest = cdist(rows[neighbour], rows).max(axis=1)
        # where all rows are equal, all weights are one
        share = np.divide(nearest, farthest, out=np.zeros_like(nearest), where=farthest > 0)
        d[block] = 1.0 - share
    return d
