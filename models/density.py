r"""Density weights of rows, for DSVM-CIL and IDLSSVM-CIL (Hazarika and Gupta 2021).

.. math:: d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

with :math:`x_i^{(k)}` the k-th nearest neighbour of x_i. Neighbour and maximum are over the rows of
its class, or over the whole training set, as the note on IDLSSVM-CIL prints it. Rows in dense
regions have weights near one; the most remote row can have weight zero. Within its class, a weight
does not depend on the size of the class, so it does not correct an imbalance. Over the training
set, a minority row that lies among majority rows has near neighbours and weighs much, and one that
lies apart from all rows weighs little.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import cdist

BLOCK = 1024  # rows per block of the distance matrix


def weights(
    rows: np.ndarray, k: int = 5, count_self: bool = False, of: str = "each class"
) -> np.ndarray:
    """Return the density weights d of the rows of one class or set, shape (n,), each in [0, 1].

    Parameters
    ----------
    rows : ndarray of shape (n, p)
    k : int, default=5
    count_self : bool, default=False
        Whether a row is its own first neighbour, as in the authors' code.
    of : str
        What the rows are, for the error.

    Raises
    ------
    ValueError
        There are fewer than k + 1 rows (k with ``count_self``).
    """
    rank = k - 1 if count_self else k
    if len(rows) <= rank:
        raise ValueError(
            f"density weights with neighbors={k} need at least {rank + 1} rows of {of}, got "
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
