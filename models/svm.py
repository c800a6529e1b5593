r"""SVM with a penalty C_i for each row: class-weighted, and DSVM-CIL.

.. math::
    \max_\alpha \sum_i \alpha_i - \tfrac12 \sum_{ij} \alpha_i \alpha_j y_i y_j k(x_i, x_j), \qquad
    \sum_i y_i \alpha_i = 0, \quad 0 \le \alpha_i \le C_i,

with y = +1 for the majority. The class-weighted SVM has :math:`C_i = C n / (2 n_{y_i})`; DSVM-CIL
(Hazarika and Gupta 2021) has :math:`C_i = C d_i` with the density weights
d of :func:`density_weights`; and with :func:`balanced` classes,
:math:`C_i = C d_i\, n / (2 \sum_{j: y_j = y_i} d_j)`.
"""

from __future__ import annotations

import numpy as np
from scipy.spatial.distance import pdist, squareform

from . import repeats
from .gram import Gram


def labels(gram: Gram) -> np.ndarray:
    """Return y, +1 for majority and -1 for minority rows, in the order of the dictionary."""
    return np.repeat([1.0, -1.0], [gram.n_majority_points, gram.n1])


def balanced(costs: np.ndarray, gram: Gram) -> np.ndarray:
    r"""Return costs times :math:`n / (2 \sum_j c_j)`, the sum over the class of each row.

    So all rows of either class together cost the same. Density weights are smaller in a small
    class, whose neighbours are farther apart: with factors of the number of its rows it would weigh
    less than the other class.
    """
    m = gram.n_majority_points
    return np.concatenate(
        [part * (len(costs) / (2.0 * part.sum())) for part in (costs[:m], costs[m:]) if len(part)]
    )


def solve(gram: Gram, penalties: np.ndarray) -> tuple[np.ndarray, float]:
    """Return signed weights w_i = y_i alpha_i, shape (n,), and the offset b, by libsvm.

    Parameters
    ----------
    gram : Gram
        The dictionary is all rows, minority rows last.
    penalties : ndarray of shape (n,)
        C_i; a row with C_i = 0 has weight 0.
    """
    from sklearn.svm import SVC  # slow

    rows = np.flatnonzero(penalties > 0.0)  # libsvm drops the other rows and renumbers
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-6, cache_size=500)
    svc.fit(gram.K[np.ix_(rows, rows)], labels(gram)[rows], sample_weight=penalties[rows])
    w = np.zeros(gram.n_points)
    w[rows[svc.support_]] = svc.dual_coef_[0]  # of its second class, y = +1
    return repeats.shared(w, gram), float(svc.intercept_[0])


def density_weights(gram: Gram, k: int = 5, within_class: bool = True) -> np.ndarray:
    r"""Return the density weights d of the points, each in [0, 1], shape (n,).

    .. math:: d_i = 1 - \frac{\|x_i - x_i^{(k)}\|}{\max_j \|x_j - x_i^{(k)}\|}

    with :math:`x_i^{(k)}` the k-th nearest neighbour of x_i among the other rows. Neighbour and
    maximum are over the rows of its class, or over the whole training set, as the note on
    IDLSSVM-CIL prints it. Rows in dense regions have weights near one; the most remote row can have
    weight zero. Within its class, a weight does not depend on the size of the class, so it does not
    correct an imbalance.

    Raises
    ------
    ValueError
        There are fewer than k + 1 rows, or all rows of a class have weight zero.
    """
    rows, m = gram.kernel.inputs(gram.points.rows), gram.n_majority_points
    parts = (rows[:m], rows[m:]) if within_class else (rows,)
    d = np.concatenate([_density(part, k) for part in parts])
    for name, part in (("majority", d[:m]), ("minority", d[m:])):
        if not part.any():
            raise ValueError(
                f"the density weights of all {len(part)} {name} rows are zero with "
                f"neighbors={k}; use another number of neighbors, or more rows"
            )
    return d


def _density(rows: np.ndarray, k: int) -> np.ndarray:
    if len(rows) <= k:
        raise ValueError(
            f"density weights with neighbors={k} need at least {k + 1} rows of each class (with "
            f"density='train', in all), got {len(rows)}"
        )
    distance = squareform(pdist(rows))
    neighbour = np.argsort(distance, axis=1, kind="stable")[:, k]
    nearest = distance[np.arange(len(rows)), neighbour]
    farthest = distance.max(axis=1)[neighbour]
    # where all rows are equal, all weights are one
    share: np.ndarray = np.divide(nearest, farthest, out=np.zeros_like(nearest), where=farthest > 0)
    return 1.0 - share
